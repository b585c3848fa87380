//! The memory system in windows: the backend runs some cycles, then the request network does.
//!
//! The backend acts on a request after a fixed delay since the request left the network, so that it
//! may run ahead of the network by this delay. Of the backend, the network has to know only which
//! inputs of L2 were full, which a trace records cycle by cycle. Cycles in which nothing happens in
//! the backend are only counted (`memory/quiet.rs`).
//!
//! Invariants: between two windows both parts have run the same cycles, unless a worker has the
//! backend; no texture request that skips the delay is in flight. Atomics that the backend has
//! answered do not act in it: the scheduler lets them act in the cycle in which they were answered.

use super::backend_task::BackendTask;
use super::backend_trace::Ticks;
use crate::memory::MemorySystem;
use crate::memory::backend::ReplySink;
use warploom_base::Cycle;
use warploom_config::GpuSpec;
use warploom_mem::Reply;

/// Facts about requests on their way.
impl MemorySystem {
    /// True if packets that an SM may have sent and that are not known make no difference to the
    /// network's next cycle, because not all known packets can enter.
    pub fn is_backed_up(&self, sm: usize) -> bool {
        let flits = self.inbound[sm].flits;
        let Ticks { noc, .. } = self.decoupled.trace.ticks[self.decoupled.ticks_done];
        let cluster = self.cluster_of[sm] as usize;
        self.requests.stays_full(cluster, flits, noc)
    }

    /// True if that holds for every SM.
    pub fn all_are_backed_up(&self) -> bool {
        (0..self.inbound.len()).all(|sm| self.is_backed_up(sm))
    }
}

/// The backend and the request network, one after the other.
impl MemorySystem {
    /// The most cycles that the backend may run ahead of the request network.
    pub fn max_lead(&self) -> Cycle {
        let delays = self.backend().partitions.iter().map(|p| p.delay());
        match self.perfect {
            true => 0,
            false => delays.min().unwrap_or(0),
        }
    }

    /// True if requests for textures skip the delay: then the backend may not run ahead of any.
    pub fn textures_skip_delay(&self, spec: &GpuSpec) -> bool {
        let mut banks = self.backend().partitions.iter();
        banks.any(|bank| bank.textures_skip_delay(spec.l1t.line_bytes))
    }

    /// Runs the backend from cycle `from` to `end`, or as far as it is known which replies have
    /// room: all SMs have come to cycle `known`, and take replies from then on that are not known.
    /// Returns how far. The request network has to run as far.
    pub fn run_backend(
        &mut self,
        (from, end): (Cycle, Cycle),
        known: Cycle,
        sink: &mut impl ReplySink,
    ) -> Cycle {
        if from < end {
            self.apply_pending();
        }
        let backend = self.backend_mut();
        let mut now = from;
        while now < end {
            let quiet = backend.quiet_until(now).min(end);
            if quiet > now {
                backend.skip_with_trace(quiet - now);
                now = quiet;
                continue;
            }
            if now > known && !backend.knows_reply_room(now, sink) {
                return now;
            }
            backend.run_cycle(now, sink);
            now += 1;
        }
        end
    }

    /// Calls `f` on the SMs that have to come to cycle `now` before the backend can run it.
    pub fn each_awaited(&self, now: Cycle, sink: &impl ReplySink, f: impl FnMut(usize)) {
        self.backend().each_awaited(now, sink, f);
    }

    /// The request network begins with the cycles that the backend has run.
    pub fn begin_requests(&mut self) {
        let Self {
            decoupled, backend, ..
        } = self;
        debug_assert_eq!(decoupled.trace.ticks.len(), decoupled.ticks_done);
        (decoupled.ticks_done, decoupled.full_done) = (0, 0);
        decoupled.trace.clear();
        if let Some(backend) = backend {
            std::mem::swap(&mut backend.trace, &mut decoupled.trace);
        }
    }

    /// Runs the next cycle of the request network.
    pub fn run_requests(&mut self, now: Cycle) {
        let Ticks { noc, l2 } = self.decoupled.trace.ticks[self.decoupled.ticks_done];
        self.decoupled.ticks_done += 1;
        for _ in 0..l2 {
            let mut any = false;
            let is_crowded = self.crowding.begin(self.requests.packets_inside());
            for index in 0..self.partition_words() {
                let full = self.decoupled.trace.full[self.decoupled.full_done];
                self.decoupled.full_done += 1;
                any |= self.take_requests(now, index, full);
            }
            self.count_arrivals(any, is_crowded);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
        }
    }
}

/// The backend while a worker runs it.
impl MemorySystem {
    /// Lends the backend, to be run from cycle `from` to `end`.
    pub fn lend_backend(&mut self, from: Cycle, end: Cycle) -> Option<BackendTask> {
        let Self {
            backend, decoupled, ..
        } = self;
        decoupled.is_pending = false;
        let backend = backend.take()?;
        let mut input = std::mem::take(&mut decoupled.input_room);
        input.append(&mut decoupled.input);
        Some(BackendTask {
            backend,
            at: from,
            end,
            counts: None,
            input,
            replies: std::mem::take(&mut decoupled.replies_room),
        })
    }

    /// Takes the backend back. Returns how far it has run. Input that has come since is pending
    /// until it is lent again, or for [`apply_pending`](Self::apply_pending).
    pub fn take_backend(&mut self, task: BackendTask) -> Cycle {
        let Self {
            backend, decoupled, ..
        } = self;
        *backend = Some(task.backend);
        debug_assert!(decoupled.replies.is_empty(), "nobody has taken the last");
        decoupled.replies_room = std::mem::replace(&mut decoupled.replies, task.replies);
        decoupled.input_room = task.input;
        decoupled.is_pending = true;
        task.at
    }

    /// Applies pending input to the backend. Required before anybody but a task looks at it.
    pub fn apply_pending(&mut self) {
        let Self {
            backend, decoupled, ..
        } = self;
        if decoupled.is_pending
            && let Some(backend) = backend
        {
            backend.apply_pending(&mut decoupled.input);
            decoupled.is_pending = false;
        }
    }

    /// Calls `f` on the replies that wait for the exchange, with the number of their SM and
    /// the cycle from which it sees them: of each SM the oldest first.
    #[inline]
    pub fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Reply)) {
        for (at, reply) in self.decoupled.replies.drain(..) {
            f(reply.sm.index(), at, &reply);
        }
        if let Some(backend) = &mut self.backend {
            backend.take_replies(f);
        }
    }

    /// Ends an exchange, in which every SM got its replies. `untaken`: by SM, number of those
    /// that it has not taken.
    #[inline]
    pub fn end_exchange(&mut self, untaken: impl Iterator<Item = u32>) {
        let Self {
            backend, decoupled, ..
        } = self;
        match backend {
            Some(_) if decoupled.is_pending => {
                decoupled.input.untaken.clear();
                decoupled.input.untaken.extend(untaken);
            }
            Some(backend) => backend.end_exchange_of_all(untaken),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
