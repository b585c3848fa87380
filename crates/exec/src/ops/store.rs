//! Store instructions (`st`) in all state spaces.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::memory::effect::MemKind;
use crate::ops::access::{Access, LANE_BYTES};
use crate::peer_access::PeerAct;
use crate::state::registers::{blend, map_lanes};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, GLOBAL_BASE, MemSpace, MemTy, Op, Src};

/// True for one 32-bit element in a 32-bit register.
pub(crate) fn is_word(ty: MemTy) -> bool {
    ty.bytes == 4 && ty.count == 1 && !ty.wide_reg
}

/// Memory type of one 32-bit element.
pub(crate) const WORD: MemTy = MemTy {
    bytes: 4,
    count: 1,
    signed: false,
    wide_reg: false,
};

/// Handler of a store of one word. `None` for other stores.
pub(crate) fn store(space: MemSpace, ty: MemTy, isa: VectorIsa) -> Option<Handler> {
    Some(match space {
        _ if !is_word(ty) => return None,
        MemSpace::Generic => handler!(isa, |m| m.store_word(MemSpace::Generic)),
        MemSpace::Global => handler!(isa, |m| m.store_word(MemSpace::Global)),
        MemSpace::Shared => handler!(isa, |m| m.store_word(MemSpace::Shared)),
        _ => return None,
    })
}

impl InstExec<'_, '_> {
    /// Executes a store of one word to a space that is known at compile time.
    #[inline(always)]
    fn store_word(&mut self, space: MemSpace) -> Exec {
        match self.inst.op {
            Op::St(_, _, cache_op) => self.store(space, WORD, cache_op),
            op => unreachable!("{op:?} executed as `st`"),
        }
    }

    /// Executes the instruction `st`.
    #[inline(always)]
    pub fn store(&mut self, space: MemSpace, ty: MemTy, cache_op: CacheOp) -> Exec {
        self.addresses();
        let mut access = Access::new(space, MemKind::Store, ty);
        if access.bytes > LANE_BYTES || ty.bytes > 8 {
            return Err(self.illegal());
        }
        if space == MemSpace::Generic {
            match self.uniform_space() {
                Some(space) => access.space = space,
                None => return self.store_mixed(ty, cache_op),
            }
        }
        self.memory_effect(access, cache_op, false);
        match access.space {
            MemSpace::Global if self.store_page(access, ty) => Ok(()),
            MemSpace::Local | MemSpace::FrameParam if self.store_local(access, ty) => Ok(()),
            MemSpace::Shared if self.store_shared(access, ty) => Ok(()),
            _ => self.store_slowly(access.space, ty),
        }
    }

    /// Executes a store lane by lane. The access is computed anew, as in [`Self::load_slowly`].
    #[inline(never)]
    fn store_slowly(&mut self, space: MemSpace, ty: MemTy) -> Exec {
        let access = Access::new(space, MemKind::Store, ty);
        self.store_lanes(access, ty, self.mask)
    }

    /// Executes a store to generic addresses of several spaces, one space at a time.
    #[inline(never)]
    fn store_mixed(&mut self, ty: MemTy, cache_op: CacheOp) -> Exec {
        let access = Access::new(MemSpace::Generic, MemKind::Store, ty);
        let groups = self.split_spaces(access)?;
        self.effect_of(access.within(groups[0].0), cache_op, false, true);
        for (space, lanes) in groups {
            if lanes != 0 {
                self.store_lanes(access.within(space), ty, lanes)?;
            }
        }
        Ok(())
    }

