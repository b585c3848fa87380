//! Time series: the machine's counters cut into windows, of the whole machine or of each part.

use crate::counters::{MachineCounters, PartCounters};
use warploom_base::Cycle;
use warploom_stats::{Snapshot, Window, Windows};

/// Windows while they are recorded.
#[derive(Clone, Debug)]
pub(crate) enum Recorder {
    Whole(Box<Windows<MachineCounters>>),
    Parts(Box<Windows<PartCounters>>),
}

/// Windows that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// First and last + 1 core cycle of each window.
    pub spans: Vec<(Cycle, Cycle)>,
    /// Each counter's name with its value in every window.
    pub columns: Vec<(String, Vec<u64>)>,
}

impl Recorder {
    pub fn new(cycles: Cycle, parts: bool) -> Self {
        if parts {
            Self::Parts(Box::new(Windows::new(cycles)))
        } else {
            Self::Whole(Box::new(Windows::new(cycles)))
        }
    }

    /// The cycle at whose beginning the running window is complete.
    #[inline]
    pub fn due(&self) -> Cycle {
        match self {
            Self::Whole(windows) => windows.due(),
            Self::Parts(windows) => windows.due(),
        }
    }

    /// Closes the running window at the beginning of cycle `now`.
    pub fn close(&mut self, now: Cycle, counters: &PartCounters) {
        match self {
            Self::Whole(windows) => windows.close(now, &counters.sum()),
            Self::Parts(windows) => windows.close(now, counters),
        }
    }

    pub fn finish(self) -> Recording {
        match self {
            Self::Whole(windows) => recording(&windows),
            Self::Parts(windows) => recording(&windows),
        }
    }
}

fn recording<S: Snapshot>(windows: &Windows<S>) -> Recording {
    let span = |window: &Window<S>| (window.start, window.end);
    Recording {
        spans: windows.windows().iter().map(span).collect(),
        columns: windows.columns(),
    }
}
