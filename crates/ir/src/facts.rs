//! Facts about single instructions for the pipeline model.
//!
//! Classes and register-bank accesses follow GPGPU-Sim (its tables of opcode latencies and its
//! decoding of operands).

use crate::asynchronous::MbarrierOp;
use crate::inst::Inst;
use crate::op::{FloatBin, FloatPair, FloatTy, FloatUn, IntBin, MemSpace, Op, SystemCall};
use crate::operands::{Code, Var, var_of_src};
use crate::program::{InstClass, InstFacts, MemClass, SourcePos};
use crate::surface::SurfAct;
use crate::unit::{other_operands, unit};
use warploom_base::Pc;

/// Facts about a final instruction of a program with `reg_slots` slots. `banks` are its reads and
/// writes of register banks ([`banks`](fn@banks)).
pub fn of(
    code: &Code,
    inst: &Inst,
    reg_slots: u16,
    banks: (Vec<u16>, Vec<u16>),
    reconverge: Option<Pc>,
    pos: SourcePos,
) -> InstFacts {
    let (reads, writes) = scoreboard(code, inst, reg_slots);
    let (bank_reads, bank_writes) = banks;
    InstFacts {
        class: class(inst.op),
        unit: unit(inst.op),
        other_operands: other_operands(code, inst),
        reads,
        writes,
        bank_reads,
        bank_writes,
        reconverge,
        pos,
    }
}

/// Class of an operation, from which the model derives unit and latency.
pub fn class(op: Op) -> InstClass {
    use InstClass as C;
    match op {
        Op::Int(op, _) => match op {
            IntBin::Add | IntBin::Sub | IntBin::AddSat | IntBin::SubSat => C::IntAdd,
            IntBin::Min | IntBin::Max | IntBin::MinRelu | IntBin::MaxRelu => C::IntMinMax,
            IntBin::Div | IntBin::Rem => C::IntDiv,
        },
        Op::AddC { .. } | Op::SubC { .. } | Op::Video(_) | Op::ScalarVideo(_) => C::IntAdd,
        Op::Mul(..) => C::IntMul,
        Op::Mad(..) | Op::MadC { .. } | Op::VideoMad | Op::Dp4a(..) | Op::Dp2a(..) => C::IntMad,
        Op::Mul24(..) => C::IntMul24,
        Op::Mad24(..) => C::IntMad24,
        Op::Float(op, ty, _) => float_class(op, ty),
        Op::Fma(ty, _) => pick(ty, C::F32Mad, C::F64Mad),
        Op::FloatPair(op, _) => match op {
            FloatPair::Add | FloatPair::Sub => C::F32Add,
            FloatPair::Mul => C::F32Mul,
            FloatPair::Fma => C::F32Mad,
        },
        Op::FloatMinMax(_, ty) => pick(ty, C::F32MinMax, C::F64MinMax),
        Op::FloatUn(FloatUn::Abs | FloatUn::Neg, ..) => C::Simple,
        Op::FloatUn(op, ty, mods) => function_class(op, ty, mods.ftz),
        Op::Shfl(_) | Op::TurnMatrix => C::Shuffle,
        Op::Mma(work) => C::Tensor(work),
        Op::WarpGroupMma(work) => C::WarpGroup(work),
        Op::LdMatrix(space, _) => C::Load(memory_class(space)),
        Op::StMatrix(space, _) => C::Store(memory_class(space)),
        Op::Bra(_) | Op::BrxIdx => C::Branch,
        // All threads share the heap: allocating and freeing are atomics on its lock.
        Op::System(SystemCall::Malloc | SystemCall::Free) => C::Atomic(MemClass::Global),
        Op::Call | Op::CallIndirect | Op::System(_) => C::Call,
        Op::Ret => C::Return,
        Op::Exit => C::Exit,
        Op::Barrier(_) => C::Barrier,
        Op::Membar(_) => C::Membar,
        Op::Surf { act, .. } => match act {
            SurfAct::Load(_) => C::Load(MemClass::Global),
            SurfAct::Store(_) | SurfAct::StoreSample(_) => C::Store(MemClass::Global),
            SurfAct::Reduce(..) | SurfAct::ReduceSample(..) => C::Atomic(MemClass::Global),
        },
        Op::CopyAsync { .. } => C::CopyAsync,
        Op::Bulk { .. } | Op::BulkTensor { .. } => C::Bulk,
        Op::TensorMapCopy(_) => C::Store(MemClass::Global),
        Op::CopyCommit => C::CopyCommit,
        Op::CopyWait(which) => C::CopyWait(which),
        Op::AsyncCommit(kind) => C::AsyncCommit(kind),
        Op::AsyncWait(kind, but) => C::AsyncWait(kind, but),
        Op::Mbarrier(_, MbarrierOp::PendingCount) => C::Simple,
        Op::Mbarrier(space, _) => C::Atomic(memory_class(space)),
        Op::Ld(space, ..) => C::Load(memory_class(space)),
        Op::St(space, ..) => C::Store(memory_class(space)),
        Op::Atom(space, ..) => C::Atomic(memory_class(space)),
        Op::Tex { .. } | Op::Tld4 { .. } => C::Load(MemClass::Texture),
        _ => C::Simple,
    }
}

