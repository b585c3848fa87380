//! A static estimate of the best number of blocks per SM (CRAT, section 4.1, Fig. 10).
//!
//! The warps of some blocks execute the code of a kernel on a simple model of an SM, greedily and
//! then oldest first (GTO), until the first block finishes. A warp issues at most one instruction
//! per cycle and waits for the results that its next instruction needs. Meanwhile other warps of
//! the scheduler issue.
//!
//! The estimate has two parts, as in the paper:
//!
//! - *Blocks that the first one needs beside it* (the paper refers to Lee et al., HPCA 2014). With
//!   all blocks that fit, the instructions that were issued from all blocks until the first one
//!   finished, over those of that block, rounded up.
//! - *Contention*. Up to this number, the number of blocks with the most instructions per cycle.
//!   The hit ratio falls with the number of blocks. Misses wait for an entry of L1D's table of
//!   misses, and for DRAM and the network at their peak bandwidths (the paper refers to Hong and
//!   Kim, ISCA 2009).
//!
//! Three properties do not follow from the code. The share of loads that hit in the cache and the
//! lines that loads and stores touch must be supplied, as CRAT measures the hit ratio of each
//! application. The number of loop iterations is assumed. The estimate uses no addresses, so that
//! it knows no conflicts of sets or banks.

mod memory;
mod schedule;
mod stream;

use crate::kernel::Kernel;
use memory::{Costs, Memory};
use schedule::run;
use stream::Stream;
use warploom_config::{Bandwidth, GpuSpec, WriteAllocate};

/// The assumed number of iterations of a loop, which is the same as for the costs of spills.
const TRIPS: u32 = 10;
/// The size in bytes of a cache line, which one miss transfers.
const LINE_BYTES: f64 = 128.0;

/// The measured behaviour of the cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheAssumption {
    /// The share of the lines of loads that L1D need not request from L2, from 0 to 1. A line that
    /// was requested before and is on its way counts as a hit.
    pub hit_ratio: f64,
    /// The number of blocks per SM for which the share was measured.
    pub at_tlp: u32,
    /// The number of lines that a warp touches with one load, on average.
    pub lines_per_load: f64,
    /// The number of lines that a warp touches with one store, on average.
    pub lines_per_store: f64,
}

impl CacheAssumption {
    /// Returns the hit ratio with a number of blocks per SM, each of which has an equal part of the
    /// cache. The misses are in inverse proportion to the square root of that part (Hartstein et
    /// al., Cache miss behavior: is it sqrt(2)?, 2006).
    fn hits(&self, blocks: u32) -> f64 {
        let share = f64::from(blocks) / f64::from(self.at_tlp.max(1));
        1.0 - ((1.0 - self.hit_ratio) * share.sqrt()).min(1.0)
    }
}

/// Estimates how many blocks, out of `max_tlp`, an SM should run. The kernel's code is that which
/// runs: its registers are allocated.
pub fn estimate_tlp(kernel: &Kernel, gpu: &GpuSpec, max_tlp: u32, cache: &CacheAssumption) -> u32 {
    let Some(function) = kernel.function() else {
        return max_tlp;
    };
    let stream = Stream::new(function, TRIPS, gpu);
    let costs = costs(gpu, cache);
    let warps = kernel.threads().div_ceil(32);
    let of = |blocks: u32| {
        let memory = Memory::new(&costs, cache.hits(blocks));
        run(&stream, [warps, blocks], gpu.sm.schedulers, memory)
    };
    let needed = of(max_tlp.max(1)).blocks_needed();
    let rates = (1..=needed.min(max_tlp)).map(|blocks| (blocks, of(blocks).rate()));
    let best = rates.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(1, |(blocks, _)| blocks)
}

