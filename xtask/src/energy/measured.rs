//! `cargo xtask energy --measured`: the power of kernels beside that of a real Quadro GV100.
//!
//! Measured values are means of five measurements of Kandiah et al., "AccelWattch: A Power Modeling
//! Framework for Modern GPUs", MICRO 2021, as the Accel-Sim framework distributes them
//! (`hw_power_validation_volta.csv`, April 2022).

use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use warploom_config::{Base, resolve};
use warploom_energy::{energy_of, for_gpu};
use warploom_run::{Options, Session, Timed};
use warploom_workloads::{Size, Target};

const GPU: &str = "qv100-volta";

/// A measured kernel and the workload that stands for it.
struct Measured {
    /// Name of the benchmark, and of its kernel in the measurement.
    name: &'static str,
    watts: f64,
    workload: &'static str,
    /// Entry of the kernel.
    entry: &'static str,
    /// Core cycle at which the run is cut, where the whole launch takes long.
    max_cycles: Option<u64>,
    /// How the inputs differ from the measured ones.
    inputs: &'static str,
}

/// Core cycles after which long launches are cut.
const CUT: u64 = 100_000;
const SAME: &str = "the same size";

const fn measured(
    name: &'static str,
    watts: f64,
    (workload, entry): (&'static str, &'static str),
    max_cycles: Option<u64>,
    inputs: &'static str,
) -> Measured {
    Measured {
        name,
        watts,
        workload,
        entry,
        max_cycles,
        inputs,
    }
}

/// The measured kernels that are workloads, with Rodinia's, Parboil's and the CUDA samples' inputs.
const KERNELS: [Measured; 11] = [
    measured(
        "backprop_k1",
        219.7978,
        ("backprop", "layerforward"),
        None,
        SAME,
    ),
    measured(
        "backprop_k2",
        152.1182,
        ("backprop", "adjust_weights"),
        None,
        SAME,
    ),
    measured("btree_k2", 156.9762, ("btree", "findK"), None, SAME),
    measured(
        "histogram_k1",
        194.5482,
        ("histogram", "histogram64"),
        Some(CUT),
        SAME,
    ),
    measured(
        "hotspot_k1",
        229.5534,
        ("hotspot", "calculate_temp"),
        None,
        SAME,
    ),
    measured(
        "kmeans_k1",
        151.8626,
        ("kmeans", "kmeansPoint"),
        Some(CUT),
        "494,020 points instead of 819,200",
    ),
    measured(
        "mergeSort_k1",
        172.8844,
        ("mergesort", "sort_tiles"),
        Some(CUT),
        SAME,
    ),
    measured(
        "mergeSort_k2",
        201.3368,
        ("mergesort", "merge_intervals"),
        Some(CUT),
        SAME,
    ),
    measured(
        "parboil_sad_k1",
        142.4556,
        ("sad", "mb_sad_calc"),
        None,
        "176 x 144 pixels; the measured one writes 81 times as many sectors",
    ),
    measured(
        "parboil_sgemm_k1",
        217.4926,
        ("sgemm", "sgemm_nt"),
        Some(CUT),
        SAME,
    ),
    measured(
        "pathfinder_k1",
        152.5638,
        ("pathfinder", "dynproc"),
        None,
        SAME,
    ),
];

/// Mean power of a kernel, in all and by component, in watts.
struct Power {
    watts: f64,
    parts: Vec<(String, f64)>,
}

/// The table of all kernels.
pub(super) fn table() -> Result<String> {
    let mut text = String::from(
        "\n| kernel | measured, W | here, W | difference | largest parts here | inputs |\n\
         |---|--:|--:|--:|---|---|\n",
    );
    let mut errors = Vec::new();
    for kernel in &KERNELS {
        let power = measure(kernel)?;
        let error = power.watts / kernel.watts - 1.0;
        errors.push(error);
        let _ = writeln!(
            text,
            "| `{}` ({}) | {:.1} | {:.1} | {:+.1} % | {} | {} |",
            kernel.name,
            kernel.workload,
            kernel.watts,
            power.watts,
            100.0 * error,
            largest(&power),
            kernel.inputs
        );
    }
    Ok(text + &mean_errors(&errors))
}

/// Sentence about relative errors of powers.
pub(super) fn mean_errors(errors: &[f64]) -> String {
    let count = errors.len() as f64;
    let absolute: f64 = errors.iter().map(|error| error.abs()).sum::<f64>() / count;
    let signed: f64 = errors.iter().sum::<f64>() / count;
    format!(
        "\nMean absolute error of the {} kernels: {:.1} %; mean error {:+.1} %.\n",
        errors.len(),
        100.0 * absolute,
        100.0 * signed
    )
}

/// The four largest components.
fn largest(power: &Power) -> String {
    let mut parts = power.parts.clone();
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let shown = parts.iter().take(4);
    let shown = shown.map(|(part, watts)| format!("{part} {watts:.0}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn measure(kernel: &Measured) -> Result<Power> {
    let base = Base::Preset(GPU.to_owned());
    let spec = resolve(&base, &["gpu.kernel_launch_cycles=0".to_owned()])?;
    let energy = for_gpu(GPU).context("the GPU has no energy preset")?;
    let mut program = Target::resolve(kernel.workload)?.program(Size::Paper, 1);
    let options = Options {
        max_cycles: kernel.max_cycles,
        timed: Timed {
            kernels: vec![kernel.entry.to_owned()],
            ..Timed::default()
        },
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let run = session.run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
    ensure!(
        run.succeeded() || kernel.max_cycles.is_some(),
        "{} failed on {GPU}",
        kernel.workload
    );
    let energy = energy_of(&energy, &spec, &run.totals.figures);
    let energy = energy.with_context(|| format!("{} was not timed", kernel.name))?;
    let watts = |(part, joules): (&String, &f64)| (part.replace('_', " "), joules / energy.seconds);
    Ok(Power {
        watts: energy.watts,
        parts: energy.components.iter().map(watts).collect(),
    })
}
