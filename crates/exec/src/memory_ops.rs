//! Loads, stores and atomics: addresses, spaces, checks, the fast paths.

use crate::atomic::{AtomicDst, AtomicMode, atom_bytes, combine};
use crate::fault::{FaultKind, FindingKind, RawFault};
use crate::machine::{Exec, Machine};
use crate::memory::{AccessCheck, PAGE_BYTES};
use crate::regs::Lanes32;
use crate::step::{Effect, MemEffect, MemKind};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{
    AtomOp, AtomTy, CONST_BASE, CONST_BYTES, CacheOp, Dst, GLOBAL_BASE, LOCAL_WINDOW,
    LOCAL_WINDOW_BYTES, MemSpace, MemTy, PARAM_WINDOW, PARAM_WINDOW_BYTES, SHARED_WINDOW,
    SHARED_WINDOW_BYTES, Src, Width,
};

/// Most bytes that one lane moves: eight elements of eight bytes would be 64, but PTX stops at 32.
const LANE_BYTES: usize = 32;

/// Start and size of a space's generic window; `None` where generic addresses are the space's own.
fn window(space: MemSpace) -> Option<(u64, u64)> {
    match space {
        MemSpace::Shared => Some((SHARED_WINDOW, SHARED_WINDOW_BYTES)),
        MemSpace::Local | MemSpace::FrameParam => Some((LOCAL_WINDOW, LOCAL_WINDOW_BYTES)),
        MemSpace::Param => Some((PARAM_WINDOW, PARAM_WINDOW_BYTES)),
        MemSpace::Generic | MemSpace::Global | MemSpace::Const => None,
    }
}

/// The space that a generic address lies in, and the address there.
#[inline]
pub(crate) fn resolve(address: u64) -> Option<(MemSpace, u64)> {
    if address >= GLOBAL_BASE {
        return Some((MemSpace::Global, address));
    }
    for space in [MemSpace::Shared, MemSpace::Local, MemSpace::Param] {
        if let Some((start, bytes)) = window(space)
            && (start..start + bytes).contains(&address)
        {
            return Some((space, address - start));
        }
    }
    let constant = (CONST_BASE..CONST_BASE + CONST_BYTES).contains(&address);
    constant.then_some((MemSpace::Const, address))
}

/// One access of all lanes, after its addresses are known.
#[derive(Clone, Copy)]
struct Access {
    space: MemSpace,
    kind: MemKind,
    /// Bytes of a lane.
    bytes: usize,
    /// The address must be a multiple of this.
    align: u64,
}

impl Access {
    fn new(space: MemSpace, kind: MemKind, ty: MemTy) -> Self {
        let bytes = ty.bytes as usize * ty.count as usize;
        Self {
            space,
            kind,
            bytes,
            align: bytes.next_power_of_two() as u64,
        }
    }
}

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

/// The lanes' common page and lowest address, if they are aligned, inside one live allocation and
/// inside one page.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    /// Byte after the last.
    high: u64,
}

