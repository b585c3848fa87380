//! Warp schedulers (`sm.warp_scheduler`): which of the warps that could issue goes first.

mod grr;
mod gto;
mod locality;
mod long_latency_first;
mod lrr;
mod oldest;
mod rrr;
mod static_limit;
mod table;
#[cfg(test)]
mod tests;
mod two_level;

pub use grr::Grr;
pub use gto::Gto;
pub use locality::Locality;
pub use long_latency_first::LongLatencyFirst;
pub use lrr::Lrr;
pub use oldest::Oldest;
pub use rrr::Rrr;
pub use static_limit::StaticLimit;
pub use table::WarpTable;
pub use two_level::TwoLevel;

use std::ops::Deref;
use warploom_base::WarpSlot;
use warploom_config::WarpScheduler as Choice;
use warploom_stats::declare_stats;

/// Warp slots of one SM, bit i for slot i.
pub type WarpMask = u128;

/// A mask holds `slot`: on most hosts less work than a shift of 128 bits.
#[inline]
pub(crate) const fn holds(mask: WarpMask, slot: WarpSlot) -> bool {
    let words = [mask as u64, (mask >> 64) as u64];
    words[slot.0 as usize / 64 % 2] >> (slot.0 % 64) & 1 != 0
}

/// The mask of one slot: on most hosts less work than a shift of 128 bits.
#[inline]
pub(crate) const fn only(slot: WarpSlot) -> WarpMask {
    let bit = (1_u64 << (slot.0 % 64)) as WarpMask;
    if slot.0 < 64 { bit } else { bit << 64 }
}

/// The slots of a mask, lowest first.
pub fn warps_of(mut mask: WarpMask) -> impl Iterator<Item = WarpSlot> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let slot = mask.trailing_zeros();
            mask &= mask - 1;
            WarpSlot(slot as u16)
        })
    })
}

/// What a warp scheduler may see of its SM in one cycle.
#[derive(Clone, Copy, Debug)]
pub struct WarpView<'a> {
    /// Slots that this scheduler serves.
    pub own: WarpMask,
    /// Slots that hold a warp which has not exited.
    pub live: WarpMask,
    /// Warps at a barrier, behind a fence, or with an atomic outstanding.
    pub waiting: WarpMask,
    /// Warps whose next instruction needs the result of an outstanding load.
    pub long_wait: WarpMask,
    /// What changes only when a warp starts.
    pub table: &'a WarpTable,
}

declare_stats! {
    /// What warp schedulers count of their own doing; 0 where a policy does no such thing.
    pub struct WarpPolicyCounters in "warp_policy" {
        /// Issues in which stall counters put a warp before an older one that could issue
        /// (long-latency-first).
        pub reorderings: u64 = Events;
        /// Cycles that warps' stall counters counted (long-latency-first).
        pub stall_cycles: u64 = Cycles;
        /// Times that a warp, or a group, lost its place among those that may issue (two-level,
        /// locality).
        pub group_changes: u64 = Events;
        /// Warps that left the active group because they waited (locality).
        pub demotions: u64 = Events;
        /// Warps that came into the active group before an older one, for their locality with it
        /// (locality).
        pub promotions: u64 = Events;
    }
}

impl Deref for WarpView<'_> {
    type Target = WarpTable;
    #[inline]
    fn deref(&self) -> &WarpTable {
        self.table
    }
}

/// Picks among warps that could issue this cycle.
///
/// Contract: `pick` changes only the policy itself and returns a warp of `ready`, or `None` to let
/// the cycle pass. `ready` holds warps of `view.own` whose next instruction is decoded, passes the
/// scoreboard and finds its pipe free, and warps that went elsewhere than their buffer: when it is
/// such a one's turn, its buffer is emptied and `pick` is asked again in the same cycle, without
/// `on_issue`. One policy object serves one scheduler.
pub trait WarpScheduler: Send {
    /// The warp to issue from.
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot>;

    /// Whether the policy must be told of every cycle, by the two methods that follow.
    fn wants_cycles(&self) -> bool {
        false
    }

    /// Whether the policy wants to know where warps touch memory.
    fn wants_ranges(&self) -> bool {
        false
    }

