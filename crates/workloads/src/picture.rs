//! Pictures with the properties of photographs: a gradient, ellipses and rectangles with edges and
//! striped textures, and sensor noise. They are cheap enough for millions of pixels.

use warploom_base::Rng;

/// Number of ellipses and rectangles in a picture.
const SHAPES: u32 = 28;
/// Range of the noise, from the lowest to the highest value.
const NOISE: f32 = 0.05;

/// A channel of a picture, row major, with values in [0, 1]. The channels of a seed have the same
/// shapes with different shades and noise.
pub(crate) fn plane(width: usize, height: usize, seed: u64, channel: u64) -> Vec<f32> {
    let mut geometry = Rng::new(seed);
    let mut shades = Rng::new(seed ^ (channel + 1) << 32);
    let mut pixels = gradient(width, height, &mut geometry, &mut shades);
    for _ in 0..SHAPES {
        let shape = Shape::random(&mut geometry);
        let stripes = Stripes::random(&mut geometry, &mut shades);
        shape.paint(&mut pixels, width, height, &stripes);
    }
    for pixel in &mut pixels {
        let noise = NOISE * (shades.unit_f32() - 0.5);
        *pixel = (*pixel + noise).clamp(0.0, 1.0);
    }
    pixels
}

/// A channel in steps of 1/255.
pub(crate) fn bytes(width: usize, height: usize, seed: u64, channel: u64) -> Vec<u8> {
    let plane = plane(width, height, seed, channel);
    plane.iter().map(|p| (p * 255.0 + 0.5) as u8).collect()
}

/// Red, green and blue in the lower three bytes of a word, red lowest.
pub(crate) fn colours(width: usize, height: usize, seed: u64) -> Vec<u32> {
    let [red, green, blue] = [0, 1, 2].map(|channel| bytes(width, height, seed, channel));
    let word = |i: usize| u32::from_le_bytes([red[i], green[i], blue[i], 0]);
    (0..red.len()).map(word).collect()
}

fn gradient(width: usize, height: usize, geometry: &mut Rng, shades: &mut Rng) -> Vec<f32> {
    let (dx, dy) = (geometry.unit_f32() - 0.5, geometry.unit_f32() - 0.5);
    let base = 0.3 + 0.4 * shades.unit_f32();
    let (step_x, step_y) = (dx / width as f32, dy / height as f32);
    let row = |y: usize| {
        let start = base + step_y * y as f32;
        (0..width).map(move |x| start + step_x * x as f32)
    };
    (0..height).flat_map(row).collect()
}

/// Centre and radii in units of the picture's extents.
struct Shape {
    round: bool,
    centre: [f32; 2],
    radii: [f32; 2],
}

impl Shape {
    fn random(rng: &mut Rng) -> Self {
        let mut pair = |low: f32, high: f32| [0; 2].map(|_| low + (high - low) * rng.unit_f32());
        Self {
            centre: pair(0.0, 1.0),
            radii: pair(0.02, 0.18),
            round: rng.below(2) == 0,
        }
    }

    fn paint(&self, pixels: &mut [f32], width: usize, height: usize, stripes: &Stripes) {
        for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
            let v = ((y as f32 / height as f32) - self.centre[1]) / self.radii[1];
            if v.abs() > 1.0 {
                continue;
            }
            let reach = if self.round {
                (1.0 - v * v).sqrt()
            } else {
                1.0
            };
            let half = self.radii[0] * reach;
            let column = |at: f32| (at.clamp(0.0, 1.0) * width as f32) as usize;
            let (from, to) = (column(self.centre[0] - half), column(self.centre[0] + half));
            for (x, pixel) in row[from..to].iter_mut().enumerate() {
                *pixel = stripes.at(from + x, y);
            }
        }
    }
}

/// A shade modulated by a triangle wave.
struct Stripes {
    shade: f32,
    amplitude: f32,
    /// Periods per pixel, times 2^16.
    frequency: [u32; 2],
}

impl Stripes {
    fn random(geometry: &mut Rng, shades: &mut Rng) -> Self {
        let amplitude = [0.0, 0.0, 0.08, 0.2][geometry.below(4) as usize];
        Self {
            shade: shades.unit_f32(),
            amplitude,
            frequency: [0; 2].map(|_| geometry.below(1 << 14)),
        }
    }

    fn at(&self, x: usize, y: usize) -> f32 {
        let [fx, fy] = self.frequency;
        let phase = (x as u32)
            .wrapping_mul(fx)
            .wrapping_add((y as u32).wrapping_mul(fy)) as u16;
        let wave = (f32::from(phase) - 32768.0).abs() * (1.0 / 32768.0);
        self.shade + self.amplitude * (wave - 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::{colours, plane};

    #[test]
    fn values_lie_in_range_and_vary() {
        let pixels = plane(64, 48, 1, 0);
        assert_eq!(pixels.len(), 64 * 48);
        assert!(pixels.iter().all(|p| (0.0..=1.0).contains(p)));
        let mean = pixels.iter().sum::<f32>() / pixels.len() as f32;
        let variance = pixels.iter().map(|p| (p - mean) * (p - mean)).sum::<f32>();
        assert!(variance / pixels.len() as f32 > 0.005);
    }

    #[test]
    fn there_are_smooth_parts_and_edges() {
        let pixels = plane(256, 256, 3, 0);
        let steps: Vec<f32> = pixels.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
        let share = |test: &dyn Fn(f32) -> bool| {
            steps.iter().filter(|step| test(**step)).count() as f32 / steps.len() as f32
        };
        assert!(share(&|step| step < 0.05) > 0.8);
        assert!(share(&|step| step > 0.15) > 0.005);
    }

    #[test]
    fn channels_share_shapes_and_seeds_do_not() {
        assert_ne!(plane(32, 32, 1, 0), plane(32, 32, 1, 1));
        assert_ne!(plane(32, 32, 1, 0), plane(32, 32, 2, 0));
        assert_eq!(colours(32, 32, 1), colours(32, 32, 1));
        assert!(colours(32, 32, 1).iter().all(|word| word >> 24 == 0));
    }
}
