//! Attempts of an instruction that fail, and the banks of the data cache. A [`Blocked`] stands for
//! attempts that fail in the same way until a reply or a credit comes, so that they are counted
//! without being made.

use super::Path;
use crate::counters::{LdstStage, LdstStall};
use warploom_base::{Cycle, FixedQueue};
use warploom_mem::cache::{FailReason, Refusal};
use warploom_mem::{AccessKind, Request};
use warploom_state::{State, Value};

/// A bank of the data cache (4.x).
#[derive(Clone, Debug, State)]
pub(super) struct Bank {
    /// Accesses on their way to the tags, with the cycle of their lookup.
    pub(super) delayed: FixedQueue<(Cycle, Request)>,
    /// Cycle in which the last access entered.
    pub(super) entered: Cycle,
    /// Failure of the oldest access in the last cycle.
    pub(super) blocked: Option<(AccessKind, FailReason, Refusal)>,
}

impl Bank {
    /// An empty bank whose look-ups take `latency` cycles.
    pub(super) fn new(latency: u32) -> Self {
        Self {
            delayed: FixedQueue::new(latency as usize),
            entered: Cycle::MAX,
            blocked: None,
        }
    }
}

/// An attempt that will fail again in the same way.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct Blocked {
    pub(super) path: Path,
    pub(super) kind: AccessKind,
    pub(super) cause: Cause,
    /// Counter of the failed attempts.
    pub(super) counted: (LdstStage, LdstStall),
}

impl Blocked {
    /// A blocked instruction whose attempts fail for this cause.
    pub(super) fn new(path: Path, kind: AccessKind, cause: Cause) -> Self {
        let why = match cause {
            Cause::Refused(..) | Cause::Parked => LdstStall::Reservation,
            Cause::NoRoom(_) => LdstStall::Network,
            Cause::FullBank(_) => LdstStall::BankConflict,
        };
        Self {
            path,
            kind,
            cause,
            counted: (stage_of(path, kind), why),
        }
    }

    /// True if an earlier load of the warp is parked.
    #[inline]
    pub(super) fn by_parked(&self) -> bool {
        matches!(self.cause, Cause::Parked)
    }

    /// Result of each further attempt.
    pub(super) fn outcome(&self) -> Try {
        match self.cause {
            Cause::Refused(..) | Cause::Parked => Try::Reservation,
            Cause::NoRoom(_) => Try::Network,
            Cause::FullBank(_) => Try::BankConflict,
        }
    }
}

/// Stage in which an access of a kind waits on its path.
pub(super) fn stage_of(path: Path, kind: AccessKind) -> LdstStage {
    match (path, kind) {
        (Path::Constant, _) => LdstStage::Constant,
        (Path::Texture, _) => LdstStage::Texture,
        (Path::Shared | Path::Peers, _) => LdstStage::Shared,
        (_, AccessKind::LocalRead) => LdstStage::LocalLoad,
        (_, AccessKind::LocalWrite) => LdstStage::LocalStore,
        (_, AccessKind::GlobalWrite) => LdstStage::GlobalStore,
        _ => LdstStage::GlobalLoad,
    }
}

/// Cause for which an attempt will fail again in the same way.
#[derive(Clone, Copy, Debug, Value)]
pub(super) enum Cause {
    /// The cache refused the access, and counts every attempt.
    Refused(FailReason, Refusal),
    /// The network had no room for this request.
    NoRoom(Request),
    /// The bank of this number of the data cache was full.
    FullBank(usize),
    /// An earlier load of the warp is parked.
    Parked,
}

/// Result of an attempt on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Try {
    Done,
    /// There are more transactions to send.
    Coalesce,
    /// The cache could not reserve a line or MSHR.
    Reservation,
    /// The network has no room.
    Network,
    /// The data port was busy.
    DataPort,
    /// The bank was busy or full.
    BankConflict,
}
