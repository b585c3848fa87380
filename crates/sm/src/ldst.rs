//! The load/store unit: shared memory, constant, texture and data caches, and the path around
//! them (docs/model/load-store.md).
//!
//! Order within a cycle: write-back arbitration, replies, caches' way down, then the instruction
//! in the dispatch register tries its path. Every transaction of a load is counted in its record;
//! the destination is released when the count reaches zero.

mod allocation;
mod blocked;
mod caches;
mod paths;
mod records;

pub(crate) use caches::send_miss;
pub use records::{MemInst, Path, PendingAtomic};

use crate::carveout::Carveout;
use crate::context::Place;
use crate::counters::LdstStall;
use blocked::{Bank, Blocked, Cause, Try, stage_of};
use caches::{fill, first_in_turn, next_of_program, texture_cycle};

use crate::flight::{FlightId, MemId, Pool};
use crate::link::Link;
use crate::prepared_kernel::{physical_base, prepared_kernel};
use crate::sm::Sm;
use warploom_base::{Cycle, FixedQueue, KernelSlot, LaneMask, SmId, WarpSlot};
use warploom_config::{CacheSpec, GpuSpec};
use warploom_mem::cache::{AccessOutcome, AllocationPolicy, Cache, Level, TextureCache};
use warploom_mem::coalesce::{Transaction, Transactions};
use warploom_mem::hash::BankIndex;
use warploom_mem::{AccessKind, Reply, Request};

/// Memory instructions between issue and their last reply.
const MEM_RECORDS: usize = 4096;
/// Memory instructions between issue and their last transaction.
const LISTS: usize = 64;

/// What the data cache's memory is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum L1dUse {
    /// Data.
    Caches,
    /// New accesses go past it; what is in it leaves.
    Empties,
    /// Contexts.
    HoldsContexts,
}

/// Clients that take turns to write to the registers: see [`Ldst::with_result`].
const CLIENTS: u32 = 5;

/// The unit. Fields stand as declared: those that every cycle looks at, then the others.
#[repr(C, align(64))]
pub struct Ldst {
    /// Instruction trying its path.
    dispatch: Option<FlightId>,
    /// Its record, unless it is a fence.
    in_dispatch: Option<MemId>,
    /// What goes to the registers next: a load from shared memory, or a reply of one.
    write_back: Option<MemId>,
    /// Registers of `write_back` that have been written.
    written: usize,
    next_client: u32,
    /// What has become of it.
    pub(crate) l1d_use: L1dUse,
    l1_latency: u32,
    shared_latency: u32,
    responses: FixedQueue<Reply>,
    /// Shared-memory loads with the cycle in which they may write back.
    shared: FixedQueue<(Cycle, MemId)>,
    /// Banks of the data cache.
    banks: Vec<Bank>,
    bypass: Option<MemId>,
    /// How the last try of that instruction failed, if it will fail so again until a reply or a
    /// credit comes.
    blocked: Option<Blocked>,
    /// Memory instructions.
    pub insts: Pool<MemInst, MEM_RECORDS>,
    /// Lists of transactions.
    pub lists: Pool<Transactions, LISTS>,
    /// Data cache.
    pub l1d: Option<Cache>,
    /// Policy of the data cache for reads that miss.
    allocation: AllocationPolicy,
    /// Constant cache.
    pub l1c: Cache,
    /// Texture cache.
    pub l1t: TextureCache,
    /// By warp slot.
    pub atomics: Vec<PendingAtomic>,
    perfect_constant: bool,
    bank_of: BankIndex,
    sectored_l2: bool,
    sm: SmId,
}

