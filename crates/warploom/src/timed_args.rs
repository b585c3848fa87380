//! Options of `run` for timing a part of a run: some of its launches, or some of their blocks.

use crate::failure::Failure;
use crate::interrupt::is_interrupted;
use std::ops::Range;
use warploom_run::{Timed, TimedBlocks};
use warploom_stats::result::{Outcome, RunReport};

/// Selection of timed launches and of their blocks.
#[derive(clap::Args)]
#[command(next_help_heading = "Timing a part")]
pub struct TimedArgs {
    /// Execute the first N launches without timing, then time the others. Caches are cold at that
    /// point, and the result is for the timed launches
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "functional"
    )]
    skip_launches: u64,
    /// Stop after N timed launches, without checking the outputs. A program that has no more of
    /// them runs to its end
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        conflicts_with = "functional"
    )]
    max_launches: Option<u64>,
    /// Time only kernels with this in their names, mangled or plain, and execute the others without
    /// timing, which leaves caches unchanged. May be repeated. The program runs to its end; Ctrl-C
    /// ends it with the result so far
    #[arg(long, value_name = "NAME", conflicts_with = "functional")]
    time_kernel: Vec<String>,
    /// Time one of N blocks of each launch, in samples over the whole grid, execute the others
    /// without timing, and estimate the cycles of all blocks with a 95% confidence interval. A grid
    /// that is too small is timed whole. Cycles and counters are for the timed blocks
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with = "functional"
    )]
    sample: Option<u64>,
    /// Time the first blocks of each launch, until the cycles of all blocks can be estimated with
    /// an error of at most this, such as 10%, at 95% confidence, and execute the others without
    /// timing. Cycles and counters are for the timed blocks
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = percentage,
        conflicts_with_all = ["functional", "sample"]
    )]
    until_stable: Option<f64>,
    /// Time only as many launches as it takes to estimate the cycles of the whole program with an
    /// error of at most this, such as 2%, at 95% confidence, and execute the others without timing.
    /// Launches run one after the other. Cycles and counters are for the timed launches; estimates
    /// for all are added
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = percentage,
        conflicts_with_all = [
            "functional", "sample", "until_stable", "blocks", "skip_launches", "time_kernel",
            "max_launches"
        ]
    )]
    sample_error: Option<f64>,
    /// Time the blocks of each launch from FIRST up to but excluding END, by their order in the
    /// grid (x fastest), and execute the others without timing
    #[arg(
        long,
        value_name = "FIRST..END",
        value_parser = ranks,
        conflicts_with_all = ["functional", "sample", "until_stable"]
    )]
    blocks: Option<Range<u64>>,
}

impl TimedArgs {
    /// The selected launches and blocks.
    pub fn timed(&self) -> Timed {
        Timed {
            kernels: self.time_kernel.clone(),
            blocks: self.blocks(),
            ..Timed::from(self.skip_launches)
        }
    }

    /// Number of timed launches after which the run stops.
    pub fn max_launches(&self) -> Option<u64> {
        self.max_launches
    }

    fn blocks(&self) -> TimedBlocks {
        match (self.sample, self.until_stable, &self.blocks) {
            (Some(n), ..) => TimedBlocks::OneOf(n),
            (None, Some(bound), _) => TimedBlocks::UntilStable(bound),
            (None, None, Some(ranks)) => TimedBlocks::Range(ranks.clone()),
            (None, None, None) => TimedBlocks::All,
        }
    }

    /// Bound of the relative error, if launches are sampled.
    pub fn sample_error(&self) -> Option<f64> {
        self.sample_error
    }

    /// The option by which counters are for a part of the launches or blocks, if one was given.
    pub fn by_parts(&self) -> Option<&'static str> {
        let launches = self.sample_error.map(|_| "--sample-error");
        launches.or(self.by_blocks())
    }

    /// The option that selects blocks, if one was given.
    fn by_blocks(&self) -> Option<&'static str> {
        match self.blocks() {
            TimedBlocks::All => None,
            TimedBlocks::Range(_) => Some("--blocks"),
            TimedBlocks::OneOf(_) => Some("--sample"),
            TimedBlocks::UntilStable(_) => Some("--until-stable"),
        }
    }

    /// Refuses a selection without any timed launch, such as a name that no launched kernel has. A
    /// run that was interrupted may not have come so far.
    pub fn check(&self, result: &RunReport) -> Result<(), Failure> {
        if is_interrupted(&result.outcome) {
            return Ok(());
        }
        let is_timed = |name: &&String| {
            let mut kernels = result.kernels.iter();
            kernels.any(|kernel| warploom_names::has_part(&kernel.name, name))
        };
        match self.time_kernel.iter().find(|name| !is_timed(name)) {
            Some(name) => Err(Failure::Input(format!(
                "no kernel that was launched has `{name}` in its name; leave out --time-kernel to \
                 see their names"
            ))),
            None => self.check_any(result),
        }
    }

    fn check_any(&self, result: &RunReport) -> Result<(), Failure> {
        if !result.kernels.is_empty() || result.outcome != Outcome::Finished {
            return Ok(());
        }
        match (self.skip_launches, self.given()) {
            (0, Some(option)) => Err(Failure::Input(format!(
                "{option} leaves no block of any launch to time; write smaller numbers"
            ))),
            (launches @ 1.., _) => Err(Failure::Input(format!(
                "no launch is left to time after the first {launches}; write a smaller number for \
                 --skip-launches"
            ))),
            _ => Ok(()),
        }
    }

    /// An option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let launches = (self.skip_launches > 0).then_some("--skip-launches");
        let kernels = (!self.time_kernel.is_empty()).then_some("--time-kernel");
        let most = self.max_launches.map(|_| "--max-launches");
        launches.or(kernels).or(most).or(self.by_parts())
    }
}

/// Parses a percentage such as `2%` as 0.02.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|text| text.trim().parse().ok());
    match number {
        Some(percent @ 0.01..=50.0) => Ok(percent / 100.0),
        _ => Err("write a percentage from 0.01% to 50%, such as 2%".to_owned()),
    }
}

/// Parses a range such as `0..512` of at least one block.
fn ranks(text: &str) -> Result<Range<u64>, String> {
    let parts = text.split_once("..").map(|(a, b)| (a.parse(), b.parse()));
    match parts {
        Some((Ok(first), Ok(end))) if first < end => Ok(first..end),
        Some((Ok(first), Ok(end))) => Err(format!(
            "there is no block from {first} up to {end}; write a smaller number first"
        )),
        _ => Err("write the first block and the one after the last, such as 0..512".to_owned()),
    }
}
