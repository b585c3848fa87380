//! Schema of the result of a run, which `run --json` prints and a store of results keeps.
//!
//! A dot in the documented name of a key is a level of nesting: `l1d.hit_rate` is the member
//! `hit_rate` of the object `l1d`. Only `statistics` and `config` are flat maps: their keys are the
//! names of the registry and the keys of the configuration as they are written.
//!
//! Invariants: maps are ordered. A rate without a base is `null`, not 0. The digest covers what
//! [`run_digest`](crate::run_digest) names, but neither the time taken nor the command.

mod block_times;
mod context;
mod fork;
mod outcome;
mod reached;

pub use block_times::BlockTimes;
pub use context::{ContextDecline, ContextReport};
pub use fork::ForkReport;
pub use outcome::{FailedAssertion, Outcome};
pub use reached::{Begun, Launches, Reached};

use crate::PEAK_SUFFIX;
use crate::energy::EnergyReport;
use crate::mix::{MixFigures, SlowdownCauses, Turnaround};
use crate::sample::{Estimate, SampleReport};
use crate::sampling::SamplingReport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warploom_base::Dim3;
use warploom_state::Value;

/// Result of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Program that produced the result.
    pub program: Program,
    /// Command line of the run.
    pub command: String,
    /// Simulated machine of the run.
    pub gpu: Gpu,
    /// Digest of the whole configuration.
    pub config_digest: String,
    /// Digest of the input: modules, launches, initial buffers.
    pub input_digest: String,
    /// Way in which the run ended.
    pub outcome: Outcome,
    /// Kernels in order of their launch.
    pub kernels: Vec<KernelReport>,
    /// Programs of a run, if it has several or runs to a target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessReport>,
    /// Decisions of the multiprogramming policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionReport>,
    /// Metrics of the programs relative to running alone, if these are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixFigures>,
    /// Figures of the whole run.
    pub totals: Totals,
    /// Estimates for the whole program, if only a part of its launches was timed. `kernels` and
    /// `totals` are then for the timed launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingReport>,
    /// Set if the run went on from the checkpoint of another one with other policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkReport>,
    /// Real time of the simulation in seconds.
    pub wall_seconds: f64,
    /// Simulated core cycles over `wall_seconds`.
    pub cycles_per_second: f64,
    /// Simulated warp instructions over `wall_seconds`.
    pub warp_instructions_per_second: f64,
    /// Counts of each window of cycles, if these were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Observations and choices of the SM filter, if it observes the machine. One that may observe
    /// in every cycle reports those that changed something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sm_filter_checks: Vec<SmFilterCheck>,
    /// Cache lines that blocks share, if this was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Comparisons of outputs with references.
    pub checks: Vec<CheckReport>,
    /// Findings of the requested checks in the simulated program, one line each; not errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Version of the definition of `digest` ([`DIGEST_SET`](crate::DIGEST_SET)); 1 in results that
    /// do not state it.
    #[serde(default = "first_digest_set")]
    pub digest_set: u32,
    /// Digest of memory, outcome, cycles and a named set of counters
    /// ([`run_digest`](crate::run_digest)).
    pub digest: String,
}

const fn first_digest_set() -> u32 {
    1
}

impl RunReport {
    /// Adds the metrics relative to running alone. `alone` has a report of each program alone with
    /// the same work as in this run.
    pub fn compare_with_alone(&mut self, alone: &[ProcessReport]) {
        let pairs = || alone.iter().zip(&self.processes);
        let programs: Vec<Turnaround> = pairs()
            .map(|(alone, mixed)| Turnaround {
                alone: alone.cycles.max(1) as f64,
                mixed: mixed.cycles.max(1) as f64,
            })
            .collect();
        let instructions = self.processes.iter().map(|p| p.thread_instructions).sum();
        let ends = self.processes.iter().map(|p| p.arrived_at + p.cycles);
        let cycles = ends.max().unwrap_or(0);
        self.mix = Some(MixFigures {
            causes: pairs().map(|(a, m)| SlowdownCauses::of(a, m)).collect(),
            ..MixFigures::new(instructions, cycles, &programs)
        });
    }

    /// True if the run ended normally or at a requested limit, all checks passed, and the optional
    /// checks found nothing.
    pub fn succeeded(&self) -> bool {
        let ended = self.outcome == Outcome::Finished || self.outcome.is_limit();
        ended && self.findings.is_empty() && self.checks.iter().all(|check| check.passed)
    }
}

