//! Quiet cycles against cycles that are all run.

use crate::memory::MemorySystem;
use crate::memory::backend::Deferred;
use crate::memory::tests::{request, volta};
use warploom_base::{Cycle, SmId};
use warploom_config::{GpuSpec, preset};
use warploom_mem::AccessKind;
use warploom_sm::Outgoing;

/// Cycles of a test.
const CYCLES: Cycle = 20_000;

/// The cycles in which SMs send something: few, so that memory is often quiet.
fn sends(now: Cycle) -> bool {
    matches!(now % 1_300, 0 | 2 | 3 | 170 | 600..640)
}

/// Sends a load, a store or an atomic from some SMs.
fn send(memory: &mut MemorySystem, now: Cycle) {
    for sm in 0..3_u64 {
        let mut request = request(match (now + sm) % 5 {
            0 => AccessKind::GlobalWrite,
            1 => AccessKind::GlobalAtomic,
            _ => AccessKind::GlobalRead,
        });
        request.addr += (now * 7 + sm * 13) % 64 * 4096;
        request.sm = SmId::new(sm as usize);
        request.issued_at = now as u32;
        let sent_at = now;
        memory.take(sm as usize, &Outgoing { sent_at, request });
    }
}

/// Runs memory: every cycle by itself, or all quiet cycles at once. Returns what SMs see of it, its
/// counters, and the number of runs.
fn run(spec: &GpuSpec, together: bool) -> (Vec<String>, Vec<String>, usize) {
    let mut memory = MemorySystem::new(spec);
    let (mut seen, mut now, mut runs) = (Vec::new(), 0, 0);
    while now < CYCLES {
        if sends(now) {
            send(&mut memory, now);
        }
        let next_sent = (now + 1..CYCLES).find(|at| sends(*at));
        let to = match together {
            true => memory.quiet_until(now).min(next_sent.unwrap_or(CYCLES)),
            false => now + 1,
        };
        match together {
            true => memory.run(now, to.max(now + 1), &mut Deferred),
            false => memory.cycle(now, &mut Deferred),
        }
        now = to.max(now + 1);
        runs += 1;
        memory.take_credits(|sm, flits| seen.push(format!("{now}: {sm} {flits}")));
        memory.take_replies(|sm, at, reply| seen.push(format!("{at}: {sm} {reply:?}")));
        memory.end_exchange(std::iter::repeat_n(0, spec.gpu.sms as usize));
    }
    let banks = memory.partitions().iter();
    let of_bank = |bank: &warploom_mem::partition::SubPartition| {
        format!("{:?} {:?}", bank.counters(), bank.l2_counters())
    };
    let mut counted: Vec<String> = banks.map(of_bank).collect();
    let channels = memory.channels().iter();
    counted.extend(channels.map(|c| format!("{:?} {:?}", c.counters(), c.detail())));
    let (requests, replies) = memory.networks();
    counted.push(format!(
        "{:?} {:?}",
        requests.counters(),
        replies.counters()
    ));
    let arrivals = (memory.arrival_cycles, memory.crowding.cycles);
    counted.push(format!("{:?} {arrivals:?}", memory.stalls()));
    (seen, counted, runs)
}

#[test]
fn quiet_cycles_change_nothing() {
    let named = |name| preset(name).unwrap_or_else(|errors| panic!("{errors}"));
    for name in ["gtx480", "gtx480-gpgpusim4", "maxwell-duet", "h200-hopper"] {
        let spec = named(name);
        let (seen, counted, every) = run(&spec, false);
        let other = run(&spec, true);
        assert!(seen.len() > 1_000, "{name}: {} seen", seen.len());
        assert!(other.0 == seen, "{name}");
        assert_eq!(other.1, counted, "{name}");
        assert_eq!(every as Cycle, CYCLES);
        assert!(other.2 < every / 2, "{name}: {} runs", other.2);
    }
}

/// A request ends the quiet cycles that were found before it.
#[test]
fn a_request_ends_quiet_cycles() {
    let mut memory = MemorySystem::new(&volta());
    assert_eq!(memory.quiet_until(5), Cycle::MAX);
    send(&mut memory, 5);
    assert_eq!(memory.quiet_until(5), 5);
    assert_eq!(memory.quiet_until(6), 6);
}
