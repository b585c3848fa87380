//! Checks outputs of programs that run at once, into `docs/generated/mix-outputs.md`: every pair
//! and triple of Warped-Slicer under every multiprogramming policy.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Result, ensure};
use warploom_lab::{Event, Results, RunSpec, Runner, every_mix, is_right};
use warploom_stats::result::{KernelReport, RunReport};
use warploom_workloads::Size;

const PAGE: &str = "docs/generated/mix-outputs.md";

const INTRODUCTION: &str = "\
# Outputs of programs that run at once

Written by `cargo xtask workloads --check --mixes`. Every pair and triple of Warped-Slicer runs
under every multiprogramming policy, at size `small` on four SMs of `fermi-slicer`. Every program
of a mix runs once to its end, and all of its outputs are compared with its reference.
`warped-slicer` profiles for 300 cycles after 500. `fixed` gives two blocks to the first program
and one to each other. Programs ran at once if a kernel of one had blocks before a kernel of
another had ended. They shared an SM if it accepted a block of one while it held a block of
another.

| policy | mixes | right | ran at once | shared an SM | shared blocks |
|---|--:|--:|--:|--:|--:|
";

const BY_MIX: &str = "
By mix: number of blocks that an SM accepted while it held a block of another program. When a
program ends, its SMs go to other programs, and may still hold its blocks.
";

/// Result of one mix under one policy.
struct Cell {
    policy: String,
    /// Reason why the outputs are wrong, if they are.
    wrong: Option<String>,
    at_once: bool,
    /// Number of blocks that an SM accepted while it held a block of another program.
    joined: u64,
    /// Number of Warped-Slicer's partitions, and number of times that it divided the SMs instead.
    decided: [usize; 2],
}

/// Checks on `threads` threads, and writes the page.
pub fn run(threads: usize, root: &Path) -> Result<()> {
    let specs = every_mix(Size::Small);
    let runner = Runner {
        store: None,
        threads,
        observer: &|event| {
            if let Event::Started { number, label } = event {
                // Progress for the user; a closed pipe is no reason to stop.
                let _ = writeln!(io::stdout(), "{}: {label}", number + 1);
            }
        },
        interrupted: &|| false,
    };
    let mut results = Results::default();
    runner.run(&specs, &mut results)?;
    let cells: Vec<Cell> = specs.iter().map(|spec| Cell::of(spec, &results)).collect();
    super::write(&root.join(PAGE), &page(&specs, &cells))?;
    let wrong: Vec<&str> = cells.iter().filter_map(|c| c.wrong.as_deref()).collect();
    ensure!(wrong.is_empty(), "wrong outputs: {}", wrong.join(", "));
    writeln!(io::stdout(), "outputs of {} runs are right", specs.len())?;
    Ok(())
}

fn page(specs: &[RunSpec], cells: &[Cell]) -> String {
    let policies = policies(cells);
    let mut text = INTRODUCTION.to_owned();
    for policy in &policies {
        let own: Vec<&Cell> = cells.iter().filter(|c| c.policy == *policy).collect();
        let count = |what: &dyn Fn(&Cell) -> bool| own.iter().filter(|c| what(c)).count();
        let joined: u64 = own.iter().map(|cell| cell.joined).sum();
        let _ = writeln!(
            text,
            "| `{policy}` | {} | {} | {} | {} | {joined} |",
            own.len(),
            count(&|cell| cell.wrong.is_none()),
            count(&|cell| cell.at_once),
            count(&|cell| cell.joined > 0),
        );
    }
    let decided = |at: usize| cells.iter().filter(|cell| cell.decided[at] > 0).count();
    let _ = writeln!(
        text,
        "\n`warped-slicer` chose a partition in {} mixes, and divided the SMs in {}.",
        decided(0),
        decided(1)
    );
    text += BY_MIX;
    let _ = writeln!(text, "\n| mix | {} |", policies.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(policies.len()));
    let mixes = specs.chunks(policies.len());
    for (specs, cells) in mixes.zip(cells.chunks(policies.len())) {
        let cells: Vec<String> = cells.iter().map(Cell::text).collect();
        let _ = writeln!(text, "| {} | {} |", names(&specs[0]), cells.join(" | "));
    }
    text
}

/// Names of the policies in the order of their runs.
fn policies(cells: &[Cell]) -> Vec<&str> {
    let mut policies: Vec<&str> = Vec::new();
    for cell in cells {
        if !policies.contains(&cell.policy.as_str()) {
            policies.push(&cell.policy);
        }
    }
    policies
}

fn names(spec: &RunSpec) -> String {
    let others = spec.mix.iter().flat_map(|mix| &mix.others);
    let inputs = std::iter::once(&spec.input).chain(others);
    let names: Vec<String> = inputs.map(|input| format!("`{}`", input.name())).collect();
    names.join(" ")
}

impl Cell {
    fn of(spec: &RunSpec, results: &Results) -> Self {
        let mut cell = Self {
            policy: spec.machine.name.clone(),
            wrong: None,
            at_once: false,
            joined: 0,
            decided: [0; 2],
        };
        let key = spec.key();
        match results.get(&key) {
            Some(report) if is_right(report) => cell.take(report),
            _ => {
                let failed = results.failure(&key).map(|failed| failed.reason.as_str());
                let reason = failed.unwrap_or("some outputs were not compared");
                cell.wrong = Some(format!("{}: {reason}", spec.command()));
            }
        }
        cell
    }

    fn take(&mut self, report: &RunReport) {
        self.at_once = ran_at_once(&report.kernels);
        self.joined = report.processes.iter().map(|p| p.joined_blocks).sum();
        let decisions = |verdict: &str| {
            let own = report.decisions.iter().filter(|d| d.verdict == verdict);
            own.count()
        };
        self.decided = ["shared", "spatial"].map(decisions);
    }

    fn text(&self) -> String {
        match (&self.wrong, self.joined) {
            (Some(_), _) => "wrong".to_owned(),
            (None, 0) => "-".to_owned(),
            (None, joined) => joined.to_string(),
        }
    }
}

/// True if a kernel had blocks before a kernel of another program had ended.
fn ran_at_once(kernels: &[KernelReport]) -> bool {
    let stay = |kernel: &KernelReport| {
        let concurrent = kernel.concurrent?;
        let end = concurrent.launched_at + kernel.figures.cycles;
        Some((concurrent.process, concurrent.started_at, end))
    };
    let stays: Vec<_> = kernels.iter().filter_map(stay).collect();
    stays.iter().any(|(process, start, end)| {
        let others = stays.iter().filter(|(other, ..)| other != process);
        others
            .into_iter()
            .any(|(_, from, to)| from < end && start < to)
    })
}
