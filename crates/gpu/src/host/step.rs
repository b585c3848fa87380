//! A step: the reference that windows are compared with. SMs and the memory system run
//! `gpu.link_cycles` core cycles; then packets and credits cross the links, stores become visible
//! and atomics act.

use super::sink::DirectSink;
use super::window::{MOST, next_multiple};
use crate::machine::{Gpu, Stop};
use crate::memory::backend::Deferred;
use crate::probe::Part;
use warploom_base::{Cycle, SmId, each_member};
use warploom_exec::DeviceMemory;
use warploom_sm::SmEvents;

/// Most core cycles that one step may skip, so that a caller can report progress.
const MOST_SKIPPED: Cycle = 10_000;

/// The cycle in which the machine stops for a fault in cycle `now`, the same in steps and windows.
/// The fault's window ends at the next multiple at the latest, and a lent backend may have run the
/// window after it. One cycle less would do; the formula stays, so that runs with faults end in the
/// same cycle as before.
const fn stop_after(now: Cycle) -> Cycle {
    next_multiple(now, MOST) + MOST + 1
}

impl Gpu {
    /// Advances by one step, at most to cycle `limit`.
    pub fn step(&mut self, device: &mut DeviceMemory, limit: Cycle) -> Result<(), Stop> {
        let from = self.now;
        let to = self.step_end().min(limit);
        let view = self.device_view();
        self.deliver_peer_messages();
        self.probe.enter(Part::Dispatch);
        if self.dispatcher.is_update_due(from) {
            let Self {
                dispatcher,
                spec,
                sms,
                ..
            } = self;
            dispatcher.update(from, spec, sms);
        }
        self.dispatcher.dispatch(from, to, &mut self.sms, &view);
        let Self {
            memory,
            probe,
            ledger,
            sms,
            ..
        } = self;
        probe.enter(Part::Sms);
        sms.run((from, to), device, |sms| {
            probe.enter(Part::Memory);
            match sms {
                Some(sms) => memory.run(from, to, &mut DirectSink { sms, ledger }),
                None => memory.run(from, to, &mut Deferred),
            }
            probe.enter(Part::Sms);
        });
        self.now = to;
        self.probe.enter(Part::Exchange);
        self.exchange();
        let missed = self.dispatcher.has_clusters && self.exchange_peers(device);
        let events = self.sms.events();
        self.probe.enter(Part::Commit);
        self.commit(events.any(SmEvents::STORED), device);
        let result = self.end_step(events.any(SmEvents::FAULT) | missed);
        self.probe.enter(Part::Outside);
        result
    }

    /// The end of the step that starts now. Steps in which nothing can happen are taken together.
    fn step_end(&mut self) -> Cycle {
        let length = Cycle::from(self.spec.gpu.link_cycles.max(1));
        let next = self
            .sms
            .next_wake()
            .min(self.dispatcher.next_offer(self.now));
        if next < self.now + 2 * length {
            return self.now + length;
        }
        let next = next.min(self.memory.quiet_until(self.now));
        if next < self.now + 2 * length {
            return self.now + length;
        }
        let idle = next.saturating_sub(self.now).min(MOST_SKIPPED) / length;
        // A recorder's window ends with the step that reaches its end.
        let due = self.observers.next_sample();
        let due = due.min(self.stops_at.unwrap_or(Cycle::MAX));
        // A check of the multiprogramming policy ends it, too.
        let due = due.min(self.dispatcher.next_check());
        let due = due.min(self.next_load_check());
        let due = due.min(self.peers.next_arrival());
        // While there are requests, everything else that examines the machine does so, too.
        let due = match self.memory.is_idle() {
            true => due,
            false => due.min(self.next_look().min(self.dispatcher.next_policy_check())),
        };
        let until_due = due.saturating_sub(self.now).div_ceil(length);
        self.now + length * idle.min(until_due).max(1)
    }

    /// Does the work between steps that follows the commit of stores.
    pub(super) fn end_step(&mut self, fault: bool) -> Result<(), Stop> {
        if fault && self.stops_at.is_none() {
            self.stops_at = Some(stop_after(self.now - 1));
        }
        if self.stops_at.is_some_and(|at| at <= self.now) {
            return Err(self.first_fault());
        }
        self.end_kernels();
        self.show_to_observers();
        self.watch_load();
        self.check_progress()
    }

    /// Exchanges packets and credits over the links, and notes ended blocks, in the order of SMs.
    fn exchange(&mut self) {
        self.sms.end_step();
        let all = self.sms.events();
        if all.any(SmEvents::FINISHED.with(SmEvents::GAINED_ROOM)) {
            self.note_blocks();
        }
        let now = self.now;
        let Self {
            sms,
            memory,
            ledger,
            ..
        } = self;
        if all.any(SmEvents::SENT) {
            sms.for_each_request(|index, sent| {
                ledger.sent(index, &sent.request);
                memory.take(index, sent);
            });
        }
        memory.take_credits(|index, flits| sms.credit(index, now, flits));
        self.hand_over_replies();
    }

    /// Notes blocks that ended, and room for other blocks.
    fn note_blocks(&mut self) {
        each_member!(self.sms.ran(), index => { self.note_blocks_of(index); });
    }

    /// Notes the blocks that ended on one SM in the step that it ran last.
    pub(super) fn note_blocks_of(&mut self, index: usize) {
        let Self {
            sms, dispatcher, ..
        } = self;
        let events = sms.outcome(index).events;
        if events.any(SmEvents::FINISHED) {
            let sm = sms.get(index);
            let mut finished = std::mem::take(&mut sm.finished);
            for block in finished.drain(..) {
                dispatcher.block_finished(SmId::new(index), sm, &block);
            }
            sm.finished = finished;
        }
        if events.any(SmEvents::GAINED_ROOM) {
            sms.get(index).gained_room = false;
            dispatcher.reopen(Some(index));
        }
    }
}
