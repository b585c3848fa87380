//! Load instructions (`ld`) in all state spaces.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::memory::device::PAGE_BYTES;
use crate::memory::effect::MemKind;
use crate::memory::span::{HALF, HalfWarp, Span, row_of};
use crate::ops::access::{Access, LANE_BYTES};
use crate::ops::store::{WORD, is_word};
use crate::peer_access::PeerAct;
use crate::state::registers::{Lanes32, map_lanes};
use std::hint::black_box;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, Dst, GLOBAL_BASE, MemSpace, MemTy, Op, Src};

/// Number of words in a page.
const PAGE_WORDS: usize = PAGE_BYTES / 4;
/// Number of bytes of 32 consecutive words.
const ROW_BYTES: usize = 4 * WARP_SIZE;
/// Contents of a page that was never touched.
const UNTOUCHED: &[u8; PAGE_BYTES] = &[0; PAGE_BYTES];

/// Extends an element to the width of its register.
#[inline(always)]
pub(crate) fn extend(raw: u64, ty: MemTy) -> u64 {
    let unused = 64 - 8 * u32::from(ty.bytes.min(8));
    if ty.signed {
        ((raw << unused) as i64 >> unused) as u64
    } else {
        raw
    }
}

/// Up to eight bytes as a number.
#[inline(always)]
pub(crate) fn number_of(bytes: &[u8]) -> u64 {
    // The usual sizes become single loads.
    if let Ok(double) = bytes.try_into() {
        return u64::from_le_bytes(double);
    }
    if let Ok(word) = bytes.try_into() {
        return u32::from_le_bytes(word).into();
    }
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(raw)
}

/// Bytes of a page at an offset that is a multiple of `N`, as a number.
#[inline(always)]
fn page_word<const N: usize>(page: &[u8; PAGE_BYTES], address: u64) -> u64 {
    let offset = address as usize & (PAGE_BYTES - N);
    let mut raw = [0; 8];
    raw[..N].copy_from_slice(&page[offset..offset + N]);
    u64::from_le_bytes(raw)
}

/// Bytes of shared memory as a number. Inactive lanes may point outside and give zero.
#[inline(always)]
fn shared_word<const N: usize>(shared: &[u8], address: u64) -> u64 {
    let at = address as usize;
    let mut raw = [0; 8];
    if let Some(bytes) = at.checked_add(N).and_then(|end| shared.get(at..end)) {
        raw[..N].copy_from_slice(bytes);
    }
    u64::from_le_bytes(raw)
}

/// Loads one word per lane, either by the layout of each half of the warp or from arbitrary
/// addresses. The result should be hidden in a `black_box`, because otherwise the compiler keeps
/// each lane in a register of its own.
#[inline(always)]
fn words_of(
    words: &[u32],
    halves: Option<[HalfWarp; 2]>,
    addrs: &[u64; WARP_SIZE],
    word: impl Fn(u64) -> u32,
) -> [u32; WARP_SIZE] {
    let mut d = [0u32; WARP_SIZE];
    if let Some([low, high]) = halves {
        low.read(words, &mut d[..HALF]);
        high.read(words, &mut d[HALF..]);
        return d;
    }
    // Addresses are read from memory, since extracting them from vector registers takes longer.
    let addrs = black_box(addrs);
    for lane in 0..WARP_SIZE {
        d[lane] = u32::from_le(word(addrs[lane]));
    }
    d
}

/// Handler of a load of one word, or of a parameter. `None` for other loads.
pub(crate) fn load(space: MemSpace, ty: MemTy, isa: VectorIsa) -> Option<Handler> {
    Some(match space {
        MemSpace::Param => handler!(isa, |m| m.load_as(MemSpace::Param, None)),
        _ if !is_word(ty) => return None,
        MemSpace::Generic => handler!(isa, |m| m.load_as(MemSpace::Generic, Some(WORD))),
        MemSpace::Global => handler!(isa, |m| m.load_as(MemSpace::Global, Some(WORD))),
        MemSpace::Shared => handler!(isa, |m| m.load_as(MemSpace::Shared, Some(WORD))),
        _ => return None,
    })
}

