//! The schema of a run's result: what `run --json` prints and a results store keeps.
//!
//! A dot in a key's documented name is a level of nesting: `l1d.hit_rate` is the member
//! `hit_rate` of the object `l1d`. Only `statistics` and `config` are flat maps: their keys are
//! the registry's names and the configuration's keys as one would type them.
//!
//! Invariants: maps are ordered; a rate of nothing is `null`, not 0; the digest covers outputs,
//! cycles and shared statistics, never the time taken or the command.

use crate::PEAK_SUFFIX;
use crate::energy::EnergyReport;
use crate::mix::{MixFigures, SlowdownCauses, Turnaround};
use crate::sample::{Estimate, SampleReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warploom_base::Dim3;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// What produced the result.
    pub program: Program,
    /// The command line.
    pub command: String,
    /// The machine.
    pub gpu: Gpu,
    /// Digest of the configuration in full.
    pub config_digest: String,
    /// Digest of the input: modules, launches, initial buffers.
    pub input_digest: String,
    /// How the run ended.
    pub outcome: Outcome,
    /// Launches in order of their launch.
    pub kernels: Vec<KernelReport>,
    /// Programs of a run of several, or of one that runs to a target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessReport>,
    /// What the multiprogramming policy decided while they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionReport>,
    /// What they came to over running alone, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixFigures>,
    /// The same figures over the whole run.
    pub totals: Totals,
    /// Time that the simulation took, in seconds.
    pub wall_seconds: f64,
    /// Simulated core cycles over `wall_seconds`.
    pub cycles_per_second: f64,
    /// Simulated warp instructions over `wall_seconds`.
    pub warp_instructions_per_second: f64,
    /// What was counted in each window of cycles, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// What the SM filter saw and chose, where it watches the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sm_filter_checks: Vec<SmFilterCheck>,
    /// Cache lines that blocks share, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Comparisons of outputs with references.
    pub checks: Vec<CheckReport>,
    /// What the checks asked for found in the simulated program, one finding a line; not errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Digest of outputs, cycles and shared statistics.
    pub digest: String,
}

impl RunReport {
    /// Notes what the programs came to, each of which does alone in `alone` the work that it did
    /// here.
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

    /// The run ended by itself or where it was asked to, and every check made passed.
    pub fn succeeded(&self) -> bool {
        let ended = matches!(self.outcome, Outcome::Finished | Outcome::CycleLimit { .. });
        ended && self.checks.iter().all(|check| check.passed)
    }
}

/// What produced a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// `warploom`.
    pub name: String,
    /// Version.
    pub version: String,
}

/// The simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Preset's name.
    pub name: String,
    /// Every key of the configuration with its value.
    pub config: BTreeMap<String, ConfigValue>,
}

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConfigValue {
    /// A switch.
    Bool(bool),
    /// A number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A name out of a list.
    Text(String),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The program came to its end.
    Finished,
    /// `--max-cycles` was reached; outputs were not checked.
    CycleLimit {
        /// The limit.
        cycles: u64,
    },
    /// A kernel did what no GPU allows.
    Fault {
        /// What, where, and what to do.
        message: String,
    },
    /// An assertion of a kernel does not hold.
    Assertion(Box<FailedAssertion>),
    /// Nothing can go on any more.
    Deadlock {
        /// What each part waits for.
        message: String,
    },
    /// Warps spin on what nobody left can change.
    Livelock {
        /// What each part waits for.
        message: String,
    },
}

/// An assertion that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAssertion {
    /// What, and where.
    pub message: String,
    /// What the program has written.
    pub expression: String,
    /// The file that it stands in.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The kernel.
    pub kernel: String,
    /// The block.
    pub block: Size,
    /// The thread in the block: the lowest one of its warp.
    pub thread: Size,
}

impl Outcome {
    /// The same, its message naming the program that it is of.
    #[must_use]
    pub fn of_program(mut self, name: &str) -> Self {
        let message = match &mut self {
            Self::Finished | Self::CycleLimit { .. } => return self,
            Self::Fault { message } | Self::Deadlock { message } | Self::Livelock { message } => {
                message
            }
            Self::Assertion(assertion) => &mut assertion.message,
        };
        *message = format!("program `{name}`: {message}");
        self
    }

    /// What went wrong in the simulated program.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Finished | Self::CycleLimit { .. } => None,
            Self::Assertion(failed) => Some(&failed.message),
            Self::Fault { message } | Self::Deadlock { message } | Self::Livelock { message } => {
                Some(message)
            }
        }
    }
}

/// A size in three dimensions, as `[x, y, z]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size(pub [u32; 3]);

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

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheFigures {
    /// Hits over accesses.
    pub hit_rate: Option<f64>,
}

