//! The last sentence of an explanation: the next step by what bounds the kernel.

use crate::accesses::{Accesses, SPREAD};
use crate::advice::{FEW_LANES, HALF, NEIGHBOURS, QUEUED, counted, percent, remedy};
use crate::atomics::Atomics;
use crate::explain::Subject;
use crate::loadstore::{FullUnit, Stall};
use crate::memories::LESS_LOCAL;
use crate::occupancy::WARP;
use crate::pipes::relieve;
use crate::shape::whole_warps;
use crate::shared::{LAYOUT, SharedWait, conflict_share, is_wide};
use crate::verdict::Bound;
use warploom_config::SetIndex;
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::Part;

/// Share of local memory in the packets of a direction from which it is named as their cause.
const MOSTLY_LOCAL: f64 = 0.5;
/// Share of the loads that hit in a cache from which data counts as read again.
const AGAIN: f64 = 0.05;

/// Share of the loads that find in L2 what was loaded before from which shared memory is named. It
/// is above a half, which sectors reach that come from DRAM in pairs.
const REREAD: f64 = 0.75;

/// Lanes of an atomic, and atomics of a block, below which they count as one.
const ABOUT_ONE: f64 = 1.5;

/// Bytes that a load moves for a full warp with 16 bytes in each lane.
const WIDEST: f64 = 512.0;

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
const FEWER_UPDATES: &str = "update shared memory less often: let a thread combine several values in \
                             registers first";

