//! Printer: the syntax tree as text, in the layout of NVIDIA's compilers.
//!
//! Invariant: for a tree that was parsed without errors, `parse(print(tree)) == tree`. Every
//! constant has one canonical form: integers are decimal, with `U` if unsigned; floats are exact.

use crate::ast::{
    Address, AddressBase, Body, CallPrototype, Constant, FieldValue, Function, FunctionDirective,
    FunctionKind, Guard, Initializer, Instruction, Item, Kept, Linkage, Module, Name, Opaque,
    Operand, PointerAttribute, Spanned, Statement, Variable,
};
use std::fmt::{self, Display, Formatter};

/// Prints a module as text.
pub fn print(module: &Module) -> String {
    module.to_string()
}

/// Writes items with a separator between them.
fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

impl<T: Display> Display for Spanned<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        if !self.target.is_empty() {
            f.write_str(".target ")?;
            separated(f, &self.target, ", ")?;
            f.write_str("\n")?;
        }
        writeln!(f, ".address_size {}\n", self.address_bits)?;
        for item in &self.items {
            match item {
                Item::Variable(variable) => writeln!(f, "{variable};")?,
                Item::Function(function) => writeln!(f, "{function}")?,
                Item::Alias(alias, aliasee) => writeln!(f, ".alias {alias}, {aliasee};")?,
                Item::Kept(kept) => writeln!(f, "{kept}")?,
            }
        }
        Ok(())
    }
}

impl Display for Kept {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Prints a linkage with a blank after it; nothing for internal linkage.
impl Display for Linkage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Internal => "",
            Self::Visible => ".visible ",
            Self::Extern => ".extern ",
            Self::Weak => ".weak ",
            Self::Common => ".common ",
        })
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Device => ".func",
        };
        write!(f, "{}{kind} ", self.linkage)?;
        for directive in self.directives.iter().filter(|d| stands_before_name(d)) {
            write!(f, "{directive} ")?;
        }
        if !self.returns.is_empty() {
            f.write_str("(")?;
            separated(f, &self.returns, ", ")?;
            f.write_str(") ")?;
        }
        write!(f, "{}(", self.name)?;
        if !self.params.is_empty() {
            f.write_str("\n\t")?;
            separated(f, &self.params, ",\n\t")?;
            f.write_str("\n")?;
        }
        f.write_str(")")?;
        if self.no_return {
            f.write_str("\n.noreturn")?;
        }
        for directive in self.directives.iter().filter(|d| !stands_before_name(d)) {
            write!(f, "\n{directive}")?;
        }
        match &self.body {
            Some(body) => {
                f.write_str("\n")?;
                print_body(f, body, 0)
            }
            None => f.write_str(";"),
        }
    }
}

fn stands_before_name(directive: &FunctionDirective) -> bool {
    matches!(directive, FunctionDirective::Kept(kept) if kept.0.node.starts_with(".attribute"))
}

impl Display for FunctionDirective {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxThreads([x, y, z]) => write!(f, ".maxntid {x}, {y}, {z}"),
            Self::RequiredThreads([x, y, z]) => write!(f, ".reqntid {x}, {y}, {z}"),
            Self::MinBlocksPerSm(count) => write!(f, ".minnctapersm {count}"),
            Self::MaxBlocksPerSm(count) => write!(f, ".maxnctapersm {count}"),
            Self::MaxRegisters(count) => write!(f, ".maxnreg {count}"),
            Self::RequiredCluster([x, y, z]) => write!(f, ".reqnctapercluster {x}, {y}, {z}"),
            Self::MaxClusterRank(count) => write!(f, ".maxclusterrank {count}"),
            Self::ExplicitCluster => f.write_str(".explicitcluster"),
            Self::BlocksAreClusters => f.write_str(".blocksareclusters"),
            Self::Kept(kept) => kept.fmt(f),
        }
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_str("\t"))
}

/// Writes braces and the statements between them, indented by `depth` tabs; labels have one tab
/// less.
fn print_body(f: &mut Formatter<'_>, body: &Body, depth: usize) -> fmt::Result {
    indent(f, depth)?;
    f.write_str("{\n")?;
    for statement in &body.statements {
        print_statement(f, statement, depth)?;
    }
    indent(f, depth)?;
    f.write_str("}\n")
}