/// Returns the costs of memory accesses on a GPU.
fn costs(gpu: &GpuSpec, cache: &CacheAssumption) -> Costs {
    let latencies = gpu.latencies();
    let peaks = gpu.peaks();
    // Core cycles for which a line occupies an SM's share of a bandwidth.
    let line_cycles = |of: &Bandwidth| {
        let share = of.gigabytes_per_second() / f64::from(gpu.gpu.sms);
        LINE_BYTES * f64::from(gpu.clocks.core_khz) / (share * 1e6)
    };
    // A store that misses in L2 may also read its line.
    let transfers = match gpu.partition.l2.write_allocate {
        WriteAllocate::WriteAndRead => 2.0,
        _ => 1.0,
    };
    Costs {
        hit_cycles: latencies.l1d.unwrap_or(latencies.l2).into(),
        miss_cycles: latencies.dram.into(),
        dram_line_cycles: line_cycles(&peaks.dram),
        network_line_cycles: line_cycles(&peaks.noc),
        store_transfers: transfers,
        lines_per_load: cache.lines_per_load,
        lines_per_store: cache.lines_per_store,
        misses_at_once: gpu.l1d.mshr_entries,
        stores_at_once: gpu.l1d.miss_queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;
    use warploom_diag::Source;

    /// Returns a kernel of two warps with `loads` loads, each before a chain of `work` additions.
    fn kernel(work: usize, loads: usize) -> Kernel {
        let mut text = ".version 7.0\n.target sm_20\n.address_size 64\n\
            .visible .entry k(.param .u64 out) {\n.reg .f32 %f<3>; .reg .b64 %rd<3>;\n\
            ld.param.u64 %rd1, [out]; mov.f32 %f1, 0f3F800000;\n"
            .to_owned();
        for _ in 0..loads {
            text += "ld.global.f32 %f2, [%rd1+4];\n";
            text += &"add.f32 %f1, %f1, %f2;\n".repeat(work);
        }
        text += "st.global.f32 [%rd1], %f1; ret; }\n";
        let source = Source::new("k.ptx", text);
        let (module, _) = warploom_ptx::load(&source).unwrap();
        Kernel::new(module, &source, "k", [64, 1, 1]).unwrap()
    }

    fn tlp(kernel: &Kernel, hit_ratio: f64, lines_per_load: f64) -> u32 {
        let cache = CacheAssumption {
            hit_ratio,
            at_tlp: 8,
            lines_per_load,
            lines_per_store: 1.0,
        };
        estimate_tlp(kernel, &preset("fermi-crat").unwrap(), 8, &cache)
    }

    /// An addition depends on the one before it, whose result takes ten cycles. Meanwhile warps of
    /// other blocks issue, so that all eight are needed, as in a kernel that only computes.
    #[test]
    fn dependent_computation_needs_all_blocks() {
        assert_eq!(tlp(&kernel(100, 1), 1.0, 1.0), 8);
        assert_eq!(tlp(&kernel(100, 8), 0.9, 1.0), 8);
    }

    /// A few warps that touch 32 lines with a load take all entries of L1D's table. Further blocks
    /// only take away their hits.
    #[test]
    fn scattered_loads_need_fewer_blocks() {
        let [scattered, coalesced] = [32.0, 1.0].map(|lines| tlp(&kernel(1, 20), 0.4, lines));
        assert!(scattered <= 2 && coalesced > 4, "{scattered} {coalesced}");
    }

    /// A quarter of the blocks has four times the cache each, and half the misses.
    #[test]
    fn misses_grow_with_the_square_root_of_the_blocks() {
        let cache = CacheAssumption {
            hit_ratio: 0.4,
            at_tlp: 8,
            lines_per_load: 1.0,
            lines_per_store: 1.0,
        };
        assert!((cache.hits(2) - 0.7).abs() < 1e-12);
        assert!((cache.hits(8) - 0.4).abs() < 1e-12);
        assert!(cache.hits(1000) >= 0.0);
    }

    /// The GTX 480's DRAM: 384 bits at 924 MHz, four transfers in a cycle, 177.4 GB/s, of which each
    /// of 15 SMs has 16.9 bytes per cycle of 700 MHz. Its network has 12 ports of 32 bytes.
    #[test]
    fn lines_occupy_the_share_of_an_sm() {
        let cache = CacheAssumption {
            hit_ratio: 0.0,
            at_tlp: 1,
            lines_per_load: 1.0,
            lines_per_store: 1.0,
        };
        let costs = costs(&preset("fermi-crat").unwrap(), &cache);
        assert!((costs.dram_line_cycles - 128.0 / 16.896).abs() < 0.01);
        assert!((costs.network_line_cycles - 128.0 / (12.0 * 32.0 / 15.0)).abs() < 1e-9);
        // L2 reads a line that is stored, too.
        assert!((costs.store_transfers - 2.0).abs() < f64::EPSILON);
        assert_eq!((costs.misses_at_once, costs.stores_at_once), (32, 8));
    }
}
