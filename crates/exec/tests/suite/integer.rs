//! Tests of integer arithmetic against 128-bit arithmetic.

use crate::support::*;
use warploom_base::Rng;
use warploom_ir::*;

pub(super) const TYPES: [(IntTy, u32, bool); 8] = [
    (IntTy::U8, 8, false),
    (IntTy::S8, 8, true),
    (IntTy::U16, 16, false),
    (IntTy::S16, 16, true),
    (IntTy::U32, 32, false),
    (IntTy::S32, 32, true),
    (IntTy::U64, 64, false),
    (IntTy::S64, 64, true),
];

const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

pub(super) fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let low = i128::from(bits) & ((1 << width) - 1);
    if signed && low >> (width - 1) & 1 == 1 {
        low - (1 << width)
    } else {
        low
    }
}

pub(super) fn low(value: i128, width: u32) -> u64 {
    (value & ((1 << width) - 1)) as u64
}

/// Operand tuples: all pairs of edge values, followed by random ones of random widths.
fn tuples() -> Vec<[u64; 4]> {
    let mut rng = Rng::new(1);
    let mut random = move || rng.next_u64() >> rng.below(64);
    let mut all: Vec<[u64; 4]> = Vec::new();
    for a in EDGES {
        for b in EDGES {
            all.push([a, b, random(), random()]);
        }
    }
    all.extend((0..500).map(|_| [random(), random(), random(), random()]));
    all
}

pub(super) fn wide(width: u32) -> Wide {
    let is = width == 64;
    Wide {
        src: [is; 4],
        dst: is,
    }
}

/// Checks an operation on all tuples. `expected` returns the bits of the result, of which the low
/// `bits` are compared.
pub(super) fn check(op: Op, n: usize, wide: Wide, bits: u32, expected: impl Fn(&[u64; 4]) -> u64) {
    let src: Vec<Src> = (0..n as u16).map(|k| r(2 * k)).collect();
    for chunk in tuples().chunks(32) {
        let got = run_one(op, &[d(8)], &src, chunk, wide);
        for (lane, ops) in chunk.iter().enumerate() {
            let want = expected(ops);
            let mask = u64::MAX >> (64 - bits);
            let have = if wide.dst {
                got.r64[lane]
            } else {
                u64::from(got.r32[lane])
            };
            assert_eq!(have & mask, want & mask, "{op:?} of {ops:x?}");
        }
    }
}

#[test]
fn two_operand_arithmetic() {
    for (ty, width, signed) in TYPES {
        let (least, most) = if signed {
            (-(1 << (width - 1)), (1 << (width - 1)) - 1)
        } else {
            (0, (1 << width) - 1)
        };
        let v = |x: u64| value(x, width, signed);
        let go = |op: IntBin, f: &dyn Fn(i128, i128) -> i128| {
            check(Op::Int(op, ty), 2, wide(width), width, |o| {
                low(f(v(o[0]), v(o[1])), width)
            });
        };
        go(IntBin::Add, &|a, b| a + b);
        go(IntBin::Sub, &|a, b| a - b);
        go(IntBin::Min, &|a, b| a.min(b));
        go(IntBin::Max, &|a, b| a.max(b));
        go(IntBin::Div, &|a, b| if b == 0 { -1 } else { a / b });
        go(IntBin::Rem, &|a, b| if b == 0 { -1 } else { a % b });
        go(IntBin::AddSat, &|a, b| (a + b).clamp(least, most));
        go(IntBin::SubSat, &|a, b| (a - b).clamp(least, most));
        go(IntBin::MinRelu, &|a, b| a.min(b).max(0));
        go(IntBin::MaxRelu, &|a, b| a.max(b).max(0));
    }
}

