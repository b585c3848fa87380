//! Text of the page `docs/hardware-timing.md`.

use std::fmt::Write as _;

use warploom_config::GpuSpec;

use super::data::{Case, Published, Recorded};
use super::probe::{self, Unit};

/// Published figure with what the preset measures.
pub struct Compared {
    /// Published figure with its source.
    pub published: Published,
    /// Figure of the preset, in the unit of the probe.
    pub measured: f64,
    /// Core clock of the preset in MHz.
    pub core_mhz: f64,
}

impl Compared {
    /// Compares a published figure with what a machine measures.
    pub fn new(published: Published, measured: f64, gpu: &GpuSpec) -> Self {
        Self {
            published,
            measured,
            core_mhz: f64::from(gpu.clocks.core_khz) / 1000.0,
        }
    }

    /// Both figures in one unit: nanoseconds where the published cycles have a clock.
    fn in_one_unit(&self) -> (f64, f64, &'static str) {
        let Published {
            figure,
            clock_mhz,
            probe,
            ..
        } = &self.published;
        match clock_mhz {
            Some(clock) if probe.unit == Unit::Cycles => (
                figure / clock * 1000.0,
                self.measured / self.core_mhz * 1000.0,
                "ns",
            ),
            _ => (*figure, self.measured, probe.unit.name()),
        }
    }

    /// Error in per cent of the published figure.
    pub fn error(&self) -> f64 {
        let (published, measured, _) = self.in_one_unit();
        100.0 * (measured / published - 1.0)
    }
}

/// Mean of absolute values.
pub(super) fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1);
    values.map(f64::abs).sum::<f64>() / count as f64
}

/// Correlation coefficient of Pearson of the logarithms of pairs.
pub(super) fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let logs: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.ln(), b.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let product = |f: &dyn Fn(f64, f64) -> f64| {
        logs.iter()
            .map(|pair| f(pair.0 - a, pair.1 - b))
            .sum::<f64>()
    };
    let spread = (product(&|x, _| x * x) * product(&|_, y| y * y)).sqrt();
    (pairs.len() > 2 && spread > 0.0).then(|| product(&|x, y| x * y) / spread)
}

const SOURCES: &str = "\
- A: Accel-Sim's public configurations SM80_A100 and SM90_H100.
- B: gpu-benches of NHR@FAU (GitHub, te42kyfo/gpu-benches), on an A100-SXM4-40GB and an H200.
- F: FlashGPU-Sim (Yu and others, MICRO 2026; GitHub, FlashGPU-Sim/FlashGPU-Sim): reports of Nsight
  Compute, times of its notes on reproducing FlashAttention on an H100, and configurations that
  were calibrated on hardware.
- L: Luo and others, \"Benchmarking and Dissecting the Nvidia Hopper GPU Architecture\", 2024.
- M: Dewing, \"AI_kernels\" (GitHub, markdewing/AI_kernels), latencies.
- P: Shah and others, \"FlashAttention-3\", 2024 (arXiv 2407.08608): numbers above the bars of its
  figures, at a fixed clock of 1,830 MHz (its appendix C.1).
- W: NVIDIA's whitepapers of the architectures.
";

const INTRODUCTION: &str = "\
# Timing beside hardware

`cargo xtask correlate` writes this page: it runs small kernels on the presets of today's machines
and compares them with figures that others published for real GPUs, and with what a real GPU
measured (Real GPUs, below). Sources are at the end. Some of these figures were used to choose the
presets' values (`docs/machines.md`), so that their rows show that the parts add up, not that the
model predicts.

## Micro-benchmarks

| probe | what |
|---|---|
";

const COMPARISON: &str = "
Latencies that depend on other clocks than the core's are compared as times where the source gives
the clock. \"Within\" is what a test demands.

| machine | probe | published | measured | unit | error, % | within, % | source |
|---|---|--:|--:|---|--:|--:|---|
";

const NONE_MEASURED: &str = "\
`cargo xtask correlate --record` runs the same probes on the GPU of the machine on which it runs and
keeps the figures in `xtask/data/measured-timing.tsv`. None has been measured yet.
";

