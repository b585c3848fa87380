//! `zoo/warps` and `zoo/blocks`: all members of a level on all workloads.

use super::{Class, FigureInfo, Level, Measured, STUDY, Zoo};
use crate::figure::{Figure, Request};
use crate::figures::shared::{add_mean, columns};
use crate::runs::Runs;
use crate::samples::Samples;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const WARPS: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "warps",
    title: "Every warp scheduler and policy of L1D's lines on every workload, over LRR and GTO",
    make: |request, runs| make(request, runs, Level::Warps),
};

pub(super) const BLOCKS: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "blocks",
    title: "Every block scheduler, SM filter, context and L1D replacement on every workload",
    make: |request, runs| make(request, runs, Level::Blocks),
};

const COLUMNS: [(&str, &str); 9] = [
    ("workload", "Name for `warploom run`."),
    ("class", "Sensitivity to the size of L1D (zoo/classes)."),
    (
        "policy",
        "The policy; other keys are those of the baseline.",
    ),
    ("cycles", "Core cycles."),
    ("ipc", "Thread instructions per core cycle."),
    (
        "over_lrr",
        "Speed over that under lrr: cycles of runs that finish, IPC of runs that are cut.",
    ),
    ("over_gto", "The same over that under gto."),
    ("l1d.hit_rate", "Hits over accesses of the L1 data caches."),
    (
        "energy_over_gto",
        "Energy over that under gto: of runs that finish, otherwise energy for each thread \
         instruction.",
    ),
];

fn make(request: &Request, runs: &mut Runs<'_>, level: Level) -> Option<Figure> {
    let zoo = Zoo::new(request, runs, level)?;
    let of = |workload| {
        let row = |member| row(&zoo, workload, member);
        (0..zoo.members.len()).map(row).collect::<Vec<_>>()
    };
    let rows = zoo.workloads.iter().flat_map(of);
    Some(Figure {
        table: Table {
            columns: columns(&COLUMNS),
            rows: rows.collect(),
        },
        summary: summary(&zoo),
        charts: charts(&zoo),
    })
}

fn row(zoo: &Zoo, workload: &Measured, member: usize) -> Vec<Cell> {
    let figures = &workload.reports[member].totals.figures;
    let known = |value: Option<f64>| value.map_or(Cell::None, Cell::Number);
    vec![
        Cell::from(workload.name),
        Cell::from(workload.class().name()),
        Cell::from(zoo.members[member].name.as_str()),
        Cell::Count(figures.cycles),
        Cell::Number(figures.ipc),
        Cell::Number(workload.over_lrr(member)),
        Cell::Number(workload.over_gto(member)),
        known(figures.l1d.hit_rate),
        known(zoo.energy_over_gto(workload, member)),
    ]
}

/// Values of workloads of a class, or of all.
fn samples(zoo: &Zoo, class: Option<Class>, of: impl Fn(&Measured) -> Option<f64>) -> Samples {
    let own = zoo.workloads.iter();
    let own = own.filter(|w| class.is_none_or(|class| w.class() == class));
    Samples(
        own.filter_map(|w| Some((w.name.to_owned(), of(w)?)))
            .collect(),
    )
}

/// Geometric means by member, over all workloads and over those of each class.
fn summary(zoo: &Zoo) -> BTreeMap<String, Cell> {
    let mut summary = BTreeMap::new();
    for class in Class::ALL {
        let count = samples(zoo, Some(class), |_| Some(1.0)).0.len() as u64;
        summary.insert(format!("workloads.{}", class.name()), Cell::Count(count));
    }
    for (at, member) in zoo.members.iter().enumerate() {
        let name = &member.name;
        let mut put = |what: &str, samples: Samples| {
            add_mean(&mut summary, &format!("{name}.{what}"), samples.geometric());
        };
        put("over_lrr", samples(zoo, None, |w| Some(w.over_lrr(at))));
        put("over_gto", samples(zoo, None, |w| Some(w.over_gto(at))));
        for class in Class::ALL {
            let what = format!("over_gto.{}", class.name());
            put(&what, samples(zoo, Some(class), |w| Some(w.over_gto(at))));
        }
        put(
            "energy_over_gto",
            samples(zoo, None, |w| zoo.energy_over_gto(w, at)),
        );
    }
    summary
}

fn charts(zoo: &Zoo) -> Vec<Chart> {
    let mean = |samples: Samples| samples.geometric().map(|mean| mean.value);
    let series = |name: &str, class: Option<Class>| BarSeries {
        name: name.to_owned(),
        values: (0..zoo.members.len())
            .map(|at| mean(samples(zoo, class, |w| Some(w.over_gto(at)))))
            .collect(),
    };
    let classes = Class::ALL.map(|class| series(class.name(), Some(class)));
    let over_gto = std::iter::once(series("all", None)).chain(classes);
    let over_lrr = BarSeries {
        name: "all".to_owned(),
        values: (0..zoo.members.len())
            .map(|at| mean(samples(zoo, None, |w| Some(w.over_lrr(at)))))
            .collect(),
    };
    let energy = BarSeries {
        name: "all".to_owned(),
        values: (0..zoo.members.len())
            .map(|at| mean(samples(zoo, None, |w| zoo.energy_over_gto(w, at))))
            .collect(),
    };
    vec![
        chart(
            zoo,
            "Speed over GTO by sensitivity to L1D",
            over_gto.collect(),
        ),
        chart(zoo, "Speed over LRR", vec![over_lrr]),
        chart(zoo, "Energy over that under GTO", vec![energy]),
    ]
}

fn chart(zoo: &Zoo, title: &str, series: Vec<BarSeries>) -> Chart {
    Chart::Bars(BarChart {
        title: title.to_owned(),
        axis: Axis {
            label: "geometric mean of the workloads".to_owned(),
            ..Axis::default()
        },
        groups: zoo
            .members
            .iter()
            .map(|member| member.name.clone())
            .collect(),
        series,
        marks: Vec::new(),
    })
}
