//! Definition of the digest of a run: which results it covers.
//!
//! The digest covers the final contents of memory, the kind of outcome, names and times of all
//! launches, and the counters named in [`DIGEST_COUNTERS`], for each kernel and for the whole run.
//! Every other counter stays outside, so that a new one does not change any stored digest. A change
//! of the set, or of what one of its counters counts, gets a new [`DIGEST_SET`].

use crate::result::{Counts, Figures, KernelReport, Outcome};
use std::ops::Bound;
use warploom_base::Digest;

/// Version of the definition. Digests of two versions cannot be compared.
///
/// Version 1 covered every shared counter; results of that time do not state their version.
pub const DIGEST_SET: u32 = 2;

/// Names of the counters that the digest covers. The name of an array, or of a row of one, stands
/// for the sum of its elements.
pub const DIGEST_COUNTERS: &[&str] = &[
    "gpu.atomics",
    "sm.active_cycles",
    "sm.warp_instructions",
    "sm.thread_instructions",
    "sm.slots.issued",
    "sm.resident_warp_cycles",
    "sm.blocks_started",
    "sm.blocks_finished",
    "sm.memory_instructions",
    "sm.memory_transactions",
    "sm.shared_instructions",
    "sm.shared_conflict_cycles",
    "sm.barriers",
    "sm.flits_sent",
    "sm.flits_received",
    "sm.fetches",
    "sm.fetch_cycles",
    "l1d.accesses.hit",
    "l1d.accesses.hit_reserved",
    "l1d.accesses.miss",
    "l1d.accesses.sector_miss",
    "l1i.accesses.hit",
    "l1i.accesses.miss",
    "l1c.accesses.hit",
    "l1c.accesses.miss",
    "l1t.accesses.hit",
    "l1t.accesses.miss",
    "l2.accesses.hit",
    "l2.accesses.hit_reserved",
    "l2.accesses.miss",
    "l2.accesses.sector_miss",
    "dram.requests",
    "dram.reads",
    "dram.writes",
    "dram.activates",
    "dram.data_cycles",
    "noc_to_l2.packets",
    "noc_to_l2.flits",
    "noc_to_sm.packets",
    "noc_to_sm.flits",
];

/// Computes the digest of a run as sixteen hexadecimal digits. `memory` adds the final contents of
/// memory to it; `kernels` are the launches in order, and `totals` the figures of the whole run.
pub fn run_digest(
    memory: impl FnOnce(&mut Digest),
    outcome: &Outcome,
    kernels: &[KernelReport],
    totals: &Figures,
) -> String {
    let mut digest = Digest::new();
    digest.u64(DIGEST_SET.into());
    memory(&mut digest);
    digest.str(outcome.kind());
    for kernel in kernels {
        digest.str(&kernel.name);
        if let Some(concurrent) = &kernel.concurrent {
            digest
                .u64(concurrent.launched_at)
                .u64(concurrent.started_at);
        }
        add_figures(&mut digest, &kernel.figures);
    }
    add_figures(&mut digest, totals);
    digest.hex()
}

fn add_figures(digest: &mut Digest, figures: &Figures) {
    digest.u64(figures.cycles);
    for name in DIGEST_COUNTERS {
        digest.u64(sum_of(&figures.statistics, name));
    }
}

/// Returns the value of a counter, or the sum of an array's elements; 0 if it is not listed.
fn sum_of(counts: &Counts, name: &str) -> u64 {
    let belongs = |other: &str| {
        let rest = other.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    // All names with the prefix follow each other in the order of the map.
    let candidates = counts.range::<str, _>((Bound::Included(name), Bound::Unbounded));
    let candidates = candidates.take_while(|(other, _)| other.starts_with(name));
    let elements = candidates.filter(|(other, _)| belongs(other));
    elements.map(|(_, value)| *value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counters, declare_stats};

    declare_stats! {
        /// Counters that a later version of the simulator might add.
        struct Later in "later" {
            /// Cycles of a new kind.
            cycles: u64 = Cycles;
            /// Accesses of a new kind.
            accesses: [u64; 2] = Accesses, by [&["hit", "miss"]];
        }
    }

    /// Figures in which every counter of the set has a value of its own.
    fn figures() -> Figures {
        let values = DIGEST_COUNTERS.iter().zip(100..);
        Figures {
            cycles: 5000,
            statistics: values.map(|(name, n)| ((*name).to_owned(), n)).collect(),
            ..Figures::default()
        }
    }

    fn digest(figures: &Figures) -> String {
        run_digest(|d| _ = d.u64(7), &Outcome::Finished, &[], figures)
    }

    #[test]
    fn a_new_counter_does_not_change_the_digest() {
        let mut more = figures();
        let later = Later {
            cycles: 3,
            accesses: [4, 5],
        };
        more.statistics.extend(later.named());
        assert!(more.statistics.contains_key("later.accesses.miss"));
        assert_eq!(digest(&more), digest(&figures()));
    }

    #[test]
    fn each_counter_of_the_set_changes_the_digest() {
        for name in DIGEST_COUNTERS {
            let mut changed = figures();
            *changed.statistics.get_mut(*name).expect("a counter of it") += 1;
            assert_ne!(digest(&changed), digest(&figures()), "{name}");
        }
    }

    /// A counter that is 0 is left out of a result.
    #[test]
    fn a_missing_counter_is_zero() {
        let mut zero = figures();
        zero.statistics.insert("sm.barriers".to_owned(), 0);
        let mut missing = zero.clone();
        missing.statistics.remove("sm.barriers");
        assert_eq!(digest(&zero), digest(&missing));
    }

    #[test]
    fn a_row_of_an_array_is_summed() {
        let counts: Counts = [
            ("l2.accesses.hit", 1),
            ("l2.accesses.hit.global_read", 10),
            ("l2.accesses.hit.local_read", 100),
            ("l2.accesses.hit_reserved.global_read", 1000),
        ]
        .map(|(name, n)| (name.to_owned(), n))
        .into();
        assert_eq!(sum_of(&counts, "l2.accesses.hit"), 111);
        assert_eq!(sum_of(&counts, "l2.accesses.hit_reserved"), 1000);
        assert_eq!(sum_of(&counts, "l2.accesses.miss"), 0);
    }

    #[test]
    fn memory_outcome_and_cycles_change_the_digest() {
        let limit = Outcome::CycleLimit { cycles: 5000 };
        let mut later = figures();
        later.cycles += 1;
        let of = |memory: u64, outcome: &Outcome, totals: &Figures| {
            run_digest(|d| _ = d.u64(memory), outcome, &[], totals)
        };
        let plain = of(7, &Outcome::Finished, &figures());
        assert_ne!(of(8, &Outcome::Finished, &figures()), plain);
        assert_ne!(of(7, &limit, &figures()), plain);
        assert_ne!(of(7, &Outcome::Finished, &later), plain);
    }

    /// The message of a fault may be worded better without another digest.
    #[test]
    fn wording_does_not_change_the_digest() {
        let fault = |message: &str| Outcome::Fault {
            message: message.to_owned(),
        };
        let of = |outcome: &Outcome| run_digest(|_| (), outcome, &[], &figures());
        assert_eq!(of(&fault("a")), of(&fault("b")));
        assert_ne!(of(&fault("a")), of(&Outcome::Finished));
    }
}
