//! An SM that runs some cycles at a stretch, before what others do in these is known.

use super::{Done, Sm};
use crate::image::{INST_BYTES, KernelImage};
use crate::kept::Others;
use crate::ldst::image_of;
use crate::passage::FarEnd;
use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot, Pc, WarpSlot};
use warploom_config::GpuSpec;
use warploom_exec::{Ahead, DeviceMemory};
use warploom_mem::Request;
use warploom_mem::cache::Cache;

/// Bytes of the most packets that an SM sends in a cycle: a read of instructions, and from each
/// port of the load/store unit a read of constants, an access past the data cache and one of that.
/// The longest comes last.
pub(super) fn most_sent(spec: &GpuSpec) -> Vec<u32> {
    let read = Request::HEADER_BYTES;
    let data = read + spec.l1d.line_bytes.max(128);
    let ports = spec.sm.mem_unit_ports.max(1) as usize;
    let mut most = vec![read];
    most.extend([read, data, data].repeat(ports));
    most
}

impl Sm {
    /// Fewest instructions of a kernel that will issue here before its last block has ended.
    pub fn fewest_to_end(&self, kernel: KernelSlot) -> u64 {
        let image = image_of(&self.kernels, kernel);
        let running = warploom_policy::warps_of(self.warps.running()).map(WarpSlot::index);
        let own = running.filter(|slot| self.warps.track[*slot].kernel == kernel);
        let left = own.map(|slot| {
            let pc = self.warps.exec[slot].pc();
            pc.map_or(0, |pc| u64::from(image.fewest_to_end[pc.index()]))
        });
        left.sum()
    }

    /// Notes whether any loaded kernel has instructions that need settled memory.
    pub(super) fn find_settled_kernels(&mut self) {
        let kernels = self.kernels.iter().flatten();
        let mut rules = kernels.map(|image| image.launch.ahead());
        self.needs_settled = rules.any(|rule| rule == Ahead::Settled);
    }

    /// True if a warp may issue an instruction in this cycle that needs settled memory.
    #[inline(never)]
    pub(super) fn is_next_settled(&self) -> bool {
        let warps = &self.warps;
        let may_issue = warps.buffered & warps.clear & !warps.waiting();
        let mut slots = warploom_policy::warps_of(may_issue).map(WarpSlot::index);
        slots.any(|slot| {
            let launch = &image_of(&self.kernels, warps.track[slot].kernel).launch;
            let Some(Pc(first)) = warps.exec[slot].pc() else {
                return false;
            };
            (0..self.max_issue_per_warp).any(|nth| launch.needs_settled(Pc(first + nth)))
        })
    }

    /// In cycle `now` something may have to wait for credits. Where there are none that needs no
    /// closer look.
    #[inline]
    fn may_lack_credits(&self, now: Cycle) -> bool {
        let credits = self.link.credits();
        self.link.is_short() && (credits == 0 || self.most_to_send(now) > credits)
    }

    /// Most flits that cycle `now` sends: what comes first in its queue, and what may be asked for
    /// and sent in one cycle.
    #[inline(never)]
    fn most_to_send(&self, now: Cycle) -> u32 {
        if self.mem_unit_ports > 1 {
            return self.link.most_a_cycle();
        }
        let data = self.most_data_to_send(now);
        let all = data + self.link.flits(Request::HEADER_BYTES);
        // Where all depends on it, it is worth to see whether any code can be missing.
        if all == self.link.credits() + 1 && self.has_all_code() {
            return data;
        }
        all
    }

    /// The same but for code.
    fn most_data_to_send(&self, now: Cycle) -> u32 {
        let Self { ldst, link, .. } = self;
        let flits = |request: &Request| link.flits(request.request_bytes());
        let first = |cache: &Cache| cache.miss_queue_front().map(flits);
        let takes_reply = || link.has_arrived(now) || !ldst.has_no_responses();
        let data = ldst.l1d.as_ref().map_or(0, |l1d| match first(l1d) {
            Some(flits) => flits,
            // A reply may drive a line out.
            None => u32::from(l1d.holds_dirty() && takes_reply()) * link.most_a_packet(),
        });
        let around = u32::from(ldst.goes_around_next()) * link.most_a_packet();
        data + around + first(&ldst.l1c).unwrap_or(0)
    }

    /// No fetch can miss: the instruction cache has all code, and behind that, where fetch goes
    /// before it learns of a branch.
    fn has_all_code(&self) -> bool {
        let has = |image: &Arc<KernelImage>| {
            let end = image.code + image.timed.len() as u64 * INST_BYTES;
            let mut sectors = (image.code & !31..end + 2 * INST_BYTES).step_by(32);
            sectors.all(|addr| self.front.l1i.has(addr))
        };
        let kernels = &self.kernels[..self.by_kernel.len()];
        kernels.iter().flatten().all(has)
    }

    /// Runs cycles from `from` up to, not including, `to`, or as far as it can without news from
    /// others. Returns how far: not past the end of a block; no further than credits are there
    /// for whatever it sends, but where all are there that there will be: in the cycles that the
    /// `far` end has run, and those for which what that does is known; and into the cycle in which
    /// it may read what it has loaded, up to issue, as long as `others` have not run so far.
    pub fn run_on(
        &mut self,
        (from, to): (Cycle, Cycle),
        far: &FarEnd,
        others: &Others,
        memory: &DeviceMemory,
    ) -> Cycle {
        let known = far.at;
        let foresees = far.entrance.is_some();
        self.link.begin_ahead(far);
        self.kept.go_on(to, others);
        self.sleep_to(from);
        self.count_received();
        let mut now = from;
        while now < to && self.fault.is_none() {
            if self.kept.stands() {
                self.work(now, memory, Done::Operands);
            } else {
                self.link.take_credits(now);
                if now > known {
                    let knows = foresees && self.link.foresees(now);
                    if !knows && self.may_lack_credits(now) {
                        self.wake_at = now;
                        break;
                    }
                }
                self.wake_at = if self.wide_awake {
                    now
                } else {
                    self.sleeps_until(now)
                };
                if self.wake_at > now {
                    let end = self.wake_at.min(to).min(self.link.next_credits());
                    now = match end > known + 1 && self.may_lack_credits(now) {
                        true => self.link.sleep_for_credits(known.max(now), end),
                        false => end,
                    };
                    self.sleep_to(now);
                    continue;
                }
                let most =
                    cfg!(debug_assertions).then(|| (self.most_to_send(now), self.link.credits()));
                self.run_cycle(now, memory);
                if let Some((most, before)) = most {
                    let sent = before - self.link.credits();
                    assert!(sent <= most, "{} sent {sent} flits of {most}", self.id);
                }
            }
            if self.kept.stands() {
                break;
            }
            now += 1;
            self.settled = now;
            if self.gained_room | !self.finished.is_empty() {
                break;
            }
        }
        self.count_rested();
        // It stands still, once others know of what it ended.
        if self.fault.is_some() && !self.gained_room && self.finished.is_empty() {
            now = to;
        }
        self.wake_at = self.wake_at.min(self.link.next_credits()).max(now);
        self.link.take_credits(now);
        now
    }
}
