//! Warp schedulers (`sm.warp_scheduler`): the warp that issues, among those that could, and the
//! instructions that are held back.

mod cawa;
mod ccws;
#[cfg(test)]
mod contract;
mod daws;
mod grr;
mod gto;
mod ipaws;
mod l1d_event;
mod locality;
mod long_latency_first;
mod loop_table;
mod lrr;
mod mascar;
mod mask;
mod memory_use;
mod next_inst;
mod oldest;
mod owl;
mod pcal;
mod progress;
mod rrr;
mod static_limit;
mod table;
#[cfg(test)]
mod tests;
mod two_level;
mod victim_tags;

pub use cawa::Cawa;
pub use ccws::{Ccws, VictimTagCounters};
pub use daws::{Daws, LoopCounters};
pub use grr::Grr;
pub use gto::Gto;
pub use ipaws::{Ipaws, IpawsCounters};
pub use l1d_event::{L1dEvent, L1dOutcome};
pub use locality::{Locality, LocalityCounters};
pub use long_latency_first::{LongLatencyFirst, StallCounters};
pub use lrr::Lrr;
pub use mascar::{Mascar, OwnerCounters};
pub use mask::{WarpMask, WarpsOf, warps_of};
pub use memory_use::MemoryUse;
pub use next_inst::{MemoryAccess, MemoryOp, MemorySpace, NextInst, ReadyWarps, Screened};
pub use oldest::Oldest;
pub use owl::Owl;
pub use pcal::{ClimbCounters, Pcal};
pub use progress::Progress;
pub use rrr::Rrr;
pub use static_limit::StaticLimit;
pub use table::WarpTable;
pub use two_level::{GroupCounters, TwoLevel};

pub(crate) use mask::{holds, next_after, only};

use std::ops::Deref;
use warploom_base::WarpSlot;
use warploom_config::WarpSchedulerChoice as Choice;
use warploom_state::State;
use warploom_stats::{combine_stats, declare_stats};

/// View of an SM that a warp scheduler has in one cycle.
#[derive(Clone, Copy, Debug)]
pub struct WarpView<'a> {
    /// Slots of the scheduler's own warps.
    pub own: WarpMask,
    /// Slots of warps that have not exited.
    pub live: WarpMask,
    /// Warps that wait at a barrier, for a fence or for an atomic.
    pub waiting: WarpMask,
    /// Warps whose next instruction needs the result of an outstanding load.
    pub long_wait: WarpMask,
    /// Warps of the scheduler that could issue and that its gate holds back in this cycle. Known
    /// in `end_cycles` only.
    pub held: WarpMask,
    /// Ages, blocks and access ranges of the warps.
    pub table: &'a WarpTable,
}

declare_stats! {
    /// Counters of schedulers that issue from a younger warp although an older one could issue.
    pub struct OrderCounters in "warp_policy" {
        /// Issues in which stall counters or criticality put a warp before an older one that could
        /// issue (long-latency-first, cawa).
        pub reorderings: u64 = Events;
    }
}

combine_stats! {
    /// Counters of all warp schedulers. A policy sets those that it declares, or shares with
    /// others, and leaves the rest at 0.
    pub struct WarpPolicyCounters in "warp_policy" {
        /// Changes of the order by age.
        pub order: OrderCounters,
        /// Stalls that `long-latency-first` counts.
        pub stalls: StallCounters,
        /// Changes of the group that may issue.
        pub groups: GroupCounters,
        /// Decisions of the scheduler `ipaws`.
        pub ipaws: IpawsCounters,
        /// Changes of the group by `locality`.
        pub locality: LocalityCounters,
        /// Misses on lines that a warp lost.
        pub victim_tags: VictimTagCounters,
        /// Moves of the numbers of warps and tokens.
        pub climb: ClimbCounters,
        /// Loops that `daws` found.
        pub loops: LoopCounters,
        /// Owners of the path to memory.
        pub owner: OwnerCounters,
    }
}

impl WarpView<'_> {
    /// The view of an SM that has at most 64 slots, whose masks the compiler knows to have no other
    /// bits.
    #[inline(always)]
    #[must_use]
    pub fn of_few(self) -> Self {
        let few = |mask: WarpMask| mask & WarpMask::from(u64::MAX);
        Self {
            own: few(self.own),
            live: few(self.live),
            waiting: few(self.waiting),
            long_wait: few(self.long_wait),
            held: few(self.held),
            table: self.table,
        }
    }

    /// Number of warps that are held back: none in most cycles.
    #[inline]
    pub(crate) const fn held_warps(&self) -> u64 {
        if self.held == 0 {
            0
        } else {
            self.held.count_ones() as u64
        }
    }
}

