//! The analysis of the values that are known before a block runs.
//!
//! A value is *regular* if it depends only on parameters, constants, and thread and block indices,
//! through arithmetic and through branches with regular conditions. The results of loads, atomics,
//! texture operations and exchanges between lanes, and the special registers for clocks and
//! locations (`%smid`, `%warpid`), are irregular, and so is every value that depends on them (Chen,
//! NTU thesis 2016, section 3.2).
//!
//! A branch with an irregular condition is *opened*: the address binary executes both sides of the
//! branch in program order, and executes a loop that the branch terminates once. A definition on
//! one side is regular within that side and irregular after the sides rejoin. [`Regularity`] holds
//! the resulting classification.
//!
//! Invariant: for every regular use, the opened code computes the value that the kernel computes at
//! that use. The value is correct for each execution of the use, or for the first execution in a
//! loop that was opened.

use crate::defs::{Def, Defs, Use, Uses};
use crate::region::{Region, reach};
use fixedbitset::FixedBitSet;
use warploom_base::Pc;
use warploom_ir::cfg::Cfg;
use warploom_ir::{Code, Inst, MemSpace, Op, SpecialReg, Src, Var};

/// The reason for which an address is not known before the access is issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The address depends on the result of this instruction, such as a load, an atomic operation
    /// or an exchange between lanes.
    Value(Pc),
    /// The address depends on the direction of this branch, and the branch depends on data.
    Branch(Pc),
    /// The address depends on the paths taken before it, in a way that opening their branches would
    /// change.
    Paths,
    /// The address has 32 bits and may therefore refer to shared memory as well as to global
    /// memory.
    Narrow,
}

/// The regular values of one function, and its code with irregular branches opened.
pub(crate) struct Regularity {
    /// The code with opened branches replaced by no-operations, of the same length as the original.
    pub opened: Vec<Inst>,
    /// The variables that each instruction reads irregularly, with the reasons.
    pub reads: Vec<Vec<(Var, Cause)>>,
    /// The instructions that an irregular branch may skip.
    pub conditional: FixedBitSet,
    /// The instructions of loops of which the opened code executes a single iteration.
    pub first_only: FixedBitSet,
}

impl Regularity {
    /// Analyses a function by repeating rounds until no new irregular branch is found.
    pub fn new(code: &Code) -> Self {
        let mut analysis = Analysis::new(code);
        loop {
            let found = analysis.round();
            if !analysis.add_findings(&found) {
                return found;
            }
        }
    }

    /// Returns whether the value of a variable is regular at an instruction that reads it.
    pub fn reads_regularly(&self, at: usize, var: Var) -> bool {
        self.cause(at, var).is_none()
    }

    /// Returns the reason for which an instruction reads a variable irregularly, or `None` if the
    /// read is regular.
    pub fn cause(&self, at: usize, var: Var) -> Option<Cause> {
        let found = self.reads[at].iter().find(|(read, _)| *read == var);
        found.map(|(_, cause)| *cause)
    }
}

/// The state of the analysis. Its sets only grow from round to round.
struct Analysis<'a> {
    code: &'a Code<'a>,
    cfg: Cfg,
    post_dominators: Vec<Option<usize>>,
    defs: Defs,
    /// The branches known to be irregular, by instruction.
    branches: FixedBitSet,
    /// The reads for which the opened code would compute wrong values.
    wrong: Vec<Vec<(Var, Cause)>>,
}

impl<'a> Analysis<'a> {
    fn new(code: &'a Code<'a>) -> Self {
        let cfg = Cfg::new(code);
        Self {
            post_dominators: cfg.post_dominators(),
            defs: Defs::new(code),
            branches: FixedBitSet::with_capacity(code.insts.len()),
            wrong: vec![Vec::new(); code.insts.len()],
            code,
            cfg,
        }
    }

    /// Classifies all reads, given the branches known to be irregular.
    fn round(&self) -> Regularity {
        let regions = self.regions();
        let (cut, looped) = self.cut_loops(&regions);
        let uses = Uses::new(self.code, &cut, &self.defs);
        let mut reads = self.wrong.clone();
        for (at, reads) in reads.iter_mut().enumerate() {
            for used in uses.of(at) {
                if let Some(branch) = self.merges(at, used, &uses, &cut, &regions) {
                    add(reads, used.var, Cause::Branch(branch));
                }
            }
        }
        self.spread(&uses, &mut reads);
        Regularity {
            opened: self.open(&regions, &cut),
            reads,
            conditional: self.inside(&regions),
            first_only: looped,
        }
    }

