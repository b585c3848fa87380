//! Memory in windows, up to the cycle that all SMs have run: stores of SMs become visible, atomics
//! act, and conflicting loads are repeated.

use crate::machine::Gpu;
use crate::memory::AtomicEvent;
use crate::probe::Part;
use warploom_base::Cycle;
use warploom_exec::DeviceMemory;
use warploom_sm::SmEvents;

impl Gpu {
    /// Settles memory in the window that began in cycle `from` up to the cycle that all SMs have
    /// come to. A load conflicts if it read a line to which any SM has stored, or an atomic acts,
    /// in the window; it is repeated when the stores and atomics of the cycles before it are
    /// visible.
    pub(super) fn settle_window(&mut self, from: Cycle, device: &mut DeviceMemory) {
        self.probe.enter(Part::Commit);
        let (settled, to) = (self.window.settled, self.window.next);
        self.window.settled = to;
        let stored = self.find_stores();
        let acts = self.find_atomics(to);
        let Self { sms, window, .. } = self;
        if window.has_stored && sms.mark_conflicts(from, (settled, to), &window.stored) {
            for cycle in settled + 1..=to {
                self.commit_cycles(cycle - 1, device);
                self.sms.for_each(|_, sm| sm.replay_loads(cycle, device));
            }
        }
        if stored || acts {
            self.commit_cycles(to - 1, device);
        }
    }

    /// Makes stores of cycles up to `last` visible and lets atomics act, each after the stores of
    /// its cycle.
    fn commit_cycles(&mut self, last: Cycle, device: &mut DeviceMemory) {
        let mut visible = None;
        while let Some(event) = self.window.atomics.pop_front_if(|event| event.at <= last) {
            if visible != Some(event.at) {
                self.commit_logs(event.at, device);
                visible = Some(event.at);
            }
            self.act(&event, device);
        }
        if visible != Some(last) {
            self.commit_logs(last, device);
        }
    }

    /// Finds the SMs whose stores are not visible, and the lines of these. Returns whether there
    /// are any.
    fn find_stores(&mut self) -> bool {
        let Self {
            storing,
            sms,
            window,
            ..
        } = self;
        storing.clear();
        let stored = |sm: &usize| sms.outcome(*sm).events.any(SmEvents::STORED);
        storing.extend((0..sms.len()).filter(stored).map(|sm| (0, sm)));
        if storing.is_empty() {
            return false;
        }
        let lines = window.stored_lines();
        for (_, index) in storing {
            sms.look(*index).log.mark_lines(lines);
        }
        true
    }

    /// Finds the lines in which atomics act before cycle `to`. Returns whether there are any.
    fn find_atomics(&mut self, to: Cycle) -> bool {
        let events = std::mem::take(&mut self.window.atomics);
        let act = events.partition_point(|event| event.at < to);
        for AtomicEvent { reply, .. } in events.range(..act) {
            let sm = self.sms.look(reply.sm.index());
            let (warp, lanes) = sm.atomic_lanes(reply);
            let lines = self.window.stored_lines();
            sm.atomic_batch(warp).mark_lines(lanes, lines);
        }
        self.window.atomics = events;
        act > 0
    }
}
