//! Cycles in which SMs run ahead of each other instead of meeting after each.
//!
//! What passes between SMs and the memory system takes a cycle, so that an SM may run a cycle as
//! soon as the memory system has run the one before. What else SMs have to do with each other is
//! seldom: blocks that end and start, stores that another SM loads, faults. Crews run ahead while
//! there is nothing of that kind, and meet in the cycle after it comes up, when some of them may
//! have run that cycle already; the step of that cycle is run by the others then. Results are those
//! of a meeting in every cycle.
//!
//! Invariants: no look at the machine as a whole (windows, policies, watchdog, the end of a
//! kernel or of a run) falls into a cycle that some have run and others have not; a crew that has
//! run a cycle gets no block in it.

use super::{Gpu, Stop};
use crate::conservation::Ledger;
use crate::dispatch::InFlight;
use crate::lead::FarEnd;
use crate::memory::{Later, MemorySystem};
use crate::monitor::Monitor;
use crate::probe::{Part, Probe};
use crate::recorder::Recorder;
use crate::sms::SmArray;
use warploom_base::Cycle;
use warploom_exec::{Ahead, DeviceMemory};
use warploom_mem::Reply;
use warploom_sm::{Arrival, Outgoing};

/// Fewest cycles for which it is worth it.
const FEWEST: Cycle = 8;

/// Most cycles until SMs meet, so that logs of stores stay short.
const MOST: Cycle = 512;

/// Most cycles until a caller sees the machine again where SMs do not run ahead. Then nothing of it
/// is ahead, so that a thread that runs the back of the memory system has nothing to do for a
/// spell.
const OUT_OF_SIGHT: Cycle = 4096;

/// What is known of the kernels in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Sharing {
    /// Nothing yet: accesses are not watched.
    #[default]
    Unknown,
    /// No SM has loaded from an allocation that any has stored to. Accesses are watched.
    None,
    /// SMs have to meet in every cycle.
    Some,
}

/// The memory system, as SMs see it.
pub(super) struct Far<'a> {
    pub memory: &'a mut MemorySystem,
    pub ledger: &'a mut Ledger,
    probe: &'a Probe,
}

impl Far<'_> {
    /// Calls `f` on the replies that came: see [`MemorySystem::take_replies`].
    pub fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Reply)) {
        let Self { memory, ledger, .. } = self;
        memory.take_replies(|sm, at, reply| {
            ledger.answered(sm, reply);
            f(sm, at, reply);
        });
    }
}

impl FarEnd for Far<'_> {
    fn note_waiting(&mut self, sm: usize, replies: u32) {
        self.memory.note_waiting(sm, replies);
    }

    fn take(&mut self, sm: usize, sent: &Outgoing) {
        self.ledger.sent(sm, &sent.request);
        self.memory.take(sm, sent);
    }

    fn cycle(&mut self, now: Cycle, mut give: impl FnMut(usize, Arrival)) {
        self.probe.enter(Part::Memory);
        self.memory.end_exchange();
        self.memory.run(now, now + 1, &mut Later);
        self.probe.enter(Part::Exchange);
        self.memory
            .take_credits(|sm, flits| give(sm, Arrival::Credits(flits)));
        self.take_replies(|sm, at, reply| give(sm, Arrival::Reply(at, *reply)));
        self.probe.enter(Part::Sms);
    }
}

impl Gpu {
    /// Advances to cycle `limit` at most: as far as SMs can run ahead of each other, or by some
    /// steps. Nothing happens on the way that [`step`](Self::step) would not have done, but a
    /// caller who looks at the machine after each step sees less of it.
    pub fn advance(&mut self, device: &mut DeviceMemory, limit: Cycle) -> Result<(), Stop> {
        match self.sprint_end(limit) {
            Some(end) if self.spell_end(limit).is_none() => {
                self.sms.even_out();
                self.sprint(end, device)
            }
            _ => self.walk(limit, device),
        }
    }

