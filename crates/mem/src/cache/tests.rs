//! Each policy of the matrix, MSHR limits, reasons of failure, ports and sectors.

use super::*;
use crate::AccessKind;
use crate::testing::{cache_spec, read, write};
use AccessOutcome::{Hit, HitReserved, Miss, ReservationFail, SectorMiss};
use proptest::prelude::*;
use warploom_config::Replacement;

fn cache(change: impl FnOnce(&mut CacheSpec)) -> Cache {
    let mut spec = cache_spec(4, 2);
    change(&mut spec);
    Cache::new(&spec, Level::L1, ModelStyle::V4)
}

/// Bytes to the next line of the same set.
const SET: u64 = 4 * 128;

/// Sends what is queued down and answers the reads.
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

/// Makes the line at 0 present, then does one access. Returns its outcome, whether it was sent
/// down, whether the line is still readable, and what a read of two more lines evicts.
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
fn what_a_cache_has_is_seen_without_an_access() {
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

/// One write of `bytes` to an empty cache: outcome, what goes down, what a read then finds.
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
fn a_write_does_not_join_a_read_that_waits_behind_a_write() {
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

/// A miss that is out holds it up; then dirty lines go down one by one as the queue has room, and
/// nothing is left.
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

/// Sectors of a line that are warmed together are as if each had been warmed alone.
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

/// A cache of one set in a few lines: the least recently used of `ways` lines goes.
#[test]
fn hits_agree_with_a_simple_model() {
    let mut rng = warploom_base::Rng::new(5);
    let mut cache = cache(|spec| spec.ways = 4);
    let mut sets = vec![Vec::<u64>::new(); 4];
    for now in 0..5000 {
        let line = u64::from(rng.below(48));
        let set = &mut sets[line as usize % 4];
        let found = set.iter().position(|&l| l == line);
        let outcome = cache.access(now, &read(line * 128, 128)).outcome;
        assert_eq!(outcome == Hit, found.is_some(), "access {now}");
        settle(&mut cache, now);
        if let Some(at) = found {
            set.remove(at);
        } else if set.len() == 4 {
            set.remove(0);
        }
        set.push(line);
    }
}

/// A line that others may have replaced, or that came back, is where a search of its set finds it.
#[test]
fn a_line_is_found_again_where_it_is() {
    let mut rng = warploom_base::Rng::new(3);
    let mut cache = cache(|spec| spec.ways = 4);
    let mut found = 0;
    for now in 0..5000 {
        let addr = u64::from(rng.below(48)) * 128;
        let tags = &mut cache.tags;
        let searched = tags.find(tags.set(addr), tags.line(addr));
        found += u32::from(searched.is_some());
        assert_eq!(tags.find_again(addr), searched, "access {now}");
        cache.access(now, &read(addr, 128));
        settle(&mut cache, now);
        if rng.below(200) == 0 {
            cache.invalidate_all();
        }
    }
    assert!(found > 1_000, "{found}");
}

/// A request that is refused without a look at anything is one that would be refused.
#[test]
fn a_request_refused_again_would_be_refused() {
    let mut refused = 0;
    let back = WritePolicy::WriteBack;
    let writes = [
        (WritePolicy::LocalBackGlobalEvict, WriteAllocate::None),
        (back, WriteAllocate::None),
        (back, WriteAllocate::WriteAndRead),
        (back, WriteAllocate::FetchOnWrite),
        (back, WriteAllocate::LazyFetchOnRead),
    ];
    let reserved = [
        (AllocatePolicy::OnMiss, 0),
        (AllocatePolicy::OnMiss, 30),
        (AllocatePolicy::OnFill, 30),
    ];
    let rules = writes.into_iter().flat_map(|w| reserved.map(|r| (w, r)));
    for (write, (reserve, ratio)) in rules {
        let mut rng = warploom_base::Rng::new(7);
        let mut cache = cache(|spec| {
            (spec.write, spec.write_allocate) = write;
            (spec.mshr_entries, spec.mshr_merge, spec.miss_queue) = (6, 2, 4);
            (spec.allocate, spec.write_ratio_percent) = (reserve, ratio);
        });
        let mut below = std::collections::VecDeque::new();
        let mut request = read(0, 32);
        for now in 0..20_000 {
            match rng.below(40) {
                0..5 => below.extend(cache.pop_miss().filter(|down| !down.kind.is_write())),
                5..8 => below
                    .drain(..1.min(below.len()))
                    .for_each(|r| cache.fill(now, r.entry, r.bytes)),
                8..12 => drop(cache.next_ready()),
                12 => cache.warm(now, request.addr, request.addr, 1),
                13 if rng.below(100) == 0 => cache.flush(),
                14..24 => {
                    let kinds = [GlobalRead, GlobalWrite, GlobalAtomic, LocalWrite];
                    let kind = kinds[rng.below(4) as usize];
                    let line = u64::from(rng.below(6)) * SET + 128 * u64::from(rng.below(2));
                    request = Request::new(kind, line + 32 * u64::from(rng.below(4)), 32);
                }
                _ => {
                    let mut forgetful = cache.clone();
                    forgetful.refuses = false;
                    refused += u32::from(cache.clone().refuses_again(&request).is_some());
                    let access = cache.access(now, &request);
                    let looked = forgetful.look_up(now, &request);
                    assert_eq!(access, looked);
                    assert_eq!(cache.counters(), forgetful.counters());
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

/// An access of a random program: to which line, sector and bytes, and whether what is missing
/// comes before the next one.
type Step = (bool, u64, u64, u32, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<bool>(), 0..12_u64, 0..4_u64, 0..7_u32, any::<bool>());
    prop::collection::vec(step, 0..200)
}

/// Reads of a sector, or writes of some words of it.
fn of_step((writes, line, sector, words, _): Step) -> Request {
    let addr = line * 128 + sector * 32;
    let mut request = if writes {
        write(addr, 32)
    } else {
        read(addr, 32)
    };
    if writes {
        // All words, the first or the last.
        let words = [0xffff_ffff, 0xffff, 0xffff_0000][words as usize % 3];
        request.byte_mask &= words << (sector * 32);
    }
    request
}

proptest! {
    /// Looking where the last line was changes no answer.
    #[test]
    fn looking_nearby_is_looking_up(steps in steps()) {
        for write in [WritePolicy::WriteBack, WritePolicy::WriteThrough, WritePolicy::WriteEvict] {
            for allocate in [
                WriteAllocate::None,
                WriteAllocate::FetchOnWrite,
                WriteAllocate::LazyFetchOnRead,
            ] {
                let mut plain = cache(|spec| {
                    (spec.sectored, spec.write, spec.write_allocate) = (true, write, allocate);
                });
                let mut near = plain.clone();
                for (now, step) in steps.iter().enumerate() {
                    let (now, request) = (now as Cycle, of_step(*step));
                    let expected = plain.look_up(now, &request);
                    let found = near.access_near(now, &request, &request, |addr| addr);
                    prop_assert_eq!(found, expected);
                    if step.4 {
                        prop_assert_eq!(settle(&mut near, now), settle(&mut plain, now));
                    }
                }
                prop_assert_eq!(near.counters(), plain.counters());
            }
        }
    }

    /// What is usual, a write to a sector that is there and the fill of one that was not written
    /// meanwhile, does what the unusual does.
    #[test]
    fn the_usual_is_a_case_of_the_unusual(steps in steps()) {
        let mut spec = cache_spec(4, 2);
        spec.sectored = true;
        let mut tags = Tags::new(&spec, spec.ways);
        for (now, step) in steps.iter().enumerate() {
            let (now, request, sector) = (now as Cycle, of_step(*step), step.2 as u8);
            let (set, line) = (tags.set(request.addr), tags.line(request.addr));
            match tags.probe(set, line, sector, true) {
                Probe::Miss => {
                    tags.allocate(set, line, sector, now);
                }
                Probe::SectorMiss(at) => tags.allocate_sector(set, at, sector, now),
                Probe::HitReserved(at) if request.kind.is_write() => {
                    tags.write(set, at, sector, request.byte_mask);
                    let readable = tags.fully_written(at, sector);
                    tags.set_readable(at, sector, readable);
                    tags.dirty_on_fill(at, sector, !readable);
                }
                Probe::HitReserved(at) => {
                    let mut plain = tags.clone();
                    plain.fill_written(set, at, 1 << sector);
                    tags.fill(set, at, line, sector, || 0);
                    prop_assert_eq!(format!("{tags:?}"), format!("{plain:?}"));
                }
                Probe::Hit(at) => {
                    let mut plain = tags.clone();
                    plain.write(set, at, sector, request.byte_mask);
                    if plain.fully_written(at, sector) {
                        plain.set_readable(at, sector, true);
                    }
                    tags.write_present(set, at, sector, request.byte_mask);
                    prop_assert_eq!(format!("{tags:?}"), format!("{plain:?}"));
                }
                Probe::Full => {}
            }
        }
    }
}
