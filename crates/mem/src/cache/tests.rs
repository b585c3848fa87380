//! Write and allocation policies, limits of MSHRs, reasons of failure, ports and sectors.

mod bypass;
mod prefetch;
mod random;
mod replay;

use super::*;
use crate::AccessKind;
use crate::testing::{cache_spec, read, write};
use AccessOutcome::{Hit, HitReserved, Miss, ReservationFail, SectorMiss};
use proptest::prelude::*;
use warploom_config::{Replacement, WriteAllocate, WritePolicy};

fn cache(change: impl FnOnce(&mut CacheSpec)) -> Cache {
    let mut spec = cache_spec(4, 2);
    change(&mut spec);
    Cache::new(&spec, Level::L1, ModelStyle::V4)
}

/// Bytes to the next line of the same set.
const SET: u64 = 4 * 128;

/// Takes all requests for the level below, answers the reads among them, and returns (kind,
/// address, bytes) of each.
fn settle(cache: &mut Cache, now: Cycle) -> Vec<(AccessKind, u64, u16)> {
    let mut sent = Vec::new();
    while let Some(down) = cache.pop_miss() {
        sent.push((down.kind, down.addr, down.bytes));
        if !down.kind.is_write() {
            cache.fill(now, down.entry, down.bytes);
        }
    }
    while cache.next_ready().is_some() {}
    sent
}

use AccessKind::{GlobalAtomic, GlobalRead, GlobalWrite, L1WriteAllocate, L1WriteBack, LocalWrite};

/// Makes the line at 0 present, then does one access. Returns its result, whether the line is still
/// readable, and the number of dirty lines that reads of two more lines evict.
fn after_hit(change: impl FnOnce(&mut CacheSpec), kind: AccessKind) -> (Access, bool, usize) {
    let mut cache = cache(change);
    cache.access(0, &read(0, 128));
    settle(&mut cache, 0);
    let access = cache.access(1, &Request::new(kind, 0, 128));
    settle(&mut cache, 1);
    let still = cache.clone().access(2, &read(0, 128)).outcome == Hit;
    let mut evicted = 0;
    for line in 1..=2 {
        cache.access(3, &read(line * SET, 128));
        let sent = settle(&mut cache, 3);
        evicted += sent
            .iter()
            .filter(|(kind, ..)| *kind == L1WriteBack)
            .count();
    }
    (access, still, evicted)
}

#[test]
fn has_tells_of_a_sector_without_an_access() {
    let mut cache = cache(|spec| {
        (spec.sectored, spec.write) = (true, WritePolicy::WriteBack);
    });
    cache.access(0, &read(SET, 32));
    assert!(!cache.has(SET), "it is on its way");
    settle(&mut cache, 0);
    let before = format!("{:?}", cache.counters());
    let found = [0, SET, SET + 31, SET + 32, 2 * SET].map(|addr| cache.has(addr));
    assert_eq!(found, [false, true, true, false, false]);
    assert_eq!(format!("{:?}", cache.counters()), before);
    assert!(!cache.holds_dirty());
    cache.access(1, &write(SET, 32));
    assert!(cache.holds_dirty());
}

fn outcome(outcome: AccessOutcome, write_sent: bool) -> Access {
    Access {
        outcome,
        sent: Sent::write_if(write_sent),
    }
}

#[test]
fn write_hits_by_policy() {
    use WritePolicy::{LocalBackGlobalEvict, WriteBack, WriteEvict, WriteThrough};
    // (policy, kind) -> (sent down, line stays, written back at eviction)
    for (policy, kind, sent, stays, written_back) in [
        (LocalBackGlobalEvict, GlobalWrite, true, false, 0),
        (LocalBackGlobalEvict, LocalWrite, false, true, 1),
        (WriteEvict, GlobalWrite, true, false, 0),
        (WriteThrough, GlobalWrite, true, true, 0),
        (WriteBack, GlobalWrite, false, true, 1),
        (WriteBack, GlobalAtomic, false, true, 1),
        (WriteBack, GlobalRead, false, true, 0),
    ] {
        let found = after_hit(|spec| spec.write = policy, kind);
        let want = (outcome(Hit, sent), stays, written_back);
        assert_eq!(found, want, "{policy:?} {kind:?}");
    }
}

