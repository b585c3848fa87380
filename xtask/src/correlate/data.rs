//! Published and recorded figures: tables of tab-separated columns below `xtask/data`.

use anyhow::{Context, Result, bail, ensure};

use super::probe::{Probe, find};

/// Published figure of a real GPU.
pub struct Published {
    /// Preset that stands for the GPU.
    pub gpu: String,
    /// Probe that measures the same.
    pub probe: &'static Probe,
    /// Figure, in the unit of the probe.
    pub figure: f64,
    /// Clock in MHz at which a latency in cycles was measured, where its time is compared.
    pub clock_mhz: Option<f64>,
    /// Per cent within which the preset must be.
    pub within_percent: f64,
    /// Letter of the source.
    pub source: String,
}

/// Kernel with the cycles that a real GPU took.
pub struct Case {
    /// Preset that stands for the GPU.
    pub gpu: String,
    /// Name of the kernel with its size.
    pub kernel: String,
    /// Figure as its source has it.
    pub published: String,
    /// Core cycles of the real GPU, computed from the figure.
    pub hardware: f64,
    /// Core cycles on the preset.
    pub simulated: f64,
    /// Settings of the run beside the preset.
    pub settings: String,
    /// Mechanism to which a large error is due; empty for a small one.
    pub mechanism: String,
    /// Letter of the source.
    pub source: String,
}

impl Case {
    /// Error in per cent of the hardware's cycles.
    pub fn error(&self) -> f64 {
        100.0 * (self.simulated / self.hardware - 1.0)
    }
}

/// Figure that `cargo xtask correlate --record` measured on a real GPU.
pub struct Recorded {
    /// Preset that stands for the GPU.
    pub gpu: String,
    /// Probe that measured it.
    pub probe: &'static Probe,
    /// Figure, in the unit of the probe.
    pub figure: f64,
}

/// Reads the published figures.
pub fn published(text: &str) -> Result<Vec<Published>> {
    rows(text, |cells: [&str; 7]| {
        let [gpu, name, figure, unit, clock, within, source] = cells;
        let probe = known(name)?;
        ensure!(unit == probe.unit.name(), "`{name}` is not in {unit}");
        Ok(Published {
            gpu: gpu.to_owned(),
            probe,
            figure: number(figure)?,
            clock_mhz: match clock {
                "-" => None,
                clock => Some(number(clock)?),
            },
            within_percent: number(within)?,
            source: source.to_owned(),
        })
    })
}

/// Reads the cycles of kernels.
pub fn cases(text: &str) -> Result<Vec<Case>> {
    rows(text, |cells: [&str; 7]| {
        let [
            gpu,
            kernel,
            hardware,
            simulated,
            settings,
            mechanism,
            source,
        ] = cells;
        let text = |cell: &str| cell.trim_start_matches('-').to_owned();
        Ok(Case {
            gpu: gpu.to_owned(),
            kernel: kernel.to_owned(),
            published: hardware.to_owned(),
            hardware: cycles(hardware)?,
            simulated: number(simulated)?,
            settings: text(settings),
            mechanism: text(mechanism),
            source: source.to_owned(),
        })
    })
}

/// Reads the figures of `--record`.
pub fn recorded(text: &str) -> Result<Vec<Recorded>> {
    rows(text, |[gpu, name, figure]: [&str; 3]| {
        Ok(Recorded {
            gpu: gpu.to_owned(),
            probe: known(name)?,
            figure: number(figure)?,
        })
    })
}

fn known(name: &str) -> Result<&'static Probe> {
    find(name).with_context(|| format!("no probe `{name}`"))
}

/// Core cycles that a published figure stands for: `N` cycles, `N us M MHz`, or
/// `N TFLOP/s W GFLOP M MHz` for a kernel with that much work.
fn cycles(figure: &str) -> Result<f64> {
    match figure.split_whitespace().collect::<Vec<_>>()[..] {
        [cycles] => number(cycles),
        [us, "us", mhz, "MHz"] => Ok(number(us)? * number(mhz)?),
        [rate, "TFLOP/s", work, "GFLOP", mhz, "MHz"] => {
            // GFLOP over TFLOP/s are milliseconds.
            Ok(number(work)? / number(rate)? * 1000.0 * number(mhz)?)
        }
        _ => bail!("`{figure}` is neither cycles, nor a time or a rate with a clock"),
    }
}

fn number(text: &str) -> Result<f64> {
    text.parse()
        .with_context(|| format!("`{text}` is not a number"))
}

/// Rows of `N` columns; lines that begin with `#` are comments.
pub fn rows<const N: usize, T>(text: &str, row: impl Fn([&str; N]) -> Result<T>) -> Result<Vec<T>> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let read = |(at, line): (usize, &str)| {
        let cells: Vec<&str> = line.split('\t').collect();
        match <[&str; N]>::try_from(cells) {
            Ok(cells) => row(cells).with_context(|| format!("line {}", at + 1)),
            Err(cells) => bail!("line {}: {} columns instead of {N}", at + 1, cells.len()),
        }
    };
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::{cases, published, recorded};

    #[test]
    fn mistakes_name_the_line() {
        let wrong = |text: &str| format!("{:#}", published(text).err().expect("a mistake"));
        assert!(wrong("# x\na\tb\n").contains("line 2: 2 columns instead of 7"));
        let unknown = "h100-hopper\tnothing\t1\tcycles\t-\t3\tB";
        assert!(wrong(unknown).contains("line 1: no probe `nothing`"));
        let unit = "h100-hopper\tl2-latency\t1\tGB/s\t-\t3\tB";
        assert!(wrong(unit).contains("`l2-latency` is not in GB/s"));
        assert!(recorded("h100-hopper\tl2-latency\tx").is_err());
    }

    #[test]
    fn an_error_is_relative_to_the_hardware() {
        let read = cases("h100-hopper\tk\t200\t150\t-\t-\tF").expect("a case");
        assert_eq!(read[0].error(), -25.0);
        assert!(read[0].settings.is_empty() && read[0].mechanism.is_empty());
    }

    #[test]
    fn times_and_rates_become_cycles() {
        let cycles = |figure: &str| super::cycles(figure).expect("a figure");
        assert_eq!(cycles("29642.5"), 29642.5);
        assert_eq!(cycles("120 us 1500 MHz"), 180_000.0);
        assert_eq!(cycles("500 TFLOP/s 50 GFLOP 1830 MHz"), 183_000.0);
        assert!(super::cycles("120 us").is_err() && super::cycles("500 TFLOP/s 50").is_err());
    }
}