#[test]
fn packed_halves_act_apart() {
    for (ty, signed) in [(IntTy::U16x2, false), (IntTy::S16x2, true)] {
        let both = |o: &[u64; 4], f: &dyn Fn(i128, i128) -> i128| {
            let half = |s: u32| {
                low(
                    f(value(o[0] >> s, 16, signed), value(o[1] >> s, 16, signed)),
                    16,
                )
            };
            half(16) << 16 | half(0)
        };
        check(Op::Int(IntBin::Add, ty), 2, wide(32), 32, |o| {
            both(o, &|a, b| a + b)
        });
        check(Op::Int(IntBin::Min, ty), 2, wide(32), 32, |o| {
            both(o, &|a, b| a.min(b))
        });
        check(Op::Int(IntBin::Max, ty), 2, wide(32), 32, |o| {
            both(o, &|a, b| a.max(b))
        });
    }
}

#[test]
fn one_operand_arithmetic_and_counting() {
    for (ty, width, signed) in TYPES {
        let go = |op: IntUn, bits: u32, f: &dyn Fn(u64) -> i128| {
            let narrow = matches!(
                op,
                IntUn::Popc | IntUn::Clz | IntUn::Bfind | IntUn::BfindShiftAmt
            );
            let w = Wide {
                dst: width == 64 && !narrow,
                ..wide(width)
            };
            check(Op::IntUn(op, ty), 1, w, bits, |o| {
                low(f(low(o[0].into(), width)), bits)
            });
        };
        go(IntUn::Abs, width, &|a| value(a, width, signed).abs());
        go(IntUn::Neg, width, &|a| -value(a, width, signed));
        go(IntUn::Popc, 32, &|a| {
            (0..width).map(|i| i128::from(a >> i & 1)).sum()
        });
        go(IntUn::Clz, 32, &|a| {
            (0..width)
                .rev()
                .find(|i| a >> i & 1 == 1)
                .map_or(width, |i| width - 1 - i)
                .into()
        });
        go(IntUn::Brev, width, &|a| {
            (0..width)
                .map(|i| i128::from(a >> i & 1) << (width - 1 - i))
                .sum()
        });
        let sign = |a: u64| if signed { a >> (width - 1) & 1 } else { 0 };
        let find = |a: u64| (0..width).rev().find(|i| a >> i & 1 != sign(a));
        go(IntUn::Bfind, 32, &|a| find(a).map_or(-1, i128::from));
        go(IntUn::BfindShiftAmt, 32, &|a| {
            find(a).map_or(-1, |i| i128::from(width - 1 - i))
        });
    }
}

#[test]
fn products_and_sums_of_products() {
    for (ty, width, signed) in TYPES {
        let v = |x: u64| value(x, width, signed);
        // Halves of a 128-bit product of u64 do not fit i128 and are taken from u128.
        let product = |o: &[u64; 4]| (v(o[0])).wrapping_mul(v(o[1]));
        let high = |o: &[u64; 4]| match (width, signed) {
            (64, false) => ((u128::from(o[0]) * u128::from(o[1])) >> 64) as i128,
            _ => product(o) >> width,
        };
        let w = wide(width);
        check(Op::Mul(Half::Lo, ty), 2, w, width, |o| {
            low(product(o), width)
        });
        check(Op::Mul(Half::Hi, ty), 2, w, width, |o| low(high(o), width));
        check(Op::Mad(Half::Lo, ty, false), 3, w, width, |o| {
            low(product(o).wrapping_add(v(o[2])), width)
        });
        check(Op::Mad(Half::Hi, ty, false), 3, w, width, |o| {
            low(high(o) + v(o[2]), width)
        });
        if matches!(width, 16 | 32) {
            let double = Wide {
                dst: width == 32,
                ..Wide::default()
            };
            check(Op::Mul(Half::Wide, ty), 2, double, 2 * width, |o| {
                low(product(o), 2 * width)
            });
            let mut double = double;
            double.src[2] = width == 32;
            check(Op::Mad(Half::Wide, ty, false), 3, double, 2 * width, |o| {
                low(product(o) + i128::from(o[2]), 2 * width)
            });
        }
    }
    check(Op::Mad(Half::Hi, IntTy::S32, true), 3, wide(32), 32, |o| {
        let v = |x| value(x, 32, true);
        let sum = ((v(o[0]) * v(o[1])) >> 32) + v(o[2]);
        low(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32)
    });
}

