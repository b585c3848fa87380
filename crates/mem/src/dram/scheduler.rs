//! Requests that wait for their bank, one list a bank, in an arena.

use super::Pending;
use warploom_config::DramScheduler;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    pending: Pending,
    next: u32,
}

/// A bank's requests, oldest first.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// Requests that wait.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    kind: DramScheduler,
    /// Most requests; `usize::MAX` is no limit.
    most: usize,
    len: usize,
    nodes: Vec<Node>,
    free: u32,
    /// One list a bank; first come, first served keeps all in the first.
    lists: Box<[List]>,
    /// Banks with requests.
    waiting: u64,
}

/// FCFS looks at the head of a queue of two.
const FCFS_QUEUE: usize = 2;

impl Scheduler {
    pub(super) fn new(kind: DramScheduler, queue: u32, banks: u32) -> Self {
        let most = match (kind, queue) {
            (DramScheduler::Fcfs, _) => FCFS_QUEUE,
            (DramScheduler::FrFcfs, 0) => usize::MAX,
            (DramScheduler::FrFcfs, n) => n as usize,
        };
        let list = List {
            head: NONE,
            tail: NONE,
        };
        Self {
            kind,
            most,
            len: 0,
            nodes: Vec::with_capacity(most.min(1024)),
            free: NONE,
            lists: vec![list; banks as usize].into(),
            waiting: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.most
    }

    /// Adds a request behind those of its bank.
    pub(super) fn push(&mut self, pending: Pending) {
        debug_assert!(!self.is_full(), "push on a full scheduler");
        let node = Node {
            pending,
            next: NONE,
        };
        let index = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        let bank = self.list_of(pending.bank);
        let list = &mut self.lists[bank];
        match list.tail {
            NONE => list.head = index,
            tail => self.nodes[tail as usize].next = index,
        }
        list.tail = index;
        self.waiting |= 1 << bank;
        self.len += 1;
    }

    #[inline]
    fn list_of(&self, bank: u32) -> usize {
        match self.kind {
            DramScheduler::Fcfs => 0,
            DramScheduler::FrFcfs => bank as usize,
        }
    }

    /// The request to serve next: the first of the banks without work (`idle`, one bit each), in
    /// order from `first`; of that bank's requests the oldest to its open row (`rows`), else the
    /// oldest. First come, first served: the oldest of all, once its bank has no work.
    pub(super) fn take(&mut self, idle: u64, first: u32, rows: &[u32]) -> Option<Pending> {
        match self.kind {
            DramScheduler::Fcfs => {
                let head = self.lists[0].head;
                if head == NONE || idle >> self.nodes[head as usize].pending.bank & 1 == 0 {
                    return None;
                }
                Some(self.unlink(0, NONE, head))
            }
            DramScheduler::FrFcfs => {
                let ready = idle & self.waiting;
                if ready == 0 {
                    return None;
                }
                let above = ready & (u64::MAX << first);
                let from = if above == 0 { ready } else { above };
                let bank = from.trailing_zeros() as usize;
                let (before, node) = self.oldest(bank, rows[bank]);
                Some(self.unlink(bank, before, node))
            }
        }
    }

    /// Oldest request to `row`, else the oldest, with the one before it.
    #[inline]
    fn oldest(&self, bank: usize, row: u32) -> (u32, u32) {
        let head = self.lists[bank].head;
        let (mut before, mut at) = (NONE, head);
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.pending.row == row {
                return (before, at);
            }
            (before, at) = (at, node.next);
        }
        (NONE, head)
    }

    fn unlink(&mut self, bank: usize, before: u32, at: u32) -> Pending {
        let Node { pending, next } = self.nodes[at as usize];
        let list = &mut self.lists[bank];
        match before {
            NONE => list.head = next,
            before => self.nodes[before as usize].next = next,
        }
        if next == NONE {
            list.tail = before;
        }
        if list.head == NONE {
            self.waiting &= !(1 << bank);
        }
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.len -= 1;
        pending
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sided;
    use super::{Pending, Scheduler};
    use crate::testing::read;
    use warploom_config::DramScheduler;

    fn pending(bank: u32, row: u32, tag: u64) -> Pending {
        Pending {
            sided: Sided {
                request: read(tag, 32),
                side: 0,
            },
            bank,
            row,
            arrived_at: 0,
            bytes_left: 32,
        }
    }

    #[test]
    fn open_row_first_then_oldest() {
        let mut scheduler = Scheduler::new(DramScheduler::FrFcfs, 8, 4);
        for (row, tag) in [(1, 10), (2, 20), (1, 11), (2, 21)] {
            scheduler.push(pending(3, row, tag));
        }
        let mut take = |row| {
            let rows = [0, 0, 0, row];
            scheduler
                .take(0b1000, 0, &rows)
                .map(|p| p.sided.request.addr)
        };
        assert_eq!(take(2), Some(20));
        assert_eq!(take(2), Some(21));
        assert_eq!(take(2), Some(10), "no request to row 2 is left");
        assert_eq!(take(1), Some(11));
        assert_eq!(take(1), None);
    }

    #[test]
    fn banks_take_turns() {
        let mut scheduler = Scheduler::new(DramScheduler::FrFcfs, 8, 4);
        for bank in [0, 2] {
            scheduler.push(pending(bank, 0, 0));
        }
        let mut take = |idle, first| scheduler.take(idle, first, &[0; 4]).map(|p| p.bank);
        assert_eq!(take(0b1010, 0), None, "banks 0 and 2 have work");
        assert_eq!(take(0b1111, 1), Some(2));
        assert_eq!(take(0b1111, 3), Some(0));
    }

    #[test]
    fn first_come_first_served_waits_for_its_bank() {
        let mut scheduler = Scheduler::new(DramScheduler::Fcfs, 64, 4);
        scheduler.push(pending(1, 0, 0));
        scheduler.push(pending(0, 0, 1));
        assert!(scheduler.is_full());
        assert!(scheduler.take(0b1101, 0, &[0; 4]).is_none());
        assert_eq!(scheduler.take(0b0010, 0, &[0; 4]).map(|p| p.bank), Some(1));
    }
}
