//! The load/store unit: shared memory, constant, texture and data caches, and the path around
//! them (docs/model/load-store.md).
//!
//! Order within a cycle: write-back arbitration, replies, caches' way down, then the instruction
//! in the dispatch register tries its path. Every transaction of a load is counted in its record;
//! the destination is released when the count reaches zero.

mod allocation;
mod atomics;
mod blocked;
mod bulk;
mod bulk_unit;
mod caches;
mod cycle;
mod dispatch;
mod lookup;
mod parked;
mod paths;
mod records;
mod reexecution;
mod victims;
mod watch;
mod write_back;

pub(crate) use caches::send_miss;
pub use records::{MemInst, Path, PendingAtomic, mem_of};
pub(crate) use watch::L1dInterest;

use crate::carveout::Carveout;
use crate::flight::{FlightId, MemId, Pool};
use crate::link::Link;
use crate::prepared_kernel::physical_base;
use blocked::{Bank, Blocked, Cause};
use bulk_unit::BulkUnit;
use parked::ParkedLoads;
use records::MEM_RECORDS;
use std::collections::VecDeque;
use victims::Victims;
use warploom_base::{Cycle, FixedQueue, KernelSlot, SmId};
use warploom_config::{CacheSpec, GpuSpec, Replacement};
use warploom_mem::cache::{
    Accessor, AllocationPolicy, Cache, Level, Refusal, Replay, ReplayKind, TextureCache,
};
use warploom_mem::coalesce::{Transaction, Transactions};
use warploom_mem::hash::BankIndex;
use warploom_mem::{AccessKind, Reply, Request};
use warploom_policy::MemoryUse;
use warploom_state::{State, Value};
use watch::L1dWatch;

/// Most memory instructions between issue and their last transaction.
const LISTS: usize = 64;

/// Use of the data cache's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) enum L1dUse {
    /// The memory caches data.
    Caches,
    /// New accesses go past the cache, and its lines leave.
    Empties,
    /// The memory holds contexts of warps.
    HoldsContexts,
}

/// Number of clients that take turns to write to the registers: see [`Ldst::with_result`].
const CLIENTS: u32 = 5;

/// The load/store unit. Fields lie in memory as declared: first those that every cycle looks at.
#[repr(C, align(64))]
#[derive(State)]
pub struct Ldst {
    /// Instruction in the dispatch register.
    dispatch: Option<FlightId>,
    /// Record of that instruction, unless it is a fence.
    in_dispatch: Option<MemId>,
    /// Load whose result, or next part of it, is written to the registers next.
    write_back: Option<MemId>,
    /// Number of registers of `write_back` that have been written.
    written: usize,
    next_client: u32,
    /// Use of the data cache's memory.
    pub(crate) l1d_use: L1dUse,
    l1_latency: u32,
    /// Mask of the address bits that are equal in all accesses which enter the data cache in a
    /// cycle: those of a line's address, or none.
    l1_entry_mask: u64,
    /// Masked address of the access that entered the data cache last.
    line: u64,
    shared_latency: u32,
    responses: FixedQueue<Reply>,
    /// Shared-memory loads with the cycle in which they may write back.
    shared: FixedQueue<(Cycle, MemId)>,
    /// Loads from shared memory of other blocks of the cluster, likewise.
    peers: VecDeque<(Cycle, MemId)>,
    peer_latency: u32,
    /// Banks of the data cache (4.x).
    #[state(each)]
    banks: Vec<Bank>,
    bypass: Option<MemId>,
    /// Loads that the data cache has refused.
    parked: ParkedLoads,
    /// Unit that makes bulk copies.
    bulk: BulkUnit,
    /// How the last attempt of the instruction in the dispatch register failed, if attempts will
    /// fail so until a reply or a credit comes.
    blocked: Option<Blocked>,
    /// Records of memory instructions.
    pub insts: Pool<MemInst, MEM_RECORDS>,
    /// Transactions that instructions have yet to send.
    pub lists: Pool<Transactions, LISTS>,
    /// Data cache, if the SM has one.
    #[state(each)]
    pub l1d: Option<Cache>,
    /// Policy of the data cache for reads that miss.
    allocation: AllocationPolicy,
    /// Events of the data cache, if a scheduler's policy is told of them.
    #[state(with = "watch::state")]
    watch: Option<Box<L1dWatch>>,
    /// Lines that the data cache has replaced, if idle registers keep some.
    #[state(each)]
    pub(crate) victims: Option<Box<Victims>>,
    /// True if schedulers' policies decide which reads take lines of the data cache.
    #[state(fixed)]
    warps_allocate: bool,
    /// True if the data cache's replacement policy is told who makes each access.
    #[state(fixed)]
    names_accessors: bool,
    /// True if no policy takes part in accesses of the data cache.
    #[state(fixed)]
    plain_l1d: bool,
    /// The constant cache (L1C).
    pub l1c: Cache,
    /// The texture cache (L1T).
    pub l1t: TextureCache,
    /// Atomic of each warp, by place. Empty before the first atomic.
    pub atomics: Vec<PendingAtomic>,
    /// Number of warps with room for an atomic.
    warps: usize,
    perfect_constant: bool,
    #[state(fixed)]
    bank_of: BankIndex,
    sectored_l2: bool,
    sm: SmId,
}

