//! Expansion of a sweep: the runs that its products name.

use crate::labels::labels;
use crate::pattern::is_called;
use crate::read::axis_names;
use crate::spec::{AxisValue, Product, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// A run of a sweep before its input and machine are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name of the run.
    pub name: String,
    /// Values of the sweep's axes, in the order of [`Expanded::axes`]; empty where a product lacks
    /// the axis.
    pub values: Vec<String>,
    /// Settings of the run, by name.
    pub settings: Settings,
}

/// Settings of a run in the order of the file: named axes and keys with their values.
pub type Settings = Vec<(String, String)>;

/// All runs of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Names of the axes.
    pub axes: Vec<String>,
    /// Runs in the order of the table: the first axis varies slowest.
    pub points: Vec<Point>,
    /// Number of runs that filters excluded.
    pub skipped: usize,
}

/// Reason why a sweep cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// Filters exclude all runs.
    #[error("the filters exclude all {0} runs\n  = help: remove a condition of `skip` or `keep`")]
    Nothing(usize),
    /// More runs than a table may have.
    #[error(
        "the sweep has more than {} runs\n  = help: leave values out, or split it into several files",
        MOST
    )]
    TooMany,
    /// Different runs have one name.
    #[error(
        "several runs have the name `{name}`\n  = help: write {{{axis}}} into `name`, whose value \
         differs between them"
    )]
    SameName {
        /// Name of the runs.
        name: String,
        /// Axis in which they differ.
        axis: String,
    },
}

/// Largest number of runs of a sweep.
const MOST: usize = 10_000_000;

/// Expands a sweep.
///
/// # Errors
/// If no run remains, there are too many, or names are ambiguous.
pub fn expand(spec: &Spec) -> Result<Expanded, ExpandError> {
    let axes = axis_names(&spec.products);
    let product = |product: &Product| product.number();
    let all: usize = spec
        .products
        .iter()
        .map(product)
        .fold(0, usize::saturating_add);
    if all > MOST {
        return Err(ExpandError::TooMany);
    }
    let mut points = Vec::new();
    for product in &spec.products {
        points.extend(points_of(product, &axes));
    }
    let skipped = all - points.len();
    if points.is_empty() {
        return Err(ExpandError::Nothing(all));
    }
    remove_equal(&mut points);
    give_names(spec, &axes, &mut points)?;
    Ok(Expanded {
        axes,
        points,
        skipped,
    })
}

fn points_of<'a>(product: &'a Product, axes: &'a [String]) -> impl Iterator<Item = Point> + 'a {
    let combinations = (0..product.number()).map(|number| combination(product, number));
    combinations.filter_map(move |values| {
        let named = product.axes.iter().zip(&values);
        let by_name: BTreeMap<&str, &str> = named
            .flat_map(|(axis, value)| {
                let settings = value.settings.iter();
                let settings = settings.map(|(name, value)| (name.as_str(), value.as_str()));
                settings.chain([(axis.name.as_str(), value.text.as_str())])
            })
            .collect();
        let value = |name: &str| by_name.get(name).copied();
        let is_kept = product.keep.is_empty() || product.keep.iter().any(|c| c.holds(value));
        let is_skipped = product.skip.iter().any(|condition| condition.holds(value));
        (is_kept && !is_skipped).then(|| Point {
            name: String::new(),
            values: axes
                .iter()
                .map(|axis| value(axis).unwrap_or_default().to_owned())
                .collect(),
            settings: values
                .iter()
                .flat_map(|value| value.settings.clone())
                .collect(),
        })
    })
}

/// The combination with this number; the first axis varies slowest.
fn combination(product: &Product, mut number: usize) -> Vec<&AxisValue> {
    let mut values: Vec<&AxisValue> = Vec::new();
    for axis in product.axes.iter().rev() {
        values.push(&axis.values[number % axis.values.len()]);
        number /= axis.values.len();
    }
    values.reverse();
    values
}

/// Keeps the first of points that several products contain.
fn remove_equal(points: &mut Vec<Point>) {
    let mut seen = std::collections::HashSet::new();
    points.retain(|point| seen.insert((point.values.clone(), point.settings.clone())));
}

fn give_names(spec: &Spec, axes: &[String], points: &mut [Point]) -> Result<(), ExpandError> {
    let varies = |at: usize| {
        points
            .iter()
            .any(|point| point.values[at] != points[0].values[at])
    };
    let varying: Vec<usize> = (0..axes.len()).filter(|at| varies(*at)).collect();
    let labels: Vec<_> = (0..axes.len()).map(|at| labels_of(points, at)).collect();
    for point in points.iter_mut() {
        let named = |short: &str| {
            let whole = axes.iter().position(|axis| axis == short);
            let at = whole.or_else(|| axes.iter().position(|axis| is_called(axis, short)))?;
            Some(labels[at][&point.values[at]].as_str())
        };
        let plain = || match varying.as_slice() {
            [] => point.values.join("-"),
            some => {
                let values = some
                    .iter()
                    .map(|at| labels[*at][&point.values[*at]].as_str());
                values
                    .filter(|value| !value.is_empty())
                    .collect::<Vec<_>>()
                    .join("-")
            }
        };
        point.name = spec
            .pattern
            .as_ref()
            .map_or_else(plain, |pattern| pattern.filled(named));
    }
    check_names(axes, points)
}

/// Labels of the values of an axis, as charts have them.
fn labels_of(points: &[Point], axis: usize) -> BTreeMap<String, String> {
    let values: BTreeSet<&String> = points.iter().map(|point| &point.values[axis]).collect();
    let values: Vec<String> = values.into_iter().cloned().collect();
    let labels = labels(&values, &values);
    values.into_iter().zip(labels).collect()
}

fn check_names(axes: &[String], points: &[Point]) -> Result<(), ExpandError> {
    let mut first: BTreeMap<&str, &Point> = BTreeMap::new();
    for point in points {
        let Some(other) = first.insert(&point.name, point) else {
            continue;
        };
        let differs = point
            .values
            .iter()
            .zip(&other.values)
            .position(|(a, b)| a != b);
        let axis = differs.map_or("target", |at| {
            axes[at].rsplit('.').next().unwrap_or_default()
        });
        return Err(ExpandError::SameName {
            name: point.name.clone(),
            axis: axis.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
