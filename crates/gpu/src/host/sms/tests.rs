//! Steps of SMs in groups.

use super::*;
use crate::host::testing::{idle_sm, reply_to};
use std::panic::{AssertUnwindSafe, catch_unwind};
use warploom_config::preset;

const SMS: usize = 5;
/// Alone, fewer than the SMs, as many, more.
const THREADS: [usize; 4] = [1, 3, SMS, 9];

fn array(threads: usize) -> SmArray {
    array_of(SMS, threads)
}

fn array_of(sms: usize, threads: usize) -> SmArray {
    SmArray::new((0..sms).map(idle_sm).collect(), threads)
}

/// Schedulers of an SM.
fn schedulers() -> u64 {
    let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    u64::from(spec.sm.schedulers)
}

/// Runs a step. Returns the SMs that ran in it.
fn step(sms: &mut SmArray, from: Cycle, to: Cycle) -> Vec<usize> {
    let mut memory = DeviceMemory::new(1 << 16);
    let at = memory.alloc(0, 16).expect("room");
    memory.fill(0, at, 7, 16).expect("it is there");
    let mut beside = 0;
    sms.run((from, to), &memory, |_| beside += 1);
    sms.end_step();
    assert_eq!(beside, 1, "the caller's own work is done once");
    let mut bytes = [0; 16];
    memory.read(0, at, &mut bytes).expect("memory is back");
    assert_eq!(bytes, [7; 16]);
    let mut ran = Vec::new();
    each_member!(sms.ran(), number => { ran.push(number); });
    ran
}

/// SMs begin awake; one without work sleeps until it is woken, and then runs in the step that
/// reaches that cycle, not in the one before.
#[test]
fn an_sm_runs_from_the_cycle_it_is_woken_for() {
    for threads in THREADS {
        let mut sms = array(threads);
        assert_eq!(step(&mut sms, 0, 4), [0, 1, 2, 3, 4]);
        assert_eq!(sms.next_wake(), Cycle::MAX);
        sms.wake(3, 9);
        sms.wake(1, 8);
        sms.wake(1, 20);
        assert_eq!(sms.next_wake(), 8, "a later call does not put it off");
        assert_eq!(step(&mut sms, 4, 8), [0; 0]);
        assert_eq!(step(&mut sms, 8, 9), [1]);
        assert_eq!(sms.next_wake(), 9);
        assert_eq!(step(&mut sms, 9, 10), [3]);
    }
}

/// SMs may be more than a word has bits.
#[test]
fn many_sms_run() {
    for threads in [1, 2] {
        let mut sms = array_of(66, threads);
        assert_eq!(step(&mut sms, 0, 1), (0..66).collect::<Vec<_>>());
        sms.wake(3, 5);
        sms.wake(65, 5);
        assert_eq!(step(&mut sms, 5, 6), [3, 65]);
    }
}

/// Replies count as untaken until the SM takes them, whoever runs it.
#[test]
fn replies_are_untaken_once_they_come() {
    for threads in THREADS {
        let mut sms = array(threads);
        step(&mut sms, 0, 1);
        (0..2).for_each(|_| sms.reply(4, 9, &reply_to(4)));
        assert_eq!((sms.outcome(4).untaken, sms.outcome(4).wake_at), (2, 9));
        // The SM runs in cycle 7, before the replies of cycle 9 can be taken.
        sms.wake(4, 7);
        assert_eq!(step(&mut sms, 7, 8), [4]);
        assert_eq!((sms.outcome(4).untaken, sms.outcome(4).wake_at), (2, 9));
    }
}

/// Every SM runs every cycle of a step once, whoever runs it. An SM without blocks counts a
/// slot a scheduler and cycle.
#[test]
fn a_step_runs_each_sm_once() {
    let schedulers = schedulers();
    for threads in THREADS {
        let mut sms = array(threads);
        for round in 0..50 {
            (0..SMS).for_each(|sm| sms.wake(sm, 3 * round));
            assert_eq!(step(&mut sms, 3 * round, 3 * round + 3).len(), SMS);
        }
        let mut seen = Vec::new();
        sms.for_each(|index, sm| {
            assert_eq!(sm.counters.inactive_slots, 150 * schedulers);
            seen.push(index);
        });
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }
}

/// When the caller's own work panics, workers are done before anybody looks at their SMs.
#[test]
fn a_panic_of_the_caller_waits_for_workers() {
    let schedulers = schedulers();
    for threads in THREADS {
        let mut sms = array(threads);
        let memory = DeviceMemory::new(1 << 16);
        let ours = || sms.run((0, 1000), &memory, |_| panic!("ours"));
        assert!(catch_unwind(AssertUnwindSafe(ours)).is_err());
        for group in sms.groups.iter_mut().skip(1) {
            for number in group.range() {
                let slots = group.sm(number).counters.inactive_slots;
                assert_eq!(slots, 1000 * schedulers);
            }
        }
    }
}

/// A bug in a stage shows as its panic on the caller's thread, not as a hang.
#[test]
fn a_panic_comes_to_the_caller() {
    let nobodys = Reply {
        token: u32::MAX,
        ..reply_to(0)
    };
    for threads in THREADS {
        let mut sms = array(threads);
        sms.for_each(|_, sm| sm.link.deliver(0, &nobodys));
        let run = AssertUnwindSafe(|| step(&mut sms, 0, 10));
        assert!(catch_unwind(run).is_err(), "{threads} threads");
    }
}
