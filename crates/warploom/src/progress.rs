//! Progress of long runs on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use warploom_lab::Event;
use warploom_report::{grouped, rate};
use warploom_run::Progress;

/// Duration below which a run shows no progress.
const QUIET: Duration = Duration::from_secs(1);
const TEMPLATE: &str = "{bar:30} {percent:>3}% of {prefix}  {msg}  {eta} left";

/// A progress bar for the running kernel, with cycles and speed of the whole run.
pub struct Display {
    terminal: bool,
    started: Instant,
    /// The bar, and the launch to which it belongs.
    bar: Option<(ProgressBar, u64)>,
}

impl Display {
    /// Creates a display without a bar.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            started: Instant::now(),
            bar: None,
        }
    }

    /// Shows the progress of the run.
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

    /// Removes the progress bar.
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

/// Resolution of a run's progress.
const PARTS: u64 = 1000;
const RUNS_TEMPLATE: &str = "{bar:30} {prefix}  {eta} left  {wide_msg}";

/// A progress bar for many runs: how many are done, which are running, and the elapsed time.
pub struct RunsDisplay {
    /// State of the display; `None` without a terminal.
    state: Option<Mutex<RunsState>>,
}

struct RunsState {
    bar: ProgressBar,
    planned: usize,
    stored: usize,
    ended: usize,
    /// Running runs: their names and progress, in parts of [`PARTS`].
    running: BTreeMap<usize, (String, u64)>,
}

impl RunsDisplay {
    /// Creates a display without a bar.
    pub fn new() -> Self {
        let state = || {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(RUNS_TEMPLATE);
            bar.set_style(style.expect("the template is constant"));
            Mutex::new(RunsState {
                bar,
                planned: 0,
                stored: 0,
                ended: 0,
                running: BTreeMap::new(),
            })
        };
        Self {
            state: std::io::stderr().is_terminal().then(state),
        }
    }

    /// Shows an event of the runs.
    pub fn tell(&self, event: &Event<'_>) {
        let Some(mut state) = self.state.as_ref().and_then(|state| state.lock().ok()) else {
            return;
        };
        match event {
            Event::Planned { runs, stored } => {
                // Further runs may turn out to be needed; their numbers start again.
                state.running.clear();
                state.planned = *runs;
                state.stored += stored;
            }
            Event::Started { number, label } => {
                state.running.insert(*number, ((*label).to_owned(), 0));
            }
            Event::At { number, progress } => {
                let (done, all) = progress.blocks;
                if let Some((_, parts)) = state.running.get_mut(number) {
                    // Of several launches the most advanced counts, so that the bar never goes
                    // back.
                    *parts = (*parts).max(PARTS * done / all.max(1));
                }
            }
            Event::Ended { number } => {
                state.running.remove(number);
                state.planned = state.planned.saturating_sub(1);
                state.ended += 1;
            }
        }
        state.show();
    }

    /// Removes the progress bar.
    pub fn finish(&self) {
        if let Some(Ok(state)) = self.state.as_ref().map(Mutex::lock) {
            state.bar.finish_and_clear();
        }
    }
}

impl RunsState {
    fn show(&self) {
        let all = self.ended + self.planned;
        let running: u64 = self.running.values().map(|(_, parts)| parts).sum();
        self.bar.set_length(all as u64 * PARTS);
        self.bar.set_position(self.ended as u64 * PARTS + running);
        let stored = match self.stored {
            0 => String::new(),
            stored => format!(", {stored} from earlier"),
        };
        self.bar
            .set_prefix(format!("{} of {all} runs{stored}", self.ended));
        let names: Vec<_> = self
            .running
            .values()
            .map(|(name, _)| name.as_str())
            .collect();
        self.bar.set_message(names.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::RunsState;
    use indicatif::{ProgressBar, ProgressDrawTarget};
    use std::collections::BTreeMap;

    #[test]
    fn the_bar_of_runs_counts_those_done_and_parts_of_those_running() {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let state = RunsState {
            bar,
            planned: 2,
            stored: 3,
            ended: 1,
            running: BTreeMap::from([(7, ("bfs on gto".to_owned(), 250))]),
        };
        state.show();
        assert_eq!(
            (state.bar.position(), state.bar.length()),
            (1250, Some(3000))
        );
        assert_eq!(state.bar.prefix(), "1 of 3 runs, 3 from earlier");
        assert_eq!(state.bar.message(), "bfs on gto");
    }
}
