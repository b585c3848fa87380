//! The network on the host, and the results that the kernels must compute.

use warploom_base::Rng;

/// Number of hidden units.
pub(super) const HIDDEN: usize = 16;
/// Number of weights of an input unit: one for the bias of the hidden layer, which is never used,
/// and one for each hidden unit.
const ROW: usize = HIDDEN + 1;
/// Number of inputs that a block sums.
const GROUP: usize = 16;
const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
const TARGET: f32 = 0.1;

/// A perceptron with one output unit. Row 0 of the weights belongs to the bias.
#[derive(Clone)]
pub(super) struct Network {
    /// Values of the input units, the bias first.
    pub(super) input: Vec<f32>,
    /// Weights from input units (rows of [`ROW`]) to hidden units.
    pub(super) weights: Vec<f32>,
    /// Last changes of the weights.
    pub(super) changes: Vec<f32>,
    /// Weights from hidden units to the output, the bias first.
    output_weights: Vec<f32>,
}

/// Results of the first kernel.
pub(super) struct Forward {
    pub(super) partial_sums: Vec<f32>,
    /// In place of the weights: products, and their sums as the tree computes them.
    pub(super) products: Vec<f32>,
}

impl Network {
    /// A random network. Weights are scaled by the root of the number of inputs, so that hidden
    /// units do not saturate.
    pub(super) fn generate(inputs: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let scale = 4.0 / (inputs as f32).sqrt();
        let mut uniform = |count: usize, scale: f32| -> Vec<f32> {
            (0..count)
                .map(|_| scale * (2.0 * rng.unit_f32() - 1.0))
                .collect()
        };
        let weights = uniform((inputs + 1) * ROW, scale);
        let changes = uniform((inputs + 1) * ROW, 0.01 * scale);
        let output_weights = uniform(ROW, 1.0);
        let input = (0..=inputs)
            .map(|i| if i == 0 { 1.0 } else { rng.unit_f32() })
            .collect();
        Self {
            input,
            weights,
            changes,
            output_weights,
        }
    }

    /// Number of partial sums of the first kernel: one per hidden unit and block.
    pub(super) fn partial_sum_count(&self) -> usize {
        (self.input.len() - 1) / GROUP * HIDDEN
    }

    /// Products of inputs and weights, summed pairwise over groups of inputs.
    pub(super) fn forward(&self) -> Forward {
        let mut products = self.weights.clone();
        let mut partial_sums = vec![0.0; self.partial_sum_count()];
        for (group, sums) in partial_sums.chunks_exact_mut(HIDDEN).enumerate() {
            for (unit, sum) in sums.iter_mut().enumerate() {
                let at = |i: usize| (1 + group * GROUP + i) * ROW + unit + 1;
                let mut column: [f32; GROUP] = std::array::from_fn(|i| {
                    self.weights[at(i)] * self.input[1 + group * GROUP + i]
                });
                *sum = sum_in_place(&mut column);
                (0..GROUP).for_each(|i| products[at(i)] = column[i]);
            }
        }
        Forward {
            partial_sums,
            products,
        }
    }

    /// Errors of the hidden units (the bias first): forward through the output unit and back.
    pub(super) fn hidden_errors(&self, partial_sums: &[f32]) -> Vec<f32> {
        let mut hidden = [1.0; ROW];
        for unit in 1..ROW {
            let blocks = partial_sums[unit - 1..].iter().step_by(HIDDEN);
            hidden[unit] = sigmoid(blocks.fold(self.weights[unit], |sum, part| sum + part));
        }
        let terms = hidden.iter().zip(&self.output_weights);
        let output = sigmoid(terms.map(|(value, weight)| value * weight).sum());
        let output_error = output * (1.0 - output) * (TARGET - output);
        let back = hidden.iter().zip(&self.output_weights);
        back.map(|(value, weight)| value * (1.0 - value) * (output_error * weight))
            .collect()
    }

