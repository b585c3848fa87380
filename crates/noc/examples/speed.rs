//! Host time of simulated events of the memory system of preset `gtx480`: coalescing, cache accesses,
//! and core cycles of networks, L2 and DRAM under saturating loads.
//!
//! `cargo run --release -p warploom-noc --example speed`

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::hint::black_box;
use std::time::Instant;
use warploom_base::{Rng, SmId, SubPartitionId};
use warploom_config::{Coalescing, GpuSpec, preset};
use warploom_mem::address::AddressDecoder;
use warploom_mem::cache::{Cache, Level};
use warploom_mem::coalesce::{Transactions, coalesce};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_mem::{AccessKind, Request};
use warploom_noc::Network;

fn request(kind: AccessKind, addr: u64, sm: u16) -> Request {
    Request {
        sm: SmId(sm),
        ..Request::new(kind, addr, 128)
    }
}

/// Processor time in nanoseconds, where the system provides it (Linux).
fn processor_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Prints the time of one of `count` events: processor time if known, else elapsed time.
fn report(what: &str, count: u64, unit: &str, run: impl FnOnce()) {
    let (start, before) = (Instant::now(), processor_ns());
    run();
    let elapsed = start.elapsed().as_nanos() as u64;
    let ns = match (before, processor_ns()) {
        (Some(before), Some(after)) => after - before,
        _ => elapsed,
    };
    println!("{what:<44} {:9.1} ns/{unit}", ns as f64 / count as f64);
}

fn coalescing() {
    const COUNT: u64 = 1_000_000;
    let mut rng = Rng::new(1);
    let scattered = std::array::from_fn(|_| u64::from(rng.next_u32()) & !3);
    let unit = std::array::from_fn(|lane| 4 * lane as u64);
    for (what, addrs) in [
        ("coalesce, unit stride", unit),
        ("coalesce, scattered", scattered),
    ] {
        let mut out = Transactions::new();
        report(what, COUNT, "warp", || {
            for _ in 0..COUNT {
                coalesce(
                    Coalescing::Segments,
                    false,
                    4,
                    black_box(&addrs),
                    !0,
                    &mut out,
                );
            }
        });
        black_box(out.len());
    }
}

fn caches(spec: &GpuSpec) {
    const COUNT: u64 = 1_000_000;
    let new = || Cache::new(&spec.l1d, Level::L1, spec.gpu.style);
    let mut cache = new();
    cache.access(0, &request(AccessKind::GlobalRead, 0, 0));
    if let Some(down) = cache.pop_miss() {
        cache.fill(0, down.entry, down.bytes);
    }
    report("L1D hit", COUNT, "access", || {
        for now in 0..COUNT {
            black_box(cache.access(now, &request(AccessKind::GlobalRead, 0, 0)));
        }
    });
    let mut cache = new();
    report("L1D miss, fill and answer", COUNT, "access", || {
        for now in 0..COUNT {
            cache.access(now, &request(AccessKind::GlobalRead, now * 128, 0));
            if let Some(down) = cache.pop_miss() {
                cache.fill(now, down.entry, down.bytes);
            }
            black_box(cache.next_ready());
        }
    });
    let mut cache = new();
    for line in 0..64 {
        cache.access(0, &request(AccessKind::GlobalRead, line * 128, 0));
    }
    report("L1D failed attempt", COUNT, "access", || {
        for now in 0..COUNT {
            black_box(cache.access(now, &request(AccessKind::GlobalRead, 1 << 20, 0)));
        }
    });
}

/// Networks, L2 and DRAM of a GPU.
struct Memory {
    decoder: AddressDecoder,
    requests: Network,
    replies: Network,
    subs: Vec<SubPartition>,
    channels: Vec<DramChannel>,
    per_channel: usize,
    answered: u64,
}