impl InstExec<'_, '_> {
    /// Executes a load whose type may be known at compile time.
    #[inline(always)]
    fn load_as(&mut self, space: MemSpace, ty: Option<MemTy>) -> Exec {
        match self.inst.op {
            Op::Ld(_, own, cache_op) => self.load(space, ty.unwrap_or(own), cache_op),
            op => unreachable!("{op:?} executed as `ld`"),
        }
    }

    /// Executes the instruction `ld`.
    #[inline(always)]
    pub fn load(&mut self, space: MemSpace, ty: MemTy, cache_op: CacheOp) -> Exec {
        let global = matches!(space, MemSpace::Global | MemSpace::Generic);
        if global && is_word(ty) && self.load_row(cache_op) {
            return Ok(());
        }
        self.addresses();
        let mut access = Access::new(space, MemKind::Load, ty);
        if access.bytes > LANE_BYTES || ty.bytes > 8 {
            return Err(self.illegal());
        }
        if space == MemSpace::Generic {
            match self.uniform_space() {
                Some(space) => access.space = space,
                None => return self.load_mixed(ty, cache_op),
            }
        }
        self.memory_effect(access, cache_op, true);
        let fast = match access.space {
            MemSpace::Global | MemSpace::Const => self.load_global(access, ty),
            MemSpace::Param => self.load_param(access, ty),
            MemSpace::Local | MemSpace::FrameParam => self.load_local(access, ty),
            MemSpace::Shared => self.load_shared(access, ty),
            MemSpace::Generic => false,
        };
        if fast {
            Ok(())
        } else {
            self.load_slowly(access.space, ty)
        }
    }

    /// Executes the usual load: 32 consecutive words of global memory, in one page that belongs to
    /// one allocation and of which this SM has stored none of these words. Returns false without
    /// any effect for other loads.
    #[inline(always)]
    fn load_row(&mut self, cache_op: CacheOp) -> bool {
        let (Src::Reg(reg), Dst::Reg(dst)) = (self.inst.src[0], self.inst.dst[0]) else {
            return false;
        };
        let image = self.port.image;
        if self.mask != LaneMask::MAX || !self.inst.wide_addr || self.ctx.checks.uninitialised {
            return false;
        }
        let base = self.warp.regs.r64(usize::from(reg.0));
        if base[1] != base[0].wrapping_add(4) {
            return false;
        }
        let offset = i64::from(self.inst.imm);
        let addrs = map_lanes(base, |base| base.wrapping_add_signed(offset));
        let Some(first) = row_of(&addrs).filter(|first| *first >= GLOBAL_BASE) else {
            return false;
        };
        let (live, page) = image.page(self.ctx.asid, first);
        let log = &self.port.log;
        if !live || !log.is_empty() && log.may_touch(first, ROW_BYTES) {
            return false;
        }
        let at = first as usize % PAGE_BYTES;
        let Some(words) = page.unwrap_or(UNTOUCHED).get(at..at + ROW_BYTES) else {
            return false;
        };
        self.out.addrs = addrs;
        let access = Access::new(MemSpace::Global, MemKind::Load, WORD);
        self.memory_effect(access, cache_op, true);
        self.out.halves = Some([0, 1].map(|half| HalfWarp {
            first: first + half * (ROW_BYTES as u64 / 2),
            row: true,
        }));
        let lanes = self.warp.regs.r32_mut(usize::from(dst.0));
        bytemuck::bytes_of_mut(lanes).copy_from_slice(words);
        for word in lanes {
            *word = u32::from_le(*word);
        }
        true
    }

    /// Repeats a load in its lanes of global memory, whose addresses are already resolved.
    pub fn load_again(&mut self) -> Exec {
        match self.inst.op {
            Op::Ld(_, ty, _) => self.load_slowly(MemSpace::Global, ty),
            op => unreachable!("{op:?} repeated as `ld`"),
        }
    }

    /// Executes a load lane by lane. The access is computed anew, because passing it would force
    /// all callers to keep it in memory.
    #[inline(never)]
    fn load_slowly(&mut self, space: MemSpace, ty: MemTy) -> Exec {
        let access = Access::new(space, MemKind::Load, ty);
        self.load_lanes(access, ty, self.mask)
    }

