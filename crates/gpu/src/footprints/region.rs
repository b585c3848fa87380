//! The division of an array into regions and sub-regions (thesis, 3.4.1).

use warploom_base::Rect;
use warploom_config::WarpLocalitySettings;
use warploom_slices::{Array, LINE_BYTES};

/// A division of an array into equal regions, and of a region into equal sub-regions.
///
/// The thesis divides an array into 2^M regions, and Fig. 3.10 shows a block whose rectangle lies
/// in one of them. The regions therefore have the shape of the rectangles, and are at least as
/// large. An array with fewer than 2^M such rectangles has fewer regions (section 5.2: "at most 10
/// bits").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegionGrid {
    /// The number of regions side by side.
    across: u32,
    /// The size of a region in lines and rows.
    width: u32,
    height: u32,
    /// The number of sub-regions of a region side by side, and one below the other.
    sub_across: u32,
    sub_down: u32,
}

impl RegionGrid {
    /// Divides an array of `bytes` bytes by the rectangle that a block touches.
    pub fn new(
        array: &Array,
        bytes: u64,
        rect: Option<Rect>,
        settings: WarpLocalitySettings,
    ) -> Self {
        let size = size(array, bytes);
        let rect = rect.unwrap_or(Rect::line(0, 0));
        let (width, height) = region_size(size, rect, settings.region_bits);
        let (sub_across, sub_down) = subdivision(width, height, settings.sub_regions);
        Self {
            across: size.0.div_ceil(width).max(1),
            width,
            height,
            sub_across,
            sub_down,
        }
    }

    /// Returns the region in which a rectangle starts.
    pub fn region(&self, rect: &Rect) -> u32 {
        let (x, y) = (rect.x.max(0) as u32, rect.y.max(0) as u32);
        let above = (y / self.height).saturating_mul(self.across);
        above.saturating_add((x / self.width).min(self.across - 1))
    }

    /// Returns the sub-region of a line as a bit, or 0 for a line outside of the region.
    pub fn touched(&self, line: &Rect, region: u32) -> u64 {
        if line.x < 0 || line.y < 0 || self.region(line) != region {
            return 0;
        }
        let part = |at: i32, size: u32, parts: u32| {
            let (inside, size) = (u64::from(at as u32 % size), u64::from(size));
            inside * u64::from(parts) / size
        };
        let sub_x = part(line.x, self.width, self.sub_across);
        let sub_y = part(line.y, self.height, self.sub_down);
        1 << (sub_y * u64::from(self.sub_across) + sub_x)
    }
}

/// Returns the columns of an array in lines, and its rows.
fn size(array: &Array, bytes: u64) -> (u32, u32) {
    let whole = |count: u64| u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    match array.pitch {
        Some(pitch) => (
            whole(pitch.div_ceil(LINE_BYTES)),
            whole(bytes.div_ceil(pitch)),
        ),
        None => (whole(bytes.div_ceil(LINE_BYTES)), 1),
    }
}

/// Returns the lines and rows of a region. Of all divisions of the array into 2^`bits` parts, the
/// one whose parts have most nearly the rectangle's proportions is chosen, and then enlarged to the
/// rectangle's size.
fn region_size((columns, rows): (u32, u32), rect: Rect, bits: u32) -> (u32, u32) {
    let parts = |across: u32| {
        let width = columns.div_ceil(1 << across);
        let height = rows.div_ceil(1 << (bits - across));
        (width, height)
    };
    let distortion = |&(width, height): &(u32, u32)| {
        let by_width = u64::from(width) * u64::from(rect.height);
        let by_height = u64::from(height) * u64::from(rect.width);
        ratio(by_width, by_height)
    };
    let all = (0..=bits).map(parts);
    let best = all.min_by(|a, b| distortion(a).total_cmp(&distortion(b)));
    let (width, height) = best.unwrap_or((columns, rows));
    (width.max(rect.width), height.max(rect.height))
}

/// Returns the ratio of the larger to the smaller number.
fn ratio(a: u64, b: u64) -> f64 {
    a.max(b) as f64 / a.min(b).max(1) as f64
}

