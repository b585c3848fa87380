//! The address binary: a kernel reduced to the computation of its regular addresses.
//!
//! The result is a [`Program`] that contains the definitions that addresses depend on, the branches
//! that determine their execution, and a `prefetch` in place of each access, which computes the
//! address without accessing memory. Registers are renamed, with one register for each web of
//! definitions and uses. The renaming is necessary because register sharing in the kernel is only
//! valid on the paths of the kernel.

use crate::access::{Access, Coverage};
use crate::array::Roots;
use crate::defs::{Def, Defs, Uses};
use crate::region::Region;
use crate::regular::{Cause, Regularity, no_operation};
use fixedbitset::FixedBitSet;
use warploom_base::Pc;
use warploom_ir::cfg::{Cfg, may_diverge};
use warploom_ir::{
    Code, Dst, Extra, ExtraOperands, Guard, Inst, InstClass, InstFacts, MemSpace, Op, Pred,
    Program, Reg, Src, Var,
};

/// The regular addresses of one kernel, in executable form.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The address binary. Constants and parameters are those of the kernel.
    pub program: Program,
    /// All loads from and stores to global memory, in program order.
    pub accesses: Vec<Access>,
    /// The access whose address each instruction of `program` computes, if it computes one.
    pub records: Vec<Option<u32>>,
    /// The slice of each access: the instructions of `program` that its address depends on, in
    /// order. Slices of irregular accesses are empty, and jumps that no address depends on belong
    /// to no slice.
    pub slice_of: Vec<Vec<Pc>>,
}

impl Slices {
    /// Computes the slices of a kernel.
    pub fn new(kernel: &Program) -> Self {
        let code = main_function(kernel);
        let regular = Regularity::new(&code);
        let accesses = find_accesses(kernel, &code, &regular);
        Builder::new(kernel, &code, &regular, accesses).build()
    }

    /// Returns the number of instructions of the address binary. Different accesses share most
    /// instructions of their slices.
    pub fn len(&self) -> usize {
        self.program.insts.len()
    }

    /// Returns whether no access of the kernel is regular.
    pub fn is_empty(&self) -> bool {
        self.accesses.iter().all(|access| !access.is_regular())
    }
}

/// Returns the code of the kernel itself, without the functions that it calls.
pub(crate) fn main_function(kernel: &Program) -> Code<'_> {
    let end = kernel.functions.iter().map(|(pc, _)| pc.index());
    let end = end.filter(|pc| *pc > 0).min().unwrap_or(kernel.insts.len());
    Code {
        insts: &kernel.insts[..end],
        extras: &kernel.extras,
        start: Pc(0),
    }
}

/// Returns the global accesses of a kernel with their coverage.
fn find_accesses(kernel: &Program, code: &Code, regular: &Regularity) -> Vec<Access> {
    let mut accesses = Vec::new();
    for (at, inst) in kernel.insts.iter().enumerate() {
        if let Some(access) = Access::of(Pc(at as u32), inst, kernel) {
            let inside = at < code.insts.len();
            let cause = inside.then(|| cause(at, inst, regular)).flatten();
            let coverage = match (inside, cause) {
                (false, _) => Coverage::InFunction,
                (true, Some(_)) => Coverage::Irregular,
                (true, None) => coverage(at, inst, regular),
            };
            accesses.push(Access {
                coverage,
                cause,
                ..access
            });
        }
    }
    accesses
}

/// Returns the reason for which an access's address is irregular, or `None` if the address is
/// regular.
fn cause(at: usize, inst: &Inst, regular: &Regularity) -> Option<Cause> {
    if matches!(inst.src[0], Src::Reg(_)) && !inst.wide_addr {
        return Some(Cause::Narrow);
    }
    let address = warploom_ir::var_of_src(inst.src[0]);
    address.and_then(|var| regular.cause(at, var))
}

/// Returns the coverage of an access with a regular address.
fn coverage(at: usize, inst: &Inst, regular: &Regularity) -> Coverage {
    let guard = inst.guard.map(|guard| Var::Pred(guard.pred));
    let sure = guard.is_none_or(|var| regular.reads_regularly(at, var));
    Coverage::Regular {
        conditional: regular.conditional.contains(at) || !sure,
        first_only: regular.first_only.contains(at),
    }
}

