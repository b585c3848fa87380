//! A kernel ready to run, and the module that it came from.

use crate::asynchronous::CopyWait;
use crate::contexts::UNIT_BYTES;
use crate::inst::{Dst, Inst, Reg, Src};
use crate::matrix::Mma;
use crate::op::{Op, SystemCall};
use crate::unit::Unit;
use std::ops::Range;
use warploom_base::Pc;
use warploom_diag::Diagnostics;

/// Start of the generic window onto a block's shared memory.
pub const SHARED_WINDOW: u64 = 0x0100_0000;
/// Bytes of the generic window onto shared memory.
pub const SHARED_WINDOW_BYTES: u64 = 0x0100_0000;
/// Start of the generic window onto a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0200_0000;
/// Bytes of the generic window onto local memory.
pub const LOCAL_WINDOW_BYTES: u64 = 0x0200_0000;
/// Start of the generic window onto a launch's parameters.
pub const PARAM_WINDOW: u64 = 0x0400_0000;
/// Bytes of the generic window onto parameters.
pub const PARAM_WINDOW_BYTES: u64 = 0x0001_0000;
/// First address of functions, for calls through a register: each takes [`FUNCTION_BYTES`].
pub const FUNCTION_BASE: u64 = 0x0800_0000;
/// Distance between the addresses of two functions of a module.
pub const FUNCTION_BYTES: u64 = 16;
/// Bytes of a thread's stack for frames that move and for what `alloca` takes.
pub const STACK_BYTES: u32 = 64 << 10;
/// First address of constant memory. `.const` addresses are generic addresses.
pub const CONST_BASE: u64 = 0x1000_0000;
/// Bytes set aside for constant memory.
pub const CONST_BYTES: u64 = 0x1000_0000;
/// First address of global memory, where GPGPU-Sim puts it: published runs keep their addresses.
pub const GLOBAL_BASE: u64 = 0xC000_0000;

/// A lowered PTX file.
#[derive(Clone, Debug)]
pub struct ModuleIr {
    /// Kernels, in the order of the file.
    pub kernels: Vec<Program>,
    /// Kernels that use what is not supported, with the reasons.
    pub refused: Vec<(String, Diagnostics)>,
    /// Variables in global and constant memory.
    pub globals: Vec<GlobalVar>,
    /// Texture, sampler and surface references of file scope, by name.
    pub textures: Vec<String>,
    /// Bits of an address.
    pub address_bits: u32,
}

/// A variable in `.global` or `.const`.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalVar {
    /// Its name.
    pub name: String,
    /// In constant memory.
    pub constant: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Initial bytes, shorter than `bytes` if the rest is zero.
    pub init: Vec<u8>,
    /// Places in `init` that receive an address.
    pub relocations: Vec<Relocation>,
}

/// An address stored in a variable's initial value.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Byte offset in the variable.
    pub at: u64,
    /// Bytes written (4 or 8; 1 with a mask).
    pub bytes: u8,
    /// The variable whose address it is, by index into [`ModuleIr::globals`].
    pub global: u32,
    /// Bytes added.
    pub addend: i64,
    /// `mask(..)`: which byte of the address, as a right shift in bits.
    pub shift: u8,
}

/// A constant operand, broadcast to all lanes once its value is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConstValue {
    /// A literal.
    Bits(u64),
    /// Address of `globals[.0]` plus `.1`, known when the module is loaded.
    Global(u32, i64),
    /// Handle of `textures[.0]`, known when the module is loaded.
    Texture(u32),
}

/// Operands of one instruction that do not fit into it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExtraOperands {
    /// Vector destinations.
    pub dsts: Vec<Dst>,
    /// Vector sources, texture coordinates (PTX order).
    pub srcs: Vec<Src>,
    /// Branch targets of `brx.idx`.
    pub targets: Vec<Pc>,
    /// `call`: the functions that it may reach; by name it is one.
    pub callees: Vec<Callee>,
    /// Which product of matrices.
    pub matrix: Option<Mma>,
}

