//! Dirty bytes of lines against lists of the bytes that were written.

use super::{Probe, Tags};
use crate::testing::cache_spec;
use std::collections::BTreeMap;
use warploom_base::Rng;
use warploom_config::CacheSpec;

const SETS: u32 = 2;
const WAYS: u32 = 2;
const STEPS: u64 = 20_000;

/// Tags, and a list of the bytes of each line that were written since it came.
struct Pair {
    tags: Tags,
    written: BTreeMap<u64, u128>,
    /// Bytes that become dirty when their line comes, by line.
    on_fill: BTreeMap<u64, u128>,
    written_back: u64,
}

impl Pair {
    /// Reserves a sector of an absent line, and checks the bytes of the line that it replaces.
    fn allocate(&mut self, line: u64, sector: u8, now: u64) {
        let set = self.tags.set(line * 128);
        let was: Vec<_> = self.lines().collect();
        let (_, dirty) = self.tags.allocate(set, line, sector, now);
        let gone = was.into_iter().find(|line| self.find(*line).is_none());
        let bytes = gone.and_then(|gone| {
            self.on_fill.remove(&gone);
            self.written.remove(&gone)
        });
        if dirty {
            self.written_back += 1;
            let evicted = *self.tags.evicted();
            assert_eq!(evicted.addr, gone.expect("one was replaced") * 128);
            assert_eq!(evicted.byte_mask, bytes.unwrap_or(0), "{evicted:?}");
        }
    }

    fn find(&self, line: u64) -> Option<u32> {
        self.tags.find(self.tags.set(line * 128), line)
    }

    fn lines(&self) -> impl Iterator<Item = u64> {
        (0..8).filter(|line| self.find(*line).is_some())
    }

    /// True if no sector is on its way.
    fn is_quiescent(&self) -> bool {
        let comes = |line: u64, sector| {
            let probe = self
                .tags
                .probe(self.tags.set(line * 128), line, sector, true);
            matches!(probe, Probe::HitReserved(_))
        };
        !self
            .lines()
            .any(|line| (0..4).any(|sector| comes(line, sector)))
    }

    fn note(&mut self, line: u64, bytes: u128) {
        *self.written.entry(line).or_default() |= bytes;
    }

    /// Removes absent lines from the lists.
    fn forget_absent(&mut self) {
        let present: Vec<_> = self.lines().collect();
        self.written.retain(|line, _| present.contains(line));
        self.on_fill.retain(|line, _| present.contains(line));
    }

    /// Applies operation `what` to a sector of a present line.
    fn act(&mut self, (line, at): (u64, u32), sector: u8, bytes: u128, what: u64) {
        let set = self.tags.set(line * 128);
        let reserved = self.tags.probe(set, line, sector, true) == Probe::HitReserved(at);
        match what {
            0 if self.tags.is_present(at, sector) => {
                self.tags.write_present(set, at, sector, bytes);
                self.note(line, bytes);
            }
            1 => {
                self.tags.write(set, at, sector, bytes);
                self.note(line, bytes);
            }
            2 if reserved => {
                self.tags.dirty_on_fill(at, sector, true);
                *self.on_fill.entry(line).or_default() |= bytes;
            }
            3 if reserved => {
                let on_fill = self.on_fill.get(&line).copied();
                let coming = on_fill.unwrap_or(bytes);
                self.tags.fill(set, at, line, sector, || coming);
                if let Some(bytes) = on_fill {
                    self.note(line, bytes);
                }
            }
            4 => self.tags.invalidate(set, at, sector),
            _ => {}
        }
    }
}

/// A dirty line is written back with the bytes that were written since it came, whatever lines were
/// in its place before.
#[test]
fn a_line_is_written_back_as_it_was_written() {
    let spec = CacheSpec {
        sectored: true,
        ..cache_spec(SETS, WAYS)
    };
    let mut pair = Pair {
        tags: Tags::new(&spec, WAYS),
        written: BTreeMap::new(),
        on_fill: BTreeMap::new(),
        written_back: 0,
    };
    pair.tags.furnish();
    let mut rng = Rng::new(9);
    for now in 0..STEPS {
        let (line, sector) = (u64::from(rng.below(8)), rng.below(4) as u8);
        let bytes = u128::from(1 + rng.below(255)) << (u32::from(sector) * 32);
        match pair.find(line) {
            Some(at) => pair.act((line, at), sector, bytes, rng.below(5).into()),
            None if pair
                .tags
                .probe(pair.tags.set(line * 128), line, sector, false)
                == Probe::Miss =>
            {
                pair.allocate(line, sector, now);
            }
            None => {}
        }
        match rng.below(400) {
            0 => pair.tags.clear(|_| true),
            1..40 if pair.is_quiescent() => pair.tags.set_ways(1 + rng.below(WAYS)),
            _ => {}
        }
        pair.forget_absent();
    }
    assert!(pair.written_back > 500, "{}", pair.written_back);
}
