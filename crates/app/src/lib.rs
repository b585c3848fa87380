//! A CUDA runtime on a simulated GPU: everything that a `libcudart` does, but for its calling
//! convention.
//!
//! A [`Context`] is what one process has of the GPU: modules out of fat binaries ([`fatbin`]),
//! memory, streams, events, textures. Its methods are the runtime's calls with checked arguments;
//! their errors are the runtime's codes. The simulation runs in a thread of its own (`engine`)
//! and is asked for one thing after the other; the host takes no simulated time.
//!
//! The crate `cudart` puts the C interface on top and says where host memory is ([`HostMemory`]).
//! What is needed to start a program is here, too: [`Settings`] that go to it in an environment
//! variable, the little libraries that the loader asks for ([`stub`]) and what a program's file
//! tells ([`program`]).
//!
//! Invariants: no `unsafe`; host memory is touched in the calling thread only, between two calls of
//! the program.

mod array;
mod attributes;
mod capability;
mod capture;
mod context;
mod copy;
mod copy3;
mod engine;
mod error;
pub mod fatbin;
mod fill;
mod function;
mod graph;
mod host;
mod layout;
mod memory;
mod mipmap;
mod module;
mod order;
mod pool;
pub mod program;
mod properties;
mod result;
mod settings;
mod shadow;
mod stream;
pub mod stub;
mod texture;
mod work;

pub use array::{Array, Channels, Extent};
pub use attributes::{ATTRIBUTE_BYTES, AttributeValue};
pub use capability::capability;
pub use capture::{CaptureFacts, CaptureMode, CaptureStatus};
pub use context::{Caller, Configuration, Context, ThreadKey};
pub use copy::{Area, Box3, Direction, End};
pub use copy3::{Copy3, Place};
pub use error::{Cuda, CudaError, name as error_name, sentence as error_sentence};
pub use fill::Fill;
pub use function::{FunctionAttributes, LaunchRequest, Occupancy};
pub use graph::{Change, Launching, Unchangeable};
pub use host::HostMemory;
pub use layout::{Abi, device_properties};
pub use memory::{Kind, PointerFacts};
pub use module::{FatBinary, Referred, Texturing};
pub use properties::{attribute, facts};
pub use settings::{CheckKind, SETTINGS_VARIABLE, Settings, SettingsError};
pub use texture::{Sampler, Target, View};
pub use work::{CopyWork, HostCall, Work};
