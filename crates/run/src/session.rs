//! Runs programs, from their first action to their checks.

mod machine;
mod sampled;
mod timed;

pub use sampled::{OnEach, OnMachine};
pub use timed::{Timed, TimedBlocks};

use crate::assembled::assembled;
use crate::checkpoint::{CallKind, Checkpoint, CheckpointError, Checkpoints, guarded};
use crate::device::{Device, DeviceError, ModuleId};
use crate::host::{Check, HostError, HostProgram, Launch, Stopped};
use crate::mix::{Mix, Participant};
use crate::params::{ArgError, lay_out};
use crate::printer::Printer;
use crate::progress::{OnProgress, Progress};
use crate::result::Summary;
use crate::told;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use warploom_base::{Cycle, Dim3};
use warploom_config::GpuSpec;
use warploom_exec::{
    BranchOrder, Checks, DeviceMemory, Fault, LaunchContext, LaunchError, LaunchSpec,
};
use warploom_gpu::{Gpu, KernelLaunch, MachineObserver, Probe, Stop};
use warploom_ir::Program;
use warploom_policy::CustomPolicies;
use warploom_sm::{BlockNeeds, OccupancyLimit};
use warploom_stats::result::{FailedAssertion, Outcome, RunReport, Size};
use warploom_stats::trace::Trace;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of threads that run SMs. The result does not depend on it.
    pub threads: usize,
    /// Number of core cycles after which the run stops.
    pub max_cycles: Option<Cycle>,
    /// Number of timed launches after which the run stops instead of making another launch.
    pub max_launches: Option<u64>,
    /// Execute without timing: results have no cycles.
    pub functional: bool,
    /// In a run without timing, count the cache lines that blocks share.
    pub sharing: bool,
    /// Selection of timed launches. The others are executed without timing: memory is updated,
    /// caches stay as they were, and the result omits them.
    pub timed: Timed,
    /// Bound of the relative error of the cycles of all launches, if only as many launches are
    /// timed as it takes. The others are executed without timing, and the result has estimates for
    /// the whole program. Launches run one after the other. For a single program, of which all
    /// launches and blocks are selected in `timed`.
    pub sample_error: Option<f64>,
    /// Seed of the draws of a sampled program's timed launches.
    pub sample_seed: u64,
    /// Replay the last accesses of launches without timing in the caches before a timed launch of a
    /// sampled program. Without it, the effect of this can be measured.
    pub warms_caches: bool,
    /// Size of device memory in bytes.
    pub memory_bytes: u64,
    /// Permit accesses to any page of 2 MiB that an allocation touches, as on a GPU. Otherwise an
    /// access outside of an allocation is a fault.
    pub page_protection: bool,
    /// Optional checks of the simulated program.
    pub checks: Checks,
    /// Also count by SM and by memory partition, in kernels, totals and windows.
    pub parts: bool,
    /// Record counters in windows of this many core cycles (at least one).
    pub window_cycles: Option<Cycle>,
    /// With windows: join each two whenever there are as many as this, so that there are fewer,
    /// whatever the length of the run. Windows are then longer than requested.
    pub most_windows: Option<usize>,
    /// Command line of the run, for the result.
    pub command: String,
    /// Records which part of the machine is running.
    pub probe: Probe,
    /// Receiver for the output of kernels.
    pub printer: Printer,
    /// Policies of the caller, instead of those that the configuration names.
    pub policies: CustomPolicies,
    /// Checkpoints that the run makes.
    pub checkpoints: Option<Checkpoints>,
    /// Checkpoint from which the run goes on.
    pub resume: Option<Checkpoint>,
    /// The run goes on with other policies than the one that was saved.
    pub fork: bool,
    /// A run that goes on prints again what kernels printed before, for a host program whose own
    /// text appears again, too.
    pub prints_again: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            max_cycles: None,
            max_launches: None,
            functional: false,
            sharing: false,
            timed: Timed::default(),
            sample_error: None,
            sample_seed: 0,
            warms_caches: true,
            memory_bytes: 4 << 30,
            page_protection: false,
            checks: Checks::default(),
            parts: false,
            window_cycles: None,
            most_windows: None,
            command: String::new(),
            probe: Probe::default(),
            printer: Printer::default(),
            policies: CustomPolicies::default(),
            checkpoints: None,
            resume: None,
            fork: false,
            prints_again: false,
        }
    }
}

