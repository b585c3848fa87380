//! State of a function during lowering: emitted instructions, registers, labels.

use crate::error::{Res, invalid, invalid_help, unsupported};
use crate::kernel::Kernel;
use crate::pools::Pools;
use crate::scope::{RegDecl, Scopes, Symbol};
use rustc_hash::FxHashMap;
use warploom_base::Pc;
use warploom_diag::{Span, nearest};
use warploom_ir::{
    ConstValue, Dst, Extra, ExtraOperands, Guard, Inst, Op, Pred, Reg, SpecialReg, Src,
};
use warploom_ptx::ast;
use warploom_ptx::tokens::ScalarType;

/// Virtual register of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegInfo {
    /// True for a register of 64 bits.
    pub wide: bool,
    /// The register's number in GPGPU-Sim, which selects its bank (see
    /// [`InstFacts`](warploom_ir::InstFacts)); `None` for registers that lowering added.
    pub bank: Option<u16>,
}

/// Lowered function with virtual registers. Branch targets are relative to its start.
#[derive(Default, Debug)]
pub(crate) struct FunctionCode {
    /// Instructions in their order.
    pub insts: Vec<Inst>,
    /// Place in the source of each instruction.
    pub spans: Vec<Span>,
    /// Virtual registers, by number.
    pub regs: Vec<RegInfo>,
    /// Numbers in GPGPU-Sim of the virtual predicates.
    pub preds: Vec<Option<u16>>,
    /// Calls: the position of the instruction and the functions of the extra's callees.
    pub calls: Vec<(usize, Vec<usize>)>,
}

/// Register or predicate that an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Register with its declared type.
    Reg(Reg, ScalarType),
    /// Predicate register, by its number.
    Pred(Pred),
}

/// Builder of one lowered function.
pub(crate) struct Builder<'a, 'k> {
    /// State that all functions of the kernel share.
    pub kernel: &'k Kernel<'a>,
    /// Position of the function among the kernel's.
    pub function: usize,
    /// Constants and long operand lists.
    pub pools: &'k mut Pools,
    /// Names that are in scope.
    pub scopes: Scopes<'a>,
    /// Code that was emitted so far.
    pub code: FunctionCode,
    /// Guard of the instruction being lowered.
    pub guard: Option<Guard>,
    /// Place of the instruction being lowered.
    pub span: Span,
    /// Position of every label, once it is placed.
    pub labels: Vec<Option<usize>>,
    /// Labels that `.branchtargets` lists name.
    pub tables: Vec<Vec<u32>>,
    /// Functions of `.calltargets` lists and `.callprototype` declarations.
    pub call_infos: Vec<Vec<usize>>,
    branches: Vec<(usize, u32)>,
    switches: Vec<(usize, u32)>,
    registers: FxHashMap<(u32, u32), u16>,
}

impl<'a, 'k> Builder<'a, 'k> {
    pub(crate) fn new(kernel: &'k Kernel<'a>, function: usize, pools: &'k mut Pools) -> Self {
        Self {
            kernel,
            function,
            pools,
            scopes: Scopes::default(),
            code: FunctionCode::default(),
            guard: None,
            span: Span::default(),
            labels: Vec::new(),
            tables: Vec::new(),
            call_infos: Vec::new(),
            branches: Vec::new(),
            switches: Vec::new(),
            registers: FxHashMap::default(),
        }
    }

    /// Appends an instruction under the current guard.
    pub(crate) fn emit(&mut self, op: Op, dst: &[Dst], src: &[Src]) -> &mut Inst {
        let mut inst = Inst {
            op,
            guard: self.guard,
            dst: [Dst::None; 2],
            src: [Src::None; 4],
            imm: 0,
            extra: Extra::NONE,
            wide_addr: false,
        };
        inst.dst[..dst.len()].copy_from_slice(dst);
        inst.src[..src.len()].copy_from_slice(src);
        self.push(inst)
    }

    /// Appends a complete instruction.
    pub(crate) fn push(&mut self, inst: Inst) -> &mut Inst {
        let at = self.code.insts.len();
        self.code.insts.push(inst);
        self.code.spans.push(self.span);
        &mut self.code.insts[at]
    }

    /// Stores operands that do not fit into an instruction.
    pub(crate) fn extra(&mut self, dsts: Vec<Dst>, srcs: Vec<Src>) -> Extra {
        self.pools.extra(ExtraOperands {
            dsts,
            srcs,
            ..ExtraOperands::default()
        })
    }

    /// Operand for a constant of literal bits.
    pub(crate) fn bits(&mut self, bits: u64) -> Res<Src> {
        self.pools.constant(ConstValue::Bits(bits), self.span)
    }

    /// Base of the offsets in the function's own frame.
    pub(crate) fn frame_base(&self) -> Src {
        match self.kernel.functions[self.function].moves {
            true => Src::Special(SpecialReg::FrameBase),
            false => Src::None,
        }
    }

    /// Creates a new register without a name.
    pub(crate) fn temp(&mut self, wide: bool) -> Res<Reg> {
        self.new_register(RegInfo { wide, bank: None }).map(Reg)
    }

    fn new_register(&mut self, info: RegInfo) -> Res<u16> {
        let index = u16::try_from(self.code.regs.len())
            .map_err(|_| unsupported(self.span, "more than 65,536 registers in a function"))?;
        self.code.regs.push(info);
        Ok(index)
    }

