//! A Gaussian scale space, its features, and their descriptors on the host.

use std::f64::consts::TAU;

use warploom_run::approx::ex2;

use crate::picture;

/// Number of scales that are searched; each needs the differences below and above it.
pub(super) const SCALES: usize = 4;
const LEVELS: usize = SCALES + 3;
/// Blur of the first level, in pixels; levels are a quarter of an octave apart.
const FIRST_SIGMA: f64 = 1.6;
/// Smallest difference of an extremum.
pub(super) const THRESHOLD: f32 = 0.004;
const ORIENTATIONS: usize = 36;
const CELLS: usize = 4;
const DIRECTIONS: usize = 8;
/// Number of elements of a descriptor.
pub(super) const BINS: usize = CELLS * CELLS * DIRECTIONS;
const WINDOW: usize = 16;
const FIXED: f32 = 65_536.0;
const PI: f32 = std::f32::consts::PI;

/// Cosines and sines of the orientations of the histogram's bins.
pub(super) fn turns() -> [[f32; ORIENTATIONS]; 2] {
    let angle = |i: usize| (i as f64 + 0.5) * TAU / ORIENTATIONS as f64;
    [
        std::array::from_fn(|i| libm::cos(angle(i)) as f32),
        std::array::from_fn(|i| libm::sin(angle(i)) as f32),
    ]
}

/// A place in the scale space.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Keypoint {
    x: usize,
    y: usize,
    level: usize,
}

impl Keypoint {
    /// Words of a keypoint in memory.
    pub(super) fn words(&self) -> [u32; 4] {
        [self.x as u32, self.y as u32, self.level as u32, 0]
    }
}

/// A picture at increasing levels of blur.
pub(super) struct ScaleSpace {
    width: usize,
    height: usize,
    /// Level after level, each in row-major order.
    pub(super) levels: Vec<f32>,
}

impl ScaleSpace {
    pub(super) fn generate(width: usize, height: usize, seed: u64) -> Self {
        let sigma = |level: usize| FIRST_SIGMA * libm::exp2(level as f64 / SCALES as f64);
        let mut level = picture::plane(width, height, seed, 0);
        let mut levels = Vec::with_capacity(LEVELS * level.len());
        let mut blurred = 0.0;
        for number in 0..LEVELS {
            let sigma = sigma(number);
            level = blur(&level, width, libm::sqrt(sigma * sigma - blurred * blurred));
            levels.extend_from_slice(&level);
            blurred = sigma;
        }
        Self {
            width,
            height,
            levels,
        }
    }

    fn layer(&self) -> usize {
        self.width * self.height
    }

    /// Number of pixels of all scales.
    pub(super) fn strength_count(&self) -> usize {
        SCALES * self.layer()
    }

    /// Strength of each pixel of each scale as an extremum; zero for most.
    pub(super) fn strengths(&self) -> Vec<f32> {
        let layer = self.layer();
        let strength = |pixel: usize| {
            let (x, y) = (pixel % self.width, pixel / self.width % self.height);
            let inside = |at: usize, extent: usize| (1..extent - 1).contains(&at);
            let at = layer + pixel;
            let value = self.difference(at);
            let found = inside(x, self.width)
                && inside(y, self.height)
                && value.abs() > THRESHOLD
                && self.is_extremum(at, value)
                && !self.is_edge(at, value);
            if found { value.abs() } else { 0.0 }
        };
        (0..self.strength_count()).map(strength).collect()
    }

    fn difference(&self, at: usize) -> f32 {
        self.levels[at + self.layer()] - self.levels[at]
    }

    fn is_extremum(&self, at: usize, value: f32) -> bool {
        let others = (0..27).filter(|&i| i != 13).map(|i| {
            let (scale, y, x) = (i / 9, i / 3 % 3, i % 3);
            let centre = self.layer() + self.width + 1;
            self.difference(at + scale * self.layer() + y * self.width + x - centre)
        });
        let (mut highest, mut lowest) = (true, true);
        for other in others {
            highest &= value > other;
            lowest &= value < other;
            if !highest && !lowest {
                return false;
            }
        }
        true
    }

    fn is_edge(&self, at: usize, value: f32) -> bool {
        let (width, d) = (self.width, |at: usize| self.difference(at));
        let xx = d(at - 1) + d(at + 1) - 2.0 * value;
        let yy = d(at - width) + d(at + width) - 2.0 * value;
        let (below, above) = (at + width, at - width);
        let xy = 0.25 * (d(below + 1) - d(below - 1) - d(above + 1) + d(above - 1));
        let (trace, determinant) = (xx + yy, xx * yy - xy * xy);
        determinant <= 0.0 || trace * trace * 10.0 >= 121.0 * determinant
    }