impl Deref for WarpView<'_> {
    type Target = WarpTable;
    #[inline]
    fn deref(&self) -> &WarpTable {
        self.table
    }
}

/// Picks a warp among those that could issue in this cycle.
///
/// One policy object serves one scheduler of one SM. A method changes nothing but the policy
/// itself. The calls of a cycle come in this order: `begin_cycle`, `screen`, `admits`, `pick`,
/// `end_cycles`, `on_issue`, `on_progress`. If a warp issues two instructions in a cycle,
/// the gate is asked about the second one after `on_issue`, which is called once.
///
/// `ready` holds the warps of `view.own` whose next instruction is decoded, passes the scoreboard
/// and finds its pipe free. `ready` also holds warps whose buffered instructions are from the wrong
/// path. When such a warp is picked, its buffer is emptied and `pick` is called again in the same
/// cycle, without a call of `on_issue`.
pub trait WarpScheduler: State + Send {
    /// The warp of `ready` that issues; `None` lets the cycle pass.
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot>;

    /// True for a policy that must be told of every cycle, through `begin_cycle` and `end_cycles`.
    /// The answer may change with `on_memory_use` alone, after which it is asked for again.
    fn wants_cycles(&self) -> bool {
        false
    }

    /// True for a policy that uses the warps that stall, in `end_cycles`. Others are told of none,
    /// so that more cycles are like the one before.
    fn wants_stalled(&self) -> bool {
        false
    }

    /// True for a policy that is told of the places of the warps that issue, through `on_progress`.
    fn wants_progress(&self) -> bool {
        false
    }

    /// True for a policy that uses the ranges of addresses that warps access.
    fn wants_ranges(&self) -> bool {
        false
    }

    /// True for a policy that is told of the events of its SM's data cache.
    fn wants_l1d(&self) -> bool {
        false
    }

    /// Notes an event of the SM's data cache, whichever scheduler the warp belongs to. Called in
    /// the cycle of the event, before `begin_cycle`, and only if `wants_l1d` is true.
    fn on_l1d(&mut self, _event: &L1dEvent) {}

    /// True for a policy that is told of the use of its SM's path to memory.
    fn wants_memory_use(&self) -> bool {
        false
    }

    /// True if the use of the SM's path to memory has changed in a way that matters to the policy,
    /// or if another answer of `wants_cycles` waits for `on_memory_use`, which follows only then.
    fn minds_memory_use(&self, _used: &MemoryUse) -> bool {
        true
    }

    /// Notes that the use of the SM's path to memory has changed. Called after the accesses of a
    /// cycle, before `begin_cycle`, and only if `wants_memory_use` and `minds_memory_use` are true.
    fn on_memory_use(&mut self, _used: &MemoryUse) {}

    /// Number of loads of an SM that may be parked: a load that the data cache refuses, or that
    /// would send a miss although its warp may not, waits beside the load/store unit and is
    /// executed again, while later accesses go by. 0 for a policy under which the unit waits with
    /// the load.
    fn parks(&self) -> u32 {
        0
    }

    /// Warps of the scheduler whose loads may send misses, where loads can be parked. The answer
    /// may depend on issues, starts, exits, events and the view alone, since cycles in which
    /// nothing changes are told late.
    fn may_miss(&self) -> WarpMask {
        !0
    }

    /// True for a policy that decides which warps' reads take lines of the SM's data cache.
    fn decides_allocation(&self) -> bool {
        false
    }

    /// True if a read of a warp from global memory that misses the data cache takes a line of it,
    /// false if it goes past. Only called if `decides_allocation` is true, and for warps of the
    /// scheduler. A read that the key `sm.l1d_allocation` sends past the cache goes past it, too.
    /// The answer may depend on issues, starts, exits and the view, and on cycles that pass if it
    /// stays the same in the next `holds_for` of them.
    fn allocates(&self, _warp: WarpSlot) -> bool {
        true
    }

    /// Criticality of a warp of the scheduler: how long its block waits for it, in a unit of the
    /// policy. Asked for accesses of the SM's data cache, if the cache's replacement policy prefers
    /// the lines of critical warps. The answer may depend on issues, starts and exits alone, since
    /// skipped cycles are told late.
    fn criticality(&self, _warp: WarpSlot) -> u64 {
        0
    }

    /// True if a warp of this criticality is critical in its block, whose warps, itself included,
    /// have those of `block`. The warps of a block have several schedulers.
    fn is_critical(&self, _own: u64, _block: &mut dyn Iterator<Item = u64>) -> bool {
        false
    }

    /// True for a policy with a gate: `admits` is then asked about every instruction before `pick`.
    /// Such a policy is also told of every cycle. A gate that is there for some of the time only
    /// needs `wants_cycles`.
    fn has_gate(&self) -> bool {
        false
    }

