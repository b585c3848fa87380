//! A run of several cycles before other SMs have run them.

use super::{Outcome, Reason, SettledUpTo};
use crate::prepared_kernel::{PreparedKernel, prepared_kernel};
use crate::sm::{Done, Sm};
use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot, WarpSlot};
use warploom_exec::{DeviceMemory, Lookahead};
use warploom_mem::Request;
use warploom_mem::cache::Cache;

impl Sm {
    /// The fewest instructions of a kernel that will still issue here before its last block ends.
    pub fn fewest_to_end(&self, kernel: KernelSlot) -> u64 {
        let image = prepared_kernel(&self.kernels, kernel);
        let running = warploom_policy::warps_of(self.warps.running()).map(WarpSlot::index);
        let own = running.filter(|slot| self.warps.track[*slot].kernel == kernel);
        let left = own.map(|slot| {
            let pc = self.warps.exec[slot].pc();
            pc.map_or(0, |pc| u64::from(image.fewest_to_end[pc.index()]))
        });
        left.sum()
    }

    /// Runs cycles from `from` up to, not including, `to`, as far as nothing is needed that other
    /// SMs or the network have not computed yet: see [`Reason`]. Credits of before cycle `known`
    /// have come; `settled` says up to where memory is settled.
    pub fn run_window(
        &mut self,
        (from, to): (Cycle, Cycle),
        known: Cycle,
        settled: &SettledUpTo,
        memory: &DeviceMemory,
    ) -> Outcome {
        self.replay.resume(to, settled);
        self.sleep_to(from);
        self.count_received();
        let mut run = Outcome {
            at: from,
            ..Outcome::default()
        };
        while run.at < to && self.fault.is_none() && run.reason == Reason::Reached {
            self.run_on(&mut run, to, known, memory);
        }
        self.count_rested();
        self.end_idle_cycles();
        // After a fault the SM does nothing, once the scheduler has been told of blocks that ended.
        if self.fault.is_some() && run.reason != Reason::BlockSlot {
            run.at = to;
        }
        self.wake_at = self.wake_at.min(self.link.next_credits()).max(run.at);
        self.link.take_credits(run.at);
        self.outcome(run.at, run.reason)
    }

    /// Runs the next cycle of a window, or sleeps, or finds out that it cannot.
    #[inline(always)]
    fn run_on(&mut self, run: &mut Outcome, to: Cycle, known: Cycle, memory: &DeviceMemory) {
        let now = run.at;
        if self.replay.is_stalled() {
            self.work(now, memory, Done::Operands);
        } else {
            self.link.take_credits(now);
            if now > known && self.may_lack_credits(now) {
                self.wake_at = now;
                run.reason = Reason::Credits;
                return;
            }
            self.wake_at = if self.wide_awake {
                now
            } else {
                self.sleeps_until(now)
            };
            if self.wake_at > now {
                run.at = self.sleep_in_window(now, to, known);
                return self.sleep_to(run.at);
            }
            self.run_checked_cycle(now, memory);
        }
        if self.replay.is_stalled() {
            run.reason = Reason::Unsettled(self.replay.unsettled_until());
            return;
        }
        run.at = now + 1;
        self.counted_to = run.at;
        if self.gained_room | !self.finished.is_empty() {
            run.reason = Reason::BlockSlot;
        }
    }

    /// The cycle up to which an SM sleeps that has nothing to do in cycle `now`. Credits of before
    /// cycle `known` have come.
    #[inline]
    fn sleep_in_window(&mut self, now: Cycle, to: Cycle, known: Cycle) -> Cycle {
        let end = self.wake_at.min(to).min(self.link.next_credits());
        match end > known + 1 && self.may_lack_credits(now) {
            true => (known.max(now) + 1).min(end),
            false => end,
        }
    }

