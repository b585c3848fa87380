//! The verdict on a kernel: what bounds it. `run --explain` and `analyze` show the same one.
//!
//! The bound is the first of these that applies:
//!
//! 1. a part of the machine above the lower threshold of its load class, or shared memory if it is
//!    busy in more than half of the cycles and more than that part;
//! 2. SMs without a block: because launches take more than half of the time before their first
//!    block starts. Or in the time after that, for more than half of it, or as the largest part of
//!    the largest cause for which schedulers do not issue, unless they hold one in two thirds of
//!    it, a part is full then, and no single block takes nearly all of the time; or unless
//!    transactions of scattered accesses cost more;
//! 3. L2, the network or DRAM above such a threshold while most SMs hold blocks, or on the SMs that
//!    hold a block: schedulers or shared memory above such a threshold;
//! 4. the largest cause for which schedulers do not issue. A full load/store unit is named after
//!    the largest cause of its own stalls. Cycles in which a pipe is full count for what fills it:
//!    function units, the load/store unit, whose instructions may hold the operand collectors, or
//!    the operand collectors themselves. Cycles in which warps wait for results count for function
//!    units while an instruction waits for one that is taken, else for loads from shared memory if
//!    there are any, else for arithmetic.
//!
//! A cause of `sm.slots` stands for barriers, fences and atomics together; the warps at barriers
//! and the counts of atomics tell which of them it is.
//!
//! Of two directions of the network that are used about equally, the one in which packets take
//! longer is named.
//!
//! A policy that holds warps back more than any other cause does comes before a part that is not
//! saturated, and so do full load/store units whose loads find no line in their set of L1D, if they
//! are full for a larger share than the part is of its saturation.
//!
//! Where warps wait for requests that wait for a few L2 banks, always the same or not, or one of
//! these is busy for long, these are named instead of load/store units, loads and atomics, and
//! instead of idle SMs if the bank is busy for longer than SMs are idle. Where most warps on an SM
//! wait at a barrier on average, barriers are named instead of latencies.
//!
//! Atomics that go to few banks while schedulers issue in most cycles, and in more than twice as
//! many as warps wait for memory in, leave instruction issue the bound.
//!
//! Where instructions are the bound and take effect in less than half of the lanes, diverged warps
//! are named instead.

use crate::accesses::Accesses;
use crate::advice::Facts;
use crate::classes::Category;
use crate::hot_banks::Hot;
use crate::loadstore::{FullUnit, Stall};
use crate::occupancy::WARP;
use crate::pipes::StalledOn;
use crate::shared::{SharedWait, conflicts};
use serde::{Serialize, Serializer};
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::{Part, Utilisation};
use warploom_stats::result::{Counts, Figures};

/// Share of its cycles above which shared memory counts as the bound.
pub const SHARED_BUSY: f64 = 0.5;
/// Share of the SMs' cycles with a block below which idle SMs are the bound whatever the causes,
/// and share of the time that launches take from which these are.
const ACTIVE: f64 = 0.5;
/// Share of those cycles from which a full part is the bound even if idle SMs are the largest
/// cause.
const MOSTLY: f64 = 2.0 / 3.0;
/// Share of the cycles with a block in which load/store units have an unfinished access from which
/// they are the bound instead of the latency of loads.
const NEARLY_ALWAYS: f64 = 0.9;
/// Share of the warps on an SM above which their waits at barriers are the bound.
const MOST: f64 = 0.5;
/// Ratio to the more used direction of the network from which the other is used equally.
const EQUAL: f64 = 0.9;
/// Share of the cycles with a block in which schedulers issue from which no cause is as large.
const MOST_ISSUED: f64 = 0.5;
/// Ratio of these cycles to those in which warps wait for memory from which other warps cover the
/// waits for atomics in queues of few L2 banks.
const TWICE: f64 = 2.0;
/// Lanes of an instruction below which diverged warps count as the bound.
const HALF: f64 = 16.0;

/// Limit of a kernel's speed. Results contain its [key](Self::key).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A part of the machine.
    Part(Part),
    /// Shared memory and its banks.
    Shared,
    /// Load/store units that are full.
    LoadStore,
    /// SMs without a block.
    IdleSms,
    /// Instructions that take effect in few lanes.
    Divergence,
    /// Latency of loads from memory.
    Loads,
    /// Latency of loads from shared memory.
    SharedLoads,
    /// Latency of arithmetic instructions.
    Arithmetic,
    /// Function units that are full.
    Units,
    /// Operand collectors whose instructions wait for registers.
    Operands,
    /// A few L2 banks, or DRAM channels, that most requests go to.
    HotBanks,
    /// Waits at barriers of blocks.
    Barriers,
    /// Waits at memory fences.
    Fences,
    /// Latency of atomic operations.
    Atomics,
    /// Fetch of instructions by the SM.
    Fetch,
    /// The warp scheduler's policy.
    Policy,
}

