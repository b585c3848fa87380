//! Behaviour of hardware where the PTX ISA leaves a result open or differs. Expected values were
//! computed by hand from observations on a GPU (`docs/hardware.md`).

use crate::support::*;
use warploom_ir::*;

const NEG: u32 = 1 << 31;
/// The smallest normal f32, and the neighbours of 1 below and above.
const MIN: u32 = 0x0080_0000;
const BELOW_ONE: u32 = 0x3f7f_ffff;
const ABOVE_ONE: u32 = 0x3f80_0001;

/// Result of one lane with 32-bit registers.
fn narrow(op: Op, operands: &[u32]) -> u32 {
    let lane = std::array::from_fn(|k| operands.get(k).copied().unwrap_or(0).into());
    run_one(
        op,
        &[d(8)],
        &sources(operands.len()),
        &[lane],
        Wide::default(),
    )
    .r32[0]
}

/// Result of one lane with 64-bit registers, except for 32-bit operands from index `counts` on.
fn wide(op: Op, operands: &[u64], counts: usize) -> u64 {
    let lane = std::array::from_fn(|k| operands.get(k).copied().unwrap_or(0));
    let wide = Wide {
        src: std::array::from_fn(|k| k < counts),
        dst: true,
    };
    run_one(op, &[d(8)], &sources(operands.len()), &[lane], wide).r64[0]
}

fn sources(count: usize) -> Vec<Src> {
    (0..count as u16).map(|k| r(2 * k)).collect()
}

fn mods(round: Round, ftz: bool) -> FloatMods {
    FloatMods {
        round,
        ftz,
        sat: false,
        relu: false,
    }
}

const FTZ: FloatMods = FloatMods {
    round: Round::Near,
    ftz: true,
    sat: false,
    relu: false,
};

#[test]
fn products_are_flushed_as_if_exponents_had_no_end() {
    let mul = |mods| Op::Float(FloatBin::Mul, FloatTy::F32, mods);
    // 2^-126 (1 - 2^-24) needs 24 significant bits. A subnormal number has 23, and the tie is
    // rounded to even.
    let near = [(MIN, BELOW_ONE), (BELOW_ONE, MIN)];
    for (a, b) in near {
        assert_eq!(narrow(mul(mods(Round::Near, false)), &[a, b]), MIN);
        assert_eq!(narrow(mul(FTZ), &[a, b]), 0);
        assert_eq!(narrow(mul(FTZ), &[a | NEG, b]), NEG);
        let saturating = FloatMods { sat: true, ..FTZ };
        assert_eq!(narrow(mul(saturating), &[a, b]), 0);
        assert_eq!(narrow(mul(mods(Round::Up, true)), &[a, b]), 0);
    }
    // (1 + 2^-13) (1 - 2^-13) = 1 - 2^-26. The nearest number with 24 bits is 1.
    let (a, b) = (MIN + (1 << 10), 0x3f80_0000 - (1 << 11));
    assert_eq!(narrow(mul(FTZ), &[a, b]), MIN);
    assert_eq!(narrow(mul(mods(Round::Up, true)), &[a, b]), MIN);
    assert_eq!(narrow(mul(mods(Round::Down, true)), &[a, b]), 0);
    assert_eq!(
        narrow(mul(mods(Round::Down, true)), &[a | NEG, b]),
        MIN | NEG
    );
}

#[test]
fn only_the_lanes_next_to_the_smallest_normal_are_looked_at_again() {
    let mul = Op::Float(FloatBin::Mul, FloatTy::F32, FTZ);
    let operands = |lane: u64| {
        let a = if lane.is_multiple_of(3) { MIN } else { MIN + 7 };
        let b = if lane.is_multiple_of(2) {
            BELOW_ONE
        } else {
            0x3f80_0000
        };
        [a.into(), b.into(), 0, 0]
    };
    let lanes: Vec<_> = (0..32).map(operands).collect();
    let got = run_one(mul, &[d(8)], &sources(2), &lanes, Wide::default()).r32;
    for (lane, bits) in got.into_iter().enumerate() {
        let expected = match (lane % 3, lane % 2) {
            (0, 0) => 0,
            (0, _) => MIN,
            // (1 + 7 2^-23) (1 - 2^-24) is slightly closer to 1 + 6 2^-23.
            (_, 0) => MIN + 6,
            _ => MIN + 7,
        };
        assert_eq!(bits, expected, "lane {lane}");
    }
}

#[test]
fn fused_sums_are_flushed_as_if_exponents_had_no_end() {
    let fma = |mods| Op::Fma(FloatTy::F32, mods);
    assert_eq!(narrow(fma(FTZ), &[MIN, BELOW_ONE, 1]), 0);
    // Number 2^-75, and the factors that turn it into -2^-151, -1.5 2^-151 and -2^-150.
    let (a, half, more, unit) = (0x1a00_0000, 0x9980_0000, 0x99c0_0000, 0x9a00_0000);
    let of = |round, b| narrow(fma(mods(round, true)), &[a, b, MIN]);
    assert_eq!(
        of(Round::Near, half),
        MIN,
        "a tie, and the even one is normal"
    );
    assert_eq!(of(Round::Near, more), 0);
    assert_eq!(of(Round::Near, unit), 0);
    assert_eq!(of(Round::Up, half), MIN);
    assert_eq!(of(Round::Up, unit), 0);
    assert_eq!(of(Round::Zero, half), 0);
    assert_eq!(narrow(fma(mods(Round::Near, false)), &[a, unit, MIN]), MIN);
}

