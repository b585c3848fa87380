//! Code for execution without timing in which values that are the same for all threads of a launch
//! are constants: parameters, extents, and copies of these.
//!
//! Reads of registers with such values become reads of constants. An instruction whose result is
//! then read no more does nothing, but is counted. In loops nothing is left out, so that a warp
//! repeats its state exactly if it would with the original code: outside of them, an instruction is
//! executed once, and before and after it the warp is at different places.

use crate::context::LaunchContext;
use crate::decode::{Decoded, is_in_row};
use crate::handler::Handler;
use crate::launch::KernelLaunch;
use crate::memory::state_space::window;
use crate::ops::load::{extend, number_of};
use crate::state::registers::{Lanes32, Lanes64};
use warploom_base::Pc;
use warploom_ir::cfg::Cfg;
use warploom_ir::liveness::{Liveness, Universe};
use warploom_ir::{Code, Dst, Inst, MemSpace, MemTy, Op, SpecialReg, Src, Var, Width};

/// Number of warps for each instruction of the code from which on the analysis is worth its time.
const WARPS_PER_INSTRUCTION: u64 = 4;

/// Knowledge of a slot of the register file at a place in the code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// No path has led here so far.
    Nothing,
    /// All threads that come here have the same value, of 64 bits if `wide`.
    Value { bits: u64, wide: bool },
    /// Threads may have different values, or other parts of a wider one.
    Varies,
}

impl Known {
    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (one, other) if one == other => one,
            _ => Self::Varies,
        }
    }
}

/// A launch with folded code.
pub(crate) struct Folded {
    pub ctx: LaunchContext,
    /// True if no thread reads a register before it has written it, so that a warp may begin with
    /// any contents.
    pub writes_first: bool,
}

/// A launch of `blocks` blocks with folded code. `None` if this takes more time than it saves, or
/// if the code has instructions that may read registers of lanes which do not execute them.
pub(crate) fn folded(ctx: &LaunchContext, blocks: u64) -> Option<Folded> {
    let program = &ctx.program;
    let warps = blocks.saturating_mul(ctx.warps_per_block().into());
    let worth = warps / WARPS_PER_INSTRUCTION >= program.insts.len() as u64;
    if !worth || program.functions.len() > 1 || !ctx.code.iter().all(keeps_to_its_lanes) {
        return None;
    }
    let mut fold = Fold {
        ctx,
        insts: program.insts.clone(),
        values: Vec::new(),
    };
    let original = code_of(ctx, &program.insts);
    let cfg = Cfg::new(&original);
    fold.replace_sources(&cfg);
    let replaced = code_of(ctx, &fold.insts);
    let universe = Universe::of(&replaced);
    let live = Liveness::new(&replaced, &cfg, universe);
    let mut code = ctx.code.to_vec();
    for (decoded, inst) in code.iter_mut().zip(&fold.insts) {
        decoded.inst = *inst;
        let is_special = |src: &Src| matches!(src, Src::Special(_));
        decoded.reads_special &= inst.src.iter().any(is_special);
        decoded.is_plain = decoded.calls_only();
    }
    for at in fold.unneeded(&cfg, &live) {
        let decoded = &mut code[at];
        decoded.handler = Handler::plain(|_| Ok(()));
        decoded.reads_special = false;
        decoded.accesses_memory = false;
        decoded.is_plain = true;
    }
    let writes_first = live.live_in(0).is_clear();
    let mut launch = KernelLaunch::clone(ctx);
    for value in fold.values {
        launch.consts32.push(Lanes32([value as u32; 32]));
        launch.consts64.push(Lanes64([value; 32]));
    }
    Some(Folded {
        ctx: LaunchContext::with_code(launch, code),
        writes_first,
    })
}

fn code_of<'a>(ctx: &'a LaunchContext, insts: &'a [Inst]) -> Code<'a> {
    Code {
        insts,
        extras: &ctx.program.extras,
        start: Pc(0),
    }
}

/// True if an instruction reads registers of the lanes that execute it alone.
fn keeps_to_its_lanes(decoded: &Decoded) -> bool {
    decoded.between.is_some()
        || is_in_row(decoded.inst.op)
        || matches!(
            decoded.inst.op,
            Op::Atom(..) | Op::Membar(_) | Op::Prefetch(_) | Op::Tex { .. }
        )
}

