//! Blocks are offered to SMs, cluster by cluster and link by link of the chain.

use super::{Dispatcher, InFlight};
use crate::footprints::warp_ranges;
use crate::host::sms::SmArray;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_policy::{
    BlockQueueView, BlockScheduler, DeviceView, Multiprogram, NO_LIMIT, SmFilter, Turn,
};
use warploom_sm::Sm;

/// Result of offering a block to an SM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    Taken,
    /// The SM has no room for a block of any kernel that has one.
    Full,
    /// The SM takes no block in this cycle.
    Later,
}

impl Dispatcher {
    /// The first cycle from `now` on in which a block may be given to an SM that has room.
    pub fn next_offer(&self, now: Cycle) -> Cycle {
        if self.open.is_empty() {
            return Cycle::MAX;
        }
        let waiting = self.in_flight().filter(|k| k.has_waiting());
        let ready = waiting.map(|k| k.ready_at).min();
        ready.map_or(Cycle::MAX, |at| at.max(now))
    }

    /// Gives blocks to SMs for the cycles from `from` up to, not including, `to`.
    pub fn dispatch(&mut self, from: Cycle, to: Cycle, sms: &mut SmArray, view: &DeviceView) {
        if !self.in_flight().any(InFlight::has_waiting) {
            return;
        }
        self.let_filter_look(sms, view);
        if self.open.is_empty() || self.waits_alone(to) {
            return;
        }
        for now in from..to {
            if !self.dispatch_cycle(now, sms) {
                // Nothing changes before the step's end unless a kernel becomes ready.
                let wakes = |k: &InFlight| k.has_waiting() && (now + 1..to).contains(&k.ready_at);
                if !self.in_flight().any(wakes) {
                    return;
                }
            }
        }
    }

    /// True if one kernel is in flight and none of its blocks may start before cycle `to`.
    fn waits_alone(&self, to: Cycle) -> bool {
        self.slots.len() == 1 && self.in_flight().all(|kernel| kernel.ready_at >= to)
    }

    /// Lets the filter look at the machine, if it wants to, a block waits and an SM has room for
    /// it.
    fn let_filter_look(&mut self, sms: &mut SmArray, view: &DeviceView) {
        if view.now < self.sm_filter.next_check() {
            return;
        }
        let mut has_room = |index: usize| {
            let (id, sm) = (SmId::new(index), sms.get(index));
            let quota = |k: &InFlight| self.quota(id, k.image.slot);
            let alone = |k: &InFlight| self.is_alone(id, k.image.slot);
            let fits = |k: &InFlight| k.ready_at <= view.now && k.fits(id, sm, quota(k), alone(k));
            let in_turn = self.in_flight().scan(true, |goes_on, k| {
                std::mem::replace(goes_on, !self.holds_up(k, view.now)).then_some(k)
            });
            !self.is_capped(id) && in_turn.into_iter().any(fits)
        };
        if (0..self.sms()).any(|sm| self.open.contains(sm) && has_room(sm)) {
            self.sm_filter.check(view);
        }
    }

    /// True if an SM holds as many blocks, of all kernels, as it may.
    fn is_capped(&self, id: SmId) -> bool {
        let most = self.cap.unwrap_or(NO_LIMIT).min(self.limit(id));
        most != NO_LIMIT && self.blocks_on(id) >= most
    }

    /// Number of blocks of all kernels on an SM.
    pub(super) fn blocks_on(&self, id: SmId) -> u32 {
        let of_kernel = |kernel: &InFlight| kernel.running[id.index()].len() as u32;
        self.in_flight().map(of_kernel).sum()
    }

    /// Offers one block to each cluster, in one cycle. Returns whether any took one.
    fn dispatch_cycle(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let mut any = self.has_clusters && self.dispatch_clusters(now, sms);
        let (mut cluster, n) = (self.last_cluster, self.last_in.len());
        for i in 0..n {
            cluster = if cluster + 1 == n { 0 } else { cluster + 1 };
            if self.is_open(cluster) && self.offer_cluster(now, cluster, i, sms) {
                self.last_cluster = cluster;
                any = true;
                if !self.in_flight().any(InFlight::has_waiting) {
                    break;
                }
            }
        }
        any
    }

