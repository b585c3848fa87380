//! A run from its first action to its checks.

use crate::device::{Device, DeviceError, ModuleId};
use crate::host::{Check, HostError, HostProgram, Launch, Stopped};
use crate::mix::{Mix, Participant};
use crate::params::{ArgError, lay_out};
use crate::printer::Printer;
use crate::result::Summary;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;
use warploom_base::{Cycle, Dim3};
use warploom_config::{Context, GpuSpec};
use warploom_exec::{
    BranchOrder, Checks, DeviceMemory, Fault, LaunchContext, LaunchError, LaunchSpec,
};
use warploom_gpu::{Gpu, KernelLaunch, Probe, Stop};
use warploom_ir::Program;
use warploom_policy::OwnPolicies;
use warploom_sm::{BlockNeeds, OccupancyLimit};
use warploom_stats::result::{FailedAssertion, Outcome, RunReport, Size};
use warploom_stats::trace::Trace;

/// How a run is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that run SMs; the result is the same for any number.
    pub threads: usize,
    /// Stop after this many core cycles.
    pub max_cycles: Option<Cycle>,
    /// Execute only, without timing: results have no cycles.
    pub functional: bool,
    /// Of an execution without timing: count the cache lines that blocks share.
    pub sharing: bool,
    /// Which launches are timed. The others are executed without timing: they leave memory as they
    /// should and caches as they were; the result does not have them.
    pub timed: Timed,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Kernels may access what lies in a page of 2 MiB with something allocated, as on a GPU; else
    /// an access outside an allocation is a fault.
    pub page_protection: bool,
    /// Optional checks of the simulated program.
    pub checks: Checks,
    /// Give counters apart by SM and by memory partition, too, in kernels, totals and windows.
    pub parts: bool,
    /// Record counters in windows of this many core cycles (at least one).
    pub window_cycles: Option<Cycle>,
    /// The command line, for the result.
    pub command: String,
    /// Where the machine notes which part of it runs.
    pub probe: Probe,
    /// Where what kernels print goes.
    pub printer: Printer,
    /// Policies of the caller's own, in the place of those that the configuration names.
    pub policies: OwnPolicies,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            max_cycles: None,
            functional: false,
            sharing: false,
            timed: Timed::default(),
            memory_bytes: 4 << 30,
            page_protection: false,
            checks: Checks::default(),
            parts: false,
            window_cycles: None,
            command: String::new(),
            probe: Probe::default(),
            printer: Printer::default(),
            policies: OwnPolicies::default(),
        }
    }
}

/// Which launches of a run are timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// By their place in the order of launches.
    pub launches: Range<u64>,
    /// Names of kernels, or what a part of their names is; of all where there is none.
    pub kernels: Vec<String>,
    /// Which of their blocks.
    pub blocks: TimedBlocks,
}

/// Which blocks of a launch are timed. The others are executed without timing when their turn
/// comes: memory is as it should be, and the machine stays full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TimedBlocks {
    /// All.
    #[default]
    All,
    /// Those of these ranks (x fastest).
    Range(Range<u64>),
    /// One of so many, in stretches over the whole grid; all of a grid too small for that.
    OneOf(u64),
}

impl Default for Timed {
    fn default() -> Self {
        Self::from(0)
    }
}

impl Timed {
    /// All launches but the first `skipped`.
    pub const fn from(skipped: u64) -> Self {
        Self {
            launches: skipped..u64::MAX,
            kernels: Vec::new(),
            blocks: TimedBlocks::All,
        }
    }

    /// Launch number `number`, counted from 0, of a kernel is timed.
    pub fn has(&self, number: u64, kernel: &str) -> bool {
        let named = |part: &String| kernel.contains(part.as_str());
        self.launches.contains(&number)
            && (self.kernels.is_empty() || self.kernels.iter().any(named))
    }
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Core cycles so far.
    pub cycles: Cycle,
    /// Launches that have ended.
    pub launches: u64,
    /// Kernel that runs.
    pub kernel: String,
    /// Its blocks that have ended, and all.
    pub blocks: (u64, u64),
}