/// Construction of the address binary.
struct Builder<'a> {
    kernel: &'a Program,
    accesses: Vec<Access>,
    /// The opened code, with an address computation in place of each regular access.
    insts: Vec<Inst>,
    cfg: Cfg,
    uses: Uses,
    defs: Defs,
    /// The instructions that remain in the address binary.
    kept: FixedBitSet,
    /// The instructions that each access depends on.
    slices: Vec<FixedBitSet>,
    /// The branches that no remaining instruction depends on, each with the block where its sides
    /// rejoin. Such a branch becomes a jump to that block, or an exit if there is none.
    bypassed: Vec<Option<Option<usize>>>,
}

impl<'a> Builder<'a> {
    fn new(
        kernel: &'a Program,
        code: &Code<'a>,
        regular: &Regularity,
        accesses: Vec<Access>,
    ) -> Self {
        let mut insts = regular.opened.clone();
        for access in accesses.iter().filter(|a| a.is_regular()) {
            let at = access.pc.index();
            insts[at] = address_only(&insts[at], at, regular);
        }
        let view = Code {
            insts: &insts,
            ..*code
        };
        let cfg = Cfg::new(&view);
        let defs = Defs::new(&view);
        let uses = Uses::new(&view, &cfg, &defs);
        Self {
            kernel,
            accesses,
            kept: FixedBitSet::with_capacity(insts.len()),
            slices: Vec::new(),
            bypassed: vec![None; insts.len()],
            cfg,
            uses,
            defs,
            insts,
        }
    }

    fn build(mut self) -> Slices {
        self.keep_what_matters();
        let places = self.places();
        let renaming = Renaming::new(&self);
        self.find_bases();
        let mut out = Vec::new();
        let mut origin = Vec::new();
        let mut extras = Vec::new();
        for at in 0..self.insts.len() {
            if self.stays(at) {
                let mut inst = renaming.inst(&self, at, &mut extras);
                self.retarget(at, &mut inst, &places);
                out.push(inst);
                origin.push(at);
            }
        }
        // Opened thread exits are removed, so control may reach the end of the code and branches
        // may lead there.
        out.push(Inst {
            op: Op::Exit,
            ..no_operation(&self.insts[0])
        });
        self.finish(out, &origin, extras, &renaming)
    }

    /// Determines the array of each regular access.
    fn find_bases(&mut self) {
        let roots = Roots {
            code: Code {
                insts: &self.insts,
                extras: &self.kernel.extras,
                start: Pc(0),
            },
            consts: &self.kernel.consts,
            uses: &self.uses,
            defs: &self.defs,
        };
        for access in self.accesses.iter_mut().filter(|a| a.is_regular()) {
            access.base = roots.base(access.pc.index());
        }
    }

    /// Computes the backward slice of all addresses over data and control dependences, and the
    /// slice of each access.
    fn keep_what_matters(&mut self) {
        let regions = self.regions();
        let roots = (0..self.insts.len()).filter(|at| self.is_root(*at));
        self.kept = self.slice(roots.collect(), &regions);
        let accesses = self.accesses.iter();
        let slices = accesses.map(|access| {
            if access.is_regular() {
                self.slice(vec![access.pc.index()], &regions)
            } else {
                FixedBitSet::new()
            }
        });
        self.slices = slices.collect();
        for (branch, region) in regions {
            if !self.kept.contains(branch) {
                self.bypassed[branch] = Some(region.meet);
            }
        }
    }

    /// Returns the instructions that the instructions in `work` depend on, including those
    /// instructions.
    fn slice(&self, mut work: Vec<usize>, regions: &[(usize, Region)]) -> FixedBitSet {
        let mut found = FixedBitSet::with_capacity(self.insts.len());
        while let Some(at) = work.pop() {
            if found.put(at) {
                continue;
            }
            for used in self.uses.of(at) {
                work.extend(used.defs.iter().filter_map(|def| self.defs.site(*def)));
            }
            let block = self.cfg.block_of(at);
            let deciding = regions.iter().filter(|(_, region)| region.contains(block));
            work.extend(deciding.map(|(branch, _)| *branch));
        }
        found
    }

