//! Counts that are compared, with the same definition in both simulators.
//!
//! Cache counts are GPGPU-Sim's `*_total_cache_*` lines. Every access of any kind has one outcome:
//! hit, pending hit (HIT_RESERVED: the line was requested before) or miss (MISS and SECTOR_MISS).
//! Attempts that failed (RESERVATION_FAIL) are not accesses.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use warploom_stats::result::RunReport;

/// Recorded figures of GPGPU-Sim.
const RECORDED: &str = include_str!("../../data/gpgpusim-4.2.json");

/// All recorded figures of GPGPU-Sim.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Description of the program that ran.
    pub source: String,
    /// The runs, in order of configuration.
    pub runs: Vec<RecordedRun>,
}

/// A run of GPGPU-Sim.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRun {
    /// GPGPU-Sim's name of the configuration.
    pub configuration: String,
    /// Our name of the kernel, at size `paper`.
    pub workload: String,
    /// Processor time of the run in seconds, on one thread.
    pub user_seconds: f64,
    /// Counts that GPGPU-Sim reported.
    pub counts: Counts,
}

/// All counts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Number of blocks that an SM holds at a time.
    pub blocks_per_sm: u64,
    /// Number of core cycles.
    pub cycles: u64,
    /// Instructions, counted once per lane in which they take effect.
    pub thread_instructions: u64,
    /// Instructions, counted once per warp.
    pub warp_instructions: u64,
    /// Accesses of L1 data caches.
    pub l1d: CacheCounts,
    /// Accesses of instruction caches, including fetches on wrong paths.
    pub l1i: CacheCounts,
    /// Accesses of constant caches.
    pub l1c: CacheCounts,
    /// Accesses of the L2.
    pub l2: CacheCounts,
    /// Events of memory channels.
    pub dram: DramCounts,
    /// Scheduler cycles without an instruction.
    pub slots: SlotCounts,
    /// Value of GPGPU-Sim's counter `gpu_stall_dramfull`.
    pub dram_full_stalls: u64,
    /// Value of GPGPU-Sim's counter `gpu_stall_icnt2sh`.
    pub reply_stalls: u64,
    /// Flits in the networks.
    pub flits: FlitCounts,
}

/// Accesses of caches by outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheCounts {
    /// Hits, pending hits and misses.
    pub accesses: u64,
    /// Accesses with outcome HIT.
    pub hits: u64,
    /// Accesses with outcome HIT_RESERVED.
    pub pending_hits: u64,
    /// Accesses with outcomes MISS and SECTOR_MISS.
    pub misses: u64,
    /// Attempts that failed (RESERVATION_FAIL).
    pub failed_attempts: u64,
}

/// Events of all memory channels together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramCounts {
    /// Number of column reads.
    pub reads: u64,
    /// Number of column writes, including write-backs.
    pub writes: u64,
    /// Number of opened rows.
    pub activates: u64,
    /// Number of closed rows.
    pub precharges: u64,
    /// Share of requests that found their row open. `None` without requests. GPGPU-Sim's figure is
    /// the mean over its channels.
    pub row_locality: Option<f64>,
    /// Share of command cycles in which data moved.
    pub utilisation: f64,
}

/// Scheduler cycles in GPGPU-Sim's three classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotCounts {
    /// Class `W0_Idle`: no warp had an instruction to offer.
    pub idle: u64,
    /// Class `W0_Scoreboard`: the instructions waited for operands.
    pub scoreboard: u64,
    /// Class `Stall`: a warp passed the scoreboard and did not issue.
    pub stall: u64,
}

/// Flits between SMs and L2, which GPGPU-Sim calls packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlitCounts {
    /// Value of GPGPU-Sim's counter `icnt_total_pkts_simt_to_mem`.
    pub to_memory: u64,
    /// Value of GPGPU-Sim's counter `icnt_total_pkts_mem_to_simt`.
    pub from_memory: u64,
}

/// Parses the recorded figures of GPGPU-Sim.
pub fn recorded() -> Result<Recorded> {
    serde_json::from_str(RECORDED).context("cannot read the recorded figures")
}

