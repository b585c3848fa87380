//! The candidate points of the design space, their costs, and the choice of the best one.

use crate::kernel::{Kernel, Refusal};
use serde::Serialize;
use warploom_config::GpuSpec;
use warploom_regalloc::space::{
    Costs, Point, choose, min_registers, spill_cost, staircase, tlp_gain, tpsc,
};
use warploom_regalloc::{Method, Options, Report, SharedSpills, Typing};

/// The memory that spilled values may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spill {
    /// Spilled values use local memory alone (CRAT-local).
    Local,
    /// Spilled values may use the shared memory that is free at the point's number of blocks. The
    /// value, if any, is an additional limit in bytes per block.
    Shared(Option<u32>),
}

/// The parameters of an exploration of the design space.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// An upper bound of the number of blocks per SM. With `None` the bound is the number of blocks
    /// that fit.
    pub opt_tlp: Option<u32>,
    /// The memory that spilled values may use.
    pub spill: Spill,
    /// The rule by which values are spilled.
    pub method: Method,
    /// The rule by which types of the same width share registers.
    pub typing: Typing,
    /// The costs of accesses to spilled values, in cycles.
    pub costs: Costs,
    /// The registers per thread that a compiler uses by default, or 0 if they are unknown. A
    /// compiler's registers hold all variables, so MaxReg is at least this number.
    pub default_registers: u32,
}

impl Search {
    /// Returns the allocator options for one point of the design space on the given GPU.
    pub fn options(&self, kernel: &Kernel, point: Point, gpu: &GpuSpec) -> Options {
        let shared = match self.spill {
            Spill::Local => None,
            Spill::Shared(most) => {
                let spare = kernel.spare_shared(point.tlp, gpu);
                Some(SharedSpills {
                    block: kernel.block,
                    spare_bytes: most.map_or(spare, |most| most.min(spare)),
                    weigh_loops: false,
                })
            }
        };
        Options {
            registers: Some(point.registers),
            method: self.method,
            typing: self.typing,
            shared,
            ..Options::default()
        }
    }

    /// Returns the allocator options without a limit of registers.
    pub fn unlimited(&self) -> Options {
        Options {
            method: self.method,
            typing: self.typing,
            ..Options::default()
        }
    }
}

/// The numbers of instructions that an allocation adds, counted once each in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Spills {
    /// Accesses to spilled values in local memory.
    pub local: u64,
    /// Accesses to spilled values in shared memory.
    pub shared: u64,
    /// Address computations, and instructions that recompute values.
    pub others: u64,
}

/// A point of the design space with the costs of its allocation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of resident blocks per SM.
    pub tlp: u32,
    /// The instructions that the allocation adds.
    pub spills: Spills,
    /// The score TLP_gain * (Base + Spill_cost), weighted by loop depth. The smallest score is the
    /// best.
    pub tpsc: f64,
    /// The score TLP_gain * Spill_cost, as printed in CRAT, without loop weights.
    pub tpsc_literal: f64,
    /// The TLP gain of the point (CRAT, section 6).
    pub tlp_gain: f64,
    /// The spill cost in cycles, weighted by loop depth.
    pub spill_cost: f64,
}

impl Candidate {
    /// Returns the point of the design space.
    pub fn point(&self) -> Point {
        Point {
            registers: self.registers,
            tlp: self.tlp,
        }
    }
}

/// The explored design space of a kernel on a GPU.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The lowest number of registers per thread that requires no spills (MaxReg).
    pub max_reg: u32,
    /// The number of registers per thread below which no more threads fit on an SM (CRAT, section
    /// 4.1).
    pub min_reg: u32,
    /// The number of blocks that fit on an SM with the fewest registers considered.
    pub max_tlp: u32,
    /// The upper bound of the number of blocks that the exploration used.
    pub opt_tlp: u32,
    /// The rightmost points of the staircase, in order of registers.
    pub candidates: Vec<Candidate>,
    /// The point with the best score.
    pub best: Point,
}

/// Explores the design space of a kernel on a GPU.
///
/// # Errors
/// Returns [`Refusal::Program`] if the allocator rejects the kernel, and [`Refusal::NoRoom`] if no
/// block fits on an SM.
pub fn explore(kernel: &Kernel, gpu: &GpuSpec, search: &Search) -> Result<Exploration, Refusal> {
    let sm = &gpu.sm;
    let unlimited = search.unlimited();
    let max_reg = kernel
        .max_registers(&unlimited)?
        .max(search.default_registers);
    let most = max_reg.min(sm.max_registers_per_thread);
    let min_reg = min_registers(sm.registers, sm.max_threads);
    let least = kernel.fewest_registers(&unlimited, min_reg)?;
    let max_tlp = kernel.blocks_per_sm(least.min(most), gpu);
    let opt_tlp = search.opt_tlp.unwrap_or(max_tlp);
    let points = staircase(least, most, opt_tlp, |registers| {
        kernel.blocks_per_sm(registers, gpu)
    });
    let mut candidates = Vec::with_capacity(points.len());
    for point in points {
        candidates.push(candidate(kernel, gpu, search, point)?);
    }
    let scored: Vec<_> = candidates.iter().map(|c| (c.point(), c.tpsc)).collect();
    let best = choose(&scored).ok_or_else(|| Refusal::NoRoom {
        threads: kernel.threads(),
        registers: least,
        gpu: gpu.name.clone(),
    })?;
    Ok(Exploration {
        max_reg,
        min_reg,
        max_tlp,
        opt_tlp,
        candidates,
        best,
    })
}

