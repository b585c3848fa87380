//! Memory that a kernel's blocks and warps access, for the policies that use it: the dispatcher's
//! part of Chen 2016. Addresses come from [`warploom_slices`]. Here they become rectangles and
//! regions of the arrays to which the launch's pointers lead.

use std::sync::Arc;
use warploom_base::Rect;
use warploom_config::{GpuSpec, WarpLocalitySettings, WarpSchedulerChoice};
use warploom_exec::{DeviceMemory, LaunchContext};
use warploom_ir::Program;
use warploom_policy::{Footprint, MAX_ARRAYS, WarpRange};
use warploom_slices::{Array, Footprints, LINE_BYTES, Slices};

/// Slices of the kernels launched so far, because most programs launch the same kernels repeatedly.
#[derive(Debug, Default)]
pub(crate) struct SliceCache {
    known: Vec<(Arc<Program>, Arc<Slices>)>,
}

impl SliceCache {
    fn of(&mut self, program: &Arc<Program>) -> Arc<Slices> {
        let same = |(known, _): &&(Arc<Program>, Arc<Slices>)| Arc::ptr_eq(known, program);
        if let Some((_, slices)) = self.known.iter().find(same) {
            return Arc::clone(slices);
        }
        let slices = Arc::new(Slices::new(program));
        self.known.push((Arc::clone(program), Arc::clone(&slices)));
        slices
    }

    /// Footprints of a launch's blocks; `None` when the address binary faults, as the kernel will.
    pub fn launch(
        &mut self,
        program: &Arc<Program>,
        launch: &LaunchContext,
        spec: &GpuSpec,
        memory: &DeviceMemory,
    ) -> Option<Touches> {
        let slices = self.of(program);
        let footprints = Footprints::new(slices, launch, MAX_ARRAYS).ok()?;
        let arrays = footprints.arrays().iter();
        let grids = arrays.map(|array| {
            let bytes = memory.bytes_from(launch.asid(), array.address);
            RegionGrid::new(array, bytes, settings(spec))
        });
        Some(Touches {
            grids: grids.collect(),
            limit: settings(spec).arrays as usize,
            footprints,
        })
    }
}

fn settings(spec: &GpuSpec) -> WarpLocalitySettings {
    match spec.sm.warp_scheduler {
        WarpSchedulerChoice::Locality(settings) => settings.resolved(),
        _ => WarpLocalitySettings::default(),
    }
}

/// Memory that the blocks of one launch access.
#[derive(Debug)]
pub(crate) struct Touches {
    footprints: Footprints,
    /// Regions of each array.
    grids: Vec<RegionGrid>,
    /// Number of arrays in a warp's range.
    limit: usize,
}

impl Touches {
    /// Footprint of the block of a rank.
    pub fn block(&mut self, rank: u64) -> Footprint {
        let ctaid = self.footprints.predictor().launch().grid().point(rank);
        let mut footprint = Footprint::default();
        if let Ok(rects) = self.footprints.rects(ctaid) {
            footprint[..rects.len()].copy_from_slice(&rects);
        }
        footprint
    }

    /// Regions that one warp of a block accesses.
    pub fn warp(&mut self, rank: u64, footprint: &Footprint, warp: u32) -> WarpRange {
        let ctaid = self.footprints.predictor().launch().grid().point(rank);
        let mut range = WarpRange::default();
        let grids = &self.grids[..self.grids.len().min(self.limit)];
        for ((range, grid), rect) in range.iter_mut().zip(grids).zip(footprint) {
            range.region = rect.map_or(0, |rect| grid.region(&rect));
        }
        // Lines found before a fault are right, and the kernel will report the fault.
        let _ = self.footprints.warp_lines(ctaid, warp, |array, line| {
            if let Some(grid) = grids.get(array) {
                range[array].touched |= grid.touched(&line, range[array].region);
            }
        });
        range
    }
}

/// Division of an array into regions and sub-regions (thesis, 3.4.1): rectangles if the array has
/// rows, and ranges of lines if it has none.
#[derive(Clone, Copy, Debug)]
struct RegionGrid {
    /// Number of regions side by side.
    across: u32,
    /// Lines and rows of a region.
    width: u32,
    height: u32,
    /// Number of sub-regions of a region side by side, and one below the other.
    sub_across: u32,
    sub_down: u32,
}

