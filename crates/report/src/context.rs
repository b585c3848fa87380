//! Text about what context switching gave the kernels of a run.

use crate::format::grouped;
use crate::run::LAUNCHES_SHOWN;
use std::fmt::Write;
use warploom_names::{WIDTH, shortened};
use warploom_stats::result::{ContextReport, RunReport};

/// Writes what context switching gave each kernel, or why it gave nothing. Launches of a kernel
/// with the same answer share a line.
pub(crate) fn contexts(text: &mut String, run: &RunReport) {
    let mut told: Vec<(String, u64)> = Vec::new();
    for kernel in &run.kernels {
        let Some(context) = &kernel.context else {
            continue;
        };
        let line = format!(
            "{}: {}",
            shortened(&kernel.name, WIDTH),
            context_told(context)
        );
        match told.iter_mut().find(|(other, _)| *other == line) {
            Some((_, launches)) => *launches += 1,
            None => told.push((line, 1)),
        }
    }
    if told.is_empty() {
        return;
    }
    text.push_str("context switching\n");
    for (line, launches) in told.iter().take(LAUNCHES_SHOWN) {
        let several = match launches {
            1 => String::new(),
            launches => format!(" ({} launches)", grouped(*launches)),
        };
        let _ = writeln!(text, "  {line}{several}");
    }
    let hidden = told.len().saturating_sub(LAUNCHES_SHOWN);
    if hidden > 0 {
        let _ = writeln!(text, "  ({hidden} further lines in --json and --stats)");
    }
    text.push('\n');
}

fn context_told(context: &ContextReport) -> String {
    let extra = context.extra_blocks;
    let l1d = if context.l1d { ", in L1D too" } else { "" };
    let space = format!(
        "space for {extra} more blocks on an SM, by {}{l1d}",
        context.level
    );
    match context.refusal {
        None => space,
        Some(why) if extra == 0 => format!("no more blocks: {}", why.reason()),
        Some(why) => format!("no more blocks: {} ({space})", why.reason()),
    }
}

#[cfg(test)]
mod tests {
    use crate::run::run_report;
    use crate::run::tests::run;
    use warploom_stats::result::{ContextDecline, ContextReport};

    /// Launches with the same answer share a line, and each refusal has its reason.
    #[test]
    fn context_switching_says_what_it_gave() {
        let context = |extra_blocks, refusal| {
            Some(ContextReport {
                extra_blocks,
                level: "warp".into(),
                l1d: false,
                refusal,
            })
        };
        let mut switched = run(5);
        let answers = [
            context(2, None),
            context(2, None),
            context(0, Some(ContextDecline::BlockSlots)),
            context(3, Some(ContextDecline::Saturated)),
            None,
        ];
        for (kernel, answer) in switched.kernels.iter_mut().zip(answers) {
            kernel.context = answer;
        }
        let text = run_report(&switched, None);
        let part = "context switching\n  \
            vectorAdd: space for 2 more blocks on an SM, by warp (2 launches)\n  \
            vectorAdd: no more blocks: block slots limit it, and no block can do without\n  \
            vectorAdd: no more blocks: the monitor found a part of the machine saturated (space \
            for 3 more blocks on an SM, by warp)\n\n";
        assert!(text.contains(part), "{text}");
        assert!(!run_report(&run(5), None).contains("context switching"));
    }
}
