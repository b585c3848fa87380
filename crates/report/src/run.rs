//! Text report of a run.

use crate::chart::bar;
use crate::context::contexts;
use crate::energy::energy;
use crate::format::{grouped, percent, rate, seconds};
use crate::outcome::{LINES_SHOWN, cut_told, outcome};
use crate::sampling::sampling;
use crate::table::kernel_figures;
use crate::wrap::wrapped;
use std::collections::BTreeMap;
use std::fmt::Write;
use warploom_names::{WIDTH, shortened};
use warploom_stats::mix::MixFigures;
use warploom_stats::result::{
    CheckReport, Figures, ForkReport, KernelReport, ProcessReport, RunReport, ratio,
};
use warploom_stats::sample::Estimate;

/// Largest number of launches and decisions in the report.
pub(crate) const LAUNCHES_SHOWN: usize = 16;
const BAR_WIDTH: usize = 40;

/// Text report of a run: launches, scheduler cycles, checks, speed. Tables keep to `width`
/// characters, if it is given.
pub fn run_report(run: &RunReport, width: Option<u16>) -> String {
    let mut text = String::new();
    let Figures { cycles, .. } = run.totals.figures;
    let length = match cycles {
        0 => "executed without timing".to_owned(),
        cycles => format!("{} cycles", grouped(cycles)),
    };
    let title = format!("{} on {}: {length}", run.command, run.gpu.name);
    let _ = writeln!(text, "{}", wrapped("", &title, width));
    if let Some(ForkReport { cycle, changes }) = &run.fork {
        let changes = changes.join("; ");
        let _ = writeln!(text, "fork since cycle {}: {changes}\n", grouped(*cycle));
    }
    processes(&mut text, run, width);
    launches(&mut text, run, width);
    contexts(&mut text, run);
    samples(&mut text, run);
    if let Some(report) = &run.sampling {
        sampling(&mut text, report, width);
    }
    stalls(&mut text, &run.totals.figures.stalls);
    if let Some(report) = &run.totals.figures.energy {
        energy(&mut text, report);
    }
    sharing(&mut text, run);
    outcome(&mut text, &run.outcome, cut_told(run), width);
    checks(&mut text, &run.checks);
    findings(&mut text, run);
    let (done, speed) = match cycles {
        0 => ("executed", String::new()),
        _ => (
            "simulated",
            format!("{} cycles/s, ", rate(run.cycles_per_second)),
        ),
    };
    let _ = writeln!(
        text,
        "{done} in {}: {speed}{} warp instructions/s\ndigest {}",
        seconds(run.wall_seconds),
        rate(run.warp_instructions_per_second),
        run.digest,
    );
    text
}

/// Writes the programs of a mix, their figures, and the policy's decisions.
fn processes(text: &mut String, run: &RunReport, width: Option<u16>) {
    if run.processes.is_empty() {
        return;
    }
    let slowdowns = run.mix.as_ref().map_or(&[][..], |mix| &mix.slowdowns);
    let mut header = vec![
        "program",
        "starts",
        "cycles",
        "instructions",
        "IPC",
        "L1D hit",
        "L2 hit",
        "runs",
    ];
    header.extend(run.mix.as_ref().map(|_| "slowdown"));
    let row = |(at, process): (usize, &ProcessReport)| {
        let mut row = vec![
            process.name.clone(),
            grouped(process.arrived_at),
            grouped(process.cycles),
            grouped(process.thread_instructions),
            format!("{:.1}", process.ipc),
            percent(process.l1d.hit_rate),
            percent(process.l2.hit_rate),
            process.runs.to_string(),
        ];
        row.extend(slowdowns.get(at).map(|slowdown| format!("{slowdown:.2}")));
        row
    };
    let rows: Vec<_> = run.processes.iter().enumerate().map(row).collect();
    let parts = [1..5, 5..header.len()];
    text.push_str(&kernel_figures(&header, &rows, &parts, width));
    if let Some(mix) = &run.mix {
        let told = format!(
            "total IPC {:.1}, STP {:.3}, ANTT {:.3}, minimum speedup {:.3}, harmonic mean {:.3}",
            mix.total_ipc, mix.stp, mix.antt, mix.minimum_speedup, mix.harmonic_mean,
        );
        text.push_str(&wrapped("", &told, width));
        causes(text, run, mix, width);
    }
    text.push('\n');
    decisions(text, run);
}

