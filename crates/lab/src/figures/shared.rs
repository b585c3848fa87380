//! Helpers for figures of several papers: columns, rows, lines and bars over workloads.

use crate::grid::Workload;
use crate::samples::{Measured, Samples};
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column};
use warploom_report::{Axis, BarChart, BarSeries, Chart, LineChart, LineSeries};

pub(super) fn column(name: &str, about: &str) -> Column {
    Column::new(name, about)
}

pub(super) fn columns(columns: &[(&str, &str)]) -> Vec<Column> {
    let all = columns.iter().map(|(name, about)| column(name, about));
    all.collect()
}

/// A chart of lines with a label on each axis.
pub(super) fn lines(title: &str, x: &str, y: &str, series: Vec<LineSeries>) -> Chart {
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        ..Axis::default()
    };
    Chart::Lines(LineChart {
        title: title.to_owned(),
        x: axis(x),
        y: axis(y),
        series,
    })
}

/// A chart of bars over workloads.
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

/// Values of workloads by the paper's names.
pub(crate) fn samples(workloads: &[Workload], values: &[f64]) -> Samples {
    let pairs = workloads.iter().zip(values);
    Samples(
        pairs
            .map(|(workload, value)| (workload.name.to_owned(), *value))
            .collect(),
    )
}

/// Adds a mean to a summary, and its leave-one-out range as `NAME.least` and `NAME.most`.
pub(crate) fn add_mean(summary: &mut BTreeMap<String, Cell>, name: &str, mean: Option<Measured>) {
    let Some(Measured { value, range }) = mean else {
        return;
    };
    summary.insert(name.to_owned(), Cell::Number(value));
    if let Some(range) = range {
        summary.insert(format!("{name}.least"), Cell::Number(range.least));
        summary.insert(format!("{name}.most"), Cell::Number(range.most));
    }
}

/// A row with a name and numbers.
pub(super) fn row(name: &str, numbers: impl IntoIterator<Item = f64>) -> Vec<Cell> {
    let numbers = numbers.into_iter().map(Cell::Number);
    std::iter::once(Cell::from(name)).chain(numbers).collect()
}
