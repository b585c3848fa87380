//! Progress of long runs on standard error: a bar if that is a terminal, or lines if `--watch`
//! requests them.

use crate::output::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use warploom_lab::Event;
use warploom_names::{WIDTH, shortened};
use warploom_report::{grouped, rate};
use warploom_run::Progress;

/// Duration below which a run shows no progress.
const QUIET: Duration = Duration::from_secs(1);
/// Time between lines of progress where there is no terminal and no request.
const WITHOUT_TERMINAL: Duration = Duration::from_secs(60);
const TEMPLATE: &str = "{bar:20} {percent:>3}% of {prefix}  {wide_msg}";

/// Times at which lines of progress are due.
pub struct Clock {
    interval: Duration,
    last: Duration,
}

impl Clock {
    fn new(interval: Duration) -> Self {
        let last = Duration::ZERO;
        Self { interval, last }
    }

    /// True if a line is due after this time; the next one is due an interval later.
    pub fn is_due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= self.last + self.interval;
        if due {
            self.last = elapsed;
        }
        due
    }
}

/// Clock of lines at requested times, or once a minute without a terminal, which shows a bar.
pub fn lines(watch: Option<Duration>, terminal: bool) -> Option<Clock> {
    let interval = watch.or((!terminal).then_some(WITHOUT_TERMINAL));
    interval.map(Clock::new)
}

/// A time such as `2:05:09`.
pub fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours}:{minutes:02}:{seconds:02}")
}

/// Progress of one run: a bar for the running kernel, or lines.
pub struct Display {
    clock: Option<Clock>,
    started: Instant,
    times: Times,
    /// The bar, and the launch to which it belongs.
    bar: Option<(ProgressBar, u64)>,
    /// Kernels of which a note has said that all their blocks are timed.
    told: BTreeSet<String>,
}

/// Times that a run has spent with and without timing.
#[derive(Default)]
struct Times {
    timed: Duration,
    untimed: Duration,
}

impl Times {
    /// Counts the time since the last look, until `elapsed`, for what runs now.
    fn add(&mut self, now: &Progress, elapsed: Duration) {
        let since = elapsed.saturating_sub(self.timed + self.untimed);
        match now.timed {
            true => self.timed += since,
            false => self.untimed += since,
        }
    }
}

impl Display {
    /// Creates a display without a bar. With an interval, or without a terminal, it prints lines.
    pub fn new(watch: Option<Duration>) -> Self {
        Self {
            clock: lines(watch, std::io::stderr().is_terminal()),
            started: Instant::now(),
            times: Times::default(),
            bar: None,
            told: BTreeSet::new(),
        }
    }

    /// Shows the progress of the run.
    pub fn update(&mut self, now: &Progress) {
        let elapsed = self.started.elapsed();
        self.times.add(now, elapsed);
        self.tell_whole(now);
        if let Some(clock) = &mut self.clock {
            if clock.is_due(elapsed) {
                note(&line(now, &self.times));
            }
            return;
        }
        // Between launches no kernel runs.
        if elapsed < QUIET || now.kernel.is_empty() {
            return;
        }
        let launch = now.launches;
        if self.bar.as_ref().is_none_or(|(_, of)| *of != launch) {
            self.finish();
            self.bar = Some((bar(now), launch));
        }
        if let Some((bar, _)) = &self.bar {
            bar.set_prefix(prefix(now));
            bar.set_position(now.blocks.0);
            let left = match now.blocks.0 {
                0 => String::new(),
                _ => format!(", {} left", clock(bar.eta())),
            };
            bar.set_message(format!("{}{left}", speed(now, &self.times)));
        }
    }

    /// Notes that all blocks of a kernel are timed although a share was requested, once for each
    /// kernel.
    fn tell_whole(&mut self, now: &Progress) {
        let Some(fewest) = now.fewest_sampled else {
            return;
        };
        if !now.kernel.is_empty() && self.told.insert(now.kernel.clone()) {
            self.finish();
            note(&timed_whole(now, fewest));
        }
    }