impl Bound {
    /// Key of the bound in results.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Part(part) => Category::of_part(part).name(),
            Self::Shared => "shared-memory",
            Self::LoadStore => "load-store",
            Self::IdleSms => "idle-sms",
            Self::Divergence => "divergence",
            Self::Loads => "load-latency",
            Self::SharedLoads => "shared-latency",
            Self::Arithmetic => "arithmetic-latency",
            Self::Units => "function-units",
            Self::Operands => "operand-collectors",
            Self::HotBanks => "hot-banks",
            Self::Barriers => "barriers",
            Self::Fences => "fences",
            Self::Atomics => "atomic-latency",
            Self::Fetch => "fetch",
            Self::Policy => "policy",
        }
    }

    /// Name of the bound.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Part(part) => part.name(),
            Self::Shared => "shared memory",
            Self::LoadStore => "load/store units",
            Self::IdleSms => "SMs without a block",
            Self::Divergence => "diverged warps",
            Self::Loads => "latency of loads",
            Self::SharedLoads => "latency of shared memory",
            Self::Arithmetic => "latency of arithmetic",
            Self::Units => "function units",
            Self::Operands => "operand collectors",
            Self::HotBanks => "a few L2 banks",
            Self::Barriers => "barriers",
            Self::Fences => "fences",
            Self::Atomics => "latency of atomics",
            Self::Fetch => "fetch of instructions",
            Self::Policy => "scheduling policy",
        }
    }

    /// Share of the scheduler cycles in which warps wait for what this bound stands for; 0 for
    /// bounds that are no cause in `sm.slots`.
    pub(crate) fn waits(self, figures: &Figures) -> f64 {
        let share = |cause: &str| figures.stalls.get(cause).copied().unwrap_or(0.0);
        match self {
            Self::LoadStore => StalledOn::all(figures).load_store,
            Self::Units => StalledOn::all(figures).units,
            Self::Operands => StalledOn::all(figures).operands,
            Self::Loads => share("memory_dependence"),
            Self::SharedLoads => StalledOn::all(figures).shared,
            Self::Arithmetic => StalledOn::all(figures).arithmetic,
            Self::Barriers | Self::Fences | Self::Atomics => share("barrier"),
            Self::Fetch => share("instruction_buffer"),
            Self::Policy => share("policy"),
            Self::Part(_) | Self::Shared | Self::IdleSms | Self::Divergence | Self::HotBanks => 0.0,
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// Bounds that are causes in `sm.slots`, barriers also for fences and atomics. `no_warp` and
/// `issued` name none.
pub(crate) const CAUSES: [Bound; 9] = [
    Bound::LoadStore,
    Bound::Units,
    Bound::Operands,
    Bound::Loads,
    Bound::SharedLoads,
    Bound::Arithmetic,
    Bound::Barriers,
    Bound::Fetch,
    Bound::Policy,
];

/// Figures from which the verdict on a kernel follows.
pub(crate) struct Evidence<'a> {
    pub(crate) used: &'a Utilisation,
    pub(crate) figures: &'a Figures,
    facts: &'a Facts,
    /// Threads of a block.
    block_threads: u32,
    /// Utilisation while there are blocks.
    pub(crate) with_blocks: &'a Utilisation,
    /// Share of the time before the first blocks of launches.
    launch: f64,
    /// True if the cycles in which the policy holds warps back are left out.
    without_policy: bool,
}

impl<'a> Evidence<'a> {
    /// Figures of a kernel whose blocks have `block_threads`, and whose launches take the share
    /// `launch` of the time before their first blocks. Parts are used as in `used` over all cycles,
    /// and as in `with_blocks` while there are blocks.
    pub(crate) const fn new(
        (used, with_blocks): (&'a Utilisation, &'a Utilisation),
        figures: &'a Figures,
        facts: &'a Facts,
        block_threads: u32,
        launch: f64,
    ) -> Self {
        Self {
            used,
            figures,
            facts,
            block_threads,
            with_blocks,
            launch,
            without_policy: false,
        }
    }

    /// The next bound where the policy is the first one: what bounds the kernel if holding warps
    /// back costs no time. `None` where another thing than the policy is the bound, and where
    /// schedulers wait for nothing else.
    pub(crate) fn bound_without_policy(&self) -> Option<Bound> {
        let without = Self {
            without_policy: true,
            ..*self
        };
        let next = (self.bound() == Bound::Policy).then(|| without.bound());
        next.filter(|bound| *bound != Bound::Policy)
    }

    /// The bound of the kernel.
    pub(crate) fn bound(&self) -> Bound {
        self.unless_diverged(self.first_bound())
    }

    /// The bound of the kernel on the SMs that hold a block. Parts outside of SMs count by their
    /// use while most SMs hold one.
    pub(crate) fn bound_within_sms(&self) -> Bound {
        let part = Category::of(self.with_blocks).part();
        let memory = part.filter(|part| !matches!(part, Part::Scheduler | Part::L1d));
        memory.map_or_else(
            || self.unless_diverged(self.within_sms()),
            |part| self.bound_of(part),
        )
    }

    /// The bound where `part` is used most: what keeps accesses from it, or the part itself.
    fn bound_of(&self, part: Part) -> Bound {
        if self.is_throttled(part) {
            Bound::Policy
        } else if self.lacks_lines(part) && self.load_store_full() >= self.load_of(part) {
            Bound::LoadStore
        } else {
            Bound::Part(self.slower_direction(part))
        }
    }

    fn unless_diverged(&self, bound: Bound) -> Bound {
        let of_instructions = matches!(
            bound,
            Bound::Part(Part::Scheduler)
                | Bound::Units
                | Bound::Operands
                | Bound::Arithmetic
                | Bound::Fetch
        );
        match self.facts.lanes {
            Some(lanes) if of_instructions && lanes < HALF && self.block_threads >= WARP => {
                Bound::Divergence
            }
            _ => bound,
        }
    }

    /// The few L2 banks that requests wait for, unless these are atomics for which warps hardly do.
    pub(crate) fn hot_banks(&self) -> Option<Hot> {
        Hot::of(self.figures, self.active()).filter(|hot| !self.goes_on_beside(*hot))
    }

    /// True if most requests to these banks are atomics, and schedulers issue in most cycles
    /// meanwhile, in far more than they wait for memory in: other warps cover these waits.
    fn goes_on_beside(&self, hot: Hot) -> bool {
        let waits = [Bound::LoadStore, Bound::Loads, Bound::Atomics];
        let waits: f64 = waits.iter().map(|cause| cause.waits(self.figures)).sum();
        let issued = issuing(self.used, self.figures);
        hot.are_atomics() && issued / self.active() > MOST_ISSUED && issued > TWICE * waits
    }

    /// True if schedulers are the bound, the one beside it, or what bounds SMs that hold a block.
    pub(crate) fn issues_too_much(&self) -> bool {
        let first = self.bound();
        let within = (first == Bound::IdleSms).then(|| self.bound_within_sms());
        [Some(first), self.second(first), within].contains(&Some(Bound::Part(Part::Scheduler)))
    }

    /// Share of the SMs' cycles with a block, above 0.
    pub(crate) fn active(&self) -> f64 {
        self.facts.active.unwrap_or(1.0).max(1e-9)
    }

    fn first_bound(&self) -> Bound {
        if let Some(part) = Category::of(self.used).part() {
            let shared = self.used.shared;
            return match shared > SHARED_BUSY && shared > self.used.of(part) {
                true => Bound::Shared,
                false => self.bound_of(part),
            };
        }
        if issuing(self.used, self.figures) > thresholds(Part::Scheduler).high {
            return Bound::Part(Part::Scheduler);
        }
        let idle = self.is_idle();
        let hot = self
            .hot_banks()
            .filter(|hot| hot.busy > self.idle_after_launch());
        match idle {
            true if self.is_mostly_launch() => Bound::IdleSms,
            true if hot.is_none() => self.unless_mostly_full(),
            _ => self.bound_within_sms(),
        }
    }

    /// True if launches take most of the time, or if SMs hold no block for long after them, or for
    /// longer than schedulers wait for anything else.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_mostly_launch() || self.active_after_launch() < ACTIVE || self.idle_is_largest()
    }

    /// True if most of the time passes before the first blocks of launches.
    pub(crate) fn is_mostly_launch(&self) -> bool {
        self.launch > 1.0 - ACTIVE
    }

    /// Share of the SMs' cycles without a block other than those before the first blocks of
    /// launches.
    pub(crate) fn idle_after_launch(&self) -> f64 {
        (1.0 - self.active() - self.launch).max(0.0)
    }

    /// Share of the SMs' cycles with a block after the time that launches take.
    fn active_after_launch(&self) -> f64 {
        self.active() / (1.0 - self.launch).max(1e-9)
    }

    /// True if the policy holds warps back more than anything else does, and `part` is not
    /// saturated.
    fn is_throttled(&self, part: Part) -> bool {
        let held = Bound::Policy.waits(self.figures);
        let none = self.figures.stalls.get("no_warp").copied().unwrap_or(0.0);
        self.largest_cause() == Bound::Policy
            && held > none
            && self.with_blocks.of(part) <= thresholds(part).saturated
    }

    /// True if accesses wait in full load/store units more than for anything else, because they
    /// find no line in their set of L1D, and `part`, which the misses fill, is not saturated.
    pub(crate) fn lacks_lines(&self, part: Part) -> bool {
        let unit = FullUnit::of(&self.figures.statistics);
        part != Part::Scheduler
            && self.largest_cause() == Bound::LoadStore
            && unit.is_some_and(|unit| unit.stall == Stall::Lines && !unit.is_store())
            && self.with_blocks.of(part) <= thresholds(part).saturated
    }

    /// Share of the cycles with a block in which load/store units are full.
    fn load_store_full(&self) -> f64 {
        Bound::LoadStore.waits(self.figures) / self.active()
    }

    /// Use of a part while SMs hold blocks, as a share of that at which it is saturated.
    fn load_of(&self, part: Part) -> f64 {
        self.with_blocks.of(part) / thresholds(part).saturated
    }

    /// Idle SMs, or what bounds those that hold a block: a part that is full there if they do so
    /// most of the time and do not wait for a single block, or transactions of scattered accesses
    /// if these cost more.
    fn unless_mostly_full(&self) -> Bound {
        let within = self.bound_within_sms();
        let is_full = matches!(within, Bound::Part(_) | Bound::Shared);
        let waits_for_one = self.facts.longest_block > NEARLY_ALWAYS;
        let is_held = self.active_after_launch() >= MOSTLY;
        match is_full && is_held && !waits_for_one || self.is_scattered(within) {
            true => within,
            false => Bound::IdleSms,
        }
    }

    /// True if `within` is full of transactions of scattered accesses, and those that neighbouring
    /// words would save take a larger share of the time with blocks than SMs are idle.
    fn is_scattered(&self, within: Bound) -> bool {
        let full = match within {
            Bound::LoadStore if self.facts.units_busy > NEARLY_ALWAYS => self.facts.units_busy,
            Bound::LoadStore => self.load_store_full(),
            Bound::Part(part) if part != Part::Scheduler => self.with_blocks.of(part),
            _ => return false,
        };
        let saved = |kind: Accesses| full * (1.0 - 1.0 / kind.spread());
        let kind = self.facts.scattered();
        kind.is_some_and(|kind| saved(kind) > self.idle_after_launch())
    }

    /// The direction of the network in which a packet takes longer, if `part` is a direction and
    /// both are used about equally; else `part`.
    fn slower_direction(&self, part: Part) -> Part {
        let other = match part {
            Part::NocToSm => Part::NocToL2,
            Part::NocToL2 => Part::NocToSm,
            part => return part,
        };
        let counts = &self.figures.statistics;
        let takes = |part: Part| {
            let get = |of: &str| {
                counts
                    .get(&format!("{}.{of}", part.key()))
                    .copied()
                    .unwrap_or(0)
            };
            get("packet_cycles") as f64 / get("packets").max(1) as f64
        };
        let is_equal = self.with_blocks.of(other) > EQUAL * self.with_blocks.of(part);
        match is_equal && takes(other) > takes(part) {
            true => other,
            false => part,
        }
    }

    /// True if schedulers most often have no warp after the launch, mostly because their SM has no
    /// block, which alone takes more of the time than any other cause.
    fn idle_is_largest(&self) -> bool {
        let none = self.figures.stalls.get("no_warp").copied().unwrap_or(0.0) - self.launch;
        let waits = CAUSES.map(|bound| bound.waits(self.figures));
        let largest = waits.into_iter().fold(0.0, f64::max);
        none > largest && self.idle_after_launch() > largest.max(none / 2.0)
    }

    fn within_sms(&self) -> Bound {
        if self.used.shared / self.active() > SHARED_BUSY {
            return Bound::Shared;
        }
        let issuing = issuing(self.used, self.figures) / self.active();
        let hot = Hot::of(self.figures, self.active());
        let goes_on = hot.is_some_and(|hot| self.goes_on_beside(hot));
        if issuing > thresholds(Part::Scheduler).high || goes_on {
            return Bound::Part(Part::Scheduler);
        }
        self.behind(self.largest_cause())
    }

    /// The bound that makes warps wait as long as for a cause, if it is not the cause itself.
    fn behind(&self, cause: Bound) -> Bound {
        let cause = match cause {
            Bound::Barriers => self.at_barrier(),
            cause => cause,
        };
        let cause = match cause {
            Bound::Loads if self.facts.units_busy > NEARLY_ALWAYS => Bound::LoadStore,
            cause => cause,
        };
        let of_memory = matches!(cause, Bound::Loads | Bound::LoadStore | Bound::Atomics);
        let of_latency = matches!(
            cause,
            Bound::Loads | Bound::SharedLoads | Bound::Arithmetic | Bound::Fetch
        );
        let hot = self.hot_banks();
        let elsewhere = self.facts.queueing_elsewhere;
        let is_behind = |hot: Hot| hot.is_behind(cause, cause.waits(self.figures), elsewhere);
        if of_memory && hot.is_some_and(is_behind) {
            Bound::HotBanks
        } else if of_latency && at_barriers(&self.figures.statistics) > MOST {
            Bound::Barriers
        } else {
            cause
        }
    }

    /// The bound that most warps wait for in the cycles of the cause `barrier`, in which all warps
    /// of a scheduler wait. It is not barriers if warps wait at them for less than half of that
    /// time over the whole run.
    pub(crate) fn at_barrier(&self) -> Bound {
        let counts = &self.figures.statistics;
        let waits = Bound::Barriers.waits(self.figures) / self.active();
        let executed = counts.contains_key("sm.barriers");
        if executed && (!counts_waits(counts) || at_barriers(counts) >= waits / 2.0) {
            return Bound::Barriers;
        }
        match self.facts.atomic_memory {
            Some(_) => Bound::Atomics,
            None => Bound::Fences,
        }
    }

    /// The cause of most cycles. Those in which warps wait for results of function units are not
    /// divided for that: all count for full units, or for the latency of arithmetic, whichever has
    /// more of them.
    fn largest_cause(&self) -> Bound {
        let results = StalledOn::results(self.figures);
        let (units, arithmetic) = (results.units, results.arithmetic);
        let weight = |bound: &Bound| {
            bound.waits(self.figures)
                + match bound {
                    Bound::Units if units > arithmetic => arithmetic,
                    Bound::Arithmetic if arithmetic >= units => units,
                    _ => 0.0,
                }
        };
        let larger = |a: &Bound, b: &Bound| weight(a).total_cmp(&weight(b));
        let counts = |bound: &Bound| *bound != Bound::Policy || !self.without_policy;
        let others = CAUSES.into_iter().filter(|bound| counts(bound));
        let largest = others.max_by(larger).filter(|bound| weight(bound) > 0.0);
        largest.unwrap_or(Bound::Policy)
    }
}

