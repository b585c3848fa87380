//! A sub-partition alone, and whole partitions with DRAM under random traffic.

mod halves;

use super::*;
use crate::address::AddressDecoder;
use crate::dram::DramChannel;
use crate::testing::{fermi_spec, read, volta_spec, write};
use proptest::prelude::*;
use warploom_base::{ChannelId, Rng};

const ROP: u32 = 20;

fn sub() -> SubPartition {
    SubPartition::new(&fermi_spec(), SubPartitionId(0), ROP)
}

fn pop_dram(sub: &mut SubPartition) -> Option<Request> {
    let request = sub.dram_front().copied()?;
    sub.drop_dram();
    Some(request)
}

/// Runs L2 cycles until a reply waits, with DRAM that answers at once. Returns the cycle and the
/// reply.
fn reply_at(sub: &mut SubPartition, from: Cycle, to: Cycle) -> Option<(Cycle, Request)> {
    for now in from..to {
        sub.cycle(now);
        while let Some(down) = pop_dram(sub) {
            if !down.kind.is_write() {
                sub.push_from_dram(&down);
            }
        }
        if let Some(reply) = sub.pop_reply() {
            return Some((now, reply));
        }
    }
    None
}

#[test]
fn a_request_waits_for_the_rop_delay() {
    let mut sub = sub();
    sub.push(100, &read(0, 32));
    assert_eq!(sub.next_event(100), Some(120));
    // Out of the delay in cycle 120, looked up in 121 (miss), sent down in 122, filled in 123,
    // answered in 124.
    assert_eq!(reply_at(&mut sub, 100, 200).map(|r| r.0), Some(124));
    assert!(sub.is_idle());
    // A hit is answered by the look-up.
    sub.push(200, &read(0, 32));
    assert_eq!(reply_at(&mut sub, 200, 300).map(|r| r.0), Some(221));
}

#[test]
fn texture_skips_the_delay() {
    let mut sub = sub();
    sub.push(100, &Request::new(AccessKind::TextureRead, 0, 32));
    assert_eq!(reply_at(&mut sub, 100, 200).map(|r| r.0), Some(103));
}

/// A sector that misses brings its neighbour of the same 64 bytes from DRAM: a read of that merges
/// while it is on its way, hits later, and nobody answers the read that L2 made.
#[test]
fn a_sector_comes_with_its_neighbour() {
    let mut spec = volta_spec();
    let sectors_from_dram = |spec: &GpuSpec, addr: u64| {
        let mut sub = SubPartition::new(spec, SubPartitionId(0), ROP);
        sub.push(0, &read(addr, 32));
        let mut sent = Vec::new();
        for now in 0..50 {
            sub.cycle(now);
            sent.extend(pop_dram(&mut sub));
        }
        sub.push(50, &read(addr ^ 32, 32));
        for now in 50..100 {
            sub.cycle(now);
            sent.extend(pop_dram(&mut sub));
        }
        let addrs: Vec<u64> = sent.iter().map(|read| read.addr).collect();
        let mut replies = Vec::new();
        for now in 100..200 {
            sub.cycle(now);
            if let Some(read) = sent.pop() {
                sub.push_from_dram(&read);
            }
            replies.extend(sub.pop_reply().map(|reply| (reply.kind, reply.addr)));
        }
        replies.sort_unstable_by_key(|reply| reply.1);
        let both = [addr & !32, addr | 32].map(|addr| (AccessKind::GlobalRead, addr));
        assert_eq!(replies, both);
        assert!(sub.is_idle());
        sub.push(200, &read(addr ^ 32, 32));
        assert!(
            reply_at(&mut sub, 200, 200 + u64::from(ROP) + 2).is_some(),
            "a hit"
        );
        addrs
    };
    assert_eq!(sectors_from_dram(&spec, 96), [96, 64]);
    spec.partition.fetch_bytes = 64;
    assert_eq!(sectors_from_dram(&spec, 96), [96, 64]);
    let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
    sub.push(0, &read(32, 32));
    let sent: Vec<u64> = (0..50)
        .filter_map(|now| {
            sub.cycle(now);
            pop_dram(&mut sub).map(|read| read.addr)
        })
        .collect();
    assert_eq!(sent, [32, 0], "without a second read");
}

