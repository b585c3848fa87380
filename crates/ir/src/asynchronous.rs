//! Operations of asynchronous copies and barrier objects (PTX ISA, "Asynchronous Copy",
//! "mbarrier").

/// Asynchronous copies of its warp for which an instruction waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyWait {
    /// Copies of the warp without exception.
    All,
    /// Copies of all groups except this number of the youngest.
    But(u8),
}

/// Operation of the instruction `mbarrier`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MbarrierOp {
    /// Initialises a barrier that expects a given number of arrivals.
    Init,
    /// No operation that a program can observe.
    Nothing,
    /// Arrives a given number of times; the previous state goes to `dst[0]`.
    Arrive,
    /// Arrives and reduces the number of arrivals expected from the next phase on.
    ArriveDrop,
    /// Tests whether the phase of a state has ended; the predicate goes to `dst[0]`.
    Test,
    /// Tests whether the phase of a parity has ended.
    TestParity,
    /// Counts the arrivals for which a state waits; the number goes to `dst[0]`.
    PendingCount,
}
