//! Selection of what a run times.

use std::ops::Range;

/// Selection of timed launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Range in the order of launches.
    pub launches: Range<u64>,
    /// Parts of kernels' names, mangled or plain. If there are none, all kernels are timed.
    pub kernels: Vec<String>,
    /// Selection of their blocks.
    pub blocks: TimedBlocks,
}

/// Selection of timed blocks. The others are executed without timing when their turn comes: memory
/// is updated, and the machine stays full.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TimedBlocks {
    /// All blocks are timed.
    #[default]
    All,
    /// Blocks with these linear indices (x fastest) are timed.
    Range(Range<u64>),
    /// A share of the blocks is timed, one in this number, in samples over the whole grid. All
    /// blocks of a small grid are timed.
    OneOf(u64),
    /// The first blocks are timed, until the cycles of the launch are known with a relative error
    /// of at most this at 95 % confidence.
    UntilStable(f64),
}

impl Default for Timed {
    fn default() -> Self {
        Self::from(0)
    }
}

impl Timed {
    /// Selects all launches except for the first `skipped`.
    pub const fn from(skipped: u64) -> Self {
        Self {
            launches: skipped..u64::MAX,
            kernels: Vec::new(),
            blocks: TimedBlocks::All,
        }
    }

    /// True if launch `number`, counted from 0, of a kernel is timed.
    pub fn has(&self, number: u64, kernel: &str) -> bool {
        let named = |part: &String| warploom_names::has_part(kernel, part);
        self.launches.contains(&number)
            && (self.kernels.is_empty() || self.kernels.iter().any(named))
    }
}
