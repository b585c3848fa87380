//! Tests of floating-point instructions and their modifiers: special values, flushing, saturation
//! and NaNs.

use crate::support::*;
use half::{bf16, f16};
use warploom_base::Rng;
use warploom_ir::*;

pub(super) const NAN: u32 = 0x7fff_ffff;
pub(super) const SUB: u32 = 1;
const SUB_MAX: u32 = 0x007f_ffff;
const MIN: u32 = 0x0080_0000;
pub(super) const ONE: u32 = 0x3f80_0000;
const INF: u32 = 0x7f80_0000;
pub(super) const NEG: u32 = 0x8000_0000;
const TINY: FloatMods = FloatMods {
    round: Round::Near,
    ftz: false,
    sat: false,
    relu: false,
};
const FTZ: FloatMods = FloatMods { ftz: true, ..TINY };
const SAT: FloatMods = FloatMods { sat: true, ..TINY };

fn with(round: Round) -> FloatMods {
    FloatMods { round, ..TINY }
}

/// Operation on 32-bit registers, with operand tuples and expected results.
fn check32(op: Op, cases: &[(&[u32], u32)]) {
    for chunk in cases.chunks(32) {
        let lanes: Vec<[u64; 4]> = chunk
            .iter()
            .map(|(ops, _)| std::array::from_fn(|k| ops.get(k).copied().unwrap_or(0).into()))
            .collect();
        let n = chunk[0].0.len();
        let src: Vec<Src> = (0..n as u16).map(|k| r(2 * k)).collect();
        let got = run_one(op, &[d(8)], &src, &lanes, Wide::default());
        for (lane, (ops, want)) in chunk.iter().enumerate() {
            assert_eq!(
                got.r32[lane], *want,
                "{op:?} of {ops:x?}: {:x}",
                got.r32[lane]
            );
        }
    }
}

fn check64(op: Op, cases: &[(&[u64], u64)]) {
    for (ops, want) in cases {
        let lanes = [std::array::from_fn(|k| ops.get(k).copied().unwrap_or(0))];
        let src: Vec<Src> = (0..ops.len() as u16).map(|k| r(2 * k)).collect();
        let wide = Wide {
            src: [true; 4],
            dst: true,
        };
        let got = run_one(op, &[d(8)], &src, &lanes, wide);
        assert_eq!(got.r64[0], *want, "{op:?} of {ops:x?}: {:x}", got.r64[0]);
    }
}

fn bin(op: FloatBin, mods: FloatMods) -> Op {
    Op::Float(op, FloatTy::F32, mods)
}

fn un(op: FloatUn, mods: FloatMods) -> Op {
    Op::FloatUn(op, FloatTy::F32, mods)
}

#[test]
fn f32_addition_and_its_modifiers() {
    let b = |x: f32| x.to_bits();
    check32(
        bin(FloatBin::Add, TINY),
        &[
            (&[b(1.0), b(2.0)], b(3.0)),
            (&[0, NEG], 0),
            (&[NEG, NEG], NEG),
            (&[INF, INF | NEG], NAN),
            (&[0xffc0_0001, ONE], NAN),
            (&[SUB, SUB], 2),
            (&[b(f32::MAX), b(f32::MAX)], INF),
            (&[b(1.0), b(2f32.powi(-24))], b(1.0)),
            (&[b(1.0), b(2f32.powi(-24)) + 1], b(1.0) + 1),
        ],
    );
    check32(
        bin(FloatBin::Add, FTZ),
        &[
            (&[SUB_MAX, SUB_MAX], 0),
            (&[NEG | SUB, NEG | SUB], NEG),
            (&[MIN, NEG | (MIN + 1)], NEG),
            (&[MIN, 0], MIN),
        ],
    );
    check32(
        bin(FloatBin::Add, SAT),
        &[
            (&[b(0.25), b(0.5)], b(0.75)),
            (&[b(1.0), b(2.0)], ONE),
            (&[b(-1.0), b(0.5)], 0),
            (&[INF, INF | NEG], 0),
            (&[NEG, NEG], 0),
        ],
    );
    for (round, want) in [
        (Round::Near, b(1.0)),
        (Round::Zero, b(1.0)),
        (Round::Down, b(1.0)),
        (Round::Up, b(1.0) + 1),
    ] {
        check32(
            bin(FloatBin::Add, with(round)),
            &[(&[b(1.0), b(2f32.powi(-30))], want)],
        );
    }
    check32(
        bin(FloatBin::Sub, with(Round::Down)),
        &[
            (&[ONE, ONE], NEG),
            (&[b(1.0), b(2f32.powi(-30))], b(1.0) - 1),
        ],
    );
    check32(
        bin(FloatBin::Sub, TINY),
        &[(&[ONE, ONE], 0), (&[0, 0], 0), (&[NEG, 0], NEG)],
    );
}

