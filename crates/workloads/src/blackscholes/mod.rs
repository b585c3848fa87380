//! `blackscholes`: prices of European options in closed form.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::{Tolerance, close};
use crate::info::{KernelInfo, LaunchShape, Request, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "blackscholes",
    suite: Suite::CudaSdk,
    sentence: "European options in closed form: five streams and special functions.",
    source: "CUDA SDK, sample BlackScholes; BLK in CRAT and Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: KERNEL,
        sentence: "Prices every 61,440th option in each thread, as call and as put.",
        entries: &[KERNEL],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "options4m",
            sentence: "At size paper the sample's 4,000,000 options, by 480 blocks of 128.",
            launches: |_| vec![SHAPE],
            program: |request| program(request, 4_000_000),
        },
        Variant {
            name: "options1m",
            sentence: "At size paper 1,000,000 options: an input of CRAT, Fig. 18.",
            launches: |_| vec![SHAPE],
            program: |request| program(request, 1_000_000),
        },
        Variant {
            name: "options2m",
            sentence: "At size paper 2,000,000 options: an input of CRAT, Fig. 18.",
            launches: |_| vec![SHAPE],
            program: |request| program(request, 2_000_000),
        },
        Variant {
            name: "options8m",
            sentence: "At size paper 8,000,000 options: an input of CRAT, Fig. 18.",
            launches: |_| vec![SHAPE],
            program: |request| program(request, 8_000_000),
        },
    ],
};

const KERNEL: &str = "black_scholes";
const SHAPE: LaunchShape = LaunchShape::once(KERNEL, Dim3::linear(480), Dim3::linear(128));
const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;
/// Permitted differences of prices; the notes derive them.
const TOLERANCE: Tolerance = Tolerance {
    relative: 1e-6,
    absolute: 2e-4,
};

/// Columns of a table of options.
struct Options {
    prices: Vec<f32>,
    strikes: Vec<f32>,
    years: Vec<f32>,
}

fn program(request: &Request, paper: usize) -> Box<dyn HostProgram> {
    let (count, seed) = (request.size.pick(61_441, 500_001, paper), request.seed);
    Sequence::boxed(move |device| plan(device, count, seed))
}

fn plan(device: &mut Device, count: usize, seed: u64) -> Result<Plan, HostError> {
    let options = Options::generate(count, seed);
    let module = load(device, &WORKLOAD)?;
    let calls_ptr = alloc_output::<f32>(device, count)?;
    let puts_ptr = alloc_output::<f32>(device, count)?;
    let mut args = vec![Arg::Pointer(calls_ptr), Arg::Pointer(puts_ptr)];
    for column in [&options.prices, &options.strikes, &options.years] {
        args.push(Arg::Pointer(device.alloc_slice(column)?));
    }
    args.extend([Arg::F32(RATE), Arg::F32(VOLATILITY), Arg::U32(count as u32)]);
    let launch = SHAPE.launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let (calls, puts) = options.reference();
        let check = |name, at, expected: &[f64]| -> Result<_, HostError> {
            let actual = device.output::<f32>(at, count)?;
            Ok(close(name, &actual, expected, TOLERANCE))
        };
        Ok(vec![
            check("calls", calls_ptr, &calls)?,
            check("puts", puts_ptr, &puts)?,
        ])
    }))
}

impl Options {
    /// Options in the sample's ranges: prices 5 to 30, strikes 1 to 100, 0.25 to 10 years.
    fn generate(count: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut column = |low: f32, high: f32| -> Vec<f32> {
            let value = |_| low + (high - low) * rng.unit_f32();
            (0..count).map(value).collect()
        };
        Self {
            prices: column(5.0, 30.0),
            strikes: column(1.0, 100.0),
            years: column(0.25, 10.0),
        }
    }

    /// Prices of calls and puts in double precision.
    fn reference(&self) -> (Vec<f64>, Vec<f64>) {
        let rows = self.prices.iter().zip(&self.strikes).zip(&self.years);
        let values = rows.map(|((price, strike), years)| {
            price_of(f64::from(*price), f64::from(*strike), f64::from(*years))
        });
        values.unzip()
    }
}

/// Prices of a call and a put of one option.
fn price_of(price: f64, strike: f64, years: f64) -> (f64, f64) {
    let (rate, volatility) = (f64::from(RATE), f64::from(VOLATILITY));
    let deviation = volatility * libm::sqrt(years);
    let drift = (rate + 0.5 * volatility * volatility) * years;
    let d1 = (libm::log(price / strike) + drift) / deviation;
    let (n1, n2) = (cumulative_normal(d1), cumulative_normal(d1 - deviation));
    let discounted = strike * libm::exp(-rate * years);
    let call = price * n1 - discounted * n2;
    (call, discounted * (1.0 - n2) - price * (1.0 - n1))
}

/// Abramowitz and Stegun 26.2.17, with an error of at most 7.5e-8.
fn cumulative_normal(d: f64) -> f64 {
    const A: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let series = A.iter().rev().fold(0.0, |sum, a| (sum + a) * k);
    let upper = 0.398_942_28 * libm::exp(-0.5 * d * d) * series;
    if d > 0.0 { 1.0 - upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_cumulative_normal_distribution() {
        for i in -60..=60 {
            let d = f64::from(i) / 10.0;
            let exact = 0.5 * libm::erfc(-d / libm::sqrt(2.0));
            assert!((cumulative_normal(d) - exact).abs() < 7.5e-8, "{d}");
        }
    }

    #[test]
    fn calls_and_puts_keep_parity() {
        let options = Options::generate(1000, 1);
        let (calls, puts) = options.reference();
        for i in 0..1000 {
            let [price, strike, years] =
                [&options.prices, &options.strikes, &options.years].map(|c| f64::from(c[i]));
            let forward = price - strike * libm::exp(-f64::from(RATE) * years);
            assert!((calls[i] - puts[i] - forward).abs() < 1e-12);
            // The price is within the bounds of no arbitrage, except for the series' error.
            assert!((forward.max(0.0) - 1e-4..price + 1e-4).contains(&calls[i]));
        }
    }
}
