//! Short branches that become guards (if-conversion, Allen and others, 1983): the instructions that
//! a branch skips take its predicate as their guard, and the branch disappears. Loads behind
//! several branches are then in flight at once.

use crate::body::Body;
use crate::effects::{Effect, effect};
use fixedbitset::FixedBitSet;
use std::ops::Range;
use warploom_ir::cfg::{Block, Cfg};
use warploom_ir::liveness::Liveness;
use warploom_ir::{
    Code, FloatBin, FloatUn, Guard, Inst, IntBin, MemSpace, Op, Src, Var, machine_instructions,
};

/// Most machine instructions that a branch may skip: the limit of NVIDIA's assembler of CUDA 13.0,
/// found by blocks of growing length.
const MOST: usize = 8;
/// The same where one of them loads from global or local memory.
const MOST_WITH_LOADS: usize = 20;

/// A branch with what it chooses between. All paths meet at the block `join`.
struct Choice {
    /// Position of the branch.
    branch: usize,
    guard: Guard,
    /// Block that follows the branch, unless that is the join.
    next: Option<usize>,
    /// Block that the branch leads to, unless that is the join.
    taken: Option<usize>,
    join: usize,
}

/// Turns the branches around short blocks into guards.
pub(crate) fn predicate(body: &mut Body) {
    let (cfg, live) = body.flow();
    let entries = entries(&cfg);
    let choices: Vec<Choice> = (0..cfg.blocks.len())
        .filter_map(|at| choice(body, &cfg, &entries, at))
        .filter(|choice| is_short(body, &cfg, choice) && keeps_guard(body, &cfg, choice))
        .collect();
    for choice in &choices {
        guard(body, &cfg, &live, choice);
    }
    arrange(body, &cfg, &choices);
}

/// Number of ways into each block.
fn entries(cfg: &Cfg) -> Vec<u32> {
    let mut entries = vec![0; cfg.blocks.len()];
    let succs = cfg.blocks.iter().flat_map(|block| &block.succs);
    succs.for_each(|succ| entries[*succ] += 1);
    if let Some(first) = entries.first_mut() {
        *first += 1;
    }
    entries
}

/// The choice at the end of a block, if its paths are at most one block each and meet.
fn choice(body: &Body, cfg: &Cfg, entries: &[u32], at: usize) -> Option<Choice> {
    let block = &cfg.blocks[at];
    let branch = block.end - 1;
    let inst = &body.insts[branch];
    let guard = inst.guard.filter(|_| matches!(inst.op, Op::Bra(_)))?;
    let (next, taken) = (at + 1, cfg.block_of(inst.imm as usize));
    if next == taken {
        return None;
    }
    let arm = |nth: usize| {
        let block = &cfg.blocks[nth];
        let only = entries[nth] == 1 && !block.leaves && block.succs.len() == 1;
        only.then(|| block.succs[0])
    };
    let [after_next, after_taken] =
        [next, taken].map(|nth| cfg.blocks.get(nth).and_then(|_| arm(nth)));
    let (next, taken, join) = match (after_next, after_taken) {
        (Some(join), _) if join == taken => (Some(next), None, join),
        (_, Some(join)) if join == next => (None, Some(taken), join),
        (Some(join), Some(other)) if join == other => (Some(next), Some(taken), join),
        _ => return None,
    };
    Some(Choice {
        branch,
        guard,
        next,
        taken,
        join,
    })
}

/// Positions of a block without the jump at its end.
fn work(body: &Body, block: &Block) -> Range<usize> {
    let jumps = matches!(body.insts[block.end - 1].op, Op::Bra(_));
    block.start..block.end - usize::from(jumps)
}

/// The blocks that a choice is between.
fn arms(choice: &Choice) -> impl Iterator<Item = usize> {
    choice.next.into_iter().chain(choice.taken)
}

/// True if an assembler would guard all instructions of both paths.
fn is_short(body: &Body, cfg: &Cfg, choice: &Choice) -> bool {
    let code = body.code();
    let insts = |nth: usize| &code.insts[work(body, &cfg.blocks[nth])];
    let mut all = arms(choice).flat_map(insts);
    if !all.all(|inst| can_be_guarded(&code, inst)) {
        return false;
    }
    let loads = arms(choice).flat_map(insts).any(loads_far);
    let most = if loads { MOST_WITH_LOADS } else { MOST };
    // With two paths one of them ends with a jump, which counts too.
    let jump = usize::from(choice.next.is_some() && choice.taken.is_some());
    let size = |nth: usize| -> usize {
        let counts = insts(nth).iter().map(machine_instructions);
        counts.map(usize::from).sum()
    };
    arms(choice).all(|nth| size(nth) + jump <= most)
}