    /// Returns whether an instruction must remain in the address binary by itself. Such
    /// instructions are address computations and conditional thread exits, because accesses after
    /// the end of a thread must not be predicted.
    fn is_root(&self, at: usize) -> bool {
        let inst = &self.insts[at];
        match inst.op {
            Op::Prefetch(_) => {
                let here = |a: &Access| a.pc.index() == at && a.is_regular();
                self.accesses.iter().any(here)
            }
            Op::Ret | Op::Exit => inst.guard.is_some(),
            _ => false,
        }
    }

    /// Returns each branch that may diverge, with its region.
    fn regions(&self) -> Vec<(usize, Region)> {
        let meets = self.cfg.post_dominators();
        let branches = self.insts.iter().enumerate();
        branches
            .filter(|(_, inst)| may_diverge(inst))
            .map(|(at, _)| {
                let block = self.cfg.block_of(at);
                (at, Region::new(&self.cfg, block, meets[block]))
            })
            .collect()
    }

    /// Returns whether an instruction remains. Unconditional jumps and exits always do.
    fn stays(&self, at: usize) -> bool {
        let inst = &self.insts[at];
        let jumps = matches!(inst.op, Op::Bra(_) | Op::BrxIdx | Op::Ret | Op::Exit);
        self.kept.contains(at) || jumps
    }

    /// Returns the new index of each instruction of the kernel, which is that of the next remaining
    /// instruction if the instruction itself is removed.
    fn places(&self) -> Vec<u32> {
        let mut next = 0;
        let mut places = Vec::with_capacity(self.insts.len());
        for at in 0..self.insts.len() {
            places.push(next);
            next += u32::from(self.stays(at));
        }
        places
    }

    /// Sets the target of a jump to its new index.
    fn retarget(&self, at: usize, inst: &mut Inst, places: &[u32]) {
        let start_of = |block: usize| places[self.cfg.blocks[block].start] as i32;
        match (self.bypassed[at], inst.op) {
            (Some(Some(meet)), _) => {
                *inst = Inst {
                    op: Op::Bra(true),
                    imm: start_of(meet),
                    ..no_operation(inst)
                };
            }
            (Some(None), _) => {
                *inst = Inst {
                    op: Op::Exit,
                    ..no_operation(inst)
                };
            }
            (None, Op::Bra(_)) => inst.imm = places[inst.imm as usize] as i32,
            _ => {}
        }
    }

    /// Assembles the address binary and its tables.
    fn finish(
        self,
        insts: Vec<Inst>,
        origin: &[usize],
        mut extras: Vec<ExtraOperands>,
        renaming: &Renaming,
    ) -> Slices {
        let places = self.places();
        for extra in &mut extras {
            for target in &mut extra.targets {
                *target = Pc(places[target.index()]);
            }
        }
        let code = Code {
            insts: &insts,
            extras: &extras,
            start: Pc(0),
        };
        let meets = Cfg::new(&code).reconvergence(&code, true);
        let facts = meets.into_iter().enumerate().map(|(at, reconverge)| {
            let from = origin.get(at).copied().unwrap_or(self.insts.len() - 1);
            InstFacts {
                class: InstClass::Simple,
                unit: None,
                other_operands: 0,
                reads: Vec::new(),
                writes: Vec::new(),
                bank_reads: Vec::new(),
                bank_writes: Vec::new(),
                reconverge,
                pos: self.kernel.facts[from].pos,
            }
        });
        let facts = facts.collect();
        let record = |at: &usize| {
            let is = |access: &Access| access.pc.index() == *at && access.is_regular();
            self.accesses.iter().position(is).map(|index| index as u32)
        };
        let mut records: Vec<Option<u32>> = origin.iter().map(record).collect();
        records.push(None);
        let program = Program {
            insts,
            facts,
            extras,
            reg_slots: renaming.slots,
            preds: renaming.preds,
            shared_bytes: 0,
            dynamic_shared_align: None,
            local_bytes: 0,
            stack_bytes: 0,
            functions: Vec::new(),
            switch_points: Vec::new(),
            ..self.kernel.clone()
        };
        let slices = self.slices.iter();
        let slice_of = slices.map(|slice| slice.ones().map(|at| Pc(places[at])).collect());
        Slices {
            program,
            slice_of: slice_of.collect(),
            accesses: self.accesses,
            records,
        }
    }
}

