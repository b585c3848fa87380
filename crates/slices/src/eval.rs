//! Running the address binary: no memory is read or written, no time passes.

use crate::binary::Slices;
use std::sync::Arc;
use warploom_base::{Dim3, LaneMask, WARP_SIZE};
use warploom_exec::{
    BlockState, DeviceMemory, Env, Fault, LaunchContext, MemPort, StepOut, WarpState, WriteLog,
    step,
};

/// Instructions of one warp after which the binary is given up. Its loops are the kernel's own,
/// with nothing but their counters left, and a kernel may count far: asking must not cost what
/// running does. Enough for a thousand iterations of a matrix product's loop.
const BUDGET: u32 = 1 << 12;

/// One access of a warp as the binary sees it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Index into [`Slices::accesses`].
    pub access: usize,
    /// Lanes that make it.
    pub lanes: LaneMask,
    /// Byte addresses, valid in `lanes`.
    pub addresses: &'a [u64; WARP_SIZE],
}

/// How a warp's run of the binary ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every thread came to its end.
    Complete,
    /// It was stopped in its loops after 4,096 instructions: an approximation, of which what was
    /// reported is right, but not all.
    Stopped,
}

/// The binary bound to a launch: ready to be run for any block.
#[derive(Debug)]
pub struct Predictor {
    slices: Arc<Slices>,
    launch: LaunchContext,
    block: BlockState,
    warp: WarpState,
    log: WriteLog,
    memory: DeviceMemory,
    out: StepOut,
}

impl Predictor {
    /// Binds the slices of a kernel to one of its launches.
    pub fn new(slices: Arc<Slices>, launch: &LaunchContext) -> Self {
        let program = Arc::new(slices.program.clone());
        Self {
            launch: launch.with_program(program),
            slices,
            block: BlockState::new(),
            warp: WarpState::new(),
            log: WriteLog::default(),
            memory: DeviceMemory::new(0),
            out: StepOut::default(),
        }
    }

    /// What was sliced.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// The launch, with the binary as its program.
    pub fn launch(&self) -> &LaunchContext {
        &self.launch
    }

    /// Runs one warp of a block and reports its accesses in the order in which it makes them.
    ///
    /// # Errors
    /// A fault: the kernel itself would trap there.
    pub fn run(
        &mut self,
        ctaid: Dim3,
        warp: u32,
        report: impl FnMut(Record<'_>),
    ) -> Result<Outcome, Fault> {
        self.block.reset(&self.launch, ctaid);
        self.warp.reset(&self.launch, &self.block, warp);
        self.go(report)
    }

    /// Runs a few threads of a block, at most a warp's, in lanes from 0 on. They need not exist:
    /// asking what the next thread would do is how a row's pitch is found.
    ///
    /// # Errors
    /// As [`Predictor::run`].
    pub fn run_threads(
        &mut self,
        ctaid: Dim3,
        threads: &[Dim3],
        report: impl FnMut(Record<'_>),
    ) -> Result<Outcome, Fault> {
        self.block.reset(&self.launch, ctaid);
        self.warp.reset_to(&self.launch, &self.block, threads);
        self.go(report)
    }

    fn go(&mut self, mut report: impl FnMut(Record<'_>)) -> Result<Outcome, Fault> {
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
