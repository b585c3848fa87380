//! Access patterns by table, and a byte-by-byte model.

use super::*;
use Coalescing::{Sectors, Segments, SegmentsAndSectors};
use SharedRule::{EveryWord, FirstWord, OneBroadcast, Phases};
use proptest::prelude::*;
use std::collections::BTreeMap;

const ALL: LaneMask = u32::MAX;

fn strided(first: u64, stride: u64) -> [u64; WARP_SIZE] {
    std::array::from_fn(|lane| first + stride * lane as u64)
}

/// Pair (address, bytes) of each transaction.
fn parts(out: &Transactions) -> Vec<(u64, u16)> {
    out.as_slice().iter().map(|t| (t.addr, t.bytes)).collect()
}

fn coalesced(
    rule: Coalescing,
    skips_l1: bool,
    bytes: u32,
    addrs: [u64; WARP_SIZE],
    mask: LaneMask,
) -> Vec<(u64, u16)> {
    let mut out = Transactions::new();
    coalesce(rule, skips_l1, bytes, &addrs, mask, &mut out);
    parts(&out)
}

#[test]
fn segments_by_size_and_pattern() {
    for (bytes, first, stride, mask, expected) in [
        // Whole lines.
        (4, 0x1000, 4, ALL, vec![(0x1000, 128)]),
        (8, 0x1000, 8, ALL, vec![(0x1000, 128), (0x1080, 128)]),
        (16, 0x1000, 16, 0xff, vec![(0x1000, 128)]),
        // Two lines touched.
        (4, 0x1040, 4, ALL, vec![(0x1040, 64), (0x1080, 64)]),
        // Shrunk to a half, to a quarter, and not below 32 bytes.
        (4, 0x1000, 4, 0x0000_ffff, vec![(0x1000, 64)]),
        (4, 0x1000, 4, 0xff00_0000, vec![(0x1060, 32)]),
        (4, 0x1000, 0, ALL, vec![(0x1000, 32)]),
        // Small accesses use smaller segments.
        (1, 0x1000, 1, ALL, vec![(0x1000, 32)]),
        (2, 0x1000, 2, ALL, vec![(0x1000, 64)]),
        (2, 0x1000, 4, ALL, vec![(0x1000, 64), (0x1040, 64)]),
        (1, 0x1000, 4, 0xff, vec![(0x1000, 32)]),
        // The two middle quarters are not one half.
        (4, 0x1020, 4, 0xffff, vec![(0x1000, 128)]),
        // Every lane its own line.
        (4, 0, 4096, 0b11, vec![(0, 32), (4096, 32)]),
        (4, 0, 4, 0, vec![]),
    ] {
        let found = coalesced(Segments, false, bytes, strided(first, stride), mask);
        assert_eq!(
            found, expected,
            "{bytes} bytes from {first:#x} by {stride}, lanes {mask:#x}"
        );
    }
}

#[test]
fn sectors_are_always_32_bytes() {
    let line = |first| (0..4_u64).map(|i| (first + 32 * i, 32)).collect::<Vec<_>>();
    assert_eq!(coalesced(Sectors, false, 4, strided(0, 4), ALL), line(0));
    assert_eq!(
        coalesced(Sectors, false, 2, strided(0, 2), ALL),
        line(0)[..2]
    );
    assert_eq!(
        coalesced(Sectors, false, 4, strided(0, 0), ALL),
        line(0)[..1]
    );
    assert_eq!(
        coalesced(SegmentsAndSectors, true, 4, strided(0, 4), ALL),
        line(0)
    );
    let through_l1 = coalesced(SegmentsAndSectors, false, 4, strided(0, 4), ALL);
    assert_eq!(through_l1, [(0, 128)]);
}

#[test]
fn an_access_across_segments_adds_the_next() {
    let found = coalesced(Segments, false, 4, strided(126, 0), 1);
    assert_eq!(found, [(96, 32), (128, 32)]);
}

