//! The lines that a kernel's blocks and warps touch, for the locality-aware policies of Chen 2016.
//! Addresses come from [`warploom_slices`]. This module turns them into rectangles and regions of
//! the launch's arrays.

mod region;

use region::RegionGrid;
use std::sync::Arc;
use warploom_base::{Dim3, Rect};
use warploom_config::{GpuSpec, WarpLocalitySettings, WarpSchedulerChoice};
use warploom_exec::{DeviceMemory, LaunchContext};
use warploom_ir::Program;
use warploom_policy::{ArrayRect, Footprint, MAX_ARRAYS, WarpRange};
use warploom_slices::{Footprints, Slices, Touched};

/// Slices of the kernels launched so far. Most programs launch the same kernels many times.
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

    /// The footprints of a launch; `None` when the address binary faults, as the kernel will.
    pub fn launch(
        &mut self,
        program: &Arc<Program>,
        launch: &LaunchContext,
        spec: &GpuSpec,
        memory: &DeviceMemory,
    ) -> Option<Touches> {
        let slices = self.of(program);
        let mut footprints = Footprints::new(slices, launch, MAX_ARRAYS).ok()?;
        let typical = typical(&mut footprints);
        let arrays = footprints.arrays().iter().zip(typical);
        let grids = arrays.map(|(array, rect)| {
            let bytes = memory.bytes_from(launch.asid(), array.address);
            RegionGrid::new(array, bytes, rect, settings(spec))
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

/// The largest rectangle of each array in the middle of the grid, or in the first block if the
/// block in the middle does not touch the array.
fn typical(footprints: &mut Footprints) -> Vec<Option<Rect>> {
    let grid = footprints.predictor().launch().grid();
    let middle = Dim3::new(grid.x / 2, grid.y / 2, grid.z / 2);
    let mut found = vec![None; footprints.arrays().len()];
    for ctaid in [middle, Dim3::new(0, 0, 0)] {
        let touched = footprints.rects(ctaid).unwrap_or_default();
        for (array, found) in found.iter_mut().enumerate() {
            let of_array = touched.iter().filter(|touched| touched.array == array);
            *found = found.or(largest(of_array.map(|touched| touched.rect)));
        }
    }
    found
}

/// The first of the rectangles with the most lines.
fn largest(rects: impl Iterator<Item = Rect>) -> Option<Rect> {
    rects.reduce(|a, b| if b.area() > a.area() { b } else { a })
}

/// The footprints of the blocks of one launch.
#[derive(Debug)]
pub(crate) struct Touches {
    footprints: Footprints,
    /// Regions of each array.
    grids: Vec<RegionGrid>,
    /// Number of arrays in a warp's range.
    limit: usize,
}

impl Touches {
    /// The rectangles that a block touches.
    pub fn block(&mut self, rank: u64) -> Footprint {
        let ctaid = self.footprints.predictor().launch().block_at(rank);
        let mut footprint = Footprint::default();
        let touched = self.footprints.rects(ctaid).unwrap_or_default();
        for (place, Touched { array, rect }) in footprint.iter_mut().zip(touched) {
            *place = Some(ArrayRect { array, rect });
        }
        footprint
    }

    /// The regions that one warp of a block touches. The block's region of an array is the one in
    /// which its largest rectangle of the array starts.
    pub fn warp(&mut self, rank: u64, footprint: &Footprint, warp: u32) -> WarpRange {
        let ctaid = self.footprints.predictor().launch().block_at(rank);
        let mut range = WarpRange::default();
        let grids = &self.grids[..self.grids.len().min(self.limit)];
        for (array, (range, grid)) in range.iter_mut().zip(grids).enumerate() {
            let of_array = footprint.iter().flatten().filter(|one| one.array == array);
            let rect = largest(of_array.map(|one| one.rect));
            range.region = rect.map_or(0, |rect| grid.region(&rect));
        }
        // Addresses before a fault are correct, and the kernel will report the fault.
        let _ = self.footprints.warp_lines(ctaid, warp, |array, line| {
            if let Some(grid) = grids.get(array) {
                range[array].touched |= grid.touched(&line, range[array].region);
            }
        });
        range
    }
}

/// Ranges of the warps of a block, for [`warploom_sm::Sm::set_ranges`]. They are empty if nothing
/// is known of the block, because the warp slots would otherwise keep those of an earlier block.
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

    /// The warp slots must not keep the ranges of an earlier block.
    #[test]
    fn warps_of_which_nothing_is_known_touch_nothing() {
        let ranges = warp_ranges(None, 7, None, 3);
        assert_eq!(ranges, [WarpRange::default(); 3]);
    }
}
