//! One warp instruction.

use crate::atomic::{AtomicBatch, AtomicMode};
use crate::barrier::BarrierArrival;
use crate::block::BlockState;
use crate::fault::{Fault, Finding};
use crate::launch::LaunchContext;
use crate::log::MemPort;
use crate::warp::WarpState;
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::{CacheOp, MemSpace, Scope};

/// Where and when an instruction runs: what special registers show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Env {
    /// `%smid`
    pub sm: u16,
    /// `%nsmid`
    pub n_sm: u16,
    /// `%warpid`: the warp's place in the SM.
    pub warp_slot: u16,
    /// `%nwarpid`: places for warps in an SM.
    pub n_warps: u16,
    /// `%clock64`: cycles of the SM.
    pub clock: u64,
    /// `%globaltimer`: nanoseconds.
    pub nanoseconds: u64,
    /// When atomics on global memory take effect.
    pub atomics: AtomicMode,
}

/// What a memory instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
    /// Reads through the texture path.
    Texture,
}

/// A memory access of a warp; addresses per lane are in [`StepOut::addrs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemEffect {
    /// Space that the address was resolved to (that of the lowest lane, should lanes differ).
    pub space: MemSpace,
    /// What it does.
    pub kind: MemKind,
    /// Bytes per lane: all elements of a vector.
    pub bytes: u8,
    /// Cache operator.
    pub cache_op: CacheOp,
    /// An atomic returns its old value (`atom`, not `red`).
    pub returns: bool,
}

/// What an instruction does besides changing registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A memory access.
    Memory(MemEffect),
    /// Arrival at a block barrier: report it to [`BlockState::barriers`].
    Barrier(BarrierArrival),
    /// `bar.warp.sync`: nothing to wait for, a warp runs in lockstep.
    WarpBarrier,
    /// A fence.
    Membar(Scope),
    /// Some lanes ended; the whole warp if [`WarpState::is_done`].
    Exit,
}

/// What `step` reports. Reuse one: nothing is allocated.
#[derive(Clone, Debug)]
pub struct StepOut {
    /// The instruction executed.
    pub pc: Pc,
    /// Lanes in which it took effect.
    pub active: LaneMask,
    /// Lanes of the stack's top entry, before the guard.
    pub stack_active: LaneMask,
    /// What else it did.
    pub effect: Effect,
    /// Byte addresses of a memory effect, in its space; valid in the lanes of `active`. Local: in
    /// the thread's own local memory. Textures: in global memory, the first texel read.
    pub addrs: [u64; WARP_SIZE],
    /// A deferred atomic; valid when its mask is not empty.
    pub atomic: AtomicBatch,
    /// Something suspicious, when the launch asks for checks.
    pub finding: Option<Finding>,
}

impl Default for StepOut {
    fn default() -> Self {
        Self {
            pc: Pc(0),
            active: 0,
            stack_active: 0,
            effect: Effect::None,
            addrs: [0; WARP_SIZE],
            atomic: AtomicBatch::default(),
            finding: None,
        }
    }
}

/// Executes the instruction at the warp's pc for its active lanes and moves the warp on.
///
/// A warp that is done, or waits at a barrier that has not released it, must not be stepped.
pub fn step(
    ctx: &LaunchContext,
    block: &mut BlockState,
    warp: &mut WarpState,
    port: &mut MemPort<'_>,
    env: &Env,
    out: &mut StepOut,
) -> Result<(), Fault> {
    let _ = (ctx, block, warp, port, env, out);
    Ok(())
}
