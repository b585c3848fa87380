//! Memory that blocks and warps access, computed before they run, for locality-aware policies.

use warploom_base::Rect;

/// Most arrays of a kernel that policies see.
pub const MAX_ARRAYS: usize = 16;

/// Part of each array of its kernel that a block accesses, in units of cache lines and rows. An
/// array has the same number for all blocks of the kernel.
pub type Footprint = [Option<Rect>; MAX_ARRAYS];

/// Part of one array that a warp accesses (thesis, 3.4.1): the array is divided into regions, of
/// which the block has one, and the region into sub-regions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ArrayRange {
    /// Index of the block's region.
    pub region: u32,
    /// Mask of the sub-regions that the warp accesses; 0 if it does not access the array.
    pub touched: u64,
}

/// Parts of the arrays of its kernel that a warp accesses.
pub type WarpRange = [ArrayRange; MAX_ARRAYS];

/// Number of lines that two blocks share, over the first `arrays` arrays (Fig. 3.9).
pub fn overlap(a: &Footprint, b: &Footprint, arrays: usize) -> u64 {
    let pairs = a.iter().zip(b).take(arrays);
    pairs
        .filter_map(|(a, b)| Some(a.as_ref()?.overlap(b.as_ref()?)))
        .sum()
}

/// Locality of two warps (thesis, 3.4.2): number of sub-regions that both access, in arrays in
/// which their blocks have the same region.
pub fn shared_regions(a: &WarpRange, b: &WarpRange) -> u32 {
    let pairs = a.iter().zip(b);
    pairs
        .filter(|(a, b)| a.region == b.region)
        .map(|(a, b)| (a.touched & b.touched).count_ones())
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

    #[test]
    fn overlaps_add_up_over_arrays() {
        let mut a = Footprint::default();
        a[0] = Some(Rect::line(0, 0).hull(Rect::line(3, 0)));
        a[1] = Some(Rect::line(0, 0).hull(Rect::line(0, 7)));
        let mut b = a;
        b[2] = Some(Rect::line(0, 0));
        assert_eq!(overlap(&a, &b, MAX_ARRAYS), 4 + 8);
        assert_eq!(overlap(&a, &b, 1), 4);
    }
}
