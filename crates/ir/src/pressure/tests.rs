//! Register pressure of small kernels, counted by hand.

use super::{OVERHEAD, estimate, registers_per_thread};
use crate::cfg::Cfg;
use crate::inst::{Dst, Extra, Inst, Reg, SpecialReg, Src};
use crate::liveness::{Liveness, Universe};
use crate::op::{CacheOp, FloatBin, FloatMods, FloatTy, IntBin, IntTy, MemSpace, MemTy, Op};
use crate::op::{Round, Width};
use crate::operands::Code;
use warploom_base::Pc;

fn inst(op: Op, dst: Option<u16>, srcs: &[u16]) -> Inst {
    let mut src = [Src::None; 4];
    for (place, reg) in src.iter_mut().zip(srcs) {
        *place = Src::Reg(Reg(*reg));
    }
    Inst {
        op,
        guard: None,
        dst: [dst.map_or(Dst::None, |d| Dst::Reg(Reg(d))), Dst::None],
        src,
        imm: 0,
        extra: Extra::NONE,
        wide_addr: true,
    }
}

fn mem_ty() -> MemTy {
    MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    }
}

fn load(space: MemSpace, dst: u16, base: Option<u16>) -> Inst {
    let op = Op::Ld(space, mem_ty(), CacheOp::Default);
    inst(op, Some(dst), base.as_slice())
}

fn store(space: MemSpace, base: u16, value: u16) -> Inst {
    inst(
        Op::St(space, mem_ty(), CacheOp::Default),
        None,
        &[base, value],
    )
}

fn add(ty: IntTy, dst: u16, a: u16, b: u16) -> Inst {
    inst(Op::Int(IntBin::Add, ty), Some(dst), &[a, b])
}

fn check(insts: &[Inst], wide: &[bool], expected: u32) {
    let code = Code {
        insts,
        extras: &[],
        start: Pc(0),
    };
    let cfg = Cfg::new(&code);
    let universe = Universe {
        regs: wide.len(),
        preds: 0,
    };
    let live = Liveness::new(&code, &cfg, universe);
    assert_eq!(estimate(&code, &cfg, &live, wide), expected);
}

#[test]
fn wide_values_count_twice() {
    let insts = [add(IntTy::U64, 2, 0, 1), store(MemSpace::Global, 2, 3)];
    check(&insts, &[true, true, true, false], 3);
}

#[test]
fn parameters_and_launch_sizes_are_free() {
    let mut size = inst(Op::Mov(Width::B32), Some(1), &[]);
    size.src[0] = Src::Special(SpecialReg::NtidX);
    let mut thread = size;
    thread.dst[0] = Dst::Reg(Reg(2));
    thread.src[0] = Src::Special(SpecialReg::TidX);
    let insts = [
        load(MemSpace::Param, 0, None),
        size,
        thread,
        add(IntTy::U32, 3, 0, 1),
        add(IntTy::U32, 4, 2, 3),
        inst(Op::Nanosleep, None, &[4]),
    ];
    check(&insts, &[false; 5], 2);
}

#[test]
fn shared_addresses_are_short() {
    let insts = [add(IntTy::U64, 0, 1, 1), store(MemSpace::Shared, 0, 2)];
    check(&insts, &[true, true, false], 2);
    let insts = [add(IntTy::U64, 0, 1, 1), store(MemSpace::Global, 0, 2)];
    check(&insts, &[true, true, false], 3);
}

#[test]
fn independent_loads_are_in_flight_together() {
    // r1 = [r0]; store r1; r2 = [r0]; store r2, to another space: both loads may go first.
    let insts = [
        load(MemSpace::Global, 1, Some(0)),
        store(MemSpace::Shared, 3, 1),
        load(MemSpace::Global, 2, Some(0)),
        store(MemSpace::Shared, 3, 2),
    ];
    check(&insts, &[true, false, false, false], 2 + 1 + 2);
    let mut held = insts;
    held[1] = store(MemSpace::Global, 3, 1);
    check(&held, &[true, false, false, false], 2 + 1 + 1);
}

#[test]
fn division_needs_registers_of_its_own() {
    let mods = FloatMods {
        round: Round::Near,
        ftz: false,
        sat: false,
        relu: false,
    };
    let divide = Op::Float(FloatBin::Div, FloatTy::F32, mods);
    let insts = [
        inst(divide, Some(2), &[0, 1]),
        inst(Op::Nanosleep, None, &[2]),
    ];
    check(&insts, &[false; 3], 1 + 6);
}

#[test]
fn nothing_needs_fewer_than_four() {
    assert_eq!(registers_per_thread(0), 4);
    assert_eq!(registers_per_thread(20), 20 + OVERHEAD);
}