impl Counts {
    /// Counts of a run of ours with a single launch that ended with correct outputs.
    pub fn of(report: &RunReport) -> Result<Self> {
        ensure!(report.succeeded(), "the run failed: {:?}", report.outcome);
        let [kernel] = &report.kernels[..] else {
            anyhow::bail!("{} launches instead of one", report.kernels.len());
        };
        let figures = &report.totals.figures;
        let counters = Counters(&figures.statistics);
        Ok(Self {
            blocks_per_sm: kernel.blocks_per_sm.into(),
            cycles: figures.cycles,
            thread_instructions: figures.thread_instructions,
            warp_instructions: figures.warp_instructions,
            l1d: counters.cache("l1d"),
            l1i: counters.cache("l1i"),
            l1c: counters.cache("l1c"),
            l2: counters.cache("l2"),
            dram: counters.dram(),
            slots: SlotCounts {
                idle: counters.sum("issue.idle"),
                scoreboard: counters.sum("issue.scoreboard"),
                stall: counters.sum("issue.stall"),
            },
            dram_full_stalls: counters.sum("gpu.dram_full_stalls"),
            reply_stalls: counters.sum("gpu.reply_stalls"),
            flits: FlitCounts {
                to_memory: counters.sum("sm.flits_sent"),
                from_memory: counters.sum("sm.flits_received"),
            },
        })
    }
}

/// Counters of a result by name. A result omits counters with the value 0.
struct Counters<'a>(&'a BTreeMap<String, u64>);

impl Counters<'_> {
    /// A counter, or the sum of the counters whose names add labels to `name`.
    fn sum(&self, name: &str) -> u64 {
        let labels = format!("{name}.");
        let named = |key: &str| key == name || key.starts_with(&labels);
        let counters = self.0.iter().filter(|(key, _)| named(key));
        counters.map(|(_, value)| value).sum()
    }

    fn cache(&self, cache: &str) -> CacheCounts {
        let outcome = |outcome| self.sum(&format!("{cache}.accesses.{outcome}"));
        let (hits, pending_hits) = (outcome("hit"), outcome("hit_reserved"));
        let misses = outcome("miss") + outcome("sector_miss");
        CacheCounts {
            accesses: hits + pending_hits + misses,
            hits,
            pending_hits,
            misses,
            failed_attempts: outcome("reservation_fail"),
        }
    }

    fn dram(&self) -> DramCounts {
        let (hits, misses) = (self.sum("dram.row_hits"), self.sum("dram.row_misses"));
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let busy = share(self.sum("dram.data_cycles"), self.sum("dram.cycles"));
        DramCounts {
            reads: self.sum("dram.reads"),
            writes: self.sum("dram.writes") + self.sum("dram.write_backs"),
            activates: self.sum("dram.activates"),
            precharges: self.sum("dram.precharges"),
            row_locality: share(hits, hits + misses),
            utilisation: busy.unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Counts, recorded};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_record_is_whole_and_adds_up() {
        let recorded = recorded().unwrap();
        let configurations: BTreeSet<_> = recorded.runs.iter().map(|r| &r.configuration).collect();
        let workloads: BTreeSet<_> = recorded.runs.iter().map(|run| &run.workload).collect();
        assert_eq!((configurations.len(), workloads.len()), (2, 5));
        assert_eq!(recorded.runs.len(), 10);
        for run in &recorded.runs {
            let Counts {
                l1d, l1i, l1c, l2, ..
            } = &run.counts;
            for cache in [l1d, l1i, l1c, l2] {
                let outcomes = cache.hits + cache.pending_hits + cache.misses;
                assert_eq!(outcomes, cache.accesses, "{}", run.workload);
            }
        }
    }

    #[test]
    fn labels_are_summed_and_longer_names_are_not() {
        let map: BTreeMap<_, _> = [
            ("l2.accesses.hit.global_read", 3),
            ("l2.accesses.hit.global_write", 4),
            ("l2.accesses.hit_reserved.global_read", 10),
            ("l2.accesses.sector_miss.global_read", 1),
            ("gpu.cycles", 9),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let counters = Counters(&map);
        let l2 = counters.cache("l2");
        assert_eq!((l2.hits, l2.pending_hits, l2.misses), (7, 10, 1));
        assert_eq!((l2.accesses, l2.failed_attempts), (18, 0));
        assert_eq!(counters.sum("gpu.cycles"), 9);
        assert_eq!(counters.dram().row_locality, None);
    }
}
