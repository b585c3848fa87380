//! Text about a sampled program: estimates for all launches, and what was timed.

use crate::format::{grouped, percent};
use crate::table::kernel_figures;
use crate::wrap::wrapped;
use std::fmt::Write;
use warploom_stats::sampling::{Interval, SamplingReport, StratumReport};

/// Largest number of strata in the report. Those with the most cycles are shown.
const STRATA_SHOWN: usize = 12;
/// Estimates in the report: name in the result, and label.
const ESTIMATES: [(&str, &str); 6] = [
    ("cycles", "cycles"),
    ("ipc", "IPC"),
    ("noc_to_l2.flits", "flits to L2"),
    ("noc_to_sm.flits", "flits to SMs"),
    ("dram.requests", "DRAM requests"),
    ("energy.joules", "joules"),
];

/// Writes the estimates of a sampled program and its strata.
pub(crate) fn sampling(text: &mut String, report: &SamplingReport, width: Option<u16>) {
    let told = format!(
        "{} of {} launches timed, the others executed; figures above are for the timed ones.",
        grouped(report.timed),
        grouped(report.launches),
    );
    text.push_str(&wrapped("", &told, width));
    let _ = writeln!(
        text,
        "estimates for all launches ({} confidence, bound {} of the cycles):",
        format_args!("{:.0}%", report.confidence * 100.0),
        percent(Some(report.bound)),
    );
    for (name, label) in ESTIMATES {
        if let Some(estimate) = report.estimates.get(name) {
            let margin = percent(Some(estimate.relative_margin()));
            let _ = writeln!(text, "  {label:<13} {} +- {margin}", value(estimate));
        }
    }
    let cycles = report.estimates.get("cycles");
    if cycles.is_some_and(|cycles| cycles.relative_margin() > report.bound) {
        text.push_str(
            "The interval of the cycles is wider than the bound: the program ended before enough launches\n\
             of its last strata had been timed.\n",
        );
    }
    if report.differing > 0 {
        let told = format!(
            "{} timed launches had other results than their execution without timing, with which the \
             program went on: what they compute depends on the order of threads or on the time.",
            grouped(report.differing)
        );
        text.push_str(&wrapped("", &told, width));
    }
    text.push('\n');
    strata(text, report, width);
    text.push('\n');
}

fn value(estimate: &Interval) -> String {
    match estimate.value {
        large if large >= 1000.0 => grouped(large.round() as u64),
        small => format!("{small:.4}"),
    }
}

fn strata(text: &mut String, report: &SamplingReport, width: Option<u16>) {
    let mut strata: Vec<&StratumReport> = report.strata.iter().collect();
    let cycles = |stratum: &StratumReport| stratum.mean_cycles * stratum.launches as f64;
    strata.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
    let all: f64 = report.strata.iter().map(cycles).sum();
    let header = [
        "stratum", "grid", "block", "launches", "timed", "why", "cycles", "scatter", "share",
    ];
    let row = |stratum: &&StratumReport| {
        vec![
            stratum.kernel.clone(),
            stratum.grid.to_string(),
            stratum.block.to_string(),
            grouped(stratum.launches),
            stratum.timed.len().to_string(),
            reasons(stratum),
            grouped(stratum.mean_cycles.round() as u64),
            percent(Some(stratum.deviation)),
            percent(Some(cycles(stratum) / all.max(1.0))),
        ]
    };
    let shown = strata.iter().take(STRATA_SHOWN).map(row);
    let rows: Vec<_> = shown.collect();
    text.push_str(&kernel_figures(&header, &rows, &[3..9, 1..3], width));
    if strata.len() > STRATA_SHOWN {
        let hidden = strata.len() - STRATA_SHOWN;
        let _ = writeln!(text, "({hidden} further strata in --json and --stats)");
    }
}

/// Reasons for timing a stratum's launches, each with the number of launches.
fn reasons(stratum: &StratumReport) -> String {
    let count = |why: &str| {
        let timed = stratum.timed.iter();
        timed.filter(|timed| timed.why == why).count()
    };
    let counts = ["first", "pilot", "check", "bound"].map(|why| (why, count(why)));
    let some = counts.into_iter().filter(|(_, count)| *count > 0);
    let some: Vec<String> = some.map(|(why, n)| format!("{n} {why}")).collect();
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::sampling;
    use warploom_stats::sampling::{Interval, SamplingReport};

    #[test]
    fn wide_intervals_and_other_results_are_pointed_out() {
        let text = |margin, differing| {
            let interval = Interval {
                value: 100.0,
                margin,
            };
            let report = SamplingReport {
                bound: 0.02,
                confidence: 0.95,
                launches: 9,
                timed: 4,
                differing,
                warp_instructions: 0,
                thread_instructions: 0,
                estimates: [("cycles".to_owned(), interval)].into(),
                strata: Vec::new(),
            };
            let mut text = String::new();
            sampling(&mut text, &report, None);
            text
        };
        let (wide, exact) = (text(3.0, 2), text(2.0, 0));
        assert!(wide.contains("wider than the bound"), "{wide}");
        assert!(
            wide.contains("\n2 timed launches had other results"),
            "{wide}"
        );
        assert!(
            !exact.contains("wider") && !exact.contains("other results"),
            "{exact}"
        );
    }
}