/// L2 cycles from the acknowledgement of a write of `bytes` bytes to the answer of a read that
/// waits behind it.
fn read_behind_write(spec: &GpuSpec, bytes: u16) -> Cycle {
    let mut sub = SubPartition::new(spec, SubPartitionId(0), ROP);
    sub.push(0, &read(0, 32));
    assert!(
        reply_at(&mut sub, 0, 100).is_some(),
        "the sector comes from DRAM"
    );
    sub.push(100, &write(0, bytes));
    sub.push(100, &read(0, 32));
    let (written, _) = reply_at(&mut sub, 100, 300).expect("an acknowledgement");
    let (read, _) = reply_at(&mut sub, written + 1, 300).expect("a value");
    read - written
}

/// Writes keep a bank busy as long as stated, those of a part of a sector for longer.
#[test]
fn a_write_keeps_the_bank_busy() {
    let mut spec = fermi_spec();
    assert_eq!(read_behind_write(&spec, 32), 1);
    assert_eq!(read_behind_write(&spec, 4), 1);
    spec.partition.write_cycles = 4;
    spec.partition.partial_write_cycles = 9;
    assert_eq!(read_behind_write(&spec, 32), 4);
    assert_eq!(read_behind_write(&spec, 4), 9);
}

/// A write to the sector of the write before it keeps the bank busy for one cycle.
#[test]
fn a_further_write_of_a_sector_takes_a_cycle() {
    let mut spec = fermi_spec();
    spec.partition.partial_write_cycles = 9;
    let busy_with = |second: u64| {
        let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
        for sector in [0, 32] {
            sub.push(sector, &read(sector, 32));
            let reply = reply_at(&mut sub, sector, 100);
            assert!(reply.is_some(), "the sector comes from DRAM");
        }
        let requests = [write(0, 4), write(second, 4), read(0, 32)];
        requests.iter().for_each(|request| sub.push(200, request));
        let mut reply = |after| reply_at(&mut sub, after, 400).expect("a reply").0;
        let first = reply(200);
        let second = reply(first + 1);
        assert_eq!(second - first, 9);
        reply(second + 1) - second
    };
    assert_eq!(busy_with(8), 1);
    assert_eq!(busy_with(32), 9);
}

/// A write of a part of a sector takes 9 cycles, one to the same sector after it a single one, and
/// a whole sector 4.
#[test]
fn cycles_in_which_a_bank_recovers_from_writes_are_counted() {
    let mut spec = fermi_spec();
    spec.partition.write_cycles = 4;
    spec.partition.partial_write_cycles = 9;
    let counted = |writes: &[(u64, u16)]| {
        let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
        for (at, (addr, bytes)) in writes.iter().enumerate() {
            let now = 100 * at as u64;
            sub.push(now, &write(*addr, *bytes));
            assert!(
                reply_at(&mut sub, now, now + 99).is_some(),
                "an acknowledgement"
            );
        }
        let counters = sub.counters();
        (counters.partial_writes, counters.write_recovery_cycles)
    };
    assert_eq!(counted(&[(0, 4)]), (1, 8));
    assert_eq!(counted(&[(0, 4), (8, 4)]), (2, 8));
    assert_eq!(counted(&[(0, 4), (32, 32)]), (1, 8 + 3));
}

