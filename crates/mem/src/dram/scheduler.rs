//! Schedulers of a channel: requests that wait for their bank, in one linked list a bank.

use super::in_flight::Pending;
use core::hint::cold_path;
use warploom_config::{DramScheduler, DramSpec};
use warploom_state::{State, Value};

/// Number that stands for no node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Value)]
struct Node {
    pending: Pending,
    next: u32,
}

/// A bank's requests, oldest first.
#[derive(Clone, Copy, Debug, Value)]
struct List {
    head: u32,
    tail: u32,
}

/// Choice between reads and writes where writes wait in a queue of their own.
#[derive(Clone, Copy, Debug, Value)]
struct Drain {
    high: usize,
    low: usize,
    /// True while writes are served: from `high` waiting writes on until fewer than `low` wait.
    writing: bool,
}

/// Scheduler of a channel: one queue for all requests, or a queue for reads and one for writes.
#[derive(Clone, Debug, State)]
pub(super) struct Scheduler {
    reads: Queue,
    #[state(each)]
    writes: Option<(Queue, Drain)>,
}

impl Scheduler {
    pub(super) fn new(spec: &DramSpec) -> Self {
        let apart = spec.scheduler == DramScheduler::FrFcfs && spec.write_queue.size > 0;
        let queue = |size| Queue::new(spec.scheduler, size, spec.banks, apart);
        let drain = Drain {
            high: spec.write_queue.high as usize,
            low: spec.write_queue.low as usize,
            writing: false,
        };
        Self {
            reads: queue(spec.queue),
            writes: apart.then(|| (queue(spec.write_queue.size), drain)),
        }
    }

    /// Number of waiting requests.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.reads.len + self.writes.as_ref().map_or(0, |(writes, _)| writes.len)
    }

    /// True if there is no room for a write, or for a read. Where reads have no limit, writes have
    /// none either (`dram_t::full`).
    #[inline]
    pub(super) fn is_full(&self, is_write: bool) -> bool {
        match &self.writes {
            Some((writes, _)) if is_write => self.reads.most != usize::MAX && writes.is_full(),
            _ => self.reads.is_full(),
        }
    }

    /// Adds a request after the others of its bank.
    #[inline]
    pub(super) fn push(&mut self, pending: Pending) {
        match &mut self.writes {
            Some((writes, _)) if pending.ticket.kind.is_write() => writes.push(pending),
            _ => self.reads.push(pending),
        }
    }

    /// True if `take` may have a request for the banks of `idle`, or change between reads and
    /// writes.
    #[inline]
    pub(super) fn may_give(&self, idle: u64) -> bool {
        match self.writes {
            Some(_) => idle != 0 && self.len() > 0,
            None => self.reads.may_give(idle),
        }
    }

    /// Takes the request to serve next, as [`Queue::take`] says, from the reads or from the writes,
    /// whichever are served now. The watermarks are looked at whenever a bank has no work
    /// (`schedule`).
    #[inline]
    pub(super) fn take(&mut self, idle: u64, first: u32, rows: &[u32]) -> Option<Pending> {
        let Some((writes, drain)) = &mut self.writes else {
            return self.reads.take(idle, first, rows);
        };
        if idle == 0 {
            return None;
        }
        if !drain.writing && writes.len >= drain.high {
            drain.writing = true;
        } else if drain.writing && writes.len < drain.low {
            drain.writing = false;
        }
        match drain.writing {
            true => writes.take(idle, first, rows),
            false => self.reads.take(idle, first, rows),
        }
    }
}

/// Queue of waiting requests.
#[derive(Clone, Debug, State)]
struct Queue {
    #[state(fixed)]
    kind: DramScheduler,
    /// Largest number of requests; `usize::MAX` stands for no limit.
    most: usize,
    len: usize,
    nodes: Vec<Node>,
    free: u32,
    /// Lists by bank; under first come, first served the first list holds all requests.
    lists: Box<[List]>,
    /// Lists with requests, one bit each.
    waiting: u64,
    /// Row chosen last of each bank while requests to it are left; empty where reads and writes
    /// share one queue. The open row may be one that the other queue chose.
    chosen: Box<[Option<u32>]>,
}

/// Requests of the queue under first come, first served.
const FCFS_QUEUE: usize = 2;

impl Queue {
    fn new(kind: DramScheduler, queue: u32, banks: u32, apart: bool) -> Self {
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
            chosen: vec![None; if apart { banks as usize } else { 0 }].into(),
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len >= self.most
    }

