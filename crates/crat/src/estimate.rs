//! A static estimate of the best number of blocks per SM (CRAT, section 4.1, Fig. 10). The code is
//! divided into segments of computation and memory access, which the warps of several blocks then
//! execute.
//!
//! Three properties do not follow from the code. The share of loads that hit in the cache and the
//! lines that a load touches must be supplied, as CRAT measures the hit ratio of each application.
//! The number of loop iterations is assumed.

use crate::kernel::Kernel;
use warploom_config::{GpuSpec, OpTiming, TypeTiming, UnitSpecs};
use warploom_ptx::ast::Instruction;
use warploom_ptx::tokens::{Modifier, Opcode};
use warploom_regalloc::tlp::{SmParameters, opt_tlp, segments};

/// The assumed number of iterations of a loop, which is the same as for the costs of spills.
const TRIPS: u32 = 10;
/// The size in bytes of a cache line, which one miss transfers.
const LINE_BYTES: f64 = 128.0;

/// The measured behaviour of the cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheAssumption {
    /// The share of loads that hit in the L1 data cache, from 0 to 1.
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

/// Estimates how many blocks, out of `max_tlp`, an SM needs: the number of blocks that were
/// scheduled until the first one finishes.
pub fn estimate_tlp(kernel: &Kernel, gpu: &GpuSpec, max_tlp: u32, cache: &CacheAssumption) -> u32 {
    let Some(function) = kernel.function() else {
        return max_tlp;
    };
    let units = &gpu.sm.units;
    let cycles = |inst: &Instruction| u64::from(timing(inst, units).latency_cycles.max(1));
    let segments = segments(function, TRIPS, &cycles);
    let latencies = gpu.latencies();
    let share = gpu.peaks().dram.gigabytes_per_second() / f64::from(gpu.gpu.sms);
    let bytes_per_cycle = share * 1e6 / f64::from(gpu.clocks.core_khz);
    let hits = |blocks: u32| cache.hits(blocks);
    let sm = SmParameters {
        schedulers: gpu.sm.schedulers,
        hit_cycles: latencies.l1d.unwrap_or(latencies.l2).into(),
        miss_cycles: latencies.dram.into(),
        line_cycles: LINE_BYTES / bytes_per_cycle,
        lines_per_load: cache.lines_per_load,
        lines_per_store: cache.lines_per_store,
        misses_at_once: gpu.l1d.mshr_entries.into(),
        hit_ratio: &hits,
    };
    let warps = kernel.threads().div_ceil(32);
    opt_tlp(&segments, warps, max_tlp, &sm)
}

