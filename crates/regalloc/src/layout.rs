//! The spill stack's layout: slots whose values are not needed at the same time share a place, and
//! places of one type and width stand together (the paper's sub-stacks).
//!
//! In shared memory place `n` of width `w` of thread `t` lies at `(n * threads + t) * w` of its
//! sub-stack: the lanes of a warp reach neighbouring words, hence different banks.

use crate::body::{Body, Inst, Purpose, Slot};
use crate::class::{Class, PerClass};
use crate::flow::Flow;
use crate::make::set_offset;
use crate::spill::Place;
use fixedbitset::FixedBitSet;

/// Alignment of the arrays in bytes: that of the widest value.
pub(crate) const ALIGNMENT: u32 = 16;

/// Bytes of the spill stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extent {
    /// Of a thread, in local memory.
    pub local: u32,
    /// Of a block, in shared memory.
    pub shared: u32,
    /// Of a thread, by sub-stack, wherever it lies.
    pub stacks: PerClass<u32>,
}

/// Gives every slot its offset and fills it into the accesses.
pub(crate) fn lay_out(body: &mut Body, threads: u32) -> Extent {
    let places = share(body);
    let mut extent = Extent::default();
    let mut order = Class::ALL;
    order.sort_by_key(|class| std::cmp::Reverse(class.bytes()));
    for class in order {
        for place in [Place::Local, Place::Shared] {
            let stack =
                |slot: &usize| body.slots[*slot].stack == class && body.slots[*slot].place == place;
            let slots: Vec<usize> = (0..body.slots.len()).filter(stack).collect();
            let count = slots
                .iter()
                .map(|slot| places[*slot] + 1)
                .max()
                .unwrap_or(0);
            let (start, stride) = match place {
                Place::Local => (&mut extent.local, class.bytes()),
                Place::Shared => (&mut extent.shared, class.bytes() * threads),
            };
            if count > 0 {
                *start = start.next_multiple_of(class.bytes());
            }
            for slot in slots {
                body.slots[slot].offset = *start + places[slot] * stride;
            }
            *start += count * stride;
            extent.stacks[class] += count * class.bytes();
        }
    }
    let offsets: Vec<u32> = body.slots.iter().map(|slot| slot.offset).collect();
    for inst in body.insts_mut() {
        if let Purpose::Load(slot) | Purpose::Store(slot) = inst.purpose {
            set_offset(inst, offsets[slot.index()]);
        }
    }
    extent
}

/// The place of every slot in its sub-stack: the lowest that no slot in need at the same time has.
fn share(body: &Body) -> Vec<u32> {
    let count = body.slots.len();
    let flow = Flow::with(body, count, |inst| match inst.purpose {
        Purpose::Load(Slot(slot)) => (vec![slot], Vec::new()),
        Purpose::Store(Slot(slot)) => (Vec::new(), vec![slot]),
        _ => (Vec::new(), Vec::new()),
    });
    let mut conflicts = vec![FixedBitSet::with_capacity(count); count];
    let mut conflict = |a: usize, b: usize| {
        conflicts[a].insert(b);
        conflicts[b].insert(a);
    };
    let entry: Vec<usize> = flow
        .at_entry()
        .ones()
        .take_while(|slot| *slot < count)
        .collect();
    for &a in &entry {
        entry
            .iter()
            .filter(|b| **b != a)
            .for_each(|&b| conflict(a, b));
    }
    let insts: Vec<&Inst> = body.insts().collect();
    flow.for_each(|at, live| {
        if let Some(Purpose::Store(slot)) = insts.get(at).map(|inst| inst.purpose) {
            let others = live.ones().take_while(|other| *other < count);
            others
                .filter(|other| *other != slot.index())
                .for_each(|b| conflict(slot.index(), b));
        }
    });
    let mut places = vec![0; count];
    for slot in 0..count {
        let same_stack = |other: &usize| {
            *other < slot
                && body.slots[*other].stack == body.slots[slot].stack
                && body.slots[*other].place == body.slots[slot].place
        };
        let taken: Vec<u32> = conflicts[slot]
            .ones()
            .filter(same_stack)
            .map(|other| places[other])
            .collect();
        places[slot] = (0..).find(|place| !taken.contains(place)).unwrap_or(0);
    }
    places
}
