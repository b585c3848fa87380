//! The unit that makes bulk copies (docs/model/load-store.md, Bulk copies): it takes one
//! instruction after the other, sends a request for each line of 128 bytes past the data cache, and
//! tells barrier objects of the end.

use super::blocked::Try;
use super::bulk_unit::Job;
use super::{Ldst, Path};
use crate::flight::MemId;
use crate::peer_post::PeerRequest;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::{BlockId, Cycle, WarpSlot};
use warploom_exec::{BULK_LINE_BYTES, Completion};
use warploom_mem::coalesce::Transaction;
use warploom_mem::{AccessKind, Request};

/// Most instructions that wait for the unit.
const WAITING: usize = 32;

impl Ldst {
    /// Request for the next line of an instruction; `None` if all were sent.
    fn bulk_request(&self, now: Cycle, job: &Job) -> Option<Request> {
        let line = *job.copies.lines.get(job.sent)?;
        let whole = Transaction {
            addr: line,
            bytes: BULK_LINE_BYTES as u16,
            byte_mask: u128::MAX,
            sectors: 0xf,
            lanes: 0,
        };
        let mut request = self.request(now, job.id, 0, &whole, job.asid);
        if job.copies.stores {
            request.token = u32::from(self.insts[job.id.0].warp.0);
        }
        Some(request)
    }
}

impl Sm {
    /// Creates the record of an instruction that starts bulk copies.
    #[cold]
    pub(crate) fn bulk_record(&mut self, slot: WarpSlot) -> MemId {
        let id = self.empty_record(slot);
        let w = slot.index();
        let copies = std::mem::take(&mut self.out.bulk);
        let inst = &mut self.ldst.insts[id.0];
        inst.path = Path::Bulk;
        // One reply stands for the requests that were not sent yet.
        inst.pending = 1;
        if copies.stores {
            inst.kind = AccessKind::GlobalWrite;
            inst.copy = Some(self.warps.copies[w].bulk.start());
        }
        self.counters.store_instructions += u64::from(copies.stores);
        self.counters.memory_instructions += 1;
        self.counters.memory_transactions += copies.lines.len() as u64;
        if self.ldst.bulk.hold > 0 {
            self.hold_warp(w);
        }
        let track = &self.warps.track[w];
        self.ldst.bulk.issued.push(Job {
            id,
            block: track.block,
            asid: prepared_kernel(&self.kernels, track.kernel).asid,
            copies,
            sent: 0,
        });
        id
    }

    /// Keeps a warp from issuing, as an atomic does.
    fn hold_warp(&mut self, w: usize) {
        self.warps.track[w].atomics += 1;
        self.warps.atomic.insert(w);
    }

    /// Lets the warps go on whose instructions have held them for long enough.
    #[cold]
    pub(super) fn release_bulk_warps(&mut self, now: Cycle) {
        while let Some(owner) = self.ldst.bulk.next_to_go_on(now) {
            self.at_rest = false;
            let slot = self.place(owner.0);
            self.warps.track[slot].atomics -= 1;
            self.warps.atomic.remove(slot);
        }
    }

    /// Hands the instruction in the dispatch register to the unit.
    pub(super) fn try_bulk(&mut self, id: MemId) -> Try {
        let unit = &mut self.ldst.bulk;
        if unit.waiting.len() >= WAITING {
            return Try::Network;
        }
        if let Some(nth) = unit.issued.iter().position(|job| job.id == id) {
            unit.waiting.push_back(unit.issued.swap_remove(nth));
        }
        Try::Done
    }

    /// Runs one cycle of the unit, which sends at most one request.
    #[cold]
    pub(super) fn bulk_cycle(&mut self, now: Cycle) {
        let Self { ldst, link, .. } = self;
        let Some(job) = ldst.bulk.waiting.front() else {
            return;
        };
        if now < ldst.bulk.free_at {
            return;
        }
        if job.copies.peer_bytes > 0 {
            return self.send_to_peers(now);
        }
        let (id, first) = (job.id, job.sent == 0);
        if let Some(request) = ldst.bulk_request(now, job) {
            let replies = ldst.replies_to(&request);
            let full = ldst.bulk.in_flight + replies > ldst.bulk.most_in_flight * replies;
            if full || !link.can_send(&request) {
                return;
            }
            if job.copies.stores {
                let owner = ldst.insts[id.0].warp.0;
                let place = self.place(owner);
                self.warps.track[place].stores += replies;
            } else {
                self.ldst.insts[id.0].pending += replies;
                self.ldst.bulk.in_flight += replies;
            }
            self.link.send(now, request);
        }
        self.step_bulk(now, first);
    }

    /// Keeps the unit busy while the oldest instruction sends bytes to other blocks of the cluster.
    fn send_to_peers(&mut self, now: Cycle) {
        let unit = &mut self.ldst.bulk;
        if let Some(job) = unit.waiting.front_mut() {
            let bytes = std::mem::take(&mut job.copies.peer_bytes);
            unit.free_at = now + Cycle::from(bytes.div_ceil(self.peer_bytes));
        }
    }

    /// Goes on to the next line of the oldest instruction, or to the next instruction.
    fn step_bulk(&mut self, now: Cycle, first: bool) {
        let unit = &mut self.ldst.bulk;
        let Some(job) = unit.waiting.front_mut() else {
            return;
        };
        if first {
            unit.next_at = now + unit.interval;
            if unit.hold > 0 {
                let warp = self.ldst.insts[job.id.0].warp;
                unit.held.push_back((now + unit.hold, warp));
            }
        }
        job.sent += 1;
        if job.sent < job.copies.lines.len() {
            return;
        }
        let id = job.id;
        unit.sent.extend(unit.waiting.pop_front());
        unit.free_at = unit.next_at.max(now + 1);
        self.reply_done(id);
    }

    /// Posts the end of copies to shared memory of another block of the cluster.
    fn post_completion(&mut self, block: BlockId, completion: Completion) {
        self.post(block, PeerRequest::Complete(completion));
    }

    /// Notes a reply for an instruction.
    pub(super) fn bulk_replied(&mut self) {
        self.ldst.bulk.in_flight -= 1;
    }

    /// Ends an instruction whose copies are complete: their barrier objects learn of it.
    #[cold]
    pub(super) fn complete_bulk(&mut self, id: MemId) {
        let sent = &mut self.ldst.bulk.sent;
        let Some(nth) = sent.iter().position(|job| job.id == id) else {
            return;
        };
        let job = sent.swap_remove(nth);
        for completion in job.copies.completions {
            let block = &mut self.blocks[job.block.index()].state;
            match completion.rank {
                None => block.complete_transactions(completion.address, completion.count),
                Some(_) => self.post_completion(job.block, completion),
            }
        }
    }
}