    #[inline]
    fn push(&mut self, pending: Pending) {
        let node = Node {
            pending,
            next: NONE,
        };
        let index = if self.free == NONE {
            self.add_node(&node)
        } else {
            let index = self.free;
            let free = &mut self.nodes[index as usize];
            self.free = free.next;
            *free = node;
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

    #[cold]
    #[inline(never)]
    fn add_node(&mut self, node: &Node) -> u32 {
        self.nodes.push(*node);
        self.nodes.len() as u32 - 1
    }

    #[inline]
    fn list_of(&self, bank: u32) -> usize {
        match self.kind {
            DramScheduler::Fcfs => 0,
            DramScheduler::FrFcfs => bank as usize,
        }
    }

    /// Takes the request to serve next. FR-FCFS: the bank is the first without work (`idle`, one
    /// bit each) in order from `first`; the request is the bank's oldest one to its open row
    /// (`rows`), else its oldest. FCFS: the oldest request of all, once its bank has no work.
    #[inline]
    fn take(&mut self, idle: u64, first: u32, rows: &[u32]) -> Option<Pending> {
        if !self.may_give(idle) {
            return None;
        }
        self.take_next(idle, first, rows)
    }

    /// True if `take` may have a request for the banks of `idle`.
    #[inline]
    fn may_give(&self, idle: u64) -> bool {
        match self.kind {
            DramScheduler::Fcfs => self.waiting != 0,
            DramScheduler::FrFcfs => self.waiting & idle != 0,
        }
    }

    fn take_next(&mut self, idle: u64, first: u32, rows: &[u32]) -> Option<Pending> {
        match self.kind {
            DramScheduler::Fcfs => {
                cold_path();
                let head = self.lists[0].head;
                let bank = self.nodes[head as usize].pending.bank;
                (idle >> bank & 1 == 1).then(|| self.unlink(0, NONE, head))
            }
            DramScheduler::FrFcfs => {
                let ready = idle & self.waiting;
                let above = ready & (u64::MAX << first);
                let from = if above == 0 { ready } else { above };
                let bank = from.trailing_zeros() as usize;
                let chosen = self.chosen.get(bank).copied().flatten();
                let (before, node) = self.oldest(bank, chosen.unwrap_or(rows[bank]));
                let pending = self.unlink(bank, before, node);
                if !self.chosen.is_empty() {
                    self.choose(bank, pending.row);
                }
                Some(pending)
            }
        }
    }

    /// Remembers the chosen row of a bank while requests to it are left.
    fn choose(&mut self, bank: usize, row: u32) {
        let (_, next) = self.oldest(bank, row);
        let left = next != NONE && self.nodes[next as usize].pending.row == row;
        self.chosen[bank] = left.then_some(row);
    }

    /// Node of the oldest request to `row`, else of the oldest request; the node before it comes
    /// first in the pair.
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

    #[inline]
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
    use super::super::in_flight::Ticket;
    use super::{Pending, Scheduler};
    use crate::AccessKind;
    use crate::testing::fermi_spec;
    use warploom_config::{DramScheduler, WriteQueueSpec};

    fn scheduler(kind: DramScheduler, queue: u32) -> Scheduler {
        let mut dram = fermi_spec().dram;
        (dram.scheduler, dram.queue, dram.banks) = (kind, queue, 4);
        Scheduler::new(&dram)
    }

    fn pending(bank: u32, row: u32, slot: u32) -> Pending {
        Pending {
            ticket: Ticket {
                slot,
                bytes: 32,
                kind: AccessKind::GlobalRead,
                l2_bank: 0,
            },
            bank,
            row,
            arrived_at: 0,
        }
    }

    fn pending_write(bank: u32, slot: u32) -> Pending {
        let mut pending = pending(bank, 0, slot);
        pending.ticket.kind = AccessKind::GlobalWrite;
        pending
    }

    #[test]
    fn open_row_first_then_oldest() {
        let mut scheduler = scheduler(DramScheduler::FrFcfs, 8);
        for (row, tag) in [(1, 10), (2, 20), (1, 11), (2, 21)] {
            scheduler.push(pending(3, row, tag));
        }
        let mut take = |row| {
            let rows = [0, 0, 0, row];
            scheduler.take(0b1000, 0, &rows).map(|p| p.ticket.slot)
        };
        assert_eq!(take(2), Some(20));
        assert_eq!(take(2), Some(21));
        assert_eq!(take(2), Some(10), "no request to row 2 is left");
        assert_eq!(take(1), Some(11));
        assert_eq!(take(1), None);
    }

    #[test]
    fn banks_take_turns() {
        let mut scheduler = scheduler(DramScheduler::FrFcfs, 8);
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
        let mut scheduler = scheduler(DramScheduler::Fcfs, 64);
        scheduler.push(pending(1, 0, 0));
        scheduler.push(pending(0, 0, 1));
        assert!(scheduler.is_full(false) && scheduler.is_full(true));
        assert!(scheduler.take(0b1101, 0, &[0; 4]).is_none());
        assert_eq!(scheduler.take(0b0010, 0, &[0; 4]).map(|p| p.bank), Some(1));
    }

    /// With a write queue, reads go first until `high` writes wait (not at one less), then writes
    /// until fewer than `low` do (not at `low`). Each queue has its own room.
    #[test]
    fn writes_drain_between_the_watermarks() {
        let mut dram = fermi_spec().dram;
        (dram.queue, dram.banks) = (2, 4);
        dram.write_queue = WriteQueueSpec {
            size: 4,
            high: 3,
            low: 2,
        };
        let mut scheduler = Scheduler::new(&dram);
        let take = |s: &mut Scheduler| s.take(0b1111, 0, &[0; 4]).map(|p| p.ticket.slot);
        scheduler.push(pending_write(0, 100));
        scheduler.push(pending_write(1, 101));
        assert_eq!(take(&mut scheduler), None, "two writes wait on");
        scheduler.push(pending(2, 0, 200));
        scheduler.push(pending(2, 0, 201));
        assert!(scheduler.is_full(false) && !scheduler.is_full(true));
        scheduler.push(pending_write(2, 102));
        assert_eq!(scheduler.len(), 5);
        assert_eq!(take(&mut scheduler), Some(100), "three are the high mark");
        assert_eq!(
            take(&mut scheduler),
            Some(101),
            "two are not below the low mark"
        );
        assert_eq!(take(&mut scheduler), Some(200), "one is: reads again");
        assert_eq!(take(&mut scheduler), Some(201));
        assert_eq!(
            take(&mut scheduler),
            None,
            "the last write waits for others"
        );
        for tag in 103..106 {
            assert!(!scheduler.is_full(true));
            scheduler.push(pending_write(3, tag));
        }
        assert!(scheduler.is_full(true) && !scheduler.is_full(false));
    }
}
