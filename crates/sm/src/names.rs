//! What caches and counters call a memory instruction, by what it does and by its space: looked up,
//! for which way a warp goes through the cases nobody can foresee.

use crate::counters::LaneSpace;
use warploom_exec::{MemEffect, MemKind};
use warploom_ir::MemSpace;
use warploom_mem::AccessKind;

/// What a memory instruction is to caches and to counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Names {
    /// Kind of its transactions.
    pub kind: AccessKind,
    /// Where its lanes are counted.
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

/// By kind, then by space.
const NAMES: [[Names; SPACES.len()]; KINDS.len()] = {
    let mut names = [[names_of(KINDS[0], SPACES[0]); SPACES.len()]; KINDS.len()];
    let mut at = 0;
    while at < KINDS.len() * SPACES.len() {
        let (kind, space) = (KINDS[at / SPACES.len()], SPACES[at % SPACES.len()]);
        names[kind as usize][space as usize] = names_of(kind, space);
        at += 1;
    }
    names
};

/// The names of what a memory instruction does.
#[inline]
pub(crate) const fn names(effect: &MemEffect) -> Names {
    NAMES[effect.kind as usize][effect.space as usize]
}

const fn names_of(kind: MemKind, space: MemSpace) -> Names {
    Names {
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
    use super::{KINDS, NAMES, SPACES, names_of};

    #[test]
    fn every_kind_and_space_has_its_names() {
        for (kind, space) in KINDS.into_iter().flat_map(|k| SPACES.map(|s| (k, s))) {
            let names = NAMES[kind as usize][space as usize];
            assert_eq!(names, names_of(kind, space), "{kind:?} {space:?}");
        }
    }
}
