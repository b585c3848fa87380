//! Reads of registers that wait for their banks.

/// Most registers that an instruction reads.
const OPERANDS: usize = 32;
/// End of a list.
const NONE: u16 = u16::MAX;

/// Reads that wait for their bank, oldest first: a list a bank through one small table, which
/// costs less of the host's cache than a queue a bank.
#[derive(Clone, Debug)]
pub(super) struct BankQueues {
    /// By bank: its oldest and its youngest read.
    ends: Box<[(u16, u16)]>,
    /// By read (collector and operand): the next one that waits for the same bank.
    next: Box<[u16]>,
}

impl BankQueues {
    pub(super) fn new(banks: usize, collectors: usize) -> Self {
        assert!(
            collectors * OPERANDS < usize::from(NONE),
            "too many collectors"
        );
        Self {
            ends: vec![(NONE, NONE); banks].into(),
            next: vec![NONE; collectors * OPERANDS].into(),
        }
    }

    pub(super) fn banks(&self) -> usize {
        self.ends.len()
    }

    /// Adds a read; returns whether it is the bank's only one.
    #[inline]
    pub(super) fn push(&mut self, bank: usize, collector: usize, operand: usize) -> bool {
        debug_assert!(operand < OPERANDS, "an instruction of {operand} sources");
        let read = (collector * OPERANDS + operand) as u16;
        let (oldest, youngest) = self.ends[bank];
        let is_first = oldest == NONE;
        // Where there is no read to follow, the new one's own link is written twice: no branch.
        let before = if is_first { read } else { youngest };
        self.next[usize::from(before)] = read;
        self.next[usize::from(read)] = NONE;
        self.ends[bank] = (if is_first { read } else { oldest }, read);
        is_first
    }

    /// Collector of the oldest read. Requires that one waits.
    #[inline]
    pub(super) fn front(&self, bank: usize) -> u16 {
        let oldest = self.ends[bank].0;
        debug_assert!(oldest != NONE, "nothing waits for bank {bank}");
        oldest / OPERANDS as u16
    }

    /// Takes the oldest read. Requires that one waits.
    #[inline]
    pub(super) fn pop(&mut self, bank: usize) -> Popped {
        let collector = self.front(bank);
        let oldest = &mut self.ends[bank].0;
        *oldest = self.next[usize::from(*oldest)];
        Popped {
            collector,
            next: (*oldest != NONE).then_some(*oldest / OPERANDS as u16),
        }
    }
}

/// A read that a bank serves.
pub(super) struct Popped {
    pub collector: u16,
    /// Collector of the read behind it.
    pub next: Option<u16>,
}
