//! Storage of the two policies in bits of the machine: "Hardware Overhead" at the end of section 4,
//! which counts one counter per warp, 32 per SM. The figure is computed from the preset and not
//! simulated.

use super::{GPU, PAPER};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::MachineVariant;
use std::collections::BTreeMap;
use warploom_policy::PolicyInfo;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "storage",
    title: "Storage of long-latency-first and contention-throttle",
    make,
};

/// Threads of an SM: as Table 3's occupancies need them, and as Table 1 prints them.
const THREADS: [&str; 2] = ["sm.max_threads=1536", "sm.max_threads=1024"];
/// Number of counters in section 4, for the SM of Table 1.
const PAPER_COUNTERS: u64 = 32;
const POLICIES: [&str; 2] = ["long-latency-first", "contention-throttle"];

fn make(_: &Request, _: &mut Runs<'_>) -> Option<Figure> {
    let (mut rows, mut bytes) = (Vec::new(), Vec::new());
    for threads in THREADS {
        let machine = MachineVariant::preset(threads, GPU, &[threads]);
        let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
        for policy in POLICIES {
            let info = warploom_policy::all().find(|info| info.name == policy);
            let info = info.unwrap_or_else(|| panic!("{policy} is no policy"));
            rows.push(row(&info, threads, &machine));
            bytes.push((info.facts.bits)(&machine.spec) as f64 / 8.0);
        }
    }
    Some(Figure {
        table: Table {
            columns: columns(),
            rows,
        },
        summary: BTreeMap::new(),
        charts: vec![chart(&bytes)],
    })
}

/// Chart of the rows' bytes, by machine and policy.
fn chart(bytes: &[f64]) -> Chart {
    let series = |(p, policy): (usize, &&str)| {
        let of_policy = bytes.iter().skip(p).step_by(POLICIES.len());
        BarSeries {
            name: (*policy).to_owned(),
            values: of_policy.copied().map(Some).collect(),
        }
    };
    Chart::Bars(BarChart {
        title: "Storage".to_owned(),
        axis: Axis {
            label: "bytes of an SM (warp scheduler), of the GPU (filter)".to_owned(),
            ..Axis::default()
        },
        groups: THREADS
            .iter()
            .map(|threads| (*threads).to_owned())
            .collect(),
        series: POLICIES.iter().enumerate().map(series).collect(),
        marks: Vec::new(),
    })
}

fn columns() -> Vec<Column> {
    [
        ("policy", "Name of the policy."),
        ("machine", "The preset with this change."),
        ("part", "The part with the storage."),
        ("state", "Contents of the storage."),
        ("bits", "Bits of one part, ours."),
        ("bytes", "The same."),
        ("counters", "Stall counters of an SM, ours."),
        (
            "counters.paper",
            "Stall counters of an SM in section 4, for 1024 threads.",
        ),
    ]
    .map(|(name, about)| Column::new(name, about))
    .to_vec()
}

fn row(info: &PolicyInfo, threads: &str, machine: &MachineVariant) -> Vec<Cell> {
    let facts = &info.facts;
    let bits = (facts.bits)(&machine.spec);
    let warps = u64::from(machine.spec.sm.max_threads / 32);
    let has_counters = info.key == "sm.warp_scheduler";
    let is_papers = has_counters && threads == THREADS[1];
    let when = |so: bool, count: u64| if so { Cell::Count(count) } else { Cell::None };
    vec![
        Cell::from(info.name),
        Cell::from(threads),
        Cell::from(facts.part.name()),
        Cell::from(facts.state),
        Cell::Count(bits),
        Cell::Number(bits as f64 / 8.0),
        when(has_counters, warps),
        when(is_papers, PAPER_COUNTERS),
    ]
}
