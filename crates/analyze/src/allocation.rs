//! Reads of DRAM that L2 makes because a store misses: it reads the line before it keeps the bytes.

use crate::advice::percent;
use warploom_config::{GpuSpec, WriteAllocate};
use warploom_stats::result::Counts;

/// Bytes of an L2 sector.
const SECTOR_BYTES: u32 = 32;
/// Share of the transfers of DRAM from which these reads are named.
const WORTH_NAMING: f64 = 0.1;

/// Reads for lines of stores that are a large part of what DRAM moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allocation {
    /// Share of the transfers of DRAM.
    share: f64,
    /// True if L2 reads lines also where stores fill their sectors.
    is_always: bool,
}

impl Allocation {
    /// Reads of that kind, if they are worth naming. `None` for machines whose L2 reads nothing for
    /// stores, or counts sectors that it reads beside others among them.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Option<Self> {
        let is_always = match spec.partition.l2.write_allocate {
            WriteAllocate::WriteAndRead => true,
            WriteAllocate::FetchOnWrite => false,
            WriteAllocate::None | WriteAllocate::LazyFetchOnRead => return None,
        };
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let reads = get("dram.allocate_reads");
        let others = ["dram.reads", "dram.writes", "dram.write_backs"];
        let all = reads + others.map(get).iter().sum::<f64>();
        let share = reads / all.max(1.0);
        let is_counted = spec.partition.fetch_bytes <= SECTOR_BYTES;
        (is_counted && share >= WORTH_NAMING).then_some(Self { share, is_always })
    }

    /// Clause on these reads, after what DRAM moves.
    pub(crate) fn in_words(self) -> String {
        format!(
            ", of which {} is reads of lines that stores miss in L2 (l2.write_allocate)",
            percent(self.share)
        )
    }

    /// Step against these reads.
    pub(crate) fn step(self) -> String {
        match self.is_always {
            true => format!(
                "store less, or to lines that were loaded, since L2 of this machine reads each line \
                 that a store misses, also if stores fill it ({} of what DRAM moves; compare \
                 machines by l2.write_allocate)",
                percent(self.share)
            ),
            false => format!(
                "let warps store whole sectors of {SECTOR_BYTES} bytes, since L2 reads those that a \
                 store fills in part ({} of what DRAM moves)",
                percent(self.share)
            ),
        }
    }
}
