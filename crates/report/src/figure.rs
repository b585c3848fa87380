//! Charts as data: what they show, not how they look.

use serde::{Deserialize, Serialize};

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// Bars in groups.
    Bars(BarChart),
    /// Lines through points.
    Lines(LineChart),
}

/// An axis of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Values are shares, shown in percent.
    pub percent: bool,
    /// Steps double (values above 0 only).
    pub doubling: bool,
    /// Smallest value of a vertical axis of lines.
    pub min: f64,
    /// Largest value; the data's if none.
    pub max: Option<f64>,
}

/// Bars in groups, one bar a series in each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarChart {
    /// Title.
    pub title: String,
    /// The axis of the values, from 0.
    pub axis: Axis,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// The series.
    pub series: Vec<BarSeries>,
    /// Lines across groups.
    pub marks: Vec<Mark>,
}

/// One bar in each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// A value a group; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

/// A line across each group: a threshold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Name in the legend.
    pub name: String,
    /// A value a group.
    pub values: Vec<f64>,
}

/// Lines through points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineChart {
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<LineSeries>,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineSeries {
    /// Name in the legend.
    pub name: String,
    /// Points in order of their x; nothing that is not finite.
    pub points: Vec<(f64, f64)>,
    /// Each point has a dot.
    pub dots: bool,
}
