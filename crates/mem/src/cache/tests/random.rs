//! Random accesses against models and against longer paths.

use super::*;

/// LRU against a list of lines a set, the least recently used first.
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

/// `find_again` finds a line where a search of its set does, also after it was replaced or came
/// back.
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

/// A request that is refused without a look at the tags would be refused after a look, too, and an
/// access that `refuses_now` speaks of is refused for the same reason.
#[test]
fn a_request_refused_again_would_be_refused() {
    let (mut refused, mut known) = (0, 0);
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
        let mut last: Option<(Request, Refusal, FailReason)> = None;
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
                    if let Some((request, refusal, reason)) = last
                        && cache.refuses_now(now, refusal, request.kind)
                    {
                        known += 1;
                        let again = cache.clone().access(now, &request);
                        assert_eq!(again, Access::refused(reason));
                    }
                    let mut forgetful = cache.clone();
                    forgetful.refuses = false;
                    refused += u32::from(cache.clone().refuses_again(&request).is_some());
                    let access = cache.access(now, &request);
                    let looked = forgetful.look_up(now, &request);
                    assert_eq!(access, looked);
                    assert_eq!(cache.counters(), forgetful.counters());
                    if let ReservationFail(reason) = access.outcome {
                        last = Some((request, cache.last_refusal(), reason));
                    }
                }
            }
        }
    }
    assert!(refused.min(known) > 1_000, "{refused}, {known}");
}

/// Access of a random program: whether it writes, line, sector, choice of words, and whether all
/// outstanding fills come before the next access.
type Step = (bool, u64, u64, u32, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<bool>(), 0..12_u64, 0..4_u64, 0..7_u32, any::<bool>());
    prop::collection::vec(step, 0..200)
}

/// Request of a step: a read of a sector, or a write of some words of it.
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
    /// The short path by the place of the last line gives the same answers.
    #[test]
    fn access_near_answers_like_look_up(steps in steps()) {
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

    /// The short paths, for a write to a present sector and for a fill of a sector that was not
    /// written meanwhile, do what the general ones do.
    #[test]
    fn short_paths_do_what_general_ones_do(steps in steps()) {
        let mut spec = cache_spec(4, 2);
        spec.sectored = true;
        let mut tags = Tags::new(&spec, spec.ways);
        tags.furnish();
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