impl Ldst {
    /// The load/store unit of SM `sm`, for `warps` warps. `interest`: what the schedulers' policies
    /// want with the data cache.
    pub(crate) fn new(spec: &GpuSpec, sm: SmId, warps: usize, interest: L1dInterest) -> Self {
        let style = spec.gpu.style;
        // Without a latency, accesses enter no bank.
        let banks = match spec.sm.l1d_latency_cycles {
            0 => 0,
            _ => spec.sm.l1d_banks.max(1) as usize,
        };
        let seed = spec.gpu.seed.wrapping_add(u64::from(sm.0));
        let cache = |c: &CacheSpec| {
            let mut cache = Cache::unfurnished(c, Level::L1, style, c.ways);
            cache.seed_replacement(seed);
            cache
        };
        let mut l1t = TextureCache::new(&spec.l1t);
        l1t.seed_replacement(seed);
        let l1d = spec.l1d.enabled.then(|| data_cache(spec, seed));
        let watch = l1d.as_ref().filter(|_| interest.watches).map(L1dWatch::new);
        let allocation = AllocationPolicy::new(spec.sm.l1d_allocation);
        let names_accessors = spec.l1d.replacement == Replacement::Cacp;
        let victims = Victims::new(spec, l1d.as_ref());
        let plain = allocation.always_allocates() && !names_accessors && victims.is_none();
        Self {
            dispatch: None,
            in_dispatch: None,
            blocked: None,
            insts: Pool::new(MemInst::BLANK),
            lists: Pool::new(Transactions::new()),
            atomics: Vec::new(),
            warps,
            shared: FixedQueue::new(spec.sm.longest_shared_latency().max(1) as usize),
            shared_latency: spec.sm.shared_latency_cycles,
            peers: VecDeque::new(),
            peer_latency: spec.sm.cluster_latency_cycles,
            l1d,
            l1d_use: L1dUse::Caches,
            l1c: cache(&spec.l1c),
            l1t,
            plain_l1d: plain && !interest.watches && !interest.decides,
            names_accessors,
            warps_allocate: interest.decides,
            watch: watch.map(Box::new),
            victims,
            allocation,
            perfect_constant: spec.sm.perfect_inst_const_cache || spec.sm.perfect_const_cache,
            banks: vec![Bank::new(spec.sm.l1d_latency_cycles.max(1)); banks],
            l1_latency: spec.sm.l1d_latency_cycles,
            l1_entry_mask: match spec.sm.l1d_one_line {
                true => !(u64::from(spec.l1d.line_bytes) - 1),
                false => 0,
            },
            line: 0,
            bank_of: BankIndex::new(&spec.sm),
            write_back: None,
            written: 0,
            next_client: 0,
            bypass: None,
            parked: ParkedLoads::new(spec, interest.parks),
            bulk: BulkUnit::new(&spec.sm),
            responses: FixedQueue::new(spec.sm.response_fifo.max(1) as usize),
            sectored_l2: spec.partition.l2.sectored,
            sm,
        }
    }

    /// Allocates the memory of the caches' tags, if that has not been done.
    pub(crate) fn furnish(&mut self) {
        self.l1c.furnish();
        if let Some(l1d) = &mut self.l1d {
            l1d.furnish();
        }
    }