    /// True if an SM of a cluster may have room for a block.
    #[inline]
    fn is_open(&self, cluster: usize) -> bool {
        let first = cluster * self.cluster_sms;
        let sm = self.open.at_or_after(first);
        sm.is_some_and(|sm| sm < first + self.cluster_sms)
    }

    /// Offers a block to the SMs of a cluster in turn; `turn` counts the clusters asked before.
    /// Returns whether one took it.
    fn offer_cluster(
        &mut self,
        now: Cycle,
        cluster: usize,
        turn: usize,
        sms: &mut SmArray,
    ) -> bool {
        let size = self.cluster_sms;
        let base = self.last_in[cluster];
        for i in 0..size {
            let nth = (base + 1 + i) % size;
            let sm = cluster * size + nth;
            let turn = Turn {
                sm: SmId::new(sm),
                place: (turn * size + i) as u32,
            };
            if !self.open.contains(sm) {
                continue;
            }
            let offer = self.offer(now, &turn, sms.get(sm));
            match offer {
                Offer::Taken => {
                    sms.wake(sm, now);
                    self.last_in[cluster] = nth;
                    self.close_if_full(turn.sm, sms.get(sm));
                    return true;
                }
                Offer::Full => self.open.remove(sm),
                Offer::Later => {}
            }
        }
        false
    }

    /// Offers a block to an SM in its turn. An SM that the filter bars gets only blocks that it is
    /// owed.
    fn offer(&mut self, now: Cycle, turn: &Turn, sm: &mut Sm) -> Offer {
        if self.sm_filter.allows(turn) {
            return self.give_block(now, turn.sm, sm);
        }
        let owed = self.block_policy.owed(turn.sm);
        match owed.filter(|_| !self.is_capped(turn.sm)) {
            Some(kernel) => match self.give_block_of(kernel.index(), now, turn.sm, sm) {
                Offer::Full => Offer::Later,
                offer => offer,
            },
            None => Offer::Later,
        }
    }

    /// Most blocks of a kernel on an SM at present.
    #[inline]
    pub(super) fn quota(&self, id: SmId, kernel: KernelSlot) -> u32 {
        let policy = &self.multiprogram;
        let bars = |held: &InFlight| {
            let other = held.image.slot;
            other != kernel && !policy.may_join(kernel, other) && held.has_blocks_on(id)
        };
        match self.in_flight().any(bars) {
            true => 0,
            false => policy.quota(id, kernel).min(self.limit_of(id, kernel)),
        }
    }

    /// True if no other kernel has blocks on an SM or may start some there, so that the SM may
    /// switch a kernel's contexts. Always true on a machine that switches none.
    pub fn is_alone(&self, id: SmId, kernel: KernelSlot) -> bool {
        let policy = &self.multiprogram;
        let Some(own) = self.kernels[kernel.index()].as_ref() else {
            return true;
        };
        if !self.switches || self.slots.len() == 1 {
            return true;
        }
        let mut earlier = true;
        let may_come = |other: &InFlight| {
            let slot = other.image.slot;
            if slot == kernel {
                earlier = false;
                return false;
            }
            let waits_for_own = !earlier && !policy.overtakes() && own.has_waiting();
            let may_start = other.has_waiting()
                && policy.quota(id, slot) > 0
                && policy.may_join(slot, kernel)
                && !waits_for_own;
            other.has_blocks_on(id) || may_start
        };
        let has_room_for_more = policy.quota(id, kernel) > own.blocks_per_sm;
        has_room_for_more && !self.in_flight().any(may_come)
    }

    /// True if kernels that are asked after this one wait until its last block has started.
    #[inline]
    pub(super) fn holds_up(&self, kernel: &InFlight, now: Cycle) -> bool {
        !self.multiprogram.overtakes() && kernel.has_waiting() && kernel.ready_at <= now
    }

