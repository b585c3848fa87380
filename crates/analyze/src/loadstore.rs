//! Reasons for which load/store units are full: the largest of `sm.ldst_stalls` and, where L1D
//! refuses accesses, the largest of `l1d.fails` of the same kind of access.

use warploom_policy::utilisation::sum;
use warploom_stats::result::Counts;

/// Reason for which a load/store unit cannot finish its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Every line of a set of L1D is reserved for a miss on its way.
    Lines,
    /// The queue of misses and writes from L1D to the network is full.
    MissQueue,
    /// No MSHR of L1D is free.
    Mshrs,
    /// The MSHR of a line holds as many requests as it can.
    MshrRequests,
    /// A read waits for a line that a write fetches into L1D.
    WritePending,
    /// A cache takes no further miss, and no counter tells the reason.
    Cache,
    /// Lanes of an access use the same bank of shared memory.
    Conflicts,
    /// Transactions of an access use the same bank of L1D.
    Banks,
    /// The network has no room.
    Network,
    /// An access is split into several transactions.
    Transactions,
    /// The data port of L1D is busy.
    DataPort,
}

/// The reason for most stalls of the load/store units, and the accesses that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullUnit {
    pub stall: Stall,
    /// Memory that the accesses use, a label of `sm.ldst_stalls`.
    pub stage: &'static str,
    /// True if most of these accesses are atomics on global memory, which share a stage with loads.
    pub is_atomic: bool,
}

/// Labels of `sm.ldst_stalls` for what an instruction accesses.
const STAGES: [&str; 7] = [
    "global_load",
    "global_store",
    "local_load",
    "local_store",
    "shared",
    "constant",
    "texture",
];
/// Labels of `sm.ldst_stalls` for reasons.
const REASONS: [&str; 5] = [
    "reservation",
    "bank_conflict",
    "network",
    "coalesce",
    "data_port",
];
/// Labels of `l1d.fails` for reasons.
const REFUSALS: [(&str, Stall); 5] = [
    ("line_alloc", Stall::Lines),
    ("miss_queue_full", Stall::MissQueue),
    ("mshr_entry", Stall::Mshrs),
    ("mshr_merge", Stall::MshrRequests),
    ("mshr_rw_pending", Stall::WritePending),
];

impl FullUnit {
    /// The largest reason, and the accesses that have most of its stalls; `None` without stalls.
    pub(crate) fn of(counts: &Counts) -> Option<Self> {
        let reason = REASONS.into_iter().max_by_key(|r| stalls(counts, r))?;
        let stage = STAGES
            .into_iter()
            .max_by_key(|stage| stalls_of(counts, stage, reason))?;
        let stalled = stalls_of(counts, stage, reason);
        let stall = match (reason, stage) {
            ("reservation", _) => refusal(counts, stage, 0),
            ("bank_conflict", "shared") => Stall::Conflicts,
            // A bank of L1D with a latency queue fills up behind an access that L1D refuses.
            ("bank_conflict", _) => match refusal(counts, stage, stalled / 2) {
                Stall::Cache => Stall::Banks,
                refused => refused,
            },
            ("network", _) => Stall::Network,
            ("coalesce", _) => Stall::Transactions,
            _ => Stall::DataPort,
        };
        let is_atomic = stage == "global_load" && mostly_atomics(counts, stall);
        (stalled > 0).then_some(Self {
            stall,
            stage,
            is_atomic,
        })
    }

    /// Cycles of stalls for the largest reason, over all kinds of accesses.
    pub(crate) fn largest(counts: &Counts) -> u64 {
        let all = REASONS.into_iter().map(|reason| stalls(counts, reason));
        all.max().unwrap_or(0)
    }

    /// True if stores wait.
    pub(crate) fn is_store(self) -> bool {
        self.stage.ends_with("_store")
    }

    /// The accesses that wait, in words.
    pub(crate) fn accesses(self) -> &'static str {
        match self.stage {
            "global_store" => "stores",
            "local_load" => "loads from local memory",
            "local_store" => "stores to local memory",
            "shared" => "accesses to shared memory",
            "constant" => "reads of constants",
            "texture" => "reads of textures",
            _ if self.is_atomic => "atomics",
            _ => "loads",
        }
    }

    /// The cache of these accesses, in words.
    pub(crate) fn cache(self) -> &'static str {
        match self.stage {
            "constant" => "the constant cache",
            "texture" => "the texture cache",
            _ => "L1D",
        }
    }
}

/// Cycles in which load/store units were stalled for a reason.
fn stalls(counts: &Counts, reason: &str) -> u64 {
    let stages = STAGES.into_iter();
    stages.map(|stage| stalls_of(counts, stage, reason)).sum()
}

fn stalls_of(counts: &Counts, stage: &str, reason: &str) -> u64 {
    let name = format!("sm.ldst_stalls.{stage}.{reason}");
    counts.get(&name).copied().unwrap_or(0)
}

/// True if atomics outnumber loads among the accesses of global memory that wait: those that L1D
/// refuses, or else those that are sent to L2.
fn mostly_atomics(counts: &Counts, stall: Stall) -> bool {
    let refused = |kind: &str| sum(counts, &format!("l1d.fails.{kind}."));
    let sent = |kind: &str| sum(counts, &format!("sm.packets_sent.{kind}"));
    let is_refused = REFUSALS.iter().any(|(_, refusal)| *refusal == stall);
    match is_refused {
        true => refused("global_atomic") > refused("global_read"),
        false => sent("global_atomic") > sent("global_read"),
    }
}

