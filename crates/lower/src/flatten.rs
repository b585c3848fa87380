//! Flattening: from lowered functions to one program with slots, places in the code and facts.

use crate::builder::FunctionCode;
use crate::error::{Res, unsupported};
use crate::kernel::{Formal, Kernel};
use crate::pools::Pools;
use warploom_base::Pc;
use warploom_diag::Source;
use warploom_ir::cfg::Cfg;
use warploom_ir::contexts::{Contexts, Held};
use warploom_ir::facts;
use warploom_ir::liveness::{Liveness, Universe};
use warploom_ir::pressure;
use warploom_ir::slots::{self, Assignment};
use warploom_ir::{
    ClusterDirectives, Code, Dst, Extra, ExtraOperands, Frame, Inst, Op, Param, ParamKind, Pred,
    Program, Reg, STACK_BYTES, SourcePos, Src, Var, Written,
};
use warploom_ptx::ast::FunctionDirective;
use warploom_ptx::tokens::ScalarType;

/// Results of the analyses of one function.
struct Analysed {
    assignment: Assignment,
    reconverge: Vec<Option<Pc>>,
    pressure: u32,
    contexts: Contexts,
}

/// Start of a function's code and registers in the program.
#[derive(Clone, Copy, Default)]
struct Base {
    pc: usize,
    /// First slot of 64-bit registers.
    wide: usize,
    /// First slot of 32-bit registers, which all follow those of 64-bit ones. Lanes of a warp may
    /// be in different functions at a time, and a lane's 64-bit value overlaps other lanes' words.
    narrow: usize,
    preds: usize,
    /// Registers per thread that its callers hold while it runs.
    pressure: u32,
    /// Context that its callers keep if the warp is switched out in it.
    kept: Held,
}

/// Concatenates the functions of a kernel.
pub(crate) fn flatten(
    kernel: &Kernel,
    functions: Vec<FunctionCode>,
    mut pools: Pools,
    source: &Source,
) -> Res<Program> {
    let analysed: Vec<Analysed> = (functions.iter().enumerate())
        .map(|(nth, function)| analyse(function, nth == 0, &pools))
        .collect();
    let mut bases = place(kernel, &functions, &analysed);
    let extent = |bases: &[Base], start: fn(&Base) -> usize, size: fn(&Assignment) -> usize| {
        let ends = bases.iter().zip(&analysed);
        let end = ends.map(|(b, a)| start(b) + size(&a.assignment)).max();
        end.unwrap_or(0)
    };
    let wide = extent(&bases, |b| b.wide, |a| a.wide_slots);
    bases.iter_mut().for_each(|base| base.narrow += wide);
    let reg_slots = extent(&bases, |b| b.narrow, Assignment::narrow_slots).max(wide);
    let preds = extent(&bases, |b| b.preds, |a| a.pred_slots);
    if reg_slots + preds > usize::from(u16::MAX) {
        let span = kernel.functions[0].function.name.span;
        return Err(unsupported(
            span,
            "kernels that need more than 65,535 registers at a time",
        ));
    }
    let mut program = empty_program(kernel, &pools);
    program.reg_slots = reg_slots as u16;
    program.wide_slots = wide as u16;
    program.preds = preds as u16;
    let estimate = registers_per_thread(&bases, &analysed);
    program.registers_per_thread = estimate.min(most_registers(kernel));
    enter(kernel, &functions, &analysed, &bases, &mut pools);
    for (nth, code) in functions.iter().enumerate() {
        let name = kernel.functions[nth].function.name.node.clone();
        program.functions.push((Pc::new(bases[nth].pc), name));
        // The context of a thread has no bound if functions call themselves.
        if !kernel.has_stack() {
            let points = analysed[nth].contexts.points.iter();
            let base = bases[nth];
            let placed = points.map(|point| point.place(base.pc, base.kept));
            program.switch_points.extend(placed);
        }
        append(
            &mut program,
            code,
            &analysed[nth],
            &bases,
            nth,
            &mut pools,
            source,
        );
    }
    program.extras = pools.extras;
    Ok(program)
}

fn analyse(code: &FunctionCode, is_kernel: bool, pools: &Pools) -> Analysed {
    let view = Code {
        insts: &code.insts,
        extras: &pools.extras,
        start: Pc(0),
    };
    let cfg = Cfg::new(&view);
    let universe = Universe {
        regs: code.regs.len(),
        preds: code.preds.len(),
    };
    let live = Liveness::new(&view, &cfg, universe);
    let wide: Vec<bool> = code.regs.iter().map(|r| r.wide).collect();
    let assignment = slots::assign(&view, &cfg, &live, &wide);
    debug_assert_eq!(
        slots::verify(&view, &cfg, universe, &assignment, &wide),
        Ok(())
    );
    Analysed {
        reconverge: cfg.reconvergence(&view, is_kernel),
        pressure: pressure::estimate(&view, &cfg, &live, &wide),
        contexts: Contexts::new(&view, &cfg, &live, &wide, &pools.consts),
        assignment,
    }
}

