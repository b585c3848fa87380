//! Accesses of launches that are executed without timing, which are replayed in the caches of the
//! machine before the next timed launch: the last ones of global memory, and the code.

mod cells;
mod code;
mod footprint;
mod pending;
mod segments;
mod shared;

use code::Fetches;
use footprint::Footprints;
pub(crate) use pending::{Pending, Performed};
use segments::{SECTOR_BYTES, Segments, sectors, whole};
pub(crate) use shared::{Caches, Watched};
use warploom_base::Pc;
use warploom_config::{GpuSpec, ModelStyle};
use warploom_exec::{Effect, LaunchContext, MemEffect, MemKind, Observer, StepOut};
use warploom_gpu::{Gpu, Replay, ReplayKind, SEGMENT_BYTES};
use warploom_ir::{CacheOp, GLOBAL_BASE, MemSpace};

/// Number of accesses that are kept for each line of L2.
const KEPT: usize = 4;
/// Number of accesses beside which a further one is compared. One that repeats an access is not
/// kept: it finds what it needs in a data cache, or in L2.
const COMPARED: usize = 1024;
/// An access, and the SM in whose data cache or texture cache it is replayed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    segment: u64,
    /// Lower and upper half of the mask of bytes. As one number it would take half as much again.
    bytes: [u64; 2],
    kind: ReplayKind,
    sm: Option<u16>,
}

const _: () = assert!(size_of::<Option<Entry>>() == 32);

/// Accesses of one launch, or of a gap between its timed blocks.
#[derive(Clone)]
pub(crate) struct Accesses {
    /// Most accesses that are kept.
    most: usize,
    /// SMs of the launch's first blocks. Further blocks are taken to follow in the same order.
    sms: Vec<u16>,
    /// True if data caches keep lines from one launch to the next.
    keeps_l1: bool,
    /// True if fences empty data caches.
    fences_flush_l1: bool,
    /// Lines of a data cache and of a texture cache.
    lines: [usize; 2],
    /// Bytes that a data cache fetches at once.
    fetched_bytes: u32,
    /// Bytes that a texture cache fetches at once.
    texture_line: u32,
    /// Number of accesses of sectors by warps, and of those that L2 or texture caches lack.
    pub count: u64,
    pub lacking: u64,
    footprint: Footprints,
    /// The last accesses. The oldest one is overwritten next once there is no more room.
    last: Vec<Entry>,
    next: usize,
    /// Accesses with which new ones are compared, each in a place that its segment gives.
    compared: Vec<Option<Entry>>,
    /// Bytes of an instruction.
    inst_bytes: u64,
    fetches: Fetches,
    /// Fetches of the launch that has ended, in the order of the last one of each segment.
    fetched: Vec<Replay>,
    /// Accesses of the instruction that was executed last.
    segments: Segments,
}

/// True if reads of global memory go through data caches.
fn uses_l1(spec: &GpuSpec) -> bool {
    spec.l1d.enabled && !spec.sm.global_skips_l1d
}

/// SMs whose turn it is to take the first blocks of a launch of `blocks` blocks.
pub(crate) fn next_sms(gpu: &Gpu, blocks: u64) -> Vec<u16> {
    let sms = gpu.next_sms(blocks).into_iter();
    sms.map(|sm| sm as u16).collect()
}

/// Lines of a data cache and of a texture cache.
fn lines_of_sm(spec: &GpuSpec) -> [usize; 2] {
    [&spec.l1d, &spec.l1t].map(|cache| cache.sets as usize * cache.ways as usize)
}

/// Number of accesses that are kept.
fn most_kept(spec: &GpuSpec) -> usize {
    KEPT * l2_lines(spec)
}

/// Number of lines of L2.
fn l2_lines(spec: &GpuSpec) -> usize {
    let l2 = &spec.partition.l2;
    match l2.enabled {
        true => l2.sets as usize * l2.ways as usize * spec.l2_banks() as usize,
        false => 0,
    }
}

impl Accesses {
    /// No accesses yet, with empty caches.
    pub fn new(spec: &GpuSpec) -> Self {
        let uses_l1 = uses_l1(spec);
        Self {
            keeps_l1: uses_l1 && !spec.gpu.flush_l1_at_kernel_end,
            fetched_bytes: match uses_l1 && !spec.l1d.sectored {
                true => spec.l1d.line_bytes.max(SECTOR_BYTES),
                false => SECTOR_BYTES,
            },
            texture_line: spec
                .l1t
                .line_bytes
                .clamp(SECTOR_BYTES, SEGMENT_BYTES as u32),
            lines: lines_of_sm(spec),
            footprint: Footprints::new(spec),
            inst_bytes: u64::from(spec.sm.instruction_bytes),
            ..Self::with_room(most_kept(spec), Vec::new())
        }
    }

