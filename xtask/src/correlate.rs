//! `cargo xtask correlate`: compares the presets of today's machines with figures of real GPUs.
//!
//! Small kernels ([`probe`]) run on the simulator ([`simulated`]) and, with `--record`, on this
//! machine's GPU. Published figures and recorded ones are data of this crate ([`data`]). The page
//! `docs/hardware-timing.md` ([`page`]) shows both beside what the presets measure.

mod data;
mod kernels;
mod launches;
mod page;
mod probe;
mod replay;
mod simulated;
mod subject;
mod workloads;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use warploom_config::{Base, GpuSpec, preset, resolve};

use crate::hardware::driver::Gpu;
use data::{Case, Published, Recorded, cases, published, recorded};
use page::{Compared, OnGpu, markdown};
pub(crate) use probe::Job;
use subject::Subject;

const PAGE: &str = "docs/hardware-timing.md";
/// File with figures that others published.
const PUBLISHED: &str = "xtask/data/published-timing.tsv";
/// File with cycles of kernels that others published, and those of the presets.
const CASES: &str = "xtask/data/published-cases.tsv";
/// File with figures of GPUs that `--record` measured.
const MEASURED: &str = "xtask/data/measured-timing.tsv";
/// File with the counters of workloads' launches that `--record` measured.
const KERNELS: &str = "xtask/data/measured-kernels.tsv";
/// Files with the same figures and launches on the presets.
const SIMULATED_TIMING: &str = "xtask/data/simulated-timing.tsv";
const SIMULATED: &str = "xtask/data/simulated-kernels.tsv";
/// Folder for the files of the profiler.
const SCRATCH: &str = "target/correlate";
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
    /// Measure probes and workloads on the GPU of this machine first, and keep the figures
    #[arg(long)]
    record: bool,

    /// Only launch the workloads on the GPU, and list the launches for a profiler in this file
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    launch_only: Option<PathBuf>,

    /// Simulate the probes and launches that were measured on GPUs, and keep the figures
    #[arg(long, conflicts_with_all = ["record", "launch_only"])]
    simulate: bool,

    /// Print what this probe measures on the GPU
    #[arg(long, value_name = "NAME", conflicts_with_all = ["record", "launch_only", "simulate"])]
    probe: Option<String>,

    /// Only this workload or launch file, of both sizes or of one; with --simulate, print the
    /// figures. May be repeated
    #[arg(long, value_name = "NAME[:SIZE]")]
    workload: Vec<String>,

    /// Change a key of the preset, for a test of it; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "workload")]
    set: Vec<String>,

    /// Seconds after which no further workload starts
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    time_limit: u64,
}

/// All figures of the page.
struct Figures {
    compared: Vec<Compared>,
    cases: Vec<Case>,
    recorded: Vec<OnGpu>,
    /// Part of the page on launches that GPUs measured.
    launches: String,
}

/// Writes the page below the workspace at `root`.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let limit = Duration::from_secs(args.time_limit);
    if let Some(name) = &args.probe {
        return print_probe(name);
    }
    if let Some(list) = &args.launch_only {
        let subjects = Subject::all(root, &args.workload)?;
        return kernels::launch_all(&subjects, list, limit, |gpu| machine(known(gpu)?));
    }
    if args.record {
        record(args, root, limit)?;
        return Ok(());
    }
    if args.simulate && !args.workload.is_empty() {
        io::stdout().write_all(simulate(args, root)?.as_bytes())?;
        return Ok(());
    }
    if args.simulate {
        write(&root.join(SIMULATED_TIMING), &simulate_probes(root)?)?;
        write(&root.join(SIMULATED), &simulate(args, root)?)?;
    }
    let path = root.join(PAGE);
    fs::write(&path, figures(root)?.page())
        .with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(io::stdout(), "{PAGE}")?;
    Ok(())
}

impl Figures {
    fn page(&self) -> String {
        markdown(&self.compared, &self.cases, &self.recorded, &self.launches)
    }
}

/// Reads the data, and measures the probes of published figures on their presets.
fn figures(root: &Path) -> Result<Figures> {
    let text = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
    let published = published(&text(PUBLISHED)?).context(PUBLISHED)?;
    Ok(Figures {
        compared: published.into_iter().map(compare).collect::<Result<_>>()?,
        cases: cases(&text(CASES)?).context(CASES)?,
        // There are no files before the first recording.
        recorded: on_gpus(
            recorded(&text(MEASURED).unwrap_or_default()).context(MEASURED)?,
            &recorded(&text(SIMULATED_TIMING).unwrap_or_default()).context(SIMULATED_TIMING)?,
        )?,
        launches: launches::section(
            &kernels::measured(&text(KERNELS).unwrap_or_default()).context(KERNELS)?,
            &workloads::simulated(&text(SIMULATED).unwrap_or_default()).context(SIMULATED)?,
        ),
    })
}

