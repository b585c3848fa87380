//! `docs/workloads.md`: what was measured beside what the papers state.

use std::fmt::Write;

use warploom_workloads::{COLUMNS, Facts, aliases, all, assembler, facts, papers_of};

use super::measure::Measured;

/// Papers in the order of their seeds.
const PAPERS: [(&str, &str); 5] = [
    ("duet", "Seed 000: bottleneck analysis, GPUDuet"),
    ("cooperative", "Seed 001: cooperative scheduling"),
    ("crat", "Seed 002: CRAT"),
    ("slicer", "Seed 003: Warped-Slicer"),
    ("locality", "Seed 004: locality-aware scheduling"),
];

/// Results that the papers state of single benchmarks: seed 000, section 4.2 (Fig. 4); seed 003,
/// Table II; seed 004, Table 5.1. The page shows them beside ours; nothing else reads them.
const STATED: &[(&str, &str, &str)] = &[
    ("duet", "SAD_1", "compute"),
    ("duet", "BP_1", "compute"),
    ("duet", "ST", "compute, dram"),
    ("duet", "KM", "l2-to-sm"),
    ("duet", "CFD", "l2-to-sm"),
    ("duet", "SPMV", "l2-to-sm"),
    ("duet", "FDTD_2", "l2-to-sm"),
    ("duet", "MMS", "l2-to-sm"),
    ("duet", "CONV", "l2-to-sm"),
    ("duet", "GEMM", "sm-to-l2"),
    ("duet", "MM", "sm-to-l2"),
    ("duet", "SAD_2", "dram"),
    ("duet", "LBM", "dram"),
    ("duet", "FDTD_1", "dram"),
    ("duet", "BP_2", "dram"),
    ("duet", "DWT_1", "dram"),
    ("duet", "BFS", "underutilised"),
    ("duet", "BT", "underutilised"),
    ("duet", "DWT_2", "underutilised"),
    ("duet", "HG", "underutilised"),
    ("duet", "HS", "underutilised"),
    ("slicer", "BLK", "Memory, L2 MPKI 51.3"),
    ("slicer", "BFS", "Memory, L2 MPKI 84.4"),
    ("slicer", "DXT", "Compute, L2 MPKI 0.03"),
    ("slicer", "HOT", "Compute, L2 MPKI 5.8"),
    ("slicer", "IMG", "Compute, L2 MPKI 0.3"),
    ("slicer", "KNN", "Memory, L2 MPKI 100.0"),
    ("slicer", "LBM", "Memory, L2 MPKI 166.6"),
    ("slicer", "MM", "Compute, L2 MPKI 1.7"),
    ("slicer", "MVP", "Cache, L2 MPKI 89.7"),
    ("slicer", "NN", "Cache, L2 MPKI 3.7"),
    ("locality", "HS", "Type-I"),
    ("locality", "SRAD", "Type-I"),
    ("locality", "CONV", "Type-I"),
    ("locality", "HIS", "Type-I"),
    ("locality", "BP", "Type-I"),
    ("locality", "LUD", "Type-II"),
    ("locality", "TRAN", "Type-II"),
    ("locality", "GAUSSIAN", "Type-II"),
    ("locality", "SIFT", "Type-II"),
    ("locality", "NN", "Type-III"),
    ("locality", "NW", "Type-III"),
];

const INTRODUCTION: &str = "\
# Workloads

Written by `cargo xtask workloads`: what was measured of every workload, beside what the papers
print. `docs/generated/workloads.md` says what each computes, its `notes.md` where its shape is from
and why it differs from a paper where it does.

- Benchmarks of the papers ran at size `paper` on the paper's preset, workloads by themselves at
  size `small` on `gtx480`; all were cut after CYCLES core cycles, so that of programs of many
  launches only the first count.
- *memory* (global, local, texture) and *shared* are shares of the warp instructions; *lanes* is the
  mean number of active lanes; *transactions* are requests by instruction of *memory*; *L2 MPKI* is
  misses by 1,000 warp instructions. *schedulers* to *DRAM* are the utilisations of seed 000,
  section 4.1.
- Registers are the paper's where it prints or implies them; on `maxwell-duet` they are those of
  ASSEMBLER; else the simulator's estimate.
";

/// The page's text.
pub fn page(rows: &[Measured], cycles: u64) -> String {
    let mut text = INTRODUCTION.replace("CYCLES", &cycles.to_string());
    text = text.replace("ASSEMBLER", assembler());
    for (paper, title) in PAPERS {
        let _ = write!(text, "\n## {title}\n\n{}", papers_table(paper, rows));
    }
    text += "\n## By themselves\n\n";
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

/// Benchmarks of a paper with what it states.
fn papers_table(paper: &str, rows: &[Measured]) -> String {
    let first = [
        "benchmark",
        "workload",
        "the paper",
        "states",
        "kernel",
        "threads",
        "registers",
        "shared",
        "blocks an SM",
        "limited by",
        "category",
    ];
    let mut text = header(&first);
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
            .map_or("-", |(_, _, stated)| stated);
        // The machine stands in the section's preset.
        let cells = row.cells[1..].join(" | ");
        let _ = writeln!(
            text,
            "| `{target}` | `{}` | {given} | {stated} | {cells} |",
            alias.workload
        );
    }
    text
}

/// What a paper gives as inputs.
fn given(facts: &Facts) -> String {
    let mut parts = Vec::new();
    parts.extend(facts.data_set.map(str::to_owned));
    parts.extend(facts.launches.map(|n| format!("{n} launches")));
    parts.extend(facts.blocks.map(|n| format!("{n} blocks")));
    parts.extend(
        facts
            .blocks_a_launch
            .map(|n| format!("{n} blocks a launch")),
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

/// Workloads without a paper's shape.
fn plain_table(rows: &[Measured]) -> String {
    let first = [
        "workload",
        "suite",
        "papers",
        "kernel",
        "threads",
        "registers",
        "shared",
        "blocks an SM",
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
