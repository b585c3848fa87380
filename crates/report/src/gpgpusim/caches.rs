//! Lines of GPGPU-Sim's report on caches.

use super::line;
use super::tally::{Config, Tally, double, f, get, single};
use std::fmt::Write;
use warploom_stats::result::Counts;

/// GPGPU-Sim's access types, in its order, with ours. GPGPU-Sim counts atomics as reads.
const ACCESSES: [(&str, &[&str]); 11] = [
    ("GLOBAL_ACC_R", &["global_read", "global_atomic"]),
    ("LOCAL_ACC_R", &["local_read"]),
    ("CONST_ACC_R", &["const_read"]),
    ("TEXTURE_ACC_R", &["texture_read"]),
    ("GLOBAL_ACC_W", &["global_write"]),
    ("LOCAL_ACC_W", &["local_write"]),
    ("L1_WRBK_ACC", &["l1_write_back"]),
    ("L2_WRBK_ACC", &["l2_write_back"]),
    ("INST_ACC_R", &["inst_read"]),
    ("L1_WR_ALLOC_R", &["l1_write_allocate"]),
    ("L2_WR_ALLOC_R", &["l2_write_allocate"]),
];
/// GPGPU-Sim's outcomes, in its order, and whether they count as accesses.
const OUTCOMES: [(&str, &str, bool); 6] = [
    ("HIT", "hit", true),
    ("HIT_RESERVED", "hit_reserved", true),
    ("MISS", "miss", true),
    ("RESERVATION_FAIL", "reservation_fail", false),
    ("SECTOR_MISS", "sector_miss", true),
    ("MSHR_HIT", "mshr_hit", false),
];
/// GPGPU-Sim's reasons of failed attempts, in its order and spelling.
const REASONS: [(&str, &str); 5] = [
    ("LINE_ALLOC_FAIL", "line_alloc"),
    ("MISS_QUEUE_FULL", "miss_queue_full"),
    ("MSHR_ENRTY_FAIL", "mshr_entry"),
    ("MSHR_MERGE_ENRTY_FAIL", "mshr_merge"),
    ("MSHR_RW_PENDING", "mshr_rw_pending"),
];

/// Counters of one cache, or of several caches together.
struct CacheView<'a> {
    counts: &'a Counts,
    /// Prefixes of the counters' names.
    groups: &'a [&'a str],
}

impl CacheView<'_> {
    fn sum(&self, table: &str, kinds: &[&str], label: &str, label_first: bool) -> u64 {
        let mut sum = 0;
        for group in self.groups {
            for kind in kinds {
                sum += if label_first {
                    get(self.counts, &format!("{group}.{table}.{label}.{kind}"))
                } else {
                    get(self.counts, &format!("{group}.{table}.{kind}.{label}"))
                };
            }
        }
        sum
    }

    fn outcome(&self, kinds: &[&str], outcome: &str) -> u64 {
        self.sum("accesses", kinds, outcome, true)
    }

    fn all(&self, outcomes: &[&str]) -> u64 {
        let kinds = || ACCESSES.iter().flat_map(|(_, kinds)| kinds.iter());
        let of = |outcome: &&str| -> u64 { kinds().map(|k| self.outcome(&[k], outcome)).sum() };
        outcomes.iter().map(of).sum()
    }

    fn accesses(&self) -> u64 {
        self.all(&["hit", "hit_reserved", "miss", "sector_miss"])
    }

    fn misses(&self) -> u64 {
        self.all(&["miss", "sector_miss"])
    }

    /// Writes the line `name[0]: Access = ...`.
    fn one_line(&self, text: &mut String, name: &str) {
        let (accesses, misses) = (self.accesses(), self.misses());
        let _ = writeln!(
            text,
            "{name}: Access = {accesses}, Miss = {misses}, Miss_rate = {}, Pending_hits = {}, \
             Reservation_fails = {}",
            f(double(misses, accesses), 0, 3),
            self.all(&["hit_reserved"]),
            self.all(&["reservation_fail"]),
        );
    }

    /// Writes `name_total_cache_accesses = ...` and the following lines.
    fn totals(&self, text: &mut String, name: &str) {
        let (accesses, misses) = (self.accesses(), self.misses());
        let name = |what: &str| format!("{name}_total_cache_{what}");
        line(text, &name("accesses"), accesses);
        line(text, &name("misses"), misses);
        if accesses > 0 {
            line(text, &name("miss_rate"), f(double(misses, accesses), 0, 4));
        }
        line(text, &name("pending_hits"), self.all(&["hit_reserved"]));
        line(
            text,
            &name("reservation_fails"),
            self.all(&["reservation_fail"]),
        );
    }

    fn ports(&self, text: &mut String, name: &str, cycles: u64) {
        for port in ["data_port", "fill_port"] {
            let busy = get(self.counts, &format!("{}.{port}_busy", self.groups[0]));
            let share = if cycles == 0 {
                0.0
            } else {
                single(busy, cycles)
            };
            line(text, &format!("{name}_{port}_util"), f(share, 0, 3));
        }
    }

    fn breakdown(&self, text: &mut String, name: &str) {
        for (access, kinds) in ACCESSES {
            for (outcome, ours, _) in OUTCOMES {
                let count = self.outcome(kinds, ours);
                line(text, &format!("\t{name}[{access}][{outcome}]"), count);
            }
        }
        for (access, kinds) in ACCESSES {
            let counted = OUTCOMES.iter().filter(|(.., is_access)| *is_access);
            let total: u64 = counted.map(|(_, ours, _)| self.outcome(kinds, ours)).sum();
            if total > 0 {
                line(text, &format!("\t{name}[{access}][TOTAL_ACCESS]"), total);
            }
        }
    }

    fn fails(&self, text: &mut String, name: &str) {
        for (access, kinds) in ACCESSES {
            for (reason, ours) in REASONS {
                let count = self.sum("fails", kinds, ours, false);
                if count > 0 {
                    line(text, &format!("\t{name}[{access}][{reason}]"), count);
                }
            }
        }
    }
}

