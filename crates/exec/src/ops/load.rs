//! Loads.

use crate::handler::{Run, run};
use crate::host_isa::Wide;
use crate::inst::{Exec, InstExec};
use crate::memory::device::PAGE_BYTES;
use crate::memory::effect::MemKind;
use crate::memory::span::{HALF, HalfWarp, Span};
use crate::ops::access::{Access, LANE_BYTES};
use crate::ops::store::{WORD, is_word};
use crate::state::registers::Lanes32;
use std::hint::black_box;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, Dst, MemSpace, MemTy, Op, Src};

/// Words of a page.
const PAGE_WORDS: usize = PAGE_BYTES / 4;

/// Extends an element to the register that receives it.
#[inline(always)]
fn extend(raw: u64, ty: MemTy) -> u64 {
    let unused = 64 - 8 * u32::from(ty.bytes.min(8));
    if ty.signed {
        ((raw << unused) as i64 >> unused) as u64
    } else {
        raw
    }
}

/// `N` bytes at an offset in a page, as a number. Offsets are multiples of `N`.
#[inline(always)]
fn page_word<const N: usize>(page: &[u8; PAGE_BYTES], address: u64) -> u64 {
    let offset = address as usize & (PAGE_BYTES - N);
    let mut raw = [0; 8];
    raw[..N].copy_from_slice(&page[offset..offset + N]);
    u64::from_le_bytes(raw)
}

/// `N` bytes of shared memory as a number; zero for lanes that do not take part and point outside.
#[inline(always)]
fn shared_word<const N: usize>(shared: &[u8], address: u64) -> u64 {
    let at = address as usize;
    let mut raw = [0; 8];
    if let Some(bytes) = at.checked_add(N).and_then(|end| shared.get(at..end)) {
        raw[..N].copy_from_slice(bytes);
    }
    u64::from_le_bytes(raw)
}

/// One word per lane of a memory's, in halves or from anywhere. Where the result is used it should
/// be hidden in a `black_box`: else the compiler keeps each lane in a register of its own.
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
    // From memory: taking addresses out of vectors takes longer.
    let addrs = black_box(addrs);
    for lane in 0..WARP_SIZE {
        d[lane] = u32::from_le(word(addrs[lane]));
    }
    d
}

/// What executes a load of one word, or of a parameter.
pub(crate) fn load(space: MemSpace, ty: MemTy, wide: Wide) -> Option<Run> {
    Some(match space {
        MemSpace::Param => run!(wide, |m| m.load_as(MemSpace::Param, None)),
        _ if !is_word(ty) => return None,
        MemSpace::Generic => run!(wide, |m| m.load_as(MemSpace::Generic, Some(WORD))),
        MemSpace::Global => run!(wide, |m| m.load_as(MemSpace::Global, Some(WORD))),
        MemSpace::Shared => run!(wide, |m| m.load_as(MemSpace::Shared, Some(WORD))),
        _ => return None,
    })
}

impl InstExec<'_, '_> {
    /// Load of a type that may be known where this is compiled.
    #[inline(always)]
    fn load_as(&mut self, space: MemSpace, ty: Option<MemTy>) -> Exec {
        match self.inst.op {
            Op::Ld(_, own, cache_op) => self.load(space, ty.unwrap_or(own), cache_op),
            op => unreachable!("{op:?} executed as `ld`"),
        }
    }