/// Program that produced a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the program: `warploom`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Simulated machine with its configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Name of the preset.
    pub name: String,
    /// Values of all keys of the configuration.
    pub config: BTreeMap<String, ConfigValue>,
}

/// Value of a key of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConfigValue {
    /// Value of a switch.
    Bool(bool),
    /// Value of a whole number.
    Integer(i64),
    /// Value of a number with a fraction.
    Float(f64),
    /// Name out of a list.
    Text(String),
}

impl std::fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(on) => on.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Size in three dimensions, as `[x, y, z]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct Size(pub [u32; 3]);

impl Size {
    /// Product of the three dimensions, such as the number of blocks of a grid.
    pub fn count(&self) -> u64 {
        self.0.map(u64::from).iter().product()
    }
}

impl From<Dim3> for Size {
    fn from(dim: Dim3) -> Self {
        Self([dim.x, dim.y, dim.z])
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [x, 1, 1] => write!(f, "{x}"),
            [x, y, 1] => write!(f, "{x}x{y}"),
            [x, y, z] => write!(f, "{x}x{y}x{z}"),
        }
    }
}

/// Figures of a cache or of all caches of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Value)]
pub struct CacheFigures {
    /// Hits over accesses; `None` without accesses.
    pub hit_rate: Option<f64>,
}

impl CacheFigures {
    /// Computes the figures from counts.
    pub fn new(hits: u64, accesses: u64) -> Self {
        Self {
            hit_rate: ratio(hits, accesses),
        }
    }
}

/// Figures of all DRAM channels together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Value)]
pub struct DramFigures {
    /// Fraction of the command cycles of all channels in which data moved.
    pub utilisation: Option<f64>,
}

impl DramFigures {
    /// Computes the figures from busy cycles of the data bus and all command cycles, both summed
    /// over channels.
    pub fn new(busy: u64, cycles: u64) -> Self {
        Self {
            utilisation: ratio(busy, cycles),
        }
    }
}

/// Stalls at the memory system per core cycle: the ratios by which Do et al. 2017, section 6,
/// predict which kernels gain from throttling. They are summed over partitions and may exceed 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Value)]
pub struct ContentionFigures {
    /// L2 cycles in which a partition could not take a request, per core cycle.
    pub dram_full: Option<f64>,
    /// Network cycles in which a reply could not enter the network, per core cycle.
    pub noc_to_sm: Option<f64>,
}

impl ContentionFigures {
    /// Computes the figures from counts of stalls and core cycles.
    pub fn new(dram_full_stalls: u64, reply_stalls: u64, cycles: u64) -> Self {
        Self {
            dram_full: ratio(dram_full_stalls, cycles),
            noc_to_sm: ratio(reply_stalls, cycles),
        }
    }
}

/// L2 banks for which requests wait longest: in all, at least half as long as for the bank for
/// which they wait longest of all. Waits are those of packets until they come to the bank, and of
/// requests in the scheduler of its DRAM channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct HotBanks {
    /// L2 banks of the machine.
    pub of_banks: u32,
    /// Number of these banks; of several launches, in the one with the longest waits.
    pub banks: u32,
    /// DRAM channels of the machine.
    pub of_channels: u32,
    /// Number of channels to which these banks belong.
    pub channels: u32,
    /// Core cycles of these waits, summed over requests.
    pub wait_cycles: u64,
    /// Longest of the sums of a launch, which `banks` and `channels` are of.
    pub longest_wait_cycles: u64,
    /// Packets that came to these banks.
    pub packets: u64,
    /// Loads that these banks looked up.
    pub loads: u64,
    /// Stores that they looked up.
    pub stores: u64,
    /// Atomics that they looked up.
    pub atomics: u64,
    /// Look-ups that missed in L2.
    pub misses: u64,
    /// L2 cycles in which the busiest of these banks looked up a request or moved data, whichever
    /// are more. 0 in results of earlier versions.
    #[serde(default)]
    pub busy_cycles: u64,
}

impl HotBanks {
    /// Figures of two launches together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (longer, shorter) = match self.longest_wait_cycles >= other.longest_wait_cycles {
            true => (self, other),
            false => (other, self),
        };
        Self {
            wait_cycles: longer.wait_cycles + shorter.wait_cycles,
            packets: longer.packets + shorter.packets,
            loads: longer.loads + shorter.loads,
            stores: longer.stores + shorter.stores,
            atomics: longer.atomics + shorter.atomics,
            misses: longer.misses + shorter.misses,
            busy_cycles: longer.busy_cycles + shorter.busy_cycles,
            ..longer
        }
    }
}

/// Observation of the machine by the SM filter, and its choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmFilterCheck {
    /// Core cycle of the observation.
    pub cycle: u64,
    /// Stalls of DRAM and of the reply network per core cycle, since the previous observation.
    pub contention: f64,
    /// Number of SMs that may take blocks from this cycle on.
    pub sms: u32,
}

/// Lines of global memory that several blocks of a launch touch, summed over launches. They are
/// counted during an execution, so that all addresses are known. A block counts a line once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// Lines of 128 bytes that a block touches, summed over blocks.
    pub lines: u64,
    /// Lines that at least one other block of the launch also touches.
    pub shared: u64,
    /// Lines that the next block in the order of the grid also touches.
    pub with_next: u64,
    /// Lines that the block in the next row of the grid also touches; 0 in grids of one row or
    /// column.
    pub with_below: u64,
    /// Lines of `shared` that neither the previous or next block in order nor the block in the
    /// previous or next row of the grid touches.
    pub far: u64,
}

/// Figures of a kernel or of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Value)]
pub struct Figures {
    /// Core cycles that were simulated.
    pub cycles: u64,
    /// Instructions issued, one for up to 32 lanes.
    pub warp_instructions: u64,
    /// Instructions issued, one for each active lane.
    pub thread_instructions: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// Figures of all L1 data caches.
    pub l1d: CacheFigures,
    /// Figures of all L2 banks.
    pub l2: CacheFigures,
    /// Figures of all DRAM channels.
    pub dram: DramFigures,
    /// Stalls at the memory system; `None` for a kernel that shared the machine.
    #[serde(default)]
    pub contention: ContentionFigures,
    /// L2 banks for which requests wait longest; `None` without requests, and for a kernel that
    /// shared the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_banks: Option<HotBanks>,
    /// Times of blocks; `None` where none started, and for a kernel that shared the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_times: Option<BlockTimes>,
    /// Fractions of the scheduler cycles by cause, including issue; their sum is 1. Empty for a
    /// kernel that shared the machine.
    pub stalls: BTreeMap<String, f64>,
    /// Counters of the registry by name.
    pub statistics: Counts,
    /// Energy, where an energy preset was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyReport>,
    /// Counters of each SM and memory partition, if these were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// Counters of the registry by name; counters that are 0 are left out.
pub type Counts = BTreeMap<String, u64>;

/// Adds counts of a later time or of another part: peaks take the larger value, all others add up.
pub fn accumulate(sum: &mut Counts, more: &Counts) {
    for (name, value) in more {
        let total = sum.entry(name.clone()).or_default();
        *total = match is_peak(name) {
            true => (*total).max(*value),
            false => *total + value,
        };
    }
}

/// True if `name` is the name of a [`crate::Peak`], or of an element of an array of them.
pub fn is_peak(name: &str) -> bool {
    name.split('.').any(|word| word.ends_with(PEAK_SUFFIX))
}

/// Counters of each part of the machine, by kind of part and in the order of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct Parts {
    /// Counters of each SM: pipeline and caches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sms: Vec<Counts>,
    /// Counters of each L2 bank (sub-partition), with its queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub banks: Vec<Counts>,
    /// Counters of the DRAM of each channel. Bank `b` belongs to channel `b * channels / banks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Counts>,
    /// Counters of the network towards L2 and of that towards SMs: buffers of the local crossbar.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Counts>,
}

