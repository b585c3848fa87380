//! The papers' abbreviations: one table a paper, rows in order of abbreviation. What a paper says of
//! a benchmark's shape stands in [`facts`](crate::facts()).

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
}

/// Every abbreviation, by paper.
pub fn aliases() -> impl Iterator<Item = &'static Alias> {
    let papers = [DUET, COOPERATIVE, CRAT, SLICER, LOCALITY];
    papers.into_iter().flatten()
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
    }
}

impl Alias {
    const fn kernel(self, kernel: &'static str) -> Self {
        Self {
            kernel: Some(kernel),
            ..self
        }
    }
}

/// Seed 000, Table 2.
const DUET: &[Alias] = &[
    alias("duet", "BFS", "bfs", "uniform-16m"),
    alias("duet", "BP_1", "backprop", "default").kernel("layerforward"),
    alias("duet", "BP_2", "backprop", "default").kernel("adjust_weights"),
    alias("duet", "HS", "hotspot", "grid512"),
    alias("duet", "MMS", "matrixmul", "tile32"),
    alias("duet", "SPMV", "spmv", "fem"),
];

/// Seed 001, Table 3.
const COOPERATIVE: &[Alias] = &[
    alias("cooperative", "MergeSort", "mergesort", "default"),
    alias("cooperative", "MonteCarlo", "montecarlo", "default"),
    alias("cooperative", "MUMmerGPU", "mummergpu", "default"),
    alias("cooperative", "SimpleMultiGPU", "simplemultigpu", "default"),
    alias("cooperative", "StoreGPU", "storegpu", "sha1"),
    alias("cooperative", "VectorAddition", "vectoradd", "default"),
];

/// Seed 002, Table 3.
const CRAT: &[Alias] = &[
    alias("crat", "BAK", "backprop", "default").kernel("layerforward"),
    alias("crat", "BFS", "bfs", "uniform").kernel("kernel"),
    alias("crat", "BLK", "blackscholes", "options4m"),
    alias("crat", "HST", "hotspot", "grid512"),
    alias("crat", "MUM", "mummergpu", "default"),
    alias("crat", "SPMV", "spmv", "fem"),
];

/// Seed 003, Table II.
const SLICER: &[Alias] = &[
    alias("slicer", "BFS", "bfs", "uniform"),
    alias("slicer", "BLK", "blackscholes", "options4m"),
    alias("slicer", "HOT", "hotspot", "grid1024"),
    alias("slicer", "MVP", "spmv", "fem"),
    alias("slicer", "NN", "neuralnet", "default").kernel("first_layer"),
];

/// Seed 004, Table 4.2.
const LOCALITY: &[Alias] = &[
    alias("locality", "BP", "backprop", "default"),
    alias("locality", "HIS", "histogram", "twice"),
    alias("locality", "HS", "hotspot", "grid1024"),
    alias("locality", "TRAN", "transpose", "tile16"),
];