    /// The strongest pixels in order of place, or places on a grid if there are too few.
    pub(super) fn strongest(&self, strength: &[f32], count: usize) -> Vec<Keypoint> {
        let mut found: Vec<usize> = (0..strength.len()).filter(|&i| strength[i] > 0.0).collect();
        found.sort_by(|&a, &b| strength[b].total_cmp(&strength[a]).then(a.cmp(&b)));
        found.truncate(count);
        let missing = count - found.len();
        found.extend((0..missing).map(|i| i * self.strength_count() / count));
        found.sort_unstable();
        found.iter().map(|&pixel| self.keypoint(pixel)).collect()
    }

    fn keypoint(&self, pixel: usize) -> Keypoint {
        Keypoint {
            x: pixel % self.width,
            y: pixel / self.width % self.height,
            level: pixel / self.layer() + 1,
        }
    }

    /// Dominant orientation and descriptor, with the PTX's operations.
    pub(super) fn describe(&self, point: &Keypoint) -> (u32, [f32; BINS]) {
        let samples: [Sample; WINDOW * WINDOW] = std::array::from_fn(Sample::new);
        let mut histogram = [0i32; ORIENTATIONS];
        for sample in &samples {
            let (magnitude, angle) = self.gradient(point, sample.x.floor(), sample.y.floor());
            histogram[bin(angle, ORIENTATIONS)] += fixed(magnitude, sample.weight);
        }
        let mut dominant = 0;
        for i in 1..ORIENTATIONS {
            if histogram[i] > histogram[dominant] {
                dominant = i;
            }
        }
        let [cosine, sine] = turns().map(|values| values[dominant]);
        let mut bins = [0i32; BINS];
        for (number, sample) in samples.iter().enumerate() {
            let x = cosine * sample.x - sine * sample.y;
            let y = sample.y.mul_add(cosine, sine * sample.x);
            let (magnitude, angle) = self.gradient(point, x.floor(), y.floor());
            let turn = -(2.0 * PI / ORIENTATIONS as f32);
            let relative = (dominant as f32 + 0.5).mul_add(turn, angle);
            let relative = if relative < 0.0 {
                relative + 2.0 * PI
            } else {
                relative
            };
            let (row, column) = (number / WINDOW, number % WINDOW);
            let cell = row / (WINDOW / CELLS) * CELLS + column / (WINDOW / CELLS);
            bins[cell * DIRECTIONS + bin(relative, DIRECTIONS)] += fixed(magnitude, sample.weight);
        }
        (dominant as u32, normalised(&bins))
    }

    /// Magnitude and angle of the gradient at an offset from a keypoint.
    fn gradient(&self, point: &Keypoint, dx: f32, dy: f32) -> (f32, f32) {
        let place = |at: usize, offset: f32, extent: usize| {
            (at as i32 + offset as i32).clamp(1, extent as i32 - 2) as usize
        };
        let (x, y) = (
            place(point.x, dx, self.width),
            place(point.y, dy, self.height),
        );
        let at = point.level * self.layer() + y * self.width + x;
        let dx = self.levels[at + 1] - self.levels[at - 1];
        let dy = self.levels[at + self.width] - self.levels[at - self.width];
        (dx.mul_add(dx, dy * dy).sqrt(), angle(dy, dx))
    }
}

/// A pixel of the window around a keypoint, with offset and weight.
struct Sample {
    x: f32,
    y: f32,
    weight: f32,
}

impl Sample {
    fn new(number: usize) -> Self {
        let offset = |i: usize| i as f32 - (WINDOW - 1) as f32 * 0.5;
        let (x, y) = (offset(number % WINDOW), offset(number / WINDOW));
        let distance = x.mul_add(x, y * y) * (-1.0 / (WINDOW * WINDOW / 2) as f32);
        Self {
            x,
            y,
            weight: ex2(distance * std::f32::consts::LOG2_E),
        }
    }
}

fn fixed(magnitude: f32, weight: f32) -> i32 {
    (weight * magnitude * FIXED) as i32
}

fn bin(angle: f32, bins: usize) -> usize {
    ((angle * (bins as f32 / (2.0 * PI))) as usize).min(bins - 1)
}

/// The kernel's polynomial for the angle of a vector in [0, 2 pi).
fn angle(y: f32, x: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let most = ax.max(ay);
    let a = if most > 0.0 { ax.min(ay) / most } else { 0.0 };
    let s = a * a;
    let inner = s.mul_add(-0.046_496_473, 0.159_314_22);
    let r = a.mul_add(s * s.mul_add(inner, -0.327_622_77), a);
    let r = if ay > ax { 0.5 * PI - r } else { r };
    let r = if x < 0.0 { PI - r } else { r };
    if y < 0.0 { 2.0 * PI - r } else { r }
}