impl RegionGrid {
    fn new(array: &Array, bytes: u64, settings: WarpLocalitySettings) -> Self {
        let lines = |bytes: u64| u32::try_from(bytes.div_ceil(LINE_BYTES)).unwrap_or(u32::MAX);
        let (columns, rows) = match array.pitch {
            Some(pitch) => (
                lines(pitch),
                u32::try_from(bytes.div_ceil(pitch)).unwrap_or(u32::MAX),
            ),
            None => (lines(bytes), 1),
        };
        let regions = 1_u32 << settings.region_bits;
        let (across, down) = if rows == 1 {
            (regions, 1)
        } else {
            let down = 1 << (settings.region_bits / 2);
            (regions / down, down)
        };
        let sub_down = if rows == 1 {
            1
        } else {
            near_square(settings.sub_regions)
        };
        Self {
            across,
            width: columns.div_ceil(across).max(1),
            height: rows.div_ceil(down).max(1),
            sub_across: settings.sub_regions / sub_down,
            sub_down,
        }
    }

    /// The region in which a rectangle starts.
    fn region(&self, rect: &Rect) -> u32 {
        let (x, y) = (rect.x.max(0) as u32, rect.y.max(0) as u32);
        // Far beyond the array, where its bytes are not known, the last region stands for all.
        let above = (y / self.height).saturating_mul(self.across);
        above.saturating_add((x / self.width).min(self.across - 1))
    }

    /// The sub-region of a line, as a bit; none outside the region.
    fn touched(&self, line: &Rect, region: u32) -> u64 {
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

/// The largest divisor of `n` up to its square root.
fn near_square(n: u32) -> u32 {
    (1..=n)
        .take_while(|d| d * d <= n)
        .filter(|d| n.is_multiple_of(*d))
        .last()
        .unwrap_or(1)
}

/// Ranges of the warps of a block, for [`warploom_sm::Sm::set_ranges`]: empty ones where nothing is
/// known of the block, lest the slots keep those of an earlier one.
pub(crate) fn warp_ranges(
    touches: Option<&mut Touches>,
    rank: u64,
    footprint: Option<Footprint>,
    warps: u32,
) -> Vec<WarpRange> {
    let (Some(touches), Some(footprint)) = (touches, footprint) else {
        return vec![WarpRange::default(); warps as usize];
    };
    (0..warps)
        .map(|warp| touches.warp(rank, &footprint, warp))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_slices::Base;

    fn grid(pitch: Option<u64>, bytes: u64, region_bits: u32, sub_regions: u32) -> RegionGrid {
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
        RegionGrid::new(&array, bytes, settings)
    }

    /// Slots of an earlier block must not keep its ranges.
    #[test]
    fn warps_of_which_nothing_is_known_touch_nothing() {
        let ranges = warp_ranges(None, 7, None, 3);
        assert_eq!(ranges, [WarpRange::default(); 3]);
    }

    /// Fig. 3.10: 16 regions of 4 sub-regions in an array of 8 x 8 lines: a region is 2 x 2 lines,
    /// so that the lines at its upper left and lower right give 1001 (bit 0 stands on the right).
    #[test]
    fn figure_3_10() {
        let grid = grid(Some(8 * LINE_BYTES), 64 * LINE_BYTES, 4, 4);
        let region = grid.region(&Rect::line(6, 4));
        assert_eq!(region, 0b1011);
        let lines = [Rect::line(6, 4), Rect::line(7, 5)];
        let touched = lines.iter().map(|line| grid.touched(line, region));
        assert_eq!(touched.sum::<u64>(), 0b1001);
        assert_eq!(grid.touched(&Rect::line(5, 5), region), 0, "another region");
    }

    #[test]
    fn an_array_without_rows_is_cut_into_stretches() {
        let grid = grid(None, 1024 * LINE_BYTES, 4, 16);
        assert_eq!(grid.region(&Rect::line(64, 0)), 1);
        assert_eq!(grid.touched(&Rect::line(64 + 4, 0), 1), 1 << 1);
        assert_eq!(grid.touched(&Rect::line(64 + 63, 0), 1), 1 << 15);
    }

    #[test]
    fn lines_before_an_array_lie_in_its_first_region_and_touch_nothing() {
        let grid = grid(None, 1024 * LINE_BYTES, 4, 16);
        assert_eq!(grid.region(&Rect::line(-3, 0)), 0);
        assert_eq!(grid.touched(&Rect::line(-3, 0), 0), 0);
    }

    /// A pointer that leads nowhere has no bytes: whatever it is taken for, nothing overflows.
    #[test]
    fn an_array_of_unknown_size_has_regions_too() {
        let grid = grid(Some(LINE_BYTES), 0, 16, 64);
        let far = Rect::line(0, i32::MAX);
        assert_eq!(grid.region(&far), u32::MAX);
        assert_ne!(grid.touched(&far, u32::MAX), 0);
    }

    #[test]
    fn sub_regions_are_as_square_as_their_number_lets_them() {
        assert_eq!([1, 2, 12, 16, 13].map(near_square), [1, 1, 3, 4, 1]);
    }
}
