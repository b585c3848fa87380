//! What one instruction sees of its surroundings, and what it reports to the timing.

use crate::fault::Finding;
use crate::memory::atomic::{AtomicBatch, AtomicMode};
use crate::memory::effect::MemEffect;
use crate::memory::span::HalfWarp;
use crate::state::barrier::BarrierArrival;
use crate::state::registers::{Lanes32, Lanes64};
use crate::state::stack::Divergence;
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::Scope;

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
    /// Clock of the SM in kHz, for `%globaltimer`; 0 counts a nanosecond a cycle.
    pub clock_khz: u64,
    /// When atomics on global memory take effect.
    pub atomics: AtomicMode,
    /// What lanes that went different ways may do for each other.
    pub divergence: Divergence,
}

impl Env {
    /// `%globaltimer`: nanoseconds.
    pub(crate) fn nanoseconds(&self) -> u64 {
        match self.clock_khz {
            0 => self.clock,
            khz => self.clock * 1_000_000 / khz,
        }
    }
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
    /// All lanes that a `bar.warp.sync` names are there.
    WarpBarrier,
    /// Every lane of the warp that has not ended waits for another one: the warp never goes on.
    Stuck,
    /// A fence.
    Membar(Scope),
    /// Some lanes ended; the whole warp if [`WarpState::is_done`].
    Exit,
}

/// What `step` reports. Reuse one: nothing is allocated.
#[derive(Clone, Debug)]
#[repr(align(64))]
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
    /// the thread's own local memory. Textures: in global memory, the first texel read. A prefetch
    /// has no effect, but its addresses stand here too.
    pub addrs: [u64; WARP_SIZE],
    /// How the words of the two halves of a warp lie, where a memory effect in global or shared
    /// memory is seen to be one of all lanes on aligned words.
    pub halves: Option<[HalfWarp; 2]>,
    /// A deferred atomic; valid when its mask is not empty.
    pub atomic: AtomicBatch,
    /// Something suspicious, when the launch asks for checks.
    pub finding: Option<Finding>,
    pub(crate) staged: Staged,
}

impl Default for StepOut {
    fn default() -> Self {
        Self {
            pc: Pc(0),
            active: 0,
            stack_active: 0,
            effect: Effect::None,
            addrs: [0; WARP_SIZE],
            halves: None,
            atomic: AtomicBatch::default(),
            finding: None,
            staged: Staged::default(),
        }
    }
}

/// Sources of the running instruction that are neither registers nor constants, in both widths.
/// They stay with whoever steps warps: no warp needs them for longer than its instruction.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub narrow: [Lanes32; 4],
    pub wide: [Lanes64; 4],
}

impl Default for Staged {
    fn default() -> Self {
        Self {
            narrow: [Lanes32::ZERO; 4],
            wide: [Lanes64::ZERO; 4],
        }
    }
}
