//! How far a run came that a limit of cycles ended: launches, blocks, and waves of blocks.

use super::{ConfigValue, KernelReport, Outcome, RunReport};
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
    /// Blocks of the last launch that were on SMs.
    #[serde(default)]
    pub running: u64,
    /// Number of SMs of the machine.
    #[serde(default)]
    pub sms: u64,
}

/// Progress of a run before its first instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begun {
    /// No block had started.
    #[default]
    Nothing,
    /// Blocks had started, and no instruction had been issued.
    Blocks,
    /// An instruction had been issued.
    Instructions,
}

/// Number of launches that a program makes, as far as it is known before the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launches {
    /// The program makes at least this many; 0 if nothing is known.
    pub least: u64,
    /// True if it makes exactly this many.
    pub is_exact: bool,
}

impl Reached {
    /// True if the last blocks of a launch were running, on less than half of the SMs, although the
    /// launch has a block for each SM.
    pub fn is_tail(&self) -> bool {
        let left = self.blocks - self.blocks_ended;
        left > 0 && left == self.running && 2 * left < self.sms && self.blocks >= self.sms
    }

    /// True if fewer than two waves of blocks ended, so that most SMs have not run one block after
    /// another.
    pub fn is_short(&self) -> bool {
        self.waves < FEW_WAVES
    }
}

impl RunReport {
    /// Progress of the run before its first instruction.
    pub fn begun(&self) -> Begun {
        let started = self.totals.figures.statistics.get("sm.blocks_started");
        match (self.totals.figures.thread_instructions, started) {
            (1.., _) => Begun::Instructions,
            (0, Some(1..)) => Begun::Blocks,
            (0, _) => Begun::Nothing,
        }
    }

    /// True if a limit of cycles ended the run before its first instruction.
    pub fn is_cut_at_start(&self) -> bool {
        let is_cut = matches!(self.outcome, Outcome::CycleLimit { .. });
        is_cut && self.begun() < Begun::Instructions
    }

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
            running: count(last, "sm.blocks_started").saturating_sub(blocks_ended(last)),
            sms,
        })
    }
}

/// Blocks of a launch that ended.
fn blocks_ended(kernel: &KernelReport) -> u64 {
    count(kernel, "sm.blocks_finished")
}

fn count(kernel: &KernelReport, statistic: &str) -> u64 {
    let count = kernel.figures.statistics.get(statistic);
    count.copied().unwrap_or(0)
}
