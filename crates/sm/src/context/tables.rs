//! The warp context table, the block context table and their queues (GPUDuet, section 6.6, Fig. 11
//! and Table 4).

use super::map::Span;
use std::collections::VecDeque;
use warploom_policy::WarpMask;

/// Where the state of a warp is in the arrays of [`Warps`](crate::warps::Warps): below the number
/// of slots in a slot, else out.
pub(crate) type Place = usize;

/// Fig. 9's states, and those of a context that is not in use or under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// No warp has it.
    Free,
    /// Its block has not started.
    Assigned,
    /// Present, and not known to wait long.
    Running,
    /// In the queue of stalled warps, or its block is.
    Stalled,
    /// On its way out.
    Leaving,
    /// Out, waiting for what it stalled on.
    Absent,
    /// Out, and could go on.
    Ready,
    /// On its way in.
    Entering,
}

/// An entry of the warp context table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpEntry {
    pub state: State,
    pub block: u8,
    /// Where its registers lie.
    pub registers: Span,
    /// They are those kept of an absent warp, not all.
    pub kept: bool,
    /// Where its slot's content lies while it is out.
    pub meta: Span,
    /// The slot that it has, or will have at the end of the transfer.
    pub slot: u8,
    /// It waits at a barrier, while it is out.
    pub at_barrier: bool,
    /// Units of registers that move when it comes back.
    pub moves: u32,
}

impl WarpEntry {
    pub const FREE: Self = Self {
        state: State::Free,
        block: 0,
        registers: Span { start: 0, units: 0 },
        kept: false,
        meta: Span { start: 0, units: 0 },
        slot: 0,
        at_barrier: false,
        moves: 0,
    };

    /// It has, or is about to have, a warp slot and all its registers.
    pub fn is_present(&self) -> bool {
        matches!(self.state, State::Running | State::Stalled)
    }
}

/// An entry of the block context table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockEntry {
    pub valid: bool,
    /// First of its contexts, which follow each other.
    pub first: u16,
    pub warps: u16,
    /// Warps that have not ended.
    pub left: u16,
    /// Where its shared memory lies.
    pub shared: Span,
    /// Its shared memory is not in its own place.
    pub shared_out: bool,
    /// Units of shared memory that move when it comes back.
    pub moves: u32,
    /// Slots of its warps that are present.
    pub slots: WarpMask,
}

impl BlockEntry {
    pub const FREE: Self = Self {
        valid: false,
        first: 0,
        warps: 0,
        left: 0,
        shared: Span { start: 0, units: 0 },
        shared_out: false,
        moves: 0,
        slots: 0,
    };

    /// Its contexts.
    pub fn contexts(&self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first + self.warps)
    }
}

/// A queue of warps or of blocks, of fixed length.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    entries: VecDeque<u16>,
    capacity: usize,
}

impl Queue {
    pub fn new(capacity: u32) -> Self {
        Self {
            entries: VecDeque::with_capacity(capacity as usize),
            capacity: capacity as usize,
        }
    }

    pub fn is_full(&self) -> bool {
        self.entries.len() == self.capacity
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Requires room.
    pub fn push(&mut self, unit: u16) {
        debug_assert!(!self.is_full() && !self.entries.contains(&unit));
        self.entries.push_back(unit);
    }

    pub fn front(&self) -> Option<u16> {
        self.entries.front().copied()
    }

    pub fn get(&self, at: usize) -> Option<u16> {
        self.entries.get(at).copied()
    }

    pub fn contains(&self, unit: u16) -> bool {
        self.entries.contains(&unit)
    }

    pub fn remove(&mut self, at: usize) {
        self.entries.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockEntry, Queue, State, WarpEntry};

    #[test]
    fn a_queue_keeps_its_order_and_its_length() {
        let mut queue = Queue::new(3);
        for unit in [7, 3, 5] {
            assert!(!queue.is_full());
            queue.push(unit);
        }
        assert!(queue.is_full() && queue.contains(3));
        queue.remove(1);
        assert_eq!(
            (queue.len(), queue.front(), queue.get(1)),
            (2, Some(7), Some(5))
        );
        assert!(!queue.contains(3) && !queue.is_full());
        queue.push(3);
        assert_eq!((queue.get(2), queue.get(3)), (Some(3), None));
    }

    #[test]
    fn a_warp_is_present_while_it_has_its_slot_and_registers() {
        let states = [
            (State::Free, false),
            (State::Assigned, false),
            (State::Running, true),
            (State::Stalled, true),
            (State::Leaving, false),
            (State::Absent, false),
            (State::Ready, false),
            (State::Entering, false),
        ];
        for (state, present) in states {
            let warp = WarpEntry {
                state,
                ..WarpEntry::FREE
            };
            assert_eq!(warp.is_present(), present, "{state:?}");
        }
    }

    #[test]
    fn the_contexts_of_a_block_follow_each_other() {
        let block = BlockEntry {
            first: 6,
            warps: 2,
            ..BlockEntry::FREE
        };
        assert_eq!(block.contexts(), 6..8);
        assert!(BlockEntry::FREE.contexts().is_empty());
    }
}