/// Replaces an access by the computation of its address. An irregular guard is dropped, so that the
/// address is computed whether or not the access happens.
fn address_only(inst: &Inst, at: usize, regular: &Regularity) -> Inst {
    let guard = inst
        .guard
        .filter(|guard| regular.reads_regularly(at, Var::Pred(guard.pred)));
    Inst {
        op: Op::Prefetch(MemSpace::Global),
        guard,
        src: [inst.src[0], Src::None, Src::None, Src::None],
        imm: inst.imm,
        ..no_operation(inst)
    }
}

/// The new numbers of registers and predicates, one for each web of definitions and uses.
struct Renaming {
    /// The parent of each definition in the union-find forest of webs.
    web: Vec<u32>,
    /// The new number of each web.
    number: Vec<u16>,
    slots: u16,
    preds: u16,
}

impl Renaming {
    fn new(builder: &Builder) -> Self {
        let mut web: Vec<u32> = (0..builder.defs.len() as u32).collect();
        for at in builder.kept.ones() {
            for used in builder.uses.of(at) {
                for pair in used.defs.windows(2) {
                    join(&mut web, pair[0], pair[1]);
                }
            }
        }
        let mut renaming = Self {
            number: vec![u16::MAX; web.len()],
            web,
            slots: 0,
            preds: 0,
        };
        for at in builder.kept.ones() {
            for used in builder.uses.of(at) {
                used.defs
                    .iter()
                    .for_each(|def| renaming.place(*def, used.var));
            }
            for (def, var) in builder.defs.of_inst(at) {
                renaming.place(def, var);
            }
        }
        renaming
    }

    /// Assigns a number to the web of a definition. A web of registers occupies two register slots,
    /// because its values may have 64 bits.
    fn place(&mut self, def: Def, var: Var) {
        let root = root(&mut self.web, def.0) as usize;
        if self.number[root] == u16::MAX {
            let (next, step) = match var {
                Var::Reg(_) => (&mut self.slots, 2),
                Var::Pred(_) => (&mut self.preds, 1),
            };
            self.number[root] = *next;
            *next += step;
        }
    }

    /// Returns the new number of a definition.
    fn of(&self, def: Def) -> u16 {
        let mut at = def.0;
        while self.web[at as usize] != at {
            at = self.web[at as usize];
        }
        self.number[at as usize]
    }

    /// Returns an instruction with renamed registers and predicates.
    fn inst(&self, builder: &Builder, at: usize, extras: &mut Vec<ExtraOperands>) -> Inst {
        let mut inst = builder.insts[at];
        let read = |var: Var| {
            let used = builder.uses.of_var(at, var);
            used.and_then(|u| u.defs.first())
                .map_or(0, |def| self.of(*def))
        };
        let src = |src: Src| match src {
            Src::Reg(reg) => Src::Reg(Reg(read(Var::Reg(reg)))),
            Src::Pred(pred, negated) => Src::Pred(Pred(read(Var::Pred(pred))), negated),
            other => other,
        };
        let mut written = builder.defs.of_inst(at);
        let mut dst = |dst: Dst| match dst {
            Dst::None => Dst::None,
            Dst::Reg(_) => Dst::Reg(Reg(written.next().map_or(0, |(def, _)| self.of(def)))),
            Dst::Pred(_) => Dst::Pred(Pred(written.next().map_or(0, |(def, _)| self.of(def)))),
        };
        inst.guard = inst.guard.map(|guard| Guard {
            pred: Pred(read(Var::Pred(guard.pred))),
            ..guard
        });
        inst.src = inst.src.map(src);
        inst.dst = inst.dst.map(&mut dst);
        if inst.extra != Extra::NONE {
            let old = &builder.kernel.extras[inst.extra.0 as usize];
            inst.extra = Extra(extras.len() as u32);
            extras.push(ExtraOperands {
                dsts: old.dsts.iter().map(|d| dst(*d)).collect(),
                srcs: old.srcs.iter().map(|s| src(*s)).collect(),
                ..old.clone()
            });
        }
        inst
    }
}

/// Returns the representative of a web, with path compression.
fn root(web: &mut [u32], mut at: u32) -> u32 {
    while web[at as usize] != at {
        web[at as usize] = web[web[at as usize] as usize];
        at = web[at as usize];
    }
    at
}

/// Unites the webs of two definitions.
fn join(web: &mut [u32], a: Def, b: Def) {
    let (a, b) = (root(web, a.0), root(web, b.0));
    web[a.max(b) as usize] = a.min(b);
}