fn normalised(bins: &[i32; BINS]) -> [f32; BINS] {
    let values = bins.map(|bin| bin as f32 * (1.0 / FIXED));
    let mut squares = values.map(|value| value * value);
    let mut half = BINS / 2;
    while half > 0 {
        (0..half).for_each(|i| squares[i] += squares[i + half]);
        half /= 2;
    }
    let length = squares[0].sqrt();
    values.map(|value| {
        if length > 0.0 {
            (value / length).min(0.2)
        } else {
            0.0
        }
    })
}

/// A Gaussian blur by rows and columns; beyond the border the image repeats its last pixels.
fn blur(image: &[f32], width: usize, sigma: f64) -> Vec<f32> {
    let radius = (2.0 * sigma).ceil() as usize;
    let bell = |i: usize| libm::exp(-((i * i) as f64) / (2.0 * sigma * sigma));
    let total = bell(0) + 2.0 * (1..=radius).map(bell).sum::<f64>();
    let weights: Vec<f32> = (0..=radius).map(|i| (bell(i) / total) as f32).collect();
    let mut rows = Vec::with_capacity(image.len());
    let mut padded = Vec::new();
    for row in image.chunks_exact(width) {
        padded.clear();
        padded.extend(std::iter::repeat_n(row[0], radius));
        padded.extend_from_slice(row);
        padded.extend(std::iter::repeat_n(row[width - 1], radius));
        rows.extend((0..width).map(|x| {
            let sides = (1..=radius)
                .map(|i| weights[i] * (padded[x + radius - i] + padded[x + radius + i]));
            sides.fold(weights[0] * padded[x + radius], |sum, side| sum + side)
        }));
    }
    let height = image.len() / width;
    let mut result = Vec::with_capacity(image.len());
    let row = |y: usize| &rows[y * width..][..width];
    for y in 0..height {
        let start = result.len();
        result.extend(row(y).iter().map(|value| weights[0] * value));
        for (i, weight) in weights.iter().enumerate().skip(1) {
            let (above, below) = (row(y.saturating_sub(i)), row((y + i).min(height - 1)));
            let sums = above.iter().zip(below);
            for (sum, (above, below)) in result[start..].iter_mut().zip(sums) {
                *sum += weight * (above + below);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_those_of_the_arc_tangent() {
        for i in 0..360 {
            let exact = f64::from(i).to_radians();
            let got = angle(libm::sin(exact) as f32, libm::cos(exact) as f32);
            let error = (f64::from(got) - exact).abs();
            assert!(error.min(TAU - error) < 0.002, "{i}: {got}");
        }
    }

    #[test]
    fn a_blob_is_found_where_it_lies() {
        let (width, height) = (40, 36);
        let mut space = ScaleSpace::generate(width, height, 1);
        space.levels.clear();
        for level in 0..LEVELS {
            let sigma = FIRST_SIGMA * libm::exp2(level as f64 / SCALES as f64);
            let mut image = vec![0.0; width * height];
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                image[(17 + dy) * width + 20 + dx] = 4.0;
            }
            space.levels.extend(blur(&image, width, sigma));
        }
        // A point is not a strict extremum at the smallest scale, but its strongest response is
        // there.
        let strongest = (0..width * height)
            .max_by(|&a, &b| {
                let of = |at: usize| space.difference(at).abs();
                of(a).total_cmp(&of(b))
            })
            .unwrap();
        assert!((20..=21).contains(&(strongest % width)));
        assert!((17..=18).contains(&(strongest / width)));
    }

    #[test]
    fn pictures_have_features_and_descriptors_have_length_one_at_most() {
        let space = ScaleSpace::generate(180, 150, 0);
        let strengths = space.strengths();
        let found = strengths.iter().filter(|&&strength| strength > 0.0).count();
        assert!(found > 20, "{found}");
        let points = space.strongest(&strengths, 5);
        for point in &points {
            let (orientation, bins) = space.describe(point);
            let length: f32 = bins.iter().map(|bin| bin * bin).sum();
            assert!(orientation < ORIENTATIONS as u32 && (0.1..=1.001).contains(&length));
        }
    }

    #[test]
    fn places_on_a_grid_fill_up_what_is_missing() {
        let space = ScaleSpace::generate(20, 16, 0);
        let nothing = vec![0.0; space.strength_count()];
        assert_eq!(space.strongest(&nothing, 7).len(), 7);
    }
}
