//! Syntax tree of a PTX file with source spans. The tree resolves no names and does not know the
//! IR. `parse(print(parse(x))) == parse(x)`; equality ignores spans.
//!
//! An instruction has the shape that PTX gives it: an opcode with modifiers and operands. The table
//! in `forms` says which combinations exist.

use crate::tokens::{Modifier, Opcode, ScalarType, Space};
use warploom_diag::Span;

/// Value with its span in the source. Equality ignores the span.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// Value without its span.
    pub node: T,
    /// Span of the value's text.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// Identifier as it is written.
pub type Name = Spanned<String>;

/// Content of one PTX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Version as `.version major.minor` states it.
    pub version: (u32, u32),
    /// Target and its options (`.target`), as written.
    pub target: Vec<Name>,
    /// Width of addresses in bits (`.address_size`). Without the directive, 64 if only 64-bit
    /// registers address global memory, else 32.
    pub address_bits: u32,
    /// All other items in order.
    pub items: Vec<Item>,
}

impl Module {
    /// Number of the architecture, such as 75 for `sm_75`; `None` without a known target.
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

/// Item at file level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A variable in `.global`, `.const`, `.shared` or `.tex`, or a `.texref`, `.samplerref` or
    /// `.surfref`.
    Variable(Variable),
    /// A kernel or device function, declared or defined.
    Function(Function),
    /// Second name of a function: `.alias a, b;`
    Alias(Name, Name),
    /// A directive without meaning for simulation (`.file`, `.section`, `.loc`, `.pragma`), kept as
    /// written.
    Kept(Kept),
}

/// Text of a directive that is kept and printed again, with white space folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept(pub Spanned<String>);

/// Visibility of a symbol to other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Visible in this file only.
    #[default]
    Internal,
    /// Visible to all files: `.visible`.
    Visible,
    /// Defined in another file: `.extern`.
    Extern,
    /// Visible, may be defined again: `.weak`.
    Weak,
    /// Visible, merged with others: `.common`.
    Common,
}

/// Kind of a function: `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Kernel, which a launch starts.
    Entry,
    /// Device function, which other functions call.
    Device,
}

/// Kernel or device function, declared or defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Visibility to other files.
    pub linkage: Linkage,
    /// Kind: kernel or device function.
    pub kind: FunctionKind,
    /// Name of the function.
    pub name: Name,
    /// Return parameters of a device function.
    pub returns: Vec<Variable>,
    /// Parameters in order of declaration.
    pub params: Vec<Variable>,
    /// Directives between header and body, such as `.maxntid`.
    pub directives: Vec<FunctionDirective>,
    /// True with the directive `.noreturn`.
    pub no_return: bool,
    /// Body of the function; absent in a declaration.
    pub body: Option<Body>,
}

/// Directive between a function's header and its body.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDirective {
    /// `.maxntid x, y, z`
    MaxThreads([u32; 3]),
    /// `.reqntid x, y, z`
    RequiredThreads([u32; 3]),
    /// Fewest blocks per SM: `.minnctapersm n`.
    MinBlocksPerSm(u32),
    /// Most blocks per SM: `.maxnctapersm n`.
    MaxBlocksPerSm(u32),
    /// Most registers per thread: `.maxnreg n`.
    MaxRegisters(u32),
    /// Blocks of a cluster along each axis: `.reqnctapercluster x, y, z`.
    RequiredCluster([u32; 3]),
    /// Most blocks of a cluster: `.maxclusterrank n`.
    MaxClusterRank(u32),
    /// Launches must state the extents of clusters: `.explicitcluster`.
    ExplicitCluster,
    /// Launches state the extents of the grid in clusters: `.blocksareclusters`.
    BlocksAreClusters,
    /// Any other directive (`.pragma`, `.unique`), kept as written.
    Kept(Kept),
}

/// Statements between two braces.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Body {
    /// Statements in the order of the text.
    pub statements: Vec<Statement>,
}

/// Statement in a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Label of the next statement: `name:`.
    Label(Name),
    /// Declaration in `.reg`, `.local`, `.shared`, `.param` and so on.
    Variable(Variable),
    /// Instruction with its operands.
    Instruction(Instruction),
    /// Nested braces, which are a scope of their own.
    Block(Body),
    /// Table of labels: `name: .branchtargets a, b;`
    BranchTargets(Name, Vec<Name>),
    /// Table of functions: `name: .calltargets f, g;`
    CallTargets(Name, Vec<Name>),
    /// Signature of indirect calls: `name: .callprototype ...;`
    CallPrototype(CallPrototype),
    /// Directive such as `.loc` or `.pragma`, kept as written.
    Kept(Kept),
}

/// Signature of an indirect call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallPrototype {
    /// Label of the prototype.
    pub name: Name,
    /// Return parameters in order.
    pub returns: Vec<Variable>,
    /// Parameters in order of declaration.
    pub params: Vec<Variable>,
    /// True with the directive `.noreturn`.
    pub no_return: bool,
}

