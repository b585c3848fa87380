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
    /// Number of launches that have ended.
    pub launches: u64,
    /// Name of the running kernel.
    pub kernel: String,
    /// Number of its blocks that have ended, and number of all its blocks.
    pub blocks: (u64, u64),
}

/// Function that receives the progress of a run. `Break` stops the run.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// Count of what a run executed without timing, and of when its progress is due.
#[derive(Default, Value)]
pub(crate) struct Executed {
    /// Warp instructions of the launches that have ended.
    pub instructions: u64,
    /// Number of warp instructions at which the progress function was called last.
    told: u64,
}

impl Executed {
    /// Poll function of a launch without timing: calls `progress` at intervals, also across
    /// launches. `cycles` and `launches` are those of the run before this launch.
    pub fn poll<'a>(
        &'a mut self,
        launch: &'a Prepared,
        (cycles, launches): (Cycle, u64),
        progress: OnProgress<'a>,
    ) -> impl FnMut(&FunctionalStats) -> ControlFlow<()> + 'a {
        move |stats| {
            let executed = self.instructions + stats.warp_instructions;
            if executed < self.told + INTERVAL {
                return ControlFlow::Continue(());
            }
            self.told = executed;
            progress(&Progress {
                cycles,
                executed,
                launches,
                kernel: launch.launch.program.name.clone(),
                blocks: (stats.blocks, launch.grid.count()),
            })
        }
    }

    /// Counts a launch that has ended.
    pub fn add(&mut self, stats: &FunctionalStats) {
        self.instructions += stats.warp_instructions;
    }
}
