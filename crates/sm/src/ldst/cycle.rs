//! A cycle of the load/store unit, replies from the network, and misses for it.

use super::allocation::{Filled, name_accessor, note_fill};
use super::blocked::Try;
use super::caches::{fill, send_miss, texture_cycle};
use super::{Path, mem_of};
use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_mem::{AccessKind, Request};
use warploom_policy::WarpScheduler;

impl Sm {
    /// Runs one cycle of the load/store unit.
    #[inline(never)]
    pub(crate) fn ldst_cycle(&mut self, now: Cycle) {
        self.write_back(now);
        if self.ldst.victims.is_some() {
            self.take_found(now);
        }
        self.take_response(now);
        self.send_misses(now);
        self.look_up_delayed(now);
        if !self.ldst.bulk.held.is_empty() {
            self.release_bulk_warps(now);
        }
        // Both send past the data cache, one packet a cycle.
        if self.ldst.bulk.is_busy() && !self.ldst.dispatch_bypasses_l1() {
            self.bulk_cycle(now);
        }
        let mut l1d_is_taken = false;
        if !self.ldst.parked.is_empty() {
            l1d_is_taken = self.try_parked(now);
        }
        match (self.ldst.dispatch, self.ldst.in_dispatch) {
            (Some(_), Some(id)) if l1d_is_taken && self.ldst.insts[id.0].path == Path::Data => {
                self.count_vain(id, Try::DataPort);
            }
            (Some(flight), _) => self.dispatch_memory(now, flight),
            (None, _) => {}
        }
    }

    /// Takes data that have been read from a kept line to where replies of reads past the caches
    /// wait for the registers.
    #[cold]
    fn take_found(&mut self, now: Cycle) {
        let ldst = &mut self.ldst;
        if let (None, Some(victims)) = (ldst.bypass, &mut ldst.victims) {
            ldst.bypass = victims.take_found(now);
        }
    }

    /// Takes one reply from the network to the part that it is for.
    pub(super) fn take_response(&mut self, now: Cycle) {
        let ldst = &mut self.ldst;
        let Some(reply) = ldst.responses.front() else {
            return;
        };
        let token = reply.token;
        let taken = match reply.kind {
            AccessKind::TextureRead => {
                ldst.l1t.fill(reply.addr, reply.bytes);
                true
            }
            AccessKind::ConstRead => fill(&mut ldst.l1c, now, reply),
            AccessKind::GlobalWrite | AccessKind::LocalWrite => {
                self.store_done(token);
                true
            }
            AccessKind::L1WriteBack => true,
            // No cache has requested it.
            _ if reply.entry == Request::NO_ENTRY => {
                let free = ldst.bypass.is_none();
                if free {
                    ldst.bypass = Some(mem_of(token));
                    ldst.insts[mem_of(token).0].note_atomic(now, reply);
                }
                free
            }
            _ => match &mut ldst.l1d {
                Some(l1d) => {
                    if ldst.names_accessors {
                        let first = *l1d.first_waiting(reply.entry);
                        name_accessor(l1d, &ldst.insts, &self.schedulers, &self.warps, &first);
                    }
                    let free = fill(l1d, now, reply);
                    if free && !ldst.plain_l1d {
                        let parts = Filled {
                            l1d,
                            insts: &ldst.insts,
                            watch: ldst.watch.as_deref_mut(),
                            victims: ldst.victims.as_deref_mut(),
                            sm: &mut self.counters,
                            detail: &mut self.detail,
                        };
                        note_fill(parts, now, reply);
                    }
                    ldst.parked.cache_has_changed();
                    free
                }
                None => unreachable!("a reply to a cache that does not exist: {reply:?}"),
            },
        };
        if taken {
            self.ldst.responses.drop_oldest();
            if !self.ldst.plain_l1d {
                self.tell_of_l1d();
            }
        }
    }

    /// Counts an acknowledgement of a warp's store. Returns the place of the warp.
    pub(super) fn store_done(&mut self, token: u32) -> usize {
        let place = self.place(token as u16);
        self.warps.track[place].stores -= 1;
        if place < self.warps.slots() {
            self.warps.touched.insert(place);
            // A warp that has ended may be drained now.
            self.at_rest &= !self.warps.done.has(place);
        }
        place
    }

    /// Sends a miss of each cache, as far as the network has room.
    pub(super) fn send_misses(&mut self, now: Cycle) {
        let Self { ldst, link, .. } = self;
        if !ldst.l1t.is_idle() {
            texture_cycle(&mut ldst.l1t, link, now);
        }
        send_miss(&mut ldst.l1c, link, now);
        if let Some(l1d) = &mut ldst.l1d
            && send_miss(l1d, link, now)
        {
            ldst.parked.cache_has_changed();
        }
    }

    /// Tells the schedulers' policies of the new events of the data cache.
    #[inline(never)]
    pub(super) fn tell_of_l1d(&mut self) {
        let watch = self.ldst.watch.as_mut();
        let Some(watch) = watch.filter(|watch| watch.has_events()) else {
            return;
        };
        for event in watch.take_events() {
            for scheduler in &mut self.schedulers {
                scheduler.before_event(&self.warps.table);
                scheduler.policy.on_l1d(&event);
            }
        }
        self.review_held();
    }
}
