//! Checks of the declarations of variables and registers (PTX ISA 5.4).

use super::Checker;
use super::names::Symbol;
use crate::ast::{Constant, FunctionKind, Initializer, Linkage, Spanned, Variable};
use crate::tokens::{ScalarType, Space};
use warploom_diag::{Diagnostic, Span};

/// Width of the widest vector variable in bits.
const MAX_VECTOR_BITS: u32 = 128;

impl<'m> Checker<'m> {
    /// Checks a variable at file level.
    pub(super) fn file_variable(&mut self, variable: &'m Variable) {
        let refusal = match variable.space {
            Space::Param => Some(("parameters", "declare it in a function's parameter list")),
            _ => None,
        };
        if let Some((what, help)) = refusal {
            let message = format!("{what} cannot be declared at file level");
            self.report(
                Diagnostic::error("misplaced-variable", variable.name.span, message)
                    .label("outside any function")
                    .help(help),
            );
        }
        self.variable(variable);
    }

    /// Checks a variable in a body.
    pub(super) fn local_variable(&mut self, variable: &'m Variable) {
        if self.kind == FunctionKind::Entry
            && variable.space == Space::Reg
            && !variable.dims.is_empty()
        {
            let help = "declare it in `.local`, or as a family `name<4>`";
            self.variable_error(
                variable,
                "register-array",
                "registers cannot form an array",
                help,
            );
        }
        self.variable(variable);
    }

    fn variable(&mut self, variable: &'m Variable) {
        self.declare(&variable.name, Symbol::of_variable(variable));
        self.check_alignment(variable);
        self.check_type(variable);
        self.check_extents(variable);
        if let Some(init) = &variable.init {
            self.check_initializer(variable, init);
        }
    }

    pub(super) fn variable_error(
        &mut self,
        variable: &Variable,
        code: &'static str,
        message: &str,
        help: &str,
    ) {
        let message = format!("`{}`: {message}", variable.name.node);
        self.report(
            Diagnostic::error(code, variable.name.span, message)
                .label("declared here")
                .help(help),
        );
    }

    /// Checks rules that variables share with parameters.
    pub(super) fn check_alignment(&mut self, variable: &Variable) {
        let pointed = variable.pointer.and_then(|pointer| pointer.align);
        for align in [variable.align, pointed].into_iter().flatten() {
            if !align.is_power_of_two() {
                let message = format!("alignment {align} is not a power of two");
                let help = "write 1, 2, 4, 8, 16 and so on";
                self.variable_error(variable, "bad-alignment", &message, help);
            }
        }
    }

    pub(super) fn check_type(&mut self, variable: &Variable) {
        if variable.ty == ScalarType::Pred && variable.space != Space::Reg {
            let help = "keep predicates in registers; store 0 or 1 from `selp` instead";
            self.variable_error(
                variable,
                "predicate-in-memory",
                "predicates have no place in memory",
                help,
            );
        }
        if variable.vector * variable.ty.bits() > MAX_VECTOR_BITS {
            let message = format!("a vector has at most {MAX_VECTOR_BITS} bits");
            let help = "use a shorter vector or a narrower type";
            self.variable_error(variable, "vector-too-wide", &message, help);
        }
    }

    fn check_extents(&mut self, variable: &Variable) {
        let open = variable.dims.iter().position(Option::is_none);
        let sized = variable.linkage == Linkage::Extern || variable.init.is_some();
        match open {
            Some(0) if !sized => {
                let help = "write the size, give initial values, or declare it `.extern`";
                self.variable_error(variable, "unsized-array", "array without a size", help);
            }
            Some(index) if index > 0 => {
                let help = "only the first extent may be left out";
                self.variable_error(
                    variable,
                    "unsized-array",
                    "inner extent without a size",
                    help,
                );
            }
            _ => {}
        }
        if variable.dims.contains(&Some(0)) {
            let help = "give it at least one element, or declare it `.extern` with `[]`";
            self.variable_error(variable, "empty-array", "array without elements", help);
        }
        if size_in_bytes(variable).is_none() {
            let help = "the address space has 64 bits; write a smaller size";
            self.variable_error(variable, "array-too-large", "size overflows", help);
        }
    }

    fn check_initializer(&mut self, variable: &'m Variable, init: &'m Initializer) {
        if !matches!(variable.space, Space::Global | Space::Const | Space::Tex) {
            let message = format!("variables in `.{}` have no initial value", variable.space);
            let help =
                "store the value in the kernel, or declare the variable `.global` or `.const`";
            return self.variable_error(variable, "initial-value-not-allowed", &message, help);
        }
        if variable.linkage == Linkage::Extern {
            let help = "initialise it where it is defined";
            let message = "an `.extern` variable has no initial value";
            return self.variable_error(variable, "initial-value-not-allowed", message, help);
        }
        let mut extents = variable.dims.clone();
        if variable.vector > 1 {
            extents.push(Some(u64::from(variable.vector)));
        }
        self.initializer(variable, init, &extents);
    }