#[test]
fn f32_products_and_quotients() {
    let b = |x: f32| x.to_bits();
    check32(
        bin(FloatBin::Mul, TINY),
        &[
            (&[0, INF], NAN),
            (&[b(-2.0), b(3.0)], b(-6.0)),
            (&[NEG, b(5.0)], NEG),
            (&[MIN, b(0.5)], 0x0040_0000),
        ],
    );
    check32(
        bin(FloatBin::Mul, FTZ),
        &[(&[MIN, b(0.5)], 0), (&[SUB, b(1e30)], 0)],
    );
    check32(
        bin(FloatBin::Mul, with(Round::Up)),
        &[(&[SUB, SUB], SUB), (&[SUB, NEG | SUB], NEG)],
    );
    check32(
        bin(FloatBin::Div, TINY),
        &[
            (&[ONE, 0], INF),
            (&[ONE, NEG], INF | NEG),
            (&[0, 0], NAN),
            (&[b(1.0), b(3.0)], b(1.0 / 3.0)),
        ],
    );
    check32(
        bin(FloatBin::Div, with(Round::Up)),
        &[(&[b(1.0), b(3.0)], 0x3eaa_aaab)],
    );
    check32(
        bin(FloatBin::Div, with(Round::Zero)),
        &[(&[b(1.0), b(3.0)], 0x3eaa_aaaa)],
    );
    check32(bin(FloatBin::DivFull, FTZ), &[(&[b(6.0), b(3.0)], b(2.0))]);
    check32(bin(FloatBin::DivApprox, FTZ), &[(&[ONE, b(3.4e38)], 0)]);
}

#[test]
fn f32_roots_reciprocals_and_signs() {
    let b = |x: f32| x.to_bits();
    check32(
        un(FloatUn::Sqrt, TINY),
        &[
            (&[b(2.0)], b(2f32.sqrt())),
            (&[NEG], NEG),
            (&[b(-1.0)], NAN),
            (&[INF], INF),
        ],
    );
    check32(
        un(FloatUn::Sqrt, with(Round::Up)),
        &[(&[b(2.0)], 0x3fb5_04f4), (&[b(4.0)], b(2.0))],
    );
    check32(
        un(FloatUn::Sqrt, with(Round::Down)),
        &[(&[b(2.0)], 0x3fb5_04f3)],
    );
    check32(
        un(FloatUn::Rcp, TINY),
        &[(&[b(4.0)], b(0.25)), (&[NEG], INF | NEG), (&[INF], 0)],
    );
    check32(
        un(FloatUn::Rcp, with(Round::Up)),
        &[(&[b(3.0)], 0x3eaa_aaab)],
    );
    check32(
        un(FloatUn::RcpApprox, FTZ),
        &[(&[SUB], INF), (&[NEG | SUB], INF | NEG)],
    );
    check32(
        un(FloatUn::Abs, TINY),
        &[
            (&[b(-3.0)], b(3.0)),
            (&[NEG | INF], INF),
            (&[0xffc0_0000], NAN),
        ],
    );
    check32(
        un(FloatUn::Neg, FTZ),
        &[(&[SUB], NEG), (&[b(3.0)], b(-3.0))],
    );
}

#[test]
fn f32_approximations_of_functions() {
    let b = |x: f32| x.to_bits();
    check32(
        un(FloatUn::Ex2Approx, FTZ),
        &[
            (&[b(3.0)], b(8.0)),
            (&[b(-130.0)], 0),
            (&[NEG | SUB], ONE),
            (&[INF | NEG], 0),
        ],
    );
    check32(un(FloatUn::Ex2Approx, TINY), &[(&[b(-130.0)], 1 << 19)]);
    check32(
        un(FloatUn::Lg2Approx, FTZ),
        &[(&[SUB], INF | NEG), (&[b(8.0)], b(3.0))],
    );
    check32(
        un(FloatUn::SinApprox, FTZ),
        &[(&[NEG | SUB], NEG), (&[INF], NAN)],
    );
    check32(
        un(FloatUn::CosApprox, FTZ),
        &[(&[SUB], ONE), (&[b(5000.0)], b(5000f64.cos() as f32))],
    );
    check32(
        un(FloatUn::RsqrtApprox, FTZ),
        &[(&[b(4.0)], b(0.5)), (&[NEG], INF | NEG), (&[b(-1.0)], NAN)],
    );
    check32(
        un(FloatUn::TanhApprox, TINY),
        &[(&[INF], ONE), (&[NEG], NEG)],
    );
}

