//! Structure of a launch file, with the place of each part in the text.

use super::access::Access;
use super::element::Element;
use std::path::{Path, PathBuf};
use warploom_base::Dim3;
use warploom_diag::Span;
use warploom_fields::Number;
use warploom_ir::ModuleIr;

/// A parsed launch file. Its names are not resolved yet.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Path of the PTX file as written, and its place.
    pub module: (String, Span),
    /// Buffers in the order of allocation.
    pub buffers: Vec<BufferPlan>,
    /// Launches in the order of execution.
    pub launches: Vec<LaunchPlan>,
    /// Outputs to be compared.
    pub expects: Vec<ExpectPlan>,
    /// Outputs to be written.
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

    /// Names the kernels of all launches as the module does. `refused` are kernels of the module
    /// that cannot run.
    pub(super) fn name_kernels(&mut self, module: &ModuleIr, refused: &[&str]) {
        let names = module.kernels.iter().map(|kernel| kernel.name.as_str());
        let names: Vec<&str> = names.chain(refused.iter().copied()).collect();
        for launch in &mut self.launches {
            if let Some(name) = warploom_names::find(&launch.kernel.0, &names) {
                launch.kernel.0 = name.to_owned();
            }
        }
    }
}

/// A buffer in device memory.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Name by which arguments, expectations and dumps refer to it.
    pub name: String,
    /// Place of the name.
    pub place: Span,
    /// Type of its elements. `None` means that of the `.npy` file.
    pub element: Option<Element>,
    /// Extents of its dimensions. `None` means those of the `.npy` file.
    pub shape: Option<Vec<u64>>,
    /// Initial contents of the buffer.
    pub init: Init,
    /// Place of `init`, or of the buffer.
    pub init_place: Span,
    /// Accesses of kernels to the buffer, as far as [`Plan::add_accesses`] was told, each once.
    pub accesses: Vec<Access>,
}

/// Initial contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All bytes are zero.
    Zeros,
    /// 0, 1, 2 and so on, modulo the range of an integer type.
    Iota,
    /// A single number in all elements.
    Constant(Number),
    /// Uniformly distributed numbers from `low` to `high`, excluding `high`.
    Uniform {
        /// The smallest possible number.
        low: Number,
        /// The upper bound, which is excluded.
        high: Number,
        /// Seed of the generator.
        seed: u64,
    },
    /// Normally distributed numbers, rounded for an integer type.
    Normal {
        /// Mean of the distribution.
        mean: f64,
        /// Standard deviation of the distribution.
        deviation: f64,
        /// Seed of the generator.
        seed: u64,
    },
    /// Contents of a `.npy` file.
    Npy(String),
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct LaunchPlan {
    /// Name of the kernel, and its place.
    pub kernel: (String, Span),
    /// Number of blocks in each dimension, and its place.
    pub grid: (Dim3, Span),
    /// Number of threads of a block in each dimension, and its place.
    pub block: (Dim3, Span),
    /// Number of blocks of a cluster in each dimension, if stated, and its place.
    pub cluster: Option<(Dim3, Span)>,
    /// Dynamic shared memory in bytes, and its place.
    pub dynamic_shared_bytes: (u32, Span),
    /// Number of the stream.
    pub stream: u32,
    /// Registers per thread, if specified, and their place.
    pub registers_per_thread: Option<(u32, Span)>,
    /// Arguments, each with its place.
    pub args: Vec<(ArgPlan, Span)>,
    /// Place of the argument list.
    pub args_place: Span,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgPlan {
    /// A buffer, by its name.
    Buffer(String),
    /// A scalar of the type that the kernel declares, unless the scalar specifies its own.
    Scalar(Scalar),
    /// Bytes of a struct or array by value.
    Bytes(Vec<u8>),
    /// Members of a structure by value: buffers and scalars.
    Struct(Vec<ArgPlan>),
}

/// A number with its type, if one was specified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    /// Value of the scalar.
    pub number: Number,
    /// Type of a scalar such as `{ f32 = 1.0 }`.
    pub element: Option<Element>,
}

/// An output to be compared.
#[derive(Clone, Debug)]
pub struct ExpectPlan {
    /// Name of the buffer, and its place.
    pub buffer: (String, Span),
    /// Expected contents of the buffer.
    pub expected: Expected,
    /// Place of the expected contents.
    pub place: Span,
    /// Largest permitted value of |got - expected| / max(1, |expected|).
    pub tolerance: f64,
}

/// Expected contents of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A single number in all elements.
    Constant(Number),
    /// Contents of a `.npy` file.
    Npy(String),
}

/// An output to be written.
#[derive(Clone, Debug)]
pub struct DumpPlan {
    /// Name of the buffer, and its place.
    pub buffer: (String, Span),
    /// Path of the `.npy` file.
    pub path: String,
    /// Place of the path.
    pub place: Span,
}
