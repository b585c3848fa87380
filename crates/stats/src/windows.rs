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
    /// Number of windows at which pairs of them are joined. It is even.
    most: usize,
    start: Cycle,
    /// End of each window, and the counters at that time.
    ends: Vec<(Cycle, S)>,
}

impl<S: Snapshot> Windows<S> {
    /// Creates a recorder with windows of `cycles_per_window` cycles, from cycle 0 on. Panics if
    /// that is 0.
    pub fn new(cycles_per_window: Cycle) -> Self {
        assert!(cycles_per_window > 0, "a window has at least one cycle");
        Self {
            cycles_per_window,
            most: usize::MAX - 1,
            start: 0,
            ends: Vec::new(),
        }
    }

    /// Keeps fewer than `most` windows, at least one: whenever there are as many, each two are
    /// joined, and later ones are twice as long.
    #[must_use]
    pub fn at_most(mut self, most: usize) -> Self {
        self.most = most.max(2) & !1;
        self
    }

    /// Length of the windows that are recorded now, in cycles.
    pub fn cycles_per_window(&self) -> Cycle {
        self.cycles_per_window
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
        self.ends.push((now, total.clone()));
        self.start = now;
        if self.ends.len() == self.most {
            let mut nth = 0;
            self.ends.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
            self.cycles_per_window *= 2;
        }
    }

    /// Windows closed so far, oldest first.
    pub fn windows(&self) -> Vec<Window<S>> {
        let first = (0, S::default());
        let starts = std::iter::once(&first).chain(&self.ends);
        let window = |((start, before), (end, total)): (&(Cycle, S), &(Cycle, S))| Window {
            start: *start,
            end: *end,
            counts: total.since(before),
        };
        starts.zip(&self.ends).map(window).collect()
    }

    /// Windows by column: the name of each counter with its value in every window.
    pub fn columns(&self) -> Vec<(String, Vec<u64>)> {
        let windows = self.windows();
        let Some(first) = windows.first() else {
            return Vec::new();
        };
        let column = |(name, _)| (name, Vec::with_capacity(windows.len()));
        let mut columns: Vec<_> = first.counts.named().into_iter().map(column).collect();
        for window in &windows {
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

    /// At the end of the fourth window there are two, and the next one is twice as long.
    #[test]
    fn windows_are_joined_when_there_are_too_many() {
        let mut windows = Windows::new(10).at_most(4);
        let mut stats = Sample::default();
        for now in 1..=55 {
            stats.issued += 1;
            if now == windows.due() {
                windows.close(now, &stats);
            }
        }
        windows.close(55, &stats);
        let all = windows.windows();
        let shown: Vec<_> = all
            .iter()
            .map(|w| (w.start, w.end, w.counts.issued))
            .collect();
        assert_eq!(shown, [(0, 20, 20), (20, 40, 20), (40, 55, 15)]);
        assert_eq!(windows.cycles_per_window(), 20);
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
