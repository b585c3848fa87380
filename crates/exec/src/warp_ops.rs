//! Operations across the lanes of a warp. The warp runs in lockstep, so the lanes that take part
//! are the active ones of the member mask; a shuffle from a lane that does not take part reads that
//! lane's register as it is.

use crate::machine::{Exec, Machine};
use crate::regs::map_lanes;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{IntTy, ReduxOp, ShflMode, Src, VoteMode, Width};

/// The lane that a shuffle reads, and whether it lies within the segment.
fn shuffle_source(mode: ShflMode, lane: u32, b: u32, c: u32) -> (usize, bool) {
    let (offset, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let highest = (lane & segment) | (clamp & !segment);
    let lowest = lane & segment;
    let (source, inside) = match mode {
        ShflMode::Up => {
            let source = lane.wrapping_sub(offset);
            // For `.up` the clamp is the segment's lowest lane.
            (source, source as i32 >= highest as i32)
        }
        ShflMode::Down => (lane + offset, lane + offset <= highest),
        ShflMode::Bfly => (lane ^ offset, lane ^ offset <= highest),
        ShflMode::Idx => {
            let source = lowest | (offset & !segment);
            (source, source <= highest)
        }
    };
    (if inside { source & 31 } else { lane } as usize, inside)
}

fn reduce(op: ReduxOp, ty: IntTy, a: u32, b: u32) -> u32 {
    let signed = ty == IntTy::S32;
    match op {
        ReduxOp::Add => a.wrapping_add(b),
        ReduxOp::Min if signed => (a as i32).min(b as i32) as u32,
        ReduxOp::Max if signed => (a as i32).max(b as i32) as u32,
        ReduxOp::Min => a.min(b),
        ReduxOp::Max => a.max(b),
        ReduxOp::And => a & b,
        ReduxOp::Or => a | b,
        ReduxOp::Xor => a ^ b,
    }
}

impl Machine<'_, '_> {
    /// The active lanes that a member mask names (all active lanes without one). The mask is that
    /// of the lowest active lane.
    fn members(&self, k: usize) -> LaneMask {
        match self.inst.src[k] {
            Src::None => self.mask,
            _ => self.src::<u32>(k)[self.lowest_lane()] & self.mask,
        }
    }

    pub fn vote(&mut self, mode: VoteMode) -> Exec {
        let members = self.members(1);
        let votes = self.src_pred(0) & members;
        let truth = |yes: bool| if yes { LaneMask::MAX } else { 0 };
        let value = match mode {
            VoteMode::All => truth(votes == members),
            VoteMode::Any => truth(votes != 0),
            VoteMode::Uni => truth(votes == members || votes == 0),
            VoteMode::Ballot => {
                self.put0(&[votes; WARP_SIZE]);
                return Ok(());
            }
        };
        self.put_pred(self.inst.dst[0], value);
        Ok(())
    }

    pub fn match_lanes(&mut self, any: bool, width: Width) -> Exec {
        let wide = width == Width::B64;
        let members = self.members(1);
        let value: [u64; WARP_SIZE] = if wide {
            *self.src::<u64>(0)
        } else {
            map_lanes(self.src::<u32>(0), u64::from)
        };
        let equal_to = |lane: usize| {
            let same = |&other: &usize| value[other] == value[lane];
            lanes_of(members)
                .filter(same)
                .fold(0, |mask: LaneMask, other| mask | 1 << other)
        };
        if any {
            let d: [u32; WARP_SIZE] = std::array::from_fn(equal_to);
            self.put0(&d);
        } else {
            let all = members != 0 && equal_to(members.trailing_zeros() as usize) == members;
            self.put0(&[if all { members } else { 0 }; WARP_SIZE]);
            self.put_pred(self.inst.dst[1], if all { LaneMask::MAX } else { 0 });
        }
        Ok(())
    }

    pub fn shfl(&mut self, mode: ShflMode) -> Exec {
        let (a, b, c) = (self.src::<u32>(0), self.src::<u32>(1), self.src::<u32>(2));
        let mut d = [0; WARP_SIZE];
        let mut inside = 0;
        for lane in 0..WARP_SIZE {
            let (source, ok) = shuffle_source(mode, lane as u32, b[lane], c[lane]);
            d[lane] = a[source];
            inside |= LaneMask::from(ok) << lane;
        }
        self.put0(&d);
        self.put_pred(self.inst.dst[1], inside);
        Ok(())
    }

    pub fn activemask(&mut self) -> Exec {
        self.put0(&[self.mask; WARP_SIZE]);
        Ok(())
    }

    pub fn redux(&mut self, op: ReduxOp, ty: IntTy) -> Exec {
        let members = self.members(1);
        let a = self.src::<u32>(0);
        let value = lanes_of(members)
            .map(|lane| a[lane])
            .reduce(|x, y| reduce(op, ty, x, y));
        self.put0(&[value.unwrap_or(0); WARP_SIZE]);
        Ok(())
    }

    pub fn elect(&mut self) -> Exec {
        let members = self.members(0);
        let leader = members & members.wrapping_neg();
        self.put0(&[members.trailing_zeros() & 31; WARP_SIZE]);
        self.put_pred(self.inst.dst[1], leader);
        Ok(())
    }
}
