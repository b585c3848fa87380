//! Arbitration between the L2 banks of a channel: each bank has one credit of its own, the other
//! credits are shared, and the round-robin order starts after the bank that took a credit last.

use warploom_config::DramSpec;
use warploom_state::State;

/// The arbiter of a channel.
#[derive(Clone, Debug, State)]
pub(super) struct Arbiter {
    /// Banks that have taken their own credit, one bit each.
    own: u64,
    /// Shared credits that are taken.
    shared: u32,
    /// Number of shared credits; `u32::MAX` stands for no limit.
    most_shared: u32,
    /// Bank that took a credit last.
    last: usize,
    banks: usize,
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
            banks: banks as usize,
        }
    }

    /// Banks in round-robin order.
    #[inline]
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (banks, mut bank) = (self.banks, self.last);
        (0..banks).map(move |_| {
            bank = if bank + 1 < banks { bank + 1 } else { 0 };
            bank
        })
    }

    /// True if a credit is left for a bank.
    #[inline]
    pub(super) fn has_credit(&self, bank: usize) -> bool {
        (self.shared < self.most_shared) | (self.own >> bank & 1 == 0)
    }

    /// Takes a credit for a bank, its own first.
    #[inline]
    pub(super) fn borrow(&mut self, bank: usize) {
        self.shared += (self.own >> bank & 1) as u32;
        self.own |= 1 << bank;
        self.last = bank;
    }

    /// Returns a credit of a bank, its own first.
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
            assert!(arbiter.has_credit(0));
            arbiter.borrow(0);
        }
        assert!(!arbiter.has_credit(0) && arbiter.has_credit(1));
        assert_eq!(arbiter.order().collect::<Vec<_>>(), [1, 0]);
        arbiter.borrow(1);
        arbiter.give_back(0);
        assert!(arbiter.has_credit(0) && !arbiter.has_credit(1));
    }

    /// An L2 bank has one credit of its own, and 2 + 4 + 2 - 1 are shared.
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
        while arbiter.has_credit(0) {
            arbiter.borrow(0);
            credits += 1;
        }
        assert_eq!(credits, 1 + 7);
    }
}