#[test]
fn twenty_four_bit_products() {
    for (ty, signed) in [(IntTy::U32, false), (IntTy::S32, true)] {
        let product = |o: &[u64; 4], hi: bool| {
            let p = value(o[0], 24, signed) * value(o[1], 24, signed);
            if hi { p >> 16 } else { p }
        };
        for hi in [false, true] {
            check(Op::Mul24(hi, ty), 2, wide(32), 32, |o| {
                low(product(o, hi), 32)
            });
            check(Op::Mad24(hi, false, ty), 3, wide(32), 32, |o| {
                low(product(o, hi) + i128::from(o[2]), 32)
            });
        }
    }
    check(Op::Mad24(true, true, IntTy::S32), 3, wide(32), 32, |o| {
        let v = |x| value(x, 24, true);
        let sum = value(((v(o[0]) * v(o[1])) >> 16) as u64, 32, true) + value(o[2], 32, true);
        low(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32)
    });
}

#[test]
fn sums_of_differences_and_dot_products() {
    for (ty, width, signed) in TYPES.into_iter().filter(|t| t.1 >= 16) {
        let v = |x: u64| value(x, width, signed);
        check(Op::Sad(ty), 3, wide(width), width, |o| {
            low((v(o[0]) - v(o[1])).abs() + v(o[2]), width)
        });
    }
    for (sa, sb) in [(false, false), (true, false), (false, true), (true, true)] {
        let byte = |x: u64, i: u32, s: bool| value(x >> (8 * i), 8, s);
        check(Op::Dp4a(sa, sb), 3, wide(32), 32, |o| {
            let sum: i128 = (0..4).map(|i| byte(o[0], i, sa) * byte(o[1], i, sb)).sum();
            low(sum + i128::from(o[2]), 32)
        });
        for hi in [false, true] {
            check(Op::Dp2a(hi, sa, sb), 3, wide(32), 32, |o| {
                let first = if hi { 2 } else { 0 };
                let term = |i: u32| value(o[0] >> (16 * i), 16, sa) * byte(o[1], first + i, sb);
                low(term(0) + term(1) + i128::from(o[2]), 32)
            });
        }
    }
}

/// A chain of additions over three words equals the sum of the long numbers.
#[test]
fn carry_chains_make_long_numbers() {
    let mut rng = Rng::new(2);
    for ty in [IntTy::U32, IntTy::U64] {
        let bits = if ty == IntTy::U32 { 32 } else { 64 };
        for round in 0..200 {
            let limit = if bits == 64 {
                u64::MAX
            } else {
                u32::MAX.into()
            };
            let mut word = || match rng.below(4) {
                0 => 0,
                1 => limit,
                _ => rng.next_u64() & limit,
            };
            let (a, b) = ([word(), word()], [word(), word()]);
            let long = |x: [u64; 2]| u128::from(x[0]) | u128::from(x[1]) << bits;
            let got = chain(ty, a, b, round % 2 == 1);
            let modulus = if bits == 64 { u128::MAX } else { (1 << 64) - 1 };
            let want = if round % 2 == 1 {
                long(a).wrapping_sub(long(b))
            } else {
                long(a).wrapping_add(long(b))
            };
            assert_eq!(long(got) & modulus, want & modulus, "{ty:?} {a:x?} {b:x?}");
        }
    }
}