impl CacheFigures {
    /// From counts; no accesses make no rate.
    pub fn new(hits: u64, accesses: u64) -> Self {
        Self {
            hit_rate: ratio(hits, accesses),
        }
    }
}

/// What DRAM did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DramFigures {
    /// Command cycles in which data moved, over all channels.
    pub utilisation: Option<f64>,
}

impl DramFigures {
    /// From cycles with data on the bus and all cycles, over all channels.
    pub fn new(busy: u64, cycles: u64) -> Self {
        Self {
            utilisation: ratio(busy, cycles),
        }
    }
}

/// Stalls where SMs' traffic meets memory's limits, over core cycles: the ratios with which Do et
/// al. 2017, section 6, tells who gains from throttling. Summed over partitions, so they may exceed
/// 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContentionFigures {
    /// L2 cycles in which a partition could not take a request, over core cycles.
    pub dram_full: Option<f64>,
    /// Network cycles in which a reply could not enter the network, over core cycles.
    pub noc_to_sm: Option<f64>,
}

impl ContentionFigures {
    /// From counts of stalls and core cycles.
    pub fn new(dram_full_stalls: u64, reply_stalls: u64, cycles: u64) -> Self {
        Self {
            dram_full: ratio(dram_full_stalls, cycles),
            noc_to_sm: ratio(reply_stalls, cycles),
        }
    }
}

/// A look of the SM filter at the machine, and what it chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmFilterCheck {
    /// Core cycle.
    pub cycle: u64,
    /// Stalls of DRAM and of the network to the SMs, over core cycles, since the look before.
    pub contention: f64,
    /// SMs that may take blocks from then on.
    pub sms: u32,
}

/// Which blocks of a launch touch the same lines of global memory, summed over launches: counted on
/// an execution, so whatever addresses hang on. A block counts a line once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// Lines of 128 bytes that blocks touch, summed over blocks.
    pub lines: u64,
    /// Those that at least one other block of the launch touches too.
    pub shared: u64,
    /// Those that the next block in the grid's order touches too.
    pub with_next: u64,
    /// Those that the block one row of the grid below touches too; 0 in grids of one row or column.
    pub with_below: u64,
    /// Those of `shared` that neither a block next in order, before or after, nor one a row of the
    /// grid above or below touches.
    pub far: u64,
}

/// Figures of a stretch of simulated time: a kernel or the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Core cycles.
    pub cycles: u64,
    /// Instructions issued, one for up to 32 lanes.
    pub warp_instructions: u64,
    /// Instructions issued, one for each active lane.
    pub thread_instructions: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// L1 data caches.
    pub l1d: CacheFigures,
    /// L2.
    pub l2: CacheFigures,
    /// DRAM.
    pub dram: DramFigures,
    /// Stalls of memory and network; `None` for a kernel that shared the machine.
    #[serde(default)]
    pub contention: ContentionFigures,
    /// Shares of the scheduler cycles by cause, issue included; they sum to 1. Empty for a kernel
    /// that shared the machine.
    pub stalls: BTreeMap<String, f64>,
    /// Every counter of the registry by its name.
    pub statistics: Counts,
    /// Energy, where an energy preset was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyReport>,
    /// The same apart by SM and by memory partition, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// Counters of the registry by their names; those that are 0 are left out.
pub type Counts = BTreeMap<String, u64>;

/// Adds counts of a later stretch of time, or of another part: peaks take the larger value, all
/// others add up.
pub fn accumulate(sum: &mut Counts, more: &Counts) {
    for (name, value) in more {
        let total = sum.entry(name.clone()).or_default();
        *total = match is_peak(name) {
            true => (*total).max(*value),
            false => *total + value,
        };
    }
}

/// Whether a counter of this name, or the array that it is an element of, is a [`crate::Peak`].
pub fn is_peak(name: &str) -> bool {
    name.split('.').any(|word| word.ends_with(PEAK_SUFFIX))
}

/// Counters of one kind of part, in the order of the parts' numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// By SM: the pipeline and its caches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sms: Vec<Counts>,
    /// By L2 bank (sub-partition): its edges and L2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub banks: Vec<Counts>,
    /// By memory channel: DRAM. Bank `b` belongs to channel `b * channels / banks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Counts>,
    /// By network, towards L2 and towards SMs: the local crossbar's buffers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Counts>,
}

