//! Decode and fetch in a cycle, and the end of warps, which fetch finds.

use crate::ldst::send_miss;
use crate::prepared_kernel::{INST_BYTES, prepared_kernel};
use crate::sm::Sm;
use crate::warps::{IBUFFER, Slots, WarpPipelineState};
use warploom_base::{Cycle, WarpSlot};
use warploom_mem::cache::AccessOutcome;
use warploom_mem::{AccessKind, Request};
use warploom_policy::WarpMask;

impl Sm {
    /// Warps whose buffer is empty and which could fetch.
    #[inline]
    pub(crate) fn wanting_fetch(&self) -> WarpMask {
        let w = &self.warps;
        w.live & !w.done & !w.buffered & !w.fetching & !w.flush
    }

    /// Runs decode, then fetch, `sm.fetch_per_cycle` times.
    pub(crate) fn front_end(&mut self, now: Cycle) {
        let mut left = self.front.per_cycle;
        while left != 0 {
            self.decode();
            self.fetch(now);
            left -= 1;
        }
        self.send_fetch(now);
    }

    /// Sends the instruction cache's next miss, if there is room in the network.
    #[inline]
    pub(crate) fn send_fetch(&mut self, now: Cycle) {
        send_miss(&mut self.front.l1i, &mut self.link, now);
    }

    /// Puts the fetched instructions into the buffer of their warp.
    fn decode(&mut self) {
        let Some((warp, pc)) = self.front.buffer.take() else {
            return;
        };
        let slot = warp.index();
        if self.warps.done.has(slot) {
            return;
        }
        let track = &mut self.warps.track[slot];
        let prepared = prepared_kernel(&self.kernels, track.kernel);
        let left = prepared.timed.len().saturating_sub(pc.index());
        track.buffer_pc = pc;
        track.buffer_len = left.min(usize::from(IBUFFER)) as u8;
        self.counters.decoded += u64::from(track.buffer_len);
        // After the program's end there is nothing to decode, but it is the wrong path, too.
        if self.warps.exec[slot].pc() != Some(pc) {
            self.warps.flush.insert(slot);
        }
        self.warps.refresh(slot, prepared);
    }

    /// Fetches for one warp. Follows `decode`, which has emptied the fetch buffer.
    fn fetch(&mut self, now: Cycle) {
        if let Some(reply) = self.front.l1i.next_ready() {
            let slot = reply.token as usize;
            self.warps.fetching.remove(slot);
            self.warps.touched.insert(slot);
            // The warp's buffer is empty, so it cannot have issued since.
            if self.warps.running() >> slot & 1 != 0 {
                self.front.buffer = Some((WarpSlot::new(slot), self.warps.track[slot].fetch_pc));
            }
            return;
        }
        let last = self.front.last.index();
        let Some(slot) = Slots::from(self.wanting_fetch()).next_after(last) else {
            if self.warps.to_reclaim() != 0 {
                self.reclaim_warps(now, !0);
            }
            return;
        };
        if self.warps.to_reclaim() != 0 {
            self.reclaim_warps(now, turn(last, slot));
        }
        self.front.last = WarpSlot::new(slot);
        self.fetch_for(now, slot);
    }

    /// Fetches the next instructions of the warp in `slot`.
    fn fetch_for(&mut self, now: Cycle, slot: usize) {
        let WarpPipelineState {
            fetch_pc: pc,
            kernel,
            ..
        } = self.warps.track[slot];
        if self.front.perfect {
            self.front.buffer = Some((WarpSlot::new(slot), pc));
            return;
        }
        let prepared = prepared_kernel(&self.kernels, kernel);
        let addr = prepared.code + u64::from(pc.0) * INST_BYTES;
        let offset = addr & (self.front.line_bytes - 1);
        let bytes = (2 * INST_BYTES).min(self.front.line_bytes - offset) as u32;
        let of = (AccessKind::InstRead, kernel);
        // In most cases the cache has the code, and no request is needed.
        if self.front.l1i.finds(now, addr, bytes, of) {
            self.front.buffer = Some((WarpSlot::new(slot), pc));
        } else {
            let request = Request {
                addr,
                byte_mask: u128::from((1_u64 << bytes) - 1) << (addr % 128),
                issued_at: now as u32,
                entry: Request::NO_ENTRY,
                returned_at: 0,
                token: slot as u32,
                bytes: bytes as u16,
                sm: self.id,
                kind: AccessKind::InstRead,
                sectors: 1 << (addr % 128 / 32),
                kernel,
                asid: prepared.asid,
            };
            self.request_code(now, slot, &request);
        }
    }

    /// Offers the instruction cache a fetch that misses.
    #[cold]
    fn request_code(&mut self, now: Cycle, slot: usize, request: &Request) {
        match self.front.l1i.access(now, request).outcome {
            AccessOutcome::Hit => unreachable!("the code was not there"),
            AccessOutcome::ReservationFail(_) => {}
            _ => self.warps.fetching.insert(slot),
        }
    }

    /// Frees the slots among `seen` of warps that exited and have nothing outstanding.
    #[inline(never)]
    fn reclaim_warps(&mut self, now: Cycle, seen: WarpMask) {
        for slot in warploom_policy::warps_of(self.warps.to_reclaim() & seen) {
            let slot = slot.index();
            self.warps.touched.remove(slot);
            if self.warps.is_drained(slot) {
                self.warps.release(slot);
                self.warp_gone(now, slot);
            }
        }
    }
}

/// Slots that a search after `last` has looked at when it finds `slot`. The search for a warp to
/// fetch for also frees the slots of warps that have ended.
fn turn(last: usize, slot: usize) -> WarpMask {
    let above: WarpMask = !0 << last << 1;
    let up_to: WarpMask = !0 >> (WarpMask::BITS as usize - 1 - slot);
    if slot > last {
        above & up_to
    } else {
        above | up_to
    }
}
