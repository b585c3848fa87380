//! The memory system in windows against single cycles.

use crate::host::untaken::UntakenCounts;
use crate::memory::MemorySystem;
use crate::memory::backend::Deferred;
use crate::memory::tests::{request, volta};
use std::sync::Arc;
use warploom_base::Cycle;
use warploom_config::{GpuSpec, preset};
use warploom_mem::AccessKind;
use warploom_sm::Outgoing;

/// Cycles of a test.
const CYCLES: Cycle = 3_000;

/// Sends what SMs send in a cycle: bursts with pauses, so that inputs of L2 fill and become empty.
fn send(memory: &mut MemorySystem, now: Cycle) {
    if now % 500 > 200 {
        return;
    }
    for sm in 0..4 {
        let kind = match (now + sm) % 3 {
            0 => AccessKind::GlobalWrite,
            _ => AccessKind::GlobalRead,
        };
        let mut request = request(kind);
        request.addr += (now * 7 + sm * 13) % 64 * 4096;
        request.sm = warploom_base::SmId::new(sm as usize);
        request.issued_at = now as u32;
        let sent_at = now;
        memory.take(sm as usize, &Outgoing { sent_at, request });
    }
}

/// Runs memory for windows of at most `window` cycles, or single cycles if that is 0. `lends`: a
/// task runs the backend a window ahead. Returns all that SMs see of it, and its counters.
fn run(spec: &GpuSpec, window: Cycle, lends: bool) -> (Vec<String>, Vec<String>) {
    let mut memory = MemorySystem::new(spec);
    let (mut seen, mut now, mut backend_at) = (Vec::new(), 0, 0);
    while now < CYCLES {
        let from = now;
        let span = (from.max(backend_at), CYCLES.min(from + window));
        let to = match window {
            0 => from + 1,
            _ => memory.run_backend(span, from, &mut Deferred),
        };
        memory.begin_requests();
        let task = lends.then(|| memory.lend_backend(to, CYCLES.min(to + window)));
        let mut lent = task.flatten();
        if let Some(task) = &mut lent {
            while task.advance() {}
            task.finish();
        }
        while now < to {
            match window {
                0 => memory.run(now, now + 1, &mut Deferred),
                _ => memory.run_requests(now),
            }
            memory.take_credits(|sm, flits| seen.push(format!("{now}: {sm} {flits}")));
            send(&mut memory, now);
            now += 1;
        }
        backend_at = lent.map_or(to, |task| memory.take_backend(task));
        if from % 3 == 0 {
            // Its input may be applied before it is lent again.
            memory.apply_pending();
        }
        memory.take_replies(|sm, at, reply| seen.push(format!("{at}: {sm} {reply:?}")));
        memory.end_exchange(std::iter::repeat_n(0, spec.gpu.sms as usize));
    }
    memory.apply_pending();
    seen.sort();
    let (requests, replies) = memory.networks();
    let parts = memory.partitions().iter();
    let mut counted: Vec<String> = parts
        .map(|p| format!("{:?} {:?}", p.counters(), p.l2_counters()))
        .collect();
    counted.push(format!(
        "{:?} {:?}",
        requests.counters(),
        replies.counters()
    ));
    let arrivals = (memory.arrival_cycles, memory.crowding.cycles);
    counted.push(format!("{:?} {arrivals:?}", memory.stalls()));
    (seen, counted)
}

/// The backend stops where an SM may have no room for replies, and goes on when the SM notes that
/// it has taken some, in the window before.
#[test]
fn a_task_waits_for_sms_to_take_replies() {
    let spec = preset("gtx480-gpgpusim4").unwrap_or_else(|errors| panic!("{errors}"));
    let mut memory = MemorySystem::new(&spec);
    for sent_at in 0..100 {
        let request = request(AccessKind::GlobalRead);
        memory.take(0, &Outgoing { sent_at, request });
    }
    let (mut now, mut waiting) = (0, 0);
    while waiting < 20 {
        memory.run(now, now + 1, &mut Deferred);
        memory.take_replies(|_, _, _| waiting += 1);
        memory.end_exchange((0..spec.gpu.sms).map(|sm| waiting * u32::from(sm == 0)));
        now += 1;
    }
    let counts = Arc::new(UntakenCounts::new(spec.gpu.sms as usize));
    let mut task = memory.lend_backend(now, now + 10_000).expect("it is here");
    task.follow(Arc::clone(&counts), 64);
    let mut goes_on = |said: Option<(Cycle, u32)>| {
        if let Some((began, waiting)) = said {
            counts.note(0, began, waiting);
        }
        std::iter::from_fn(|| task.advance().then_some(())).count() > 0
    };
    assert!(goes_on(None), "there is room for some");
    assert!(
        !goes_on(Some((32, 0))),
        "it has taken them in another window"
    );
    assert!(!goes_on(Some((64, 20))), "it has taken none");
    assert!(goes_on(Some((64, 13))));
    assert!(goes_on(Some((64, 0))));
    assert!(!task.is_done());
    task.finish();
    memory.take_backend(task);
    let mut came = 0;
    memory.take_replies(|_, _, _| came += 1);
    assert_eq!(came, spec.sm.ejection_fifo + 2 * spec.gpu.link_cycles);
}

/// However long windows are, SMs see what they see of single cycles.
#[test]
fn decoupled_parts_are_as_one() {
    let fermi = preset("gtx480-gpgpusim4").unwrap_or_else(|errors| panic!("{errors}"));
    for spec in [volta(), fermi] {
        let (seen, counted) = run(&spec, 0, false);
        assert!(seen.len() > 1000, "{} seen", seen.len());
        for window in [1, 2, 7, 32] {
            for lends in [false, true] {
                let other = run(&spec, window, lends);
                assert!(other.0 == seen, "{window} {lends}");
                assert_eq!(other.1, counted, "{window} {lends}");
            }
        }
    }
}
