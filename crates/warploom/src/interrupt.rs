//! Requests from outside to stop a run: Ctrl-C (SIGINT) and SIGTERM.

use crate::output::note;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::low_level::pipe;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use warploom_stats::result::{Outcome, RunReport};

/// Exit status of an interrupted run, as shells report a program that Ctrl-C ended.
pub const INTERRUPTED: u8 = 130;

/// Flag that the first Ctrl-C or SIGTERM sets. A run that finds it set stops, and its results so
/// far are printed and written. The second signal ends the process at once, and so does the first
/// one after the flag is dropped. A command creates at most one.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to note signals. Where the system refuses this, a signal ends the process.
    pub fn new() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Actions run in the order of their registration, so the first signal finds the flag
            // unset here and sets it afterwards.
            let end = register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&flag));
            if end.is_ok() {
                let _ = register(signal, Arc::clone(&flag));
            }
        }
        Self(flag)
    }

    /// Answer of a progress function: whether the run goes on.
    pub fn go_on(&self) -> ControlFlow<()> {
        match self.0.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Numbers of the runs of a command, of those that have ended and of all. Ctrl-C or SIGTERM ends
/// the process at once, with a line about them.
pub struct KeptRuns {
    kept: AtomicUsize,
    all: AtomicUsize,
    /// Ends of the line: what became of the runs that have ended, and the same without any.
    fates: [&'static str; 2],
}

impl KeptRuns {
    /// Numbers of runs that are kept when they end. Begins to note signals: where the system
    /// refuses this, a signal ends the process without a line. A command creates at most one.
    pub fn new() -> Arc<Self> {
        Self::telling([
            "are kept; the same command goes on",
            "had ended; the same command begins again",
        ])
    }

    /// Numbers of runs that nothing keeps, as [`new`](Self::new) otherwise.
    pub fn without_folder() -> Arc<Self> {
        Self::telling(["had ended, and none is kept\n  = help: -o DIR keeps them"; 2])
    }

    fn telling(fates: [&'static str; 2]) -> Arc<Self> {
        let runs = Arc::new(Self {
            kept: AtomicUsize::new(0),
            all: AtomicUsize::new(0),
            fates,
        });
        let Ok((mut signals, end)) = UnixStream::pair() else {
            return runs;
        };
        for signal in [SIGINT, SIGTERM] {
            let _ = end.try_clone().and_then(|end| pipe::register(signal, end));
        }
        let shared = Arc::clone(&runs);
        std::thread::spawn(move || {
            if signals.read_exact(&mut [0]).is_ok() {
                note(&shared.told());
                std::process::exit(INTERRUPTED.into());
            }
        });
        runs
    }

    /// Sets the numbers of the runs that have ended and of all runs.
    pub fn set(&self, kept: usize, all: usize) {
        self.kept.store(kept, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// Adds to the numbers of the runs that have ended and of all runs.
    pub fn add(&self, kept: usize, all: usize) {
        self.kept.fetch_add(kept, Ordering::Relaxed);
        self.all.fetch_add(all, Ordering::Relaxed);
    }

    fn told(&self) -> String {
        let [kept, all] = [&self.kept, &self.all].map(|number| number.load(Ordering::Relaxed));
        let fate = self.fates[usize::from(kept == 0)];
        format!("\ninterrupted: {kept} of {all} runs {fate}\n")
    }
}

/// True if a signal ended the run.
pub const fn is_interrupted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Interrupted { .. })
}

/// Exit status of a command whose result is this report.
pub fn status(report: &RunReport) -> ExitCode {
    ExitCode::from(match is_interrupted(&report.outcome) {
        true => INTERRUPTED,
        false => u8::from(!report.succeeded()),
    })
}

#[cfg(test)]
mod tests {
    use super::KeptRuns;

    #[test]
    fn a_command_without_an_ended_run_begins_again() {
        let runs = KeptRuns::new();
        runs.set(0, 8);
        let none = "\ninterrupted: 0 of 8 runs had ended; the same command begins again\n";
        assert_eq!(runs.told(), none);
        runs.add(2, 0);
        let some = "\ninterrupted: 2 of 8 runs are kept; the same command goes on\n";
        assert_eq!(runs.told(), some);
    }
}
