//! Tests of comparisons and selections of floating-point numbers and integers.

use crate::float::{NAN, NEG, ONE, SUB};
use crate::support::*;
use warploom_ir::*;

/// Results of a comparison for less, equal, greater and unordered operands.
#[test]
fn comparisons_ordered_and_unordered() {
    let b = |x: f32| u64::from(x.to_bits());
    let lanes = [
        [b(1.0), b(2.0), 0, 0],
        [b(2.0), b(2.0), 0, 0],
        [b(3.0), b(2.0), 0, 0],
        [u64::from(NAN), b(2.0), 0, 0],
        [0, NEG.into(), 0, 0],
    ];
    // One bit per lane, starting at lane 0: <, =, >, unordered, +0 with -0.
    let table = [
        (Cmp::Eq, 0b10010),
        (Cmp::Ne, 0b00101),
        (Cmp::Lt, 0b00001),
        (Cmp::Le, 0b10011),
        (Cmp::Gt, 0b00100),
        (Cmp::Ge, 0b10110),
        (Cmp::Equ, 0b11010),
        (Cmp::Neu, 0b01101),
        (Cmp::Ltu, 0b01001),
        (Cmp::Leu, 0b11011),
        (Cmp::Gtu, 0b01100),
        (Cmp::Geu, 0b11110),
        (Cmp::Num, 0b10111),
        (Cmp::Nan, 0b01000),
    ];
    for (cmp, want) in table {
        let setp = Op::Setp(cmp, Combine::None, Ty::Float(FloatTy::F32), false);
        let got = run_one(
            setp,
            &[dp(2), dp(3)],
            &[r(0), r(2)],
            &lanes,
            Wide::default(),
        );
        assert_eq!(got.p2 & 31, want, "{cmp:?}");
        assert_eq!(
            got.p3 & 31,
            !want & 31,
            "{cmp:?}: the second is the opposite"
        );
    }
    let eq = Op::Setp(Cmp::Eq, Combine::None, Ty::Float(FloatTy::F32), true);
    let got = run_one(
        eq,
        &[dp(2)],
        &[r(0), r(2)],
        &[[SUB.into(), 0, 0, 0]],
        Wide::default(),
    );
    assert_eq!(got.p2, u32::MAX, ".ftz makes subnormals equal to zero");
}

#[test]
fn integer_comparisons_combine_and_set() {
    let lanes = [[u64::from(u32::MAX), 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]];
    let go = |cmp, how, ty| {
        let setp = inst(
            Op::Setp(cmp, how, Ty::Int(ty), false),
            &[dp(2), dp(3)],
            &[r(0), r(2), p(0)],
        );
        let got = run_inst(setp, &lanes, Wide::default(), 0b010, u32::MAX);
        (got.p2 & 7, got.p3 & 7)
    };
    assert_eq!(go(Cmp::Lt, Combine::None, IntTy::S32), (0b101, 0b010));
    assert_eq!(go(Cmp::Lo, Combine::None, IntTy::U32), (0b100, 0b011));
    assert_eq!(go(Cmp::Hs, Combine::And, IntTy::U32), (0b010, 0b000));
    assert_eq!(go(Cmp::Le, Combine::Or, IntTy::S32), (0b111, 0b010));
    assert_eq!(go(Cmp::Ne, Combine::Xor, IntTy::S32), (0b111, 0b000));
    let set = |dst| Op::Set(Cmp::Lt, Combine::None, Ty::Int(IntTy::S32), false, dst);
    for (dst, one) in [
        (SetDst::U32, u32::MAX),
        (SetDst::F32, ONE),
        (SetDst::F16, 0x3c00),
    ] {
        let got = run_one(set(dst), &[d(8)], &[r(0), r(2)], &lanes, Wide::default());
        assert_eq!(got.r32[..3], [one, 0, one]);
    }
    let wide = Wide {
        src: [true; 4],
        dst: false,
    };
    let lt = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::S64), false);
    let got = run_one(
        lt,
        &[dp(2)],
        &[r(0), r(2)],
        &[[u64::MAX, 0, 0, 0], [0, 0, 0, 0]],
        wide,
    );
    assert_eq!(got.p2 & 3, 1);
    let packed = Op::Setp(Cmp::Gt, Combine::None, Ty::Float(FloatTy::F16x2), false);
    let got = run_one(
        packed,
        &[dp(2), dp(3)],
        &[r(0), r(2)],
        &[[0x3c00_0000, 0x0000_0001, 0, 0]],
        Wide::default(),
    );
    assert_eq!(
        (got.p2 & 1, got.p3 & 1),
        (0, 1),
        "lower halves, upper halves"
    );
}

#[test]
fn selections() {
    let selp = inst(Op::Selp(Width::B32), &[d(8)], &[r(0), r(2), p(0)]);
    let got = run_inst(selp, &[[1, 2, 0, 0]], Wide::default(), 0b01, u32::MAX);
    assert_eq!(got.r32[..2], [1, 2]);
    let wide = Wide {
        src: [true, true, false, false],
        dst: true,
    };
    let selp = inst(Op::Selp(Width::B64), &[d(8)], &[r(0), r(2), p(0)]);
    let got = run_inst(selp, &[[1 << 40, 2, 0, 0]], wide, 0b10, u32::MAX);
    assert_eq!(got.r64[..2], [2, 1 << 40]);
    let c = |x: f32| u64::from(x.to_bits());
    let slct = |float, ftz| Op::Slct {
        width: Width::B32,
        float,
        ftz,
    };
    let go = |op, c| {
        run_one(
            op,
            &[d(8)],
            &[r(0), r(2), r(4)],
            &[[1, 2, c, 0]],
            Wide::default(),
        )
        .r32[0]
    };
    assert_eq!(
        (go(slct(false, false), 5), go(slct(false, false), 1 << 31)),
        (1, 2)
    );
    assert_eq!(
        (
            go(slct(true, false), c(-0.0)),
            go(slct(true, false), c(-1.0))
        ),
        (1, 2)
    );
    assert_eq!(go(slct(true, false), NAN.into()), 2);
    let negative_subnormal = u64::from(NEG | SUB);
    assert_eq!(
        (
            go(slct(true, true), negative_subnormal),
            go(slct(true, false), negative_subnormal)
        ),
        (1, 2)
    );
}