impl Ldst {
    /// The unit of SM `sm`.
    pub fn new(spec: &GpuSpec, sm: SmId, warps: usize) -> Self {
        let style = spec.gpu.style;
        let banks = spec.sm.l1d_banks.max(1) as usize;
        let seed = spec.gpu.seed.wrapping_add(u64::from(sm.0));
        let cache = |c: &CacheSpec| {
            let mut cache = Cache::new(c, Level::L1, style);
            cache.seed_replacement(seed);
            cache
        };
        let mut l1t = TextureCache::new(&spec.l1t);
        l1t.seed_replacement(seed);
        Self {
            dispatch: None,
            in_dispatch: None,
            blocked: None,
            insts: Pool::new(MemInst::BLANK),
            lists: Pool::new(Transactions::new()),
            atomics: vec![PendingAtomic::none(); warps],
            shared: FixedQueue::new(spec.sm.shared_latency_cycles.max(1) as usize),
            shared_latency: spec.sm.shared_latency_cycles,
            l1d: spec.l1d.enabled.then(|| {
                let kernels = spec.gpu.max_concurrent_kernels as usize;
                let most = Carveout::new(spec).map_or(spec.l1d.ways, |c| c.max_ways());
                let most = most.max(spec.l1d.ways);
                let mut l1d = Cache::with_max_ways(&spec.l1d, Level::L1, style, most);
                l1d.follow_kernels(kernels);
                l1d.seed_replacement(seed);
                l1d
            }),
            l1d_use: L1dUse::Caches,
            l1c: cache(&spec.l1c),
            l1t,
            allocation: AllocationPolicy::new(spec.sm.l1d_allocation),
            perfect_constant: spec.sm.perfect_inst_const_cache,
            banks: vec![Bank::new(spec.sm.l1d_latency_cycles.max(1)); banks],
            l1_latency: spec.sm.l1d_latency_cycles,
            bank_of: BankIndex::new(&spec.sm),
            write_back: None,
            written: 0,
            next_client: 0,
            bypass: None,
            responses: FixedQueue::new(spec.sm.response_fifo.max(1) as usize),
            sectored_l2: spec.partition.l2.sectored,
            sm,
        }
    }

