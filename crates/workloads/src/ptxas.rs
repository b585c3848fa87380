//! Resources of the workloads' kernels according to NVIDIA's assembler: `ptxas.csv`, which
//! `cargo xtask ptxas` writes. The first line contains the assembler's version.

const TABLE: &str = include_str!("ptxas.csv");

/// The architecture for which kernels on a machine of this name are assembled. GPUDuet took
/// registers and shared memory from `ptxas` for sm_50 (its section 4.1); the papers of other
/// presets print them.
pub fn architecture(gpu: &str) -> Option<&'static str> {
    (gpu == "maxwell-duet").then_some("sm_50")
}

/// Report of `ptxas -v` on a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assembled {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Stack of a thread in local memory in bytes, including spilled registers.
    pub stack_bytes: u32,
    /// Bytes that a thread's spilling stores write.
    pub spill_store_bytes: u32,
    /// Bytes that a thread's spilling loads read.
    pub spill_load_bytes: u32,
    /// Constant memory in bytes, including parameters.
    pub constant_bytes: u32,
}

/// Resources of a workload's PTX entry for an architecture such as `sm_50`, if the table has such a
/// row.
pub fn assembled(workload: &str, entry: &str, architecture: &str) -> Option<Assembled> {
    let key = [workload, entry, architecture];
    let cells = TABLE
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let row = cells.into_iter().find(|cells| cells.starts_with(&key))?;
    let number = |at: usize| row.get(at)?.parse().ok();
    Some(Assembled {
        registers: number(3)?,
        shared_bytes: number(4)?,
        stack_bytes: number(5)?,
        spill_store_bytes: number(6)?,
        spill_load_bytes: number(7)?,
        constant_bytes: number(8)?,
    })
}

/// Name and version of the assembler.
pub fn assembler() -> &'static str {
    let line = TABLE.lines().next().unwrap_or_default();
    line.trim_start_matches("# ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all;

    /// `cargo xtask ptxas` renews the table.
    #[test]
    fn every_entry_has_a_row() {
        for workload in all() {
            for entry in workload.kernels.iter().flat_map(|kernel| kernel.entries) {
                let row = assembled(workload.name, entry, "sm_50");
                let row = row.unwrap_or_else(|| panic!("{}: {entry}", workload.name));
                assert!((1..=255).contains(&row.registers), "{entry}");
            }
        }
        assert!(assembler().starts_with("ptxas: Cuda compilation tools, release"));
        assert_eq!(assembled("vectoradd", "vector_add", "sm_20"), None);
    }
}
