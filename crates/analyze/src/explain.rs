//! Explanation of a kernel's time in five sentences: the verdict, the schedulers' cycles, the warps
//! on an SM, the memory system, and a next step. Every sentence states its figures.

use crate::accesses::Accesses;
use crate::advice::{Facts, HALF, limit_in_words, nearest, nearest_or_units, percent, plural};
use crate::allocation::Allocation;
use crate::analysis::KernelAnalysis;
use crate::atomics::Atomics;
use crate::hot_banks::Hot;
use crate::loadstore::{FullUnit, Stall};
use crate::memories::constants_in_words;
use crate::occupancy::WARP;
use crate::phases::Phases;
use crate::shared::{SharedWait, conflict_share, width_in_words};
use crate::verdict::{Bound, Evidence, at_barriers, conflicts_beside, issuing};
use warploom_names::shortened;
use warploom_policy::utilisation::{Machine, Part};
use warploom_stats::result::Figures;

/// Share of the look-ups of L2 that find what copies left from which it is named.
const FROM_COPIES: f64 = 0.1;
/// Share by which a part is used more while it has work from which that is named.
const MORE: f64 = 0.05;
/// Share of the SMs' cycles from which a reason for no block is named.
const WORTH_NAMING: f64 = 0.01;

/// Five sentences on a kernel.
pub(crate) fn explanation(
    machine: &Machine<'_>,
    analysis: &KernelAnalysis,
    figures: &Figures,
) -> Vec<String> {
    let subject = Subject::new(machine, analysis, figures);
    let bound = analysis.bound;
    vec![
        subject.bound_in_words(bound) + &subject.close_in_words(bound) + &subject.launch_in_words(),
        subject.schedulers(bound),
        subject.warps(),
        subject.memory(),
        subject.next_step(bound),
    ]
}

/// A kernel with everything that is known about it.
pub(crate) struct Subject<'a> {
    pub machine: &'a Machine<'a>,
    pub analysis: &'a KernelAnalysis,
    pub figures: &'a Figures,
    pub facts: Facts,
    /// Reason for which load/store units are full, if they are at all.
    pub unit: Option<FullUnit>,
    pub phases: Phases,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(
        machine: &'a Machine<'a>,
        analysis: &'a KernelAnalysis,
        figures: &'a Figures,
    ) -> Self {
        let spec = machine.spec;
        let mut facts = Facts::new(spec, figures);
        let held = &analysis.occupancy;
        facts.shared_wait = facts.shared_wait.map(|wait| wait.on_sm(spec, held));
        Self {
            machine,
            analysis,
            figures,
            facts,
            unit: FullUnit::of(&figures.statistics),
            phases: Phases::of(spec, analysis.launches, figures, held),
        }
    }
}

