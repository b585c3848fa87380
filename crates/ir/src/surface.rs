//! What surface instructions do (PTX ISA, "Surface Instructions").

use crate::op::{AtomOp, AtomTy, MemTy};

/// What an access outside a surface does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SurfEdge {
    /// Faults.
    Trap,
    /// Goes to the nearest place inside.
    Clamp,
    /// Reads zero, writes nothing.
    Zero,
}

/// What an access to a surface does. The first coordinate counts bytes, for samples it counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SurfAct {
    /// `suld.b`
    Load(MemTy),
    /// `sust.b`
    Store(MemTy),
    /// `sust.p`: stores so many values of 32 bits in the format of a sample.
    StoreSample(u8),
    /// `sured.b`
    Reduce(AtomOp, AtomTy),
    /// `sured.p`: reduces a sample, an integer that is signed if the surface's format is.
    ReduceSample(AtomOp, AtomTy),
}

impl SurfAct {
    /// Values that it takes from registers, behind the coordinates.
    pub const fn values(self) -> u8 {
        match self {
            Self::Load(_) => 0,
            Self::Store(ty) => ty.count,
            Self::StoreSample(count) => count,
            Self::Reduce(..) | Self::ReduceSample(..) => 1,
        }
    }
}
