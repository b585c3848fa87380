//! Sessions: modules, buffers, launches, host programs, expectations. This crate is the interface
//! for programs that embed Warploom.
//!
//! A [`HostProgram`] is the host side of a CUDA program. The session requests its next action;
//! between actions it copies data to and from [`Device`] memory; and finally it checks its outputs.

mod accesses;
mod assembled;
mod checkpoint;
mod compile;
mod device;
mod files;
mod functional;
mod host;
pub mod launch_file;
mod mix;
mod output;
mod params;
mod pass;
mod printer;
mod process;
mod progress;
mod requests;
mod result;
mod sampler;
mod sampling;
mod session;
mod sharing;
mod substitute;
mod told;
mod transactions;
mod written;

pub use checkpoint::{CallKind, Checkpoint, CheckpointError, Checkpoints, OtherCall};
pub use compile::{CompiledPtx, compile};
pub use device::{Device, DeviceError, DevicePtr, ModuleId, Scalar};
pub use files::{io_reason, is_same_file, probe_output, write_whole};
pub use functional::{FirstBlocks, FunctionalRun, Work};
pub use host::{Arg, Check, HostAction, HostError, HostProgram, Launch, Stopped};
pub use mix::{Again, Participant};
pub use output::Output;
pub use params::ArgError;
pub use printer::Printer;
pub use progress::Progress;
pub use requests::{MarkAction, NoMoreRequests, RequestedHost, Requester, requested_host};
pub use result::config_values;
pub use session::{OnEach, OnMachine, Options, RunError, Session, Timed, TimedBlocks};
pub use substitute::Substituted;
pub use warploom_exec::{
    AddressMode, ChannelKind, Checks, FaultKind, MipmapSettings, Texture, approx,
};
pub use warploom_gpu::{
    BankPart, KernelEnd, LaunchedKernel, MachineCounters, MachineObserver, MachineView, Part,
    PartCounters, Probe, SmPart,
};
pub use warploom_policy::{CustomPolicies, Make};