    /// The dispatch register is free.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.dispatch.is_none()
    }

    /// Accesses may go through the data cache.
    #[inline]
    pub(crate) fn caches(&self) -> bool {
        self.l1d.is_some() && self.l1d_use == L1dUse::Caches
    }

    /// One cycle of emptying the data cache; true when it is empty.
    pub(crate) fn empty_l1d(&mut self, now: Cycle, asid: u8, kernel: KernelSlot) -> bool {
        let data = |id: MemId| self.insts[id.0].path == Path::Data;
        let entering = self.in_dispatch.is_some_and(data);
        if entering || self.banks.iter().any(|bank| !bank.delayed.is_empty()) {
            return false;
        }
        let cause = Request {
            addr: 0,
            byte_mask: 0,
            issued_at: now as u32,
            entry: Request::NO_ENTRY,
            returned_at: 0,
            token: u32::MAX,
            bytes: 0,
            sm: self.sm,
            kind: AccessKind::L1WriteBack,
            sectors: 0,
            kernel,
            asid,
        };
        let l1d = self.l1d.as_mut();
        l1d.is_none_or(|l1d| l1d.empty(now, &cause))
    }

    /// Takes an instruction from the collectors.
    #[inline]
    pub fn accept(&mut self, flight: FlightId, mem: Option<MemId>) {
        self.dispatch = Some(flight);
        self.in_dispatch = mem;
        if let Some(id) = mem.filter(|_| self.l1d_use != L1dUse::Caches) {
            let path = &mut self.insts[id.0].path;
            *path = if *path == Path::Data {
                Path::BypassL1
            } else {
                *path
            };
        }
    }

    /// There are records for another instruction to issue.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.insts.available().min(self.lists.available()) > 0
    }

    /// Replies that memory sends for one request.
    pub fn replies_to(&self, request: &Request) -> u32 {
        request.replies(self.sectored_l2)
    }

    /// A reply may be handed over.
    #[inline]
    pub fn can_respond(&self) -> bool {
        !self.responses.is_full()
    }

    /// No reply waits to be taken.
    pub(crate) fn has_no_responses(&self) -> bool {
        self.responses.is_empty()
    }

    /// The instruction in the dispatch register goes past the data cache.
    pub(crate) fn bypasses_l1_next(&self) -> bool {
        let around = |id: MemId| self.insts[id.0].path == Path::BypassL1;
        self.in_dispatch.is_some_and(around)
    }

    /// Hands over a reply.
    #[inline]
    pub fn respond(&mut self, reply: Reply) {
        self.responses.push(reply);
    }

    /// A request for one transaction of `id`.
    #[inline(always)]
    fn request(&self, now: Cycle, id: MemId, number: usize, t: &Transaction, asid: u8) -> Request {
        let inst = &self.insts[id.0];
        Request {
            addr: physical_base(asid) + t.addr,
            byte_mask: t.byte_mask,
            issued_at: now as u32,
            entry: Request::NO_ENTRY,
            returned_at: 0,
            token: (number as u32) << 16 | u32::from(id.0),
            bytes: t.bytes,
            sm: self.sm,
            kind: inst.kind,
            sectors: t.sectors,
            kernel: inst.kernel,
            asid,
        }
    }

    /// A reply waits to be taken, or something to be written to the registers.
    #[inline]
    pub(crate) fn has_taken_in(&self) -> bool {
        !self.responses.is_empty() || self.write_back.is_some()
    }

    /// Nothing can happen before `next_event`, an arrival or a credit: what is inside was tried in
    /// the last cycle and will fail in the same way until then.
    pub fn is_quiet(&self, link: &Link) -> bool {
        let stuck = |r: Option<&Request>| r.is_none_or(|r| !link.can_send(r));
        let cache_quiet = |c: &Cache| stuck(c.miss_queue_front()) && !c.has_ready();
        let blocked = |b: &Blocked| match &b.cause {
            Cause::NoRoom(request) => !link.can_send(request),
            _ => true,
        };
        !self.has_taken_in()
            && (self.dispatch.is_none() || self.blocked.as_ref().is_some_and(blocked))
            && self.bypass.is_none()
            && self.l1d.as_ref().is_none_or(cache_quiet)
            && cache_quiet(&self.l1c)
            && self.l1t.is_idle()
    }

    /// A client has something to write to the registers.
    #[inline]
    fn has_result(&self, now: Cycle) -> bool {
        self.l1d.as_ref().is_some_and(Cache::has_ready)
            || self.shared.front().is_some_and(|(at, _)| *at <= now)
            || self.l1c.has_ready()
            || self.bypass.is_some()
            || self.l1t.has_ready()
    }

    /// Bit per client that has.
    #[inline]
    fn with_result(&self, now: Cycle) -> u32 {
        let clients = [
            self.shared.front().is_some_and(|(at, _)| *at <= now),
            self.l1t.has_ready(),
            self.l1c.has_ready(),
            self.bypass.is_some(),
            self.l1d.as_ref().is_some_and(Cache::has_ready),
        ];
        let bits = clients.into_iter().zip(0..);
        bits.fold(0, |mask, (has, client)| mask | u32::from(has) << client)
    }

    /// Something would go to the network if it had room.
    pub fn waits_for_credits(&self) -> bool {
        let data = self.l1d.as_ref().and_then(Cache::miss_queue_front);
        data.is_some()
            || self.l1c.miss_queue_front().is_some()
            || self.l1t.miss_queue_front().is_some()
            || matches!(&self.blocked, Some(b) if matches!(b.cause, Cause::NoRoom(_)))
    }

    /// The instruction in the dispatch register would fail as in its last try, and nobody but the
    /// unit counts that.
    #[inline]
    fn is_still_blocked(&self, link: &Link) -> bool {
        self.blocked.as_ref().is_some_and(|b| match &b.cause {
            Cause::Refused(_) => false,
            Cause::NoRoom(request) => !link.can_send(request),
            Cause::FullBank(bank) => self.banks[*bank].delayed.is_full(),
        })
    }

    /// When a shared-memory load or a delayed cache access comes due.
    pub fn next_event(&self) -> Option<Cycle> {
        let shared = self.shared.front().map(|(at, _)| *at);
        let open = self.banks.iter().filter(|bank| bank.blocked.is_none());
        open.filter_map(|bank| bank.delayed.front().map(|(at, _)| *at))
            .chain(shared)
            .min()
    }

    /// Nothing inside at all.
    pub fn is_empty(&self) -> bool {
        self.insts.used() == 0
            && self.responses.is_empty()
            && self.write_back.is_none()
            && self.banks.iter().all(|bank| bank.delayed.is_empty())
            && self.l1d.as_ref().is_none_or(Cache::is_idle)
            && self.l1c.is_idle()
            && self.l1t.is_idle()
    }
}

