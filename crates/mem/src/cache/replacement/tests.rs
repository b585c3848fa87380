//! Replacement policies in scenarios worked by hand: which lines a set holds after each access.

mod cacp;

use super::{REPLACEMENTS, ReplacementInfo};
use crate::cache::tags::{Probe, Tags};
use crate::testing::cache_spec;
use warploom_config::{Base, CacheSpec, Replacement, resolve};

/// Tags whose accesses all hit or miss whole lines, one a cycle.
struct Bench {
    tags: Tags,
    now: u64,
}

impl Bench {
    fn new(replacement: Replacement, sets: u32, ways: u32) -> Self {
        let spec = CacheSpec {
            replacement,
            ..cache_spec(sets, ways)
        };
        let mut tags = Tags::new(&spec, ways);
        tags.furnish();
        Self { tags, now: 0 }
    }

    /// Accesses a line. Returns whether it hits.
    fn access(&mut self, line: u64) -> bool {
        self.now += 1;
        let set = self.tags.set(line * 128);
        match self.tags.probe(set, line, 0, false) {
            Probe::Hit(at) => {
                self.tags.touch(at, self.now);
                true
            }
            Probe::Miss => {
                let (at, _) = self.tags.allocate(set, line, 0, self.now);
                self.tags.fill(set, at, line, 0, || 0);
                false
            }
            other => panic!("{other:?} of a line that is there at once"),
        }
    }

    /// Lines of `lines` that are present.
    fn present(&self, lines: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let lines = lines.into_iter();
        let is_there = |line: &u64| self.tags.find(self.tags.set(line * 128), *line).is_some();
        lines.filter(is_there).collect()
    }

    /// Accesses lines in turn, each of which must miss, and says for each which line it replaced.
    fn replaced_by(&mut self, lines: &[u64]) -> Vec<u64> {
        let mut gone = Vec::new();
        for line in lines {
            let before = self.present(0..1000);
            assert!(!self.access(*line), "line {line} is to miss");
            let after = self.present(0..1000);
            gone.extend(before.iter().filter(|line| !after.contains(line)));
        }
        gone
    }
}

/// Four lines, of which the first is used again: it is the last to go under LRU, the first under
/// FIFO.
#[test]
fn lru_and_fifo_differ_in_lines_that_are_used_again() {
    for (policy, gone) in [
        (Replacement::Lru, [1, 2, 3, 0]),
        (Replacement::Fifo, [0, 1, 2, 3]),
    ] {
        let mut bench = Bench::new(policy, 1, 4);
        assert!(bench.replaced_by(&[0, 1, 2, 3]).is_empty());
        assert!(bench.access(0));
        assert_eq!(bench.replaced_by(&[10, 11, 12, 13]), gone, "{policy:?}");
    }
}

/// Equal seeds draw the same lines, other seeds others, and in the long run each of four ways goes
/// as often as any other: 4,000 draws give 1,000 a way, with a standard deviation of 27.
#[test]
fn random_draws_every_way_alike_and_repeats_with_its_seed() {
    let drawn = |seed| {
        let mut bench = Bench::new(Replacement::Random, 1, 4);
        bench.tags.seed(seed);
        for line in 0..4 {
            bench.access(line);
        }
        let mut places = [0; 4];
        let mut order = Vec::new();
        for line in 1000..5000 {
            bench.access(line);
            let at = bench.tags.find(0, line).expect("it has just come");
            places[at as usize] += 1;
            order.push(at);
        }
        (places, order)
    };
    let (places, order) = drawn(1);
    assert!(places.iter().all(|n| (850..1150).contains(n)), "{places:?}");
    assert_eq!(order, drawn(1).1);
    assert_ne!(order, drawn(2).1);
}

/// Absent ways are taken before a line goes, whatever the policy. Where ways are divided, this
/// holds for those of a part: see `cacp`.
#[test]
fn absent_ways_come_first() {
    for row in REPLACEMENTS.iter().filter(|row| row.name != "cacp") {
        let base = Base::Preset("gtx480".to_owned());
        let set = format!("l1d.replacement={}", row.name);
        let spec = resolve(&base, &[set]).unwrap_or_else(|errors| panic!("{errors}"));
        let policy = spec.l1d.replacement;
        let mut bench = Bench::new(policy, 4, 4);
        let set_0 = [0, 4, 8, 12].map(|line| line * 4);
        assert!(bench.replaced_by(&set_0).is_empty(), "{policy:?}");
        assert_eq!(bench.present(set_0), set_0);
    }
}

