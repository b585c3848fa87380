//! Fig. 4: utilisation of six parts, and the resulting categories.

use super::{ALL, GPU, PAPER, PLAIN, analysis, bars, column, grid, note};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_analyze::{Category, KernelAnalysis, Part};
use warploom_config::preset;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig4",
    title: "Throughput utilisation of six parts, and the category of each benchmark",
    make,
};

/// Categories of section 4.2. It names ST both under compute and under DRAM, and CP, one of its 22
/// benchmarks, nowhere. The first ST is taken as CP.
const CATEGORIES: [(Category, &[&str]); 5] = [
    (Category::Compute, &["SAD_1", "BP_1", "CP"]),
    (
        Category::L2ToSm,
        &["KM", "CFD", "SPMV", "FDTD_2", "MMS", "CONV"],
    ),
    (Category::SmToL2, &["GEMM", "MM"]),
    (
        Category::Dram,
        &["SAD_2", "LBM", "FDTD_1", "BP_2", "DWT_1", "ST"],
    ),
    (Category::Underutilised, &["BFS", "BT", "DWT_2", "HG", "HS"]),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &ALL, &[PLAIN])?;
    let kernels: Vec<_> = reports.iter().map(|row| analysis(&row[0])).collect();
    let note = note(request);
    let in_category =
        |kernel: &KernelAnalysis, among: &[Category]| among.contains(&kernel.category);
    let mut categories = Judged::new("duet.categories");
    for (category, names) in CATEGORIES {
        for name in names {
            let Some(at) = ALL.iter().position(|w| w.name == *name) else {
                continue;
            };
            let is = kernels[at].category;
            let what = format!("{name} is {}", category.name());
            categories = categories.states(&what, is == category, is.name().to_owned());
        }
    }
    let network = [Category::L2ToSm, Category::SmToL2];
    let bound = kernels.iter().filter(|k| in_category(k, &network)).count() as f64;
    let above = |part: Part, share: f64| {
        let above = kernels.iter().filter(|k| k.utilisation.of(part) > share);
        above.count() as f64
    };
    let low = Judged::new("duet.l1d.low")
        .also(
            "above 5% of L1D's bandwidth",
            "count",
            7.0,
            above(Part::L1d, 0.05),
        )
        .also(
            "above 10% of L2's bandwidth",
            "count",
            13.0,
            above(Part::L2, 0.1),
        );
    let interconnect = Judged::new("duet.categories.interconnect_bound").value("benchmarks", bound);
    let series = Part::ALL.map(|part| {
        let used = kernels.iter().map(|k| k.utilisation.of(part)).collect();
        (part.key(), used)
    });
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: ALL
                .iter()
                .zip(&kernels)
                .map(|(w, k)| cells(w.name, k))
                .collect(),
        },
        summary: BTreeMap::from([
            ("interconnect_bound".to_owned(), Cell::Number(bound)),
            (
                "noc_to_sm.most_percent_of_peak".to_owned(),
                Cell::Number(most_of_peak(&kernels)),
            ),
        ]),
        claims: vec![
            categories.verdict(format!(
                "{note} Section 4.2 names ST under compute and under DRAM, and CP nowhere: the first \
                 ST is taken as CP."
            )),
            interconnect.verdict(note.as_str()),
            low.verdict(note),
        ],
        charts: vec![bars(
            "Utilisation",
            "share of what a part can do",
            &ALL,
            series.to_vec(),
        )],
    })
}

/// Largest share of the network's peak towards the SMs that a benchmark uses, in percent. According
/// to section 3.1 it comes close to 60.
fn most_of_peak(kernels: &[KernelAnalysis]) -> f64 {
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let used = kernels.iter().map(|kernel| kernel.utilisation.noc_to_sm);
    used.fold(0.0, f64::max) * warploom_noc::sustainable(&gpu) * 100.0
}

fn columns() -> Vec<warploom_report::page::Column> {
    let mut columns = vec![column("workload", "The paper's name.")];
    for part in Part::ALL {
        let about = format!("Utilisation of the {}.", part.name());
        columns.push(column(part.key(), &about));
    }
    columns.push(column("category", "Category by the rules of section 4.2."));
    columns.push(column("category.paper", "Category in the paper."));
    columns
}

fn cells(name: &str, kernel: &KernelAnalysis) -> Vec<Cell> {
    let used = Part::ALL.map(|part| Cell::Number(kernel.utilisation.of(part)));
    let theirs = CATEGORIES.iter().filter(|(_, names)| names.contains(&name));
    let theirs: Vec<_> = theirs.map(|(category, _)| category.name()).collect();
    let mut cells = vec![Cell::from(name)];
    cells.extend(used);
    cells.push(Cell::from(kernel.category.name()));
    cells.push(match theirs.as_slice() {
        [] => Cell::None,
        names => Cell::Text(names.join(", ")),
    });
    cells
}
