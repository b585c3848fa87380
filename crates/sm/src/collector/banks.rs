//! Reads of registers that wait for their banks.

/// Most banks: a mask has a bit for each.
const BANKS: usize = u64::BITS as usize;
/// Most registers that an instruction reads.
const OPERANDS: usize = 32;
/// End of a list.
const NONE: u16 = u16::MAX;

/// Reads that wait for their bank, oldest first: a list a bank through one small table, which
/// costs less of the host's cache than a queue a bank.
#[derive(Clone, Debug)]
pub(super) struct BankQueues {
    banks: usize,
    /// By bank: its oldest and its youngest read. As many as there can be, at hand: an index modulo
    /// their number costs no check.
    ends: [(u16, u16); BANKS],
    /// By read (collector and operand): the next one that waits for the same bank.
    next: Box<[u16]>,
}

impl BankQueues {
    pub(super) fn new(banks: usize, collectors: usize) -> Self {
        assert!(
            collectors * OPERANDS < usize::from(NONE),
            "too many collectors"
        );
        assert!(banks <= BANKS, "a register file has at most {BANKS} banks");
        Self {
            banks,
            ends: [(NONE, NONE); BANKS],
            next: vec![NONE; collectors * OPERANDS].into(),
        }
    }

    pub(super) fn banks(&self) -> usize {
        self.banks
    }

    /// Adds a read.
    #[inline]
    pub(super) fn push(&mut self, bank: usize, collector: usize, operand: usize) {
        debug_assert!(operand < OPERANDS, "an instruction of {operand} sources");
        let read = (collector * OPERANDS + operand) as u16;
        let (oldest, youngest) = self.ends[bank % BANKS];
        let is_first = oldest == NONE;
        // Where there is no read to follow, the new one's own link is written twice: no branch.
        let before = if is_first { read } else { youngest };
        self.next[usize::from(before)] = read;
        self.next[usize::from(read)] = NONE;
        self.ends[bank % BANKS] = (if is_first { read } else { oldest }, read);
    }

    /// Collector of the oldest read. Requires that one waits.
    #[inline]
    pub(super) fn front(&self, bank: usize) -> u16 {
        let oldest = self.ends[bank % BANKS].0;
        debug_assert!(oldest != NONE, "nothing waits for bank {bank}");
        oldest / OPERANDS as u16
    }

    /// Takes the oldest read. Requires that one waits.
    #[inline]
    pub(super) fn pop(&mut self, bank: usize) -> Popped {
        let collector = self.front(bank);
        let oldest = &mut self.ends[bank % BANKS].0;
        *oldest = self.next[usize::from(*oldest)];
        Popped {
            collector,
            was_last: *oldest == NONE,
        }
    }
}

/// A read that a bank serves.
pub(super) struct Popped {
    pub collector: u16,
    /// No other waits for the bank.
    pub was_last: bool,
}