/// Figure of Jaleel et al., ISCA 2010, worked out for four ways that are filled from the last one
/// on: way 3 has line 0, way 0 line 3. Prediction values stand in order of ways.
#[test]
fn srrip_keeps_lines_that_were_hit_from_a_scan() {
    let mut bench = Bench::new(Replacement::Srrip, 1, 4);
    bench.replaced_by(&[0, 1, 2, 3]);
    // All at 2. Lines 0 and 1 are hit: ways 3 and 2 at 0.
    assert!(bench.access(0) && bench.access(1));
    // 2 2 0 0 -> all raised by one, 3 3 1 1: the first way goes, line 3; line 10 comes at 2.
    assert_eq!(bench.replaced_by(&[10]), [3]);
    // 2 3 1 1 -> line 2 goes; line 11 comes at 2.
    assert_eq!(bench.replaced_by(&[11]), [2]);
    // 2 2 1 1 -> 3 3 2 2: line 10 goes, 11 next, while lines 0 and 1 stay.
    assert_eq!(bench.replaced_by(&[12, 13]), [10, 11]);
    assert_eq!(bench.present([0, 1]), [0, 1]);
    // 2 2 2 2 -> 3 3 3 3: now the scan has outlived them. Line 12 goes, 13, 1, 0.
    assert_eq!(bench.replaced_by(&[14, 15, 16, 17]), [12, 13, 1, 0]);
}

/// A cyclic working set of five lines in four ways: LRU never hits; of the lines that BRRIP brings
/// in, most go at once, so that three stay and hit in every round.
#[test]
fn brrip_keeps_part_of_a_working_set_that_does_not_fit() {
    let hits = |policy| {
        let mut bench = Bench::new(policy, 1, 4);
        let accesses = (0..50_u64).map(|n| bench.access(n % 5));
        accesses.filter(|hit| *hit).count()
    };
    assert_eq!(hits(Replacement::Lru), 0);
    // Lines 0 to 3 come at 3. Line 4 replaces the first way, line 3. In round two lines 0, 1 and 2
    // hit; line 3 replaces 4, and 4 then 3: two of five miss in each round from the second on.
    assert_eq!(hits(Replacement::Brrip), 9 * 3);
}

/// The 32nd fill is predicted for a long interval, the others for the distant future.
#[test]
fn brrip_inserts_every_32nd_line_for_longer() {
    let mut bench = Bench::new(Replacement::Brrip, 1, 2);
    let first: Vec<_> = (0..32).collect();
    bench.replaced_by(&first);
    // Line 31 came as the 32nd: at 2. The line beside it is at 3 and goes, then 100, 101, ...
    let gone = bench.replaced_by(&[100, 101, 102, 103]);
    assert_eq!(gone[1..], [100, 101, 102]);
    assert_eq!(bench.present([31]), [31]);
}

/// 64 sets are two constituencies of 32: sets 0 and 33 lead for LRU, sets 31 and 62 for bimodal
/// insertion. While LRU's leaders miss more, followers insert bimodally: a cyclic working set of
/// five lines in four ways then keeps three lines.
#[test]
fn dip_follows_the_policy_whose_leaders_miss_less() {
    let mut bench = Bench::new(Replacement::Dip, 64, 4);
    let in_set = |set: u64, line: u64| set + 64 * line;
    // A follower, before any leader has missed: LRU, every access misses.
    let round = |bench: &mut Bench, set| {
        let hits = (0..5).filter(|line| bench.access(in_set(set, *line)));
        hits.count()
    };
    for _ in 0..4 {
        assert_eq!(round(&mut bench, 7), 0);
    }
    // One round in each leader: LRU's set misses five times, the other as often; then again, where
    // LRU's misses five times and the bimodal one twice.
    for _ in 0..4 {
        round(&mut bench, 0);
        round(&mut bench, 31);
    }
    let mut follower = 0;
    for _ in 0..10 {
        follower += round(&mut bench, 7);
    }
    assert!(follower >= 20, "{follower} of 50 accesses hit");
    // LRU's leader still inserts as LRU does.
    assert_eq!(round(&mut bench, 33), 0);
    assert_eq!(round(&mut bench, 33), 0);
    // Working sets that fit keep all their lines, as under LRU.
    for line in 0..4 {
        bench.access(in_set(9, line));
    }
    assert!((0..4).all(|line| bench.access(in_set(9, line))));
}

/// The formula of each policy agrees with its number for 64 sets of 8 ways.
#[test]
fn storage_follows_from_the_formulas() {
    let spec = cache_spec(64, 8);
    for ReplacementInfo { name, facts } in REPLACEMENTS {
        assert_eq!((facts.bits)(&spec), facts.example_bits, "{name}");
    }
}

#[test]
fn every_policy_is_described_in_a_sentence() {
    for row in REPLACEMENTS {
        let facts = row.facts;
        assert!(
            facts.about.ends_with('.') && facts.about.len() > 20,
            "{}",
            row.name
        );
        for text in [facts.about, facts.source, facts.state] {
            assert!(!text.is_empty() && !text.contains('|'), "{}", row.name);
        }
    }
}
