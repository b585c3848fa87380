//! Fig. 12: speedup over fixed numbers of extra blocks (ME), and with the monitor's number.
//!
//! Where contexts are in L1D, the baseline of the speedup bypasses L1D, too, as in section 7.1.

use super::{
    Config, DUET, FIFTEEN, MAX_CYCLES, PAPER, PLAIN, UNDERUTILISED, UNSATURATED, bars, column,
    count, extra_blocks, grid, longest, most_extra_blocks, note, row, run, run_on,
    unsaturated_mean,
};
use crate::compare::speedup;
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use crate::spec::{MachineVariant, RunSpec};
use crate::verdict::Judged;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table, Verdict};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig12",
    title: "Speedup of GPUDuet over the number of extra blocks",
    make,
};

/// Numbers of extra blocks. The last useful one is a benchmark's bound.
const FIXED: [(&str, u64); 6] = [
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
    let bypass = bypass.unwrap_or(1.0);
    let summary = [
        ("geometric_mean", unsaturated_mean(&monitored)),
        ("best", monitored.iter().copied().fold(0.0, f64::max)),
    ];
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
        summary: BTreeMap::from(summary.map(|(name, of)| (name.to_owned(), Cell::Number(of)))),
        claims: claims(request, &rows, &monitored, bypass),
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

fn claims(request: &Request, rows: &[Row], monitored: &[f64], bypass: f64) -> Vec<Verdict> {
    let note = note(request);
    let best = monitored.iter().copied().fold(0.0, f64::max);
    let gain = |name: &str| {
        let at = rows.iter().position(|row| row.name == name);
        at.map_or(1.0, |at| monitored[at])
    };
    let of = |names: &[&str], low: f64, high: f64| {
        let shown: Vec<_> = names
            .iter()
            .map(|n| format!("{n} {:.3}", gain(n)))
            .collect();
        let within = |name: &&str| (low - 0.05..=high + 0.05).contains(&gain(name));
        (names.iter().all(within), shown.join(", "))
    };
    let under: Vec<_> = rows[..UNDERUTILISED].iter().map(|row| row.name).collect();
    let (under_holds, under_shown) = of(&under, 1.23, 1.47);
    let (moderate_holds, moderate_shown) = of(&["MMS", "CONV", "MM", "ST"], 1.07, 1.25);
    let fixed = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(&[][..], |row| &row.speedups[..row.speedups.len() - 1])
    };
    let most = |name: &str| fixed(name).iter().copied().fold(0.0, f64::max);
    let least = |name: &str| fixed(name).iter().copied().fold(f64::MAX, f64::min);
    let mm = fixed("MM");
    let peak = (0..mm.len()).max_by(|a, b| mm[*a].total_cmp(&mm[*b]));
    let peak = peak.map_or("", |at| FIXED[at].0);
    let range = Judged::new("duet.speedup.underutilised.range")
        .states(
            "underused ones gain 23% to 47% (within 5 points)",
            under_holds,
            under_shown,
        )
        .states(
            "moderate ones gain 7% to 25% (within 5 points)",
            moderate_holds,
            moderate_shown,
        )
        .states(
            "SPMV only loses",
            most("SPMV") <= 1.005,
            format!("{:.3}", most("SPMV")),
        )
        .states("MM peaks at ME=3", peak == "me3", peak.to_owned())
        .also("KM at worst", "speedup", 0.74, least("KM"));
    let points = (1.0 - bypass) * 100.0;
    vec![
        Judged::new("duet.speedup.max")
            .value("best, monitored", best)
            .verdict(note.as_str()),
        Judged::new("duet.speedup.gmean")
            .value(
                &format!("the {UNSATURATED} unsaturated ones, monitored"),
                unsaturated_mean(monitored),
            )
            .verdict(note.as_str()),
        range.verdict(note.as_str()),
        Judged::new("duet.dwt2.bypass")
            .value("percent that DWT_2 loses without L1D", points)
            .verdict(format!(
                "{note} L1D is off, for local memory too; cut at {MAX_CYCLES}."
            )),
    ]
}