#[test]
fn the_highest_address_is_sent_first() {
    let mut out = Transactions::new();
    coalesce(Segments, false, 8, &strided(0, 8), ALL, &mut out);
    assert_eq!(out.last().map(|t| t.addr), Some(128));
    let order = std::iter::from_fn(|| out.pop()).map(|t| t.addr);
    assert_eq!(order.collect::<Vec<_>>(), [128, 0]);
    assert!(out.is_empty());
}

/// Each half of a warp has transactions of its own, also where both touch one line; the last one of
/// the second half is sent first.
#[test]
fn parts_of_a_warp_share_nothing() {
    let halves = |addrs: [u64; WARP_SIZE], mask| {
        let mut out = Transactions::new();
        in_parts(2, mask, &mut out, |lanes, out| {
            coalesce(Segments, false, 4, &addrs, lanes, out);
        });
        parts(&out)
    };
    assert_eq!(halves(strided(0, 4), ALL), [(0, 64), (64, 64)]);
    assert_eq!(halves(strided(0, 0), ALL), [(0, 32), (0, 32)]);
    assert_eq!(halves(strided(0, 0), 0xffff_0000), [(0, 32)]);
    let across = [(0, 128), (128, 128), (256, 128), (384, 128)];
    assert_eq!(halves(strided(0, 16), ALL), across);
}

#[test]
fn atomics_on_one_word_are_apart() {
    let mut out = Transactions::new();
    // Lanes 0, 1 and 2 on one word, lane 3 on the next.
    let mut addrs = [0; WARP_SIZE];
    addrs[3] = 4;
    coalesce_atomic(Segments, true, 4, &addrs, 0b1111, &mut out);
    let lanes: Vec<_> = out.as_slice().iter().map(|t| t.lanes).collect();
    assert_eq!(lanes, [0b1001, 0b0010, 0b0100]);
    coalesce_atomic(Segments, true, 4, &strided(0, 4), ALL, &mut out);
    assert_eq!(out.len(), 1);
    coalesce_atomic(Segments, true, 4, &strided(0, 0), ALL, &mut out);
    assert_eq!(out.len(), 32);
}

#[test]
fn constants_go_by_line() {
    let mut out = Transactions::new();
    coalesce_lines(64, 4, &strided(0, 4), ALL, &mut out);
    assert_eq!(parts(&out), [(0, 64), (64, 64)]);
    coalesce_lines(64, 4, &strided(8, 0), ALL, &mut out);
    assert_eq!(parts(&out), [(0, 64)]);
}

#[test]
fn local_words_of_neighbours_are_neighbours() {
    let map = LocalMap {
        base: 0x1000_0000,
        padded_block_threads: 64,
        blocks_per_sm: 8,
        sms: 15,
    };
    // Thread 33 of block slot 1 on SM 2: 64 x (2 + 15 x 1) + 33 = 1121.
    let all = 64 * 8 * 15;
    assert_eq!(map.address(2, 1, 33, 0), 0x1000_0000 + 4 * 1121);
    assert_eq!(
        map.address(2, 1, 33, 9),
        0x1000_0000 + 4 * (2 * all + 1121) + 1
    );
    let mut out = Transactions::new();
    let place = (2, 1, 32);
    coalesce_local(Segments, false, 4, &[8; 32], ALL, &map, place, &mut out);
    assert_eq!(out.len(), 1, "a warp's words make one line");
    coalesce_local(Segments, false, 8, &[8; 32], ALL, &map, place, &mut out);
    assert_eq!(out.len(), 2, "wide accesses go in four-byte pieces");
    let apart: [u64; 32] = std::array::from_fn(|lane| 16 * lane as u64);
    coalesce_local(Segments, false, 16, &apart, ALL, &map, place, &mut out);
    assert_eq!(out.len(), Transactions::CAPACITY);
}

