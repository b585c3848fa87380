//! Options of `run` that time a part of a launch's blocks.

use std::ops::Range;
use warploom_run::TimedBlocks;

/// Which blocks are timed.
#[derive(clap::Args)]
#[command(next_help_heading = "Timing a part")]
pub struct SampleArgs {
    /// Time one of N blocks of each launch, in stretches over the whole grid, execute the others
    /// without timing, and estimate the cycles of all with a 95% confidence interval. A grid too
    /// small for that is timed whole. Cycles and counters are of the blocks that were timed
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with = "functional"
    )]
    sample: Option<u64>,
    /// Time the blocks of each launch from FIRST up to, not including, END, by their order in the
    /// grid (x fastest), and execute the others without timing
    #[arg(
        long,
        value_name = "FIRST..END",
        value_parser = ranks,
        conflicts_with_all = ["functional", "sample"]
    )]
    blocks: Option<Range<u64>>,
}

impl SampleArgs {
    /// Which blocks are timed.
    pub fn timed(&self) -> TimedBlocks {
        match (self.sample, &self.blocks) {
            (Some(n), _) => TimedBlocks::OneOf(n),
            (None, Some(ranks)) => TimedBlocks::Range(ranks.clone()),
            (None, None) => TimedBlocks::All,
        }
    }

    /// The option that was given.
    pub fn given(&self) -> Option<&'static str> {
        match self.timed() {
            TimedBlocks::All => None,
            TimedBlocks::Range(_) => Some("--blocks"),
            TimedBlocks::OneOf(_) => Some("--sample"),
        }
    }
}

/// `0..512`; at least one block.
fn ranks(text: &str) -> Result<Range<u64>, String> {
    let parts = text.split_once("..").map(|(a, b)| (a.parse(), b.parse()));
    match parts {
        Some((Ok(first), Ok(end))) if first < end => Ok(first..end),
        Some((Ok(first), Ok(end))) => Err(format!(
            "no block lies from {first} up to {end}; write a smaller number first"
        )),
        _ => Err("write the first block and the one after the last, such as 0..512".to_owned()),
    }
}
