//! Which values can be known before a block runs.
//!
//! A value is *regular* when it follows from parameters, constants and the thread's and block's
//! indices alone, through arithmetic and through branches whose conditions are regular too. Loads,
//! atomics, textures, exchanges between lanes, clocks and places (`%smid`, `%warpid`) are not
//! predictable, nor is what depends on them (thesis, 3.2).
//!
//! A branch with an irregular condition is *opened*: the address binary runs all of its sides, one
//! after the other in the order of the code, and a loop that it ends once. What its sides define
//! is regular inside a side and irregular where sides meet. [`Regularity`] says what that leaves.
//!
//! Invariant: wherever a use is called regular, the opened code computes for it the value that the
//! kernel computes when (and each time, but for opened loops the first time) it gets there.

use crate::defs::{Def, Defs, Use, Uses};
use crate::region::{Region, reach};
use fixedbitset::FixedBitSet;
use warploom_base::Pc;
use warploom_ir::cfg::Cfg;
use warploom_ir::{Code, Inst, MemSpace, Op, SpecialReg, Src, Var};

/// Why an address cannot be known before it is issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It hangs on what this instruction yields: a load, an atomic, an exchange between lanes.
    Value(Pc),
    /// It hangs on which way this branch goes, and the branch hangs on data.
    Branch(Pc),
    /// It hangs on how paths run together, which opening their branches would change.
    Paths,
    /// It has 32 bits, which name shared memory as well as global memory.
    Narrow,
}

/// What is regular in one function, and its code with irregular branches opened.
pub(crate) struct Regularity {
    /// The code without the branches that were opened. Same length.
    pub opened: Vec<Inst>,
    /// For every instruction the variables that it reads irregularly, and why.
    pub reads: Vec<Vec<(Var, Cause)>>,
    /// Blocks (by instruction) that an irregular branch may skip.
    pub conditional: FixedBitSet,
    /// Instructions in a loop of which the opened code runs one iteration only.
    pub first_only: FixedBitSet,
}

impl Regularity {
    /// Analyses a function.
    pub fn new(code: &Code) -> Self {
        let mut search = Search::new(code);
        loop {
            let found = search.round();
            if !search.learn(&found) {
                return found;
            }
        }
    }

    /// The instruction reads this variable regularly.
    pub fn reads_regularly(&self, at: usize, var: Var) -> bool {
        self.cause(at, var).is_none()
    }

    /// Why the instruction reads this variable irregularly, if it does.
    pub fn cause(&self, at: usize, var: Var) -> Option<Cause> {
        let found = self.reads[at].iter().find(|(read, _)| *read == var);
        found.map(|(_, cause)| *cause)
    }
}

/// Everything that only grows from round to round.
struct Search<'a> {
    code: &'a Code<'a>,
    cfg: Cfg,
    meets: Vec<Option<usize>>,
    defs: Defs,
    /// Branches known to be irregular, by instruction.
    branches: FixedBitSet,
    /// Reads that the opened code would get wrong.
    wrong: Vec<Vec<(Var, Cause)>>,
}

impl<'a> Search<'a> {
    fn new(code: &'a Code<'a>) -> Self {
        let cfg = Cfg::new(code);
        Self {
            meets: cfg.post_dominators(),
            defs: Defs::new(code),
            branches: FixedBitSet::with_capacity(code.insts.len()),
            wrong: vec![Vec::new(); code.insts.len()],
            code,
            cfg,
        }
    }

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

    /// Takes from a round what the next must know; false when there is nothing new.
    fn learn(&mut self, found: &Regularity) -> bool {
        let before = self.branches.count_ones(..);
        for (at, inst) in self.code.insts.iter().enumerate() {
            if decides(inst) && !found.reads[at].is_empty() {
                self.branches.insert(at);
            }
        }
        if self.branches.count_ones(..) > before {
            return true;
        }
        self.learn_wrong(found)
    }

    /// Reads that the opened code takes from a definition that the kernel would not have used.
    fn learn_wrong(&mut self, found: &Regularity) -> bool {
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

    fn regions(&self) -> Vec<Region> {
        self.branches
            .ones()
            .map(|at| self.cfg.block_of(at))
            .map(|block| Region::new(&self.cfg, block, self.meets[block]))
            .collect()
    }

    /// The control flow without the back edges of loops that an irregular branch ends, and the
    /// instructions of those loops.
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

    /// The branch on whose irregular choice it depends what this use reads, if there is one.
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
        let decides = |region: &&Region| {
            let from_inside = |def: &Def| {
                let site = self.defs.site(*def).map(|site| self.cfg.block_of(site));
                site.is_some_and(|block| region.contains(block))
            };
            let mut inside = used.defs.iter().filter(|def| from_inside(def));
            inside.any(|def| !self.stays(*def, at, uses, cut, region))
        };
        let region = regions.iter().find(decides)?;
        let last = self.cfg.blocks[region.branch].end - 1;
        Some(Pc(self.code.start.0 + last as u32))
    }

    /// A definition inside a region reaches a use only on the way through the same side.
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

    /// Everything that depends on an irregular value.
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
                let cause = match predictable(inst) {
                    true => reads[at].first().map(|(_, cause)| *cause),
                    false => Some(own),
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

    /// The code with every irregular branch opened.
    fn open(&self, regions: &[Region], cut: &Cfg) -> Vec<Inst> {
        let mut opened = self.code.insts.to_vec();
        for (at, inst) in opened.iter_mut().enumerate() {
            if self.is_opened(at, regions, cut) {
                *inst = nothing(inst);
            }
        }
        opened
    }

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

fn add(reads: &mut Vec<(Var, Cause)>, var: Var, cause: Cause) {
    if reads.iter().all(|(read, _)| *read != var) {
        reads.push((var, cause));
    }
}

/// An instruction that leaves a place for another.
pub(crate) fn nothing(inst: &Inst) -> Inst {
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

/// Its operands decide where lanes go on.
pub(crate) fn decides(inst: &Inst) -> bool {
    match inst.op {
        Op::Bra(_) | Op::Ret | Op::Exit | Op::Trap => inst.guard.is_some(),
        Op::BrxIdx => true,
        _ => false,
    }
}

/// Its results follow from its operands, for each lane on its own.
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
        | Op::Elect
        | Op::System(_) => false,
        // The carry flag is no variable of the analysis.
        Op::AddC { cin, .. } | Op::SubC { cin, .. } | Op::MadC { cin, .. } => !cin,
        _ => true,
    };
    known && inst.src.iter().all(|src| known_source(*src))
}

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
