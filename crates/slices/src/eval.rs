//! Execution of the address binary, without memory accesses and without a notion of time.

use crate::binary::Slices;
use std::sync::Arc;
use warploom_base::{Dim3, LaneMask, WARP_SIZE};
use warploom_exec::{
    BlockState, DeviceMemory, Env, Fault, LaunchContext, MemPort, StepOut, WarpState, WriteLog,
    step,
};

/// The maximum number of instructions executed for one warp. The loops of the address binary are
/// those of the kernel, reduced to their counters, and may have many iterations, but a prediction
/// must not cost as much as the execution. The limit suffices for a thousand iterations of the loop
/// of a matrix product.
const BUDGET: u32 = 1 << 12;

/// An access of a warp in the address binary.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The index into [`Slices::accesses`].
    pub access: usize,
    /// The lanes that make the access.
    pub lanes: LaneMask,
    /// The byte address of each lane, valid for the lanes in `lanes`.
    pub addresses: &'a [u64; WARP_SIZE],
}

/// The end of a warp's execution of the address binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All threads of the warp terminated.
    Complete,
    /// Execution was cut off after 4096 instructions. The reported accesses are correct but
    /// incomplete.
    Stopped,
}

/// The address binary of a launch, which can be executed for any block.
#[derive(Debug)]
pub struct Predictor {
    slices: Arc<Slices>,
    launch: LaunchContext,
    /// Whether registers have to be zero at the start of a warp.
    clears: bool,
    block: BlockState,
    warp: WarpState,
    log: WriteLog,
    memory: DeviceMemory,
    out: StepOut,
}

impl Predictor {
    /// Combines the slices of a kernel with one of its launches.
    pub fn new(slices: Arc<Slices>, launch: &LaunchContext) -> Self {
        let program = Arc::new(slices.program.clone());
        let launch = launch.with_program(program);
        let (launch, writes_first) = launch.folded().unwrap_or((launch, false));
        Self {
            launch,
            clears: !writes_first,
            slices,
            block: BlockState::new(),
            warp: WarpState::new(),
            log: WriteLog::default(),
            memory: DeviceMemory::new(0),
            out: StepOut::default(),
        }
    }

    /// Returns the slices of the kernel.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Returns the launch, with the address binary as its program.
    pub fn launch(&self) -> &LaunchContext {
        &self.launch
    }

    /// Executes the address binary for one warp of a block and reports the accesses in order.
    ///
    /// # Errors
    /// Returns the fault if the kernel itself would fault in the warp.
    pub fn run(
        &mut self,
        ctaid: Dim3,
        warp: u32,
        report: impl FnMut(Record<'_>),
    ) -> Result<Outcome, Fault> {
        self.block.reset(&self.launch, ctaid);
        self.warp.begin(&self.launch, warp, self.clears);
        self.execute(report)
    }

    /// Executes the address binary for up to 32 threads of a block, in lanes from 0 upwards. The
    /// threads need not exist in the launch, because the search for row pitches uses neighbouring
    /// threads.
    ///
    /// # Errors
    /// Returns the errors of [`Predictor::run`].
    pub fn run_threads(
        &mut self,
        ctaid: Dim3,
        threads: &[Dim3],
        report: impl FnMut(Record<'_>),
    ) -> Result<Outcome, Fault> {
        self.block.reset(&self.launch, ctaid);
        self.warp.reset_to(&self.launch, &self.block, threads);
        self.execute(report)
    }

    /// Executes the warp to its end or to the limit of instructions.
    fn execute(&mut self, mut report: impl FnMut(Record<'_>)) -> Result<Outcome, Fault> {
        let env = Env::default();
        for _ in 0..BUDGET {
            let Some(pc) = self.warp.pc() else {
                return Ok(Outcome::Complete);
            };
            let mut port = MemPort {
                image: &self.memory,
                log: &mut self.log,
                now: 0,
            };
            let Self {
                launch,
                block,
                warp,
                out,
                ..
            } = self;
            step(launch, block, warp, &mut port, &env, out)?;
            if let Some(access) = self.slices.records[pc.index()]
                && self.out.active != 0
            {
                report(Record {
                    access: access as usize,
                    lanes: self.out.active,
                    addresses: &self.out.addrs,
                });
            }
        }
        Ok(Outcome::Stopped)
    }
}
