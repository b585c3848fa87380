//! A video of a moving disk, and the filter that follows it (Arulampalam et al., IEEE Transactions
//! on Signal Processing 50(2), 2002).

use warploom_base::Rng;

/// Brightness of background and object.
const BACKGROUND: i32 = 100;
const OBJECT: i32 = 228;
const NOISE: f64 = 5.0;
const RADIUS: i32 = 5;
/// Movement of the object per frame.
const STEP: (f64, f64) = (1.0, -2.0);
/// Standard deviation of the particles' steps.
const SPREAD: (f64, f64) = (5.0, 2.0);

/// A video of frames with `side` x `side` pixels.
pub(super) struct Video {
    side: i32,
    /// Pixels by frame, then in row-major order.
    pixels: Vec<i32>,
}

impl Video {
    pub(super) fn generate(side: usize, frames: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut pixels = Vec::with_capacity(frames * side * side);
        let half = side as i32 / 2;
        for frame in 0..frames as i32 {
            let moves = (frame - 1).max(0);
            let (x, y) = (half + moves, half - 2 * moves);
            for at in 0..(side * side) as i32 {
                let (dx, dy) = (at % side as i32 - x, at / side as i32 - y);
                let inside = dx * dx + dy * dy < RADIUS * RADIUS;
                let brightness = if inside { OBJECT } else { BACKGROUND };
                pixels.push(brightness + (NOISE * rng.normal_f64()) as i32);
            }
        }
        Self {
            side: side as i32,
            pixels,
        }
    }

    /// Log-likelihood ratio per pixel of the object against the background, for a disk around a
    /// place. Places outside the frame use the nearest pixels.
    fn likelihood(&self, frame: usize, x: f64, y: f64) -> f64 {
        let first = frame * (self.side * self.side) as usize;
        let inside = |at: i32| at.clamp(0, self.side - 1);
        let square = |difference: i32| f64::from(difference * difference);
        let (mut sum, mut pixels) = (0.0, 0.0);
        for (dx, dy) in disk() {
            let column = inside(x as i32 + dx);
            let row = inside(y as i32 + dy);
            let pixel = self.pixels[first + (row * self.side + column) as usize];
            sum += (square(pixel - BACKGROUND) - square(pixel - OBJECT)) / 50.0;
            pixels += 1.0;
        }
        sum / pixels
    }
}

/// Offsets of a disk's pixels.
fn disk() -> impl Iterator<Item = (i32, i32)> {
    let range = 1 - RADIUS..RADIUS;
    let all = range
        .clone()
        .flat_map(move |y| range.clone().map(move |x| (x, y)));
    all.filter(|(x, y)| x * x + y * y < RADIUS * RADIUS)
}

/// Input of the resampling.
pub(super) struct Marks {
    /// Cumulative weights of the particles, rising to 1.
    pub(super) cumulative: Vec<f64>,
    /// Evenly spaced marks from a random start.
    pub(super) marks: Vec<f64>,
}

/// Particles, which have equal weights between frames.
pub(super) struct Filter {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    rng: Rng,
}

impl Filter {
    /// Creates a filter with all particles in the middle of the frame.
    pub(super) fn new(side: usize, particles: usize, seed: u64) -> Self {
        let middle = vec![side as f64 / 2.0; particles];
        Self {
            x: middle.clone(),
            y: middle,
            rng: Rng::new(!seed),
        }
    }

    /// Moves the particles, weights them by a frame and draws the marks.
    pub(super) fn advance(&mut self, video: &Video, frame: usize) -> Marks {
        let Self { x, y, rng } = self;
        for (x, y) in x.iter_mut().zip(y.iter_mut()) {
            *x += STEP.0 + SPREAD.0 * rng.normal_f64();
            *y += STEP.1 + SPREAD.1 * rng.normal_f64();
        }
        let places = x.iter().zip(y.iter());
        let weights = places.map(|(&x, &y)| libm::exp(video.likelihood(frame, x, y)));
        let mut cumulative: Vec<f64> = weights.collect();
        let mut sum = 0.0;
        for weight in &mut cumulative {
            sum += *weight;
            *weight = sum;
        }
        cumulative.iter_mut().for_each(|weight| *weight /= sum);
        let count = x.len() as f64;
        let first = rng.unit_f64() / count;
        let marks = (0..x.len()).map(|i| first + i as f64 / count).collect();
        Marks { cumulative, marks }
    }

    /// Computes the kernel's result.
    pub(super) fn resample(&mut self, marks: &Marks) {
        let reached = |mark: &f64| marks.cumulative.partition_point(|weight| weight < mark);
        let last = self.x.len() - 1;
        let chosen: Vec<_> = marks
            .marks
            .iter()
            .map(|mark| reached(mark).min(last))
            .collect();
        self.x = chosen.iter().map(|&i| self.x[i]).collect();
        self.y = chosen.iter().map(|&i| self.y[i]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_follows_the_object() {
        let video = Video::generate(128, 10, 7);
        let mut filter = Filter::new(128, 1000, 7);
        for frame in 1..10 {
            let marks = filter.advance(&video, frame);
            filter.resample(&marks);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let error = (mean(&filter.x) - 72.0).hypot(mean(&filter.y) - 48.0);
        assert!(error < 3.0, "off by {error}");
    }

    #[test]
    fn likelihood_is_greatest_on_the_object() {
        let video = Video::generate(128, 3, 1);
        assert!(video.likelihood(2, 65.0, 62.0) > 0.0);
        assert!(video.likelihood(2, 20.0, 100.0) < 0.0);
    }
}