    /// Executes a load from generic addresses of several spaces, one space at a time.
    #[inline(never)]
    fn load_mixed(&mut self, ty: MemTy, cache_op: CacheOp) -> Exec {
        let access = Access::new(MemSpace::Generic, MemKind::Load, ty);
        let groups = self.split_spaces(access)?;
        self.effect_of(access.within(groups[0].0), cache_op, true, true);
        for (space, lanes) in groups {
            if lanes != 0 {
                self.load_lanes(access.within(space), ty, lanes)?;
            }
        }
        Ok(())
    }

    /// Loads from one allocation, if no store of the SM overlaps the loaded bytes. Returns false
    /// otherwise.
    #[inline(always)]
    fn load_global(&mut self, access: Access, ty: MemTy) -> bool {
        let span = self.span(access);
        let one_page = span.is_in_one_page();
        let (live, page) = if one_page {
            self.port.image.page(self.ctx.asid, span.low)
        } else {
            (false, None)
        };
        if !self.one_allocation(&span, access, live) || self.own_stores(&span, access) {
            return false;
        }
        self.out.halves = span.halves;
        if one_page {
            self.load_page(&span, page, ty)
        } else {
            self.load_pages(ty)
        }
        true
    }

    /// Loads elements from several pages. Each element is inside one page.
    fn load_pages(&mut self, ty: MemTy) {
        fn word<const N: usize>(m: &InstExec<'_, '_>, at: u64) -> u64 {
            let page = m.port.image.page_data(m.ctx.asid, at);
            page.map_or(0, |page| page_word::<N>(page, at))
        }
        match ty.bytes {
            1 => self.load_elements::<1>(ty, word::<1>),
            2 => self.load_elements::<2>(ty, word::<2>),
            4 => self.load_elements::<4>(ty, word::<4>),
            _ => self.load_elements::<8>(ty, word::<8>),
        }
    }

    /// Loads elements from one page, which is untouched if `page` is `None`.
    #[inline(always)]
    fn load_page(&mut self, span: &Span, page: Option<&[u8; PAGE_BYTES]>, ty: MemTy) {
        let page = page.unwrap_or(UNTOUCHED);
        if is_word(ty)
            && let Ok(words) = bytemuck::try_cast_slice::<u8, u32>(page)
            && let Some(words) = words.first_chunk::<PAGE_WORDS>()
        {
            let within = |half: HalfWarp| HalfWarp {
                first: half.first % PAGE_BYTES as u64,
                ..half
            };
            // Inactive lanes may point to other pages.
            let word = |at: u64| words[at as usize / 4 % PAGE_WORDS];
            let halves = span.halves.map(|halves| halves.map(within));
            let value = words_of(words, halves, &self.out.addrs, word);
            return self.write_result(black_box(&value));
        }
        match ty.bytes {
            1 => self.load_elements::<1>(ty, |_, at| page_word::<1>(page, at)),
            2 => self.load_elements::<2>(ty, |_, at| page_word::<2>(page, at)),
            4 => self.load_elements::<4>(ty, |_, at| page_word::<4>(page, at)),
            _ => self.load_elements::<8>(ty, |_, at| page_word::<8>(page, at)),
        }
    }

    /// Loads every element with `word`, which reads `N` bytes at an address.
    #[inline(always)]
    fn load_elements<const N: usize>(&mut self, ty: MemTy, word: impl Fn(&Self, u64) -> u64) {
        for element in 0..ty.count as usize {
            let dst = self.element_dst(ty, element);
            let at = (element * N) as u64;
            if ty.wide_reg {
                let mut d = [0u64; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    let address = self.out.addrs[lane].wrapping_add(at);
                    d[lane] = extend(word(self, address), ty);
                }
                self.write_reg(dst, &d);
            } else {
                let mut d = [0u32; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    let address = self.out.addrs[lane].wrapping_add(at);
                    d[lane] = extend(word(self, address), ty) as u32;
                }
                self.write_reg(dst, &d);
            }
        }
    }