#[test]
fn fused_multiply_add_rounds_once_in_every_direction() {
    let b = |x: f32| x.to_bits();
    let (x, y) = (b(1.0) + 1, b(1.0) + 1);
    // (1+u)^2 - 1 = 2u + u^2 is exact only if it is fused.
    let fma = |mods| Op::Fma(FloatTy::F32, mods);
    let u = 2f32.powi(-23);
    check32(
        fma(TINY),
        &[
            (&[x, y, b(-1.0)], b(2.0 * u + u * u)),
            (&[0, INF, ONE], NAN),
            (&[INF, ONE, INF | NEG], NAN),
            (&[ONE, ONE, b(-1.0)], 0),
        ],
    );
    check32(fma(with(Round::Down)), &[(&[ONE, ONE, b(-1.0)], NEG)]);
    check32(fma(with(Round::Up)), &[(&[x, y, 0], b(1.0) + 3)]);
    check32(fma(with(Round::Zero)), &[(&[x, y, 0], b(1.0) + 2)]);
    check32(fma(SAT), &[(&[b(2.0), b(3.0), 0], ONE), (&[0, INF, 0], 0)]);
    check32(
        fma(FTZ),
        &[(&[SUB, b(1e38), ONE], ONE), (&[MIN, b(0.5), 0], 0)],
    );
    let mut rng = Rng::new(41);
    for _ in 0..300 {
        let ops: [f64; 3] = [(); 3].map(|()| f64::from_bits(rng.next_u64()));
        let want = ops[0].mul_add(ops[1], ops[2]);
        if !want.is_nan() {
            check64(
                Op::Fma(FloatTy::F64, TINY),
                &[(&ops.map(f64::to_bits), want.to_bits())],
            );
        }
    }
}

#[test]
fn f64_keeps_nan_payloads() {
    let (quiet, signaling) = (0x7ff8_0000_0000_1234, 0xfff0_0000_0000_4321);
    let one = 1f64.to_bits();
    let add = |mods| Op::Float(FloatBin::Add, FloatTy::F64, mods);
    for mods in [TINY, with(Round::Up)] {
        check64(
            add(mods),
            &[
                (&[quiet, one], quiet),
                (&[one, signaling], signaling | 1 << 51),
                (&[quiet, signaling], quiet),
                (
                    &[f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits()],
                    0xfff8_0000_0000_0000,
                ),
            ],
        );
    }
    check64(
        Op::Float(FloatBin::Div, FloatTy::F64, with(Round::Up)),
        &[(&[one, 3f64.to_bits()], (1.0f64 / 3.0).to_bits() + 1)],
    );
    check64(
        Op::FloatUn(FloatUn::Neg, FloatTy::F64, TINY),
        &[(&[quiet], quiet | 1 << 63)],
    );
    check64(
        Op::FloatUn(FloatUn::Sqrt, FloatTy::F64, TINY),
        &[
            (&[(-1f64).to_bits()], 0xfff8_0000_0000_0000),
            (&[2f64.to_bits()], 2f64.sqrt().to_bits()),
        ],
    );
    let min = FloatMinMax {
        max: false,
        nan: false,
        xorsign_abs: false,
        ftz: false,
    };
    check64(
        Op::FloatMinMax(min, FloatTy::F64),
        &[(&[quiet, one], one), (&[0, 1 << 63], 1 << 63)],
    );
}