    /// Accesses of `blocks` blocks between timed ones of a launch, within which data caches keep
    /// their lines.
    pub fn of_gap(spec: &GpuSpec, gpu: &Gpu, blocks: u64) -> Self {
        let style = spec.gpu.style;
        Self {
            keeps_l1: uses_l1(spec),
            fences_flush_l1: style == ModelStyle::V4 && spec.gpu.flush_l1_at_kernel_end,
            footprint: Footprints::default(),
            sms: next_sms(gpu, blocks),
            ..Self::new(spec)
        }
    }

    /// Notes a fence, after which a data cache may have nothing of what was accessed before.
    fn fence(&mut self) {
        if self.keeps_l1 && self.fences_flush_l1 {
            self.keeps_l1 = false;
            let data = |entry: &&mut Entry| entry.kind != ReplayKind::Texture;
            self.last
                .iter_mut()
                .filter(data)
                .for_each(|entry| entry.sm = None);
        }
    }

    fn with_room(most: usize, sms: Vec<u16>) -> Self {
        Self {
            most,
            sms,
            keeps_l1: false,
            fences_flush_l1: false,
            lines: [0; 2],
            fetched_bytes: SECTOR_BYTES,
            texture_line: SECTOR_BYTES,
            count: 0,
            lacking: 0,
            footprint: Footprints::default(),
            last: Vec::new(),
            next: 0,
            compared: Vec::new(),
            inst_bytes: 8,
            fetches: Fetches::default(),
            fetched: Vec::new(),
            segments: Segments::default(),
        }
    }

    /// Adds an access by a block. One that repeats an earlier one is only counted.
    fn add(&mut self, block: u64, kind: ReplayKind, through_l1: bool, place: (u64, u128)) {
        let (segment, bytes) = place;
        self.count += u64::from(sectors(bytes).count_ones());
        let bytes = match kind {
            ReplayKind::Read if through_l1 => whole(bytes, self.fetched_bytes),
            ReplayKind::Read => whole(bytes, SECTOR_BYTES),
            ReplayKind::Texture => whole(bytes, self.texture_line),
            ReplayKind::Write | ReplayKind::Atomic => bytes,
        };
        let keeps = kind == ReplayKind::Texture || through_l1 && self.keeps_l1;
        let sm = if keeps { self.sm_of(block) } else { None };
        let access = Replay {
            segment,
            bytes,
            kind,
        };
        let entry = Entry::new(access, sm);
        if self.compared.is_empty() {
            self.compared = vec![None; COMPARED];
        }
        let like = &mut self.compared[(segment / SEGMENT_BYTES) as usize % COMPARED];
        if *like != Some(entry) {
            *like = Some(entry);
            let texture = entry.sm.filter(|_| kind == ReplayKind::Texture);
            let lacking = match texture {
                Some(sm) => self.footprint.access_texture(sm, segment, bytes),
                None => self.footprint.access(segment, bytes),
            };
            self.lacking += u64::from(lacking);
            self.keep(entry);
        }
    }

    fn sm_of(&self, block: u64) -> Option<u16> {
        let turn = block.checked_rem(self.sms.len() as u64)?;
        self.sms.get(turn as usize).copied()
    }

    fn keep(&mut self, entry: Entry) {
        if self.last.len() < self.most {
            if self.last.is_empty() {
                self.last.reserve_exact(self.most);
            }
            self.last.push(entry);
        } else if let Some(oldest) = self.last.get_mut(self.next) {
            *oldest = entry;
            self.next += 1;
            if self.next == self.last.len() {
                self.next = 0;
            }
        }
    }

    /// True if another machine without accesses yet has the same caches.
    fn is_like(&self, other: &Self) -> bool {
        let own = |of: &Self| {
            (
                (of.most, of.keeps_l1, of.lines),
                (of.fetched_bytes, of.texture_line, of.inst_bytes),
                of.footprint.room(),
            )
        };
        own(self) == own(other)
    }

    /// Begins another launch. Caches keep what they have.
    fn begin_launch(&mut self) {
        (self.count, self.lacking) = (0, 0);
        self.last.clear();
        self.next = 0;
        self.compared.clear();
    }

    /// The accesses of the launch that has ended, once.
    fn take_performed(&mut self) -> Performed {
        Performed {
            entries: self.in_order().copied().collect(),
            fetches: std::mem::take(&mut self.fetched),
        }
    }

    /// The accesses that are kept, oldest first.
    fn in_order(&self) -> impl Iterator<Item = &Entry> + Clone {
        let (newer, older) = self.last.split_at(self.next);
        older.iter().chain(newer)
    }

    /// Replays the accesses of a process in the caches for data and textures while blocks run.
    /// Several accesses of one SM take a cycle, because the lines that blocks use meanwhile would
    /// else be the oldest.
    pub fn replay_beside_blocks(&self, gpu: &mut Gpu, asid: u8) {
        replay_data(gpu, asid, self.in_order(), self.lines, 4);
    }
}

