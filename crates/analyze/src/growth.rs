//! The effect of more thread-level parallelism (TLP), and how far throughput can grow at most.
//!
//! A part that is used to a share of its capacity lets throughput grow until it is full, if its use
//! grows with throughput. Cycles in which schedulers wait for results are all that more warps can
//! fill. The least of such limits is told, since none of them says that throughput does grow so
//! far.

use crate::advice::{Facts, HALF, Nearest, QUEUED, nearest, percent};
use crate::analysis::KernelAnalysis;
use crate::explain::Subject;
use crate::verdict::Bound;
use warploom_policy::load_class::LoadClass;

/// Causes of `sm.slots` whose cycles further warps can fill.
const FILLED: [&str; 4] = [
    "memory_dependence",
    "execution_dependence",
    "barrier",
    "instruction_buffer",
];
/// Growth from which it is said that no part has much to do.
const FAR: f64 = 100.0;
/// Growth below which more warps hardly help.
const HARDLY: f64 = 1.05;

/// Effect of more TLP.
pub(crate) struct MoreTlp {
    pub sentence: String,
    /// False if more warps on an SM hardly help.
    pub helps: bool,
}

/// The effect of more TLP.
pub(crate) fn more_tlp(subject: &Subject<'_>) -> MoreTlp {
    let (analysis, facts) = (subject.analysis, &subject.facts);
    let useless = |sentence| MoreTlp {
        sentence,
        helps: false,
    };
    let queued = facts.queued;
    useless(match analysis.bound {
        Bound::IdleSms if subject.waits_alone() && !analysis.occupancy.is_full() => {
            return MoreTlp {
                sentence: format!(
                    "More warps help if they share the work: where SMs hold a block, the bound is {}.",
                    subject.within_sms().name()
                ),
                helps: true,
            };
        }
        Bound::IdleSms => format!(
            "More warps on an SM would hardly help: SMs hold no block at all in {} of their cycles.",
            percent(1.0 - facts.active.unwrap_or(1.0))
        ),
        Bound::Shared => format!(
            "More warps would not help: they would queue at the shared memory, which is busy in {} \
             of the cycles.",
            percent(analysis.utilisation.shared)
        ),
        Bound::HotBanks => {
            "More warps would not help: their requests would queue for the same few \
                            banks."
                .to_owned()
        }
        Bound::Loads if facts.queueing > HALF => format!(
            "More warps would hardly help: accesses spend {} of their time in queues of the memory \
             system already.",
            percent(facts.queueing)
        ),
        Bound::Units | Bound::Operands => format!(
            "More warps would not help: they would queue at the {}.",
            analysis.bound.name()
        ),
        bound
            if bound == Bound::LoadStore
                || analysis.class != LoadClass::Saturated && queued > QUEUED =>
        {
            format!(
                "More warps would hardly help: the load/store units are full in {} of the scheduler \
             cycles, so that accesses already queue there.",
                percent(queued)
            )
        }
        _ => return by_load(analysis, facts),
    })
}

/// Limit of a kernel's growth by more TLP.
struct Limit {
    /// Throughput at the limit over that of now.
    growth: f64,
    /// Clause on the part that limits it.
    words: String,
}

/// Limit of a part that is used to the share `used`, and full at `full`.
fn until_full(used: f64, full: f64, words: &str) -> Limit {
    Limit {
        growth: full / used.max(1e-9),
        words: format!("{words} (now {}, full at {})", percent(used), percent(full)),
    }
}

/// The least of all limits.
fn least(analysis: &KernelAnalysis, facts: &Facts) -> Limit {
    let Nearest {
        name, used, full, ..
    } = nearest(analysis);
    let saturated = until_full(used, full, &format!("the {name} is saturated"));
    let active = facts.active.unwrap_or(1.0).max(1e-9);
    let pipe = until_full(
        analysis.units.function_units_with_blocks,
        1.0,
        &format!("the units of the pipe `{}` never idle", analysis.units.pipe),
    );
    let access = until_full(
        facts.units_busy,
        1.0,
        "load/store units always have an access to finish",
    );
    let bank = analysis.hot_l2_bank.unwrap_or(0.0) / active;
    let bank = until_full(bank.min(1.0), 1.0, "the busiest L2 bank never idles");
    let share = |cause: &str| analysis.stalls.get(cause).copied().unwrap_or(0.0);
    let filled: f64 = FILLED.into_iter().map(share).sum();
    let issued = share("issued");
    let lost = Limit {
        growth: (issued + filled) / issued.max(1e-9),
        words: format!(
            "schedulers issue in all cycles in which their warps now wait for results ({})",
            percent(filled)
        ),
    };
    let held = &analysis.occupancy;
    let slots = Limit {
        growth: f64::from(held.warp_slots) / held.resident_warps.max(1e-9),
        words: format!(
            "all warp slots are taken (now {:.1} of {})",
            held.resident_warps, held.warp_slots
        ),
    };
    let counted = [
        (true, saturated),
        (true, pipe),
        (true, access),
        (true, bank),
        (issued > 0.0, lost),
        (!held.is_full() && held.resident_warps > 0.0, slots),
    ];
    let limits = counted
        .into_iter()
        .filter_map(|(is, limit)| is.then_some(limit));
    let smaller = |a: Limit, b: Limit| if b.growth < a.growth { b } else { a };
    limits.reduce(smaller).unwrap_or(Limit {
        growth: f64::INFINITY,
        words: String::new(),
    })
}

/// Sentence on the effect of more TLP by the load of the most used part, and by the other limits.
fn by_load(analysis: &KernelAnalysis, facts: &Facts) -> MoreTlp {
    let Nearest {
        name, used, full, ..
    } = nearest(analysis);
    let Limit { growth, words } = least(analysis, facts);
    let until = format!("throughput can grow at most {growth:.1}-fold, until {words}");
    let helps = analysis.class != LoadClass::Saturated && growth >= HARDLY;
    let sentence = match analysis.class {
        LoadClass::Saturated => format!(
            "More warps would not help: they would queue at the {name} (used for {}, full from {} \
             on), and share the caches with more others.",
            percent(used),
            percent(full)
        ),
        _ if growth < HARDLY => format!("More warps would hardly help: {until}."),
        LoadClass::Moderate if analysis.occupancy.is_full() => format!(
            "All warp slots are taken; more loads or arithmetic in flight in each warp help to a \
             limit: {until}."
        ),
        LoadClass::Moderate => format!("More warps help to a limit: {until}."),
        LoadClass::Underutilised if analysis.occupancy.is_full() => format!(
            "More warps would help, but all warp slots are taken; more loads or arithmetic in \
             flight in each warp have the same effect: {until}."
        ),
        LoadClass::Underutilised if growth > FAR => {
            "More warps would help: no part has much to do.".to_owned()
        }
        LoadClass::Underutilised => format!("More warps would help: {until}."),
    };
    MoreTlp { sentence, helps }
}
