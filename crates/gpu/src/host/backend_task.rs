//! The memory backend while it is lent to a worker.

use super::decoupled::PendingInput;
use super::exchange::TimedReply;
use super::untaken::UntakenCounts;
use crate::memory::backend::{Backend, Deferred};
use std::sync::Arc;
use warploom_base::Cycle;

/// The backend, to be run up to a cycle. SMs get no replies meanwhile, so it runs as far as they
/// surely have room: as counted when it was lent, then as SMs note in the window before.
pub(crate) struct BackendTask {
    pub backend: Box<Backend>,
    /// The next cycle of the backend.
    pub at: Cycle,
    pub end: Cycle,
    /// Counts in which SMs note the replies that they have not taken in the window that began in
    /// this cycle.
    pub counts: Option<(Arc<UntakenCounts>, Cycle)>,
    /// Input that was pending.
    pub input: PendingInput,
    /// Replies that came out of the network; empty until the task is finished.
    pub replies: Vec<TimedReply>,
}

impl BackendTask {
    /// Lets the task read in `counts` the replies that SMs have not taken in the window that began
    /// in cycle `began`, the one before the window that the backend runs.
    pub fn follow(&mut self, counts: Arc<UntakenCounts>, began: Cycle) {
        self.counts = Some((counts, began));
    }

    /// True if all cycles have been run.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.at == self.end
    }

    /// Runs a cycle of the backend, if replies surely have room. Returns whether it has.
    pub fn advance(&mut self) -> bool {
        self.backend.apply_pending(&mut self.input);
        if self.is_done() {
            return false;
        }
        let has_room = self.backend.knows_reply_room(self.at, &Deferred) || self.finds_room();
        if has_room {
            self.backend.run_cycle(self.at, &mut Deferred);
            self.at += 1;
        }
        has_room
    }

    /// True if replies have room after a look at the replies that SMs have taken since.
    #[cold]
    fn finds_room(&mut self) -> bool {
        let Some((counts, began)) = &self.counts else {
            return false;
        };
        self.backend.note_untaken(|sm| counts.of(sm, *began));
        self.backend.knows_reply_room(self.at, &Deferred)
    }

    /// Collects the replies that came out of the network, before the backend goes back.
    pub fn finish(&mut self) {
        let Self {
            backend,
            input,
            replies,
            ..
        } = self;
        backend.apply_pending(input);
        backend.collect_replies(replies);
        backend.end_exchange();
    }
}
