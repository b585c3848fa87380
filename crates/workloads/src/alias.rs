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

static ALIASES: [Alias; 41] = [
    alias("duet", "BFS", "bfs", "uniform-16m"),
    alias("duet", "BP_1", "backprop", "default").kernel("layerforward"),
    alias("duet", "BP_2", "backprop", "default").kernel("adjust_weights"),
    alias("duet", "CONV", "2dconv", "default"),
    alias("duet", "CP", "cutcp", "water"),
    alias("duet", "FDTD_1", "fdtd2d", "default").kernel("fdtd_step1"),
    alias("duet", "FDTD_2", "fdtd2d", "default").kernel("fdtd_step2"),
    alias("duet", "GEMM", "gemm", "default"),
    alias("duet", "HS", "hotspot", "grid512"),
    alias("duet", "LBM", "lbm", "cavity"),
    alias("duet", "MM", "2mm", "default"),
    alias("duet", "MMS", "matrixmul", "tile32"),
    alias("duet", "SAD_1", "sad", "qcif").kernel("mb_sad_calc"),
    alias("duet", "SAD_2", "sad", "qcif").kernel("larger_sad_calc_8"),
    alias("duet", "SPMV", "spmv", "fem"),
    alias("duet", "ST", "stencil", "default"),
    alias("cooperative", "VectorAddition", "vectoradd", "default"),
    alias("crat", "BAK", "backprop", "default").kernel("layerforward"),
    alias("crat", "BFS", "bfs", "uniform").kernel("kernel"),
    alias("crat", "DTC", "dxtc", "default"),
    alias("crat", "ESP", "estimatepi", "default").kernel("init_rng"),
    alias("crat", "FDTD", "fdtd3d", "default"),
    alias("crat", "HST", "hotspot", "grid512"),
    alias("crat", "LBM", "lbm", "cavity"),
    alias("crat", "SGM", "sgemm", "medium"),
    alias("crat", "SPMV", "spmv", "fem"),
    alias("crat", "STE", "stencil", "default"),
    alias("slicer", "BFS", "bfs", "uniform").registers(16),
    alias("slicer", "DXT", "dxtc", "default").registers(36),
    alias("slicer", "HOT", "hotspot", "grid1024").registers(36),
    alias("slicer", "IMG", "imagedenoising", "portrait")
        .kernel("knn")
        .registers(28),
    alias("slicer", "LBM", "lbm", "cavity").registers(36),
    alias("slicer", "MM", "sgemm", "medium").registers(44),
    alias("slicer", "MVP", "spmv", "fem").registers(16),
    alias("locality", "BP", "backprop", "default"),
    alias("locality", "CONV", "convolutionseparable", "megapixel"),
    alias("locality", "GABOR", "gabor", "pyramid"),
    alias("locality", "HIS", "histogram", "twice"),
    alias("locality", "HS", "hotspot", "grid1024"),
    alias("locality", "SIFT", "sift", "default"),
    alias("locality", "TRAN", "transpose", "tile16"),
];
