//! The filters, the pyramid, and the results that the kernels must compute.

use std::f64::consts::{PI, TAU};

use crate::picture;

/// Number of orientations times phases.
pub(super) const FILTERS: usize = 16;
const ORIENTATIONS: usize = FILTERS / 2;
const RADIUS: usize = 3;
const SIDE: usize = 2 * RADIUS + 1;
/// Wavelength and width of the Gaussian in pixels, and its ratio of length to width.
const WAVELENGTH: f64 = 4.0;
const SIGMA: f64 = 1.8;
const ASPECT: f64 = 0.6;
/// Number of threads that sum, and of squares per thread.
const SUM_THREADS: usize = 256;
const SUM_EACH: usize = 56;
/// Number of squares that a block sums.
pub(super) const SUM_BLOCK: usize = SUM_THREADS * SUM_EACH;

type Filter = [f32; SIDE * SIDE];

/// An even and an odd filter for each orientation.
pub(super) fn filters() -> [Filter; FILTERS] {
    std::array::from_fn(|filter| {
        let angle = (filter % ORIENTATIONS) as f64 * PI / ORIENTATIONS as f64;
        let phase = if filter < ORIENTATIONS { 0.0 } else { PI / 2.0 };
        std::array::from_fn(|at| weight(at, angle, phase) as f32)
    })
}

fn weight(at: usize, angle: f64, phase: f64) -> f64 {
    let offset = |i: usize| i as f64 - RADIUS as f64;
    let (x, y) = (offset(at % SIDE), offset(at / SIDE));
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let (across, along) = (x * cosine + y * sine, y * cosine - x * sine);
    let bell = (across * across + ASPECT * ASPECT * along * along) / (2.0 * SIGMA * SIGMA);
    libm::exp(-bell) * libm::cos(TAU * across / WAVELENGTH + phase)
}

/// An image of the pyramid.
pub(super) struct Level {
    pub(super) width: usize,
    pub(super) pixels: Vec<f32>,
}

impl Level {
    /// A picture, followed by means of 2 x 2 pixels of the previous level.
    pub(super) fn pyramid(width: usize, height: usize, levels: u32, seed: u64) -> Vec<Self> {
        let mut pyramid = vec![Self {
            width,
            pixels: picture::plane(width, height, seed, 0),
        }];
        while pyramid.len() < levels as usize {
            let next = pyramid[pyramid.len() - 1].halved();
            pyramid.push(next);
        }
        pyramid
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height() / 2);
        let mean = |i: usize| {
            let at = i / width * 2 * self.width + i % width * 2;
            let below = at + self.width;
            let pixels = &self.pixels;
            0.25 * (pixels[at] + pixels[at + 1] + pixels[below] + pixels[below + 1])
        };
        Self {
            width,
            pixels: (0..width * height).map(mean).collect(),
        }
    }

    /// The response to a filter. Beyond the border the image repeats its last pixels.
    pub(super) fn response(&self, filter: &Filter) -> Vec<f32> {
        let inside = |at: usize, tap: usize, extent: usize| {
            (at + tap).saturating_sub(RADIUS).min(extent - 1)
        };
        let pixel = |i: usize| {
            let (x, y) = (i % self.width, i / self.width);
            filter
                .iter()
                .enumerate()
                .fold(0.0f32, |sum, (tap, weight)| {
                    let (x, y) = (
                        inside(x, tap % SIDE, self.width),
                        inside(y, tap / SIDE, self.height()),
                    );
                    weight.mul_add(self.pixels[y * self.width + x], sum)
                })
        };
        (0..self.pixels.len()).map(pixel).collect()
    }

    /// Sums of squares, one per block: each thread's in order, then a tree over the threads.
    pub(super) fn energies(&self) -> Vec<f32> {
        let block = |pixels: &[f32]| {
            let mut sums: Vec<f32> = (0..SUM_THREADS)
                .map(|thread| {
                    let mine = pixels.iter().skip(thread).step_by(SUM_THREADS);
                    mine.fold(0.0f32, |sum, pixel| pixel.mul_add(*pixel, sum))
                })
                .collect();
            let mut half = SUM_THREADS / 2;
            while half > 0 {
                (0..half).for_each(|i| sums[i] += sums[i + half]);
                half /= 2;
            }
            sums[0]
        };
        self.pixels.chunks(SUM_BLOCK).map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_filters_are_antisymmetric_and_even_ones_symmetric() {
        for (number, filter) in filters().iter().enumerate() {
            let sign = if number < ORIENTATIONS { 1.0 } else { -1.0 };
            for at in 0..SIDE * SIDE {
                let mirrored = filter[SIDE * SIDE - 1 - at];
                assert!((filter[at] - sign * mirrored).abs() < 1e-6, "{number}");
            }
        }
    }

    #[test]
    fn a_filter_answers_to_its_own_orientation() {
        // Stripes across x, of the filters' wavelength.
        let pixels = (0..32 * 32).map(|i| [1.0, 0.0, -1.0, 0.0][i % 4]).collect();
        let stripes = Level { width: 32, pixels };
        let at_centre = |filter: usize| stripes.response(&filters()[filter])[16 * 32 + 16].abs();
        assert!(at_centre(0) > 5.0 * at_centre(ORIENTATIONS / 2));
    }

    #[test]
    fn energies_sum_up_to_all_squares() {
        let level = &Level::pyramid(200, 160, 2, 1)[0];
        let total: f32 = level.energies().iter().sum();
        let direct: f64 = level
            .pixels
            .iter()
            .map(|&p| f64::from(p) * f64::from(p))
            .sum();
        assert_eq!(level.energies().len(), 3);
        assert!((f64::from(total) / direct - 1.0).abs() < 1e-5);
    }

    #[test]
    fn levels_have_half_the_extents() {
        let extents = Level::pyramid(36, 24, 2, 1);
        assert_eq!((extents[1].width, extents[1].pixels.len()), (18, 18 * 12));
    }
}
