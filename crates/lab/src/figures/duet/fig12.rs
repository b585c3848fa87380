//! Fig. 12: speedup over fixed numbers of extra blocks (ME), and with the monitor's number.
//!
//! Where contexts are in L1D, the baseline of the speedup bypasses L1D, too, as in section 7.1.

use super::{
    Config, DUET, FIFTEEN, PAPER, PLAIN, UNSATURATED, add_mean, bars, column, count, extra_blocks,
    grid, longest, most_extra_blocks, row, run, run_on, samples,
};
use crate::compare::speedup;
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use crate::spec::{MachineVariant, RunSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig12",
    title: "Speedup of GPUDuet over the number of extra blocks",
    make,
};

/// Numbers of extra blocks. The last useful one is a benchmark's bound.
pub(super) const FIXED: [(&str, u64); 6] = [
    ("me1", 1),
    ("me2", 2),
    ("me3", 3),
    ("me4", 4),
    ("me6", 6),
    ("me8", 8),
];
const BYPASS: Config = ("no-l1d", &["l1d.enabled=false"]);
/// Benchmark for which section 7.1 states the loss without L1D.
const BYPASSED_ALONE: &str = "DWT_2";

/// The numbers at a scale; tests use a single one.
fn fixed(request: &Request) -> &'static [(&'static str, u64)] {
    match request.scale {
        Scale::Test => &FIXED[..1],
        Scale::Small | Scale::Paper => &FIXED,
    }
}

/// The runs of a benchmark.
struct Measured {
    workload: &'static Workload,
    plain: Arc<RunReport>,
    monitored: Arc<RunReport>,
    /// Runs by fixed number of extra blocks.
    fixed: Vec<Arc<RunReport>>,
    /// The run without L1D, if it is needed.
    without_l1d: Option<Arc<RunReport>>,
}

/// Speedups of a benchmark: by fixed number, then monitored.
struct Row {
    name: &'static str,
    bound: u64,
    bypassed: bool,
    speedups: Vec<f64>,
    /// Most extra blocks on an SM at once with the monitor.
    monitored_extra: u64,
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let measured = runs_of(request, runs)?;
    let fixed = fixed(request);
    let rows: Vec<_> = measured.iter().map(speedups_of).collect();
    let monitored: Vec<_> = rows.iter().map(|row| row.speedups[fixed.len()]).collect();
    let alone = measured.iter().find(|m| m.workload.name == BYPASSED_ALONE);
    let bypass = alone.and_then(|m| Some(speedup(m.without_l1d.as_ref()?, &m.plain)));
    let best = monitored.iter().copied().fold(0.0, f64::max);
    let mut summary = BTreeMap::from([("best".to_owned(), Cell::Number(best))]);
    if let Some(ratio) = bypass {
        summary.insert(format!("{BYPASSED_ALONE}.without_l1d"), Cell::Number(ratio));
    }
    let unsaturated = samples(&FIFTEEN[..UNSATURATED], &monitored);
    add_mean(&mut summary, "geometric_mean", unsaturated.geometric());
    let mut columns = vec![
        column("workload", "The paper's name."),
        column(
            "bound",
            "Largest number of extra blocks for which there is space.",
        ),
        column(
            "bypassed",
            "1 if contexts are in L1D; the baseline then bypasses it, too.",
        ),
    ];
    let about = "Speedup with this number of extra blocks, limited by the space.";
    columns.extend(fixed.iter().map(|(name, _)| column(name, about)));
    columns.push(Column::new("dynamic", "Speedup with the monitor's number."));
    columns.push(column(
        "dynamic.extra",
        "Most blocks on an SM above those that it holds at once, with the monitor.",
    ));
    let cells = |of: &Row| {
        let mut cells = vec![
            Cell::from(of.name),
            Cell::Count(of.bound),
            Cell::from(if of.bypassed { "yes" } else { "no" }),
        ];
        cells.extend(row("", of.speedups.iter().copied()).into_iter().skip(1));
        cells.push(Cell::Count(of.monitored_extra));
        cells
    };
    let series = (0..=fixed.len()).map(|at| {
        let name = fixed.get(at).map_or("dynamic", |(name, _)| *name);
        (name, rows.iter().map(|row| row.speedups[at]).collect())
    });
    Some(Figure {
        table: Table {
            columns,
            rows: rows.iter().map(cells).collect(),
        },
        summary,
        charts: vec![bars("GPUDuet", "speedup", &FIFTEEN, series.collect())],
    })
}

