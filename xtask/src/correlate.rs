//! `cargo xtask correlate`: compares the presets of today's machines with figures of real GPUs.
//!
//! Small kernels ([`probe`]) run on the simulator ([`simulated`]) and, with `--record`, on this
//! machine's GPU. Published figures and recorded ones are data of this crate ([`data`]). The page
//! `docs/hardware-timing.md` ([`page`]) shows both beside what the presets measure.

mod data;
mod page;
mod probe;
mod simulated;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use warploom_config::{GpuSpec, preset};

use crate::hardware::driver::Gpu;
use data::{Case, Published, Recorded, cases, published, recorded};
use page::{Compared, markdown};
pub(crate) use probe::Job;
use probe::PROBES;

const PAGE: &str = "docs/hardware-timing.md";
/// File with figures that others published.
const PUBLISHED: &str = "xtask/data/published-timing.tsv";
/// File with cycles of kernels that others published, and those of the presets.
const CASES: &str = "xtask/data/published-cases.tsv";
/// File with figures of GPUs that `--record` measured.
const MEASURED: &str = "xtask/data/measured-timing.tsv";
/// Part of a GPU's name, and the preset that stands for the GPU.
const NAMES: [(&str, &str); 4] = [
    ("A100", "a100-ampere"),
    ("H100", "h100-hopper"),
    ("H200", "h200-hopper"),
    ("RTX 5090", "rtx5090-blackwell"),
];

/// Settings of `cargo xtask correlate`.
#[derive(clap::Args)]
pub struct Args {
    /// Measure the probes on the GPU of this machine first, and keep the figures
    #[arg(long)]
    record: bool,
}

/// All figures of the page.
struct Figures {
    compared: Vec<Compared>,
    cases: Vec<Case>,
    recorded: Vec<Recorded>,
}

/// Writes the page below the workspace at `root`.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if args.record {
        record(root)?;
    }
    let path = root.join(PAGE);
    fs::write(&path, figures(root)?.page())
        .with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(io::stdout(), "{PAGE}")?;
    Ok(())
}

impl Figures {
    fn page(&self) -> String {
        markdown(&self.compared, &self.cases, &self.recorded)
    }
}

/// Reads the data, and measures the probes of published figures on their presets.
fn figures(root: &Path) -> Result<Figures> {
    let text = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
    let published = published(&text(PUBLISHED)?).context(PUBLISHED)?;
    Ok(Figures {
        compared: published.into_iter().map(compare).collect::<Result<_>>()?,
        cases: cases(&text(CASES)?).context(CASES)?,
        // There is no file before the first recording.
        recorded: recorded(&text(MEASURED).unwrap_or_default()).context(MEASURED)?,
    })
}

/// Measures the probe of a published figure on the figure's preset.
fn compare(published: Published) -> Result<Compared> {
    let gpu = machine(&published.gpu)?;
    let name = published.probe.name;
    let measured = simulated::measure(published.probe, &gpu)?
        .with_context(|| format!("{}: `{name}` measured nothing", published.gpu))?;
    Ok(Compared::new(published, measured, &gpu))
}

fn machine(name: &str) -> Result<GpuSpec> {
    preset(name).map_err(|errors| anyhow::anyhow!("{errors}"))
}

/// Runs the probes on this machine's GPU and replaces the figures of its preset.
fn record(root: &Path) -> Result<()> {
    let gpu = Gpu::open()?;
    let known = NAMES
        .iter()
        .find(|(part, _)| gpu.description.contains(part));
    let names = NAMES.map(|(part, _)| part).join(", ");
    let (_, name) = known.with_context(|| {
        format!(
            "no preset stands for {}: only {names} have one",
            gpu.description
        )
    })?;
    let sms = machine(name)?.gpu.sms;
    let path = root.join(MEASURED);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let others = |line: &&str| !line.starts_with(&format!("{name}\t")) && !line.contains(name);
    let mut text: String = old
        .lines()
        .filter(others)
        .map(|l| format!("{l}\n"))
        .collect();
    text += &format!("# {name}: {}\n", gpu.description);
    let mut machine = gpu.machine()?;
    for probe in PROBES {
        let job = probe.job(sms);
        match machine.probe(&job) {
            Ok(results) => {
                let figure = job.figure(probe.unit, &results);
                let figure = figure.with_context(|| format!("`{}` took no time", probe.name))?;
                text += &format!("{name}\t{}\t{figure:.2}\n", probe.name);
            }
            Err(error) => writeln!(io::stderr(), "{}: {error:#}", probe.name)?,
        }
    }
    ensure!(
        recorded(&text).is_ok(),
        "the new figures cannot be read back"
    );
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PAGE, compare, figures, published};
    use crate::root;

    /// Every preset is within what the data states, and the page states what it measures.
    #[test]
    fn presets_are_as_near_to_published_figures_as_stated() {
        let figures = figures(&root()).unwrap_or_else(|error| panic!("{error:#}"));
        let wrong = figures
            .compared
            .iter()
            .filter(|row| row.error().abs() > row.published.within_percent)
            .map(|row| {
                format!(
                    "{} {}: {:+.1} %",
                    row.published.gpu,
                    row.published.probe.name,
                    row.error()
                )
            });
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
        let large = figures
            .cases
            .iter()
            .filter(|case| case.error().abs() > 25.0);
        let unexplained = large.filter(|case| case.mechanism.is_empty());
        assert_eq!(unexplained.count(), 0, "a large error without a mechanism");
        let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
        assert!(
            page == figures.page(),
            "run `cargo xtask correlate`: {PAGE} is old"
        );
    }

    #[test]
    fn a_row_of_another_machine_is_refused() {
        let row = "no-such\tl2-latency\t1\tcycles\t-\t3\tB";
        let row = published(row).expect("a row").remove(0);
        assert!(compare(row).is_err());
    }
}
