//! What asynchronous copies and barrier objects do (PTX ISA, "Asynchronous Copy", "mbarrier").

/// Which asynchronous copies of its warp an instruction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyWait {
    /// All.
    All,
    /// Those of all groups but so many, the youngest.
    But(u8),
}

/// What `mbarrier` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MbarrierOp {
    /// Makes a barrier that expects so many arrivals.
    Init,
    /// Nothing that can be seen.
    Nothing,
    /// Arrives so often; the state before in `dst[0]`.
    Arrive,
    /// The same, and expects so many less from the next phase on.
    ArriveDrop,
    /// Has the phase of a state ended? In `dst[0]`, a predicate.
    Test,
    /// Has the phase of a parity ended?
    TestParity,
    /// Arrivals that a state waits for, in `dst[0]`.
    PendingCount,
}
