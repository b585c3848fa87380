//! Operands against what their instruction wants (PTX ISA chapter 6, 9.2, 9.4.1).

use super::Checker;
use super::names::Symbol;
use crate::ast::{Address, AddressBase, Constant, Instruction, Operand, Spanned};
use crate::forms::{Role, Shape, TypeRule};
use crate::special::Special;
use crate::tokens::{Modifier, Opcode, ScalarType, Space};
use warploom_diag::{Diagnostic, Span};

/// A type that an operand is held against, and how strictly.
#[derive(Clone, Copy)]
struct Wanted {
    ty: ScalarType,
    relaxed: bool,
}

impl Wanted {
    /// Same width, and not a float where an integer is wanted or the reverse; untyped bits go with
    /// everything. Relaxed, a wider register will do unless it is a float of another width.
    fn accepts(self, register: ScalarType) -> bool {
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

/// Packed 8-bit and 16-bit floats live in integer registers of PTX before they had types.
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

    fn destination(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted) {
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

    fn source(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted, role: Role) {
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

    fn not_a_register(&mut self, operand: &Spanned<Operand>, what: &str) {
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

    /// A name that must be a register of the wanted type.
    fn register(&mut self, name: &str, span: Span, wanted: Wanted, special_allowed: bool) {
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

    fn operand_kind(&mut self, span: Span, message: &str, label: &str, help: &str) {
        self.report(
            Diagnostic::error("operand-kind", span, message)
                .label(label)
                .help(help),
        );
    }

    fn wrong_type(&mut self, name: &str, span: Span, ty: ScalarType, wanted: Wanted) {
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

    /// Bits beyond the type are dropped; that is rarely meant.
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
            // Everything is true but 0.
            Operand::Immediate(Constant::Int(..)) => {}
            _ => self.source(operand, PREDICATE, Role::Register),
        }
    }

    /// `d`, or `d|p` whose second half is a predicate.
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

    /// The value of a load or store: a vector if the instruction says `.v2` and so on.
    fn memory_value(
        &mut self,
        instruction: &Instruction,
        operand: &'m Spanned<Operand>,
        wanted: Wanted,
        role: Role,
    ) {
        let lanes = instruction
            .modifiers
            .iter()
            .find_map(|m| m.node.vector_len())
            .unwrap_or(1);
        self.access_width(operand.span, lanes * wanted.ty.bits());
        match &operand.node {
            Operand::Vector(elements) if lanes > 1 => {
                if elements.len() != lanes as usize {
                    return self.vector_length(operand, elements.len(), lanes);
                }
                for element in elements {
                    self.memory_element(element, wanted, role);
                }
            }
            Operand::Name(name) if lanes > 1 => self.vector_register(name, operand, lanes, wanted),
            _ if lanes > 1 => {
                self.any(operand);
                let help = format!("write {lanes} registers in braces");
                self.operand_kind(
                    operand.span,
                    "a vector instruction needs a vector",
                    "not a vector",
                    &help,
                );
            }
            Operand::Vector(elements) if elements.len() == 1 => {
                self.memory_element(&elements[0], wanted, role);
            }
            _ => self.memory_element(operand, wanted, role),
        }
    }

    /// 128 bits, 256 since sm_100.
    fn access_width(&mut self, span: Span, bits: u32) {
        let widest = if self.architecture.is_none_or(|number| number >= 100) {
            256
        } else {
            128
        };
        if bits > widest {
            let message = format!("an access of {bits} bits is too wide");
            let help = "use a shorter vector or a narrower type";
            let label = format!("at most {widest} bits on this target");
            self.operand_kind(span, &message, &label, help);
        }
    }

    fn memory_element(&mut self, operand: &'m Spanned<Operand>, wanted: Wanted, role: Role) {
        match (role, &operand.node) {
            (Role::MemoryDestination, Operand::Sink) => {}
            (Role::MemoryDestination, _) => self.destination(operand, wanted),
            _ => self.source(operand, wanted, Role::Source),
        }
    }

    fn vector_length(&mut self, operand: &'m Spanned<Operand>, found: usize, lanes: u32) {
        self.any(operand);
        let message = format!("a vector of {found}, the instruction has `.v{lanes}`");
        let help = format!("write {lanes} registers in braces");
        self.operand_kind(operand.span, &message, "wrong length", &help);
    }

    fn vector_register(
        &mut self,
        name: &str,
        operand: &Spanned<Operand>,
        lanes: u32,
        wanted: Wanted,
    ) {
        match self.resolve(name, operand.span) {
            Some(Symbol::Register { ty, vector, .. }) if vector == lanes && wanted.accepts(ty) => {}
            Some(Symbol::Special(Special { vector: true, .. })) if lanes == 4 => {}
            Some(symbol) => {
                let message = format!("`{name}` is {}, not a vector of {lanes}", symbol.describe());
                let help = format!("write {lanes} registers in braces");
                self.operand_kind(operand.span, &message, "not such a vector", &help);
            }
            None => {}
        }
    }

    fn address_operand(&mut self, instruction: &'m Instruction, operand: &'m Spanned<Operand>) {
        match &operand.node {
            Operand::Address(address) => self.address(instruction, address),
            Operand::Indexed { array, index, .. } => {
                if let Some(Symbol::Variable(variable)) = self.resolve(array, operand.span) {
                    self.space(instruction, array, variable.space, operand.span);
                }
                if let Some(index) = index {
                    self.resolve(index, operand.span);
                }
            }
            _ => {
                self.any(operand);
                let help = "write the address in brackets, e.g. `[%rd1+4]`";
                self.operand_kind(
                    operand.span,
                    "this operand must be an address",
                    "not in brackets",
                    help,
                );
            }
        }
    }

    fn address(&mut self, instruction: &'m Instruction, address: &'m Address) {
        address.rest.iter().for_each(|operand| self.any(operand));
        let AddressBase::Name(name) = &address.base.node else {
            return;
        };
        let span = address.base.span;
        match self.resolve(name, span) {
            None | Some(Symbol::Label | Symbol::Function(_)) => {}
            Some(Symbol::Register { ty, vector: 1, .. }) => {
                self.address_register(instruction, name, ty, span);
            }
            Some(Symbol::Variable(variable)) => self.space(instruction, name, variable.space, span),
            Some(symbol) => {
                let message = format!("`{name}` is {}, which is no address", symbol.describe());
                let help = "use a register with an address, or the name of a variable";
                self.operand_kind(span, &message, "no address", help);
            }
        }
    }

    /// Addresses of global memory and generic ones have the module's width; the other spaces are
    /// small enough for 32 bits too.
    fn address_register(
        &mut self,
        instruction: &Instruction,
        name: &str,
        ty: ScalarType,
        span: Span,
    ) {
        let integer = ty.is_bits() || ty.is_integer();
        let any_width = !matches!(space_of(instruction), Some(None | Some(Space::Global)));
        let width = ty.bits() == self.address_bits || (any_width && matches!(ty.bits(), 32 | 64));
        if integer && width {
            return;
        }
        let message = format!(
            "`{name}` is a `.{ty}` register, an address has {} bits",
            self.address_bits
        );
        let help = format!(
            "use a `.b{0}` register; widen with `cvt.u{0}.u32`",
            self.address_bits
        );
        self.report(
            Diagnostic::error("operand-type", span, message)
                .label("not an address")
                .help(help),
        );
    }

    /// A variable in another space than the instruction's.
    fn space(&mut self, instruction: &Instruction, name: &str, space: Space, span: Span) {
        let Some(Some(named)) = space_of(instruction) else {
            return;
        };
        let same = named == space || (named == Space::Global && space == Space::Tex);
        if same {
            return;
        }
        let message = format!("`{name}` lives in `.{space}`, the instruction accesses `.{named}`");
        let help = format!("write `.{space}` in the instruction");
        self.report(
            Diagnostic::error("wrong-space", span, message)
                .label("other space")
                .help(help),
        );
    }

    fn label_operand(&mut self, operand: &'m Spanned<Operand>) {
        match &operand.node {
            Operand::Name(name) => self.label(name, operand.span),
            _ => {
                self.any(operand);
                self.operand_kind(
                    operand.span,
                    "a branch goes to a label",
                    "not a label",
                    "name a label",
                );
            }
        }
    }

    /// A name that must be a label's.
    pub(super) fn label(&mut self, name: &str, span: Span) {
        match self.scopes.find(name) {
            Some(Symbol::Label) => {}
            Some(symbol) => {
                let message = format!("`{name}` is {}", symbol.describe());
                let help = "branch to a label; use `brx.idx` with a table for computed targets";
                self.operand_kind(span, &message, "expected a label", help);
            }
            None => self.unknown_label(name, span),
        }
    }

    fn unknown_label(&mut self, name: &str, span: Span) {
        let near = if self.is_full() {
            None
        } else {
            self.scopes.nearest_label(name)
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "write `{name}:` before the statement to go to; labels in inner blocks are not seen"
            ),
        };
        self.report(
            Diagnostic::error(
                "undefined-name",
                span,
                format!("there is no label `{name}` here"),
            )
            .label("unknown label")
            .help(help),
        );
    }

    fn branch_table(&mut self, operand: &'m Spanned<Operand>) {
        let Operand::Name(name) = &operand.node else {
            return self.any(operand);
        };
        let Some(symbol) = self.resolve(name, operand.span) else {
            return;
        };
        if !matches!(symbol, Symbol::BranchTable) {
            let message = format!("`{name}` is {}", symbol.describe());
            let help = "declare `name: .branchtargets label0, label1;` and name it here";
            self.operand_kind(
                operand.span,
                &message,
                "expected a list of branch targets",
                help,
            );
        }
    }

    fn move_operand(
        &mut self,
        instruction: &Instruction,
        operand: &'m Spanned<Operand>,
        wanted: Wanted,
    ) {
        let is_result = instruction
            .operands
            .first()
            .is_some_and(|first| first.span == operand.span);
        match &operand.node {
            Operand::Vector(elements) => self.packed(operand, elements, wanted, is_result),
            Operand::Name(name) if self.is_whole_vector(name, wanted) => {}
            _ if is_result => self.destination(operand, wanted),
            Operand::Name(name) => self.move_name(name, operand.span, wanted),
            Operand::NameOffset(name, _) => self.move_name(name, operand.span, wanted),
            Operand::Indexed { .. } => self.any(operand),
            _ => self.source(operand, wanted, Role::Source),
        }
    }

    /// A vector register whose elements make up the wanted width: packed or unpacked as a whole.
    fn is_whole_vector(&self, name: &str, wanted: Wanted) -> bool {
        let symbol = self.scopes.find(name);
        matches!(symbol, Some(Symbol::Register { ty, vector, .. })
            if vector > 1 && vector * ty.bits() == wanted.ty.bits())
    }

    /// Source of a `mov`: also the address of a symbol, and special registers.
    fn move_name(&mut self, name: &str, span: Span, wanted: Wanted) {
        match self.scopes.find(name) {
            Some(Symbol::Special(special)) => self.move_special(name, span, special, wanted),
            Some(Symbol::Variable(_) | Symbol::Function(_) | Symbol::Label) => {
                if wanted.ty.is_float() || wanted.ty.bits() < 32 {
                    let message =
                        format!("the address of `{name}` does not fit in `.{}`", wanted.ty);
                    let help = format!("use `mov.u{}`", self.address_bits);
                    self.operand_kind(span, &message, "an address", &help);
                }
            }
            _ => self.register(name, span, wanted, false),
        }
    }

    /// 32-bit ones may be read as 16 bits, as PTX before 2.0 had them.
    fn move_special(&mut self, name: &str, span: Span, special: Special, wanted: Wanted) {
        if special.vector {
            let help = format!("name an element, e.g. `{name}.x`");
            return self.operand_kind(
                span,
                &format!("`{name}` is a vector"),
                "expected a scalar",
                &help,
            );
        }
        let legacy = special.ty.bits() == 32 && wanted.ty.bits() == 16;
        if wanted.ty.is_float() || !(wanted.accepts(special.ty) || legacy || name == "%gridid") {
            self.wrong_type(name, span, special.ty, wanted);
        }
    }

    /// `{a, b}` packs or unpacks: the parts make up the whole.
    fn packed(
        &mut self,
        operand: &'m Spanned<Operand>,
        elements: &'m [Spanned<Operand>],
        wanted: Wanted,
        is_result: bool,
    ) {
        let count = elements.len() as u32;
        let part = match wanted.ty.bits().checked_div(count) {
            Some(8) if count * 8 == wanted.ty.bits() => ScalarType::B8,
            Some(16) if count * 16 == wanted.ty.bits() => ScalarType::B16,
            Some(32) if count * 32 == wanted.ty.bits() => ScalarType::B32,
            Some(64) if count * 64 == wanted.ty.bits() => ScalarType::B64,
            _ => {
                let message = format!("{count} parts do not make up `.{}`", wanted.ty);
                let help = "parts have 8, 16, 32 or 64 bits and add up to the whole";
                return self.operand_kind(operand.span, &message, "wrong number of parts", help);
            }
        };
        let wanted = Wanted {
            ty: part,
            relaxed: false,
        };
        for element in elements {
            match &element.node {
                Operand::Sink if is_result => {}
                _ if is_result => self.destination(element, wanted),
                _ => self.source(element, wanted, Role::Source),
            }
        }
    }

    /// A register with an address, or a symbol.
    fn address_value(&mut self, operand: &'m Spanned<Operand>) {
        let (Operand::Name(name) | Operand::NameOffset(name, _)) = &operand.node else {
            self.any(operand);
            return self.not_a_register(operand, "an address");
        };
        match self.resolve(name, operand.span) {
            Some(Symbol::Register { ty, vector: 1, .. }) if ty.bits() < 32 || ty.is_float() => {
                let message = format!("`{name}` is a `.{ty}` register, which holds no address");
                let help = format!("use a `.b{}` register", self.address_bits);
                self.operand_kind(operand.span, &message, "no address", &help);
            }
            _ => {}
        }
    }
}

/// How messages call the destination.
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

/// The space that a memory instruction accesses: the one it names, `Some(None)` for a generic
/// access, `None` for instructions whose addresses are not plain memory or that name two spaces.
fn space_of(instruction: &Instruction) -> Option<Option<Space>> {
    let memory = matches!(
        instruction.opcode.node,
        Opcode::Ld | Opcode::St | Opcode::Ldu | Opcode::Atom | Opcode::Red | Opcode::Prefetch
    );
    let simple = memory
        && !instruction
            .modifiers
            .iter()
            .any(|m| m.node == Modifier::Async);
    simple.then(|| instruction.modifiers.iter().find_map(|m| m.node.space()))
}
