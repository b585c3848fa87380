//! Values of a sweep's axes, and the axes that a picture shows.

use crate::folder::{Folder, FolderError};
use crate::labels::labels;
use crate::plan::{Plan, Sweep};
use std::collections::HashSet;
use warploom_report::ColumnType;
use warploom_report::page::Cell;

/// Most values of an axis that a map shows.
const MOST_VALUES: usize = 60;

/// Most panels of a picture where the sweep does not choose them.
const MOST_PANELS: usize = 12;

/// Values of the axes of a sweep in the order of its plan.
#[derive(Clone, Debug, Default)]
pub struct AxisValues {
    pub(super) values: Vec<Vec<String>>,
    /// Labels of the values of each axis in charts.
    pub(super) labels: Vec<Vec<String>>,
}

impl AxisValues {
    /// Reads the values of all axes.
    ///
    /// # Errors
    /// If the plan cannot be read.
    pub fn read(folder: &Folder, sweep: &Sweep) -> Result<Self, FolderError> {
        let mut values = vec![Vec::new(); sweep.axes.len()];
        let mut names = values.clone();
        let mut seen = vec![HashSet::new(); sweep.axes.len()];
        for run in Plan::open(folder)? {
            let run = run?;
            for (at, value) in run.values.into_iter().enumerate() {
                if seen[at].insert(value.clone()) {
                    names[at].push(match sweep.axes[at].as_str() {
                        "gpu" if !run.machine.is_empty() => run.machine.clone(),
                        _ => value.clone(),
                    });
                    values[at].push(value);
                }
            }
        }
        let pairs = names.iter().zip(&values);
        let labels = pairs.map(|(names, values)| labels(names, values)).collect();
        Ok(Self { values, labels })
    }

    /// Type of the column of each axis: numbers where all values are numbers.
    pub fn types(&self) -> Vec<ColumnType> {
        let all = |values: &[String], is: fn(&str) -> bool| {
            values.iter().all(|value| value.is_empty() || is(value))
        };
        let kind = |values: &Vec<String>| {
            if all(values, |value| {
                value.parse::<i64>().is_ok_and(|value| value >= 0)
            }) {
                ColumnType::Count
            } else if all(values, |value| {
                value.parse::<f64>().is_ok_and(f64::is_finite)
            }) {
                ColumnType::Number
            } else {
                ColumnType::Text
            }
        };
        self.values.iter().map(kind).collect()
    }

    /// The label of a value of an axis.
    pub(super) fn label(&self, sweep: &Sweep, axis: &str, value: &str) -> String {
        let label = || {
            let at = sweep.axes.iter().position(|name| name == axis)?;
            let place = self.values[at].iter().position(|other| other == value)?;
            Some(self.labels[at][place].clone())
        };
        label().unwrap_or_else(|| value.to_owned())
    }

    /// The two axes of a map: those that the sweep names, otherwise the first that vary and have no
    /// pictures for each value, settings of the machine before inputs.
    pub(super) fn chosen(&self, sweep: &Sweep) -> [Option<usize>; 2] {
        let named = |name: &Option<String>| {
            let name = name.as_ref()?;
            sweep.axes.iter().position(|axis| axis == name)
        };
        let is_input = |at: &usize| matches!(sweep.axes[*at].as_str(), "target" | "size" | "seed");
        let varies = |at: &usize| (2..=MOST_VALUES).contains(&self.values[*at].len());
        let panels = self.named_panels(sweep).unwrap_or_default();
        let free = |at: &usize| varies(at) && !panels.contains(at);
        let mut varying: Vec<usize> = (0..self.values.len()).filter(free).collect();
        varying.sort_by_key(is_input);
        let mut chosen = [&sweep.report.rows, &sweep.report.columns].map(named);
        for place in 0..2 {
            let other = chosen[1 - place];
            let next = || varying.iter().copied().find(|at| Some(*at) != other);
            chosen[place] = chosen[place].or_else(next);
        }
        chosen
    }

    /// Axes that a map leaves out although they vary.
    pub(super) fn others(&self, map: [Option<usize>; 2]) -> impl Iterator<Item = usize> {
        let axes = (0..self.values.len()).filter(move |at| !map.contains(&Some(*at)));
        axes.filter(|at| self.values[*at].len() > 1)
    }

    /// Axes with a picture for each of their values: those that the sweep names. If it names none,
    /// all that the map leaves out except for seeds, if that is not too many pictures.
    pub(super) fn panels(&self, sweep: &Sweep, map: [Option<usize>; 2]) -> Vec<usize> {
        if let Some(named) = self.named_panels(sweep) {
            return named;
        }
        let others = self.others(map).filter(|at| sweep.axes[*at] != "seed");
        let others: Vec<usize> = others.collect();
        let number: usize = others.iter().map(|at| self.values[*at].len()).product();
        if number <= MOST_PANELS {
            others
        } else {
            Vec::new()
        }
    }

    /// Axes with a picture for each of their values, if the sweep names them.
    fn named_panels(&self, sweep: &Sweep) -> Option<Vec<usize>> {
        let at = |name: &String| sweep.axes.iter().position(|axis| axis == name);
        let named = sweep.report.panels.as_ref()?;
        Some(named.iter().filter_map(at).collect())
    }

    /// All combinations of the values of some axes; the first varies slowest.
    pub(super) fn combinations(&self, axes: &[usize]) -> Vec<Vec<String>> {
        axes.iter().fold(vec![Vec::new()], |rows, at| {
            let with = |row: Vec<String>| {
                let extended =
                    |value: &String| [row.as_slice(), std::slice::from_ref(value)].concat();
                self.values[*at].iter().map(extended).collect::<Vec<_>>()
            };
            rows.into_iter().flat_map(with).collect()
        })
    }
}

/// A cell with a value in the type of its column.
pub fn typed(text: &str, kind: ColumnType) -> Cell {
    let number = || text.parse().map_or(Cell::None, Cell::Number);
    match kind {
        _ if text.is_empty() => Cell::None,
        ColumnType::Text => Cell::from(text),
        ColumnType::Count => text.parse().map_or(Cell::None, Cell::Count),
        ColumnType::Number => number(),
    }
}
