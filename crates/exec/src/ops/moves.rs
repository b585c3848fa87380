//! Moves between registers, and packing and unpacking of vectors in registers.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec, SrcRaw};
use crate::state::registers::map_lanes;
use std::hint::black_box;
use warploom_base::WARP_SIZE;
use warploom_ir::Width;

/// Number of bits of a width.
fn bits(width: Width) -> u32 {
    match width {
        Width::B8 => 8,
        Width::B16 => 16,
        Width::B32 => 32,
        Width::B64 => 64,
    }
}

/// Mask of the low bits of a width.
fn low_bits(width: Width) -> u64 {
    u64::MAX >> (64 - bits(width))
}

/// Handler that copies the low bits of a register.
pub(crate) fn mov(width: Width, isa: VectorIsa) -> Option<Handler> {
    Some(match width {
        Width::B64 => handler!(isa, |m| m.copy::<u64>()),
        Width::B32 => handler!(isa, |m| m.copy::<u32>()),
        Width::B16 => handler!(isa, |m| m.unary(|a: u16| a)),
        Width::B8 => handler!(isa, |m| m.unary(|a: u8| a)),
    })
}

impl InstExec<'_, '_> {
    /// Copies a register in the active lanes.
    #[inline(always)]
    fn copy<R: SrcRaw>(&mut self) -> Exec {
        let value: [R; WARP_SIZE] = *self.src::<R>(0);
        self.write_result(black_box(&value));
        Ok(())
    }

    /// Executes `mov` or `not` of a predicate.
    pub fn mov_pred(&mut self, negate: bool) -> Exec {
        let value = self.src_pred(0);
        self.write_pred(self.inst.dst[0], if negate { !value } else { value });
        Ok(())
    }

    /// Executes `mov` from several registers to one wider register.
    pub fn pack(&mut self, part: Width, whole: Width) -> Exec {
        let extra = self.extra_operands()?;
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
            self.write_result(&d);
        } else {
            self.write_result(&map_lanes(&d, |v| v as u32));
        }
        Ok(())
    }

    /// Executes `mov` from one register to several narrower registers.
    pub fn unpack(&mut self, part: Width, whole: Width) -> Exec {
        let extra = self.extra_operands()?;
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
                self.write_reg(dst, &piece);
            } else {
                self.write_reg(dst, &map_lanes(&piece, |v| v as u32));
            }
        }
        Ok(())
    }
}
