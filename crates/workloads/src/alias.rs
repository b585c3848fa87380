//! The papers' abbreviations: one table for each paper, with rows in order of abbreviation.
//! [`facts`](crate::facts()) has the papers' statements about the benchmarks' shapes.

/// A paper's name of a benchmark, and the corresponding workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// Short name of the paper: `duet`, `cooperative`, `crat`, `slicer` or `locality`.
    pub paper: &'static str,
    /// Abbreviation in the paper; it is matched without regard to case.
    pub abbreviation: &'static str,
    /// Name of the workload.
    pub workload: &'static str,
    /// Variant with the paper's data set or launch shape at size `paper`.
    pub variant: &'static str,
    /// The kernel to which the paper refers, if it is one of several.
    pub kernel: Option<&'static str>,
}

/// All abbreviations, by paper.
pub fn aliases() -> impl Iterator<Item = &'static Alias> {
    let papers = [DUET, COOPERATIVE, CRAT, SLICER, LOCALITY];
    papers.into_iter().flatten()
}

/// Preset of the machine on which a paper's figures are made; the one of most figures where there
/// are several.
pub fn preset_of_paper(paper: &str) -> Option<&'static str> {
    Some(match paper {
        "duet" => "maxwell-duet",
        "cooperative" => "gtx480",
        "crat" => "fermi-crat",
        "slicer" => "fermi-slicer",
        "locality" => "fermi-locality",
        _ => return None,
    })
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

/// Benchmarks of GPUDuet, Table 2.
const DUET: &[Alias] = &[
    alias("duet", "BFS", "bfs", "uniform-16m"),
    alias("duet", "BP_1", "backprop", "default").kernel("layerforward"),
    alias("duet", "BP_2", "backprop", "default").kernel("adjust_weights"),
    alias("duet", "BT", "btree", "default"),
    alias("duet", "CFD", "cfd", "missile"),
    alias("duet", "CONV", "2dconv", "default"),
    alias("duet", "CP", "cutcp", "water"),
    alias("duet", "DWT_1", "dwt2d", "rgb").kernel("copy_components"),
    alias("duet", "DWT_2", "dwt2d", "strips128").kernel("fdwt"),
    alias("duet", "FDTD_1", "fdtd2d", "default").kernel("fdtd_step1"),
    alias("duet", "FDTD_2", "fdtd2d", "default").kernel("fdtd_step2"),
    alias("duet", "GEMM", "gemm", "default"),
    alias("duet", "HG", "hybridsort", "blocks512").kernel("histogram"),
    alias("duet", "HS", "hotspot", "grid512"),
    alias("duet", "KM", "kmeans", "kdd").kernel("invert_mapping"),
    alias("duet", "LBM", "lbm", "cavity"),
    alias("duet", "MM", "2mm", "default"),
    alias("duet", "MMS", "matrixmul", "tile32"),
    alias("duet", "SAD_1", "sad", "qcif").kernel("mb_sad_calc"),
    alias("duet", "SAD_2", "sad", "qcif").kernel("larger_sad_calc_8"),
    alias("duet", "SPMV", "spmv", "fem"),
    alias("duet", "ST", "stencil", "default"),
];

/// Benchmarks of Do et al. 2017, Table 3.
const COOPERATIVE: &[Alias] = &[
    alias("cooperative", "MergeSort", "mergesort", "default"),
    alias("cooperative", "MonteCarlo", "montecarlo", "default"),
    alias("cooperative", "MUMmerGPU", "mummergpu", "default"),
    alias("cooperative", "SimpleMultiGPU", "simplemultigpu", "default"),
    alias("cooperative", "StoreGPU", "storegpu", "sha1"),
    alias("cooperative", "VectorAddition", "vectoradd", "default"),
];

/// Benchmarks of CRAT, Table 3.
const CRAT: &[Alias] = &[
    alias("crat", "B+T", "btree", "default"),
    alias("crat", "BAK", "backprop", "default").kernel("layerforward"),
    alias("crat", "BFS", "bfs", "uniform").kernel("kernel"),
    alias("crat", "BLK", "blackscholes", "options4m"),
    alias("crat", "CFD", "cfd", "missile256"),
    alias("crat", "DTC", "dxtc", "default"),
    alias("crat", "ESP", "estimatepi", "default").kernel("init_rng"),
    alias("crat", "FDTD", "fdtd3d", "step"),
    alias("crat", "GAU", "gaussian", "square4").kernel("Fan1"),
    alias("crat", "HST", "hotspot", "grid512"),
    alias("crat", "KMN", "kmeans", "kdd").kernel("invert_mapping"),
    alias("crat", "LBM", "lbm", "step"),
    alias("crat", "LUD", "lud", "default").kernel("diagonal"),
    alias("crat", "MUM", "mummergpu", "default"),
    alias("crat", "NEED", "nw", "default").kernel("needle_1"),
    alias("crat", "PATH", "pathfinder", "default"),
    alias("crat", "PTF", "particlefilter", "default"),
    alias("crat", "SGM", "sgemm", "medium"),
    alias("crat", "SPMV", "spmv", "fem"),
    alias("crat", "SRAD", "srad", "default").kernel("srad_cuda_1"),
    alias("crat", "STE", "stencil", "default"),
    alias("crat", "STM", "streamcluster", "default"),
];

/// Benchmarks of Warped-Slicer, Table II.
const SLICER: &[Alias] = &[
    alias("slicer", "BFS", "bfs", "uniform"),
    alias("slicer", "BLK", "blackscholes", "options4m"),
    alias("slicer", "DXT", "dxtc", "default"),
    alias("slicer", "HOT", "hotspot", "grid1024"),
    alias("slicer", "IMG", "imagedenoising", "portrait").kernel("knn"),
    alias("slicer", "KNN", "nn", "block256"),
    alias("slicer", "LBM", "lbm", "cavity"),
    alias("slicer", "MM", "sgemm", "medium"),
    alias("slicer", "MVP", "spmv", "fem"),
    alias("slicer", "NN", "neuralnet", "default").kernel("first_layer"),
];

/// Benchmarks of Chen 2016, Table 4.2.
const LOCALITY: &[Alias] = &[
    alias("locality", "BP", "backprop", "default"),
    alias("locality", "CONV", "convolutionseparable", "megapixel"),
    alias("locality", "Gabor", "gabor", "pyramid"),
    alias("locality", "GAUSSIAN", "gaussian", "square16"),
    alias("locality", "HIS", "histogram", "twice"),
    alias("locality", "HS", "hotspot", "grid1024"),
    alias("locality", "LUD", "lud", "default"),
    alias("locality", "NN", "nn", "block32"),
    alias("locality", "NW", "nw", "default"),
    alias("locality", "SIFT", "sift", "default"),
    alias("locality", "SRAD", "srad", "default"),
    alias("locality", "TRAN", "transpose", "tile16"),
];
