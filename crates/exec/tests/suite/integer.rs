//! Tests of integer arithmetic, logic, shifts and bit fields against 128-bit arithmetic and
//! bit-by-bit definitions.

use crate::support::*;
use warploom_base::Rng;
use warploom_ir::*;

const TYPES: [(IntTy, u32, bool); 8] = [
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

fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let low = i128::from(bits) & ((1 << width) - 1);
    if signed && low >> (width - 1) & 1 == 1 {
        low - (1 << width)
    } else {
        low
    }
}

fn low(value: i128, width: u32) -> u64 {
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

fn wide(width: u32) -> Wide {
    let is = width == 64;
    Wide {
        src: [is; 4],
        dst: is,
    }
}

/// Checks an operation on all tuples. `expected` returns the bits of the result, of which the low
/// `bits` are compared.
fn check(op: Op, n: usize, wide: Wide, bits: u32, expected: impl Fn(&[u64; 4]) -> u64) {
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
fn shifts_of_any_amount() {
    for (ty, width, signed) in TYPES {
        let mut w = wide(width);
        w.src[1] = false;
        check(Op::Shr(ty), 2, w, width, |o| {
            let n = (o[1] as u32).min(width);
            low(value(o[0], width, signed) >> n, width)
        });
        let kind = match width {
            8 => Width::B8,
            16 => Width::B16,
            32 => Width::B32,
            _ => Width::B64,
        };
        check(Op::Shl(kind), 2, w, width, |o| {
            let n = o[1] as u32;
            if n >= width {
                0
            } else {
                low(i128::from(o[0]) << n, width)
            }
        });
    }
    for (left, wrap) in [(false, false), (false, true), (true, false), (true, true)] {
        check(Op::Shf(left, wrap), 3, wide(32), 32, |o| {
            let n = if wrap {
                o[2] as u32 % 32
            } else {
                (o[2] as u32).min(32)
            };
            let both = u128::from(o[1] & 0xffff_ffff) << 32 | u128::from(o[0] & 0xffff_ffff);
            (if left { both << n >> 32 } else { both >> n }) as u64
        });
    }
}

/// Effective position or length of a field: the lowest 8 bits, or in 64-bit forms all bits, limited
/// to 255.
fn field(operand: u64, width: u32) -> u32 {
    match width {
        64 => (operand as u32).min(0xff),
        _ => operand as u32 & 0xff,
    }
}

#[test]
fn bit_fields() {
    for (ty, width, signed) in TYPES.into_iter().filter(|t| t.1 >= 32) {
        let mut w = wide(width);
        (w.src[1], w.src[2]) = (false, false);
        check(Op::Bfe(ty), 3, w, width, |o| {
            let (pos, len) = (field(o[1], width), field(o[2], width));
            let bit = |i: u32| o[0] >> i & 1;
            let sign = if !signed || len == 0 {
                0
            } else {
                bit((pos + len - 1).min(width - 1))
            };
            let pick = |i: u32| {
                if i < len && pos + i < width {
                    bit(pos + i)
                } else {
                    sign
                }
            };
            (0..width).map(|i| pick(i) << i).sum()
        });
        if !signed {
            let mut w = wide(width);
            (w.src[2], w.src[3]) = (false, false);
            let kind = if width == 32 { Width::B32 } else { Width::B64 };
            check(Op::Bfi(kind), 4, w, width, |o| {
                let (pos, len) = (field(o[2], width), field(o[3], width));
                let mut f = o[1];
                for i in (0..len).filter(|i| pos + i < width) {
                    let at = pos + i;
                    f = f & !(1 << at) | (o[0] >> i & 1) << at;
                }
                f
            });
        }
    }
}

#[test]
fn masks_extensions_and_nth_bits() {
    for clamp in [false, true] {
        check(Op::Bmsk(clamp), 2, wide(32), 32, |o| {
            let (start, width) = (o[0] as u32, o[1] as u32);
            let limit = |x: u32| if clamp { x.min(32) } else { x & 31 };
            let (start, width) = (limit(start), limit(width));
            (0..32)
                .filter(|i| *i >= start && *i < start + width)
                .map(|i| 1 << i)
                .sum()
        });
        for (ty, signed) in [(IntTy::U32, false), (IntTy::S32, true)] {
            check(Op::Szext(clamp, ty), 2, wide(32), 32, |o| {
                let n = o[1] as u32;
                let n = if clamp { n.min(32) } else { n & 31 };
                if n == 0 {
                    0
                } else {
                    low(value(o[0], n, signed), 32)
                }
            });
        }
    }
    let cases = [
        // Columns: mask, base, offset, result.
        (0xaaaa_aaaa_u32, 0u32, 1i32, 1u32),
        (0xaaaa_aaaa, 3, 0, 3),
        (0xaaaa_aaaa, 2, 0, u32::MAX),
        (0xaaaa_aaaa, 3, 2, 5),
        (0xaaaa_aaaa, 3, -2, 1),
        (0xaaaa_aaaa, 31, 2, u32::MAX),
        (0x0000_0001, 31, -1, 0),
        (0, 0, 1, u32::MAX),
    ];
    let lanes: Vec<[u64; 4]> = cases
        .iter()
        .map(|c| [c.0.into(), c.1.into(), u64::from(c.2 as u32), 0])
        .collect();
    let got = run_one(
        Op::Fns,
        &[d(8)],
        &[r(0), r(2), r(4)],
        &lanes,
        Wide::default(),
    );
    for (lane, case) in cases.iter().enumerate() {
        assert_eq!(got.r32[lane], case.3, "{case:x?}");
    }
}

#[test]
fn logic_of_every_table() {
    check(Op::Logic(Logic::And, Width::B64), 2, wide(64), 64, |o| {
        o[0] & o[1]
    });
    check(Op::Logic(Logic::Or, Width::B32), 2, wide(32), 32, |o| {
        o[0] | o[1]
    });
    check(Op::Logic(Logic::Xor, Width::B16), 2, wide(32), 16, |o| {
        o[0] ^ o[1]
    });
    check(Op::Not(Width::B64), 1, wide(64), 64, |o| !o[0]);
    check(Op::Cnot(Width::B32), 1, wide(32), 32, |o| {
        u64::from(o[0] as u32 == 0)
    });
    for table in (0..=255).step_by(7) {
        check(Op::Lop3(table, Combine::None), 3, wide(32), 32, |o| {
            let bit = |i: u32| {
                let index = (o[0] >> i & 1) << 2 | (o[1] >> i & 1) << 1 | (o[2] >> i & 1);
                u64::from(table >> index & 1)
            };
            (0..32).map(|i| bit(i) << i).sum()
        });
    }
}

#[test]
fn byte_permutation() {
    let bytes = |o: &[u64; 4]| {
        let both = o[0] & 0xffff_ffff | o[1] << 32;
        both.to_le_bytes()
    };
    check(Op::Prmt(PrmtMode::Index), 3, wide(32), 32, |o| {
        let b = bytes(o);
        let pick = |i: u32| {
            let s = o[2] >> (4 * i);
            let byte = b[(s & 7) as usize];
            if s & 8 == 0 {
                byte
            } else if byte & 0x80 != 0 {
                0xff
            } else {
                0
            }
        };
        u64::from(u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)]))
    });
    // Results for a = 0x03020100 and b = 0x07060504, in which each byte is its own index (PTX ISA,
    // `prmt`).
    let tables = [
        (
            PrmtMode::F4e,
            [0x0302_0100, 0x0403_0201, 0x0504_0302, 0x0605_0403],
        ),
        (
            PrmtMode::B4e,
            [0x0506_0700, 0x0607_0001, 0x0700_0102, 0x0001_0203],
        ),
        (
            PrmtMode::Rc8,
            [0x0000_0000, 0x0101_0101, 0x0202_0202, 0x0303_0303],
        ),
        (
            PrmtMode::Ecl,
            [0x0302_0100, 0x0302_0101, 0x0302_0202, 0x0303_0303],
        ),
        (
            PrmtMode::Ecr,
            [0x0000_0000, 0x0101_0100, 0x0202_0100, 0x0302_0100],
        ),
        (
            PrmtMode::Rc16,
            [0x0100_0100, 0x0302_0302, 0x0100_0100, 0x0302_0302],
        ),
    ];
    for (mode, want) in tables {
        let lanes: Vec<[u64; 4]> = (0..4)
            .map(|c| [0x0302_0100, 0x0706_0504, c + 0x40, 0])
            .collect();
        let got = run_one(
            Op::Prmt(mode),
            &[d(8)],
            &[r(0), r(2), r(4)],
            &lanes,
            Wide::default(),
        );
        assert_eq!(&got.r32[..4], want, "{mode:?}");
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
