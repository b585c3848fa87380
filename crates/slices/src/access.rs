//! One load or store of global memory, and how much of it is known before it runs.

use crate::array::Base;
use std::fmt;
use warploom_base::Pc;
use warploom_ir::{Inst, MemSpace, Op, Program, SourcePos};

/// How much of an access's addresses the address binary computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The address follows from parameters, constants and indices.
    Regular {
        /// Whether it happens hangs on data: if it does, this is its address.
        conditional: bool,
        /// How often its loop runs hangs on data: the first time is known.
        first_only: bool,
    },
    /// The address hangs on data.
    Irregular,
    /// It stands in a function that the kernel calls; those are not sliced.
    InFunction,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular {
                first_only: true, ..
            } => "regular, first iteration",
            Self::Regular {
                conditional: true, ..
            } => "regular, if it happens",
            Self::Regular { .. } => "regular",
            Self::Irregular => "irregular",
            Self::InFunction => "in a function",
        })
    }
}

/// A load from or a store to global memory (or a generic address, which is taken for global).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its place in the kernel.
    pub pc: Pc,
    /// Its place in the PTX file.
    pub pos: SourcePos,
    /// A store, not a load.
    pub store: bool,
    /// Bytes of a thread.
    pub bytes: u32,
    /// What is known.
    pub coverage: Coverage,
    /// The pointer that a regular address starts from, if it is one.
    pub base: Option<Base>,
}

impl Access {
    /// The access that an instruction makes, if it is a global one.
    pub(crate) fn of(pc: Pc, inst: &Inst, kernel: &Program) -> Option<Self> {
        let (space, ty, store) = match inst.op {
            Op::Ld(space, ty, _) => (space, ty, false),
            Op::St(space, ty, _) => (space, ty, true),
            _ => return None,
        };
        matches!(space, MemSpace::Global | MemSpace::Generic).then(|| Self {
            pc,
            pos: kernel.facts[pc.index()].pos,
            store,
            bytes: u32::from(ty.bytes) * u32::from(ty.count),
            coverage: Coverage::Irregular,
            base: None,
        })
    }

    /// Its address is computed ahead.
    pub fn is_regular(&self) -> bool {
        matches!(self.coverage, Coverage::Regular { .. })
    }
}
