//! Environment in which an instruction executes, and its report to the timing.

use crate::fault::Finding;
use crate::memory::atomic::{AtomicBatch, AtomicMode};
use crate::memory::effect::MemEffect;
use crate::memory::span::HalfWarp;
use crate::peer_access::PeerAccesses;
use crate::state::barrier::BarrierArrival;
use crate::state::registers::{Lanes32, Lanes64};
use crate::state::stack::Divergence;
use crate::texture_reads::TextureReads;
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::Scope;
use warploom_state::Value;

/// Values that an instruction reads from its surroundings: the SM, the clock and the execution
/// mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Env {
    /// Number of the SM on which the warp runs (`%smid`).
    pub sm: u16,
    /// Number of SMs of the GPU (`%nsmid`).
    pub n_sm: u16,
    /// Number of the warp's slot in the SM (`%warpid`).
    pub warp_slot: u16,
    /// Number of warp slots in an SM (`%nwarpid`).
    pub n_warps: u16,
    /// Cycles of the SM's clock since the start (`%clock`, `%clock64`).
    pub clock: u64,
    /// Frequency of the SM's clock in kHz, from which `%globaltimer` is derived. With 0, one cycle
    /// counts as one nanosecond.
    pub clock_khz: u64,
    /// Time at which atomic operations on global memory take effect.
    pub atomics: AtomicMode,
    /// Rule for scheduling the splits of a diverged warp.
    pub divergence: Divergence,
}

impl Env {
    /// Value of `%globaltimer` in nanoseconds.
    pub(crate) fn nanoseconds(&self) -> u64 {
        match self.clock_khz {
            0 => self.clock,
            khz => self.clock * 1_000_000 / khz,
        }
    }
}

/// Effect of an instruction beyond writing registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effect {
    /// The instruction has no further effect.
    #[default]
    None,
    /// The instruction accesses memory.
    Memory(MemEffect),
    /// The instruction accesses shared memory, that of other blocks of the cluster too, which
    /// [`StepOut::peers`] describes.
    Peers(MemEffect),
    /// The instruction starts bulk copies, which [`StepOut::bulk`] describes.
    Bulk,
    /// The warp arrived at a block barrier. The caller reports the arrival to
    /// [`BlockState::barriers`](crate::BlockState::barriers).
    Barrier(BarrierArrival),
    /// All lanes named by a `bar.warp.sync` have arrived.
    WarpBarrier,
    /// Every lane that has not exited waits for another lane, so the warp can never continue.
    Stuck,
    /// A memory fence of the given scope.
    Membar(Scope),
    /// Some lanes exited. The warp has finished if
    /// [`WarpState::is_done`](crate::WarpState::is_done) holds.
    Exit,
}

/// Size in bytes of the pieces in which bulk copies access global memory.
pub const BULK_LINE_BYTES: u64 = 128;

/// Bulk copies that an instruction starts, for all its lanes together.
#[derive(Clone, Debug, Default, Value)]
pub struct BulkCopies {
    /// Addresses of the lines of [`BULK_LINE_BYTES`] in global memory that the copies access.
    pub lines: Vec<u64>,
    /// True if the copies write global memory.
    pub stores: bool,
    /// Transactions that complete with the copies. Empty if they completed at once.
    pub completions: Vec<Completion>,
    /// Number of bytes that the copies send to other blocks of the cluster.
    pub peer_bytes: u32,
}

/// Transactions that complete with bulk copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Completion {
    /// Rank in the cluster of the block with the barrier object; `None` for the copies' own block.
    pub rank: Option<u32>,
    /// Address of the barrier object.
    pub address: u32,
    /// Number of transactions that complete.
    pub count: u32,
}

impl BulkCopies {
    /// Forgets the copies of an earlier instruction.
    pub(crate) fn begin(&mut self, stores: bool) {
        self.lines.clear();
        self.completions.clear();
        self.stores = stores;
        self.peer_bytes = 0;
    }

    /// Adds the lines of a range of global memory. A line that was the last one is not repeated.
    pub(crate) fn touch(&mut self, address: u64, bytes: usize) {
        let first = address & !(BULK_LINE_BYTES - 1);
        let end = address.saturating_add(bytes as u64);
        for line in (first..end).step_by(BULK_LINE_BYTES as usize) {
            if self.lines.last() != Some(&line) {
                self.lines.push(line);
            }
        }
    }
}

/// Report of [`step`](crate::step()). Callers reuse one report for all steps, so that a step
/// allocates nothing.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct StepOut {
    /// Program counter of the executed instruction.
    pub pc: Pc,
    /// Lanes in which the instruction took effect.
    pub active: LaneMask,
    /// Lanes of the stack's top entry, before the guard predicate was applied.
    pub stack_active: LaneMask,
    /// Effect of the instruction beyond writing registers.
    pub effect: Effect,
    /// Byte address of each lane of a memory effect, within the state space of the effect. Only
    /// lanes of `active` are valid. Local addresses are relative to the thread's local memory. A
    /// texture fetch reports the global address of its first texel. A prefetch has no memory
    /// effect, but its addresses are reported here as well.
    pub addrs: [u64; WARP_SIZE],
    /// Layout of the words that each half of the warp accesses. Present if all 32 lanes access
    /// aligned words of global or shared memory in one of the usual layouts.
    pub halves: Option<[HalfWarp; 2]>,
    /// Deferred atomic operation. Valid if its lane mask is not empty.
    pub atomic: AtomicBatch,
    /// Bulk copies that the instruction starts. Valid if the effect is [`Effect::Bulk`].
    pub bulk: BulkCopies,
    /// Accesses to the shared memory of other blocks of the cluster, which the caller applies and
    /// clears. There are some with [`Effect::Peers`], and there may be some with [`Effect::Bulk`]
    /// and with memory effects that are mixed.
    pub peers: PeerAccesses,
    /// Suspicious behaviour found by the optional checks of the launch.
    pub finding: Option<Finding>,
    pub(crate) staged: StagedSources,
    /// Operands and pages of a texture fetch. Valid if the effect is one.
    pub(crate) texture: TextureReads,
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
            bulk: BulkCopies::default(),
            peers: PeerAccesses::default(),
            finding: None,
            staged: StagedSources::default(),
            texture: TextureReads::NOTHING,
        }
    }
}

/// Values of the source operands that are special registers, in both widths. The buffer belongs to
/// the caller that steps warps, since its contents are needed for one instruction only.
#[derive(Clone, Debug)]
pub(crate) struct StagedSources {
    pub narrow: [Lanes32; 4],
    pub wide: [Lanes64; 4],
}

impl Default for StagedSources {
    fn default() -> Self {
        Self {
            narrow: [Lanes32::ZERO; 4],
            wide: [Lanes64::ZERO; 4],
        }
    }
}