/// All runs. The monitored runs come first, because they show a benchmark's bound; numbers above it
/// do not change the machine.
fn runs_of(request: &Request, runs: &mut Runs<'_>) -> Option<Vec<Measured>> {
    let reports = grid(request, runs, &FIFTEEN, &[PLAIN, DUET])?;
    let numbers: Vec<_> = FIFTEEN
        .iter()
        .zip(&reports)
        .flat_map(|(workload, reports)| {
            let bound = most_extra_blocks(&reports[1]);
            let within = move |(_, number): &(_, u64)| (workload, (*number).min(bound));
            fixed(request).iter().map(within)
        })
        .collect();
    let specs: Vec<_> = numbers
        .iter()
        .map(|(workload, number)| run_fixed(request, workload, *number))
        .collect();
    let fixed_reports = runs.all(&specs)?;
    let chunks = fixed_reports.chunks(fixed(request).len());
    let measured = FIFTEEN.iter().zip(reports.iter().zip(chunks));
    let measured: Vec<_> = measured
        .map(|(workload, (reports, fixed))| Measured {
            workload,
            plain: Arc::clone(&reports[0]),
            monitored: Arc::clone(&reports[1]),
            fixed: fixed.to_vec(),
            without_l1d: None,
        })
        .collect();
    with_bypass(request, runs, measured)
}

/// A run with a fixed number of extra blocks. With none it is the machine without context
/// switching.
fn run_fixed(request: &Request, workload: &Workload, number: u64) -> RunSpec {
    if number == 0 {
        return run(request, workload, PLAIN);
    }
    let set = format!("duet.extra_blocks={number}");
    let sets = ["sm.context=duet", set.as_str()];
    let machine = MachineVariant::preset(&format!("me{number}"), super::GPU, &sets);
    let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
    run_on(request, workload, &machine)
}

/// Adds runs without L1D where contexts were in L1D, or where the paper mentions it.
fn with_bypass(
    request: &Request,
    runs: &mut Runs<'_>,
    mut measured: Vec<Measured>,
) -> Option<Vec<Measured>> {
    let needs = |m: &&mut Measured| m.workload.name == BYPASSED_ALONE || m.bypassed();
    let mut missing = false;
    for m in measured.iter_mut().filter(needs) {
        m.without_l1d = runs.get(&run(request, m.workload, BYPASS));
        missing |= m.without_l1d.is_none();
    }
    (!missing).then_some(measured)
}

/// True if contexts were in L1D.
fn takes_l1d(report: &RunReport) -> bool {
    count(report, "context.l1d_taken") > 0
}

impl Measured {
    /// Reports by fixed number, then monitored.
    fn switched(&self) -> impl Iterator<Item = &RunReport> {
        let all = self.fixed.iter().chain([&self.monitored]);
        all.map(AsRef::as_ref)
    }

    fn bypassed(&self) -> bool {
        self.switched().any(takes_l1d)
    }
}

fn speedups_of(measured: &Measured) -> Row {
    let base = |report: &RunReport| match &measured.without_l1d {
        Some(bypass) if takes_l1d(report) => Arc::clone(bypass),
        _ => Arc::clone(&measured.plain),
    };
    let over_base = |report: &RunReport| speedup(report, &base(report));
    Row {
        name: measured.workload.name,
        bound: extra_blocks(&measured.monitored),
        bypassed: measured.bypassed(),
        speedups: measured.switched().map(over_base).collect(),
        monitored_extra: {
            let native = u64::from(longest(&measured.plain).blocks_per_sm);
            count(&measured.monitored, "context.blocks_max").saturating_sub(native)
        },
    }
}
