//! Check of operands against the types that their instruction needs (PTX ISA chapter 6, 9.2,
//! 9.4.1).

use super::Checker;
use super::names::Symbol;
use crate::ast::{Address, AddressBase, Constant, Instruction, Operand, Spanned};
use crate::forms::{Role, Shape, TypeRule};
use crate::tokens::ScalarType;
use warploom_diag::{Diagnostic, Span};

/// Type that an operand must have, and how strictly.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) ty: ScalarType,
    pub(super) relaxed: bool,
}

impl Wanted {
    /// True if the type fits: the same width, and not a float for an integer or the reverse;
    /// untyped bits fit everything. In a relaxed check a wider register also fits, unless it is a
    /// float of another width.
    pub(super) fn accepts(self, register: ScalarType) -> bool {
        let (wide, narrow) = (register.bits(), self.ty.bits());
        if register == ScalarType::Pred || self.ty == ScalarType::Pred {
            return register == self.ty;
        }
        let kinds = self.ty.is_bits()
            || register.is_bits()
            || (self.ty.is_integer() && register.is_integer())
            || (self.ty.is_float() && register.is_float() && wide == narrow)
            || (packs_integers(self.ty) && register.is_integer());
        kinds && (wide == narrow || (self.relaxed && wide >= narrow))
    }

    fn accepts_constant(self, constant: &Constant) -> bool {
        match constant {
            Constant::Int(..) => !self.ty.is_float(),
            Constant::F32(_) => {
                matches!(self.ty, ScalarType::F32 | ScalarType::F64 | ScalarType::B32)
            }
            Constant::F64(_) => {
                matches!(self.ty, ScalarType::F32 | ScalarType::F64 | ScalarType::B64)
            }
            Constant::Symbol { .. } | Constant::MaskedSymbol { .. } => false,
        }
    }
}

/// True for the 8-bit and 16-bit float formats whose values PTX also keeps in integer registers.
fn packs_integers(ty: ScalarType) -> bool {
    ty.is_float()
        && !matches!(
            ty,
            ScalarType::F16 | ScalarType::F16x2 | ScalarType::F32 | ScalarType::F64
        )
}

impl<'m> Checker<'m> {
    pub(super) fn operand(
        &mut self,
        instruction: &'m Instruction,
        operand: &'m Spanned<Operand>,
        shape: Shape,
    ) {
        if operand.node == Operand::Sink && shape.sink {
            return;
        }
        let wanted = Wanted {
            ty: wanted_type(instruction, shape.ty),
            relaxed: shape.relaxed,
        };
        match shape.role {
            Role::Destination => self.destination(operand, wanted),
            Role::Source | Role::Register | Role::ConvertSource => {
                self.source(operand, wanted, shape.role);
            }
            Role::Immediate => self.immediate(operand),
            Role::Predicate => self.predicate(operand),
            Role::PredicateDestination => self.destination(operand, PREDICATE),
            Role::PredicatePair => self.pair(operand, PREDICATE),
            Role::DestinationWithPredicate => self.pair(operand, wanted),
            Role::MemoryDestination | Role::MemorySource => {
                self.memory_value(instruction, operand, wanted, shape.role);
            }
            Role::Address => self.address_operand(instruction, operand),
            Role::Label => self.label_operand(operand),
            Role::BranchTable => self.branch_table(operand),
            Role::Move => self.move_operand(instruction, operand, wanted),
            Role::AddressValue => self.address_value(operand),
            Role::VectorDestination | Role::VectorSource | Role::Video | Role::Call | Role::Any => {
                self.any(operand);
            }
        }
    }

    /// Resolves the names in an operand of unknown role.
    pub(super) fn any(&mut self, operand: &'m Spanned<Operand>) {
        let span = operand.span;
        match &operand.node {
            Operand::Name(name)
            | Operand::Not(name)
            | Operand::NameOffset(name, _)
            | Operand::Element(name, _)
            | Operand::Selected { name, .. } => {
                self.resolve(name, span);
            }
            Operand::Pair(first, second) => {
                self.resolve_unless_sink(first, span);
                self.resolve_unless_sink(second, span);
            }
            Operand::Vector(operands) | Operand::List(operands) => {
                operands.iter().for_each(|operand| self.any(operand));
            }
            Operand::VectorPair(operands, predicate) => {
                operands.iter().for_each(|operand| self.any(operand));
                self.resolve_unless_sink(predicate, span);
            }
            Operand::Address(address) => self.address_names(address),
            Operand::Indexed { array, index, .. } => {
                self.resolve(array, span);
                if let Some(index) = index {
                    self.resolve(index, span);
                }
            }
            Operand::Immediate(_) | Operand::Sink => {}
        }
    }