fn pick(ty: FloatTy, single: InstClass, double: InstClass) -> InstClass {
    if ty == FloatTy::F64 { double } else { single }
}

fn float_class(op: FloatBin, ty: FloatTy) -> InstClass {
    use InstClass as C;
    match op {
        FloatBin::Add | FloatBin::Sub => pick(ty, C::F32Add, C::F64Add),
        FloatBin::Mul => pick(ty, C::F32Mul, C::F64Mul),
        FloatBin::Div => pick(ty, C::F32Div, C::F64Div),
        FloatBin::DivFull | FloatBin::DivApprox => C::F32DivFast,
    }
}

fn function_class(op: FloatUn, ty: FloatTy, ftz: bool) -> InstClass {
    use FloatUn as F;
    use InstClass as C;
    match (op, ty) {
        (F::RcpApproxF64 | F::RsqrtApproxF64, _) => C::Sfu,
        (_, FloatTy::F64) => C::SfuF64,
        (F::Rcp | F::Sqrt, FloatTy::F32) => C::SfuRounded,
        (F::SinApprox | F::CosApprox | F::TanhApprox, _) => C::Sfu,
        (_, FloatTy::F32) if !ftz => C::SfuScaled,
        _ => C::Sfu,
    }
}

/// Parameters of device functions are in the thread's frame, in local memory, as in GPGPU-Sim.
fn memory_class(space: MemSpace) -> MemClass {
    match space {
        MemSpace::Generic => MemClass::Generic,
        MemSpace::Global => MemClass::Global,
        MemSpace::Shared => MemClass::Shared,
        MemSpace::Local | MemSpace::FrameParam => MemClass::Local,
        MemSpace::Const => MemClass::Const,
        MemSpace::Param => MemClass::Param,
    }
}

/// True for a product of a warp group. No instruction waits for its accumulators: the program waits
/// for the group of the product.
fn is_asynchronous(inst: &Inst) -> bool {
    matches!(inst.op, Op::WarpGroupMma(_))
}

/// Scoreboard entries that a final instruction reads and writes, each once, in operand order.
fn scoreboard(code: &Code, inst: &Inst, reg_slots: u16) -> (Vec<u16>, Vec<u16>) {
    let entry = |var: Var| match var {
        Var::Reg(reg) => reg.0,
        Var::Pred(pred) => reg_slots + pred.0,
    };
    let writes = code.writes(inst).filter(|_| !is_asynchronous(inst));
    (
        unique(code.reads(inst).map(entry)),
        unique(writes.map(entry)),
    )
}

fn unique(entries: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut found = Vec::new();
    for entry in entries {
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// Register-bank reads and writes of an instruction, as
/// [`InstFacts::bank_reads`](crate::InstFacts::bank_reads) describes them.
pub fn banks(code: &Code, inst: &Inst, bank: impl Fn(Var) -> Option<u16>) -> (Vec<u16>, Vec<u16>) {
    let first = usize::from(inst.op.has_address());
    // The tensor core holds the accumulators of a product of a warp group.
    let product = code.extra(inst).and_then(|extra| extra.warp_group);
    let count = product.map_or(usize::MAX, |of| inst.src.len() + of.a_registers());
    let values = code.sources(inst).take(count).skip(first);
    let address = code.sources(inst).take(first);
    let reads = values
        .chain(address)
        .filter_map(var_of_src)
        .filter_map(&bank);
    let writes = code.writes(inst).filter(|_| !is_asynchronous(inst));
    (reads.collect(), writes.filter_map(&bank).collect())
}