/// Returns latency and issue interval of an instruction, which depend on its operation and type
/// (docs/model/sm.md, Instruction classes).
fn timing(inst: &Instruction, units: &UnitSpecs) -> OpTiming {
    const SIMPLE: OpTiming = OpTiming {
        latency_cycles: 1,
        interval_cycles: 1,
    };
    let of_type = |pick: fn(&TypeTiming) -> OpTiming| {
        let mut types = inst.modifiers.iter().filter_map(|m| match m.node {
            Modifier::Type(ty) => Some(ty),
            _ => None,
        });
        pick(match types.next_back() {
            Some(ty) if ty.is_float() && ty.bits() == 64 => &units.f64_timing,
            Some(ty) if ty.is_float() => &units.f32_timing,
            _ => &units.int_timing,
        })
    };
    match inst.opcode.node {
        Opcode::Add | Opcode::Sub | Opcode::Addc | Opcode::Subc => of_type(|t| t.add),
        Opcode::Min | Opcode::Max => of_type(|t| t.minmax),
        Opcode::Mul | Opcode::Mul24 => of_type(|t| t.mul),
        Opcode::Mad | Opcode::Fma | Opcode::Mad24 | Opcode::Madc => of_type(|t| t.mad),
        Opcode::Div | Opcode::Rem => of_type(|t| t.div),
        Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Rsqrt
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Lg2
        | Opcode::Ex2 => units.sfu_timing,
        _ => SIMPLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;
    use warploom_diag::Source;

    fn kernel(work: usize) -> Kernel {
        let mut text = ".version 7.0\n.target sm_20\n.address_size 64\n\
            .visible .entry k(.param .u64 out) {\n.reg .f32 %f<3>; .reg .b64 %rd<3>;\n\
            ld.param.u64 %rd1, [out]; mov.f32 %f1, 0f3F800000;\n"
            .to_owned();
        text += &"fma.rn.f32 %f1, %f1, %f1, %f1;\n".repeat(work);
        text += "ld.global.f32 %f2, [%rd1+4]; add.f32 %f1, %f1, %f2;\n";
        text += "st.global.f32 [%rd1], %f1; ret; }\n";
        let source = Source::new("k.ptx", text);
        let (module, _) = warploom_ptx::load(&source).unwrap();
        Kernel::new(module, &source, "k", [64, 1, 1]).unwrap()
    }

    /// More computation before a load, and more hits, must reduce the estimate, which never exceeds
    /// the number of blocks that fit.
    #[test]
    fn computation_and_hits_need_fewer_blocks() {
        let gpu = preset("fermi-crat").unwrap();
        let tlp = |work, hit_ratio| {
            let cache = CacheAssumption {
                hit_ratio,
                at_tlp: 8,
                lines_per_load: 1.0,
                lines_per_store: 1.0,
            };
            estimate_tlp(&kernel(work), &gpu, 8, &cache)
        };
        assert_eq!(tlp(0, 0.0), 8);
        assert!(tlp(100, 0.0) < 8);
        assert!(tlp(1000, 0.0) <= tlp(100, 0.0));
        assert!(tlp(10, 1.0) < tlp(10, 0.0));
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

    /// Loads that touch a line for each lane use up the misses in flight with few warps.
    #[test]
    fn scattered_loads_need_fewer_blocks() {
        let gpu = preset("fermi-crat").unwrap();
        let tlp = |lines_per_load| {
            let cache = CacheAssumption {
                hit_ratio: 0.2,
                at_tlp: 8,
                lines_per_load,
                lines_per_store: 1.0,
            };
            estimate_tlp(&kernel(0), &gpu, 8, &cache)
        };
        assert!(
            tlp(32.0) <= 2 && tlp(32.0) < tlp(1.0),
            "{} {}",
            tlp(32.0),
            tlp(1.0)
        );
    }

    #[test]
    fn units_are_told_by_operation_and_type() {
        let units = preset("fermi-crat").unwrap().sm.units;
        let of = |line: &str| {
            let text = format!(
                ".version 7.0\n.target sm_20\n.address_size 64\n.visible .entry k() {{\n\
                 .reg .f32 %f<3>; .reg .f64 %d<3>; .reg .b32 %r<3>;\n{line}\nret; }}\n"
            );
            let (module, _) = warploom_ptx::load(&Source::new("k.ptx", text)).unwrap();
            let warploom_ptx::ast::Item::Function(function) = &module.items[0] else {
                panic!("a kernel");
            };
            let body = function.body.as_ref().unwrap();
            let mut statements = body.statements.iter();
            let timing = statements.find_map(|s| match s {
                warploom_ptx::ast::Statement::Instruction(inst) => Some(timing(inst, &units)),
                _ => None,
            });
            timing.unwrap()
        };
        assert_eq!(of("fma.rn.f32 %f1, %f1, %f1, %f1;"), units.f32_timing.mad);
        assert_eq!(of("mul.f64 %d1, %d1, %d1;"), units.f64_timing.mul);
        assert_eq!(of("div.u32 %r1, %r1, %r2;"), units.int_timing.div);
        assert_eq!(of("sin.approx.f32 %f1, %f2;"), units.sfu_timing);
        assert_eq!(of("mov.u32 %r1, %r2;").latency_cycles, 1);
    }
}