/// Time series: counts of each window. A window ends with the first step of the machine
/// (`gpu.link_cycles`) that reaches its length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Requested length of a window in core cycles.
    pub window_cycles: u64,
    /// First core cycle of each window in order.
    pub start: Vec<u64>,
    /// Core cycle after the last one of each window.
    pub end: Vec<u64>,
    /// Counts of each window by name, with a prefix such as `sm3:`, `bank0:` or `channel1:` for
    /// those of one part. Counters that are 0 in every window are left out.
    pub columns: BTreeMap<String, Vec<u64>>,
    /// Mean power in watts in each window, by component and in all (`total`), where an energy
    /// preset was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub watts: BTreeMap<String, Vec<f64>>,
}

/// Result of one launch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Value)]
pub struct KernelReport {
    /// Name of the kernel in its module.
    pub name: String,
    /// Blocks of the grid.
    pub grid: Size,
    /// Threads of a block.
    pub block: Size,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
    /// Blocks that fit one SM at a time.
    pub blocks_per_sm: u32,
    /// Resource that limits this number: `threads`, `registers`, `shared-memory`, `block-slots`,
    /// `grid` or `cap`.
    pub occupancy_limit: String,
    /// Storage of a warp that is switched out (`sm.context`), in registers per thread; `None` if
    /// the kernel never waits for global memory or at a barrier.
    pub context_registers: Option<u32>,
    /// Context switching of the kernel, if `sm.context` enables it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextReport>,
    /// Figures of the kernel; if others were in flight at the same time, only those that are
    /// counted by kernel.
    #[serde(flatten)]
    pub figures: Figures,
    /// Process and times of the kernel, if kernels may run concurrently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// Blocks that were timed, if sampling was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleReport>,
}