    /// Replays an access without timing in the data cache or the texture cache. Returns what it
    /// asks of L2.
    pub(crate) fn replay(&mut self, now: Cycle, access: &Replay) -> Option<Replay> {
        if access.kind == ReplayKind::Texture {
            return self.l1t.replay(now, access);
        }
        let caches = self.caches();
        match self.l1d.as_mut().filter(|_| caches) {
            Some(l1d) => {
                l1d.furnish();
                l1d.note_accessor(&Accessor::nobody(access.segment));
                if let (ReplayKind::Write, Some(victims)) = (access.kind, &mut self.victims) {
                    victims.forget(l1d, access.segment);
                }
                l1d.replay_all(now, access)
            }
            None => Some(*access),
        }
    }

    /// Makes every line of the data cache invalid, and drops those that registers keep.
    pub(crate) fn invalidate_l1d(&mut self) {
        if let Some(l1d) = &mut self.l1d {
            l1d.invalidate_all();
        }
        if let Some(victims) = &mut self.victims {
            victims.clear();
        }
    }

    /// True if the dispatch register is free.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.dispatch.is_none()
    }

    /// True if accesses may go through the data cache.
    #[inline]
    pub(crate) fn caches(&self) -> bool {
        self.l1d.is_some() && self.l1d_use == L1dUse::Caches
    }

    /// Runs one cycle of emptying the data cache. Returns true when it is empty.
    pub(crate) fn empty_l1d(&mut self, now: Cycle, asid: u8, kernel: KernelSlot) -> bool {
        let data = |id: MemId| self.insts[id.0].path == Path::Data;
        let entering = self.in_dispatch.is_some_and(data);
        let delayed = self.banks.iter().any(|bank| !bank.delayed.is_empty());
        if entering || delayed || !self.parked.is_empty() {
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

    /// Makes room for an atomic of each warp, before the first one.
    pub(crate) fn reserve_atomics(&mut self) {
        if self.atomics.is_empty() {
            self.atomics.resize(self.warps, PendingAtomic::none());
        }
    }

    /// True if there are free records for another instruction.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.insts.has_free() && self.lists.has_free()
    }

    /// Number of replies that memory sends for a request.
    pub fn replies_to(&self, request: &Request) -> u32 {
        request.replies(self.sectored_l2)
    }

    /// True if a reply can be handed over.
    #[inline]
    pub fn can_respond(&self) -> bool {
        !self.responses.is_full()
    }

    /// True if no reply waits to be taken.
    pub(crate) fn has_no_responses(&self) -> bool {
        self.responses.is_empty()
    }

    /// True if the instruction in the dispatch register goes past the data cache, or a bulk copy
    /// does.
    pub(crate) fn bypasses_l1_next(&self) -> bool {
        self.dispatch_bypasses_l1() || self.bulk.is_busy()
    }

    /// True if the instruction in the dispatch register goes past the data cache.
    fn dispatch_bypasses_l1(&self) -> bool {
        let around = |id: MemId| self.insts[id.0].path == Path::BypassL1;
        self.in_dispatch.is_some_and(around)
    }

    /// Hands over a reply.
    #[inline]
    pub fn respond(&mut self, reply: Reply) {
        self.responses.push(reply);
    }

    /// Request for transaction `t`, the one of number `number`, of instruction `id`.
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

    /// True if a reply waits to be taken, or a result to be written to the registers.
    #[inline]
    pub(crate) fn has_taken_in(&self) -> bool {
        !self.responses.is_empty() || self.write_back.is_some()
    }

    /// True if nothing can happen before `next_event`, an arrival or a credit: everything inside
    /// was tried in the last cycle and will fail in the same way until then.
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

    /// True if data of shared memory, the block's own or another one's, wait for the registers.
    #[inline]
    fn has_shared(&self, now: Cycle) -> bool {
        let due = |front: Option<&(Cycle, MemId)>| front.is_some_and(|(at, _)| *at <= now);
        due(self.shared.front()) || due(self.peers.front())
    }

    /// Takes a load from shared memory whose data wait for the registers.
    fn take_shared(&mut self, now: Cycle) -> Option<MemId> {
        let own = self.shared.front().is_some_and(|(at, _)| *at <= now);
        let taken = match own {
            true => self.shared.pop(),
            false => self.peers.pop_front(),
        };
        taken.map(|(_, id)| id)
    }

    /// True if a client has a result for the registers.
    #[inline]
    fn has_result(&self, now: Cycle) -> bool {
        self.l1d.as_ref().is_some_and(Cache::has_ready)
            || self.has_shared(now)
            || self.l1c.has_ready()
            || self.bypass.is_some()
            || self.l1t.has_ready()
    }

    /// Bit per client that has a result for the registers.
    #[inline]
    fn with_result(&self, now: Cycle) -> u32 {
        let clients = [
            self.has_shared(now),
            self.l1t.has_ready(),
            self.l1c.has_ready(),
            self.bypass.is_some(),
            self.l1d.as_ref().is_some_and(Cache::has_ready),
        ];
        let bits = clients.into_iter().zip(0..);
        bits.fold(0, |mask, (has, client)| mask | u32::from(has) << client)
    }

    /// True if a request waits for room in the network.
    pub fn waits_for_credits(&self) -> bool {
        let data = self.l1d.as_ref().and_then(Cache::miss_queue_front);
        data.is_some()
            || self.l1c.miss_queue_front().is_some()
            || self.l1t.miss_queue_front().is_some()
            || self.bulk.is_busy()
            || matches!(&self.blocked, Some(b) if matches!(b.cause, Cause::NoRoom(_)))
    }

    /// True if the instruction in the dispatch register would fail as in its last attempt.
    #[inline]
    fn is_still_blocked(&self, now: Cycle, link: &Link) -> bool {
        self.blocked.as_ref().is_some_and(|b| match &b.cause {
            Cause::Parked => true,
            Cause::Refused(_, refusal) => self.is_refused_again(now, b, *refusal),
            Cause::NoRoom(request) => !link.can_send(request),
            Cause::FullBank(bank) => self.banks[*bank].delayed.is_full(),
        })
    }

    /// True if a cache would refuse the blocked access again, and no policy takes part.
    #[inline]
    fn is_refused_again(&self, now: Cycle, blocked: &Blocked, refusal: Refusal) -> bool {
        let cache = match blocked.path {
            Path::Constant => Some(&self.l1c),
            _ => self.l1d.as_ref().filter(|_| self.plain_l1d),
        };
        cache.is_some_and(|cache| cache.refuses_now(now, refusal, blocked.kind))
            && !self.parked.is_used()
    }

    /// Use of the path to memory, for policies.
    #[inline]
    pub(crate) fn memory_use(&self) -> MemoryUse {
        let refuses = |bank: &Bank| bank.blocked.is_some();
        let is_refused = |blocked: &Blocked| !blocked.by_parked();
        MemoryUse {
            free_misses: self.l1d.as_ref().map(Cache::free_misses),
            refuses: self.blocked.as_ref().is_some_and(is_refused)
                || self.l1_latency > 0 && self.banks.iter().any(refuses),
            can_park: self.parked.has_room(),
            ..MemoryUse::default()
        }
    }

    /// Cycle in which a load from shared memory, a delayed cache access or a read of a kept line
    /// comes due.
    pub fn next_event(&self) -> Option<Cycle> {
        let shared = self.shared.front().map(|(at, _)| *at);
        let peers = self.peers.front().map(|(at, _)| *at);
        let open = self.banks.iter().filter(|bank| bank.blocked.is_none());
        open.filter_map(|bank| bank.delayed.front().map(|(at, _)| *at))
            .chain(shared)
            .chain(peers)
            .chain(self.victims.as_ref().and_then(|v| v.next_event()))
            .chain(self.bulk.next_event())
            .min()
    }

    /// True if the unit is empty.
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

/// An empty data cache, whose random choices start from `seed`.
fn data_cache(spec: &GpuSpec, seed: u64) -> Cache {
    let most = Carveout::new(spec).map_or(spec.l1d.ways, |c| c.max_ways());
    let most = most.max(spec.l1d.ways);
    let mut l1d = Cache::unfurnished(&spec.l1d, Level::L1, spec.gpu.style, most);
    l1d.follow_kernels(spec.gpu.max_concurrent_kernels as usize);
    l1d.seed_replacement(seed);
    l1d
}

/// Number of the transaction that a request's token names.
#[inline]
pub fn transaction_of(token: u32) -> usize {
    (token >> 16) as usize
}
