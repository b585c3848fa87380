//! Results made by hand.

use std::collections::BTreeMap;
use warploom_analyze::{Bound, IssuedLine, KernelAnalysis, Machine, analyze_with_lines};
use warploom_config::{GpuSpec, preset};
use warploom_stats::result::*;

/// A launch of 1,000 blocks of 256 threads.
pub fn launch(name: &str, figures: Figures) -> KernelReport {
    KernelReport {
        name: name.to_owned(),
        grid: Size([1000, 1, 1]),
        block: Size([256, 1, 1]),
        registers_per_thread: 40,
        shared_bytes: 0,
        blocks_per_sm: 6,
        occupancy_limit: "registers".to_owned(),
        context_registers: None,
        context: None,
        figures,
        concurrent: None,
        sample: None,
    }
}

/// A result of these launches on `maxwell-duet`.
pub fn run(kernels: Vec<KernelReport>, totals: Figures, series: Option<Series>) -> RunReport {
    RunReport {
        program: Program {
            name: "warploom".to_owned(),
            version: "0".to_owned(),
        },
        command: "warploom analyze k".to_owned(),
        gpu: Gpu {
            name: "maxwell-duet".to_owned(),
            config: BTreeMap::new(),
        },
        config_digest: String::new(),
        input_digest: String::new(),
        outcome: Outcome::Finished,
        totals: Totals {
            launches: kernels.len() as u64,
            figures: totals,
            estimate: None,
        },
        kernels,
        wall_seconds: 1.0,
        cycles_per_second: 1.0,
        warp_instructions_per_second: 1.0,
        series,
        processes: Vec::new(),
        decisions: Vec::new(),
        sampling: None,
        fork: None,
        mix: None,
        sm_filter_checks: Vec::new(),
        sharing: None,
        checks: Vec::new(),
        findings: Vec::new(),
        digest_set: 2,
        digest: String::new(),
    }
}

/// A launch of `cycles` core cycles with these counters.
pub fn launched(cycles: u64, counts: &[(&str, u64)]) -> KernelReport {
    let named = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
    let mut statistics: Counts = named.collect();
    statistics.insert("gpu.cycles".to_owned(), cycles);
    let causes = statistics
        .iter()
        .filter_map(|(name, n)| Some((name.strip_prefix("sm.slots.")?, *n)));
    let figures = Figures {
        cycles,
        thread_instructions: 1000,
        ipc: 1000.0 / cycles as f64,
        stalls: shares(causes),
        statistics: statistics.clone(),
        ..Figures::default()
    };
    launch("k", figures)
}

/// Analysis of a result with this launch on a preset.
pub fn analysed(gpu: &str, launch: KernelReport) -> KernelAnalysis {
    analysed_with(gpu, launch, &[])
}

/// Analyses a launch on a preset, with the issue slots of its lines.
pub fn analysed_with(gpu: &str, launch: KernelReport, lines: &[IssuedLine]) -> KernelAnalysis {
    let gpu: GpuSpec = preset(gpu).unwrap_or_else(|errors| panic!("{errors}"));
    let figures = launch.figures.clone();
    let result = run(vec![launch], figures, None);
    analyze_with_lines(&Machine::new(&gpu, 0.7), &result, lines)
        .expect("it was timed")
        .whole
}

/// The verdict is the first sentence of both verbs, and ends the explanation with the same step.
#[track_caller]
pub fn told(found: &KernelAnalysis, bound: Bound, verdict: &str, next: &str) {
    let (explanation, advice) = (&found.explanation, &found.advice);
    assert_eq!(found.bound, bound, "{explanation:#?}");
    assert_eq!(explanation[0], advice[0]);
    assert!(advice.contains(&explanation[4]), "{advice:#?}");
    assert!(explanation[0].contains(verdict), "{explanation:#?}");
    assert!(explanation[4].starts_with(next), "{explanation:#?}");
}
