//! A finite-element matrix in compressed rows, a vector, and their product.
//!
//! The mesh is a square of `n` x `n` bicubic elements: nodes at thirds of an element's side, those
//! on the boundary left out, which makes (3n - 1)^2 rows. Two nodes are coupled when they share an
//! element: 7 x 7 nodes around a corner of elements, 4 x 7 around an edge's node, 4 x 4 around an
//! element's inner node. For n = 128 that is Parboil's large data set to the row (383^2 = 146,689)
//! and nearly to the nonzero (3,636,649), with its longest row of 49.

use std::ops::RangeInclusive;

use super::numbering::Numbering;
use warploom_base::Rng;

/// A sparse matrix in compressed rows.
pub(super) struct Csr {
    /// First entry of each row, followed by the number of entries.
    pub(super) row_start: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
}

impl Csr {
    pub(super) fn rows(&self) -> usize {
        self.row_start.len() - 1
    }

    /// Columns and values of a row.
    pub(super) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.row_start[row] as usize..self.row_start[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// A matrix and a vector to multiply it with.
pub(super) struct Problem {
    pub(super) matrix: Csr,
    pub(super) x: Vec<f32>,
}

/// Number of rows of the matrix for a mesh of `elements` x `elements`.
pub(super) fn rows(elements: u32) -> u32 {
    let side = 3 * elements - 1;
    side * side
}

/// Nodes along one axis that share an element with node `i`; nodes 0 and 3n are not numbered.
fn coupled(i: u32, elements: u32) -> RangeInclusive<u32> {
    let (first, last) = match i % 3 {
        0 => (i - 3, i + 3),
        _ => (i / 3 * 3, i / 3 * 3 + 3),
    };
    first.max(1)..=last.min(3 * elements - 1)
}

impl Problem {
    /// Generates a matrix and a vector. The pattern depends only on the mesh and its numbering, the
    /// values on the seed.
    pub(super) fn generate(elements: u32, numbering: &Numbering, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut matrix = Csr {
            row_start: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        for &(x, y) in numbering.nodes() {
            let first = matrix.columns.len();
            for y in coupled(y, elements) {
                let row = coupled(x, elements).map(|x| numbering.number(x, y));
                matrix.columns.extend(row);
            }
            matrix.columns[first..].sort_unstable();
            matrix.row_start.push(matrix.columns.len() as u32);
        }
        matrix.values = (0..matrix.columns.len())
            .map(|_| 2.0 * rng.unit_f32() - 1.0)
            .collect();
        let x = (0..rows(elements)).map(|_| rng.unit_f32()).collect();
        Self { matrix, x }
    }

    /// Reference product: each row adds in the order of columns, with one fused multiply-add per
    /// entry.
    pub(super) fn reference(&self) -> Vec<f32> {
        let product = |row| {
            let (columns, values) = self.matrix.row(row);
            let terms = columns.iter().zip(values);
            terms.fold(0.0_f32, |sum, (&column, value)| {
                value.mul_add(self.x[column as usize], sum)
            })
        };
        (0..self.matrix.rows()).map(product).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERINGS: [fn(u32) -> Numbering; 2] = [Numbering::by_rows, Numbering::by_elements];

    fn generate(elements: u32, numbering: fn(u32) -> Numbering, seed: u64) -> Problem {
        Problem::generate(elements, &numbering(elements), seed)
    }

    #[test]
    fn the_large_data_set_is_met() {
        for numbering in NUMBERINGS {
            the_large_data_set_is_met_by(numbering);
        }
    }

    fn the_large_data_set_is_met_by(numbering: fn(u32) -> Numbering) {
        let Problem { matrix, .. } = generate(128, numbering, 0);
        let longest = (0..matrix.rows()).map(|row| matrix.row(row).0.len()).max();
        assert_eq!(
            (matrix.rows(), matrix.values.len(), longest),
            (146_689, 3_636_649, Some(49))
        );
    }

    #[test]
    fn coupling_is_symmetric_and_rows_are_sorted() {
        for numbering in NUMBERINGS {
            coupling_is_symmetric_by(numbering);
        }
    }

    fn coupling_is_symmetric_by(numbering: fn(u32) -> Numbering) {
        let Problem { matrix, .. } = generate(4, numbering, 0);
        for row in 0..matrix.rows() {
            let (columns, _) = matrix.row(row);
            assert!(columns.is_sorted_by(|a, b| a < b));
            for &column in columns {
                assert!(
                    matrix
                        .row(column as usize)
                        .0
                        .binary_search(&(row as u32))
                        .is_ok()
                );
            }
        }
    }

    #[test]
    fn agrees_with_a_dense_product_in_double_precision() {
        let problem = generate(3, Numbering::by_elements, 9);
        let rows = problem.matrix.rows();
        let mut dense = vec![0.0_f64; rows * rows];
        for row in 0..rows {
            let (columns, values) = problem.matrix.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                dense[row * rows + column as usize] = value.into();
            }
        }
        for (row, y) in problem.reference().into_iter().enumerate() {
            let terms = dense[row * rows..][..rows].iter().zip(&problem.x);
            let exact: f64 = terms.map(|(a, &x)| a * f64::from(x)).sum();
            // The bound is 49 roundings of partial sums below 49.
            assert!((f64::from(y) - exact).abs() < 49.0 * 49.0 * f64::from(f32::EPSILON));
        }
    }
}
