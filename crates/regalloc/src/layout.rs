//! The layout of the spill stack. Slots that are never live at the same time share a location, and
//! the locations of one type and width form a sub-stack, as in CRAT (Xie et al., MICRO 2015).
//!
//! In shared memory, location `n` of width `w` of thread `t` is at offset `(n * threads + t) * w`
//! of its sub-stack. The lanes of a warp therefore access neighbouring words, which are in
//! different banks.

use crate::body::{Body, Inst, Purpose, Slot};
use crate::class::{Class, PerClass};
use crate::flow::Flow;
use crate::inst_builder::set_offset;
use crate::spill::Place;
use fixedbitset::FixedBitSet;

/// The alignment of the arrays in bytes, which is that of the widest value.
pub(crate) const ALIGNMENT: u32 = 16;

/// The size of the spill stack, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extent {
    /// The size per thread in local memory.
    pub local: u32,
    /// The size per block in shared memory.
    pub shared: u32,
    /// The size per thread of each sub-stack, in either memory.
    pub stacks: PerClass<u32>,
}

/// Assigns an offset to every slot and sets it in the instructions that access the slot.
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

/// Returns the location of each slot in its sub-stack: the lowest location that no conflicting slot
/// has. Slots conflict if both are live at the same time.
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
