//! Registers and predicates that each value takes in machine code.

use crate::body::Body;
use crate::fold::Counts;
use crate::lives::Room;
use fixedbitset::FixedBitSet;
use warploom_ir::{Dst, Half, Inst, IntBin, MemSpace, Op, SpecialReg, Src};

/// Room of each value, by its number in the universe.
pub(crate) fn sizes(body: &Body) -> Vec<Room> {
    let apart = in_uniform_registers(body);
    let shared = shared_addresses(body);
    let size = |value: usize| match body.wide.get(value) {
        Some(_) if apart.contains(value) => Room::default(),
        Some(wide) => Room {
            registers: 1 + u32::from(*wide && !shared.contains(value)),
            predicates: 0,
        },
        None => Room {
            registers: 0,
            predicates: 1,
        },
    };
    (0..body.universe().len()).map(size).collect()
}

/// Registers that are only addresses in shared memory, which have 32 bits in machine code.
fn shared_addresses(body: &Body) -> FixedBitSet {
    let code = body.code();
    let mut shared = FixedBitSet::with_capacity(body.universe().len());
    shared.insert_range(..body.wide.len());
    for inst in &body.insts {
        let accesses = matches!(
            inst.op,
            Op::Ld(MemSpace::Shared, ..)
                | Op::St(MemSpace::Shared, ..)
                | Op::Atom(MemSpace::Shared, ..)
        );
        for (nth, src) in code.sources(inst).enumerate() {
            if let (Src::Reg(reg), false) = (src, accesses && nth == 0) {
                shared.set(usize::from(reg.0), false);
            }
        }
    }
    shared
}

/// Registers that are not among those of a thread: machine code has uniform registers for integers
/// and constants that are the same in all lanes of a warp (CUDA Binary Utilities, since Turing).
/// Here they are those with one definition by an operation that has such a form, of operands that
/// are the same in all lanes; counters of loops are left out.
fn in_uniform_registers(body: &Body) -> FixedBitSet {
    let (code, counts) = (body.code(), Counts::of(body));
    let mut apart = FixedBitSet::with_capacity(body.universe().len());
    loop {
        let before = apart.count_ones(..);
        for inst in &body.insts {
            let Dst::Reg(reg) = inst.dst[0] else { continue };
            let value = usize::from(reg.0);
            let once = counts.defs[value] == 1 && !body.unwritten.contains(value);
            let same = |src: Src| match src {
                Src::Reg(reg) => apart.contains(usize::from(reg.0)),
                Src::Special(special) => is_of_block(special),
                Src::Const(_) | Src::None => true,
                Src::Pred(..) => false,
            };
            let plain = inst.guard.is_none() && has_uniform_form(inst);
            if once && plain && code.sources(inst).all(same) {
                apart.insert(value);
            }
        }
        if apart.count_ones(..) == before {
            return apart;
        }
    }
}

/// True for numbers that all threads of a block have in common.
const fn is_of_block(special: SpecialReg) -> bool {
    use SpecialReg as S;
    matches!(
        special,
        S::CtaidX
            | S::CtaidY
            | S::CtaidZ
            | S::NtidX
            | S::NtidY
            | S::NtidZ
            | S::NctaidX
            | S::NctaidY
            | S::NctaidZ
    )
}

/// True for operations that machine code has for uniform registers.
fn has_uniform_form(inst: &Inst) -> bool {
    match inst.op {
        Op::Int(op, _) => matches!(op, IntBin::Add | IntBin::Sub),
        Op::Mul(half, _) | Op::Mad(half, ..) => half != Half::Hi,
        Op::Ld(MemSpace::Const | MemSpace::Param, ..) => inst.src[0] == Src::None,
        Op::Mov(_) | Op::Logic(..) | Op::Not(_) | Op::Lop3(..) => true,
        Op::Shl(_) | Op::Shr(_) | Op::Shf(..) | Op::Prmt(_) => true,
        _ => false,
    }
}
