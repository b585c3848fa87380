//! Progress of long runs on standard error, when that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use warploom_report::{grouped, rate};
use warploom_run::Progress;

/// Runs shorter than this show nothing.
const QUIET: Duration = Duration::from_secs(1);
const TEMPLATE: &str = "{bar:30} {percent:>3}% of {prefix}  {msg}  {eta} left";

/// A bar for the kernel that runs, with cycles and speed of the whole run.
pub struct Display {
    terminal: bool,
    started: Instant,
    /// The bar, and the launch that it belongs to.
    bar: Option<(ProgressBar, u64)>,
}

impl Display {
    /// Shows nothing yet.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            started: Instant::now(),
            bar: None,
        }
    }

    /// Takes in how far the run is.
    pub fn update(&mut self, now: &Progress) {
        let elapsed = self.started.elapsed();
        if !self.terminal || elapsed < QUIET {
            return;
        }
        let launch = now.launches;
        if self.bar.as_ref().is_none_or(|(_, of)| *of != launch) {
            self.finish();
            self.bar = Some((bar(now), launch));
        }
        if let Some((bar, _)) = &self.bar {
            let speed = now.cycles as f64 / elapsed.as_secs_f64();
            bar.set_position(now.blocks.0);
            bar.set_message(format!(
                "{} cycles, {} cycles/s",
                grouped(now.cycles),
                rate(speed)
            ));
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some((bar, _)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(now: &Progress) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(now.blocks.1), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(TEMPLATE).expect("the template is constant"));
    let blocks = grouped(now.blocks.1);
    bar.set_prefix(format!(
        "{} (launch {}, {blocks} blocks)",
        now.kernel,
        now.launches + 1
    ));
    bar
}
