//! Cycles that accesses to shared memory take beyond one each: for their width, for bank conflicts,
//! and for turns of atomics.

use crate::occupancy::{Occupancy, WARP};
use warploom_config::GpuSpec;
use warploom_stats::result::Counts;

/// Cycles that accesses to shared memory wait for each other's lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SharedWait {
    /// Cycles that an access of the kind with most of them waits.
    pub cycles: f64,
    /// True if this kind is atomics; else lanes of loads and stores use the same bank.
    pub is_atomic: bool,
    /// True if lanes of atomics on one word take turns on the machine; else they only use the same
    /// bank.
    takes_turns: bool,
    /// True if the addresses of most lanes that use the same bank follow no pattern: they are data.
    pub is_lookup: bool,
    /// True if an SM has room for a copy of each block's shared memory for each lane of a warp.
    copies_fit: bool,
}

/// Remedy against bank conflicts of loads and stores.
pub(crate) const LAYOUT: &str = "change the layout in shared memory, for example by a padding \
                                 column, so that the lanes of a warp use different banks";
/// Remedy against bank conflicts of addresses that are data.
const LOOKUPS: &str = "the lanes' addresses follow no pattern, as those of look-ups in a table, so \
                       that padding does not help: give groups of lanes a copy of a small table \
                       each, or keep it in registers of a warp (shuffles)";
/// Remedy against atomics of shared memory whose lanes take turns.
const PRIVATE: &str = "let fewer lanes of a warp update the same word of shared memory: \
                                  give each lane a copy of the array (`copies[i * 32 + lane]`, or \
                                  fewer copies of a large one) and add the copies at the end, or \
                                  combine the values of a warp first (shuffles, two for each \
                                  value of 64 bits; from Volta on, `__match_any_sync`)";
/// Remedy against such atomics where each lane can have a copy of the array.
const COPIES: &str = "let fewer lanes of a warp update the same word of shared memory: give each \
                      lane a copy of the array (`copies[i * 32 + lane]`) and add the copies at the \
                      end";
/// Remedy against bank conflicts of atomics whose lanes do not take turns on one word.
const APART: &str = "let a thread combine several values before it updates shared memory; or give \
                     groups of lanes a copy of the array in other banks, which pays only if a \
                     block makes many more updates than the copies have words";

/// Share of the cycles of shared memory from which bank conflicts are named.
const SOME_CONFLICTS: f64 = 0.1;

/// Share of the cycles in which shared memory is busy that bank conflicts and turns of atomics
/// take, if it is worth naming.
pub(crate) fn conflict_share(counts: &Counts) -> Option<f64> {
    let conflicts = conflicts(counts);
    let share = conflicts as f64 / busy_cycles(counts).max(1) as f64;
    (share >= SOME_CONFLICTS).then_some(share)
}

/// Cycles in which shared memory is busy.
pub(crate) fn busy_cycles(counts: &Counts) -> u64 {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0);
    get("sm.shared_instructions") + get("sm.shared_conflict_cycles")
}

/// Cycles of bank conflicts and of turns of atomics: those beyond what the width of accesses needs.
pub(crate) fn conflicts(counts: &Counts) -> u64 {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0);
    get("sm.shared_conflict_cycles").saturating_sub(get("sm.shared_width_cycles"))
}

/// Share of the cycles in which shared memory is busy from which those for the width of accesses
/// are named.
const MUCH_WIDTH: f64 = 0.25;

/// True if accesses of more than four bytes a lane take a large part of the cycles of shared
/// memory.
pub(crate) fn is_wide(counts: &Counts) -> bool {
    let width = counts.get("sm.shared_width_cycles").copied().unwrap_or(0);
    width as f64 > MUCH_WIDTH * busy_cycles(counts) as f64
}

/// Clause on the cycles that the width of accesses needs, if these are many.
pub(crate) fn width_in_words(counts: &Counts) -> String {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    let mean = 1.0 + get("sm.shared_width_cycles") / get("sm.shared_instructions").max(1.0);
    match is_wide(counts) {
        true => format!(
            " (without a conflict an access takes {mean:.1} cycles on average: one of 8 bytes a lane \
             takes two, one of 16 bytes four)"
        ),
        false => String::new(),
    }
}

impl SharedWait {
    /// The wait of the kind of access with most of these cycles, if it is a cycle or longer.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Option<Self> {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        let [all, atomics] =
            ["shared_instructions", "shared_atomics"].map(|n| get(&format!("sm.{n}")));
        let (cycles, turns) = (conflicts(counts), get("sm.shared_atomic_cycles"));
        let is_atomic = 2 * turns > cycles;
        let (part, of) = match is_atomic {
            true => (turns, atomics),
            false => (cycles.saturating_sub(turns), all - atomics),
        };
        let is_lookup = !is_atomic && 2 * get("sm.shared_scattered_cycles") > part;
        let cycles = part as f64 / of.max(1) as f64;
        (cycles >= 1.0).then_some(Self {
            cycles,
            is_atomic,
            takes_turns: spec.sm.shared_atomic_cycles > 0,
            is_lookup,
            copies_fit: false,
        })
    }

    /// The wait with `copies_fit` for an SM of `spec` that holds the blocks of `held`.
    pub(crate) fn on_sm(self, spec: &GpuSpec, held: &Occupancy) -> Self {
        let bytes = u64::from(held.shared_bytes) * u64::from(held.blocks_per_sm);
        Self {
            copies_fit: u64::from(WARP) * bytes <= u64::from(spec.sm.shared_bytes),
            ..self
        }
    }

    /// A clause on this wait.
    pub(crate) fn in_words(self) -> String {
        match (self.is_atomic, self.takes_turns) {
            (true, true) => format!(
                "an atomic of shared memory waits {:.1} cycles, because its lanes update the same \
                 word, or words of the same bank, one after the other",
                self.cycles
            ),
            (true, false) => format!(
                "an atomic of shared memory waits {:.1} cycles for bank conflicts",
                self.cycles
            ),
            (false, _) => format!(
                "an access to shared memory waits {:.1} cycles for bank conflicts",
                self.cycles
            ),
        }
    }

    /// The remedy against it.
    pub(crate) const fn remedy(self) -> &'static str {
        match (self.is_atomic, self.takes_turns, self.is_lookup) {
            (true, true, _) if self.copies_fit => COPIES,
            (true, true, _) => PRIVATE,
            (true, false, _) => APART,
            (false, _, true) => LOOKUPS,
            (false, _, false) => LAYOUT,
        }
    }

    /// True if the remedy is another layout, which costs hardly an instruction; else copies are to
    /// be made and added.
    pub(crate) const fn is_of_layout(self) -> bool {
        !self.is_atomic && !self.is_lookup
    }
}
