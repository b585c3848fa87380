//! Descriptions of workloads: the rows of `warploom list workloads`.

use std::fmt;
use std::str::FromStr;

use warploom_base::Dim3;
use warploom_run::{Arg, HostProgram, Launch, ModuleId};

/// The benchmark suite whose algorithm, parallelisation and launch shape a workload reproduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suite {
    /// The benchmark suite Rodinia.
    Rodinia,
    /// The benchmark suite Parboil.
    Parboil,
    /// The benchmark suite PolyBench/GPU.
    PolyBench,
    /// The samples of NVIDIA's CUDA SDK.
    CudaSdk,
    /// The applications of A. Bakhoda et al., "Analyzing CUDA Workloads Using a Detailed GPU
    /// Simulator", ISPASS 2009.
    Ispass2009,
    /// Well-known algorithms of computer vision, from no suite.
    Vision,
    /// The kernels for which GPGPU-Sim's own figures were recorded; they are no benchmarks.
    Reference,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rodinia => "Rodinia",
            Self::Parboil => "Parboil",
            Self::PolyBench => "PolyBench",
            Self::CudaSdk => "CUDA SDK",
            Self::Ispass2009 => "ISPASS-2009",
            Self::Vision => "vision",
            Self::Reference => "reference",
        })
    }
}

/// Amount of work in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Size {
    /// For tests: fewer than 200,000 warp instructions.
    Test,
    /// At most a few million warp instructions.
    #[default]
    Small,
    /// The data set or the launch shape of the papers.
    Paper,
}

impl Size {
    /// All sizes, in order of increasing work.
    pub const ALL: [Self; 3] = [Self::Test, Self::Small, Self::Paper];

    /// Name of this size on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }

    /// Selects a value by size; the values are in the order of [`Size::ALL`].
    pub(crate) fn pick<T>(self, test: T, small: T, paper: T) -> T {
        match self {
            Self::Test => test,
            Self::Small => small,
            Self::Paper => paper,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error for a word that is not a [`Size`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no size is called `{0}`; there are: test, small, paper")]
pub struct UnknownSize(pub String);

impl FromStr for Size {
    type Err = UnknownSize;

    fn from_str(text: &str) -> Result<Self, UnknownSize> {
        let found = Self::ALL.into_iter().find(|size| size.name() == text);
        found.ok_or_else(|| UnknownSize(text.to_owned()))
    }
}

/// A kernel of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Name of the kernel, unique in the workload. Users type it after a colon.
    pub name: &'static str,
    /// Description of the kernel in one sentence.
    pub sentence: &'static str,
    /// Names of the PTX entries: one for each block shape for which it is compiled.
    pub entries: &'static [&'static str],
    /// True if it can be launched without the workload's other kernels, because the host can
    /// prepare its inputs. Otherwise a request for it runs all kernels, and only its figures count.
    pub alone: bool,
}

/// Number of times that a run makes a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// A fixed number of times.
    Fixed(u32),
    /// Until the device signals the end; the number is known only after the run.
    UntilDone,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(times) => write!(f, "{times}"),
            Self::UntilDone => f.write_str("until done"),
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShape {
    /// Name of the PTX entry.
    pub entry: &'static str,
    /// Number of blocks in each dimension.
    pub grid: Dim3,
    /// Number of threads of a block in each dimension.
    pub block: Dim3,
    /// Number of times that it is launched.
    pub times: Times,
    /// Shared memory of a block in bytes that the launch adds to the kernel's own.
    pub dynamic_shared_bytes: u32,
}

impl LaunchShape {
    /// A launch that is made once.
    pub(crate) const fn once(entry: &'static str, grid: Dim3, block: Dim3) -> Self {
        Self {
            entry,
            grid,
            block,
            times: Times::Fixed(1),
            dynamic_shared_bytes: 0,
        }
    }

    /// The launch with these arguments.
    pub(crate) fn launch(&self, module: ModuleId, args: Vec<Arg>) -> Launch {
        let mut launch = Launch::new(module, self.entry, self.grid, self.block, args);
        launch.dynamic_shared_bytes = self.dynamic_shared_bytes;
        launch
    }
}

/// A request for a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The amount of work.
    pub size: Size,
    /// Seed of the inputs.
    pub seed: u64,
    /// Name of the only kernel to run ([`KernelInfo::name`]), if it can run alone.
    pub only: Option<&'static str>,
}

impl Request {
    /// True if `kernel` is to be launched.
    pub(crate) fn wants(&self, kernel: &str) -> bool {
        self.only.is_none_or(|only| only == kernel)
    }
}

/// A kind of input or launch shape of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name of the variant, unique in the workload. Users type it after an `@`.
    pub name: &'static str,
    /// Description in one sentence, with the paper whose shape it has at size `paper`.
    pub sentence: &'static str,
    /// Launches of a request in order, each listed once.
    pub launches: fn(&Request) -> Vec<LaunchShape>,
    /// Creates the host program of a request. Its first action generates the inputs.
    pub program: fn(&Request) -> Box<dyn HostProgram>,
}

/// Description of a workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// Name of the workload on the command line.
    pub name: &'static str,
    /// Suite that contains the benchmark.
    pub suite: Suite,
    /// Description of the computation in one sentence.
    pub sentence: &'static str,
    /// Publication of the algorithm and its launch shape.
    pub source: &'static str,
    /// A page of notes in Markdown.
    pub notes: &'static str,
    /// Text of the module's PTX.
    pub ptx: &'static str,
    /// Kernels of the workload.
    pub kernels: &'static [KernelInfo],
    /// Variants, with the default first.
    pub variants: &'static [Variant],
}

impl WorkloadInfo {
    /// The kernel to which a PTX entry belongs.
    pub fn kernel_of_entry(&self, entry: &str) -> Option<&'static KernelInfo> {
        self.kernels
            .iter()
            .find(|kernel| kernel.entries.contains(&entry))
    }

    /// The variant that runs by default.
    pub fn default_variant(&self) -> &'static Variant {
        &self.variants[0]
    }
}