/// Why a run could not be made: the user's input.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host program.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Memory or modules.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Arguments of a launch.
    #[error(transparent)]
    Args(#[from] ArgError),
    /// Sizes of a launch.
    #[error("kernel `{kernel}` cannot be launched: {source}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Why.
        source: LaunchError,
    },
    /// Not one block fits an SM.
    #[error(
        "not one block of kernel `{kernel}` fits an SM of `{gpu}`: a block needs {threads} threads, \
         {registers} registers and {shared} bytes of shared memory, an SM has {max_threads}, \
         {max_registers} and {max_shared}; use smaller blocks or another GPU"
    )]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// The GPU.
        gpu: String,
        /// Threads of a block in whole warps.
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
    /// Products of matrices on a GPU that has no units for them.
    #[error(
        "kernel `{kernel}` multiplies matrices (`mma`, `wmma`), and `{gpu}` has no tensor units; take \
         a GPU that has them, such as qv100-volta, or run it without timing"
    )]
    NoTensorUnits {
        /// The kernel.
        kernel: String,
        /// The GPU.
        gpu: String,
    },
    /// Several programs on a machine that switches contexts.
    #[error(
        "several programs do not run on an SM that switches contexts; set sm.context=none, or run \
         them one by one"
    )]
    MixWithContexts,
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Runs host programs on GPUs of one specification.
pub struct Session {
    spec: GpuSpec,
    options: Options,
}

/// A launch that has been checked and can go to the machine.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub launch: KernelLaunch,
    pub grid: Dim3,
    pub block: Dim3,
    pub blocks_per_sm: u32,
    pub limit: OccupancyLimit,
}

impl Session {
    /// A session.
    pub fn new(spec: GpuSpec, options: Options) -> Self {
        Self { spec, options }
    }

    /// The GPU.
    pub fn spec(&self) -> &GpuSpec {
        &self.spec
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Runs a host program to its end and checks its outputs. `progress` is called now and then;
    /// `Break` stops the run.
    pub fn run(
        &self,
        program: &mut dyn HostProgram,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        let participant = Participant::new("", Box::new(program));
        self.run_any(vec![participant], false, None, progress)
    }

    /// Runs a host program as [`run`](Self::run) does, and records what every warp does.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_traced(
        &self,
        program: &mut dyn HostProgram,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(RunReport, Trace), RunError> {
        let participant = Participant::new("", Box::new(program));
        let mut trace = Trace::default();
        let report = self.run_any(vec![participant], false, Some(&mut trace), progress)?;
        Ok((report, trace))
    }

    /// Runs several programs at once, each a process with an address space of its own, until every
    /// one has come to its end or to its target. Programs are told apart in the result.
    pub fn run_mix(
        &self,
        programs: Vec<Participant<'_>>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        if self.spec.sm.context != Context::Resident {
            return Err(RunError::MixWithContexts);
        }
        self.run_any(programs, true, None, progress)
    }

