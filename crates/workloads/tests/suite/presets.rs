//! Tests of workloads on every preset, with timing: outputs are correct, requests and replies
//! match, and the figures are those of the last time (`cargo xtask bless` renews them).

use std::fmt::Write;
use std::ops::ControlFlow;
use std::thread;

use warploom_config::{GpuSpec, PRESETS, preset};
use warploom_run::{Options, Session};
use warploom_stats::result::{Figures, Outcome, RunReport};
use warploom_workloads::{Size, Target, all};

/// Seed of the workloads' inputs.
const SEED: u64 = 1;

/// Workloads whose figures are stored. They cover every part of the machine; `schedulers.rs` runs
/// all workloads.
const KEPT: &[&str] = &[
    "backprop",
    "bfs",
    "blackscholes",
    "histogram",
    "hotspot",
    "matrixmul",
    "mergesort",
    "montecarlo",
    "mummergpu",
    "neuralnet",
    "ref-gather",
    "ref-matmul-naive",
    "ref-matmul-tiled",
    "ref-transpose-naive",
    "ref-vecadd",
    "simplemultigpu",
    "spmv",
    "storegpu",
];

/// Workloads that take most of the cycles of all. A preset runs one of them.
const LONG: [&str; 3] = ["bfs", "mergesort", "neuralnet"];

#[test]
fn workloads_run_as_before_on_every_preset() {
    thread::scope(|scope| {
        for (built_in, long) in PRESETS.iter().zip(LONG.iter().cycle()) {
            let gpu = preset(built_in.name).unwrap_or_else(|errors| panic!("{errors}"));
            scope.spawn(move || insta::assert_snapshot!(built_in.name, figures_on(&gpu, long)));
        }
    });
}

/// Figures with one line for each workload.
fn figures_on(gpu: &GpuSpec, long: &str) -> String {
    let header = [
        "cycles",
        "warp inst",
        "thread inst",
        "L1D hits",
        "L2 hits",
        "DRAM reads",
        "DRAM writes",
        "digest",
    ];
    let mut text = line("", &header.map(str::to_owned));
    let kept = all()
        .iter()
        .filter(|workload| KEPT.contains(&workload.name))
        .filter(|workload| !LONG.contains(&workload.name) || workload.name == long);
    for workload in kept {
        let result = run(gpu, workload.name);
        let what = format!("{} on {}", workload.name, gpu.name);
        demand_right_outputs(&result, &what);
        demand_conservation(&result, gpu, &what);
        text += &line(workload.name, &cells(&result));
    }
    text
}

fn line(name: &str, cells: &[String; 8]) -> String {
    let mut line = format!("{name:20}");
    for cell in cells {
        let _ = write!(line, " {cell:>11}");
    }
    line.trim_end().to_owned() + "\n"
}

fn cells(result: &RunReport) -> [String; 8] {
    let figures = &result.totals.figures;
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.4}"));
    let writes = count(figures, "dram.writes") + count(figures, "dram.write_backs");
    [
        figures.cycles.to_string(),
        figures.warp_instructions.to_string(),
        figures.thread_instructions.to_string(),
        rate(figures.l1d.hit_rate),
        rate(figures.l2.hit_rate),
        count(figures, "dram.reads").to_string(),
        writes.to_string(),
        result.digest.clone(),
    ]
}

fn run(gpu: &GpuSpec, workload: &str) -> RunReport {
    let mut program = Target::resolve(workload).unwrap().program(Size::Test, SEED);
    let session = Session::new(gpu.clone(), Options::default());
    session
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn demand_right_outputs(result: &RunReport, what: &str) {
    assert_eq!(result.outcome, Outcome::Finished, "{what}");
    assert!(!result.checks.is_empty(), "{what}");
    for check in &result.checks {
        assert!(check.passed, "{what}: {}: {}", check.name, check.detail);
    }
}

/// The sum of a counter over its labels.
fn count(figures: &Figures, name: &str) -> u64 {
    let labels = format!("{name}.");
    let counters = figures.statistics.iter();
    let named = counters.filter(|(key, _)| *key == name || key.starts_with(&labels));
    named.map(|(_, value)| value).sum()
}

/// Checks for each kernel and for the run that every scheduler has one cause in every cycle of
/// every SM, that a slot counts as issued exactly when there is an instruction, or two of one warp,
/// or one of the machine instructions of an earlier one, that blocks that start also end, and that
/// packets that the networks accept were sent.
fn demand_conservation(result: &RunReport, gpu: &GpuSpec, what: &str) {
    let schedulers = u64::from(gpu.gpu.sms) * u64::from(gpu.sm.schedulers);
    let kernels = result.kernels.iter().map(|kernel| &kernel.figures);
    for figures in kernels.chain([&result.totals.figures]) {
        let count = |name| count(figures, name);
        let slots = count("gpu.cycles") * schedulers;
        assert_eq!(count("sm.slots"), slots, "{what}: scheduler cycles");
        let issued = count("sm.slots.issued");
        let instructions = figures.warp_instructions;
        let most = issued * u64::from(gpu.sm.max_issue_per_warp);
        // Machine instructions take further slots.
        let least = match gpu.sm.machine_instructions {
            true => 0,
            false => issued,
        };
        assert!(
            (least..=most).contains(&instructions),
            "{what}: {instructions} instructions in {issued} slots"
        );
        let by_lanes = count("sm.issued_by_lanes");
        assert_eq!(by_lanes, instructions, "{what}: instructions by lanes");
        let blocks = [count("sm.blocks_started"), count("sm.blocks_finished")];
        let launched: u64 = grid_blocks(result, figures);
        assert_eq!(blocks, [launched; 2], "{what}: blocks");
    }
    let all = &result.totals.figures;
    let sent = count(all, "sm.packets_sent");
    assert_eq!(sent, count(all, "noc_to_l2.packets"), "{what}: requests");
    let received = count(all, "sm.packets_received");
    let replies = count(all, "noc_to_sm.packets");
    assert_eq!(received, replies, "{what}: replies");
}

/// Number of blocks of the kernel with these figures, or of all kernels.
fn grid_blocks(result: &RunReport, figures: &Figures) -> u64 {
    let blocks = |grid: [u32; 3]| -> u64 { grid.map(u64::from).iter().product() };
    let kernel = result
        .kernels
        .iter()
        .find(|kernel| std::ptr::eq(&kernel.figures, figures));
    match kernel {
        Some(kernel) => blocks(kernel.grid.0),
        None => result
            .kernels
            .iter()
            .map(|kernel| blocks(kernel.grid.0))
            .sum(),
    }
}
