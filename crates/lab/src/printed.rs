//! Values that the papers print for bars, from `data/printed.toml`: marks in charts, and groups
//! with the means that the papers print.

use crate::grid::{geometric_mean, mean};
use serde::Deserialize;
use warploom_report::page::Page;
use warploom_report::{BarChart, Chart, Mark};

/// Name of the marks in legends.
const PAPER: &str = "the paper";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    chart: Vec<Printed>,
}

/// Values that a paper prints for a chart.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    figure: String,
    title: String,
    mean: Option<PrintedMean>,
    marks: Vec<PrintedMark>,
}

/// A group with a mean over the first groups of the chart.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedMean {
    name: String,
    kind: MeanKind,
    of: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MeanKind {
    Geometric,
    Arithmetic,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedMark {
    group: String,
    series: Option<String>,
    value: f64,
}

fn printed() -> Vec<Printed> {
    let file: File = toml::from_str(include_str!("../data/printed.toml")).expect("a test reads it");
    file.chart
}

/// Adds the paper's means and values to the bar charts of a page. A page that already has them is
/// not changed.
pub(crate) fn mark(page: &mut Page) {
    let name = page.full_name();
    let printed = printed();
    for chart in &mut page.charts {
        let Chart::Bars(chart) = chart else {
            continue;
        };
        let is_own = |of: &&Printed| of.figure == name && of.title == chart.title;
        if let Some(printed) = printed.iter().find(is_own) {
            printed.add_to(chart);
        }
    }
}

impl Printed {
    fn add_to(&self, chart: &mut BarChart) {
        chart.marks.retain(|mark| mark.name != PAPER);
        if let Some(mean) = &self.mean {
            mean.add_to(chart);
        }
        let series = chart.series.iter().map(|series| Some(series.name.as_str()));
        let whole = std::iter::once((None, None));
        let each = series.enumerate().map(|(at, name)| (Some(at), name));
        let marks = whole.chain(each).map(|(series, name)| Mark {
            name: PAPER.to_owned(),
            values: self.values(&chart.groups, name),
            series,
        });
        let marks: Vec<_> = marks
            .filter(|mark| mark.values.iter().any(Option::is_some))
            .collect();
        chart.marks.extend(marks);
    }

    /// Values of the marks over a series, or across groups, by group.
    fn values(&self, groups: &[String], series: Option<&str>) -> Vec<Option<f64>> {
        let value = |group: &String| {
            let mut marks = self.marks.iter();
            let own = marks.find(|mark| mark.group == *group && mark.series.as_deref() == series);
            own.map(|mark| mark.value)
        };
        groups.iter().map(value).collect()
    }
}

impl PrintedMean {
    fn add_to(&self, chart: &mut BarChart) {
        if chart.groups.last() != Some(&self.name) {
            chart.groups.push(self.name.clone());
        }
        let groups = chart.groups.len() - 1;
        for series in &mut chart.series {
            series.values.truncate(groups);
            let values = series.values.iter().take(self.of.unwrap_or(groups));
            let values: Vec<f64> = values.copied().flatten().collect();
            let mean = match self.kind {
                MeanKind::Geometric => geometric_mean(&values),
                MeanKind::Arithmetic => mean(&values),
            };
            series
                .values
                .push(Some(mean).filter(|mean| mean.is_finite()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{mark, printed};
    use crate::figures::find;
    use warploom_report::page::Page;
    use warploom_report::{BarChart, BarSeries, Chart};

    fn page(figure: &str, title: &str, groups: &[&str], series: &[(&str, &[f64])]) -> Page {
        let (paper, figure) = figure.split_once('/').unwrap();
        let text = format!(
            r#"{{"paper":"{paper}","figure":"{figure}","title":"","scale":"","version":"",
                "command":"","columns":[],"rows":[],"summary":{{}},"charts":[]}}"#
        );
        let series = series.iter().map(|(name, values)| BarSeries {
            name: (*name).to_owned(),
            values: values.iter().copied().map(Some).collect(),
        });
        let chart = BarChart {
            title: title.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            series: series.collect(),
            ..BarChart::default()
        };
        Page {
            charts: vec![Chart::Bars(chart)],
            ..serde_json::from_str(&text).unwrap()
        }
    }

    fn bars(page: &Page) -> &BarChart {
        let Chart::Bars(chart) = &page.charts[0] else {
            panic!("no bars");
        };
        chart
    }

    #[test]
    fn means_and_marks_are_added_once() {
        let speeds: [(&str, &[f64]); 2] =
            [("lrr", &[1.0, 1.0]), ("long-latency-first", &[1.0, 1.21])];
        let groups = ["VectorAddition", "MUMmerGPU"];
        let mut page = page("cooperative/fig3", "Warp schedulers", &groups, &speeds);
        mark(&mut page);
        let chart = bars(&page).clone();
        assert_eq!(chart.groups, ["VectorAddition", "MUMmerGPU", "gmean"]);
        assert!((chart.series[1].values[2].unwrap() - 1.1).abs() < 1e-12);
        let marks: Vec<_> = chart
            .marks
            .iter()
            .map(|mark| (mark.series, &mark.values))
            .collect();
        assert_eq!(marks, [(Some(1), &vec![None, Some(1.21), Some(1.075)])]);
        mark(&mut page);
        assert_eq!(bars(&page), &chart);
    }

    #[test]
    fn a_mean_may_be_of_the_first_groups_and_a_mark_across_a_group() {
        let names: Vec<String> = (0..10)
            .map(|n| n.to_string())
            .chain(["KM".to_owned()])
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let values: Vec<f64> = [2.0; 10].into_iter().chain([50.0]).collect();
        let mut page = page("duet/fig12", "GPUDuet", &names, &[("dynamic", &values)]);
        mark(&mut page);
        let chart = bars(&page);
        assert!((chart.series[0].values[11].unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(
            (chart.marks[0].series, chart.marks[0].values[10]),
            (None, Some(0.74))
        );
        assert_eq!(chart.marks[1].values[11], Some(1.22));
    }

    #[test]
    fn printed_values_are_of_figures_that_exist() {
        for printed in printed() {
            assert_eq!(find(&printed.figure).unwrap().len(), 1);
            let mean = printed.mean.map(|mean| mean.name);
            assert!(
                !printed.marks.is_empty() || mean.is_some(),
                "{}",
                printed.figure
            );
        }
    }
}
