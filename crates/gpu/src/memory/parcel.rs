//! Replies that come for SMs of the worker that has the back of the memory system: mostly they are
//! in its caches, so that nobody else looks at them on their way.
//!
//! Invariant: they are in the order in which they came out of the network.

use std::ops::Range;
use warploom_base::Cycle;
use warploom_mem::Reply;

/// A reply, with the cycle from which its SM sees it. It crosses between two cores as it is.
pub(crate) type Seen = (Cycle, Reply);

/// Replies for the SMs of one worker.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    /// These SMs, by number.
    sms: Range<usize>,
    replies: Vec<Seen>,
    /// By place: how many there are, and the cycle from which the SM sees the first of them.
    brings: Vec<(u32, Cycle)>,
}

impl Parcel {
    /// Empty, for these SMs.
    pub fn address(&mut self, sms: Range<usize>) {
        self.replies.clear();
        self.brings.clear();
        self.brings.resize(sms.len(), (0, Cycle::MAX));
        self.sms = sms;
    }

    /// There will be a reply that is seen from cycle `at` on, if it is for one of these SMs.
    /// Returns whether it is.
    #[inline]
    pub fn expect(&mut self, sm: usize, at: Cycle) -> bool {
        let is_for_them = self.sms.contains(&sm);
        if is_for_them {
            let (count, first) = &mut self.brings[sm - self.sms.start];
            *count += 1;
            *first = at.min(*first);
        }
        is_for_them
    }

    /// The SMs.
    pub fn sms(&self) -> Range<usize> {
        self.sms.clone()
    }

    /// SMs for which there are any, by number, with how many, and the cycle of the first.
    pub fn brings(&self) -> impl Iterator<Item = (usize, u32, Cycle)> {
        let all = self.sms.clone().zip(&self.brings);
        all.map(|(sm, (count, first))| (sm, *count, *first))
            .filter(|(_, count, _)| *count > 0)
    }

    /// The replies, with the numbers of their SMs.
    pub fn replies(&self) -> impl Iterator<Item = (usize, Cycle, &Reply)> {
        let all = self.replies.iter();
        all.map(|(at, reply)| (reply.sm.index(), *at, reply))
    }

    /// They themselves, to be put in in the order in which they were announced, or taken out.
    pub fn contents(&mut self) -> &mut Vec<Seen> {
        &mut self.replies
    }

    /// All are where they should be.
    pub fn empty(&mut self) {
        self.replies.clear();
        self.brings.fill((0, Cycle::MAX));
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use warploom_base::SmId;
    use warploom_mem::{AccessKind, Reply, Request};

    /// A reply of a sector, to an SM by number.
    pub fn reply_to(sm: usize) -> Reply {
        let mut request = Request::new(AccessKind::GlobalRead, 0, 32);
        request.sm = SmId::new(sm);
        Reply::from(&request)
    }
}
