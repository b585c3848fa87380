//! Division of one memory between L1D and shared memory (Volta), chosen for a kernel from the
//! shared memory that its blocks on an SM take (GPGPU-Sim 4.2's adaptive cache configuration).
//!
//! GPGPU-Sim chooses once in a launch for all SMs together. Here an SM changes its division when a
//! block of another kernel finds it empty, as hardware must, and keeps it while blocks run.

use crate::prepared_kernel::PreparedKernel;
use warploom_config::{AllocatePolicy, GpuSpec};
use warploom_mem::cache::Cache;

/// Divisions that an SM may have.
#[derive(Clone, Debug)]
pub struct Carveout {
    unified_bytes: u64,
    /// Sizes of shared memory in bytes, in ascending order.
    shared_options: Vec<u64>,
    /// Ways of L1D if it has the whole memory.
    max_ways: u32,
    streaming: bool,
}

impl Carveout {
    /// The divisions of `spec`; `None` where L1D has a fixed size.
    pub fn new(spec: &GpuSpec) -> Option<Self> {
        let sm = &spec.sm;
        if !sm.adaptive_l1d {
            return None;
        }
        let unified_bytes = u64::from(sm.unified_kib) * 1024;
        let way_bytes = u64::from(spec.l1d.sets) * u64::from(spec.l1d.line_bytes);
        Some(Self {
            unified_bytes,
            shared_options: sm
                .shared_options_kib
                .0
                .iter()
                .map(|kib| u64::from(*kib) * 1024)
                .collect(),
            max_ways: (unified_bytes / way_bytes) as u32,
            streaming: spec.l1d.allocate == AllocatePolicy::Streaming,
        })
    }

    /// Ways of L1D if it has the whole memory.
    pub fn max_ways(&self) -> u32 {
        self.max_ways
    }

    /// Ways of L1D beside blocks that together take `shared` bytes: those that the smallest
    /// sufficient option leaves, rounded to the nearest number.
    pub fn ways(&self, shared: u64) -> u32 {
        let option = self.shared_options.iter().find(|option| shared <= **option);
        let option = option.expect("the largest option holds all of shared memory");
        let left = self.unified_bytes - option;
        let halves = 2 * u64::from(self.max_ways) * left + self.unified_bytes;
        (halves / (2 * self.unified_bytes)) as u32
    }

    /// Divides the memory for a kernel. L1D must have no miss outstanding.
    pub fn apply(&self, kernel: &PreparedKernel, l1d: &mut Cache) {
        let shared = u64::from(kernel.shared_bytes) * u64::from(kernel.blocks_per_sm);
        l1d.set_ways(self.ways(shared));
        if self.streaming {
            // Lines are reserved at the miss only when L1D has all of the memory; else at the
            // fill, so that its size does not limit misses.
            l1d.set_allocate(if shared == 0 {
                AllocatePolicy::OnMiss
            } else {
                AllocatePolicy::OnFill
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Carveout;
    use warploom_config::preset;

    fn volta() -> Carveout {
        let spec = preset("qv100-volta").expect("a preset");
        Carveout::new(&spec).expect("Volta divides")
    }

    /// 128 KiB in 4 sets of 128-byte lines are 256 ways, 2 ways a KiB.
    #[test]
    fn l1d_gets_what_the_smallest_option_leaves() {
        let carveout = volta();
        assert_eq!(carveout.max_ways(), 256);
        let ways = |kib: u64| carveout.ways(kib * 1024);
        assert_eq!(ways(0), 256);
        assert_eq!(carveout.ways(1), 240, "8 KiB of 128 are taken");
        assert_eq!(ways(8), 240);
        assert_eq!(carveout.ways(8 * 1024 + 1), 224);
        assert_eq!((ways(16), ways(17), ways(33)), (224, 192, 128));
        assert_eq!((ways(64), ways(65), ways(96)), (128, 64, 64));
    }

    #[test]
    fn ways_round_to_the_nearest() {
        // 7 ways of which 1, 2, ... of 14 parts are taken: 6.5, 6, 5.5 round to 7, 6, 6.
        let carveout = Carveout {
            unified_bytes: 14,
            shared_options: (0..14).collect(),
            max_ways: 7,
            streaming: false,
        };
        let ways: Vec<_> = (0..5).map(|shared| carveout.ways(shared)).collect();
        assert_eq!(ways, [7, 7, 6, 6, 5]);
    }

    #[test]
    fn a_fixed_l1d_has_no_carveout() {
        let spec = preset("gtx480-gpgpusim4").expect("a preset");
        assert!(Carveout::new(&spec).is_none());
    }
}
