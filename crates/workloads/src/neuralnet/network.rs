//! The network, its inputs, and the reference of its layers in double precision.

use warploom_base::Rng;

/// Number of layers after the image.
pub(super) const LAYERS: usize = 4;
/// Side of an image.
const IMAGE: usize = 29;
/// Side of a window.
const WINDOW: usize = 5;
/// Numbers of maps of the convolutions, followed by their sides.
const MAPS: [usize; 2] = [6, 50];
const SIDES: [usize; 2] = [13, 5];
/// Number of neurons of the last layer.
const DIGITS: usize = 10;

/// Connections between a layer's inputs and neurons.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Each neuron has a window in all input maps; windows of neighbouring neurons are two pixels
    /// apart.
    Convolution {
        in_maps: usize,
        in_side: usize,
        maps: usize,
        side: usize,
    },
    /// Every neuron has all inputs.
    Full { inputs: usize, neurons: usize },
}

/// A layer with its weights; for every map or neuron the bias comes first.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    kind: Kind,
    pub weights: Vec<f32>,
}

/// Layers of the network, in order.
pub(super) struct Network {
    pub layers: [Layer; LAYERS],
}

impl Network {
    /// Generates random weights, scaled so that neurons are neither all saturated nor all near 0.
    pub(super) fn generate(hidden: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let convolution = |in_maps, in_side, at: usize| Kind::Convolution {
            in_maps,
            in_side,
            maps: MAPS[at],
            side: SIDES[at],
        };
        let kinds = [
            convolution(1, IMAGE, 0),
            convolution(MAPS[0], SIDES[0], 1),
            Kind::Full {
                inputs: MAPS[1] * SIDES[1] * SIDES[1],
                neurons: hidden,
            },
            Kind::Full {
                inputs: hidden,
                neurons: DIGITS,
            },
        ];
        let layers = kinds.map(|kind| {
            let (units, fan_in) = kind.units();
            let scale = 2.0 / (fan_in as f32).sqrt();
            let weight = |_| scale * (2.0 * rng.unit_f32() - 1.0);
            let weights = (0..units * (1 + fan_in)).map(weight).collect();
            Layer { kind, weights }
        });
        Self { layers }
    }
}

impl Kind {
    /// Number of maps or neurons with separate weights, and number of weights of each without the
    /// bias.
    fn units(self) -> (usize, usize) {
        match self {
            Self::Convolution { in_maps, maps, .. } => (maps, WINDOW * WINDOW * in_maps),
            Self::Full { inputs, neurons } => (neurons, inputs),
        }
    }
}

impl Layer {
    /// Number of inputs per image.
    pub(super) fn inputs(&self) -> usize {
        match self.kind {
            Kind::Convolution {
                in_maps, in_side, ..
            } => in_maps * in_side * in_side,
            Kind::Full { inputs, .. } => inputs,
        }
    }

    /// Number of outputs per image.
    pub(super) fn neurons(&self) -> usize {
        match self.kind {
            Kind::Convolution { maps, side, .. } => maps * side * side,
            Kind::Full { neurons, .. } => neurons,
        }
    }

    /// Outputs for all images, rounded to single precision.
    pub(super) fn apply(&self, inputs: &[f32]) -> Vec<f32> {
        let exact = self.apply_exactly(inputs);
        exact.into_iter().map(|value| value as f32).collect()
    }

    /// Outputs for all images in double precision.
    pub(super) fn apply_exactly(&self, inputs: &[f32]) -> Vec<f64> {
        let images = inputs.chunks(self.inputs());
        let neuron = |image, at| activate(self.sum(image, at));
        images
            .flat_map(|image| (0..self.neurons()).map(move |at| neuron(image, at)))
            .collect()
    }

    /// Sum of a neuron's bias and weighted inputs.
    fn sum(&self, image: &[f32], at: usize) -> f64 {
        let (_, fan_in) = self.kind.units();
        let weights_of = |unit: usize| &self.weights[unit * (1 + fan_in)..][..1 + fan_in];
        match self.kind {
            Kind::Full { .. } => weighted(weights_of(at), image.iter().copied()),
            Kind::Convolution {
                in_maps,
                in_side,
                side,
                ..
            } => {
                let (unit, place) = (at / (side * side), at % (side * side));
                let corner = 2 * (place / side) * in_side + 2 * (place % side);
                let pixel = |i: usize| corner + i / WINDOW * in_side + i % WINDOW;
                let window = (0..WINDOW * WINDOW).flat_map(|i| {
                    (0..in_maps).map(move |map| image[map * in_side * in_side + pixel(i)])
                });
                weighted(weights_of(unit), window)
            }
        }
    }
}