/// Reason why a run could not be made: an error in the user's input.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host program failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// An operation on memory or modules failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Arguments of a launch do not fit.
    #[error(transparent)]
    Args(#[from] ArgError),
    /// The run cannot make checkpoints, or cannot go on from its checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The size of a launch is invalid.
    #[error("kernel `{kernel}` cannot be launched: {source}")]
    Launch {
        /// Name of the kernel.
        kernel: String,
        /// Reason of the error.
        source: LaunchError,
    },
    /// Options of a sampled run that exclude each other.
    #[error("a sampled program {0}; leave out --sample-error, or this")]
    Sampled(&'static str),
    /// An SM has too few resources for a block.
    #[error(
        "not one block of kernel `{kernel}` fits an SM of `{gpu}`: a block needs {threads} threads, \
         {registers} registers and {shared} bytes of shared memory, an SM has {max_threads}, \
         {max_registers} and {max_shared}; use smaller blocks or another GPU"
    )]
    TooLarge {
        /// Name of the kernel.
        kernel: String,
        /// Name of the GPU.
        gpu: String,
        /// Threads of a block, in whole warps.
        threads: u32,
        /// Registers of a block.
        registers: u32,
        /// Shared memory of a block.
        shared: u32,
        /// Threads of an SM.
        max_threads: u32,
        /// Registers of an SM.
        max_registers: u32,
        /// Shared memory of an SM.
        max_shared: u32,
    },
    /// A GPC has too few SMs for a cluster.
    #[error(
        "a cluster of kernel `{kernel}` has {blocks} blocks, and a GPC of `{gpu}` holds {resident}; use \
         smaller clusters or blocks, or fewer GPCs (`gpu.gpcs`)"
    )]
    ClusterTooLarge {
        /// Name of the kernel.
        kernel: String,
        /// Name of the GPU.
        gpu: String,
        /// Number of blocks of a cluster.
        blocks: u32,
        /// Most blocks of the kernel on the SMs of one GPC.
        resident: u32,
    },
    /// The GPU has no units for matrix products.
    #[error(
        "kernel `{kernel}` multiplies matrices (`mma`, `wmma`), and `{gpu}` has no tensor units; take \
         a GPU that has them, such as qv100-volta, or run it without timing"
    )]
    NoTensorUnits {
        /// Name of the kernel.
        kernel: String,
        /// Name of the GPU.
        gpu: String,
    },
}

/// Runs host programs on GPUs of one specification.
pub struct Session {
    spec: GpuSpec,
    options: Options,
}

/// Records of a run beside its report.
#[derive(Default)]
struct Records<'a> {
    /// Place for the activities of all warps.
    trace: Option<&'a mut Trace>,
    /// Observers that follow the run.
    observers: Vec<Box<dyn MachineObserver>>,
}

/// A launch that has been checked and is ready for the machine.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub launch: KernelLaunch,
    pub grid: Dim3,
    pub block: Dim3,
    pub blocks_per_sm: u32,
    pub limit: OccupancyLimit,
}

impl Session {
    /// Creates a session for a GPU.
    pub fn new(spec: GpuSpec, options: Options) -> Self {
        Self { spec, options }
    }

    /// Specification of the GPU.
    pub fn spec(&self) -> &GpuSpec {
        &self.spec
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Runs a host program to its end and checks its outputs. `progress` is called from time to
    /// time; `Break` stops the run, and the report is for the part until then
    /// ([`Outcome::Interrupted`]).
    pub fn run(
        &self,
        program: &mut dyn HostProgram,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        self.run_with_observers(program, Vec::new(), progress)
    }

    /// Runs a host program as [`run`](Self::run) does, followed by observers. A run without timing
    /// has nothing to observe.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_with_observers(
        &self,
        program: &mut dyn HostProgram,
        observers: Vec<Box<dyn MachineObserver>>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        let participant = Participant::new("", Box::new(program));
        let records = Records {
            observers,
            ..Records::default()
        };
        self.run_any(vec![participant], false, records, progress)
    }