    /// Removes the progress bar.
    pub fn finish(&mut self) {
        if let Some((bar, _)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Note that `--sample` has no effect on the running kernel, whose grid has fewer than `fewest`
/// blocks.
fn timed_whole(now: &Progress, fewest: u64) -> String {
    format!(
        "note: all {} blocks of {} are timed: on this machine, with this N, --sample leaves blocks \
         out of grids of at least {}\n  = help: write a smaller N, --until-stable 10%, or \
         --sample-error 2% to time a part of the launches (docs/long-runs.md)\n",
        grouped(now.blocks.1),
        shortened(&now.kernel, WIDTH),
        grouped(fewest)
    )
}

/// Core cycles so far with their rate in the time in which the run was timed; or, while a launch is
/// executed without timing, warp instructions with theirs.
fn speed(now: &Progress, times: &Times) -> String {
    let of = |count: u64, time: Duration, what: &str| {
        let speed = count as f64 / time.as_secs_f64().max(1e-9);
        format!("{} {what}, {} {what}/s", grouped(count), rate(speed))
    };
    match (now.timed, now.cycles) {
        (true, cycles) => of(cycles, times.timed, "cycles"),
        (false, 0) => of(now.executed, times.untimed, "warp instructions"),
        (false, cycles) => {
            let executed = of(now.executed, times.untimed, "warp instructions");
            format!("{executed}; {} cycles timed before", grouped(cycles))
        }
    }
}

/// Line of progress of one run.
fn line(now: &Progress, times: &Times) -> String {
    let (done, all) = now.blocks;
    let how = match now.timed {
        true => "",
        false => ", executing without timing",
    };
    format!(
        "{} launch {} ({}){how}: {} of {} blocks, {}\n",
        clock(times.timed + times.untimed),
        now.launches + 1,
        shortened(&now.kernel, WIDTH),
        grouped(done),
        grouped(all),
        speed(now, times)
    )
}

fn bar(now: &Progress) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(now.blocks.1), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(TEMPLATE).expect("the template is constant"));
    bar
}

/// Name of the running launch before its bar.
fn prefix(now: &Progress) -> String {
    let kernel = shortened(&now.kernel, 20);
    let how = match now.timed {
        true => "",
        false => ", not timed",
    };
    format!("{kernel}, launch {}{how}", now.launches + 1)
}

/// Resolution of a run's progress.
const PARTS: u64 = 1000;
const RUNS_TEMPLATE: &str = "{bar:30} {prefix}  {wide_msg}";
/// Share of all runs that must be done, as a divisor, before the time that is left is told,
/// unless a run has ended.
const TOLD_FROM: u64 = 10;

/// Progress of many runs: how many are done, which are running, and the elapsed time; as a bar or
/// as lines.
pub struct RunsDisplay {
    state: Mutex<RunsState>,
}

struct RunsState {
    bar: ProgressBar,
    clock: Option<Clock>,
    started: Instant,
    planned: usize,
    stored: usize,
    ended: usize,
    /// Running runs, by number.
    running: BTreeMap<usize, Running>,
    /// Names of runs of which it was told that they execute their programs by themselves.
    apart: BTreeSet<String>,
}

/// A running run of several.
struct Running {
    name: String,
    /// Progress of its first launch, in parts of [`PARTS`]; zero in later ones, because nobody
    /// knows how many there are.
    parts: u64,
    /// Number of launches that have ended.
    launches: u64,
}

impl Running {
    /// Name with how far the run is.
    fn told(&self) -> String {
        match self.launches {
            0 => format!("{} {}%", self.name, 100 * self.parts / PARTS),
            ended => format!("{} launch {}", self.name, grouped(ended + 1)),
        }
    }
}

impl RunsDisplay {
    /// Creates a display without a bar. With an interval, or without a terminal, it prints lines.
    pub fn new(watch: Option<Duration>) -> Self {
        let clock = lines(watch, std::io::stderr().is_terminal());
        let target = match clock {
            Some(_) => ProgressDrawTarget::hidden(),
            None => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template(RUNS_TEMPLATE);
        bar.set_style(style.expect("the template is constant"));
        let state = RunsState::new(bar, clock);
        Self {
            state: Mutex::new(state),
        }
    }

    /// Shows an event of the runs.
    pub fn tell(&self, event: &Event<'_>) {
        let Ok(mut state) = self.state.lock() else {
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
                let running = Running {
                    name: (*label).to_owned(),
                    parts: 0,
                    launches: 0,
                };
                state.running.insert(*number, running);
            }
            Event::At { number, progress } => {
                let (done, all) = progress.blocks;
                if let Some(running) = state.running.get_mut(number) {
                    running.launches = progress.launches;
                    running.parts = match progress.launches {
                        0 => PARTS * done / all.max(1),
                        _ => 0,
                    };
                }
            }
            Event::Apart { label, why } => state.apart(label, why),
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
        if let Ok(state) = self.state.lock() {
            state.bar.finish_and_clear();
        }
    }
}

impl RunsState {
    fn new(bar: ProgressBar, clock: Option<Clock>) -> Self {
        Self {
            bar,
            clock,
            started: Instant::now(),
            planned: 0,
            stored: 0,
            ended: 0,
            running: BTreeMap::new(),
            apart: BTreeSet::new(),
        }
    }