    /// Step by step, or spell by spell, until a caller has something to do or SMs might run ahead
    /// of each other.
    fn walk(&mut self, limit: Cycle, device: &mut DeviceMemory) -> Result<(), Stop> {
        let end = limit.min(self.now + OUT_OF_SIGHT);
        loop {
            let spell = self.spell_end(limit);
            match spell {
                Some(to) => {
                    self.sms.even_out();
                    self.spell((to, end), device)?;
                }
                None => self.step(device, limit)?,
            }
            let calls = !self.ended.is_empty()
                || self.gap().is_some()
                || spell.is_none() && self.sms.can_sprint();
            if (calls || self.now >= end) && !self.is_back_ahead() {
                return Ok(());
            }
        }
    }

    /// The cycle in which SMs that run ahead from now on have to meet again, if they can.
    fn sprint_end(&self, limit: Cycle) -> Option<Cycle> {
        if !self.sms.can_sprint() || self.sharing == Sharing::Some {
            return None;
        }
        if self.spec.gpu.link_cycles > 1 || self.spec.gpu.perfect_memory {
            return None;
        }
        if self.stops_at.is_some() {
            return None;
        }
        let mut kernels = self.dispatcher.in_flight();
        // A warp may leave its slot in the cycle in which it has loaded something.
        let may_run_ahead = |k: &InFlight| k.ahead == Ahead::Noted && k.image.contexts.is_none();
        if !kernels.all(may_run_ahead) || !self.dispatcher.rests(&self.sms) {
            return None;
        }
        if self.is_idle() || self.memory.is_idle() && self.sms.next_wake() > self.now {
            return None;
        }
        let end = self.next_look().min(limit).min(self.now + MOST);
        (end >= self.now + FEWEST).then_some(end)
    }

    /// The next cycle in which somebody looks at the machine as a whole.
    pub(super) fn next_look(&self) -> Cycle {
        let monitor = self.monitor.as_ref().map(Monitor::due);
        let recorder = self.recorder.as_ref().map(Recorder::due);
        let looks = [self.dispatcher.next_check(), self.watch.due()];
        let looks = looks.into_iter().chain(monitor).chain(recorder);
        looks.fold(Cycle::MAX, Cycle::min)
    }

    fn sprint(&mut self, end: Cycle, device: &mut DeviceMemory) -> Result<(), Stop> {
        self.watch_accesses(device);
        self.probe.enter(Part::Sms);
        let from = self.now;
        let (sms, mut far) = self.far_end();
        let met = sms.sprint((from, end), device, &mut far);
        far.memory.end_exchange();
        debug_assert!(far.memory.atomics().is_empty(), "atomics have to meet");
        self.now = met;
        self.probe.enter(Part::Commit);
        let flags = self.sms.flags();
        if flags.finished() || flags.gained_room() {
            self.note_blocks();
        }
        self.storing.clear();
        self.storing.extend((0..self.sms.len()).map(|sm| (0, sm)));
        match flags.shares() {
            true => self.commit_shared(device),
            false => self.commit_logs(met - 1, device),
        }
        let result = self.end_step(flags.fault());
        self.probe.enter(Part::Outside);
        result
    }

    /// The SMs, and the far end of their links.
    pub(super) fn far_end(&mut self) -> (&mut SmArray, Far<'_>) {
        let Self {
            sms,
            memory,
            ledger,
            probe,
            ..
        } = self;
        let far = Far {
            memory,
            ledger,
            probe,
        };
        (sms, far)
    }

    /// From now on it is known who loads what others store.
    fn watch_accesses(&mut self, device: &mut DeviceMemory) {
        if self.sharing == Sharing::Unknown {
            self.sharing = Sharing::None;
            device.forget_notes();
            self.sms.for_each(|_, sm| sm.watch(true));
        }
        device.take_notes();
    }

    /// SMs load what others store: they have to meet in every cycle from now on.
    pub(super) fn stop_watching(&mut self) {
        self.sharing = Sharing::Some;
        self.sms.for_each(|_, sm| sm.watch(false));
    }

    /// Makes the stores that SMs have made visible, and repeats what crews loaded in their last
    /// cycle once the stores before that cycle are: one of them may have been made a cycle before,
    /// by an SM of another crew, or long before.
    fn commit_shared(&mut self, device: &mut DeviceMemory) {
        let last = self.now - 1;
        if let Some(before) = last.checked_sub(1) {
            self.commit_logs(before, device);
        }
        self.sms.repeat_loads(last, device, false);
        self.commit_logs(last, device);
        self.sms.repeat_loads(self.now, device, true);
        self.stop_watching();
    }
}