    /// Runs a cycle. In debug builds panics if it sends more than [`most_to_send`] said.
    ///
    /// [`most_to_send`]: Self::most_to_send
    #[inline(always)]
    fn run_checked_cycle(&mut self, now: Cycle, memory: &DeviceMemory) {
        let most = cfg!(debug_assertions).then(|| (self.most_to_send(now), self.link.credits()));
        self.run_cycle(now, memory);
        if let Some((most, before)) = most {
            let sent = before - self.link.credits();
            assert!(sent <= most, "{} sent {sent} flits of {most}", self.id);
        }
    }

    /// True if something in cycle `now` may have to wait for credits. Without any credits that
    /// needs no closer look.
    #[inline]
    fn may_lack_credits(&self, now: Cycle) -> bool {
        let credits = self.link.credits();
        if !self.link.is_short() || self.sends_one_packet_less() {
            debug_assert!(self.most_to_send(now) <= credits);
            return false;
        }
        credits == 0 || self.most_to_send(now) > credits
    }

    /// True if nothing goes past the data cache next, and there are credits for all else that a
    /// cycle sends at most.
    #[inline]
    fn sends_one_packet_less(&self) -> bool {
        let Self { ldst, link, .. } = self;
        link.credits() + link.most_a_packet() >= link.most_a_cycle()
            && self.mem_unit_ports == 1
            && !ldst.bypasses_l1_next()
    }

    /// The most flits that cycle `now` sends: the first packet of each queue, and what may be
    /// requested and sent within a cycle.
    #[inline(never)]
    fn most_to_send(&self, now: Cycle) -> u32 {
        if self.mem_unit_ports > 1 {
            return self.link.most_a_cycle();
        }
        let data = self.most_data_to_send(now);
        let all = data + self.link.flits(Request::HEADER_BYTES);
        // A look at the instruction cache is worth it only where it decides.
        if all == self.link.credits() + 1 && self.has_all_code() {
            return data;
        }
        all
    }

    /// Most flits that the SM may send, without reads of instructions.
    fn most_data_to_send(&self, now: Cycle) -> u32 {
        let Self { ldst, link, .. } = self;
        let flits = |request: &Request| link.flits(request.request_bytes());
        let first = |cache: &Cache| cache.miss_queue_front().map(flits);
        let takes_reply = || link.has_arrived(now) || !ldst.has_no_responses();
        let data = ldst.l1d.as_ref().map_or(0, |l1d| match first(l1d) {
            Some(flits) => flits,
            // A reply may evict a dirty line.
            None => u32::from(l1d.holds_dirty() && takes_reply()) * link.most_a_packet(),
        });
        let around = u32::from(ldst.bypasses_l1_next()) * link.most_a_packet();
        let texture = ldst.l1t.miss_queue_front().map_or(0, flits);
        data + around + texture + first(&ldst.l1c).unwrap_or(0)
    }

    /// True if no fetch can miss: the instruction cache has all code, and the instructions after it
    /// that fetch reads before it learns of a branch.
    fn has_all_code(&self) -> bool {
        let has = |image: &Arc<PreparedKernel>| self.front.has_all(image.code, image.timed.len());
        let kernels = &self.kernels[..self.by_kernel.len()];
        kernels.iter().flatten().all(has)
    }

    /// Notes whether any loaded kernel has instructions that need settled memory.
    pub(crate) fn find_settled_kernels(&mut self) {
        let mut kernels = self.kernels.iter().flatten();
        self.needs_settled = kernels.any(|image| image.lookahead == Lookahead::Settled);
    }

    /// True if a warp may issue an instruction in this cycle that needs settled memory.
    #[inline(never)]
    pub(crate) fn is_next_settled(&self) -> bool {
        let warps = &self.warps;
        let may_issue = warps.buffered & warps.clear & !warps.waiting() & !warps.flush;
        warploom_policy::warps_of(may_issue).any(|slot| {
            let track = &warps.track[slot.index()];
            prepared_kernel(&self.kernels, track.kernel).needs_settled(track.buffer_pc)
        })
    }
}