/// The most frequent reason for which L1D refuses accesses of a stage, if it refused more than
/// `least` attempts; else `Stall::Cache`.
fn refusal(counts: &Counts, stage: &str, least: u64) -> Stall {
    let kinds: &[&str] = match stage {
        "global_load" => &["global_read", "global_atomic"],
        "global_store" => &["global_write"],
        "local_load" => &["local_read"],
        "local_store" => &["local_write"],
        _ => &[],
    };
    let refused = |reason: &str| {
        let of = |kind: &&str| sum(counts, &format!("l1d.fails.{kind}.{reason}"));
        kinds.iter().map(of).sum::<f64>()
    };
    let all: f64 = REFUSALS.iter().map(|(reason, _)| refused(reason)).sum();
    let more = |a: &(&str, Stall), b: &(&str, Stall)| refused(a.0).total_cmp(&refused(b.0));
    match REFUSALS.into_iter().max_by(more) {
        Some((_, stall)) if all > least as f64 => stall,
        _ => Stall::Cache,
    }
}

#[cfg(test)]
mod tests {
    use super::{FullUnit, Stall};
    use warploom_stats::result::Counts;

    fn found(counts: &[(&str, u64)]) -> Option<(Stall, &'static str)> {
        let named = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
        let counts: Counts = named.collect();
        FullUnit::of(&counts).map(|unit| (unit.stall, unit.stage))
    }

    /// Counters of a transposition with scattered stores on `gtx480`, whose stores allocate nothing
    /// in L1D.
    #[test]
    fn stores_that_wait_are_told_from_loads_that_find_no_line() {
        let mut counts = vec![
            ("sm.ldst_stalls.global_load.coalesce", 32_768),
            ("sm.ldst_stalls.global_load.reservation", 3_000_295),
            ("sm.ldst_stalls.global_store.reservation", 8_989_323),
            ("l1d.fails.global_read.line_alloc", 2_016_513),
            ("l1d.fails.global_read.miss_queue_full", 983_782),
            ("l1d.fails.global_write.miss_queue_full", 8_989_323),
        ];
        assert_eq!(found(&counts), Some((Stall::MissQueue, "global_store")));
        counts.remove(2);
        assert_eq!(found(&counts), Some((Stall::Lines, "global_load")));
    }

    #[test]
    fn a_bank_of_l1d_is_full_because_it_refuses_or_because_it_is_shared() {
        let full = ("sm.ldst_stalls.global_store.bank_conflict", 30_375);
        let refused = ("l1d.fails.global_write.miss_queue_full", 137_222);
        let stores = "global_store";
        assert_eq!(found(&[full, refused]), Some((Stall::MissQueue, stores)));
        assert_eq!(found(&[full]), Some((Stall::Banks, stores)));
    }

    #[test]
    fn reasons_without_a_counter_of_l1d_keep_their_own() {
        let cases = [
            ("sm.ldst_stalls.shared.bank_conflict", Stall::Conflicts),
            ("sm.ldst_stalls.constant.reservation", Stall::Cache),
            ("sm.ldst_stalls.global_load.network", Stall::Network),
            ("sm.ldst_stalls.global_load.coalesce", Stall::Transactions),
            ("sm.ldst_stalls.global_load.data_port", Stall::DataPort),
        ];
        for (name, stall) in cases {
            assert_eq!(found(&[(name, 1)]).map(|(found, _)| found), Some(stall));
        }
        assert_eq!(found(&[]), None);
    }

    /// Counters of atomics on one word on `gtx480`: each lane is a packet of its own.
    #[test]
    fn atomics_that_wait_are_told_from_loads() {
        let accesses = |counts: &[(&str, u64)]| {
            let named = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
            FullUnit::of(&named.collect()).map(FullUnit::accesses)
        };
        let mut counts = vec![
            ("sm.ldst_stalls.global_load.network", 2_864_521),
            ("sm.packets_sent.global_read", 512),
            ("sm.packets_sent.global_atomic", 65_536),
        ];
        assert_eq!(accesses(&counts), Some("atomics"));
        counts[1].1 = 70_000;
        assert_eq!(accesses(&counts), Some("loads"));
        // What L1D refuses decides where it refuses accesses.
        counts[0].0 = "sm.ldst_stalls.global_load.reservation";
        counts.push(("l1d.fails.global_atomic.miss_queue_full", 5));
        assert_eq!(accesses(&counts), Some("atomics"));
        counts[0].0 = "sm.ldst_stalls.global_store.reservation";
        assert_eq!(accesses(&counts), Some("stores"));
    }

    #[test]
    fn each_refusal_of_l1d_is_named() {
        let cases = [
            ("line_alloc", Stall::Lines),
            ("miss_queue_full", Stall::MissQueue),
            ("mshr_entry", Stall::Mshrs),
            ("mshr_merge", Stall::MshrRequests),
            ("mshr_rw_pending", Stall::WritePending),
        ];
        for (reason, stall) in cases {
            let name = format!("l1d.fails.local_read.{reason}");
            let stalls = ("sm.ldst_stalls.local_load.reservation", 9);
            assert_eq!(found(&[stalls, (&name, 9)]), Some((stall, "local_load")));
        }
    }
}
