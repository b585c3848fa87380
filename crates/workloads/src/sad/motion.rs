//! Two frames and the sums of absolute differences between their blocks.

use std::ops::Range;

use crate::picture;

/// Largest displacement in each direction, and number of displacements along a side.
const RANGE: isize = 16;
const SIDE: usize = 2 * RANGE as usize + 1;
const POSITIONS: usize = SIDE * SIDE;
/// Number of sums of a block, including padding.
pub(super) const PADDED: usize = 1096;
/// Width and height of the block types, in the order in which their sums are stored.
pub(super) const TYPES: [(usize, usize); 7] =
    [(16, 16), (16, 8), (8, 16), (8, 8), (8, 4), (4, 8), (4, 4)];
const MACROBLOCK: usize = 16;

/// A frame and the previous frame, with a brightness in 0..=255 per pixel.
pub(super) struct Frames {
    across: usize,
    down: usize,
    pub(super) current: Vec<u16>,
    pub(super) reference: Vec<u16>,
}

impl Frames {
    /// Generates a picture, and the same picture after a small movement with separate noise.
    pub(super) fn generate(across: usize, down: usize, seed: u64) -> Self {
        let (width, height) = (MACROBLOCK * across, MACROBLOCK * down);
        let (dx, dy) = ((seed % 7) as usize + 2, (seed % 5) as usize + 1);
        // The two frames are different windows of a larger picture.
        let outer = width + 16;
        let scene = picture::bytes(outer, height + 16, seed, 0);
        let noise = picture::bytes(width, height, seed ^ 1, 1);
        let window = |left: usize, top: usize| -> Vec<u16> {
            let at = |i: usize| scene[(i / width + top) * outer + i % width + left];
            (0..width * height).map(|i| at(i).into()).collect()
        };
        let mut current = window(dx, dy);
        for (pixel, noise) in current.iter_mut().zip(noise) {
            *pixel = (*pixel + u16::from(noise & 3)).min(255);
        }
        Self {
            across,
            down,
            current,
            reference: window(0, 0),
        }
    }

    fn macroblocks(&self) -> usize {
        self.across * self.down
    }

    /// Number of sums of all types, including padding.
    pub(super) fn count(&self) -> usize {
        self.range(TYPES.len() - 1).end
    }

    /// Range of the sums of a type.
    pub(super) fn range(&self, kind: usize) -> Range<usize> {
        let blocks = |kind: &(usize, usize)| MACROBLOCK * MACROBLOCK / (kind.0 * kind.1);
        let before: usize = TYPES[..kind].iter().map(blocks).sum();
        let start = before * self.macroblocks() * PADDED;
        start..start + blocks(&TYPES[kind]) * self.macroblocks() * PADDED
    }

    /// Sums of some types; the others are zero.
    pub(super) fn sums(&self, types: &[usize]) -> Vec<u16> {
        let mut sums = vec![0; self.count()];
        for &kind in types {
            let range = self.range(kind);
            for (block, sums) in sums[range].chunks_exact_mut(PADDED).enumerate() {
                self.block_sums(TYPES[kind], block, sums);
            }
        }
        sums
    }

    fn block_sums(&self, (width, height): (usize, usize), block: usize, sums: &mut [u16]) {
        let (columns, rows) = (MACROBLOCK / width, MACROBLOCK / height);
        let (macroblock, inside) = (block / (columns * rows), block % (columns * rows));
        let left = macroblock % self.across * MACROBLOCK + inside % columns * width;
        let top = macroblock / self.across * MACROBLOCK + inside / columns * height;
        for (position, sum) in sums[..POSITIONS].iter_mut().enumerate() {
            let dx = (position % SIDE) as isize - RANGE;
            let dy = (position / SIDE) as isize - RANGE;
            *sum = (0..width * height)
                .map(|i| {
                    let (x, y) = ((left + i % width) as isize, (top + i / width) as isize);
                    pixel(&self.reference, self.width(), x + dx, y + dy).abs_diff(pixel(
                        &self.current,
                        self.width(),
                        x,
                        y,
                    ))
                })
                .sum();
        }
    }

    /// Indices of the sums of a type, without padding.
    pub(super) fn places(&self, kind: usize) -> Vec<usize> {
        let range = self.range(kind);
        range.filter(|at| at % PADDED < POSITIONS).collect()
    }

    fn width(&self) -> usize {
        MACROBLOCK * self.across
    }
}

/// A pixel of a frame, which repeats its last pixels beyond the border.
fn pixel(frame: &[u16], width: usize, x: isize, y: isize) -> u16 {
    let last = |extent: usize| extent as isize - 1;
    let x = x.clamp(0, last(width)) as usize;
    let y = y.clamp(0, last(frame.len() / width)) as usize;
    frame[y * width + x]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_frames_differ_by_nothing_in_place() {
        let mut frames = Frames::generate(2, 1, 1);
        frames.reference = frames.current.clone();
        let sums = frames.sums(&[0, 6]);
        let centre = POSITIONS / 2;
        let types = [0, 6].map(|kind| frames.range(kind));
        for range in types {
            let blocks = sums[range].chunks_exact(PADDED);
            assert!(blocks.into_iter().all(|block| block[centre] == 0));
        }
        assert_ne!(sums[0], 0);
    }

    #[test]
    fn larger_blocks_are_sums_of_smaller_ones() {
        let frames = Frames::generate(1, 1, 2);
        let sums = frames.sums(&[0, 6]);
        let small = &sums[frames.range(6)];
        let total: u16 = small.chunks_exact(PADDED).map(|block| block[7]).sum();
        assert_eq!(sums[7], total);
    }

    #[test]
    fn types_fill_41_rows_a_macroblock() {
        let frames = Frames::generate(3, 2, 0);
        assert_eq!(frames.count(), 41 * 6 * PADDED);
        assert_eq!(frames.range(6).start, 25 * 6 * PADDED);
    }
}
