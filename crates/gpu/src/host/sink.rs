//! Replies that go to SMs at once, where no other thread runs any.

use super::sms::SmArray;
use crate::conservation::Ledger;
use crate::memory::backend::ReplySink;
use warploom_base::Cycle;
use warploom_mem::Reply;

/// The SMs of the only thread as a sink.
pub(super) struct DirectSink<'a> {
    pub sms: &'a mut SmArray,
    pub ledger: &'a mut Ledger,
}

impl ReplySink for DirectSink<'_> {
    #[inline]
    fn receive(&mut self, sm: usize, at: Cycle, reply: &Reply) -> bool {
        self.ledger.answered(sm, reply);
        self.sms.reply(sm, at, reply);
        true
    }

    #[inline]
    fn untaken(&self, sm: usize) -> Option<u32> {
        Some(self.sms.outcome(sm).untaken)
    }

    #[inline]
    fn has_come(&self, sm: usize, now: Cycle) -> bool {
        self.sms.outcome(sm).at >= now
    }
}
