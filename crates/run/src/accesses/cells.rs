//! A number for each segment of memory, kept for the parts of memory that are accessed.

use rustc_hash::FxHashMap;
use warploom_gpu::SEGMENT_BYTES;

/// Segments whose numbers are neighbours on the host.
const GROUP: usize = 64;
/// Groups that are found without a search: of those with the same [`turn`], the last accessed one.
const RECENT: usize = 64;

/// Numbers by segment, which are 0 at first.
#[derive(Clone, Default)]
pub(super) struct Cells {
    groups: Vec<[u32; GROUP]>,
    /// Place in `groups` of each group.
    places: FxHashMap<u64, usize>,
    /// Groups that were accessed last, and their places. Empty until the first access.
    recent: Vec<(u64, usize)>,
}

/// Place in the table of recent groups. It differs between arrays that lie a multiple of a power of
/// two apart.
fn turn(group: u64) -> usize {
    let scattered = group.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (scattered >> (u64::BITS - RECENT.ilog2())) as usize
}

impl Cells {
    /// The number of a segment.
    pub fn at(&mut self, segment: u64) -> &mut u32 {
        let segment = segment / SEGMENT_BYTES;
        let (group, within) = (segment / GROUP as u64, segment as usize % GROUP);
        let recent = self.recent.get(turn(group));
        let place = match recent.filter(|recent| recent.0 == group) {
            Some((_, place)) => *place,
            None => self.find(group),
        };
        &mut self.groups[place][within]
    }

    /// The place of a group, which is from now on one of those that were accessed last.
    #[inline(never)]
    fn find(&mut self, group: u64) -> usize {
        self.recent.resize(RECENT, (u64::MAX, 0));
        let groups = &mut self.groups;
        let place = *self.places.entry(group).or_insert_with(|| {
            groups.push([0; GROUP]);
            groups.len() - 1
        });
        self.recent[turn(group)] = (group, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, RECENT};
    use std::collections::BTreeMap;
    use warploom_base::Rng;
    use warploom_gpu::SEGMENT_BYTES;

    /// Segments of more groups than are found without a search.
    #[test]
    fn every_segment_keeps_its_number() {
        let (mut cells, mut known) = (Cells::default(), BTreeMap::new());
        let mut rng = Rng::new(9);
        for number in 1..20_000 {
            let segment = u64::from(rng.below(8 * RECENT as u32)) * 17 * SEGMENT_BYTES;
            let cell = cells.at(segment);
            assert_eq!(*cell, known.insert(segment, number).unwrap_or(0));
            *cell = number;
        }
    }
}
