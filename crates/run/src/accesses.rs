//! Accesses of launches that are executed without timing, which are replayed in the caches of the
//! machine before the next timed launch: the last ones of global memory, and the code.

mod code;
mod footprint;

use code::{Code, Fetches};
pub(crate) use footprint::Footprint;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_config::GpuSpec;
use warploom_exec::{Effect, LaunchContext, MemEffect, MemKind, Observer, StepOut};
use warploom_gpu::{Gpu, Replay, ReplayKind, SEGMENT_BYTES};
use warploom_ir::{CacheOp, GLOBAL_BASE, MemSpace};

/// Number of accesses that are kept for each line of L2.
const KEPT: usize = 4;
/// Number of accesses beside which a further one is compared. One that repeats an access is not
/// kept: it finds what it needs in a data cache, or in L2.
const COMPARED: usize = 1024;
/// Bytes of a sector.
const SECTOR_BYTES: u32 = 32;

/// An access, and the SM in whose data cache it is replayed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    access: Replay,
    sm: Option<u16>,
}

/// Accesses of one launch, or of several that followed each other.
pub(crate) struct Accesses {
    /// Most accesses that are kept.
    most: usize,
    /// SMs of the launch's first blocks. Further blocks are taken to follow in the same order.
    sms: Vec<u16>,
    /// True if data caches keep lines from one launch to the next.
    keeps_l1: bool,
    /// Lines of a data cache.
    l1_lines: usize,
    /// Bytes that a data cache fetches at once.
    fetched: u32,
    /// Number of accesses of sectors by warps, and of those that L2 lacks.
    pub count: u64,
    pub lacking: u64,
    footprint: Footprint,
    /// The last accesses. The oldest one is overwritten next once there is no more room.
    last: Vec<Entry>,
    next: usize,
    /// Accesses with which new ones are compared, each in a place that its segment gives.
    compared: Vec<Option<Entry>>,
    fetches: Fetches,
    code: Code,
}

/// Bytes that a warp accesses in segments of memory, in the order of its lanes.
struct Segments {
    found: [(u64, u128); WARP_SIZE],
    count: usize,
}

impl Segments {
    /// The segments that lanes access in global memory, `bytes` bytes each.
    fn new(addrs: &[u64; WARP_SIZE], active: LaneMask, bytes: u32, lowest: u64) -> Self {
        let mut all = Self {
            found: [(0, 0); WARP_SIZE],
            count: 0,
        };
        let of_lane = 1u128.checked_shl(bytes).map_or(u128::MAX, |end| end - 1);
        for addr in lanes_of(active).map(|lane| addrs[lane]) {
            if addr >= lowest {
                let segment = addr & !(SEGMENT_BYTES - 1);
                all.add(segment, of_lane << (addr - segment));
            }
        }
        all
    }

    fn add(&mut self, segment: u64, bytes: u128) {
        let known = &mut self.found[..self.count];
        // Neighbouring lanes often access one segment.
        if let Some((_, mask)) = known.iter_mut().rev().find(|(other, _)| *other == segment) {
            *mask |= bytes;
            return;
        }
        self.found[self.count] = (segment, bytes);
        self.count += 1;
    }

    fn all(&self) -> &[(u64, u128)] {
        &self.found[..self.count]
    }
}

/// The pieces of `size` bytes of a segment of which bytes are accessed, whole.
fn whole(bytes: u128, size: u32) -> u128 {
    let piece = 1u128.checked_shl(size).map_or(u128::MAX, |end| end - 1);
    let each = (0..SEGMENT_BYTES as u32)
        .step_by(size as usize)
        .map(|first| piece << first);
    let touched = each.filter(|piece| bytes & piece != 0);
    touched.fold(0, |all, piece| all | piece)
}

/// The sectors of a segment of which bytes are accessed, bit i for sector i.
fn sectors(bytes: u128) -> u8 {
    let touched = (0..4).filter(|nth| bytes >> (SECTOR_BYTES * nth) & u128::from(u32::MAX) != 0);
    touched.fold(0, |all, nth| all | 1 << nth)
}

impl Accesses {
    /// Accesses of a launch of `blocks` blocks. `footprint` is that of the launches before.
    pub fn new(spec: &GpuSpec, gpu: &Gpu, blocks: u64, footprint: Footprint) -> Self {
        let l2 = &spec.partition.l2;
        let lines = match l2.enabled {
            true => l2.sets as usize * l2.ways as usize * spec.l2_banks() as usize,
            false => 0,
        };
        let sms = gpu.next_sms(blocks).into_iter();
        let uses_l1 = spec.l1d.enabled && !spec.sm.global_skips_l1d;
        Self {
            keeps_l1: gpu.keeps_l1() && uses_l1,
            fetched: match uses_l1 && !spec.l1d.sectored {
                true => spec.l1d.line_bytes.max(SECTOR_BYTES),
                false => SECTOR_BYTES,
            },
            l1_lines: spec.l1d.sets as usize * spec.l1d.ways as usize,
            footprint,
            ..Self::with_room(KEPT * lines, sms.map(|sm| sm as u16).collect())
        }
    }

    fn with_room(most: usize, sms: Vec<u16>) -> Self {
        Self {
            most,
            sms,
            keeps_l1: false,
            l1_lines: 0,
            fetched: SECTOR_BYTES,
            count: 0,
            lacking: 0,
            footprint: Footprint::default(),
            last: Vec::new(),
            next: 0,
            compared: Vec::new(),
            fetches: Fetches::default(),
            code: Code::default(),
        }
    }