    fn run_any(
        &self,
        programs: Vec<Participant<'_>>,
        apart: bool,
        trace: Option<&mut Trace>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, RunError> {
        let started = Instant::now();
        let mut summary = Summary::new(&self.spec, &self.options.command);
        let mut gpu = Gpu::with_policies(
            self.spec.clone(),
            self.options.threads,
            self.options.probe.clone(),
            &self.options.policies,
        );
        if let Some(cycles) = self.options.window_cycles {
            gpu.record_windows(cycles, self.options.parts);
        }
        if trace.is_some() {
            gpu.record_trace();
        }
        let mut mix = Mix::new(self, gpu, programs);
        let outcome = match self.options.functional {
            true => mix.execute(&mut summary)?,
            false => mix.run(&mut summary, progress)?,
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

    fn summarise(&self, gpu: &mut Gpu, summary: &mut Summary) {
        summary.whole(&gpu.part_counters(), self.options.parts);
        summary.filtered(gpu.sm_filter_checks());
        if let Some(recording) = gpu.take_windows() {
            summary.recorded(self.options.window_cycles.unwrap_or(0), recording);
        }
        summary.find(gpu.take_findings());
    }

    /// Hands on what kernels of a process have printed so far.
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

    /// Checks a launch and makes it ready.
    pub(crate) fn prepare(
        &self,
        device: &mut Device,
        launch: &Launch,
        grid_id: u64,
    ) -> Result<Prepared, RunError> {
        let program = Arc::clone(device.kernel(launch.module, &launch.kernel)?);
        let params = lay_out(&program, &launch.args)?;
        device.note_input(&format!("{launch:?}"));
        if program.uses_heap() {
            device.open_heap()?;
        }
        let context = self.context(device, launch.module, &program, launch, params, grid_id)?;
        let registers = launch
            .registers_per_thread
            .unwrap_or(program.registers_per_thread)
            .clamp(1, self.spec.sm.max_registers_per_thread);
        let launched = KernelLaunch {
            context,
            program,
            registers_per_thread: registers,
        };
        let (blocks_per_sm, limit) = self.occupancy(&launched, &launch.kernel)?;
        Ok(Prepared {
            launch: launched,
            grid: launch.grid,
            block: launch.block,
            blocks_per_sm,
            limit,
        })
    }

    /// Blocks of a launch that the whole GPU holds at once.
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
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            max_shared_bytes: self.spec.sm.max_shared_bytes_per_block,
            barriers: self.spec.sm.barriers_per_block,
            params,
            globals: device.module(module).addresses.clone(),
            texture_refs: device.module(module).texture_refs.clone(),
            textures: Arc::clone(device.textures()),
            grid_id,
            code_offset: device.code_offset(launch.module, &launch.kernel),
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

    /// Blocks of a launch that fit one SM, at least one, and what limits them.
    fn occupancy(
        &self,
        launch: &KernelLaunch,
        kernel: &str,
    ) -> Result<(u32, OccupancyLimit), RunError> {
        let sm = &self.spec.sm;
        let threads = launch.context.block().count() as u32;
        let shared = launch.context.shared_bytes();
        let needs = BlockNeeds::new(threads, launch.registers_per_thread, shared, sm);
        let grid = launch.context.grid().count();
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
                "nothing goes forward (cycle {at}): all blocks have ended, but requests are stuck \
                 on their way through memory. See the sizes of queues in `noc`, `partition`, `l2` and `dram`"
            ),
        },
        Stop::Deadlock { at, waits, waiting } if waits.is_empty() => Outcome::Deadlock {
            message: format!(
                "nothing goes forward (cycle {at}): no block runs, and no SM may take one of the \
                 {waiting} that wait. See the settings of `gpu.multiprogram` and `gpu.sm_filter`"
            ),
        },
        Stop::Deadlock { at, waits, .. } => Outcome::Deadlock {
            message: waits_message("nothing goes forward", at, &waits),
        },
        Stop::Livelock { at, waits } => Outcome::Livelock {
            message: waits_message(LIVELOCK, at, &waits),
        },
    }
}

/// What a livelock is and what to do about it.
pub(crate) const LIVELOCK: &str = "warps spin on what nobody can change any more: blocks that wait for \
    blocks not started, or (where `sm.divergence` is `stack`) lanes that keep others of their warp \
    from running";

fn waits_message(what: &str, at: Cycle, waits: &[String]) -> String {
    format!(
        "{what} (cycle {at}); {} warps are unfinished:\n{}",
        waits.len(),
        waits.join("\n")
    )
}

pub(crate) fn fault_outcome(fault: &Fault) -> Outcome {
    let message = fault.to_string();
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
