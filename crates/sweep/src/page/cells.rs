//! Means of a metric by the places of a picture.

use std::collections::BTreeMap;

/// Place of a value in a picture.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Values of the axes whose values have pictures of their own.
    pub panel: Vec<String>,
    /// Value of the axis of rows.
    pub row: String,
    /// Value of the axis of columns.
    pub column: String,
}

/// Sum of values, or of their logarithms, and their number.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    number: usize,
}

/// Means of all places: geometric ones of ratios.
#[derive(Debug)]
pub(super) struct Cells {
    of_ratios: bool,
    /// Sums of each panel, by row and column.
    sums: BTreeMap<(String, String), BTreeMap<Vec<String>, Sum>>,
}

impl Cells {
    pub fn new(of_ratios: bool) -> Self {
        Self {
            of_ratios,
            sums: BTreeMap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    pub fn add(&mut self, place: Place, value: f64) {
        let panels = self.sums.entry((place.row, place.column)).or_default();
        let sum = panels.entry(place.panel).or_default();
        sum.sum += if self.of_ratios { value.ln() } else { value };
        sum.number += 1;
    }

    /// The mean of each panel at the places whose row and column are chosen.
    pub fn means_of(&self, is_chosen: impl Fn(&str, &str) -> bool) -> impl Iterator<Item = f64> {
        let chosen = self.sums.iter();
        let chosen = chosen.filter(move |((row, column), _)| is_chosen(row, column));
        let sums = chosen.flat_map(|(_, panels)| panels.values());
        sums.filter_map(|sum| self.mean_of(*sum))
    }

    /// Mean of a row and column in one panel, or over all of them.
    pub fn mean(&self, panel: Option<&[String]>, row: &str, column: &str) -> Option<f64> {
        let panels = self.sums.get(&(row.to_owned(), column.to_owned()))?;
        let meant = panels
            .iter()
            .filter(|(own, _)| panel.is_none_or(|panel| *own == panel));
        let all = meant.fold(Sum::default(), |all, (_, of)| Sum {
            sum: all.sum + of.sum,
            number: all.number + of.number,
        });
        self.mean_of(all)
    }

    fn mean_of(&self, Sum { sum, number }: Sum) -> Option<f64> {
        let mean = sum / number as f64;
        Some(if self.of_ratios { mean.exp() } else { mean }).filter(|mean| mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Place};

    #[test]
    fn means_are_those_of_a_panel_or_of_all() {
        let place = |panel: &str| Place {
            panel: vec![panel.to_owned()],
            row: "gto".to_owned(),
            column: "16".to_owned(),
        };
        let mean = |of_ratios: bool, panel: Option<&str>| {
            let mut cells = Cells::new(of_ratios);
            cells.add(place("bfs"), 1.0);
            cells.add(place("spmv"), 4.0);
            let panel = panel.map(|panel| vec![panel.to_owned()]);
            cells.mean(panel.as_deref(), "gto", "16")
        };
        assert_eq!(mean(true, None), Some(2.0));
        assert_eq!(mean(false, None), Some(2.5));
        assert_eq!(mean(false, Some("spmv")), Some(4.0));
        assert_eq!(mean(false, Some("mvt")), None);
    }
}
