//! Checks of functions, kernels and calls (PTX ISA 7, 9.7.12.5, 11.2, 11.4).

use super::Checker;
use super::names::Symbol;
use crate::ast::{
    CallPrototype, Function, FunctionDirective, FunctionKind, Instruction, Name, Operand, Spanned,
    Variable,
};
use crate::tokens::Space;
use warploom_diag::{Diagnostic, Span};

/// Most threads of a block on any architecture.
const MAX_BLOCK_THREADS: u64 = 1024;

/// Signature that a call must match.
struct Signature<'m> {
    name: String,
    span: Option<Span>,
    returns: &'m [Variable],
    params: &'m [Variable],
}

impl<'m> Checker<'m> {
    /// Declares a function and compares it with an earlier declaration.
    pub(super) fn declare_function(&mut self, function: &'m Function) {
        let Some((symbol, span)) = self.declared_here(&function.name.node) else {
            return self.declare(&function.name, Symbol::Function(function));
        };
        let Symbol::Function(first) = symbol else {
            return;
        };
        if first.body.is_some() && function.body.is_some() {
            return self.report_duplicate(&function.name, span);
        }
        if !same_signature(first, function) {
            self.report(
                Diagnostic::error(
                    "inconsistent-declaration",
                    function.name.span,
                    format!("`{}` is declared in two ways", function.name.node),
                )
                .label("differs")
                .and(span, "from this")
                .help("make parameters and return values the same in both"),
            );
        }
        if function.body.is_some() {
            self.replace(&function.name, Symbol::Function(function));
        }
    }

    pub(super) fn function_header(&mut self, function: &'m Function) {
        for parameter in function.returns.iter().chain(&function.params) {
            self.check_alignment(parameter);
            self.check_type_of_parameter(parameter);
        }
        match function.kind {
            FunctionKind::Entry => self.entry_header(function),
            FunctionKind::Device => self.device_header(function),
        }
    }

    fn check_type_of_parameter(&mut self, parameter: &Variable) {
        if parameter.init.is_some() {
            let help = "the caller sets it; remove the value";
            let message = "parameters have no initial value";
            self.variable_error(parameter, "initial-value-not-allowed", message, help);
        }
        self.check_type(parameter);
    }

    fn entry_header(&mut self, function: &'m Function) {
        if let Some(value) = function.returns.first() {
            let message = "a kernel returns nothing";
            let help =
                "remove the return value and store results in global memory, or make it a `.func`";
            self.variable_error(value, "kernel-returns", message, help);
        }
        for parameter in &function.params {
            if parameter.space != Space::Param {
                let message = "parameters of a kernel live in `.param`";
                let help = "declare it `.param` and read it with `ld.param`";
                self.variable_error(parameter, "kernel-parameter-space", message, help);
            }
            if parameter.dims.contains(&None) {
                let message = "parameter of a kernel without a size";
                self.variable_error(
                    parameter,
                    "unsized-array",
                    message,
                    "write the size in bytes",
                );
            }
        }
        for directive in &function.directives {
            self.entry_directive(function, directive);
        }
    }

    fn entry_directive(&mut self, function: &Function, directive: &FunctionDirective) {
        let (text, extents) = match directive {
            FunctionDirective::MaxThreads(extents) => (".maxntid", *extents),
            FunctionDirective::RequiredThreads(extents) => (".reqntid", *extents),
            FunctionDirective::MaxRegisters(count) => (".maxnreg", [*count, 1, 1]),
            FunctionDirective::MinBlocksPerSm(count) => (".minnctapersm", [*count, 1, 1]),
            FunctionDirective::MaxBlocksPerSm(count) => (".maxnctapersm", [*count, 1, 1]),
            FunctionDirective::RequiredCluster(extents) => (".reqnctapercluster", *extents),
            FunctionDirective::MaxClusterRank(count) => (".maxclusterrank", [*count, 1, 1]),
            FunctionDirective::ExplicitCluster
            | FunctionDirective::BlocksAreClusters
            | FunctionDirective::Kept(_) => return,
        };
        if extents.contains(&0) {
            let message = format!("`{text}` of `{}` is zero", function.name.node);
            self.report(
                Diagnostic::error("zero-limit", function.name.span, message)
                    .label("this kernel could never run")
                    .help("write a number of at least 1 in every dimension"),
            );
        }
        // The factors have 32 bits: the product of three may overflow 64 bits.
        let threads: u128 = extents.iter().map(|extent| u128::from(*extent)).product();
        let is_block = matches!(directive, FunctionDirective::RequiredThreads(_));
        if is_block && threads > u128::from(MAX_BLOCK_THREADS) {
            let message = format!(
                "`{text}` of `{}` asks for {threads} threads",
                function.name.node
            );
            self.report(
                Diagnostic::error("block-too-large", function.name.span, message)
                    .label(format!("a block has at most {MAX_BLOCK_THREADS} threads"))
                    .help("make the product of the three extents smaller"),
            );
        }
    }

