//! A window: some cycles that the parts of the machine run one after the other, so that the state
//! of a part is loaded into the host's caches once for all of these cycles.
//! `docs/develop/host-execution.md` explains it.
//!
//! The memory backend runs first, then SMs in rounds, then the request network. An SM runs as far
//! as it can without what others have not computed ([`Reason`](warploom_sm::Reason)); the next
//! round goes on with it. With several threads each runs its own SMs, and a worker runs the backend
//! for the next window while no round calls it.
//!
//! Invariants: results are those of steps; a window ends at the next multiple of its length at the
//! latest; the machine as a whole is not examined within a window, and no kernel ends in it; no
//! other code accesses the backend while a worker runs it, or before pending input has been
//! applied.

use super::exchange::Turn;
use super::sink::DirectSink;
use crate::machine::{Gpu, Stop};
use crate::memory::backend::Deferred;
use crate::probe::Part;
use warploom_base::{Cycle, each_member};
use warploom_exec::DeviceMemory;
use warploom_policy::DeviceView;
use warploom_sm::SmEvents;

impl Gpu {
    /// Runs a window, up to cycle `end` or as far as replies have room. Meanwhile a worker may run
    /// the backend for the next window, up to `lend_until` at the latest.
    pub(super) fn run_window(
        &mut self,
        (end, lend_until): (Cycle, Cycle),
        device: &mut DeviceMemory,
    ) -> Result<(), Stop> {
        let from = self.now;
        self.window.begin(from, &mut self.sms);
        self.probe.enter(Part::Memory);
        self.run_backend(end, device);
        if !self.lend_backend(lend_until) {
            self.memory.apply_pending();
        }
        // SMs and the request network have to run as far.
        let to = self.window.backend;
        if self.dispatcher.offered().is_none() {
            self.window.pass_sleepers((from, to), &mut self.sms);
        }
        if self.memory.all_are_backed_up() {
            self.run_requests(to);
        }
        while self.window.next.min(self.window.requests) < to {
            if self.window.next < to {
                self.probe.enter(Part::Sms);
                self.give_blocks(self.window.next);
                self.run_sms(to, device);
                if self.window.can_settle(&self.sms) {
                    self.window.stalls += 1;
                    self.settle_window(from, device);
                }
                self.probe.enter(Part::Memory);
            }
            self.run_requests(to);
        }
        self.now = to;
        let is_single_threaded = self.sms.is_single_threaded();
        self.window.end((from, to), is_single_threaded);
        self.note_block_slots(to);
        self.settle_window(from, device);
        if self.window.is_lent {
            self.take_backend();
        }
        self.sms.end_window(to - from);
        self.hand_over_replies();
        if !self.is_backend_ahead() {
            self.memory.apply_pending();
        }
        let result = self.end_step(self.window.events.any(SmEvents::FAULT));
        self.probe.enter(Part::Outside);
        result
    }

    /// Runs the backend up to cycle `end`, or as far as it is known which replies have room. A
    /// single thread lets SMs that take replies slowly run before all others.
    fn run_backend(&mut self, end: Cycle, device: &DeviceMemory) {
        let first = self.window.backend.max(self.now);
        self.window.backend = first;
        self.window.view = self.device_view();
        loop {
            self.run_backend_alone(end);
            if self.window.backend >= end || !self.run_awaited(device) {
                break;
            }
        }
        let Self { memory, window, .. } = self;
        memory.begin_requests();
        window.atomics.extend(memory.atomics().drain(..));
        if first < end {
            self.hand_over_replies();
        }
        self.window.view = self.device_view();
    }

    /// Runs the backend up to cycle `end`, or as far as it can before SMs run.
    fn run_backend_alone(&mut self, end: Cycle) {
        let Self {
            sms,
            memory,
            ledger,
            window,
            now,
            ..
        } = self;
        let span = (window.backend, end);
        window.backend = if sms.is_single_threaded() {
            memory.run_backend(span, *now, &mut DirectSink { sms, ledger })
        } else {
            memory.run_backend(span, *now, &mut Deferred)
        };
    }

