//! The identification of the arrays that a kernel accesses, by the pointer from which an address is
//! derived.

use crate::defs::{Defs, Uses};
use fixedbitset::FixedBitSet;
use warploom_ir::cfg::Cfg;
use warploom_ir::{Code, ConstValue, Half, Inst, IntBin, MemSpace, Op, Program, Src, Var};

/// The origin of an array's address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Base {
    /// A pointer at this byte offset of the parameter buffer.
    Param(u32),
    /// A variable of the module, by index.
    Global(u32),
}

impl Base {
    /// Returns the name in the PTX code. A pointer within a structure parameter has its byte offset
    /// appended to the parameter's name.
    pub fn name(self, kernel: &Program) -> String {
        match self {
            Self::Param(at) => {
                let holds = |p: &&warploom_ir::Param| (p.offset..p.offset + p.bytes).contains(&at);
                match kernel.params.iter().find(holds) {
                    Some(param) if param.offset == at => param.name.clone(),
                    Some(param) => format!("{}+{}", param.name, at - param.offset),
                    None => format!("param+{at}"),
                }
            }
            Self::Global(index) => format!("variable {index}"),
        }
    }
}

/// Returns the array that each instruction accesses in global memory, where the address is derived
/// from exactly one pointer: a parameter or a variable of the module. The address may depend on
/// data beyond that.
pub fn arrays(kernel: &Program) -> Vec<Option<Base>> {
    let code = crate::binary::main_function(kernel);
    let defs = Defs::new(&code);
    let uses = Uses::new(&code, &Cfg::new(&code), &defs);
    let roots = Roots {
        code,
        consts: &kernel.consts,
        uses: &uses,
        defs: &defs,
    };
    let array = |(at, inst): (usize, &Inst)| {
        let (Op::Ld(space, ..) | Op::St(space, ..) | Op::Atom(space, ..)) = inst.op else {
            return None;
        };
        let is_global = matches!(space, MemSpace::Global | MemSpace::Generic);
        let is_inside = at < roots.code.insts.len();
        (is_global && is_inside).then(|| roots.base(at)).flatten()
    };
    kernel.insts.iter().enumerate().map(array).collect()
}

/// The search for the pointers from which the address of an access may be derived.
pub(crate) struct Roots<'a> {
    pub code: Code<'a>,
    pub consts: &'a [ConstValue],
    pub uses: &'a Uses,
    pub defs: &'a Defs,
}

impl Roots<'_> {
    /// Returns the pointer from which the address of the access at instruction `at` is derived, if
    /// there is exactly one.
    pub fn base(&self, at: usize) -> Option<Base> {
        let mut search = Found::default();
        let mut seen = FixedBitSet::with_capacity(self.code.insts.len());
        self.follow(at, self.code.insts[at].src[0], &mut seen, &mut search);
        let sure = if search.pointers.is_empty() {
            search.numbers
        } else {
            search.pointers
        };
        match sure[..] {
            [base] => Some(base),
            _ => None,
        }
    }

    /// Searches the definitions of an operand.
    fn follow(&self, at: usize, src: Src, seen: &mut FixedBitSet, found: &mut Found) {
        match src {
            Src::Reg(reg) => {
                let used = self.uses.of_var(at, Var::Reg(reg));
                let defs = used.map_or(&[][..], |used| &used.defs);
                for site in defs.iter().filter_map(|def| self.defs.site(*def)) {
                    if !seen.put(site) {
                        self.enter(site, seen, found);
                    }
                }
            }
            Src::Const(index) => match self.consts[index as usize] {
                ConstValue::Global(variable, _) => found.pointer(Base::Global(variable)),
                ConstValue::Param(param) if param.bytes == 8 => {
                    found.number(Base::Param(param.offset));
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Continues the search at the operands of an instruction through which a pointer may pass.
    fn enter(&self, at: usize, seen: &mut FixedBitSet, found: &mut Found) {
        let inst = &self.code.insts[at];
        if let Some(base) = parameter(inst) {
            found.number(base);
            return;
        }
        let before = found.numbers.len();
        for &src in handed_on(inst) {
            self.follow(at, src, seen, found);
        }
        // NVRTC converts every pointer to the global space, and no other value.
        if matches!(inst.op, Op::Cvta(..)) {
            let pointers = found.numbers.split_off(before);
            pointers.into_iter().for_each(|base| found.pointer(base));
        }
    }
}

/// The results of a search.
#[derive(Default)]
struct Found {
    /// Origins known to be pointers.
    pointers: Vec<Base>,
    /// Parameters of 64 bits that may be pointers or other values.
    numbers: Vec<Base>,
}

impl Found {
    fn pointer(&mut self, base: Base) {
        if !self.pointers.contains(&base) {
            self.pointers.push(base);
        }
    }

    fn number(&mut self, base: Base) {
        if !self.numbers.contains(&base) && !self.pointers.contains(&base) {
            self.numbers.push(base);
        }
    }
}

/// Returns the operands from which the result of an instruction may take a pointer.
fn handed_on(inst: &Inst) -> &[Src] {
    match inst.op {
        Op::Mov(_) | Op::Cvta(..) => &inst.src[..1],
        Op::Int(IntBin::Add | IntBin::Sub, _) | Op::Selp(_) => &inst.src[..2],
        Op::AddC { .. } | Op::SubC { .. } => &inst.src[..2],
        Op::Mad(Half::Lo | Half::Wide, ..) => &inst.src[2..3],
        _ => &[],
    }
}

/// Returns the 64-bit parameter that an instruction loads, if it loads one.
fn parameter(inst: &Inst) -> Option<Base> {
    match inst.op {
        Op::Ld(MemSpace::Param, ty, _) if ty.bytes == 8 && ty.count == 1 => {
            (inst.src[0] == Src::None).then_some(Base::Param(inst.imm as u32))
        }
        _ => None,
    }
}
