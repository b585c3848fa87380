//! What can go wrong with a simulated program. Faults and findings are results of a run, not
//! errors of the simulator.

use std::fmt;
use std::mem::discriminant;
use warploom_base::{Dim3, Pc};
use warploom_ir::{MemSpace, SourcePos};

/// Kinds of fault: the simulated program cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The access leaves every allocation (or the block's, thread's or launch's own space).
    OutOfBounds,
    /// The address is not a multiple of the access's size.
    Misaligned,
    /// The access lies in memory that was freed.
    Freed,
    /// A store or an atomic to constant memory or to kernel parameters.
    WriteToReadOnly,
    /// A generic address that lies in no state space.
    NoSpace,
    /// A barrier that the GPU does not have, or a thread count that is not a multiple of the warp
    /// size.
    BadBarrier,
    /// `trap`.
    Trap,
    /// An assertion that does not hold.
    Assertion,
    /// `free` of an address that `malloc` has not given, or that was given back.
    BadFree,
    /// The program counter left the code, or an operand does not fit the operation.
    IllegalInstruction,
    /// `brx.idx` with an index beyond its table.
    BranchIndex,
    /// A call through a register that holds the address of no function that it may reach.
    BadCallee,
    /// A thread's stack is used up: calls go too deep, or `alloca` asks for too much.
    StackOverflow,
    /// A texture handle that names no texture.
    BadTexture,
    /// An access outside a surface, which the instruction does not allow.
    OutsideSurface,
    /// A reduction of samples that are no integers of its width, or are not alike in all lanes.
    SurfaceFormat,
}

/// Kinds of finding: suspicious, reported on request, execution goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FindingKind {
    /// A load of bytes that nobody wrote.
    Uninitialised,
    /// Two warps touch the same shared byte without a barrier between, and one of them writes.
    SharedRace {
        /// The other warp.
        other_warp: u16,
    },
    /// A warp reached a block barrier with a part of its unexited lanes.
    BarrierDivergence,
    /// Lanes had to wait for others of their warp that came to the operation or barrier later, by
    /// another way: undefined before sm_70.
    LanesApart,
    /// A lane executes an operation of the warp whose member mask does not name it: undefined.
    MaskWithoutLane,
    /// Lanes that name each other execute an operation of the warp with different member masks:
    /// undefined.
    MasksDiffer,
}

/// Which optional checks a launch makes. All are off by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Checks {
    /// Report loads of bytes that nobody wrote. Global memory is covered when the memory tracks
    /// it: see [`DeviceMemory::track_initialised`](crate::DeviceMemory::track_initialised).
    pub uninitialised: bool,
    /// Report races on shared memory.
    pub shared_races: bool,
    /// Report barriers and operations of a warp that its lanes do not reach together, and member
    /// masks that the ISA leaves undefined.
    pub barrier_divergence: bool,
}

/// Something suspicious in one instruction of one warp, as `step` notes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Lowest lane concerned.
    pub lane: u8,
    /// Space of the address.
    pub space: MemSpace,
    /// Byte address in its space; 0 for findings without one.
    pub address: u64,
}

/// An address with what is known about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultAddress {
    /// Space that the access was resolved to.
    pub space: MemSpace,
    /// Byte address in that space.
    pub address: u64,
    /// Bytes accessed.
    pub bytes: u32,
    /// The nearest allocation in words, or the size of the space.
    pub nearest: String,
}

/// Where in a program something happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Address space of the process.
    pub asid: u8,
    /// Name of the kernel.
    pub kernel: String,
    /// Function in the flat code that holds the instruction.
    pub function: String,
    /// Instruction.
    pub pc: Pc,
    /// Place in the PTX file.
    pub pos: SourcePos,
    /// Block.
    pub block: Dim3,
    /// Thread in the block: the lowest one concerned.
    pub thread: Dim3,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel `{}`, PTX line {}, block {}, thread {}",
            self.kernel, self.pos.line, self.block, self.thread
        )?;
        if self.function != self.kernel {
            write!(f, ", in function `{}`", self.function)?;
        }
        Ok(())
    }
}