#[test]
fn quotients_are_flushed_as_if_exponents_had_no_end() {
    let div = |mods| Op::Float(FloatBin::Div, FloatTy::F32, mods);
    let two = 2f32.to_bits();
    assert_eq!(narrow(div(FTZ), &[2 * MIN - 1, two]), 0);
    assert_eq!(
        narrow(div(mods(Round::Near, false)), &[2 * MIN - 1, two]),
        MIN
    );
    assert_eq!(narrow(div(mods(Round::Up, true)), &[MIN, ABOVE_ONE]), 0);
    // The next number above 1 / (2^126 + 2^103) is 2^-126 (1 - 2^-24).
    let rcp = Op::FloatUn(FloatUn::Rcp, FloatTy::F32, mods(Round::Up, true));
    assert_eq!(narrow(rcp, &[0x7e80_0001]), 0);
    assert_eq!(narrow(rcp, &[0x7e80_0000]), MIN);
}

#[test]
fn sums_that_are_too_small_are_exact_and_flushed() {
    let add = Op::Float(FloatBin::Add, FloatTy::F32, FTZ);
    assert_eq!(narrow(add, &[MIN + 1, NEG | (2 * MIN)]), NEG);
    assert_eq!(narrow(add, &[3 * MIN, NEG | (2 * MIN)]), 2 * MIN);
}

#[test]
fn half_precision_is_flushed_as_if_exponents_had_no_end() {
    let mul = |ty, mods| Op::Float(FloatBin::Mul, ty, mods);
    assert_eq!(narrow(mul(FloatTy::F16, FTZ), &[0x0400, 0x3bff]), 0);
    assert_eq!(
        narrow(mul(FloatTy::F16x2, FTZ), &[0x3c00_0400, 0xbc00_3bff]),
        0xbc00_0000
    );
    let fma = Op::Fma(FloatTy::F16, FTZ);
    assert_eq!(narrow(fma, &[0x0878, 0x087a, 0x8400]), 0x8000);
    // Numbers that are 2^-27, 2^-26 (a tie) and 1.5 2^-26 below 2^-14.
    assert_eq!(narrow(fma, &[0x0800, 0x8400, 0x0400]), 0x0400);
    assert_eq!(narrow(fma, &[0x0800, 0x8800, 0x0400]), 0x0400);
    assert_eq!(narrow(fma, &[0x0a00, 0x8800, 0x0400]), 0);
    let clamped = FloatMods { relu: true, ..FTZ };
    assert_eq!(
        narrow(Op::Fma(FloatTy::F16, clamped), &[0x0878, 0x087a, 0x8400]),
        0
    );
}

#[test]
fn division_by_zero_gives_all_ones() {
    for op in [IntBin::Div, IntBin::Rem] {
        for a in [0, 1, 0x8000_0000, 0xffff_ffff_u32] {
            assert_eq!(narrow(Op::Int(op, IntTy::U32), &[a, 0]), u32::MAX);
            assert_eq!(narrow(Op::Int(op, IntTy::S32), &[a, 0]), u32::MAX);
            let bits = narrow(Op::Int(op, IntTy::U16), &[a, 0]);
            assert_eq!(bits & 0xffff, 0xffff);
            assert_eq!(wide(Op::Int(op, IntTy::U64), &[a.into(), 0], 2), u64::MAX);
            assert_eq!(wide(Op::Int(op, IntTy::S64), &[a.into(), 0], 2), u64::MAX);
        }
    }
}

#[test]
fn only_fields_of_64_bits_mind_large_positions_and_lengths() {
    let bfe = |ty, o: [u64; 3]| wide(Op::Bfe(ty), &o, 1);
    assert_eq!(bfe(IntTy::U64, [7, 1 << 31, 0x10]), 0);
    assert_eq!(bfe(IntTy::U64, [0x80, 5, 0x101]), 4);
    assert_eq!(bfe(IntTy::S64, [0x7fff, 0, 1 << 31]), 0x7fff);
    assert_eq!(bfe(IntTy::S64, [u64::MAX << 15, 0x100, 33]), u64::MAX);
    assert_eq!(
        bfe(IntTy::S64, [u64::MAX, 0x100, 0]),
        0,
        "a field of no bits"
    );
    assert_eq!(
        bfe(
            IntTy::U64,
            [u64::MAX, u64::from(u32::MAX), u64::from(u32::MAX)]
        ),
        0
    );
    let bfi = |o: [u64; 4]| wide(Op::Bfi(Width::B64), &o, 2);
    assert_eq!(bfi([0x55, u64::MAX, 4, 1 << 31]), 0x55f);
    assert_eq!(bfi([0x55, 0xabc, 0x101, 5]), 0xabc);
    // In the PTX ISA (9.7.1.21 and 9.7.1.22) only the lowest 8 bits count.
    assert_eq!(narrow(Op::Bfe(IntTy::U32), &[0xff, 0x101, 0x102]), 3);
    assert_eq!(narrow(Op::Bfi(Width::B32), &[3, 0, 0x101, 0x102]), 6);
}