/// GPGPU-Sim 4.2 knows a texture request by its instruction, which the parts of a line that a
/// sectored L2 splits do not have.
#[test]
fn a_texture_line_that_is_split_waits_for_the_delay() {
    let line = Request::new(AccessKind::TextureRead, 0, 128);
    let mut sectored = sub();
    sectored.push(100, &line);
    assert_eq!(sectored.next_event(100), Some(120));
    assert_eq!(reply_at(&mut sectored, 100, 200).map(|r| r.0), Some(124));
    let mut spec = fermi_spec();
    spec.partition.l2.sectored = false;
    let mut whole = SubPartition::new(&spec, SubPartitionId(0), ROP);
    whole.push(100, &line);
    assert_eq!(reply_at(&mut whole, 100, 200).map(|r| r.0), Some(103));
}

#[test]
fn a_packet_is_split_into_sectors_that_are_answered_one_by_one() {
    for (kind, addr, bytes, expected) in [
        (AccessKind::GlobalRead, 0, 128, vec![0, 32, 64, 96]),
        (AccessKind::ConstRead, 64, 64, vec![64, 96]),
        (AccessKind::GlobalWrite, 64, 64, vec![64, 96]),
        (AccessKind::GlobalRead, 96, 32, vec![96]),
        (AccessKind::L1WriteBack, 0, 128, vec![]),
    ] {
        let mut sub = sub();
        sub.push(0, &Request::new(kind, addr, bytes));
        let mut found = Vec::new();
        while let Some((_, reply)) = reply_at(&mut sub, 0, 100) {
            assert_eq!((reply.kind, reply.bytes), (kind, 32));
            found.push(reply.addr);
        }
        assert_eq!(found, expected, "{kind:?}");
        assert!(sub.is_idle());
    }
}

/// Worked by hand from GPGPU-Sim 4.2's source: the parts of a write at line + 64 get line + 128 and
/// line + 160; both parts of a constant line get its first address.
#[test]
fn inexact_sectors_are_misplaced_as_in_gpgpusim() {
    let mut spec = fermi_spec();
    spec.partition.exact_sectors = false;
    for (kind, addr, bytes, expected) in [
        (AccessKind::GlobalWrite, 0, 128, [0, 32].as_slice()),
        (AccessKind::GlobalWrite, 0, 64, &[0, 32]),
        (AccessKind::GlobalWrite, 64, 64, &[128, 160]),
        (AccessKind::GlobalWrite, 96, 32, &[96]),
        (AccessKind::ConstRead, 64, 64, &[64, 64]),
        (AccessKind::GlobalRead, 64, 64, &[64, 96]),
    ] {
        let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
        sub.push(0, &Request::new(kind, addr, bytes));
        let mut found = Vec::new();
        while let Some((_, reply)) = reply_at(&mut sub, 0, 100) {
            found.push(reply.addr);
        }
        assert_eq!(found[..expected.len()], *expected, "{kind:?} at {addr}");
        assert!(sub.is_idle());
    }
}

/// The second half of a constant line merges into the miss of the first half, and is fetched by a
/// miss of its own: an access after the first half has come waits once more.
#[test]
fn inexact_halves_of_a_constant_line_share_a_miss() {
    let mut spec = fermi_spec();
    spec.partition.exact_sectors = false;
    let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
    sub.push(0, &Request::new(AccessKind::ConstRead, 0, 64));
    let replies: Vec<_> = std::iter::from_fn(|| reply_at(&mut sub, 0, 100)).collect();
    assert_eq!(replies.len(), 2, "both are answered by one miss");
    sub.push(100, &Request::new(AccessKind::ConstRead, 0, 64));
    while reply_at(&mut sub, 100, 200).is_some() {}
    let l2 = sub.l2_counters().expect("an L2");
    use AccessOutcome::{Hit, HitReserved, Miss, SectorMiss};
    let kind = AccessKind::ConstRead;
    for outcome in [Miss, SectorMiss, Hit, HitReserved] {
        assert_eq!(l2.of_kind(kind, outcome), 1, "{outcome:?}");
    }
    assert_eq!(l2.mshr_hits(kind), 1, "of the first two alone");
}

