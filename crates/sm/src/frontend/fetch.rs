//! Decode and fetch in a cycle, and the end of warps, which fetch finds.

use super::Frontend;
use super::request::{NOBODY, code_request};
use crate::ldst::send_miss;
use crate::prepared_kernel::prepared_kernel;
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
            left -= 1;
            if !self.fetch(now) {
                // Further steps would find nothing to do either.
                break;
            }
        }
        if self.front.stream_moves() {
            self.prefetch_code(now);
        }
        self.send_fetch(now);
    }

    /// Sends the instruction cache's next miss, if there is room in the network.
    #[inline]
    pub(crate) fn send_fetch(&mut self, now: Cycle) {
        let sent = match self.front.code_latency {
            0 => send_miss(&mut self.front.l1i, &mut self.link, now),
            _ => self.front.send_to_code_cache(now),
        };
        if sent && self.front.stream.is_pending() {
            // There is room for the stream buffer's next request.
            self.at_rest = false;
        }
    }

    /// Requests the stream buffer's next line, unless it is present or on its way.
    #[cold]
    fn prefetch_code(&mut self, now: Cycle) {
        let Frontend { stream, l1i, .. } = &mut self.front;
        let request = stream.request(now, self.id);
        if !l1i.is_missing(request.addr) {
            stream.pass();
        } else if l1i.prefetch(now, &request, request.addr) {
            stream.pass();
            self.detail.prefetched_code_lines += 1;
        }
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

    /// Fetches for one warp. Follows `decode`, which has emptied the fetch buffer. Returns false if
    /// no warp wanted to fetch and no line had come for one.
    fn fetch(&mut self, now: Cycle) -> bool {
        while let Some(reply) = self.front.l1i.next_ready() {
            if reply.token == NOBODY {
                continue;
            }
            let slot = reply.token as usize;
            self.warps.fetching.remove(slot);
            self.warps.touched.insert(slot);
            // The warp's buffer is empty, so it cannot have issued since.
            if self.warps.running() >> slot & 1 != 0 {
                self.front.buffer = Some((WarpSlot::new(slot), self.warps.track[slot].fetch_pc));
            }
            return true;
        }
        let last = self.front.last.index();
        let Some(slot) = Slots::from(self.wanting_fetch()).next_after(last) else {
            if self.warps.to_reclaim() != 0 {
                self.reclaim_warps(now, !0);
            }
            return false;
        };
        if self.warps.to_reclaim() != 0 {
            self.reclaim_warps(now, turn(last, slot));
        }
        self.front.last = WarpSlot::new(slot);
        self.fetch_for(now, slot);
        true
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
        let inst_bytes = self.front.inst_bytes;
        let addr = prepared.code + u64::from(pc.0) * inst_bytes;
        let offset = addr & (self.front.line_bytes - 1);
        let bytes = (2 * inst_bytes).min(self.front.line_bytes - offset) as u32;
        let of = (AccessKind::InstRead, kernel);
        // In most cases the cache has the code, and no request is needed.
        if self.front.l1i.finds(now, addr, bytes, of) {
            self.front.buffer = Some((WarpSlot::new(slot), pc));
            if self.front.stream.moves_at(addr) {
                self.front.stream.move_to(addr);
            }
        } else {
            let of = (slot as u32, self.id, kernel, prepared.asid);
            let code_end = prepared.code + prepared.timed.len() as u64 * inst_bytes;
            let request = code_request(now, addr, bytes, of);
            self.request_code(now, &request, code_end);
        }
    }

    /// Offers the instruction cache a fetch that misses, of a warp whose kernel's code ends before
    /// `code_end`.
    #[cold]
    fn request_code(&mut self, now: Cycle, request: &Request, code_end: u64) {
        let Frontend { stream, l1i, .. } = &mut self.front;
        let is_missing = l1i.is_missing(request.addr);
        match l1i.access(now, request).outcome {
            AccessOutcome::Hit => unreachable!("the code was not there"),
            AccessOutcome::ReservationFail(_) => return,
            _ if is_missing => stream.restart(request, code_end),
            _ if stream.moves_at(request.addr) => stream.move_to(request.addr),
            _ => {}
        }
        self.warps.fetching.insert(request.token as usize);
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
