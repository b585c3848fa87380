//! Divided sets: which half a line comes into, and what the counters learn. In a set of four ways,
//! ways 0 and 1 are for critical warps. All lines lie in one region of memory, so that an
//! instruction has a signature of its own.

use super::Bench;
use crate::cache::replacement::Accessor;
use crate::cache::tags::Probe;
use warploom_base::Pc;
use warploom_config::Replacement;

/// A warp that is critical, and one that is not.
const CRITICAL: bool = true;
const OTHER: bool = false;

fn bench() -> Bench {
    Bench::new(Replacement::Cacp, 1, 4)
}

fn note(bench: &mut Bench, line: u64, pc: u32, critical: bool) {
    bench.tags.note_accessor(&Accessor {
        line_address: line * 128,
        pc: Pc(pc),
        critical,
    });
}

/// Accesses a line by instruction `pc`. Returns whether it hits.
fn access(bench: &mut Bench, line: u64, pc: u32, critical: bool) -> bool {
    note(bench, line, pc, critical);
    bench.access(line)
}

/// Way of a line that is present.
fn way(bench: &Bench, line: u64) -> Option<u32> {
    bench.tags.find(0, line)
}

/// Lines of instruction 1 come into the half of the others, from its last way on. A critical warp
/// hits one: the counter of the signature rises from 1 to 2, and the next line of the instruction
/// comes into the critical half.
#[test]
fn lines_of_a_signature_that_critical_warps_hit_get_the_critical_half() {
    let mut bench = bench();
    assert!(!access(&mut bench, 0, 1, CRITICAL));
    assert!(!access(&mut bench, 1, 1, CRITICAL));
    assert_eq!([way(&bench, 0), way(&bench, 1)], [Some(3), Some(2)]);
    assert!(access(&mut bench, 0, 1, CRITICAL));
    assert!(!access(&mut bench, 2, 1, OTHER));
    assert_eq!(way(&bench, 2), Some(1));
    // Another instruction's lines do not, and neither do this one's in another region.
    assert!(!access(&mut bench, 3, 2, CRITICAL));
    assert_eq!(way(&bench, 3), Some(2));
    assert!(!access(&mut bench, 4 + 128, 1, CRITICAL));
    assert_eq!(way(&bench, 4 + 128), Some(2));
}

/// A scan by instruction 2 after the lines above. Prediction values of ways 2 and 3: line 1 at 2,
/// line 0, which was hit, at 0. Line 10 raises both by one, and line 1 goes: 2 and 1. Line 11
/// raises both, and line 10 goes, which nobody used: its signature falls from 1 to 0, so that line
/// 11 comes at 3 and goes next, as does every line of the scan. Line 0 and the critical half stay.
#[test]
fn lines_that_nobody_uses_leave_those_that_are_used() {
    let mut bench = bench();
    for line in [0, 1] {
        access(&mut bench, line, 1, OTHER);
    }
    assert!(access(&mut bench, 0, 1, CRITICAL));
    access(&mut bench, 2, 1, CRITICAL);
    for (line, gone) in [(10, 1), (11, 10), (12, 11), (13, 12)] {
        note(&mut bench, line, 2, OTHER);
        assert_eq!(bench.replaced_by(&[line]), [gone]);
    }
    assert_eq!(bench.present([0, 2]), [0, 2]);
}

/// Lines 2 and 3 are in the critical half and are hit by other warps alone: both values are 0. Line
/// 4 raises them to 3, and the first way goes, that of line 3. The signature's counter falls below
/// 2, and line 5 comes into the half of the others.
#[test]
fn a_signature_whose_lines_only_others_use_loses_the_critical_half() {
    let mut bench = bench();
    access(&mut bench, 0, 1, OTHER);
    assert!(access(&mut bench, 0, 1, CRITICAL));
    for line in [2, 3] {
        access(&mut bench, line, 1, OTHER);
        assert!(access(&mut bench, line, 1, OTHER));
    }
    assert_eq!([way(&bench, 2), way(&bench, 3)], [Some(1), Some(0)]);
    note(&mut bench, 4, 1, OTHER);
    assert_eq!(bench.replaced_by(&[4]), [3]);
    assert_eq!(way(&bench, 4), Some(0));
    assert!(!access(&mut bench, 5, 1, OTHER));
    assert_eq!(way(&bench, 5), Some(2));
}

/// Lines on their way fill one half: another line of that half is refused, one of the other half is
/// not.
#[test]
fn a_half_whose_lines_are_on_their_way_takes_no_line() {
    let mut bench = bench();
    access(&mut bench, 0, 1, OTHER);
    assert!(access(&mut bench, 0, 1, CRITICAL));
    for line in [1, 2] {
        note(&mut bench, line, 2, OTHER);
        bench.tags.allocate(0, line, 0, 1);
    }
    note(&mut bench, 3, 2, OTHER);
    assert_eq!(bench.tags.probe(0, 3, 0, false), Probe::Full);
    note(&mut bench, 3, 1, OTHER);
    assert_eq!(bench.tags.probe(0, 3, 0, false), Probe::Miss);
}

/// A cache of one way is not divided.
#[test]
fn one_way_is_in_both_parts() {
    let mut bench = Bench::new(Replacement::Cacp, 1, 1);
    access(&mut bench, 0, 1, OTHER);
    assert!(access(&mut bench, 0, 1, CRITICAL));
    assert!(!access(&mut bench, 1, 1, CRITICAL));
    assert!(!access(&mut bench, 2, 2, CRITICAL));
    assert_eq!(bench.present(0..3), [2]);
}