    fn resolve_unless_sink(&mut self, name: &str, span: Span) {
        if name != "_" {
            self.resolve(name, span);
        }
    }

    fn address_names(&mut self, address: &'m Address) {
        if let AddressBase::Name(name) = &address.base.node {
            self.resolve(name, address.base.span);
        }
        address.rest.iter().for_each(|operand| self.any(operand));
    }

    pub(super) fn destination(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted) {
        match &operand.node {
            Operand::Name(name) if matches!(self.scopes.find(name), Some(Symbol::Special(_))) => {
                let message = format!("`{name}` can only be read");
                let help = "write the result to a register of your own";
                self.operand_kind(operand.span, &message, "a special register", help);
            }
            Operand::Name(name) => self.register(name, operand.span, wanted, false),
            Operand::Element(name, _) => self.element(name, operand.span, wanted),
            _ => {
                self.any(operand);
                self.not_a_register(operand, RESULT);
            }
        }
    }

    pub(super) fn source(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted, role: Role) {
        match &operand.node {
            Operand::Name(name) => {
                self.register(name, operand.span, wanted, role == Role::ConvertSource);
            }
            Operand::Element(name, _) => self.element(name, operand.span, wanted),
            Operand::Immediate(constant) if role != Role::Register => {
                self.constant(constant, operand.span, wanted);
            }
            _ => {
                self.any(operand);
                self.not_a_register(operand, "this operand");
            }
        }
    }

    pub(super) fn not_a_register(&mut self, operand: &Spanned<Operand>, what: &str) {
        if let Operand::NameOffset(name, _) = &operand.node
            && matches!(self.scopes.find(name), Some(Symbol::Register { .. }))
        {
            return self.register_sum(operand);
        }
        let (found, help) = match &operand.node {
            Operand::Immediate(_) if what == RESULT => ("a constant", "name the register to write"),
            Operand::Immediate(_) => (
                "a constant",
                "put the constant into a register with `mov` first",
            ),
            Operand::Address(_) => ("an address", "load the value with `ld` first"),
            Operand::Vector(_) | Operand::VectorPair(..) => (
                "a vector",
                "only `mov`, memory, texture and matrix instructions take vectors",
            ),
            Operand::Sink => ("`_`", "`_` stands only for results that may be dropped"),
            Operand::Not(_) => ("a negated predicate", "negate with `not.pred` first"),
            Operand::Pair(..) => (
                "a pair",
                "only comparisons and warp instructions have two results",
            ),
            Operand::NameOffset(..) | Operand::Indexed { .. } => (
                "an address",
                "take the address with `mov`, or load with `ld`",
            ),
            _ => ("something else", "use a register"),
        };
        let message = format!("{what} must be a register, not {found}");
        let diagnostic = Diagnostic::error("operand-kind", operand.span, message);
        self.report(diagnostic.label("expected a register").help(help));
    }

    /// Checks `r+1` as a value, which NVIDIA's assembler accepts although no manual has it.
    fn register_sum(&mut self, operand: &Spanned<Operand>) {
        let message = "not supported yet: the sum of a register and a constant as a value";
        self.report(
            Diagnostic::error("not-supported", operand.span, message)
                .label("a sum")
                .help("add with `add` first"),
        );
    }

