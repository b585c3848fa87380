//! L2 banks that recover from writes: a bank takes no other request for some cycles after one.

use warploom_config::GpuSpec;
use warploom_stats::result::Counts;

/// Writes that keep L2 banks busy for longer than all data that the banks move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// True if most of the cycles follow writes of parts of sectors.
    is_partial: bool,
    /// L2 cycles for which such a write occupies its bank.
    cycles: u32,
}

impl Recovery {
    /// The writes from which banks recover; `None` if that takes less time than moving data.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Option<Self> {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        let recovery = get("partition.write_recovery_cycles");
        let (partial, whole) = (
            spec.partition.partial_write_cycles,
            spec.partition.write_cycles,
        );
        let after_partial = get("partition.partial_writes") * u64::from(partial.saturating_sub(1));
        let is_partial = 2 * after_partial >= recovery;
        let cycles = if is_partial { partial } else { whole };
        (recovery > get("l2.data_port_hits")).then_some(Self { is_partial, cycles })
    }

    /// Clause on the writes.
    pub(crate) fn in_words(self) -> String {
        let (what, key) = match self.is_partial {
            true => ("a store to a part of a sector", "partial_write_cycles"),
            false => ("a store", "write_cycles"),
        };
        let cycles = self.cycles;
        format!("{what} occupies its bank for {cycles} cycles (partition.{key})")
    }

    /// Step against such writes.
    pub(crate) const fn step(self) -> &'static str {
        match self.is_partial {
            true => {
                "let a warp store whole sectors of 32 bytes, with neighbouring words from \
                 neighbouring threads; where the result lies otherwise, exchange values through \
                 shared memory before they are stored"
            }
            false => "store less: keep intermediate results in registers or shared memory",
        }
    }
}
