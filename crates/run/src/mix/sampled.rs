//! Sampled programs: launches that are executed without timing, or undone and timed.

use super::Mix;
use crate::accesses::Accesses;
use crate::result::Summary;
use crate::sampler::Chosen;
use crate::session::Prepared;
use warploom_exec::FunctionalOptions;
use warploom_stats::result::Outcome;

/// Way in which a launch takes place.
pub(super) enum Timing {
    /// The launch is timed, as all of the program are.
    Whole,
    /// The launch is timed for a sample.
    Sampled(Chosen),
    /// The launch has been executed without timing.
    Executed,
}

impl Mix<'_, '_> {
    /// Chooses whether a launch of a sampled program is timed, and executes it if it is not. The
    /// error is the outcome that ends the run.
    pub(super) fn choose(
        &mut self,
        at: usize,
        launch: &Prepared,
        summary: &mut Summary,
    ) -> Result<Timing, Outcome> {
        if self.sampler.is_none() {
            return Ok(Timing::Whole);
        }
        let (spec, blocks) = (self.session.spec(), launch.grid.count());
        let footprint = std::mem::take(&mut self.footprint);
        let mut accesses = Accesses::new(spec, &self.gpu, blocks, footprint);
        let before = self.before(summary);
        let device = &mut self.processes[at].device;
        self.memory.begin_undo();
        device.lend(&mut self.memory);
        let extent = FunctionalOptions::default();
        let observer = Some(&mut accesses);
        let executed = self.session.execute_quietly(
            launch,
            device,
            observer,
            extent,
            &mut self.executed.poll(launch, before, &mut *self.progress),
        );
        device.lend(&mut self.memory);
        let executed = executed.map_err(|(outcome, why)| {
            self.memory.keep();
            self.stopped(why);
            self.of_process(outcome, at)
        })?;
        self.footprint = accesses.take_footprint();
        let sampler = self.sampler.as_mut().expect("it was there");
        let accessed = (accesses.count, accesses.lacking);
        if let Some(chosen) = sampler.choose(launch, &executed, accessed) {
            self.memory.undo();
            self.warm(at);
            return Ok(Timing::Sampled(chosen));
        }
        self.memory.keep();
        self.gpu.pass_blocks(blocks);
        self.executed.add_launch(&executed);
        self.print(at);
        match &mut self.untimed {
            Some(untimed) => untimed.append(accesses),
            none => *none = Some(accesses),
        }
        summary.find(executed.findings);
        Ok(Timing::Executed)
    }

    /// Notes copies between host and device, in their order with launches.
    pub(super) fn note_copies(&mut self, at: usize, copies: &[(u64, u64)]) {
        if !copies.is_empty() {
            self.warm(at);
        }
        for (address, bytes) in copies {
            self.gpu.note_copy(at as u8, *address, *bytes);
            if self.sampler.is_some() && self.session.spec().gpu.copies_warm_l2 {
                self.footprint.copied(*address, *bytes);
            }
        }
    }

    /// Replays the last accesses of launches without timing in the caches, before a timed launch or
    /// a copy.
    pub(super) fn warm(&mut self, at: usize) {
        let wanted = self.session.options().warms_caches;
        if let Some(untimed) = self.untimed.take().filter(|_| wanted) {
            untimed.replay(&mut self.gpu, at as u8);
        }
    }

    /// Adds the estimates of a sampled program that has ended to its result.
    pub fn finish_sampling(&mut self, summary: &mut Summary) {
        if let Some(sampler) = self.sampler.take() {
            sampler.finish(summary);
        }
    }
}
