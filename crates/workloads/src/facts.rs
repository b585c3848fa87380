//! Shapes of benchmarks that the papers print or imply: inputs of an experiment, not results. Grid,
//! block, registers and shared memory must be exact before any result counts; tests compare every
//! workload with its rows here.
//!
//! A row contains only what its source prints. Registers that follow from other printed values
//! state this ([`Registers::implied`]).

use crate::alias::aliases;

/// A paper's statements about the shape of one benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Short name of the paper: `duet`, `cooperative`, `crat`, `slicer` or `locality`.
    pub paper: &'static str,
    /// Abbreviation in the paper.
    pub abbreviation: &'static str,
    /// Place in the paper.
    pub source: &'static str,
    /// The data set in the paper's words.
    pub data_set: Option<&'static str>,
    /// Number of launches in a run.
    pub launches: Option<u32>,
    /// Number of blocks of all launches.
    pub blocks: Option<u64>,
    /// Blocks of a launch, on average over a run's launches and rounded up.
    pub blocks_a_launch: Option<u64>,
    /// Number of threads in a block.
    pub block_threads: Option<u32>,
    /// Blocks on an SM at a time, on average over a run's launches and rounded up.
    pub blocks_per_sm: Option<u32>,
    /// Registers of a thread.
    pub registers: Option<Registers>,
    /// Registers in use, in percent, on average over cycles.
    pub register_percent: Option<u32>,
    /// Shared memory in use, in percent, on average over cycles.
    pub shared_percent: Option<u32>,
    /// Blocks on an SM of which the kernel has half (Warped-Slicer, Table III, column Even).
    pub blocks_of_half_an_sm: Option<u32>,
    /// Resource that limits the blocks on an SM, named as in `occupancy_limit`.
    pub limited_by: Option<&'static str>,
}

/// Number of registers of a thread, with its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// The number of registers.
    pub count: u32,
    /// Statements that imply the number; `None` if the paper prints it.
    pub implied: Option<&'static str>,
}

/// All rows, by paper.
pub fn facts() -> impl Iterator<Item = &'static Facts> {
    let papers = [DUET, COOPERATIVE, CRAT, SLICER, LOCALITY];
    papers.into_iter().flatten()
}

/// A paper's statements about a benchmark.
pub(crate) fn facts_of(paper: &str, abbreviation: &str) -> Option<&'static Facts> {
    facts().find(|row| row.paper == paper && row.abbreviation == abbreviation)
}

/// The papers' names of a workload, each with the figures and tables that contain it.
pub fn papers_of(workload: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for alias in aliases().filter(|alias| alias.workload == workload) {
        let figures = figures(alias.paper, alias.abbreviation).join(", ");
        names.push(format!("{}/{}: {figures}", alias.paper, alias.abbreviation));
    }
    names
}

/// Figures and tables that contain a benchmark, according to the paper's text.
fn figures(paper: &str, abbreviation: &str) -> Vec<&'static str> {
    let among = |names: &[&str]| names.contains(&abbreviation);
    match paper {
        "duet" => {
            let mut figures = vec!["Fig. 4", "Fig. 6"];
            if abbreviation == "SPMV" {
                figures.splice(0..0, ["Fig. 1"]);
                figures.push("Fig. 5");
            }
            if among(&["BFS", "BT", "DWT_2", "HG", "HS"]) {
                figures.push("Fig. 7");
            }
            figures.extend(["Figs. 12 to 15 (15 of 22)"]);
            figures
        }
        "cooperative" => vec!["Table 3", "Fig. 3", "Fig. 4"],
        "crat" if CRAT_INSENSITIVE.contains(&abbreviation) => vec!["Fig. 19"],
        "crat" => {
            let mut figures = vec!["Fig. 1", "Fig. 5", "Fig. 7", "Figs. 13 to 15", "Fig. 17"];
            match abbreviation {
                "CFD" => figures.extend(["Figs. 2, 3, 6, 12", "Fig. 16", "Fig. 18"]),
                "FDTD" => figures.extend(["Fig. 8", "Fig. 16"]),
                "DTC" | "STE" => figures.push("Fig. 16"),
                "BLK" => figures.push("Fig. 18"),
                _ => {}
            }
            figures.push("Fig. 20");
            figures
        }
        "slicer" => vec!["Table II", "Table III", "Fig. 1", "Figs. 6 to 10"],
        "locality" if abbreviation == "Gabor" => vec!["Table 4.2"],
        _ => vec!["Table 4.2", "Table 5.1", "Figs. 5.1 to 5.4"],
    }
}