/// GT200, a half-warp on 16 banks: one word is broadcast, the first of those that several lanes
/// want.
#[test]
fn one_word_may_be_broadcast() {
    let cycles = |words: [u64; 16]| {
        let addrs = std::array::from_fn(|lane| 4 * words[lane % 16]);
        shared_conflict_cycles(16, 2, OneBroadcast, 4, &addrs, 0xffff)
    };
    let row: [u64; 16] = std::array::from_fn(|lane| lane as u64);
    assert_eq!(cycles(row), 1);
    assert_eq!(cycles([5; 16]), 1, "one word for all");
    // Words 0 and 1 by eight lanes each: word 0 is broadcast, the other lanes follow one by one.
    assert_eq!(cycles(row.map(|lane| lane / 8)), 8);
    // Words 0 and 16 in bank 0 by two lanes each, the others a bank each: 0 once, 16 twice.
    let mut words = row;
    (words[1], words[2], words[3]) = (0, 16, 16);
    assert_eq!(cycles(words), 3);
    let both = [FirstWord, EveryWord].map(|rule| {
        let addrs = std::array::from_fn(|lane| 4 * words[lane % 16]);
        shared_conflict_cycles(16, 2, rule, 4, &addrs, 0xffff)
    });
    assert_eq!(both, [2, 2], "later every word can be");
}

/// Halves of a warp take turns for 8 bytes a lane and quarters for 16, and pairs of lanes with the
/// same words halve the turns.
#[test]
fn wide_accesses_take_a_phase_for_each_part_of_a_warp() {
    let cycles = |bytes, mask, address: fn(u64) -> u64| {
        let addrs = std::array::from_fn(|lane| address(lane as u64));
        shared_conflict_cycles(32, 1, Phases, bytes, &addrs, mask)
    };
    for (name, bytes, address, expected) in [
        ("a row of words", 4, (|lane| 4 * lane) as fn(u64) -> u64, 1),
        ("a row of 8 bytes", 8, |lane| 8 * lane, 2),
        ("a row of 16 bytes", 16, |lane| 16 * lane, 4),
        ("one address for all, 8 bytes", 8, |_| 64, 1),
        ("one address for all, 16 bytes", 16, |_| 64, 2),
        ("neighbours share", 16, |lane| lane / 2 * 16, 2),
        (
            "lanes two apart share",
            16,
            |lane| (lane & 1 | lane >> 2 << 1) * 16,
            2,
        ),
        ("four addresses by turns", 16, |lane| lane % 4 * 16, 4),
        ("halves share", 16, |lane| lane % 16 * 16, 4),
        ("a conflict within a quarter", 16, |lane| lane * 32, 8),
    ] {
        assert_eq!(cycles(bytes, ALL, address), expected, "{name}");
    }
    assert_eq!(cycles(16, 0xff, |lane| 16 * lane), 1, "one quarter");
    assert_eq!(cycles(16, 0, |lane| 16 * lane), 1, "nobody");
}

/// Cycles without a conflict: those of the width, of the lanes that are active, and of the parts.
#[test]
fn the_cycles_of_a_width_are_told_from_those_of_conflicts() {
    let cycles = |rule, bytes, mask, address: fn(u64) -> u64| {
        let addrs = std::array::from_fn(|lane| address(lane as u64));
        let all = shared_conflict_cycles(32, 1, rule, bytes, &addrs, mask);
        let width = shared_width_cycles(32, 1, rule, bytes, &addrs, mask);
        [width, all - width]
    };
    for (name, bytes, address, expected) in [
        ("words", 4, (|lane| 4 * lane) as fn(u64) -> u64, [1, 0]),
        ("one bank", 4, |lane| 128 * lane, [1, 31]),
        ("doubles", 8, |lane| 8 * lane, [2, 0]),
        ("padded doubles", 8, |lane| 8 * (lane + lane / 16), [2, 0]),
        ("doubles of one bank", 8, |lane| 128 * lane, [2, 30]),
        ("quads", 16, |lane| 16 * lane, [4, 0]),
        ("one double for all", 8, |_| 64, [1, 0]),
    ] {
        for rule in [Phases, EveryWord] {
            assert_eq!(cycles(rule, bytes, ALL, address), expected, "{name}");
        }
    }
    assert_eq!(cycles(Phases, 8, 0xffff, |lane| 8 * lane), [1, 0]);
    assert_eq!(cycles(FirstWord, 8, ALL, |lane| 8 * lane), [2, 0]);
    let addrs = strided(0, 4);
    assert_eq!(shared_width_cycles(16, 2, FirstWord, 4, &addrs, ALL), 2);
}

