//! Time series: the machine's counters cut into windows, of the whole machine or of each part.

use crate::counters::{MachineCounters, PartCounters};
use warploom_base::Cycle;
use warploom_stats::{Snapshot, Window, Windows};

/// Windows while they are recorded.
#[derive(Clone, Debug)]
pub(crate) enum Recorder {
    Whole(Windows<MachineCounters>),
    Parts(Windows<PartCounters>),
}

/// Windows that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// First and last + 1 core cycle of each window.
    pub spans: Vec<(Cycle, Cycle)>,
    /// Each counter's name with its value in every window.
    pub columns: Vec<(String, Vec<u64>)>,
}

impl Snapshot for MachineCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    fn named(&self) -> Vec<(String, u64)> {
        self.named()
    }
}

impl Snapshot for PartCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    /// The whole machine's, then each part's with the part before them: `sm3:l1d.fill_port_busy`.
    fn named(&self) -> Vec<(String, u64)> {
        let mut all = self.sum().named();
        let mut add = |part: &str, at: usize, named: Vec<(String, u64)>| {
            let of_part = |(name, value)| (format!("{part}{at}:{name}"), value);
            all.extend(named.into_iter().map(of_part));
        };
        for (i, sm) in self.sms.iter().enumerate() {
            add("sm", i, sm.named());
        }
        for (i, bank) in self.banks.iter().enumerate() {
            add("bank", i, bank.named());
        }
        for i in 0..self.channels.len() {
            add("channel", i, self.channel_named(i));
        }
        all
    }
}

impl Recorder {
    pub fn new(cycles: Cycle, parts: bool) -> Self {
        if parts {
            Self::Parts(Windows::new(cycles))
        } else {
            Self::Whole(Windows::new(cycles))
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
