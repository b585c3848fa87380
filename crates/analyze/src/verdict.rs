//! The verdict on a kernel: what bounds it. `run --explain` and `analyze` show the same one.
//!
//! The bound is the first of these that applies:
//!
//! 1. a part of the machine above the lower threshold of its load class, or shared memory if it is
//!    busy in more than half of the cycles and more than that part;
//! 2. SMs without a block: for more than half of the time, or as the largest part of the largest
//!    cause for which schedulers do not issue;
//! 3. on the SMs that hold a block: schedulers or shared memory above such a threshold;
//! 4. the largest cause for which schedulers do not issue. A full load/store unit is named after
//!    the largest cause of its own stalls.
//!
//! Where instructions are the bound and take effect in less than half of the lanes, diverged warps
//! are named instead.

use crate::advice::Facts;
use crate::analysis::KernelAnalysis;
use crate::classes::Category;
use crate::loadstore::{FullUnit, Stall};
use crate::occupancy::WARP;
use serde::{Serialize, Serializer};
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::{Machine, Part, Utilisation};
use warploom_stats::result::{Counts, Figures};

/// Share of its cycles above which shared memory counts as the bound.
pub const SHARED_BUSY: f64 = 0.5;
/// Share of the SMs' cycles with a block below which idle SMs are the bound whatever the causes.
const ACTIVE: f64 = 0.5;
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
    /// Latency of arithmetic instructions.
    Arithmetic,
    /// Function units that are full.
    Units,
    /// Barriers, fences and atomics.
    Barriers,
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
            Self::Arithmetic => "arithmetic-latency",
            Self::Units => "function-units",
            Self::Barriers => "barriers",
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
            Self::Arithmetic => "latency of arithmetic",
            Self::Units => "function units",
            Self::Barriers => "barriers, fences and atomics",
            Self::Fetch => "fetch of instructions",
            Self::Policy => "scheduling policy",
        }
    }

    /// Cause in `sm.slots` of the stalls that this bound stands for, if it is one of them.
    pub(crate) const fn cause(self) -> Option<&'static str> {
        match self {
            Self::LoadStore => Some("memory_pipe"),
            Self::Loads => Some("memory_dependence"),
            Self::Arithmetic => Some("execution_dependence"),
            Self::Units => Some("execution_pipe"),
            Self::Barriers => Some("barrier"),
            Self::Fetch => Some("instruction_buffer"),
            Self::Policy => Some("policy"),
            _ => None,
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// Bounds that are causes in `sm.slots`. `no_warp` and `issued` name none.
const CAUSES: [Bound; 7] = [
    Bound::LoadStore,
    Bound::Units,
    Bound::Loads,
    Bound::Arithmetic,
    Bound::Barriers,
    Bound::Fetch,
    Bound::Policy,
];

/// Figures from which the verdict on a kernel follows.
struct Evidence<'a> {
    used: &'a Utilisation,
    stalls: &'a std::collections::BTreeMap<String, f64>,
    /// Share of the SMs' cycles with a block, above 0.
    active: f64,
}

/// The bound of a kernel with these utilisations and figures, whose blocks have `block_threads`.
pub(crate) fn bound(
    machine: &Machine<'_>,
    used: &Utilisation,
    figures: &Figures,
    block_threads: u32,
) -> Bound {
    let facts = Facts::new(machine.spec, figures);
    let evidence = Evidence {
        used,
        stalls: &figures.stalls,
        active: facts.active.unwrap_or(1.0).max(1e-9),
    };
    let bound = evidence.first_bound();
    let of_instructions = matches!(
        bound,
        Bound::Part(Part::Scheduler) | Bound::Units | Bound::Arithmetic | Bound::Fetch
    );
    match facts.lanes {
        Some(lanes) if of_instructions && lanes < HALF && block_threads >= WARP => {
            Bound::Divergence
        }
        _ => bound,
    }
}

impl Evidence<'_> {
    fn first_bound(&self) -> Bound {
        if let Some(part) = Category::of(self.used).part() {
            let shared = self.used.shared;
            return match shared > SHARED_BUSY && shared > self.used.of(part) {
                true => Bound::Shared,
                false => Bound::Part(part),
            };
        }
        if self.active < ACTIVE || self.idle_is_largest() {
            return Bound::IdleSms;
        }
        self.within_sms()
    }

    /// True if schedulers most often have no warp, and mostly because their SM has no block.
    fn idle_is_largest(&self) -> bool {
        let none = self.share("no_warp");
        let of_causes = CAUSES.into_iter().filter_map(Bound::cause);
        let largest = of_causes.map(|cause| self.share(cause)).fold(0.0, f64::max);
        none > largest && 1.0 - self.active > none / 2.0
    }

    /// The bound on the SMs that hold a block.
    fn within_sms(&self) -> Bound {
        if self.used.shared / self.active > SHARED_BUSY {
            return Bound::Shared;
        }
        if self.used.scheduler / self.active > thresholds(Part::Scheduler).high {
            return Bound::Part(Part::Scheduler);
        }
        let share = |bound: &Bound| bound.cause().map_or(0.0, |cause| self.share(cause));
        let larger = |a: &Bound, b: &Bound| share(a).total_cmp(&share(b));
        CAUSES.into_iter().max_by(larger).unwrap_or(Bound::IdleSms)
    }

    /// Share of the scheduler cycles with a cause.
    fn share(&self, cause: &str) -> f64 {
        self.stalls.get(cause).copied().unwrap_or(0.0)
    }
}

/// Reason why SMs hold no block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Idle {
    /// Core cycles that pass before the first blocks of launches, `gpu.kernel_launch_cycles`.
    Launch(u64),
    /// The grid has fewer blocks than the machine has SMs.
    Grid,
    /// The last blocks of a grid, and the time between launches.
    Tail,
}

impl Idle {
    /// The reason for most of the cycles without a block.
    pub(crate) fn of(
        machine: &Machine<'_>,
        analysis: &KernelAnalysis,
        active: f64,
        counts: &Counts,
    ) -> Self {
        let gpu = &machine.spec.gpu;
        let blocks = counts.get("sm.blocks_started").copied().unwrap_or(0);
        let launches = analysis.launches * u64::from(gpu.kernel_launch_cycles);
        let before = launches + blocks * u64::from(gpu.block_launch_cycles);
        let idle = (1.0 - active) * analysis.cycles as f64;
        if before as f64 > idle / 2.0 {
            Self::Launch(before)
        } else if analysis.occupancy.grid_blocks < u64::from(gpu.sms) {
            Self::Grid
        } else {
            Self::Tail
        }
    }
}

/// Cycles that an access to shared memory waits for bank conflicts, if load/store units are full
/// for another reason and conflicts take at least half as many of their cycles.
pub(crate) fn conflicts_beside(facts: &Facts, counts: &Counts, unit: FullUnit) -> Option<f64> {
    let conflicts = counts.get("sm.shared_conflict_cycles").copied();
    let many = 2 * conflicts.unwrap_or(0) >= FullUnit::largest(counts);
    let cycles = facts.conflict_cycles.filter(|n| *n >= 1.0);
    cycles.filter(|_| many && unit.stall != Stall::Conflicts)
}