    /// Runs the SMs for which the backend waits up to its cycle, where there is one thread. Returns
    /// whether all have come there.
    fn run_awaited(&mut self, device: &DeviceMemory) -> bool {
        if !self.sms.is_single_threaded() {
            return false;
        }
        let (from, to) = (self.now, self.window.backend);
        self.give_blocks(from);
        let mut awaited = std::mem::take(&mut self.window.awaited);
        let Self {
            sms,
            memory,
            ledger,
            ..
        } = self;
        let sink = DirectSink { sms, ledger };
        memory.each_awaited(to, &sink, |sm| awaited.push(sm));
        let mut turns = std::mem::take(&mut self.window.turns);
        let offered = self.dispatcher.offered();
        for &sm in &awaited {
            let outcome = self.sms.outcome_mut(sm);
            turns.extend(self.window.turn_ahead(sm, outcome, offered, to));
        }
        self.run_turns(&turns, device);
        turns.clear();
        self.window.turns = turns;
        let all = awaited.iter().all(|sm| self.sms.outcome(*sm).at >= to);
        awaited.clear();
        self.window.awaited = awaited;
        all
    }

    /// Gives SMs the replies that wait for the exchange, where there are several threads.
    pub(super) fn hand_over_replies(&mut self) {
        if self.sms.is_single_threaded() {
            return;
        }
        let Self {
            sms,
            memory,
            ledger,
            ..
        } = self;
        memory.take_replies(|sm, at, reply| {
            ledger.answered(sm, reply);
            sms.reply(sm, at, reply);
        });
        if let Some(untaken) = sms.untaken() {
            memory.end_exchange(untaken);
        }
    }

    /// Lends the backend to a worker, from where it is, if it may run on. Returns whether it does.
    fn lend_backend(&mut self, limit: Cycle) -> bool {
        let Some(end) = self.lent_end(self.window.backend, limit) else {
            return false;
        };
        let task = self.memory.lend_backend(self.window.backend, end);
        self.window.is_lent = task.is_some();
        if let Some(task) = task {
            self.window.backend_end = end;
            self.sms.lend_backend(task, self.now);
        }
        self.window.is_lent
    }

    /// Waits for the lent backend.
    fn take_backend(&mut self) {
        let task = self.sms.take_backend();
        self.window.backend = self.memory.take_backend(task);
        self.window.is_lent = false;
        let atomics = self.memory.atomics().drain(..);
        self.window.atomics.extend(atomics);
    }

    /// Gives out blocks in cycle `now`, to which all SMs have come. An SM that takes a block may
    /// have to wait for others before it runs the cycle, but takes no second one in it.
    pub(super) fn give_blocks(&mut self, now: Cycle) {
        self.note_block_slots(now);
        let is_first = self.window.offers_from <= now;
        self.window.offers_from = now + 1;
        if is_first && self.dispatcher.offered().is_some() {
            let view = DeviceView {
                now,
                ..self.window.view
            };
            self.dispatcher.dispatch(now, now + 1, &mut self.sms, &view);
        }
    }

    /// Tells the dispatcher of the blocks that have ended before cycle `now`.
    fn note_block_slots(&mut self, now: Cycle) {
        each_member!(self.window.with_block_slot, sm => {
            let at = self.sms.outcome(sm).at;
            if self.window.take_block_slot(sm, at, now) {
                self.note_blocks_of(sm);
            }
        });
    }

    /// Runs a round: the SMs that wait for nothing, as far as they can run.
    fn run_sms(&mut self, to: Cycle, device: &DeviceMemory) {
        let Self {
            sms,
            window,
            dispatcher,
            ..
        } = self;
        let offered = dispatcher.offered();
        let mut turns = std::mem::take(&mut window.turns);
        each_member!(window.running, sm => {
            turns.extend(window.turn(sm, sms.outcome_mut(sm), offered, to));
        });
        self.run_turns(&turns, device);
        turns.clear();
        self.window.turns = turns;
        self.window.end_round(to, &self.sms);
    }

    /// Runs SMs in the window that has begun.
    fn run_turns(&mut self, turns: &[Turn], device: &DeviceMemory) {
        let Self {
            sms,
            memory,
            window,
            ledger,
            now,
            ..
        } = self;
        sms.run_round(
            window.settled_up_to(*now),
            turns,
            device,
            |sm, run| window.note_run(sm, run),
            |sm, sent| {
                ledger.sent(sm, &sent.request);
                memory.take(sm, sent);
            },
        );
    }

    /// Runs the request network as far as it can up to cycle `to`.
    fn run_requests(&mut self, to: Cycle) {
        let Self {
            sms,
            memory,
            window,
            ..
        } = self;
        while window.requests < to && window.knows_requests(sms, memory) {
            let now = window.requests;
            window.requests += 1;
            memory.run_requests(now);
            memory.take_credits(|sm, flits| sms.credit_from(sm, now + 1, flits));
        }
    }
}

#[cfg(test)]
mod tests;