    /// Starts a block on an SM, if one fits: one of the first kernel that has one, in the order of
    /// the multiprogramming policy.
    fn give_block(&mut self, now: Cycle, id: SmId, sm: &mut Sm) -> Offer {
        if self.is_capped(id) {
            return Offer::Full;
        }
        let mut offer = Offer::Full;
        let (first, kernels) = (self.multiprogram.first(id), self.slots.len());
        for i in 0..kernels {
            let turn = (first + i) % kernels;
            let slot = self.slots[turn];
            match self.give_block_of(slot, now, id, sm) {
                Offer::Taken => {
                    self.multiprogram.placed(id, turn);
                    self.let_others_go_on(slot);
                    return Offer::Taken;
                }
                Offer::Later => offer = Offer::Later,
                Offer::Full => {}
            }
            let kernel = self.kernels[slot].as_ref();
            if kernel.is_some_and(|kernel| self.holds_up(kernel, now)) {
                break;
            }
        }
        offer
    }

    /// Notes that a block was taken. After the last one of its kernel, SMs may have room for later
    /// kernels.
    pub(super) fn let_others_go_on(&mut self, slot: usize) {
        let kernel = self.kernels[slot].as_ref();
        if !self.multiprogram.overtakes() && kernel.is_some_and(|k| !k.has_waiting()) {
            self.open_all();
        }
    }

    /// Offers a block of one kernel to an SM.
    fn give_block_of(&mut self, slot: usize, now: Cycle, id: SmId, sm: &mut Sm) -> Offer {
        let quota = self.quota(id, KernelSlot::new(slot));
        let limit = self.limit(id);
        let alone = self.is_alone(id, KernelSlot::new(slot));
        let Some(k) = &mut self.kernels[slot] else {
            return Offer::Full;
        };
        if k.cluster > 1 {
            // Its blocks are given out with those of their cluster.
            return Offer::Later;
        }
        if !k.fits(id, sm, quota, alone) {
            self.fragmented +=
                u64::from(k.may_take(id, quota) && sm.is_fragmented(k.image.slot, &k.needs));
            return Offer::Full;
        }
        if k.ready_at > now {
            return Offer::Later;
        }
        k.fill_window(self.block_policy.look_ahead());
        if k.window.is_empty() {
            // A gap comes before the next block.
            return Offer::Later;
        }
        let here = k.running[id.index()].len() as u32;
        let most = k.most.min(quota).min(limit);
        let view = BlockQueueView {
            kernel: KernelSlot::new(slot),
            blocks_per_sm: most,
            room: sm.room(k.image.slot, &k.needs, most - here, alone),
            waiting: k.window.make_contiguous(),
            running: &k.running,
            waiting_touches: k.window_touches.make_contiguous(),
            running_touches: &k.running_touches,
        };
        let Some(at) = self.block_policy.pick(id, &view) else {
            return Offer::Later;
        };
        self.start(slot, at, now, id, alone, sm);
        Offer::Taken
    }

    /// Starts a block of a kernel, given by its place in the kernel's window, on an SM with room
    /// for it.
    pub(super) fn start(
        &mut self,
        slot: usize,
        at: usize,
        now: Cycle,
        id: SmId,
        alone: bool,
        sm: &mut Sm,
    ) {
        let Some(k) = &mut self.kernels[slot] else {
            return;
        };
        let (rank, footprint) = k.take(now, at, id);
        k.started_at = k.started_at.or(Some(now));
        let first_warp = sm.assign(now, KernelSlot::new(slot), rank, &k.needs, alone);
        k.switched |= sm.switches_contexts();
        if self.ranges {
            let ranges = warp_ranges(k.touches.as_mut(), rank, footprint, k.needs.threads / 32);
            sm.set_ranges(first_warp, &ranges);
        }
        self.note_company(slot, id);
    }

    /// Counts the block that a kernel has just started on an SM, if the SM holds one of another
    /// process.
    fn note_company(&mut self, slot: usize, id: SmId) {
        let process = self.kernels[slot].as_ref().map(|k| k.image.asid);
        let others = |k: &InFlight| Some(k.image.asid) != process && k.has_blocks_on(id);
        let joins = self.in_flight().any(others);
        if let Some(kernel) = &mut self.kernels[slot] {
            kernel.joined_blocks += u64::from(joins);
        }
    }
}
