//! An SM in words, for reports of leaks and deadlocks.

use super::Sm;
use crate::prepared_kernel::prepared_kernel;

impl Sm {
    /// Adds a line for everything that ended instructions have left, which is nothing unless this
    /// crate has a bug. Requires that no block runs.
    pub fn describe_leaks(&self, out: &mut Vec<String>) {
        let kept = [
            ("blocks", self.taken_blocks.count_ones() as usize),
            ("warps", self.warps.live.mask().count_ones() as usize),
            ("instructions in flight", self.flights.used()),
            ("memory instructions", self.ldst.insts.used()),
            ("lists of transactions", self.ldst.lists.used()),
            ("collectors", usize::from(!self.collectors.is_idle())),
        ];
        let left = kept.into_iter().filter(|(_, count)| *count > 0);
        let switched = self.context.as_ref().map_or(0, |c| c.leaks());
        if switched > 0 {
            out.push(format!(
                "{}: {switched} contexts and their storage are left",
                self.id
            ));
        }
        out.extend(left.map(|(what, count)| format!("{}: {count} {what} are left", self.id)));
    }

    /// Adds a line for each unfinished warp that says what it waits for, for reports of deadlocks.
    pub fn describe_waits(&self, out: &mut Vec<String>) {
        for slot in warploom_policy::warps_of(self.warps.running()) {
            let w = slot.index();
            let block = &self.blocks[self.warps.track[w].block.index()];
            let image = prepared_kernel(&self.kernels, self.warps.track[w].kernel);
            let bit = 1 << w;
            let why = if self.warps.at_barrier & bit != 0 {
                self.warps.exec[w].describe_wait(&image.launch, &block.state.barriers)
            } else if self.warps.atomic & bit != 0 {
                format!(
                    "waits for an atomic; {}",
                    self.warps.exec[w].describe(&image.launch)
                )
            } else if self.warps.fenced & bit != 0 {
                format!(
                    "waits at a fence; {}",
                    self.warps.exec[w].describe(&image.launch)
                )
            } else {
                self.warps.exec[w].describe(&image.launch)
            };
            out.push(format!(
                "{}, block {} of `{}`, warp {}: {why}",
                self.id,
                block.state.ctaid(),
                image.program.name,
                self.warps.exec[w].warp_index(),
            ));
        }
        self.describe_absent(out);
    }
}
