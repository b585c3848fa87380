//! Charts as data, independent of their appearance.

use serde::{Deserialize, Serialize};

/// A chart of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// A chart of bars in groups.
    Bars(BarChart),
    /// A chart with one bar per group, in which the series lie on each other. Marks are not drawn.
    Stacks(BarChart),
    /// A chart of lines through points.
    Lines(LineChart),
    /// A paper's effects with ours.
    Effects(EffectChart),
    /// A map of a value over two axes.
    Heat(HeatMap),
}

/// An axis of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Label of the axis, with the unit.
    pub label: String,
    /// True if values are shares, which are shown in percent.
    pub percent: bool,
    /// True if each step doubles the value (values above 0 only; not for stacks).
    pub doubling: bool,
    /// Smallest value of a vertical axis of lines, or of bars where each step doubles the value; 0
    /// stands there for the smallest value of the data.
    pub min: f64,
    /// Largest value. `None` means the largest value of the data.
    pub max: Option<f64>,
    /// Value at which a line crosses all bars, and on both sides of which cells of a map have
    /// different colours: 1 for speedups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<f64>,
}

/// Ratio of the greatest to the least speedup above which their axis is logarithmic.
const FAR_APART: f64 = 4.0;

impl Axis {
    /// Axis of bars that are speedups, with a line at 1. It is logarithmic where the speedups lie
    /// far apart, so that small ones are told apart beside large ones.
    pub fn of_speedups(label: &str, speedups: impl Iterator<Item = f64>) -> Self {
        let known = speedups.filter(|speedup| speedup.is_finite() && *speedup > 0.0);
        let (least, most) = known.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
        let doubling = most > FAR_APART * least;
        Self {
            label: label.to_owned(),
            doubling,
            line: Some(1.0),
            ..Self::default()
        }
    }

    /// Label of the axis of bars in a picture, which says whether it is logarithmic.
    pub(crate) fn scaled_label(&self) -> String {
        let scale = if self.doubling { ", logarithmic" } else { "" };
        format!("{}{scale}", self.label)
    }

    /// Place of a value on the axis: its logarithm where each step doubles the value.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.doubling {
            true => value.max(f64::MIN_POSITIVE).log2(),
            false => value,
        }
    }
}

/// Bars in groups, with one bar of each series in each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarChart {
    /// Title of the chart.
    pub title: String,
    /// Axis of the values. Bars begin at 0, or at 1 where each step doubles the value.
    pub axis: Axis,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// The series of bars.
    pub series: Vec<BarSeries>,
    /// Lines across the groups.
    pub marks: Vec<Mark>,
}

/// A series with one bar in each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// Values, one per group. `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

/// A line across each group, which marks a threshold or the paper's value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Name in the legend.
    pub name: String,
    /// Values, one per group. `None` leaves the group without a mark.
    pub values: Vec<Option<f64>>,
    /// Index of the series whose bars are marked. `None` marks the whole group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<usize>,
}

/// A map of a value over two axes, with a cell for each pair of their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Title of the map.
    pub title: String,
    /// Axis of the values.
    pub axis: Axis,
    /// Name of the axis down the map.
    pub row_axis: String,
    /// Name of the axis across the map.
    pub column_axis: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values of each row. `None` leaves a cell empty.
    pub values: Vec<Vec<Option<f64>>>,
    /// Values with the weakest and with the strongest colour, which several maps of a picture
    /// share. `None` means the smallest and the greatest value of this map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl HeatMap {
    /// Line below the title: what the values are, if the title does not begin with it, and what
    /// the colours of several maps mean.
    pub fn legend(&self) -> Option<String> {
        let label = self.axis.label.as_str();
        let label = (!self.title.starts_with(label)).then(|| label.to_owned());
        let sides = self.axis.line;
        let sides = sides.map(|line| format!("blue above {line}, orange below"));
        let colours = self.range.map(|range| {
            let [low, high] = range.map(|end| self.shown(Some(end)));
            match self.axis.line {
                Some(_) => format!("all maps have the colours of {low} to {high}"),
                None => format!("colours of all maps from {low} (weak) to {high} (strong)"),
            }
        });
        let parts: Vec<String> = label.into_iter().chain(sides).chain(colours).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Text of a cell: all cells have two decimals, unless all values are whole.
    pub fn shown(&self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "-".to_owned();
        };
        let is_whole = |value: &f64| (value - value.round()).abs() < 1e-6;
        let all_whole = self.values.iter().flatten().flatten().all(is_whole);
        match (self.axis.percent, all_whole) {
            (true, _) => format!("{:.0}%", value * 100.0),
            (false, true) => crate::grouped(value.round().max(0.0) as u64),
            (false, false) => format!("{value:.2}"),
        }
    }
}

/// A chart of lines through points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineChart {
    /// Title of the chart.
    pub title: String,
    /// Axis of the horizontal coordinate.
    pub x: Axis,
    /// Axis of the vertical coordinate.
    pub y: Axis,
    /// Lines of the chart.
    pub series: Vec<LineSeries>,
}

/// A line through points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineSeries {
    /// Name in the legend.
    pub name: String,
    /// Finite points in the order of their x.
    pub points: Vec<(f64, f64)>,
    /// True if each point has a dot.
    pub dots: bool,
}

/// A chart with a paper's effects across and ours up, both as ratios to a baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectChart {
    /// Title of the chart.
    pub title: String,
    /// Names of the groups of dots, which have colours of their own.
    pub groups: Vec<String>,
    /// Dots of the chart.
    pub dots: Vec<EffectDot>,
}

/// An effect in a chart of effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectDot {
    /// Name of the claim. Dots with a name are numbered, and the names are listed.
    pub name: Option<String>,
    /// Index of the dot's group.
    pub group: usize,
    /// The paper's ratio to the baseline.
    pub paper: f64,
    /// Our ratio to the baseline.
    pub ours: f64,
    /// True for the dot that represents its claim; false for a further effect of the claim.
    pub is_claim: bool,
}
