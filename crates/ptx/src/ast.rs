//! The syntax tree: what a PTX file says, with the place of every part. It resolves no names and
//! knows no IR. `parse(print(parse(x))) == parse(x)`: equality ignores spans.
//!
//! An instruction is kept in the shape that PTX gives it, an opcode with modifiers and operands;
//! what combinations exist is the business of the table in `forms`.

use crate::tokens::{Modifier, Opcode, ScalarType, Space};
use warploom_diag::Span;

/// A value with its place in the source. Equality ignores the place.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Where it stands.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// An identifier as written.
pub type Name = Spanned<String>;

/// One PTX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target` and its options, as written.
    pub target: Vec<Name>,
    /// `.address_size`. Where it is absent: 64 if registers of 64 bits alone hold addresses of
    /// global memory, else 32.
    pub address_bits: u32,
    /// Everything else, in order.
    pub items: Vec<Item>,
}

impl Module {
    /// The number of `sm_75`; `None` when no target is one that we know.
    pub fn architecture(&self) -> Option<u32> {
        let numbers = self.target.iter().filter_map(|name| {
            let digits = name.node.strip_prefix("sm_")?;
            digits
                .trim_end_matches(|c: char| c.is_ascii_lowercase())
                .parse()
                .ok()
        });
        numbers.max()
    }
}

/// What stands at file level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A variable in `.global`, `.const`, `.shared` or `.tex`, or a
    /// `.texref`/`.samplerref`/`.surfref`.
    Variable(Variable),
    /// A kernel or device function, declared or defined.
    Function(Function),
    /// `.alias a, b;`
    Alias(Name, Name),
    /// A directive without meaning for simulation (`.file`, `.section`, `.loc`, `.pragma`), kept as
    /// written.
    Kept(Kept),
}

/// Text of a directive that is read, kept and printed again, white space folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept(pub Spanned<String>);

/// Who may see a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linkage {
    /// This file only.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A kernel.
    Entry,
    /// A device function.
    Device,
}

/// A kernel or device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Who may see it.
    pub linkage: Linkage,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Name,
    /// Return parameters of a device function.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.maxntid` and other directives between header and body.
    pub directives: Vec<FunctionDirective>,
    /// `.noreturn`
    pub no_return: bool,
    /// The body; absent in a declaration.
    pub body: Option<Body>,
}

/// Directives between a function's header and its body.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDirective {
    /// `.maxntid x, y, z`
    MaxThreads([u32; 3]),
    /// `.reqntid x, y, z`
    RequiredThreads([u32; 3]),
    /// `.minnctapersm n`
    MinBlocksPerSm(u32),
    /// `.maxnctapersm n`
    MaxBlocksPerSm(u32),
    /// `.maxnreg n`
    MaxRegisters(u32),
    /// Anything else (`.pragma`, cluster directives, `.unique`), kept as written.
    Kept(Kept),
}

/// Statements between braces.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Body {
    /// In order.
    pub statements: Vec<Statement>,
}

/// A statement in a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `name:`
    Label(Name),
    /// A declaration: `.reg`, `.local`, `.shared`, `.param` ...
    Variable(Variable),
    /// An instruction.
    Instruction(Instruction),
    /// Nested braces, a scope of their own.
    Block(Body),
    /// `name: .branchtargets a, b;`
    BranchTargets(Name, Vec<Name>),
    /// `name: .calltargets f, g;`
    CallTargets(Name, Vec<Name>),
    /// `name: .callprototype ...;`
    CallPrototype(CallPrototype),
    /// `.loc`, `.pragma` and the like, kept as written.
    Kept(Kept),
}

/// The signature of an indirect call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallPrototype {
    /// Its label.
    pub name: Name,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.noreturn`
    pub no_return: bool,
}

/// A declaration of one variable (a list `.reg .b32 a, b;` is one `Variable` per name).
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Who may see it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align n`
    pub align: Option<u32>,
    /// `.v2`, `.v4` (2, 4); 1 otherwise.
    pub vector: u32,
    /// Element type; `None` for `.texref`, `.samplerref` and `.surfref`, whose kind is `opaque`.
    pub ty: ScalarType,
    /// `.texref` and the like.
    pub opaque: Option<Opaque>,
    /// Its name; `_` where PTX lets a parameter go without.
    pub name: Name,
    /// `%r<12>` declares `%r0` to `%r11`.
    pub count: Option<u32>,
    /// Array extents; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    /// `.ptr` and what it points to, of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    /// `.attribute(.managed)` and the like, kept as written.
    pub attributes: Option<Kept>,
    /// Initial value.
    pub init: Option<Initializer>,
}

