//! Costs of accesses of spilled values: the latencies of local and shared memory, measured like
//! those of other levels (CRAT, section 6).
//!
//! The cost of an access of local memory is that of a load that misses L1D, because CRAT counts
//! local memory as off-chip and much slower than shared memory (section 5.3).

use crate::memory::{Chain, LOADS};
use crate::{Answer, Trouble, find};
use warploom_config::GpuSpec;

/// Size of a spilled value in bytes.
const WORD: usize = 4;
/// Number of lines that are read between the passes, as a multiple of the lines of L1D. With more
/// than one, a set that receives few of them is replaced too.
const OVERFILL: u32 = 4;

/// Costs in core cycles from an access to the first instruction that needs its result, on an idle
/// machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpillCosts {
    /// Cost of a word of local memory that misses L1D and hits L2.
    pub local: f64,
    /// Cost of a word of shared memory without conflicts.
    pub shared: f64,
}

/// Measures both costs on a machine.
///
/// # Errors
/// If the machine refuses the kernel of a benchmark.
pub fn spill_costs(gpu: &GpuSpec) -> Result<SpillCosts, Trouble> {
    let shared = find("shared-latency").expect("a benchmark of the table");
    Ok(SpillCosts {
        local: figure(local_misses(gpu).figure(gpu, &[])?),
        shared: figure(shared.measure(gpu)?),
    })
}

/// Chain of loads from local memory. Before each pass the warp reads enough other lines to replace
/// the lines of the chain in L1D.
///
/// Each load waits for the register that the previous one writes. A word of each of the warp's
/// threads makes one line, so that words at different offsets are in different lines.
fn local_misses(gpu: &GpuSpec) -> Chain {
    let lines = OVERFILL * gpu.l1d.sets * gpu.l1d.ways;
    let words = LOADS as u32 + lines;
    let sweep = [
        "mov.u64 %rd10, far".to_owned(),
        format!("add.u64 %rd11, %rd10, {}", WORD * LOADS),
        "mov.u32 %r11, 0".to_owned(),
        "SWEEP: ld.local.u32 %r12, [%rd11]".to_owned(),
        format!("add.u64 %rd11, %rd11, {WORD}"),
        "add.u32 %r11, %r11, 1".to_owned(),
        format!("setp.lt.u32 %p3, %r11, {lines}"),
        "@%p3 bra SWEEP".to_owned(),
    ];
    let load = |i: usize| format!("ld.local.u32 %r10, [%rd10+{}]", WORD * i);
    Chain {
        setup: vec![format!(".local .align 4 .b8 far[{}]", WORD as u32 * words)],
        start: sweep.to_vec(),
        links: (0..LOADS).map(load).collect(),
        ..Chain::of("", "")
    }
}

fn figure(answer: Answer) -> f64 {
    match answer {
        Answer::Figure(figure) => figure.measured,
        Answer::Absent(why) => unreachable!("every machine has local and shared memory: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::spill_costs;
    use warploom_config::preset;

    /// A load that misses L1D takes at least as long as one that bypasses it, because its reply
    /// carries the whole line, and less than one from DRAM.
    #[test]
    fn costs_are_the_latencies_of_their_paths() {
        for name in ["fermi-crat", "kepler-crat", "gtx480"] {
            let gpu = preset(name).unwrap();
            let costs = spill_costs(&gpu).unwrap();
            let latencies = gpu.latencies();
            assert_eq!(costs.shared, f64::from(latencies.shared), "{name}");
            let misses = f64::from(latencies.l2)..f64::from(latencies.dram);
            assert!(misses.contains(&costs.local), "{name}: {costs:?}");
            assert!(costs.local > 2.0 * costs.shared, "{name}: {costs:?}");
        }
    }
}
