//! Function units and load/store units: how much they are used, and what fills the pipes for which
//! warps wait.

use serde::Serialize;
use warploom_config::{GpuSpec, UnitSpecs};
use warploom_policy::utilisation::sum;
use warploom_stats::result::{Counts, Figures};

/// Shares of the scheduler cycles with a cause, by the part of the SM that warps wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StalledOn {
    /// Function units take no further instruction.
    pub units: f64,
    /// The load/store unit takes none, or instructions that wait for it hold the operand
    /// collectors.
    pub load_store: f64,
    /// Instructions in the operand collectors wait for their operands.
    pub operands: f64,
    /// Loads from shared memory are on their way.
    pub shared: f64,
    /// Instructions are on their way through function units.
    pub arithmetic: f64,
}

impl StalledOn {
    /// Causes of full pipes of function units: the division of `execution_pipe`.
    pub(crate) fn full_pipes(figures: &Figures) -> Self {
        let Some(of) = division(figures, "execution_pipe") else {
            return Self {
                units: share(figures, "execution_pipe"),
                ..Self::default()
            };
        };
        Self {
            units: of("units") + of("other_units"),
            load_store: of("load_store"),
            operands: of("operands"),
            ..Self::default()
        }
    }

    /// Causes of a full pipe of the load/store unit: the division of `memory_pipe`.
    pub(crate) fn full_memory(figures: &Figures) -> Self {
        let Some(of) = division(figures, "memory_pipe") else {
            return Self {
                load_store: share(figures, "memory_pipe"),
                ..Self::default()
            };
        };
        Self {
            units: of("units"),
            load_store: of("load_store"),
            operands: of("operands"),
            ..Self::default()
        }
    }

    /// Sources of the results that warps wait for: the division of `execution_dependence`.
    pub(crate) fn results(figures: &Figures) -> Self {
        let Some(of) = division(figures, "execution_dependence") else {
            return Self {
                arithmetic: share(figures, "execution_dependence"),
                ..Self::default()
            };
        };
        Self {
            units: of("units"),
            shared: of("shared"),
            arithmetic: of("arithmetic"),
            ..Self::default()
        }
    }

    /// All three divisions together.
    pub(crate) fn all(figures: &Figures) -> Self {
        let [pipes, memory, results] = [
            Self::full_pipes(figures),
            Self::full_memory(figures),
            Self::results(figures),
        ];
        Self {
            units: pipes.units + memory.units + results.units,
            load_store: pipes.load_store + memory.load_store,
            operands: pipes.operands + memory.operands,
            shared: results.shared,
            arithmetic: results.arithmetic,
        }
    }
}

fn share(figures: &Figures, cause: &str) -> f64 {
    figures.stalls.get(cause).copied().unwrap_or(0.0)
}

/// Share of the scheduler cycles of a cause by a label of its division; `None` for results of
/// earlier versions, which do not divide it.
fn division<'a>(figures: &'a Figures, cause: &str) -> Option<impl Fn(&str) -> f64 + 'a> {
    let all = share(figures, cause);
    let prefix = format!("sm.{cause}_slots.");
    let counted = sum(&figures.statistics, &prefix);
    (counted > 0.0).then_some(move |label: &str| {
        let count = figures.statistics.get(&format!("{prefix}{label}"));
        all * count.copied().unwrap_or(0) as f64 / counted
    })
}

/// Use of the function units and of the load/store units, over all cycles of all SMs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnitUse {
    /// Pipe whose units are used most, a label of `sm.pipe_cycles`.
    pub pipe: &'static str,
    /// Share of the time in which a unit of that pipe takes no other instruction.
    pub function_units: f64,
    /// The same share of the time in which an SM holds a block.
    pub function_units_with_blocks: f64,
    /// Share of the time in which a load/store unit has an access that it has not finished.
    pub load_store: f64,
    /// Transactions of global and local memory in a cycle of that time.
    pub transactions_per_cycle: f64,
}

impl UnitUse {
    /// The use over `cycles` core cycles.
    pub(crate) fn new(spec: &GpuSpec, counts: &Counts, cycles: u64) -> Self {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let sms = cycles as f64 * f64::from(spec.gpu.sms);
        let used = units(&spec.sm.units).map(|(pipe, count)| {
            let taken = get(&format!("sm.pipe_cycles.{pipe}"));
            (pipe, ratio(taken, sms * f64::from(count)).min(1.0))
        });
        let (pipe, function_units) = used
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or(("sp", 0.0));
        let busy = sum(counts, "sm.ldst_stalls.")
            + get("sm.memory_instructions")
            + get("sm.shared_instructions");
        let active = ratio(get("sm.active_cycles"), sms);
        Self {
            pipe,
            function_units,
            function_units_with_blocks: ratio(function_units, active).min(1.0),
            load_store: ratio(busy, sms * f64::from(spec.sm.mem_unit_ports)).min(1.0),
            transactions_per_cycle: ratio(get("sm.memory_transactions"), busy),
        }
    }
}

/// True if the use of units follows from a counter.
pub(crate) fn is_of_units(name: &str) -> bool {
    let starts = ["sm.ldst_stalls.", "sm.pipe_cycles."];
    let others = [
        "sm.active_cycles",
        "sm.memory_instructions",
        "sm.memory_transactions",
        "sm.shared_instructions",
    ];
    starts.iter().any(|start| name.starts_with(start)) || others.contains(&name)
}

/// Pipes of function units, with the units of an SM. The first of equally used ones comes last.
pub(crate) const fn units(of: &UnitSpecs) -> [(&'static str, u32); 5] {
    [
        ("tensor", of.tensor.count),
        ("dp", of.dp.count),
        ("sfu", of.sfu.count),
        ("int", of.int.count),
        ("sp", of.sp.count),
    ]
}

/// Names of the operations that the units of a pipe compute.
pub(crate) fn computes(pipe: &str, spec: &GpuSpec) -> &'static str {
    let units = &spec.sm.units;
    match pipe {
        "sp" if units.int.count == 0 && units.dp.count == 0 => {
            "single and double precision, and integers"
        }
        "sp" if units.int.count == 0 => "single precision and integers",
        "sp" if units.dp.count == 0 => "single and double precision",
        "sp" => "single precision",
        "dp" => "double precision",
        "int" => "integers",
        "sfu" => "special functions and divisions",
        _ => "products of matrices",
    }
}

/// Step that leaves the units of a pipe more room.
pub(crate) fn relieve(pipe: &str) -> &'static str {
    match pipe {
        "sp" => "use fused multiply-adds, and packed or smaller types",
        "dp" => "use single precision where its accuracy is enough",
        "int" => {
            "hoist index arithmetic out of loops, use indices of 32 bits, and combine values in \
             registers before they are exchanged by shuffles, which take this pipe"
        }
        "sfu" => "use cheaper approximations, such as `__fdividef` or a product with a reciprocal",
        _ => "use smaller types of matrix elements",
    }
}