    /// Adds the irregular branches and wrong reads of a round to the state. Returns whether there
    /// were new ones.
    fn add_findings(&mut self, found: &Regularity) -> bool {
        let before = self.branches.count_ones(..);
        for (at, inst) in self.code.insts.iter().enumerate() {
            if is_decision(inst) && !found.reads[at].is_empty() {
                self.branches.insert(at);
            }
        }
        if self.branches.count_ones(..) > before {
            return true;
        }
        self.add_wrong_reads(found)
    }

    /// Finds the reads that the opened code takes from a definition that does not reach them in the
    /// kernel. Returns whether there were new ones.
    fn add_wrong_reads(&mut self, found: &Regularity) -> bool {
        let opened = Code {
            insts: &found.opened,
            ..*self.code
        };
        let here = Uses::new(self.code, &self.cfg, &self.defs);
        let there = Uses::new(&opened, &Cfg::new(&opened), &self.defs);
        let mut new = false;
        for at in 0..found.opened.len() {
            for used in there.of(at) {
                let known = here.of_var(at, used.var).map_or(&[][..], |u| &u.defs);
                let strange = used.defs.iter().any(|def| !known.contains(def));
                if strange && found.reads_regularly(at, used.var) {
                    add(&mut self.wrong[at], used.var, Cause::Paths);
                    new = true;
                }
            }
        }
        new
    }

    /// Returns the region of each irregular branch.
    fn regions(&self) -> Vec<Region> {
        self.branches
            .ones()
            .map(|at| self.cfg.block_of(at))
            .map(|block| Region::new(&self.cfg, block, self.post_dominators[block]))
            .collect()
    }

    /// Returns the control-flow graph without the back edges of loops that an irregular branch may
    /// terminate, and the instructions of those loops.
    fn cut_loops(&self, regions: &[Region]) -> (Cfg, FixedBitSet) {
        let mut cut = self.cfg.clone();
        let mut looped = FixedBitSet::with_capacity(self.code.insts.len());
        for (index, block) in cut.blocks.iter_mut().enumerate() {
            block.succs.retain(|head| {
                let back = *head <= index;
                let inside = |r: &&Region| (*head..=index).contains(&r.branch);
                let ends = |r: &Region| r.branch == index || r.contains(index);
                let drop = back && regions.iter().filter(inside).any(ends);
                if drop {
                    let first = self.cfg.blocks[*head].start;
                    looped.insert_range(first..self.cfg.blocks[index].end);
                }
                !drop
            });
        }
        (cut, looped)
    }

    /// Returns the irregular branch that selects among the definitions that reach a use, if there
    /// is one.
    fn merges(
        &self,
        at: usize,
        used: &Use,
        uses: &Uses,
        cut: &Cfg,
        regions: &[Region],
    ) -> Option<Pc> {
        if used.defs.len() < 2 {
            return None;
        }
        let is_decision = |region: &&Region| {
            let from_inside = |def: &Def| {
                let site = self.defs.site(*def).map(|site| self.cfg.block_of(site));
                site.is_some_and(|block| region.contains(block))
            };
            let mut inside = used.defs.iter().filter(|def| from_inside(def));
            inside.any(|def| !self.stays(*def, at, uses, cut, region))
        };
        let region = regions.iter().find(is_decision)?;
        let last = self.cfg.blocks[region.branch].end - 1;
        Some(Pc(self.code.start.0 + last as u32))
    }

    /// Returns whether a definition inside a region reaches a use only along the same side of the
    /// branch.
    fn stays(&self, def: Def, at: usize, uses: &Uses, cut: &Cfg, region: &Region) -> bool {
        let block = self.cfg.block_of(at);
        if !region.contains(block) || !region.on_one_side(block) {
            return false;
        }
        region.meet.is_none_or(|meet| {
            let comes_back = reach(cut, meet, None).contains(block);
            !(uses.reaches(def, meet) && comes_back)
        })
    }

    /// Propagates irregularity along definitions and uses until a fixed point.
    fn spread(&self, uses: &Uses, reads: &mut [Vec<(Var, Cause)>]) {
        let mut irregular: Vec<Option<Cause>> = vec![None; self.defs.len()];
        loop {
            let mut grew = false;
            for (at, inst) in self.code.insts.iter().enumerate() {
                for used in uses.of(at) {
                    let tainted = used.defs.iter().find_map(|def| irregular[def.index()]);
                    if let Some(cause) = tainted {
                        add(&mut reads[at], used.var, cause);
                    }
                }
                let own = Cause::Value(Pc(self.code.start.0 + at as u32));
                let cause = if predictable(inst) {
                    reads[at].first().map(|(_, cause)| *cause)
                } else {
                    Some(own)
                };
                for (def, _) in self.defs.of_inst(at) {
                    if cause.is_some() && irregular[def.index()].is_none() {
                        irregular[def.index()] = cause;
                        grew = true;
                    }
                }
            }
            if !grew {
                return;
            }
        }
    }