/// Returns the number of sub-regions side by side and one below the other, at most `most` in all.
/// Among the divisions with the most different sub-regions, those of a region narrower than its
/// number of sub-regions being empty, the one with the squarest sub-regions is chosen.
fn subdivision(width: u32, height: u32, most: u32) -> (u32, u32) {
    let used = |&(across, down): &(u32, u32)| across.min(width) * down.min(height);
    let shape = |&(across, down): &(u32, u32)| {
        ratio(
            u64::from(width) * u64::from(down),
            u64::from(height) * u64::from(across),
        )
    };
    let all = (1..=most).map(|across| (across, most / across));
    all.max_by(|a, b| {
        let squarer = shape(b).total_cmp(&shape(a));
        used(a).cmp(&used(b)).then(squarer)
    })
    .unwrap_or((1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_slices::Base;

    fn grid(
        pitch: Option<u64>,
        bytes: u64,
        (width, height): (u32, u32),
        region_bits: u32,
        sub_regions: u32,
    ) -> RegionGrid {
        let array = Array {
            base: Base::Param(0),
            address: 0,
            pitch,
        };
        let settings = WarpLocalitySettings {
            region_bits,
            sub_regions,
            ..WarpLocalitySettings::default()
        };
        let rect = Rect {
            x: 0,
            y: 0,
            width,
            height,
        };
        RegionGrid::new(&array, bytes, Some(rect), settings)
    }

    /// In Fig. 3.10, an array of 8 x 8 lines has 16 regions of 4 sub-regions. A region is 2 x 2
    /// lines, and its lines at the upper left and the lower right yield 1001.
    #[test]
    fn figure_3_10() {
        let grid = grid(Some(8 * LINE_BYTES), 64 * LINE_BYTES, (2, 2), 4, 4);
        let region = grid.region(&Rect::line(6, 4));
        assert_eq!(region, 0b1011);
        let lines = [Rect::line(6, 4), Rect::line(7, 5)];
        let touched = lines.iter().map(|line| grid.touched(line, region));
        assert_eq!(touched.sum::<u64>(), 0b1001);
        assert_eq!(grid.touched(&Rect::line(5, 5), region), 0, "another region");
    }

    /// A block of Hotspot touches 16 rows of one line. Regions of such an array are narrow, and all
    /// 16 sub-regions of a region exist.
    #[test]
    fn narrow_rectangles_have_narrow_regions_with_all_sub_regions() {
        let bytes = 1024 * 32 * LINE_BYTES;
        let grid = grid(Some(32 * LINE_BYTES), bytes, (1, 16), 10, 16);
        assert_eq!((grid.width, grid.height), (2, 16));
        let lines = (0..32).map(|n| Rect::line(n % 2, n / 2));
        let touched = lines.map(|line| grid.touched(&line, 0));
        assert_eq!(touched.fold(0, |all, bit| all | bit), 0xffff);
    }

    #[test]
    fn a_region_is_at_least_a_rectangle() {
        let grid = grid(Some(8 * LINE_BYTES), 64 * LINE_BYTES, (4, 2), 10, 16);
        assert_eq!((grid.width, grid.height), (4, 2));
        assert_eq!(grid.region(&Rect::line(4, 2)), 3);
    }

    #[test]
    fn an_array_without_rows_is_divided_along_its_length() {
        let grid = grid(None, 1024 * LINE_BYTES, (8, 1), 4, 16);
        assert_eq!(grid.region(&Rect::line(64, 0)), 1);
        assert_eq!(grid.touched(&Rect::line(64 + 4, 0), 1), 1 << 1);
        assert_eq!(grid.touched(&Rect::line(64 + 63, 0), 1), 1 << 15);
    }

    #[test]
    fn lines_before_an_array_are_in_its_first_region_and_touch_nothing() {
        let grid = grid(None, 1024 * LINE_BYTES, (1, 1), 4, 16);
        assert_eq!(grid.region(&Rect::line(-3, 0)), 0);
        assert_eq!(grid.touched(&Rect::line(-3, 0), 0), 0);
    }

    /// The size of an array is 0 if its pointer is invalid. Lines far beyond it must not overflow.
    #[test]
    fn an_array_of_unknown_size_has_regions() {
        let grid = grid(Some(LINE_BYTES), 0, (1, 1), 16, 64);
        let far = Rect::line(i32::MAX, i32::MAX);
        let region = grid.region(&far);
        assert_eq!(region, i32::MAX as u32);
        assert_ne!(grid.touched(&far, region), 0);
    }

    #[test]
    fn sub_regions_are_as_many_and_as_square_as_the_region_permits() {
        assert_eq!(subdivision(64, 64, 16), (4, 4));
        assert_eq!(subdivision(64, 1, 16), (16, 1));
        assert_eq!(subdivision(2, 32, 16), (1, 16));
        assert_eq!(subdivision(8, 8, 13), (4, 3));
        assert_eq!(subdivision(1, 1, 16), (4, 4));
    }
}