/// A function that a call may reach, and how it is entered.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Callee {
    /// Its address, for calls through a register.
    pub address: u64,
    /// Its first instruction.
    pub target: Pc,
    /// Bytes copied from the caller's frame to its own before the call: (from, to, bytes).
    pub copies_in: Vec<(u32, u32, u32)>,
    /// Bytes copied the other way after the return.
    pub copies_out: Vec<(u32, u32, u32)>,
    /// The caller's frame moves: its offsets count from where it is.
    pub from_moving: bool,
    /// Where its own frame moves: what it takes of the stack.
    pub frame: Option<Frame>,
}

/// A frame that is made by the call and goes with the return, for a function that one thread may
/// run several times at once, or that takes room while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// Bytes, the kept registers' included.
    pub bytes: u32,
    /// Slots of the caller's 64-bit registers that are kept meanwhile, an even number: all of a
    /// function that may be called again before the callee returns.
    pub kept_wide: Range<u16>,
    /// The same of its 32-bit registers.
    pub kept_narrow: Range<u16>,
    /// Its predicates.
    pub kept_preds: Range<u16>,
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Byte offset in the parameter buffer.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// How a launch may give it.
    pub kind: ParamKind,
}

/// Declared type of a parameter.
#[allow(missing_docs, reason = "width and signedness as declared")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Int {
        bytes: u8,
        signed: bool,
    },
    F16,
    F32,
    F64,
    /// A struct or array by value.
    Bytes,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SourcePos {
    /// Line in the PTX file, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// What kind of work an instruction is: the model decides unit and latency from it.
/// Names follow GPGPU-Sim's opcode classes (docs/model/sm.md, Instruction classes).
#[allow(missing_docs, reason = "named after the work")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstClass {
    IntAdd,
    IntMinMax,
    IntMul,
    IntMad,
    IntDiv,
    IntMul24,
    IntMad24,
    F32Add,
    F32MinMax,
    F32Mul,
    F32Mad,
    F32Div,
    F64Add,
    F64MinMax,
    F64Mul,
    F64Mad,
    F64Div,
    /// sqrt, rsqrt, rcp, sin, cos, ex2, lg2, tanh.
    Sfu,
    Shuffle,
    /// Moves, conversions, logic, shifts, comparisons: one cycle on SP.
    Simple,
    Branch,
    Call,
    Return,
    Exit,
    Barrier,
    Membar,
    /// Asynchronous copy from global to shared memory.
    CopyAsync,
    /// The end of a group of copies.
    CopyCommit,
    CopyWait(CopyWait),
    /// Product of matrices, with its work: see [`Mma::work`].
    Tensor(u8),
    Load(MemClass),
    Store(MemClass),
    Atomic(MemClass),
}

/// Which path of the memory unit an access takes. Generic accesses are resolved when they run.
#[allow(missing_docs, reason = "named after the space")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemClass {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
    Texture,
}

/// What the pipeline must know of an instruction besides its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct InstFacts {
    /// Kind of work.
    pub class: InstClass,
    /// The execution unit whose energy it uses; none of branches, barriers and accesses to memory.
    pub unit: Option<Unit>,
    /// Source operands that are no registers.
    pub other_operands: u8,
    /// Scoreboard entries read, guard and address registers included (see [`Program::score_len`]).
    pub reads: Vec<u16>,
    /// Scoreboard entries written.
    pub writes: Vec<u16>,
    /// Register-file reads for the operand collector: numbers of the registers as GPGPU-Sim numbers
    /// them (its `arch_reg`): the first digits in the name, so `%r5`, `%rd5` and `%p5` are all 5; a
    /// name without digits counts in order of declaration. One entry a source operand, repeated
    /// registers repeated, the address last, the guard left out.
    pub bank_reads: Vec<u16>,
    /// Register-file writes, likewise.
    pub bank_writes: Vec<u16>,
    /// Where the lanes that part here meet again: start of the immediate post-dominator.
    /// `None` for instructions that do not branch, or when paths meet only at the exit.
    pub reconverge: Option<Pc>,
    /// Place in the source.
    pub pos: SourcePos,
}