    #[inline(always)]
    pub fn load(&mut self, space: MemSpace, ty: MemTy, cache_op: CacheOp) -> Exec {
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

    /// The lanes of a load that go to global memory, and whose addresses are there already.
    pub fn load_again(&mut self) -> Exec {
        match self.inst.op {
            Op::Ld(_, ty, _) => self.load_slowly(MemSpace::Global, ty),
            op => unreachable!("{op:?} repeated as `ld`"),
        }
    }

    /// Lane by lane. What an access is it works out anew: it would have to lie in memory for all.
    #[inline(never)]
    fn load_slowly(&mut self, space: MemSpace, ty: MemTy) -> Exec {
        let access = Access::new(space, MemKind::Load, ty);
        self.load_lanes(access, ty, self.mask)
    }

    /// Generic addresses of several spaces: each space's lanes on their own.
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

    /// Load from one allocation, of which no own store covers what is read.
    #[inline(always)]
    fn load_global(&mut self, access: Access, ty: MemTy) -> bool {
        let span = self.span(access);
        let one_page = span.is_in_one_page();
        let (live, page) = match one_page {
            true => self.port.image.page(self.ctx.asid, span.low),
            false => (false, None),
        };
        if !self.one_allocation(&span, access, live) || self.own_stores(&span, access) {
            return false;
        }
        self.out.halves = span.halves;
        match one_page {
            true => self.load_page(&span, page, ty),
            false => self.load_pages(ty),
        }
        true
    }

    /// Lanes' elements from wherever they are: each lies in one page.
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

    #[inline(always)]
    fn load_page(&mut self, span: &Span, page: Option<&[u8; PAGE_BYTES]>, ty: MemTy) {
        const UNTOUCHED: &[u8; PAGE_BYTES] = &[0; PAGE_BYTES];
        let page = page.unwrap_or(UNTOUCHED);
        if is_word(ty)
            && let Ok(words) = bytemuck::try_cast_slice::<u8, u32>(page)
            && let Some(words) = words.first_chunk::<PAGE_WORDS>()
        {
            let within = |half: HalfWarp| HalfWarp {
                first: half.first % PAGE_BYTES as u64,
                ..half
            };
            // Lanes that do not take part may point to other pages.
            let word = |at: u64| words[at as usize / 4 % PAGE_WORDS];
            let halves = span.halves.map(|halves| halves.map(within));
            let value = words_of(words, halves, &self.out.addrs, word);
            return self.put0(black_box(&value));
        }
        match ty.bytes {
            1 => self.load_elements::<1>(ty, |_, at| page_word::<1>(page, at)),
            2 => self.load_elements::<2>(ty, |_, at| page_word::<2>(page, at)),
            4 => self.load_elements::<4>(ty, |_, at| page_word::<4>(page, at)),
            _ => self.load_elements::<8>(ty, |_, at| page_word::<8>(page, at)),
        }
    }

    /// Loads every element with `word`, which takes an address and reads `N` bytes there.
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
                self.put(dst, &d);
            } else {
                let mut d = [0u32; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    let address = self.out.addrs[lane].wrapping_add(at);
                    d[lane] = extend(word(self, address), ty) as u32;
                }
                self.put(dst, &d);
            }
        }
    }

    /// Load from shared memory when nothing is looked for.
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
            // Lanes that do not take part may point outside.
            let word = |at: u64| words.get(at as usize / 4).copied().unwrap_or(0);
            let value = words_of(words, span.halves, &self.out.addrs, word);
            self.put0(black_box(&value));
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

    /// Kernel parameters at one address for all lanes, the usual case.
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

    /// Writes an element in all lanes.
    #[inline(never)]
    fn put_number(&mut self, dst: Dst, bytes: &[u8], ty: MemTy) {
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        let value = extend(u64::from_le_bytes(raw), ty);
        if ty.wide_reg {
            self.put(dst, &[value; WARP_SIZE]);
        } else {
            self.put(dst, &[value as u32; WARP_SIZE]);
        }
    }

    fn load_local(&mut self, access: Access, ty: MemTy) -> bool {
        let Some(row) = self.uniform_row(access, ty) else {
            return false;
        };
        let value = self.warp.local.get(row).copied().unwrap_or(Lanes32::ZERO);
        self.put0(&value.0);
        true
    }

    /// Any load, lane by lane.
    fn load_lanes(&mut self, access: Access, ty: MemTy, lanes: LaneMask) -> Exec {
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
                self.put::<u64>(dst, &std::array::from_fn(word));
            } else {
                self.put::<u32>(dst, &std::array::from_fn(|lane| word(lane) as u32));
            }
        }
        self.mask = outer;
        Ok(())
    }
}