/// Writes `bytes` bytes to an empty cache. Returns the result, the requests sent down, and the
/// outcome of a read that follows.
fn write_miss(
    allocate: WriteAllocate,
    policy: WritePolicy,
    bytes: u16,
) -> (Access, Vec<(AccessKind, u64, u16)>, AccessOutcome) {
    let mut cache = cache(|spec| {
        spec.write_allocate = allocate;
        spec.write = policy;
        spec.sectored = true;
    });
    let access = cache.access(0, &write(32, bytes));
    let sent = settle(&mut cache, 0);
    (access, sent, cache.access(1, &read(32, 32)).outcome)
}

#[test]
fn write_misses_by_policy() {
    use WriteAllocate::{FetchOnWrite, LazyFetchOnRead, None, WriteAndRead};
    use WritePolicy::{WriteBack, WriteThrough};
    let forwarded = |bytes| (GlobalWrite, 32, bytes);
    let fetched = (L1WriteAllocate, 32, 32);
    let with_fetch = |write_sent| Access {
        outcome: Miss,
        sent: match write_sent {
            true => Sent::WriteAndAllocate,
            false => Sent::Allocate,
        },
    };
    for (allocate, policy, bytes, access, sent, then) in [
        (
            None,
            WriteBack,
            32,
            outcome(Miss, true),
            vec![forwarded(32)],
            Miss,
        ),
        (
            WriteAndRead,
            WriteBack,
            8,
            with_fetch(true),
            vec![forwarded(8), fetched],
            Hit,
        ),
        (
            FetchOnWrite,
            WriteBack,
            8,
            with_fetch(false),
            vec![fetched],
            Hit,
        ),
        (
            FetchOnWrite,
            WriteBack,
            32,
            outcome(Miss, false),
            vec![],
            Hit,
        ),
        (
            LazyFetchOnRead,
            WriteBack,
            32,
            outcome(Miss, false),
            vec![],
            Hit,
        ),
        (
            LazyFetchOnRead,
            WriteBack,
            8,
            outcome(Miss, false),
            vec![],
            SectorMiss,
        ),
        (
            LazyFetchOnRead,
            WriteThrough,
            32,
            outcome(Miss, true),
            vec![forwarded(32)],
            Hit,
        ),
    ] {
        let found = write_miss(allocate, policy, bytes);
        assert_eq!(
            found,
            (access, sent, then),
            "{allocate:?} {policy:?} {bytes}"
        );
    }
}

#[test]
fn fetch_on_write_gives_the_write_back_when_the_line_comes() {
    let mut cache = cache(|spec| {
        spec.write_allocate = WriteAllocate::FetchOnWrite;
        spec.write = WritePolicy::WriteBack;
    });
    cache.access(0, &write(0, 8));
    let down = cache.pop_miss().expect("the fetch");
    cache.fill(9, down.entry, down.bytes);
    let ready = cache.next_ready().map(|r| (r.kind, r.bytes));
    assert_eq!(ready, Some((GlobalWrite, 8)));
}

#[test]
fn a_write_does_not_join_a_read_that_waits_after_a_write() {
    let mut cache = cache(|spec| {
        spec.write_allocate = WriteAllocate::FetchOnWrite;
        spec.write = WritePolicy::WriteBack;
    });
    cache.access(0, &write(0, 8));
    cache.access(1, &read(0, 8));
    let found = cache.access(2, &write(0, 8)).outcome;
    assert_eq!(found, ReservationFail(FailReason::MshrRwPending));
}

#[test]
fn lazily_written_sectors_become_readable_once_complete() {
    let mut cache = cache(|spec| {
        spec.write_allocate = WriteAllocate::LazyFetchOnRead;
        spec.write = WritePolicy::WriteBack;
        spec.sectored = true;
    });
    cache.access(0, &write(0, 16));
    assert_eq!(cache.clone().access(1, &read(0, 32)).outcome, SectorMiss);
    assert_eq!(cache.access(1, &write(16, 16)).outcome, Hit);
    assert_eq!(cache.access(2, &read(0, 32)).outcome, Hit);
}

#[test]
fn a_read_of_a_half_written_sector_fetches_and_keeps_it_dirty() {
    let mut cache = cache(|spec| {
        spec.write_allocate = WriteAllocate::LazyFetchOnRead;
        spec.write = WritePolicy::WriteBack;
        spec.sectored = true;
        spec.ways = 1;
    });
    cache.access(0, &write(0, 16));
    cache.access(1, &read(0, 32));
    assert_eq!(settle(&mut cache, 2), [(GlobalRead, 0, 32)]);
    assert_eq!(cache.access(3, &read(0, 32)).outcome, Hit);
    cache.access(4, &read(SET, 32));
    let sent = settle(&mut cache, 4);
    assert_eq!(sent, [(GlobalRead, SET, 32), (L1WriteBack, 0, 32)]);
}