#[test]
fn addresses_with_strides_are_told_from_data() {
    let row: [u64; 32] = std::array::from_fn(|lane| 132 * lane as u64);
    assert!(have_strides(&row, ALL));
    let tile: [u64; 32] = std::array::from_fn(|lane| (lane / 8 * 64 + lane % 8) as u64 * 4);
    assert!(have_strides(&tile, ALL), "rows of a block");
    let table: [u64; 32] = std::array::from_fn(|lane| (lane * lane % 17) as u64 * 4);
    assert!(!have_strides(&table, ALL));
    assert!(have_strides(&table, 0b111), "two distances");
    assert!(have_strides(&table, 0));
}

#[test]
fn shared_memory_conflicts() {
    for (name, stride, bytes, wide, expected) in [
        ("one word each", 4, 4, false, 1),
        ("one word for all", 0, 4, false, 1),
        ("two words a bank", 8, 4, false, 2),
        ("one bank", 128, 4, false, 32),
        ("odd stride", 12, 4, false, 1),
        ("padded rows", 33 * 4, 4, false, 1),
        ("bytes of a word", 1, 1, false, 1),
        ("doubles, first word only", 8, 8, false, 2),
        ("doubles, every word", 8, 8, true, 2),
        ("quads, first word only", 16, 16, false, 4),
        ("quads, every word", 16, 16, true, 4),
        ("doubles by 16 bytes", 16, 8, true, 4),
    ] {
        let rule = if wide { EveryWord } else { FirstWord };
        let found = shared_conflict_cycles(32, 1, rule, bytes, &strided(0, stride), ALL);
        assert_eq!(found, expected, "{name}");
    }
    let halves = shared_conflict_cycles(16, 2, FirstWord, 4, &strided(0, 4), ALL);
    assert_eq!(halves, 2, "each half-warp takes a cycle");
    assert_eq!(
        shared_conflict_cycles(32, 1, FirstWord, 4, &strided(0, 0), 0),
        1
    );
}

/// Atomics of lanes on the same word take turns; those on other words of a bank do not count.
#[test]
fn lanes_of_a_word_take_turns() {
    let further = |addrs: [u64; 32], mask| further_lanes_of_a_word(&addrs, mask);
    assert_eq!(further([64; 32], ALL), 31, "one word for all");
    assert_eq!(further([64; 32], 0b1011), 2, "three active lanes");
    assert_eq!(further([64; 32], 0), 0);
    assert_eq!(further(strided(0, 4), ALL), 0, "a word each");
    assert_eq!(further(strided(0, 128), ALL), 0, "one bank, a word each");
    assert_eq!(further(strided(2, 1), ALL), 3, "bytes of a word");
    let mut pairs = strided(0, 4);
    (pairs[8], pairs[9], pairs[20]) = (0, 4, 4);
    assert_eq!(
        further(pairs, ALL),
        2,
        "word 0 by two lanes, word 1 by three"
    );
}

#[test]
fn an_address_of_several_lanes_counts_once() {
    let distinct = |addrs: [u64; 32], mask| distinct_addresses(&addrs, mask);
    assert_eq!(distinct([64; 32], ALL), 1);
    assert_eq!(distinct([64; 32], 0), 0);
    for stride in [4, 8, 128, 4096, 1 << 20] {
        assert_eq!(distinct(strided(1 << 28, stride), ALL), 32, "{stride}");
    }
    let pairs = std::array::from_fn(|lane| 4 * (lane as u64 % 16));
    assert_eq!(distinct(pairs, ALL), 16, "two lanes of each word");
    assert_eq!(distinct(pairs, 0xffff_ff00), 16, "some of them inactive");
    assert_eq!(distinct(pairs, 0x0101), 2);
    assert_eq!(distinct(pairs, 0x1_0001), 1, "lanes 0 and 16");
}

