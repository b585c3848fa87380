//! Classification of memory instructions by operation and state space: the kind of access that
//! caches count and the counter of active lanes. The classes are read from a table, because a
//! branch over the cases would be mispredicted often.

use crate::counters::LaneSpace;
use warploom_exec::{MemEffect, MemKind};
use warploom_ir::MemSpace;
use warploom_mem::AccessKind;

/// Class of a memory instruction for caches and counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessClass {
    /// Kind of the instruction's transactions.
    pub kind: AccessKind,
    /// Counter of the instruction's active lanes.
    pub lanes: LaneSpace,
}

const KINDS: [MemKind; 4] = [
    MemKind::Load,
    MemKind::Store,
    MemKind::Atomic,
    MemKind::Texture,
];

const SPACES: [MemSpace; 7] = [
    MemSpace::Generic,
    MemSpace::Global,
    MemSpace::Shared,
    MemSpace::Local,
    MemSpace::Const,
    MemSpace::Param,
    MemSpace::FrameParam,
];

/// Classes, indexed by operation and then by state space.
const CLASSES: [[AccessClass; SPACES.len()]; KINDS.len()] = {
    let mut classes = [[class_of(KINDS[0], SPACES[0]); SPACES.len()]; KINDS.len()];
    let mut at = 0;
    while at < KINDS.len() * SPACES.len() {
        let (kind, space) = (KINDS[at / SPACES.len()], SPACES[at % SPACES.len()]);
        classes[kind as usize][space as usize] = class_of(kind, space);
        at += 1;
    }
    classes
};

/// Class of a memory instruction.
#[inline]
pub(crate) const fn access_class(effect: &MemEffect) -> AccessClass {
    CLASSES[effect.kind as usize][effect.space as usize]
}

const fn class_of(kind: MemKind, space: MemSpace) -> AccessClass {
    AccessClass {
        kind: kind_of(kind, space),
        lanes: lanes_of(kind, space),
    }
}

const fn lanes_of(kind: MemKind, space: MemSpace) -> LaneSpace {
    match (kind, space) {
        (MemKind::Texture, _) => LaneSpace::Texture,
        (_, MemSpace::Shared) => LaneSpace::Shared,
        (_, MemSpace::Const) => LaneSpace::Constant,
        (_, MemSpace::Param | MemSpace::FrameParam) => LaneSpace::Param,
        (MemKind::Store, _) => LaneSpace::Store,
        _ => LaneSpace::Load,
    }
}

const fn kind_of(kind: MemKind, space: MemSpace) -> AccessKind {
    match (kind, space) {
        (MemKind::Texture, _) => AccessKind::TextureRead,
        (_, MemSpace::Const | MemSpace::Param) => AccessKind::ConstRead,
        (MemKind::Atomic, MemSpace::Shared) => AccessKind::GlobalRead,
        (MemKind::Atomic, _) => AccessKind::GlobalAtomic,
        (MemKind::Load, MemSpace::Local | MemSpace::FrameParam) => AccessKind::LocalRead,
        (MemKind::Store, MemSpace::Local | MemSpace::FrameParam) => AccessKind::LocalWrite,
        (MemKind::Load, _) => AccessKind::GlobalRead,
        (MemKind::Store, _) => AccessKind::GlobalWrite,
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, KINDS, SPACES, class_of};

    #[test]
    fn every_kind_and_space_has_its_class() {
        for (kind, space) in KINDS.into_iter().flat_map(|k| SPACES.map(|s| (k, s))) {
            let class = CLASSES[kind as usize][space as usize];
            assert_eq!(class, class_of(kind, space), "{kind:?} {space:?}");
        }
    }
}