fn print_statement(f: &mut Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
    if let Statement::Block(body) = statement {
        return print_body(f, body, depth + 1);
    }
    indent(
        f,
        depth + usize::from(!matches!(statement, Statement::Label(_))),
    )?;
    match statement {
        Statement::Label(name) => writeln!(f, "{name}:"),
        Statement::Variable(variable) => writeln!(f, "{variable};"),
        Statement::Instruction(instruction) => writeln!(f, "{instruction}"),
        Statement::Block(_) => Ok(()),
        Statement::BranchTargets(name, labels) => print_table(f, name, ".branchtargets", labels),
        Statement::CallTargets(name, labels) => print_table(f, name, ".calltargets", labels),
        Statement::CallPrototype(prototype) => writeln!(f, "{prototype}"),
        Statement::Kept(kept) => writeln!(f, "{kept}"),
    }
}

fn print_table(f: &mut Formatter<'_>, name: &Name, word: &str, names: &[Name]) -> fmt::Result {
    write!(f, "{name}: {word} ")?;
    separated(f, names, ", ")?;
    f.write_str(";\n")
}

impl Display for CallPrototype {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: .callprototype ", self.name)?;
        if !self.returns.is_empty() {
            f.write_str("(")?;
            separated(f, &self.returns, ", ")?;
            f.write_str(") ")?;
        }
        f.write_str("_ (")?;
        separated(f, &self.params, ", ")?;
        f.write_str(if self.no_return { ") .noreturn;" } else { ");" })
    }
}

impl Display for Opaque {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Texture => ".texref",
            Self::Sampler => ".samplerref",
            Self::Surface => ".surfref",
        })
    }
}

impl Display for PointerAttribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".ptr")?;
        if let Some(space) = self.space {
            write!(f, " .{space}")?;
        }
        match self.align {
            Some(align) => write!(f, " .align {align}"),
            None => Ok(()),
        }
    }
}

/// Prints a declaration without its semicolon.
impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.linkage)?;
        if let Some(attributes) = &self.attributes {
            write!(f, "{attributes} ")?;
        }
        write!(f, ".{} ", self.space)?;
        if let Some(align) = self.align {
            write!(f, ".align {align} ")?;
        }
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        match self.opaque {
            Some(opaque) => write!(f, "{opaque} ")?,
            None => write!(f, ".{} ", self.ty)?,
        }
        if let Some(pointer) = &self.pointer {
            write!(f, "{pointer} ")?;
        }
        write!(f, "{}", self.name)?;
        if let Some(count) = self.count {
            write!(f, "<{count}>")?;
        }
        for extent in &self.dims {
            match extent {
                Some(extent) => write!(f, "[{extent}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.init {
            Some(init) => write!(f, " = {init}"),
            None => Ok(()),
        }
    }
}

impl Display for Initializer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => return value.fmt(f),
            Self::List(values) => {
                f.write_str("{")?;
                separated(f, values, ", ")?;
            }
            Self::Fields(fields) => {
                f.write_str("{")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    write!(f, "{separator}{name} = {value}")?;
                }
            }
        }
        f.write_str("}")
    }
}

impl Display for FieldValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Int(value) => value.fmt(f),
        }
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value, true) => write!(f, "{value}U"),
            // The magnitude alone would be parsed as unsigned.
            Self::Int(value, false) if *value as i64 == i64::MIN => {
                write!(f, "{}-1", i64::MIN + 1)
            }
            Self::Int(value, false) => write!(f, "{}", *value as i64),
            Self::F32(bits) => write!(f, "0f{bits:08X}"),
            Self::F64(bits) => write!(f, "0d{bits:016X}"),
            Self::Symbol {
                name,
                offset,
                generic,
            } => print_symbol(f, name, *offset, *generic),
            Self::MaskedSymbol {
                mask,
                name,
                offset,
                generic,
            } => {
                write!(f, "0x{mask:X}(")?;
                print_symbol(f, name, *offset, *generic)?;
                f.write_str(")")
            }
        }
    }
}

fn print_symbol(f: &mut Formatter<'_>, name: &str, offset: i64, generic: bool) -> fmt::Result {
    match generic {
        true => write!(f, "generic({name})")?,
        false => f.write_str(name)?,
    }
    print_offset(f, offset)
}

