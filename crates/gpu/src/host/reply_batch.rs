//! Replies that a worker has collected for its own SMs while it ran the memory backend: mostly they
//! are in its caches, so that no other thread looks at them on their way.
//!
//! Invariant: they are in the order in which they came out of the network.

use super::exchange::TimedReply;
use std::ops::Range;
use warploom_base::Cycle;
use warploom_mem::Reply;

/// Replies for the SMs of one worker.
#[derive(Debug, Default)]
pub(crate) struct ReplyBatch {
    /// Numbers of these SMs.
    sms: Range<usize>,
    replies: Vec<TimedReply>,
    /// By place: how many there are, and the cycle from which the SM sees the first of them.
    counts: Vec<(u32, Cycle)>,
}

impl ReplyBatch {
    /// Begins an empty batch for these SMs.
    pub fn begin(&mut self, sms: Range<usize>) {
        self.replies.clear();
        self.counts.clear();
        self.counts.resize(sms.len(), (0, Cycle::MAX));
        self.sms = sms;
    }

    /// Announces a reply that is seen from cycle `at` on. Returns whether it is for one of the SMs.
    #[inline]
    pub fn expect(&mut self, sm: usize, at: Cycle) -> bool {
        let is_own = self.sms.contains(&sm);
        if is_own {
            let (count, first) = &mut self.counts[sm - self.sms.start];
            *count += 1;
            *first = at.min(*first);
        }
        is_own
    }

    /// Numbers of the SMs.
    pub fn sms(&self) -> Range<usize> {
        self.sms.clone()
    }

    /// SMs for which there are replies, by number, with how many, and the cycle of the first.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u32, Cycle)> {
        let all = self.sms.clone().zip(&self.counts);
        all.map(|(sm, (count, first))| (sm, *count, *first))
            .filter(|(_, count, _)| *count > 0)
    }

    /// The replies, with the numbers of their SMs.
    pub fn replies(&self) -> impl Iterator<Item = (usize, Cycle, &Reply)> {
        let all = self.replies.iter();
        all.map(|(at, reply)| (reply.sm.index(), *at, reply))
    }

    /// The replies themselves. Whoever adds some does so in the order of their announcements.
    pub fn contents(&mut self) -> &mut Vec<TimedReply> {
        &mut self.replies
    }

    /// Forgets all replies.
    pub fn clear(&mut self) {
        self.replies.clear();
        self.counts.fill((0, Cycle::MAX));
    }
}
