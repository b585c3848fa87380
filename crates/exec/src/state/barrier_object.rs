//! Contents of a barrier object in shared memory (PTX ISA, "mbarrier").
//!
//! PTX leaves the 8 bytes open. Here they hold the arrivals that the current phase still waits for,
//! the arrivals that each phase expects, the number of completed phases modulo 8, and the
//! transactions that the current phase still waits for. The same bits are the state that an arrival
//! returns. A program may compare it with the current phase and the one before only, so that three
//! bits of the number suffice.

use warploom_ir::MbarrierOp;

/// Number of bits of an arrival count (PTX ISA: at most 2^20 - 1).
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// Number of bits of the number of completed phases.
const PHASE_BITS: u32 = 3;
const PHASES: u64 = (1 << PHASE_BITS) - 1;
/// First bit of the signed number of transactions (PTX ISA: from -(2^20 - 1) to 2^20 - 1).
const TRANSACTIONS_AT: u32 = 2 * COUNT_BITS + PHASE_BITS;

/// Decoded barrier object, or the state that an arrival returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BarrierObject {
    pending: u64,
    expected: u64,
    phase: u64,
    transactions: i64,
}

impl BarrierObject {
    /// Applies an operation with its operand. Returns true if the tested phase has completed.
    pub(crate) fn change(&mut self, op: MbarrierOp, operand: u64) -> bool {
        match op {
            MbarrierOp::Init => *self = BarrierObject::expecting(operand),
            MbarrierOp::Arrive => self.arrive(operand),
            MbarrierOp::ArriveDrop => {
                self.expect_fewer(operand);
                self.arrive(operand);
            }
            MbarrierOp::ExpectTx => self.expect_transactions(operand),
            MbarrierOp::CompleteTx => self.complete_transactions(operand),
            MbarrierOp::ArriveExpectTx => {
                self.expect_transactions(operand);
                self.arrive(1);
            }
            MbarrierOp::ArriveDropExpectTx => {
                self.expect_transactions(operand);
                self.expect_fewer(1);
                self.arrive(1);
            }
            MbarrierOp::Test => return self.has_left(BarrierObject::new(operand)),
            MbarrierOp::TestParity => return self.has_left_parity(operand),
            MbarrierOp::Nothing | MbarrierOp::PendingCount => {}
        }
        false
    }

    /// Decodes the contents of a barrier object.
    pub fn new(bits: u64) -> Self {
        Self {
            pending: bits & COUNT,
            expected: bits >> COUNT_BITS & COUNT,
            phase: bits >> (2 * COUNT_BITS) & PHASES,
            transactions: bits as i64 >> TRANSACTIONS_AT,
        }
    }

    /// A barrier in its first phase, each of whose phases expects a number of arrivals.
    pub fn expecting(arrivals: u64) -> Self {
        Self {
            pending: arrivals,
            expected: arrivals,
            phase: 0,
            transactions: 0,
        }
    }

    /// Contents of the 8 bytes.
    pub fn bits(self) -> u64 {
        let transactions = (self.transactions as u64) << TRANSACTIONS_AT;
        let phase = (self.phase & PHASES) << (2 * COUNT_BITS);
        transactions | phase | (self.expected & COUNT) << COUNT_BITS | self.pending & COUNT
    }

    /// Number of arrivals that the phase still waits for.
    pub fn pending(self) -> u64 {
        self.pending
    }

    /// Records arrivals at the barrier.
    pub fn arrive(&mut self, count: u64) {
        self.pending = self.pending.wrapping_sub(count) & COUNT;
        self.complete();
    }

    /// Reduces the number of arrivals that later phases expect.
    pub fn expect_fewer(&mut self, count: u64) {
        self.expected = self.expected.wrapping_sub(count) & COUNT;
    }

    /// Adds transactions, usually bytes, that the phase waits for.
    pub fn expect_transactions(&mut self, count: u64) {
        self.transactions = self.transactions.wrapping_add(count as i64);
    }

    /// Records transactions that have completed.
    pub fn complete_transactions(&mut self, count: u64) {
        self.transactions = self.transactions.wrapping_sub(count as i64);
        self.complete();
    }

    /// Completes the phase if nothing is left to wait for, and begins the next one.
    fn complete(&mut self) {
        if self.pending == 0 && self.transactions == 0 {
            self.pending = self.expected & COUNT;
            self.phase = self.phase.wrapping_add(1) & PHASES;
        }
    }

    /// True if the phase of a state has completed.
    pub fn has_left(self, state: Self) -> bool {
        state.phase != self.phase
    }

    /// True if the last phase of a parity has completed.
    pub fn has_left_parity(self, parity: u64) -> bool {
        self.phase & 1 != parity & 1
    }
}

#[cfg(test)]
mod tests {
    use super::BarrierObject;

    /// Applies an operation to the bits, as they lie in memory.
    fn change(bits: &mut u64, f: impl FnOnce(&mut BarrierObject)) {
        let mut object = BarrierObject::new(*bits);
        f(&mut object);
        *bits = object.bits();
    }

    #[test]
    fn a_phase_waits_for_arrivals_and_transactions() {
        let mut bits = BarrierObject::expecting(2).bits();
        let state = BarrierObject::new(bits);
        let left = |bits: u64| BarrierObject::new(bits).has_left(state);
        change(&mut bits, |object| {
            object.expect_transactions((1 << 20) - 1)
        });
        change(&mut bits, |object| object.arrive(2));
        assert!(!left(bits), "transactions are missing");
        change(&mut bits, |object| {
            object.complete_transactions((1 << 20) - 2)
        });
        assert!(!left(bits), "one is missing");
        change(&mut bits, |object| object.complete_transactions(1));
        assert!(left(bits) && BarrierObject::new(bits).has_left_parity(0));
        assert_eq!(BarrierObject::new(bits).pending(), 2);
    }

    #[test]
    fn transactions_may_complete_before_they_are_expected() {
        let mut bits = BarrierObject::expecting(1).bits();
        change(&mut bits, |object| object.complete_transactions(64));
        change(&mut bits, |object| object.expect_transactions(64));
        let parity = |bits: u64| BarrierObject::new(bits).has_left_parity(0);
        assert!(!parity(bits), "nobody has arrived");
        change(&mut bits, |object| object.arrive(1));
        assert!(parity(bits));
    }

    #[test]
    fn the_number_of_phases_comes_round() {
        let mut bits = BarrierObject::expecting(1).bits();
        for phase in 0..20 {
            let state = BarrierObject::new(bits);
            assert!(!BarrierObject::new(bits).has_left_parity(phase));
            change(&mut bits, |object| object.arrive(1));
            assert!(BarrierObject::new(bits).has_left(state));
            assert!(BarrierObject::new(bits).has_left_parity(phase));
        }
    }
}
