//! What the memory backend records for the request network, which runs later: everything that the
//! network needs to know of it.

/// Ticks of the clock domains in a core cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub noc: u32,
    pub l2: u32,
}

/// A record of some cycles.
#[derive(Debug, Default)]
pub(crate) struct BackendTrace {
    /// By core cycle.
    pub ticks: Vec<Ticks>,
    /// By cycle of L2 and word of a set of partitions: those with full inputs.
    pub full: Vec<u64>,
}

impl BackendTrace {
    /// Forgets all cycles.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.full.clear();
    }
}
