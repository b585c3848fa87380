//! Progress of the machine: in windows where there can be one, else step by step. Computes the
//! length of a window before it begins.

use super::window::next_multiple;
use crate::dispatch::InFlight;
use crate::machine::{Gpu, Stop};
use warploom_base::{Cycle, SmId};
use warploom_exec::DeviceMemory;

/// Most cycles until a caller sees the machine again. No part may be ahead then, so the last window
/// before it lends no worker the backend, which costs time.
const OUT_OF_SIGHT: Cycle = 4096;

/// Fewest cycles of a window, unless it ends at a multiple of the window's length, from where the
/// next one goes on.
const FEWEST: Cycle = 4;

/// Cycles until the ends of kernels are estimated again, which examines all warps.
const PATIENCE: Cycle = 16;

impl Gpu {
    /// Advances to cycle `limit` at most, step by step or window by window, until the caller has
    /// something to do or some thousand cycles have passed. Everything is as after single
    /// [steps](Self::step).
    pub fn advance(&mut self, device: &mut DeviceMemory, limit: Cycle) -> Result<(), Stop> {
        let end = limit.min(self.now + OUT_OF_SIGHT);
        loop {
            match self.window_end(limit) {
                Some(to) => self.run_window((to, end), device)?,
                None => self.step(device, limit)?,
            }
            let calls = !self.ended.is_empty() || self.gap().is_some();
            if (calls || self.now >= end) && !self.is_backend_ahead() {
                return Ok(());
            }
        }
    }

    /// The latest end of a window that begins now, if there can be one. There always is one if the
    /// backend is ahead.
    fn window_end(&mut self, limit: Cycle) -> Option<Cycle> {
        let now = self.now;
        if self.is_backend_ahead() {
            return Some(self.window.backend_end);
        }
        if now < self.window.not_before {
            return None;
        }
        let end = self.planned_end(now, limit)?;
        if self.sms.next_wake() > now && self.memory.quiet_until(now) > now {
            return None;
        }
        if !self.dispatcher.may_begin_window() {
            return None;
        }
        let (lasting, fewest) = (self.lasting(end - now), FEWEST.min(end - now));
        if lasting < fewest {
            self.window.not_before = now + PATIENCE;
        }
        (lasting >= fewest).then_some(now + lasting)
    }

    /// True if the backend has run cycles that SMs have not.
    #[inline]
    pub(super) fn is_backend_ahead(&self) -> bool {
        self.window.backend > self.now
    }

    /// The end of a window that begins in cycle `from`, now or later, as far as it does not depend
    /// on what runs.
    fn planned_end(&self, from: Cycle, limit: Cycle) -> Option<Cycle> {
        let looks = self.next_look().min(self.dispatcher.next_policy_check());
        let lead = self.now + self.window.max_lead;
        let last = next_multiple(from, self.window.length);
        let end = last.min(lead).min(limit).min(looks);
        (end >= last.min(from + FEWEST) && self.stops_at.is_none()).then_some(end)
    }

    /// The cycle up to which a worker may run the backend while SMs run up to cycle `to`, if it
    /// may.
    pub(super) fn lent_end(&self, to: Cycle, limit: Cycle) -> Option<Cycle> {
        if !self.sms.can_lend_backend() {
            return None;
        }
        let most = self.planned_end(to, limit)?;
        let end = self.now + self.lasting(most - self.now);
        (end >= most.min(to + FEWEST)).then_some(end)
    }

    /// The next cycle in which something examines the machine as a whole.
    pub(super) fn next_look(&self) -> Cycle {
        let policies = self.dispatcher.next_check().min(self.next_load_check());
        let observers = self.observers.next_sample();
        policies.min(observers).min(self.watch.due())
    }

    /// The number of the next `cycles` cycles in which no kernel can end, and no last block of one
    /// for which others wait can be given out.
    fn lasting(&self, cycles: Cycle) -> Cycle {
        if !self.dispatcher.has_more_than(cycles, self.window.issues) {
            return 0;
        }
        let kernels = self.dispatcher.in_flight();
        kernels.fold(cycles, |most, kernel| self.lasting_of(kernel, most))
    }

    /// The number of the next `cycles` cycles in which a kernel cannot end, because SMs cannot
    /// issue the rest of it.
    fn lasting_of(&self, kernel: &InFlight, cycles: Cycle) -> Cycle {
        let of_sm = |left: u64| left.saturating_sub(1) / self.window.issues;
        let block = kernel.image.fewest_of_block();
        let waiting = kernel.waiting();
        let of_all = waiting
            .saturating_mul(block)
            .div_ceil(self.sms.len() as u64);
        let one = if waiting > 0 { block } else { 0 };
        let mut most = of_sm(one.max(of_all));
        for sm in 0..self.sms.len() {
            if most >= cycles {
                return cycles;
            }
            // SMs without blocks are not looked at: their state is spread over memory.
            if kernel.has_blocks_on(SmId::new(sm)) {
                let sm = self.sms.look(sm);
                most = most.max(of_sm(sm.fewest_to_end(kernel.image.slot)));
            }
        }
        most.min(cycles)
    }

    /// Core cycles so far that were run in windows, not in steps: the host's time for a cycle
    /// depends on it, and nothing else.
    pub fn cycles_in_windows(&self) -> Cycle {
        self.window.cycles
    }
}