/// Bytes that each lane touches, from the transactions.
fn covered(out: &Transactions) -> BTreeMap<u64, u32> {
    let mut bytes = BTreeMap::new();
    for t in out.as_slice() {
        for bit in 0..128 {
            if t.byte_mask >> bit & 1 == 1 {
                *bytes.entry((t.addr & !127) + bit).or_default() |= t.lanes;
            }
        }
    }
    bytes
}

/// Strategy for halves of a warp.
fn halves_at(firsts: [u64; 2], rows: [bool; 2]) -> [HalfWords; 2] {
    [0, 1].map(|half| HalfWords {
        first: 4 * firsts[half],
        row: rows[half],
    })
}

/// Addresses of all lanes.
fn addresses(halves: [HalfWords; 2]) -> [u64; WARP_SIZE] {
    std::array::from_fn(|lane| {
        let HalfWords { first, row } = halves[lane / HALF];
        first + if row { 4 * (lane % HALF) as u64 } else { 0 }
    })
}

proptest! {
    /// Shortcuts for warps and halves with contiguous accesses give the transactions of
    /// lane-by-lane coalescing.
    #[test]
    fn accesses_in_step_coalesce_as_others_do(
        firsts in prop::array::uniform2(prop::sample::select(vec![
            0_u64, 4, 16, 62, 64, 120, 1024, u64::MAX - 511, u64::MAX - 255, u64::MAX - 63,
        ])),
        steps in prop::array::uniform2(0_u64..3),
        odd in prop::option::of(0_usize..WARP_SIZE),
        size in 0_u32..5,
        rule in prop::sample::select(vec![Segments, SegmentsAndSectors, Sectors]),
        mask in prop::sample::select(vec![ALL, 0xffff, 0xffff_0000, 0xfffe_ffff, 0x7fff_ffff]),
        whole: bool,
    ) {
        let bytes = 1_u64 << size;
        let mut addrs: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
            let (half, lane) = if whole { (0, lane) } else { (lane / HALF, lane % HALF) };
            firsts[half].wrapping_add(steps[half] * bytes * lane as u64)
        });
        if let Some(lane) = odd {
            addrs[lane] ^= bytes;
        }
        let (mut out, mut apart) = (Transactions::new(), Transactions::new());
        coalesce(rule, false, bytes as u32, &addrs, mask, &mut out);
        for lane in lanes_of(mask) {
            let segment = segment_bytes(rule, false, bytes as u32);
            apart.add(segment, 1 << lane, addrs[lane], bytes);
        }
        apart.finish();
        prop_assert_eq!(out.as_slice(), apart.as_slice());
    }

    /// `coalesce_halves` gives the transactions of `coalesce` for the same addresses.
    #[test]
    fn words_of_halves_coalesce_as_addresses_do(
        firsts in prop::array::uniform2(0_u64..80),
        rows: [bool; 2],
        rule in prop::sample::select(vec![Segments, SegmentsAndSectors, Sectors]),
        skips_l1: bool,
    ) {
        let halves = halves_at(firsts, rows);
        let addrs = addresses(halves);
        let (mut out, mut by_lane) = (Transactions::new(), Transactions::new());
        coalesce(rule, skips_l1, 4, &addrs, ALL, &mut by_lane);
        if coalesce_halves(rule, skips_l1, halves, &mut out) {
            prop_assert_eq!(out.as_slice(), by_lane.as_slice());
        } else {
            let segment = segment_bytes(rule, skips_l1, 4);
            let crosses = |half: HalfWords| half.row && half.first % segment + 64 > segment;
            prop_assert!(halves.into_iter().any(crosses));
        }
    }

    /// `halves_conflict_cycles` gives the cycles of `shared_conflict_cycles` for the same
    /// addresses.
    #[test]
    fn words_of_halves_conflict_as_addresses_do(
        firsts in prop::array::uniform2(0_u64..150),
        rows: [bool; 2],
        banks in prop::sample::select(vec![16_u32, 32, 48, 64]),
    ) {
        let halves = halves_at(firsts, rows);
        let addrs = addresses(halves);
        let cycles = shared_conflict_cycles(banks, 1, FirstWord, 4, &addrs, ALL);
        let known = banks == 32 || banks == 64;
        prop_assert_eq!(halves_conflict_cycles(banks, halves), known.then_some(cycles));
    }

    /// Shortcuts for patterns give the largest number of words in one bank.
    #[test]
    fn a_bank_gives_one_word_a_cycle(
        first in prop::sample::select(vec![0_u64, 2, 60, 64, 4096, u64::MAX - 255]),
        step in prop::sample::select(vec![
            0_u64, 1, 4, 6, 8, 12, 64, 128, 132, 1 << 34, 4_u64.wrapping_neg(),
        ]),
        others in prop::collection::vec((0_usize..WARP_SIZE, 0_u64..64), 0..6),
        banks in prop::sample::select(vec![1_u32, 12, 16, 32, 64]),
        mask in prop_oneof![Just(ALL), any::<u32>()],
        bytes in prop::sample::select(vec![1_u32, 4, 8, 16]),
        rule in prop::sample::select(vec![FirstWord, EveryWord]),
    ) {
        let mut addrs: [u64; WARP_SIZE] =
            std::array::from_fn(|lane| first.wrapping_add(step.wrapping_mul(lane as u64)));
        for (lane, word) in others {
            addrs[lane] = 4 * word;
        }
        let words = if rule == FirstWord { 1 } else { bytes.div_ceil(4) };
        let mut by_bank = BTreeMap::<u64, std::collections::BTreeSet<u64>>::new();
        for lane in lanes_of(mask) {
            for word in (addrs[lane] / 4..).take(words as usize) {
                by_bank.entry(word % u64::from(banks)).or_default().insert(word);
            }
        }
        let most = by_bank.values().map(std::collections::BTreeSet::len).max().unwrap_or(0);
        let found = shared_conflict_cycles(banks, 1, rule, bytes, &addrs, mask);
        prop_assert_eq!(found as usize, most.max(1));
    }

    #[test]
    fn transactions_cover_what_lanes_touch(
        seeds in prop::array::uniform32(0_u64..2048),
        mask: u32,
        size in 0_u32..5,
        rule in prop::sample::select(vec![Segments, SegmentsAndSectors, Sectors]),
        skips: bool,
        atomic: bool,
    ) {
        let bytes = 1 << size;
        let addrs = seeds.map(|seed| seed & !(u64::from(bytes) - 1));
        let mut out = Transactions::new();
        let call = if atomic { coalesce_atomic } else { coalesce };
        call(rule, skips, bytes, &addrs, mask, &mut out);

        let covered = covered(&out);
        let mut touched = std::collections::BTreeSet::new();
        for lane in lanes_of(mask) {
            for byte in 0..u64::from(bytes) {
                touched.insert(addrs[lane] + byte);
                prop_assert!(covered[&(addrs[lane] + byte)] >> lane & 1 == 1);
            }
        }
        prop_assert_eq!(covered.len(), touched.len());
        for t in out.as_slice() {
            prop_assert_eq!(t.addr % u64::from(t.bytes), 0);
            let inside = byte_mask(t.addr, t.bytes.into());
            prop_assert!(t.byte_mask & !inside == 0 && t.byte_mask != 0);
            prop_assert_eq!(t.sectors, sectors_of(t.byte_mask));
            let half = u64::from(t.bytes) / 2;
            if t.bytes > 32 {
                prop_assert!(t.byte_mask & byte_mask(t.addr, half) != 0);
                prop_assert!(t.byte_mask & byte_mask(t.addr + half, half) != 0);
            }
            if atomic {
                prop_assert_eq!(t.byte_mask.count_ones(), t.lanes.count_ones() * bytes);
            }
        }
        prop_assert!(out.as_slice().is_sorted_by_key(|t| t.addr & !127));
    }
}
