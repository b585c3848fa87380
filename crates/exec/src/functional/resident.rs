//! Blocks that run without timing, with their warps.

use crate::context::LaunchContext;
use crate::state::barrier::BarrierRelease;
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use warploom_base::lanes_of;

/// Detector of repeating states of one warp (Brent's cycle detection over its turns).
#[derive(Clone, Copy, Default)]
pub(super) struct Watch {
    /// Number of turns since the last barrier or exit.
    turns: u32,
    /// Value of [`Resident::woken`] at which the turns began.
    woken: u64,
    saved: u64,
    /// Turn at which `saved` is replaced next.
    renew: u32,
    repeats: bool,
}

impl Watch {
    /// Counts a turn. Returns true if the warp's state has to be watched from now on.
    #[inline(always)]
    fn turn(&mut self, watch_after: u32, woken: u64) -> bool {
        if self.woken != woken {
            *self = Self {
                woken,
                ..Self::default()
            };
        }
        self.turns = self.turns.saturating_add(1);
        self.turns > watch_after
    }

    /// Compares the warp's state with the saved one.
    #[cold]
    fn compare(&mut self, warp: &WarpState) {
        let state = warp.fingerprint();
        self.repeats |= self.renew > 0 && state == self.saved;
        if self.turns >= self.renew {
            (self.saved, self.renew) = (state, self.turns.saturating_mul(2));
            self.repeats = false;
        }
    }
}

/// A block that runs, with its warps.
pub(super) struct Resident {
    pub rank: u64,
    pub block: BlockState,
    pub warps: Vec<WarpState>,
    /// Number of warps that have begun. The others have states of warps that have ended.
    pub begun: usize,
    watches: Vec<Watch>,
    /// Number of events that warps may have waited for. Repeating states are looked for anew after
    /// each.
    woken: u64,
    /// Number of warps that have not finished.
    pub left: usize,
}

impl Resident {
    /// Room for a block of `warps` warps.
    pub fn with_room(warps: usize) -> Self {
        Self {
            rank: 0,
            block: BlockState::new(),
            warps: vec![WarpState::new(); warps],
            begun: 0,
            watches: vec![Watch::default(); warps],
            woken: 0,
            left: 0,
        }
    }

    /// Starts the block of the given rank in the grid.
    pub fn start(&mut self, ctx: &LaunchContext, rank: u64) {
        self.rank = rank;
        self.block.reset(ctx, ctx.block_at(rank));
        self.begun = 0;
        self.left = self.warps.len();
        self.wake();
    }

    /// True if a warp repeats its states.
    pub fn spins(&self) -> bool {
        self.watches.iter().any(|watch| self.repeats(watch))
    }

    fn repeats(&self, watch: &Watch) -> bool {
        watch.repeats && watch.woken == self.woken
    }

    /// Counts a turn of a warp.
    #[inline(always)]
    pub fn turned(&mut self, warp: usize, watch_after: u32) {
        let watch = &mut self.watches[warp];
        if watch.turn(watch_after, self.woken) {
            watch.compare(&self.warps[warp]);
        }
    }

    /// True if every unfinished warp waits or repeats its states.
    pub fn is_stuck(&self) -> bool {
        let mut pairs = self.warps.iter().zip(&self.watches);
        self.left > 0
            && pairs.all(|(warp, watch)| warp.is_done() || warp.is_pending() || self.repeats(watch))
    }

    /// Begins the next warp. It takes over the memory of the registers of the warp before, if that
    /// one has ended: the host's nearest cache has it. Registers become zero if it `clears`.
    pub fn begin_warp(&mut self, ctx: &LaunchContext, clears: bool) {
        let index = self.begun;
        self.begun += 1;
        let warps = &mut self.warps[..=index];
        if let Some([before, warp]) = warps.last_chunk_mut::<2>()
            && before.is_done()
        {
            std::mem::swap(&mut before.regs, &mut warp.regs);
        }
        self.warps[index].begin(ctx, index as u32, clears);
    }

    /// Restarts the detection of repeating states after an event that other warps may have waited
    /// for.
    pub fn wake(&mut self) {
        self.woken += 1;
    }
}

/// Lets the warps that a barrier releases continue.
pub(super) fn release_warps(warps: &mut [WarpState], release: &BarrierRelease) {
    for half in 0..2 {
        for bit in lanes_of((release.warps >> (32 * half)) as u32) {
            if let Some(warp) = warps.get_mut(bit + 32 * half) {
                warp.finish_barrier(release);
            }
        }
    }
}

/// Describes what each unfinished warp of a block waits for.
pub(super) fn describe_block(ctx: &LaunchContext, resident: &Resident) -> Vec<String> {
    let unfinished = resident.warps.iter().filter(|warp| !warp.is_done());
    let barriers = &resident.block.barriers;
    unfinished
        .map(|warp| {
            let wait = warp.describe_wait(ctx, barriers);
            format!("warp {}: {wait}", warp.warp_index())
        })
        .collect()
}
