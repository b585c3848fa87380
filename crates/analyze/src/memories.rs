//! Memories that loads come from, and loads of constants.

use crate::accesses::Accesses;
use crate::advice::percent;
use crate::explain::Subject;
use warploom_config::GpuSpec;
use warploom_policy::utilisation::sum;
use warploom_stats::result::Counts;

/// Lines of a load of constants from which its lanes count as reading different ones.
const SEVERAL_LINES: f64 = 1.05;

/// Step against local memory.
pub(crate) const LESS_LOCAL: &str = "the compiler puts an array of a thread there that a variable \
                                     indexes, and spilled registers; unroll the loops that index \
                                     it, or keep it in shared memory";

/// Memory that most loads come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadedFrom {
    Global,
    Local,
    Constant,
    Texture,
}

impl LoadedFrom {
    /// The memory of most loads; constants only if load/store units wait for them most. `None`
    /// without loads.
    pub(crate) fn of(counts: &Counts) -> Option<Self> {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        let loads = get("sm.memory_accesses.load");
        let local = get("sm.local_accesses.load");
        let textures = get("sm.memory_accesses.texture");
        let constants = get("sm.constant_loads");
        let waits = sum(counts, "sm.ldst_stalls.constant.");
        if constants > 0 && 2.0 * waits > sum(counts, "sm.ldst_stalls.") {
            return Some(Self::Constant);
        }
        let kinds = [
            (Self::Texture, textures),
            (Self::Local, local),
            (Self::Global, loads.saturating_sub(local)),
        ];
        let (most, number) = kinds.into_iter().max_by_key(|(_, number)| *number)?;
        (number > 0).then_some(most)
    }

    /// Clause on the memory.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::Global => " from global memory",
            Self::Local => " from local memory",
            Self::Constant => " of constants",
            Self::Texture => " from textures",
        }
    }
}

/// Lines of the constant cache that a load of constants reads; `None` without such loads.
fn constant_lines(counts: &Counts) -> Option<f64> {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    let loads = get("sm.constant_loads");
    (loads > 0.0).then(|| get("sm.constant_lines") / loads)
}

/// Clause on loads of constants whose lanes read several lines, with what they cost on a machine.
pub(crate) fn constants_in_words(spec: &GpuSpec, counts: &Counts) -> String {
    let lines = constant_lines(counts).filter(|lines| *lines > SEVERAL_LINES);
    let free = match (
        spec.sm.perfect_const_cache,
        spec.sm.perfect_inst_const_cache,
    ) {
        (true, _) => ", at no cost on this machine (sm.perfect_const_cache)",
        (_, true) => ", at no cost on this machine (sm.perfect_inst_const_cache)",
        _ => "",
    };
    lines.map_or_else(String::new, |lines| {
        format!("; a load of constants reads {lines:.1} lines{free}")
    })
}

impl Accesses {
    /// Step against accesses that are mostly to local memory.
    pub(crate) fn fewer_of_local(&self) -> String {
        let noun = self.one.trim_start_matches("an ").trim_start_matches("a ");
        format!(
            "use less local memory, which {} of the {noun}s access: {LESS_LOCAL}",
            percent(self.local)
        )
    }
}

impl Subject<'_> {
    /// Clause on the memory that most loads come from.
    pub(crate) fn loaded_from(&self) -> &'static str {
        let from = LoadedFrom::of(&self.figures.statistics);
        from.map_or("", LoadedFrom::in_words)
    }

    /// Step where most loads come from local memory, which holds what only one thread uses.
    pub(crate) fn fewer_local_loads(&self) -> Option<String> {
        let from = LoadedFrom::of(&self.figures.statistics);
        let counts = &self.figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let share = get("sm.local_accesses.load") / get("sm.memory_accesses.load").max(1.0);
        (from == Some(LoadedFrom::Local)).then(|| {
            format!(
                "use less local memory, which {} of the loads read: {LESS_LOCAL}",
                percent(share)
            )
        })
    }
}
