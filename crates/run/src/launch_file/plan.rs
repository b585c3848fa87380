//! What a launch file says, each part with its place in the text.

use super::element::{Element, Number};
use std::path::{Path, PathBuf};
use warploom_base::Dim3;
use warploom_diag::Span;

/// A launch file, read. Names are not looked up yet.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Path of the PTX file as written, and its place.
    pub module: (String, Span),
    /// Buffers, in order of allocation.
    pub buffers: Vec<BufferPlan>,
    /// Launches, in order.
    pub launches: Vec<LaunchPlan>,
    /// Outputs to compare.
    pub expects: Vec<ExpectPlan>,
    /// Outputs to write.
    pub dumps: Vec<DumpPlan>,
}

impl Plan {
    /// Files that the plan reads: its module, then the data of buffers and of expectations. Paths
    /// start at `folder`, the launch file's.
    #[must_use]
    pub fn inputs(&self, folder: &Path) -> Vec<PathBuf> {
        let buffers = self.buffers.iter().filter_map(|buffer| match &buffer.init {
            Init::Npy(path) => Some(path),
            _ => None,
        });
        let expects = self
            .expects
            .iter()
            .filter_map(|expect| match &expect.expected {
                Expected::Npy(path) => Some(path),
                Expected::Constant(_) => None,
            });
        let names = std::iter::once(&self.module.0)
            .chain(buffers)
            .chain(expects);
        names.map(|name| folder.join(name)).collect()
    }
}

/// A buffer in device memory.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Name that arguments, expectations and dumps use.
    pub name: String,
    /// Place of the name.
    pub place: Span,
    /// Type of its elements; `None` takes that of the `.npy` file.
    pub element: Option<Element>,
    /// Extents; `None` takes those of the `.npy` file.
    pub shape: Option<Vec<u64>>,
    /// First contents.
    pub init: Init,
    /// Place of `init`, or of the buffer.
    pub init_place: Span,
}

/// First contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All bytes zero.
    Zeros,
    /// 0, 1, 2 and so on, modulo the range of an integer type.
    Iota,
    /// One number everywhere.
    Constant(Number),
    /// Uniform from `low` to `high`, `high` excluded.
    Uniform {
        /// Smallest.
        low: Number,
        /// Bound.
        high: Number,
        /// Seed of the generator.
        seed: u64,
    },
    /// Normal, rounded for an integer type.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
        /// Seed of the generator.
        seed: u64,
    },
    /// Contents of a `.npy` file.
    Npy(String),
}

/// A kernel launch.
#[derive(Clone, Debug)]
pub struct LaunchPlan {
    /// Kernel's name and its place.
    pub kernel: (String, Span),
    /// Blocks, and the place.
    pub grid: (Dim3, Span),
    /// Threads of a block, and the place.
    pub block: (Dim3, Span),
    /// Dynamic shared memory in bytes, and the place.
    pub dynamic_shared_bytes: (u32, Span),
    /// Stream.
    pub stream: u32,
    /// Registers per thread, where known, and the place.
    pub registers_per_thread: Option<(u32, Span)>,
    /// Arguments, each with its place.
    pub args: Vec<(ArgPlan, Span)>,
    /// Place of the argument list.
    pub args_place: Span,
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgPlan {
    /// A buffer by name.
    Buffer(String),
    /// A scalar, of the type that the kernel declares unless it names one.
    Scalar(Scalar),
    /// Bytes of a struct or array by value.
    Bytes(Vec<u8>),
}

/// A number with the type that it was given, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    /// The number.
    pub number: Number,
    /// `{ f32 = 1.0 }` names a type.
    pub element: Option<Element>,
}

/// An output to compare.
#[derive(Clone, Debug)]
pub struct ExpectPlan {
    /// Buffer's name and its place.
    pub buffer: (String, Span),
    /// What it must hold.
    pub expected: Expected,
    /// Place of that.
    pub place: Span,
    /// Most allowed of |got - expected| / max(1, |expected|).
    pub tolerance: f64,
}

/// What an output must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// One number everywhere.
    Constant(Number),
    /// Contents of a `.npy` file.
    Npy(String),
}

/// An output to write.
#[derive(Clone, Debug)]
pub struct DumpPlan {
    /// Buffer's name and its place.
    pub buffer: (String, Span),
    /// The `.npy` file to write.
    pub path: String,
    /// Place of the path.
    pub place: Span,
}