/// True for an instruction that may get a guard. An assembler leaves branches around atomics,
/// exchanges of a warp, and divisions and roots whose rare cases are a function.
fn can_be_guarded(code: &Code, inst: &Inst) -> bool {
    let simple = match effect(code, inst, None) {
        Effect::None | Effect::Constant => !matches!(inst.op, Op::Mma(_) | Op::TurnMatrix),
        Effect::ReadOnly(_) => true,
        Effect::Load(..) | Effect::Store(..) => matches!(inst.op, Op::Ld(..) | Op::St(..)),
        _ => false,
    };
    simple && inst.guard.is_none() && !has_rare_cases(inst)
}

fn loads_far(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Ld(MemSpace::Global | MemSpace::Local | MemSpace::Generic, ..)
    )
}

/// True for operations for whose rare operands machine code calls a function, and for divisions of
/// integers, which alone exceed the limits.
fn has_rare_cases(inst: &Inst) -> bool {
    match inst.op {
        Op::Float(FloatBin::Div, ..) => true,
        Op::FloatUn(FloatUn::Rcp | FloatUn::Sqrt, ..) => true,
        Op::Int(IntBin::Div | IntBin::Rem, _) => !matches!(inst.src[1], Src::Const(_)),
        _ => false,
    }
}

/// True if no path writes the predicate of the branch.
fn keeps_guard(body: &Body, cfg: &Cfg, choice: &Choice) -> bool {
    let code = body.code();
    let mut insts = arms(choice).flat_map(|nth| work(body, &cfg.blocks[nth]));
    !insts.any(|at| {
        let mut writes = code.writes(&code.insts[at]);
        writes.any(|var| var == Var::Pred(choice.guard.pred))
    })
}

/// Gives the instructions of both paths their guards. Those of the path that the branch leads to
/// come first.
fn guard(body: &mut Body, cfg: &Cfg, live: &Liveness, choice: &Choice) {
    let needed = live.live_in(choice.join).clone();
    if let Some(next) = choice.next {
        let guard = Guard {
            negated: !choice.guard.negated,
            ..choice.guard
        };
        guard_path(body, &cfg.blocks[next], guard, &needed);
    }
    if let Some(taken) = choice.taken {
        let mut needed = needed;
        if let Some(next) = choice.next {
            needed.union_with(live.live_in(next));
        }
        guard_path(body, &cfg.blocks[taken], choice.guard, &needed);
    }
}

/// Gives the instructions of a path a guard. `needed` are the values that other lanes need later.
fn guard_path(body: &mut Body, block: &Block, guard: Guard, needed: &FixedBitSet) {
    let universe = body.universe();
    for at in work(body, block) {
        let code = body.code();
        let is_needed = |var| needed.contains(universe.index(var));
        let overwrites = !code.writes(&code.insts[at]).any(is_needed);
        body.insts[at].guard = Some(Guard {
            overwrites,
            ..guard
        });
    }
}

/// Removes the branches of the choices, and puts the paths that they lead to behind them.
fn arrange(body: &mut Body, cfg: &Cfg, choices: &[Choice]) {
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    kept.insert_range(..);
    let mut moved = FixedBitSet::with_capacity(cfg.blocks.len());
    moved.extend(choices.iter().filter_map(|choice| choice.taken));
    let mut order = Vec::with_capacity(body.insts.len());
    let mut choices = choices.iter().peekable();
    for (nth, block) in cfg.blocks.iter().enumerate() {
        if moved.contains(nth) {
            continue;
        }
        order.extend(block.start..block.end);
        let Some(choice) = choices.next_if(|choice| choice.branch + 1 == block.end) else {
            continue;
        };
        kept.set(choice.branch, false);
        if let Some(taken) = choice.taken {
            let block = &cfg.blocks[taken];
            order.extend(block.start..block.end);
            kept.set_range(work(body, block).end..block.end, false);
        }
    }
    body.lay_out(&order, &kept);
    remove_jumps(body);
}

/// Removes jumps to the next instruction.
fn remove_jumps(body: &mut Body) {
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    for (at, inst) in body.insts.iter().enumerate() {
        let jumps = matches!(inst.op, Op::Bra(_)) && inst.guard.is_none();
        kept.set(at, !(jumps && inst.imm as usize == at + 1));
    }
    body.keep(&kept);
}