    /// Adds an access by a block. One that repeats an earlier one is only counted.
    fn add(&mut self, block: u64, kind: ReplayKind, through_l1: bool, place: (u64, u128)) {
        let (segment, bytes) = place;
        self.count += u64::from(sectors(bytes).count_ones());
        let bytes = match kind {
            ReplayKind::Read if through_l1 => whole(bytes, self.fetched),
            ReplayKind::Read => whole(bytes, SECTOR_BYTES),
            ReplayKind::Write | ReplayKind::Atomic => bytes,
        };
        let entry = Entry {
            access: Replay {
                segment,
                bytes,
                kind,
            },
            sm: self.sm_of(block).filter(|_| through_l1 && self.keeps_l1),
        };
        if self.compared.is_empty() {
            self.compared = vec![None; COMPARED];
        }
        let like = &mut self.compared[(segment / SEGMENT_BYTES) as usize % COMPARED];
        if *like != Some(entry) {
            *like = Some(entry);
            self.lacking += u64::from(self.footprint.access(segment, sectors(bytes)));
            self.keep(entry);
        }
    }

    fn sm_of(&self, block: u64) -> Option<u16> {
        let turn = block.checked_rem(self.sms.len() as u64)?;
        self.sms.get(turn as usize).copied()
    }

    fn keep(&mut self, entry: Entry) {
        if self.last.len() < self.most {
            self.last.push(entry);
        } else if let Some(oldest) = self.last.get_mut(self.next) {
            *oldest = entry;
            self.next += 1;
            if self.next == self.last.len() {
                self.next = 0;
            }
        }
    }

    /// Takes out what the program accessed lately, for the next launch.
    pub fn take_footprint(&mut self) -> Footprint {
        std::mem::take(&mut self.footprint)
    }

    /// Adds the accesses of a launch that came later.
    pub fn append(&mut self, later: Self) {
        self.code.append(later.code);
        if later.last.len() == later.most {
            (self.last, self.next) = (later.last, later.next);
            return;
        }
        let (newer, older) = later.last.split_at(later.next);
        older
            .iter()
            .chain(newer)
            .for_each(|entry| self.keep(*entry));
    }

    /// Replays the accesses of a process, and its fetches of code, in the caches.
    pub fn replay(&self, gpu: &mut Gpu, asid: u8) {
        let (newer, older) = self.last.split_at(self.next);
        let mut turns = Turns::new(older.iter().chain(newer), 2 * self.l1_lines);
        for Entry { access, sm } in older.iter().chain(newer) {
            let turn = sm.and_then(|sm| turns.next(sm));
            let sm = turn.and(*sm).map(usize::from);
            gpu.replay(asid, access, sm, turn.unwrap_or(0));
        }
        self.code.replay(gpu, asid);
        gpu.end_replay();
    }
}

/// Numbers of the last accesses of each SM, in the order in which its data cache sees them.
struct Turns {
    /// Accesses of an SM that are left out before the numbers begin, and number of the next one.
    of_sm: Vec<(u64, u64)>,
}

impl Turns {
    /// Numbers of at most `most` accesses of each SM.
    fn new<'a>(all: impl Iterator<Item = &'a Entry>, most: usize) -> Self {
        let mut of_sm: Vec<(u64, u64)> = Vec::new();
        for sm in all.filter_map(|entry| entry.sm).map(usize::from) {
            if of_sm.len() <= sm {
                of_sm.resize(sm + 1, (0, 0));
            }
            of_sm[sm].0 += 1;
        }
        for (left_out, _) in &mut of_sm {
            *left_out = left_out.saturating_sub(most as u64);
        }
        Self { of_sm }
    }

    /// Number of the next access of an SM, unless it is left out.
    fn next(&mut self, sm: u16) -> Option<u64> {
        let (left_out, next) = self.of_sm.get_mut(usize::from(sm))?;
        if *left_out > 0 {
            *left_out -= 1;
            return None;
        }
        *next += 1;
        Some(*next - 1)
    }
}

const fn kind_of(effect: &MemEffect) -> ReplayKind {
    match effect.kind {
        MemKind::Load | MemKind::Texture => ReplayKind::Read,
        MemKind::Store => ReplayKind::Write,
        MemKind::Atomic => ReplayKind::Atomic,
    }
}

impl Observer for Accesses {
    fn begin(&mut self, launch: &LaunchContext) {
        self.fetches = Fetches::new(launch);
    }

    fn stepped(&mut self, block: u64, _: u32, out: &StepOut) {
        self.fetches.add(out.pc);
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if !effect.mixed && effect.space != MemSpace::Global && effect.kind != MemKind::Texture {
            return;
        }
        let kind = kind_of(&effect);
        let through_l1 = kind != ReplayKind::Atomic && effect.cache_op != CacheOp::Cg;
        let lowest = if effect.mixed { GLOBAL_BASE } else { 0 };
        let bytes = u32::from(effect.bytes);
        let segments = Segments::new(&out.addrs, out.active, bytes, lowest);
        for place in segments.all() {
            self.add(block, kind, through_l1, *place);
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {
        let fetches = std::mem::take(&mut self.fetches).in_order();
        for access in &fetches {
            self.keep(Entry {
                access: *access,
                sm: None,
            });
        }
        self.code = Code::new(fetches, std::mem::take(&mut self.sms));
    }
}

#[cfg(test)]
mod tests;
