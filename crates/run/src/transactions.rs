//! Counts the transactions of warps with global memory while a program executes without timing.

use std::cell::Cell;
use warploom_base::lanes_of;
use warploom_exec::{Effect, LaunchContext, Observer, StepOut};
use warploom_ir::MemSpace;

/// Size in bytes of the lines in which accesses of a warp are combined.
const LINE_BYTES: u64 = 128;

/// Observer that adds the transactions of all launches to a count.
pub(crate) struct Transactions<'a>(&'a Cell<u64>);

impl<'a> Transactions<'a> {
    pub fn new(count: &'a Cell<u64>) -> Self {
        Self(count)
    }
}

impl Observer for Transactions<'_> {
    fn begin(&mut self, _: &LaunchContext) {}

    fn follows_all(&self) -> bool {
        false
    }

    fn stepped(&mut self, _: u64, _: u32, out: &StepOut) {
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if effect.space != MemSpace::Global {
            return;
        }
        let lines = lanes_of(out.active).map(|lane| out.addrs[lane] / LINE_BYTES);
        self.0.set(self.0.get() + changes(lines));
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {}
}

/// Number of runs of equal lines.
fn changes(lines: impl Iterator<Item = u64>) -> u64 {
    let mut last = None;
    lines.fold(0, |count, line| {
        count + u64::from(last.replace(line) != Some(line))
    })
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn lanes_of_one_line_make_one_transaction() {
        assert_eq!(changes((0..32_u64).map(|lane| lane * 4 / 128)), 1);
        assert_eq!(changes((0..32_u64).map(|lane| lane * 8 / 128)), 2);
        assert_eq!(changes(0..32), 32);
        assert_eq!(changes(std::iter::empty()), 0);
    }
}
