//! The part of the machine that runs at this moment, for measurements of the host's time.
//!
//! The machine only writes a byte down; another thread looks at it now and then and keeps the
//! clock. So measuring changes neither results nor speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A part of the machine, as work on the caller's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Not in a step: the host program, launches, reports.
    Outside,
    /// Giving blocks to SMs.
    Dispatch,
    /// SMs, functional execution among it.
    Sms,
    /// Networks, L2 and DRAM.
    Memory,
    /// Packets and credits crossing the links.
    Exchange,
    /// Stores and atomics taking effect, kernels ending, the watchdog.
    Commit,
}

impl Part {
    /// Every part of the machine.
    pub const ALL: [Self; 6] = [
        Self::Outside,
        Self::Dispatch,
        Self::Sms,
        Self::Memory,
        Self::Exchange,
        Self::Commit,
    ];

    /// The part in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Dispatch => "dispatch",
            Self::Sms => "sms",
            Self::Memory => "memory",
            Self::Exchange => "exchange",
            Self::Commit => "commit",
        }
    }
}

/// Where a machine notes its running part; clones see the same note.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<AtomicU8>);

impl Probe {
    /// `part` runs from now on.
    #[inline]
    pub(crate) fn enter(&self, part: Part) {
        self.0.store(part as u8, Ordering::Relaxed);
    }

    /// The part that runs.
    pub fn part(&self) -> Part {
        Part::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Probe};

    #[test]
    fn a_clone_sees_every_part_that_is_entered() {
        let probe = Probe::default();
        let other = probe.clone();
        assert_eq!(other.part(), Part::Outside);
        for part in Part::ALL {
            probe.enter(part);
            assert_eq!(other.part(), part);
        }
    }
}
