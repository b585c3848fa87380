//! Parts of a memory access that all memory instructions share: addresses, checks, and the bytes of
//! single lanes.

use crate::fault::{FaultKind, FindingKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::device::AccessCheck;
use crate::memory::effect::{MemEffect, MemKind};
use crate::memory::span::Span;
use crate::outcome::Effect;
use crate::state::registers::map_lanes;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CONST_BASE, CONST_BYTES, CacheOp, MemSpace, MemTy, Src};

/// Maximum number of bytes that one lane moves: the size of PTX's longest vectors.
pub(crate) const LANE_BYTES: usize = 32;

/// Properties of a memory access that all lanes share.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub space: MemSpace,
    pub kind: MemKind,
    /// Number of bytes that each lane accesses.
    pub bytes: usize,
    /// Alignment of the address in bytes.
    pub align: u64,
}

impl Access {
    /// Access to the elements of a memory type.
    pub fn new(space: MemSpace, kind: MemKind, ty: MemTy) -> Self {
        let bytes = ty.bytes as usize * ty.count as usize;
        let align = bytes.next_power_of_two() as u64;
        Self {
            space,
            kind,
            bytes,
            align,
        }
    }

    /// Returns the same access in another state space.
    pub fn within(self, space: MemSpace) -> Self {
        Self { space, ..self }
    }
}

impl InstExec<'_, '_> {
    /// Sets `out.addrs` to base plus offset in every lane.
    #[inline(always)]
    pub(crate) fn addresses(&mut self) {
        let offset = self.inst.imm;
        if self.inst.src[0] == Src::None {
            self.out.addrs = [i64::from(offset) as u64; WARP_SIZE];
            return;
        }
        self.out.addrs = if self.inst.wide_addr || !matches!(self.inst.src[0], Src::Reg(_)) {
            let offset = i64::from(offset);
            map_lanes(self.src::<u64>(0), |base| base.wrapping_add_signed(offset))
        } else {
            let address = |base: u32| u64::from(base.wrapping_add_signed(offset));
            map_lanes(self.src::<u32>(0), address)
        };
    }

    /// Reports an access whose lanes are all in one state space.
    #[inline(always)]
    pub(crate) fn memory_effect(&mut self, access: Access, cache_op: CacheOp, returns: bool) {
        self.effect_of(access, cache_op, returns, false);
    }

    /// Reports an access whose lanes may be in several state spaces if `mixed`.
    #[inline(always)]
    pub(crate) fn effect_of(
        &mut self,
        access: Access,
        cache_op: CacheOp,
        returns: bool,
        mixed: bool,
    ) {
        let Access {
            space, kind, bytes, ..
        } = access;
        let bytes = bytes as u8;
        self.set_effect(Effect::Memory(MemEffect {
            space,
            kind,
            bytes,
            cache_op,
            returns,
            mixed,
            serial: false,
        }));
    }

    /// Fault of one lane's access.
    pub(crate) fn memory_fault(
        &self,
        kind: FaultKind,
        access: Access,
        lane: usize,
    ) -> Box<RawFault> {
        let address = self.out.addrs[lane];
        RawFault::memory(kind, lane, access.space, address, access.bytes as u32)
    }

    /// Fault of an access to shared memory of a whole warp.
    #[cold]
    pub(crate) fn outside_shared(&self, address: u64) -> Box<RawFault> {
        let lane = self.lowest_lane();
        RawFault::memory(FaultKind::OutOfBounds, lane, MemSpace::Shared, address, 16)
    }

    /// True if all lanes are aligned and inside one live allocation, and uninitialised loads are
    /// not checked. `live` states that one allocation covers the whole page that contains all
    /// lanes.
    #[inline(always)]
    pub(crate) fn one_allocation(&self, span: &Span, access: Access, live: bool) -> bool {
        span.bits & (access.align - 1) == 0
            && !self.ctx.checks.uninitialised
            && (live || self.inside_allocation(span, access.bytes as u64))
    }

    /// Checks the exact range of all lanes, for accesses to several pages or to a page in which an
    /// allocation ends.
    #[inline(never)]
    fn inside_allocation(&self, span: &Span, bytes: u64) -> bool {
        let span = match span.halves {
            // The range of a regular layout is exact.
            Some(_) => *span,
            None => Span::exact(&self.out.addrs, self.mask, bytes),
        };
        let range = self.port.image.live_range(self.ctx.asid, span.low);
        range.is_some_and(|(start, end)| start <= span.low && span.high <= end)
    }

    /// Range of the active lanes' addresses.
    #[inline(always)]
    pub(crate) fn span(&self, access: Access) -> Span {
        Span::around(&self.out.addrs, self.mask, access.align)
    }

    /// True if any lane may read bytes that this SM stored and has not committed.
    #[inline(always)]
    pub(crate) fn own_stores(&self, span: &Span, access: Access) -> bool {
        !self.port.log.is_empty() && self.may_touch_own(span.low, span.high, access.bytes)
    }

    /// Checks the filter of the log, by range if the lanes are close to each other and by lane
    /// otherwise.
    #[inline(never)]
    fn may_touch_own(&self, low: u64, high: u64, bytes: usize) -> bool {
        const DENSE: u64 = 4096;
        let log = &self.port.log;
        if high - low <= DENSE {
            return log.may_touch(low, (high - low) as usize);
        }
        lanes_of(self.mask).any(|lane| log.may_touch(self.out.addrs[lane], bytes))
    }