/// Writes the lines of the SMs' caches.
pub(super) fn core(text: &mut String, all: &Tally, config: Config<'_>) {
    let view = |group| CacheView {
        counts: &all.whole,
        groups: group,
    };
    text.push_str("\n========= Core cache stats =========\n");
    text.push_str("L1I_cache:\n");
    view(&["l1i"]).totals(text, "\tL1I");
    if config.is_on("l1d.enabled") {
        text.push_str("L1D_cache:\n");
        for (i, counts) in all.parts.sms.iter().enumerate() {
            let core = CacheView {
                counts,
                groups: &["l1d"],
            };
            core.one_line(text, &format!("\tL1D_cache_core[{i}]"));
        }
        view(&["l1d"]).totals(text, "\tL1D");
        view(&["l1d"]).ports(text, "\tL1D_cache", all.get("sm.active_cycles"));
    }
    text.push_str("L1C_cache:\n");
    view(&["l1c"]).totals(text, "\tL1C");
    text.push_str("L1T_cache:\n");
    view(&["l1t"]).totals(text, "\tL1T");
    let together = view(&["l1i", "l1d", "l1c", "l1t"]);
    text.push_str("\nTotal_core_cache_stats:\n");
    together.breakdown(text, "Total_core_cache_stats_breakdown");
    text.push_str("\nTotal_core_cache_fail_stats:\n");
    together.fails(text, "Total_core_cache_fail_stats_breakdown");
}

/// Writes the lines of the L2.
pub(super) fn l2(text: &mut String, all: &Tally, config: Config<'_>) {
    if !config.is_on("l2.enabled") {
        return;
    }
    text.push_str("\n========= L2 cache stats =========\n");
    let groups: &[&str] = &["l2"];
    for (i, counts) in all.parts.banks.iter().enumerate() {
        CacheView { counts, groups }.one_line(text, &format!("L2_cache_bank[{i}]"));
    }
    let counts = &all.whole;
    let view = CacheView { counts, groups };
    view.totals(text, "L2");
    text.push_str("L2_total_cache_breakdown:\n");
    view.breakdown(text, "L2_cache_stats_breakdown");
    text.push_str("L2_total_cache_reservation_fail_breakdown:\n");
    view.fails(text, "L2_cache_stats_fail_breakdown");
    view.ports(text, "L2_cache", all.get("partition.cycles"));
}
