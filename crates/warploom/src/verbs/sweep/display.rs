//! Progress of a sweep on standard error: a bar if that is a terminal, or lines.

use crate::output::note;
use crate::progress::{Clock, clock, lines};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use warploom_sweep::WorkProgress;

/// Template until a run has ended, from which the time that is left follows.
const START: &str = "{bar:30} {prefix}  {wide_msg}";
const TEMPLATE: &str = "{bar:30} {prefix}  {eta} left  {wide_msg}";

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is constant")
}

/// Progress of the runs of this worker: a bar, or lines at the times of a clock.
pub struct SweepDisplay {
    shown: Shown,
    started: Instant,
    runs: usize,
}

enum Shown {
    Bar(ProgressBar),
    Lines(Clock),
}

impl SweepDisplay {
    /// Creates a display for a number of runs. With an interval, or without a terminal, it prints
    /// lines.
    pub fn new(runs: usize, watch: Option<Duration>) -> Self {
        let bar = || {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style(START));
            bar
        };
        Self {
            shown: lines(watch, std::io::stderr().is_terminal())
                .map_or_else(|| Shown::Bar(bar()), Shown::Lines),
            started: Instant::now(),
            runs,
        }
    }

    /// Shows the progress of the worker.
    pub fn tell(&mut self, progress: &WorkProgress) {
        let ended = progress.finished + progress.failed;
        let all = ended + progress.waiting + progress.running.len();
        let failed = match progress.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let runs = format!("{ended} of {all} runs{failed}");
        let running = progress.running.join(", ");
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_length(all.min(self.runs) as u64);
                if ended > 0 && bar.position() == 0 {
                    bar.set_style(style(TEMPLATE));
                }
                bar.set_position(ended as u64);
                bar.set_prefix(runs);
                bar.set_message(running);
            }
            Shown::Lines(due) => {
                let elapsed = self.started.elapsed();
                if due.is_due(elapsed) {
                    note(&format!("{} {runs}; running {running}\n", clock(elapsed)));
                }
            }
        }
    }

    /// Removes the progress bar.
    pub fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
