//! Fig. 3b of the GPUDuet paper: the sustainable throughput of an input-queued crossbar under
//! uniform traffic, over its number of ports, compared with Karol's law.

use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use std::collections::BTreeMap;
use warploom_config::{NocKind, NocSpec, karol, preset};
use warploom_noc::saturated_throughput;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, Chart, LineChart, LineSeries};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: "duet",
    name: "fig3b",
    title: "Sustainable throughput of an input-queued crossbar over its ports",
    make: |request, _| Some(make(request)),
};

const PORTS: [u32; 12] = [2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64];
/// Number of ports of the paper's crossbar.
const PAPER_PORTS: u32 = 16;
/// Sizes in flits of the law's packets, and of replies with a line and their header.
const PACKETS: [u32; 2] = [1, 5];
const SEED: u64 = 1;

fn columns() -> Vec<Column> {
    [
        ("ports", "Number of inputs, which is that of outputs."),
        ("packet_flits", "Flits of every packet."),
        (
            "throughput",
            "Flits per port and cycle that the simulated crossbar sustains: share of the peak.",
        ),
        (
            "karol",
            "Share of the peak according to Karol, Hluchyj and Morgan, 1987.",
        ),
    ]
    .map(|(name, about)| Column::new(name, about))
    .to_vec()
}

/// A measurement at one size.
#[derive(Clone, Copy)]
struct Point {
    ports: u32,
    flits: u32,
    throughput: f64,
}

impl Point {
    fn off_by(&self) -> f64 {
        (self.throughput - karol(self.ports)).abs()
    }
}

fn make(request: &Request) -> Figure {
    let cycles = match request.scale {
        Scale::Test => 5_000,
        Scale::Small => 40_000,
        Scale::Paper => 400_000,
    };
    let crossbar = crossbar();
    let measure = |flits: u32, ports: u32| {
        let (bytes, n) = (flits * crossbar.flit_bytes, ports as usize);
        let throughput = saturated_throughput(&crossbar, n, n, bytes, cycles, SEED);
        Point {
            ports,
            flits,
            throughput,
        }
    };
    let of = |flits: u32| PORTS.map(|ports| measure(flits, ports));
    let [single, lines] = PACKETS.map(of);
    let worst = |points: &[Point]| points.iter().map(Point::off_by).fold(0.0, f64::max);
    let summary = [
        ("cycles", Cell::Count(cycles)),
        ("worst_difference_single", Cell::Number(worst(&single))),
        ("worst_difference_lines", Cell::Number(worst(&lines))),
        (
            "throughput_16_ports",
            Cell::Number(at(&single, PAPER_PORTS)),
        ),
        ("throughput_64_ports", Cell::Number(at(&single, 64))),
    ];
    let summary = BTreeMap::from(summary.map(|(name, value)| (name.to_owned(), value)));
    Figure {
        table: Table {
            columns: columns(),
            rows: single.iter().chain(&lines).map(row).collect(),
        },
        summary,
        charts: vec![chart(&single, &lines)],
    }
}

/// The crossbar of `maxwell-duet`.
fn crossbar() -> NocSpec {
    let gpu = preset("maxwell-duet").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(gpu.noc.kind, NocKind::RandomCrossbar);
    gpu.noc
}

fn row(point: &Point) -> Vec<Cell> {
    vec![
        Cell::Count(point.ports.into()),
        Cell::Count(point.flits.into()),
        Cell::Number(point.throughput),
        Cell::Number(karol(point.ports)),
    ]
}

fn at(points: &[Point], ports: u32) -> f64 {
    let found = points.iter().find(|point| point.ports == ports);
    found.map_or(0.0, |point| point.throughput)
}

fn chart(single: &[Point], lines: &[Point]) -> Chart {
    let series = |name: &str, y: &dyn Fn(&Point) -> f64, points: &[Point], dots| LineSeries {
        name: name.to_owned(),
        points: points.iter().map(|p| (f64::from(p.ports), y(p))).collect(),
        dots,
    };
    Chart::Lines(LineChart {
        title: "Input-queued crossbar under uniform traffic".to_owned(),
        x: Axis {
            label: "inputs and outputs".to_owned(),
            doubling: true,
            ..Axis::default()
        },
        y: Axis {
            label: "throughput over peak".to_owned(),
            percent: true,
            min: 0.5,
            max: Some(0.8),
            ..Axis::default()
        },
        series: vec![
            series("packets of 1 flit", &|p| p.throughput, single, true),
            series("packets of 5 flits", &|p| p.throughput, lines, true),
            series("Karol et al. 1987", &|p| karol(p.ports), single, false),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::{PACKETS, PORTS, make};
    use crate::figure::{Request, Scale};
    use warploom_report::page::Cell;

    /// Permitted error of a measurement: Karol's own figures are simulations with about this error.
    const TOLERANCE: f64 = 0.015;

    #[test]
    fn the_crossbar_follows_karols_law() {
        let figure = make(&Request { scale: Scale::Test });
        assert_eq!(figure.table.rows.len(), PORTS.len() * PACKETS.len());
        for row in &figure.table.rows {
            assert_eq!(row.len(), figure.table.columns.len());
            let (Cell::Number(ours), Cell::Number(law)) = (&row[2], &row[3]) else {
                panic!("{row:?}");
            };
            assert!((ours - law).abs() <= TOLERANCE, "{row:?}");
        }
    }

    #[test]
    fn it_is_made_the_same_twice() {
        let make = || make(&Request { scale: Scale::Test });
        assert_eq!(make(), make());
    }
}
