//! Explanation of a kernel's time in five sentences: the bound, the schedulers' cycles, the warps
//! on an SM, the memory system, and a next step. Every sentence states its figures.
//!
//! The bound is the first of these that applies:
//!
//! 1. a part of the machine above the lower threshold of its load class;
//! 2. SMs without a block for more than half of the time: the launch is too small;
//! 3. on the SMs that hold a block: schedulers or shared memory above such a threshold;
//! 4. the largest cause for which schedulers do not issue. A full load/store unit is named after
//!    the largest cause of its own stalls.
//!
//! Where instructions are the bound and take effect in less than half of the lanes, diverged warps
//! are named instead.

use crate::advice::{Facts, SPREAD, because, highest, limit_in_words, percent, plural, remedy};
use crate::analysis::KernelAnalysis;
use warploom_config::OccupancyLimit;
use warploom_names::shortened;
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::{Machine, Part, sum};
use warploom_stats::result::Figures;

/// Share of its cycles in which shared memory counts as the bound.
const SHARED_BUSY: f64 = 0.5;
/// Share of the SMs' cycles with a block below which a launch counts as too small.
const ACTIVE: f64 = 0.5;
/// Cycles of conflicts of an access to shared memory from which conflicts are named.
const CONFLICTS: f64 = 1.0;

/// Lanes of an instruction below which diverged warps count as the bound.
const HALF: f64 = 16.0;
/// Threads of a warp.
const WARP: u32 = 32;

/// Remedy against bank conflicts.
const LAYOUT: &str = "change the layout in shared memory, for example by a padding column, so that \
                      the lanes of a warp use different banks";

/// Limit of a kernel's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// A part of the machine.
    Part(Part),
    /// Shared memory and its banks.
    Shared,
    /// Stalls of the load/store unit for this reason, a part of `sm.ldst_stalls`.
    LoadStore(&'static str),
    /// Stalls of the schedulers for this cause, a part of `sm.slots`.
    Cause(&'static str),
    /// SMs without a block.
    Idle,
    /// Instructions that take effect in few lanes.
    Divergence,
}

/// Reasons for stalls of the load/store unit, parts of `sm.ldst_stalls`.
const REASONS: [&str; 5] = [
    "reservation",
    "bank_conflict",
    "network",
    "coalesce",
    "data_port",
];
/// Causes of `sm.slots` that name a bound. `no_warp` and `issued` do not.
const CAUSES: [&str; 7] = [
    "memory_pipe",
    "execution_pipe",
    "memory_dependence",
    "execution_dependence",
    "barrier",
    "instruction_buffer",
    "policy",
];

/// Five sentences on a kernel.
pub(crate) fn explanation(
    machine: &Machine<'_>,
    analysis: &KernelAnalysis,
    figures: &Figures,
) -> Vec<String> {
    let subject = Subject {
        machine,
        analysis,
        figures,
        facts: Facts::new(machine.spec, figures),
    };
    let bound = subject.bound();
    vec![
        subject.bound_in_words(bound),
        subject.schedulers(bound),
        subject.warps(),
        subject.memory(),
        subject.next_step(bound),
    ]
}

/// A kernel with everything that is known about it.
struct Subject<'a> {
    machine: &'a Machine<'a>,
    analysis: &'a KernelAnalysis,
    figures: &'a Figures,
    facts: Facts,
}

