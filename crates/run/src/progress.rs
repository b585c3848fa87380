//! Progress of a run, which the caller receives from time to time, and by which it stops the run.

use crate::session::Prepared;
use std::ops::ControlFlow;
use warploom_base::Cycle;
use warploom_exec::FunctionalStats;
use warploom_state::Value;

/// Number of warp instructions without timing between two calls of the progress function.
const INTERVAL: u64 = 1 << 18;

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Core cycles so far.
    pub cycles: Cycle,
    /// Warp instructions that were executed without timing so far.
    pub executed: u64,
    /// Number of launches that have ended, timed or not.
    pub launches: u64,
    /// True if the running launch is timed, false while it is executed without timing.
    pub timed: bool,
    /// Name of the running kernel.
    pub kernel: String,
    /// Number of its blocks that have ended, and number of all its blocks.
    pub blocks: (u64, u64),
    /// Fewest blocks of the running kernel of which a part would be timed
    /// ([`TimedBlocks::OneOf`](crate::TimedBlocks)), if its grid has fewer and is timed whole.
    pub fewest_sampled: Option<u64>,
}

impl Progress {
    /// Progress of a run of which no kernel runs.
    pub(crate) fn before_any() -> Self {
        Self {
            cycles: 0,
            executed: 0,
            launches: 0,
            timed: false,
            kernel: String::new(),
            blocks: (0, 0),
            fewest_sampled: None,
        }
    }
}

/// Function that receives the progress of a run. `Break` stops the run.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How far a run was before something that is executed without timing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before {
    /// Core cycles that were simulated.
    pub cycles: Cycle,
    /// Number of timed launches that have ended.
    pub launches: u64,
    /// Number of blocks of the same launch.
    pub blocks: u64,
}

/// Count of what a run executed without timing, and of when its progress is due.
#[derive(Default, Value)]
pub(crate) struct Executed {
    /// Warp instructions of what has ended.
    pub instructions: u64,
    /// Number of whole launches that have ended.
    pub launches: u64,
    /// Number of warp instructions at which the progress function was called last.
    told: u64,
}

impl Executed {
    /// Poll function of a launch without timing: calls `progress` at intervals, also across
    /// launches.
    pub fn poll<'a>(
        &'a mut self,
        launch: &'a Prepared,
        before: Before,
        progress: OnProgress<'a>,
    ) -> impl FnMut(&FunctionalStats) -> ControlFlow<()> + 'a {
        move |stats| {
            let executed = self.instructions + stats.warp_instructions;
            if executed < self.told + INTERVAL {
                return ControlFlow::Continue(());
            }
            self.told = executed;
            progress(&Progress {
                cycles: before.cycles,
                executed,
                launches: before.launches + self.launches,
                timed: false,
                kernel: launch.launch.program.name.clone(),
                blocks: (before.blocks + stats.blocks, launch.grid.count()),
                fewest_sampled: None,
            })
        }
    }

    /// Counts blocks of a launch that have ended.
    pub fn add(&mut self, stats: &FunctionalStats) {
        self.instructions += stats.warp_instructions;
    }

    /// Counts a launch that has ended.
    pub fn add_launch(&mut self, stats: &FunctionalStats) {
        self.add(stats);
        self.launches += 1;
    }
}
