//! Counters of a cache, as GPGPU-Sim keeps them.

use super::{AccessOutcome, FailReason};
use crate::AccessKind;

/// Counters as GPGPU-Sim keeps them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheCounters {
    /// Accesses that hit, by `AccessKind::index()`.
    pub hit: [u64; AccessKind::COUNT],
    /// Accesses to lines on their way.
    pub hit_reserved: [u64; AccessKind::COUNT],
    /// Misses.
    pub miss: [u64; AccessKind::COUNT],
    /// Sector misses.
    pub sector_miss: [u64; AccessKind::COUNT],
    /// Attempts that failed (each retry counts).
    pub reservation_fail: [u64; AccessKind::COUNT],
    /// Accesses merged into an MSHR (these are counted by outcome too).
    pub mshr_hit: [u64; AccessKind::COUNT],
    /// Failed attempts by reason (`FailReason as usize`).
    pub fail: [[u64; FailReason::COUNT]; AccessKind::COUNT],
    /// Cycles in which the data port was busy.
    pub data_port_busy: u64,
    /// Those of them in which it moved the data of hits, and not of lines that leave the cache.
    pub data_port_hits: u64,
    /// Cycles in which the fill port was busy.
    pub fill_port_busy: u64,
}

impl CacheCounters {
    /// `*_total_cache_accesses`: all but failed attempts.
    pub fn accesses(&self) -> u64 {
        self.misses() + self.pending_hits() + self.hits()
    }

    /// Accesses that hit.
    pub fn hits(&self) -> u64 {
        self.hit.iter().sum()
    }

    /// `*_total_cache_misses`: misses and sector misses.
    pub fn misses(&self) -> u64 {
        self.miss.iter().chain(&self.sector_miss).sum()
    }

    /// `*_total_cache_pending_hits`.
    pub fn pending_hits(&self) -> u64 {
        self.hit_reserved.iter().sum()
    }

    /// `*_total_cache_reservation_fails`.
    pub fn reservation_fails(&self) -> u64 {
        self.reservation_fail.iter().sum()
    }

    /// Adds another cache's counters.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.hit, &other.hit),
            (&mut self.hit_reserved, &other.hit_reserved),
            (&mut self.miss, &other.miss),
            (&mut self.sector_miss, &other.sector_miss),
            (&mut self.reservation_fail, &other.reservation_fail),
            (&mut self.mshr_hit, &other.mshr_hit),
        ];
        for (sum, more) in pairs {
            sum.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        for (sum, more) in self.fail.iter_mut().zip(&other.fail) {
            sum.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        self.data_port_busy += other.data_port_busy;
        self.data_port_hits += other.data_port_hits;
        self.fill_port_busy += other.fill_port_busy;
    }

    /// What was counted since `earlier`, a former state of the same counters.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = self.clone();
        let pairs = [
            (&mut delta.hit, &earlier.hit),
            (&mut delta.hit_reserved, &earlier.hit_reserved),
            (&mut delta.miss, &earlier.miss),
            (&mut delta.sector_miss, &earlier.sector_miss),
            (&mut delta.reservation_fail, &earlier.reservation_fail),
            (&mut delta.mshr_hit, &earlier.mshr_hit),
        ];
        for (now, then) in pairs {
            now.iter_mut().zip(then).for_each(|(now, n)| *now -= n);
        }
        for (now, then) in delta.fail.iter_mut().zip(&earlier.fail) {
            now.iter_mut().zip(then).for_each(|(now, n)| *now -= n);
        }
        delta.data_port_busy -= earlier.data_port_busy;
        delta.data_port_hits -= earlier.data_port_hits;
        delta.fill_port_busy -= earlier.fill_port_busy;
        delta
    }

    #[inline]
    pub(super) fn count(&mut self, kind: AccessKind, outcome: AccessOutcome) {
        let kind = kind.index();
        match outcome {
            AccessOutcome::Hit => self.hit[kind] += 1,
            AccessOutcome::HitReserved => self.hit_reserved[kind] += 1,
            AccessOutcome::Miss => self.miss[kind] += 1,
            AccessOutcome::SectorMiss => self.sector_miss[kind] += 1,
            AccessOutcome::ReservationFail(reason) => {
                self.reservation_fail[kind] += 1;
                self.fail[kind][reason as usize] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_undoes_add() {
        let mut one = CacheCounters::default();
        one.count(AccessKind::GlobalRead, AccessOutcome::Hit);
        one.count(
            AccessKind::GlobalWrite,
            AccessOutcome::ReservationFail(FailReason::MissQueueFull),
        );
        one.data_port_busy = 3;
        let mut both = one.clone();
        let mut two = CacheCounters::default();
        two.count(AccessKind::LocalRead, AccessOutcome::SectorMiss);
        two.fill_port_busy = 5;
        both.add(&two);
        assert_eq!(both.since(&one), two);
        assert_eq!(
            (both.hits(), both.accesses(), both.reservation_fails()),
            (1, 2, 1)
        );
    }
}