    /// Called in every cycle before `pick`, and once for a run of skipped cycles, whose views are
    /// all the same: a second call with the same view must change nothing.
    fn begin_cycle(&mut self, _view: &WarpView<'_>) {}

    /// Called in every cycle after `pick`, and once for a run of `cycles` skipped ones. `stalled`:
    /// warps of `view.own` with a decoded instruction, neither waiting nor exited, that a control
    /// hazard (a buffer from the wrong path), the scoreboard or a full pipe kept from issuing.
    /// `picked`: the warp issued from.
    fn end_cycles(
        &mut self,
        _view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        _cycles: u64,
    ) {
    }

    /// The warp in `slot` issued.
    fn on_issue(&mut self, _slot: WarpSlot) {}

    /// A new warp took `slot`.
    fn on_start(&mut self, _slot: WarpSlot) {}

    /// The warp in `slot` has exited.
    fn on_exit(&mut self, _slot: WarpSlot) {}

    /// What it has counted so far.
    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters::default()
    }
}

/// The first slot of `mask` after `last`, in cyclic order.
#[inline]
pub(crate) fn next_after(mask: WarpMask, last: WarpSlot) -> Option<WarpSlot> {
    if mask == 0 {
        return None;
    }
    let above = mask & (!0 << last.index() << 1);
    let from = if above != 0 { above } else { mask };
    Some(WarpSlot(from.trailing_zeros() as u16))
}

/// Declares the enum of warp schedulers.
macro_rules! warp_policies {
    ($($table:tt)+) => { crate::policies!(WarpPolicy, WarpScheduler: $($table)+); };
}
warploom_config::warp_schedulers!(warp_policies);

impl WarpPolicy {
    /// `pick` with a view that is made where a policy looks at one: what it does not look at costs
    /// nothing.
    #[inline]
    pub fn pick_by<'a>(
        &mut self,
        view: impl Fn() -> WarpView<'a>,
        ready: WarpMask,
    ) -> Option<WarpSlot> {
        of_policy!(self, p => p.pick(&view(), ready))
    }

    /// The same of a warp that issues as soon as it is picked: `pick`, then `on_issue`. Policies
    /// that look at a mask or two do so here: others need room on the host's stack.
    #[inline(always)]
    pub fn pick_to_issue<'a>(
        &mut self,
        view: impl Fn() -> WarpView<'a>,
        ready: WarpMask,
    ) -> Option<WarpSlot> {
        match self {
            Self::Gto(p) => pick_and_tell(p, &view(), ready),
            Self::Oldest(p) => pick_and_tell(p, &view(), ready),
            _ => self.pick_with_view(&view(), ready),
        }
    }

    #[inline(never)]
    fn pick_with_view(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let picked = self.pick_by(|| *view, ready);
        if let Some(slot) = picked {
            self.on_issue(slot);
        }
        picked
    }
}

/// The warp that a policy picks, which issues.
#[inline(always)]
fn pick_and_tell(
    policy: &mut impl WarpScheduler,
    view: &WarpView<'_>,
    ready: WarpMask,
) -> Option<WarpSlot> {
    let picked = policy.pick(view, ready);
    if let Some(slot) = picked {
        policy.on_issue(slot);
    }
    picked
}

impl WarpScheduler for WarpPolicy {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        self.pick_by(|| *view, ready)
    }

    fn wants_cycles(&self) -> bool {
        of_policy!(self, p => p.wants_cycles())
    }

    fn wants_ranges(&self) -> bool {
        of_policy!(self, p => p.wants_ranges())
    }

    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        of_policy!(self, p => p.begin_cycle(view));
    }

    fn end_cycles(
        &mut self,
        view: &WarpView<'_>,
        stalled: WarpMask,
        picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        of_policy!(self, p => p.end_cycles(view, stalled, picked, cycles));
    }

    #[inline]
    fn on_issue(&mut self, slot: WarpSlot) {
        of_policy!(self, p => p.on_issue(slot));
    }

    fn on_start(&mut self, slot: WarpSlot) {
        of_policy!(self, p => p.on_start(slot));
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        of_policy!(self, p => p.on_exit(slot));
    }

    fn counters(&self) -> WarpPolicyCounters {
        of_policy!(self, p => p.counters())
    }
}