/// Declaration of one variable. A list such as `.reg .b32 a, b;` is one `Variable` per name.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Visibility to other files.
    pub linkage: Linkage,
    /// State space of the variable.
    pub space: Space,
    /// Alignment in bytes, if `.align n` states it.
    pub align: Option<u32>,
    /// Elements of a vector: 2 or 4 with `.v2` or `.v4`, else 1.
    pub vector: u32,
    /// Type of an element. Without meaning for `.texref`, `.samplerref` and `.surfref`, whose kind
    /// is `opaque`.
    pub ty: ScalarType,
    /// Opaque type, if the variable is a `.texref` or the like.
    pub opaque: Option<Opaque>,
    /// Name of the variable; `_` for a parameter that PTX allows to have none.
    pub name: Name,
    /// Number of registers of a family: `%r<12>` declares `%r0` to `%r11`.
    pub count: Option<u32>,
    /// Extents of an array; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    /// Attribute `.ptr` of a kernel parameter, with the memory that it points to.
    pub pointer: Option<PointerAttribute>,
    /// Attributes such as `.attribute(.managed)`, kept as written.
    pub attributes: Option<Kept>,
    /// Initial value, if one is written.
    pub init: Option<Initializer>,
}

/// Opaque type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// Reference to a texture: `.texref`.
    Texture,
    /// Reference to a sampler: `.samplerref`.
    Sampler,
    /// Reference to a surface: `.surfref`.
    Surface,
}

/// Attribute of a pointer: `.ptr .space .align n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerAttribute {
    /// Space that the pointer points to; `None` for generic.
    pub space: Option<Space>,
    /// Promised alignment in bytes.
    pub align: Option<u32>,
}

/// Initial value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// Value of a scalar.
    Value(Spanned<Constant>),
    /// List in braces, nested like the dimensions.
    List(Vec<Initializer>),
    /// Fields of a texture reference or sampler: `{ filter_mode = nearest, ... }`.
    Fields(Vec<(Name, Spanned<FieldValue>)>),
}

/// Value of a field of a texture reference or sampler.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// Word such as `nearest` or `clamp_to_border`.
    Word(String),
    /// Number or flag of a field.
    Int(u64),
}

/// Constant at compile time. The parser folds literals and constant expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// Integer in two's complement; the flag says that it is unsigned.
    Int(u64, bool),
    /// Bits of an f32: `0f3F800000`.
    F32(u32),
    /// Bits of an f64: `0d3FF0000000000000` or a decimal literal.
    F64(u64),
    /// Address of a symbol plus an offset.
    Symbol {
        /// Name of the symbol.
        name: String,
        /// Offset in bytes from it.
        offset: i64,
        /// True if written as `generic(name)`.
        generic: bool,
    },
    /// A byte of an address as a `.u8`: `0xFF00(symbol+offset)` (PTX ISA 7.1).
    MaskedSymbol {
        /// Mask that selects the byte of the address, such as 0xFF00.
        mask: u64,
        /// Name of the symbol.
        name: String,
        /// Offset in bytes from it.
        offset: i64,
        /// True if written as `generic(name)`.
        generic: bool,
    },
}

/// Guard of an instruction: `@p` or `@!p`.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// True for `@!p`, a negated guard.
    pub negated: bool,
    /// Name of the predicate register.
    pub name: Name,
}

/// Instruction with its guard, modifiers and operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Guard `@p` or `@!p`, if there is one.
    pub guard: Option<Guard>,
    /// Mnemonic before the first dot.
    pub opcode: Spanned<Opcode>,
    /// Dotted modifiers after the mnemonic, in order.
    pub modifiers: Vec<Spanned<Modifier>>,
    /// Operands in order. `call` has its lists as `Operand::List`.
    pub operands: Vec<Spanned<Operand>>,
}

impl PartialEq<Opcode> for Spanned<Opcode> {
    fn eq(&self, other: &Opcode) -> bool {
        self.node == *other
    }
}

/// Operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Name of a register, special register, label, function or variable.
    Name(String),
    /// Negated predicate as source: `!p`.
    Not(String),
    /// Constant value. PTX has no `-r`: a negative literal is an immediate.
    Immediate(Constant),
    /// Address of a symbol plus an offset, used as a value: `sym+4`.
    NameOffset(String, i64),
    /// Two destinations `p|q`, either of which may be `_`.
    Pair(String, String),
    /// Destination that discards the value: `_`.
    Sink,
    /// Element 0 to 3 of a vector register: `v.x`, `v.r`.
    Element(String, u32),
    /// Vector of operands: `{a, b, c, d}`.
    Vector(Vec<Spanned<Operand>>),
    /// Memory operand `[base+offset]`. The further operands of a texture, as in `[base, {coords}]`,
    /// are in `rest`.
    Address(Address),
    /// List `(a, b)` of a `call`.
    List(Vec<Spanned<Operand>>),
    /// Texture result with its residency predicate: `{a, b, c, d}|p`.
    VectorPair(Vec<Spanned<Operand>>, String),
    /// Element of an array variable: `a[4]`, `a[i]`, `a[i+1]`. Indices count elements.
    Indexed {
        /// Name of the array.
        array: String,
        /// Register that holds the index, if there is one.
        index: Option<String>,
        /// Elements added to the index.
        offset: i64,
    },
    /// Register of a video instruction with the selector of a part: `a.b0`, `-c`, `d.h10`.
    Selected {
        /// Name of the register.
        name: String,
        /// True for `-`, which negates the addend of `vmad`.
        negated: bool,
        /// Selector without its dot: `b0`, `h10`, `b7610`.
        selector: Option<String>,
    },
}

/// Memory operand in square brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Base: a register, a symbol or an absolute address.
    pub base: Spanned<AddressBase>,
    /// Offset in bytes from it.
    pub offset: i64,
    /// Further operands in the brackets: sampler and coordinates.
    pub rest: Vec<Spanned<Operand>>,
}

/// Base of an address.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// Name of a register or of a variable.
    Name(String),
    /// Absolute address in bytes.
    Absolute(u64),
}