/// Share of the scheduler cycles in which schedulers issue. It is above the rate of instructions
/// where one takes several cycles of its scheduler.
pub(crate) fn issuing(used: &Utilisation, figures: &Figures) -> f64 {
    let issued = figures.stalls.get("issued").copied().unwrap_or(0.0);
    used.scheduler.max(issued)
}

/// True unless the result is of an earlier version, which counts no warps at barriers.
fn counts_waits(counts: &Counts) -> bool {
    let has = |name: &str| counts.contains_key(name);
    let accesses = "sm.memory_accesses.";
    let mut names = counts.range(accesses.to_owned()..);
    has("sm.barrier_warp_cycles")
        || has("sm.shared_atomics")
        || names
            .next()
            .is_some_and(|(name, _)| name.starts_with(accesses))
}

/// Share of the warps on an SM that wait at a barrier, on average.
pub(crate) fn at_barriers(counts: &Counts) -> f64 {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    get("sm.barrier_warp_cycles") / get("sm.resident_warp_cycles").max(1.0)
}

/// Cycles that accesses to shared memory wait for each other's lanes, if load/store units are full
/// for another reason and these waits take at least half as many of their cycles.
pub(crate) fn conflicts_beside(
    facts: &Facts,
    counts: &Counts,
    unit: FullUnit,
) -> Option<SharedWait> {
    let many = 2 * conflicts(counts) >= FullUnit::largest(counts);
    let wait = facts.shared_wait;
    wait.filter(|_| many && unit.stall != Stall::Conflicts)
}