/// Writes the factors of slowdowns, if the programs were also run alone.
fn causes(text: &mut String, run: &RunReport, mix: &MixFigures, width: Option<u16>) {
    let factor = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
    let programs = run.processes.iter().zip(&mix.slowdowns).zip(&mix.causes);
    for ((process, slowdown), causes) in programs {
        let told = format!(
            "{slowdown:.2} = {} (fewer blocks) x {} (slower blocks); alone: L1D hit {}, L2 hit {}",
            factor(causes.room),
            factor(causes.pace),
            percent(causes.l1d_hit_rate_alone),
            percent(causes.l2_hit_rate_alone),
        );
        text.push_str(&wrapped(&format!("{}: ", process.name), &told, width));
    }
}

fn decisions(text: &mut String, run: &RunReport) {
    for decision in run.decisions.iter().take(LAUNCHES_SHOWN) {
        let names = decision.processes.iter().map(|p| p.to_string());
        let names: Vec<String> = names.collect();
        let blocks: Vec<String> = decision.blocks.iter().map(u32::to_string).collect();
        let what = match decision.verdict.as_str() {
            "shared" => format!("({}) blocks on every SM", blocks.join(", ")),
            "spatial" => "SMs in equal parts".to_owned(),
            _ => "a profile begins".to_owned(),
        };
        let at = grouped(decision.cycle);
        let _ = writeln!(text, "cycle {at}: programs {}: {what}", names.join(", "));
    }
    let hidden = run.decisions.len().saturating_sub(LAUNCHES_SHOWN);
    if hidden > 0 {
        let _ = writeln!(text, "({hidden} further decisions in --json and --stats)");
    }
    if !run.decisions.is_empty() {
        text.push('\n');
    }
}

fn launches(text: &mut String, run: &RunReport, width: Option<u16>) {
    if run.kernels.is_empty() {
        return;
    }
    let header = [
        "kernel",
        "grid",
        "block",
        "regs",
        "shared",
        "blocks/SM",
        "limit",
        "cycles",
        "IPC",
        "L1D hit",
        "L2 hit",
        "DRAM",
    ];
    let shown = run.kernels.iter().take(LAUNCHES_SHOWN);
    let mut rows: Vec<_> = shown.map(launch_row).collect();
    if run.kernels.len() > 1 {
        let label = format!("all {} launches", run.kernels.len());
        let mut row = vec![label];
        row.extend(std::iter::repeat_n(String::new(), 6));
        row.extend(figure_cells(&run.totals.figures));
        rows.push(row);
    }
    text.push_str(&kernel_figures(&header, &rows, &[7..12, 1..7], width));
    if run.kernels.len() > LAUNCHES_SHOWN {
        let hidden = run.kernels.len() - LAUNCHES_SHOWN;
        let _ = writeln!(text, "({hidden} further launches in --json and --stats)");
    }
    text.push('\n');
}

/// Writes which blocks of sampled launches were timed, and the estimates for all blocks.
fn samples(text: &mut String, run: &RunReport) {
    let sampled = run.kernels.iter().filter_map(|k| Some((k, k.sample?)));
    let mut shown = sampled.take(LAUNCHES_SHOWN).peekable();
    if shown.peek().is_none() {
        return;
    }
    for (kernel, sample) in shown {
        let [timed, blocks] = [sample.blocks_timed, sample.grid_blocks].map(grouped);
        let name = shortened(&kernel.name, WIDTH);
        if sample.blocks < sample.grid_blocks {
            let others = grouped(sample.blocks - sample.blocks_timed);
            let _ = writeln!(
                text,
                "{name}: {timed} of {blocks} blocks timed and {others} executed when the run ended"
            );
            continue;
        }
        if timed == blocks {
            let _ = writeln!(
                text,
                "{name}: all {blocks} blocks timed, too few for an estimate from a part"
            );
            continue;
        }
        let all = match sample.estimate {
            Some(estimate) => format!(
                "estimate for all: {}, IPC {:.1}",
                interval(&estimate),
                sample.thread_instructions as f64 / estimate.cycles.max(1.0),
            ),
            None => "cycles and counters are for these".to_owned(),
        };
        let _ = writeln!(text, "{name}: {timed} of {blocks} blocks timed; {all}");
    }
    if let Some(estimate) = run.totals.estimate.filter(|_| run.kernels.len() > 1) {
        let _ = writeln!(text, "estimate for all launches: {}", interval(&estimate));
    }
    text.push('\n');
}

fn interval(estimate: &Estimate) -> String {
    format!(
        "{} cycles +- {} (95% confidence, {} stretches)",
        grouped(estimate.cycles.round() as u64),
        percent(Some(estimate.relative_margin())),
        estimate.stretches,
    )
}