    fn device_header(&mut self, function: &'m Function) {
        let limit = function.directives.iter().find(|directive| {
            matches!(
                directive,
                FunctionDirective::MaxThreads(_)
                    | FunctionDirective::RequiredThreads(_)
                    | FunctionDirective::MinBlocksPerSm(_)
                    | FunctionDirective::MaxBlocksPerSm(_)
            )
        });
        if let Some(directive) = limit {
            let message = format!("`{directive}` on device function `{}`", function.name.node);
            self.report(
                Diagnostic::error("directive-on-function", function.name.span, message)
                    .label("not a kernel")
                    .help("limits of a launch belong on the `.entry` that calls it"),
            );
        }
        for parameter in function.returns.iter().chain(&function.params) {
            self.device_parameter(parameter);
        }
    }

    fn device_parameter(&mut self, parameter: &Variable) {
        if !matches!(parameter.space, Space::Param | Space::Reg) {
            let message = "parameters of a function live in `.param` or `.reg`";
            let help = "declare it `.param`";
            self.variable_error(parameter, "parameter-space", message, help);
        }
    }

    pub(super) fn prototype(&mut self, prototype: &'m CallPrototype) {
        for parameter in prototype.returns.iter().chain(&prototype.params) {
            self.check_alignment(parameter);
            self.device_parameter(parameter);
        }
    }

    pub(super) fn alias(&mut self, alias: &Name, aliasee: &Name) {
        self.function_name(&alias.node, alias.span);
        self.function_name(&aliasee.node, aliasee.span);
    }

    /// Looks up a name that must be a device function's.
    pub(super) fn function_name(&mut self, name: &str, span: Span) {
        match self.scopes.function(name) {
            Some(Symbol::Function(function)) if function.kind == FunctionKind::Device => {}
            Some(Symbol::Function(_)) => self.report_kernel_called(name, span),
            _ => self.report_unknown_function(name, span),
        }
    }

    fn report_kernel_called(&mut self, name: &str, span: Span) {
        self.report(
            Diagnostic::error("kernel-called", span, format!("`{name}` is a kernel"))
                .label("only device functions can be called")
                .help("move what both need into a `.func`"),
        );
    }

    fn report_unknown_function(&mut self, name: &str, span: Span) {
        let near = match self.is_full() {
            true => None,
            false => warploom_diag::nearest(name, self.scopes.functions()),
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it above, e.g. `.extern .func {name};`"),
        };
        self.report(
            Diagnostic::error(
                "undefined-name",
                span,
                format!("there is no function `{name}`"),
            )
            .label("unknown function")
            .help(help),
        );
    }

    /// Checks `call (returns), target, (params), table;`. Both lists and the table are optional.
    pub(super) fn call(&mut self, instruction: &'m Instruction) {
        let mut operands = instruction.operands.as_slice();
        let returns = take_list(&mut operands);
        let Some((target, rest)) = operands.split_first() else {
            return self.call_shape(instruction.opcode.span);
        };
        operands = rest;
        let params = take_list(&mut operands);
        let table = operands.first();
        let Operand::Name(name) = &target.node else {
            return self.call_shape(target.span);
        };
        let odd = operands
            .iter()
            .skip(1)
            .chain(table.filter(|t| !matches!(t.node, Operand::Name(_))));
        if let Some(odd) = odd.last() {
            return self.call_shape(odd.span);
        }
        for argument in returns.iter().chain(params) {
            self.call_argument(argument);
        }
        let signature = match self.scopes.find(name) {
            Some(Symbol::Register { .. }) => match table {
                Some(table) => self.table_signature(table),
                None => return self.call_needs_table(target.span),
            },
            Some(Symbol::Function(function)) if function.kind == FunctionKind::Entry => {
                return self.report_kernel_called(name, target.span);
            }
            Some(Symbol::Function(function)) => Some(Signature {
                name: name.clone(),
                span: Some(function.name.span),
                returns: &function.returns,
                params: &function.params,
            }),
            _ => return self.report_unknown_function(name, target.span),
        };
        if let Some(signature) = signature {
            self.compare_call(
                &signature,
                target.span,
                "return value",
                returns,
                signature.returns,
            );
            self.compare_call(
                &signature,
                target.span,
                "parameter",
                params,
                signature.params,
            );
        }
    }