/// Process and times of a kernel that may run concurrently with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct Concurrent {
    /// Index of the process in `processes`.
    pub process: u32,
    /// Stream of the process, by number.
    pub stream: u32,
    /// Core cycle of its launch.
    pub launched_at: u64,
    /// Core cycle in which its first block started.
    pub started_at: u64,
    /// True if the kernel was halted because its process had reached its target.
    pub halted: bool,
}

/// Result of one program of a run with several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// Name of the program.
    pub name: String,
    /// Core cycle in which the program started.
    pub arrived_at: u64,
    /// Core cycle in which the program ended or reached its target; `None` if the run ended
    /// earlier.
    pub ended_at: Option<u64>,
    /// Target of the program in thread instructions, if it has one.
    pub target: Option<u64>,
    /// Number of times that the program ran to its end.
    pub runs: u64,
    /// Number of kernels that ended.
    pub launches: u64,
    /// Warp instructions, including those issued before a kernel was halted.
    pub warp_instructions: u64,
    /// Thread instructions from start to end.
    pub thread_instructions: u64,
    /// Core cycles from start to end.
    pub cycles: u64,
    /// Thread instructions per core cycle of that time.
    pub ipc: f64,
    /// Figures of the L1 data caches for accesses of this program.
    pub l1d: CacheFigures,
    /// Figures of L2 for accesses of this program.
    pub l2: CacheFigures,
    /// L2 accesses of this program.
    pub l2_accesses: u64,
    /// Initiation intervals of the program's instructions, summed in cycles, by kind of unit.
    pub pipe_cycles: BTreeMap<String, u64>,
    /// Sum over core cycles of the 32-bit registers that the program's blocks held.
    pub register_cycles: u64,
    /// Sum over core cycles of the bytes of shared memory that the program's blocks held.
    pub shared_byte_cycles: u64,
    /// Number of the program's blocks that started on an SM with a block of another process.
    #[serde(default)]
    pub joined_blocks: u64,
}

/// Decision of the multiprogramming policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// Core cycle of the decision.
    pub cycle: u64,
    /// Kind of the decision: `profile`, `shared` or `spatial`.
    pub verdict: String,
    /// Processes of the kernels concerned, as indices in `processes`.
    pub processes: Vec<u32>,
    /// Blocks of each kernel on an SM, if SMs are shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    /// Predicted performance of each kernel with 1, 2, 3 ... blocks on an SM, relative to its best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Vec<f64>>,
}

/// Figures of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of launches of kernels.
    pub launches: u64,
    /// Figures of all launches together.
    #[serde(flatten)]
    pub figures: Figures,
    /// Estimated cycles of all launches, if blocks of some were not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// Comparison of an output with its reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Name of the output.
    pub name: String,
    /// True if the output agreed with the reference.
    pub passed: bool,
    /// Description of the first difference, or of what was compared.
    pub detail: String,
}

/// Fractions of counts by cause, whose sum is 1; empty if all counts are 0.
pub fn shares<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, f64> {
    let counts: Vec<_> = counts.into_iter().collect();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return BTreeMap::new();
    }
    let share = |(cause, count): (&str, u64)| (cause.to_owned(), count as f64 / total as f64);
    counts.into_iter().map(share).collect()
}

/// Quotient of `part` and `whole`; `None` if `whole` is 0.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