#[test]
fn sectors_of_a_line_come_one_by_one_and_go_together() {
    let mut cache = cache(|spec| {
        spec.sectored = true;
        spec.write = WritePolicy::WriteBack;
        spec.write_allocate = WriteAllocate::LazyFetchOnRead;
        spec.ways = 1;
    });
    let outcomes = [0, 32, 0, 96].map(|addr| cache.access(0, &read(addr, 32)).outcome);
    assert_eq!(outcomes, [Miss, SectorMiss, HitReserved, SectorMiss]);
    let sent = settle(&mut cache, 1);
    assert_eq!(sent.iter().map(|s| s.1).collect::<Vec<_>>(), [0, 32, 96]);
    cache.access(2, &write(0, 32));
    cache.access(2, &write(96, 32));
    cache.access(3, &read(SET, 32));
    assert_eq!(settle(&mut cache, 3)[1], (L1WriteBack, 0, 64));
}

#[test]
fn reasons_of_failure() {
    let fail = |cache: &mut Cache, addr| cache.access(0, &read(addr, 128)).outcome;
    let mut one_way = cache(|spec| spec.ways = 1);
    assert_eq!(fail(&mut one_way, 0), Miss);
    assert_eq!(
        fail(&mut one_way, SET),
        ReservationFail(FailReason::LineAllocFail)
    );

    let mut short_queue = cache(|spec| spec.miss_queue = 2);
    assert_eq!(fail(&mut short_queue, 0), Miss);
    assert_eq!(
        fail(&mut short_queue, 128),
        ReservationFail(FailReason::MissQueueFull)
    );

    let mut one_entry = cache(|spec| spec.mshr_entries = 1);
    assert_eq!(fail(&mut one_entry, 0), Miss);
    assert_eq!(
        fail(&mut one_entry, 128),
        ReservationFail(FailReason::MshrEntryFail)
    );

    let mut no_merge = cache(|spec| spec.mshr_merge = 1);
    assert_eq!(fail(&mut no_merge, 0), Miss);
    assert_eq!(
        fail(&mut no_merge, 0),
        ReservationFail(FailReason::MshrMergeFail)
    );
    let counters = no_merge.counters();
    assert_eq!((counters.accesses(), counters.misses()), (1, 1));
    assert_eq!(counters.reservation_fails(), 1);
    assert_eq!(counters.fails[GlobalRead.index()], [0, 0, 0, 1, 0]);
}

#[test]
fn a_write_that_allocates_nothing_needs_no_line() {
    let mut cache = cache(|spec| spec.ways = 1);
    cache.access(0, &read(0, 128));
    assert_eq!(cache.access(0, &write(SET, 128)), outcome(Miss, true));
}

#[test]
fn merged_requests_are_answered_in_order_once_the_whole_line_is_here() {
    let mut cache = cache(|_| {});
    for (token, addr) in [(1, 0), (2, 64), (3, 0)] {
        let found = cache
            .access(
                0,
                &Request {
                    token,
                    ..read(addr, 32)
                },
            )
            .outcome;
        assert_eq!(found, if token == 1 { Miss } else { HitReserved });
    }
    assert_eq!(cache.counters().mshr_hits(GlobalRead), 2);
    let down = cache.pop_miss().expect("one request goes down");
    assert_eq!((down.addr, down.bytes, down.sectors), (0, 128, 15));
    for _ in 0..4 {
        assert!(!cache.has_ready());
        cache.fill(7, down.entry, 32);
    }
    let tokens: Vec<_> = std::iter::from_fn(|| cache.next_ready())
        .map(|r| r.token)
        .collect();
    assert_eq!(tokens, [1, 2, 3]);
    assert!(cache.is_idle());
}

#[test]
fn allocating_on_fill_leaves_the_set_alone_until_then() {
    let mut cache = cache(|spec| {
        spec.ways = 1;
        spec.allocate = AllocatePolicy::OnFill;
        spec.write = WritePolicy::ReadOnly;
    });
    assert_eq!(cache.access(0, &read(0, 128)).outcome, Miss);
    assert_eq!(
        cache.access(1, &read(0, 128)).outcome,
        Miss,
        "merged, the tag is not there yet"
    );
    assert_eq!(cache.access(2, &read(SET, 128)).outcome, Miss);
    assert_eq!(settle(&mut cache, 3).len(), 2);
    assert_eq!(cache.clone().access(4, &read(SET, 128)).outcome, Hit);
    assert_eq!(
        cache.access(4, &read(0, 128)).outcome,
        Miss,
        "the later fill replaced it"
    );
}