/// Record that a request's token names.
#[inline]
pub fn mem_of(token: u32) -> MemId {
    MemId(token as u16)
}

/// Number of the transaction that a request's token names.
#[inline]
pub fn transaction_of(token: u32) -> usize {
    (token >> 16) as usize
}

impl Sm {
    /// One cycle of the load/store unit.
    #[inline(never)]
    pub(crate) fn ldst_cycle(&mut self, now: Cycle) {
        self.write_back(now);
        self.take_response(now);
        self.send_misses(now);
        self.look_up_delayed(now);
        if let Some(flight) = self.ldst.dispatch {
            self.dispatch_memory(now, flight);
        }
    }

    /// Writes one result to the registers and picks the next (five clients in turn).
    fn write_back(&mut self, now: Cycle) {
        if let Some(id) = self.ldst.write_back {
            let MemInst {
                kernel, pc, warp, ..
            } = self.ldst.insts[id.0];
            let prepared = prepared_kernel(&self.kernels, kernel);
            let (inst, place) = (prepared.at(pc), self.place(warp.0) as u16);
            let written = &mut self.ldst.written;
            if !self
                .collectors
                .write_further(inst, prepared, place, written)
            {
                return;
            }
            // The first part of a load was counted when it issued.
            if self.ldst.insts[id.0].pending > 1 {
                self.counters.register_writes += u64::from(inst.bank_writes.len);
            }
            self.ldst.write_back = None;
            self.reply_done(id);
        }
        if !self.ldst.has_result(now) {
            return;
        }
        let mut clients = self.ldst.with_result(now);
        while clients != 0 {
            let client = first_in_turn(clients, self.ldst.next_client);
            clients &= !(1 << client);
            if let Some(id) = self.take_result(client) {
                self.ldst.next_client = (client + 1) % CLIENTS;
                self.ldst.write_back = Some(id);
                if self.ldst.insts[id.0].atomic {
                    self.atomic_arrived(id);
                }
                return;
            }
        }
    }

    /// What a client with a result writes, unless it is what a cache asked for itself.
    fn take_result(&mut self, client: u32) -> Option<MemId> {
        let ldst = &mut self.ldst;
        let reply = match client {
            0 => return ldst.shared.pop().map(|(_, id)| id),
            1 => ldst.l1t.next_ready(),
            2 => ldst.l1c.next_ready(),
            3 => return ldst.bypass.take(),
            _ => next_of_program(ldst.l1d.as_mut()),
        };
        reply.map(|r| mem_of(r.token))
    }

    /// A reply of an atomic is next to be written: with the last one, its warp goes on, while
    /// the destination stays reserved until it is written (4.x counts a warp's atomics down when
    /// it picks what to write back, shared memory's like any other).
    #[cold]
    fn atomic_arrived(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.pending != 1 {
            return;
        }
        self.at_rest = false;
        let slot = self.place(inst.warp.0);
        if inst.kind == AccessKind::GlobalAtomic {
            self.replay.require(inst.settles_at);
            self.write_old_values(slot);
        }
        self.warps.track[slot].atomics -= 1;
        self.warps.atomic.remove(slot);
    }

