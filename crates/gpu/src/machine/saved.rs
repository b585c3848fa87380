//! Saved state of the machine.
//!
//! State is saved between calls of [`Gpu::advance`]: all parts have come to the same cycle then,
//! stores are visible, atomics have acted, and no worker has the memory backend. It is restored
//! into a new machine of the same specification, after the kernels that were in flight have been
//! launched again, so that everything that follows from a specification or from a launch is there
//! already.

use super::Gpu;
use crate::dispatch::KernelLaunch;
use warploom_base::KernelSlot;
use warploom_exec::DeviceMemory;
use warploom_policy::NO_LIMIT;
use warploom_state::{Io, State, StateError, each};

impl Gpu {
    /// True if the state can be saved: no fault has happened.
    pub fn can_be_saved(&self) -> bool {
        self.stops_at.is_none()
    }

    /// Slots of the kernels in flight, in the order of their launches.
    pub fn slots_in_flight(&self) -> impl Iterator<Item = KernelSlot> {
        self.dispatcher.in_flight().map(|kernel| kernel.image.slot)
    }

    /// Launches a kernel again that is in flight in the state to be restored. Requires a machine
    /// that has run no cycle and has no kernel in the slot.
    pub fn launch_again(&mut self, slot: KernelSlot, launch: KernelLaunch, device: &DeviceMemory) {
        self.launch_into(slot, launch, device);
    }
}

/// Policies that differ from those of the restored state.
impl Gpu {
    /// Lets the block limit, and the warp schedulers if `warp_schedulers` is set, begin anew with
    /// the blocks and warps that run. Requires a state that has just been restored.
    pub fn begin_policies(&mut self, warp_schedulers: bool) {
        self.sms.for_each(|_, sm| {
            sm.run_blocks(NO_LIMIT);
            if warp_schedulers {
                sm.begin_policies();
            }
        });
        for index in 0..self.sms.len() {
            self.sms.wake(index, self.now);
        }
        self.dispatcher.begin_policies();
    }
}

/// State between calls of [`Gpu::advance`], except after a fault. The window, the list of SMs with
/// stores and the kernels that have ended are empty then.
impl State for Gpu {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self {
            spec: _,
            now,
            sms,
            memory,
            ledger,
            dispatcher,
            peers,
            slices: _,
            ended: _,
            atomics_done,
            watch,
            probe: _,
            observers,
            monitors,
            storing: _,
            window: _,
            stops_at: _,
            counts_parts: _,
            counted_at_end,
        } = self;
        now.state(io)?;
        sms.state(io)?;
        memory.state(io)?;
        ledger.state(io)?;
        dispatcher.state(io)?;
        peers.state(io)?;
        atomics_done.state(io)?;
        watch.state(io)?;
        observers.state(io)?;
        each(monitors.iter_mut(), io)?;
        counted_at_end.state(io)?;
        if io.restores() {
            memory.end_quiet();
            if let Some(untaken) = sms.untaken() {
                memory.end_exchange(untaken);
            }
        }
        Ok(())
    }
}
