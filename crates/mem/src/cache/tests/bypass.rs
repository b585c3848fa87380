//! Reads that go past the cache.

use super::*;

/// A bypassing read goes down as it is, once for each access, takes no line and no MSHR, and counts
/// as a miss; its reply names no entry, so that it is not for the cache.
#[test]
fn a_bypassing_read_takes_no_line() {
    let mut cache = cache(|_| {});
    for now in 0..2 {
        let access = cache.access_or_bypass(now, &read(64, 32), || true);
        assert_eq!(access.outcome, Miss);
        assert_eq!(access.sent, Sent::Bypass);
    }
    for _ in 0..2 {
        let down = cache.pop_miss().expect("the read itself");
        assert_eq!(
            (down.addr, down.bytes, down.entry),
            (64, 32, Request::NO_ENTRY)
        );
    }
    assert!(cache.pop_miss().is_none() && cache.is_idle());
    assert!(!cache.has(64));
    assert_eq!(cache.counters().misses(), 2);
}

/// The policy is not asked about reads that hit, reads that merge with a miss, and writes.
#[test]
fn only_reads_of_absent_lines_are_decided_about() {
    let mut cache = cache(|spec| spec.allocate = AllocatePolicy::OnFill);
    let ask = || panic!("asked about a read that needs no line");
    assert_eq!(
        cache.access_or_bypass(0, &read(0, 128), || false).outcome,
        Miss
    );
    // The line is on its way, and no tag says so: it is allocated on the fill.
    let merged = cache.access_or_bypass(1, &read(64, 32), ask);
    assert_eq!((merged.outcome, merged.sent), (Miss, Sent::Nothing));
    assert_eq!(cache.counters().mshr_hits(GlobalRead), 1);
    settle(&mut cache, 2);
    assert_eq!(cache.access_or_bypass(3, &read(0, 32), ask).outcome, Hit);
    assert_eq!(
        cache.access_or_bypass(4, &write(SET, 32), ask).sent,
        Sent::Write
    );
}

/// A full set refuses reads that want a line, and lets bypassing ones pass. A full miss queue
/// refuses both until a request has left it.
#[test]
fn bypassing_needs_room_in_the_miss_queue_alone() {
    let mut cache = cache(|spec| (spec.ways, spec.miss_queue) = (1, 3));
    cache.access(0, &read(0, 128));
    let refused = cache.access_or_bypass(1, &read(SET, 128), || false);
    let full = ReservationFail(FailReason::LineAllocFail);
    assert_eq!(refused.outcome, full);
    let other = read(2 * SET, 128);
    for now in 2..4 {
        assert_eq!(
            cache.access_or_bypass(now, &other, || true).sent,
            Sent::Bypass
        );
    }
    let full = ReservationFail(FailReason::MissQueueFull);
    assert_eq!(cache.access_or_bypass(4, &other, || true).outcome, full);
    assert_eq!(cache.access_or_bypass(5, &other, || true).outcome, full);
    cache.pop_miss();
    assert_eq!(
        cache.access_or_bypass(6, &other, || true).sent,
        Sent::Bypass
    );
}
