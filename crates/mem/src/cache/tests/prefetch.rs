//! Reads ahead of need.

use super::*;

/// A prefetched line comes like that of a miss: it answers the prefetch, then the read that merged
/// with it, and is there. The prefetch is no access, and leaves the last MSHR to others.
#[test]
fn a_prefetch_brings_a_line_and_is_no_access() {
    let mut cache = cache(|spec| spec.mshr_entries = 2);
    assert!(cache.can_prefetch());
    assert!(cache.prefetch(0, &read(0, 128), 0));
    assert!(!cache.has(0) && !cache.is_missing(64), "it is on its way");
    assert!(!cache.can_prefetch(), "one MSHR is left");
    assert_eq!(cache.access(1, &read(64, 32)).outcome, HitReserved);
    assert_eq!(cache.counters().accesses(), 1);
    let down = cache.pop_miss().expect("the line");
    assert_eq!((down.kind, down.addr, down.bytes), (GlobalRead, 0, 128));
    cache.fill(9, down.entry, down.bytes);
    let answered = std::iter::from_fn(|| cache.next_ready().map(|request| request.addr));
    assert_eq!(answered.collect::<Vec<_>>(), [0, 64]);
    assert!(cache.has(0) && cache.is_idle() && cache.can_prefetch());
    assert_eq!(cache.counters().accesses(), 1);
}

/// Lines of a set on their way cannot be replaced. A full miss queue has no room: a read
/// sends up to two requests.
#[test]
fn a_prefetch_waits_for_room() {
    let mut cache = cache(|spec| spec.miss_queue = 4);
    assert!(cache.prefetch(0, &read(0, 128), 0) && cache.prefetch(1, &read(SET, 128), SET));
    assert!(!cache.prefetch(2, &read(2 * SET, 128), 2 * SET), "two ways");
    assert!(cache.is_missing(2 * SET));
    settle(&mut cache, 3);
    assert!(cache.prefetch(4, &read(2 * SET, 128), 2 * SET));
    let mut lines = (1..)
        .filter(|line| line % 4 != 0)
        .map(|line: u64| read(line * 128, 128));
    while cache.can_prefetch() {
        assert!(
            lines
                .next()
                .is_some_and(|line| cache.prefetch(5, &line, line.addr))
        );
    }
    assert_eq!(cache.pop_miss().map(|down| down.addr), Some(2 * SET));
    assert!(cache.can_prefetch());
}
