//! Checkpoints of a mix: its state is saved between calls of the machine's `advance`, and restored
//! into a mix that has just been created.

mod settings;

use super::{InFlight, Mix};
use crate::checkpoint::{Calls, Checkpoint, CheckpointError, HostEvent, HostLog, Identity};
use crate::process::Started;
use crate::result::Summary;
use crate::sampling::{Record, Untimed};
use crate::session::RunError;
use std::collections::BTreeMap;
use warploom_base::KernelSlot;
use warploom_state::{Io, State, StateError, Value};

/// Record of a mix that makes checkpoints, or goes on from one.
pub(super) struct Saving {
    identity: Identity,
    log: HostLog,
}

impl Saving {
    /// Notes what kernels printed.
    pub fn printed(&mut self, text: Vec<u8>) {
        self.log.printed(text);
    }
}

/// A kernel in flight, without what follows from its launch.
#[derive(Value)]
struct Flying {
    order: u64,
    instructions_before: u64,
    /// Record of its looks, if not all of its blocks are timed.
    untimed: Option<Record>,
}

/// Launches in flight that host programs have made again, with the numbers of their processes.
type MadeAgain = BTreeMap<KernelSlot, (usize, Started)>;

/// The record of a mix that records.
const RECORDS: &str = "a mix that saves records its programs";

impl Mix<'_, '_> {
    /// Begins to record the host programs, if the run makes checkpoints or goes on from one.
    /// Requires a machine that has run no cycle. `observed`: observers follow the run, or a
    /// timeline is recorded.
    ///
    /// # Errors
    /// If something of the run cannot be saved.
    pub fn begin_saving(&mut self, observed: bool) -> Result<(), RunError> {
        let options = self.session.options();
        if options.checkpoints.is_none() && options.resume.is_none() {
            return Ok(());
        }
        let reasons = [
            (options.functional, "a run without timing"),
            (observed, "an observer or timeline"),
        ];
        if let Some((_, what)) = reasons.into_iter().find(|(given, _)| *given) {
            return Err(CheckpointError::Unsaved(what).into());
        }
        let settings = settings::settings(self.session, &self.processes);
        let identity = Identity::new(settings, &mut self.gpu);
        self.saving = Some(Saving {
            identity: identity.map_err(CheckpointError::from)?,
            log: HostLog::default(),
        });
        for process in &mut self.processes {
            process.device.calls = Some(Calls::new());
        }
        Ok(())
    }

    /// Records something that happened between a process and the machine.
    pub(super) fn note(&mut self, process: usize, event: HostEvent) {
        if let Some(saving) = &mut self.saving {
            saving.log.events.push((process as u8, event));
        }
    }

    /// Makes a checkpoint, if the run makes any and no fault has happened.
    pub(super) fn checkpoint(&mut self, summary: &mut Summary) -> Result<(), RunError> {
        let checkpoints = &self.session.options().checkpoints;
        if let Some(checkpoints) = checkpoints
            && self.gpu.can_be_saved()
        {
            let bytes = self.saved(summary)?;
            checkpoints.keep(&bytes);
        }
        Ok(())
    }

    fn saved(&mut self, summary: &mut Summary) -> Result<Vec<u8>, CheckpointError> {
        let mut io = Io::save();
        let Saving { identity, log } = self.saving.as_mut().expect(RECORDS);
        let identity = identity.at(self.gpu.now());
        log.state(&mut io)?;
        for process in &mut self.processes {
            process.calls().state(&mut io)?;
        }
        self.input_digest().state(&mut io)?;
        self.state(summary, &mut io, MadeAgain::new())?;
        Checkpoint::write(identity, &io.into_bytes())
    }

    /// Goes on from the run's checkpoint, if it has one.
    pub(super) fn resume(&mut self, summary: &mut Summary) -> Result<(), RunError> {
        let session = self.session;
        let Some(checkpoint) = &session.options().resume else {
            return Ok(());
        };
        Ok(self.restore(checkpoint, summary)?)
    }

    fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        summary: &mut Summary,
    ) -> Result<(), CheckpointError> {
        let Saving { identity, log } = self.saving.as_mut().expect(RECORDS);
        let (mut io, changes) = match self.session.options().fork {
            false => (checkpoint.state_for(identity)?, None),
            true => {
                let (io, changes) = checkpoint.state_for_fork(identity)?;
                (io, Some(changes))
            }
        };
        log.state(&mut io)?;
        for process in &mut self.processes {
            let calls = process.calls();
            calls.state(&mut io)?;
            calls.begin_again();
        }
        let made_again = self.run_again()?;
        let mut input = String::new();
        input.state(&mut io)?;
        let mut all_called = true;
        for process in &mut self.processes {
            all_called &= process.calls().end_again();
        }
        if !all_called || input != self.input_digest() {
            return Err(CheckpointError::Program);
        }
        self.state(summary, &mut io, made_again)?;
        io.end()?;
        let (own, saved) = (checkpoint.cycle(), self.gpu.now());
        if own != saved {
            return Err(StateError::Shape { own, saved }.into());
        }
        if let Some(changes) = changes {
            self.gpu.begin_policies(changes.warp_scheduler);
            summary.forked(self.gpu.now(), changes.described);
        }
        Ok(())
    }

    /// Runs all host programs again, as the record says, without their launches. Returns those that
    /// are in flight.
    fn run_again(&mut self) -> Result<MadeAgain, CheckpointError> {
        let HostLog { events, printed } = self.saving.as_ref().expect(RECORDS).log.clone();
        let mut printed = printed.into_iter().peekable();
        let options = self.session.options();
        let printer = options.prints_again.then_some(&options.printer);
        let mut started: Vec<Option<Started>> = self.processes.iter().map(|_| None).collect();
        let mut flying = MadeAgain::new();
        for (number, (at, event)) in events.into_iter().enumerate() {
            let at = usize::from(at);
            let process = self.processes.get_mut(at).ok_or(CheckpointError::Program)?;
            process.device.lend(&mut self.memory);
            let next = process.repeat(event, self.session);
            process.device.lend(&mut self.memory);
            if let Some(other) = process.calls().other() {
                return Err(CheckpointError::OtherCall(other));
            }
            // What failed now did not fail before.
            let next = next.map_err(|error| match error {
                RunError::Checkpoint(error) => error,
                _ => CheckpointError::Program,
            })?;
            while let Some((_, text)) = printed.next_if(|(before, _)| *before <= number as u64 + 1)
            {
                if let Some(printer) = printer {
                    printer.print(&text);
                }
            }
            match event {
                HostEvent::Started(_) => started[at] = next,
                HostEvent::Launched { slot, .. } => {
                    let launch = started[at].take().ok_or(CheckpointError::Program)?;
                    flying.insert(slot, (at, launch));
                }
                HostEvent::Ended(slot) => drop(flying.remove(&slot)),
                HostEvent::Acted | HostEvent::Restarted | HostEvent::Halted => {}
            }
        }
        Ok(flying)
    }

    /// Saves or restores everything but the host programs, which have run again.
    fn state(
        &mut self,
        summary: &mut Summary,
        io: &mut Io<'_>,
        made_again: MadeAgain,
    ) -> Result<(), CheckpointError> {
        self.memory.state(io)?;
        for process in &mut self.processes {
            process.state(io)?;
        }
        summary.state(io)?;
        self.launched.state(io)?;
        self.turn.state(io)?;
        self.concurrent.state(io)?;
        self.executed.state(io)?;
        let mut flying = self.flying();
        flying.state(io)?;
        if io.restores() {
            self.launch_again(flying, made_again)?;
        }
        Ok(self.gpu.state(io)?)
    }

    /// The kernels in flight, in the order of their launches.
    fn flying(&self) -> Vec<(KernelSlot, Flying)> {
        let slots = self.gpu.slots_in_flight();
        let flying = slots.filter_map(|slot| {
            let kernel = self.in_flight[slot.index()].as_ref()?;
            let flying = Flying {
                order: kernel.order,
                instructions_before: kernel.instructions_before,
                untimed: kernel.untimed.as_ref().map(Untimed::record),
            };
            Some((slot, flying))
        });
        flying.collect()
    }

    fn launch_again(
        &mut self,
        flying: Vec<(KernelSlot, Flying)>,
        mut made_again: MadeAgain,
    ) -> Result<(), CheckpointError> {
        for (slot, kernel) in flying {
            let own = self.in_flight.get_mut(slot.index());
            let own = own.ok_or(StateError::Long(slot.0.into()))?;
            let (process, mut started) =
                made_again.remove(&slot).ok_or(CheckpointError::Program)?;
            let launch = started.launch.take().ok_or(CheckpointError::Program)?;
            let untimed = kernel.untimed;
            let blocks = &self.session.options().timed.blocks;
            let resident = self.session.resident_blocks(&launch) as u64;
            let untimed = untimed
                .map(|record| Untimed::with_record(launch.clone(), blocks, resident, record));
            self.gpu.launch_again(slot, launch.launch, &self.memory);
            *own = Some(InFlight {
                process,
                started,
                order: kernel.order,
                instructions_before: kernel.instructions_before,
                untimed,
            });
        }
        match made_again.is_empty() {
            true => Ok(()),
            false => Err(CheckpointError::Program),
        }
    }
}
