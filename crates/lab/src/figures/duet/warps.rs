//! Figs. 1 and 5: SPMV over the number of active warps, at several widths of the interconnect.
//!
//! Active warps are those that the schedulers may issue from, the oldest ones (`static-limit`).
//! With four schedulers their number changes in steps of four. It is a limit: blocks may leave
//! fewer warps on an SM.

use super::{GPU, PAPER, analysis, column, network_about, run_on, workload};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::MachineVariant;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_report::{Axis, Chart, LineChart, LineSeries};
use warploom_stats::result::{KernelReport, RunReport};

pub(super) const FIG_1: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig1",
    title: "SPMV over the number of active warps",
    make: |request, runs| make(request, runs, &WIDTHS[..1]),
};

pub(super) const FIG_5: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5",
    title: "SPMV over the number of active warps and the width of the interconnect",
    make: |request, runs| make(request, runs, &WIDTHS),
};

/// Widths of a wire in bytes.
const WIDTHS: [u32; 3] = [16, 32, 64];
/// Numbers of active warps of each of four schedulers.
const LIMITS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const SCHEDULERS: u32 = 4;
/// Threads of a warp.
const LANES: u64 = 32;

/// Results of one run.
struct Point {
    width: u32,
    warps: u32,
    ipc: f64,
    hit_rate: f64,
    /// Use of the interconnect from L2 to the SMs, as a share of its sustainable rate.
    network: f64,
    l1d: f64,
    dram: f64,
}

fn make(request: &Request, runs: &mut Runs<'_>, widths: &[u32]) -> Option<Figure> {
    let spmv = workload("SPMV", "duet/SPMV");
    let pairs = widths.iter().flat_map(|w| LIMITS.map(|limit| (*w, limit)));
    let pairs: Vec<_> = pairs.collect();
    let spec = |(width, limit): &(u32, u32)| {
        let sets = [
            format!("noc.flit_bytes={width}"),
            "sm.warp_scheduler=static-limit".to_owned(),
            format!("static-limit.warps={limit}"),
        ];
        let name = format!("{width} B, at most {SCHEDULERS} x {limit} warps");
        let sets: Vec<_> = sets.iter().map(String::as_str).collect();
        let machine = MachineVariant::preset(&name, GPU, &sets);
        let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
        run_on(request, &spmv, &machine)
    };
    let specs: Vec<_> = pairs.iter().map(spec).collect();
    let reports = runs.all(&specs)?;
    let point = |((width, limit), report): (&(u32, u32), &std::sync::Arc<_>)| {
        let kernel = analysis(report);
        Point {
            width: *width,
            warps: limit * SCHEDULERS,
            ipc: kernel.ipc,
            hit_rate: report.totals.figures.l1d.hit_rate.unwrap_or(0.0),
            network: kernel.utilisation.noc_to_sm,
            l1d: kernel.utilisation.l1d,
            dram: kernel.utilisation.dram,
        }
    };
    let points: Vec<_> = pairs.iter().zip(&reports).map(point).collect();
    let resident = reports.iter().map(|report| warps_held(report)).max();
    let resident = resident.unwrap_or(0);
    let warps = format!(
        "Most warps of an SM that may issue: {SCHEDULERS} schedulers with `static-limit.warps` \
         each. Blocks of SPMV put at most {resident} on an SM."
    );
    Some(Figure {
        table: Table {
            columns: vec![
                column("wire_bytes", "Width of a wire of the interconnect."),
                column("warps", &warps),
                column("ipc", "Thread instructions per core cycle."),
                column("l1d.hit_rate", "Hits over accesses of the L1 data caches."),
                column("l1d", "Utilisation of the ports of L1D."),
                column("noc_to_sm", &network_about()),
                column("dram", "Utilisation of DRAM."),
            ],
            rows: points.iter().map(cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: widths
            .iter()
            .map(|width| chart(*width, resident, &points))
            .collect(),
    })
}

/// Most warps that blocks put on an SM in a launch of a run.
fn warps_held(report: &RunReport) -> u64 {
    let held = |kernel: &KernelReport| {
        u64::from(kernel.blocks_per_sm) * kernel.block.count().div_ceil(LANES)
    };
    report.kernels.iter().map(held).max().unwrap_or(0)
}

fn cells(point: &Point) -> Vec<Cell> {
    let numbers = [
        point.ipc,
        point.hit_rate,
        point.l1d,
        point.network,
        point.dram,
    ];
    let counts = [point.width, point.warps].map(|count| Cell::Count(count.into()));
    counts
        .into_iter()
        .chain(numbers.map(Cell::Number))
        .collect()
}

fn of(points: &[Point], width: u32) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |point| point.width == width)
}

fn chart(width: u32, resident: u64, points: &[Point]) -> Chart {
    let most = of(points, width)
        .map(|point| point.ipc)
        .fold(1e-9, f64::max);
    let line = |name: &str, y: &dyn Fn(&Point) -> f64| LineSeries {
        name: name.to_owned(),
        points: of(points, width)
            .map(|p| (f64::from(p.warps), y(p)))
            .collect(),
        dots: true,
    };
    Chart::Lines(LineChart {
        title: format!("SPMV with wires of {width} bytes"),
        x: Axis {
            label: format!("most warps of an SM that may issue ({resident} at most are there)"),
            ..Axis::default()
        },
        y: Axis {
            label: "share".to_owned(),
            percent: true,
            max: Some(1.0),
            ..Axis::default()
        },
        series: vec![
            line("IPC over the best", &|p| p.ipc / most),
            line("L1D hit rate", &|p| p.hit_rate),
            line("network L2 to SM, of what it sustains", &|p| p.network),
            line("DRAM", &|p| p.dram),
        ],
    })
}
