//! Scheduling by groups of blocks (OWL: Jog et al., ASPLOS 2013): one group's warps go first for a
//! while, so that fewer blocks use L1D at once, and groups wait for memory at different times.
//!
//! The blocks of an SM form groups of a few, in the order in which they started. A warp of the
//! front group issues if one can; otherwise the next group that has a ready warp goes on, and so
//! on. When data of the front group come, its warps are first again. So a group uses L1D without
//! many others between. After an interval the next group becomes the front group. Within a group
//! the order is loose round robin.
//!
//! These are the paper's first two schemes: two-level scheduling by blocks, and priority of one
//! group for the sake of L1D. With `owl.returns=false` only the first is there: a group goes on
//! until all its warps wait for memory, whatever data come for groups before it.
//!
//! With `owl.spread=true` neighbouring SMs put different groups in front (the third scheme). Blocks
//! that follow each other often use the same rows of DRAM, and SMs get them in turn. SMs that all
//! prefer the groups that came first therefore use few banks of DRAM at once.
//!
//! The fourth scheme, prefetches into L2, is not implemented. The page
//! `docs/policies-compared.md` lists what was chosen.

use super::{
    GroupCounters, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, next_after, only,
    warps_of,
};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::{GpuSpec, OwlSettings};
use warploom_state::State;

/// Scheduler of `owl`: one group of blocks first.
#[derive(Clone, Debug, State)]
pub struct Owl {
    #[state(fixed)]
    settings: OwlSettings,
    /// Groups of warps, that of the oldest blocks first, with the number of each one's first block.
    groups: Vec<(u64, WarpMask)>,
    /// Warps of the groups; `None` if a warp has started since.
    grouped: Option<WarpMask>,
    /// Number of the block whose group, or the next one after it, has its turn.
    front: u64,
    /// Number of groups from there to the front group.
    ahead: usize,
    /// Cycles that the front group has been in front.
    passed: u64,
    last: WarpSlot,
    counters: GroupCounters,
}

impl PolicyFacts for Owl {
    const FACTS: Facts = Facts {
        about: "Warps of one group of blocks first, for a while, then those of the next; round \
                robin within a group.",
        source: "OWL (its first three schemes): Jog et al., ASPLOS 2013",
        state: "schedulers x (log2(warps of one): the last warp + log2(block slots): the front \
                + log2(interval): its time)",
        bits,
        // 24 warps of a scheduler, 8 blocks, 8192 cycles.
        bits_on_gtx480: 2 * (5 + 3 + 13),
        part: Part::Sm,
        complexity: "groups; warps when one starts or exits",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: OwlSettings = spec.sm.warp_scheduler.settings();
    let front = bits_for(spec.sm.max_blocks.into());
    let time = bits_for(settings.interval_cycles.into());
    schedulers(spec) * (bits_for(warps_a_scheduler(spec)) + front + time)
}

impl Owl {
    /// A scheduler without groups.
    pub fn new(settings: OwlSettings) -> Self {
        Self {
            settings,
            groups: Vec::with_capacity(WarpMask::BITS as usize),
            grouped: None,
            front: 0,
            ahead: 0,
            passed: 0,
            last: WarpSlot(WarpMask::BITS as u16 - 1),
            counters: GroupCounters::default(),
        }
    }

    /// Forms the groups of the warps of a mask.
    fn form_groups(&mut self, view: &WarpView<'_>, warps: WarpMask) {
        self.groups.clear();
        let mut left = warps;
        while left != 0 {
            let (mut members, mut first) = (0, None);
            for _ in 0..self.settings.group_blocks {
                let serial = |slot: WarpSlot| view.block_serial[slot.index()];
                let Some(oldest) = warps_of(left).map(serial).min() else {
                    break;
                };
                first = first.or(Some(oldest));
                let block = warps_of(left).filter(|slot| serial(*slot) == oldest);
                members |= block.fold(0, |mask, slot| mask | only(slot));
                left &= !members;
            }
            self.groups.extend(first.map(|first| (first, members)));
        }
        self.grouped = Some(warps);
    }

    /// Place of the group whose turn it is: the first one that begins at the front block or after
    /// it, or else the first of all.
    fn turn(&self) -> usize {
        let front = |(first, _): &(u64, WarpMask)| *first >= self.front;
        self.groups.iter().position(front).unwrap_or(0)
    }

    /// Place of the front group.
    fn front(&self) -> usize {
        (self.turn() + self.ahead) % self.groups.len().max(1)
    }

    /// Gives the next group its turn.
    fn advance(&mut self) {
        let next = (self.turn() + 1) % self.groups.len().max(1);
        let Some((first, _)) = self.groups.get(next) else {
            return;
        };
        self.counters.group_changes += u64::from(*first != self.front && self.groups.len() > 1);
        self.front = *first;
        self.passed = 0;
    }
}

impl WarpScheduler for Owl {
    /// The ready warp of the first group that has one, from the front group on.
    #[inline]
    fn pick(&mut self, _view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let (before, from) = self.groups.split_at(self.front());
        let groups = from.iter().chain(before);
        let first = groups.map(|(_, group)| group & ready).find(|m| *m != 0);
        next_after(first?, self.last)
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        let warps = view.own & view.live;
        if self.grouped != Some(warps) {
            self.form_groups(view, warps);
        }
        if self.settings.spread {
            self.ahead = usize::from(view.sm);
        }
        let blocked = view.waiting | view.long_wait;
        if self.settings.returns || warps & !blocked == 0 {
            return;
        }
        // Some group has a warp that does not wait, so that this ends.
        while self.groups[self.front()].1 & !blocked == 0 {
            self.advance();
        }
    }

    fn end_cycles(
        &mut self,
        _view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        if !self.settings.returns || self.groups.is_empty() {
            return;
        }
        let interval = u64::from(self.settings.interval_cycles);
        self.passed += cycles;
        while self.passed >= interval {
            let over = self.passed - interval;
            self.advance();
            self.passed = over;
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }

    fn on_start(&mut self, _slot: WarpSlot) {
        self.grouped = None;
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            groups: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