    /// The network after the second kernel: weights of hidden units are changed, those of the bias
    /// without an input.
    pub(super) fn adjusted(&self, hidden_errors: &[f32]) -> Self {
        let mut after = self.clone();
        let weights = after
            .weights
            .chunks_exact_mut(ROW)
            .zip(after.changes.chunks_exact_mut(ROW));
        for (row, (weights, changes)) in weights.enumerate() {
            for unit in 1..ROW {
                let inertia = MOMENTUM * changes[unit];
                changes[unit] = match row {
                    0 => hidden_errors[unit].mul_add(RATE, inertia),
                    _ => (RATE * hidden_errors[unit]).mul_add(self.input[row], inertia),
                };
                weights[unit] += changes[unit];
            }
        }
        after
    }
}

/// Sums by a tree whose inner nodes overwrite the values, as the kernel does in shared memory.
fn sum_in_place(values: &mut [f32; GROUP]) -> f32 {
    let mut half = 1;
    while half < GROUP {
        for i in (0..GROUP).step_by(2 * half) {
            values[i] += values[i + half];
        }
        half *= 2;
    }
    values[0]
}

/// The logistic function, with `libm`'s exponential so that all hosts agree.
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sums_agree_with_sums_in_double_precision() {
        let network = Network::generate(64, 1);
        let forward = network.forward();
        for (at, &sum) in forward.partial_sums.iter().enumerate() {
            let (group, unit) = (at / HIDDEN, at % HIDDEN);
            let term = |i: usize| {
                f64::from(network.input[i]) * f64::from(network.weights[i * ROW + unit + 1])
            };
            let exact: f64 = (1 + 16 * group..17 + 16 * group).map(term).sum();
            assert!((f64::from(sum) - exact).abs() < 16.0 * 4.0 * f64::from(f32::EPSILON));
        }
    }

    #[test]
    fn the_tree_keeps_sums_of_subtrees() {
        let mut values = std::array::from_fn(|i| i as f32);
        assert_eq!(sum_in_place(&mut values), 120.0);
        assert_eq!(values[8], (8..16).sum::<i32>() as f32);
        assert_eq!((values[6], values[7]), (13.0, 7.0));
    }

    #[test]
    fn the_bias_row_and_column_keep_their_products() {
        let network = Network::generate(32, 2);
        let products = network.forward().products;
        assert_eq!(products[..ROW], network.weights[..ROW]);
        assert!(
            products
                .chunks(ROW)
                .zip(network.weights.chunks(ROW))
                .all(|(p, w)| p[0] == w[0])
        );
    }

    #[test]
    fn a_step_brings_the_output_nearer_to_the_target() {
        let mut network = Network::generate(256, 3);
        network.changes.fill(0.0);
        let output = |network: &Network| {
            let mut values = vec![1.0];
            for unit in 1..ROW {
                let terms = network.input.iter().enumerate();
                let sum = terms
                    .map(|(i, value)| value * network.weights[i * ROW + unit])
                    .sum();
                values.push(sigmoid(sum));
            }
            let terms = values.iter().zip(&network.output_weights);
            sigmoid(terms.map(|(value, weight)| value * weight).sum())
        };
        let errors = network.hidden_errors(&network.forward().partial_sums);
        assert!(
            errors.iter().skip(1).all(|error| *error != 0.0),
            "units must not saturate"
        );
        let adjusted = network.adjusted(&errors);
        assert!((output(&adjusted) - TARGET).abs() < (output(&network) - TARGET).abs());
    }

    #[test]
    fn momentum_alone_repeats_a_share_of_the_last_change() {
        let network = Network::generate(16, 4);
        let adjusted = network.adjusted(&[0.0; ROW]);
        for (at, change) in adjusted.changes.iter().enumerate() {
            let factor = if at % ROW == 0 { 1.0 } else { MOMENTUM };
            assert_eq!(*change, factor * network.changes[at]);
        }
    }
}