#[test]
fn victims_are_least_recently_used_or_first_in() {
    for (replacement, survivor) in [(Replacement::Lru, 0), (Replacement::Fifo, SET)] {
        let mut cache = cache(|spec| spec.replacement = replacement);
        for (now, addr) in [(0, 0), (1, SET), (2, 0), (3, 2 * SET)] {
            cache.access(now, &read(addr, 128));
            settle(&mut cache, now);
        }
        for addr in [0, SET] {
            let found = cache.clone().access(4, &read(addr, 128)).outcome;
            let want = if addr == survivor { Hit } else { Miss };
            assert_eq!(found, want, "{replacement:?} {addr}");
        }
    }
}

#[test]
fn dirty_lines_stay_below_the_write_ratio() {
    // Eight lines; one dirty line is 12%.
    let found = |percent| {
        let mut cache = cache(|spec| {
            spec.write = WritePolicy::WriteBack;
            spec.write_allocate = WriteAllocate::LazyFetchOnRead;
            spec.write_ratio_percent = percent;
        });
        cache.access(0, &write(0, 128));
        for (now, line) in [(1, 1), (2, 2)] {
            cache.access(now, &read(line * SET, 128));
            settle(&mut cache, now);
        }
        cache.access(3, &read(0, 128)).outcome
    };
    assert_eq!(found(12), Miss, "the dirty line is the least recently used");
    assert_eq!(found(13), Hit, "the clean one goes first");
}

#[test]
fn ports_are_busy_for_as_long_as_the_data_takes() {
    let mut cache = cache(|spec| spec.port_bytes = 32);
    cache.access(10, &read(0, 128));
    assert!(cache.data_port_free(10), "a miss does not use the port");
    let down = cache.pop_miss().expect("the miss");
    cache.fill(20, down.entry, down.bytes);
    assert!(!cache.fill_port_free(23) && cache.fill_port_free(24));
    cache.access(30, &read(0, 128));
    assert!(!cache.data_port_free(33) && cache.data_port_free(34));
    let counters = cache.counters();
    assert_eq!((counters.data_port_busy, counters.fill_port_busy), (4, 4));
    assert_eq!(counters.data_port_hits, 4);
}

#[test]
fn a_write_back_uses_the_port_by_version() {
    // A read replaces a dirty line: 3.2.2 reads the line out, 4.2 charges nothing.
    for (style, busy) in [(ModelStyle::V3, 4), (ModelStyle::V4, 0)] {
        let spec = CacheSpec {
            write: WritePolicy::WriteBack,
            write_allocate: WriteAllocate::LazyFetchOnRead,
            port_bytes: 32,
            ..cache_spec(4, 1)
        };
        let mut cache = Cache::new(&spec, Level::L2, style);
        cache.access(0, &write(0, 128));
        cache.access(1, &read(SET, 128));
        assert_eq!(cache.counters().data_port_busy, busy, "{style:?}");
        assert_eq!(cache.counters().data_port_hits, 0, "nothing hit");
        let kinds = settle(&mut cache, 2)
            .iter()
            .map(|s| s.0)
            .collect::<Vec<_>>();
        assert_eq!(kinds, [GlobalRead, AccessKind::L2WriteBack]);
    }
}

#[test]
fn an_atomic_leaves_its_line_dirty() {
    let mut cache = cache(|spec| {
        spec.write = WritePolicy::WriteBack;
        spec.write_allocate = WriteAllocate::LazyFetchOnRead;
        spec.ways = 1;
    });
    cache.access(0, &Request::new(GlobalAtomic, 0, 32));
    settle(&mut cache, 1);
    cache.access(2, &read(SET, 128));
    assert_eq!(settle(&mut cache, 3)[1].0, L1WriteBack);
}

#[test]
fn invalidating_empties_the_cache_and_flushing_only_dirty_lines() {
    let mut cache = cache(|spec| spec.write = WritePolicy::WriteBack);
    for addr in [0, 128] {
        cache.access(0, &read(addr, 128));
    }
    settle(&mut cache, 0);
    cache.access(1, &write(0, 128));
    cache.flush();
    assert_eq!(cache.clone().access(2, &read(128, 128)).outcome, Hit);
    assert_eq!(cache.clone().access(2, &read(0, 128)).outcome, Miss);
    cache.invalidate_all();
    assert_eq!(cache.access(3, &read(128, 128)).outcome, Miss);
}