/// Allocates registers for one point and computes its costs.
fn candidate(
    kernel: &Kernel,
    gpu: &GpuSpec,
    search: &Search,
    point: Point,
) -> Result<Candidate, Refusal> {
    let report = kernel.allocate(&search.options(kernel, point, gpu))?.report;
    let gain = tlp_gain(point.tlp, kernel.threads(), gpu.sm.max_threads);
    let cost = spill_cost(&report, &search.costs, true);
    let literal = spill_cost(&report, &search.costs, false);
    Ok(Candidate {
        registers: point.registers,
        tlp: point.tlp,
        spills: spills(&report),
        tpsc: tpsc(gain, base(&report), cost),
        tpsc_literal: tpsc(gain, 0.0, literal),
        tlp_gain: gain,
        spill_cost: cost,
    })
}

fn spills(report: &Report) -> Spills {
    Spills {
        local: report.added.local.count,
        shared: report.added.shared.count,
        others: report.added.others.count,
    }
}

/// Returns the number of original instructions that remain, weighted by loop depth.
fn base(report: &Report) -> f64 {
    report.kept.weighted as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;
    use warploom_diag::Source;

    /// Returns a kernel that keeps `live` values across a loop and then uses all of them.
    fn kernel(live: usize, threads: u32) -> Kernel {
        let mut text = ".version 7.0\n.target sm_20\n.address_size 64\n\
            .visible .entry k(.param .u64 out) {\n\
            .reg .b32 %r<90>; .reg .b64 %rd<3>; .reg .pred %p;\n\
            ld.param.u64 %rd1, [out]; mov.u32 %r80, %tid.x;\n"
            .to_owned();
        for i in 0..live {
            text += &format!("ld.global.u32 %r{i}, [%rd1+{}];\n", 4 * i);
        }
        text += "mov.u32 %r81, 0;\nagain: add.u32 %r81, %r81, %r80; setp.lt.u32 %p, %r81, 999;\n\
            @%p bra again;\n";
        for i in 0..live {
            text += &format!("add.u32 %r81, %r81, %r{i};\n");
        }
        text += "st.global.u32 [%rd1], %r81; ret; }\n";
        let source = Source::new("k.ptx", text);
        let (module, _) = warploom_ptx::load(&source).unwrap();
        Kernel::new(module, &source, "k", [threads, 1, 1]).unwrap()
    }

    fn search(opt_tlp: Option<u32>, spill: Spill) -> Search {
        Search {
            opt_tlp,
            spill,
            method: Method::Full,
            typing: Typing::Bits,
            costs: Costs {
                local: 40.0,
                shared: 30.0,
                other: 1.0,
            },
            default_registers: 0,
        }
    }

    #[test]
    fn points_are_the_rightmost_of_their_stairs_below_the_best_tlp() {
        let gpu = preset("fermi-crat").unwrap();
        let kernel = kernel(50, 256);
        let of = |opt| explore(&kernel, &gpu, &search(opt, Spill::Local)).unwrap();
        let all = of(None);
        let points = |e: &Exploration| e.candidates.iter().map(|c| (c.registers, c.tlp)).collect();
        let points: [Vec<_>; 2] = [points(&all), points(&of(Some(3)))];
        let most = all.max_reg;
        assert!((43..=63).contains(&most), "{most}");
        // The SM's 32768 registers are 128 for each of 256 threads, which admit 6, 5, 4, 3 and 2
        // blocks.
        assert_eq!(points[0], [(21, 6), (25, 5), (32, 4), (42, 3), (most, 2)]);
        assert_eq!(points[1], [(42, 3), (most, 2)]);
        assert_eq!((all.min_reg, all.max_tlp, all.opt_tlp), (21, 6, 6));
    }

    /// A compiler's own number is the end of the design space where it exceeds what this allocator
    /// needs.
    #[test]
    fn max_reg_is_never_below_the_default() {
        let gpu = preset("fermi-crat").unwrap();
        let kernel = kernel(10, 256);
        let of = |default_registers| {
            let search = Search {
                default_registers,
                ..search(Some(3), Spill::Local)
            };
            explore(&kernel, &gpu, &search).unwrap()
        };
        assert!(of(0).max_reg < 30);
        let wide = of(30);
        assert_eq!((wide.max_reg, wide.best.registers), (30, 30));
    }

    #[test]
    fn fewer_registers_spill_more_and_shared_memory_takes_what_has_room() {
        let gpu = preset("fermi-crat").unwrap();
        let kernel = kernel(50, 256);
        let of = |spill| explore(&kernel, &gpu, &search(None, spill)).unwrap();
        let (local, shared) = (of(Spill::Local), of(Spill::Shared(None)));
        let counts = |e: &Exploration| e.candidates.iter().map(|c| c.spills.local).collect();
        let counts: [Vec<_>; 2] = [counts(&local), counts(&shared)];
        assert!(
            counts[0].is_sorted_by(|a, b| a >= b) && counts[0][4] == 0,
            "{counts:?}"
        );
        // At 42 registers few values are spilled, and the 16 KiB of each of three blocks suffice
        // for them.
        assert!(counts[0][3] > 0 && counts[1][3] == 0, "{counts:?}");
        assert_eq!(of(Spill::Shared(Some(0))).candidates, local.candidates);
    }

    #[test]
    fn a_block_without_room_is_refused() {
        let mut gpu = preset("fermi-crat").unwrap();
        gpu.sm.registers = 512;
        let refusal = explore(&kernel(50, 256), &gpu, &search(None, Spill::Local)).unwrap_err();
        assert!(
            refusal
                .to_string()
                .starts_with("not one block of 256 threads fits"),
            "{refusal}"
        );
    }
}