#[test]
fn writes_are_acknowledged_by_l2() {
    let mut sub = sub();
    sub.push(0, &Request::new(AccessKind::GlobalWrite, 0, 32));
    let (now, reply) = reply_at(&mut sub, 0, 100).expect("an acknowledgement");
    assert_eq!((now, reply.kind), (21, AccessKind::GlobalWrite));
    let l2 = sub.l2_counters().expect("an L2");
    assert_eq!(l2.of_kind(AccessKind::GlobalWrite, AccessOutcome::Miss), 1);
}

#[test]
fn input_stops_when_the_queue_lacks_room_for_four() {
    let mut sub = sub();
    let mut pushed = 0;
    while sub.can_accept() {
        sub.push(0, &Request::new(AccessKind::TextureRead, pushed * 128, 32));
        pushed += 1;
    }
    assert_eq!(pushed, 64 - 3);
}

#[test]
fn copies_warm_l2() {
    let mut sub = sub();
    sub.warm(64, 96);
    sub.push(0, &read(64, 32));
    assert_eq!(reply_at(&mut sub, 0, 100).map(|r| r.0), Some(21), "a hit");
    assert_eq!(sub.counters().copied_hits, 1);
    // Another sector misses, and the first is there without the copy's help now.
    for (addr, hits) in [(96, 1), (64, 1)] {
        sub.push(100, &read(addr, 32));
        reply_at(&mut sub, 100, 200);
        assert_eq!(sub.counters().copied_hits, hits);
    }
}

#[test]
fn an_ideal_l2_always_hits() {
    let mut spec = fermi_spec();
    spec.partition.ideal_l2 = true;
    let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
    sub.push(0, &read(0, 32));
    assert_eq!(reply_at(&mut sub, 0, 100).map(|r| r.0), Some(21));
}

#[test]
fn a_version_3_l2_takes_whole_lines() {
    let mut spec = fermi_spec();
    spec.gpu.style = ModelStyle::V3;
    spec.partition.l2.sectored = false;
    spec.partition.l2.write_allocate = WriteAllocate::WriteAndRead;
    let mut sub = SubPartition::new(&spec, SubPartitionId(0), ROP);
    sub.push(0, &read(0, 128));
    assert_eq!(reply_at(&mut sub, 0, 100).map(|r| r.1.bytes), Some(128));
    // A write that misses is passed on, acknowledged by DRAM, and makes L2 read the line.
    sub.push(100, &Request::new(AccessKind::GlobalWrite, 4096, 32));
    let mut down = Vec::new();
    for now in 100..200 {
        sub.cycle(now);
        if let Some(request) = pop_dram(&mut sub) {
            down.push((request.kind, request.bytes));
            sub.push_from_dram(&request);
        }
    }
    let expected = [
        (AccessKind::GlobalWrite, 32),
        (AccessKind::L2WriteAllocate, 128),
    ];
    assert_eq!(down, expected);
    assert_eq!(
        sub.pop_reply().map(|r| r.kind),
        Some(AccessKind::GlobalWrite)
    );
    assert!(sub.pop_reply().is_none() && sub.is_idle());
}

/// A channel with its L2 banks under random traffic.
struct Bench {
    spec: GpuSpec,
    subs: Vec<SubPartition>,
    channel: DramChannel,
    now: Cycle,
}

impl Bench {
    fn new(spec: GpuSpec) -> Self {
        let sub = |id| SubPartition::new(&spec, SubPartitionId::new(id), ROP);
        Self {
            subs: vec![sub(0), sub(1)],
            channel: DramChannel::new(&spec),
            now: 0,
            spec,
        }
    }

    fn cycle(&mut self) {
        self.channel.cycle(self.now, &mut self.subs);
        for sub in &mut self.subs {
            sub.cycle(self.now);
        }
        self.now += 1;
    }

