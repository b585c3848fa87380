//! Lines that blocks and warps touch, computed before they run, for locality-aware policies.

use warploom_base::Rect;
use warploom_state::Value;

/// Most arrays of a kernel that policies see.
pub const MAX_ARRAYS: usize = 16;

/// Most rectangles of a block that policies are shown.
pub const MAX_RECTS: usize = 16;

/// A rectangle of one array, in columns of cache lines and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct ArrayRect {
    /// Number of the array, which is the same for all blocks of a kernel.
    pub array: usize,
    /// Lines that the block touches.
    pub rect: Rect,
}

/// Rectangles that a block touches, in the order of first access, followed by `None`. No line is in
/// two rectangles of one block.
pub type Footprint = [Option<ArrayRect>; MAX_RECTS];

/// Part of one array that a warp touches (thesis, 3.4.1). The array is divided into regions, of
/// which the block has one, and the region into sub-regions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct ArrayRange {
    /// Index of the block's region.
    pub region: u32,
    /// Sub-regions of the block's region that the warp touches, one bit each.
    pub touched: u64,
}

/// Parts of all arrays of the kernel that a warp touches.
pub type WarpRange = [ArrayRange; MAX_ARRAYS];

/// Number of lines that two blocks share, over the first `most` rectangles of each (Fig. 3.9).
pub fn overlap(a: &Footprint, b: &Footprint, most: usize) -> u64 {
    let lines = |one: ArrayRect| -> u64 {
        let same = known(b, most).filter(|other| other.array == one.array);
        same.map(|other| one.rect.overlap(&other.rect)).sum()
    };
    known(a, most).map(lines).sum()
}

/// The first `most` rectangles of a footprint.
fn known(footprint: &Footprint, most: usize) -> impl Iterator<Item = ArrayRect> + '_ {
    footprint.iter().map_while(|rect| *rect).take(most)
}

/// Locality of two warps (thesis, 3.4.2): number of sub-regions that both access, in arrays in
/// which their blocks have the same region.
pub fn shared_regions(a: &WarpRange, b: &WarpRange) -> u32 {
    let same = a.iter().zip(b).filter(|(a, b)| a.region == b.region);
    // Most kernels have few arrays, and a build for all hosts counts bits slowly.
    same.map(|(a, b)| a.touched & b.touched)
        .filter(|both| *both != 0)
        .map(u64::count_ones)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fig. 3.14: warps 0 (001-1011) and 1 (001-0011) share two sub-regions; warp 2 (010-1111) is
    /// in another region.
    #[test]
    fn figure_3_14() {
        let warp = |region, touched| {
            let mut range = WarpRange::default();
            range[0] = ArrayRange { region, touched };
            range
        };
        let warps = [
            warp(0b001, 0b1011),
            warp(0b001, 0b0011),
            warp(0b010, 0b1111),
        ];
        assert_eq!(shared_regions(&warps[0], &warps[1]), 2);
        assert_eq!(shared_regions(&warps[0], &warps[2]), 0);
        assert_eq!(shared_regions(&warps[1], &warps[2]), 0);
    }

    fn footprint(rects: &[(usize, Rect)]) -> Footprint {
        let mut footprint = Footprint::default();
        for (place, &(array, rect)) in footprint.iter_mut().zip(rects) {
            *place = Some(ArrayRect { array, rect });
        }
        footprint
    }

    #[test]
    fn overlaps_add_up_over_arrays() {
        let row = Rect::line(0, 0).hull(Rect::line(3, 0));
        let column = Rect::line(0, 0).hull(Rect::line(0, 7));
        let a = footprint(&[(0, row), (2, column)]);
        let b = footprint(&[(0, row), (1, column), (2, column), (3, row)]);
        for (a, b) in [(&a, &b), (&b, &a)] {
            assert_eq!(overlap(a, b, MAX_RECTS), 4 + 8);
            assert_eq!(overlap(a, b, 2), 4);
        }
    }

    /// A block of Gaussian elimination touches the pivot row and its tile. The pivot row is also in
    /// the tile of a block further up.
    #[test]
    fn every_rectangle_of_an_array_is_compared_with_every_other() {
        let pivot = Rect::line(2, 0);
        let tile = |row| Rect::line(2, row).hull(Rect::line(2, row + 3));
        let [above, middle, below] = [
            footprint(&[(1, tile(0))]),
            footprint(&[(1, pivot), (1, tile(4))]),
            footprint(&[(1, pivot), (1, tile(8))]),
        ];
        assert_eq!(overlap(&above, &middle, 2), 1);
        assert_eq!(overlap(&middle, &below, 2), 1);
        assert_eq!(overlap(&middle, &middle, 2), 5);
    }
}
