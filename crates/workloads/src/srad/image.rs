//! An ultrasound image and its diffusion (Yu and Acton, IEEE Transactions on Image Processing
//! 11(11), 2002).

use warploom_base::Rng;

/// Weight of an iteration's change.
pub(super) const LAMBDA: f32 = 0.5;
/// Side of the square whose speckle is measured.
const HOMOGENEOUS: usize = 128;
/// Number of overlapping ellipses.
const SHAPES: usize = 24;

/// An image in row-major order.
#[derive(Clone)]
pub(super) struct Image {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) pixels: Vec<f32>,
}

struct Ellipse {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
    brightness: f32,
}

impl Image {
    /// Generates ellipses of different brightness with speckle, that is multiplicative noise.
    pub(super) fn generate((columns, rows): (u32, u32), seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (wide, high) = (columns as f32, rows as f32);
        let ellipses: Vec<_> = (0..SHAPES)
            .map(|_| Ellipse {
                x: wide * rng.unit_f32(),
                y: high * rng.unit_f32(),
                width: wide * (0.05 + 0.2 * rng.unit_f32()),
                height: high * (0.05 + 0.2 * rng.unit_f32()),
                brightness: 0.8 * rng.unit_f32(),
            })
            .collect();
        let mut pixels = Vec::with_capacity((columns * rows) as usize);
        for y in 0..rows {
            let crossing: Vec<_> = ellipses.iter().filter_map(|e| e.span(y)).collect();
            for x in 0..columns {
                let above = crossing
                    .iter()
                    .rev()
                    .find(|(span, _)| span.contains(&(x as f32)));
                let brightness = above.map_or(0.1, |(_, brightness)| *brightness);
                let value = f64::from(brightness + 0.2 * rng.unit_f32());
                pixels.push(libm::exp(value) as f32);
            }
        }
        Self {
            columns: columns as usize,
            rows: rows as usize,
            pixels,
        }
    }

    /// Square of the coefficient of variation in the upper left corner.
    pub(super) fn speckle(&self) -> f32 {
        let side = |side: usize| side.min(HOMOGENEOUS);
        let (mut sum, mut squares) = (0.0_f32, 0.0_f32);
        for row in self.pixels.chunks_exact(self.columns).take(side(self.rows)) {
            for pixel in &row[..side(self.columns)] {
                sum += pixel;
                squares += pixel * pixel;
            }
        }
        let count = (side(self.rows) * side(self.columns)) as f32;
        let mean = sum / count;
        (squares / count - mean * mean) / (mean * mean)
    }

    /// Differences to the pixels north, south, west and east; pixels beyond the edge have the
    /// edge's value.
    fn differences(&self, x: usize, y: usize) -> [f32; 4] {
        let at = |x: usize, y: usize| self.pixels[y * self.columns + x];
        let here = at(x, y);
        [
            at(x, y.saturating_sub(1)) - here,
            at(x, (y + 1).min(self.rows - 1)) - here,
            at(x.saturating_sub(1), y) - here,
            at((x + 1).min(self.columns - 1), y) - here,
        ]
    }

    /// Computes one iteration with the kernels' operations.
    pub(super) fn diffused(&self) -> Self {
        let speckle = self.speckle();
        let places = (0..self.rows).flat_map(|y| (0..self.columns).map(move |x| (x, y)));
        let coefficients: Vec<f32> = places
            .clone()
            .map(|(x, y)| {
                let here = self.pixels[y * self.columns + x];
                coefficient(self.differences(x, y), here, speckle)
            })
            .collect();
        let pixels = places.map(|(x, y)| {
            let at = |x: usize, y: usize| coefficients[y * self.columns + x];
            let [n, s, w, e] = self.differences(x, y);
            let here = at(x, y);
            let south = at(x, (y + 1).min(self.rows - 1));
            let east = at((x + 1).min(self.columns - 1), y);
            let divergence = south.mul_add(s, here * n);
            let divergence = east.mul_add(e, here.mul_add(w, divergence));
            let pixel = self.pixels[y * self.columns + x];
            let step = 0.25 * f64::from(LAMBDA);
            step.mul_add(f64::from(divergence), f64::from(pixel)) as f32
        });
        Self {
            pixels: pixels.collect(),
            ..*self
        }
    }
}

impl Ellipse {
    /// Columns that the ellipse covers in a row, with its brightness.
    fn span(&self, y: u32) -> Option<(std::ops::Range<f32>, f32)> {
        let across = (y as f32 - self.y) / self.height;
        let rest = 1.0 - across * across;
        let half = self.width * rest.max(0.0).sqrt();
        (rest > 0.0).then_some((self.x - half..self.x + half, self.brightness))
    }
}

/// Diffusion coefficient of a pixel, from 0 to 1.
fn coefficient([n, s, w, e]: [f32; 4], here: f32, speckle: f32) -> f32 {
    let squares = e.mul_add(e, w.mul_add(w, s.mul_add(s, n * n)));
    let gradient = squares / (here * here);
    let laplacian = (n + s + w + e) / here;
    let half = 0.5 * f64::from(gradient);
    let numerator = (-1.0_f64 / 16.0).mul_add(f64::from(laplacian * laplacian), half) as f32;
    let denominator = 0.25_f64.mul_add(f64::from(laplacian), 1.0) as f32;
    let variation = numerator / (denominator * denominator);
    let excess = (variation - speckle) / (speckle * (1.0 + speckle));
    let coefficient = (1.0 / (1.0 + f64::from(excess))) as f32;
    coefficient.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_image_stays_as_it_is() {
        let mut image = Image::generate((32, 32), 1);
        image.pixels.fill(2.0);
        image.pixels[0] = 2.5;
        // Far from the different pixel, nothing changes.
        assert_eq!(image.diffused().pixels[40..], image.pixels[40..]);
    }

    #[test]
    fn diffusion_lowers_the_speckle() {
        let image = Image::generate((128, 128), 5);
        assert!(image.diffused().speckle() < image.speckle());
    }
}
