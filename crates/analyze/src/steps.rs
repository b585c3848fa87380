//! The last sentence of an explanation: the next step by what bounds the kernel.

use crate::accesses::Accesses;
use crate::advice::{FEW_LANES, HALF, NEIGHBOURS, QUEUED, counted, percent, remedy};
use crate::explain::Subject;
use crate::hot_banks::Hot;
use crate::loads::AGAIN;
use crate::loadstore::{FullUnit, Stall};
use crate::memories::LESS_LOCAL;
use crate::occupancy::WARP;
use crate::pipes::relieve;
use crate::shape::whole_warps;
use crate::shared::{LAYOUT, SharedWait, conflict_share, is_wide};
use crate::verdict::Bound;
use warploom_config::{InstructionOrder, SetIndex};
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::Part;

/// Share of local memory in the packets of a direction from which it is named as their cause.
const MOSTLY_LOCAL: f64 = 0.5;
/// Lanes of an atomic, and atomics of a block, below which they count as one.
pub(crate) const ABOUT_ONE: f64 = 1.5;

/// Step that has more instructions of a warp in flight without more code.
const AHEAD: &str = "issue independent instructions earlier: load ahead of use";

/// Step that has more instructions of a warp in flight.
const IN_FLIGHT: &str = "issue independent instructions earlier: load ahead of use, unroll so that \
                         several loads or chains of arithmetic are in flight";

/// Condition on which unrolling helps where instructions issue in the order of the PTX.
const IN_ORDER: &str = " (this machine issues in the order of the PTX, so that unrolling helps only \
                        if the PTX has the loads before their first use; `--set \
                        sm.instruction_order=assembler` orders them as an assembler does)";

/// Remedy against many accesses to shared memory without conflicts.
const FEWER_SHARED: &str = "access shared memory less often: wider accesses (`float4`), values \
                            kept in registers, and several outputs a thread, so that a value that \
                            is read serves all of them";

/// Remedy against many accesses to shared memory that move 8 or 16 bytes a lane already.
const FEWER_WIDE: &str = "access shared memory less often: values kept in registers, and several \
                          outputs a thread, so that a value that is read serves all of them; \
                          accesses of 8 or 16 bytes a lane take two or four cycles, so that wider \
                          ones or padding do not help, but smaller types do";

/// Remedy against many atomics on shared memory whose lanes take no turns.
pub(crate) const FEWER_UPDATES: &str = "update shared memory less often: let a thread combine \
                                        several values in registers first";

/// Words of all steps that advise a larger problem.
const LARGER: &str = "a larger problem";

