//! Stores and atomics of SMs become visible to all in an order that does not depend on how SMs were
//! run: stores by cycle, then SM; atomics by cycle, then partition.

use super::sms::SmArray;
use crate::machine::Gpu;
use crate::memory::AtomicEvent;
use warploom_base::{Cycle, each_member};
use warploom_exec::{DeviceMemory, apply_atomic};
use warploom_sm::SmEvents;

impl Gpu {
    /// Makes the stores of this step visible, if there are `stores`. Then atomics act, in their
    /// order. An atomic acts after all stores of earlier cycles: these are visible from the end of
    /// their step on, and an atomic acts at its partition later than its SM issued it.
    pub(super) fn commit(&mut self, stores: bool, device: &mut DeviceMemory) {
        if stores {
            self.commit_stores(device);
        }
        let events = std::mem::take(self.memory.atomics());
        for event in &events {
            debug_assert!(event.at < self.now);
            self.act(event, device);
        }
        *self.memory.atomics() = events;
        self.memory.atomics().clear();
    }

    /// Executes an atomic operation.
    pub(super) fn act(&mut self, event: &AtomicEvent, device: &mut DeviceMemory) {
        let sm = self.sms.touch(event.reply.sm.index());
        let (warp, lanes) = sm.atomic_lanes(&event.reply);
        let old = apply_atomic(device, sm.atomic_batch(warp), lanes);
        sm.atomic_old_values(warp, lanes, &old);
        self.atomics_done += u64::from(lanes.count_ones());
    }

    fn commit_stores(&mut self, device: &mut DeviceMemory) {
        self.storing.clear();
        each_member!(self.sms.ran(), index => {
            if self.sms.outcome(index).events.any(SmEvents::STORED) {
                self.storing.push((0, index));
            }
        });
        self.commit_logs(self.now - 1, device);
    }

    /// Makes the stores of cycles up to `last` of the SMs that are `storing` visible, by cycle,
    /// then SM.
    pub(super) fn commit_logs(&mut self, last: Cycle, device: &mut DeviceMemory) {
        let Self { storing, sms, .. } = self;
        let oldest = |sms: &SmArray, index| sms.look(index).log.oldest().unwrap_or(Cycle::MAX);
        for (at, index) in &mut *storing {
            *at = oldest(sms, *index);
        }
        while let Some(&(cycle, _)) = storing.iter().min().filter(|(at, _)| *at <= last) {
            for (at, index) in storing.iter_mut().filter(|(at, _)| *at == cycle) {
                sms.touch(*index).log.commit_until(cycle, device);
                *at = oldest(sms, *index);
            }
        }
    }
}