/// Gives every function a place in the code, and slots after those of all its callers.
fn place(kernel: &Kernel, functions: &[FunctionCode], analysed: &[Analysed]) -> Vec<Base> {
    let mut bases = vec![Base::default(); functions.len()];
    let mut pc = 0;
    for nth in 0..functions.len() {
        for other in kernel.cycle_of(nth) {
            let other = bases[other];
            bases[nth].raise(&other);
        }
        bases[nth].pc = pc;
        pc += functions[nth].insts.len();
        let (own, found) = (bases[nth], &analysed[nth]);
        let end = Base {
            pc: 0,
            wide: own.wide + found.assignment.wide_slots,
            narrow: own.narrow + found.assignment.narrow_slots(),
            preds: own.preds + found.assignment.pred_slots,
            pressure: own.pressure + found.pressure,
            kept: own.kept.plus(found.contexts.at_calls),
        };
        for &callee in &kernel.functions[nth].callees {
            if !kernel.in_one_cycle(nth, callee) {
                bases[callee].raise(&end);
            }
        }
    }
    bases
}

impl Base {
    /// Moves the registers to begin no earlier than those of another base.
    fn raise(&mut self, other: &Self) {
        self.wide = self.wide.max(other.wide);
        self.narrow = self.narrow.max(other.narrow);
        self.preds = self.preds.max(other.preds);
        self.pressure = self.pressure.max(other.pressure);
        if other.kept.bytes >= self.kept.bytes {
            self.kept = other.kept;
        }
    }
}

/// Size of a register, or of the predicates, on the stack in bytes.
const KEPT_BYTES: usize = 4;

/// Fills in the targets of calls and the stack that they take.
fn enter(
    kernel: &Kernel,
    functions: &[FunctionCode],
    analysed: &[Analysed],
    bases: &[Base],
    pools: &mut Pools,
) {
    for (nth, code) in functions.iter().enumerate() {
        let (own, assigned) = (bases[nth], &analysed[nth].assignment);
        for (at, reached) in &code.calls {
            let extra = &mut pools.extras[code.insts[*at].extra.0 as usize];
            for (callee, &function) in extra.callees.iter_mut().zip(reached) {
                callee.target = Pc::new(bases[function].pc);
                let (wide, narrow, preds) = match kernel.in_one_cycle(nth, function) {
                    true => (
                        assigned.wide_slots,
                        assigned.narrow_slots(),
                        assigned.pred_slots,
                    ),
                    false => (0, 0, 0),
                };
                let kept = KEPT_BYTES * (wide + narrow + usize::from(preds > 0));
                let bytes = kernel.functions[function].frame_bytes as usize + kept;
                callee.frame = kernel.functions[function].moves.then(|| Frame {
                    bytes: bytes.max(1).next_multiple_of(16) as u32,
                    kept_wide: own.wide as u16..(own.wide + wide) as u16,
                    kept_narrow: own.narrow as u16..(own.narrow + narrow) as u16,
                    kept_preds: own.preds as u16..(own.preds + preds) as u16,
                });
            }
        }
    }
}

fn registers_per_thread(bases: &[Base], analysed: &[Analysed]) -> u32 {
    let totals = bases
        .iter()
        .zip(analysed)
        .map(|(b, a)| b.pressure + a.pressure);
    pressure::registers_per_thread(totals.max().unwrap_or(0))
}

/// The kernel's own limit of registers per thread (`.maxnreg`), which `ptxas` keeps by spilling.
fn most_registers(kernel: &Kernel) -> u32 {
    let directives = kernel.functions[0].function.directives.iter();
    let stated = directives.filter_map(|directive| match directive {
        FunctionDirective::MaxRegisters(count) => Some(*count),
        _ => None,
    });
    stated.min().unwrap_or(u32::MAX)
}

fn empty_program(kernel: &Kernel, pools: &Pools) -> Program {
    let entry = kernel.functions[0].function;
    let dims =
        |pick: fn(&FunctionDirective) -> Option<[u32; 3]>| entry.directives.iter().find_map(pick);
    Program {
        name: entry.name.node.clone(),
        insts: Vec::new(),
        facts: Vec::new(),
        consts: pools.consts.clone(),
        extras: Vec::new(),
        reg_slots: 0,
        wide_slots: 0,
        preds: 0,
        registers_per_thread: 0,
        params: kernel.functions[0].params.iter().map(param).collect(),
        param_bytes: kernel.param_bytes,
        shared_bytes: kernel.shared_bytes,
        dynamic_shared_align: kernel.dynamic_shared_align,
        local_bytes: kernel.frame_bytes,
        stack_bytes: if kernel.has_stack() { STACK_BYTES } else { 0 },
        max_threads: dims(|d| match d {
            FunctionDirective::MaxThreads(dims) => Some(*dims),
            _ => None,
        }),
        required_threads: dims(|d| match d {
            FunctionDirective::RequiredThreads(dims) => Some(*dims),
            _ => None,
        }),
        cluster: cluster(&entry.directives),
        functions: Vec::new(),
        switch_points: Vec::new(),
        written: Written::default(),
    }
}

