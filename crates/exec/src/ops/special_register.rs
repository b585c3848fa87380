//! Values of special registers.

use crate::inst::InstExec;
use crate::state::registers::map_lanes;
use warploom_base::WARP_SIZE;
use warploom_ir::{SpecialReg, Src};

impl InstExec<'_, '_> {
    /// Computes the source operands that are special registers, for [`InstExec::src`].
    #[inline(never)]
    pub fn stage_sources(&mut self) {
        for k in 0..self.inst.src.len() {
            let src = self.inst.src[k];
            if let Src::Special(special) = src {
                let lanes = self.special_lanes(special);
                self.out.staged.wide[k].0 = lanes;
                self.out.staged.narrow[k].0 = map_lanes(&lanes, |v| v as u32);
            }
        }
    }

    /// Value of a special register in every lane.
    #[inline(never)]
    fn special_lanes(&self, special: SpecialReg) -> [u64; WARP_SIZE] {
        use SpecialReg as S;
        match special {
            S::TidX => map_lanes(&self.warp.tid[0].0, u64::from),
            S::TidY => map_lanes(&self.warp.tid[1].0, u64::from),
            S::TidZ => map_lanes(&self.warp.tid[2].0, u64::from),
            S::FrameBase => map_lanes(&self.warp.stacks.base.0, u64::from),
            S::LaneId
            | S::LanemaskEq
            | S::LanemaskLe
            | S::LanemaskLt
            | S::LanemaskGe
            | S::LanemaskGt => std::array::from_fn(|lane| self.special(special, lane)),
            uniform => [self.special(uniform, 0); WARP_SIZE],
        }
    }

    /// Value of a special register in one lane.
    #[inline(never)]
    pub fn special(&self, special: SpecialReg, lane: usize) -> u64 {
        use SpecialReg as S;
        let (block, grid, ctaid) = (self.ctx.block, self.ctx.grid, self.block.ctaid);
        let shared = self.ctx.shared_bytes;
        let value = match special {
            S::TidX => self.warp.tid[0].0[lane],
            S::TidY => self.warp.tid[1].0[lane],
            S::TidZ => self.warp.tid[2].0[lane],
            S::NtidX => block.x,
            S::NtidY => block.y,
            S::NtidZ => block.z,
            // Cluster launches are not supported, so that a cluster is one block.
            S::CtaidX | S::ClusterIdX => ctaid.x,
            S::CtaidY | S::ClusterIdY => ctaid.y,
            S::CtaidZ | S::ClusterIdZ => ctaid.z,
            S::NctaidX | S::NclusterIdX => grid.x,
            S::NctaidY | S::NclusterIdY => grid.y,
            S::NctaidZ | S::NclusterIdZ => grid.z,
            S::FrameBase => self.warp.stacks.base.0[lane],
            S::LaneId => lane as u32,
            S::WarpId => u32::from(self.env.warp_slot),
            S::NwarpId => u32::from(self.env.n_warps),
            S::SmId => u32::from(self.env.sm),
            S::NsmId => u32::from(self.env.n_sm),
            S::LanemaskEq => 1 << lane,
            S::LanemaskLe => u32::MAX >> (31 - lane),
            S::LanemaskLt => (1 << lane) - 1,
            S::LanemaskGe => u32::MAX << lane,
            S::LanemaskGt => !(u32::MAX >> (31 - lane)),
            S::Clock => self.env.clock as u32,
            S::ClockHi => (self.env.clock >> 32) as u32,
            S::GlobalTimerLo => self.env.nanoseconds() as u32,
            S::GlobalTimerHi => (self.env.nanoseconds() >> 32) as u32,
            S::GridId => return self.ctx.grid_id,
            S::Clock64 => return self.env.clock,
            S::GlobalTimer => return self.env.nanoseconds(),
            S::EnvReg1 => (self.ctx.workspace >> 32) as u32,
            S::EnvReg2 => self.ctx.workspace as u32,
            S::TotalSmemSize | S::AggrSmemSize => shared,
            S::DynamicSmemSize => self.ctx.dynamic_shared_bytes,
            S::ClusterNctaidX | S::ClusterNctaidY | S::ClusterNctaidZ | S::ClusterNctarank => 1,
            S::PerformanceCounter
            | S::EnvReg
            | S::CurrentGraphExec
            | S::ReservedSmemOffset
            | S::ClusterCtaidX
            | S::ClusterCtaidY
            | S::ClusterCtaidZ
            | S::ClusterCtarank
            | S::IsExplicitCluster => 0,
        };
        u64::from(value)
    }
}
