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

    #[inline]
    pub(super) fn push(&mut self, bank: usize, collector: usize, operand: usize) {
        debug_assert!(operand < OPERANDS, "an instruction of {operand} sources");
        let read = (collector * OPERANDS + operand) as u16;
        self.next[usize::from(read)] = NONE;
        let (oldest, youngest) = &mut self.ends[bank];
        if *oldest == NONE {
            *oldest = read;
        } else {
            self.next[usize::from(*youngest)] = read;
        }
        *youngest = read;
    }

    /// Collector of the oldest read.
    #[inline]
    pub(super) fn front(&self, bank: usize) -> Option<u16> {
        let oldest = self.ends[bank].0;
        (oldest != NONE).then_some(oldest / OPERANDS as u16)
    }

    #[inline]
    pub(super) fn pop(&mut self, bank: usize) -> Option<u16> {
        let collector = self.front(bank)?;
        let oldest = &mut self.ends[bank].0;
        *oldest = self.next[usize::from(*oldest)];
        Some(collector)
    }
}
