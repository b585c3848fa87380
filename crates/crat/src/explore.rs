//! The points worth considering, what allocating for each costs, and the one that scores best.

use crate::kernel::{Kernel, Refusal};
use serde::Serialize;
use warploom_config::GpuSpec;
use warploom_regalloc::space::{
    Costs, Point, choose, min_registers, spill_cost, staircase, tlp_gain, tpsc,
};
use warploom_regalloc::{Options, Report, SharedSpills, Typing};

/// Where spilled values may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spill {
    /// Local memory alone (CRAT-local).
    Local,
    /// Shared memory as far as there is room at the point's TLP, or so many bytes of a block, if
    /// they are fewer.
    Shared(Option<u32>),
}

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Points of more blocks on an SM are left out; none: as many as fit.
    pub opt_tlp: Option<u32>,
    /// Where spilled values may go.
    pub spill: Spill,
    /// How finely registers are told apart.
    pub typing: Typing,
    /// What accesses of spilled values cost.
    pub costs: Costs,
}

impl Search {
    /// Options for one point of the space.
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
            typing: self.typing,
            shared,
            ..Options::default()
        }
    }

    /// Options without a limit.
    pub fn unlimited(&self) -> Options {
        Options {
            typing: self.typing,
            ..Options::default()
        }
    }
}

/// Accesses of spilled values that stand in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Spills {
    /// In local memory.
    pub local: u64,
    /// In shared memory.
    pub shared: u64,
    /// Addresses, and values made again.
    pub others: u64,
}

/// A point that was considered, and what allocating for it costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// Registers per thread.
    pub registers: u32,
    /// Blocks on an SM.
    pub tlp: u32,
    /// What it spills.
    pub spills: Spills,
    /// TLP_gain * (Base + Spill_cost), weighted by loops.
    pub tpsc: f64,
    /// TLP_gain * Spill_cost, as the paper has it.
    pub tpsc_literal: f64,
    /// TLP_gain (section 6).
    pub tlp_gain: f64,
    /// Spill_cost, weighted by loops.
    pub spill_cost: f64,
}

impl Candidate {
    /// The point.
    pub fn point(&self) -> Point {
        Point {
            registers: self.registers,
            tlp: self.tlp,
        }
    }
}

/// The design space of a kernel on a machine.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Registers that spare all spills: MaxReg.
    pub max_reg: u32,
    /// Fewer registers would not let more threads on an SM (section 4.1).
    pub min_reg: u32,
    /// Blocks that fit an SM with the fewest registers considered.
    pub max_tlp: u32,
    /// The bound on blocks that was searched under.
    pub opt_tlp: u32,
    /// The rightmost points of the stairs, in order of registers.
    pub candidates: Vec<Candidate>,
    /// The one that scores best.
    pub best: Point,
}

/// Looks at the design space.
///
/// # Errors
/// What the allocator refuses; a block that does not fit.
pub fn explore(kernel: &Kernel, gpu: &GpuSpec, search: &Search) -> Result<Exploration, Refusal> {
    let sm = &gpu.sm;
    let unlimited = search.unlimited();
    let max_reg = kernel.max_registers(&unlimited)?;
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

/// Instructions of the program itself, weighted by loops.
fn base(report: &Report) -> f64 {
    report.kept.weighted as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;
    use warploom_diag::Source;

    /// A kernel that keeps `live` values over a loop and then uses them all.
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
            typing: Typing::Bits,
            costs: Costs {
                local: 40.0,
                shared: 30.0,
                other: 1.0,
            },
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
        // 32,768 registers are 128 for each of 256 threads: 6, 5, 4, 3 and 2 blocks.
        assert_eq!(points[0], [(21, 6), (25, 5), (32, 4), (42, 3), (most, 2)]);
        assert_eq!(points[1], [(42, 3), (most, 2)]);
        assert_eq!((all.min_reg, all.max_tlp, all.opt_tlp), (21, 6, 6));
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
        // At 42 registers few values are spilled: 16 KB for each of three blocks hold them.
        assert!(counts[0][3] > 0 && counts[1][3] == 0, "{counts:?}");
        assert_eq!(of(Spill::Shared(Some(0))).candidates, local.candidates);
    }

    #[test]
    fn a_block_without_room_is_refused() {
        let mut gpu = preset("fermi-crat").unwrap();
        gpu.sm.registers = 1024;
        let refusal = explore(&kernel(50, 256), &gpu, &search(None, Spill::Local)).unwrap_err();
        assert!(
            refusal
                .to_string()
                .starts_with("not one block of 256 threads fits"),
            "{refusal}"
        );
    }
}
