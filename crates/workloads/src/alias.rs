//! The papers' abbreviations.

/// What a paper calls a benchmark, and what that is here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The paper: `duet`, `cooperative`, `crat`, `slicer` or `locality`.
    pub paper: &'static str,
    /// The paper's abbreviation; case does not matter when it is typed.
    pub abbreviation: &'static str,
    /// The workload's name.
    pub workload: &'static str,
    /// The variant that has the paper's data set or launch shape at size `paper`.
    pub variant: &'static str,
    /// The one kernel that the paper means, if it is one of several.
    pub kernel: Option<&'static str>,
    /// Registers a thread that the paper prints or implies.
    pub registers: Option<u32>,
}

/// Every abbreviation, by paper.
pub fn aliases() -> &'static [Alias] {
    &ALIASES
}

const fn alias(
    paper: &'static str,
    abbreviation: &'static str,
    workload: &'static str,
    variant: &'static str,
) -> Alias {
    Alias {
        paper,
        abbreviation,
        workload,
        variant,
        kernel: None,
        registers: None,
    }
}

impl Alias {
    const fn kernel(self, kernel: &'static str) -> Self {
        Self {
            kernel: Some(kernel),
            ..self
        }
    }

    const fn registers(self, registers: u32) -> Self {
        Self {
            registers: Some(registers),
            ..self
        }
    }
}

static ALIASES: [Alias; 40] = [
    alias("duet", "BFS", "bfs", "uniform-16m"),
    alias("duet", "BP_1", "backprop", "default").kernel("layerforward"),
    alias("duet", "BP_2", "backprop", "default").kernel("adjust_weights"),
    alias("duet", "BT", "btree", "default"),
    alias("duet", "CFD", "cfd", "missile"),
    alias("duet", "DWT_1", "dwt2d", "rgb").kernel("copy_components"),
    alias("duet", "DWT_2", "dwt2d", "rgb").kernel("fdwt"),
    alias("duet", "HG", "hybridsort", "blocks512").kernel("histogram"),
    alias("duet", "HS", "hotspot", "grid512"),
    alias("duet", "KM", "kmeans", "kdd").kernel("invert_mapping"),
    alias("duet", "MMS", "matrixmul", "tile32"),
    alias("duet", "SPMV", "spmv", "fem"),
    alias("cooperative", "VectorAddition", "vectoradd", "default"),
    alias("crat", "B+T", "btree", "default"),
    alias("crat", "BAK", "backprop", "default").kernel("layerforward"),
    alias("crat", "BFS", "bfs", "uniform").kernel("kernel"),
    alias("crat", "CFD", "cfd", "missile256").registers(32),
    alias("crat", "GAU", "gaussian", "square4").kernel("Fan1"),
    alias("crat", "HST", "hotspot", "grid512"),
    alias("crat", "KMN", "kmeans", "kdd").kernel("invert_mapping"),
    alias("crat", "LUD", "lud", "default").kernel("diagonal"),
    alias("crat", "NEED", "nw", "default").kernel("needle_1"),
    alias("crat", "PATH", "pathfinder", "default"),
    alias("crat", "PTF", "particlefilter", "default"),
    alias("crat", "SPMV", "spmv", "fem"),
    alias("crat", "SRAD", "srad", "default").kernel("srad_cuda_1"),
    alias("crat", "STM", "streamcluster", "default"),
    alias("slicer", "BFS", "bfs", "uniform").registers(16),
    alias("slicer", "HOT", "hotspot", "grid1024").registers(36),
    alias("slicer", "KNN", "nn", "block256").registers(8),
    alias("slicer", "MVP", "spmv", "fem").registers(16),
    alias("locality", "BP", "backprop", "default"),
    alias("locality", "GAUSSIAN", "gaussian", "square16"),
    alias("locality", "HIS", "histogram", "twice"),
    alias("locality", "HS", "hotspot", "grid1024"),
    alias("locality", "LUD", "lud", "default"),
    alias("locality", "NN", "nn", "block32"),
    alias("locality", "NW", "nw", "default"),
    alias("locality", "SRAD", "srad", "default"),
    alias("locality", "TRAN", "transpose", "tile16"),
];
