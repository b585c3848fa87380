//! Both filters on the host, with the kernels' operations in their order.

use warploom_run::approx::ex2;

const RADIUS: isize = 3;
const WINDOW_INVERSE: f32 = 1.0 / 49.0;
/// Reciprocals of the squares of the sample's noise levels.
pub(super) const KNN_NOISE: f32 = 1.0 / (0.32 * 0.32);
pub(super) const NLM_NOISE: f32 = 1.0 / (1.45 * 1.45);
/// Weight of the mean if few pixels are similar.
pub(super) const BLEND: f32 = 0.2;

type Colour = [f32; 3];

/// Settings of a filter.
#[derive(Clone, Copy)]
struct FilterSettings {
    /// Reciprocal of the square of the noise level.
    noise: f32,
    /// Weight from which a pixel counts as similar.
    threshold: f32,
    /// Share of similar pixels from which the mean has less weight.
    share: f32,
}

/// A picture that repeats its last pixels beyond its border.
pub(super) struct Image {
    width: isize,
    colours: Vec<Colour>,
}

/// Sums over a window.
#[derive(Default)]
struct Sums {
    colour: Colour,
    weights: f32,
    similar: f32,
}

impl Image {
    /// Creates an image from pixels with red, green and blue in the lower bytes.
    pub(super) fn new(pixels: &[u32], width: usize) -> Self {
        let fraction = |byte: u8| (f64::from(byte) / 255.0) as f32;
        let colour = |pixel: &u32| {
            let [r, g, b, _] = pixel.to_le_bytes();
            [r, g, b].map(fraction)
        };
        Self {
            width: width as isize,
            colours: pixels.iter().map(colour).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.colours.len()
    }

    fn at(&self, x: isize, y: isize) -> Colour {
        let height = self.colours.len() as isize / self.width;
        let (x, y) = (x.clamp(0, self.width - 1), y.clamp(0, height - 1));
        self.colours[(y * self.width + x) as usize]
    }

    pub(super) fn knn(&self, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
        let settings = FilterSettings {
            noise: KNN_NOISE,
            threshold: 0.02,
            share: 0.79,
        };
        self.filtered(wanted, settings, |x, y, dx, dy| {
            difference(self.at(x, y), self.at(x + dx, y + dy))
        })
    }

    pub(super) fn nlm(&self, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
        let settings = FilterSettings {
            noise: NLM_NOISE,
            threshold: 0.10,
            share: 0.10,
        };
        self.filtered(wanted, settings, |x, y, dx, dy| {
            let mut distance = 0.0;
            for n in -RADIUS..=RADIUS {
                for m in -RADIUS..=RADIUS {
                    let there = self.at(x + dx + m, y + dy + n);
                    distance += difference(there, self.at(x + m, y + n));
                }
            }
            distance
        })
    }

    /// Applies a filter to the wanted pixels and sets the others to zero, because a pixel takes
    /// thousands of distances. `distance` compares a pixel with another at an offset.
    fn filtered(
        &self,
        wanted: impl Fn(usize) -> bool,
        settings: FilterSettings,
        distance: impl Fn(isize, isize, isize, isize) -> f32,
    ) -> Vec<u32> {
        let pixel = |i: usize| {
            let (x, y) = (i as isize % self.width, i as isize / self.width);
            let mut sums = Sums::default();
            for dy in -RADIUS..=RADIUS {
                for dx in -RADIUS..=RADIUS {
                    let away = (dx * dx + dy * dy) as f32;
                    let exponent =
                        away.mul_add(WINDOW_INVERSE, distance(x, y, dx, dy) * settings.noise);
                    let weight = ex2(exponent * -std::f32::consts::LOG2_E);
                    sums.add(self.at(x + dx, y + dy), weight, settings.threshold);
                }
            }
            sums.finish(self.at(x, y), settings.share)
        };
        let pixels = 0..self.colours.len();
        pixels
            .map(|i| if wanted(i) { pixel(i) } else { 0 })
            .collect()
    }
}

impl Sums {
    fn add(&mut self, colour: Colour, weight: f32, threshold: f32) {
        for (sum, component) in self.colour.iter_mut().zip(colour) {
            *sum = weight.mul_add(component, *sum);
        }
        self.weights += weight;
        self.similar += if weight > threshold {
            WINDOW_INVERSE
        } else {
            0.0
        };
    }

    fn finish(&self, centre: Colour, share: f32) -> u32 {
        let inverse = 1.0 / self.weights;
        let own = if self.similar > share {
            BLEND
        } else {
            1.0 - BLEND
        };
        let byte = |i: usize| {
            let mean = self.colour[i] * inverse;
            let mixed = own.mul_add(centre[i] - mean, mean);
            ((mixed * 255.0) as i32) << (8 * i)
        };
        (byte(0) | byte(1) | byte(2)) as u32
    }
}

fn difference(a: Colour, b: Colour) -> f32 {
    let [r, g, b] = [0, 1, 2].map(|i| b[i] - a[i]);
    b.mul_add(b, r.mul_add(r, g * g))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_picture_stays_as_it_is() {
        let image = Image::new(&[0x0040_8020; 12 * 9], 12);
        for result in [image.knn(|_| true), image.nlm(|_| true)] {
            for pixel in result {
                let bytes = pixel.to_le_bytes();
                let close = |i: usize, value: u8| bytes[i].abs_diff(value) <= 1;
                assert!(
                    close(0, 0x20) && close(1, 0x80) && close(2, 0x40),
                    "{pixel:x}"
                );
            }
        }
    }

    #[test]
    fn a_lone_speck_among_equals_is_dimmed() {
        let mut pixels = [0x0010_1010; 121];
        pixels[60] = 0x00ff_ffff;
        let image = Image::new(&pixels, 11);
        // In the first filter only the pixel's own weight counts for it.
        assert!(image.knn(|_| true)[60] & 255 > 0xf0);
        assert!(image.nlm(|_| true)[60] & 255 < 0xf0);
    }
}
