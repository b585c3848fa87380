//! Builds results from counters.

use crate::host::Check;
use crate::process::Process;
use crate::session::Prepared;
use crate::told;
use std::collections::BTreeMap;
use warploom_base::Dim3;
use warploom_config::{ContextPlan, GpuSpec, Setting};
use warploom_exec::{DeviceMemory, FindingReport, FunctionalStats};
use warploom_gpu::{KernelEnd, MachineCounters, PartCounters, Recording};
use warploom_policy::{Decision, Verdict};
use warploom_sm::{PIPES, SLOT_CAUSES};
use warploom_state::{Io, State, StateError};
use warploom_stats::result::{
    BlockTimes, CacheFigures, Concurrent, ConfigValue, ContentionFigures, ContextDecline,
    ContextReport, Counts, DecisionReport, DramFigures, Figures, ForkReport, Gpu, HotBanks,
    KernelReport, Outcome, Parts, ProcessReport, Program, RunReport, Series, Sharing,
    SmFilterCheck, Totals, shares,
};
use warploom_stats::sample::{Estimate, SampleReport};
use warploom_stats::sampling::SamplingReport;
use warploom_stats::{DIGEST_SET, run_digest};

/// Collected data of a run.
pub(crate) struct Summary {
    gpu: Gpu,
    config_digest: String,
    command: String,
    /// Reports with their order of launch, and their first and last + 1 core cycles.
    kernels: Vec<(u64, (u64, u64), KernelReport)>,
    processes: Vec<ProcessReport>,
    decisions: Vec<DecisionReport>,
    totals: MachineCounters,
    parts: Option<Parts>,
    series: Option<Series>,
    sm_filter_checks: Vec<SmFilterCheck>,
    sharing: Option<Sharing>,
    sampling: Option<SamplingReport>,
    fork: Option<ForkReport>,
    findings: Vec<FindingReport>,
    /// Warp instructions of a launch without timing that was interrupted. They count for the rate
    /// alone: the launch has no figures.
    unfinished: u64,
}

/// Reports of launches and findings. The rest comes at the end of a run.
impl State for Summary {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        self.kernels.state(io)?;
        self.findings.state(io)
    }
}

impl Summary {
    pub fn new(spec: &GpuSpec, command: &str) -> Self {
        Self {
            gpu: Gpu {
                name: spec.name.clone(),
                config: config_values(spec),
            },
            config_digest: spec.digest(),
            command: command.to_owned(),
            kernels: Vec::new(),
            processes: Vec::new(),
            decisions: Vec::new(),
            totals: MachineCounters::default(),
            parts: None,
            series: None,
            sm_filter_checks: Vec::new(),
            sharing: None,
            sampling: None,
            fork: None,
            findings: Vec::new(),
            unfinished: 0,
        }
    }

    /// Counts what a run without timing had executed when it was interrupted, in warp instructions.
    pub fn interrupted_after(&mut self, executed: u64) {
        self.unfinished = executed.saturating_sub(self.totals.sm.warp_instructions);
    }

    pub fn launches(&self) -> u64 {
        self.kernels.len() as u64
    }

    /// Adds a launch that has ended, with its order of launch and the cycles in which it was in
    /// flight.
    pub fn add(&mut self, order: u64, flight: (u64, u64), kernel: KernelReport) {
        self.kernels.push((order, flight, kernel));
    }