    /// Returns the code with every irregular branch opened.
    fn open(&self, regions: &[Region], cut: &Cfg) -> Vec<Inst> {
        let mut opened = self.code.insts.to_vec();
        for (at, inst) in opened.iter_mut().enumerate() {
            if self.is_opened(at, regions, cut) {
                *inst = no_operation(inst);
            }
        }
        opened
    }

    /// Returns whether opening the irregular branches removes an instruction.
    fn is_opened(&self, at: usize, regions: &[Region], cut: &Cfg) -> bool {
        let inst = &self.code.insts[at];
        if self.branches.contains(at) {
            return true;
        }
        let block = self.cfg.block_of(at);
        match inst.op {
            Op::Ret | Op::Exit | Op::Trap => regions.iter().any(|r| r.contains(block)),
            Op::Bra(_) => {
                let target = self
                    .cfg
                    .block_of(inst.imm as usize - self.code.start.index());
                let lost = !cut.blocks[block].succs.contains(&target);
                let between = block + 1..target.max(block + 1);
                lost || between
                    .clone()
                    .any(|skipped| regions.iter().any(|r| r.apart(block, skipped)))
            }
            _ => false,
        }
    }

    /// Returns the instructions inside of any region.
    fn inside(&self, regions: &[Region]) -> FixedBitSet {
        let mut found = FixedBitSet::with_capacity(self.code.insts.len());
        for (index, block) in self.cfg.blocks.iter().enumerate() {
            if regions.iter().any(|region| region.contains(index)) {
                found.insert_range(block.start..block.end);
            }
        }
        found
    }
}

/// Adds a variable with its cause to a list, unless the variable is already in it.
fn add(reads: &mut Vec<(Var, Cause)>, var: Var, cause: Cause) {
    if reads.iter().all(|(read, _)| *read != var) {
        reads.push((var, cause));
    }
}

/// Returns a no-operation that replaces an instruction.
pub(crate) fn no_operation(inst: &Inst) -> Inst {
    Inst {
        op: Op::Nop,
        guard: None,
        dst: [warploom_ir::Dst::None; 2],
        src: [Src::None; 4],
        imm: 0,
        extra: warploom_ir::Extra::NONE,
        wide_addr: inst.wide_addr,
    }
}

/// Returns whether the operands of an instruction determine where threads continue.
pub(crate) fn is_decision(inst: &Inst) -> bool {
    match inst.op {
        Op::Bra(_) | Op::Ret | Op::Exit | Op::Trap => inst.guard.is_some(),
        Op::BrxIdx => true,
        _ => false,
    }
}

/// Returns whether the results of an instruction depend only on its operands, for each lane
/// separately.
fn predictable(inst: &Inst) -> bool {
    let known = match inst.op {
        Op::Ld(space, ..) => space == MemSpace::Param,
        Op::Atom(..)
        | Op::Tex { .. }
        | Op::Tld4 { .. }
        | Op::Txq(_)
        | Op::Call
        | Op::CallIndirect
        | Op::CopyAsync { .. }
        | Op::Surf { .. }
        | Op::Mma(_)
        | Op::WarpGroupMma(_)
        | Op::Bulk { .. }
        | Op::BulkTensor { .. }
        | Op::TensorMapCopy(_)
        | Op::LdMatrix(..)
        | Op::TurnMatrix
        | Op::Mbarrier(..)
        | Op::Alloca(_)
        | Op::StackSave(_)
        | Op::Barrier(_)
        | Op::Vote(_)
        | Op::Match(..)
        | Op::Shfl(_)
        | Op::Activemask
        | Op::Redux(..)
        | Op::ReduxFloat(_)
        | Op::Elect
        | Op::System(_) => false,
        // The carry flag is not a variable of the analysis.
        Op::AddC { cin, .. } | Op::SubC { cin, .. } | Op::MadC { cin, .. } => !cin,
        _ => true,
    };
    known && inst.src.iter().all(|src| known_source(*src))
}

/// Returns whether an operand is constant during the execution of a block and known before it.
fn known_source(src: Src) -> bool {
    use SpecialReg as S;
    match src {
        Src::Special(special) => matches!(
            special,
            S::TidX
                | S::TidY
                | S::TidZ
                | S::NtidX
                | S::NtidY
                | S::NtidZ
                | S::CtaidX
                | S::CtaidY
                | S::CtaidZ
                | S::NctaidX
                | S::NctaidY
                | S::NctaidZ
                | S::LaneId
        ),
        _ => true,
    }
}
