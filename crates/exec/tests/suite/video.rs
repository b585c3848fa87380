//! Tests of video instructions, with values from the definitions of PTX ISA 9.7.19.

use crate::support::*;
use warploom_ir::*;

const ADD2: Video = Video {
    op: VideoOp::Add,
    lanes: VideoLanes::Two,
    a_signed: false,
    b_signed: false,
    d_signed: false,
    sat: false,
    add: false,
};

/// Operation on the corresponding elements of both sources, all of which are written.
fn plain(lanes: VideoLanes) -> VideoParts {
    match lanes {
        VideoLanes::Two => VideoParts::new(0b11, [[0, 1, 0, 0], [2, 3, 0, 0]]),
        VideoLanes::Four => VideoParts::new(0b1111, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    }
}

fn run(video: Video, parts: VideoParts, operands: [u32; 3]) -> u32 {
    let [a, b, c] = operands.map(u64::from);
    let mut one = inst(Op::Video(video), &[d(8)], &[r(0), r(2), r(4)]);
    one.imm = parts.imm();
    run_inst(one, &[[a, b, c, 0]], Wide::default(), 0, u32::MAX).r32[0]
}

fn whole(video: Video, operands: [u32; 3]) -> u32 {
    run(video, plain(video.lanes), operands)
}

#[test]
fn lanes_act_apart() {
    assert_eq!(whole(ADD2, [0x0001_ffff, 0x0002_0001, 0]), 0x0003_0000);
    let bytes = Video {
        lanes: VideoLanes::Four,
        ..ADD2
    };
    assert_eq!(whole(bytes, [0x01ff_7f80, 0x0101_0180, 0]), 0x0200_8000);
    let difference = Video {
        op: VideoOp::AbsDiff,
        ..bytes
    };
    assert_eq!(
        whole(difference, [0x0500_ff80, 0x0305_0001, 0]),
        0x0205_ff7f
    );
    let greatest = Video {
        op: VideoOp::Max,
        a_signed: true,
        ..ADD2
    };
    // -1 and 1; 32767 and 65535.
    assert_eq!(whole(greatest, [0xffff_7fff, 0x0001_ffff, 0]), 0x0001_ffff);
}

#[test]
fn results_saturate_as_the_destination_has_it() {
    let sub = |d_signed| Video {
        op: VideoOp::Sub,
        sat: true,
        d_signed,
        ..ADD2
    };
    assert_eq!(
        whole(sub(false), [0x0001_ffff, 0x0002_0000, 0]),
        0x0000_ffff
    );
    assert_eq!(whole(sub(true), [0x0001_ffff, 0x0002_0000, 0]), 0xffff_7fff);
}

#[test]
fn averages_round_away_from_zero() {
    let average = Video {
        op: VideoOp::Average,
        lanes: VideoLanes::Four,
        a_signed: true,
        b_signed: true,
        d_signed: true,
        ..ADD2
    };
    // 1 and 2; -1 and -2; 0 and -1; 127 and 127.
    assert_eq!(whole(average, [0x01ff_007f, 0x02fe_ff7f, 0]), 0x02fe_ff7f);
}

#[test]
fn lanes_are_chosen_and_merged() {
    // Only the upper half is written. Its sources are halves of the second register.
    let parts = VideoParts::new(0b10, [[0, 2, 0, 0], [0, 3, 0, 0]]);
    assert_eq!(run(ADD2, parts, [1, 0x0003_0004, 0x1111_2222]), 0x0007_2222);
    let below = Video {
        op: VideoOp::Set(Cmp::Lt),
        lanes: VideoLanes::Four,
        a_signed: true,
        ..ADD2
    };
    let parts = VideoParts::new(0b0101, [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert_eq!(
        run(below, parts, [0x00ff_0000, 0, 0x1111_1111]),
        0x1101_1100
    );
}

#[test]
fn results_are_accumulated() {
    let sum = Video {
        op: VideoOp::Sub,
        lanes: VideoLanes::Four,
        add: true,
        ..ADD2
    };
    assert_eq!(whole(sum, [0x0000_0005, 0x0102_0301, 10]), 8);
}
