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
        let Some(sampler) = &mut self.sampler else {
            return Ok(Timing::Whole);
        };
        if sampler.is_first(launch) {
            let chosen = sampler.choose(launch, None);
            return Ok(chosen.map_or(Timing::Executed, Timing::Sampled));
        }
        let mut accesses = Accesses::new(self.session.spec());
        let device = &mut self.processes[at].device;
        self.memory.begin_undo();
        device.lend(&mut self.memory);
        let extent = FunctionalOptions::default();
        let observer = Some(&mut accesses as _);
        let place = (self.gpu.now(), summary.launches());
        let executed = self.session.execute_quietly(
            launch,
            device,
            observer,
            extent,
            &mut self.executed.poll(launch, place, &mut *self.progress),
        );
        device.lend(&mut self.memory);
        let executed = executed.map_err(|(outcome, why)| {
            self.memory.keep();
            self.stopped(why);
            self.of_process(outcome, at)
        })?;
        let sampler = self.sampler.as_mut().expect("it was there");
        if let Some(chosen) = sampler.choose(launch, Some((&executed, accesses.count))) {
            self.memory.undo();
            return Ok(Timing::Sampled(chosen));
        }
        self.memory.keep();
        self.executed.add(&executed);
        self.session.print(&mut self.memory, at as u8);
        accesses.warm(&mut self.gpu, at as u8);
        summary.find(executed.findings);
        Ok(Timing::Executed)
    }

    /// Adds the estimates of a sampled program that has ended to its result.
    pub fn finish_sampling(&mut self, summary: &mut Summary) {
        if let Some(sampler) = self.sampler.take() {
            sampler.finish(summary);
        }
    }
}
