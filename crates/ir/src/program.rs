//! A kernel ready to run, and the module to which it belongs.

use crate::asynchronous::{AsyncKind, CopyWait};
use crate::contexts::UNIT_BYTES;
use crate::inst::{Dst, Inst, Reg, Src};
use crate::matrix::Mma;
use crate::op::{Op, SystemCall};
use crate::unit::Unit;
use crate::warp_group::WarpGroupMma;
use std::ops::Range;
use warploom_base::Pc;
use warploom_diag::Diagnostics;
use warploom_state::Value;

/// Start of the generic window onto a block's shared memory.
pub const SHARED_WINDOW: u64 = 0x0100_0000;
/// Size of the generic window onto shared memory in bytes.
pub const SHARED_WINDOW_BYTES: u64 = 0x0100_0000;
/// Start of the generic window onto a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0200_0000;
/// Size of the generic window onto local memory in bytes.
pub const LOCAL_WINDOW_BYTES: u64 = 0x0200_0000;
/// Start of the generic window onto a launch's parameters.
pub const PARAM_WINDOW: u64 = 0x0400_0000;
/// Size of the generic window onto parameters in bytes.
pub const PARAM_WINDOW_BYTES: u64 = 0x0001_0000;
/// First address of functions for calls through a register. Each function takes [`FUNCTION_BYTES`].
pub const FUNCTION_BASE: u64 = 0x0800_0000;
/// Distance between the addresses of two functions of a module.
pub const FUNCTION_BYTES: u64 = 16;
/// Size of a thread's stack in bytes, for frames that move and for `alloca`.
pub const STACK_BYTES: u32 = 64 << 10;
/// Start of the generic window onto the shared memory of the blocks of a cluster. Addresses in
/// `.shared::cluster` are less by [`SHARED_WINDOW`] than generic ones, as those in `.shared::cta`.
pub const CLUSTER_WINDOW: u64 = 0x2000_0000;
/// Distance in bytes between the shared memories of two blocks of a cluster, in order of rank.
pub const CLUSTER_STRIDE: u64 = 0x0100_0000;
/// Most blocks of a cluster.
pub const MOST_CLUSTER_BLOCKS: u32 = 16;
/// First address of constant memory. `.const` addresses are generic addresses.
pub const CONST_BASE: u64 = 0x1000_0000;
/// Size of constant memory in bytes.
pub const CONST_BYTES: u64 = 0x1000_0000;
/// First address of global memory. The value is GPGPU-Sim's, so that addresses of published runs do
/// not change.
pub const GLOBAL_BASE: u64 = 0xC000_0000;

/// Module that was lowered from a PTX file.
#[derive(Clone, Debug)]
pub struct ModuleIr {
    /// Kernels in the order of the file.
    pub kernels: Vec<Program>,
    /// Kernels that cannot be executed, with the reasons.
    pub refused: Vec<(String, Diagnostics)>,
    /// Variables in global and constant memory.
    pub globals: Vec<GlobalVar>,
    /// Names of the texture, sampler and surface references at file scope.
    pub textures: Vec<String>,
    /// Width of an address in bits.
    pub address_bits: u32,
}

/// Variable in `.global` or `.const`.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalVar {
    /// Name of the variable.
    pub name: String,
    /// True for constant memory.
    pub constant: bool,
    /// Size of the variable in bytes.
    pub bytes: u64,
    /// Alignment of the variable in bytes.
    pub align: u64,
    /// Initial bytes, shorter than `bytes` if the rest is zero.
    pub init: Vec<u8>,
    /// Places in `init` that receive an address.
    pub relocations: Vec<Relocation>,
}

/// Address stored in a variable's initial value.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Byte offset in the variable.
    pub at: u64,
    /// Number of bytes written (4 or 8; 1 with a mask).
    pub bytes: u8,
    /// Variable whose address is stored, by index into [`ModuleIr::globals`].
    pub global: u32,
    /// Offset in bytes that is added.
    pub addend: i64,
    /// Right shift in bits that selects the byte of the address: `mask(..)`.
    pub shift: u8,
}

/// Constant operand. All lanes get the same value, once it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConstValue {
    /// Bits of a literal.
    Bits(u64),
    /// Address of `globals[.0]` plus `.1`, known when the module is loaded.
    Global(u32, i64),
    /// Handle of `textures[.0]`, known when the module is loaded.
    Texture(u32),
    /// Value of a kernel's parameter or of a part of it, known when the kernel is launched.
    Param(ParamValue),
}

