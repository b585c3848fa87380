//! Memory that the program accessed lately, as much as caches hold, whatever was timed of it: it
//! tells how much of a launch's accesses they lack.

use super::cells::Cells;
use super::sectors;
use warploom_config::{CacheSpec, GpuSpec};
use warploom_gpu::SEGMENT_BYTES;

/// Memory that L2 and the texture caches of the SMs hold.
#[derive(Clone, Default)]
pub(crate) struct Footprints {
    l2: Footprint,
    /// Segments of a texture cache.
    in_texture_cache: usize,
    /// By SM: its texture cache.
    textures: Vec<Footprint>,
}

impl Footprints {
    /// Empty caches of a machine.
    pub fn new(spec: &GpuSpec) -> Self {
        Self {
            l2: Footprint::new(spec),
            in_texture_cache: segments_of(&spec.l1t),
            textures: Vec::new(),
        }
    }

    /// Segments that L2 and a texture cache hold, and whether L2 fetches them whole.
    pub fn room(&self) -> (usize, bool, usize) {
        (self.l2.most, self.l2.whole, self.in_texture_cache)
    }

    /// Reads or writes bytes of a segment. Returns the number of sectors that L2 lacks.
    pub fn access(&mut self, segment: u64, bytes: u128) -> u32 {
        self.l2.access(segment, sectors(bytes))
    }

    /// Reads bytes of a segment through the texture cache of an SM. Returns the number of sectors
    /// that this cache lacks, those that L2 lacks counted twice.
    pub fn access_texture(&mut self, sm: u16, segment: u64, bytes: u128) -> u32 {
        let (sm, most) = (usize::from(sm), self.in_texture_cache);
        if self.textures.len() <= sm {
            let empty = || Footprint::with_room(most, true);
            self.textures.resize_with(sm + 1, empty);
        }
        match self.textures[sm].access(segment, sectors(bytes)) {
            0 => 0,
            lacking => lacking + self.access(segment, bytes),
        }
    }

    /// Accesses the end of a copy between host and device, as much as L2 holds.
    pub fn copied(&mut self, address: u64, bytes: u64) {
        self.l2.copied(address, bytes);
    }
}

/// Number of segments that a cache holds.
fn segments_of(cache: &CacheSpec) -> usize {
    let lines = u64::from(cache.sets) * u64::from(cache.ways);
    (lines * u64::from(cache.line_bytes) / SEGMENT_BYTES) as usize
}

/// Contents of one cache: segments in the order of their last access, as two halves: a segment of
/// the older half comes back into the younger one when it is accessed. Once that one is full, it
/// becomes the older half.
#[derive(Clone, Default)]
struct Footprint {
    /// Most segments of a half.
    most: usize,
    /// True if a segment is fetched whole.
    whole: bool,
    /// By segment, the number of the half in which it came last, and its sectors that were
    /// accessed: bit i for sector i.
    segments: Cells,
    /// Number of the younger half, from 1 on. The older half has the number before.
    half: u32,
    /// Number of segments of the younger half.
    young: usize,
}

/// Bits of a number of [`Footprint::segments`] that stand for sectors.
const SECTOR_BITS: u32 = 4;
/// Number of halves after which a cache counts as empty again, because numbers begin anew.
const HALVES: u32 = u32::MAX >> SECTOR_BITS;

impl Footprint {
    /// Memory for the L2 of a machine, empty.
    pub fn new(spec: &GpuSpec) -> Self {
        let l2 = &spec.partition.l2;
        let segments = match l2.enabled {
            true => segments_of(l2) * spec.l2_banks() as usize,
            false => 0,
        };
        Self::with_room(segments, !l2.sectored)
    }

    fn with_room(segments: usize, whole: bool) -> Self {
        Self {
            most: segments / 2,
            whole,
            half: 1,
            ..Self::default()
        }
    }

    /// Accesses sectors of a segment, a bit for each. Returns the number of those that L2 lacks.
    pub fn access(&mut self, segment: u64, sectors: u8) -> u32 {
        let sectors = if self.whole { 15 } else { sectors };
        if self.most == 0 {
            return sectors.count_ones();
        }
        let cell = self.segments.at(segment);
        let (half, known) = (*cell >> SECTOR_BITS, *cell as u8 & 15);
        if half == self.half {
            *cell |= u32::from(sectors);
            return (sectors & !known).count_ones();
        }
        let known = if half + 1 == self.half { known } else { 0 };
        if self.young >= self.most {
            (self.half, self.young) = (self.half + 1, 0);
        }
        self.young += 1;
        *cell = self.half << SECTOR_BITS | u32::from(known | sectors);
        if self.half == HALVES {
            (self.segments, self.half, self.young) = (Cells::default(), 1, 0);
        }
        (sectors & !known).count_ones()
    }

    /// Accesses the end of a copy between host and device, as much as L2 holds.
    pub fn copied(&mut self, address: u64, bytes: u64) {
        let end = (address + bytes).div_ceil(SEGMENT_BYTES);
        let first = (address / SEGMENT_BYTES).max(end.saturating_sub(2 * self.most as u64));
        for segment in first..end {
            self.access(segment * SEGMENT_BYTES, 15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Footprint, Footprints};
    use warploom_gpu::SEGMENT_BYTES;

    #[test]
    fn what_was_accessed_lately_is_not_lacking() {
        let mut footprint = Footprint::with_room(8, false);
        let mut access = |segment, sectors| footprint.access(segment * SEGMENT_BYTES, sectors);
        assert_eq!(access(0, 0b0011), 2);
        assert_eq!(access(0, 0b0110), 1);
        for segment in 1..4 {
            assert_eq!(access(segment, 1), 1);
        }
        // In the older half from the next segment on, and back in the younger one once accessed.
        assert_eq!(access(4, 1), 1);
        assert_eq!(access(0, 0b1111), 1);
        for segment in 5..8 {
            assert_eq!(access(segment, 1), 1);
        }
        assert_eq!(access(0, 0b1111), 0);
        assert_eq!(access(1, 1), 1);
    }

    /// A segment that one SM has read through its texture cache is missing in the cache of another
    /// one, but not in L2.
    #[test]
    fn every_sm_has_a_texture_cache() {
        let mut all = Footprints {
            l2: Footprint::with_room(8, false),
            in_texture_cache: 8,
            textures: Vec::new(),
        };
        assert_eq!(all.access_texture(1, 0, 15), 4 + 1);
        assert_eq!(all.access_texture(1, 0, 15), 0);
        assert_eq!(all.access_texture(0, 0, 15), 4);
        assert_eq!(all.access(0, 15), 0);
    }

    #[test]
    fn lines_without_sectors_are_fetched_whole() {
        let mut footprint = Footprint::with_room(8, true);
        assert_eq!(footprint.access(0, 1), 4);
        assert_eq!(footprint.access(0, 8), 0);
    }

    #[test]
    fn a_copy_brings_its_end_in() {
        let mut footprint = Footprint::with_room(4, true);
        footprint.copied(0, 1000 * 128);
        assert_eq!(footprint.access(999 * 128, 1), 0);
        assert_eq!(footprint.access(996 * 128, 1), 0);
        assert_eq!(footprint.access(995 * 128, 1), 4);
        // Without L2, everything is lacking.
        let mut none = Footprint::with_room(0, false);
        none.copied(0, 128);
        assert_eq!((none.access(0, 1), none.access(0, 1)), (1, 1));
    }
}