/// A line that is reserved for a request which merges into an older entry gets that entry's data,
/// though the line that the entry began with is gone. Otherwise it would stay reserved for ever,
/// and a set of such lines would refuse every access.
#[test]
fn a_line_reserved_anew_gets_the_data_of_the_older_entry() {
    // The data come before the line goes, with their first reader unanswered, or afterwards.
    for comes_before in [true, false] {
        let mut cache = cache(|spec| {
            spec.write = WritePolicy::WriteThrough;
            spec.write_allocate = WriteAllocate::LazyFetchOnRead;
        });
        cache.access(0, &read(0, 128));
        let down = cache.pop_miss().expect("the first read misses");
        if comes_before {
            cache.fill(1, down.entry, down.bytes);
        } else {
            // Lines on their way stay where they are, but not those that are written meanwhile.
            cache.access(1, &write(0, 32));
        }
        cache.invalidate_all();
        cache.access(2, &read(SET, 128));
        assert_eq!(cache.access(3, &read(0, 128)).outcome, Miss);
        settle(&mut cache, 4);
        if !comes_before {
            cache.fill(5, down.entry, down.bytes);
            settle(&mut cache, 5);
        }
        assert!(cache.has(0), "data come before: {comes_before}");
        for line in 2..=3 {
            let outcome = cache.access(6, &read(line * SET, 128)).outcome;
            assert_eq!(outcome, Miss, "both lines of the set can be replaced");
            settle(&mut cache, 6);
        }
    }
}

/// An outstanding miss delays the emptying; then dirty lines are written back one by one as the
/// queue has room, until no line is left.
#[test]
fn emptying_waits_for_misses_and_writes_dirty_lines_back() {
    let mut cache = cache(|spec| spec.write = WritePolicy::WriteBack);
    for line in [0, 128] {
        cache.access(0, &read(line, 128));
        settle(&mut cache, 0);
        cache.access(1, &write(line, 128));
        settle(&mut cache, 1);
    }
    cache.access(2, &read(256, 128));
    assert!(!cache.empty(3, &read(0, 0)), "a miss is out");
    settle(&mut cache, 3);
    for at in [0, 128] {
        assert!(!cache.empty(4, &read(0, 0)));
        assert!(!cache.empty(4, &read(0, 0)), "the first is not gone yet");
        assert_eq!(settle(&mut cache, 4), [(L1WriteBack, at, 128)]);
    }
    assert!(cache.empty(5, &read(0, 0)));
    assert_eq!(cache.access(6, &read(256, 128)).outcome, Miss);
}

#[test]
fn the_number_of_ways_can_change() {
    let spec = cache_spec(4, 2);
    let mut cache = Cache::with_max_ways(&spec, Level::L1, ModelStyle::V4, 64);
    cache.set_ways(64);
    for line in 0..64 {
        assert_eq!(cache.access(line, &read(line * SET, 128)).outcome, Miss);
        settle(&mut cache, line);
    }
    let hits = (0..64).filter(|line| cache.access(99, &read(line * SET, 128)).outcome == Hit);
    assert_eq!(hits.count(), 64);
}

#[test]
fn warming_makes_sectors_present() {
    let mut cache = cache(|spec| spec.sectored = true);
    cache.warm(0, 64, 64, 1);
    assert_eq!(cache.access(1, &read(64, 32)).outcome, Hit);
    assert_eq!(cache.access(1, &read(0, 32)).outcome, SectorMiss);
}

/// Warming several sectors of a line has the effect of warming each of them alone.
#[test]
fn warming_a_line_is_warming_its_sectors() {
    for (sectored, replacement) in [(true, Replacement::Lru), (false, Replacement::Fifo)] {
        let mut rng = warploom_base::Rng::new(3);
        let mut whole = cache(|spec| {
            (spec.sectored, spec.replacement, spec.ways) = (sectored, replacement, 4);
        });
        let mut single = whole.clone();
        for nth in 0..2000 {
            let line = u64::from(rng.below(48)) * 128;
            let first = u64::from(rng.below(4));
            let sectors = 1 + u64::from(rng.below(4 - first as u32));
            let (now, addr) = (4 * nth, line + first * 32);
            whole.warm(now, addr, addr, sectors);
            (0..sectors).for_each(|n| single.warm(now + n, addr + n * 32, addr + n * 32, 1));
            let read = read(u64::from(rng.below(192)) * 32, 32);
            assert_eq!(whole.access(now + 3, &read), single.access(now + 3, &read));
            settle(&mut whole, now + 3);
            settle(&mut single, now + 3);
        }
    }
}