/// Part of the parameters that a constant operand has as its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ParamValue {
    /// Byte offset in the parameter buffer.
    pub offset: u32,
    /// Number of bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// True if the sign is extended.
    pub signed: bool,
    /// True if the value has 64 bits, false for 32.
    pub wide: bool,
}

impl ParamValue {
    /// Bits of the value in a launch's parameters, or `None` beyond their end.
    pub fn of(self, params: &[u8]) -> Option<u64> {
        let start = self.offset as usize;
        let bytes = usize::from(self.bytes);
        let mut raw = [0; 8];
        raw.get_mut(..bytes)?
            .copy_from_slice(params.get(start..start + bytes)?);
        let unused = 64 - 8 * bytes as u32;
        let bits = u64::from_le_bytes(raw);
        let extended = match self.signed && bytes > 0 {
            true => ((bits << unused) as i64 >> unused) as u64,
            false => bits,
        };
        Some(match self.wide {
            true => extended,
            false => u64::from(extended as u32),
        })
    }
}

/// Operands of one instruction that do not fit into it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExtraOperands {
    /// Destinations of a vector.
    pub dsts: Vec<Dst>,
    /// Sources of a vector, or texture coordinates in PTX's order.
    pub srcs: Vec<Src>,
    /// Branch targets of `brx.idx`.
    pub targets: Vec<Pc>,
    /// Functions that a `call` may reach; a call by name has one.
    pub callees: Vec<Callee>,
    /// Description of a product of matrices.
    pub matrix: Option<Mma>,
    /// Description of a product of a warp group.
    pub warp_group: Option<WarpGroupMma>,
}

/// Function that a call may reach, with the way in which it is entered.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Callee {
    /// Address of the function, for calls through a register.
    pub address: u64,
    /// Program counter of the first instruction.
    pub target: Pc,
    /// Bytes copied from the caller's frame to the callee's before the call: (from, to, bytes).
    pub copies_in: Vec<(u32, u32, u32)>,
    /// Bytes copied from the callee's frame to the caller's after the return.
    pub copies_out: Vec<(u32, u32, u32)>,
    /// True if the caller's frame moves: offsets count from the start of the frame.
    pub from_moving: bool,
    /// Part of the stack that the callee takes, if its frame moves.
    pub frame: Option<Frame>,
}

/// Frame that the call makes and the return removes. Functions have one if a thread may run them
/// several times at once, or if they allocate on the stack.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// Size in bytes, with the saved registers.
    pub bytes: u32,
    /// Slots of the caller's 64-bit registers that are saved, an even number: all slots of a
    /// function that may be called again before the callee returns.
    pub kept_wide: Range<u16>,
    /// Slots of the caller's 32-bit registers that are saved.
    pub kept_narrow: Range<u16>,
    /// Predicates of the caller that are saved.
    pub kept_preds: Range<u16>,
}

/// Parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name of the parameter.
    pub name: String,
    /// Byte offset in the parameter buffer.
    pub offset: u32,
    /// Size of the parameter in bytes.
    pub bytes: u32,
    /// Alignment of the parameter in bytes.
    pub align: u32,
    /// Type that a launch may give.
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
    /// Struct or array that is passed by value.
    Bytes,
}

/// Place of an instruction in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Value)]
pub struct SourcePos {
    /// Line in the PTX file, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
}

/// Lines of the files from which a compiler made a program's PTX, as far as it states them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Written {
    /// Names of the files, without folders.
    pub files: Vec<String>,
    /// Index of the file and line of each instruction, from 1. Empty if no line is known.
    pub lines: Vec<Option<(u16, u32)>>,
}

