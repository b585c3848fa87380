//! Every lane of a warp takes the path that it would take alone, whatever the control flow and the
//! reconvergence points. Random programs are compared with the execution of one lane at a time.

use crate::support::*;
use proptest::prelude::*;
use warploom_base::{Pc, lanes_of};
use warploom_ir::cfg::Cfg;
use warploom_ir::*;

/// Instructions of a unit of a program: they compute a new number and its sign, and perform the
/// action of the unit's letter.
const UNIT: usize = 4;
const FACTOR: u32 = 1_664_525;
const TERM: u32 = 1_013_904_223;
/// Number of steps after which a lane counts as one that never ends.
const MOST: usize = 300;

/// Program of the units given by a text. `.` does nothing, `x` exits, and `X` exits if the number
/// is negative. A digit branches to that unit if the number is negative. A letter from `a` on
/// always branches to unit 0, 1 and so on. An exit follows the last unit.
fn program(text: &str) -> Builder {
    let mut b = Builder::new();
    let (factor, term, zero) = (b.c(FACTOR.into()), b.c(TERM.into()), b.c(0));
    let lane = Src::Special(SpecialReg::LaneId);
    let start = |unit: u8| 1 + u32::from(unit) * UNIT as u32;
    let u32_op = IntTy::U32;
    b.push(inst(Op::Mul(Half::Lo, u32_op), &[d(0)], &[lane, term]));
    for letter in text.bytes() {
        b.push(inst(Op::Mul(Half::Lo, u32_op), &[d(0)], &[r(0), factor]));
        b.push(inst(Op::Int(IntBin::Add, u32_op), &[d(0)], &[r(0), term]));
        let negative = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::S32), false);
        b.push(inst(negative, &[dp(0)], &[r(0), zero]));
        let exit = inst(Op::Exit, &[], &[]);
        b.push(match letter {
            b'x' => exit,
            b'X' => guarded(exit, 0, false),
            b'0'..=b'9' => guarded(bra(start(letter - b'0')), 0, false),
            b'a'..=b'j' => bra(start(letter - b'a')),
            _ => inst(Op::Nop, &[], &[]),
        });
    }
    b.push(inst(Op::Exit, &[], &[]));
    let code = Code {
        insts: &b.program.insts,
        extras: &[],
        start: Pc(0),
    };
    let meets = Cfg::new(&code).reconvergence(&code, true);
    for (facts, meet) in b.program.facts.iter_mut().zip(meets) {
        facts.reconverge = meet;
    }
    b
}

/// Units that a lane reaches when it runs alone, and whether it ends.
fn alone(text: &[u8], lane: u32) -> (Vec<usize>, bool) {
    let mut number = lane.wrapping_mul(TERM);
    let (mut unit, mut units) = (0, Vec::new());
    while units.len() < MOST {
        let Some(&letter) = text.get(unit) else {
            return (units, true);
        };
        units.push(unit);
        number = number.wrapping_mul(FACTOR).wrapping_add(TERM);
        let negative = (number as i32) < 0;
        unit = match letter {
            b'x' => return (units, true),
            b'X' if negative => return (units, true),
            b'0'..=b'9' if negative => usize::from(letter - b'0'),
            b'a'..=b'j' => usize::from(letter - b'a'),
            _ => unit + 1,
        };
    }
    (units, false)
}

/// Units that each lane reaches in the warp, and whether the warp ends.
fn together(text: &str) -> (Vec<Vec<usize>>, bool) {
    let mut bench = Bench::new(program(text).launch(1, 32));
    let mut units = vec![Vec::new(); 32];
    for _ in 0..32 * UNIT * MOST {
        if bench.warp.is_done() {
            return (units, true);
        }
        bench.step().expect("no fault");
        let at = bench.out.pc.index();
        // The first instruction of a unit represents it.
        if at % UNIT == 1 && at / UNIT < text.len() {
            lanes_of(bench.out.stack_active).for_each(|lane| units[lane].push(at / UNIT));
        }
    }
    (units, false)
}

proptest! {
    #[test]
    fn lanes_go_as_they_would_alone(text in "[.xX0-9a-j]{10}") {
        let (found, ended) = together(&text);
        let alone: Vec<_> = (0..32).map(|lane| alone(text.as_bytes(), lane)).collect();
        for ((found, (expected, _)), lane) in found.iter().zip(&alone).zip(0..) {
            let same = found.len().min(expected.len());
            prop_assert_eq!(&found[..same], &expected[..same], "lane {} of {}", lane, &text);
        }
        if alone.iter().all(|(_, ends)| *ends) {
            prop_assert!(ended, "{} does not end", &text);
            for (found, (expected, _)) in found.iter().zip(&alone) {
                prop_assert_eq!(found, expected, "{}", &text);
            }
        }
    }
}