impl Memory {
    fn new(spec: &GpuSpec) -> Self {
        let (sms, channels) = (spec.gpu.sms as usize, spec.gpu.channels as usize);
        let per_channel = spec.gpu.sub_partitions_per_channel as usize;
        let subs = channels * per_channel;
        let sub = |i| SubPartition::new(spec, SubPartitionId::new(i), spec.partition.rop_cycles);
        Self {
            decoder: AddressDecoder::new(spec),
            requests: Network::new(&spec.noc, sms, subs, 1),
            replies: Network::new(&spec.noc, subs, sms, 2),
            subs: (0..subs).map(sub).collect(),
            channels: (0..channels).map(|_| DramChannel::new(spec)).collect(),
            per_channel,
            answered: 0,
        }
    }

    fn cycle(&mut self, now: u64, sms: usize, mut next: impl FnMut(usize) -> Option<Request>) {
        for sm in 0..sms {
            self.answered += u64::from(self.replies.pop(sm).is_some());
        }
        for (id, sub) in self.subs.iter_mut().enumerate() {
            if let Some(reply) = sub.reply_front().copied()
                && self.replies.can_inject(id, reply.reply_bytes())
            {
                sub.pop_reply();
                self.replies
                    .inject(id, reply.sm.index(), reply, reply.reply_bytes());
            }
        }
        let groups = self.subs.chunks_mut(self.per_channel);
        for (channel, subs) in self.channels.iter_mut().zip(groups) {
            channel.cycle(now, subs);
        }
        for (id, sub) in self.subs.iter_mut().enumerate() {
            if sub.can_accept()
                && let Some(request) = self.requests.pop(id)
            {
                sub.push(now, &request);
            }
            sub.cycle(now);
        }
        self.requests.cycle();
        self.replies.cycle();
        for sm in 0..sms {
            if self.requests.can_inject(sm, 136)
                && let Some(request) = next(sm)
            {
                let to = self.decoder.sub_partition(request.addr).index();
                self.requests
                    .inject(sm, to, request, request.request_bytes());
            }
        }
    }
}

fn memory(spec: &GpuSpec) {
    const COUNT: u64 = 100_000;
    let sms = spec.gpu.sms as usize;
    let idle = |_: &mut Rng, _: usize| None;
    let streaming = |rng: &mut Rng, sm: usize| {
        // Each SM walks its own megabyte; one access in four writes.
        let line = u64::from(rng.next_u32()) % 4 + (sm as u64) * 8192;
        let kind = match rng.below(4) {
            0 => AccessKind::GlobalWrite,
            _ => AccessKind::GlobalRead,
        };
        Some((kind, line))
    };
    let random =
        |rng: &mut Rng, _: usize| Some((AccessKind::GlobalRead, rng.below(1 << 20).into()));
    type Pattern<'a> = &'a dyn Fn(&mut Rng, usize) -> Option<(AccessKind, u64)>;
    let patterns: [(&str, Pattern<'_>); 3] = [
        ("memory cycle, idle", &idle),
        ("memory cycle, streaming", &streaming),
        ("memory cycle, random reads", &random),
    ];
    for (what, pattern) in patterns {
        let mut memory = Memory::new(spec);
        let mut rng = Rng::new(3);
        let mut walked = vec![0_u64; sms];
        report(what, COUNT, "cycle", || {
            for now in 0..COUNT {
                memory.cycle(now, sms, |sm| {
                    let (kind, line) = pattern(&mut rng, sm)?;
                    walked[sm] += 1;
                    Some(request(kind, (line + walked[sm]) * 128, sm as u16))
                });
            }
        });
        let (mut busy, mut cycles) = (0, 0);
        for channel in &memory.channels {
            busy += channel.counters().data_cycles;
            cycles += channel.counters().cycles;
        }
        println!(
            "  {} replies, DRAM {:.1}% busy",
            memory.answered,
            100.0 * busy as f64 / cycles as f64
        );
    }
}

fn main() {
    let spec = match preset("gtx480") {
        Ok(spec) => spec,
        Err(errors) => {
            println!("{errors:?}");
            return;
        }
    };
    coalescing();
    caches(&spec);
    memory(&spec);
}
