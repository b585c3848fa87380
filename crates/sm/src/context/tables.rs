//! The warp context table, the block context table and their queues (GPUDuet, section 6.6, Fig. 11
//! and Table 4).

use super::map::Span;
use std::collections::VecDeque;
use warploom_policy::WarpMask;
use warploom_state::Value;

/// Index of a warp's state in the arrays of [`Warps`](crate::warps::Warps). An index below the
/// number of slots is a slot; the warp is absent otherwise.
pub(crate) type Place = usize;

/// State of a context: one of Fig. 9, or free, assigned or moving.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) enum State {
    /// No warp has the context.
    Free,
    /// The warp's block has not started.
    Assigned,
    /// The warp is present and not known to have a long wait.
    Running,
    /// The warp or its block is in the queue of stalled units.
    Stalled,
    /// The warp's context moves out.
    Leaving,
    /// The warp is out, and waits for results or at a barrier.
    Absent,
    /// The warp is out, and could continue.
    Ready,
    /// The warp's context moves in.
    Entering,
}

/// An entry of the warp context table.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct WarpEntry {
    pub state: State,
    pub block: u8,
    /// Units of its registers.
    pub registers: Span,
    /// True if `registers` stores the live registers of an absent warp, and not all registers.
    pub kept: bool,
    /// Units that store the content of its slot while it is out.
    pub meta: Span,
    /// Current slot of the warp, or its slot from the end of the transfer on.
    pub slot: u8,
    /// True if it waits at a barrier while it is out.
    pub at_barrier: bool,
    /// Number of register units that move when it is switched in. In a divided register file, also
    /// that of a stalled warp if it left now.
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

    /// True if the warp has a warp slot and all its registers.
    pub fn is_present(&self) -> bool {
        matches!(self.state, State::Running | State::Stalled)
    }
}

/// An entry of the block context table.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct BlockEntry {
    pub valid: bool,
    /// First of its consecutive contexts.
    pub first: u16,
    pub warps: u16,
    /// Number of warps that have not ended.
    pub left: u16,
    /// Units of its shared memory.
    pub shared: Span,
    /// True if its shared memory is stored as a context.
    pub shared_out: bool,
    /// Number of shared-memory units that move when it is switched in.
    pub moves: u32,
    /// Slots of its present warps.
    pub slots: WarpMask,
    /// True if it has begun out and has not come in yet.
    pub fresh: bool,
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
        fresh: false,
    };

    /// Numbers of its contexts.
    pub fn contexts(&self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first + self.warps)
    }
}

/// Queue of units with a fixed capacity.
#[derive(Clone, Debug, Value)]
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

    /// Appends a unit. Requires room.
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

    /// Removes a unit. Requires that it is queued.
    pub fn remove_unit(&mut self, unit: u16) {
        let at = self.entries.iter().position(|queued| *queued == unit);
        self.remove(at.expect("the unit is queued"));
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