/// A time series: what was counted in each window. A window ends with the first step of the
/// machine (`gpu.link_cycles`) that reaches its length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length that was asked for, in core cycles.
    pub window_cycles: u64,
    /// First core cycle of each window.
    pub start: Vec<u64>,
    /// Core cycle after the last of each window.
    pub end: Vec<u64>,
    /// Counts of each window by the registry's names, with `sm3:`, `bank0:` or `channel1:` before
    /// those of one part; what is 0 in every window is left out.
    pub columns: BTreeMap<String, Vec<u64>>,
    /// Mean power in watts in each window, by component and in all (`total`), where an energy
    /// preset was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub watts: BTreeMap<String, Vec<f64>>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Kernel's name in its module.
    pub name: String,
    /// Blocks.
    pub grid: Size,
    /// Threads of a block.
    pub block: Size,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
    /// Blocks that fit one SM at a time.
    pub blocks_per_sm: u32,
    /// What keeps that number down: `threads`, `registers`, `shared-memory`, `block-slots`,
    /// `grid` or `cap`.
    pub occupancy_limit: String,
    /// Registers' worth of storage that a warp takes while it is switched out (`sm.context`), of
    /// `registers_per_thread`; none where it never waits for global memory nor at a barrier.
    pub context_registers: Option<u32>,
    /// How contexts were switched, where `sm.context` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextReport>,
    /// What it did: where others were in flight meanwhile, what can be told apart of it.
    #[serde(flatten)]
    pub figures: Figures,
    /// Whose it is and when it ran, where kernels may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// Which of its blocks were timed, where a part was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleReport>,
}

/// Whose a kernel is that may run beside others, and when it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrent {
    /// Position in `processes`.
    pub process: u32,
    /// Stream of the process.
    pub stream: u32,
    /// Core cycle of its launch.
    pub launched_at: u64,
    /// Core cycle in which its first block started.
    pub started_at: u64,
    /// It was halted because its process had reached its target.
    pub halted: bool,
}

/// What became of one program of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// Its name.
    pub name: String,
    /// Core cycle in which it started.
    pub arrived_at: u64,
    /// Core cycle in which it ended or reached its target; none if the run was cut before.
    pub ended_at: Option<u64>,
    /// Thread instructions that it was to reach.
    pub target: Option<u64>,
    /// Times that its program came to its end.
    pub runs: u64,
    /// Kernels that ended.
    pub launches: u64,
    /// Warp instructions, those issued before it was halted included.
    pub warp_instructions: u64,
    /// Thread instructions from its start to its end.
    pub thread_instructions: u64,
    /// Core cycles from its start to its end.
    pub cycles: u64,
    /// Thread instructions per core cycle of that time.
    pub ipc: f64,
    /// L1 data caches, its own accesses.
    pub l1d: CacheFigures,
    /// L2, its own accesses.
    pub l2: CacheFigures,
    /// Accesses of L2.
    pub l2_accesses: u64,
    /// Cycles of function units' intake that its instructions took, by kind of unit.
    pub pipe_cycles: BTreeMap<String, u64>,
    /// 32-bit registers that its blocks held, times the core cycles for which they did.
    pub register_cycles: u64,
    /// The same of bytes of shared memory.
    pub shared_byte_cycles: u64,
    /// Its blocks that an SM took while it held a block of another process.
    #[serde(default)]
    pub joined_blocks: u64,
}

/// A decision of the multiprogramming policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// Core cycle.
    pub cycle: u64,
    /// `profile`, `shared` or `spatial`.
    pub verdict: String,
    /// Processes of the kernels that it is about.
    pub processes: Vec<u32>,
    /// Blocks on an SM of each, where SMs are shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    /// What each is expected to do with 1, 2, 3 blocks on an SM, in parts of its best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Vec<f64>>,
}

/// How the contexts of a kernel were switched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReport {
    /// Most blocks on an SM above `blocks_per_sm`.
    pub extra_blocks: u32,
    /// What goes alone: `warp` or `block`.
    pub level: String,
    /// L1D had to hold contexts.
    pub l1d: bool,
    /// Why there are no extra blocks.
    pub refusal: Option<String>,
}

/// The whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Launches.
    pub launches: u64,
    /// What they did together.
    #[serde(flatten)]
    pub figures: Figures,
    /// Cycles of all launches where not all blocks of some were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// One comparison of an output with its reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// What was compared.
    pub name: String,
    /// It agreed.
    pub passed: bool,
    /// The first difference, or what was compared.
    pub detail: String,
}

/// Shares of counts by cause, in a form that sums to 1; nothing counted gives no shares.
pub fn shares<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, f64> {
    let counts: Vec<_> = counts.into_iter().collect();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return BTreeMap::new();
    }
    let share = |(cause, count): (&str, u64)| (cause.to_owned(), count as f64 / total as f64);
    counts.into_iter().map(share).collect()
}

