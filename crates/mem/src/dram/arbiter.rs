//! Which L2 bank may send to DRAM: each has one credit of its own, the rest are shared, and turns
//! start after the last borrower.

use warploom_config::DramSpec;

/// Credits of a bank's own.
const OWN: u32 = 1;

/// The arbiter of a channel.
#[derive(Clone, Debug)]
pub(super) struct Arbiter {
    own: Box<[u32]>,
    shared: u32,
    /// Shared credits; `None` is no limit.
    most_shared: Option<u32>,
    last: usize,
}

impl Arbiter {
    pub(super) fn new(banks: u32, spec: &DramSpec) -> Self {
        let both_limited = spec.queue > 0 && spec.return_queue > 0;
        let queued = spec.queue + spec.write_queue.size;
        Self {
            own: vec![0; banks as usize].into(),
            shared: 0,
            most_shared: both_limited
                .then(|| (queued + spec.return_queue).saturating_sub(banks - 1)),
            last: banks as usize - 1,
        }
    }

    /// Banks in turn.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (banks, mut bank) = (self.own.len(), self.last);
        (0..banks).map(move |_| {
            bank = if bank + 1 < banks { bank + 1 } else { 0 };
            bank
        })
    }

    pub(super) fn has_credit(&self, bank: usize) -> bool {
        self.own[bank] < OWN || self.most_shared.is_none_or(|most| self.shared < most)
    }

    /// Takes a credit: the bank's own first.
    pub(super) fn borrow(&mut self, bank: usize) {
        if self.own[bank] < OWN {
            self.own[bank] += 1;
        } else {
            self.shared += 1;
        }
        self.last = bank;
    }

    /// Gives a credit back: the bank's own first.
    pub(super) fn give_back(&mut self, bank: usize) {
        if self.own[bank] > 0 {
            self.own[bank] -= 1;
        } else {
            self.shared -= 1;
        }
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
        while arbiter.has_credit(0) {
            arbiter.borrow(0);
            credits += 1;
        }
        assert_eq!(credits, 1 + 7);
    }
}