/// Where a warp may be switched out, and what has to be kept of it meanwhile (GPUDuet, section
/// 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPoint {
    /// The instruction at which the warp goes on.
    pub pc: Pc,
    /// It may be the first to touch a register that a load from global memory has yet to fill.
    pub load: bool,
    /// It comes behind a barrier.
    pub barrier: bool,
    /// 32-bit registers that some lane may still read.
    pub registers: u32,
    /// Of these, those that are proved to be the same in all lanes.
    pub uniform: u32,
    /// Of the others, those that are proved to fit fewer bits.
    pub narrow: u32,
    /// Bytes of their values and of live predicates, compressed.
    pub bytes: u32,
}

impl SwitchPoint {
    /// Units of [`UNIT_BYTES`] that the registers take while the warp is out.
    pub fn units(&self) -> u32 {
        self.bytes.div_ceil(UNIT_BYTES)
    }
}

/// One kernel with every function that it calls, flattened.
#[derive(Clone, Debug)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// Code; execution starts at `Pc(0)`.
    pub insts: Vec<Inst>,
    /// Facts, one per instruction.
    pub facts: Vec<InstFacts>,
    /// Constant operands.
    pub consts: Vec<ConstValue>,
    /// Long operand lists.
    pub extras: Vec<ExtraOperands>,
    /// 32-bit slots of a warp's register file that the code uses (its registers share slots by
    /// liveness: the file is compact, the values are the same).
    pub reg_slots: u16,
    /// Predicate registers.
    pub preds: u16,
    /// Registers per thread that a compiler such as `ptxas` would need: estimated from the
    /// pressure of live ranges.
    pub registers_per_thread: u32,
    /// Parameters.
    pub params: Vec<Param>,
    /// Bytes of the parameter buffer.
    pub param_bytes: u32,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// The kernel declares `extern .shared`: dynamic shared memory starts at
    /// `shared_bytes` rounded up to this alignment.
    pub dynamic_shared_align: Option<u32>,
    /// Local memory per thread in bytes: arrays and frames of all functions, but for those that
    /// move.
    pub local_bytes: u32,
    /// Bytes of the thread's stack behind it, for frames that move; 0 where none does.
    pub stack_bytes: u32,
    /// `.maxntid`
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`
    pub required_threads: Option<[u32; 3]>,
    /// Functions in the flat code, for reports: first instruction and name.
    pub functions: Vec<(Pc, String)>,
    /// Where a warp may be switched out, in order of the code.
    pub switch_points: Vec<SwitchPoint>,
}

impl Program {
    /// Where the thread's stack begins in its local memory.
    pub fn stack_base(&self) -> u32 {
        self.local_bytes.next_multiple_of(16)
    }

    /// All local memory of a thread in bytes, the stack included.
    pub fn local_end(&self) -> u32 {
        match self.stack_bytes {
            0 => self.local_bytes,
            bytes => self.stack_base() + bytes,
        }
    }

    /// Entries of the scoreboard: slots first, then predicates.
    pub fn score_len(&self) -> usize {
        self.reg_slots as usize + self.preds as usize
    }

    /// It takes memory from the heap or gives some back.
    pub fn uses_heap(&self) -> bool {
        let heap = |op| matches!(op, Op::System(SystemCall::Malloc | SystemCall::Free));
        self.insts.iter().any(|inst| heap(inst.op))
    }

    /// It needs units for products of matrices.
    pub fn multiplies_matrices(&self) -> bool {
        let product = |op| matches!(op, Op::Mma(_));
        self.insts.iter().any(|inst| product(inst.op))
    }

    /// Units of [`UNIT_BYTES`] that hold the registers of a warp at whichever switch point it is.
    pub fn context_units(&self) -> u32 {
        let units = self.switch_points.iter().map(SwitchPoint::units);
        units.max().unwrap_or(0)
    }

    /// The same; `None` where a warp is never switched out.
    pub fn context_registers(&self) -> Option<u32> {
        (!self.switch_points.is_empty()).then(|| self.context_units())
    }

    /// The scoreboard's entry for a register: that of its first slot.
    pub fn score_of(&self, reg: Reg) -> u16 {
        reg.0
    }
}
