//! Measured characteristics of the workloads: `character.csv`, which `cargo xtask workloads` writes
//! together with `docs/workloads.md`. They are not inputs of a run.

const TABLE: &str = include_str!("character.csv");

/// Measurements of one target: all launches of its kernel, or of all its kernels, up to the cycle
/// at which the run was cut.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Character {
    /// Measured target: `PAPER/ABBREVIATION` at size `paper`, or a workload's name at size `small`.
    pub target: &'static str,
    /// Preset on which it ran.
    pub gpu: &'static str,
    /// The kernel with the most cycles.
    pub kernel: &'static str,
    /// Number of threads in a block.
    pub block_threads: &'static str,
    /// Registers of a thread.
    pub registers: &'static str,
    /// Shared memory of a block in bytes.
    pub shared_bytes: &'static str,
    /// Number of blocks on an SM at a time.
    pub blocks_per_sm: &'static str,
    /// Resource that limits them, named as in `occupancy_limit`.
    pub limited_by: &'static str,
    /// The part that bounds the kernel (section 4.2 of GPUDuet).
    pub category: &'static str,
    /// All other measured values, in the order of [`COLUMNS`].
    pub measures: [&'static str; COLUMNS.len()],
}

/// Names of the values in [`Character::measures`].
pub const COLUMNS: [&str; 14] = [
    "cycles",
    "warp instructions",
    "memory %",
    "shared %",
    "lanes",
    "transactions",
    "L1D hits %",
    "L2 hits %",
    "L2 MPKI",
    "schedulers %",
    "L2 to SM %",
    "SM to L2 %",
    "DRAM %",
    "resident warps",
];

/// Number of columns before the measured values.
const FIRST: usize = 9;

/// All rows, in the order of the table.
pub fn characters() -> impl Iterator<Item = Character> {
    TABLE.lines().skip(1).filter_map(|line| {
        let cells: Vec<_> = line.split(',').collect();
        let measures = cells.get(FIRST..)?.try_into().ok()?;
        let [
            target,
            gpu,
            kernel,
            block_threads,
            registers,
            shared_bytes,
            blocks_per_sm,
            limited_by,
            category,
        ] = cells.get(..FIRST)?.try_into().ok()?;
        Some(Character {
            target,
            gpu,
            kernel,
            block_threads,
            registers,
            shared_bytes,
            blocks_per_sm,
            limited_by,
            category,
            measures,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn rows_are_whole_and_name_targets() {
        let rows: Vec<_> = characters().collect();
        assert_eq!(rows.len(), TABLE.lines().count() - 1, "a row is broken");
        for row in &rows {
            let target = Target::resolve(row.target).unwrap();
            let entries = target.workload.kernels.iter().flat_map(|k| k.entries);
            assert!(entries.into_iter().any(|e| *e == row.kernel), "{row:?}");
            assert!(row.registers.parse::<u32>().is_ok(), "{row:?}");
        }
    }
}
