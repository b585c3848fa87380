//! Tests of logic, shifts, bit fields and permutations of bytes against bit-by-bit definitions.

use crate::integer::{TYPES, check, low, value, wide};
use crate::support::*;
use warploom_ir::*;

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