    /// Old values of a warp's atomic go to its registers.
    pub(crate) fn write_old_values(&mut self, place: Place) {
        let PendingAtomic { batch, results, .. } = &self.ldst.atomics[place];
        if let Some(dst) = batch.dst {
            self.warps.exec[place].write_atomic_result(dst, batch.mask, results);
        }
    }

    /// One reply of a load has been written.
    fn reply_done(&mut self, id: MemId) {
        let inst = &mut self.ldst.insts[id.0];
        inst.pending -= 1;
        if inst.pending == 0 {
            self.complete_memory(id);
        }
    }

    /// All replies have come: the destination is free to read.
    fn complete_memory(&mut self, id: MemId) {
        self.at_rest = false;
        if self.context.is_some() {
            return self.complete_wherever(id);
        }
        let inst = self.ldst.insts[id.0];
        self.replay.require(inst.settles_at);
        let slot = inst.warp.index();
        let prepared = prepared_kernel(&self.kernels, inst.kernel);
        if let Some(group) = inst.copy {
            self.warps.copies[slot].arrived(group);
        }
        self.warps.finished(slot, prepared.at(inst.pc), prepared);
        self.ldst.insts.give(id.0);
        self.release_fence(slot);
    }

    /// The same where contexts are switched: the warp may be out.
    #[cold]
    fn complete_wherever(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        self.replay.require(inst.settles_at);
        let slot = self.place(inst.warp.0);
        let prepared = prepared_kernel(&self.kernels, inst.kernel);
        self.warps
            .clear_pending(slot, prepared.at(inst.pc), prepared);
        self.warps.track[slot].in_flight -= 1;
        if let Some(group) = inst.copy {
            self.warps.copies[slot].arrived(group);
        }
        self.warps
            .forget_load(slot, inst.awaited, prepared.at(inst.pc), prepared);
        self.ldst.insts.give(id.0);
        if slot >= self.warps.slots() {
            return self.arrived(inst.warp.0);
        }
        self.warps.touched.insert(slot);
        self.warps.refresh_arrived(slot, prepared);
        self.release_fence(slot);
    }

    /// Takes one reply from the network to where it belongs.
    fn take_response(&mut self, now: Cycle) {
        let ldst = &mut self.ldst;
        let Some(reply) = ldst.responses.front() else {
            return;
        };
        let token = reply.token;
        let taken = match reply.kind {
            AccessKind::TextureRead => {
                ldst.l1t.fill(reply.addr, reply.bytes);
                true
            }
            AccessKind::ConstRead => fill(&mut ldst.l1c, now, reply),
            AccessKind::GlobalWrite | AccessKind::LocalWrite => {
                self.store_done(token);
                true
            }
            AccessKind::L1WriteBack => true,
            // No cache asked for it.
            _ if reply.entry == Request::NO_ENTRY => {
                let free = ldst.bypass.is_none();
                if free {
                    ldst.bypass = Some(mem_of(token));
                    ldst.insts[mem_of(token).0].note_atomic(now, reply);
                }
                free
            }
            _ => match &mut ldst.l1d {
                Some(l1d) => fill(l1d, now, reply),
                None => unreachable!("a reply to a cache that does not exist: {reply:?}"),
            },
        };
        if taken {
            self.ldst.responses.drop_oldest();
        }
    }

    /// One acknowledgement fewer of a warp's stores is out. Returns where the warp is.
    fn store_done(&mut self, token: u32) -> usize {
        let place = self.place(token as u16);
        self.warps.track[place].stores -= 1;
        if place < self.warps.slots() {
            self.warps.touched.insert(place);
            // One that ended may be drained now.
            self.at_rest &= !self.warps.done.has(place);
        }
        place
    }

    fn send_misses(&mut self, now: Cycle) {
        let Self { ldst, link, .. } = self;
        if !ldst.l1t.is_idle() {
            texture_cycle(&mut ldst.l1t, link, now);
        }
        send_miss(&mut ldst.l1c, link, now);
        if let Some(l1d) = &mut ldst.l1d {
            send_miss(l1d, link, now);
        }
    }

