//! What a workload says of itself: the rows of `warploom list workloads`.

use std::fmt;
use std::str::FromStr;

use warploom_base::Dim3;
use warploom_run::{Arg, HostProgram, Launch, ModuleId};

/// The benchmark suite whose algorithm, parallelisation and launch shape a workload reproduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suite {
    /// Rodinia.
    Rodinia,
    /// Parboil.
    Parboil,
    /// PolyBench/GPU.
    PolyBench,
    /// The samples of NVIDIA's CUDA SDK.
    CudaSdk,
    /// The applications of A. Bakhoda et al., "Analyzing CUDA Workloads Using a Detailed GPU
    /// Simulator", ISPASS 2009.
    Ispass2009,
    /// Well-known algorithms of computer vision, from no suite.
    Vision,
    /// No benchmark: the kernels that GPGPU-Sim's own figures were recorded for.
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

/// How much work a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Size {
    /// For tests: below 200,000 warp instructions.
    Test,
    /// A few million warp instructions at most.
    #[default]
    Small,
    /// The data set or the launch shape of the papers.
    Paper,
}

impl Size {
    /// All sizes, smallest work first.
    pub const ALL: [Self; 3] = [Self::Test, Self::Small, Self::Paper];

    /// The word for this size on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }

    /// One of three values, given in the order of [`Size::ALL`].
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

/// A word that names no [`Size`].
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

/// A kernel of a workload, by the name that users type after the colon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Its name, unique in the workload.
    pub name: &'static str,
    /// One sentence.
    pub sentence: &'static str,
    /// Its PTX entries: one for each block shape that it is compiled for.
    pub entries: &'static [&'static str],
    /// It can be launched without the workload's other kernels, the host preparing its inputs.
    /// Otherwise a request for it runs them all, and only its figures are of interest.
    pub alone: bool,
}

/// How often a run makes a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// This often.
    Fixed(u32),
    /// Until the device says that it is done: known only by running.
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
    /// The PTX entry.
    pub entry: &'static str,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// How often it is launched.
    pub times: Times,
}

impl LaunchShape {
    /// A launch that is made once.
    pub(crate) const fn once(entry: &'static str, grid: Dim3, block: Dim3) -> Self {
        Self {
            entry,
            grid,
            block,
            times: Times::Fixed(1),
        }
    }

    /// The launch itself.
    pub(crate) fn launch(&self, module: ModuleId, args: Vec<Arg>) -> Launch {
        Launch::new(module, self.entry, self.grid, self.block, args)
    }
}

/// What is asked of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// How much work.
    pub size: Size,
    /// Seed of the inputs.
    pub seed: u64,
    /// Only this kernel of the workload (by [`KernelInfo::name`]), if it can run alone.
    pub only: Option<&'static str>,
}

impl Request {
    /// Whether `kernel` is to be launched.
    pub(crate) fn wants(&self, kernel: &str) -> bool {
        self.only.is_none_or(|only| only == kernel)
    }
}

/// One kind of input or launch shape of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name, unique in the workload; users type it after an `@`.
    pub name: &'static str,
    /// One sentence: what it is and which paper's shape it has at size `paper`.
    pub sentence: &'static str,
    /// The launches of a request, in order, each listed once.
    pub launches: fn(&Request) -> Vec<LaunchShape>,
    /// The host program of a request. Inputs are made at its first action.
    pub program: fn(&Request) -> Box<dyn HostProgram>,
}

/// A workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// The suite that its benchmark is from.
    pub suite: Suite,
    /// One sentence: what it computes.
    pub sentence: &'static str,
    /// Where the algorithm and its launch shape are published.
    pub source: &'static str,
    /// A page of notes in Markdown.
    pub notes: &'static str,
    /// The module's PTX.
    pub ptx: &'static str,
    /// Kernels.
    pub kernels: &'static [KernelInfo],
    /// Variants, the default first.
    pub variants: &'static [Variant],
}

impl WorkloadInfo {
    /// The kernel that a PTX entry belongs to.
    pub fn kernel_of_entry(&self, entry: &str) -> Option<&'static KernelInfo> {
        self.kernels
            .iter()
            .find(|kernel| kernel.entries.contains(&entry))
    }

    /// The variant that runs when none is asked for.
    pub fn default_variant(&self) -> &'static Variant {
        &self.variants[0]
    }
}
