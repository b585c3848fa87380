//! Time series: an observer that cuts the machine's counters into windows, of the whole machine or
//! of each part.

use crate::counters::{MachineCounters, PartCounters};
use crate::observer::{MachineObserver, MachineView};
use warploom_base::Cycle;
use warploom_stats::{Snapshot, Window, Windows};

/// Windows that are being recorded.
#[derive(Clone, Debug)]
pub(crate) enum Recorder {
    Whole(Box<Windows<MachineCounters>>),
    Parts(Box<Windows<PartCounters>>),
}

/// Windows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// First core cycle of each window, and the one after its last.
    pub spans: Vec<(Cycle, Cycle)>,
    /// Name of each counter with its value in every window.
    pub columns: Vec<(String, Vec<u64>)>,
    /// Length of a window in core cycles. A step that reaches over a window's end makes it longer.
    pub window_cycles: Cycle,
}

impl Recorder {
    /// A recorder of windows of a number of core cycles, of each part too if `parts` is set. Of
    /// `most` windows pairs are joined.
    pub fn new(cycles: Cycle, parts: bool, most: usize) -> Self {
        if parts {
            Self::Parts(Box::new(Windows::new(cycles).at_most(most)))
        } else {
            Self::Whole(Box::new(Windows::new(cycles).at_most(most)))
        }
    }

    /// Closes the running window at the beginning of cycle `now`.
    fn close(&mut self, now: Cycle, counters: &PartCounters) {
        match self {
            Self::Whole(windows) => windows.close(now, &counters.sum()),
            Self::Parts(windows) => windows.close(now, counters),
        }
    }

    /// The windows that are closed.
    pub fn finish(self) -> Recording {
        match self {
            Self::Whole(windows) => recording(&windows),
            Self::Parts(windows) => recording(&windows),
        }
    }
}

impl MachineObserver for Recorder {
    /// The cycle at whose beginning the running window is complete.
    fn next_sample(&self) -> Cycle {
        match self {
            Self::Whole(windows) => windows.due(),
            Self::Parts(windows) => windows.due(),
        }
    }

    fn sample(&mut self, view: &MachineView<'_>) {
        self.close(view.now, view.counters);
    }

    /// Closes the last window, which may be shorter than the others.
    fn run_ended(&mut self, view: &MachineView<'_>) {
        self.close(view.now, view.counters);
    }
}

fn recording<S: Snapshot>(windows: &Windows<S>) -> Recording {
    let span = |window: &Window<S>| (window.start, window.end);
    Recording {
        spans: windows.windows().iter().map(span).collect(),
        columns: windows.columns(),
        window_cycles: windows.cycles_per_window(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::SmPart;

    /// More windows than any of these tests has.
    const MANY: usize = 1000;

    /// Counters of two SMs: instructions issued, and cycles of the longest fetch.
    fn counters(issued: [u64; 2], longest: [u64; 2]) -> PartCounters {
        let part = |sm: usize| {
            let mut part = SmPart::default();
            part.sm.warp_instructions = issued[sm];
            part.sm.fetch_cycles_max.note(longest[sm]);
            part
        };
        PartCounters {
            sms: vec![part(0), part(1)],
            ..PartCounters::default()
        }
    }

    fn recording(parts: bool) -> Recording {
        let mut recorder = Recorder::new(10, parts, MANY);
        assert_eq!(recorder.next_sample(), 10);
        recorder.close(10, &counters([3, 4], [50, 20]));
        assert_eq!(recorder.next_sample(), 20);
        // A step that reaches over the window's end closes it where the step ends.
        recorder.close(22, &counters([3, 9], [50, 60]));
        assert_eq!(recorder.next_sample(), 32);
        recorder.close(25, &counters([5, 9], [50, 60]));
        recorder.close(25, &counters([5, 9], [50, 60]));
        recorder.finish()
    }

    fn column(recording: &Recording, name: &str) -> Option<Vec<u64>> {
        let mut columns = recording.columns.iter();
        columns
            .find(|(column, _)| column == name)
            .map(|(_, v)| v.clone())
    }

    /// Counts of a window are those since the one before; the largest value is that of the run.
    #[test]
    fn the_whole_machine_is_cut_into_windows() {
        let whole = recording(false);
        assert_eq!(whole.spans, [(0, 10), (10, 22), (22, 25)]);
        let issued = column(&whole, "sm.warp_instructions");
        assert_eq!(issued, Some(vec![7, 5, 2]));
        let longest = column(&whole, "sm.fetch_cycles_max");
        assert_eq!(longest, Some(vec![50, 60, 60]));
        assert_eq!(column(&whole, "sm1:sm.warp_instructions"), None);
    }

    /// By part, the whole comes first and is the sum of the parts.
    #[test]
    fn parts_stand_beside_the_whole() {
        let (whole, parts) = (recording(false), recording(true));
        assert_eq!(whole.spans, parts.spans);
        assert_eq!(whole.columns[..], parts.columns[..whole.columns.len()]);
        let of = |sm: usize| column(&parts, &format!("sm{sm}:sm.warp_instructions"));
        assert_eq!(of(0), Some(vec![3, 0, 2]));
        assert_eq!(of(1), Some(vec![4, 5, 0]));
    }

    #[test]
    fn nothing_recorded_is_an_empty_recording() {
        let empty = Recording {
            window_cycles: 10,
            ..Recording::default()
        };
        assert_eq!(Recorder::new(10, true, MANY).finish(), empty);
    }
}
