//! Costs of accesses of spilled values: the latencies of local and shared memory, measured like
//! those of other levels (CRAT, section 6).

use crate::memory::Chain;
use crate::{Answer, Trouble, find};
use warploom_config::GpuSpec;

/// Costs in core cycles from an access to the first instruction that needs its result, on an idle
/// machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpillCosts {
    /// Cost of a word of local memory that is in its cache.
    pub local: f64,
    /// Cost of a word of shared memory without conflicts.
    pub shared: f64,
}

/// Measures both costs on a machine.
///
/// # Errors
/// If the machine refuses the kernel of a benchmark.
pub fn spill_costs(gpu: &GpuSpec) -> Result<SpillCosts, Trouble> {
    // Each load waits for the register that the previous one writes. The words of a 64-bit pointer
    // lie in two lines of local memory, so that following pointers would take two accesses.
    let chain = Chain::of("mov.u64 %rd10, l", "ld.local.u32 %r10, [%rd10]");
    let shared = find("shared-latency").expect("a benchmark of the table");
    Ok(SpillCosts {
        local: figure(chain.figure(gpu, &[])?),
        shared: figure(shared.measure(gpu)?),
    })
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

    /// Local memory goes through L1D here, by the path of a global load that hits.
    #[test]
    fn costs_are_the_latencies_of_their_paths() {
        for name in ["fermi-crat", "kepler-crat", "gtx480"] {
            let gpu = preset(name).unwrap();
            let costs = spill_costs(&gpu).unwrap();
            let latencies = gpu.latencies();
            assert_eq!(costs.shared, f64::from(latencies.shared), "{name}");
            assert_eq!(Some(costs.local), latencies.l1d.map(f64::from), "{name}");
        }
    }
}
