//! Trace of the memory backend for the request network, which runs later: all facts about the
//! backend that the network needs.

/// Ticks of the clock domains in a core cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub noc: u32,
    pub l2: u32,
}

/// Trace of some core cycles.
#[derive(Debug, Default)]
pub(crate) struct BackendTrace {
    /// Ticks of each core cycle.
    pub ticks: Vec<Ticks>,
    /// By cycle of L2 and word of a set of partitions: those with full inputs.
    pub full: Vec<u64>,
}

impl BackendTrace {
    /// Forgets all recorded cycles.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.full.clear();
    }
}
