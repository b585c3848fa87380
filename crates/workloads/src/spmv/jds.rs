//! Jagged diagonal storage: rows are sorted by length, longest first, and the k-th entries of all
//! rows that have one are adjacent. Rows form groups of a warp. They are padded to the length of
//! the group's longest row with entries of value 0 in column 0.

use super::matrix::Csr;

/// Number of rows that are padded to one length: a warp's.
pub(super) const GROUP: usize = 32;

/// A matrix in jagged diagonals, in the kernel's format.
pub(super) struct Jds {
    pub(super) values: Vec<f32>,
    pub(super) columns: Vec<u32>,
    /// Original row of each sorted row.
    pub(super) permutation: Vec<u32>,
    /// First entry of each diagonal.
    pub(super) diagonal_start: Vec<u32>,
    /// Padded length of each group of rows.
    pub(super) group_length: Vec<u32>,
}

impl Jds {
    pub(super) fn new(matrix: &Csr) -> Self {
        let length = |row: u32| matrix.row(row as usize).0.len();
        let mut permutation: Vec<u32> = (0..matrix.rows() as u32).collect();
        permutation.sort_by_key(|&row| std::cmp::Reverse(length(row)));
        let groups = permutation.chunks(GROUP);
        // Rows are sorted, so a group's first row is its longest.
        let group_length: Vec<u32> = groups.map(|group| length(group[0]) as u32).collect();
        let mut jds = Self {
            values: Vec::new(),
            columns: Vec::new(),
            permutation,
            diagonal_start: Vec::new(),
            group_length,
        };
        let diagonals = jds.group_length.first().copied().unwrap_or(0);
        (0..diagonals as usize).for_each(|k| jds.push_diagonal(matrix, k));
        jds
    }

    fn push_diagonal(&mut self, matrix: &Csr, k: usize) {
        self.diagonal_start.push(self.values.len() as u32);
        let groups = self
            .group_length
            .partition_point(|&length| length as usize > k);
        for at in 0..groups * GROUP {
            let row = self
                .permutation
                .get(at)
                .map(|&row| matrix.row(row as usize));
            let entry = row.and_then(|(columns, values)| columns.get(k).zip(values.get(k)));
            let (&column, &value) = entry.unwrap_or((&0, &0.0));
            self.columns.push(column);
            self.values.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::matrix::Problem;
    use super::super::numbering::Numbering;
    use super::*;

    #[test]
    fn rows_are_sorted_by_length_and_permuted() {
        let Problem { matrix, .. } = Problem::generate(5, &Numbering::by_rows(5), 0);
        let jds = Jds::new(&matrix);
        let lengths = jds
            .permutation
            .iter()
            .map(|&row| matrix.row(row as usize).0.len());
        assert!(lengths.is_sorted_by(|a, b| a >= b));
        let mut rows = jds.permutation.clone();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..matrix.rows() as u32));
    }

    #[test]
    fn every_entry_is_kept_and_the_rest_is_padding() {
        let Problem { matrix, .. } = Problem::generate(5, &Numbering::by_rows(5), 0);
        let jds = Jds::new(&matrix);
        for (at, &row) in jds.permutation.iter().enumerate() {
            let (columns, values) = matrix.row(row as usize);
            for k in 0..jds.group_length[at / GROUP] as usize {
                let entry = jds.diagonal_start[k] as usize + at;
                let expected = columns.get(k).zip(values.get(k)).unwrap_or((&0, &0.0));
                assert_eq!((&jds.columns[entry], &jds.values[entry]), expected);
            }
        }
        let padded: u32 = jds
            .group_length
            .iter()
            .map(|length| length * GROUP as u32)
            .sum();
        assert_eq!(jds.values.len(), padded as usize);
        assert!(
            jds.diagonal_start
                .iter()
                .all(|start| (*start as usize).is_multiple_of(GROUP))
        );
    }
}
