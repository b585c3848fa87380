//! Operations of asynchronous copies and barrier objects (PTX ISA, "Asynchronous Copy",
//! "mbarrier").

use crate::op::{AtomOp, AtomTy};
use warploom_state::Value;

/// Asynchronous copies of its warp for which an instruction waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyWait {
    /// Copies of the warp without exception.
    All,
    /// Copies of all groups except this number of the youngest.
    But(u8),
}

/// Asynchronous operations, apart from `cp.async`, that a warp commits in groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AsyncKind {
    /// Products of warp groups: `wgmma`.
    Product,
    /// Bulk copies from shared memory.
    Bulk,
}

/// Direction of a bulk copy, and how its end becomes known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BulkAct {
    /// From global to shared memory; completes transactions of a barrier object.
    Load,
    /// From global memory to the same place in the shared memory of several blocks of the cluster,
    /// and to a barrier object in each of them. The last source of the extra is the mask of blocks.
    Multicast,
    /// Between places in shared memory; completes transactions of a barrier object.
    Within,
    /// Combines shared memory into shared memory; completes transactions of a barrier object.
    ReduceWithin(AtomOp, AtomTy),
    /// From shared to global memory; the warp waits for its group.
    Store,
    /// Combines shared memory into global memory; the warp waits for its group. Without a type that
    /// of the tensor map counts.
    Reduce(AtomOp, Option<AtomTy>),
}

impl BulkAct {
    /// True for copies that a barrier object hears of.
    pub fn completes_transactions(self) -> bool {
        !self.writes_global()
    }

    /// True for copies to global memory.
    pub fn writes_global(self) -> bool {
        matches!(self, Self::Store | Self::Reduce(..))
    }
}

/// Operation of the instruction `mbarrier`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum MbarrierOp {
    /// Initialises a barrier that expects a given number of arrivals.
    Init,
    /// No operation that a program can observe.
    Nothing,
    /// Arrives a given number of times; the previous state goes to `dst[0]`.
    Arrive,
    /// Arrives and reduces the number of arrivals expected from the next phase on.
    ArriveDrop,
    /// Adds to the number of transactions that the current phase still waits for.
    ExpectTx,
    /// Subtracts from the number of transactions that the current phase still waits for.
    CompleteTx,
    /// Adds to the number of transactions and then arrives once.
    ArriveExpectTx,
    /// Adds to the number of transactions and then arrives once as [`Self::ArriveDrop`] does.
    ArriveDropExpectTx,
    /// Tests whether the phase of a state has ended; the predicate goes to `dst[0]`.
    Test,
    /// Tests whether the phase of a parity has ended.
    TestParity,
    /// Counts the arrivals for which a state waits; the number goes to `dst[0]`.
    PendingCount,
}
