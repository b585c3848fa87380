//! Results of accesses to a cache.

use warploom_state::Value;

/// Reason why a cache does not take an access in this cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum FailReason {
    /// Every way of the set is reserved.
    LineAllocFail,
    /// The miss queue lacks room.
    MissQueueFull,
    /// No MSHR is free.
    MshrEntryFail,
    /// The line's MSHR holds as many requests as it may.
    MshrMergeFail,
    /// A read waits after a write in the MSHR (fetch on write).
    MshrRwPending,
}

impl FailReason {
    /// Number of reasons, for counters indexed by reason.
    pub const COUNT: usize = 5;

    /// True if the MSHRs had no room, while tags and miss queue had.
    #[inline]
    pub(super) const fn is_of_mshrs(self) -> bool {
        matches!(
            self,
            Self::MshrEntryFail | Self::MshrMergeFail | Self::MshrRwPending
        )
    }
}

/// Outcome of an access.
///
/// [`ReservationFail`](Self::ReservationFail) alone leaves the access to be tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessOutcome {
    /// The sector is present.
    Hit,
    /// The sector is on its way, and the access is merged.
    HitReserved,
    /// The line is absent: a line is reserved, a write goes down, or a read goes past the cache.
    Miss,
    /// The line is present, the sector is not.
    SectorMiss,
    /// The cache does not take the access; it is to be tried again in the next cycle.
    ReservationFail(FailReason),
}

impl AccessOutcome {
    /// Position of failed attempts in counters.
    pub(super) const RESERVATION_FAIL: usize = 4;

    /// Position in counters, in the order of [`OUTCOMES`](super::OUTCOMES).
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Self::Hit => 0,
            Self::HitReserved => 1,
            Self::Miss => 2,
            Self::SectorMiss => 3,
            Self::ReservationFail(_) => Self::RESERVATION_FAIL,
        }
    }
}

/// Result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Outcome of the access. A read with `HitReserved`, `Miss` or `SectorMiss` is answered
    /// later by `next_ready`, unless `sent` is [`Sent::Bypass`].
    pub outcome: AccessOutcome,
    /// Requests that the access sent down.
    pub sent: Sent,
}

impl Access {
    /// An access that was not taken.
    #[inline]
    pub(super) const fn refused(reason: FailReason) -> Self {
        Self {
            outcome: AccessOutcome::ReservationFail(reason),
            sent: Sent::Nothing,
        }
    }
}

/// Requests that an access sent down, apart from the read of a miss. One value, so that an access
/// fits two registers of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sent {
    /// No request at all.
    #[default]
    Nothing,
    /// The access itself, a write: its reply comes from below.
    Write,
    /// A read of the line because of a write miss. With `WriteAllocate::FetchOnWrite` the write
    /// comes back from `next_ready`, to be acknowledged.
    Allocate,
    /// The write itself and a read of the line.
    WriteAndAllocate,
    /// The access itself, a read that goes past the cache: its reply comes from below, and fills
    /// no line.
    Bypass,
}

impl Sent {
    /// True if the access itself is sent as a write.
    #[inline]
    pub const fn has_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteAndAllocate)
    }

    /// True if a read of the line is sent because of a write.
    #[inline]
    pub const fn has_allocate(self) -> bool {
        matches!(self, Self::Allocate | Self::WriteAndAllocate)
    }

    /// `Write` if `sends` is set, else `Nothing`.
    #[inline]
    pub(super) const fn write_if(sends: bool) -> Self {
        if sends { Self::Write } else { Self::Nothing }
    }
}