    /// Bytes to store in each lane, with all elements of a vector side by side.
    #[inline(always)]
    fn store_data(&self, ty: MemTy) -> [[u8; LANE_BYTES]; WARP_SIZE] {
        let mut data = [[0u8; LANE_BYTES]; WARP_SIZE];
        let size = ty.bytes as usize;
        for element in 0..ty.count as usize {
            let src = self.element_src(ty, element);
            let at = element * size;
            for (lane, data) in data.iter_mut().enumerate() {
                let value = if ty.wide_reg {
                    self.lane_wide(src, lane)
                } else {
                    self.lane_value(src, lane)
                };
                data[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        data
    }

    /// Stores to one page of global memory. Returns false if the access is not inside one
    /// allocation and one page.
    #[inline(always)]
    fn store_page(&mut self, access: Access, ty: MemTy) -> bool {
        let span = self.span(access);
        if !span.is_in_one_page() || span.low < GLOBAL_BASE {
            return false;
        }
        let (live, _) = self.port.image.page(self.ctx.asid, span.low);
        if !self.one_allocation(&span, access, live) {
            return false;
        }
        self.out.halves = span.halves;
        if !is_word(ty) {
            self.store_runs(access, ty);
            return true;
        }
        let asid = self.ctx.asid;
        let words = map_lanes(self.src::<u32>(1), u32::to_le);
        if span.is_row() {
            self.port.write(asid, span.low, bytemuck::bytes_of(&words));
        } else {
            self.store_words(asid, &words);
        }
        true
    }

    /// Stores checked words to global memory lane by lane.
    fn store_words(&mut self, asid: u8, words: &[u32; WARP_SIZE]) {
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            self.port
                .write_word(asid, address, words[lane].to_ne_bytes());
        }
    }

    /// Stores checked elements to global memory. Adjacent lanes form one run in the log.
    fn store_runs(&mut self, access: Access, ty: MemTy) {
        let (asid, data) = (self.ctx.asid, self.store_data(ty));
        let mut run = [0u8; LANE_BYTES * WARP_SIZE];
        let (mut start, mut len) = (0, 0);
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            if len > 0 && address != start + len as u64 {
                self.port.write(asid, start, &run[..len]);
                len = 0;
            }
            if len == 0 {
                start = address;
            }
            run[len..len + access.bytes].copy_from_slice(&data[lane][..access.bytes]);
            len += access.bytes;
        }
        self.port.write(asid, start, &run[..len]);
    }

    /// Stores one word of local memory to the same address in all lanes. Returns false for other
    /// stores.
    fn store_local(&mut self, access: Access, ty: MemTy) -> bool {
        let Some(row) = self.uniform_row(access, ty) else {
            return false;
        };
        let value: [u32; WARP_SIZE] = *self.src::<u32>(1);
        self.warp.grow_local(row + 1);
        blend(&mut self.warp.local[row].0, &value, self.mask);
        true
    }

    /// Executes any store lane by lane.
    fn store_lanes(&mut self, access: Access, ty: MemTy, lanes: LaneMask) -> Exec {
        let data = self.store_data(ty);
        let lanes = if access.space == MemSpace::Shared && self.names_blocks(lanes) {
            let bytes = |lane: usize| (PeerAct::Store, &data[lane][..access.bytes]);
            self.part_peers(access, lanes, bytes)?
        } else {
            lanes
        };
        for lane in lanes_of(lanes) {
            self.check(access, lane)?;
        }
        self.look_for_races(access, lanes);
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            self.write_lane(access.space, lane, address, &data[lane][..access.bytes]);
        }
        Ok(())
    }

    /// Stores one word per lane to shared memory if no checks are active. Returns false otherwise.
    #[inline(always)]
    fn store_shared(&mut self, access: Access, ty: MemTy) -> bool {
        if !is_word(ty) {
            return false;
        }
        let span = self.span(access);
        if !self.plain_shared(&span, access) {
            return false;
        }
        self.out.halves = span.halves;
        let value = map_lanes(self.src::<u32>(1), u32::to_le);
        if span.is_row()
            && let Some(row) = self.block.shared.get_mut(span.low as usize..)
            && let Some(row) = row.first_chunk_mut::<{ 4 * WARP_SIZE }>()
        {
            *row = bytemuck::cast(value);
            return true;
        }
        for lane in lanes_of(self.mask) {
            let at = self.out.addrs[lane] as usize;
            self.block.shared[at..at + 4].copy_from_slice(&value[lane].to_ne_bytes());
        }
        true
    }

    /// Source operand of one element of a vector.
    fn element_src(&self, ty: MemTy, element: usize) -> Src {
        if ty.count == 1 {
            return self.inst.src[1];
        }
        let extra = self.ctx.program.extras.get(self.inst.extra.0 as usize);
        extra
            .and_then(|e| e.srcs.get(element))
            .copied()
            .unwrap_or(Src::None)
    }
}
