//! Atomics that warps wait for: those on shared memory, or those on global memory; and the steps
//! against atomics on global memory.

use crate::accesses::SPREAD;
use crate::advice::{HALF, percent};
use crate::explain::Subject;
use crate::steps::{ABOUT_ONE, FEWER_UPDATES};
use warploom_config::GpuSpec;
use warploom_stats::result::Counts;

/// Memory whose atomics warps wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomics {
    Shared,
    Global,
}

impl Atomics {
    /// The atomics that a kernel executes; of both kinds, those that warps wait for longer. `None`
    /// without atomics.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Option<Self> {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        // Results of earlier versions count atomics on global memory by lane alone.
        let global = match get("sm.memory_accesses.atomic") {
            0 => get("gpu.atomics"),
            accesses => accesses,
        };
        let mean = get("sm.fetch_cycles") as f64 / get("sm.fetches").max(1) as f64;
        let shared = get("sm.shared_atomics");
        let latency = u64::from(spec.latencies().shared);
        let of_shared = shared * latency + get("sm.shared_atomic_cycles");
        match (shared, global) {
            (0, 0) => None,
            (0, _) => Some(Self::Global),
            (_, 0) => Some(Self::Shared),
            _ if of_shared as f64 >= global as f64 * mean => Some(Self::Shared),
            _ => Some(Self::Global),
        }
    }
}

/// Share of the lanes of atomics that have the word of another lane of their warp, from which it
/// helps to combine the values of a warp.
const SAME: f64 = 0.5;

/// Lanes of a warp in atomics on global memory.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lanes {
    /// Share of the lanes that update the word of another lane of their warp; `None` for results of
    /// earlier versions.
    same: Option<f64>,
    /// True if most of these atomics exchange values, or compare and exchange them: those of
    /// several lanes cannot become one.
    exchange: bool,
}

impl Lanes {
    fn of(counts: &Counts) -> Self {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let (words, updates) = (get("sm.atomic_words"), get("gpu.atomics"));
        let is_known = words > 0.0 && updates > 0.0;
        Self {
            same: is_known.then(|| (1.0 - words / updates).max(0.0)),
            exchange: 2.0 * get("sm.atomic_exchanges") > get("sm.memory_accesses.atomic"),
        }
    }

    /// True unless many lanes update the word of another lane.
    fn are_apart(self) -> bool {
        self.same.is_none_or(|same| same < SAME)
    }
}

impl Subject<'_> {
    /// True if most atomics on global memory exchange values.
    pub(crate) fn exchanges(&self) -> bool {
        Lanes::of(&self.figures.statistics).exchange
    }

    /// Step where atomics on global memory are too many.
    pub(crate) fn fewer_atomics(&self) -> String {
        let lanes = Lanes::of(&self.figures.statistics);
        let atomic = self.facts.accesses.iter().find(|kind| kind.is_atomic());
        let copied = self.facts.copied.unwrap_or(0.0);
        let reused = self.facts.l2_hit_rate.map(|rate| rate - copied);
        let missed = reused.is_some_and(|share| share < HALF);
        let sorted = atomic.filter(|kind| kind.spread() >= SPREAD && lanes.are_apart());
        let sorted = sorted.filter(|_| missed || lanes.exchange).map(|kind| {
            format!(
                "let neighbouring threads update neighbouring words, for example by sorting the \
                 updates by address; an atomic then needs {:.1} transactions at best instead of {:.1}",
                kind.ideal, kind.transactions
            )
        });
        let steps = match lanes.exchange {
            true => [sorted, Some(fewer_exchanges(lanes).to_owned())],
            false => [sorted.or_else(|| self.fewer_single_atomics()), None],
        };
        let steps: Vec<String> = steps.into_iter().flatten().collect();
        match steps.is_empty() {
            true => self.combined_atomics(lanes),
            false => steps.join("; or "),
        }
    }

    /// Step that combines values before they are added to a word.
    fn combined_atomics(&self, lanes: Lanes) -> String {
        let apart = self.facts.atomic_lanes.filter(|&lanes| lanes < 2.0);
        let apart = apart.map_or_else(String::new, |per_transaction| {
            let of = format!(", of {per_transaction:.1} lanes each");
            match lanes.same {
                None => of + ": lanes on the same word, or on different lines, take turns",
                Some(same) if same >= SAME => format!(
                    "{of}: {} of the lanes update the word of another lane of their warp, and take \
                     turns",
                    percent(same)
                ),
                Some(_) => of + ": lanes of a warp are mostly on different lines",
            }
        });
        let first = match lanes.same {
            Some(same) if same < SAME => "let a block combine its values first, in shared memory",
            _ => "let a warp or a block combine its values first, by shuffles or in shared memory",
        };
        format!(
            "{first}, and update a word with one atomic (atomics are {} of the transactions{apart})",
            percent(self.facts.atomics.unwrap_or(0.0))
        )
    }

    /// Step where an atomic of a warp takes effect in about one lane: the warp combines already.
    pub(crate) fn fewer_single_atomics(&self) -> Option<String> {
        let counts = &self.figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let atomics = get("sm.memory_accesses.atomic");
        let (updates, blocks) = (get("gpu.atomics"), get("sm.blocks_started"));
        let single = updates > 0.0 && blocks > 0.0 && updates < ABOUT_ONE * atomics;
        let for_block = atomics / blocks;
        single.then(|| {
            let step = match for_block < ABOUT_ONE {
                true => self.fewer_blocks(),
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

    /// Step that has fewer blocks, each of which adds its results to words of global memory. Where
    /// SMs have free warp slots, there are to be no fewer threads.
    pub(crate) fn fewer_blocks(&self) -> &'static str {
        match self.is_short_of_blocks() && !self.analysis.occupancy.is_full() {
            true => "launch fewer and larger blocks, of as many threads in all",
            false => "launch fewer blocks that work on more each",
        }
    }

    /// True if most transactions are atomics.
    pub(crate) fn mostly_atomics(&self) -> bool {
        self.facts.atomics.is_some_and(|share| share > 0.5)
    }

    /// Step where warps wait for atomics.
    pub(crate) fn faster_atomics(&self) -> String {
        let wait = self.facts.shared_wait.filter(|wait| wait.is_atomic);
        match (self.facts.atomic_memory, wait) {
            (Some(Atomics::Shared), Some(wait)) => {
                format!("{}; then {}", wait.remedy(), self.more_warps())
            }
            (Some(Atomics::Shared), None) => format!("{FEWER_UPDATES}; and {}", self.more_warps()),
            _ => self.fewer_atomics(),
        }
    }
}

/// Step against atomics that exchange values.
const fn fewer_exchanges(lanes: Lanes) -> &'static str {
    match lanes.same {
        Some(same) if same >= SAME => {
            "let one thread of a warp or block do the exchange for all that want the same word"
        }
        _ => {
            "let a thread need fewer atomics (they exchange values, so that those of several lanes \
             cannot become one)"
        }
    }
}
