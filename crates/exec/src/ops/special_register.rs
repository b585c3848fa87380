//! Values of special registers.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::state::registers::map_lanes;
use std::hint::black_box;
use warploom_base::WARP_SIZE;
use warploom_ir::{Inst, Op, SpecialReg, Src, Width};

/// Handler of a move of 32 bits from a special register, whose value is not staged. `None` for
/// other instructions, and for registers that are read seldom and differ between lanes.
pub(crate) fn mov_special(inst: &Inst, isa: VectorIsa) -> Option<Handler> {
    use SpecialReg as S;
    let (Op::Mov(Width::B32), Src::Special(special)) = (inst.op, inst.src[0]) else {
        return None;
    };
    match special {
        S::TidX => Some(handler!(isa, |m| m.mov_thread(0))),
        S::TidY => Some(handler!(isa, |m| m.mov_thread(1))),
        S::TidZ => Some(handler!(isa, |m| m.mov_thread(2))),
        special if differs_by_lane(special) => None,
        _ => Some(handler!(isa, |m| m.mov_uniform())),
    }
}

/// True if a special register may have different values in the lanes of a warp.
const fn differs_by_lane(special: SpecialReg) -> bool {
    use SpecialReg as S;
    matches!(
        special,
        S::TidX
            | S::TidY
            | S::TidZ
            | S::FrameBase
            | S::LaneId
            | S::LanemaskEq
            | S::LanemaskLe
            | S::LanemaskLt
            | S::LanemaskGe
            | S::LanemaskGt
    )
}

impl InstExec<'_, '_> {
    /// Copies a coordinate of the threads.
    #[inline(always)]
    fn mov_thread(&mut self, axis: usize) -> Exec {
        let value = self.warp.tid[axis].0;
        self.write_result(black_box(&value));
        Ok(())
    }

    /// Copies a special register that is the same in all lanes.
    #[inline(always)]
    fn mov_uniform(&mut self) -> Exec {
        if let Src::Special(special) = self.inst.src[0] {
            let value = self.special(special, 0) as u32;
            self.write_result(&[value; WARP_SIZE]);
        }
        Ok(())
    }

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
            other if differs_by_lane(other) => {
                std::array::from_fn(|lane| self.special(other, lane))
            }
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
            S::CtaidX => ctaid.x,
            S::CtaidY => ctaid.y,
            S::CtaidZ => ctaid.z,
            S::NctaidX => grid.x,
            S::NctaidY => grid.y,
            S::NctaidZ => grid.z,
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
            S::PerformanceCounter | S::EnvReg | S::CurrentGraphExec | S::ReservedSmemOffset => 0,
            of_cluster => self.cluster_special(of_cluster),
        };
        u64::from(value)
    }

    /// Value of a special register that describes the block's cluster.
    fn cluster_special(&self, special: SpecialReg) -> u32 {
        use SpecialReg as S;
        let (shape, ctaid) = (&self.ctx.cluster, self.block.ctaid);
        match special {
            S::ClusterIdX => shape.cluster_of(ctaid).x,
            S::ClusterIdY => shape.cluster_of(ctaid).y,
            S::ClusterIdZ => shape.cluster_of(ctaid).z,
            S::NclusterIdX => shape.clusters().x,
            S::NclusterIdY => shape.clusters().y,
            S::NclusterIdZ => shape.clusters().z,
            S::ClusterCtaidX => shape.inner(ctaid).x,
            S::ClusterCtaidY => shape.inner(ctaid).y,
            S::ClusterCtaidZ => shape.inner(ctaid).z,
            S::ClusterNctaidX => shape.extents.x,
            S::ClusterNctaidY => shape.extents.y,
            S::ClusterNctaidZ => shape.extents.z,
            S::ClusterCtarank => shape.place(ctaid).rank,
            S::ClusterNctarank => shape.blocks(),
            S::IsExplicitCluster => u32::from(shape.is_explicit),
            _ => 0,
        }
    }
}