fn launch_row(kernel: &KernelReport) -> Vec<String> {
    let mut row = vec![
        kernel.name.clone(),
        kernel.grid.to_string(),
        kernel.block.to_string(),
        kernel.registers_per_thread.to_string(),
        grouped(kernel.shared_bytes.into()),
        kernel.blocks_per_sm.to_string(),
        kernel.occupancy_limit.clone(),
    ];
    row.extend(figure_cells(&kernel.figures));
    row
}

/// Cells of a launch or of all. Without timing there are neither cycles nor IPC.
fn figure_cells(figures: &Figures) -> [String; 5] {
    let [cycles, ipc] = match figures.cycles {
        0 => ["-", "-"].map(str::to_owned),
        cycles => [grouped(cycles), format!("{:.1}", figures.ipc)],
    };
    [
        cycles,
        ipc,
        percent(figures.l1d.hit_rate),
        percent(figures.l2.hit_rate),
        percent(figures.dram.utilisation),
    ]
}

/// Writes the shares of scheduler cycles by cause.
pub(crate) fn stalls(text: &mut String, stalls: &BTreeMap<String, f64>) {
    if stalls.is_empty() {
        return;
    }
    text.push_str("scheduler cycles\n");
    let mut shares: Vec<_> = stalls.iter().collect();
    shares.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    let width = shares
        .iter()
        .map(|(cause, _)| cause.len())
        .max()
        .unwrap_or(0);
    for (cause, &share) in shares.into_iter().filter(|(_, share)| **share > 0.0) {
        let percent = percent(Some(share));
        let _ = writeln!(
            text,
            "  {cause:width$} {percent:>6} {}",
            bar(share, BAR_WIDTH)
        );
    }
    text.push('\n');
}

/// Writes how many cache lines several blocks touch, if this was counted.
fn sharing(text: &mut String, run: &RunReport) {
    let Some(sharing) = run.sharing else {
        return;
    };
    let lines = grouped(sharing.lines);
    let _ = writeln!(text, "cache lines that blocks touch: {lines}, of which");
    for (count, what) in [
        (sharing.shared, "another block of the launch touches too"),
        (
            sharing.with_next,
            "the next block in the grid's order touches",
        ),
        (
            sharing.with_below,
            "the block one row of the grid below touches",
        ),
        (sharing.far, "only blocks farther away touch"),
    ] {
        let share = percent(ratio(count, sharing.lines));
        let _ = writeln!(text, "  {share:>6} {what}");
    }
    text.push('\n');
}

pub(crate) fn checks(text: &mut String, checks: &[CheckReport]) {
    for check in checks {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        let detail = match check.detail.as_str() {
            "" => String::new(),
            detail => format!(": {detail}"),
        };
        let _ = writeln!(text, "check {} {verdict}{detail}", check.name);
    }
    if !checks.is_empty() {
        text.push('\n');
    }
}