    /// Loads from shared memory if no checks are active. Returns false otherwise.
    #[inline(always)]
    fn load_shared(&mut self, access: Access, ty: MemTy) -> bool {
        let span = self.span(access);
        if !self.plain_shared(&span, access) {
            return false;
        }
        self.out.halves = span.halves;
        if is_word(ty)
            && let Ok(words) = bytemuck::try_cast_slice::<u8, u32>(&self.block.shared)
        {
            // Inactive lanes may point outside of shared memory.
            let word = |at: u64| words.get(at as usize / 4).copied().unwrap_or(0);
            let value = words_of(words, span.halves, &self.out.addrs, word);
            self.write_result(black_box(&value));
            return true;
        }
        match ty.bytes {
            1 => self.load_elements::<1>(ty, |m, at| shared_word::<1>(&m.block.shared, at)),
            2 => self.load_elements::<2>(ty, |m, at| shared_word::<2>(&m.block.shared, at)),
            4 => self.load_elements::<4>(ty, |m, at| shared_word::<4>(&m.block.shared, at)),
            _ => self.load_elements::<8>(ty, |m, at| shared_word::<8>(&m.block.shared, at)),
        }
        true
    }

    /// Destination of one element of a vector.
    fn element_dst(&self, ty: MemTy, element: usize) -> Dst {
        if ty.count == 1 {
            return self.inst.dst[0];
        }
        let extra = self.ctx.program.extras.get(self.inst.extra.0 as usize);
        extra
            .and_then(|e| e.dsts.get(element))
            .copied()
            .unwrap_or(Dst::None)
    }

    /// Loads a kernel parameter from the same address in all lanes, which is the usual case.
    /// Returns false otherwise.
    #[inline(always)]
    fn load_param(&mut self, access: Access, ty: MemTy) -> bool {
        if matches!(self.inst.src[0], Src::Reg(_)) {
            return false;
        }
        let address = self.out.addrs[0];
        let end = address.saturating_add(access.bytes as u64);
        let aligned = address & (access.align - 1) == 0;
        let Some(bytes) = self.ctx.params.get(address as usize..end as usize) else {
            return false;
        };
        if !aligned {
            return false;
        }
        if ty.count == 1 {
            self.put_number(self.inst.dst[0], bytes, ty);
            return true;
        }
        for (element, part) in bytes.chunks_exact(ty.bytes as usize).enumerate() {
            self.put_number(self.element_dst(ty, element), part, ty);
        }
        true
    }

    /// Writes the same element in all lanes.
    #[inline(always)]
    fn put_number(&mut self, dst: Dst, bytes: &[u8], ty: MemTy) {
        let value = extend(number_of(bytes), ty);
        if ty.wide_reg {
            self.write_reg(dst, &[value; WARP_SIZE]);
        } else {
            self.write_reg(dst, &[value as u32; WARP_SIZE]);
        }
    }

    /// Loads one word of local memory from the same address in all lanes. Returns false otherwise.
    fn load_local(&mut self, access: Access, ty: MemTy) -> bool {
        let Some(row) = self.uniform_row(access, ty) else {
            return false;
        };
        let value = self.warp.local.get(row).copied().unwrap_or(Lanes32::ZERO);
        self.write_result(&value.0);
        true
    }

    /// Executes any load lane by lane.
    fn load_lanes(&mut self, access: Access, ty: MemTy, lanes: LaneMask) -> Exec {
        let lanes = if access.space == MemSpace::Shared && self.names_blocks(lanes) {
            let room = [0; LANE_BYTES];
            self.part_peers(access, lanes, |_| (PeerAct::Load, &room[..access.bytes]))?
        } else {
            lanes
        };
        let mut data = [[0u8; LANE_BYTES]; WARP_SIZE];
        for lane in lanes_of(lanes) {
            self.check(access, lane)?;
        }
        self.look_for_races(access, lanes);
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            self.read_lane(access.space, lane, address, &mut data[lane][..access.bytes]);
            self.look_for_uninitialised(access, lane);
        }
        let outer = std::mem::replace(&mut self.mask, lanes);
        for element in 0..ty.count as usize {
            let (dst, size) = (self.element_dst(ty, element), ty.bytes as usize);
            let word = |lane: usize| {
                let mut raw = [0; 8];
                raw[..size].copy_from_slice(&data[lane][element * size..(element + 1) * size]);
                extend(u64::from_le_bytes(raw), ty)
            };
            if ty.wide_reg {
                self.write_reg::<u64>(dst, &std::array::from_fn(word));
            } else {
                self.write_reg::<u32>(dst, &std::array::from_fn(|lane| word(lane) as u32));
            }
        }
        self.mask = outer;
        Ok(())
    }
}