/// Resource-insensitive applications of CRAT.
const CRAT_INSENSITIVE: &[&str] = &[
    "BAK", "BFS", "B+T", "GAU", "LUD", "MUM", "NEED", "PTF", "PATH", "SGM", "SRAD",
];

const fn row(paper: &'static str, abbreviation: &'static str, source: &'static str) -> Facts {
    Facts {
        paper,
        abbreviation,
        source,
        data_set: None,
        launches: None,
        blocks: None,
        blocks_a_launch: None,
        block_threads: None,
        blocks_per_sm: None,
        registers: None,
        register_percent: None,
        shared_percent: None,
        blocks_of_half_an_sm: None,
        limited_by: None,
    }
}

const fn duet(abbreviation: &'static str, data_set: &'static str) -> Facts {
    Facts {
        data_set: Some(data_set),
        ..row("duet", abbreviation, "GPUDuet, Table 2")
    }
}

impl Facts {
    /// Adds the resource that limits its thread-level parallelism (TLP) according to section 7.2 of
    /// GPUDuet.
    const fn limited_by(self, limit: &'static str) -> Self {
        Self {
            source: "GPUDuet, Table 2 and section 7.2",
            limited_by: Some(limit),
            ..self
        }
    }

    /// Adds the registers that follow from that limit, where today's `ptxas` needs fewer.
    const fn implied_registers(self, count: u32, why: &'static str) -> Self {
        Self {
            registers: Some(Registers {
                count,
                implied: Some(why),
            }),
            ..self
        }
    }
}

const REGISTERS: &str = "registers";
const THREADS: &str = "threads";
const SHARED: &str = "shared-memory";

const DUET: &[Facts] = &[
    duet("BFS", "16 million nodes").limited_by(THREADS),
    duet("BP_1", "65,536 nodes"),
    duet("BP_2", "65,536 nodes"),
    duet("BT", "1 million nodes").limited_by(THREADS),
    duet("CFD", "0.2 million nodes").limited_by(REGISTERS),
    duet("CONV", "4,096*4,096 matrix"),
    duet("CP", "large (96,602 nodes)"),
    duet("DWT_1", "1,024*1,024 rgb image"),
    duet("DWT_2", "1,024*1,024 rgb image").limited_by(REGISTERS),
    duet("FDTD_1", "2,048*2,048 nodes"),
    duet("FDTD_2", "2,048*2,048 nodes"),
    duet("GEMM", "512*512 matrices"),
    // It is listed once among those that the register file limits, and later said to be limited by
    // shared memory, whose data GPUDuet moves to registers: so the register file cannot be full.
    duet("HG", "4 million elements").limited_by(SHARED),
    duet("HS", "512*512 nodes")
        .limited_by(REGISTERS)
        .implied_registers(
            38,
            "limited by registers, so more than 32 for blocks of 256; 38 in compilers of the time",
        ),
    duet("KM", "494,020 nodes"),
    duet("LBM", "long").limited_by(REGISTERS),
    duet("MM", "2,048*2,048 matrices"),
    duet("MMS", "1,024*1,024 matrices")
        .limited_by(REGISTERS)
        .implied_registers(
            40,
            "limited by registers, so more than 32 for blocks of 1,024; the next grant",
        ),
    duet("SAD_1", "default"),
    duet("SAD_2", "default"),
    duet("SPMV", "large"),
    duet("ST", "default")
        .limited_by(REGISTERS)
        .implied_registers(
            40,
            "limited by registers, so more than 32 for blocks of 128; the next grant",
        ),
];

