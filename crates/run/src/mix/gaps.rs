//! Gaps: blocks of a launch that are executed without timing when their turn comes.

use super::Mix;
use super::early::{in_a_gap, interrupted};
use crate::accesses::Accesses;
use crate::host::Stopped;
use crate::progress::Before;
use crate::result::Summary;
use crate::sampling::{Look, Untimed};
use std::ops::Range;
use warploom_base::KernelSlot;
use warploom_exec::{FunctionalOptions, FunctionalStats};
use warploom_stats::result::Outcome;

impl Mix<'_, '_> {
    /// Executes blocks that are not timed and whose turn has come, and notes how far their launches
    /// are. The error is the outcome that ends the run.
    pub(super) fn pass_gaps(&mut self, summary: &mut Summary) -> Result<(), Outcome> {
        while let Some((slot, gap)) = self.gpu.gap() {
            let look = self.look(slot, &gap);
            let untimed = self.untimed_in(slot);
            untimed.looked(look);
            if untimed.is_stable() {
                self.gpu.time_no_more(slot);
            }
            let gap = self.gpu.gap().map_or(gap, |(_, gap)| gap);
            if !gap.is_empty() {
                self.execute_gap(slot, gap, summary)?;
            }
            self.gpu.pass_gap(slot);
        }
        Ok(())
    }

    fn untimed_in(&mut self, slot: KernelSlot) -> &mut Untimed {
        let kernel = self.in_flight[slot.index()].as_mut();
        let kernel = kernel.expect("it is in flight");
        kernel.untimed.as_mut().expect("it has gaps")
    }

    /// Work that a launch has done when it comes to a gap.
    fn look(&mut self, slot: KernelSlot, gap: &Range<u64>) -> Look {
        Look {
            cycle: self.gpu.now(),
            rank: gap.start,
            warp_instructions: self.gpu.warp_instructions(slot),
            skipped: 0,
            skipped_instructions: 0,
        }
    }

    fn execute_gap(
        &mut self,
        slot: KernelSlot,
        gap: Range<u64>,
        summary: &mut Summary,
    ) -> Result<(), Outcome> {
        let extent = FunctionalOptions {
            first_block: gap.start,
            end_block: gap.end,
            ..FunctionalOptions::default()
        };
        let before = Before {
            blocks: gap.start,
            ..self.before(summary)
        };
        let kernel = self.in_flight[slot.index()].as_mut();
        let kernel = kernel.expect("it is in flight");
        let untimed = kernel.untimed.as_mut().expect("it has gaps");
        let at = kernel.process;
        let launch = &untimed.prepared;
        let device = &mut self.processes[at].device;
        let mut accesses = Accesses::of_gap(self.session.spec(), &self.gpu, gap.end - gap.start);
        let warms = self.session.options().warms_caches;
        let observer = warms.then_some(&mut accesses);
        device.lend(&mut self.memory);
        let stats = self.session.execute_prepared(
            launch,
            device,
            observer,
            extent,
            &mut self.executed.poll(launch, before, &mut *self.progress),
        );
        device.lend(&mut self.memory);
        let stats = self.ended_gap(stats, at, summary)?;
        self.executed.add(&stats);
        summary.find(self.untimed_in(slot).executed(stats));
        if warms {
            accesses.replay_beside_blocks(&mut self.gpu, at as u8);
        }
        Ok(())
    }

    /// The outcome of a run that ends in a gap.
    fn ended_gap(
        &mut self,
        stats: Result<FunctionalStats, (Outcome, Stopped)>,
        at: usize,
        summary: &Summary,
    ) -> Result<FunctionalStats, Outcome> {
        stats.map_err(|(outcome, why)| {
            let reached = self.reached(summary);
            self.stopped(why);
            match why {
                Stopped::Interrupted => interrupted(reached, Vec::new()),
                _ => self.of_process(in_a_gap(outcome), at),
            }
        })
    }
}
