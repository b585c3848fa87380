//! Operations compiled for the baseline and for wide vector instructions give the same bits.
//! Operands include every special value, all modifiers are covered, and whole and partial warps
//! execute. Texture fetches are tested in `texture_lanes.rs`. On a host without AVX2, both sides
//! use the baseline.

use crate::support::*;
use warploom_base::Rng;
use warploom_exec::*;
use warploom_ir::matrix::{AccTy, MatRule, MatTy, Mma};
use warploom_ir::*;

const WIDTHS: [Width; 4] = [Width::B8, Width::B16, Width::B32, Width::B64];
const INTS: [IntTy; 6] = [
    IntTy::U16,
    IntTy::S16,
    IntTy::U32,
    IntTy::S32,
    IntTy::U64,
    IntTy::S64,
];
const FLOATS: [FloatTy; 6] = [
    FloatTy::F16,
    FloatTy::F16x2,
    FloatTy::Bf16,
    FloatTy::Bf16x2,
    FloatTy::F32,
    FloatTy::F64,
];
const ROUNDS: [Round; 4] = [Round::Near, Round::Zero, Round::Down, Round::Up];
/// Start of the 32 slots of 64 bytes in global memory that loads and stores access.
const BYTES: u64 = 32 * 64;

/// Random bits of a register, often an edge value of 32 bits or of the upper half of 64 bits.
fn any_bits(rng: &mut Rng) -> u32 {
    const EDGES: [u32; 16] = [
        0,
        1,
        31,
        32,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x7ff0_0000,
        0x7c00_fc00,
        0x4f00_0000,
    ];
    match rng.below(3) {
        0 => EDGES[rng.below(16) as usize],
        1 => (rng.unit_f32() * 512.0 - 256.0).to_bits(),
        _ => rng.next_u32(),
    }
}

/// Complete result of an operation of a warp whose registers 0 to 23 and predicates 0 to 4 are
/// random.
fn outcome(ctx: LaunchContext) -> Result<(u64, Vec<u8>), Fault> {
    let mut bench = Bench::new(ctx);
    let base = bench.memory.alloc(0, BYTES).expect("room");
    assert_eq!(base, GLOBAL_BASE);
    let data: Vec<u8> = (0..BYTES).map(|i| (i * 37 % 251) as u8).collect();
    bench.memory.write(0, base, &data).expect("it is there");
    while !bench.warp.is_done() {
        bench.step()?;
    }
    Ok((bench.warp.fingerprint(), bench.block.shared().to_vec()))
}

/// Adds the code that fills registers and predicates from a column of parameters for each register.
fn fill(b: &mut Builder, preds: [u32; 5]) {
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    let narrow = |mut one: Inst, imm: i32| {
        one.wide_addr = false;
        one.imm = imm;
        one
    };
    let lane = Src::Special(SpecialReg::LaneId);
    let (four, one, zero) = (b.c(4), b.c(1), b.c(0));
    let (stride, base) = (b.c(64), b.c(GLOBAL_BASE));
    let mul = Op::Mul(Half::Lo, IntTy::U32);
    b.push(inst(mul, &[d(28)], &[lane, four]));
    let load = Op::Ld(MemSpace::Param, word, CacheOp::Default);
    for slot in 0..24u16 {
        b.push(narrow(
            inst(load, &[d(slot)], &[r(28)]),
            128 * i32::from(slot),
        ));
    }
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    for (index, mask) in (0..).zip(preds) {
        let bits = b.c(mask.into());
        b.push(inst(Op::Shr(IntTy::U32), &[d(29)], &[bits, lane]));
        let and = Op::Logic(Logic::And, Width::B32);
        b.push(inst(and, &[d(29)], &[r(29), one]));
        b.push(inst(ne, &[dp(index)], &[r(29), zero]));
    }
    // Addresses of the lanes in shared memory (register 28) and in global memory (register 30).
    b.push(inst(mul, &[d(28)], &[lane, stride]));
    let mad = Op::Mad(Half::Wide, IntTy::U32, false);
    b.push(inst(mad, &[d(30)], &[lane, stride, base]));
}

/// Executes the instruction alone with both sets of vector instructions, in whole and partial
/// warps.
fn check_with(seed: u64, one: Inst, matrix: Option<Mma>) {
    let mut rng = Rng::new(seed);
    for masks in [false, true, true] {
        let mut b = Builder::new();
        b.program.shared_bytes = BYTES as u32;
        b.program.param_bytes = 24 * 128;
        let preds: [u32; 5] = std::array::from_fn(|_| rng.next_u32());
        fill(&mut b, preds);
        let mut one = one;
        if let Some(matrix) = matrix {
            one.extra = product(&mut b, matrix);
        }
        let by_parts = masks && matrix.is_none();
        b.push(if by_parts {
            guarded(one, 4, false)
        } else {
            one
        });
        b.push(inst(Op::Exit, &[], &[]));
        let params = (0..24 * 32).flat_map(|_| any_bits(&mut rng).to_le_bytes());
        let ctx = b.launch_with(LaunchSpec {
            params: params.collect(),
            ..spec()
        });
        let wide = outcome(ctx.clone());
        assert!(wide.is_ok(), "{:?} does not run: {:?}", one.op, wide.err());
        assert_eq!(
            wide,
            outcome(ctx.with_baseline_isa()),
            "{:?}, seed {seed}",
            one.op
        );
    }
}

