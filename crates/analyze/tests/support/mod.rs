//! Results made by hand.

use std::collections::BTreeMap;
use warploom_stats::result::*;

/// A launch of 1,000 blocks of 256 threads.
pub fn launch(name: &str, figures: Figures) -> KernelReport {
    KernelReport {
        name: name.to_owned(),
        grid: Size([1000, 1, 1]),
        block: Size([256, 1, 1]),
        registers_per_thread: 40,
        shared_bytes: 0,
        blocks_per_sm: 6,
        occupancy_limit: "registers".to_owned(),
        context_registers: None,
        context: None,
        figures,
        concurrent: None,
        sample: None,
    }
}

/// A result of these launches on `maxwell-duet`.
pub fn run(kernels: Vec<KernelReport>, totals: Figures, series: Option<Series>) -> RunReport {
    RunReport {
        program: Program {
            name: "warploom".to_owned(),
            version: "0".to_owned(),
        },
        command: "warploom analyze k".to_owned(),
        gpu: Gpu {
            name: "maxwell-duet".to_owned(),
            config: BTreeMap::new(),
        },
        config_digest: String::new(),
        input_digest: String::new(),
        outcome: Outcome::Finished,
        totals: Totals {
            launches: kernels.len() as u64,
            figures: totals,
            estimate: None,
        },
        kernels,
        wall_seconds: 1.0,
        cycles_per_second: 1.0,
        warp_instructions_per_second: 1.0,
        series,
        processes: Vec::new(),
        decisions: Vec::new(),
        sampling: None,
        fork: None,
        mix: None,
        sm_filter_checks: Vec::new(),
        sharing: None,
        checks: Vec::new(),
        findings: Vec::new(),
        digest_set: 2,
        digest: String::new(),
    }
}
