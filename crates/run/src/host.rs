//! What a host program says to the simulator.

use crate::device::{Device, DeviceError, DevicePtr, ModuleId};
use std::fmt;
use warploom_base::{Cycle, Dim3};
use warploom_exec::FaultKind;

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// `.u32`, `.b32`
    U32(u32),
    /// `.s32`
    I32(i32),
    /// `.u64`, `.b64`
    U64(u64),
    /// `.s64`
    I64(i64),
    /// `.f32`
    F32(f32),
    /// `.f64`
    F64(f64),
    /// The address of a buffer.
    Pointer(DevicePtr),
    /// A struct or an array by value, or a small integer, in little-endian bytes.
    Bytes(Vec<u8>),
}

/// A kernel launch.
#[derive(Clone, PartialEq)]
pub struct Launch {
    /// Module that holds the kernel.
    pub module: ModuleId,
    /// Name of the `.entry`.
    pub kernel: String,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// Stream: launches of one stream run one after the other.
    pub stream: u32,
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// Registers per thread, where they are known; the compiler's estimate otherwise.
    pub registers_per_thread: Option<u32>,
    /// Device memory that the barrier of a cooperative launch works on: two words, the first their
    /// bytes, the second 0; no address for other launches.
    pub workspace: Option<DevicePtr>,
}

/// What runs are told apart by: a workspace shows where there is one.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Launch");
        shown
            .field("module", &self.module)
            .field("kernel", &self.kernel)
            .field("grid", &self.grid)
            .field("block", &self.block)
            .field("dynamic_shared_bytes", &self.dynamic_shared_bytes)
            .field("stream", &self.stream)
            .field("args", &self.args)
            .field("registers_per_thread", &self.registers_per_thread);
        if let Some(workspace) = &self.workspace {
            shown.field("workspace", workspace);
        }
        shown.finish()
    }
}

impl Launch {
    /// A launch without dynamic shared memory on stream 0.
    pub fn new(module: ModuleId, kernel: &str, grid: Dim3, block: Dim3, args: Vec<Arg>) -> Self {
        Self {
            module,
            kernel: kernel.to_owned(),
            grid,
            block,
            dynamic_shared_bytes: 0,
            stream: 0,
            args,
            registers_per_thread: None,
            workspace: None,
        }
    }
}

/// What a host program does next. Copies are made directly on the [`Device`], or in the order of a
/// stream, and take no time.
///
/// Stream 0 is CUDA's default stream: what is done there waits for everything before it, and the
/// host waits for it. On any other stream the host goes on at once; operations of one stream are
/// done one after the other, those of several at the same time.
#[derive(Clone, Debug, PartialEq)]
pub enum HostAction {
    /// Launches a kernel on its stream.
    Launch(Launch),
    /// Copies bytes to the device, in the order of a stream.
    Write {
        /// The stream.
        stream: u32,
        /// First byte.
        to: DevicePtr,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Copies bytes on the device, in the order of a stream.
    Copy {
        /// The stream.
        stream: u32,
        /// First byte of the source.
        from: DevicePtr,
        /// First byte of the destination.
        to: DevicePtr,
        /// How many.
        bytes: u64,
    },
    /// Tells the program, by [`HostProgram::reached`], when all that was asked of a stream before
    /// has been done: for what it does itself in the order of a stream, or to know the time.
    Mark {
        /// The stream.
        stream: u32,
        /// The program's own number for it, given once in a run.
        mark: u64,
    },
    /// What is asked of a stream from now on waits until a mark of any stream has been reached.
    WaitFor {
        /// The stream.
        stream: u32,
        /// The mark.
        mark: u64,
    },
    /// Waits for everything on every stream.
    Synchronize,
    /// Waits for everything on one stream.
    SynchronizeStream(u32),
    /// The program is at its end.
    Done,
}

/// Why a run ends before its program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A kernel did what no GPU allows.
    Fault(FaultKind),
    /// Nothing can go on any more, or warps spin on what nobody left can change.
    Stuck,
    /// The most cycles that were allowed.
    CycleLimit,
}

/// One comparison of outputs with what they must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was compared.
    pub name: String,
    /// Something was compared, and all of it is as it must be.
    pub passed: bool,
    /// How many differ and the first of them, or how the comparison was made.
    pub detail: String,
    /// Values that were compared: none where a run of first blocks computed none of them, which is
    /// no pass.
    pub compared: u64,
}

/// Why a host program cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A device operation failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The input is wrong; the message says where and what to do.
    #[error("{0}")]
    Input(String),
}

impl From<String> for HostError {
    fn from(message: String) -> Self {
        Self::Input(message)
    }
}

/// The host side of a CUDA program.
pub trait HostProgram: Send {
    /// The next action. What was launched on stream 0 and what was waited for has finished, so that
    /// its results may be read.
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError>;

    /// A mark has been reached, in core cycle `at` (in a run without timing: the warp instructions
    /// executed so far). What the program does here happens in the order of the mark's stream.
    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        let _ = (mark, device, at);
        Ok(())
    }

    /// The run ends early; nothing is asked of the program any more.
    fn stopped(&mut self, why: Stopped) {
        let _ = why;
    }

    /// The launch, counted from 0, from which on the program shows what bounds it: those before it
    /// do too little to say anything.
    fn analysis_start(&self) -> u64 {
        0
    }

    /// Compares outputs with their references, after `Done`.
    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError>;
}

impl<P: HostProgram + ?Sized> HostProgram for &mut P {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        (**self).next(device)
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        (**self).reached(mark, device, at)
    }

    fn stopped(&mut self, why: Stopped) {
        (**self).stopped(why);
    }

    fn analysis_start(&self) -> u64 {
        (**self).analysis_start()
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        (**self).checks(device)
    }
}