    /// Decides on several warps at once, before `admits`, which is then asked about the warps only
    /// on which this decides nothing. Saves time where a gate knows masks of warps.
    fn screen(&mut self, _view: &WarpView<'_>, _ready: ReadyWarps) -> Screened {
        Screened::default()
    }

    /// True if a warp may issue its next instruction in this cycle. Called after `begin_cycle` and
    /// before `pick`, for every warp that could issue and on which `screen` has not decided, and
    /// only if `has_gate` is true. Warps that are held back are not in the `ready` of `pick`; a
    /// cycle in which all ready warps are held back counts as `sm.slots.policy`. A gate may not
    /// hold a warp back for ever.
    fn admits(&mut self, _view: &WarpView<'_>, _next: &NextInst) -> bool {
        true
    }

    /// Number of coming cycles in which the policy lets no warp issue, after a cycle in which it
    /// let none of the ready ones issue, as long as nothing changes: neither the view nor the ready
    /// warps, and no event, start or exit of which it is told. 0 if the end of the cycle itself has
    /// changed its choice. The SM may skip these cycles: `begin_cycle` and `end_cycles` are called
    /// as for all skipped cycles.
    fn holds_for(&self) -> u64 {
        0
    }

    /// Begins a cycle, before `pick`. A run of cycles in which no warp issues and nothing changes
    /// gets one call or two, because all of its views are the same: a second call with the same
    /// view must change nothing.
    fn begin_cycle(&mut self, _view: &WarpView<'_>) {}

    /// Ends a cycle, after `pick`, or a run of `cycles` equal cycles. `picked` is the warp that
    /// issues, of which `on_issue` tells afterwards. `stalled` holds the warps of `view.own` that
    /// have a decoded instruction, neither wait nor have exited, and were kept from issuing by a
    /// control hazard (a buffer from the wrong path), the scoreboard or a full pipe; none unless
    /// `wants_stalled` is true.
    fn end_cycles(
        &mut self,
        _view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        _cycles: u64,
    ) {
    }

    /// Notes that the warp in `slot` issued, once in a cycle.
    fn on_issue(&mut self, _slot: WarpSlot) {}

    /// Notes the place of the warp in `slot`. Called after the warp's instructions of a cycle have
    /// issued, and only if `wants_progress` is true.
    fn on_progress(&mut self, _slot: WarpSlot, _progress: &Progress) {}

    /// Notes that a warp came into `slot`: a new one, or one whose context was switched in.
    fn on_start(&mut self, _slot: WarpSlot) {}

    /// Notes that the warp in `slot` has exited, or that its context was switched out.
    fn on_exit(&mut self, _slot: WarpSlot) {}

    /// Counters of the policy since the start of the run.
    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters::default()
    }
}

/// Declares the enum of warp schedulers.
macro_rules! warp_policies {
    ($($table:tt)+) => { crate::policies!(WarpPolicy, WarpScheduler: $($table)+); };
}
warploom_config::warp_schedulers!(warp_policies);

/// The warps of `ready` that a policy's gate admits: of any type that has the methods of a policy.
macro_rules! admitted {
    ($policy:ident, $view:expr, $ready:expr, $next:expr) => {{
        let (ready, next): (ReadyWarps, _) = ($ready, $next);
        let Screened { admitted, held } = $policy.screen($view, ready);
        let others = warps_of(ready.all & !admitted & !held);
        let others = others.filter(|slot| $policy.admits($view, &next(*slot)));
        others.fold(ready.all & admitted, |mask, slot| mask | only(slot))
    }};
}

impl WarpPolicy {
    /// The warps of `ready` that the policy's gate admits in this cycle. `next` returns the next
    /// instruction of a warp.
    pub fn admitted(
        &mut self,
        view: &WarpView<'_>,
        ready: ReadyWarps,
        next: impl Fn(WarpSlot) -> NextInst,
    ) -> WarpMask {
        of_policy!(self, p => admitted!(p, view, ready, next))
    }

    /// All calls of a cycle from `begin_cycle` to `on_issue`, for a policy that is told of every
    /// cycle. `view` gets the warps that are held back. `sorted` returns the warps of `ready` by
    /// their next instructions, and `next` the next instruction of a warp. Cheaper than single
    /// calls, each of which finds out which policy it is for.
    #[inline(always)]
    pub fn run_cycle(
        &mut self,
        view: &mut WarpView<'_>,
        (ready, stalled): (WarpMask, WarpMask),
        sorted: impl FnOnce() -> ReadyWarps,
        next: impl Fn(WarpSlot) -> NextInst,
    ) -> Option<WarpSlot> {
        of_policy!(self, p => {
            p.begin_cycle(view);
            let admitted = if ready != 0 && p.has_gate() {
                admitted!(p, view, sorted(), &next)
            } else {
                ready
            };
            let picked = if admitted == 0 { None } else { p.pick(view, admitted) };
            view.held = ready & !admitted;
            p.end_cycles(view, stalled, picked, 1);
            if let Some(slot) = picked {
                p.on_issue(slot);
            }
            picked
        })
    }