impl Subject<'_> {
    /// Sentence on the next step.
    pub(crate) fn next_step(&self, bound: Bound) -> String {
        match bound {
            Bound::IdleSms => match self.step_within() {
                Some(step) => format!(
                    "Next: {}; for the time with blocks: {step}.",
                    self.more_blocks()
                ),
                None => format!("Next: {}.", self.more_blocks()),
            },
            bound => {
                let first = self.step(bound);
                let second = self.analysis.bound_beside;
                let second = second.map(|second| (second.name(), self.step(second)));
                match second.filter(|(_, step)| *step != first) {
                    Some((name, step)) => format!("Next: {first}; against the {name}: {step}."),
                    None => format!("Next: {first}."),
                }
            }
        }
    }

    /// Step for the time in which SMs hold blocks, unless it is to launch more blocks.
    fn step_within(&self) -> Option<String> {
        let within = self.within_sms();
        let of_latency = matches!(
            within,
            Bound::Loads | Bound::SharedLoads | Bound::Arithmetic
        );
        let more_blocks = self.is_short_of_blocks() && self.facts.scattered().is_none();
        (!of_latency || !more_blocks).then(|| self.step(within))
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
                let counts = &self.figures.statistics;
                let in_shared = counts.contains_key("sm.shared_atomics");
                let single = hot.filter(|hot| hot.are_atomics() && !in_shared);
                match single.and_then(|_| self.fewer_single_atomics()) {
                    Some(step) => step,
                    None => hot.map_or_else(|| self.more_warps(), |hot| hot.step(in_shared)),
                }
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

    /// Step that has more warps, where a part is far from saturated and an SM has room.
    fn or_warps(&self, part: Part) -> String {
        let used = self.analysis.utilisation_with_blocks.of(part);
        let (high, full) = (thresholds(part).high, thresholds(part).saturated);
        let has_room = !self.analysis.occupancy.is_full() && self.facts.queued <= QUEUED;
        match used < f64::midpoint(high, full) && has_room {
            true => format!(
                "; or, since it is full at {} only, {}",
                percent(full),
                self.more_warps()
            ),
            false => String::new(),
        }
    }

    /// Step where instructions are too many. Lanes without effect and bank conflicts come first,
    /// because they cost issue slots and time without any work.
    fn fewer_instructions(&self) -> String {
        let lanes = self.facts.lanes.filter(|&lanes| lanes < FEW_LANES);
        let lanes = lanes.map(|lanes| match self.analysis.occupancy.explains(lanes) {
            Some(threads) => whole_warps(threads),
            None => format!(
                "let neighbouring threads branch alike (an instruction takes effect in {lanes:.1} of \
                 {WARP} lanes)"
            ),
        });
        let conflicts = self.facts.shared_wait;
        let conflicts = conflicts.map(|wait| format!("{} ({})", wait.remedy(), wait.in_words()));
        let fewer = "execute fewer instructions: hoist index arithmetic out of loops, unroll, use \
                     wider loads or fused operations";
        let steps = [lanes, conflicts, Some(fewer.to_owned())];
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
            _ if self.facts.scattered().is_some() => self.fewer_transactions(),
            Stall::Lines => self.more_lines(unit),
            Stall::MshrRequests => "let one warp load what several need, and hand it on in shared \
                                    memory"
                .to_owned(),
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
            "load several values from shared memory before the first is used (unroll), keep those \
             that are used again in registers, and {}",
            self.more_warps()
        );
        match self.facts.shared_wait {
            Some(wait) => format!("{}; then {ahead}", wait.remedy()),
            None => ahead,
        }
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
        // What copies left in L2 is not read again.
        let copied = self.facts.copied.unwrap_or(0.0);
        let l2 = self.facts.l2_reread;
        let l1d = self.facts.l1d_reads;
        let again = |share: Option<f64>| share.is_some_and(|share| share >= AGAIN);
        let hits = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
        let found = format!(
            "with lines that are on their way, L1D hits {} of the loads, L2 {}{}",
            hits(l1d),
            hits(l2),
            match copied > 0.0 {
                true => " beside what copies left there",
                false => "",
            }
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
        let atomic = self.facts.accesses.iter().find(|kind| kind.is_atomic());
        let copied = self.facts.copied.unwrap_or(0.0);
        let reused = self.facts.l2_hit_rate.map(|rate| rate - copied);
        let missed = reused.is_some_and(|share| share < HALF);
        if let Some(kind) = atomic.filter(|kind| missed && kind.spread() >= SPREAD) {
            return format!(
                "let neighbouring threads update neighbouring words, for example by sorting the \
                 updates by address; an atomic then needs {:.1} transactions instead of {:.1}",
                kind.ideal, kind.transactions
            );
        }
        if let Some(step) = self.fewer_single_atomics() {
            return step;
        }
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

    /// Step where an atomic of a warp takes effect in about one lane: the warp combines already.
    fn fewer_single_atomics(&self) -> Option<String> {
        let counts = &self.figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let atomics = get("sm.memory_accesses.atomic");
        let (updates, blocks) = (get("gpu.atomics"), get("sm.blocks_started"));
        let single = updates > 0.0 && blocks > 0.0 && updates < ABOUT_ONE * atomics;
        let for_block = atomics / blocks;
        single.then(|| {
            let step = match for_block < ABOUT_ONE {
                true => "launch fewer blocks that work on more each",
                false => {
                    "combine the values of a block in shared memory, and let one thread of the block \
                     update the word; or let each thread work on more elements"
                }
            };
            format!(
                "{step} (an atomic takes effect in one lane, so that warps combine their values \
                 already; a block executes {for_block:.1} of them)"
            )
        })
    }

    /// True if most transactions are atomics.
    fn mostly_atomics(&self) -> bool {
        self.facts.atomics.is_some_and(|share| share > 0.5)
    }

    /// Step where warps wait for atomics.
    fn faster_atomics(&self) -> String {
        let wait = self.facts.shared_wait.filter(|wait| wait.is_atomic);
        match (self.facts.atomic_memory, wait) {
            (Some(Atomics::Shared), Some(wait)) => {
                format!("{}; then {}", wait.remedy(), self.more_warps())
            }
            (Some(Atomics::Shared), None) => format!("{FEWER_UPDATES}; and {}", self.more_warps()),
            _ => self.fewer_atomics(),
        }
    }

    fn less_traffic(&self, part: Part) -> String {
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

    fn fewer_transactions(&self) -> String {
        let fewer = |kind: Accesses| {
            format!(
                "{NEIGHBOURS}; {} then needs {:.1} transactions instead of {:.1}; where addresses \
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

    /// Step where loads take long: against what makes them slow, or else more of them at a time.
    fn faster_loads(&self) -> String {
        let used = &self.analysis.utilisation;
        let memory = [Part::Dram, Part::NocToSm];
        let nearer = |a: &Part, b: &Part| used.of(*a).total_cmp(&used.of(*b));
        let nearest = memory.into_iter().max_by(nearer);
        if self.facts.scattered().is_some() {
            return self.fewer_transactions();
        }
        if let Some(step) = self.fewer_local_loads() {
            return step;
        }
        match (self.slow_shared(), nearest) {
            // Loads are no faster without the turns of atomics.
            (Some(wait), _) if wait.is_atomic => {
                format!("{}; then {}", self.more_loads(), wait.remedy())
            }
            (Some(wait), _) => format!("{}; then {}", wait.remedy(), self.more_loads()),
            (None, Some(part)) if self.facts.queueing > HALF => self.less_traffic(part),
            _ => self.more_loads(),
        }
    }

    /// Step that has more loads in flight: more warps, or wider loads.
    fn more_loads(&self) -> String {
        let load = self.facts.accesses.iter().find(|kind| kind.is_load());
        let narrow = load.filter(|kind| kind.spread() < SPREAD && 2.0 * kind.bytes <= WIDEST);
        let wider = narrow.map_or_else(String::new, |kind| {
            format!(
                "; or load wider words, such as `float4` or `uint4` (a load of a warp moves {:.0} \
                 bytes, of up to {WIDEST:.0})",
                kind.bytes
            )
        });
        format!("{}{wider}{}", self.more_warps(), self.nearer_in_words())
    }

    /// Clause on data that loads find in L2, unless the host's copies left it there.
    fn nearer_in_words(&self) -> String {
        let again = self.facts.l2_reread.filter(|&share| share >= REREAD);
        again.map_or_else(String::new, |share| {
            format!(
                "; or, where threads of a block load the same data, let them share it in shared \
                 memory ({} of the loads that come to L2 find there what was loaded before{})",
                percent(share),
                match self.analysis.launches {
                    1 => "",
                    _ => ", by this launch or an earlier one",
                }
            )
        })
    }

    fn more_warps(&self) -> String {
        let held = &self.analysis.occupancy;
        let full = held.is_full();
        let is_grid = self.is_short_of_blocks();
        match remedy(self.machine.spec, self.analysis) {
            Some(_) if !full && is_grid => format!(
                "add warps: the grid has {} for {} SMs; let more threads share the work, or launch \
                 a larger problem",
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