    /// Checks an initial value: one level of nested braces per extent.
    fn initializer(
        &mut self,
        variable: &'m Variable,
        init: &'m Initializer,
        extents: &[Option<u64>],
    ) {
        match (init, extents) {
            (Initializer::Fields(_), _) if variable.opaque.is_some() => {}
            (Initializer::Fields(fields), _) => {
                let span = fields
                    .first()
                    .map_or(variable.name.span, |(name, _)| name.span);
                let help = "only `.texref`, `.samplerref` and `.surfref` have fields";
                self.initial_value_error(span, "fields in the value of a plain variable", help);
            }
            (Initializer::Value(value), []) => self.initial_value(variable, value),
            (Initializer::Value(value), _) => {
                let help = "write the values in braces";
                self.initial_value_error(value.span, "one value for an array", help);
            }
            (Initializer::List(values), []) => {
                // A scalar in braces is allowed, as in C.
                if values.len() > 1 {
                    let span = values
                        .get(1)
                        .map_or(variable.name.span, |v| first_span(v, variable));
                    let help = "declare an array, or leave one value";
                    self.initial_value_error(span, "several values for a scalar", help);
                }
                values
                    .iter()
                    .for_each(|value| self.initializer(variable, value, extents));
            }
            (Initializer::List(values), [extent, inner @ ..]) => {
                let room = extent.map_or(values.len(), |extent| {
                    usize::try_from(extent).unwrap_or(usize::MAX)
                });
                if let Some(first) = values.get(room) {
                    let span = first_span(first, variable);
                    let message = format!("{} values for {room} elements", values.len());
                    self.initial_value_error(span, &message, "remove values or enlarge the array");
                }
                values
                    .iter()
                    .for_each(|value| self.initializer(variable, value, inner));
            }
        }
    }

    fn initial_value_error(&mut self, span: Span, message: &str, help: &str) {
        self.report(
            Diagnostic::error("bad-initial-value", span, message)
                .label("here")
                .help(help),
        );
    }

    fn initial_value(&mut self, variable: &Variable, value: &'m Spanned<Constant>) {
        let ty = variable.ty;
        match &value.node {
            Constant::Symbol { name, .. } | Constant::MaskedSymbol { name, .. } => {
                let symbol = self.resolve(name, value.span);
                if let Some(symbol) = symbol
                    && !matches!(symbol, Symbol::Variable(_) | Symbol::Function(_))
                {
                    let message =
                        format!("`{name}` is {}, which has no address", symbol.describe());
                    let help = "initial values may name variables and functions";
                    self.initial_value_error(value.span, &message, help);
                }
                let whole = matches!(value.node, Constant::Symbol { .. });
                if whole && ty.bits() < 32 {
                    let help = "declare it `.u64` or `.u32`, or take bytes with `0xFF(name)`";
                    self.initial_value_error(
                        value.span,
                        "an address does not fit in this type",
                        help,
                    );
                }
            }
            Constant::Int(..) if ty.is_float() && ty != ScalarType::F16 => {
                let help = "write a decimal point, or an exact literal `0f...` or `0d...`";
                self.initial_value_error(
                    value.span,
                    "an integer for a floating-point variable",
                    help,
                );
            }
            Constant::F32(_) | Constant::F64(_) if !ty.is_float() && !ty.is_bits() => {
                let help = "write an integer, or declare the variable `.f32` or `.f64`";
                self.initial_value_error(
                    value.span,
                    "a floating-point value for an integer variable",
                    help,
                );
            }
            _ => {}
        }
    }
}

/// Size of a variable in bytes; 0 for an array without an extent, `None` on overflow.
fn size_in_bytes(variable: &Variable) -> Option<u64> {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
    let extents = variable.dims.iter().map(|extent| extent.unwrap_or(0));
    extents
        .chain(variable.count.map(u64::from))
        .try_fold(element, u64::checked_mul)
}

fn first_span(init: &Initializer, variable: &Variable) -> Span {
    match init {
        Initializer::Value(value) => value.span,
        Initializer::List(values) => values
            .first()
            .map_or(variable.name.span, |value| first_span(value, variable)),
        Initializer::Fields(fields) => fields
            .first()
            .map_or(variable.name.span, |(name, _)| name.span),
    }
}