const ON_GPUS: &str = "\
Probes that `cargo xtask correlate --record` measured, and what the preset measures. A probe of
instructions runs two stretches of them and takes the difference, so that readings of the clock
cancel. Probes of bandwidth take 6 to 25 microseconds on the GPU, start and end included, by a timer
that advances in steps of 32 ns; why the preset's DRAM and its stores are so much faster in so short
a time is not known. The code of probes is warm on presets, as that of published loops. Presets
have some of these figures as values (`docs/machines.md`).

| machine | probe | hardware | preset | unit | error, % |
|---|---|--:|--:|---|--:|
";

const KERNELS: &str = "
## Kernels

Core cycles of whole kernels, launch included. Kernels were compiled from their public sources
outside of this project, without a GPU, and ran with the registers that `ptxas` reports. Random
inputs take the place of the captured ones. The cycles below were recorded at these runs; this page
does not repeat them.

";

/// Text about the kernels of each machine.
const MACHINES: [(&str, &str); 2] = [
    (
        "rtx5090-blackwell",
        "\
The hardware's cycles are `sm__cycles_elapsed` of reports of Nsight Compute, which empties the
caches: `gpu.copies_warm_l2 = false`. Triton 3.5.0 for `sm_120a` and nvcc compiled the kernels. The
vector addition and the products led to two settings of the preset, the channels of GDDR7 and
`sm.bulk_issue_cycles`, whose values are published ones. PTX ran in the order of its text; these
kernels were not run again since the preset orders it as an assembler does, begins with cold code
and counts machine instructions.
",
    ),
    ("h100-hopper", H100),
];

const H100: &str = "\
Attention forward, of 16-bit floats, on an H100 SXM5 whose clock the source states. Times are those
of Nsight Compute, and rates count 4 B H S S D operations. The cycles of a time are its product with
the clock, launch included; by the cycles of the same source, which are 3 to 6 % less, its rows
would be worse. The cases were chosen before the first was simulated, and all are here.

- FlashAttention-2 is its public source of June 2026 (commit d80a7710) with the CUTLASS that belongs
  to it, compiled by nvcc 13.5 to PTX for `sm_90a`; version 2.5.8, which the paper measured, has the
  same tiles. All runs have `gpu.copies_warm_l2 = false`. At 1,500 MHz L2 and the network have 2,250
  MHz, and the latencies of L2 and DRAM remain the same times.
- Triton's kernel is that of its tutorial on fused attention, compiled by Triton 3.0.0 for `sm_90`
  with four warps, three stages, and the fastest of the tutorial's tiles that were tried when the
  preset issued PTX in the order of its text: 128 x 32 for 128 columns, 128 x 64 for 64.
- The paper's sizes have eight to sixteen waves of blocks. Simulated were one wave and two, and the
  other waves count as the second. On FlashAttention-2 with 128 tokens, in the order of the text,
  four waves computed so are 6 % longer than when simulated (77,374 and 73,004 cycles).
- FlashAttention-3, for which F has 24 times at 1,500 MHz, was also chosen: four times, with 16
  sequences of 512 tokens. It has no row: its kernels waited for ever at a barrier at which a
  warp arrives twice and was counted once. They were not run again after that was mended.
";

const KERNEL_COLUMNS: &str = "
| kernel | published | hardware | simulated | error, % | settings | source |
|---|---|--:|--:|--:|---|---|
";

/// Figure that a real GPU measured, and its preset's.
pub struct OnGpu {
    pub recorded: Recorded,
    pub preset: f64,
}

/// Writes the page in Markdown. `launches` is the part on launches that real GPUs measured.
pub fn markdown(
    compared: &[Compared],
    cases: &[Case],
    recorded: &[OnGpu],
    launches: &str,
) -> String {
    let mut text = INTRODUCTION.to_owned();
    for probe in probe::all() {
        let _ = writeln!(text, "| `{}` | {} |", probe.name, probe.about);
    }
    text += COMPARISON;
    for row in compared {
        let (published, measured, unit) = row.in_one_unit();
        let Published {
            gpu,
            probe,
            within_percent,
            source,
            ..
        } = &row.published;
        let _ = writeln!(
            text,
            "| `{gpu}` | `{}` | {published:.1} | {measured:.1} | {unit} | {:+.1} | {within_percent} \
             | {source} |",
            probe.name,
            row.error()
        );
    }
    let errors = compared.iter().map(Compared::error);
    let _ = writeln!(
        text,
        "\nMean of the absolute errors: {:.1} % over {} figures.",
        mean(errors),
        compared.len()
    );
    kernels(&mut text, cases);
    of_gpus(&mut text, recorded);
    text += launches;
    let _ = write!(text, "\n## Sources\n\n{SOURCES}");
    text
}