    fn is_idle(&self) -> bool {
        self.channel.is_idle() && self.subs.iter().all(SubPartition::is_idle)
    }
}

const KINDS: [AccessKind; 8] = [
    AccessKind::GlobalRead,
    AccessKind::GlobalRead,
    AccessKind::GlobalWrite,
    AccessKind::GlobalAtomic,
    AccessKind::LocalWrite,
    AccessKind::ConstRead,
    AccessKind::TextureRead,
    AccessKind::L1WriteBack,
];

/// Random requests to a few lines, so that they merge, conflict and write back.
fn traffic(spec: &GpuSpec, seed: u64, count: usize, lines: u32) -> Vec<Request> {
    let decoder = AddressDecoder::new(spec);
    let mut rng = Rng::new(seed);
    let mut requests = Vec::new();
    while requests.len() < count {
        let line = u64::from(rng.below(lines)) * 128;
        if decoder.decode(line).channel != ChannelId(0) {
            continue;
        }
        let kind = KINDS[rng.below(8) as usize];
        let part = u64::from(rng.below(4)) * 32;
        let (part, bytes) = match rng.below(3) {
            0 => (0, 128),
            1 => (part & !63, 64),
            _ => (part, 32),
        };
        requests.push(Request {
            token: requests.len() as u32,
            ..Request::new(kind, line + part, bytes)
        });
    }
    requests
}

/// Number of replies to a packet from a sectored L2.
fn replies_to(request: &Request) -> u32 {
    match request.kind {
        AccessKind::L1WriteBack => 0,
        _ => u32::from(request.bytes) / 32,
    }
}

fn conserve(spec: GpuSpec, seed: u64, lines: u32) -> Result<(), TestCaseError> {
    let requests = traffic(&spec, seed, 600, lines);
    let mut replies = vec![0; requests.len()];
    let mut bench = Bench::new(spec);
    let decoder = AddressDecoder::new(&bench.spec);
    let mut next = 0;
    let mut rng = Rng::new(seed);
    while next < requests.len() || !bench.is_idle() {
        prop_assert!(bench.now < 200_000, "stuck: {replies:?}");
        if let Some(request) = requests.get(next) {
            let bank = decoder.sub_partition(request.addr).index();
            if bench.subs[bank].can_accept() {
                bench.subs[bank].push(bench.now, request);
                next += 1;
            }
        }
        bench.cycle();
        for sub in &mut bench.subs {
            if rng.below(3) > 0
                && let Some(reply) = sub.pop_reply()
            {
                prop_assert_eq!(reply.kind, requests[reply.token as usize].kind);
                replies[reply.token as usize] += 1;
            }
        }
    }
    for (request, got) in requests.iter().zip(replies) {
        prop_assert_eq!(got, replies_to(request), "{:?}", request);
    }
    Ok(())
}

/// Command cycles of DRAM in a core cycle.
fn ticks(now: Cycle) -> u64 {
    [1, 2, 1, 0, 3][now as usize % 5]
}

