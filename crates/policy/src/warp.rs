//! Warp schedulers (`sm.warp_scheduler`): which of the warps that could issue goes first.

mod grr;
mod gto;
mod lrr;
mod oldest;
mod rrr;
mod static_limit;
#[cfg(test)]
mod tests;
mod two_level;

pub use grr::Grr;
pub use gto::Gto;
pub use lrr::Lrr;
pub use oldest::Oldest;
pub use rrr::Rrr;
pub use static_limit::StaticLimit;
pub use two_level::TwoLevel;

use crate::PolicyInfo;
use warploom_base::WarpSlot;
use warploom_config::WarpScheduler as Choice;

/// Warp slots of one SM, bit i for slot i.
pub type WarpMask = u64;

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
    /// By slot: how many warps had started on this SM before this one (GPGPU-Sim's dynamic warp
    /// id).
    pub age: &'a [u64],
}

impl WarpView<'_> {
    /// The oldest warp of a mask.
    #[inline]
    pub fn oldest(&self, mask: WarpMask) -> Option<WarpSlot> {
        warps_of(mask).min_by_key(|slot| self.age[slot.index()])
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

    /// Called every cycle before `pick`, if [`WarpScheduler::wants_cycles`] says so.
    fn begin_cycle(&mut self, _view: &WarpView<'_>) {}

    /// Whether `begin_cycle` must be called: it forbids skipping of idle cycles.
    fn wants_cycles(&self) -> bool {
        false
    }

    /// The warp in `slot` issued.
    fn on_issue(&mut self, _slot: WarpSlot) {}

    /// A new warp took `slot`.
    fn on_start(&mut self, _slot: WarpSlot) {}

    /// The warp in `slot` has exited.
    fn on_exit(&mut self, _slot: WarpSlot) {}
}

/// The first slot of `mask` after `last`, in cyclic order.
#[inline]
pub(crate) fn next_after(mask: WarpMask, last: WarpSlot) -> Option<WarpSlot> {
    if mask == 0 {
        return None;
    }
    let above = mask & (!0u64 << last.index() << 1);
    let from = if above != 0 { above } else { mask };
    Some(WarpSlot(from.trailing_zeros() as u16))
}

/// Declares the table of warp schedulers: dispatch without a virtual call for those built in.
macro_rules! warp_schedulers {
    ($($variant:ident = $name:literal, $about:literal, $choice:pat => $make:expr;)+) => {
        /// A warp scheduler of one of the built-in kinds, or a user's own.
        pub enum WarpPolicy {
            $(#[doc = $about] $variant($variant),)+
            /// A policy from outside this crate.
            Custom(Box<dyn WarpScheduler>),
        }

        /// Names and descriptions.
        pub const TABLE: &[PolicyInfo] = &[
            $(PolicyInfo { key: "sm.warp_scheduler", name: $name, about: $about },)+
        ];

        impl WarpPolicy {
            /// The policy that a configuration asks for.
            pub fn new(choice: Choice) -> Self {
                match choice { $($choice => Self::$variant($make),)+ }
            }
        }

        impl WarpScheduler for WarpPolicy {
            #[inline]
            fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
                match self {
                    $(Self::$variant(p) => p.pick(view, ready),)+
                    Self::Custom(p) => p.pick(view, ready),
                }
            }
            fn begin_cycle(&mut self, view: &WarpView<'_>) {
                match self {
                    $(Self::$variant(p) => p.begin_cycle(view),)+
                    Self::Custom(p) => p.begin_cycle(view),
                }
            }
            fn wants_cycles(&self) -> bool {
                match self {
                    $(Self::$variant(p) => p.wants_cycles(),)+
                    Self::Custom(p) => p.wants_cycles(),
                }
            }
            #[inline]
            fn on_issue(&mut self, slot: WarpSlot) {
                match self {
                    $(Self::$variant(p) => p.on_issue(slot),)+
                    Self::Custom(p) => p.on_issue(slot),
                }
            }
            fn on_start(&mut self, slot: WarpSlot) {
                match self {
                    $(Self::$variant(p) => p.on_start(slot),)+
                    Self::Custom(p) => p.on_start(slot),
                }
            }
            fn on_exit(&mut self, slot: WarpSlot) {
                match self {
                    $(Self::$variant(p) => p.on_exit(slot),)+
                    Self::Custom(p) => p.on_exit(slot),
                }
            }
        }
    };
}

warp_schedulers! {
    Lrr = "lrr",
        "Loose round robin: the next warp after the last one issued (GPGPU-Sim).",
        Choice::Lrr => Lrr::default();
    Grr = "grr",
        "Greedy then round robin: the last warp until it stalls, then the next.",
        Choice::Grr => Grr::default();
    Gto = "gto",
        "Greedy then oldest: the last warp until it stalls, then the oldest (Rogers et al., MICRO \
         2012).",
        Choice::Gto => Gto::default();
    Oldest = "oldest",
        "Oldest first, never greedy (GPGPU-Sim `old`).",
        Choice::Oldest => Oldest;
    Rrr = "rrr",
        "Strict round robin: no warp goes before the one whose turn it is (GPGPU-Sim 4.x).",
        Choice::Rrr => Rrr::default();
    TwoLevel = "two-level",
        "Active group in round robin; long waits go to the pending group (Narasiman et al., MICRO \
         2011).",
        Choice::TwoLevel { active_warps } => TwoLevel::new(active_warps);
    StaticLimit = "static-limit",
        "Greedy then oldest among the oldest warps only (SWL, Rogers et al., MICRO 2012).",
        Choice::StaticLimit { warps } => StaticLimit::new(warps);
}
