//! Which accesses are kept, and on which SM they are replayed.

use super::{Accesses, COMPARED, KEPT, Turns, sectors, whole};
use warploom_gpu::{ReplayKind, SEGMENT_BYTES};

/// Accesses of a machine with room for `lines` lines, one for each of the numbers of segments.
pub(super) fn of(lines: usize, segments: impl IntoIterator<Item = u64>) -> Accesses {
    let mut accesses = Accesses::with_room(KEPT * lines, vec![3, 5]);
    for segment in segments {
        let place = (segment * SEGMENT_BYTES, 0xff);
        accesses.add(0, ReplayKind::Read, false, place);
    }
    accesses
}

fn segments(accesses: &Accesses) -> Vec<u64> {
    let all = accesses.in_order();
    all.map(|entry| entry.segment / SEGMENT_BYTES).collect()
}

#[test]
fn the_last_accesses_are_kept_in_order() {
    assert_eq!(segments(&of(1, [1, 2, 3])), [1, 2, 3]);
    let many = of(1, 0..7);
    assert_eq!((segments(&many), many.count), (vec![3, 4, 5, 6], 7));
    assert!(segments(&of(0, [1, 2])).is_empty());
}

/// An access that repeats another one is counted and not kept, unless one of another segment took
/// its place meanwhile.
#[test]
fn repeated_accesses_are_kept_once() {
    let far = COMPARED as u64;
    let accesses = of(2, [1, 1, 2, 1, 1 + far, 1]);
    assert_eq!(segments(&accesses), [1, 2, 1 + far, 1]);
    assert_eq!(accesses.count, 6);
}

#[test]
fn reads_are_of_whole_sectors_and_writes_of_their_bytes() {
    let mut accesses = of(4, []);
    let bytes = 0xff << 28;
    for kind in [ReplayKind::Read, ReplayKind::Write] {
        accesses.add(0, kind, false, (0, bytes));
    }
    let kept: Vec<u128> = accesses.last.iter().map(|e| e.access().bytes).collect();
    assert_eq!(kept, [u128::from(u64::MAX), bytes]);
    // Two sectors each.
    assert_eq!((accesses.count, sectors(1 << 127)), (4, 8));
}

/// A data cache without sectors fetches lines, as far as reads go through it.
#[test]
fn a_data_cache_without_sectors_reads_whole_lines() {
    let mut accesses = of(4, []);
    accesses.fetched_bytes = 128;
    for (kind, through_l1) in [
        (ReplayKind::Read, true),
        (ReplayKind::Read, false),
        (ReplayKind::Write, true),
    ] {
        accesses.add(0, kind, through_l1, (0, 1));
    }
    let kept: Vec<u128> = accesses.last.iter().map(|e| e.access().bytes).collect();
    assert_eq!(kept, [u128::MAX, u128::from(u32::MAX), 1]);
    assert_eq!(whole(1 << 70, 64), u128::from(u64::MAX) << 64);
}

/// Accesses go to data caches of SMs only where those keep their lines, and blocks take turns.
#[test]
fn accesses_go_to_the_sm_of_their_block() {
    let mut accesses = of(4, []);
    let mut add = |keeps, block, through_l1| {
        accesses.keeps_l1 = keeps;
        let place = (accesses.last.len() as u64 * SEGMENT_BYTES, 1);
        accesses.add(block, ReplayKind::Read, through_l1, place);
        accesses.last.last().expect("it was added").sm
    };
    assert_eq!(add(true, 0, true), Some(3));
    assert_eq!(add(true, 3, true), Some(5));
    assert_eq!((add(true, 1, false), add(false, 1, true)), (None, None));
}

/// Where fences empty data caches, accesses around one go to L2 only.
#[test]
fn a_fence_empties_data_caches() {
    let mut accesses = of(4, []);
    (accesses.keeps_l1, accesses.fences_flush_l1) = (true, true);
    accesses.add(0, ReplayKind::Read, true, (0, 1));
    accesses.add(0, ReplayKind::Texture, true, (128, 1));
    accesses.fence();
    accesses.add(0, ReplayKind::Read, true, (256, 1));
    let sms: Vec<Option<u16>> = accesses.last.iter().map(|entry| entry.sm).collect();
    assert_eq!(sms, [None, Some(3), None]);
}

/// A texture cache keeps its lines, and reads whole ones.
#[test]
fn reads_of_textures_go_to_the_texture_cache_of_their_sm() {
    let mut accesses = of(4, []);
    accesses.texture_line = 128;
    accesses.add(1, ReplayKind::Texture, false, (0, 15));
    let entry = accesses.last[0];
    assert_eq!((entry.sm, entry.access().bytes), (Some(5), u128::MAX));
    assert_eq!(entry.cache(), Some((5, 1)));
}

#[test]
fn only_the_last_accesses_of_an_sm_have_turns() {
    let at = |sm, kind| {
        let mut entry = of(1, [1]).last[0];
        (entry.sm, entry.kind) = (sm, kind);
        entry
    };
    let [read, texture] = [ReplayKind::Read, ReplayKind::Texture];
    let all = [
        at(Some(1), read),
        at(None, read),
        at(Some(1), read),
        at(Some(1), texture),
        at(Some(0), read),
        at(Some(1), read),
        at(Some(1), texture),
    ];
    let mut turns = Turns::new(all.iter(), [2, 1]);
    let numbers = all.each_ref().map(|entry| turns.next(entry));
    let expected = [None, None, Some(0), None, Some(0), Some(1), Some(0)];
    assert_eq!(numbers, expected);
}