    /// Checks a name that must be a register of the wanted type.
    pub(super) fn register(
        &mut self,
        name: &str,
        span: Span,
        wanted: Wanted,
        special_allowed: bool,
    ) {
        match self.resolve(name, span) {
            None => {}
            Some(Symbol::Register { ty, vector: 1, .. }) if wanted.accepts(ty) => {}
            Some(Symbol::Register { ty, vector: 1, .. }) => self.wrong_type(name, span, ty, wanted),
            Some(Symbol::Register { .. }) => {
                let help = format!("name an element, e.g. `{name}.x`");
                self.operand_kind(
                    span,
                    &format!("`{name}` is a vector"),
                    "expected a scalar",
                    &help,
                );
            }
            Some(Symbol::Special(special))
                if special_allowed
                    || (wanted.accepts(special.ty) && special.ty == ScalarType::Pred) => {}
            Some(Symbol::Special(_)) => {
                let message = format!("`{name}` can only be read by `mov` and `cvt`");
                let help = format!("`mov` it into a register first: `mov.u32 r, {name};`");
                self.operand_kind(span, &message, "a special register", &help);
            }
            Some(symbol @ (Symbol::Variable(_) | Symbol::Function(_))) => {
                let message = format!("`{name}` is {}", symbol.describe());
                let help = "load its value with `ld`, or take its address with `mov`";
                self.operand_kind(span, &message, "expected a register", help);
            }
            Some(symbol) => {
                let message = format!("`{name}` is {}", symbol.describe());
                self.operand_kind(span, &message, "expected a register", "name a register");
            }
        }
    }

    fn element(&mut self, name: &str, span: Span, wanted: Wanted) {
        match self.resolve(name, span) {
            Some(Symbol::Register {
                ty, vector: 2.., ..
            }) if wanted.accepts(ty) => {}
            Some(Symbol::Register {
                ty, vector: 2.., ..
            }) => self.wrong_type(name, span, ty, wanted),
            Some(_) => {
                let message = format!("`{name}` has no elements");
                let help = "only registers declared `.v2` or `.v4` have `.x .y .z .w`";
                self.operand_kind(span, &message, "not a vector register", help);
            }
            None => {}
        }
    }

    pub(super) fn operand_kind(&mut self, span: Span, message: &str, label: &str, help: &str) {
        self.report(
            Diagnostic::error("operand-kind", span, message)
                .label(label)
                .help(help),
        );
    }

    pub(super) fn wrong_type(&mut self, name: &str, span: Span, ty: ScalarType, wanted: Wanted) {
        let help = if ty == ScalarType::Pred {
            "turn the predicate into a number with `selp`".to_owned()
        } else if wanted.ty == ScalarType::Pred {
            "compare with `setp` to get a predicate".to_owned()
        } else if wanted.relaxed && wanted.ty.is_integer() && ty.is_float() {
            "use an integer register here, and `cvt` or `mov` between it and this one".to_owned()
        } else if ty.bits() == wanted.ty.bits() {
            format!(
                "move the bits with `mov.b{}`, or convert with `cvt`",
                ty.bits()
            )
        } else {
            format!(
                "convert with `cvt`, or use a register of {} bits",
                wanted.ty.bits()
            )
        };
        let at_least = if wanted.relaxed && !wanted.ty.is_float() {
            "or wider "
        } else {
            ""
        };
        let message = format!(
            "`{name}` is a `.{ty}` register, the instruction works on `.{}`",
            wanted.ty
        );
        self.report(
            Diagnostic::error("operand-type", span, message)
                .label(format!("expected `.{}` {at_least}here", wanted.ty))
                .help(help),
        );
    }

    fn constant(&mut self, constant: &Constant, span: Span, wanted: Wanted) {
        if wanted.accepts_constant(constant) {
            return self.truncation(constant, span, wanted.ty);
        }
        let (found, help) = match (constant, wanted.ty) {
            (Constant::Int(..), ScalarType::F32 | ScalarType::F64) => (
                "an integer",
                "write a decimal point, or an exact literal `0f...` or `0d...`",
            ),
            (Constant::Int(..), _) => ("an integer", "put the constant into a register with `mov`"),
            (_, ty) if ty.is_float() => {
                ("a constant", "put the constant into a register with `mov`")
            }
            _ => (
                "a floating-point value",
                "write an integer, or an exact literal of the same width",
            ),
        };
        let message = format!("{found} where `.{}` is wanted", wanted.ty);
        self.report(
            Diagnostic::error("operand-type", span, message)
                .label("wrong kind of constant")
                .help(help),
        );
    }

    /// Warns about bits of a literal beyond the type, which are dropped and rarely meant.
    fn truncation(&mut self, constant: &Constant, span: Span, ty: ScalarType) {
        let Constant::Int(value, _) = *constant else {
            return;
        };
        if ty.bits() >= 64 || ty == ScalarType::Pred {
            return;
        }
        let signed = value as i64;
        let limit = 1_i64 << ty.bits();
        if signed >= limit || signed < -(limit / 2) {
            let message = format!("{constant} does not fit in `.{ty}`");
            self.report(
                Diagnostic::warning("constant-truncated", span, message)
                    .label(format!("only the low {} bits count", ty.bits()))
                    .help("write a smaller value, or use a wider instruction"),
            );
        }
    }