    /// Checks a lane's access for bounds, alignment and write permission.
    pub(crate) fn check(&self, access: Access, lane: usize) -> Exec {
        let (address, bytes) = (self.out.addrs[lane], access.bytes as u64);
        let fault = |kind| Err(self.memory_fault(kind, access, lane));
        let end = address.checked_add(bytes);
        let within = |size: usize| end.is_some_and(|end| end <= size as u64);
        let inside = match access.space {
            MemSpace::Shared => within(self.block.shared.len()),
            MemSpace::Local | MemSpace::FrameParam => within(self.ctx.program.local_end() as usize),
            MemSpace::Param => within(self.ctx.params.len()),
            MemSpace::Global | MemSpace::Const | MemSpace::Generic => {
                match self.port.image.check(self.ctx.asid, address, bytes) {
                    AccessCheck::Ok => true,
                    AccessCheck::Freed => return fault(FaultKind::Freed),
                    AccessCheck::Outside => {
                        access.kind == MemKind::Load
                            && self.port.image.may_read_before_globals(address)
                    }
                }
            }
        };
        if !inside {
            return fault(FaultKind::OutOfBounds);
        }
        if address % access.align != 0 {
            return fault(FaultKind::Misaligned);
        }
        let constant = (CONST_BASE..CONST_BASE + CONST_BYTES).contains(&address);
        let read_only = match access.space {
            MemSpace::Const | MemSpace::Param => true,
            MemSpace::Global => constant,
            _ => false,
        };
        if read_only && matches!(access.kind, MemKind::Store | MemKind::Atomic) {
            return fault(FaultKind::WriteToReadOnly);
        }
        Ok(())
    }

    /// Reads checked bytes of one lane.
    pub(crate) fn read_lane(&mut self, space: MemSpace, lane: usize, address: u64, out: &mut [u8]) {
        let at = address as usize;
        match space {
            MemSpace::Shared => out.copy_from_slice(&self.block.shared[at..at + out.len()]),
            MemSpace::Param => out.copy_from_slice(&self.ctx.params[at..at + out.len()]),
            MemSpace::Local | MemSpace::FrameParam => {
                for (i, byte) in out.iter_mut().enumerate() {
                    *byte = self.warp.local_byte(lane, at + i);
                }
            }
            _ => self.port.read(self.ctx.asid, address, out),
        }
    }

    /// Writes checked bytes of one lane.
    pub(crate) fn write_lane(&mut self, space: MemSpace, lane: usize, address: u64, bytes: &[u8]) {
        let at = address as usize;
        match space {
            MemSpace::Shared => {
                self.block.shared[at..at + bytes.len()].copy_from_slice(bytes);
                self.block.mark_written(at, bytes.len());
            }
            MemSpace::Local | MemSpace::FrameParam => {
                for (i, &byte) in bytes.iter().enumerate() {
                    self.warp.set_local_byte(lane, at + i, byte);
                }
                if self.ctx.checks.uninitialised {
                    self.warp.mark_local(lane, at, bytes.len());
                }
            }
            _ => self.port.write(self.ctx.asid, address, bytes),
        }
    }

    /// Records a finding if a lane loads bytes that were never written.
    pub(crate) fn look_for_uninitialised(&mut self, access: Access, lane: usize) {
        if !self.ctx.checks.uninitialised {
            return;
        }
        let (address, bytes) = (self.out.addrs[lane], access.bytes);
        let at = address as usize;
        let written = match access.space {
            MemSpace::Shared => self.block.is_written(at, bytes),
            MemSpace::Local => self.warp.local_is_written(lane, at, bytes),
            MemSpace::Param | MemSpace::FrameParam | MemSpace::Const => true,
            _ => self.port.is_written(self.ctx.asid, address, bytes),
        };
        if !written {
            self.record_finding(FindingKind::Uninitialised, lane, access.space, address);
        }
    }

    /// Records a finding if lanes access shared memory in a race with another warp.
    pub(crate) fn look_for_races(&mut self, access: Access, lanes: LaneMask) {
        let Some(races) = &mut self.block.barriers.races else {
            return;
        };
        if access.space != MemSpace::Shared {
            return;
        }
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            let bytes = address as usize..address as usize + access.bytes;
            let own = (self.warp.warp_index, self.pc);
            if let Some((other_warp, other_pc)) = races.access(own, bytes, access.kind) {
                let finding = FindingKind::SharedRace {
                    other_warp: other_warp as u16,
                    other_pc,
                };
                self.record_finding(finding, lane, access.space, address);
                return;
            }
        }
    }

    /// True if all lanes are aligned and inside shared memory, and no checks are active.
    #[inline(always)]
    pub(crate) fn plain_shared(&self, span: &Span, access: Access) -> bool {
        let checks = self.ctx.checks.uninitialised || self.ctx.checks.shared_races;
        if checks || span.bits & (access.align - 1) != 0 {
            return false;
        }
        span.high <= self.block.shared.len() as u64 || self.inside_shared(access.bytes as u64)
    }

    /// Checks the exact range of all lanes, if the aligned block around them exceeds shared memory.
    #[inline(never)]
    fn inside_shared(&self, bytes: u64) -> bool {
        let span = Span::exact(&self.out.addrs, self.mask, bytes);
        span.high <= self.block.shared.len() as u64
    }

    /// Row of local memory that holds an aligned word at the same address in all lanes. `None` for
    /// other accesses.
    #[inline(always)]
    pub(crate) fn uniform_row(&self, access: Access, ty: MemTy) -> Option<usize> {
        let first = self.out.addrs[self.lowest_lane()];
        let uniform = ty.bytes == 4 && ty.count == 1 && !ty.wide_reg && first.is_multiple_of(4);
        let same = || lanes_of(self.mask).all(|lane| self.out.addrs[lane] == first);
        let inside =
            first.saturating_add(access.bytes as u64) <= u64::from(self.ctx.program.local_end());
        let plain = uniform && !self.ctx.checks.uninitialised;
        (plain && inside && same()).then_some(first as usize / 4)
    }
}