/// Replays accesses, on each SM the last ones: as many in each of its caches as in `most`, and
/// `a_cycle` of them in a cycle.
fn replay_data<'a>(
    gpu: &mut Gpu,
    asid: u8,
    accesses: impl Iterator<Item = &'a Entry> + Clone,
    most: [usize; 2],
    a_cycle: u64,
) {
    let mut turns = Turns::new(accesses.clone(), most);
    for entry in accesses {
        let turn = turns.next(entry);
        let sm = turn.and(entry.sm).map(usize::from);
        gpu.replay(asid, &entry.access(), sm, turn.unwrap_or(0) / a_cycle);
    }
}

/// Numbers of the last accesses of each SM, in the order in which its data cache or its texture
/// cache sees them.
struct Turns {
    /// By SM, for the data cache and the texture cache: accesses that are left out before the
    /// numbers begin, and number of the next one.
    of_sm: Vec<[(u64, u64); 2]>,
}

impl Turns {
    /// Numbers of at most `most` accesses of each data cache and each texture cache.
    fn new<'a>(all: impl Iterator<Item = &'a Entry>, most: [usize; 2]) -> Self {
        let mut of_sm: Vec<[(u64, u64); 2]> = Vec::new();
        for (sm, cache) in all.filter_map(Entry::cache) {
            if of_sm.len() <= sm {
                of_sm.resize(sm + 1, [(0, 0); 2]);
            }
            of_sm[sm][cache].0 += 1;
        }
        for caches in &mut of_sm {
            for ((left_out, _), most) in caches.iter_mut().zip(most) {
                *left_out = left_out.saturating_sub(most as u64);
            }
        }
        Self { of_sm }
    }

    /// Number of the next access of an SM, unless it is left out.
    fn next(&mut self, entry: &Entry) -> Option<u64> {
        let (sm, cache) = entry.cache()?;
        let (left_out, next) = &mut self.of_sm.get_mut(sm)?[cache];
        if *left_out > 0 {
            *left_out -= 1;
            return None;
        }
        *next += 1;
        Some(*next - 1)
    }
}

impl Entry {
    fn new(access: Replay, sm: Option<u16>) -> Self {
        let Replay {
            segment,
            bytes,
            kind,
        } = access;
        Self {
            segment,
            bytes: [bytes as u64, (bytes >> 64) as u64],
            kind,
            sm,
        }
    }

    fn access(&self) -> Replay {
        let [lower, upper] = self.bytes.map(u128::from);
        Replay {
            segment: self.segment,
            bytes: upper << 64 | lower,
            kind: self.kind,
        }
    }

    /// The SM, and 0 for its data cache or 1 for its texture cache.
    fn cache(&self) -> Option<(usize, usize)> {
        let is_texture = self.kind == ReplayKind::Texture;
        Some((usize::from(self.sm?), usize::from(is_texture)))
    }
}

const fn kind_of(effect: &MemEffect) -> ReplayKind {
    match effect.kind {
        MemKind::Load => ReplayKind::Read,
        MemKind::Texture => ReplayKind::Texture,
        MemKind::Store => ReplayKind::Write,
        MemKind::Atomic => ReplayKind::Atomic,
    }
}

/// Finds the segments of memory that an instruction accesses through L2. Returns the kind of the
/// accesses, and whether they go through data caches.
fn gather(segments: &mut Segments, out: &StepOut) -> Option<(ReplayKind, bool)> {
    let Effect::Memory(effect) = out.effect else {
        return None;
    };
    if !effect.mixed && effect.space != MemSpace::Global && effect.kind != MemKind::Texture {
        return None;
    }
    let kind = kind_of(&effect);
    let through_l1 = kind != ReplayKind::Atomic && effect.cache_op != CacheOp::Cg;
    let lowest = if effect.mixed { GLOBAL_BASE } else { 0 };
    match out.halves {
        Some(halves) => segments.gather_halves(halves),
        None => segments.gather(&out.addrs, out.active, effect.bytes.into(), lowest),
    }
    Some((kind, through_l1))
}

impl Observer for Accesses {
    fn begin(&mut self, launch: &LaunchContext) {
        self.fetches = Fetches::new(launch, self.inst_bytes);
    }

    fn stepped(&mut self, block: u64, _: u32, out: &StepOut) {
        if let Effect::Membar(_) = out.effect {
            self.fence();
        }
        let mut segments = std::mem::take(&mut self.segments);
        if let Some((kind, through_l1)) = gather(&mut segments, out) {
            for place in segments.all() {
                self.add(block, kind, through_l1, *place);
            }
        }
        self.segments = segments;
    }

    fn follows_all(&self) -> bool {
        false
    }

    fn passed(&mut self, first: Pc, count: u32) {
        self.fetches.add_row(first, count);
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {
        self.fetched = std::mem::take(&mut self.fetches).in_order();
        for access in std::mem::take(&mut self.fetched) {
            self.keep(Entry::new(access, None));
            self.fetched.push(access);
        }
    }
}

#[cfg(test)]
mod tests;
