//! Explanation of a kernel's time in five sentences: the verdict, the schedulers' cycles, the warps
//! on an SM, the memory system, and a next step. Every sentence states its figures.

use crate::advice::{
    FEW_LANES, Facts, LAYOUT, NEIGHBOURS, SPREAD, because, counted, limit_in_words, nearest,
    percent, plural, remedy,
};
use crate::analysis::KernelAnalysis;
use crate::loadstore::{FullUnit, Stall};
use crate::occupancy::WARP;
use crate::verdict::{Bound, Idle, conflicts_beside};
use warploom_config::OccupancyLimit;
use warploom_names::shortened;
use warploom_policy::utilisation::{Machine, Part, sum};
use warploom_stats::result::Figures;

/// Share of local memory in the packets of a direction from which it is named as their cause.
const MOSTLY_LOCAL: f64 = 0.5;
/// Share of the loads that hit in a cache from which data counts as read again.
const AGAIN: f64 = 0.05;

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
        unit: FullUnit::of(&figures.statistics),
    };
    let bound = analysis.bound;
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
    /// Reason for which load/store units are full, if they are at all.
    unit: Option<FullUnit>,
}

impl Subject<'_> {
    /// Share of the scheduler cycles with a cause.
    fn share(&self, cause: &str) -> f64 {
        self.analysis.stalls.get(cause).copied().unwrap_or(0.0)
    }

    /// Clause on bank conflicts beside a larger reason for full load/store units.
    fn conflicts_in_words(&self) -> String {
        match self.conflicts_beside() {
            Some(cycles) => format!(
                ", and because an access to shared memory waits {cycles:.1} cycles for bank \
                 conflicts"
            ),
            None => String::new(),
        }
    }

    /// Cycles that an access to shared memory waits for bank conflicts, if shared memory is the
    /// part nearest to its saturation.
    fn slow_shared(&self) -> Option<f64> {
        let cycles = self.facts.conflict_cycles.filter(|&cycles| cycles >= 1.0);
        cycles.filter(|_| nearest(self.analysis).is_shared)
    }

    /// Clause on bank conflicts that make loads slow.
    fn slow_shared_in_words(&self) -> String {
        self.slow_shared().map_or_else(String::new, |cycles| {
            format!("; loads of shared memory wait {cycles:.1} cycles for bank conflicts")
        })
    }

    /// Name of the kernel in a sentence.
    fn name(&self) -> String {
        shortened(&self.analysis.kernel, warploom_names::WIDTH)
    }

    fn conflicts_beside(&self) -> Option<f64> {
        conflicts_beside(&self.facts, &self.figures.statistics, self.unit?)
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
            Bound::IdleSms => format!(
                "Idle SMs bound `{kernel}`: they hold a block in {} of their cycles, because {}.",
                percent(self.facts.active.unwrap_or(0.0)),
                self.idle_in_words()
            ),
            Bound::Divergence => format!(
                "Diverged warps bound `{kernel}`: an instruction takes effect in {:.1} of {WARP} \
                 lanes, so that the branches of a warp are issued one after the other.",
                self.facts.lanes.unwrap_or(0.0)
            ),
            bound => self.cause_in_words(bound),
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

    /// Sentence on a bound that is a cause in `sm.slots`.
    fn cause_in_words(&self, bound: Bound) -> String {
        let kernel = self.name();
        let share = percent(bound.cause().map_or(0.0, |cause| self.share(cause)));
        let part = nearest(self.analysis);
        let idle = format!(
            "no part of the machine is above {} ({})",
            percent(part.used),
            part.name
        );
        match bound {
            Bound::Loads => format!(
                "The latency of loads bounds `{kernel}`: in {share} of the scheduler cycles its \
                 warps wait for one, and {idle}{}.",
                self.slow_shared_in_words()
            ),
            Bound::Arithmetic => format!(
                "The latency of arithmetic bounds `{kernel}`: in {share} of the scheduler cycles \
                 its warps wait for results, and {idle}."
            ),
            Bound::Units => format!(
                "Function units bound `{kernel}`: they are full in {share} of the scheduler \
                 cycles{}.",
                self.unit_in_words()
            ),
            Bound::Barriers => format!(
                "Barriers bound `{kernel}`: in {share} of the scheduler cycles all warps wait at \
                 barriers, at fences or for atomics."
            ),
            Bound::Fetch => format!(
                "The fetch of instructions bounds `{kernel}`: in {share} of the scheduler cycles \
                 no warp has a decoded instruction."
            ),
            Bound::Policy => format!(
                "The scheduling policy bounds `{kernel}`: it holds ready warps back in {share} of \
                 the scheduler cycles."
            ),
            _ => format!(
                "The load/store units bound `{kernel}`: they are full in {share} of the scheduler \
                 cycles{}{}.",
                self.unit
                    .map_or_else(String::new, |unit| self.reason_in_words(unit)),
                self.conflicts_in_words()
            ),
        }
    }

    /// Clause on the reason for which load/store units are full.
    fn reason_in_words(&self, unit: FullUnit) -> String {
        let (l1d, accesses, cache) = (&self.machine.spec.l1d, unit.accesses(), unit.cache());
        let transactions = self.facts.transactions.unwrap_or(0.0);
        let reason = match unit.stall {
            Stall::Lines => format!(
                "{accesses} find all lines of their set in {cache} reserved for misses on their \
                 way (l1d.sets is {}, l1d.ways {})",
                l1d.sets, l1d.ways
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
            Stall::Conflicts => format!(
                "an access to shared memory waits {:.1} cycles for bank conflicts",
                self.facts.conflict_cycles.unwrap_or(0.0)
            ),
            Stall::Banks => format!(
                "{cache} takes {transactions:.1} transactions of an access one after the other"
            ),
            Stall::Network => format!("the network does not take further {accesses}"),
            Stall::Transactions => {
                format!("an access is split into {transactions:.1} transactions")
            }
            Stall::DataPort => format!("the data port of {cache} is busy"),
        };
        format!(", mostly because {reason}")
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

    fn idle(&self) -> Idle {
        let active = self.facts.active.unwrap_or(1.0);
        Idle::of(
            self.machine,
            self.analysis,
            active,
            &self.figures.statistics,
        )
    }

    /// Clause on the reason why SMs hold no block.
    fn idle_in_words(&self) -> String {
        let (gpu, held) = (&self.machine.spec.gpu, &self.analysis.occupancy);
        let (blocks, sms) = (held.grid_blocks, gpu.sms);
        match self.idle() {
            Idle::Launch(cycles) => format!(
                "{cycles} of {} cycles pass before the first block of a launch starts \
                 (gpu.kernel_launch_cycles is {})",
                self.analysis.cycles, gpu.kernel_launch_cycles
            ),
            Idle::Grid => format!("its grid has {} for {sms} SMs", counted(blocks)),
            Idle::Tail => format!(
                "the last blocks of its grid ({}, {:.1} times what the SMs hold at once) and the \
                 time between launches leave SMs without one",
                counted(blocks),
                blocks as f64 / f64::from((sms * held.blocks_per_sm).max(1))
            ),
        }
    }

    fn schedulers(&self, bound: Bound) -> String {
        // Idle SMs have a sentence of their own.
        let idle = match bound {
            Bound::IdleSms => self.share("no_warp"),
            _ => 0.0,
        };
        let with_work = (1.0 - idle).max(1e-9);
        let of = match bound {
            Bound::IdleSms => "of their cycles with warps",
            _ => "of their cycles",
        };
        let issued = percent(self.share("issued") / with_work);
        let waits = self.analysis.stalls.iter();
        let waits = waits.filter(|(cause, _)| {
            *cause != "issued" && (bound != Bound::IdleSms || *cause != "no_warp")
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
             {}; an instruction that takes effect does so in {lanes:.1} of {WARP} lanes.",
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
            Bound::IdleSms => self.more_blocks(),
            Bound::Divergence => format!(
                "let the lanes of a warp branch alike, for example by sorting the work; full warps \
                 would issue {} of the instructions",
                percent(self.facts.lanes.unwrap_or(0.0) / f64::from(WARP))
            ),
            Bound::Part(Part::Scheduler) => self.fewer_instructions(),
            Bound::Part(part) => self.less_traffic(part),
            Bound::Shared => LAYOUT.to_owned(),
            Bound::LoadStore => self.free_unit(),
            Bound::Loads if self.slow_shared().is_some() => {
                format!("{LAYOUT}; then {}", self.more_warps())
            }
            Bound::Loads | Bound::Arithmetic => self.more_warps(),
            Bound::Units => {
                "use fewer of these instructions, for example cheaper approximations".to_owned()
            }
            Bound::Barriers if self.waits_for_atomics() => self.fewer_atomics(),
            Bound::Barriers => "use smaller blocks, so that another block runs while one \
                                waits, or fewer barriers"
                .to_owned(),
            Bound::Fetch => {
                "make the code smaller or straighter: unroll less, branch less".to_owned()
            }
            Bound::Policy => "compare schedulers with `warploom compare --vary \
                              sm.warp_scheduler=lrr,gto`"
                .to_owned(),
        };
        format!("Next: {step}.")
    }

    /// Step where instructions are too many. Lanes without effect and bank conflicts come first,
    /// because they cost issue slots and time without any work.
    fn fewer_instructions(&self) -> String {
        let lanes = self.facts.lanes.filter(|&lanes| lanes < FEW_LANES);
        let lanes = lanes.map(|lanes| {
            format!(
                "let neighbouring threads branch alike (an instruction takes effect in {lanes:.1} of \
                 {WARP} lanes)"
            )
        });
        let conflicts = self.facts.conflict_cycles.filter(|&cycles| cycles >= 1.0);
        let conflicts = conflicts.map(|cycles| {
            format!("{LAYOUT} (an access waits {cycles:.1} cycles for bank conflicts)")
        });
        let fewer = "execute fewer instructions: hoist index arithmetic out of loops, unroll, use \
                     wider loads or fused operations";
        let steps = [lanes, conflicts, Some(fewer.to_owned())];
        steps.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn more_blocks(&self) -> String {
        match self.idle() {
            Idle::Launch(_) => "give a launch more work: a larger problem, or one launch instead \
                                of several"
                .to_owned(),
            Idle::Grid => "launch more blocks, or a larger problem".to_owned(),
            Idle::Tail => "launch a larger problem, or smaller blocks of equal length, so that \
                           the last ones end together"
                .to_owned(),
        }
    }

    /// Step that leaves the load/store units more room.
    fn free_unit(&self) -> String {
        let Some(unit) = self.unit else {
            return self.fewer_transactions();
        };
        if self.conflicts_beside().is_some() {
            return LAYOUT.to_owned();
        }
        if unit.is_atomic {
            return self.fewer_atomics();
        }
        let part = match unit.is_store() {
            true => Part::NocToL2,
            false => Part::NocToSm,
        };
        match unit.stall {
            Stall::Conflicts => LAYOUT.to_owned(),
            _ if self.scattered().is_some() => self.fewer_transactions(),
            Stall::Lines => self.more_lines(unit),
            Stall::MshrRequests => "let one warp load what several need, and hand it on in shared \
                                    memory"
                .to_owned(),
            Stall::Banks | Stall::Transactions => self.fewer_transactions(),
            Stall::DataPort => "access memory less often, from registers".to_owned(),
            _ => self.less_traffic(part),
        }
    }

    /// Step where the lines of a set of L1D are short.
    fn more_lines(&self, unit: FullUnit) -> String {
        let keys = "compare machines by l1d.ways, l1d.sets and l1d.index";
        match (unit.is_store(), self.facts.l1d_reads) {
            (false, Some(share)) if share < AGAIN => format!(
                "load past L1D (`__ldcg`, `ld.global.cg`), since it hits {} of the loads; or {keys}",
                percent(share)
            ),
            (false, _) => format!("{}; or {keys}", self.less_traffic(Part::NocToSm)),
            (true, _) => format!("{}; or {keys}", self.less_traffic(Part::NocToL2)),
        }
    }

    /// Step where bytes of loads are too many.
    fn fewer_loads(&self) -> String {
        let (l1d, l2) = (self.facts.l1d_reads, self.facts.l2_reads);
        let again = |share: Option<f64>| share.is_some_and(|share| share >= AGAIN);
        let hits = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
        let found = format!(
            "with lines that are on their way, L1D hits {} of the loads, L2 {}",
            hits(l1d),
            hits(l2)
        );
        if again(l1d) {
            format!(
                "load less: keep data that is read again in registers or shared memory ({found})"
            )
        } else if again(l2) {
            format!(
                "load less: if data is read again, keep it in registers or shared memory; else use \
                 smaller types ({found})"
            )
        } else {
            format!(
                "load fewer bytes, for example smaller types; hardly a line is read again ({found})"
            )
        }
    }

    /// Step where atomics are too many.
    fn fewer_atomics(&self) -> String {
        let apart = self.facts.atomic_lanes.filter(|&lanes| lanes < 2.0);
        let apart = apart.map_or_else(String::new, |lanes| {
            format!(
                ", of {lanes:.1} lanes each: lanes on the same word, or on different lines, take turns"
            )
        });
        format!(
            "let a warp or a block combine its values first, by shuffles or in shared memory, and \
             update a word with one atomic (atomics are {} of the transactions{apart})",
            percent(self.facts.atomics.unwrap_or(0.0))
        )
    }

    /// True if most transactions are atomics.
    fn mostly_atomics(&self) -> bool {
        self.facts.atomics.is_some_and(|share| share > 0.5)
    }

    /// True if warps wait for atomics alone: the kernel has no barriers.
    fn waits_for_atomics(&self) -> bool {
        let barriers = self.figures.statistics.get("sm.barriers").copied();
        self.mostly_atomics() && barriers.unwrap_or(0) == 0
    }

    fn less_traffic(&self, part: Part) -> String {
        if self.mostly_atomics() && part != Part::Dram {
            return self.fewer_atomics();
        }
        if self.scattered().is_some() {
            return self.fewer_transactions();
        }
        let l2 = self.facts.l2_hit_rate;
        let hits = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        if let Some(local) = self.less_local(part) {
            return local;
        }
        match part {
            Part::Dram => format!(
                "move fewer bytes: smaller types, one pass instead of two, or tiles that L2 keeps \
                 (it hits {})",
                hits(l2)
            ),
            Part::NocToL2 => {
                "store less: keep intermediate results in registers or shared memory".to_owned()
            }
            Part::NocToSm => self.fewer_loads(),
            _ => "read near data less often, from registers".to_owned(),
        }
    }

    /// Step where local memory causes at least half of the packets in a direction of the network.
    fn less_local(&self, part: Part) -> Option<String> {
        let (share, packets) = match part {
            Part::NocToL2 => (
                self.facts.local_writes,
                "of the packets with data of stores",
            ),
            Part::NocToSm => (self.facts.local_reads, "of the requests for data"),
            _ => return None,
        };
        let share = share.filter(|&share| share >= MOSTLY_LOCAL)?;
        Some(format!(
            "use less local memory, which causes {} {packets}: the compiler puts an array of a \
             thread there that a variable indexes, and spilled registers; unroll the loops that \
             index it, or keep it in shared memory",
            percent(share)
        ))
    }

    fn scattered(&self) -> Option<f64> {
        let scattered = self.facts.spread.is_some_and(|spread| spread >= SPREAD);
        self.facts.transactions.filter(|_| scattered)
    }

    fn fewer_transactions(&self) -> String {
        let transactions = self.facts.transactions.unwrap_or(0.0);
        match self.scattered() {
            Some(_) => format!(
                "{NEIGHBOURS}; an access then needs {:.1} transactions instead of {transactions:.1}",
                transactions / self.facts.spread.unwrap_or(1.0)
            ),
            None => "access memory less often, with wider words".to_owned(),
        }
    }

    fn more_warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let full = held.is_full();
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
