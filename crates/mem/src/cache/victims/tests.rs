//! Policies for replaced lines without a cache.

use super::*;
use crate::testing::fermi_spec;
use warploom_config::LinebackerSettings;

const SETTINGS: LinebackerSettings = LinebackerSettings {
    window_cycles: 100,
    hit_percent: 50,
    loads: 4,
    latency_cycles: 4,
};

fn linebacker() -> Policy {
    Policy::new(Choice::Linebacker(SETTINGS))
}

/// Notes reads of a load in the cycles from `first` on, of which the first `found` find their data.
fn reads(policy: &mut Policy, first: Cycle, pc: u32, of: u64, found: u64) {
    for nth in 0..of {
        policy.on_read(first + nth, Pc(pc), nth < found);
    }
}

fn keeps<const N: usize>(policy: &mut Policy, now: Cycle, pcs: [u32; N]) -> [bool; N] {
    pcs.map(|pc| policy.keeps(now, Pc(pc)))
}

/// The window begins with the first read, in cycle 10, and ends with cycle 109. Two of four reads
/// are half of them, one is not. Load 4 has the number of load 1: 4 xor (4 >> 2) is 5.
#[test]
fn loads_that_find_half_of_their_data_are_chosen() {
    let mut policy = linebacker();
    reads(&mut policy, 10, 0, 4, 2);
    reads(&mut policy, 14, 1, 4, 1);
    assert_eq!(keeps(&mut policy, 109, [0, 1, 2, 4]), [true; 4]);
    let chosen = [true, false, false, false];
    assert_eq!(keeps(&mut policy, 110, [0, 1, 2, 4]), chosen);
    // The choice stays, whatever the loads do.
    reads(&mut policy, 111, 1, 100, 100);
    reads(&mut policy, 111, 0, 100, 0);
    assert_eq!(keeps(&mut policy, 1000, [0, 1, 2, 4]), chosen);
}

/// No load finds half of its data up to cycle 109, so a window from 110 to 209 follows, whose reads
/// alone count.
#[test]
fn without_a_load_to_choose_the_next_window_begins() {
    let mut policy = linebacker();
    reads(&mut policy, 10, 0, 9, 0);
    assert_eq!(keeps(&mut policy, 110, [0, 1]), [true; 2]);
    reads(&mut policy, 120, 0, 2, 1);
    reads(&mut policy, 122, 1, 4, 1);
    assert_eq!(keeps(&mut policy, 209, [0, 1]), [true; 2]);
    assert_eq!(keeps(&mut policy, 210, [0, 1]), [true, false]);
    policy.forget_loads();
    assert_eq!(keeps(&mut policy, 211, [0, 1]), [true; 2]);
}

#[test]
fn nothing_keeps_nothing() {
    let mut policy = Policy::new(Choice::Nothing);
    reads(&mut policy, 0, 0, 4, 4);
    assert_eq!(keeps(&mut policy, 5, [0]), [false]);
}

#[test]
fn every_policy_is_described_in_a_sentence() {
    let spec = fermi_spec();
    for row in VICTIMS {
        let facts = row.facts;
        assert!(facts.about.ends_with('.'), "{}", row.name);
        for text in [facts.about, facts.source, facts.state] {
            assert!(!text.is_empty() && !text.contains('|'), "{}", row.name);
        }
        assert_eq!((facts.bits)(&spec), facts.example_bits, "{}", row.name);
    }
}