    /// Symbol of a name in this function or in the file.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        self.scopes.find(name).or_else(|| self.kernel.find(name))
    }

    /// Register of a name or of an element of a vector.
    pub(crate) fn place(&mut self, decl: RegDecl, element: u32, name: &str) -> Res<Place> {
        if decl.ty.bits() > 64 {
            let what = format!("registers of type `.{}`", decl.ty);
            return Err(unsupported(self.span, &what));
        }
        let key = (decl.id, decl.nth * decl.vector + element);
        let known = self.registers.get(&key).copied();
        if decl.ty == ScalarType::Pred {
            let index = match known {
                Some(index) => index,
                None => self.new_predicate(bank_number(name, decl))?,
            };
            self.registers.insert(key, index);
            return Ok(Place::Pred(Pred(index)));
        }
        let index = match known {
            Some(index) => index,
            None => self.new_register(RegInfo {
                wide: decl.ty.bits() == 64,
                bank: Some(bank_number(name, decl)),
            })?,
        };
        self.registers.insert(key, index);
        Ok(Place::Reg(Reg(index), decl.ty))
    }

    fn new_predicate(&mut self, bank: u16) -> Res<u16> {
        let index = u16::try_from(self.code.preds.len())
            .map_err(|_| unsupported(self.span, "more than 65,536 predicates in a function"))?;
        self.code.preds.push(Some(bank));
        Ok(index)
    }

    /// Lowers the guard of an instruction.
    pub(crate) fn lower_guard(&mut self, guard: &ast::Guard) -> Res<Guard> {
        let pred = self.predicate(&guard.name.node, guard.name.span)?;
        Ok(Guard {
            pred,
            negated: guard.negated,
            overwrites: false,
        })
    }

    /// Predicate register with the given name.
    pub(crate) fn predicate(&mut self, name: &str, span: Span) -> Res<Pred> {
        let Some(Symbol::Reg(decl)) = self.find(name) else {
            return Err(self.undefined(name, span));
        };
        match self.place(decl, 0, name)? {
            Place::Pred(pred) => Ok(pred),
            Place::Reg(_, ty) => Err(invalid_help(
                "operand-type",
                span,
                format!("`{name}` is a `.{ty}` register, a predicate is needed here"),
                "compare it with zero by `setp` first",
            )),
        }
    }

    /// Error for a name that is unknown, or unusable at this place.
    pub(crate) fn undefined(&self, name: &str, span: Span) -> Box<warploom_diag::Diagnostic> {
        if self.find(name).is_some() {
            let message = format!("`{name}` cannot be used here");
            return invalid("operand-kind", span, message);
        }
        if self.kernel.symbols.is_file_register(name) {
            return unsupported(span, "registers that are declared outside of functions");
        }
        let mut names: Vec<&str> = self.scopes.names().collect();
        names.sort_unstable();
        let hint = nearest(name, names).map(|near| format!("did you mean `{near}`?"));
        let error = invalid("undefined-name", span, format!("`{name}` is not declared"));
        Box::new((*error).maybe_help(hint))
    }

    /// Creates a label that is not placed yet.
    pub(crate) fn new_label(&mut self) -> u32 {
        self.labels.push(None);
        self.labels.len() as u32 - 1
    }

    /// Appends a branch to a label that may be placed later.
    pub(crate) fn branch(&mut self, uniform: bool, label: u32) {
        self.branches.push((self.code.insts.len(), label));
        self.emit(Op::Bra(uniform), &[], &[]);
    }

    /// Appends a branch by table.
    pub(crate) fn switch(&mut self, index: Src, table: u32) {
        self.switches.push((self.code.insts.len(), table));
        self.emit(Op::BrxIdx, &[], &[index]);
    }

    /// Fills in the targets of branches, relative to the function's start.
    pub(crate) fn resolve_branches(&mut self) -> Res<()> {
        for (at, label) in std::mem::take(&mut self.branches) {
            self.code.insts[at].imm = self.target(label, at)? as i32;
        }
        for (at, table) in std::mem::take(&mut self.switches) {
            let labels = self.tables[table as usize].clone();
            let targets: Res<Vec<Pc>> = labels
                .iter()
                .map(|l| self.target(*l, at))
                .map(|t| Ok(Pc(t?)))
                .collect();
            let targets = targets?;
            self.code.insts[at].extra = self.pools.extra(ExtraOperands {
                targets,
                ..ExtraOperands::default()
            });
        }
        Ok(())
    }

    fn target(&self, label: u32, from: usize) -> Res<u32> {
        let place = self.labels[label as usize];
        place.map(|at| at as u32).ok_or_else(|| {
            let message = "this branch leads to a label that is not in the function".to_owned();
            invalid("undefined-label", self.code.spans[from], message)
        })
    }
}

/// Number of a register in GPGPU-Sim: the first digits of its name, or its position in the order of
/// declaration. Numbers beyond 16 bits wrap around: only the remainder by the number of banks
/// matters.
fn bank_number(name: &str, decl: RegDecl) -> u16 {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let number = digits[..end].bytes().fold(0_u64, |n, digit| {
        n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    });
    if end == 0 {
        decl.ordinal as u16
    } else {
        number as u16
    }
}

#[cfg(test)]
mod tests {
    use super::bank_number;
    use crate::scope::RegDecl;
    use warploom_ptx::tokens::ScalarType;

    #[test]
    fn banks_follow_the_first_digits() {
        let decl = RegDecl {
            id: 0,
            nth: 0,
            ty: ScalarType::B32,
            vector: 1,
            ordinal: 77,
        };
        assert_eq!(bank_number("%r5", decl), 5);
        assert_eq!(bank_number("%rd12", decl), 12);
        assert_eq!(bank_number("a1b2", decl), 1);
        assert_eq!(bank_number("sum", decl), 77);
        assert_eq!(bank_number("%r65537", decl), 1);
    }
}