/// The simulated program cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} in {place}{}", self.what(), address_text(.address.as_deref()))]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where.
    pub place: Box<Place>,
    /// The address, for faults of memory.
    pub address: Option<Box<FaultAddress>>,
    /// What does not hold, for assertions.
    pub assertion: Option<Box<Assertion>>,
}

impl Fault {
    fn what(&self) -> String {
        match &self.assertion {
            None => kind_text(self.kind).to_owned(),
            Some(assertion) => assertion.to_string(),
        }
    }
}

/// An assertion that does not hold, as the program has written it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    /// What does not hold.
    pub expression: String,
    /// The file that it stands in.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: assertion `{}` failed",
            self.file, self.line, self.function, self.expression
        )
    }
}

/// A finding with its place, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingReport {
    /// What.
    pub kind: FindingKind,
    /// Where.
    pub place: Place,
    /// The address, for findings of memory.
    pub address: Option<FaultAddress>,
}

impl FindingReport {
    /// Says the same of the same instruction, though of another thread.
    pub fn repeats(&self, other: &Self) -> bool {
        let of = |report: &Self| (report.place.pc, discriminant(&report.kind));
        of(self) == of(other)
            && self.place.asid == other.place.asid
            && self.place.kernel == other.place.kernel
    }
}

impl fmt::Display for FindingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FindingKind::Uninitialised => write!(f, "load of uninitialised memory")?,
            FindingKind::SharedRace { other_warp } => {
                write!(f, "race on shared memory with warp {other_warp}")?;
            }
            FindingKind::BarrierDivergence => {
                write!(f, "barrier reached by a part of the warp")?;
            }
            FindingKind::LanesApart => {
                write!(
                    f,
                    "lanes wait for others of the warp, which came another way"
                )?;
            }
            FindingKind::MaskWithoutLane => write!(f, "member mask without the lane itself")?,
            FindingKind::MasksDiffer => write!(f, "member masks that differ between lanes")?,
        }
        write!(
            f,
            " in {}{}",
            self.place,
            address_text(self.address.as_ref())
        )
    }
}

fn kind_text(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::OutOfBounds => "access out of bounds",
        FaultKind::Misaligned => "misaligned access",
        FaultKind::Freed => "access to freed memory",
        FaultKind::WriteToReadOnly => "write to read-only memory",
        FaultKind::NoSpace => "address outside every state space",
        FaultKind::BadBarrier => "barrier with an invalid number or thread count",
        FaultKind::Trap => "trap",
        FaultKind::Assertion => "failed assertion",
        FaultKind::BadFree => "free of what malloc has not given",
        FaultKind::IllegalInstruction => "illegal instruction",
        FaultKind::BranchIndex => "branch index beyond its table",
        FaultKind::BadCallee => "call of an address where no function begins",
        FaultKind::StackOverflow => "stack overflow",
        FaultKind::OutsideSurface => "access outside a surface",
        FaultKind::SurfaceFormat => "reduction on a surface of another format",
        FaultKind::BadTexture => "texture handle that names no texture",
    }
}

fn address_text(address: Option<&FaultAddress>) -> String {
    match address {
        None => String::new(),
        Some(a) => format!(
            ": {} bytes at {} address {:#x}; {}",
            a.bytes,
            space_name(a.space),
            a.address,
            a.nearest
        ),
    }
}

/// PTX's name of a space, for messages.
pub(crate) fn space_name(space: MemSpace) -> &'static str {
    match space {
        MemSpace::Generic => "generic",
        MemSpace::Global => "global",
        MemSpace::Shared => "shared",
        MemSpace::Local => "local",
        MemSpace::Const => "const",
        MemSpace::Param => "param",
        MemSpace::FrameParam => "function-parameter",
    }
}

/// A fault before its place is filled in: what `step` raises inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawFault {
    pub kind: FaultKind,
    pub lane: usize,
    pub access: Option<(MemSpace, u64, u32)>,
}

impl RawFault {
    #[cold]
    pub fn plain(kind: FaultKind, lane: usize) -> Box<Self> {
        let access = None;
        Box::new(Self { kind, lane, access })
    }

    #[cold]
    pub fn memory(
        kind: FaultKind,
        lane: usize,
        space: MemSpace,
        address: u64,
        bytes: u32,
    ) -> Box<Self> {
        let access = Some((space, address, bytes));
        Box::new(Self { kind, lane, access })
    }
}
