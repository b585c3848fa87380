//! Statistics of a cache, with GPGPU-Sim's meaning.

use super::{AccessOutcome, FailReason};
use crate::{ACCESS_KINDS, AccessKind};
use warploom_stats::{StatTable, declare_stats};

/// Labels of what became of an access, in the order of [`AccessOutcome::index`]; the last label
/// stands for accesses merged into an MSHR, which are counted by outcome as well.
pub const OUTCOMES: &[&str] = &[
    "hit",
    "hit_reserved",
    "miss",
    "sector_miss",
    "reservation_fail",
    "mshr_hit",
];

/// Position of accesses merged into an MSHR among [`OUTCOMES`].
const MSHR_HIT: usize = 5;

/// Labels of the reasons why a cache refuses an access, in the order of [`FailReason`].
pub const FAIL_REASONS: &[&str] = &[
    "line_alloc",
    "miss_queue_full",
    "mshr_entry",
    "mshr_merge",
    "mshr_rw_pending",
];

declare_stats! {
    /// Statistics of one cache, or of all caches of a kind. [`CacheGroup`] names the groups.
    pub struct CacheCounters in "l1d", "l1i", "l1c", "l1t", "l2" {
        /// Accesses by outcome and kind, summed over the caches; retries after a failed reservation count again, merged ones count twice.
        pub accesses: [[u64; AccessKind::COUNT]; OUTCOMES.len()] = Accesses,
            as "Total_core_cache_stats_breakdown" | "L1I_total_cache_accesses" | "L1C_total_cache_accesses" | "L1T_total_cache_accesses" | "L2_cache_stats_breakdown",
            by [OUTCOMES, ACCESS_KINDS];
        /// Failed attempts by kind and reason.
        pub fails: [[u64; FailReason::COUNT]; AccessKind::COUNT] = Accesses, by [ACCESS_KINDS, FAIL_REASONS];
        /// Cycles in which the data port moved data.
        pub data_port_busy: u64 = Cycles;
        /// Cycles in which the data port moved data of hits, and not of lines that leave.
        pub data_port_hits: u64 = Cycles;
        /// Cycles in which the fill port moved data.
        pub fill_port_busy: u64 = Cycles;
    }
}

/// Groups under which caches are counted, in the order of the declaration of [`CacheCounters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheGroup {
    /// Data caches of SMs.
    L1d,
    /// Instruction caches of SMs.
    L1i,
    /// Constant caches of SMs.
    L1c,
    /// Texture caches of SMs.
    L1t,
    /// L2 of all partitions.
    L2,
}

impl CacheGroup {
    /// The declarations under the group.
    pub const fn table(self) -> StatTable {
        <CacheCounters as warploom_stats::Counters>::TABLES[self as usize]
    }
}

impl CacheCounters {
    /// Accesses that the cache took: all but failed attempts (`*_total_cache_accesses`).
    pub fn accesses(&self) -> u64 {
        self.misses() + self.pending_hits() + self.hits()
    }

    /// Accesses that hit.
    pub fn hits(&self) -> u64 {
        self.of(AccessOutcome::Hit)
    }

    /// Misses and sector misses (`*_total_cache_misses`).
    pub fn misses(&self) -> u64 {
        self.of(AccessOutcome::Miss) + self.of(AccessOutcome::SectorMiss)
    }

    /// Accesses to lines that a miss has reserved already (`*_total_cache_pending_hits`).
    pub fn pending_hits(&self) -> u64 {
        self.of(AccessOutcome::HitReserved)
    }

    /// Attempts that failed; each retry counts (`*_total_cache_reservation_fails`).
    pub fn reservation_fails(&self) -> u64 {
        self.accesses[AccessOutcome::RESERVATION_FAIL].iter().sum()
    }

    /// Accesses of one kind with one outcome.
    pub fn of_kind(&self, kind: AccessKind, outcome: AccessOutcome) -> u64 {
        self.accesses[outcome.index()][kind.index()]
    }

    /// Accesses of one kind that were merged into an MSHR.
    pub fn mshr_hits(&self, kind: AccessKind) -> u64 {
        self.accesses[MSHR_HIT][kind.index()]
    }

    fn of(&self, outcome: AccessOutcome) -> u64 {
        self.accesses[outcome.index()].iter().sum()
    }

    /// Counts an access, or an attempt that failed.
    #[inline]
    pub(super) fn count(&mut self, kind: AccessKind, outcome: AccessOutcome) {
        if let AccessOutcome::ReservationFail(reason) = outcome {
            return self.count_failed(kind, reason, 1);
        }
        self.accesses[outcome.index()][kind.index()] += 1;
    }

    /// Counts an access that hit.
    #[inline]
    pub(super) fn count_hit(&mut self, kind: AccessKind) {
        self.accesses[AccessOutcome::Hit.index()][kind.index()] += 1;
    }

    /// Counts an access that was merged into an MSHR.
    #[inline]
    pub(super) fn count_merged(&mut self, kind: AccessKind) {
        self.accesses[MSHR_HIT][kind.index()] += 1;
    }

    /// Counts `attempts` attempts that failed for one reason.
    #[inline]
    pub(super) fn count_failed(&mut self, kind: AccessKind, reason: FailReason, attempts: u64) {
        self.accesses[AccessOutcome::RESERVATION_FAIL][kind.index()] += attempts;
        self.fails[kind.index()][reason as usize] += attempts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_stats::{Counters, audit, audit_shapes};

    #[test]
    fn accesses_are_counted_by_outcome_and_failures_by_reason_too() {
        let mut counters = CacheCounters::default();
        counters.count(AccessKind::GlobalRead, AccessOutcome::Hit);
        counters.count(
            AccessKind::GlobalWrite,
            AccessOutcome::ReservationFail(FailReason::MissQueueFull),
        );
        counters.count(AccessKind::LocalRead, AccessOutcome::SectorMiss);
        counters.count_merged(AccessKind::LocalRead);
        let named = counters.named_in(&CacheGroup::L2.table());
        let counted = named.iter().filter(|(_, value)| *value > 0);
        let counted: Vec<_> = counted
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        assert_eq!(
            counted,
            [
                ("l2.accesses.hit.global_read", 1),
                ("l2.accesses.sector_miss.local_read", 1),
                ("l2.accesses.reservation_fail.global_write", 1),
                ("l2.accesses.mshr_hit.local_read", 1),
                ("l2.fails.global_write.miss_queue_full", 1),
            ]
        );
        assert_eq!(
            (
                counters.hits(),
                counters.accesses(),
                counters.reservation_fails()
            ),
            (1, 2, 1)
        );
    }

    #[test]
    fn the_declaration_is_sound_and_the_groups_are_in_its_order() {
        assert_eq!(audit(CacheCounters::TABLES), Vec::<String>::new());
        assert_eq!(audit_shapes::<CacheCounters>(), Vec::<String>::new());
        use CacheGroup as G;
        let groups = [G::L1d, G::L1i, G::L1c, G::L1t, G::L2].map(|group| group.table().group);
        assert_eq!(groups, ["l1d", "l1i", "l1c", "l1t", "l2"]);
    }
}