/// `part / whole`, unless there is no whole.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> RunReport {
        let figures = Figures {
            cycles: 100,
            warp_instructions: 50,
            thread_instructions: 1600,
            ipc: 16.0,
            l1d: CacheFigures::new(3, 4),
            l2: CacheFigures::new(0, 0),
            dram: DramFigures::new(1, 2),
            contention: ContentionFigures::new(30, 150, 100),
            stalls: shares([("issued", 1), ("scoreboard", 3)]),
            statistics: [("sm.cycles".to_owned(), 100)].into(),
            energy: None,
            parts: None,
        };
        RunReport {
            program: Program {
                name: "warploom".into(),
                version: "0.1.0".into(),
            },
            command: "warploom run vectoradd".into(),
            gpu: Gpu {
                name: "gtx480".into(),
                config: [("gpu.sms".to_owned(), ConfigValue::Integer(15))].into(),
            },
            config_digest: "00".into(),
            input_digest: "01".into(),
            outcome: Outcome::Finished,
            kernels: vec![KernelReport {
                name: "vectorAdd".into(),
                grid: Dim3::new(4, 2, 1).into(),
                block: Dim3::linear(256).into(),
                registers_per_thread: 8,
                shared_bytes: 0,
                blocks_per_sm: 6,
                occupancy_limit: "threads".into(),
                context_registers: None,
                context: None,
                figures: figures.clone(),
                concurrent: None,
                sample: None,
            }],
            totals: Totals {
                launches: 1,
                figures,
                estimate: None,
            },
            wall_seconds: 0.5,
            cycles_per_second: 200.0,
            warp_instructions_per_second: 100.0,
            series: None,
            processes: Vec::new(),
            decisions: Vec::new(),
            mix: None,
            sm_filter_checks: vec![SmFilterCheck {
                cycle: 1000,
                contention: 1.8,
                sms: 14,
            }],
            sharing: None,
            checks: vec![CheckReport {
                name: "c".into(),
                passed: true,
                detail: String::new(),
            }],
            findings: Vec::new(),
            digest: "02".into(),
        }
    }

    #[test]
    fn keys_that_stay_are_where_they_are_documented() {
        let json = serde_json::to_value(report()).unwrap();
        for path in [
            "/program/version",
            "/command",
            "/gpu/name",
            "/config_digest",
            "/input_digest",
            "/kernels/0/name",
            "/kernels/0/grid/2",
            "/kernels/0/block/0",
            "/kernels/0/registers_per_thread",
            "/kernels/0/shared_bytes",
            "/kernels/0/blocks_per_sm",
            "/kernels/0/occupancy_limit",
            "/kernels/0/cycles",
            "/kernels/0/warp_instructions",
            "/kernels/0/thread_instructions",
            "/kernels/0/ipc",
            "/kernels/0/l1d/hit_rate",
            "/kernels/0/l2/hit_rate",
            "/kernels/0/dram/utilisation",
            "/kernels/0/contention/dram_full",
            "/kernels/0/contention/noc_to_sm",
            "/sm_filter_checks/0/sms",
            "/kernels/0/stalls/scoreboard",
            "/totals/ipc",
            "/totals/stalls/issued",
            "/wall_seconds",
            "/cycles_per_second",
            "/warp_instructions_per_second",
            "/checks/0/name",
            "/checks/0/passed",
            "/digest",
        ] {
            assert!(json.pointer(path).is_some(), "{path} is missing");
        }
        assert!(json.pointer("/kernels/0/l2/hit_rate").unwrap().is_null());
    }

    #[test]
    fn a_report_reads_back_as_written() {
        let text = serde_json::to_string(&report()).unwrap();
        assert_eq!(serde_json::from_str::<RunReport>(&text).unwrap(), report());
    }

    #[test]
    fn a_failed_check_or_a_deadlock_is_no_success() {
        assert!(report().succeeded());
        let mut failed = report();
        failed.checks[0].passed = false;
        assert!(!failed.succeeded());
        let mut stuck = report();
        stuck.outcome = Outcome::Deadlock {
            message: String::new(),
        };
        assert!(!stuck.succeeded());
        let mut cut = report();
        cut.outcome = Outcome::CycleLimit { cycles: 100 };
        assert!(cut.succeeded(), "the user asked for the limit");
    }

    #[test]
    fn counts_add_up_and_peaks_do_not() {
        let mut sum: Counts = [("a.b".to_owned(), 1), ("a.c_max".to_owned(), 7)].into();
        let more = [("a.b".to_owned(), 2), ("a.c_max".to_owned(), 5)].into();
        accumulate(&mut sum, &more);
        assert_eq!(
            sum,
            [("a.b".to_owned(), 3), ("a.c_max".to_owned(), 7)].into()
        );
    }

    #[test]
    fn shares_sum_to_one() {
        let sum: f64 = shares([("a", 1), ("b", 1), ("c", 1)]).values().sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert!(shares([("a", 0)]).is_empty());
    }
}