impl Subject<'_> {
    fn bound(&self) -> Bound {
        let bound = self.first_bound();
        let of_instructions = matches!(
            bound,
            Bound::Part(Part::Scheduler)
                | Bound::Cause("execution_pipe" | "execution_dependence" | "instruction_buffer")
        );
        match self.facts.lanes {
            Some(lanes)
                if of_instructions
                    && lanes < HALF
                    && self.analysis.occupancy.block_threads >= WARP =>
            {
                Bound::Divergence
            }
            _ => bound,
        }
    }

    fn first_bound(&self) -> Bound {
        if let Some(part) = self.analysis.category.part() {
            return Bound::Part(part);
        }
        let active = self.facts.active.unwrap_or(1.0).max(1e-9);
        if active < ACTIVE {
            return Bound::Idle;
        }
        self.within_sms(active)
    }

    /// The bound on the SMs that hold a block.
    fn within_sms(&self, active: f64) -> Bound {
        let used = &self.analysis.utilisation;
        if used.shared / active > SHARED_BUSY {
            return Bound::Shared;
        }
        if used.scheduler / active > thresholds(Part::Scheduler).high {
            return Bound::Part(Part::Scheduler);
        }
        let larger = |a: &&str, b: &&str| self.share(a).total_cmp(&self.share(b));
        match CAUSES.into_iter().max_by(larger) {
            Some("memory_pipe") => self.load_store(),
            Some(cause) => Bound::Cause(cause),
            None => Bound::Idle,
        }
    }

    /// Share of the scheduler cycles with a cause.
    fn share(&self, cause: &str) -> f64 {
        self.analysis.stalls.get(cause).copied().unwrap_or(0.0)
    }

    /// The bound where load/store units are full: the largest reason of their stalls.
    fn load_store(&self) -> Bound {
        let most = REASONS
            .into_iter()
            .max_by_key(|reason| self.stalled(reason));
        match most.filter(|reason| self.stalled(reason) > 0) {
            Some(reason) => Bound::LoadStore(reason),
            None => Bound::Cause("memory_pipe"),
        }
    }

    /// Cycles in which the load/store units were stalled for a reason.
    fn stalled(&self, reason: &str) -> u64 {
        let (counts, prefix) = (&self.figures.statistics, "sm.ldst_stalls.");
        let ends = format!(".{reason}");
        let of = counts.range(prefix.to_owned()..);
        let of = of.take_while(|(name, _)| name.starts_with(prefix));
        let of = of.filter(|(name, _)| name.ends_with(&ends));
        of.map(|(_, count)| *count).sum()
    }

    /// Cycles that an access to shared memory waits for bank conflicts, if these take at least half
    /// as many cycles of the load/store units as the largest reason.
    fn conflicts_too(&self, reason: &str) -> Option<f64> {
        let conflicts = sum(&self.figures.statistics, "sm.shared_conflict_cycles");
        let many = conflicts >= 0.5 * self.stalled(reason) as f64;
        let cycles = self.facts.conflict_cycles.filter(|n| *n >= CONFLICTS);
        cycles.filter(|_| many && reason != "bank_conflict")
    }

    fn has_conflicts(&self) -> bool {
        self.facts.conflict_cycles.is_some_and(|n| n >= CONFLICTS)
    }

    /// Clause on conflicts beside a larger reason.
    fn conflicts_in_words(&self, reason: &str) -> String {
        match self.conflicts_too(reason) {
            Some(cycles) => format!(
                ", and because an access to shared memory waits {cycles:.1} cycles for bank \
                 conflicts"
            ),
            None => String::new(),
        }
    }

    /// Name of the kernel in a sentence.
    fn name(&self) -> String {
        shortened(&self.analysis.kernel, warploom_names::WIDTH)
    }

    fn bound_in_words(&self, bound: Bound) -> String {
        let kernel = self.name();
        match bound {
            Bound::Part(part) => self.part_in_words(part),
            Bound::Shared => format!(
                "Shared memory bounds `{kernel}`: it is busy in {} of the cycles, and an access \
                 waits {:.1} cycles for bank conflicts.",
                percent(self.analysis.utilisation.shared),
                self.facts.conflict_cycles.unwrap_or(0.0)
            ),
            Bound::Idle => format!(
                "Idle SMs bound `{kernel}`: they hold a block in {} of their cycles, because {}.",
                percent(self.facts.active.unwrap_or(0.0)),
                self.blocks_in_words()
            ),
            Bound::Divergence => format!(
                "Diverged warps bound `{kernel}`: an instruction takes effect in {:.1} of {WARP} \
                 lanes, so that the branches of a warp are issued one after the other.",
                self.facts.lanes.unwrap_or(0.0)
            ),
            Bound::LoadStore(reason) => format!(
                "The load/store units bound `{kernel}`: they are full in {} of the scheduler \
                 cycles, {}{}.",
                percent(self.share("memory_pipe")),
                self.reason_in_words(reason),
                self.conflicts_in_words(reason)
            ),
            Bound::Cause(cause) => self.cause_in_words(cause),
        }
    }

    fn part_in_words(&self, part: Part) -> String {
        let (kernel, used) = (self.name(), self.analysis.utilisation.of(part));
        let used = percent(used);
        match (part, self.analysis.throughput.of(part)) {
            (Part::Scheduler, _) | (_, None) => format!(
                "Instruction issue bounds `{kernel}`: the schedulers issue {used} of what they can."
            ),
            (Part::Dram, Some(of)) => format!(
                "DRAM bounds `{kernel}`: {:.0} of {:.0} GB/s move, {used} of the peak.",
                of.used_gb_per_s, of.sustainable_gb_per_s
            ),
            (_, Some(of)) => format!(
                "The {} bounds `{kernel}`: {:.0} of the {:.0} GB/s that it sustains, {used}{}.",
                part.name(),
                of.used_gb_per_s,
                of.sustainable_gb_per_s,
                self.scattered_in_words()
            ),
        }
    }

    /// Clause on accesses that are not coalesced.
    fn scattered_in_words(&self) -> String {
        match self.scattered() {
            Some(transactions) => {
                format!(", because an access is split into {transactions:.1} transactions")
            }
            None => String::new(),
        }
    }

    fn cause_in_words(&self, cause: &str) -> String {
        let (kernel, share) = (self.name(), percent(self.share(cause)));
        let (part, used) = highest(self.analysis);
        let idle = format!(
            "no part of the machine is above {} ({})",
            percent(used),
            part.name()
        );
        match cause {
            "memory_dependence" => format!(
                "The latency of loads bounds `{kernel}`: in {share} of the scheduler cycles its \
                 warps wait for one, and {idle}."
            ),
            "execution_dependence" => format!(
                "The latency of arithmetic bounds `{kernel}`: in {share} of the scheduler cycles \
                 its warps wait for results, and {idle}."
            ),
            "execution_pipe" => format!(
                "Function units bound `{kernel}`: they are full in {share} of the scheduler \
                 cycles{}.",
                self.unit_in_words()
            ),
            "barrier" => format!(
                "Barriers bound `{kernel}`: in {share} of the scheduler cycles all warps wait at \
                 barriers, at fences or for atomics."
            ),
            "instruction_buffer" => format!(
                "The fetch of instructions bounds `{kernel}`: in {share} of the scheduler cycles \
                 no warp has a decoded instruction."
            ),
            "policy" => format!(
                "The scheduling policy bounds `{kernel}`: it holds ready warps back in {share} of \
                 the scheduler cycles."
            ),
            _ => format!(
                "The load/store units bound `{kernel}`: they are full in {share} of the scheduler \
                 cycles."
            ),
        }
    }

    fn reason_in_words(&self, reason: &str) -> String {
        let transactions = self.facts.transactions.unwrap_or(0.0);
        match reason {
            "reservation" => "mostly because L1D has no room for another miss".to_owned(),
            "network" => "mostly because the network does not take further requests".to_owned(),
            "coalesce" => {
                format!("mostly because an access is split into {transactions:.1} transactions")
            }
            "bank_conflict" => match self.facts.conflict_cycles.filter(|n| *n >= CONFLICTS) {
                Some(cycles) => format!(
                    "mostly because an access to shared memory waits {cycles:.1} cycles for bank \
                     conflicts"
                ),
                None => format!(
                    "mostly because L1D takes {transactions:.1} transactions of an access one \
                     after the other"
                ),
            },
            _ => "mostly because the data port of L1D is busy".to_owned(),
        }
    }

    /// Clause on the most used unit other than the adders, whose pipes are the widest.
    fn unit_in_words(&self) -> String {
        let counts = &self.figures.statistics;
        let prefix = "sm.unit_warps.";
        let units = counts.range(prefix.to_owned()..);
        let units = units.filter_map(|(name, count)| Some((name.strip_prefix(prefix)?, *count)));
        let units = units.filter(|(name, _)| !name.ends_with("_add"));
        let most = units
            .max_by_key(|(_, count)| *count)
            .filter(|(_, count)| *count > 0);
        match most {
            Some((name, count)) => format!(
                ", most of all `{name}`, which executes {} of the instructions",
                percent(count as f64 / sum(counts, "sm.warp_instructions").max(1.0)),
            ),
            None => String::new(),
        }
    }

    fn blocks_in_words(&self) -> String {
        let (blocks, sms) = (
            self.analysis.occupancy.grid_blocks,
            self.machine.spec.gpu.sms,
        );
        let last = "the last blocks of the grid and the time between launches leave SMs idle";
        match blocks < u64::from(sms) * u64::from(self.analysis.occupancy.blocks_per_sm.max(1)) {
            true => format!("its grid has {} for {sms} SMs", counted(blocks)),
            false => last.to_owned(),
        }
    }

    fn schedulers(&self, bound: Bound) -> String {
        // Idle SMs have a sentence of their own.
        let idle = match bound {
            Bound::Idle => self.share("no_warp"),
            _ => 0.0,
        };
        let with_work = (1.0 - idle).max(1e-9);
        let of = match bound {
            Bound::Idle => "of their cycles with warps",
            _ => "of their cycles",
        };
        let issued = percent(self.share("issued") / with_work);
        let waits = self.analysis.stalls.iter();
        let waits = waits.filter(|(cause, _)| {
            *cause != "issued" && (bound != Bound::Idle || *cause != "no_warp")
        });
        match waits.max_by(|a, b| a.1.total_cmp(b.1)) {
            Some((cause, share)) if *share > 0.0 => format!(
                "Schedulers issue in {issued} {of}, and wait most often, in {}, {} (`{cause}`).",
                percent(*share / with_work),
                because(cause)
            ),
            _ => format!("Schedulers issue in {issued} {of}."),
        }
    }

    fn warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let lanes = self.facts.lanes.unwrap_or(0.0);
        format!(
            "An SM with work holds {:.1} of {} warps on average: {} {} of {} threads, limited by \
             {}; an instruction takes effect in {lanes:.1} of 32 lanes.",
            held.resident_warps,
            held.warp_slots,
            held.blocks_per_sm,
            plural(held.blocks_per_sm, "block"),
            held.block_threads,
            limit_in_words(self.analysis),
        )
    }

    fn memory(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        let (facts, dram) = (&self.facts, self.analysis.throughput.dram);
        let moved = format!(
            "DRAM moves {:.0} of {:.0} GB/s ({})",
            dram.used_gb_per_s,
            dram.peak_gb_per_s,
            percent(self.analysis.utilisation.dram)
        );
        match facts.transactions {
            Some(transactions) => format!(
                "{moved}; L1D hits {} of its accesses, L2 {}; an access to global or local memory \
                 takes {transactions:.1} transactions.",
                rate(facts.l1d_hit_rate),
                rate(facts.l2_hit_rate),
            ),
            None => format!("{moved}; the kernel accesses neither global nor local memory."),
        }
    }

    fn next_step(&self, bound: Bound) -> String {
        let step = match bound {
            Bound::Idle => "launch more blocks, or a larger problem".to_owned(),
            Bound::Divergence => format!(
                "let the lanes of a warp branch alike, for example by sorting the work; full warps \
                 would issue {} of the instructions",
                percent(self.facts.lanes.unwrap_or(0.0) / f64::from(WARP))
            ),
            Bound::Part(Part::Scheduler) => "execute fewer instructions: hoist index arithmetic \
                                             out of loops, unroll, use wider loads or fused \
                                             operations"
                .to_owned(),
            Bound::Part(part) => self.less_traffic(part),
            Bound::Shared => LAYOUT.to_owned(),
            Bound::LoadStore(reason) if self.conflicts_too(reason).is_some() => LAYOUT.to_owned(),
            Bound::LoadStore("bank_conflict") if self.has_conflicts() => LAYOUT.to_owned(),
            Bound::LoadStore("reservation" | "network") => self.less_traffic(Part::NocToSm),
            Bound::LoadStore("bank_conflict" | "coalesce") => self.fewer_transactions(),
            Bound::LoadStore(_) => "access memory less often, from registers".to_owned(),
            Bound::Cause("memory_dependence" | "execution_dependence") => self.more_warps(),
            Bound::Cause("execution_pipe") => {
                "use fewer of these instructions, for example cheaper approximations".to_owned()
            }
            Bound::Cause("barrier") => "use smaller blocks, so that another block runs while one \
                                        waits, or fewer barriers"
                .to_owned(),
            Bound::Cause("instruction_buffer") => {
                "make the code smaller or straighter: unroll less, branch less".to_owned()
            }
            Bound::Cause("policy") => "compare schedulers with `warploom compare --vary \
                                       sm.warp_scheduler=lrr,gto`"
                .to_owned(),
            Bound::Cause(_) => self.fewer_transactions(),
        };
        format!("Next: {step}.")
    }

    fn less_traffic(&self, part: Part) -> String {
        if self.scattered().is_some() {
            return self.fewer_transactions();
        }
        let (l1d, l2) = (self.facts.l1d_hit_rate, self.facts.l2_hit_rate);
        let hits = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        match part {
            Part::Dram => format!(
                "move fewer bytes: smaller types, one pass instead of two, or tiles that L2 keeps \
                 (it hits {})",
                hits(l2)
            ),
            Part::NocToL2 => {
                "store less: keep intermediate results in registers or shared memory".to_owned()
            }
            Part::NocToSm => format!(
                "load less: keep data that is read again in registers or shared memory (L1D hits \
                 {})",
                hits(l1d)
            ),
            _ => "read near data less often, from registers".to_owned(),
        }
    }

    fn scattered(&self) -> Option<f64> {
        let scattered = self.facts.spread.is_some_and(|spread| spread >= SPREAD);
        self.facts.transactions.filter(|_| scattered)
    }

    fn fewer_transactions(&self) -> String {
        let transactions = self.facts.transactions.unwrap_or(0.0);
        match self.scattered() {
            Some(_) => format!(
                "let neighbouring threads access neighbouring words; an access then needs {:.1} \
                 transactions instead of {transactions:.1}",
                transactions / self.facts.spread.unwrap_or(1.0)
            ),
            None => "access memory less often, with wider words".to_owned(),
        }
    }

    fn more_warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let full = held.blocks_per_sm * held.warps_per_block >= held.warp_slots;
        let is_grid = self.analysis.occupancy_limit == OccupancyLimit::Grid.name();
        match remedy(self.machine.spec, self.analysis) {
            Some(_) if !full && is_grid => format!(
                "add warps: the grid has {} for {} SMs; launch more blocks, larger ones, or a \
                 larger problem",
                counted(held.grid_blocks),
                self.machine.spec.gpu.sms
            ),
            Some(remedy) if !full => format!(
                "add warps ({:.1} of {} slots are in use): {remedy}",
                held.resident_warps, held.warp_slots
            ),
            _ => "issue independent instructions earlier: load ahead of use, unroll so that \
                  several loads or chains of arithmetic are in flight"
                .to_owned(),
        }
    }
}

fn counted(blocks: u64) -> String {
    match blocks {
        1 => "1 block".to_owned(),
        _ => format!("{blocks} blocks"),
    }
}
