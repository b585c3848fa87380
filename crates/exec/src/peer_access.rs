//! Accesses of an instruction to the shared memory of other blocks of its cluster.

use warploom_ir::{AtomOp, AtomTy, MbarrierOp};

/// Action on the shared memory of another block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerAct {
    /// Bytes of it are read.
    Load,
    /// Bytes of it are written.
    Store,
    /// A value is combined with the one in memory, which is returned; the operands are the second
    /// and the third one of the instruction.
    Atomic(AtomOp, AtomTy, [u64; 2]),
    /// Elements of a bulk copy are combined with those in memory.
    Reduce(AtomOp, AtomTy),
    /// A barrier object is changed, with an operand.
    Barrier(MbarrierOp, u64),
}

/// Access of a lane to the shared memory of another block of its cluster. The place was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAccess {
    /// Rank in the cluster of the block that is accessed.
    pub rank: u32,
    /// Address in its shared memory.
    pub address: u32,
    /// Action on its memory.
    pub act: PeerAct,
    /// Lane of the warp.
    pub(crate) lane: u8,
    /// First of its bytes in the list of all, and their number.
    pub(crate) bytes: (u32, u32),
}

impl PeerAccess {
    /// True for an operation on a barrier object, which takes effect when the timing says so.
    pub fn is_signal(&self) -> bool {
        matches!(self.act, PeerAct::Barrier(..))
    }

    /// Number of bytes that are moved.
    pub fn size(&self) -> u32 {
        self.bytes.1
    }
}

/// Accesses of an instruction to the shared memory of other blocks of its cluster.
#[derive(Clone, Debug, Default)]
pub struct PeerAccesses {
    pub(crate) all: Vec<PeerAccess>,
    /// Bytes that are written, and those that were read.
    pub(crate) bytes: Vec<u8>,
}

impl PeerAccesses {
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Accesses, in the order of lanes.
    pub fn all(&self) -> &[PeerAccess] {
        &self.all
    }

    /// Forgets all of the accesses.
    pub fn clear(&mut self) {
        self.all.clear();
        self.bytes.clear();
    }

    /// Adds an access of a lane at a checked place, with the bytes that it writes or room for those
    /// that it reads.
    pub(crate) fn push(&mut self, lane: usize, place: (u32, u32), act: PeerAct, bytes: &[u8]) {
        self.all.push(PeerAccess {
            rank: place.0,
            address: place.1,
            act,
            lane: lane as u8,
            bytes: (self.bytes.len() as u32, bytes.len() as u32),
        });
        self.bytes.extend_from_slice(bytes);
    }
}