/// Low and high word of a sum or difference of two words.
fn chain(ty: IntTy, a: [u64; 2], b: [u64; 2], sub: bool) -> [u64; 2] {
    let mut builder = Builder::new();
    let (bytes, wide_reg) = if ty == IntTy::U64 {
        (8, true)
    } else {
        (4, false)
    };
    let operands = [a[0], b[0], a[1], b[1]].map(|x| builder.c(x));
    let ops: [Op; 2] = if sub {
        [
            Op::SubC {
                cin: false,
                cout: true,
                ty,
            },
            Op::SubC {
                cin: true,
                cout: false,
                ty,
            },
        ]
    } else {
        [
            Op::AddC {
                cin: false,
                cout: true,
                ty,
            },
            Op::AddC {
                cin: true,
                cout: false,
                ty,
            },
        ]
    };
    builder.push(inst(ops[0], &[d(0)], &operands[..2]));
    builder.push(inst(ops[1], &[d(2)], &operands[2..]));
    builder.program.shared_bytes = 16;
    let memory = MemTy {
        bytes,
        count: 1,
        signed: false,
        wide_reg,
    };
    for slot in [0, 2] {
        let mut store = inst(
            Op::St(MemSpace::Shared, memory, CacheOp::Default),
            &[],
            &[Src::None, r(slot)],
        );
        store.imm = 4 * i32::from(slot);
        builder.push(store);
    }
    builder.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(builder.launch(1, 1));
    while !bench.warp.is_done() {
        bench.step().unwrap();
    }
    [0, 8].map(|at| {
        let mut raw = [0; 8];
        raw[..bytes as usize].copy_from_slice(&bench.block.shared()[at..at + bytes as usize]);
        u64::from_le_bytes(raw)
    })
}

#[test]
fn multiply_add_with_carry() {
    // mad.lo.cc followed by madc.hi gives the 64-bit product plus a 64-bit number.
    let mut rng = Rng::new(3);
    for _ in 0..100 {
        let (a, b, c) = (rng.next_u32(), rng.next_u32(), rng.next_u64());
        let mut builder = Builder::new();
        builder.program.shared_bytes = 8;
        let (x, y) = (builder.c(a.into()), builder.c(b.into()));
        let (c0, c1) = (builder.c(c & 0xffff_ffff), builder.c(c >> 32));
        let ty = IntTy::U32;
        let lo = Op::MadC {
            half: Half::Lo,
            cin: false,
            cout: true,
            ty,
        };
        let hi = Op::MadC {
            half: Half::Hi,
            cin: true,
            cout: false,
            ty,
        };
        builder.push(inst(lo, &[d(0)], &[x, y, c0]));
        builder.push(inst(hi, &[d(1)], &[x, y, c1]));
        let memory = MemTy {
            bytes: 8,
            count: 1,
            signed: false,
            wide_reg: true,
        };
        let store = Op::St(MemSpace::Shared, memory, CacheOp::Default);
        // The operands are packed first, since a register pair is not two registers.
        let extra = builder.extra(&[], &[r(0), r(1)]);
        let mut pack = inst(
            Op::Pack {
                part: Width::B32,
                whole: Width::B64,
            },
            &[d(8)],
            &[],
        );
        pack.extra = extra;
        builder.push(pack);
        builder.push(inst(store, &[], &[Src::None, r(8)]));
        builder.push(inst(Op::Exit, &[], &[]));
        let mut bench = Bench::new(builder.launch(1, 1));
        while !bench.warp.is_done() {
            bench.step().unwrap();
        }
        let got = u64::from_le_bytes(bench.block.shared().try_into().unwrap());
        assert_eq!(got, (u64::from(a) * u64::from(b)).wrapping_add(c));
    }
}

#[test]
fn a_partial_mask_keeps_the_other_lanes() {
    let add = inst(Op::Int(IntBin::Add, IntTy::U32), &[d(8)], &[r(0), r(2)]);
    let got = run_inst(add, &[[1, 2, 0, 0]], Wide::default(), 0, 0x0000_ff01);
    for lane in 0..32 {
        let active = 0x0000_ff01u32 >> lane & 1 == 1;
        assert_eq!(
            got.r32[lane],
            if active { 3 } else { 0xdead_beef },
            "lane {lane}"
        );
    }
}