fn check(op: Op, dst: &[Dst], src: &[Src]) {
    for seed in 0..3 {
        check_with(seed, inst(op, dst, src), None);
    }
}

/// Source registers 0, 2, 4 and 6, as many as the operation takes.
fn regs(n: u16) -> Vec<Src> {
    (0..n).map(|k| r(2 * k)).collect()
}

fn product(b: &mut Builder, matrix: Mma) -> Extra {
    let extra = b.extra(
        &(24..28).map(d).collect::<Vec<_>>(),
        &(0..10).map(r).collect::<Vec<_>>(),
    );
    b.program.extras[0].matrix = Some(matrix);
    extra
}

fn all_mods() -> impl Iterator<Item = FloatMods> {
    let flags = (0..4).map(|bits| (bits & 1 != 0, bits & 2 != 0));
    flags.flat_map(|(ftz, sat)| {
        ROUNDS.map(|round| FloatMods {
            round,
            ftz,
            sat,
            relu: false,
        })
    })
}

#[test]
fn integers() {
    use IntBin::*;
    for ty in INTS {
        for op in [Add, Sub, Div, Rem, Min, Max] {
            check(Op::Int(op, ty), &[d(24)], &regs(2));
        }
        for half in [Half::Lo, Half::Hi] {
            check(Op::Mul(half, ty), &[d(24)], &regs(2));
            check(Op::Mad(half, ty, false), &[d(24)], &regs(3));
        }
        check(Op::Shr(ty), &[d(24)], &regs(2));
    }
    for op in [AddSat, SubSat, MinRelu, MaxRelu] {
        check(Op::Int(op, IntTy::S32), &[d(24)], &regs(2));
    }
    for ty in [IntTy::U32, IntTy::S32] {
        check(Op::Mul(Half::Wide, ty), &[d(24)], &regs(2));
        check(Op::Mad(Half::Wide, ty, false), &[d(24)], &regs(3));
        for hi in [false, true] {
            check(Op::Mul24(hi, ty), &[d(24)], &regs(2));
            check(Op::Mad24(hi, false, ty), &[d(24)], &regs(3));
        }
    }
    check(Op::Mad(Half::Hi, IntTy::S32, true), &[d(24)], &regs(3));
    check(Op::Mad24(true, true, IntTy::S32), &[d(24)], &regs(3));
}

#[test]
fn bits() {
    use IntUn::*;
    for ty in [IntTy::U32, IntTy::S32, IntTy::U64, IntTy::S64] {
        for op in [Abs, Neg, Popc, Clz, Brev, Bfind, BfindShiftAmt] {
            check(Op::IntUn(op, ty), &[d(24)], &regs(1));
        }
        check(Op::Bfe(ty), &[d(24)], &regs(3));
    }
    for width in [Width::B32, Width::B64] {
        check(Op::Bfi(width), &[d(24)], &regs(4));
    }
    for width in WIDTHS {
        check(Op::Mov(width), &[d(24)], &regs(1));
    }
    for width in [Width::B16, Width::B32, Width::B64] {
        for op in [Logic::And, Logic::Or, Logic::Xor] {
            check(Op::Logic(op, width), &[d(24)], &regs(2));
        }
        check(Op::Not(width), &[d(24)], &regs(1));
        check(Op::Shl(width), &[d(24)], &regs(2));
        check(Op::Selp(width), &[d(24)], &[r(0), r(2), p(1)]);
    }
    for table in 0..=255 {
        check_with(
            7,
            inst(Op::Lop3(table, Combine::None), &[d(24)], &regs(3)),
            None,
        );
    }
}

#[test]
fn floats() {
    use FloatBin::*;
    for ty in FLOATS {
        for mods in all_mods() {
            for op in [Add, Sub, Mul] {
                check(Op::Float(op, ty, mods), &[d(24)], &regs(2));
            }
            check(Op::Fma(ty, mods), &[d(24)], &regs(3));
        }
        for bits in 0..16 {
            let [max, nan, xorsign_abs, ftz] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let how = FloatMinMax {
                max,
                nan,
                xorsign_abs,
                ftz,
            };
            check(Op::FloatMinMax(how, ty), &[d(24)], &regs(2));
        }
    }
}