    /// Runs a host program as [`run`](Self::run) does, and records the events of every warp.
    ///
    /// # Errors
    /// Fails as [`run`](Self::run) does.
    pub fn run_traced(
        &self,
        program: &mut dyn HostProgram,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(RunReport, Trace), RunError> {
        let participant = Participant::new("", Box::new(program));
        let mut trace = Trace::default();
        let records = Records {
            trace: Some(&mut trace),
            ..Records::default()
        };
        let report = self.run_any(vec![participant], false, records, progress)?;
        Ok((report, trace))
    }

    /// Runs several programs at once, each a process with an address space of its own, until each
    /// has ended or reached its target. Results are separate for each program.
    pub fn run_mix(
        &self,
        programs: Vec<Participant<'_>>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        self.run_any(programs, true, Records::default(), progress)
    }

    fn run_any(
        &self,
        programs: Vec<Participant<'_>>,
        apart: bool,
        records: Records<'_>,
        progress: OnProgress<'_>,
    ) -> Result<RunReport, RunError> {
        if self.options.sample_error.is_some() && !self.options.functional {
            return self.run_sampled(programs, apart, records, progress);
        }
        match &self.options.resume {
            Some(_) => guarded(|| self.run_unguarded(programs, apart, records, progress)),
            None => self.run_unguarded(programs, apart, records, progress),
        }
    }

    fn run_unguarded(
        &self,
        programs: Vec<Participant<'_>>,
        apart: bool,
        records: Records<'_>,
        progress: OnProgress<'_>,
    ) -> Result<RunReport, RunError> {
        let started = Instant::now();
        let mut summary = Summary::new(&self.spec, &self.options.command);
        let Records { trace, observers } = records;
        let observed = trace.is_some() || !observers.is_empty();
        let gpu = self.machine(trace.is_some(), observers);
        let mut mix = Mix::new(self, gpu, programs, progress);
        mix.begin_saving(observed)?;
        let outcome = if self.options.functional {
            mix.execute(&mut summary)?
        } else {
            mix.run(&mut summary)?
        };
        if !self.options.functional {
            self.summarise(&mut mix.gpu, &mut summary);
        }
        if let Some(trace) = trace {
            *trace = mix.gpu.take_trace();
        }
        if apart {
            summary.processes(&mix.processes, mix.gpu.now());
            summary.decided(mix.gpu.decisions());
        }
        let checks = mix.checks(&outcome);
        let input = mix.input_digest();
        let seconds = started.elapsed().as_secs_f64();
        Ok(summary.finish(&mix.memory, &input, outcome, checks, seconds))
    }

    pub(crate) fn summarise(&self, gpu: &mut Gpu, summary: &mut Summary) {
        let parts = self.options.parts.then(|| gpu.part_counters());
        summary.whole(gpu.machine_counters(), parts.as_ref());
        summary.filtered(gpu.sm_filter_checks());
        if let Some(recording) = gpu.end_observation() {
            summary.recorded(recording);
        }
        summary.find(gpu.take_findings());
    }

    /// Passes on the output of a process's kernels so far.
    pub(crate) fn print(&self, memory: &mut DeviceMemory, asid: u8) {
        self.options.printer.print(&memory.take_printed(asid));
    }

    /// Checks that the machine has the units that a kernel needs.
    pub(crate) fn check_units(&self, prepared: &Prepared, kernel: &str) -> Result<(), RunError> {
        let multiplies = prepared.launch.program.multiplies_matrices();
        if multiplies && self.spec.sm.units.tensor.count == 0 {
            return Err(RunError::NoTensorUnits {
                kernel: kernel.to_owned(),
                gpu: self.spec.name.clone(),
            });
        }
        Ok(())
    }

    /// Checks a launch and prepares it.
    pub(crate) fn prepare(
        &self,
        device: &mut Device,
        launch: &Launch,
        grid_id: u64,
    ) -> Result<Prepared, RunError> {
        let text = Arc::clone(device.kernel(launch.module, &launch.kernel)?);
        let registers = launch
            .registers_per_thread
            .unwrap_or(text.registers_per_thread)
            .clamp(1, self.spec.sm.max_registers_per_thread);
        let program = assembled(device, &text, registers, &self.spec);
        let params = lay_out(&program, &launch.args)?;
        device.note_input(CallKind::Launch, &format!("{launch:?}"));
        if program.uses_heap() {
            device.open_heap()?;
        }
        let context = self.context(device, launch.module, &program, launch, params, grid_id)?;
        let launched = KernelLaunch {
            context,
            program,
            registers_per_thread: registers,
        };
        let (blocks_per_sm, limit) = self.occupancy(&launched, &launch.kernel)?;
        self.check_cluster(&launched, &launch.kernel, blocks_per_sm)?;
        Ok(Prepared {
            grid: launched.context.grid(),
            launch: launched,
            block: launch.block,
            blocks_per_sm,
            limit,
        })
    }

    /// Checks that the blocks of a cluster fit the SMs of a GPC.
    pub(crate) fn check_cluster(
        &self,
        launch: &KernelLaunch,
        kernel: &str,
        blocks_per_sm: u32,
    ) -> Result<(), RunError> {
        let blocks = launch.context.cluster().blocks();
        let largest = self.spec.gpu.sms.div_ceil(self.spec.gpu.gpcs);
        let resident = largest.saturating_mul(blocks_per_sm);
        if blocks <= resident {
            return Ok(());
        }
        Err(RunError::ClusterTooLarge {
            kernel: kernel.to_owned(),
            gpu: self.spec.name.clone(),
            blocks,
            resident,
        })
    }

    /// Number of a launch's blocks that the whole GPU holds at once.
    pub(crate) fn resident_blocks(&self, prepared: &Prepared) -> usize {
        prepared.blocks_per_sm as usize * self.spec.gpu.sms as usize
    }

    fn context(
        &self,
        device: &Device,
        module: ModuleId,
        program: &Arc<Program>,
        launch: &Launch,
        params: Vec<u8>,
        grid_id: u64,
    ) -> Result<LaunchContext, RunError> {
        let spec = LaunchSpec {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            max_shared_bytes: self.spec.sm.max_shared_bytes_per_block,
            barriers: self.spec.sm.barriers_per_block,
            params,
            globals: device.module(module).addresses.clone(),
            texture_refs: device.module(module).texture_refs.clone(),
            textures: Arc::clone(device.textures()),
            grid_id,
            instructions_before: device.instructions_before(launch.module, &launch.kernel),
            workspace: launch.workspace.map_or(0, |workspace| workspace.0),
            asid: device.asid,
            checks: self.options.checks,
            branch_order: match self.spec.sm.branch_order {
                warploom_config::BranchOrder::TakenFirst => BranchOrder::TakenFirst,
                warploom_config::BranchOrder::HighestLaneLast => BranchOrder::HighestLaneLast,
            },
        };
        LaunchContext::new(Arc::clone(program), spec).map_err(|source| RunError::Launch {
            kernel: launch.kernel.clone(),
            source,
        })
    }

    /// Number of a launch's blocks that fit one SM, at least one, and what limits them.
    pub(crate) fn occupancy(
        &self,
        launch: &KernelLaunch,
        kernel: &str,
    ) -> Result<(u32, OccupancyLimit), RunError> {
        let sm = &self.spec.sm;
        let threads = launch.context.block().count() as u32;
        let shared = launch.context.shared_bytes();
        let needs = BlockNeeds::new(threads, launch.registers_per_thread, shared, sm);
        let grid = launch.context.spread_blocks();
        let (fit, limit) = needs.blocks_per_sm(grid, sm, &self.spec.gpu);
        if fit > 0 {
            return Ok((fit, limit));
        }
        Err(RunError::TooLarge {
            kernel: kernel.to_owned(),
            gpu: self.spec.name.clone(),
            threads: needs.threads,
            registers: needs.registers,
            shared: needs.shared_bytes,
            max_threads: sm.max_threads,
            max_registers: sm.registers,
            max_shared: sm.shared_bytes,
        })
    }
}

pub(crate) fn stopped_by(stop: &Stop) -> Stopped {
    match stop {
        Stop::Fault(fault) => Stopped::Fault(fault.kind),
        Stop::Deadlock { .. } | Stop::Livelock { .. } => Stopped::Stuck,
    }
}

pub(crate) fn outcome_of(stop: Stop) -> Outcome {
    match stop {
        Stop::Fault(fault) => fault_outcome(&fault),
        Stop::Deadlock {
            at,
            waits,
            waiting: 0,
        } if waits.is_empty() => Outcome::Deadlock {
            message: format!(
                "no progress (cycle {at}): all blocks have ended, but requests are stuck in the \
                 memory system. Check the sizes of queues in `noc`, `partition`, `l2` and `dram`"
            ),
        },
        Stop::Deadlock { at, waits, waiting } if waits.is_empty() => Outcome::Deadlock {
            message: format!(
                "no progress (cycle {at}): no block runs, and no SM may take one of the \
                 {waiting} waiting blocks. Check the settings of `gpu.multiprogram` and `gpu.sm_filter`"
            ),
        },
        Stop::Deadlock { at, waits, .. } => Outcome::Deadlock {
            message: waits_message("no progress", at, &waits),
        },
        Stop::Livelock { at, waits } => Outcome::Livelock {
            message: waits_message(LIVELOCK, at, &waits),
        },
    }
}

/// Description of a livelock and its remedy.
pub(crate) const LIVELOCK: &str = "warps spin on values that no running warp can change: they wait \
    for warps that wait for them at a barrier, for blocks that have not started, or (where \
    `sm.divergence` is `stack`) for lanes of their own warp, which they keep from running";

fn waits_message(what: &str, at: Cycle, waits: &[String]) -> String {
    told::plain(&format!(
        "{what} (cycle {at}); {} warps are unfinished:\n{}",
        waits.len(),
        waits.join("\n")
    ))
}

pub(crate) fn fault_outcome(fault: &Fault) -> Outcome {
    let message = told::fault(fault);
    let place = &fault.place;
    match &fault.assertion {
        None => Outcome::Fault { message },
        Some(assertion) => Outcome::Assertion(Box::new(FailedAssertion {
            message,
            expression: assertion.expression.clone(),
            file: assertion.file.clone(),
            line: assertion.line,
            function: assertion.function.clone(),
            kernel: place.kernel.clone(),
            block: Size::from(place.block),
            thread: Size::from(place.thread),
        })),
    }
}

impl From<Check> for warploom_stats::result::CheckReport {
    fn from(check: Check) -> Self {
        Self {
            name: check.name,
            passed: check.passed,
            detail: check.detail,
        }
    }
}
