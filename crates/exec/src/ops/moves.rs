//! Moves, packing and unpacking of registers.

use crate::handler::{Run, run};
use crate::host_isa::Wide;
use crate::inst::{Exec, InstExec, SrcRaw};
use crate::state::registers::map_lanes;
use std::hint::black_box;
use warploom_base::WARP_SIZE;
use warploom_ir::Width;

fn bits(width: Width) -> u32 {
    match width {
        Width::B8 => 8,
        Width::B16 => 16,
        Width::B32 => 32,
        Width::B64 => 64,
    }
}

fn low_bits(width: Width) -> u64 {
    u64::MAX >> (64 - bits(width))
}

/// What executes a copy of a register's low bits.
pub(crate) fn mov(width: Width, wide: Wide) -> Option<Run> {
    Some(match width {
        Width::B64 => run!(wide, |m| m.copy::<u64>()),
        Width::B32 => run!(wide, |m| m.copy::<u32>()),
        Width::B16 => run!(wide, |m| m.un(|a: u16| a)),
        Width::B8 => run!(wide, |m| m.un(|a: u8| a)),
    })
}

impl InstExec<'_, '_> {
    #[inline(always)]
    fn copy<R: SrcRaw>(&mut self) -> Exec {
        let value: [R; WARP_SIZE] = *self.src::<R>(0);
        self.put0(black_box(&value));
        Ok(())
    }

    pub fn mov_pred(&mut self, negate: bool) -> Exec {
        let value = self.src_pred(0);
        self.put_pred(self.inst.dst[0], if negate { !value } else { value });
        Ok(())
    }

    pub fn pack(&mut self, part: Width, whole: Width) -> Exec {
        let extra = self.extra()?;
        let mut d = [0u64; WARP_SIZE];
        for (i, &src) in extra.srcs.iter().enumerate() {
            let values: [u64; WARP_SIZE] = self.gather(src, part == Width::B64);
            let shift = i as u32 * bits(part);
            if shift >= bits(whole) {
                return Err(self.illegal());
            }
            for lane in 0..WARP_SIZE {
                d[lane] |= (values[lane] & low_bits(part)) << shift;
            }
        }
        if whole == Width::B64 {
            self.put0(&d);
        } else {
            self.put0(&map_lanes(&d, |v| v as u32));
        }
        Ok(())
    }

    pub fn unpack(&mut self, part: Width, whole: Width) -> Exec {
        let extra = self.extra()?;
        let value: [u64; WARP_SIZE] = if whole == Width::B64 {
            *self.src::<u64>(0)
        } else {
            map_lanes(self.src::<u32>(0), u64::from)
        };
        for (i, &dst) in extra.dsts.iter().enumerate() {
            let shift = i as u32 * bits(part);
            if shift >= bits(whole) {
                return Err(self.illegal());
            }
            let piece = map_lanes(&value, |v| v >> shift & low_bits(part));
            if part == Width::B64 {
                self.put(dst, &piece);
            } else {
                self.put(dst, &map_lanes(&piece, |v| v as u32));
            }
        }
        Ok(())
    }
}