    fn show(&mut self) {
        let elapsed = self.started.elapsed();
        match self.clock.as_mut().map(|clock| clock.is_due(elapsed)) {
            None => self.draw(),
            Some(true) => note(&self.line(elapsed)),
            Some(false) => {}
        }
    }

    /// Tells once that a run executes its program by itself.
    fn apart(&mut self, label: &str, why: &str) {
        if self.apart.insert(label.to_owned()) {
            let told = format!("note: {label} executes the program anew: {why}\n");
            self.bar.suspend(|| note(&told));
        }
    }

    /// Line of progress of many runs.
    fn line(&self, elapsed: Duration) -> String {
        let all = self.ended + self.planned;
        let running: Vec<_> = self.running.values().map(Running::told).collect();
        let (time, ended) = (clock(elapsed), self.ended);
        format!(
            "{time} {ended} of {all} runs; running {}\n",
            running.join(", ")
        )
    }

    fn draw(&self) {
        let all = self.ended + self.planned;
        let running: u64 = self.running.values().map(|running| running.parts).sum();
        let (length, done) = (all as u64 * PARTS, self.ended as u64 * PARTS + running);
        self.bar.set_length(length);
        self.bar.set_position(done);
        // The first estimates are far off.
        let left = match self.ended > 0 || TOLD_FROM * done >= length.max(1) {
            true => format!("  {} left", clock(self.bar.eta())),
            false => String::new(),
        };
        let stored = match self.stored {
            0 => String::new(),
            stored => format!(", {stored} from earlier"),
        };
        self.bar
            .set_prefix(format!("{} of {all} runs{stored}{left}", self.ended));
        let names: Vec<_> = self
            .running
            .values()
            .map(|running| running.name.as_str())
            .collect();
        self.bar.set_message(names.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Running, RunsState, Times, line, lines, timed_whole};
    use indicatif::{ProgressBar, ProgressDrawTarget};
    use std::collections::BTreeMap;
    use std::time::Duration;
    use warploom_run::Progress;

    fn running(parts: u64, launches: u64) -> Running {
        Running {
            name: "bfs on gto".to_owned(),
            parts,
            launches,
        }
    }

    #[test]
    fn the_bar_of_runs_counts_those_done_and_parts_of_those_running() {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let mut state = RunsState::new(bar, None);
        (state.planned, state.stored, state.ended) = (2, 3, 1);
        state.running = BTreeMap::from([(7, running(250, 0))]);
        state.show();
        assert_eq!(
            (state.bar.position(), state.bar.length()),
            (1250, Some(3000))
        );
        let prefix = state.bar.prefix();
        assert!(
            prefix.starts_with("1 of 3 runs, 3 from earlier  "),
            "{prefix}"
        );
        assert!(prefix.ends_with(" left"), "{prefix}");
        assert_eq!(state.bar.message(), "bfs on gto");
    }

    #[test]
    fn the_time_that_is_left_is_told_from_a_tenth_on() {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let mut state = RunsState::new(bar, None);
        state.planned = 2;
        for (parts, is_told) in [(199, false), (200, true)] {
            state.running = BTreeMap::from([(7, running(parts, 0))]);
            state.show();
            assert_eq!(state.bar.prefix().ends_with(" left"), is_told, "{parts}");
        }
    }

    #[test]
    fn time_is_counted_for_what_runs() {
        let mut times = Times::default();
        let now = |timed| Progress {
            cycles: 1,
            executed: 1,
            launches: 0,
            timed,
            kernel: "k".to_owned(),
            blocks: (0, 1),
            fewest_sampled: None,
        };
        for (timed, at) in [(true, 5), (false, 45), (false, 60), (true, 61)] {
            times.add(&now(timed), Duration::from_secs(at));
        }
        let seconds = [times.timed, times.untimed].map(|time| time.as_secs());
        assert_eq!(seconds, [6, 55]);
    }

    #[test]
    fn lines_are_due_an_interval_apart() {
        let mut clock = Clock::new(Duration::from_secs(10));
        let due = [3, 10, 12, 25, 34, 35].map(|at| clock.is_due(Duration::from_secs(at)));
        assert_eq!(due, [false, true, false, true, false, true]);
    }

    #[test]
    fn without_a_terminal_a_line_is_due_each_minute() {
        let due = |watch: Option<u64>, terminal| {
            let clock = lines(watch.map(Duration::from_secs), terminal);
            clock.map(|clock| clock.interval.as_secs())
        };
        assert_eq!(due(None, true), None, "a bar is shown");
        assert_eq!(due(None, false), Some(60));
        assert_eq!(
            (due(Some(5), true), due(Some(5), false)),
            (Some(5), Some(5))
        );
    }

    #[test]
    fn a_line_names_the_time_the_launch_and_the_speed() {
        let now = Progress {
            cycles: 7_200_000,
            executed: 0,
            launches: 2,
            timed: true,
            kernel: "bfs".to_owned(),
            blocks: (1200, 4096),
            fewest_sampled: None,
        };
        let times = |timed: u64, untimed: u64| Times {
            timed: Duration::from_secs(timed),
            untimed: Duration::from_secs(untimed),
        };
        let expected = "1:00:00 launch 3 (bfs): 1,200 of 4,096 blocks, 7,200,000 cycles, 2.00 k \
                        cycles/s\n";
        assert_eq!(line(&now, &times(3600, 0)), expected);
        let untimed = Progress {
            executed: 1 << 20,
            launches: 30,
            timed: false,
            ..now.clone()
        };
        assert_eq!(
            line(&untimed, &times(3600, 1)),
            "1:00:01 launch 31 (bfs), executing without timing: 1,200 of 4,096 blocks, 1,048,576 \
             warp instructions, 1.05 M warp instructions/s; 7,200,000 cycles timed before\n"
        );
        let again = line(&now, &times(3600, 1800));
        assert!(again.starts_with("1:30:00 launch 3"), "{again}");
        assert!(again.ends_with("2.00 k cycles/s\n"), "{again}");
        let functional = Progress {
            cycles: 0,
            ..untimed
        };
        let told = line(&functional, &times(0, 1));
        let end = "1,048,576 warp instructions, 1.05 M warp instructions/s\n";
        assert!(told.ends_with(end), "{told}");
        let whole = timed_whole(&now, 24_000);
        let expected = "note: all 4,096 blocks of bfs are timed: on this machine, with this N, \
                        --sample leaves blocks out of grids of at least 24,000\n";
        assert!(whole.starts_with(expected), "{whole}");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let mut state = RunsState::new(bar, None);
        (state.planned, state.ended) = (2, 1);
        state.running = BTreeMap::from([(7, running(250, 0)), (8, running(0, 1200))]);
        let told = state.line(Duration::from_secs(65));
        let expected = "0:01:05 1 of 3 runs; running bfs on gto 25%, bfs on gto launch 1,201\n";
        assert_eq!(told, expected);
    }
}