#[test]
fn subnormal_numbers_survive_ftz_on_the_way_to_f16() {
    let cvt = |to, round| Op::Cvt {
        to: Ty::Float(to),
        from: Ty::Float(FloatTy::F32),
        round: CvtRound::Float(round),
        ftz: true,
        sat: false,
    };
    assert_eq!(narrow(cvt(FloatTy::F16, Round::Up), &[1]), 1);
    assert_eq!(narrow(cvt(FloatTy::F16, Round::Down), &[NEG | 1]), 0x8001);
    assert_eq!(narrow(cvt(FloatTy::F16, Round::Near), &[NEG | 1]), 0x8000);
    assert_eq!(narrow(cvt(FloatTy::F32, Round::Near), &[1]), 0);
}

#[test]
fn nans_and_infinities_become_tf32() {
    let tf32 = |round, finite, bits| {
        let op = Op::CvtTf32 {
            round,
            relu: false,
            finite,
        };
        narrow(op, &[bits])
    };
    for nan in [0x7fc0_0000, 0xffc0_0005, 0x7f80_0001] {
        assert_eq!(tf32(Round::Near, false, nan), 0x7fff_e000);
        assert_eq!(tf32(Round::Zero, false, nan), 0x7fff_e000);
    }
    let away = |bits| tf32(Round::NearAway, false, bits);
    assert_eq!(away(0xffc0_0005), 0xffc0_0000);
    assert_eq!(away(0xffba_b17a), 0xffba_a000, "a NaN is cut, not rounded");
    assert_eq!(away(0x7f80_0001), 0x7f80_0000, "and may become an infinity");
    assert_eq!(away(0x7f7f_ffff), 0x7f80_0000);
    let finite = |bits| tf32(Round::NearAway, true, bits);
    assert_eq!(finite(0x7f7f_ffff), 0x7f7f_e000);
    assert_eq!(finite(0xff80_0000), 0xff7f_e000);
    assert_eq!(finite(0xffc0_0005), 0xffbf_e000);
    assert_eq!(finite(0xad97_49d5), 0xad97_4000);
}

/// In PTX ISA 9.7.9.21, `.satfinite` is part of the instruction and NaN is canonical.
#[test]
fn numbers_become_eight_bits() {
    let to = |to, from, relu| Op::CvtToFloat8 { to, from, relu };
    let f32s =
        |ty, a: f32, b: f32| narrow(to(ty, FloatTy::F32, false), &[a.to_bits(), b.to_bits()]);
    use Float8::{E4m3, E5m2};
    assert_eq!(f32s(E4m3, 1.0, -1.5), 0x38bc);
    assert_eq!(f32s(E5m2, 1.0, -1.5), 0x3cbe);
    assert_eq!(f32s(E4m3, 448.0, f32::INFINITY), 0x7e7e);
    assert_eq!(f32s(E5m2, 57344.0, f32::NEG_INFINITY), 0x7bfb);
    assert_eq!(f32s(E4m3, f32::NAN, 1e30), 0x7f7e);
    // Ties between 1 and 1.125, between 1.125 and 1.25, and between zero and the smallest number.
    assert_eq!(f32s(E4m3, 1.0625, 1.1875), 0x383a);
    assert_eq!(f32s(E4m3, 2f32.powi(-10), 1.5 * 2f32.powi(-9)), 0x0002);
    assert_eq!(f32s(E5m2, 2f32.powi(-16), 1.5 * 2f32.powi(-16)), 0x0102);
    let halves = to(E4m3, FloatTy::F16x2, true);
    assert_eq!(narrow(halves, &[0x7c00_3e00]), 0x7e3c);
    assert_eq!(narrow(halves, &[0xfc00_fe00]), 0x007f);
}

#[test]
fn eight_bits_become_numbers() {
    let from = |ty, relu, bits| narrow(Op::CvtFromFloat8(ty, relu), &[bits]);
    assert_eq!(from(Float8::E4m3, false, 0x38bc), 0x3c00_be00);
    assert_eq!(from(Float8::E4m3, false, 0x0181), 0x1800_9800);
    assert_eq!(from(Float8::E4m3, false, 0x7e7f), 0x5f00_7fff);
    assert_eq!(from(Float8::E4m3, false, 0x80ff), 0x8000_7fff);
    assert_eq!(from(Float8::E4m3, true, 0x80ff), 0x0000_7fff);
    assert_eq!(from(Float8::E5m2, false, 0x7cfc), 0x7c00_fc00);
    assert_eq!(from(Float8::E5m2, false, 0x0184), 0x0100_8400);
    assert_eq!(from(Float8::E5m2, false, 0x7dfe), 0x7fff_7fff);
}
