//! Text of `docs/workloads.md`: measured values next to what the papers state.

use std::fmt::Write;

use warploom_workloads::{COLUMNS, Facts, aliases, all, assembler, facts, papers_of};

use super::measure::Measured;

/// Papers in the order of the page.
const PAPERS: [(&str, &str); 5] = [
    ("duet", "GPUDuet: bottleneck analysis"),
    ("cooperative", "Do et al. 2017: cooperative scheduling"),
    ("crat", "CRAT: coordinated register allocation and TLP"),
    ("slicer", "Warped-Slicer: sharing SMs between kernels"),
    ("locality", "Chen 2016: locality-aware scheduling"),
];

/// A paper's statement about a benchmark.
#[derive(Clone, Copy)]
enum Stated {
    /// Utilised above its category's limit (GPUDuet, section 4.2), in these columns.
    Bound(&'static [&'static str]),
    /// No part is utilised above its limit (GPUDuet, Table 3).
    Underutilised,
    /// The paper's class of the benchmark, and its L2 misses per 1,000 warp instructions.
    Misses(&'static str, f64),
    /// Type of sharing; `reproduce locality/table5.1` shows ours.
    Sharing(&'static str),
}

use Stated::{Bound, Misses, Sharing, Underutilised};

/// Number of L2 misses above which a benchmark is memory-intensive (Warped-Slicer, section II.B).
const MEMORY_INTENSIVE: f64 = 30.0;

const COMPUTE: &str = "schedulers %";
const TO_SM: &str = "L2 to SM %";
const TO_L2: &str = "SM to L2 %";
const DRAM: &str = "DRAM %";

impl Stated {
    fn text(self) -> String {
        match self {
            Bound(columns) => {
                let names: Vec<_> = columns.iter().map(|c| c.trim_end_matches(" %")).collect();
                names.join(", ")
            }
            Underutilised => "underutilised".to_owned(),
            Misses(kind, count) => format!("{kind}, L2 MPKI {count}"),
            Sharing(kind) => kind.to_owned(),
        }
    }

    /// Whether the measured values agree with the statement, where this page can decide.
    fn agrees(self, row: &Measured) -> Option<bool> {
        let number = |column: &str| row.number(column).unwrap_or(0.0);
        let limit = |column: &str| if column == DRAM { 50.0 } else { 60.0 };
        let used = |column: &&str| number(column) >= limit(column);
        match self {
            Bound(columns) => Some(columns.iter().all(used)),
            Underutilised => Some(![COMPUTE, TO_SM, TO_L2, DRAM].iter().any(used)),
            Misses(_, count) => {
                Some((number("L2 MPKI") >= MEMORY_INTENSIVE) == (count >= MEMORY_INTENSIVE))
            }
            Sharing(_) => None,
        }
    }
}

/// Statements of the papers about single benchmarks: GPUDuet, section 4.2 (Fig. 4); Warped-Slicer,
/// Table II; Chen 2016, Table 5.1. The page compares our values with them; nothing else reads them.
const STATED: &[(&str, &str, Stated)] = &[
    ("duet", "SAD_1", Bound(&[COMPUTE])),
    ("duet", "BP_1", Bound(&[COMPUTE])),
    ("duet", "ST", Bound(&[COMPUTE, DRAM])),
    ("duet", "KM", Bound(&[TO_SM])),
    ("duet", "CFD", Bound(&[TO_SM])),
    ("duet", "SPMV", Bound(&[TO_SM])),
    ("duet", "FDTD_2", Bound(&[TO_SM])),
    ("duet", "MMS", Bound(&[TO_SM])),
    ("duet", "CONV", Bound(&[TO_SM])),
    ("duet", "GEMM", Bound(&[TO_L2])),
    ("duet", "MM", Bound(&[TO_L2])),
    ("duet", "SAD_2", Bound(&[DRAM])),
    ("duet", "LBM", Bound(&[DRAM])),
    ("duet", "FDTD_1", Bound(&[DRAM])),
    ("duet", "BP_2", Bound(&[DRAM])),
    ("duet", "DWT_1", Bound(&[DRAM])),
    ("duet", "BFS", Underutilised),
    ("duet", "BT", Underutilised),
    ("duet", "DWT_2", Underutilised),
    ("duet", "HG", Underutilised),
    ("duet", "HS", Underutilised),
    ("slicer", "BLK", Misses("Memory", 51.3)),
    ("slicer", "BFS", Misses("Memory", 84.4)),
    ("slicer", "DXT", Misses("Compute", 0.03)),
    ("slicer", "HOT", Misses("Compute", 5.8)),
    ("slicer", "IMG", Misses("Compute", 0.3)),
    ("slicer", "KNN", Misses("Memory", 100.0)),
    ("slicer", "LBM", Misses("Memory", 166.6)),
    ("slicer", "MM", Misses("Compute", 1.7)),
    ("slicer", "MVP", Misses("Cache", 89.7)),
    ("slicer", "NN", Misses("Cache", 3.7)),
    ("locality", "HS", Sharing("Type-I")),
    ("locality", "SRAD", Sharing("Type-I")),
    ("locality", "CONV", Sharing("Type-I")),
    ("locality", "HIS", Sharing("Type-I")),
    ("locality", "BP", Sharing("Type-I")),
    ("locality", "LUD", Sharing("Type-II")),
    ("locality", "TRAN", Sharing("Type-II")),
    ("locality", "GAUSSIAN", Sharing("Type-II")),
    ("locality", "SIFT", Sharing("Type-II")),
    ("locality", "NN", Sharing("Type-III")),
    ("locality", "NW", Sharing("Type-III")),
];

const INTRODUCTION: &str = "\
# Workloads

Written by `cargo xtask workloads`. This page compares measurements of every workload with what the
papers print. `docs/generated/workloads.md` says what each workload computes. Its `notes.md` names
the source of its shape, and explains differences from a paper.

- Benchmarks of the papers ran at size `paper` on the paper's preset, and workloads on their own at
  size `small` on `gtx480`. All runs were cut after CYCLES core cycles, so only the first launches
  of programs with many launches count.
- *memory* (global, local, texture) and *shared* are shares of the warp instructions. *lanes* is
  the mean number of active lanes. *transactions* is the number of requests per instruction of
  *memory*. *L2 MPKI* is the number of misses per 1,000 warp instructions. *schedulers* to *DRAM*
  are the utilisations of GPUDuet, section 4.1. *cycles* are those of the whole run, and of the
  kernel's longest launch where the benchmark is one kernel of its program.
- *agrees*: a part that the paper names as a bottleneck must be used by 60 % or more (DRAM by 50 %;
  GPUDuet, Table 3). No part may be used that much where the paper says underutilised. L2 MPKI must
  be on the same side of Warped-Slicer's limit of 30. `docs/disagreements.md` explains the
  disagreements.
- Registers are those of the paper where it prints or implies them, on `maxwell-duet` those of
  ASSEMBLER; otherwise they are the simulator's estimate.
";

/// The text of the page.
pub fn page(rows: &[Measured], cycles: u64) -> String {
    let mut text = INTRODUCTION.replace("CYCLES", &cycles.to_string());
    text = text.replace("ASSEMBLER", assembler());
    for (paper, title) in PAPERS {
        let _ = write!(text, "\n## {title}\n\n{}", papers_table(paper, rows));
    }
    text += "\n## Workloads on their own\n\n";
    text += &plain_table(rows);
    text
}

fn header(first: &[&str]) -> String {
    let names: Vec<_> = first.iter().copied().chain(COLUMNS).collect();
    let rule = names
        .iter()
        .enumerate()
        .map(|(at, _)| if at < first.len() { "---" } else { "--:" });
    let rule: Vec<_> = rule.collect();
    format!("| {} |\n|{}|\n", names.join(" | "), rule.join("|"))
}

/// Table of a paper's benchmarks with its statements.
fn papers_table(paper: &str, rows: &[Measured]) -> String {
    let first = [
        "benchmark",
        "workload",
        "the paper",
        "states",
        "agrees",
        "kernel",
        "threads",
        "registers",
        "shared",
        "blocks per SM",
        "limited by",
        "category",
    ];
    let mut text = header(&first);
    let mut judged = [0; 2];
    for alias in aliases().filter(|alias| alias.paper == paper) {
        let target = format!("{paper}/{}", alias.abbreviation);
        let Some(row) = rows.iter().find(|row| row.target == target) else {
            continue;
        };
        let fact = facts().find(|f| (f.paper, f.abbreviation) == (paper, alias.abbreviation));
        let given = fact.map_or_else(|| "-".to_owned(), given);
        let stated = STATED
            .iter()
            .find(|(p, name, _)| (*p, *name) == (paper, alias.abbreviation))
            .map(|(_, _, stated)| *stated);
        let agrees = stated.and_then(|stated| stated.agrees(row));
        if let Some(agrees) = agrees {
            judged[usize::from(agrees)] += 1;
        }
        let agrees = agrees.map_or("-", |yes| if yes { "yes" } else { "no" });
        let stated = stated.map_or("-".to_owned(), Stated::text);
        // The first cell is the machine, which the section's preset determines.
        let cells = row.cells[1..].join(" | ");
        let _ = writeln!(
            text,
            "| `{target}` | `{}` | {given} | {stated} | {agrees} | {cells} |",
            alias.workload
        );
    }
    let [no, yes] = judged;
    if yes + no > 0 {
        let _ = writeln!(text, "\n{yes} of {} statements agree.", yes + no);
    }
    text
}

/// Facts that a paper gives about a benchmark's inputs and launches.
fn given(facts: &Facts) -> String {
    let mut parts = Vec::new();
    parts.extend(facts.data_set.map(str::to_owned));
    parts.extend(facts.launches.map(|n| format!("{n} launches")));
    parts.extend(facts.blocks.map(|n| format!("{n} blocks")));
    parts.extend(
        facts
            .blocks_a_launch
            .map(|n| format!("{n} blocks per launch")),
    );
    parts.extend(facts.block_threads.map(|n| format!("{n} threads")));
    parts.extend(facts.blocks_per_sm.map(|n| format!("{n} on an SM")));
    parts.extend(facts.registers.map(|registers| {
        let implied = registers.implied.map_or("", |_| " (implied)");
        format!("{} registers{implied}", registers.count)
    }));
    parts.extend(facts.register_percent.map(|n| format!("registers {n}%")));
    parts.extend(facts.shared_percent.map(|n| format!("shared memory {n}%")));
    parts.extend(
        facts
            .blocks_of_half_an_sm
            .map(|n| format!("{n} on half an SM")),
    );
    parts.extend(facts.limited_by.map(|limit| format!("limited by {limit}")));
    parts.join(", ")
}

/// Table of workloads in their own shapes.
fn plain_table(rows: &[Measured]) -> String {
    let first = [
        "workload",
        "suite",
        "papers",
        "kernel",
        "threads",
        "registers",
        "shared",
        "blocks per SM",
        "limited by",
        "category",
    ];
    let mut text = header(&first);
    for workload in all() {
        let Some(row) = rows.iter().find(|row| row.target == workload.name) else {
            continue;
        };
        let papers = papers_of(workload.name).join("<br>");
        let cells = row.cells[1..].join(" | ");
        let _ = writeln!(
            text,
            "| `{}` | {} | {papers} | {cells} |",
            workload.name, workload.suite
        );
    }
    text
}