/// Figures of GPUs beside those of their presets.
fn on_gpus(measured: Vec<Recorded>, simulated: &[Recorded]) -> Result<Vec<OnGpu>> {
    let beside = |recorded: Recorded| {
        let same =
            |row: &&Recorded| row.gpu == recorded.gpu && row.probe.name == recorded.probe.name;
        let preset = simulated.iter().find(same).map(|row| row.figure);
        let preset = preset.with_context(|| {
            let name = recorded.probe.name;
            format!("{SIMULATED_TIMING} has no `{name}`: run `cargo xtask correlate --simulate`")
        })?;
        Ok(OnGpu { recorded, preset })
    };
    measured.into_iter().map(beside).collect()
}

/// Measures the probes of GPUs' figures on the GPUs' presets.
fn simulate_probes(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join(MEASURED)).context(MEASURED)?;
    let mut simulated = String::new();
    for Recorded { gpu, probe, .. } in recorded(&text).context(MEASURED)? {
        let figure = simulated::measure(probe, &machine(&gpu)?)?;
        let figure = figure.with_context(|| format!("`{}` measured nothing", probe.name))?;
        simulated += &format!("{gpu}\t{}\t{figure:.2}\n", probe.name);
    }
    Ok(simulated)
}

/// Measures the probe of a published figure on the figure's preset.
fn compare(published: Published) -> Result<Compared> {
    let gpu = machine(&published.gpu)?;
    let name = published.probe.name;
    let measured = simulated::measure(published.probe, &gpu)?
        .with_context(|| format!("{}: `{name}` measured nothing", published.gpu))?;
    Ok(Compared::new(published, measured, &gpu))
}

/// Simulates the measured launches on the presets of their GPUs.
fn simulate(args: &Args, root: &Path) -> Result<String> {
    let path = root.join(KERNELS);
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read {}: `--record` writes it on a machine with a GPU",
            path.display()
        )
    })?;
    let measured = kernels::measured(&text).context(KERNELS)?;
    let subjects = Subject::all(root, &args.workload)?;
    let gpus: BTreeSet<&str> = measured.iter().map(|launch| launch.gpu.as_str()).collect();
    let mut text = workloads::COLUMNS.to_owned();
    for name in gpus {
        let gpu = resolve(&Base::Preset(name.to_owned()), &args.set)?;
        let of_gpu: Vec<_> = measured.iter().filter(|l| l.gpu == name).collect();
        text += &workloads::simulate(&gpu, &of_gpu, &subjects)?;
    }
    Ok(text)
}

fn machine(name: &str) -> Result<GpuSpec> {
    preset(name).map_err(|errors| anyhow::anyhow!("{errors}"))
}

/// Preset that stands for a GPU.
fn known(gpu: &Gpu) -> Result<&'static str> {
    let stands = |(part, name): &&(&str, &str)| {
        [part, name]
            .iter()
            .any(|word| gpu.description.contains(**word))
    };
    let names = NAMES.map(|(part, _)| part).join(", ");
    let found = NAMES.iter().find(stands);
    let (_, name) = found.with_context(|| {
        format!(
            "no preset stands for {}: only {names} have one",
            gpu.description
        )
    })?;
    Ok(name)
}

/// Runs probes and programs on this machine's GPU and replaces the figures of its preset. If only
/// some programs are wanted, the probes keep their figures.
fn record(args: &Args, root: &Path, limit: Duration) -> Result<()> {
    let gpu = Gpu::open()?;
    let name = known(&gpu)?;
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    if args.workload.is_empty() {
        write(&root.join(MEASURED), &probes(&gpu, name, &read(MEASURED))?)?;
    }
    drop(gpu);
    let folder = root.join(SCRATCH);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let new = kernels::record(name, &folder, limit, &args.workload)?;
    write(&root.join(KERNELS), &kernels::merged(&read(KERNELS), &new))
}

/// The figures of all GPUs, with new ones for a preset's.
fn probes(gpu: &Gpu, name: &str, old: &str) -> Result<String> {
    let others = |line: &&str| !line.starts_with(&format!("{name}\t")) && !line.contains(name);
    let mut text: String = old
        .lines()
        .filter(others)
        .map(|l| format!("{l}\n"))
        .collect();
    text += &format!("# {name}: {}\n", gpu.description);
    for probe in probe::all() {
        // A process of its own: a probe that the driver cannot take may end it.
        let mut command = Command::new(std::env::current_exe()?);
        let output = command
            .args(["correlate", "--probe", probe.name])
            .output()?;
        let figure = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            text += &format!("{name}\t{}\t{}\n", probe.name, figure.trim());
        } else {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().next().unwrap_or("the driver ended the process");
            writeln!(io::stderr(), "{}: {why}", probe.name)?;
        }
    }
    ensure!(
        recorded(&text).is_ok(),
        "the new figures cannot be read back"
    );
    Ok(text)
}

/// Measures a probe on this machine's GPU.
fn print_probe(name: &str) -> Result<()> {
    let probe = probe::find(name)
        .with_context(|| format!("no probe `{name}`: {PAGE} has a table of all"))?;
    let gpu = Gpu::open()?;
    let job = probe.job(machine(known(&gpu)?)?.gpu.sms);
    let results = gpu.machine()?.probe(&job)?;
    let figure = job.figure(probe.unit, &results);
    let figure = figure.with_context(|| format!("`{name}` took no time"))?;
    writeln!(io::stdout(), "{figure:.2}")?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
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