fn kernels(text: &mut String, cases: &[Case]) {
    *text += KERNELS;
    for (name, about) in MACHINES {
        let of_machine: Vec<&Case> = cases.iter().filter(|case| case.gpu == name).collect();
        let _ = write!(text, "### `{name}`\n\n{about}{KERNEL_COLUMNS}");
        for case in &of_machine {
            let _ = writeln!(text, "{}", kernel_row(case));
        }
        let _ = writeln!(text, "\n{}\n", agreement(&of_machine));
        let explained = of_machine.iter().filter(|case| !case.mechanism.is_empty());
        for (at, case) in explained.enumerate() {
            if at == 0 {
                *text += "What larger errors are due to:\n\n| kernel | mechanism |\n|---|---|\n";
            }
            let _ = writeln!(text, "| {} | {} |", case.kernel, case.mechanism);
        }
        *text += "\n";
    }
    let all: Vec<&Case> = cases.iter().collect();
    let _ = writeln!(text, "### All machines\n\n{}", agreement(&all));
}

fn kernel_row(case: &Case) -> String {
    let settings = match case.settings.as_str() {
        "" => String::new(),
        settings => format!("`{settings}`"),
    };
    // A figure in cycles is in the next column.
    let published = match case.published.contains(' ') {
        true => case.published.as_str(),
        false => "",
    };
    format!(
        "| {} | {published} | {:.0} | {:.0} | {:+.1} | {settings} | {} |",
        case.kernel,
        case.hardware,
        case.simulated,
        case.error(),
        case.source
    )
}

/// Sentence on how near kernels are to the hardware.
fn agreement(cases: &[&Case]) -> String {
    let pairs: Vec<_> = cases.iter().map(|c| (c.hardware, c.simulated)).collect();
    let mut text = format!(
        "Mean of the absolute errors: {:.1} % over {} kernels",
        mean(cases.iter().map(|case| case.error())),
        cases.len()
    );
    if let Some(found) = correlation(&pairs) {
        let _ = write!(text, "; correlation of the logarithms: {found:.4}");
    }
    text + "."
}

fn of_gpus(text: &mut String, recorded: &[OnGpu]) {
    *text += "\n## Real GPUs\n\n";
    if recorded.is_empty() {
        *text += NONE_MEASURED;
        return;
    }
    *text += ON_GPUS;
    for OnGpu { recorded, preset } in recorded {
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {:.1} | {preset:.1} | {} | {:+.1} |",
            recorded.gpu,
            recorded.probe.name,
            recorded.figure,
            recorded.probe.unit.name(),
            100.0 * (preset / recorded.figure - 1.0)
        );
    }
    let errors = recorded
        .iter()
        .map(|row| 100.0 * (row.preset / row.recorded.figure - 1.0));
    let _ = writeln!(
        text,
        "\nMean of the absolute errors: {:.1} % over {} figures.",
        mean(errors),
        recorded.len()
    );
}

#[cfg(test)]
mod tests {
    use super::correlation;

    #[test]
    fn a_constant_factor_correlates_completely() {
        let found = correlation(&[(1.0, 2.0), (10.0, 20.0), (100.0, 200.0)]);
        assert!(
            found.is_some_and(|found| (found - 1.0).abs() < 1e-12),
            "{found:?}"
        );
        let apart = correlation(&[(1.0, 100.0), (10.0, 10.0), (100.0, 1.0)]);
        assert!(
            apart.is_some_and(|found| (found + 1.0).abs() < 1e-12),
            "{apart:?}"
        );
        assert_eq!(correlation(&[(1.0, 2.0), (3.0, 4.0)]), None, "too few");
    }
}