    /// Tells the policy, which is told of every cycle, that `cycles` cycles have passed in which no
    /// warp issued: `begin_cycle`, then `end_cycles` with the warps that stalled and those that
    /// were held back.
    pub fn pass_cycles(
        &mut self,
        mut view: WarpView<'_>,
        (stalled, held): (WarpMask, WarpMask),
        cycles: u64,
    ) {
        of_policy!(self, p => {
            p.begin_cycle(&view);
            view.held = held;
            p.end_cycles(&view, stalled, None, cycles);
        });
    }

    /// Calls `pick` with a view that is created only where the policy uses it.
    #[inline]
    pub fn pick_by<'a>(
        &mut self,
        view: impl Fn() -> WarpView<'a>,
        ready: WarpMask,
    ) -> Option<WarpSlot> {
        of_policy!(self, p => p.pick(&view(), ready))
    }

    /// Calls `pick`, then `on_issue` for the picked warp. Policies that are declared as
    /// [inlined](crate::PolicyFacts::INLINED) are compiled into the caller; a call of the others
    /// costs the view.
    #[inline(always)]
    pub fn pick_to_issue<'a>(
        &mut self,
        view: impl Fn() -> WarpView<'a>,
        ready: WarpMask,
    ) -> Option<WarpSlot> {
        of_inlined_policy!(self, p => pick_and_tell(p, &view(), ready);
            else self.pick_with_view(view, ready))
    }

    /// Makes the view here, so that the caller does not read what only a view needs.
    #[inline(never)]
    fn pick_with_view<'a>(
        &mut self,
        view: impl Fn() -> WarpView<'a>,
        ready: WarpMask,
    ) -> Option<WarpSlot> {
        let picked = self.pick_by(view, ready);
        if let Some(slot) = picked {
            self.on_issue(slot);
        }
        picked
    }
}

/// Asks a policy for a warp and tells it that the warp issues.
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
        of_policy!(self, p => p.wants_cycles() || p.has_gate())
    }

    fn has_gate(&self) -> bool {
        of_policy!(self, p => p.has_gate())
    }

    fn screen(&mut self, view: &WarpView<'_>, ready: ReadyWarps) -> Screened {
        of_policy!(self, p => p.screen(view, ready))
    }

    fn holds_for(&self) -> u64 {
        of_policy!(self, p => p.holds_for())
    }

    fn admits(&mut self, view: &WarpView<'_>, next: &NextInst) -> bool {
        of_policy!(self, p => p.admits(view, next))
    }

    fn wants_stalled(&self) -> bool {
        of_policy!(self, p => p.wants_stalled())
    }

    fn wants_progress(&self) -> bool {
        of_policy!(self, p => p.wants_progress())
    }

    fn wants_ranges(&self) -> bool {
        of_policy!(self, p => p.wants_ranges())
    }

    fn wants_l1d(&self) -> bool {
        of_policy!(self, p => p.wants_l1d())
    }

    fn wants_memory_use(&self) -> bool {
        of_policy!(self, p => p.wants_memory_use())
    }

    #[inline]
    fn minds_memory_use(&self, used: &MemoryUse) -> bool {
        of_policy!(self, p => p.minds_memory_use(used))
    }

    fn on_memory_use(&mut self, used: &MemoryUse) {
        of_policy!(self, p => p.on_memory_use(used));
    }

    fn parks(&self) -> u32 {
        of_policy!(self, p => p.parks())
    }

    #[inline]
    fn may_miss(&self) -> WarpMask {
        of_policy!(self, p => p.may_miss())
    }

    fn decides_allocation(&self) -> bool {
        of_policy!(self, p => p.decides_allocation())
    }

    fn allocates(&self, warp: WarpSlot) -> bool {
        of_policy!(self, p => p.allocates(warp))
    }

    fn criticality(&self, warp: WarpSlot) -> u64 {
        of_policy!(self, p => p.criticality(warp))
    }

    fn is_critical(&self, own: u64, block: &mut dyn Iterator<Item = u64>) -> bool {
        of_policy!(self, p => p.is_critical(own, block))
    }

    fn on_l1d(&mut self, event: &L1dEvent) {
        of_policy!(self, p => p.on_l1d(event));
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

    fn on_progress(&mut self, slot: WarpSlot, progress: &Progress) {
        of_policy!(self, p => p.on_progress(slot, progress));
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