impl Subject<'_> {
    /// The bound on the SMs that hold a block.
    pub(crate) fn within_sms(&self) -> Bound {
        self.evidence().bound_within_sms()
    }

    pub(crate) fn evidence(&self) -> Evidence<'_> {
        let analysis = self.analysis;
        let used = (&analysis.utilisation, &analysis.utilisation_with_blocks);
        Evidence::new(
            used,
            self.figures,
            &self.facts,
            analysis.occupancy.block_threads,
            self.phases.launch,
        )
    }

    /// Share of the scheduler cycles with a cause.
    pub(crate) fn share(&self, cause: &str) -> f64 {
        self.analysis.stalls.get(cause).copied().unwrap_or(0.0)
    }

    /// Clause on shared memory beside a larger reason for full load/store units.
    fn conflicts_in_words(&self) -> String {
        match self.conflicts_beside() {
            Some(wait) => format!(", and because {}", wait.in_words()),
            None => String::new(),
        }
    }

    /// Wait of accesses to shared memory, if shared memory is the part nearest to its saturation.
    pub(crate) fn slow_shared(&self) -> Option<SharedWait> {
        let wait = self.facts.shared_wait;
        wait.filter(|_| nearest(self.analysis).is_shared)
    }

    /// Clause on shared memory that makes loads slow.
    fn slow_shared_in_words(&self) -> String {
        self.slow_shared()
            .map_or_else(String::new, |wait| format!("; {}", wait.in_words()))
    }

    /// Name of the kernel in a sentence.
    pub(crate) fn name(&self) -> String {
        shortened(&self.analysis.kernel, warploom_names::WIDTH)
    }

    pub(crate) fn conflicts_beside(&self) -> Option<SharedWait> {
        conflicts_beside(&self.facts, &self.figures.statistics, self.unit?)
    }

    fn bound_in_words(&self, bound: Bound) -> String {
        let kernel = self.name();
        match bound {
            Bound::Part(part) => self.part_in_words(part),
            Bound::Shared => format!(
                "Shared memory bounds `{kernel}`: it is busy in {} of the cycles{}, {}{}.",
                percent(self.analysis.utilisation.shared),
                self.with_blocks_in_words(
                    self.analysis.utilisation.shared,
                    self.analysis.utilisation_with_blocks.shared,
                    "SMs"
                ),
                match self.facts.shared_wait {
                    Some(wait) => format!("and {}", wait.in_words()),
                    None => match conflict_share(&self.figures.statistics) {
                        Some(share) => format!("{} of that for bank conflicts", percent(share)),
                        None => "with many accesses and hardly a bank conflict".to_owned(),
                    },
                },
                width_in_words(&self.figures.statistics)
            ),
            Bound::IdleSms if self.evidence().is_mostly_launch() => format!(
                "The launch itself bounds `{kernel}`: {}{}. In the time with blocks, the bound is: \
                 {}.",
                self.launch_takes(),
                match self.idle_after_launch_in_words() {
                    told if told.is_empty() => told,
                    told => format!("; {told}"),
                },
                self.within_sms_in_words()
            ),
            Bound::IdleSms => format!(
                "Idle SMs bound `{kernel}`: they hold no block in {} of their cycles{}. Where they \
                 hold one, the bound is: {}.",
                percent(1.0 - self.facts.active.unwrap_or(0.0)),
                self.idle_in_words(),
                self.within_sms_in_words()
            ),
            Bound::Divergence => format!(
                "Diverged warps bound `{kernel}`: an instruction takes effect in {:.1} of {WARP} \
                 lanes, so that the branches of a warp are issued one after the other.",
                self.facts.lanes.unwrap_or(0.0)
            ),
            bound => self.largest_in_words(bound),
        }
    }

    /// Name of the bound on the SMs that hold a block, with the use of a part in that time.
    fn within_sms_in_words(&self) -> String {
        let bound = self.within_sms();
        match bound {
            Bound::Part(part) if part != Part::Scheduler => {
                let used = self.analysis.utilisation_with_blocks.of(part);
                format!("{} ({} used in that time)", bound.name(), percent(used))
            }
            _ => bound.name().to_owned(),
        }
    }

    fn part_in_words(&self, part: Part) -> String {
        let kernel = self.name();
        let (all, inside) = (
            &self.analysis.utilisation,
            &self.analysis.utilisation_with_blocks,
        );
        let used = match part {
            Part::Scheduler => issuing(all, self.figures),
            part => all.of(part),
        };
        let inside = match part {
            Part::Scheduler => {
                let active = self.facts.active.unwrap_or(1.0).max(1e-9);
                self.with_blocks_in_words(used, (used / active).min(1.0), "SMs")
            }
            Part::L1d => self.with_blocks_in_words(used, inside.l1d, "SMs"),
            part => self.with_blocks_in_words(used, inside.of(part), "most SMs"),
        };
        let used = percent(used);
        match (part, self.analysis.throughput.of(part)) {
            (Part::Scheduler, _) | (_, None) => format!(
                "Instruction issue bounds `{kernel}`: the schedulers issue {used} of what they \
                 can{inside}."
            ),
            (Part::Dram, Some(of)) => format!(
                "DRAM bounds `{kernel}`: {:.0} of {:.0} GB/s move, {used} of the peak{inside}.",
                of.used_gb_per_s, of.sustainable_gb_per_s
            ),
            (Part::L2, Some(_)) => format!(
                "The L2 banks bound `{kernel}`: they are in use for {used} of their cycles{inside}{}.",
                match self.facts.recovery {
                    Some(stores) => format!(", mostly for stores: {}", stores.in_words()),
                    None => self.scattered_in_words(),
                }
            ),
            (_, Some(of)) => format!(
                "The {} bounds `{kernel}`: {:.0} of the {:.0} GB/s that it sustains, {used}{inside}{}.",
                part.name(),
                of.used_gb_per_s,
                of.sustainable_gb_per_s,
                self.scattered_in_words()
            ),
        }
    }

    /// Clause on the use of a part while there are blocks, if it differs from that over all cycles.
    fn with_blocks_in_words(&self, all: f64, with_blocks: f64, of: &str) -> String {
        match with_blocks > all + MORE {
            true => format!(" ({} while {of} hold a block)", percent(with_blocks)),
            false => String::new(),
        }
    }

    /// Clause on accesses that are not coalesced.
    fn scattered_in_words(&self) -> String {
        match self.facts.scattered() {
            Some(kind) => format!(
                ", because {} is split into {:.1} transactions{}",
                kind.one,
                kind.transactions,
                match kind.are_local() {
                    true => format!(" ({} are to local memory)", percent(kind.local)),
                    false => String::new(),
                }
            ),
            None => String::new(),
        }
    }

    /// Sentence on a bound that is a cause in `sm.slots`.
    pub(crate) fn cause_in_words(&self, bound: Bound) -> String {
        let kernel = self.name();
        let share = percent(bound.waits(self.figures));
        let part = nearest_or_units(self.analysis);
        let idle = format!(
            "none of schedulers, function units, memories and networks is used above {} while SMs \
             hold blocks ({}){}",
            percent(part.used),
            part.name,
            self.more_without_warp(bound)
        );
        match bound {
            Bound::Loads => format!(
                "The latency of loads{} bounds `{kernel}`: in {share} of the scheduler cycles its \
                 warps wait for one, and {idle}{}{}.",
                self.loaded_from(),
                self.slow_shared_in_words(),
                self.queues_in_words()
            ),
            Bound::SharedLoads => format!(
                "The latency of shared memory bounds `{kernel}`: in {share} of the scheduler cycles \
                 its warps wait for loads from it, which take {} cycles{}, and {idle}.",
                self.machine.spec.latencies().shared,
                match self.facts.shared_wait {
                    Some(wait) => format!(" and more, because {}", wait.in_words()),
                    None => String::new(),
                }
            ),
            Bound::Arithmetic => format!(
                "The latency of arithmetic bounds `{kernel}`: in {share} of the scheduler cycles \
                 its warps wait for results, and {idle}."
            ),
            Bound::Units => format!(
                "Function units bound `{kernel}`: in {share} of the scheduler cycles instructions \
                 wait for one that is taken{}.",
                self.unit_in_words()
            ),
            Bound::Operands => format!(
                "The operand collectors bound `{kernel}`: in {share} of the scheduler cycles \
                 instructions wait there for registers, whose banks serve {} of the reads that \
                 they can.",
                percent(self.analysis.utilisation.registers)
            ),
            Bound::HotBanks => {
                let hot = self.evidence().hot_banks();
                hot.map_or_else(String::new, |hot| hot.in_words(&kernel))
            }
            Bound::Fences => format!(
                "Fences bound `{kernel}`: in {share} of the scheduler cycles all warps wait there \
                 for their accesses."
            ),
            Bound::Atomics => self.atomics_in_words(&share),
            Bound::Barriers => format!(
                "Barriers bound `{kernel}`: in {share} of the scheduler cycles all warps wait at \
                 barriers, at fences or for atomics{}.",
                self.warps_at_barriers_in_words()
            ),
            Bound::Fetch => format!(
                "The fetch of instructions bounds `{kernel}`: in {share} of the scheduler cycles \
                 no warp has a decoded instruction."
            ),
            Bound::Policy => self.policy_in_words(&share, &idle),
            _ => format!(
                "The load/store units bound `{kernel}`: {}{}{}{}{}.",
                self.full_in_words(),
                self.fills_in_words(),
                self.conflicts_in_words(),
                self.held_in_words(),
                self.queues_in_words()
            ),
        }
    }

    /// Sentences on a policy that holds warps back in a share of the cycles. A part that would be
    /// the bound without it comes first.
    fn policy_in_words(&self, share: &str, idle: &str) -> String {
        let (fullest, also) = match self.analysis.bound_without_policy {
            Some(Bound::Part(part)) => {
                let used = percent(self.analysis.utilisation_with_blocks.of(part));
                let name = part.name();
                let fullest = format!(
                    "The fullest part, {name}, is used at {used} of its peak while SMs hold \
                     blocks; the"
                );
                (fullest, String::new())
            }
            _ => ("The".to_owned(), format!(", and {idle}")),
        };
        format!(
            "{fullest} scheduling policy holds ready warps of `{}` back in {share} of the \
             scheduler cycles, more than any other cause{also}. Whether that costs time, cycles \
             under another policy tell.",
            self.name()
        )
    }

    /// Sentence on atomics as the bound, for which all warps wait in a share of the cycles.
    fn atomics_in_words(&self, share: &str) -> String {
        let kernel = self.name();
        let (of, wait) = match self.facts.atomic_memory {
            Some(Atomics::Shared) => (" of shared memory", self.facts.shared_wait),
            _ => ("", None),
        };
        let wait = wait.filter(|wait| wait.is_atomic);
        let wait = wait.map_or_else(String::new, |wait| format!("; {}", wait.in_words()));
        format!(
            "The latency of atomics{of} bounds `{kernel}`: in {share} of the scheduler cycles all \
             warps wait for theirs{wait}."
        )
    }

    /// Clause on the share of warps that wait at barriers, if it is worth naming.
    fn warps_at_barriers_in_words(&self) -> String {
        let waiting = at_barriers(&self.figures.statistics);
        match waiting > WORTH_NAMING {
            true => format!(
                ", and on average {} of the warps on an SM wait at one",
                percent(waiting)
            ),
            false => String::new(),
        }
    }

    /// Clause on loads that wait in queues, if they do for most of their time.
    fn queues_in_words(&self) -> String {
        match self.facts.queueing > HALF {
            true => format!(
                "; accesses spend {} of their time in queues of the memory system",
                percent(self.facts.queueing)
            ),
            false => String::new(),
        }
    }

    /// Clause on what fills load/store units: accesses to shared memory, or a reason to wait.
    fn fills_in_words(&self) -> String {
        match (self.fewer_shared(), self.unit) {
            (Some(_), _) => format!(
                ", most often with accesses to shared memory, which take {} of their cycles{}",
                percent(self.analysis.utilisation_with_blocks.shared),
                width_in_words(&self.figures.statistics)
            ),
            (None, Some(unit)) => self.reason_in_words(unit),
            (None, None) => String::new(),
        }
    }

    /// Clause on the reason for which load/store units are full.
    fn reason_in_words(&self, unit: FullUnit) -> String {
        let (l1d, accesses, cache) = (&self.machine.spec.l1d, unit.accesses(), unit.cache());
        let kind = self.split_in(unit);
        let reason = match unit.stall {
            Stall::Lines => format!(
                "{accesses} find all lines of their set in {cache} reserved for misses on their \
                 way{} (l1d.sets is {}, l1d.ways {})",
                self.spared_in_words(),
                l1d.sets,
                l1d.ways
            ),
            Stall::MissQueue => format!(
                "{accesses} find the queue from {cache} to the network full (l1d.miss_queue is {}): \
                 the memory system takes requests more slowly than they come",
                l1d.miss_queue
            ),
            Stall::Mshrs => format!(
                "{accesses} find no free MSHR in {cache} (l1d.mshr_entries is {})",
                l1d.mshr_entries
            ),
            Stall::MshrRequests => format!(
                "more {accesses} wait for a line than its MSHR in {cache} can hold (l1d.mshr_merge \
                 is {})",
                l1d.mshr_merge
            ),
            Stall::WritePending => format!(
                "{accesses} wait for lines that stores fetch into {cache} (l1d.write_allocate)"
            ),
            Stall::Cache => {
                format!("{cache} has no room for another miss, and {accesses} wait for it")
            }
            Stall::Conflicts => self.facts.shared_wait.map_or_else(
                || {
                    let width = width_in_words(&self.figures.statistics);
                    format!("accesses to shared memory wait for each other{width}")
                },
                SharedWait::in_words,
            ),
            Stall::Banks => format!(
                "{cache} takes {:.1} transactions of {} one after the other",
                kind.transactions, kind.one
            ),
            Stall::Network => format!("the network does not take further {accesses}"),
            Stall::Transactions if unit.stage == "constant" => {
                "the lanes of a read of constants use different words, which are read one after the \
                 other"
                    .to_owned()
            }
            Stall::Transactions => format!(
                "{} is split into {:.1} transactions",
                kind.one, kind.transactions
            ),
            Stall::DataPort => format!("the data port of {cache} is busy"),
        };
        let again = self.fetched_again().map_or_else(String::new, |share| {
            let again = percent(share);
            format!(
                ", and lines leave L1D before all of their words are used, since {again} of the \
                 loads that miss there find in L2 what was loaded before"
            )
        });
        format!(", mostly because {reason}{again}")
    }

    /// Clause on written lines of L1D that are not replaced.
    fn spared_in_words(&self) -> String {
        match self.machine.spec.l1d.write_ratio_percent {
            0 => String::new(),
            percent => format!(
                ", or written, and not replaced while less than {percent}% of all lines are \
                 (l1d.write_ratio_percent)"
            ),
        }
    }

    /// How long load/store units are full: by the cycles in which schedulers wait for them, or
    /// where loads wait for longer, by those in which they have an access that they cannot finish.
    fn full_in_words(&self) -> String {
        let (full, loads) = (
            Bound::LoadStore.waits(self.figures),
            self.share("memory_dependence"),
        );
        match full < loads {
            true => format!(
                "they have an access that they have not finished in {} of the cycles with a block",
                percent(self.facts.units_busy)
            ),
            false => format!("they are full in {} of the scheduler cycles", percent(full)),
        }
    }

    fn schedulers(&self, bound: Bound) -> String {
        // Idle SMs and long launches have a sentence of their own.
        let (idle, of) = match bound {
            Bound::IdleSms => (self.share("no_warp"), "of their cycles with warps"),
            _ if self.has_long_launch() => (self.phases.launch, "of their cycles after the launch"),
            _ => (0.0, "of their cycles"),
        };
        let with_work = (1.0 - idle).max(1e-9);
        let issued = percent(self.share("issued") / with_work);
        let waits = self.analysis.stalls.iter();
        let waits = waits.filter(|(cause, _)| *cause != "issued");
        let waits = waits.map(|(cause, share)| match cause.as_str() {
            "no_warp" => (cause, share - idle),
            _ => (cause, *share),
        });
        match waits.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((cause, share)) if share > 0.0 => format!(
                "Schedulers issue in {issued} {of}, and wait most often, in {}, {} ({}).",
                percent(share / with_work),
                self.because(cause),
                self.label(cause)
            ),
            _ => format!("Schedulers issue in {issued} {of}."),
        }
    }

    fn warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let lanes = self.facts.lanes.unwrap_or(0.0);
        format!(
            "An SM with work holds {:.1} of {} warps on average: {} {} of {} threads, limited by \
             {}{}{}; an instruction that takes effect does so in {lanes:.1} of {WARP} lanes.",
            held.resident_warps,
            held.warp_slots,
            held.blocks_per_sm,
            plural(held.blocks_per_sm, "block"),
            held.block_threads,
            limit_in_words(self.analysis),
            self.without_warp_in_words(),
            match self.idle_beside() {
                Some(idle) => format!("; {idle}"),
                None => String::new(),
            }
        )
    }

    fn memory(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        let (facts, dram) = (&self.facts, self.analysis.throughput.dram);
        let counts = &self.figures.statistics;
        let moved = format!(
            "DRAM moves {:.0} of {:.0} GB/s ({}){}",
            dram.used_gb_per_s,
            dram.peak_gb_per_s,
            percent(self.analysis.utilisation.dram),
            facts
                .allocation
                .map_or_else(String::new, Allocation::in_words)
        );
        match facts.transactions {
            Some(mean) => format!(
                "{moved}; L1D hits {} of its accesses{}, L2 {}{}{}; {}.",
                rate(facts.l1d_hit_rate),
                self.near_in_words(),
                rate(facts.l2_hit_rate),
                self.copies_in_words(),
                match self.analysis.bound {
                    Bound::HotBanks => String::new(),
                    _ => Hot::beside(self.figures),
                },
                match facts.accesses.as_slice() {
                    // Results of earlier versions do not count kinds of accesses.
                    [] => format!("an access takes {mean:.1} transactions"),
                    kinds => {
                        let constants = constants_in_words(self.machine.spec, counts);
                        Accesses::in_words(kinds) + &constants
                    }
                }
            ),
            None => format!("{moved}; the kernel accesses neither global nor local memory."),
        }
    }

    /// Clause on accesses to lines that are on their way to L1D, if these are many.
    fn near_in_words(&self) -> String {
        let far = self.facts.l1d_hit_rate.unwrap_or(0.0);
        let near = self.facts.l1d_near.filter(|near| *near > far + MORE);
        near.map_or_else(String::new, |near| {
            format!(" ({} with lines that are on their way)", percent(near))
        })
    }

    /// Clause on data that copies of the host have left in L2, if much is found there.
    fn copies_in_words(&self) -> String {
        let copied = self.facts.copied.filter(|share| *share >= FROM_COPIES);
        copied.map_or_else(String::new, |share| {
            format!(
                " ({} only because the host's copies left the data there; \
                 `--set gpu.copies_warm_l2=false` begins without them)",
                percent(share)
            )
        })
    }
}
