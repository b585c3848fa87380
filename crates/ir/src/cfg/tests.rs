//! Blocks and post-dominators, against a definition by brute force: a block post-dominates another
//! if removing it cuts every way to the exit.

use super::Cfg;
use crate::inst::{Dst, Extra, Guard, Inst, Pred, Src};
use crate::op::Op;
use crate::operands::Code;
use proptest::prelude::*;
use warploom_base::Pc;

fn inst(op: Op, imm: i32, guarded: bool) -> Inst {
    Inst {
        op,
        guard: guarded.then_some(Guard {
            pred: Pred(0),
            negated: false,
            overwrites: false,
        }),
        dst: [Dst::None; 2],
        src: [Src::None; 4],
        imm,
        extra: Extra::NONE,
        wide_addr: false,
    }
}

/// `.` does nothing, `x` exits, `X` exits under a guard, a digit branches to that instruction
/// under a guard, a letter from `a` on branches to instruction 0, 1 ... always.
fn program(text: &str) -> Vec<Inst> {
    text.chars()
        .map(|c| match c {
            'x' => inst(Op::Exit, 0, false),
            'X' => inst(Op::Exit, 0, true),
            '0'..='9' => inst(Op::Bra(false), c as i32 - '0' as i32, true),
            'a'..='j' => inst(Op::Bra(false), c as i32 - 'a' as i32, false),
            _ => inst(Op::Nop, 0, false),
        })
        .collect()
}

fn code(insts: &[Inst]) -> Code<'_> {
    Code {
        insts,
        extras: &[],
        start: Pc(0),
    }
}

/// Where each branch's lanes meet, `-` for the exit only.
fn meeting_points(text: &str) -> String {
    let insts = program(text);
    let code = code(&insts);
    let found = Cfg::new(&code).reconvergence(&code, true);
    let shown = insts
        .iter()
        .zip(found)
        .filter(|(i, _)| super::may_diverge(i));
    shown
        .map(|(_, meet)| meet.map_or("-".to_owned(), |pc| pc.0.to_string()))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn lanes_meet_at_the_immediate_post_dominator() {
    let check = |text: &str, expected: &str| assert_eq!(meeting_points(text), expected, "{text}");
    check(".3..x", "3"); // if
    check(".4.f..x", "5"); // if, else
    check(".5.1..x", "5 5"); // loop with a way out at the top
    check("..1x", "3"); // loop with a way out at the bottom
    check(".6..5.x", "6 5"); // if in if
    check(".4.x..x", "-"); // an exit inside the branch
    check("X.4..x", "4"); // a guarded exit before an if
    check("5.5...x", "5 5"); // the same as branches to where all meet
    check(".3..a", "3"); // endless loop around an if
    check("2..", "2"); // runs off the end
}

/// Lanes that go on meet, though others may have ended on the way.
#[test]
fn lanes_that_end_early_do_not_keep_others_apart() {
    let check = |text: &str, expected: &str| assert_eq!(meeting_points(text), expected, "{text}");
    check(".4X...x", "4"); // an exit under a guard in an arm
    check(".7.1...x", "2 4"); // a branch to the only exit in a loop
    check(".6.9...1.x", "6 4 8"); // the same in an arm in a loop
    check(".7.5...x", "7 5"); // nothing is kept apart: lanes wait at the exit
    check("..1x", "3"); // the exit is where a loop ends
}

#[test]
fn blocks_cover_the_code_once() {
    let insts = program(".4.f..x.x");
    let cfg = Cfg::new(&code(&insts));
    let starts: Vec<usize> = cfg.blocks.iter().map(|b| b.start).collect();
    assert_eq!(starts, [0, 2, 4, 5, 7]);
    assert_eq!(cfg.blocks.last().map(|b| b.end), Some(insts.len()));
    assert_eq!(&cfg.blocks[0].succs[..], &[1, 2]);
    assert!(cfg.blocks[3].leaves && !cfg.blocks[0].leaves);
    assert_eq!(cfg.block_of(6), 3);
}

/// Can the exit be reached from `from` without passing through `without`?
fn escapes(cfg: &Cfg, from: usize, without: usize) -> bool {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if block == without || std::mem::replace(&mut seen[block], true) {
            continue;
        }
        if cfg.blocks[block].leaves {
            return true;
        }
        work.extend(cfg.blocks[block].succs.iter().copied());
    }
    false
}

proptest! {
    #[test]
    fn post_dominators_agree_with_their_definition(text in "[.xX0-9a-j]{10}") {
        let insts = program(&text);
        let code = code(&insts);
        let cfg = Cfg::new(&code);
        let none = usize::MAX;
        let found = cfg.post_dominators();
        for (block, &found) in found.iter().enumerate() {
            if !escapes(&cfg, block, none) {
                continue; // cannot leave: the convention for endless code decides
            }
            let all: Vec<usize> = (0..cfg.blocks.len())
                .filter(|other| *other != block && !escapes(&cfg, block, *other))
                .collect();
            // The immediate one is post-dominated by all the others.
            let immediate = all.iter().copied().find(|candidate| {
                all.iter().all(|o| o == candidate || !escapes(&cfg, *candidate, *o))
            });
            prop_assert_eq!(found, immediate, "block {} of {}", block, text);
        }
    }
}