fn weighted(weights: &[f32], values: impl Iterator<Item = f32>) -> f64 {
    let products = weights[1..]
        .iter()
        .zip(values)
        .map(|(weight, value)| f64::from(*weight) * f64::from(value));
    f64::from(weights[0]) + products.sum::<f64>()
}

fn activate(sum: f64) -> f64 {
    f64::from(1.7159_f32) * libm::tanh(f64::from(0.666_666_7_f32) * sum)
}

/// Images of three strokes: values are 1 on a stroke and fall to -1 beside it.
pub(super) fn images(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed ^ 0x1a6e5);
    let mut pixels = Vec::with_capacity(count * IMAGE * IMAGE);
    for _ in 0..count {
        let strokes: [Stroke; 3] = std::array::from_fn(|_| Stroke::random(&mut rng));
        for at in 0..IMAGE * IMAGE {
            let place = [at % IMAGE, at / IMAGE].map(|x| x as f32);
            let squares = strokes.iter().map(|stroke| stroke.square_distance(place));
            let nearest = squares.fold(f32::INFINITY, f32::min);
            pixels.push(1.0 - (nearest / 2.0).min(2.0));
        }
    }
    pixels
}

/// A straight stroke between two points.
struct Stroke {
    from: [f32; 2],
    to: [f32; 2],
}

impl Stroke {
    fn random(rng: &mut Rng) -> Self {
        let mut point = || [4.0 + 20.0 * rng.unit_f32(), 4.0 + 20.0 * rng.unit_f32()];
        Self {
            from: point(),
            to: point(),
        }
    }

    /// Square of the distance from a point to the nearest point of the stroke.
    fn square_distance(&self, [x, y]: [f32; 2]) -> f32 {
        let [dx, dy] = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        let [px, py] = [x - self.from[0], y - self.from[1]];
        let along = (px * dx + py * dy) / (dx * dx + dy * dy).max(1e-6);
        let along = along.clamp(0.0, 1.0);
        let [ox, oy] = [px - along * dx, py - along * dy];
        ox * ox + oy * oy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_fit_together_and_weights_are_the_benchmarks() {
        let network = Network::generate(100, 1);
        let sizes: Vec<_> = network.layers.iter().map(|l| l.weights.len()).collect();
        // The numbers of weights are those of the benchmark's four files.
        assert_eq!(sizes, [156, 7550, 125_100, 1010]);
        for pair in network.layers.windows(2) {
            assert_eq!(pair[0].neurons(), pair[1].inputs());
        }
        assert_eq!(network.layers[0].inputs(), IMAGE * IMAGE);
    }

    #[test]
    fn a_convolution_takes_its_window() {
        let mut layer = Network::generate(10, 1).layers[0].clone();
        layer.weights.fill(0.0);
        // Map 2 uses only the third pixel in the second row of the window.
        layer.weights[2 * 26 + 1 + 7] = 0.5;
        let image: Vec<_> = (0..IMAGE * IMAGE).map(|i| i as f32 / 1000.0).collect();
        let outputs = layer.apply_exactly(&image);
        let at = |map: usize, x: usize, y: usize| outputs[(map * 13 + y) * 13 + x];
        assert_eq!(at(0, 3, 4), 0.0);
        let pixel = image[(2 * 4 + 1) * IMAGE + 2 * 3 + 2];
        assert_eq!(at(2, 3, 4), activate(0.5 * f64::from(pixel)));
    }

    #[test]
    fn neurons_differ_and_images_have_strokes_and_ground() {
        let images = images(3, 1);
        assert!(images.iter().all(|pixel| (-1.0..=1.0).contains(pixel)));
        let ink = images.iter().filter(|pixel| **pixel > 0.0).count();
        assert!((50..1000).contains(&ink), "{ink}");
        let network = Network::generate(100, 1);
        let outputs = network
            .layers
            .iter()
            .fold(images, |values, l| l.apply(&values));
        assert_eq!(outputs.len(), 30);
        let spread = outputs
            .iter()
            .fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!((0.1..1.7).contains(&spread), "{spread}");
    }
}