    /// 4.x: the tag lookup at the end of the data cache's latency, one a bank.
    fn look_up_delayed(&mut self, now: Cycle) {
        for number in 0..self.ldst.banks.len() {
            let front = self.ldst.banks[number].delayed.front();
            if front.is_some_and(|(at, _)| *at <= now) {
                self.look_up(now, number);
            }
        }
    }

    /// The lookup of the oldest access in a bank, which is due.
    fn look_up(&mut self, now: Cycle, number: usize) {
        let ldst = &mut self.ldst;
        let bank = &mut ldst.banks[number];
        let (Some((_, request)), Some(l1d)) = (bank.delayed.front(), &mut ldst.l1d) else {
            return;
        };
        if let Some((kind, reason, refusal)) = bank.blocked
            && l1d.still_refuses(refusal)
        {
            return l1d.count_failed(kind, reason, 1);
        }
        let access = if ldst.allocation.always_allocates() {
            l1d.access(now, request)
        } else {
            let parts = allocation::Parts {
                l1d,
                policy: &mut ldst.allocation,
                insts: &mut ldst.insts,
                detail: &mut self.detail,
                sectored_l2: ldst.sectored_l2,
            };
            allocation::access(parts, now, request)
        };
        let &Request { kind, token, .. } = request;
        if let AccessOutcome::ReservationFail(reason) = access.outcome {
            bank.blocked = Some((kind, reason, l1d.last_refusal()));
            return;
        }
        let sent = u32::from(access.sent.has_write());
        let replies = sent * request.replies(ldst.sectored_l2);
        bank.blocked = None;
        bank.delayed.drop_oldest();
        if let Some((_, next)) = bank.delayed.front() {
            l1d.expect(next.addr);
        }
        self.looked_up(kind, token, access.outcome, replies);
    }

    /// The data cache has taken a delayed access; a write that it sent on has so many `replies`.
    fn looked_up(&mut self, kind: AccessKind, token: u32, outcome: AccessOutcome, replies: u32) {
        if kind.is_write() {
            let place = self.store_done(token);
            self.warps.track[place].stores += replies;
        } else if outcome == AccessOutcome::Hit {
            self.reply_done(mem_of(token));
        } else if self.context.is_some() {
            self.note_miss(mem_of(token));
        }
    }

    /// The instruction in the dispatch register tries its path.
    fn dispatch_memory(&mut self, now: Cycle, flight: FlightId) {
        let Some(id) = self.ldst.in_dispatch else {
            // A fence: nothing to send.
            self.finish_fence(flight);
            return;
        };
        if self.ldst.is_still_blocked(&self.link) {
            return self.count_blocked(1);
        }
        self.ldst.blocked = None;
        let outcome = match self.ldst.insts[id.0].path {
            Path::Shared => self.try_shared(id),
            Path::Constant => self.try_constant(now, id),
            Path::Texture => self.try_texture(now, id),
            Path::Data if self.ldst.l1_latency > 0 => self.try_banks(now, id),
            Path::Data => self.try_data(now, id),
            Path::BypassL1 => self.try_bypass(now, id),
        };
        if outcome == Try::Done {
            self.leave_dispatch(now, flight, id);
        } else {
            let MemInst { path, kind, .. } = self.ldst.insts[id.0];
            self.count_stall(path, kind, outcome, 1);
        }
    }

    /// Counts what `cycles` more cycles of failed attempts would have.
    pub(crate) fn ldst_retries(&mut self, cycles: u64) {
        if self.ldst.dispatch.is_some() {
            self.count_blocked(cycles);
        }
        for (kind, reason, _) in self.ldst.banks.iter().filter_map(|bank| bank.blocked) {
            self.ldst
                .l1d
                .iter_mut()
                .for_each(|c| c.count_failed(kind, reason, cycles));
        }
    }

