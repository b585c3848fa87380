//! Which L2 bank may send to DRAM: each has one credit of its own, the rest are shared, and turns
//! start after the last borrower.

use warploom_config::DramSpec;

/// The arbiter of a channel.
#[derive(Clone, Debug)]
pub(super) struct Arbiter {
    /// Banks that have taken their own credit, a bit each.
    own: u64,
    shared: u32,
    /// Shared credits; `u32::MAX` is no limit.
    most_shared: u32,
    last: usize,
}

impl Arbiter {
    pub(super) fn new(banks: u32, spec: &DramSpec) -> Self {
        assert!(banks <= u64::BITS, "more banks than bits of a mask");
        let both_limited = spec.queue > 0 && spec.return_queue > 0;
        let queued = spec.queue + spec.write_queue.size;
        Self {
            own: 0,
            shared: 0,
            most_shared: match both_limited {
                true => (queued + spec.return_queue).saturating_sub(banks - 1),
                false => u32::MAX,
            },
            last: banks as usize - 1,
        }
    }

    /// The first in turn of some banks, a bit each, of which there must be one.
    #[inline]
    pub(super) fn first_of(&self, banks: u64) -> usize {
        let later = banks & (u64::MAX - 1) << self.last;
        let first = if later != 0 { later } else { banks };
        first.trailing_zeros() as usize
    }

    /// Banks for which there is a credit, a bit each.
    #[inline]
    pub(super) fn with_credit(&self) -> u64 {
        if self.shared < self.most_shared {
            u64::MAX
        } else {
            !self.own
        }
    }

    /// Takes a credit: the bank's own first.
    #[inline]
    pub(super) fn borrow(&mut self, bank: usize) {
        self.shared += (self.own >> bank & 1) as u32;
        self.own |= 1 << bank;
        self.last = bank;
    }

    /// Gives a credit back: the bank's own first.
    #[inline]
    pub(super) fn give_back(&mut self, bank: usize) {
        let has_own = self.own >> bank & 1;
        self.own ^= has_own << bank;
        self.shared -= 1 - has_own as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::Arbiter;
    use crate::testing::fermi_spec;
    use warploom_config::DramSpec;

    fn has_credit(arbiter: &Arbiter, bank: usize) -> bool {
        arbiter.with_credit() >> bank & 1 == 1
    }

    #[test]
    fn one_bank_cannot_take_the_others_credit() {
        let spec = DramSpec {
            queue: 2,
            return_queue: 2,
            ..fermi_spec().dram
        };
        let mut arbiter = Arbiter::new(2, &spec);
        // One of its own, and 2 + 2 - 1 shared.
        for _ in 0..4 {
            assert!(has_credit(&arbiter, 0));
            arbiter.borrow(0);
        }
        assert!(!has_credit(&arbiter, 0) && has_credit(&arbiter, 1));
        assert_eq!((arbiter.first_of(0b11), arbiter.first_of(0b01)), (1, 0));
        arbiter.borrow(1);
        arbiter.give_back(0);
        assert!(has_credit(&arbiter, 0) && !has_credit(&arbiter, 1));
    }

    /// One of its own, and 2 + 4 + 2 - 1 shared.
    #[test]
    fn a_queue_of_writes_is_lent_out_too() {
        let mut spec = DramSpec {
            queue: 2,
            return_queue: 2,
            ..fermi_spec().dram
        };
        spec.write_queue.size = 4;
        let mut arbiter = Arbiter::new(2, &spec);
        let mut credits = 0;
        while has_credit(&arbiter, 0) {
            arbiter.borrow(0);
            credits += 1;
        }
        assert_eq!(credits, 1 + 7);
    }
}