const fn cooperative(abbreviation: &'static str, blocks: u64, per_sm: u32) -> Facts {
    Facts {
        blocks_a_launch: Some(blocks),
        blocks_per_sm: Some(per_sm),
        ..row("cooperative", abbreviation, "Do et al. 2017, Table 3")
    }
}

const COOPERATIVE: &[Facts] = &[
    cooperative("VectorAddition", 196, 6),
    cooperative("SimpleMultiGPU", 32, 6),
    cooperative("MonteCarlo", 193, 7),
    cooperative("MergeSort", 8156, 7),
    cooperative("StoreGPU", 384, 3),
    // The kernel has no shared memory, and threads permit 6 blocks.
    Facts {
        registers: Some(Registers {
            count: 32,
            implied: Some("4 blocks of 256 threads on 32,768 registers (26 to 32 a thread)"),
        }),
        ..cooperative("MUMmerGPU", 196, 4)
    },
];

const fn crat(abbreviation: &'static str, source: &'static str, registers: u32) -> Facts {
    Facts {
        registers: Some(Registers {
            count: registers,
            implied: None,
        }),
        ..row("crat", abbreviation, source)
    }
}

/// The default registers that the paper prints; it prints no others.
const CRAT: &[Facts] = &[
    Facts {
        blocks_per_sm: Some(8),
        ..crat("CFD", "CRAT, section 1: (32, 8) with 2,048 threads", 32)
    },
    // Section 7.2 has 42, but its 73 % of an SM's registers are 47 or 48 for a block of 512
    // threads.
    Facts {
        blocks_per_sm: Some(1),
        ..crat("FDTD", "CRAT, section 2.2", 48)
    },
];

/// A row of Table II with the block count of Table III's column Even and the registers that the
/// percentage implies with the preset's 32,768 registers and the blocks that fit.
const fn slicer(
    abbreviation: &'static str,
    blocks: u64,
    block_threads: u32,
    registers: u32,
    percent: [u32; 2],
    even: u32,
) -> Facts {
    let [register_percent, shared_percent] = percent;
    Facts {
        blocks_a_launch: Some(blocks),
        block_threads: Some(block_threads),
        registers: Some(Registers {
            count: registers,
            implied: Some("registers in use (Table II) and blocks of half an SM (Table III)"),
        }),
        register_percent: Some(register_percent),
        shared_percent: Some(shared_percent),
        blocks_of_half_an_sm: Some(even),
        ..row("slicer", abbreviation, "Warped-Slicer, Tables II and III")
    }
}

const SLICER: &[Facts] = &[
    slicer("BLK", 480, 128, 32, [95, 0], 4),
    slicer("BFS", 1954, 512, 16, [71, 0], 1),
    slicer("DXT", 10_752, 64, 36, [56, 33], 4),
    slicer("HOT", 7396, 256, 36, [84, 19], 1),
    slicer("IMG", 2040, 64, 28, [43, 0], 4),
    slicer("KNN", 2673, 256, 8, [37, 0], 3),
    slicer("LBM", 18_000, 120, 36, [98, 0], 3),
    slicer("MM", 528, 128, 44, [86, 5], 2),
    slicer("MVP", 765, 192, 16, [74, 0], 4),
    slicer("NN", 54_000, 169, 20, [94, 0], 4),
];

const fn locality(abbreviation: &'static str, launches: u32, blocks: u64) -> Facts {
    Facts {
        launches: Some(launches),
        blocks: Some(blocks),
        ..row("locality", abbreviation, "Chen 2016, Table 4.2")
    }
}

const LOCALITY: &[Facts] = &[
    locality("HS", 1, 7396),
    locality("BP", 2, 8192),
    locality("LUD", 223, 140_675),
    locality("NN", 1, 5120),
    locality("NW", 511, 65_536),
    locality("SRAD", 4, 65_536),
    locality("GAUSSIAN", 1022, 525_308),
    locality("CONV", 34, 52_224),
    locality("TRAN", 24, 98_304),
    locality("HIS", 8, 9860),
    locality("Gabor", 68, 49_017),
    locality("SIFT", 2, 263_164),
];
