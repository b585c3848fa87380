//! Order of the instructions of each basic block.

use crate::body::Body;
use crate::dependences::Dependences;
use crate::fold::Counts;
use crate::lives::{Lives, Room};
use crate::schedule::{Bounds, Schedule, schedule};
use crate::{Machine, Timing};
use fixedbitset::FixedBitSet;
use warploom_ir::{Dst, Half, Inst, IntBin, MemSpace, Op, SpecialReg, Src, class};

/// Registers less than the limit that are tried as bounds, one after the other. Where none of the
/// ready instructions keeps to the bound, one that does not has to issue.
const SPARE: [u32; 6] = [0, 1, 2, 4, 8, 16];

/// Most instructions by which one may come before the first of the text that has not issued, as
/// they are tried. Without such a bound many cheap instructions issue early where others wait, and
/// their results take the registers of loads.
const AHEAD: [usize; 11] = [usize::MAX, 96, 64, 48, 40, 32, 28, 24, 20, 16, 12];

/// Predicates of a thread in machine code (CUDA Binary Utilities).
const PREDICATES: u32 = 7;

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

/// Reorders every block. The registers in use stay within `registers` and the predicates within
/// [`PREDICATES`], or within what the text needs at most, if that is more.
pub(crate) fn order(body: &mut Body, registers: u32, machine: &Machine) {
    let (cfg, live) = body.flow();
    let apart = in_uniform_registers(body);
    let lives = cfg.blocks.iter().enumerate().map(|(nth, block)| {
        let sets = [live.live_in(nth), live.live_out(nth)];
        Lives::new(body, &apart, block.start..block.end, sets)
    });
    let lives: Vec<Lives> = lives.collect();
    let peaks = cfg.blocks.iter().zip(&lives);
    let most = peaks.map(|(block, lives)| lives.peak(0..block.end - block.start));
    let room = Room {
        registers,
        predicates: PREDICATES,
    };
    let limit = most.fold(room, Room::max);
    let mut all = Vec::with_capacity(body.insts.len());
    for (block, lives) in cfg.blocks.iter().zip(&lives) {
        let range = block.start..block.end;
        let insts = &body.insts[range.clone()];
        let timings: Vec<Timing> = insts
            .iter()
            .map(|inst| (machine.timing)(class(inst.op)))
            .collect();
        let dependences = Dependences::new(&body.code(), range.clone(), machine);
        let fits = |order: &Schedule| lives.peak(order.order.iter().copied()).fits(limit);
        let shortest = SPARE.iter().find_map(|spare| {
            let bounds = AHEAD.map(|ahead| Bounds {
                room: limit.less(*spare),
                ahead,
            });
            let orders = bounds.map(|bounds| schedule(&dependences, lives, &timings, bounds));
            let fitting = orders.into_iter().filter(fits);
            fitting.min_by_key(|order| order.cycles)
        });
        match shortest {
            Some(Schedule { order, .. }) => all.extend(order.iter().map(|at| block.start + at)),
            None => all.extend(range),
        }
    }
    body.arrange(&all);
}
