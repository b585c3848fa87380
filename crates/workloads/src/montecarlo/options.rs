//! Options, their payoffs, and normal samples: reference values in double precision.

use warploom_base::Rng;

/// A European call option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CallOption {
    pub spot: f32,
    pub strike: f32,
    pub years: f32,
    pub rate: f32,
    pub volatility: f32,
}

/// Options around the money, with the sample's ranges.
pub(super) fn generate(count: usize, seed: u64) -> Vec<CallOption> {
    let mut rng = Rng::new(seed);
    let mut between = |low: f32, high: f32| low + (high - low) * rng.unit_f32();
    let option = |_| CallOption {
        spot: between(5.0, 50.0),
        strike: between(10.0, 25.0),
        years: between(1.0, 5.0),
        rate: 0.06,
        volatility: 0.10,
    };
    (0..count).map(option).collect()
}

impl CallOption {
    /// Spot, strike, drift and deviation as in the kernel's table.
    pub(super) fn constants(&self) -> [f32; 4] {
        let [years, rate, volatility] = [self.years, self.rate, self.volatility].map(f64::from);
        let drift = (rate - 0.5 * volatility * volatility) * years;
        let deviation = volatility * libm::sqrt(years);
        [self.spot, self.strike, drift as f32, deviation as f32]
    }

    /// Sum and sum of squares of the payoffs over all samples.
    pub(super) fn sums(&self, samples: &[f32]) -> (f64, f64) {
        let [spot, strike, drift, deviation] = self.constants().map(f64::from);
        let payoff = |sample: &f32| {
            let price = spot * libm::exp(drift + deviation * f64::from(*sample));
            (price - strike).max(0.0)
        };
        let add = |(sum, squares), gain: f64| (sum + gain, squares + gain * gain);
        samples.iter().map(payoff).fold((0.0, 0.0), add)
    }
}

/// Quantiles of the normal distribution at `1 / (count + 1)`, `2 / (count + 1)`..., after Moro. The
/// probabilities are those of the kernel, in single precision.
pub(super) fn inverse_normals(count: u32) -> Vec<f64> {
    let step = 1.0 / (count + 1) as f32;
    let probability = |i: u32| i as f32 * step;
    (1..=count)
        .map(|i| f64::from(probability(i)))
        .map(inverse_normal)
        .collect()
}

/// Moro's inverse normal distribution (B. Moro, "The Full Monte", Risk 8(2), 1995).
fn inverse_normal(probability: f64) -> f64 {
    const A: [f64; 4] = [
        2.50662823884,
        -18.61500062529,
        41.39119773534,
        -25.44106049637,
    ];
    const B: [f64; 5] = [
        1.0,
        -8.4735109309,
        23.08336743743,
        -21.06224101826,
        3.13082909833,
    ];
    const C: [f64; 9] = [
        0.337475482272615,
        0.976169019091719,
        0.160797971491821,
        2.76438810333863e-2,
        3.8405729373609e-3,
        3.951896511919e-4,
        3.21767881768e-5,
        2.888167364e-7,
        3.960315187e-7,
    ];
    let series = |coefficients: &[f64], z: f64| {
        let mut terms = coefficients.iter().rev();
        terms.by_ref().fold(0.0, |sum, c| sum * z + c)
    };
    let y = probability - 0.5;
    if y.abs() < 0.42 {
        return y * series(&A, y * y) / series(&B, y * y);
    }
    let tail = if y > 0.0 {
        1.0 - probability
    } else {
        probability
    };
    let x = series(&C, libm::log(-libm::log(tail)));
    if y > 0.0 { x } else { -x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_error_function() {
        for i in 1..1000 {
            let probability = f64::from(i) / 1000.0;
            let x = inverse_normal(probability);
            let back = 0.5 * libm::erfc(-x / libm::sqrt(2.0));
            // Moro states an error of 3e-9 in x.
            assert!((back - probability).abs() < 5e-9, "{probability}: {back}");
        }
    }

    #[test]
    fn a_price_is_near_the_closed_form() {
        let option = CallOption {
            spot: 20.0,
            strike: 18.0,
            years: 2.0,
            rate: 0.06,
            volatility: 0.10,
        };
        let samples: Vec<f32> = inverse_normals(1 << 14).iter().map(|x| *x as f32).collect();
        let (sum, squares) = option.sums(&samples);
        let price = libm::exp(-0.12) * sum / f64::from(1 << 14);
        // Black and Scholes: d1 = (ln(20/18) + 0.065 x 2) / (0.1 sqrt(2)).
        let deviation = 0.1 * libm::sqrt(2.0);
        let d1 = (libm::log(20.0 / 18.0) + 0.065 * 2.0) / deviation;
        let normal = |d: f64| 0.5 * libm::erfc(-d / libm::sqrt(2.0));
        let exact = 20.0 * normal(d1) - 18.0 * libm::exp(-0.12) * normal(d1 - deviation);
        assert!((price - exact).abs() < 2e-3, "{price} {exact}");
        assert!(squares > sum * sum / f64::from(1 << 14));
    }
}