    /// Counts `times` more tries of the instruction that is blocked, if one is.
    fn count_blocked(&mut self, times: u64) {
        let Some(blocked) = &self.ldst.blocked else {
            return;
        };
        let (stage, why) = blocked.counted;
        self.counters.ldst_stalls[stage as usize][why as usize] += times;
        if let Cause::Refused(reason) = blocked.cause {
            let (path, kind) = (blocked.path, blocked.kind);
            let cache = match path {
                Path::Constant => Some(&mut self.ldst.l1c),
                _ => self.ldst.l1d.as_mut(),
            };
            cache
                .into_iter()
                .for_each(|c| c.count_failed(kind, reason, times));
        }
    }

    fn count_stall(&mut self, path: Path, kind: AccessKind, outcome: Try, times: u64) {
        let stage = stage_of(path, kind);
        let why = match outcome {
            Try::Done => return,
            Try::Coalesce => LdstStall::Coalesce,
            Try::Reservation => LdstStall::Reservation,
            Try::Network => LdstStall::Network,
            Try::DataPort => LdstStall::DataPort,
            Try::BankConflict => LdstStall::BankConflict,
        };
        self.counters.ldst_stalls[stage as usize][why as usize] += times;
    }

    /// The instruction has sent all it has to send.
    fn leave_dispatch(&mut self, now: Cycle, flight: FlightId, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.path == Path::Shared && inst.replies {
            if self.ldst.shared.is_full() {
                return;
            }
            let at = now + Cycle::from(self.ldst.shared_latency);
            self.ldst.shared.push((at, id));
        }
        self.at_rest = false;
        self.ldst.dispatch = None;
        self.ldst.in_dispatch = None;
        self.flights.give(flight.0);
        self.ldst.lists.give(inst.list);
        if !inst.replies {
            let slot = self.place(inst.warp.0);
            self.warps.track[slot].in_flight -= 1;
            self.warps.touched.insert(slot);
            self.ldst.insts.give(id.0);
        } else if inst.pending == 0 {
            self.complete_memory(id);
        } else if self.context.is_some() && inst.is_global_load() {
            self.await_load(id);
        }
    }

    /// A load from global memory has sent all that it has to send, and did not hit. With a latency
    /// queue (4.x) that is not known before the tags are looked up.
    #[cold]
    fn await_load(&mut self, id: MemId) {
        let place = self.place(self.ldst.insts[id.0].warp.0);
        self.warps.note_load(place);
        self.ldst.insts[id.0].awaited = true;
        if self.ldst.insts[id.0].path == Path::BypassL1 || self.ldst.l1_latency == 0 {
            self.note_miss(id);
        }
    }

    #[cold]
    fn note_miss(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.is_global_load() {
            let prepared = prepared_kernel(&self.kernels, inst.kernel);
            let place = self.place(inst.warp.0);
            self.warps.note_miss(place, prepared.at(inst.pc), prepared);
        }
    }

    #[cold]
    fn finish_fence(&mut self, flight: FlightId) {
        let slot = self.flights[flight.0].warp.index();
        self.warps.track[slot].in_flight -= 1;
        self.warps.touched.insert(slot);
        self.flights.give(flight.0);
        self.ldst.dispatch = None;
        self.at_rest = false;
        self.release_fence(slot);
    }

    /// Lanes whose atomic a reply stands for.
    pub fn atomic_lanes(&self, reply: &Reply) -> (WarpSlot, LaneMask) {
        let warp = self.ldst.insts[mem_of(reply.token).0].warp;
        let atomic = &self.ldst.atomics[self.place(warp.0)];
        let lanes = atomic.lanes[transaction_of(reply.token)];
        let first = reply.addr - physical_base(reply.asid);
        let range = first..first + u64::from(reply.bytes);
        let inside = (0..32).filter(|&l| range.contains(&atomic.batch.addrs[l]));
        (warp, lanes & inside.fold(0, |m, l| m | 1 << l))
    }
}