/// Class of an instruction, from which the model derives unit and latency. Names follow GPGPU-Sim's
/// opcode classes (docs/model/sm.md, Instruction classes).
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
    /// Approximate division: `div.approx`, `div.full`.
    F32DivFast,
    F64Add,
    F64MinMax,
    F64Mul,
    F64Mad,
    F64Div,
    /// Special functions: sqrt, rsqrt, rcp, sin, cos, ex2, lg2, tanh.
    Sfu,
    /// Approximate functions of f32 that scale subnormal operands: those without `.ftz`, but for
    /// sin, cos and tanh.
    SfuScaled,
    /// Square roots and reciprocals of f32 that are rounded exactly.
    SfuRounded,
    /// Square roots and reciprocals of f64, but for rough approximations.
    SfuF64,
    Shuffle,
    /// Moves, conversions, logic, shifts and comparisons, which take one cycle on SP.
    Simple,
    Branch,
    Call,
    Return,
    Exit,
    Barrier,
    Membar,
    /// Asynchronous copy from global to shared memory.
    CopyAsync,
    /// End of a group of asynchronous copies.
    CopyCommit,
    CopyWait(CopyWait),
    /// Bulk copy by the unit that makes them.
    Bulk,
    /// End of a group of other asynchronous operations.
    AsyncCommit(AsyncKind),
    AsyncWait(AsyncKind, u8),
    /// Product of matrices, with its work ([`Mma::work`]).
    Tensor(u8),
    /// Product of a warp group, asynchronous to the warp, with the work of a warp.
    WarpGroup(u8),
    Load(MemClass),
    Store(MemClass),
    Atomic(MemClass),
}

/// Path of an access through the memory unit. Generic accesses are resolved when they run.
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

/// Facts about an instruction that the pipeline needs besides its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct InstFacts {
    /// Class of the instruction.
    pub class: InstClass,
    /// The execution unit whose energy it uses; none of branches, barriers and accesses to memory.
    pub unit: Option<Unit>,
    /// Number of source operands that are no registers.
    pub other_operands: u8,
    /// Scoreboard entries read, including those of guard and address ([`Program::score_len`]).
    pub reads: Vec<u16>,
    /// Scoreboard entries that it writes.
    pub writes: Vec<u16>,
    /// Register-file reads for the operand collector, as numbers of registers in GPGPU-Sim (its
    /// `arch_reg`). A number is the first digits in a name, so that `%r5`, `%rd5` and `%p5` are all
    /// 5; a name without digits counts in order of declaration. Every source operand has one entry,
    /// repeated registers are repeated, the address is last, and the guard is left out.
    pub bank_reads: Vec<u16>,
    /// Register-file writes, numbered like the reads.
    pub bank_writes: Vec<u16>,
    /// Reconvergence point of the lanes that diverge here: the start of the immediate
    /// post-dominator. `None` for instructions that do not branch, or if paths meet only at the
    /// exit.
    pub reconverge: Option<Pc>,
    /// Place in the source.
    pub pos: SourcePos,
}

/// Point at which a warp may be switched out, and the size of its context (GPUDuet, section 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPoint {
    /// Instruction at which the warp continues.
    pub pc: Pc,
    /// True if the instruction may be the first to use a register that a load from global memory
    /// has not filled yet.
    pub load: bool,
    /// True if the switch point follows a barrier.
    pub barrier: bool,
    /// Number of 32-bit registers that some lane may still read.
    pub registers: u32,
    /// Number of these that are proved to be the same in all lanes.
    pub uniform: u32,
    /// Number of the others that are proved to fit fewer bits.
    pub narrow: u32,
    /// Size of their values and of live predicates in bytes, compressed.
    pub bytes: u32,
}

impl SwitchPoint {
    /// Units of [`UNIT_BYTES`] that the registers take while the warp is switched out.
    pub fn units(&self) -> u32 {
        self.bytes.div_ceil(UNIT_BYTES)
    }
}

/// Directives of a kernel about clusters of blocks (PTX ISA, "Cluster Dimension Directives").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterDirectives {
    /// Blocks of a cluster along each axis: `.reqnctapercluster`.
    pub required: Option<[u32; 3]>,
    /// Most blocks of a cluster: `.maxclusterrank`.
    pub max_rank: Option<u32>,
    /// True if a launch must state the extents of clusters: `.explicitcluster`.
    pub explicit: bool,
    /// True if a launch states the extents of the grid in clusters: `.blocksareclusters`.
    pub blocks_are_clusters: bool,
}