/// Opaque types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

/// `.ptr .space .align n`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerAttribute {
    /// Space pointed to; generic if absent.
    pub space: Option<Space>,
    /// Alignment promised.
    pub align: Option<u32>,
}

/// Initial value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// One value.
    Value(Spanned<Constant>),
    /// `{ ... }`, nested as the dimensions are.
    List(Vec<Initializer>),
    /// `{ filter_mode = nearest, ... }` of a texture reference or sampler.
    Fields(Vec<(Name, Spanned<FieldValue>)>),
}

/// What a field of a texture reference or sampler is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// `nearest`, `clamp_to_border` and the like.
    Word(String),
    /// A number or flag.
    Int(u64),
}

/// A compile-time constant: literals and constant expressions are folded by the parser.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// An integer literal or expression, two's complement; the flag says unsigned.
    Int(u64, bool),
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal literal: the bits of an f64.
    F64(u64),
    /// Address of a symbol plus an offset; `generic(sym)` sets the flag.
    Symbol {
        /// The symbol.
        name: String,
        /// Bytes added.
        offset: i64,
        /// Written `generic(name)`.
        generic: bool,
    },
    /// `0xFF00(symbol+offset)`: one byte of an address, as a `.u8` (PTX ISA 7.1).
    MaskedSymbol {
        /// The mask, e.g. 0xFF00: which byte of the address.
        mask: u64,
        /// The symbol.
        name: String,
        /// Bytes added.
        offset: i64,
        /// Written `generic(name)`.
        generic: bool,
    },
}

/// `@p` or `@!p`.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// `!`
    pub negated: bool,
    /// The predicate register.
    pub name: Name,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@p`, `@!p`.
    pub guard: Option<Guard>,
    /// Base mnemonic.
    pub opcode: Spanned<Opcode>,
    /// What follows with dots, in order.
    pub modifiers: Vec<Spanned<Modifier>>,
    /// In order; `call` keeps its lists as `Operand::List`.
    pub operands: Vec<Spanned<Operand>>,
}

impl PartialEq<Opcode> for Spanned<Opcode> {
    fn eq(&self, other: &Opcode) -> bool {
        self.node == *other
    }
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, special register (`%tid.x`), label, function or variable name.
    Name(String),
    /// `!p`
    Not(String),
    /// `-r` does not exist in PTX; a negative literal is an immediate.
    Immediate(Constant),
    /// `sym+4` as a value.
    NameOffset(String, i64),
    /// `p|q`: two destinations; either may be `_`.
    Pair(String, String),
    /// `_`
    Sink,
    /// `v.x`, `v.r`: element of a vector register, 0 to 3.
    Element(String, u32),
    /// `{a, b, c, d}`
    Vector(Vec<Spanned<Operand>>),
    /// `[base+offset]`; `[base, {coords}]` of textures puts the rest in `rest`.
    Address(Address),
    /// `(a, b)` of `call`.
    List(Vec<Spanned<Operand>>),
    /// `{a, b, c, d}|p`: a texture result with its residency predicate.
    VectorPair(Vec<Spanned<Operand>>, String),
    /// `a[4]`, `a[i]`, `a[i+1]`: an element of an array variable, index in elements.
    Indexed {
        /// The array.
        array: String,
        /// A register that holds the index, if any.
        index: Option<String>,
        /// Elements added to it.
        offset: i64,
    },
    /// `a.b0`, `-c`, `d.h10`: a register of a video instruction with its sub-word selector.
    Selected {
        /// The register.
        name: String,
        /// `-`, of the addend of `vmad`.
        negated: bool,
        /// Without its dot: `b0`, `h10`, `b7610`.
        selector: Option<String>,
    },
}

/// A memory operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Register, symbol or absolute address.
    pub base: Spanned<AddressBase>,
    /// Bytes added.
    pub offset: i64,
    /// Further operands inside the brackets: sampler, coordinates.
    pub rest: Vec<Spanned<Operand>>,
}

/// What an address starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// A register or a variable.
    Name(String),
    /// An absolute address.
    Absolute(u64),
}
