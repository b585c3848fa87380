//! What was measured of the workloads: `character.csv`, which `cargo xtask workloads` writes
//! together with `docs/workloads.md`. Nothing here is an input of a run.

const TABLE: &str = include_str!("character.csv");

/// Measurements of one target: all launches of its kernel, or of all its kernels, up to where the
/// run was cut.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Character {
    /// What was run: `PAPER/ABBREVIATION` at size `paper`, or a workload's name at size `small`.
    pub target: &'static str,
    /// The preset that it ran on.
    pub gpu: &'static str,
    /// The kernel with the most cycles.
    pub kernel: &'static str,
    /// Threads of its block.
    pub block_threads: &'static str,
    /// Registers of a thread.
    pub registers: &'static str,
    /// Shared memory of a block in bytes.
    pub shared_bytes: &'static str,
    /// Blocks on an SM at a time.
    pub blocks_per_sm: &'static str,
    /// What limits them, named as in `occupancy_limit`.
    pub limited_by: &'static str,
    /// The part that bounds it (section 4.2 of GPUDuet).
    pub category: &'static str,
    /// Everything else that was measured, in the order of [`COLUMNS`].
    pub measures: [&'static str; COLUMNS.len()],
}

/// What [`Character::measures`] holds.
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

/// Columns before the measures.
const FIRST: usize = 9;

/// Every row, in the order of the table.
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