/// Kernel with every function that it calls, flattened.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// Instructions; execution starts at `Pc(0)`.
    pub insts: Vec<Inst>,
    /// Facts about each instruction, by its position.
    pub facts: Vec<InstFacts>,
    /// Constant operands, by index.
    pub consts: Vec<ConstValue>,
    /// Long operand lists, by index.
    pub extras: Vec<ExtraOperands>,
    /// Number of 32-bit slots of a warp's register file that the code uses. Registers share slots
    /// by liveness.
    pub reg_slots: u16,
    /// Number of these that hold registers of 64 bits, which come first.
    pub wide_slots: u16,
    /// Number of predicate registers.
    pub preds: u16,
    /// Number of registers per thread that a compiler such as `ptxas` would need, estimated from
    /// the pressure of live ranges.
    pub registers_per_thread: u32,
    /// Parameters in order of declaration.
    pub params: Vec<Param>,
    /// Size of the parameter buffer in bytes.
    pub param_bytes: u32,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// Alignment in bytes of dynamic shared memory, if the kernel declares `extern .shared`. The
    /// memory starts at `shared_bytes` rounded up to the alignment.
    pub dynamic_shared_align: Option<u32>,
    /// Local memory per thread in bytes: arrays and frames of all functions, except frames that
    /// move.
    pub local_bytes: u32,
    /// Size in bytes of the thread's stack after it, for frames that move; 0 without such frames.
    pub stack_bytes: u32,
    /// Largest block of `.maxntid`, if stated.
    pub max_threads: Option<[u32; 3]>,
    /// Required block of `.reqntid`, if stated.
    pub required_threads: Option<[u32; 3]>,
    /// Directives about clusters of blocks.
    pub cluster: ClusterDirectives,
    /// Functions in the flat code, for reports: first instruction and name.
    pub functions: Vec<(Pc, String)>,
    /// Points at which a warp may be switched out, in order of the code.
    pub switch_points: Vec<SwitchPoint>,
    /// Places of the instructions in the files from which a compiler made the PTX.
    pub written: Written,
}

impl Program {
    /// Place of the instruction at `pc` in the file from which a compiler made the PTX, such as
    /// `saxpy.cu:12`, if it is known.
    pub fn written_at(&self, pc: Pc) -> Option<String> {
        let (file, line) = (*self.written.lines.get(pc.index())?)?;
        let file = self.written.files.get(usize::from(file))?;
        Some(format!("{file}:{line}"))
    }

    /// Start of the thread's stack in its local memory, in bytes.
    pub fn stack_base(&self) -> u32 {
        self.local_bytes.next_multiple_of(16)
    }

    /// Local memory of a thread in bytes, with the stack.
    pub fn local_end(&self) -> u32 {
        match self.stack_bytes {
            0 => self.local_bytes,
            bytes => self.stack_base() + bytes,
        }
    }

    /// Number of scoreboard entries: slots first, then predicates.
    pub fn score_len(&self) -> usize {
        self.reg_slots as usize + self.preds as usize
    }

    /// True if the kernel allocates or frees memory on the heap.
    pub fn uses_heap(&self) -> bool {
        let heap = |op| matches!(op, Op::System(SystemCall::Malloc | SystemCall::Free));
        self.insts.iter().any(|inst| heap(inst.op))
    }

    /// True if the kernel needs units for products of matrices.
    pub fn multiplies_matrices(&self) -> bool {
        let product = |op| matches!(op, Op::Mma(_) | Op::WarpGroupMma(_));
        self.insts.iter().any(|inst| product(inst.op))
    }

    /// Units of [`UNIT_BYTES`] that hold the registers of a warp at any switch point.
    pub fn context_units(&self) -> u32 {
        let units = self.switch_points.iter().map(SwitchPoint::units);
        units.max().unwrap_or(0)
    }

    /// Units of [`UNIT_BYTES`] for the registers of a warp; `None` if a warp is never switched out.
    pub fn context_registers(&self) -> Option<u32> {
        (!self.switch_points.is_empty()).then(|| self.context_units())
    }

    /// Scoreboard entry of a register: that of its first slot.
    pub fn score_of(&self, reg: Reg) -> u16 {
        reg.0
    }
}

#[cfg(test)]
mod tests {
    use super::ParamValue;

    #[test]
    fn a_parameter_has_the_sign_and_width_of_its_load() {
        let params = [0xFE, 0xFF, 0x01, 0x02, 0x03, 0x04, 0x05, 0x86];
        let value = |offset, bytes, signed, wide| {
            let param = ParamValue {
                offset,
                bytes,
                signed,
                wide,
            };
            param.of(&params)
        };
        assert_eq!(value(0, 2, false, false), Some(0xFFFE));
        assert_eq!(value(0, 2, true, false), Some(0xFFFF_FFFE));
        assert_eq!(value(0, 1, true, true), Some(0xFFFF_FFFF_FFFF_FFFE));
        assert_eq!(value(2, 4, true, false), Some(0x0403_0201));
        assert_eq!(value(0, 8, false, true), Some(0x8605_0403_0201_FFFE));
        // Beyond the end there is none.
        assert_eq!(value(5, 4, false, false), None);
    }
}
