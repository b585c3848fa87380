//! Measures the time per warp instruction for several kinds of instructions: `cargo run --release
//! -p warploom-exec --example step_speed`. An argument selects the kinds whose name contains it.

#![allow(clippy::print_stdout, reason = "a measurement prints its results")]

#[path = "../tests/suite/support.rs"]
#[allow(
    dead_code,
    reason = "the tests of this crate use the other functions of the file"
)]
mod support;

use std::time::Instant;
use support::*;
use warploom_ir::*;

/// Number of instructions per loop of the measured program.
const UNROLL: u32 = 256;
/// Number of loops in one measurement. The fastest of several measurements counts, because other
/// processes use the host as well.
const LOOPS: u32 = 20;
const CHUNKS: u32 = 100;

/// Nanoseconds per instruction of a program that repeats `body`.
fn measure(name: &str, body: impl Fn(&mut Builder) -> Inst, mask: u32) {
    if std::env::args()
        .nth(1)
        .is_some_and(|wanted| !name.contains(&wanted))
    {
        return;
    }
    let mut builder = Builder::new();
    builder.program.shared_bytes = 4096;
    builder.program.local_bytes = 64;

    let lane = Src::Special(SpecialReg::LaneId);
    let (two, four, seven) = (builder.c(2), builder.c(4), builder.c(0x7777));
    builder.push(inst(Op::Shl(Width::B32), &[d(16)], &[lane, two]));
    let base = builder.c(GLOBAL_BASE);
    let mul = Op::Mad(Half::Wide, IntTy::U32, false);
    builder.push(inst(mul, &[d(18)], &[lane, four, base]));
    builder.push(inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(0)],
        &[lane, seven],
    ));
    let active = builder.c(mask.into());
    let one = builder.c(1);
    builder.push(inst(Op::Shr(IntTy::U32), &[d(22)], &[active, lane]));
    builder.push(inst(
        Op::Logic(Logic::And, Width::B32),
        &[d(22)],
        &[r(22), one],
    ));
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    let zero = builder.c(0);
    builder.push(inst(ne, &[dp(4)], &[r(22), zero]));
    let start = builder.program.insts.len() as u32;
    let one = body(&mut builder);
    for _ in 0..UNROLL {
        builder.push(if mask == u32::MAX {
            one
        } else {
            guarded(one, 4, false)
        });
    }
    builder.push(bra(start));
    let mut bench = Bench::new(builder.launch(1, 32));
    bench.memory.alloc(0, 1 << 16).expect("room");
    for _ in 0..start {
        bench.step().expect("no fault");
    }
    let best = (0..CHUNKS)
        .map(|_| chunk(&mut bench))
        .fold(f64::INFINITY, f64::min);
    println!("{name:28} {best:8.1} ns");
}

/// Nanoseconds per instruction of a few loops.
fn chunk(bench: &mut Bench) -> f64 {
    let clock = Instant::now();
    for _ in 0..LOOPS {
        for _ in 0..=UNROLL {
            bench.step().expect("no fault");
        }
        if !bench.log.is_empty() {
            let Bench { log, memory, .. } = bench;
            log.commit(memory);
        }
    }
    clock.elapsed().as_secs_f64() * 1e9 / f64::from(LOOPS * (UNROLL + 1))
}

fn main() {
    measure_arithmetic();
    measure_memory();
}

