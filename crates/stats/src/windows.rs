//! Time series: counts of windows with a fixed number of cycles.

use crate::Counters;
use warploom_base::Cycle;

/// State of the counters of one or of several parts at one time.
pub trait Snapshot: Clone + Default {
    /// Returns the counts since `earlier`, an earlier state of the same counters or the default.
    fn since(&self, earlier: &Self) -> Self;

    /// Full names and values of all counters; names and order are always the same.
    fn named(&self) -> Vec<(String, u64)>;

    /// Values of all counters, in the order of `named`.
    fn values(&self) -> Vec<u64>;
}

impl<C: Counters> Snapshot for C {
    fn since(&self, earlier: &Self) -> Self {
        Counters::since(self, earlier)
    }

    fn named(&self) -> Vec<(String, u64)> {
        Counters::named(self)
    }

    fn values(&self) -> Vec<u64> {
        Counters::values(self)
    }
}

/// Counts of one window of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window<S> {
    /// First cycle of the window.
    pub start: Cycle,
    /// Cycle after the last one of the window.
    pub end: Cycle,
    /// Counts within the window.
    pub counts: S,
}

/// Recorder that divides running counters into windows. The counts of the windows add up to the
/// last state recorded. A [`crate::Peak`] is the largest value up to the end of the window.
#[derive(Clone, Debug)]
pub struct Windows<S> {
    cycles_per_window: Cycle,
    start: Cycle,
    at_start: S,
    windows: Vec<Window<S>>,
}

impl<S: Snapshot> Windows<S> {
    /// Creates a recorder with windows of `cycles_per_window` cycles, from cycle 0 on. Panics if
    /// that is 0.
    pub fn new(cycles_per_window: Cycle) -> Self {
        assert!(cycles_per_window > 0, "a window has at least one cycle");
        Self {
            cycles_per_window,
            start: 0,
            at_start: S::default(),
            windows: Vec::new(),
        }
    }

    /// Cycle at whose beginning the current window is complete.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.start + self.cycles_per_window
    }

    /// Closes the current window at the beginning of cycle `now`, at which the counters are
    /// `total`. To be called when `now` reaches [`Self::due`], and once at the end for the last
    /// window.
    pub fn close(&mut self, now: Cycle, total: &S) {
        if now == self.start {
            return;
        }
        self.windows.push(Window {
            start: self.start,
            end: now,
            counts: total.since(&self.at_start),
        });
        self.start = now;
        self.at_start = total.clone();
    }

    /// Windows closed so far, oldest first.
    pub fn windows(&self) -> &[Window<S>] {
        &self.windows
    }

    /// Windows by column: the name of each counter with its value in every window.
    pub fn columns(&self) -> Vec<(String, Vec<u64>)> {
        let Some(first) = self.windows.first() else {
            return Vec::new();
        };
        let column = |(name, _)| (name, Vec::with_capacity(self.windows.len()));
        let mut columns: Vec<_> = first.counts.named().into_iter().map(column).collect();
        for window in &self.windows {
            for ((_, column), value) in columns.iter_mut().zip(window.counts.values()) {
                column.push(value);
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::Windows;
    use crate::declare_stats;

    declare_stats! {
        /// Counters for the tests below.
        pub struct Sample in "sample" {
            /// Instructions issued by all schedulers.
            pub issued: u64 = WarpInstructions;
        }
    }

    #[test]
    fn windows_add_up_to_the_run() {
        let mut windows = Windows::new(10);
        let mut stats = Sample::default();
        for now in 1..=25 {
            stats.issued += now;
            if now == windows.due() {
                windows.close(now, &stats);
            }
        }
        windows.close(25, &stats);
        windows.close(25, &stats);
        let ends: Vec<_> = windows.windows().iter().map(|w| (w.start, w.end)).collect();
        assert_eq!(ends, [(0, 10), (10, 20), (20, 25)]);
        let columns = windows.columns();
        assert_eq!(columns, [("sample.issued".to_owned(), vec![55, 155, 115])]);
        assert_eq!(columns[0].1.iter().sum::<u64>(), stats.issued);
    }
}