    /// Adds the result of each process of a mix that ended in cycle `now`.
    pub fn processes(&mut self, processes: &[Process<'_>], now: u64) {
        self.processes = processes.iter().map(|p| process_report(p, now)).collect();
    }

    /// Adds decisions of the multiprogramming policy.
    pub fn decided(&mut self, decisions: &[Decision]) {
        self.decisions = decisions.iter().map(decision_report).collect();
    }

    /// Adds a launch that was executed without timing.
    pub fn add_functional(&mut self, kernel: KernelReport, stats: FunctionalStats) {
        self.kernels.push((self.launches(), (0, 0), kernel));
        self.totals.sm.warp_instructions += stats.warp_instructions;
        self.totals.sm.thread_instructions += stats.thread_instructions;
        self.find(stats.findings);
    }

    /// Adds findings of checks: each kind once per line of the source, or per instruction.
    pub fn find(&mut self, findings: impl IntoIterator<Item = FindingReport>) {
        for finding in findings {
            if !self.findings.iter().any(|known| known.repeats(&finding)) {
                self.findings.push(finding);
            }
        }
    }

    /// Sets the counters of the whole run, and optionally those of its parts.
    pub fn whole(&mut self, totals: MachineCounters, parts: Option<&PartCounters>) {
        self.totals = totals;
        self.parts = parts.map(parts_of);
    }

    /// Adds the decisions of the SM filter.
    pub fn filtered(&mut self, checks: &[warploom_policy::Check]) {
        let check = |check: &warploom_policy::Check| SmFilterCheck {
            cycle: check.at,
            contention: check.contention.value(),
            sms: check.sms,
        };
        self.sm_filter_checks = checks.iter().map(check).collect();
    }

    /// Adds counts of lines that blocks share, if they were requested.
    pub fn shared(&mut self, sharing: Option<Sharing>) {
        self.sharing = sharing;
    }

    /// Reports of the launches that have ended, in the order of the ends.
    pub fn launched(&self) -> impl Iterator<Item = &KernelReport> {
        self.kernels.iter().map(|(.., kernel)| kernel)
    }

    /// Adds the estimates for all launches of a sampled program.
    pub fn sampled(&mut self, report: SamplingReport) {
        self.sampling = Some(report);
    }

    /// Notes that the run is a fork of another one since a cycle, and what it changes.
    pub fn forked(&mut self, cycle: u64, changes: Vec<String>) {
        self.fork = Some(ForkReport { cycle, changes });
    }

    /// Sets the recorded windows of the run.
    pub fn recorded(&mut self, recording: Recording) {
        let window_cycles = recording.window_cycles;
        let (start, end) = recording.spans.into_iter().unzip();
        let counted = |(_, values): &(String, Vec<u64>)| values.iter().any(|value| *value != 0);
        self.series = Some(Series {
            window_cycles,
            start,
            end,
            columns: recording.columns.into_iter().filter(counted).collect(),
            watts: std::collections::BTreeMap::new(),
        });
    }

    /// Builds the result, with its digest.
    pub fn finish(
        mut self,
        memory: &DeviceMemory,
        input_digest: &str,
        outcome: Outcome,
        checks: Vec<Check>,
        wall_seconds: f64,
    ) -> RunReport {
        let cycles = cycles_in_flight(&self.kernels);
        let mut figures = figures(cycles, &self.totals);
        self.kernels.sort_by_key(|(order, ..)| *order);
        let kernels = self.kernels.into_iter().map(|(.., kernel)| kernel);
        let kernels: Vec<KernelReport> = kernels.collect();
        let digest = run_digest(|d| memory.digest(d), &outcome, &kernels, &figures);
        figures.parts = self.parts;
        let hot = kernels.iter().filter_map(|kernel| kernel.figures.hot_banks);
        figures.hot_banks = hot.reduce(HotBanks::and);
        let times = kernels
            .iter()
            .filter_map(|kernel| kernel.figures.block_times);
        figures.block_times = times.reduce(BlockTimes::and);
        let per_second = |n: u64| {
            if wall_seconds > 0.0 {
                n as f64 / wall_seconds
            } else {
                0.0
            }
        };
        RunReport {
            program: Program {
                name: "warploom".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            command: self.command,
            gpu: self.gpu,
            config_digest: self.config_digest,
            input_digest: input_digest.to_owned(),
            outcome,
            totals: Totals {
                launches: kernels.len() as u64,
                figures: figures.clone(),
                estimate: estimate(cycles, &kernels),
            },
            kernels,
            processes: self.processes,
            decisions: self.decisions,
            mix: None,
            sampling: self.sampling,
            fork: self.fork,
            wall_seconds,
            cycles_per_second: per_second(figures.cycles),
            warp_instructions_per_second: per_second(figures.warp_instructions + self.unfinished),
            series: self.series,
            sm_filter_checks: self.sm_filter_checks,
            sharing: self.sharing,
            checks: checks.into_iter().map(Into::into).collect(),
            findings: told::findings(&self.findings),
            digest_set: DIGEST_SET,
            digest,
        }
    }
}

/// Values of all keys of a machine, as results have them.
pub fn config_values(spec: &GpuSpec) -> BTreeMap<String, ConfigValue> {
    let settings = spec.settings().into_iter();
    settings
        .map(|(key, setting)| (key, config_value(setting)))
        .collect()
}

fn config_value(setting: Setting) -> ConfigValue {
    match setting {
        Setting::Bool(v) => ConfigValue::Bool(v),
        Setting::Integer(v) => ConfigValue::Integer(v),
        Setting::Float(v) => ConfigValue::Float(v),
        Setting::Text(v) => ConfigValue::Text(v),
    }
}

/// Report of a launch that has ended.
pub(crate) fn kernel_report(
    name: &str,
    grid: Dim3,
    block: Dim3,
    end: &KernelEnd,
    concurrent: Option<Concurrent>,
) -> KernelReport {
    let figures = Figures {
        parts: end.parts.as_deref().map(parts_of),
        hot_banks: end.hot_banks,
        block_times: end.block_times,
        ..figures(end.ended_at - end.launched_at, &end.counters)
    };
    KernelReport {
        name: name.to_owned(),
        grid: grid.into(),
        block: block.into(),
        registers_per_thread: end.registers_per_thread,
        shared_bytes: end.shared_bytes,
        blocks_per_sm: end.blocks_per_sm,
        occupancy_limit: end.limit.name().to_owned(),
        context_registers: end.context_registers,
        context: end
            .contexts
            .map(|plan| context_report(plan, end.blocks_per_sm, end.declined)),
        figures: if end.shared {
            of_a_shared_machine(figures)
        } else {
            figures
        },
        concurrent,
        sample: None,
    }
}

/// Figures of a kernel that shared the machine with others. Stalls of network and memory cannot be
/// attributed to a kernel; they are omitted rather than reported as zero.
fn of_a_shared_machine(figures: Figures) -> Figures {
    Figures {
        contention: ContentionFigures::default(),
        ..figures
    }
}

fn context_report(
    plan: ContextPlan,
    blocks_per_sm: u32,
    refusal: Option<ContextDecline>,
) -> ContextReport {
    ContextReport {
        extra_blocks: plan.native + plan.bound - blocks_per_sm,
        level: plan.level().to_owned(),
        l1d: plan.l1d,
        refusal,
    }
}

/// Report of a launch that was executed without timing.
pub(crate) fn functional_report(prepared: &Prepared, stats: &FunctionalStats) -> KernelReport {
    KernelReport {
        name: prepared.launch.program.name.clone(),
        grid: prepared.grid.into(),
        block: prepared.block.into(),
        registers_per_thread: prepared.launch.registers_per_thread,
        shared_bytes: prepared.launch.context.shared_bytes(),
        blocks_per_sm: prepared.blocks_per_sm,
        occupancy_limit: prepared.limit.name().to_owned(),
        context_registers: prepared.launch.program.context_registers(),
        context: None,
        figures: figures(0, &functional_counters(stats)),
        concurrent: None,
        sample: None,
    }
}

fn functional_counters(stats: &FunctionalStats) -> MachineCounters {
    let mut counters = MachineCounters::default();
    counters.sm.warp_instructions = stats.warp_instructions;
    counters.sm.thread_instructions = stats.thread_instructions;
    counters
}

pub(crate) fn figures(cycles: u64, counters: &MachineCounters) -> Figures {
    let instructions = counters.sm.thread_instructions;
    let causes = SLOT_CAUSES.iter().copied().zip(counters.sm.slots);
    Figures {
        cycles,
        warp_instructions: counters.sm.warp_instructions,
        thread_instructions: instructions,
        ipc: if cycles > 0 {
            instructions as f64 / cycles as f64
        } else {
            0.0
        },
        l1d: CacheFigures::new(counters.l1d.hits(), counters.l1d.accesses()),
        l2: CacheFigures::new(counters.l2.hits(), counters.l2.accesses()),
        dram: DramFigures::new(counters.dram.data_cycles, counters.dram.cycles),
        contention: ContentionFigures::new(
            counters.device.dram_full_stalls,
            counters.device.reply_stalls,
            cycles,
        ),
        stalls: shares(causes),
        statistics: counters.counted().into_iter().collect(),
        hot_banks: None,
        block_times: None,
        energy: None,
        parts: None,
    }
}

/// Core cycles in which at least one kernel was in flight.
fn cycles_in_flight(kernels: &[(u64, (u64, u64), KernelReport)]) -> u64 {
    let mut flights: Vec<(u64, u64)> = kernels.iter().map(|(_, flight, _)| *flight).collect();
    flights.sort_unstable();
    let (mut cycles, mut until) = (0, 0);
    for (from, to) in flights {
        cycles += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    cycles
}

/// Estimated cycles of all launches, if some were timed in part. `None` if one of these has no
/// estimate.
fn estimate(cycles: u64, kernels: &[KernelReport]) -> Option<Estimate> {
    let unknown = |sample: &SampleReport| {
        sample.estimate.is_none() && sample.blocks_timed < sample.grid_blocks
    };
    if kernels
        .iter()
        .filter_map(|k| k.sample.as_ref())
        .any(unknown)
    {
        return None;
    }
    let mut timed = 0;
    let mut by_kernel: BTreeMap<&str, Estimate> = BTreeMap::new();
    for kernel in kernels {
        let Some(estimate) = kernel.sample.and_then(|sample| sample.estimate) else {
            continue;
        };
        timed += kernel.figures.cycles;
        // What is wrong in one launch of a kernel is wrong in the others, too.
        let own = by_kernel.entry(&kernel.name);
        own.and_modify(|all| {
            all.cycles += estimate.cycles;
            all.margin += estimate.margin;
            all.stretches += estimate.stretches;
        })
        .or_insert(estimate);
    }
    let parts: Vec<Estimate> = by_kernel.into_values().collect();
    let others = cycles.saturating_sub(timed);
    (!parts.is_empty()).then(|| Estimate::sum(others, &parts))
}

fn process_report(process: &Process<'_>, now: u64) -> ProcessReport {
    let counted = &process.counted;
    let ended_at = process.ended_at.unwrap_or(now);
    let cycles = ended_at.saturating_sub(process.arrives_at);
    let instructions = process.reached.unwrap_or(counted.thread_instructions);
    let pipes = PIPES.iter().zip(counted.pipe_cycles);
    ProcessReport {
        name: process.name.clone(),
        arrived_at: process.arrives_at,
        ended_at: process.ended_at,
        target: process.target,
        runs: process.runs,
        launches: process.kernels,
        warp_instructions: counted.warp_instructions,
        thread_instructions: instructions,
        cycles,
        ipc: match cycles {
            0 => 0.0,
            cycles => instructions as f64 / cycles as f64,
        },
        l1d: CacheFigures::new(process.l1d[0], process.l1d[1]),
        l2: CacheFigures::new(process.l2[0], process.l2[1]),
        l2_accesses: process.l2[1],
        pipe_cycles: pipes.map(|(name, n)| ((*name).to_owned(), n)).collect(),
        register_cycles: process.held.register_cycles,
        shared_byte_cycles: process.held.shared_byte_cycles,
        joined_blocks: process.held.joined_blocks,
    }
}

fn decision_report(decision: &Decision) -> DecisionReport {
    DecisionReport {
        cycle: decision.at,
        verdict: match decision.verdict {
            Verdict::Profile => "profile",
            Verdict::Shared => "shared",
            Verdict::Spatial => "spatial",
        }
        .to_owned(),
        processes: decision.processes.iter().map(|p| u32::from(*p)).collect(),
        blocks: decision.blocks.clone(),
        curves: decision.curves.clone(),
    }
}

/// Counters by name, without those that are 0.
fn counts(named: Vec<(String, u64)>) -> Counts {
    named.into_iter().filter(|(_, value)| *value != 0).collect()
}

fn parts_of(counters: &PartCounters) -> Parts {
    let channels = 0..counters.channels.len();
    Parts {
        sms: counters
            .sms
            .iter()
            .map(|sm| counts(sm.detailed()))
            .collect(),
        banks: counters
            .banks
            .iter()
            .map(|bank| counts(bank.named()))
            .collect(),
        channels: channels
            .map(|i| counts(counters.channel_detailed(i)))
            .collect(),
        networks: counters.networks_detailed().map(counts).into(),
    }
}