/// Observable effects of random traffic: replies with their cycles and, after every `period`
/// cycles, statistics. `at_once`: one call runs all command cycles of a core cycle.
fn watch(spec: &GpuSpec, (seed, lines): (u64, u32), period: Cycle, at_once: bool) -> Vec<String> {
    let requests = traffic(spec, seed, 300, lines);
    let mut bench = Bench::new(spec.clone());
    let decoder = AddressDecoder::new(spec);
    let (mut log, mut next) = (Vec::new(), 0);
    while next < requests.len() || !bench.is_idle() {
        let now = bench.now;
        if now.is_multiple_of(period) {
            log.push(format!("{:?}", bench.channel.counters()));
            log.push(format!("{:?}", bench.channel.detail()));
        }
        if let Some(request) = requests.get(next) {
            let bank = decoder.sub_partition(request.addr).index();
            if bench.subs[bank].can_accept() {
                bench.subs[bank].push(now, request);
                next += 1;
            }
        }
        let Bench { channel, subs, .. } = &mut bench;
        if at_once {
            let (channels, banks) = (std::slice::from_mut(channel), subs.len());
            DramChannel::cycle_all(channels, (now, ticks(now)), subs, banks);
        } else {
            (0..ticks(now)).for_each(|_| channel.cycle(now, subs));
        }
        for sub in &mut bench.subs {
            sub.cycle(now);
            if now % 97 > 60 {
                log.extend(
                    sub.pop_reply()
                        .map(|r| format!("{now} {} {}", r.token, r.addr)),
                );
            }
        }
        bench.now += 1;
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Also with write queues, with little room for replies, and with a short fixed delay or none.
    #[test]
    fn command_cycles_may_run_in_one_call(
        seed: u64,
        lines in 20_u32..4000,
        period in 1_u64..150,
        returns in 1_u32..20,
        delay in 0_u32..5,
    ) {
        let (fermi, volta) = (fermi_spec(), volta_spec());
        let mut apart = fermi_spec();
        (apart.dram.write_queue.size, apart.dram.write_queue.high) = (8, 6);
        apart.dram.write_queue.low = 3;
        let mut narrow = fermi_spec();
        (narrow.dram.queue, narrow.dram.return_queue) = (64, returns);
        // L2 would keep replies until they can leave.
        narrow.partition.l2.enabled = false;
        let mut short = fermi_spec();
        short.partition.dram_latency_cycles = delay;
        for spec in [fermi, volta, apart, narrow, short] {
            let run = |at_once| watch(&spec, (seed, lines), period, at_once);
            prop_assert_eq!(run(false), run(true));
        }
    }

    #[test]
    fn every_request_is_answered_once(seed: u64, lines in 20_u32..4000) {
        conserve(fermi_spec(), seed, lines)?;
        conserve(volta_spec(), seed, lines * 8)?;
    }

    #[test]
    fn tiny_queues_lose_nothing(seed: u64, lines in 20_u32..4000) {
        let mut spec = fermi_spec();
        let partition = &mut spec.partition;
        (partition.noc_to_l2, partition.l2_to_dram) = (4, 1);
        (partition.dram_to_l2, partition.l2_to_noc) = (1, 1);
        (partition.l2.sets, partition.l2.ways, partition.l2.mshr_entries) = (1, 2, 3);
        partition.l2.miss_queue = 2;
        (spec.dram.queue, spec.dram.return_queue) = (1, 1);
        conserve(spec, seed, lines)?;
    }

    #[test]
    fn skipping_when_told_to_changes_nothing(seed: u64, gap in 1_u64..400) {
        let spec = fermi_spec();
        let requests = traffic(&spec, seed, 30, 400);
        let run = |skips: bool| {
            let mut bench = Bench::new(spec.clone());
            let decoder = AddressDecoder::new(&spec);
            let mut log = Vec::new();
            for (n, request) in requests.iter().enumerate() {
                let bank = decoder.sub_partition(request.addr).index();
                bench.subs[bank].push(bench.now, request);
                let end = (n as u64 + 1) * gap;
                while bench.now < end {
                    let now = bench.now;
                    let quiet = |at: Option<Cycle>| at.is_none_or(|at| at > now);
                    let can_skip = quiet(bench.channel.next_event(now))
                        && bench.subs.iter().all(|s| {
                            quiet(s.next_event(now)) && s.dram_front().is_none()
                        });
                    if skips && can_skip {
                        bench.channel.skip(1);
                        bench.subs.iter_mut().for_each(|s| s.skip(1));
                        bench.now += 1;
                    } else {
                        bench.cycle();
                    }
                    for sub in &mut bench.subs {
                        log.extend(sub.pop_reply().map(|r| (bench.now, r.token, r.addr)));
                    }
                }
            }
            (log, bench.channel.counters())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