/// Measures operations on registers and predicates.
fn measure_arithmetic() {
    let mods = FloatMods {
        round: Round::Near,
        ftz: false,
        sat: false,
        relu: false,
    };
    let ftz = FloatMods { ftz: true, ..mods };
    let alu: [(&str, Op, usize); 17] = [
        ("add.u32", Op::Int(IntBin::Add, IntTy::U32), 2),
        ("add.u64", Op::Int(IntBin::Add, IntTy::U64), 2),
        ("mad.lo.s32", Op::Mad(Half::Lo, IntTy::S32, false), 3),
        ("mul.wide.s32", Op::Mul(Half::Wide, IntTy::S32), 2),
        ("shl.b32", Op::Shl(Width::B32), 2),
        ("lop3", Op::Lop3(0x96, Combine::None), 3),
        ("add.f32", Op::Float(FloatBin::Add, FloatTy::F32, mods), 2),
        (
            "mul.ftz.f32",
            Op::Float(FloatBin::Mul, FloatTy::F32, ftz),
            2,
        ),
        ("fma.rn.f32", Op::Fma(FloatTy::F32, mods), 3),
        ("fma.rn.ftz.f32", Op::Fma(FloatTy::F32, ftz), 3),
        ("fma.rn.f64", Op::Fma(FloatTy::F64, mods), 3),
        (
            "div.rn.f32",
            Op::Float(FloatBin::Div, FloatTy::F32, mods),
            2,
        ),
        (
            "ex2.approx.f32",
            Op::FloatUn(FloatUn::Ex2Approx, FloatTy::F32, mods),
            1,
        ),
        (
            "sin.approx.f32",
            Op::FloatUn(FloatUn::SinApprox, FloatTy::F32, mods),
            1,
        ),
        ("mov.b32", Op::Mov(Width::B32), 1),
        (
            "cvt.rn.f32.s32",
            cvt(Ty::Float(FloatTy::F32), Ty::Int(IntTy::S32)),
            1,
        ),
        (
            "add.rz.f32",
            Op::Float(FloatBin::Add, FloatTy::F32, rz(mods)),
            2,
        ),
    ];
    for (name, op, n) in alu {
        let src = [r(0), r(2), r(4)];
        measure(name, |_| inst(op, &[d(8)], &src[..n]), u32::MAX);
    }
    let add = inst(Op::Int(IntBin::Add, IntTy::U32), &[d(8)], &[r(0), r(2)]);
    measure("add.u32, half the lanes", |_| add, 0x5555_5555);
    let setp = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::S32), false);
    measure(
        "setp.lt.s32",
        |_| inst(setp, &[dp(2)], &[r(0), r(2)]),
        u32::MAX,
    );
    let selp = inst(Op::Selp(Width::B32), &[d(8)], &[r(0), r(2), p(4)]);
    measure("selp.b32", |_| selp, u32::MAX);
}

/// Measures accesses to each memory.
fn measure_memory() {
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    let ld = |space| Op::Ld(space, word, CacheOp::Default);
    let st = |space| Op::St(space, word, CacheOp::Default);
    let narrow = |mut inst: Inst| {
        inst.wide_addr = false;
        inst
    };
    measure(
        "ld.global.u32 coalesced",
        |_| inst(ld(MemSpace::Global), &[d(8)], &[r(18)]),
        u32::MAX,
    );
    measure(
        "ld.u32 (generic)",
        |_| inst(ld(MemSpace::Generic), &[d(8)], &[r(18)]),
        u32::MAX,
    );
    measure(
        "st.global.u32 coalesced",
        |_| inst(st(MemSpace::Global), &[], &[r(18), r(0)]),
        u32::MAX,
    );
    measure(
        "ld.shared.u32",
        |_| narrow(inst(ld(MemSpace::Shared), &[d(8)], &[r(16)])),
        u32::MAX,
    );
    measure(
        "st.shared.u32",
        |_| narrow(inst(st(MemSpace::Shared), &[], &[r(16), r(0)])),
        u32::MAX,
    );
    measure(
        "ld.local.u32 uniform",
        |_| inst(ld(MemSpace::Local), &[d(8)], &[Src::None]),
        u32::MAX,
    );
    let atom = inst(
        Op::Atom(MemSpace::Global, AtomOp::Add, AtomTy::U32),
        &[d(8)],
        &[r(18), r(0)],
    );
    measure("atom.global.add.u32", |_| atom, u32::MAX);
}

fn cvt(to: Ty, from: Ty) -> Op {
    Op::Cvt {
        to,
        from,
        round: CvtRound::Float(Round::Near),
        ftz: false,
        sat: false,
    }
}

fn rz(mods: FloatMods) -> FloatMods {
    FloatMods {
        round: Round::Zero,
        ..mods
    }
}
