//! Fig. 4: utilisation of six parts, and the resulting categories.

use super::claims::CATEGORIES;
use super::{ALL, GPU, PAPER, PLAIN, analysis, bars, column, grid, network_about};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
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

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &ALL, &[PLAIN])?;
    let kernels: Vec<_> = reports.iter().map(|row| analysis(&row[0])).collect();
    let network = [Category::L2ToSm, Category::SmToL2];
    let is_network = |kernel: &&KernelAnalysis| network.contains(&kernel.category);
    let bound = kernels.iter().filter(is_network).count() as u64;
    let series = Part::ALL.map(|part| {
        let used = kernels.iter().map(|k| k.utilisation.of(part)).collect();
        (part.name(), used)
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
            ("interconnect_bound".to_owned(), Cell::Count(bound)),
            (
                "noc_to_sm.most_percent_of_peak".to_owned(),
                Cell::Number(most_of_peak(&kernels)),
            ),
        ]),
        charts: vec![bars(
            "Use of six parts of the machine",
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
    let mut columns = vec![column("workload", "Name of the benchmark in the paper.")];
    for part in Part::ALL {
        let about = match part {
            Part::NocToSm => network_about(),
            part => format!(
                "Use of the {}: share of what the part can do in the time of the run; 1 is all.",
                part.name()
            ),
        };
        columns.push(column(&format!("{}.utilisation", part.key()), &about));
    }
    columns.push(column(
        "category",
        "The part that bounds the benchmark, by the rules of the paper's section 4.2; \
         underutilised if none is used much.",
    ));
    columns.push(column("category.paper", "The same as the paper states it."));
    columns
}

fn cells(name: &str, kernel: &KernelAnalysis) -> Vec<Cell> {
    let used = Part::ALL.map(|part| Cell::Number(kernel.utilisation.of(part)));
    let theirs = CATEGORIES.iter().filter(|(_, names)| names.contains(&name));
    let theirs: Vec<_> = theirs.map(|(category, _)| *category).collect();
    let mut cells = vec![Cell::from(name)];
    cells.extend(used);
    cells.push(Cell::from(kernel.category.name()));
    cells.push(match theirs.as_slice() {
        [] => Cell::None,
        names => Cell::Text(names.join(", ")),
    });
    cells
}
