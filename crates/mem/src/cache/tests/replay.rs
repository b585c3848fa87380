//! Accesses without timing against timed ones.

use super::*;

const KINDS: [(ReplayKind, AccessKind); 3] = [
    (ReplayKind::Read, GlobalRead),
    (ReplayKind::Write, GlobalWrite),
    (ReplayKind::Atomic, GlobalAtomic),
];

/// An access of `count` bytes from `addr` on, replayed or timed and served at once. Returns whether
/// it hits.
fn access(
    cache: &mut Cache,
    replays: bool,
    now: Cycle,
    kind: usize,
    (addr, count): (u64, u32),
) -> bool {
    let (replayed, timed) = KINDS[kind];
    let bytes = ((1 << count) - 1) << (addr % SEGMENT_BYTES);
    if replays {
        let segment = addr & !(SEGMENT_BYTES - 1);
        let kind = replayed;
        let access = Replay {
            segment,
            bytes,
            kind,
        };
        return cache.replay(now, addr, addr, &access);
    }
    let mut request = Request::new(timed, addr, count as u16);
    request.byte_mask = bytes;
    let outcome = cache.access(now, &request).outcome;
    settle(cache, now);
    outcome == Hit
}

/// A cache that replays accesses finds and evicts what one finds and evicts that takes them as
/// requests, each of which is served before the next.
#[test]
fn a_replayed_access_has_the_effect_of_a_served_one() {
    let back = WritePolicy::WriteBack;
    let writes = [
        (WritePolicy::LocalBackGlobalEvict, WriteAllocate::None),
        (WritePolicy::WriteThrough, WriteAllocate::LazyFetchOnRead),
        (back, WriteAllocate::None),
        (back, WriteAllocate::WriteAndRead),
        (back, WriteAllocate::FetchOnWrite),
        (back, WriteAllocate::LazyFetchOnRead),
    ];
    for (nth, write) in writes.into_iter().enumerate() {
        for sectored in [false, true] {
            let mut rng = warploom_base::Rng::new(nth as u64);
            let new = || {
                cache(|spec| {
                    (spec.write, spec.write_allocate) = write;
                    spec.sectored = sectored;
                })
            };
            let (mut replayed, mut served) = (new(), new());
            let mut hits = 0;
            for now in 0..5000 {
                let kind = rng.below(8).saturating_sub(5) as usize;
                // A quarter of the writes are of a part of a sector.
                let whole = if sectored { 32 } else { 127 };
                let count = if rng.below(4) == 0 { 8 } else { whole };
                let addr = match sectored {
                    true => u64::from(rng.below(48)) * 32,
                    false => u64::from(rng.below(12)) * SEGMENT_BYTES,
                };
                let [a, b] = [(&mut replayed, true), (&mut served, false)]
                    .map(|(cache, replays)| access(cache, replays, now, kind, (addr, count)));
                assert_eq!(a, b, "{write:?}, sectors {sectored}, access {now}");
                assert_eq!(replayed.tags.dirty_lines(), served.tags.dirty_lines());
                hits += u32::from(a);
            }
            assert!((500..4500).contains(&hits), "{hits}");
        }
    }
}

#[test]
fn an_access_asks_the_next_level_for_what_is_missing() {
    let mut cache = cache(|spec| spec.sectored = true);
    let read = Replay {
        segment: 256,
        bytes: 0xff << 28,
        kind: ReplayKind::Read,
    };
    // Two sectors, whole.
    let asked = cache.replay_all(0, &read).expect("a miss");
    assert_eq!(asked.bytes, u128::from(u64::MAX));
    assert_eq!(cache.replay_all(1, &read), None);
    // A write goes down as it is.
    let write = Replay {
        kind: ReplayKind::Write,
        ..read
    };
    assert_eq!(cache.replay_all(2, &write), Some(write));
    assert_eq!(cache.counters(), &CacheCounters::default());
}