impl Subject<'_> {
    /// Sentence on the next step.
    pub(crate) fn next_step(&self, bound: Bound) -> String {
        let first = self.step(bound);
        let second = match bound {
            Bound::IdleSms => Some(("; for the time with blocks".to_owned(), self.within_sms())),
            _ => self.analysis.bound_beside.map(|second| {
                let against = format!("; against the {}", second.name());
                (against, second)
            }),
        };
        let second = second.and_then(|(against, second)| {
            Some(format!(
                "{against}: {}",
                apart_from(&self.step(second), &first)?
            ))
        });
        let code = self.smaller_code_first(bound);
        let second = second.unwrap_or_default();
        let is_told = [&first, &second].iter().any(|step| step.contains(LARGER));
        let launch = self.against_launch().filter(|_| !is_told);
        let launch = launch.map_or_else(String::new, |step| {
            format!("; against the time of the launch: {step}")
        });
        format!("Next: {code}{first}{second}{launch}.")
    }

    fn step(&self, bound: Bound) -> String {
        let of_transactions = matches!(
            bound,
            Bound::LoadStore
                | Bound::Loads
                | Bound::Part(Part::L1d | Part::L2 | Part::NocToL2 | Part::NocToSm)
        );
        let step = self.step_alone(bound);
        match of_transactions {
            true => self.with_wider_blocks(step),
            false => step,
        }
    }

    fn step_alone(&self, bound: Bound) -> String {
        match bound {
            Bound::IdleSms => self.more_blocks(),
            Bound::Divergence => format!(
                "let the lanes of a warp branch alike, for example by sorting the work; full warps \
                 would issue {} of the instructions",
                percent(self.facts.lanes.unwrap_or(0.0) / f64::from(WARP))
            ),
            Bound::Part(Part::Scheduler) => self.fewer_instructions(),
            Bound::Part(part) => format!("{}{}", self.less_traffic(part), self.or_warps(part)),
            Bound::Shared => {
                match (
                    self.facts.shared_wait,
                    conflict_share(&self.figures.statistics),
                ) {
                    (Some(wait), _) => wait.remedy().to_owned(),
                    (None, Some(_)) => format!("{}; and {LAYOUT}", self.fewer_of_shared()),
                    (None, None) => self.fewer_of_shared().to_owned(),
                }
            }
            Bound::LoadStore => self.free_unit(),
            Bound::HotBanks => {
                let hot = self.evidence().hot_banks();
                hot.map_or_else(|| self.more_warps(), |hot| self.cooler_banks(hot))
            }
            Bound::Loads => self.faster_loads(),
            Bound::SharedLoads => self.faster_shared(),
            Bound::Arithmetic => self.more_warps(),
            Bound::Units => {
                let pipe = self.analysis.units.pipe;
                let relief = relieve(pipe);
                format!("execute fewer instructions of the pipe `{pipe}`: {relief}")
            }
            Bound::Operands => "use instructions with fewer registers as operands, such as \
                                immediates; or compare machines by sm.collectors"
                .to_owned(),
            Bound::Fences => "let fewer warps execute a fence, or each fewer of them: a fence is \
                              needed where a block publishes results to others, `__syncthreads` \
                              orders those within a block"
                .to_owned(),
            Bound::Atomics => self.faster_atomics(),
            Bound::Barriers => {
                "use smaller blocks, so that another block runs while one waits, or \
                                fewer barriers; and give all warps of a block the same work \
                                between two barriers"
                    .to_owned()
            }
            Bound::Fetch => {
                "make the code smaller or straighter: unroll less, branch less".to_owned()
            }
            Bound::Policy => {
                "compare the cycles of other schedulers, with the program in the place \
                              of TARGET: `warploom compare TARGET --vary \
                              sm.warp_scheduler=lrr,gto`; `warploom list policies` names more, and \
                              the keys of this one"
                    .to_owned()
            }
        }
    }

    /// Step that sends fewer requests to a few banks, or spreads them.
    fn cooler_banks(&self, hot: Hot) -> String {
        let in_shared = self.figures.statistics.contains_key("sm.shared_atomics");
        let single = hot.are_atomics() && !in_shared;
        match single.then(|| self.fewer_single_atomics()).flatten() {
            Some(step) => step,
            None if hot.are_atomics() && self.exchanges() => self.fewer_atomics(),
            None => hot.step(in_shared.then(|| self.fewer_blocks())),
        }
    }

    /// Step that has more warps, where a part is far from saturated and an SM has room. It is left
    /// out beside accesses that are split, which fill the part with words that no warp uses, and
    /// where the network is a bound, in which more requests only wait longer.
    fn or_warps(&self, part: Part) -> String {
        let used = self.analysis.utilisation_with_blocks.of(part);
        let (high, full) = (thresholds(part).high, thresholds(part).saturated);
        let has_room = !self.analysis.occupancy.is_full() && self.facts.queued <= QUEUED;
        // More warps would find still fewer lines of L1D.
        let has_lines = !self.evidence().lacks_lines(part);
        let is_split = self.facts.scattered().is_some() || self.wider_blocks().is_some();
        let is_path = |of| matches!(of, Bound::Part(Part::NocToL2 | Part::NocToSm));
        let bounds = [
            Some(Bound::Part(part)),
            Some(self.analysis.bound),
            self.analysis.bound_beside,
        ];
        let has_path = bounds.into_iter().flatten().any(is_path);
        let helps = has_room && has_lines && !is_split && !has_path;
        match used < f64::midpoint(high, full) && helps {
            true => format!(
                "; or, since it is full at {} only, {}",
                percent(full),
                self.more_warps()
            ),
            false => String::new(),
        }
    }

    /// Step where instructions are too many. Lanes without effect come first, because they cost
    /// issue slots without any work, and bank conflicts that another layout avoids. Conflicts that
    /// copies avoid come last, because to make and add these takes instructions.
    fn fewer_instructions(&self) -> String {
        let lanes = self.facts.lanes.filter(|&lanes| lanes < FEW_LANES);
        let lanes = lanes.map(|lanes| match self.analysis.occupancy.explains(lanes) {
            Some(threads) => whole_warps(threads),
            None => format!(
                "let neighbouring threads branch alike (an instruction takes effect in {lanes:.1} of \
                 {WARP} lanes)"
            ),
        });
        let in_general = || {
            format!(
                "execute fewer instructions: hoist index arithmetic out of loops{}, use wider \
                 loads or fused operations",
                if self.lacks_code() { "" } else { ", unroll" }
            )
        };
        let fewer = self.fewer_of_lines().unwrap_or_else(in_general);
        let conflicts = |of_layout: bool| {
            let wait = self.facts.shared_wait;
            let wait = wait.filter(|wait| wait.is_of_layout() == of_layout);
            wait.map(|wait| format!("{} ({})", wait.remedy(), wait.in_words()))
        };
        let steps = [lanes, conflicts(true), Some(fewer), conflicts(false)];
        steps.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Step that leaves the load/store units more room.
    fn free_unit(&self) -> String {
        let Some(unit) = self.unit else {
            return self.fewer_transactions();
        };
        if let Some(wait) = self.conflicts_beside() {
            return wait.remedy().to_owned();
        }
        if unit.is_atomic {
            return self.fewer_atomics();
        }
        if let Some(step) = self.fewer_shared() {
            return step;
        }
        let part = match unit.is_store() {
            true => Part::NocToL2,
            false => Part::NocToSm,
        };
        match unit.stall {
            Stall::Transactions if unit.stage == "constant" => {
                "let the lanes of a warp read the same constant at a time, or keep a table that they \
                 index differently in shared or global memory"
                    .to_owned()
            }
            Stall::Conflicts => {
                let wait = self.facts.shared_wait;
                wait.map_or(self.fewer_of_shared(), SharedWait::remedy)
                    .to_owned()
            }
            Stall::Lines if self.passes_l1d(unit) && self.wider_blocks().is_some() => {
                let wider = self.wider_blocks().unwrap_or_default();
                format!("{}; or {wider}", self.more_lines(unit))
            }
            _ if self.fetched_again().is_some() => format!(
                "{}; or let fewer warps run at a time, so that L1D keeps lines until their other \
                 words are used (compare sm.warp_scheduler=gto,ccws and greater l1d.ways)",
                self.fewer_transactions()
            ),
            _ if self.facts.scattered().is_some() => self.fewer_transactions(),
            Stall::Lines => self.more_lines(unit),
            Stall::MshrRequests => "let one warp load what several need, and hand it on in shared \
                                    memory"
                .to_owned(),
            Stall::Banks | Stall::Transactions if !unit.is_store() && self.is_reused() => {
                format!("{}; and use wider words", self.fewer_loads())
            }
            Stall::Banks | Stall::Transactions => self.fewer_transactions(),
            Stall::DataPort => "access memory less often, from registers".to_owned(),
            _ => self.less_traffic(part),
        }
    }

    /// Step where accesses to shared memory take more cycles of the load/store units than the
    /// stalls of any other accesses.
    pub(crate) fn fewer_shared(&self) -> Option<String> {
        let counts = &self.figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        let accesses = get("sm.shared_instructions");
        let cycles = accesses + get("sm.shared_conflict_cycles");
        let remedy = match 2 * get("sm.shared_atomics") > accesses {
            true => FEWER_UPDATES,
            false => self.fewer_of_shared(),
        };
        (cycles > FullUnit::largest(counts)).then(|| {
            format!("{remedy} (these accesses take more cycles of the units than any stall)")
        })
    }

    /// Remedy against many accesses to shared memory without conflicts.
    fn fewer_of_shared(&self) -> &'static str {
        match is_wide(&self.figures.statistics) {
            true => FEWER_WIDE,
            false => FEWER_SHARED,
        }
    }

    /// Step where warps wait for loads from shared memory: against conflicts, and more of them at a
    /// time.
    fn faster_shared(&self) -> String {
        let ahead = format!(
            "load several values from shared memory before the first is used{}, keep those that are \
             used again in registers, and {}",
            if self.lacks_code() { "" } else { " (unroll)" },
            self.more_warps()
        );
        match self.facts.shared_wait {
            Some(wait) => format!("{}; then {ahead}", wait.remedy()),
            None => ahead,
        }
    }

    /// True if L1D hits hardly any of the loads that wait, so that they may go past it.
    fn passes_l1d(&self, unit: FullUnit) -> bool {
        !unit.is_store() && self.facts.l1d_reads.is_some_and(|share| share < AGAIN)
    }

    /// True if L1D has the lines of most loads, or has them on their way.
    fn is_reused(&self) -> bool {
        self.facts.l1d_reads.is_some_and(|share| share >= HALF)
    }

    /// Step where the lines of a set of L1D are short.
    fn more_lines(&self, unit: FullUnit) -> String {
        let keys = match self.machine.spec.l1d.write_ratio_percent {
            0 => "compare machines by l1d.ways, l1d.sets and l1d.index",
            _ => "compare machines by l1d.write_ratio_percent, l1d.ways, l1d.sets and l1d.index",
        };
        let l1d = &self.machine.spec.l1d;
        let keys = match l1d.index {
            SetIndex::Linear => format!(
                "pad rows whose distance is a multiple of {} bytes, which share a set; or {keys}",
                l1d.sets * l1d.line_bytes
            ),
            _ => keys.to_owned(),
        };
        match (unit.is_store(), self.facts.l1d_reads) {
            (false, Some(share)) if self.passes_l1d(unit) => format!(
                "load past L1D (`__ldcg`, `ld.global.cg`), since it hits {} of the loads; or {keys}",
                percent(share)
            ),
            (false, _) => format!("{}; or {keys}", self.less_traffic(Part::NocToSm)),
            (true, _) => format!("{}; or {keys}", self.less_traffic(Part::NocToL2)),
        }
    }

    pub(crate) fn less_traffic(&self, part: Part) -> String {
        if self.mostly_atomics() {
            return self.fewer_atomics();
        }
        if let Some(stores) = self.facts.recovery.filter(|_| part == Part::L2) {
            let local = self.less_local(Part::NocToL2);
            return local.unwrap_or_else(|| stores.step().to_owned());
        }
        if self.facts.scattered().is_some() {
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
                 (it hits {}){}",
                hits(l2),
                match self.facts.allocation {
                    Some(reads) => format!("; and {}", reads.step()),
                    None => String::new(),
                }
            ),
            // Packets without data of stores are requests of loads.
            Part::NocToL2 if self.facts.write_packets.is_some_and(|share| share < HALF) => {
                self.fewer_loads()
            }
            Part::NocToL2 => {
                "store less: keep intermediate results in registers or shared memory".to_owned()
            }
            Part::NocToSm => self.fewer_loads(),
            _ => "read near data less often, from registers".to_owned(),
        }
    }

    /// Step where local memory causes at least half of the packets in a direction of the network,
    /// or of those that may come to DRAM.
    fn less_local(&self, part: Part) -> Option<String> {
        let (share, packets) = match part {
            Part::NocToL2 => (
                self.facts.local_writes,
                "of the packets with data of stores",
            ),
            Part::NocToSm | Part::Dram => (self.facts.local_reads, "of the requests for data"),
            _ => return None,
        };
        let share = share.filter(|&share| share >= MOSTLY_LOCAL)?;
        Some(format!(
            "use less local memory, which causes {} {packets}: {LESS_LOCAL}",
            percent(share)
        ))
    }

    /// The kind of access that waits in a full load/store unit.
    pub(crate) fn split_in(&self, unit: FullUnit) -> Accesses {
        let waits = |kind: &&Accesses| match (unit.is_atomic, unit.is_store()) {
            (true, _) => kind.is_atomic(),
            (false, true) => !kind.is_load() && !kind.is_atomic(),
            (false, false) => kind.is_load(),
        };
        let mean = self.facts.transactions.unwrap_or(0.0);
        let of_unit = self.facts.accesses.iter().find(waits).copied();
        of_unit.unwrap_or_else(|| Accesses::of_any_kind(mean))
    }

    pub(crate) fn fewer_transactions(&self) -> String {
        let fewer = |kind: Accesses| {
            format!(
                "{NEIGHBOURS}; {} then needs {:.1} transactions at best instead of {:.1}; where addresses \
                 are data (a gather), order the data so that neighbours are near",
                kind.one, kind.ideal, kind.transactions
            )
        };
        let words = || "access memory less often, with wider words".to_owned();
        let scattered = self.facts.scattered();
        if let Some(kind) = scattered.filter(Accesses::are_local) {
            return kind.fewer_of_local();
        }
        let scattered = || scattered.map_or_else(words, fewer);
        self.wider_blocks().unwrap_or_else(scattered)
    }

    pub(crate) fn more_warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let full = held.is_full();
        let is_grid = self.is_short_of_blocks();
        if self.shares_work() {
            return self.in_flight();
        }
        match remedy(self.machine.spec, self.analysis) {
            Some(_) if !full && is_grid => format!(
                "add warps: the grid has {} for {} SMs; let more threads share the work{}",
                counted(held.grid_blocks),
                self.machine.spec.gpu.sms,
                match self.analysis.bound {
                    // The step against idle SMs has this.
                    Bound::IdleSms => "",
                    _ => ", or launch a larger problem",
                }
            ),
            Some(remedy) if !full => format!(
                "add warps ({:.1} of {} slots are in use): {remedy}",
                held.resident_warps, held.warp_slots
            ),
            _ => self.in_flight(),
        }
    }

    /// Step that has more instructions of a warp in flight.
    fn in_flight(&self) -> String {
        let in_order = self.machine.spec.sm.instruction_order == InstructionOrder::Text;
        match (self.lacks_code(), in_order) {
            (true, _) => AHEAD.to_owned(),
            (false, false) => IN_FLIGHT.to_owned(),
            (false, true) => format!("{IN_FLIGHT}{IN_ORDER}"),
        }
    }
}

/// The clauses of a step that another one does not have; `None` if it has all of them.
fn apart_from(step: &str, told: &str) -> Option<String> {
    let bare = |clause: &str| {
        let prefixes = ["then ", "and ", "or "];
        let prefix = prefixes
            .iter()
            .find_map(|prefix| clause.strip_prefix(prefix));
        prefix.unwrap_or(clause).to_owned()
    };
    let has: Vec<String> = told.split("; ").map(bare).collect();
    let clauses = step.split("; ");
    let is_told = |clause: &&str| has.iter().any(|told| bare(clause).starts_with(told));
    let mut left = clauses.filter(|clause| !is_told(clause));
    let first = bare(left.next()?);
    Some(left.fold(first, |all, clause| format!("{all}; {clause}")))
}
