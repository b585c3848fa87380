//! Faults and findings of the simulated program. Both are results of a run, not errors of the
//! simulator.

use std::fmt;
use std::mem::discriminant;
use warploom_base::{Dim3, Pc};
use warploom_ir::{MemSpace, SourcePos};

/// Kinds of faults, after which the simulated program cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The access is outside of every allocation, or outside of the memory of the block, thread or
    /// launch.
    OutOfBounds,
    /// The address is not a multiple of the size of the access.
    Misaligned,
    /// The access is inside an allocation that was freed.
    Freed,
    /// A store or an atomic operation addresses constant memory or kernel parameters.
    WriteToReadOnly,
    /// A generic address is outside of every state space.
    NoStateSpace,
    /// The barrier's number is beyond those of the GPU, or its thread count is not a multiple of
    /// the warp size.
    BadBarrier,
    /// The program executed `trap`.
    Trap,
    /// An assertion of the program failed.
    Assertion,
    /// `free` of an address that `malloc` did not return or that was already freed.
    BadFree,
    /// The program counter is outside of the code, or an operand does not fit the operation.
    IllegalInstruction,
    /// The index of a `brx.idx` is beyond the end of its table.
    BranchIndex,
    /// An indirect call uses a register that holds the address of none of the functions that it may
    /// call.
    BadCallee,
    /// The stack of a thread overflowed: calls are nested too deeply, or `alloca` requested too
    /// much.
    StackOverflow,
    /// A texture handle names no texture.
    BadTexture,
    /// The access is to shared memory of a block of the cluster that has ended.
    BlockEnded,
    /// A bulk copy uses a tensor map with a field that no tensor map has, or that is not supported.
    BadTensorMap,
    /// An access is outside of a surface, and the instruction traps in this case.
    OutsideSurface,
    /// A reduction uses samples that are not integers of the operation's width, or whose format
    /// differs between lanes.
    SurfaceFormat,
}

/// Kinds of findings: suspicious behaviour that is reported on request and does not stop the
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FindingKind {
    /// A load of bytes that were never written.
    Uninitialised,
    /// Two warps access the same byte of shared memory without a barrier in between, and at least
    /// one of them writes.
    SharedRace {
        /// Index in the block of the other warp.
        other_warp: u16,
        /// Program counter of the other warp's access, which was executed before.
        other_pc: Pc,
    },
    /// A warp arrived at a block barrier with only a part of its unexited lanes.
    BarrierDivergence,
    /// Lanes had to wait for other lanes of their warp that arrived later at the operation or
    /// barrier, on another path. The behaviour is undefined before sm_70.
    LateLanes,
    /// A lane executes a warp-wide operation whose member mask does not contain the lane. The
    /// behaviour is undefined.
    LaneNotInMask,
    /// Lanes that name each other execute a warp-wide operation with different member masks. The
    /// behaviour is undefined.
    MasksDiffer,
}

/// Optional checks of a launch. All are off by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Checks {
    /// Report loads of bytes that were never written. Global memory is checked only if it tracks
    /// writes: see [`DeviceMemory::track_initialised`](crate::DeviceMemory::track_initialised).
    pub uninitialised: bool,
    /// Report races between warps on shared memory.
    pub shared_races: bool,
    /// Report barriers and warp-wide operations that the lanes of a warp do not reach together, and
    /// member masks whose behaviour the ISA leaves undefined.
    pub barrier_divergence: bool,
    /// Find overruns that end in the next allocation. Memory must place allocations with gaps for
    /// it: see [`DeviceMemory::place_apart`](crate::DeviceMemory::place_apart).
    pub bounds: bool,
}

/// A finding in one instruction of one warp, as [`step`](crate::step()) records it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Lowest lane that the finding concerns.
    pub lane: u8,
    /// State space of the address.
    pub space: MemSpace,
    /// Byte address in that space, or 0 for findings without an address.
    pub address: u64,
}

/// Address of a faulty or suspicious access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultAddress {
    /// State space of the access after a generic address was resolved.
    pub space: MemSpace,
    /// Byte address in that space.
    pub address: u64,
    /// Number of bytes accessed.
    pub bytes: u32,
    /// Description of the nearest allocation, or of the size of the space.
    pub nearest: String,
}

/// Place in a program at which a fault or a finding occurred.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Identifier of the process's address space.
    pub asid: u8,
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the function that contains the instruction.
    pub function: String,
    /// Program counter of the instruction.
    pub pc: Pc,
    /// Position in the PTX file.
    pub pos: SourcePos,
    /// Place in the file from which a compiler made the PTX, such as `saxpy.cu:12`, if it is known.
    pub written: Option<String>,
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Index in the block of the lowest thread concerned.
    pub thread: Dim3,
}

