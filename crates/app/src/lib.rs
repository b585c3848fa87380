//! CUDA runtime on a simulated GPU: everything that `libcudart` does, except for its calling
//! convention.
//!
//! A [`Context`] is the state of one process: modules from fat binaries ([`fatbin`]), memory,
//! streams, events and textures. Its methods are the calls of the runtime with checked arguments,
//! and their errors are the error codes of the runtime. The simulation runs in a thread of its own
//! (`engine`) and receives one request after another. The host takes no simulated time.
//!
//! The crate `cudart` adds the C interface and provides access to host memory ([`HostMemory`]).
//! This crate also contains everything needed to start a program: the [`Settings`] that it receives
//! in an environment variable, the stub libraries that the loader requests ([`stub`]), and the
//! inspection of a program's file ([`program`]).
//!
//! Invariants: no `unsafe`. Host memory is accessed only in the calling thread, during a call of
//! the program.

mod array;
mod attributes;
mod capability;
mod capture;
mod checkpoint;
mod context;
mod copy;
mod copy3;
mod driver;
mod engine;
mod error;
pub mod fatbin;
mod fill;
mod function;
mod graph;
mod host;
mod layout;
mod link;
mod memory;
mod mipmap;
mod module;
mod operation;
mod order;
mod pool;
mod prepared;
pub mod program;
mod properties;
mod result;
mod settings;
mod shadow;
mod stream;
pub mod stub;
mod tensor_map;
mod texture;
mod texture_reference;

pub use array::{Array, Channels, Extent};
pub use attributes::{ATTRIBUTE_BYTES, AttributeValue};
pub use capability::capability;
pub use capture::{CaptureFacts, CaptureMode, CaptureStatus};
pub use context::{Caller, Configuration, Context, ThreadKey};
pub use copy::{Area, CopyExtent, Direction, Endpoint, Submission};
pub use copy3::{Copy3, Place};
pub use driver::CONTEXT;
pub use error::{Cuda, CudaError, name as error_name, sentence as error_sentence};
pub use fill::Fill;
pub use function::{ClusterOccupancy, FunctionAttributes, LaunchRequest, Occupancy};
pub use graph::{GraphLaunch, UpdateFailure, UpdateMismatch};
pub use host::HostMemory;
pub use layout::{Abi, device_properties};
pub use memory::{Kind, PointerFacts};
pub use module::{FatBinary, ReferenceKind, TextureDeclaration};
pub use operation::{CopyOperation, HostCall, Operation};
pub use properties::{attribute, facts};
pub use settings::{CheckKind, SETTINGS_VARIABLE, Settings, SettingsError};
pub use tensor_map::{PixelWalk, TiledTensor};
pub use texture::{Sampler, Target, View};
pub use texture_reference::TextureReference;