    fn call_shape(&mut self, span: Span) {
        self.report(
            Diagnostic::error(
                "bad-call",
                span,
                "a call names a function and lists in parentheses",
            )
            .label("not of that shape")
            .help("write `call (result), function, (argument, ...);`"),
        );
    }

    fn call_needs_table(&mut self, span: Span) {
        self.report(
            Diagnostic::error("bad-call", span, "an indirect call needs a prototype")
                .label("the register alone does not say what it takes")
                .help("add the name of a `.callprototype` or `.calltargets` as the last operand"),
        );
    }

    fn table_signature(&mut self, table: &'m Spanned<Operand>) -> Option<Signature<'m>> {
        let Operand::Name(name) = &table.node else {
            self.call_shape(table.span);
            return None;
        };
        match self.resolve(name, table.span)? {
            Symbol::Prototype(prototype) => Some(Signature {
                name: name.clone(),
                span: Some(prototype.name.span),
                returns: &prototype.returns,
                params: &prototype.params,
            }),
            Symbol::CallTable => None,
            Symbol::Function(function) => Some(Signature {
                name: name.clone(),
                span: Some(function.name.span),
                returns: &function.returns,
                params: &function.params,
            }),
            other => {
                let message = format!("`{name}` is {}", other.describe());
                self.report(
                    Diagnostic::error("bad-call", table.span, message)
                        .label("expected a prototype")
                        .help("name a `.callprototype` or `.calltargets`"),
                );
                None
            }
        }
    }

    fn call_argument(&mut self, argument: &'m Spanned<Operand>) {
        match &argument.node {
            Operand::Name(_) | Operand::Immediate(_) | Operand::Sink => self.any(argument),
            _ => self.call_shape(argument.span),
        }
    }

    fn compare_call(
        &mut self,
        signature: &Signature<'m>,
        at: Span,
        what: &str,
        given: &'m [Spanned<Operand>],
        wanted: &'m [Variable],
    ) {
        let name = &signature.name;
        if given.len() != wanted.len() {
            let plural = if wanted.len() == 1 { "" } else { "s" };
            let message = format!(
                "`{name}` has {} {what}{plural}, the call gives {}",
                wanted.len(),
                given.len()
            );
            let mut diagnostic = Diagnostic::error("call-arity", at, message).label("called here");
            if let Some(span) = signature.span {
                diagnostic = diagnostic.and(span, "declared here");
            }
            let help = format!("list exactly the {what}s of the declaration");
            return self.report(diagnostic.help(help));
        }
        for (argument, parameter) in given.iter().zip(wanted) {
            self.compare_argument(argument, parameter);
        }
    }

    /// Compares an argument with its parameter: widths must agree, and arrays must have the same
    /// size.
    fn compare_argument(&mut self, argument: &Spanned<Operand>, parameter: &Variable) {
        let Operand::Name(name) = &argument.node else {
            return;
        };
        let given = match self.scopes.find(name) {
            Some(Symbol::Register { ty, vector, .. }) => Some(u64::from(ty.bytes() * vector)),
            Some(Symbol::Variable(variable)) if variable.space == Space::Param => size(variable),
            _ => return,
        };
        let wanted = size(parameter);
        // An array without an extent accepts any size.
        if wanted == Some(0) || given == wanted {
            return;
        }
        if let (Some(given), Some(wanted)) = (given, wanted) {
            let message = format!("`{name}` has {given} bytes, the parameter {wanted}");
            self.report(
                Diagnostic::error("call-type", argument.span, message)
                    .label("wrong size")
                    .and(parameter.name.span, "the parameter")
                    .help("pass a value of the declared size"),
            );
        }
    }
}

/// Takes a leading list, if there is one.
fn take_list<'a>(operands: &mut &'a [Spanned<Operand>]) -> &'a [Spanned<Operand>] {
    let Some((first, rest)) = operands.split_first() else {
        return &[];
    };
    let Operand::List(list) = &first.node else {
        return &[];
    };
    *operands = rest;
    list
}

fn size(variable: &Variable) -> Option<u64> {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
    variable.dims.iter().try_fold(element, |size, extent| {
        size.checked_mul(extent.unwrap_or(0))
    })
}

fn same_signature(a: &Function, b: &Function) -> bool {
    let same = |a: &[Variable], b: &[Variable]| {
        let shape = |v: &Variable| (v.space, v.ty, v.vector, v.dims.clone());
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| shape(a) == shape(b))
    };
    a.kind == b.kind && same(&a.returns, &b.returns) && same(&a.params, &b.params)
}