#[test]
fn functions_of_floats() {
    use FloatUn::*;
    for mods in all_mods() {
        for ty in [FloatTy::F32, FloatTy::F64] {
            check(Op::Float(FloatBin::Div, ty, mods), &[d(24)], &regs(2));
            for op in [Rcp, Sqrt] {
                check(Op::FloatUn(op, ty, mods), &[d(24)], &regs(1));
            }
        }
    }
    for ty in FLOATS {
        for mods in all_mods().filter(|mods| mods.round == Round::Near) {
            for op in [Abs, Neg] {
                check(Op::FloatUn(op, ty, mods), &[d(24)], &regs(1));
            }
        }
    }
    for mods in all_mods().filter(|mods| mods.round == Round::Near) {
        let ty = FloatTy::F32;
        for op in [FloatBin::DivFull, FloatBin::DivApprox] {
            check(Op::Float(op, ty, mods), &[d(24)], &regs(2));
        }
        for op in [
            RcpApprox,
            SqrtApprox,
            RsqrtApprox,
            SinApprox,
            CosApprox,
            Lg2Approx,
            Ex2Approx,
            TanhApprox,
        ] {
            check(Op::FloatUn(op, ty, mods), &[d(24)], &regs(1));
        }
        for op in [RcpApproxF64, RsqrtApproxF64] {
            check(Op::FloatUn(op, FloatTy::F64, mods), &[d(24)], &regs(1));
        }
    }
}

#[test]
fn comparisons() {
    use Cmp::*;
    let ints = INTS.map(Ty::Int);
    for cmp in [Eq, Ne, Lt, Le, Gt, Ge] {
        for ty in ints {
            compare(cmp, ty);
        }
    }
    let floats = [
        Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan,
    ];
    for cmp in floats {
        for ty in [FloatTy::F16, FloatTy::Bf16, FloatTy::F32, FloatTy::F64] {
            compare(cmp, Ty::Float(ty));
        }
    }
}

fn compare(cmp: Cmp, ty: Ty) {
    for how in [Combine::None, Combine::And, Combine::Or, Combine::Xor] {
        for ftz in [false, ty == Ty::Float(FloatTy::F32)] {
            let srcs = [r(0), r(2), p(1)];
            let srcs = &srcs[..if how == Combine::None { 2 } else { 3 }];
            check(Op::Setp(cmp, how, ty, ftz), &[dp(2), dp(3)], srcs);
            for to in [SetDst::U32, SetDst::F32] {
                check(Op::Set(cmp, how, ty, ftz, to), &[d(24)], srcs);
            }
        }
    }
}

#[test]
fn conversions() {
    let ints = [IntTy::U8, IntTy::S8].into_iter().chain(INTS);
    let ints: Vec<Ty> = ints.map(Ty::Int).collect();
    let floats = [FloatTy::F16, FloatTy::Bf16, FloatTy::F32, FloatTy::F64].map(Ty::Float);
    let cvt = |from, to, round, ftz, sat| {
        let op = Op::Cvt {
            to,
            from,
            round,
            ftz,
            sat,
        };
        check(op, &[d(24)], &regs(1));
    };
    for &from in &ints {
        for &to in &ints {
            for sat in [false, true] {
                cvt(from, to, CvtRound::None, false, sat);
            }
        }
        for to in floats {
            for round in ROUNDS {
                cvt(from, to, CvtRound::Float(round), false, false);
                cvt(to, from, CvtRound::Integral(round), false, false);
                cvt(to, from, CvtRound::Integral(round), true, true);
            }
        }
    }
    for from in floats {
        for to in floats {
            for round in ROUNDS {
                cvt(from, to, CvtRound::Float(round), false, false);
            }
        }
    }
}

#[test]
fn memory() {
    let shapes = [(1, false), (2, true), (4, false), (4, true), (8, false)];
    for (bytes, signed) in shapes {
        for count in [1, 2] {
            let ty = MemTy {
                bytes,
                count,
                signed,
                wide_reg: bytes == 8,
            };
            for (space, at) in [(MemSpace::Shared, 28), (MemSpace::Global, 30)] {
                access(space, at, ty);
            }
        }
    }
}

fn access(space: MemSpace, at: u16, ty: MemTy) {
    let dsts = [d(24), d(26)];
    let srcs = [r(at), r(0), r(2)];
    let ops = [
        (
            Op::Ld(space, ty, CacheOp::Default),
            &dsts[..ty.count.into()],
            &srcs[..1],
        ),
        (
            Op::St(space, ty, CacheOp::Default),
            &[],
            &srcs[..1 + usize::from(ty.count)],
        ),
    ];
    for (op, dst, src) in ops {
        let mut one = inst(op, dst, src);
        one.wide_addr = space == MemSpace::Global;
        check_with(9, one, None);
    }
}

#[test]
fn matrices() {
    for (from, acc, k) in [
        (MatTy::F16, AccTy::F32, 16),
        (MatTy::Bf16, AccTy::F32, 16),
        (MatTy::Tf32, AccTy::F32, 8),
        (MatTy::S8, AccTy::S32, 32),
    ] {
        let mma = Mma {
            m: 16,
            n: 8,
            k,
            from: [from; 2],
            acc: [acc; 2],
            columns: [false, true],
            wmma: false,
            sparsity: None,
            rule: MatRule::Multiply,
            satfinite: acc == AccTy::S32,
        };
        for seed in 0..8 {
            check_with(seed, inst(Op::Mma(mma.work()), &[], &[]), Some(mma));
        }
    }
}
