//! Actions of host programs, and their interface to the simulator.

use crate::device::{Device, DeviceError, DevicePtr, ModuleId};
use std::fmt;
use warploom_base::{Cycle, Dim3};
use warploom_exec::FaultKind;
use warploom_state::Value;

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// Value of a `.u32` or `.b32` parameter.
    U32(u32),
    /// Value of a `.s32` parameter.
    I32(i32),
    /// Value of a `.u64` or `.b64` parameter.
    U64(u64),
    /// Value of a `.s64` parameter.
    I64(i64),
    /// Value of a `.f32` parameter.
    F32(f32),
    /// Value of a `.f64` parameter.
    F64(f64),
    /// Address of a buffer.
    Pointer(DevicePtr),
    /// A struct or an array by value, or a small integer, in little-endian bytes.
    Bytes(Vec<u8>),
}

/// A launch of a kernel.
#[derive(Clone, PartialEq)]
pub struct Launch {
    /// Module that contains the kernel.
    pub module: ModuleId,
    /// Name of the kernel (`.entry`).
    pub kernel: String,
    /// Number of blocks in each dimension.
    pub grid: Dim3,
    /// Number of threads of a block in each dimension.
    pub block: Dim3,
    /// Number of blocks of a cluster in each dimension, if the launch states it.
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// Number of the stream. Launches of one stream run one after the other.
    pub stream: u32,
    /// Arguments in the order of the kernel's parameters.
    pub args: Vec<Arg>,
    /// Registers per thread, if they are known. Otherwise the compiler's estimate applies.
    pub registers_per_thread: Option<u32>,
    /// Device memory for the barrier of a cooperative launch: two words, of which the first
    /// contains their size in bytes and the second 0. `None` for other launches.
    pub workspace: Option<DevicePtr>,
}

/// Text by which runs are distinguished. It omits workspace and cluster unless there is one.
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
        if let Some(cluster) = &self.cluster {
            shown.field("cluster", cluster);
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
            cluster: None,
            dynamic_shared_bytes: 0,
            stream: 0,
            args,
            registers_per_thread: None,
            workspace: None,
        }
    }
}

/// Next action of a host program. Copies are made directly on the [`Device`], or in the order of a
/// stream, and take no time.
///
/// Stream 0 is CUDA's default stream: its operations wait for all earlier operations, and the host
/// waits for them. For any other stream the host continues at once. Operations of one stream run
/// one after the other, and those of several streams at the same time.
#[derive(Clone, Debug, PartialEq)]
pub enum HostAction {
    /// Launches a kernel on its stream.
    Launch(Launch),
    /// Copies bytes to the device, in the order of a stream.
    Write {
        /// Number of the stream.
        stream: u32,
        /// Address of the first byte.
        to: DevicePtr,
        /// Bytes to be written.
        bytes: Vec<u8>,
    },
    /// Copies bytes on the device, in the order of a stream.
    Copy {
        /// Number of the stream.
        stream: u32,
        /// Address of the first source byte.
        from: DevicePtr,
        /// Address of the first destination byte.
        to: DevicePtr,
        /// Number of bytes to copy.
        bytes: u64,
    },
    /// Calls [`HostProgram::reached`] when all earlier operations of a stream are complete. A
    /// program uses it for operations of its own in the order of a stream, or to query the time.
    Mark {
        /// Number of the stream.
        stream: u32,
        /// Number that the program assigns to the mark, unique within a run.
        mark: u64,
    },
    /// Delays later operations of a stream until a mark of any stream has been reached.
    WaitFor {
        /// Number of the stream.
        stream: u32,
        /// Number of the mark.
        mark: u64,
    },
    /// Goes on at once, after the program has used the device.
    Nothing,
    /// Waits for everything on every stream.
    Synchronize,
    /// Waits for everything on one stream.
    SynchronizeStream(u32),
    /// Somebody ended the program before its end. The run stops at once as one that its caller
    /// stopped.
    Interrupt,
    /// The program has ended.
    Done,
}

/// Reason why a run ends before its program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A kernel caused a fault.
    Fault(FaultKind),
    /// Deadlock or livelock: no block can continue, or warps spin on values that no running block
    /// can change.
    Stuck,
    /// The limit of cycles or of launches was reached, or that of instructions in a run without
    /// timing.
    CycleLimit,
    /// The caller stopped the run, or the program was ended ([`HostAction::Interrupt`]).
    Interrupted,
}

/// A comparison of an output with its reference.
#[derive(Clone, Debug, PartialEq, Eq, Value)]
pub struct Check {
    /// Name of the output.
    pub name: String,
    /// True if something was compared, and all compared values are correct.
    pub passed: bool,
    /// Number of differences and the first of them, or how the comparison was made.
    pub detail: String,
    /// Number of compared values. It is 0 if a run of first blocks computed none of them; the check
    /// then does not pass.
    pub compared: u64,
}

/// Reason why a host program cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A device operation failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The input is invalid. The message contains the place and the remedy.
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
    /// Returns the next action. Launches on stream 0 and operations that the program waited for
    /// have finished, so that their results may be read.
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError>;

    /// Called when a mark has been reached, in core cycle `at` (in a run without timing: the number
    /// of warp instructions executed so far). Operations of the program in this call are in the
    /// order of the mark's stream.
    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        let _ = (mark, device, at);
        Ok(())
    }

    /// Called when the run ends early. The program gets no further calls.
    fn stopped(&mut self, why: Stopped) {
        let _ = why;
    }

    /// First launch, counted from 0, that is representative for an analysis. Earlier launches are
    /// too short.
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
