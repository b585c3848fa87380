//! How far a run came that a limit of cycles ended: launches, blocks, and waves of blocks.

use super::{ConfigValue, KernelReport, RunReport};
use serde::{Deserialize, Serialize};

/// Waves below which most SMs have not run one block after another.
const FEW_WAVES: f64 = 2.0;

/// Progress of a run at its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Number of launches that had begun.
    pub launches: u64,
    /// Blocks of the last launch that had ended.
    pub blocks_ended: u64,
    /// Blocks in the grid of the last launch.
    pub blocks: u64,
    /// Blocks of the last launch that the machine holds at once: a wave.
    pub wave: u64,
    /// Waves of blocks that had ended in all launches: for each launch, the blocks that ended over
    /// those that the machine holds at once.
    pub waves: f64,
}

impl Reached {
    /// True if fewer than two waves of blocks ended, so that most SMs have not run one block after
    /// another.
    pub fn is_short(&self) -> bool {
        self.waves < FEW_WAVES
    }
}

impl RunReport {
    /// Progress of the run at its end; `None` without launches, and where kernels ran at once,
    /// whose blocks are not counted apart.
    pub fn reached(&self) -> Option<Reached> {
        let Some(ConfigValue::Integer(sms)) = self.gpu.config.get("gpu.sms") else {
            return None;
        };
        let sms = u64::try_from(*sms).ok()?;
        let last = self.kernels.last()?;
        if self
            .kernels
            .iter()
            .any(|kernel| kernel.concurrent.is_some())
        {
            return None;
        }
        let wave = |kernel: &KernelReport| (u64::from(kernel.blocks_per_sm) * sms).max(1);
        let of = |kernel: &KernelReport| blocks_ended(kernel) as f64 / wave(kernel) as f64;
        Some(Reached {
            launches: self.kernels.len() as u64,
            blocks_ended: blocks_ended(last),
            blocks: last.grid.count(),
            wave: wave(last),
            waves: self.kernels.iter().map(of).sum(),
        })
    }
}

/// Blocks of a launch that ended.
fn blocks_ended(kernel: &KernelReport) -> u64 {
    let ended = kernel.figures.statistics.get("sm.blocks_finished");
    ended.copied().unwrap_or(0)
}