fn findings(text: &mut String, run: &RunReport) {
    for finding in run.findings.iter().take(LINES_SHOWN) {
        let _ = writeln!(text, "warning: {finding}");
    }
    match run.findings.len() {
        0 => {}
        1 => text.push_str("1 warning\n\n"),
        many => {
            let _ = writeln!(text, "{many} warnings\n");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::run_report;
    use warploom_base::Dim3;
    use warploom_stats::result::*;
    use warploom_stats::sample::{Estimate, SampleReport};

    fn figures(cycles: u64) -> Figures {
        Figures {
            cycles,
            warp_instructions: 2048,
            thread_instructions: 65_536,
            ipc: 65_536.0 / cycles as f64,
            l1d: CacheFigures::new(0, 96),
            l2: CacheFigures::new(12, 96),
            dram: DramFigures::new(310, 1000),
            stalls: shares([
                ("issued", 20),
                ("scoreboard", 70),
                ("barrier", 0),
                ("idle", 10),
            ]),
            ..Figures::default()
        }
    }

    fn kernel(name: &str, cycles: u64) -> KernelReport {
        KernelReport {
            name: name.into(),
            grid: Dim3::new(32, 2, 1).into(),
            block: Dim3::linear(256).into(),
            registers_per_thread: 10,
            shared_bytes: 2048,
            blocks_per_sm: 6,
            occupancy_limit: "threads".into(),
            context_registers: None,
            context: None,
            figures: figures(cycles),
            concurrent: None,
            sample: None,
        }
    }

    /// A run with `launches` launches of one kernel.
    pub(crate) fn run(launches: u64) -> RunReport {
        RunReport {
            program: Program {
                name: "warploom".into(),
                version: "0.1.0".into(),
            },
            command: "warploom run vectoradd".into(),
            gpu: Gpu {
                name: "gtx480".into(),
                config: Default::default(),
            },
            config_digest: "c".into(),
            input_digest: "i".into(),
            outcome: Outcome::Finished,
            kernels: (0..launches)
                .map(|i| kernel("vectorAdd", 1000 + i))
                .collect(),
            totals: Totals {
                launches,
                figures: figures(1000 * launches),
                estimate: None,
            },
            wall_seconds: 0.25,
            cycles_per_second: 4000.0 * launches as f64,
            warp_instructions_per_second: 8192.0,
            series: None,
            processes: Vec::new(),
            decisions: Vec::new(),
            sampling: None,
            fork: None,
            mix: None,
            sm_filter_checks: Vec::new(),
            sharing: None,
            checks: vec![CheckReport {
                name: "c".into(),
                passed: true,
                detail: "8,192 values".into(),
            }],
            findings: Vec::new(),
            digest_set: 2,
            digest: "0123456789abcdef".into(),
        }
    }

    #[test]
    fn one_launch() {
        insta::assert_snapshot!(run_report(&run(1), None));
    }

    #[test]
    fn many_launches_and_a_failed_check() {
        let mut many = run(18);
        many.checks[0] = CheckReport {
            name: "c".into(),
            passed: false,
            detail: "3 of 8,192 differ, first at 17: 1 instead of 2".into(),
        };
        insta::assert_snapshot!(run_report(&many, None));
    }

    /// A functional run has no cycles, and no speed in cycles.
    #[test]
    fn a_run_without_timing() {
        let mut functional = run(1);
        functional.totals.figures = Figures {
            warp_instructions: 2048,
            ..Figures::default()
        };
        functional.kernels[0].figures = functional.totals.figures.clone();
        let text = run_report(&functional, None);
        let first = text.lines().next();
        assert_eq!(
            first,
            Some("warploom run vectoradd on gtx480: executed without timing")
        );
        let row = text.lines().find(|line| line.starts_with("vectorAdd"));
        let cells: Vec<_> = row.expect("a row").split_whitespace().skip(7).collect();
        assert_eq!(cells, ["-", "-", "-", "-", "-"], "{text}");
        let end = "executed in 250 ms: 8.19 k warp instructions/s\ndigest 0123456789abcdef\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_sample_says_what_it_is_of() {
        let mut sampled = run(3);
        let sample = |estimate| SampleReport {
            blocks_timed: 400,
            blocks: 1200,
            grid_blocks: 1200,
            thread_instructions: 196_608,
            estimate,
        };
        let estimate = Estimate {
            cycles: 3012.4,
            margin: 30.124,
            stretches: 8,
        };
        sampled.kernels[0].sample = Some(sample(Some(estimate)));
        sampled.kernels[1].sample = Some(sample(None));
        sampled.kernels[2].sample = Some(SampleReport {
            blocks_timed: 1200,
            ..sample(None)
        });
        sampled.kernels.push(KernelReport {
            sample: Some(SampleReport {
                blocks: 700,
                ..sample(None)
            }),
            ..sampled.kernels[2].clone()
        });
        sampled.totals.estimate = Some(Estimate::sum(1000, &[estimate]));
        insta::assert_snapshot!(run_report(&sampled, None));
    }

    #[test]
    fn early_ends_say_why() {
        let end = |outcome| {
            let mut early = run(1);
            early.checks.clear();
            early.kernels.clear();
            early.totals.figures.stalls.clear();
            run_report(&RunReport { outcome, ..early }, None)
        };
        let limit = end(Outcome::CycleLimit { cycles: 1000 });
        let fault = end(Outcome::Fault {
            message: "misaligned load".into(),
        });
        let deadlock = end(Outcome::Deadlock {
            message: (0..26)
                .map(|w| format!("warp {w} waits at barrier 0\n"))
                .collect(),
        });
        insta::assert_snapshot!([limit, fault, deadlock].join("---\n"));
        let stopped = |kernel: &str| {
            let kernel = kernel.to_owned();
            let (blocks_ended, blocks) = (1200, 4096);
            end(Outcome::Interrupted {
                kernel,
                blocks_ended,
                blocks,
                waits: (0..9).map(|warp| format!("warp {warp}: line 7")).collect(),
            })
        };
        let text = stopped("vectorAdd");
        let told = "\nINTERRUPTED in vectorAdd, after 1,200 of 4,096 blocks; outputs were not checked\n  \
             warp 0: line 7\n  warp 1: line 7\n";
        assert!(text.contains(told), "{text}");
        assert!(text.contains("warp 7: line 7\n(1 further warps in"));
        assert!(stopped("").contains("\nINTERRUPTED between launches; outputs"));
    }
}
