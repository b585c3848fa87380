//! Progress of a sweep on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use warploom_sweep::WorkProgress;

/// Template until a run has ended, from which the time that is left follows.
const START: &str = "{bar:30} {prefix}  {wide_msg}";
const TEMPLATE: &str = "{bar:30} {prefix}  {eta} left  {wide_msg}";

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is constant")
}

/// A progress bar of the runs of this worker.
pub struct SweepDisplay {
    bar: Option<ProgressBar>,
    runs: usize,
}

impl SweepDisplay {
    /// Creates a display for a number of runs.
    pub fn new(runs: usize) -> Self {
        let bar = || {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style(START));
            bar
        };
        Self {
            bar: std::io::stderr().is_terminal().then(bar),
            runs,
        }
    }

    /// Shows the progress of the worker.
    pub fn tell(&self, progress: &WorkProgress) {
        let Some(bar) = &self.bar else { return };
        let ended = progress.finished + progress.failed;
        let all = ended + progress.waiting + progress.running.len();
        bar.set_length(all.min(self.runs) as u64);
        if ended > 0 && bar.position() == 0 {
            bar.set_style(style(TEMPLATE));
        }
        bar.set_position(ended as u64);
        let failed = match progress.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        bar.set_prefix(format!("{ended} of {all} runs{failed}"));
        bar.set_message(progress.running.join(", "));
    }

    /// Removes the progress bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