#[inline(always)]
fn span(addrs: &[u64; WARP_SIZE], mask: LaneMask, bytes: u64) -> (Span, u64) {
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    if mask == LaneMask::MAX {
        for &address in addrs {
            low = low.min(address);
            high = high.max(address);
            bits |= address;
        }
    } else {
        for lane in lanes_of(mask) {
            low = low.min(addrs[lane]);
            high = high.max(addrs[lane]);
            bits |= addrs[lane];
        }
    }
    (
        Span {
            low,
            high: high.saturating_add(bytes),
        },
        bits,
    )
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

impl Machine<'_, '_> {
    /// Fills `out.addrs` with base plus offset in every lane.
    #[inline(always)]
    fn addresses(&mut self) {
        let offset = self.inst.imm;
        if self.inst.wide_addr || !matches!(self.inst.src[0], Src::Reg(_)) {
            let base = *self.src::<u64>(0);
            for lane in 0..WARP_SIZE {
                self.out.addrs[lane] = base[lane].wrapping_add_signed(offset.into());
            }
        } else {
            let base = *self.src::<u32>(0);
            for lane in 0..WARP_SIZE {
                self.out.addrs[lane] = u64::from(base[lane].wrapping_add_signed(offset));
            }
        }
    }

    fn memory_effect(&mut self, access: Access, cache_op: CacheOp, returns: bool) {
        let Access {
            space, kind, bytes, ..
        } = access;
        let bytes = bytes as u8;
        self.effect(Effect::Memory(MemEffect {
            space,
            kind,
            bytes,
            cache_op,
            returns,
        }));
    }

    pub fn load(&mut self, space: MemSpace, ty: MemTy, cache_op: CacheOp) -> Exec {
        self.addresses();
        let mut access = Access::new(space, MemKind::Load, ty);
        if access.bytes > LANE_BYTES || ty.bytes > 8 {
            return Err(self.illegal());
        }
        if space == MemSpace::Generic {
            match self.uniform_space() {
                Some(space) => access.space = space,
                None => return self.load_mixed(access, ty, cache_op),
            }
        }
        self.memory_effect(access, cache_op, true);
        let fast = match access.space {
            MemSpace::Global | MemSpace::Const => self.load_page(access, ty),
            MemSpace::Param => self.load_param(access, ty),
            MemSpace::Local | MemSpace::FrameParam => self.load_local(access, ty),
            MemSpace::Shared => self.load_shared(access, ty),
            MemSpace::Generic => false,
        };
        if fast {
            Ok(())
        } else {
            self.load_lanes(access, ty, self.mask)
        }
    }

    /// If all lanes' generic addresses lie in one space: turns them into addresses of that space.
    fn uniform_space(&mut self) -> Option<MemSpace> {
        let (span, _) = span(&self.out.addrs, self.mask, 0);
        if span.low >= GLOBAL_BASE {
            return Some(MemSpace::Global);
        }
        let (space, low) = resolve(span.low)?;
        let (last, high) = resolve(span.high)?;
        let window = span.high - span.low == high - low;
        if space != last || !window {
            return None;
        }
        let shift = span.low - low;
        self.out
            .addrs
            .iter_mut()
            .for_each(|address| *address = address.wrapping_sub(shift));
        Some(space)
    }

    /// Generic addresses of several spaces: each space's lanes on their own.
    fn load_mixed(&mut self, access: Access, ty: MemTy, cache_op: CacheOp) -> Exec {
        let groups = self.split_spaces(access)?;
        self.memory_effect(
            Access {
                space: groups[0].0,
                ..access
            },
            cache_op,
            true,
        );
        for (space, lanes) in groups {
            if lanes != 0 {
                self.load_lanes(Access { space, ..access }, ty, lanes)?;
            }
        }
        Ok(())
    }

    /// Resolves generic addresses lane by lane; the lowest lane's space comes first.
    fn split_spaces(&mut self, access: Access) -> Exec<[(MemSpace, LaneMask); 5]> {
        let spaces = [
            MemSpace::Global,
            MemSpace::Shared,
            MemSpace::Local,
            MemSpace::Param,
            MemSpace::Const,
        ];
        let mut groups = spaces.map(|space| (space, 0 as LaneMask));
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            let Some((space, own)) = resolve(address) else {
                return Err(self.memory_fault(FaultKind::NoSpace, access, lane));
            };
            self.out.addrs[lane] = own;
            let group = groups.iter_mut().find(|group| group.0 == space);
            group.expect("every space has its group").1 |= 1 << lane;
        }
        groups.sort_by_key(|group| group.1.trailing_zeros());
        Ok(groups)
    }

    fn memory_fault(&self, kind: FaultKind, access: Access, lane: usize) -> RawFault {
        let address = self.out.addrs[lane];
        RawFault::memory(kind, lane, access.space, address, access.bytes as u32)
    }

    /// Are all lanes aligned and inside one live allocation and one page?
    #[inline(always)]
    fn one_page(&self, access: Access) -> Option<Span> {
        let (span, bits) = span(&self.out.addrs, self.mask, access.bytes as u64);
        if bits & (access.align - 1) != 0 || self.ctx.checks.uninitialised {
            return None;
        }
        let (start, end) = self.port.image.live_range(self.ctx.asid, span.low)?;
        let inside = start <= span.low && span.high <= end;
        let page = |address: u64| address / PAGE_BYTES as u64;
        (inside && page(span.low) == page(span.high - 1)).then_some(span)
    }

    /// Load from one page that no own store covers.
    #[inline(always)]
    fn load_page(&mut self, access: Access, ty: MemTy) -> bool {
        let Some(span) = self.one_page(access) else {
            return false;
        };
        if self.own_stores(span, access) {
            return false;
        }
        const UNTOUCHED: &[u8; PAGE_BYTES] = &[0; PAGE_BYTES];
        let image = self.port.image;
        let page = image
            .page_data(self.ctx.asid, span.low)
            .unwrap_or(UNTOUCHED);
        match ty.bytes {
            1 => self.load_elements::<1>(ty, |_, at| page_word::<1>(page, at)),
            2 => self.load_elements::<2>(ty, |_, at| page_word::<2>(page, at)),
            4 => self.load_elements::<4>(ty, |_, at| page_word::<4>(page, at)),
            _ => self.load_elements::<8>(ty, |_, at| page_word::<8>(page, at)),
        }
        true
    }

    /// May some lane read what this SM stored and has not committed?
    #[inline(always)]
    fn own_stores(&self, span: Span, access: Access) -> bool {
        const DENSE: u64 = 4096;
        if self.port.log.is_empty() {
            return false;
        }
        if span.high - span.low <= DENSE {
            return self
                .port
                .log
                .may_touch(span.low, (span.high - span.low) as usize);
        }
        lanes_of(self.mask).any(|lane| self.port.log.may_touch(self.out.addrs[lane], access.bytes))
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
        if !self.plain_shared(access) {
            return false;
        }
        match ty.bytes {
            1 => self.load_elements::<1>(ty, |m, at| shared_word::<1>(&m.block.shared, at)),
            2 => self.load_elements::<2>(ty, |m, at| shared_word::<2>(&m.block.shared, at)),
            4 => self.load_elements::<4>(ty, |m, at| shared_word::<4>(&m.block.shared, at)),
            _ => self.load_elements::<8>(ty, |m, at| shared_word::<8>(&m.block.shared, at)),
        }
        true
    }

    /// Are all lanes inside shared memory and aligned, and is nothing looked for?
    #[inline(always)]
    fn plain_shared(&self, access: Access) -> bool {
        let checks = self.ctx.checks.uninitialised || self.ctx.checks.shared_races;
        let (span, bits) = span(&self.out.addrs, self.mask, access.bytes as u64);
        let inside = span.high <= self.block.shared.len() as u64;
        !checks && inside && bits & (access.align - 1) == 0
    }

    /// One-word stores to shared memory when nothing is looked for.
    #[inline(always)]
    fn store_shared(&mut self, access: Access, ty: MemTy) -> bool {
        let word = ty.bytes == 4 && ty.count == 1 && !ty.wide_reg;
        if !word || !self.plain_shared(access) {
            return false;
        }
        let value: [u32; WARP_SIZE] = *self.src::<u32>(1);
        for lane in lanes_of(self.mask) {
            let at = self.out.addrs[lane] as usize;
            self.block.shared[at..at + 4].copy_from_slice(&value[lane].to_le_bytes());
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
        for (element, part) in bytes.chunks_exact(ty.bytes as usize).enumerate() {
            let mut raw = [0; 8];
            raw[..part.len()].copy_from_slice(part);
            let value = extend(u64::from_le_bytes(raw), ty);
            let dst = self.element_dst(ty, element);
            if ty.wide_reg {
                self.put(dst, &[value; WARP_SIZE]);
            } else {
                self.put(dst, &[value as u32; WARP_SIZE]);
            }
        }
        true
    }

    /// One aligned word of local memory at the same place in all lanes: one row.
    #[inline(always)]
    fn uniform_row(&self, access: Access, ty: MemTy) -> Option<usize> {
        let first = self.out.addrs[self.lowest_lane()];
        let uniform = ty.bytes == 4 && ty.count == 1 && !ty.wide_reg && first.is_multiple_of(4);
        let same = || lanes_of(self.mask).all(|lane| self.out.addrs[lane] == first);
        let inside = first + access.bytes as u64 <= u64::from(self.ctx.program.local_bytes);
        let plain = uniform && !self.ctx.checks.uninitialised;
        (plain && inside && same()).then_some(first as usize / 4)
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

    /// May this lane make this access?
    fn check(&self, access: Access, lane: usize) -> Exec {
        let (address, bytes) = (self.out.addrs[lane], access.bytes as u64);
        let fault = |kind| Err(self.memory_fault(kind, access, lane));
        let end = address.checked_add(bytes);
        let within = |size: usize| end.is_some_and(|end| end <= size as u64);
        let inside = match access.space {
            MemSpace::Shared => within(self.block.shared.len()),
            MemSpace::Local | MemSpace::FrameParam => within(self.ctx.program.local_bytes as usize),
            MemSpace::Param => within(self.ctx.params.len()),
            MemSpace::Global | MemSpace::Const | MemSpace::Generic => {
                match self.port.image.check(self.ctx.asid, address, bytes) {
                    AccessCheck::Ok => true,
                    AccessCheck::Freed => return fault(FaultKind::Freed),
                    AccessCheck::Outside => false,
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
    pub(crate) fn read_lane(&self, space: MemSpace, lane: usize, address: u64, out: &mut [u8]) {
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
    fn write_lane(&mut self, space: MemSpace, lane: usize, address: u64, bytes: &[u8]) {
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

    fn look_for_uninitialised(&mut self, access: Access, lane: usize) {
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
            self.note(FindingKind::Uninitialised, lane, access.space, address);
        }
    }

    fn look_for_races(&mut self, access: Access, lanes: LaneMask) {
        let Some(races) = &mut self.block.barriers.races else {
            return;
        };
        if access.space != MemSpace::Shared {
            return;
        }
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            let bytes = address as usize..address as usize + access.bytes;
            let other = races.access(self.warp.warp_index, bytes, access.kind);
            if let Some(other_warp) = other {
                let finding = FindingKind::SharedRace {
                    other_warp: other_warp as u16,
                };
                self.note(finding, lane, access.space, address);
                return;
            }
        }
    }

    pub fn store(&mut self, space: MemSpace, ty: MemTy, cache_op: CacheOp) -> Exec {
        self.addresses();
        let mut access = Access::new(space, MemKind::Store, ty);
        if access.bytes > LANE_BYTES || ty.bytes > 8 {
            return Err(self.illegal());
        }
        if space == MemSpace::Generic {
            match self.uniform_space() {
                Some(space) => access.space = space,
                None => return self.store_mixed(access, ty, cache_op),
            }
        }
        self.memory_effect(access, cache_op, false);
        match access.space {
            MemSpace::Global if self.one_page(access).is_some_and(|s| s.low >= GLOBAL_BASE) => {
                self.store_runs(access, ty);
                Ok(())
            }
            MemSpace::Local | MemSpace::FrameParam if self.store_local(access, ty) => Ok(()),
            MemSpace::Shared if self.store_shared(access, ty) => Ok(()),
            _ => self.store_lanes(access, ty, self.mask),
        }
    }

    fn store_mixed(&mut self, access: Access, ty: MemTy, cache_op: CacheOp) -> Exec {
        let groups = self.split_spaces(access)?;
        self.memory_effect(
            Access {
                space: groups[0].0,
                ..access
            },
            cache_op,
            false,
        );
        for (space, lanes) in groups {
            if lanes != 0 {
                self.store_lanes(Access { space, ..access }, ty, lanes)?;
            }
        }
        Ok(())
    }

    /// The values to store, side by side per lane.
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

    /// Checked stores to global memory: neighbouring lanes go to the log as one run.
    #[inline(always)]
    fn store_runs(&mut self, access: Access, ty: MemTy) {
        let asid = self.ctx.asid;
        let mut run = [0u8; LANE_BYTES * WARP_SIZE];
        let (mut start, mut len) = (0, 0);
        let plain = match self.inst.src[1] {
            Src::Reg(reg) if ty.count == 1 && !ty.wide_reg && ty.bytes == 4 => Some(reg),
            _ => None,
        };
        let data = if plain.is_none() {
            self.store_data(ty)
        } else {
            [[0; LANE_BYTES]; WARP_SIZE]
        };
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            if len > 0 && address != start + len as u64 {
                self.port.write(asid, start, &run[..len]);
                len = 0;
            }
            if len == 0 {
                start = address;
            }
            match plain {
                Some(reg) => {
                    let word = self.warp.regs.r32(reg.0 as usize)[lane];
                    run[len..len + 4].copy_from_slice(&word.to_le_bytes());
                }
                None => run[len..len + access.bytes].copy_from_slice(&data[lane][..access.bytes]),
            }
            len += access.bytes;
        }
        self.port.write(asid, start, &run[..len]);
    }

    fn store_local(&mut self, access: Access, ty: MemTy) -> bool {
        let Some(row) = self.uniform_row(access, ty) else {
            return false;
        };
        let value: [u32; WARP_SIZE] = *self.src::<u32>(1);
        self.warp.grow_local(row + 1);
        crate::regs::blend(&mut self.warp.local[row].0, &value, self.mask);
        true
    }

    fn store_lanes(&mut self, access: Access, ty: MemTy, lanes: LaneMask) -> Exec {
        for lane in lanes_of(lanes) {
            self.check(access, lane)?;
        }
        self.look_for_races(access, lanes);
        let data = self.store_data(ty);
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            self.write_lane(access.space, lane, address, &data[lane][..access.bytes]);
        }
        Ok(())
    }

    /// Operands of an atomic in every lane.
    fn atomic_operand(&self, k: usize, ty: AtomTy) -> [u64; WARP_SIZE] {
        if atom_bytes(ty) == 8 {
            *self.src::<u64>(k)
        } else {
            self.src::<u32>(k).map(u64::from)
        }
    }

    pub fn atomic(&mut self, space: MemSpace, op: AtomOp, ty: AtomTy) -> Exec {
        self.addresses();
        let bytes = atom_bytes(ty);
        let align = u64::from(bytes);
        let access = Access {
            space,
            kind: MemKind::Atomic,
            bytes: bytes.into(),
            align,
        };
        let groups = match space {
            MemSpace::Generic => self.split_spaces(access)?,
            space => {
                let mut groups = [(space, 0); 5];
                groups[0].1 = self.mask;
                groups
            }
        };
        for &(space, lanes) in &groups {
            for lane in lanes_of(lanes) {
                self.check(Access { space, ..access }, lane)?;
            }
        }
        let returns = self.inst.dst[0] != Dst::None;
        self.memory_effect(
            Access {
                space: groups[0].0,
                ..access
            },
            CacheOp::Default,
            returns,
        );
        let (a, b) = (self.atomic_operand(1, ty), self.atomic_operand(2, ty));
        for (space, lanes) in groups {
            let access = Access { space, ..access };
            if lanes == 0 {
                continue;
            }
            if space == MemSpace::Global && self.env.atomics == AtomicMode::Deferred {
                self.defer_atomic(op, ty, lanes, &a, &b);
            } else {
                self.look_for_races(access, lanes);
                self.atomic_now(access, op, ty, lanes, &a, &b);
            }
        }
        Ok(())
    }

    fn atomic_dst(&self, ty: AtomTy) -> Option<AtomicDst> {
        match self.inst.dst[0] {
            Dst::Reg(reg) => Some(AtomicDst {
                reg,
                wide: atom_bytes(ty) == 8,
            }),
            _ => None,
        }
    }

    fn defer_atomic(
        &mut self,
        op: AtomOp,
        ty: AtomTy,
        lanes: LaneMask,
        a: &[u64; WARP_SIZE],
        b: &[u64; WARP_SIZE],
    ) {
        let dst = self.atomic_dst(ty);
        let batch = &mut self.out.atomic;
        (batch.asid, batch.op, batch.ty) = (self.ctx.asid, op, ty);
        (batch.mask, batch.dst) = (lanes, dst);
        (batch.a, batch.b) = (*a, *b);
        batch.addrs = self.out.addrs;
    }

    fn atomic_now(
        &mut self,
        access: Access,
        op: AtomOp,
        ty: AtomTy,
        lanes: LaneMask,
        a: &[u64; WARP_SIZE],
        b: &[u64; WARP_SIZE],
    ) {
        let mut old = [0; WARP_SIZE];
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            let mut raw = [0; 8];
            self.read_lane(access.space, lane, address, &mut raw[..access.bytes]);
            old[lane] = u64::from_le_bytes(raw);
            let ftz = access.space == MemSpace::Global;
            let new = combine(op, ty, old[lane], a[lane], b[lane], ftz);
            let new = &new.to_le_bytes()[..access.bytes];
            self.write_lane(access.space, lane, address, new);
        }
        if let Some(dst) = self.atomic_dst(ty) {
            self.warp.write_atomic_result(dst, lanes, &old);
        }
    }

    /// Generic address from a space's own (`to` false) or the other way.
    pub fn cvta(&mut self, space: MemSpace, to: bool, width: Width) -> Exec {
        let start = window(space).map_or(0, |(start, _)| start);
        let shift = if to { start.wrapping_neg() } else { start };
        if width == Width::B64 {
            self.un(|a: u64| a.wrapping_add(shift))
        } else {
            self.un(|a: u32| a.wrapping_add(shift as u32))
        }
    }

    pub fn isspacep(&mut self, space: MemSpace) -> Exec {
        let wide = self.inst.wide_addr || !matches!(self.inst.src[0], Src::Reg(_));
        let inside = |address: u64| resolve(address).is_some_and(|found| found.0 == space);
        let holds = if wide {
            self.test(inside)
        } else {
            self.test(|address: u32| inside(address.into()))
        };
        self.put_pred(self.inst.dst[0], holds);
        Ok(())
    }

    /// Copies bytes of the lanes' frames, for calls.
    pub(crate) fn copy_frame(&mut self, from: u32, to: u32, bytes: u32, lanes: LaneMask) {
        for i in 0..bytes as usize {
            for lane in lanes_of(lanes) {
                let byte = self.warp.local_byte(lane, from as usize + i);
                self.warp.set_local_byte(lane, to as usize + i, byte);
            }
        }
    }
}