/// Prints an offset; nothing for 0.
fn print_offset(f: &mut Formatter<'_>, offset: i64) -> fmt::Result {
    if offset == 0 {
        Ok(())
    } else {
        write!(f, "+{offset}")
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negated { "!" } else { "" }, self.name)
    }
}

/// Prints an instruction with its semicolon.
impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "{guard} ")?;
        }
        self.opcode.fmt(f)?;
        separated(f, &self.modifiers, "")?;
        if !self.operands.is_empty() {
            f.write_str(" \t")?;
            separated(f, &self.operands, ", ")?;
        }
        f.write_str(";")
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Not(name) => write!(f, "!{name}"),
            Self::Immediate(constant) => constant.fmt(f),
            Self::NameOffset(name, offset) => write!(f, "{name}+{offset}"),
            Self::Pair(first, second) => write!(f, "{first}|{second}"),
            Self::Sink => f.write_str("_"),
            Self::Element(name, element) => {
                write!(f, "{name}.{}", ["x", "y", "z", "w"][*element as usize])
            }
            Self::Vector(elements) => print_list(f, "{", elements, "}"),
            Self::Address(address) => address.fmt(f),
            Self::List(operands) => print_list(f, "(", operands, ")"),
            Self::VectorPair(elements, predicate) => {
                print_list(f, "{", elements, "}")?;
                write!(f, "|{predicate}")
            }
            Self::Indexed {
                array,
                index: Some(index),
                offset,
            } => {
                write!(f, "{array}[{index}")?;
                print_offset(f, *offset)?;
                f.write_str("]")
            }
            Self::Indexed {
                array,
                index: None,
                offset,
            } => write!(f, "{array}[{offset}]"),
            Self::Selected {
                name,
                negated,
                selector,
            } => {
                write!(f, "{}{name}", if *negated { "-" } else { "" })?;
                match selector {
                    Some(selector) => write!(f, ".{selector}"),
                    None => Ok(()),
                }
            }
        }
    }
}

fn print_list(
    f: &mut Formatter<'_>,
    open: &str,
    operands: &[Spanned<Operand>],
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    separated(f, operands, ", ")?;
    f.write_str(close)
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.base.node {
            AddressBase::Name(name) => write!(f, "[{name}")?,
            AddressBase::Absolute(address) => write!(f, "[{address}")?,
        }
        print_offset(f, self.offset)?;
        for operand in &self.rest {
            write!(f, ", {operand}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use crate::{parse, print};
    use warploom_diag::Source;

    #[test]
    fn the_layout_is_that_of_the_compilers() {
        let text = "
            .version 8.0 .target sm_75, debug .global .align 4 .u32 a [ 2 ] = { 1U , -2 } ; // gone
            .visible .entry k ( .param .u64 .ptr .global p , .param .f32 f ) .maxntid 64
            { .reg .b32 %r<4>; .reg .pred q; loop:
              @!q ld.global.v2.u32 { %r1 , _ } , [ %r2 + 0x10 ] ;
              { mov.f32 %r3 , 1.0 ; } @q bra loop ; call ( %r1 ) , g , ( %r2 , - 5 ) ; ret ; }";
        let (module, diagnostics) = parse(&Source::new("t", text));
        assert!(diagnostics.is_empty());
        let expected = [
            ".version 8.0",
            ".target sm_75, debug",
            ".address_size 32",
            "",
            ".global .align 4 .u32 a[2] = {1U, -2};",
            ".visible .entry k(",
            "\t.param .u64 .ptr .global p,",
            "\t.param .f32 f",
            ")",
            ".maxntid 64, 1, 1",
            "{",
            "\t.reg .b32 %r<4>;",
            "\t.reg .pred q;",
            "loop:",
            "\t@!q ld.global.v2.u32 \t{%r1, _}, [%r2+16];",
            "\t{",
            "\t\tmov.f32 \t%r3, 0d3FF0000000000000;",
            "\t}",
            "\t@q bra \tloop;",
            "\tcall \t(%r1), g, (%r2, -5);",
            "\tret;",
            "}",
        ];
        assert_eq!(print(&module).trim_end(), expected.join("\n"));
    }
}