/// Folding of a launch's code.
struct Fold<'a> {
    ctx: &'a LaunchContext,
    insts: Vec<Inst>,
    /// Values of the constants that are added to those of the program.
    values: Vec<u64>,
}

impl Fold<'_> {
    /// Replaces registers whose values are known by constants, where an instruction reads them as
    /// one of its first operands.
    fn replace_sources(&mut self, cfg: &Cfg) {
        let before = self.known_before(cfg);
        for (block, mut known) in cfg.blocks.iter().zip(before) {
            for at in block.start..block.end {
                let inst = self.insts[at];
                if is_in_row(inst.op) {
                    self.replace_in(at, &known);
                }
                self.pass(&inst, &mut known);
            }
        }
    }

    /// Replaces the operands of one instruction.
    fn replace_in(&mut self, at: usize, known: &[Known]) {
        let inst = self.insts[at];
        let accesses = matches!(inst.op, Op::Ld(..) | Op::St(..));
        let space = match inst.op {
            Op::Ld(space, ..) | Op::St(space, ..) => Some(space),
            _ => None,
        };
        for (k, src) in inst.src.iter().enumerate() {
            // Addresses of 32 bits wrap around, and other spaces treat registers differently.
            let plain = !accesses || k > 0 || inst.wide_addr && space == Some(MemSpace::Global);
            let value = match *src {
                Src::Reg(reg) if plain => known[usize::from(reg.0)],
                // Moves from special registers have handlers of their own.
                Src::Special(special) if !matches!(inst.op, Op::Mov(_)) => self.extent(special),
                _ => Known::Varies,
            };
            if let Known::Value { bits, .. } = value
                && let Some(index) = self.constant(bits)
            {
                self.insts[at].src[k] = Src::Const(index);
            }
        }
    }

    /// Number of the constant of a value, which is added if necessary.
    fn constant(&mut self, value: u64) -> Option<u16> {
        let place = self.values.iter().position(|other| *other == value);
        let place = place.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        u16::try_from(self.ctx.consts64.len() + place).ok()
    }

    /// Knowledge of all slots before each block.
    fn known_before(&self, cfg: &Cfg) -> Vec<Vec<Known>> {
        let slots = usize::from(self.ctx.program.reg_slots) + 1;
        let mut before = vec![vec![Known::Nothing; slots]; cfg.blocks.len()];
        before[0].fill(Known::Varies);
        let mut work = vec![0];
        while let Some(index) = work.pop() {
            let block = &cfg.blocks[index];
            let mut known = before[index].clone();
            for at in block.start..block.end {
                self.pass(&self.ctx.program.insts[at], &mut known);
            }
            for next in &block.succs {
                let mut changed = false;
                for (old, new) in before[*next].iter_mut().zip(&known) {
                    let met = old.meet(*new);
                    changed |= met != *old;
                    *old = met;
                }
                if changed {
                    work.push(*next);
                }
            }
        }
        before
    }

    /// Changes what is known before an instruction into what is known after it.
    fn pass(&self, inst: &Inst, known: &mut [Known]) {
        let result = self.result(inst, known);
        for var in code_of(self.ctx, &[]).writes(inst) {
            if let Var::Reg(reg) = var {
                let slot = usize::from(reg.0);
                if let Some(Known::Value { wide: true, .. }) = slot.checked_sub(1).map(|s| known[s])
                {
                    known[slot - 1] = Known::Varies;
                }
                known[slot] = result;
                let narrow = matches!(result, Known::Value { wide: false, .. });
                if !narrow && let Some(upper) = known.get_mut(slot + 1) {
                    *upper = Known::Varies;
                }
            }
        }
    }

    /// Result of an instruction, if it is the same in all threads.
    fn result(&self, inst: &Inst, known: &[Known]) -> Known {
        if inst.guard.is_some() || inst.dst[1] != Dst::None {
            return Known::Varies;
        }
        match inst.op {
            Op::Ld(MemSpace::Param, ty, _) => self.parameter(inst, ty),
            Op::Mov(Width::B32) => self.source(inst.src[0], false, known),
            Op::Mov(Width::B64) => self.source(inst.src[0], true, known),
            Op::Cvta(space, _, width) if window(space).is_none() => {
                self.source(inst.src[0], width == Width::B64, known)
            }
            _ => Known::Varies,
        }
    }

    /// A parameter that is loaded from a known address.
    fn parameter(&self, inst: &Inst, ty: MemTy) -> Known {
        let (at, size) = (inst.imm as usize, usize::from(ty.bytes));
        let plain = inst.src[0] == Src::None && inst.imm >= 0 && ty.count == 1;
        let bytes = at
            .checked_add(size)
            .and_then(|end| self.ctx.params.get(at..end));
        match bytes.filter(|_| plain && at.is_multiple_of(size.max(1))) {
            Some(bytes) => Known::Value {
                bits: match ty.wide_reg {
                    true => extend(number_of(bytes), ty),
                    false => u64::from(extend(number_of(bytes), ty) as u32),
                },
                wide: ty.wide_reg,
            },
            None => Known::Varies,
        }
    }

    /// An operand of 64 bits, or of 32 bits.
    fn source(&self, src: Src, wide: bool, known: &[Known]) -> Known {
        match src {
            Src::Const(index) => Known::Value {
                bits: match wide {
                    true => self.ctx.consts64[usize::from(index)].0[0],
                    false => self.ctx.consts32[usize::from(index)].0[0].into(),
                },
                wide,
            },
            Src::Reg(reg) => match known[usize::from(reg.0)] {
                Known::Value { bits, wide: own } if own == wide => Known::Value { bits, wide },
                _ => Known::Varies,
            },
            Src::Special(special) => match self.extent(special) {
                Known::Value { bits, .. } => Known::Value { bits, wide },
                varies => varies,
            },
            Src::Pred(..) | Src::None => Known::Varies,
        }
    }

    /// A special register that is an extent of the launch.
    fn extent(&self, special: SpecialReg) -> Known {
        use SpecialReg as S;
        let (block, grid) = (self.ctx.block(), self.ctx.grid());
        let extent = match special {
            S::NtidX => block.x,
            S::NtidY => block.y,
            S::NtidZ => block.z,
            S::NctaidX => grid.x,
            S::NctaidY => grid.y,
            S::NctaidZ => grid.z,
            _ => return Known::Varies,
        };
        Known::Value {
            bits: extent.into(),
            wide: false,
        }
    }

    /// Instructions outside of loops that write a register of which no thread reads the value.
    fn unneeded(&self, cfg: &Cfg, live: &Liveness) -> Vec<usize> {
        let (code, universe) = (code_of(self.ctx, &self.insts), live.universe);
        let loops = in_loops(&self.insts, &code);
        let mut found = Vec::new();
        live.for_each(&code, cfg, |at, live| {
            let inst = &self.insts[at];
            let is_copy = match inst.op {
                Op::Ld(MemSpace::Param, ty, _) => self.parameter(inst, ty) != Known::Varies,
                Op::Mov(Width::B32 | Width::B64) => true,
                Op::Cvta(space, ..) => window(space).is_none(),
                _ => false,
            };
            let in_row = self.ctx.code[at].row > 0;
            let dead = |dst: Dst| match dst {
                Dst::Reg(reg) => !live.contains(universe.index(Var::Reg(reg))),
                Dst::Pred(_) | Dst::None => false,
            };
            let plain = inst.guard.is_none() && inst.dst[1] == Dst::None;
            if is_copy && plain && in_row && !loops[at] && dead(inst.dst[0]) {
                found.push(at);
            }
        });
        found
    }
}

/// For each instruction, whether it lies between the target of a jump backward and the jump. All
/// instructions of loops do.
fn in_loops(insts: &[Inst], code: &Code<'_>) -> Vec<bool> {
    let mut inside = vec![false; insts.len()];
    for (at, inst) in insts.iter().enumerate() {
        let table = code.extra(inst).map_or(&[][..], |extra| &extra.targets);
        let target = matches!(inst.op, Op::Bra(_)).then_some(inst.imm as usize);
        for start in target.into_iter().chain(table.iter().map(|pc| pc.index())) {
            inside
                .iter_mut()
                .take(at + 1)
                .skip(start)
                .for_each(|inside| *inside = true);
        }
    }
    inside
}
