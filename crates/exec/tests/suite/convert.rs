//! Tests of `cvt`: every pair of types against exact arithmetic.

use crate::support::*;
use half::f16;
use warploom_base::Rng;
use warploom_ir::*;

const INTS: [(IntTy, u32, bool); 8] = [
    (IntTy::U8, 8, false),
    (IntTy::S8, 8, true),
    (IntTy::U16, 16, false),
    (IntTy::S16, 16, true),
    (IntTy::U32, 32, false),
    (IntTy::S32, 32, true),
    (IntTy::U64, 64, false),
    (IntTy::S64, 64, true),
];

fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let low = i128::from(bits) & ((1 << width) - 1);
    if signed && low >> (width - 1) & 1 == 1 {
        low - (1 << width)
    } else {
        low
    }
}

fn limits(width: u32, signed: bool) -> (i128, i128) {
    if signed {
        (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    }
}

fn cvt(to: Ty, from: Ty, round: CvtRound) -> Op {
    Op::Cvt {
        to,
        from,
        round,
        ftz: false,
        sat: false,
    }
}

fn is_wide(ty: Ty) -> bool {
    matches!(
        ty,
        Ty::Int(IntTy::U64 | IntTy::S64) | Ty::Float(FloatTy::F64)
    )
}

/// Converts values and compares the low `bits` of each result.
fn check(op: Op, values: &[u64], bits: u32, want: impl Fn(u64) -> u64) {
    let Op::Cvt { to, from, .. } = op else {
        panic!("not a conversion")
    };
    let wide = Wide {
        src: [is_wide(from); 4],
        dst: is_wide(to),
    };
    for chunk in values.chunks(32) {
        let lanes: Vec<[u64; 4]> = chunk.iter().map(|&x| [x, 0, 0, 0]).collect();
        let got = run_one(op, &[d(8)], &[r(0)], &lanes, wide);
        for (lane, &x) in chunk.iter().enumerate() {
            let have = if wide.dst {
                got.r64[lane]
            } else {
                got.r32[lane].into()
            };
            let mask = u64::MAX >> (64 - bits);
            assert_eq!(have & mask, want(x) & mask, "{op:?} of {x:#x}");
        }
    }
}

fn integers() -> Vec<u64> {
    let mut rng = Rng::new(51);
    let mut all: Vec<u64> = (0..64)
        .flat_map(|i| [1u64 << i, (1 << i) - 1, !(1 << i)])
        .collect();
    all.extend((0..64).map(|_| rng.next_u64() >> rng.below(64)));
    all
}

#[test]
fn integers_to_integers() {
    for (to, width, signed) in INTS {
        for (from, from_width, from_signed) in INTS {
            let (to_ty, from_ty) = (Ty::Int(to), Ty::Int(from));
            let plain = cvt(to_ty, from_ty, CvtRound::None);
            check(plain, &integers(), width, |x| {
                value(x, from_width, from_signed) as u64
            });
            let (least, most) = limits(width, signed);
            let sat = Op::Cvt {
                to: to_ty,
                from: from_ty,
                round: CvtRound::None,
                ftz: false,
                sat: true,
            };
            check(sat, &integers(), width, |x| {
                value(x, from_width, from_signed).clamp(least, most) as u64
            });
        }
    }
    // The destination register may be wider than the type.
    check(
        cvt(Ty::Int(IntTy::S8), Ty::Int(IntTy::S32), CvtRound::None),
        &[0x80],
        32,
        |_| 0xffff_ff80,
    );
    check(
        cvt(Ty::Int(IntTy::U8), Ty::Int(IntTy::S32), CvtRound::None),
        &[0x1ff],
        32,
        |_| 0xff,
    );
}

type Rounding = (Round, fn(f64) -> f64);

const ROUNDS: [Rounding; 4] = [
    (Round::Near, f64::round_ties_even),
    (Round::Zero, f64::trunc),
    (Round::Down, f64::floor),
    (Round::Up, f64::ceil),
];

fn floats() -> Vec<f32> {
    let mut rng = Rng::new(52);
    let mut all = vec![
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        127.5,
        128.0,
        -128.5,
        255.5,
        32768.0,
        2147483648.0,
        -2147483648.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::from_bits(1),
    ];
    all.extend((0..300).map(|_| (rng.unit_f32() - 0.5) * 2f32.powi(rng.below(70) as i32)));
    all
}

#[test]
fn floats_to_integers_round_and_saturate() {
    for (to, width, signed) in INTS {
        let (least, most) = limits(width, signed);
        for (round, f) in ROUNDS {
            let op = |from| cvt(Ty::Int(to), Ty::Float(from), CvtRound::Integral(round));
            // A conversion by `as` to i128 saturates, and every f32 is exact in f64.
            let want = |x: f64| (f(x) as i128).clamp(least, most) as u64;
            let bits: Vec<u64> = floats().iter().map(|x| x.to_bits().into()).collect();
            check(op(FloatTy::F32), &bits, width, |x| {
                want(f32::from_bits(x as u32).into())
            });
            let bits: Vec<u64> = floats().iter().map(|&x| f64::from(x).to_bits()).collect();
            check(op(FloatTy::F64), &bits, width, |x| want(f64::from_bits(x)));
            let bits: Vec<u64> = floats()
                .iter()
                .map(|&x| f16::from_f32(x).to_bits().into())
                .collect();
            check(op(FloatTy::F16), &bits, width, |x| {
                want(f16::from_bits(x as u16).to_f64())
            });
            let top = 1u64 << (width - 1);
            check(op(FloatTy::F32), &[0x7fc0_0000], width, |_| {
                if width == 64 { top } else { 0 }
            });
            check(op(FloatTy::F64), &[0x7ff8 << 48], width, |_| top);
        }
    }
}

#[test]
fn integers_to_floats() {
    for (from, width, signed) in INTS {
        let near = CvtRound::Float(Round::Near);
        let v = |x: u64| value(x, width, signed);
        let go = |to, round| cvt(Ty::Float(to), Ty::Int(from), round);
        check(go(FloatTy::F32, near), &integers(), 32, |x| {
            (v(x) as f32).to_bits().into()
        });
        check(go(FloatTy::F64, near), &integers(), 64, |x| {
            (v(x) as f64).to_bits()
        });
        check(go(FloatTy::F16, near), &integers(), 16, |x| {
            f16::from_f64(if v(x).abs() > 1 << 20 {
                v(x).signum() as f64 * 1e6
            } else {
                v(x) as f64
            })
            .to_bits()
            .into()
        });
        for (round, below, above) in [
            (Round::Down, true, false),
            (Round::Up, false, true),
            (Round::Zero, true, true),
        ] {
            check_directed(
                go(FloatTy::F32, CvtRound::Float(round)),
                &integers(),
                |x, y| {
                    let (exact, got) = (v(x), f32::from_bits(y as u32) as i128);
                    let toward_zero = got.abs() <= exact.abs();
                    let near = (got - exact).abs() <= exact.abs() >> 23;
                    near && if below && above {
                        toward_zero
                    } else {
                        (got <= exact) == below || got == exact
                    }
                },
            );
        }
    }
}

/// Checks results by a property of (operand, result).
fn check_directed(op: Op, values: &[u64], holds: impl Fn(u64, u64) -> bool) {
    let Op::Cvt { to, from, .. } = op else {
        panic!("not a conversion")
    };
    let wide = Wide {
        src: [is_wide(from); 4],
        dst: is_wide(to),
    };
    for chunk in values.chunks(32) {
        let lanes: Vec<[u64; 4]> = chunk.iter().map(|&x| [x, 0, 0, 0]).collect();
        let got = run_one(op, &[d(8)], &[r(0)], &lanes, wide);
        for (lane, &x) in chunk.iter().enumerate() {
            let have = if wide.dst {
                got.r64[lane]
            } else {
                got.r32[lane].into()
            };
            assert!(holds(x, have), "{op:?} of {x:#x} gives {have:#x}");
        }
    }
}

#[test]
fn floats_to_floats() {
    let single: Vec<u64> = floats().iter().map(|x| x.to_bits().into()).collect();
    let near = CvtRound::Float(Round::Near);
    let go = |to, from, round| cvt(Ty::Float(to), Ty::Float(from), round);
    check(
        go(FloatTy::F64, FloatTy::F32, CvtRound::None),
        &single,
        64,
        |x| f64::from(f32::from_bits(x as u32)).to_bits(),
    );
    check(go(FloatTy::F16, FloatTy::F32, near), &single, 16, |x| {
        f16::from_f32(f32::from_bits(x as u32)).to_bits().into()
    });
    check(go(FloatTy::Bf16, FloatTy::F32, near), &single, 16, |x| {
        half::bf16::from_f32(f32::from_bits(x as u32))
            .to_bits()
            .into()
    });
    let halves: Vec<u64> = (0..=0xffff)
        .step_by(13)
        .filter(|x| x & 0x7fff <= 0x7c00)
        .collect();
    check(
        go(FloatTy::F32, FloatTy::F16, CvtRound::None),
        &halves,
        32,
        |x| f16::from_bits(x as u16).to_f32().to_bits().into(),
    );
    check(
        go(FloatTy::F32, FloatTy::Bf16, CvtRound::None),
        &halves,
        32,
        |x| x << 16,
    );
    let third = (1.0f64 / 3.0).to_bits();
    for (round, want) in [
        (Round::Near, 0x3eaa_aaab),
        (Round::Zero, 0x3eaa_aaaa),
        (Round::Up, 0x3eaa_aaab),
    ] {
        check(
            go(FloatTy::F32, FloatTy::F64, CvtRound::Float(round)),
            &[third],
            32,
            |_| want,
        );
    }
    check(
        go(FloatTy::F32, FloatTy::F64, near),
        &[0x7ff8_0000_0000_0001],
        32,
        |_| 0x7fff_ffff,
    );
    check(
        go(FloatTy::F16, FloatTy::F32, near),
        &[0xffc0_0000],
        16,
        |_| 0x7fff,
    );
    check(
        go(FloatTy::F64, FloatTy::F32, CvtRound::None),
        &[0x7fff_ffff],
        64,
        |_| 0x7fff_ffff_e000_0000,
    );
}

#[test]
fn rounding_to_integral_floats() {
    let bits: Vec<u64> = floats().iter().map(|x| x.to_bits().into()).collect();
    let wide: Vec<u64> = floats().iter().map(|&x| f64::from(x).to_bits()).collect();
    for (round, f) in ROUNDS {
        let op = |ty| cvt(Ty::Float(ty), Ty::Float(ty), CvtRound::Integral(round));
        check(op(FloatTy::F32), &bits, 32, |x| {
            (f(f32::from_bits(x as u32).into()) as f32).to_bits().into()
        });
        check(op(FloatTy::F64), &wide, 64, |x| {
            f(f64::from_bits(x)).to_bits()
        });
        check(op(FloatTy::F16), &[0x3e00, 0xbe00], 16, |x| {
            f16::from_f64(f(f16::from_bits(x as u16).to_f64()))
                .to_bits()
                .into()
        });
    }
}

#[test]
fn flushing_and_saturation() {
    let go = |to, from, ftz, sat| Op::Cvt {
        to,
        from,
        round: CvtRound::Float(Round::Near),
        ftz,
        sat,
    };
    let (f32_ty, f64_ty) = (Ty::Float(FloatTy::F32), Ty::Float(FloatTy::F64));
    check(
        go(f32_ty, f64_ty, true, false),
        &[1e-40f64.to_bits()],
        32,
        |_| 0,
    );
    check(
        go(f32_ty, f64_ty, false, false),
        &[1e-40f64.to_bits()],
        32,
        |_| (1e-40f32).to_bits().into(),
    );
    check(go(f64_ty, f32_ty, true, false), &[0x8000_0001], 64, |_| {
        1 << 63
    });
    let sat = go(f32_ty, f64_ty, false, true);
    check(
        sat,
        &[
            2f64.to_bits(),
            0x7ff8 << 48,
            (-1f64).to_bits(),
            0.25f64.to_bits(),
        ],
        32,
        |x| {
            let x = f64::from_bits(x);
            (if x > 0.0 { x.min(1.0) as f32 } else { 0.0 })
                .to_bits()
                .into()
        },
    );
    let half = Op::Cvt {
        to: Ty::Float(FloatTy::F16),
        from: Ty::Int(IntTy::S32),
        round: CvtRound::Float(Round::Near),
        ftz: false,
        sat: true,
    };
    check(half, &[5, u64::from(u32::MAX), 0], 16, |x| {
        if x == 5 { 0x3c00 } else { 0 }
    });
}

#[test]
fn packed_and_tensor_forms() {
    let one =
        |op, src: &[Src], ops: [u64; 4]| run_one(op, &[d(8)], src, &[ops], Wide::default()).r32[0];
    let b = |x: f32| u64::from(x.to_bits());
    let pack = |to, relu| Op::CvtPack2 {
        to,
        round: Round::Near,
        relu,
    };
    let both = [r(0), r(2)];
    assert_eq!(
        one(pack(FloatTy::F16x2, false), &both, [b(1.0), b(-2.0), 0, 0]),
        0x3c00_c000
    );
    assert_eq!(
        one(pack(FloatTy::F16x2, true), &both, [b(1.0), b(-2.0), 0, 0]),
        0x3c00_0000
    );
    assert_eq!(
        one(pack(FloatTy::Bf16x2, false), &both, [b(1.0), b(-2.0), 0, 0]),
        0x3f80_c000
    );
    let ints = |to| Op::CvtPackInt {
        to,
        from: IntTy::S32,
    };
    let three = [r(0), r(2), r(4)];
    let minus = |x: i32| u64::from(x as u32);
    assert_eq!(
        one(ints(IntTyNarrow::S16), &both, [70000, minus(-70000), 0, 0]),
        0x7fff_8000
    );
    assert_eq!(
        one(ints(IntTyNarrow::U8), &three, [300, minus(-1), 0x1234, 0]),
        0x1234_ff00
    );
    assert_eq!(
        one(ints(IntTyNarrow::S4), &three, [9, minus(-9), 0x12, 0]),
        0x1278
    );
    assert_eq!(one(ints(IntTyNarrow::U2), &three, [1, 7, 0x1, 0]), 0x17);
    let tf32 = |round| Op::CvtTf32 {
        round,
        relu: false,
        finite: false,
    };
    assert_eq!(
        one(tf32(Round::NearAway), &[r(0)], [0x3f80_1000, 0, 0, 0]),
        0x3f80_2000
    );
    assert_eq!(
        one(tf32(Round::Near), &[r(0)], [0x3f80_1000, 0, 0, 0]),
        0x3f80_0000
    );
    assert_eq!(
        one(tf32(Round::NearAway), &[r(0)], [0x7fc0_0000, 0, 0, 0]),
        0x7fc0_0000
    );
}
