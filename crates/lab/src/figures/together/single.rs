//! `together/single`: CRAT, GPUDuet, locality-aware scheduling and the throttle of cooperative
//! scheduling on single programs.
//!
//! The baseline is MaxTLP: the default registers, with as many blocks as fit, under `gto` and
//! round-robin blocks. CRAT changes registers and caps the number of blocks. The throttle brings
//! its warp scheduler `long-latency-first`, unless `locality` takes its place.

use super::combination::{Combination, Gains, SYSTEMS, charts, columns, summary};
use super::{STUDY, evidence};
use crate::compare::speedup;
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::figures::crat::{Chosen, chosen};
use crate::runs::Runs;
use crate::spec::{MachineVariant, RunSpec};
use std::sync::Arc;
use warploom_report::page::Table;
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "single",
    title: "CRAT, GPUDuet, locality-aware scheduling and throttling together on single programs",
    make,
};

/// Machine of CRAT's Table 2.
const GPU: &str = "fermi-crat";

const NAMES: [&str; SYSTEMS] = ["crat", "duet", "locality", "throttle"];
const CRAT: usize = 0;
const DUET: usize = 1;
const LOCALITY: usize = 2;
const THROTTLE: usize = 3;

/// Workloads of a scale. All are CRAT's, whose kernels its allocator reads.
fn workloads(scale: Scale) -> &'static [&'static str] {
    match scale {
        Scale::Test => &["crat/HST", "crat/KMN"],
        Scale::Small => &[
            "crat/BFS",
            "crat/BLK",
            "crat/CFD",
            "crat/HST",
            "crat/KMN",
            "crat/MUM",
            "crat/SPMV",
            "crat/SRAD",
            "crat/STM",
        ],
        Scale::Paper => &[
            "crat/B+T",
            "crat/BAK",
            "crat/BFS",
            "crat/BLK",
            "crat/CFD",
            "crat/DTC",
            "crat/FDTD",
            "crat/HST",
            "crat/KMN",
            "crat/LBM",
            "crat/MUM",
            "crat/SGM",
            "crat/SPMV",
            "crat/SRAD",
            "crat/STE",
            "crat/STM",
        ],
    }
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let workloads = workloads(request.scale);
    let all: Vec<_> = workloads
        .iter()
        .map(|name| results(request, runs, name))
        .collect();
    let all: Vec<Vec<Arc<RunReport>>> = all.into_iter().collect::<Option<_>>()?;
    let gains = |(name, reports): (&&str, &Vec<Arc<RunReport>>)| Gains {
        name: (*name).to_owned(),
        speedups: reports
            .iter()
            .map(|run| speedup(run, &reports[0]))
            .collect(),
    };
    let gains: Vec<Gains> = workloads.iter().zip(&all).map(gains).collect();
    let mut heads = columns("workload", "Speed over that of MaxTLP under gto.");
    heads.extend(evidence::columns());
    let rows = gains.iter().zip(&all).flat_map(|(gains, reports)| {
        Combination::all().into_iter().map(move |one| {
            let mut row = gains.cells(one, NAMES);
            row.extend(evidence::cells(&reports[one.0]));
            row
        })
    });
    Some(Figure {
        table: Table {
            columns: heads,
            rows: rows.collect(),
        },
        summary: summary(&gains, NAMES),
        charts: charts(&gains, NAMES, "MaxTLP under GTO"),
    })
}

/// Results of a workload by the bits of the combination, or `None` while runs are missing.
fn results(request: &Request, runs: &mut Runs<'_>, name: &str) -> Option<Vec<Arc<RunReport>>> {
    let chosen = chosen(request, runs, name, GPU)?;
    let specs: Vec<RunSpec> = (0..1 << SYSTEMS)
        .map(|bits| spec(request, runs, name, &chosen, Combination(bits)))
        .collect();
    runs.all(&specs)
}

fn spec(
    request: &Request,
    runs: &Runs<'_>,
    name: &str,
    chosen: &Chosen,
    one: Combination,
) -> RunSpec {
    let size = request.scale.size();
    let input = match one.has(CRAT) {
        true => chosen.allocated(runs, name, size),
        false => chosen.plain(runs, name, size),
    };
    let machine = machine(one, chosen);
    RunSpec {
        time_kernels: chosen.time_kernels(),
        ..RunSpec::new(&input, &machine)
    }
}

fn machine(one: Combination, chosen: &Chosen) -> MachineVariant {
    let warps = match (one.has(LOCALITY), one.has(THROTTLE)) {
        (true, _) => "locality",
        (false, true) => "long-latency-first",
        (false, false) => "gto",
    };
    let mut sets = vec![format!("sm.warp_scheduler={warps}")];
    let mut add = |on: bool, set: String| sets.extend(on.then_some(set));
    add(one.has(LOCALITY), "gpu.block_scheduler=locality".to_owned());
    add(
        one.has(THROTTLE),
        "gpu.sm_filter=contention-throttle".to_owned(),
    );
    add(one.has(DUET), "sm.context=duet".to_owned());
    add(
        one.has(CRAT),
        format!("gpu.max_blocks_per_sm={}", chosen.crat.tlp),
    );
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let name = one.name(NAMES);
    let machine = MachineVariant::preset(&name, GPU, &sets);
    machine.unwrap_or_else(|errors| panic!("{name}: {errors}"))
}
