//! Actions of surface instructions (PTX ISA, "Surface Instructions").

use crate::op::{AtomOp, AtomTy, MemTy};

/// Treatment of an access outside a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SurfEdge {
    /// The access is a fault.
    Trap,
    /// The access uses the nearest place inside.
    Clamp,
    /// A load reads zero, a store is dropped.
    Zero,
}

/// Action of an access to a surface. The first coordinate counts bytes, or samples in the forms
/// with samples.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SurfAct {
    /// Load of bytes: `suld.b`.
    Load(MemTy),
    /// Store of bytes: `sust.b`.
    Store(MemTy),
    /// Store of a sample, `sust.p`: the number of 32-bit values, converted to the surface's format.
    StoreSample(u8),
    /// Reduction of bytes: `sured.b`.
    Reduce(AtomOp, AtomTy),
    /// Reduction of a sample, `sured.p`: an integer that is signed if the surface's format is.
    ReduceSample(AtomOp, AtomTy),
}

impl SurfAct {
    /// Number of values that the access takes from registers after the coordinates.
    pub const fn values(self) -> u8 {
        match self {
            Self::Load(_) => 0,
            Self::Store(ty) => ty.count,
            Self::StoreSample(count) => count,
            Self::Reduce(..) | Self::ReduceSample(..) => 1,
        }
    }
}
