//! Loops whose test stands in the middle become loops with the test at the end: the part before the
//! test is copied in front of the loop (loop rotation), so that the loop is one basic block.
//!
//! Front ends lay out such a loop as
//! `bra test; body: ...; test: ...; @p bra exit; bra body; exit:`.

use super::copies::Unrolled;
use crate::body::Body;
use crate::fold::Counts;
use rustc_hash::FxHashSet;
use warploom_ir::cfg::Cfg;
use warploom_ir::liveness::Liveness;
use warploom_ir::{Cmp, Combine, Dst, Op, Ty, Var};

/// Most instructions of the part before the test, which is copied.
const MOST_TEST: usize = 64;

/// A loop with its test in the middle, by the numbers of its blocks, which follow each other.
pub(super) struct Rotation {
    /// Block that jumps to the test.
    pub entry: usize,
    /// Block before the test, to which the jump behind the test leads.
    pub work: usize,
    /// Block that ends with the branch to the exit.
    pub test: usize,
    /// Block that is the jump alone.
    pub jump: usize,
}

/// Rotates all loops of this form.
pub(super) fn rotate(body: &mut Body) {
    let (cfg, live) = body.flow();
    let counts = Counts::of(body);
    let found = find_all(body, &cfg);
    let found = found.into_iter().filter_map(|rotation| {
        let goes_on = inverted(body, &counts, &live, &cfg, &rotation)?;
        Some((rotation, goes_on))
    });
    let found: Vec<(Rotation, (usize, Op))> = found.collect();
    if found.is_empty() {
        return;
    }
    let mut unrolled = Unrolled::new(body, &live);
    let mut next = found.iter().peekable();
    let mut done = FxHashSet::default();
    for (nth, block) in cfg.blocks.iter().enumerate() {
        if done.contains(&nth) {
            continue;
        }
        match next.next_if(|(rotation, _)| rotation.entry == nth) {
            Some((rotation, goes_on)) => {
                unrolled.rotated(&cfg, rotation, *goes_on);
                done.extend([rotation.work, rotation.test, rotation.jump]);
            }
            None => unrolled.keep(block.start..block.end),
        }
    }
    let grown = unrolled.finish();
    body.replace(grown);
}

/// Loops of the form, in the order of the code.
fn find_all(body: &Body, cfg: &Cfg) -> Vec<Rotation> {
    let mut entries = vec![0; cfg.blocks.len()];
    let succs = cfg.blocks.iter().flat_map(|block| &block.succs);
    succs.for_each(|succ| entries[*succ] += 1);
    let mut found: Vec<Rotation> = Vec::new();
    for test in 2..cfg.blocks.len() {
        let rotation = Rotation {
            entry: test - 2,
            work: test - 1,
            test,
            jump: test + 1,
        };
        let apart = found.last().is_none_or(|last| last.jump < rotation.entry);
        if apart && rotation.fits(body, cfg, &entries) {
            found.push(rotation);
        }
    }
    found
}

impl Rotation {
    fn fits(&self, body: &Body, cfg: &Cfg, entries: &[u32]) -> bool {
        let Some(jump) = cfg.blocks.get(self.jump) else {
            return false;
        };
        let [entry, work, test] = [self.entry, self.work, self.test].map(|nth| &cfg.blocks[nth]);
        let jumps = |at: usize, to: usize| {
            let inst = &body.insts[at];
            let plain = matches!(inst.op, Op::Bra(_)) && inst.guard.is_none();
            plain && inst.imm as usize == to
        };
        let ends = &body.insts[test.end - 1];
        let leaves =
            matches!(ends.op, Op::Bra(_)) && ends.guard.is_some() && ends.imm as usize >= jump.end;
        let falls = !matches!(body.insts[work.end - 1].op, Op::Bra(_)) && !work.leaves;
        jumps(entry.end - 1, test.start)
            && jumps(jump.start, work.start)
            && jump.end == jump.start + 1
            && leaves
            && falls
            && work.succs[..] == [self.test]
            && [self.work, self.test, self.jump].map(|nth| entries[nth]) == [1, 2, 1]
            && test.end - test.start <= MOST_TEST
    }
}

/// Comparison of the test and its operation for which the loop goes on, if nothing but the branch
/// at its end reads the result.
fn inverted(
    body: &Body,
    counts: &Counts,
    live: &Liveness,
    cfg: &Cfg,
    rotation: &Rotation,
) -> Option<(usize, Op)> {
    let test = &cfg.blocks[rotation.test];
    let guard = body.insts[test.end - 1]
        .guard
        .filter(|guard| !guard.negated)?;
    let pred = body.universe().index(Var::Pred(guard.pred));
    let alone = counts.defs[pred] == 1 && counts.uses[pred] == 1;
    if !alone || live.live_out(rotation.test).contains(pred) {
        return None;
    }
    let writes = |at: &usize| body.insts[*at].dst[0] == Dst::Pred(guard.pred);
    let at = (test.start..test.end - 1).find(writes)?;
    let inst = &body.insts[at];
    let Op::Setp(cmp, Combine::None, ty, ftz) = inst.op else {
        return None;
    };
    let whole = matches!(ty, Ty::Int(_) | Ty::Bits(_));
    let plain = inst.guard.is_none() && inst.dst[1] == Dst::None && whole;
    let op = Op::Setp(opposite(cmp)?, Combine::None, ty, ftz);
    plain.then_some((at, op))
}

/// The comparison of integers that holds where another does not.
const fn opposite(cmp: Cmp) -> Option<Cmp> {
    Some(match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Ge => Cmp::Lt,
        Cmp::Le => Cmp::Gt,
        Cmp::Gt => Cmp::Le,
        Cmp::Lo => Cmp::Hs,
        Cmp::Hs => Cmp::Lo,
        Cmp::Ls => Cmp::Hi,
        Cmp::Hi => Cmp::Ls,
        _ => return None,
    })
}
