//! What warps do over time, for timelines: changes of their states, with the core cycle.

/// What a warp does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activity {
    /// There is no warp.
    #[default]
    None,
    /// It can issue, or waits for a result that is soon there.
    Runs,
    /// Its next instruction waits for a load from beyond shared memory.
    WaitsForMemory,
    /// It waits at a barrier.
    WaitsAtBarrier,
    /// It waits behind a fence or for an atomic.
    WaitsForOrder,
    /// It has ended; its last stores are on their way.
    Ends,
    /// Its context moves out.
    MovesOut,
    /// It is switched out and waits.
    Out,
    /// It is switched out and could go on.
    OutReady,
    /// Its context moves in.
    MovesIn,
}

impl Activity {
    /// Its name in a timeline; `None` where there is nothing to show.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Runs => "runs",
            Self::WaitsForMemory => "waits for memory",
            Self::WaitsAtBarrier => "waits at a barrier",
            Self::WaitsForOrder => "waits for a fence or an atomic",
            Self::Ends => "ends",
            Self::MovesOut => "moves out",
            Self::Out => "out",
            Self::OutReady => "out, ready",
            Self::MovesIn => "moves in",
        })
    }
}

/// A warp's row in a timeline begins to show something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// Core cycle.
    pub at: u64,
    /// SM.
    pub sm: u16,
    /// Warp slot of the SM, or warp context where contexts are switched.
    pub row: u16,
    /// Rank of the block in its grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
    /// What it does from now on.
    pub activity: Activity,
}

/// A run's timeline: events in order of SM, then of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Changes.
    pub events: Vec<TraceEvent>,
    /// Core cycle at which it ends.
    pub end: u64,
}