    fn immediate(&mut self, operand: &'m Spanned<Operand>) {
        if matches!(operand.node, Operand::Immediate(Constant::Int(..))) {
            return;
        }
        self.any(operand);
        let help = "write the value into the instruction";
        self.operand_kind(
            operand.span,
            "this operand must be an integer constant",
            "not a constant",
            help,
        );
    }

    fn predicate(&mut self, operand: &'m Spanned<Operand>) {
        match &operand.node {
            Operand::Not(name) => self.register(name, operand.span, PREDICATE, false),
            // Every value except 0 is true.
            Operand::Immediate(Constant::Int(..)) => {}
            _ => self.source(operand, PREDICATE, Role::Register),
        }
    }

    /// Checks `d`, or `d|p` whose second half is a predicate.
    fn pair(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted) {
        let Operand::Pair(first, second) = &operand.node else {
            return self.destination(operand, wanted);
        };
        for (name, wanted) in [(first, wanted), (second, PREDICATE)] {
            if name != "_" {
                self.register(name, operand.span, wanted, false);
            }
        }
    }
}

/// Name of the destination in messages.
const RESULT: &str = "the result";

const PREDICATE: Wanted = Wanted {
    ty: ScalarType::Pred,
    relaxed: false,
};

fn wanted_type(instruction: &Instruction, rule: TypeRule) -> ScalarType {
    let mut types = instruction
        .modifiers
        .iter()
        .filter_map(|m| m.node.scalar_type());
    match rule {
        TypeRule::Fixed(ty) => ty,
        TypeRule::Nth(index) => types.nth(index).unwrap_or(ScalarType::B32),
        TypeRule::Wide => match types.next() {
            Some(ScalarType::U16) => ScalarType::U32,
            Some(ScalarType::S16) => ScalarType::S32,
            Some(ScalarType::S32) => ScalarType::S64,
            _ => ScalarType::U64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;
    use crate::ast::Constant;
    use crate::tokens::ScalarType::{self, *};

    fn accepts(ty: ScalarType, register: ScalarType, relaxed: bool) -> bool {
        Wanted { ty, relaxed }.accepts(register)
    }

    #[test]
    fn widths_agree_and_kinds_are_compatible() {
        for (ty, register) in [
            (S32, U32),
            (B32, F32),
            (F32, B32),
            (F16, B16),
            (Bf16, U16),
            (Pred, Pred),
        ] {
            assert!(accepts(ty, register, false), "{ty} {register}");
        }
        for (ty, register) in [
            (S32, F32),
            (F32, U32),
            (S32, S64),
            (F64, F32),
            (B32, Pred),
            (Pred, B32),
        ] {
            assert!(!accepts(ty, register, false), "{ty} {register}");
            assert!(
                !accepts(ty, register, true) || register.bits() > ty.bits(),
                "{ty} {register}"
            );
        }
    }

    #[test]
    fn wider_registers_will_do_where_the_manual_says_so() {
        for (ty, register) in [(U8, U32), (S16, B64), (B32, F64), (F32, B64)] {
            assert!(accepts(ty, register, true), "{ty} {register}");
            assert!(!accepts(ty, register, false), "{ty} {register}");
        }
        for (ty, register) in [(U8, F32), (F32, F64), (U64, U32)] {
            assert!(!accepts(ty, register, true), "{ty} {register}");
        }
    }

    #[test]
    fn constants_have_a_kind_too() {
        let accepts =
            |ty, constant: &Constant| Wanted { ty, relaxed: false }.accepts_constant(constant);
        let (int, single, double) = (Constant::Int(1, false), Constant::F32(0), Constant::F64(0));
        assert!(
            accepts(S32, &int) && accepts(B32, &int) && !accepts(F32, &int) && !accepts(F16, &int)
        );
        assert!(accepts(F32, &single) && accepts(B32, &single) && !accepts(U32, &single));
        assert!(accepts(F32, &double) && accepts(B64, &double) && !accepts(B32, &double));
    }
}
