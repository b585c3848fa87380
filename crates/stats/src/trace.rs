//! Timelines of warps: changes of their activities, with the core cycle.

/// Activity of a warp in a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activity {
    /// No warp is there.
    #[default]
    None,
    /// The warp can issue, or waits for a result of an execution unit.
    Runs,
    /// The next instruction waits for a load other than from shared memory.
    WaitsForMemory,
    /// The warp waits at a barrier.
    WaitsAtBarrier,
    /// The warp waits for a fence or for an atomic.
    WaitsForOrder,
    /// The warp has ended; something of it, such as a store, is outstanding.
    Ends,
    /// The context of the warp moves out.
    MovesOut,
    /// The warp is switched out and waits.
    Out,
    /// The warp is switched out and could continue.
    OutReady,
    /// The context of the warp moves in.
    MovesIn,
}

impl Activity {
    /// Name of the activity in a timeline; `None` if there is nothing to show.
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

/// Change of the activity that a row of a timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// Core cycle of the change.
    pub at: u64,
    /// Number of the SM.
    pub sm: u16,
    /// Warp slot of the SM, or warp context if contexts are switched.
    pub row: u16,
    /// Rank of the block in its grid.
    pub block: u64,
    /// Number of the warp within its block.
    pub warp: u32,
    /// Activity from this cycle on.
    pub activity: Activity,
}

/// Timeline of a run: events in order of SM, then of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Changes of activities of warps.
    pub events: Vec<TraceEvent>,
    /// Core cycle at which the timeline ends.
    pub end: u64,
}