/// Every operation on f16 and bf16 agrees with the `half` crate, in single and packed registers.
#[test]
fn half_precision_in_both_forms() {
    let mut rng = Rng::new(42);
    let tuples: Vec<[u32; 3]> = (0..2000)
        .map(|_| [(); 3].map(|()| rng.next_u32()))
        .collect();
    let canonical = |x: f16| if x.is_nan() { 0x7fff } else { x.to_bits() };
    let brain = |x: bf16| if x.is_nan() { 0x7fff } else { x.to_bits() };
    let h = |x: u32| f16::from_bits(x as u16).to_f64();
    let z = |x: u32| bf16::from_bits(x as u16).to_f64();
    type Fun = fn(f64, f64) -> f64;
    let ops: [(FloatBin, Fun); 3] = [
        (FloatBin::Add, |a, b| a + b),
        (FloatBin::Sub, |a, b| a - b),
        (FloatBin::Mul, |a, b| a * b),
    ];
    for (op, f) in ops {
        for chunk in tuples.chunks(32) {
            let lanes: Vec<[u64; 4]> = chunk
                .iter()
                .map(|o| [o[0].into(), o[1].into(), o[2].into(), 0])
                .collect();
            let go = |ty| {
                run_one(
                    Op::Float(op, ty, TINY),
                    &[d(8)],
                    &[r(0), r(2)],
                    &lanes,
                    Wide::default(),
                )
                .r32
            };
            let (single, packed, wide) =
                (go(FloatTy::F16), go(FloatTy::F16x2), go(FloatTy::Bf16x2));
            for (lane, [a, b, _]) in chunk.iter().enumerate() {
                // Products and sums of f16 are exact enough in f32 for a second rounding, which is
                // how `half` computes them.
                let low = canonical(f16::from_f32(f(h(*a), h(*b)) as f32));
                let high = canonical(f16::from_f32(f(h(a >> 16), h(b >> 16)) as f32));
                assert_eq!(single[lane], low.into(), "{op:?} {a:x} {b:x}");
                assert_eq!(packed[lane], u32::from(high) << 16 | u32::from(low));
                let low = brain(bf16::from_f32(f(z(*a), z(*b)) as f32));
                assert_eq!(wide[lane] & 0xffff, low.into(), "{op:?} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn half_precision_modifiers() {
    let (one, sub) = (0x3c00, 1);
    let add = |mods| Op::Float(FloatBin::Add, FloatTy::F16, mods);
    check32(
        add(FTZ),
        &[(&[sub, sub], 0), (&[0x8001, 0], 0), (&[one, sub], one)],
    );
    check32(
        add(SAT),
        &[
            (&[one, one], one),
            (&[0xc000, one], 0),
            (&[0x7c00, 0xfc00], 0),
        ],
    );
    let relu = FloatMods { relu: true, ..TINY };
    check32(
        Op::Fma(FloatTy::F16, relu),
        &[
            (&[0xbc00, one, 0], 0),
            (&[one, one, one], 0x4000),
            (&[0, 0x7c00, 0], 0x7fff),
        ],
    );
    check32(
        Op::Fma(FloatTy::Bf16x2, TINY),
        &[(&[0x3f80_4000, 0x4000_4000, 0x3f80_3f80], 0x4040_40a0)],
    );
    check32(
        Op::FloatUn(FloatUn::Ex2Approx, FloatTy::F16, TINY),
        &[(&[0x4200], 0x4800)],
    );
    check32(
        Op::FloatUn(FloatUn::Neg, FloatTy::F16x2, TINY),
        &[(&[0x3c00_bc00], 0xbc00_3c00)],
    );
    check32(
        Op::FloatUn(FloatUn::Abs, FloatTy::Bf16, TINY),
        &[(&[0xbf80], 0x3f80)],
    );
    let max = FloatMinMax {
        max: true,
        nan: false,
        xorsign_abs: false,
        ftz: false,
    };
    check32(
        Op::FloatMinMax(max, FloatTy::F16x2),
        &[(&[0x7e00_8000, 0x3c00_0000], 0x3c00_0000)],
    );
    let nan = FloatMinMax { nan: true, ..max };
    check32(
        Op::FloatMinMax(nan, FloatTy::F16),
        &[(&[0x7e00, one], 0x7fff)],
    );
}

#[test]
fn three_input_minimum_and_signs() {
    let b = |x: f32| x.to_bits();
    let min = FloatMinMax {
        max: false,
        nan: false,
        xorsign_abs: false,
        ftz: false,
    };
    check32(
        Op::FloatMinMax(min, FloatTy::F32),
        &[
            (&[b(3.0), b(1.0), b(2.0)], b(1.0)),
            (&[NAN, NAN, b(2.0)], b(2.0)),
        ],
    );
    check32(
        Op::Copysign(FloatTy::F32),
        &[(&[b(-1.0), b(2.0)], b(-2.0)), (&[0, NEG | NAN], NAN)],
    );
}
