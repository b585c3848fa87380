//! Memory that the program accessed lately, as much as L2 holds, whatever was timed of it: it tells
//! how much of a launch's accesses L2 lacks.

use std::collections::HashMap;
use warploom_config::GpuSpec;
use warploom_gpu::SEGMENT_BYTES;

/// Segments in the order of their last access, as two halves: a segment of the older half comes
/// back into the younger one when it is accessed. Once that one is full, it becomes the older half.
#[derive(Default)]
pub(crate) struct Footprint {
    /// Most segments of a half.
    most: usize,
    /// True if a segment is fetched whole.
    whole: bool,
    /// Sectors of each segment that were accessed, bit i for sector i.
    young: HashMap<u64, u8>,
    old: HashMap<u64, u8>,
}

impl Footprint {
    /// Memory for the L2 of a machine, empty.
    pub fn new(spec: &GpuSpec) -> Self {
        let l2 = &spec.partition.l2;
        let lines = u64::from(l2.sets) * u64::from(l2.ways) * u64::from(spec.l2_banks());
        let segments = match l2.enabled {
            true => lines * u64::from(l2.line_bytes) / SEGMENT_BYTES,
            false => 0,
        };
        Self::with_room(segments as usize, !l2.sectored)
    }

    fn with_room(segments: usize, whole: bool) -> Self {
        Self {
            most: segments / 2,
            whole,
            ..Self::default()
        }
    }

    /// Accesses sectors of a segment, a bit for each. Returns the number of those that L2 lacks.
    pub fn access(&mut self, segment: u64, sectors: u8) -> u32 {
        let sectors = if self.whole { 15 } else { sectors };
        let known = self.young.get_mut(&segment);
        if let Some(known) = known {
            let lacking = sectors & !*known;
            *known |= sectors;
            return lacking.count_ones();
        }
        let known = self.old.remove(&segment).unwrap_or(0);
        if self.young.len() >= self.most {
            self.old = std::mem::take(&mut self.young);
        }
        if self.most > 0 {
            self.young.insert(segment, known | sectors);
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
    use super::Footprint;

    #[test]
    fn what_was_accessed_lately_is_not_lacking() {
        let mut footprint = Footprint::with_room(8, false);
        assert_eq!(footprint.access(0, 0b0011), 2);
        assert_eq!(footprint.access(0, 0b0110), 1);
        for segment in 1..4 {
            assert_eq!(footprint.access(segment, 1), 1);
        }
        // In the older half from the next segment on, and back in the younger one once accessed.
        assert_eq!(footprint.access(4, 1), 1);
        assert_eq!(footprint.access(0, 0b1111), 1);
        for segment in 5..8 {
            assert_eq!(footprint.access(segment, 1), 1);
        }
        assert_eq!(footprint.access(0, 0b1111), 0);
        assert_eq!(footprint.access(1, 1), 1);
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
