//! What figures of several papers share: columns, rows and bars over workloads.

use crate::grid::Workload;
use warploom_report::page::{Cell, Column};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) fn column(name: &str, about: &str) -> Column {
    Column::new(name, about)
}

/// Bars over workloads.
pub(super) fn bars(
    title: &str,
    label: &str,
    workloads: &[Workload],
    series: Vec<(&str, Vec<f64>)>,
) -> Chart {
    Chart::Bars(BarChart {
        title: title.to_owned(),
        axis: Axis {
            label: label.to_owned(),
            ..Axis::default()
        },
        groups: workloads.iter().map(|w| w.name.to_owned()).collect(),
        series: series
            .into_iter()
            .map(|(name, values)| BarSeries {
                name: name.to_owned(),
                values: values.into_iter().map(Some).collect(),
            })
            .collect(),
        marks: Vec::new(),
    })
}

/// A row: a name and numbers.
pub(super) fn row(name: &str, numbers: impl IntoIterator<Item = f64>) -> Vec<Cell> {
    let numbers = numbers.into_iter().map(Cell::Number);
    std::iter::once(Cell::from(name)).chain(numbers).collect()
}