/// Place in a file, in brackets after a space, if there is one.
pub(crate) fn in_brackets(place: Option<&str>) -> String {
    place.map_or(String::new(), |place| format!(" ({place})"))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel `{}`, PTX line {}{}, block {}, thread {}",
            self.kernel,
            self.pos.line,
            in_brackets(self.written.as_deref()),
            self.block,
            self.thread
        )?;
        if self.function != self.kernel {
            write!(f, ", in function `{}`", self.function)?;
        }
        Ok(())
    }
}

/// A fault of the simulated program, after which it cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} in {place}{}", self.what(), address_text(.address.as_deref()))]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Place of the fault.
    pub place: Box<Place>,
    /// Address of the access, for memory faults.
    pub address: Option<Box<FaultAddress>>,
    /// Text of the assertion, for failed assertions.
    pub assertion: Option<Box<Assertion>>,
}

impl Fault {
    /// Text of the fault's kind, or of its failed assertion.
    fn what(&self) -> String {
        match &self.assertion {
            None => kind_text(self.kind).to_owned(),
            Some(assertion) => assertion.to_string(),
        }
    }
}

/// A failed assertion, with the texts that the program passed to `__assertfail`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    /// Expression that is false.
    pub expression: String,
    /// Source file of the assertion.
    pub file: String,
    /// Line in that file.
    pub line: u32,
    /// Name of the function.
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
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Place of the finding.
    pub place: Place,
    /// Address of the access, for findings about memory.
    pub address: Option<FaultAddress>,
    /// Place of the other access of a race, such as `PTX line 30 (t.cu:7)`.
    pub other: Option<String>,
}

impl FindingReport {
    /// True if the other report has the same kind and concerns the same instruction, possibly in
    /// another thread, or the same line of the source. For races this holds for both accesses, in
    /// either order.
    pub fn repeats(&self, other: &Self) -> bool {
        let of = |report: &Self| (report.place.asid, discriminant(&report.kind));
        of(self) == of(other)
            && self.place.kernel == other.place.kernel
            && (self.place.pc == other.place.pc || self.has_lines_of(other))
    }

    /// True if the source's lines are known and are those of the other report.
    fn has_lines_of(&self, other: &Self) -> bool {
        let lines = |report: &Self| {
            let second = report.other.as_deref().map(line_in_brackets);
            let mut lines = [report.place.written.clone(), second.flatten()];
            lines.sort();
            lines
        };
        self.place.written.is_some() && lines(self) == lines(other)
    }
}

/// The line of the source in a place such as `PTX line 30 (t.cu:7)`.
fn line_in_brackets(place: &str) -> Option<String> {
    let (_, line) = place.split_once(" (")?;
    Some(line.strip_suffix(')')?.to_owned())
}

impl fmt::Display for FindingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FindingKind::Uninitialised => write!(f, "load of uninitialised memory")?,
            FindingKind::SharedRace { other_warp, .. } => {
                write!(f, "race on shared memory with warp {other_warp}")?;
            }
            FindingKind::BarrierDivergence => {
                write!(f, "barrier reached by a part of the warp")?;
            }
            FindingKind::LateLanes => {
                write!(
                    f,
                    "lanes wait for others of the warp, which came another way"
                )?;
            }
            FindingKind::LaneNotInMask => write!(f, "member mask without the lane itself")?,
            FindingKind::MasksDiffer => write!(f, "member masks that differ between lanes")?,
        }
        write!(
            f,
            " in {}{}",
            self.place,
            address_text(self.address.as_ref())
        )?;
        match &self.other {
            Some(other) => write!(
                f,
                "; the other access is in {other}, and no barrier lies between the two"
            ),
            None => Ok(()),
        }
    }
}

/// Message text of a fault's kind.
fn kind_text(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::OutOfBounds => "access out of bounds",
        FaultKind::Misaligned => "misaligned access",
        FaultKind::Freed => "access to freed memory",
        FaultKind::WriteToReadOnly => "write to read-only memory",
        FaultKind::NoStateSpace => "address outside every state space",
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
        FaultKind::BadTensorMap => "tensor map that is not valid, or has an interleaved layout",
        FaultKind::BlockEnded => "access to shared memory of a block that has ended",
        FaultKind::BadTexture => "texture handle that names no texture",
    }
}

/// Message text of an address, with its nearest allocation.
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

/// PTX name of a state space, for messages.
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

/// A fault before its place is known, as operations raise it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawFault {
    pub kind: FaultKind,
    pub lane: usize,
    pub access: Option<(MemSpace, u64, u32)>,
}

impl RawFault {
    /// Fault of a lane that concerns no address.
    #[cold]
    pub fn plain(kind: FaultKind, lane: usize) -> Box<Self> {
        let access = None;
        Box::new(Self { kind, lane, access })
    }

    /// Fault of a lane at an address of a state space.
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