/// Directives of a kernel about clusters of blocks.
fn cluster(directives: &[FunctionDirective]) -> ClusterDirectives {
    let mut found = ClusterDirectives::default();
    for directive in directives {
        match directive {
            FunctionDirective::RequiredCluster(blocks) => found.required = Some(*blocks),
            FunctionDirective::MaxClusterRank(blocks) => found.max_rank = Some(*blocks),
            FunctionDirective::ExplicitCluster => found.explicit = true,
            FunctionDirective::BlocksAreClusters => found.blocks_are_clusters = true,
            _ => {}
        }
    }
    found
}

fn param(formal: &Formal) -> Param {
    let variable = formal.variable;
    let ty = variable.ty;
    let scalar = variable.dims.is_empty() && variable.vector <= 1;
    let kind = match ty {
        _ if !scalar || formal.bytes > 8 => ParamKind::Bytes,
        ScalarType::F16 => ParamKind::F16,
        ScalarType::F32 => ParamKind::F32,
        ScalarType::F64 => ParamKind::F64,
        _ => ParamKind::Int {
            bytes: formal.bytes as u8,
            signed: ty.is_signed(),
        },
    };
    Param {
        name: variable.name.node.clone(),
        offset: formal.offset,
        bytes: formal.bytes,
        align: formal.align,
        kind,
    }
}

/// Mapping from a function's virtual registers to slots of the program.
struct Renaming<'a> {
    assignment: &'a Assignment,
    base: Base,
}

impl Renaming<'_> {
    fn reg(&self, reg: Reg) -> Reg {
        let (slot, wide) = (
            usize::from(self.assignment.regs[reg.0 as usize].0),
            self.assignment.wide_slots,
        );
        Reg(match slot.checked_sub(wide) {
            None => self.base.wide + slot,
            Some(nth) => self.base.narrow + nth,
        } as u16)
    }

    fn pred(&self, pred: Pred) -> Pred {
        Pred(self.assignment.preds[pred.0 as usize].0 + self.base.preds as u16)
    }

    fn src(&self, src: Src) -> Src {
        match src {
            Src::Reg(reg) => Src::Reg(self.reg(reg)),
            Src::Pred(pred, negated) => Src::Pred(self.pred(pred), negated),
            other => other,
        }
    }

    fn dst(&self, dst: Dst) -> Dst {
        match dst {
            Dst::Reg(reg) => Dst::Reg(self.reg(reg)),
            Dst::Pred(pred) => Dst::Pred(self.pred(pred)),
            Dst::None => Dst::None,
        }
    }

    fn inst(&self, inst: &Inst) -> Inst {
        let mut renamed = *inst;
        renamed.src = inst.src.map(|s| self.src(s));
        renamed.dst = inst.dst.map(|d| self.dst(d));
        if let Some(guard) = &mut renamed.guard {
            guard.pred = self.pred(guard.pred);
        }
        if matches!(inst.op, Op::Bra(_)) {
            renamed.imm += self.base.pc as i32;
        }
        renamed
    }

    fn extra(&self, extra: &ExtraOperands) -> ExtraOperands {
        ExtraOperands {
            dsts: extra.dsts.iter().map(|d| self.dst(*d)).collect(),
            srcs: extra.srcs.iter().map(|s| self.src(*s)).collect(),
            targets: (extra.targets.iter())
                .map(|pc| Pc::new(pc.index() + self.base.pc))
                .collect(),
            ..extra.clone()
        }
    }
}

fn append(
    program: &mut Program,
    code: &FunctionCode,
    analysed: &Analysed,
    bases: &[Base],
    nth: usize,
    pools: &mut Pools,
    source: &Source,
) {
    let renaming = Renaming {
        assignment: &analysed.assignment,
        base: bases[nth],
    };
    let banks = |var: Var| match var {
        Var::Reg(reg) => code.regs[reg.0 as usize].bank,
        Var::Pred(pred) => code.preds[pred.0 as usize],
    };
    let mut calls = code.calls.iter().peekable();
    for (at, inst) in code.insts.iter().enumerate() {
        let virtual_code = Code {
            insts: &code.insts,
            extras: &pools.extras,
            start: Pc(0),
        };
        let banks_of = facts::banks(&virtual_code, inst, banks);
        let mut renamed = renaming.inst(inst);
        if inst.extra != Extra::NONE {
            let extra = &mut pools.extras[inst.extra.0 as usize];
            *extra = renaming.extra(extra);
        }
        if let (Op::Call, Some((_, reached))) = (inst.op, calls.next_if(|(place, _)| *place == at))
        {
            renamed.imm = bases[reached[0]].pc as i32;
        }
        let view = Code {
            insts: &[],
            extras: &pools.extras,
            start: Pc(0),
        };
        let position = source.position(code.spans[at].start);
        let pos = SourcePos {
            line: position.line,
            column: position.column,
        };
        let reconverge = analysed.reconverge[at].map(|pc| Pc::new(pc.index() + bases[nth].pc));
        let facts = facts::of(
            &view,
            &renamed,
            program.reg_slots,
            banks_of,
            reconverge,
            pos,
        );
        program.facts.push(facts);
        program.insts.push(renamed);
    }
}
