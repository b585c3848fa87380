//! `cargo xtask energy`: writes the tables of `docs/energy.md`: the power of the reference kernels
//! beside the power that GPGPU-Sim's own power simulation reported, and with `--measured` the power
//! of kernels beside that of a real GPU. `--programs FOLDER` renews the same for CUDA programs.

mod measured;
mod programs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use warploom_config::{GpuSpec, preset};
use warploom_energy::{attach, for_gpu};
use warploom_run::{Options, Session};
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::{Outcome, RunReport};
use warploom_workloads::{Size, Target};

const PAGE: &str = "docs/energy.md";
/// Marks around the table of the reference kernels.
const MARKS: [&str; 2] = [
    "<!-- power: cargo xtask energy -->",
    "<!-- end of power -->",
];
/// Marks around the table of measured kernels.
const MEASURED: [&str; 2] = [
    "<!-- measured: cargo xtask energy --measured -->",
    "<!-- end of measured -->",
];

#[derive(clap::Args)]
pub struct Args {
    /// Renew the table of measured kernels instead of that of the reference kernels
    #[arg(long)]
    measured: bool,
    /// Renew the table of the measured kernels of CUDA programs. The folder has a folder for each,
    /// with the executable `program` and its inputs
    #[arg(long, value_name = "FOLDER", conflicts_with = "measured")]
    programs: Option<PathBuf>,
}
/// Marks around the table of measured kernels of programs.
const PROGRAMS: [&str; 2] = [
    "<!-- programs: cargo xtask energy --programs -->",
    "<!-- end of programs -->",
];

/// GPGPU-Sim's figures, which the tests of `energy` read too.
const RECORDED: &str = include_str!("../../crates/energy/tests/gpgpusim-4.2.json");

/// GPGPU-Sim's names of a kernel and of its configuration, and ours.
const KERNELS: [(&str, &str, Size); 5] = [
    ("vecadd", "ref-vecadd", Size::Paper),
    ("matmul_naive_128", "ref-matmul-naive", Size::Small),
    ("matmul_tiled_256", "ref-matmul-tiled", Size::Paper),
    ("gather", "ref-gather", Size::Paper),
    ("transpose_naive", "ref-transpose-naive", Size::Paper),
];

/// GPGPU-Sim's parts for decoders and schedulers.
const SCHEDULERS: &[&str] = &["IBP", "SCHEDP"];
/// Name of the row with GPGPU-Sim's power corrected by its own counts.
const ALL_DECODED: &str = "the same, all instructions counted";

/// Parts of the page: ours, and GPGPU-Sim's names of the same.
const PARTS: [(&str, &[&str], &[&str]); 18] = [
    ("decode, schedulers", &["decode", "scheduler"], SCHEDULERS),
    ("L1I", &["l1i"], &["ICP"]),
    ("L1D", &["l1d"], &["DCP"]),
    ("shared memory", &["shared_memory"], &["SHRDP"]),
    (
        "registers, collectors",
        &["register_file", "operand_collectors"],
        &["RFP"],
    ),
    ("integer units", &["int_units"], &["INTP"]),
    (
        "integer products",
        &["int_multiply"],
        &["INT_MUL24P", "INT_MUL32P", "INT_MULP", "INT_DIVP"],
    ),
    ("float units", &["fp_units"], &["FPUP"]),
    ("float products", &["fp_multiply"], &["FP_MULP", "FP_DIVP"]),
    (
        "double units",
        &["dp_units"],
        &["DPUP", "DP_MULP", "DP_DIVP"],
    ),
    ("pipeline", &["pipeline"], &["PIPEP"]),
    ("L2", &["l2"], &["L2CP"]),
    ("network", &["network"], &["NOCP"]),
    ("memory controllers", &["memory_controllers"], &["MCP"]),
    ("DRAM", &["dram"], &["DRAMP"]),
    ("idle SMs", &["idle_sms"], &["IDLE_COREP"]),
    ("static", &["static"], &["STATICP"]),
    ("constant", &["constant"], &["CONSTP"]),
];

/// A part is shown if it has this share of a kernel's power.
const SHOWN: f64 = 0.01;

/// Runs the kernels and renews a table of the page.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let (marks, text) = match &args.programs {
        Some(folder) => (PROGRAMS, programs::table(root, folder)?),
        None if args.measured => (MEASURED, measured::table()?),
        None => (MARKS, recorded_tables()?),
    };
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    fs::write(&path, replace(&page, marks, &text)?)?;
    writeln!(io::stdout(), "{}", path.display())?;
    Ok(())
}

/// The page with another text between two marks.
fn replace(page: &str, [start, end]: [&str; 2], text: &str) -> Result<String> {
    let (before, rest) = page.split_once(start).context("the page has no table")?;
    let (_, after) = rest.split_once(end).context("the table has no end")?;
    Ok(format!("{before}{start}\n{text}{end}{after}"))
}

/// The tables of the reference kernels, one for each configuration.
fn recorded_tables() -> Result<String> {
    let recorded: Value = serde_json::from_str(RECORDED)?;
    let tables = [
        ("SM2_GTX480", "gtx480-gpgpusim4"),
        ("SM7_QV100", "qv100-volta"),
    ];
    let tables = tables.map(|(config, gpu)| table(&recorded, config, gpu));
    tables.into_iter().collect()
}

fn table(recorded: &Value, config: &str, gpu: &str) -> Result<String> {
    let mut text =
        format!("\n{config} (`{gpu}`), watts: ours, GPGPU-Sim's, difference\n\n| part |");
    KERNELS.iter().for_each(|(name, ..)| {
        let _ = write!(text, " {name} |");
    });
    text += "\n|---|--:|--:|--:|--:|--:|\n";
    let runs = KERNELS.iter();
    let runs = runs.map(|(kernel, workload, size)| {
        let theirs = recorded["runs"].as_array().context("no runs")?;
        let is_it = |run: &&Value| run["config"] == config && run["kernel"] == *kernel;
        let theirs = theirs.iter().find(is_it).context("a run is missing")?;
        let energy = measure(workload, *size, gpu, sampled_share(theirs)?)?;
        Ok((energy, theirs))
    });
    let runs = runs.collect::<Result<Vec<Run>>>()?;
    for (name, ours, theirs) in PARTS {
        let wanted = |run: &Value| watts(run, theirs);
        text += &rows(name, &runs, ours, &wanted);
        if theirs == SCHEDULERS {
            text += &rows(ALL_DECODED, &runs, ours, &all_decoded);
        }
    }
    let total =
        |(energy, run): &Run| Some((energy.watts, run["average_power_w"].as_f64().unwrap_or(0.0)));
    text += &row("**total**", &runs.iter().map(total).collect::<Vec<_>>());
    Ok(text)
}

/// The energy of our run, and GPGPU-Sim's record of the same.
type Run<'a> = (EnergyReport, &'a Value);

/// The row of a part that has the share `SHOWN` of the power of any run.
fn rows(name: &str, runs: &[Run], ours: &[&str], theirs: &dyn Fn(&Value) -> f64) -> String {
    let cells = runs.iter().map(|(energy, run)| {
        let joules = ours.iter().filter_map(|part| energy.components.get(*part));
        let got = joules.sum::<f64>() / energy.seconds;
        let wanted = theirs(run);
        let shown = got.max(wanted) >= SHOWN * energy.watts;
        shown.then_some((got, wanted))
    });
    let cells: Vec<_> = cells.collect();
    if cells.iter().any(Option::is_some) {
        row(name, &cells)
    } else {
        String::new()
    }
}

/// GPGPU-Sim's power of some of its parts, in watts.
fn watts(run: &Value, parts: &[&str]) -> f64 {
    let watts = parts.iter().filter_map(|part| run["watts"][part].as_f64());
    watts.sum()
}

/// GPGPU-Sim's power of decoders and schedulers, if it counted every decoded instruction for the
/// schedulers. It counts fewer, and both counts are in its record.
fn all_decoded(run: &Value) -> f64 {
    let count = |name: &str| run["counters"][name].as_f64().unwrap_or(f64::NAN);
    watts(run, &["IBP"]) + watts(run, &["SCHEDP"]) * count("TOT_INST") / count("FP_INT")
}

/// Share of a run's cycles that GPGPU-Sim's samples cover.
fn sampled_share(run: &Value) -> Result<f64> {
    let field = |name: &str| run[name].as_f64().with_context(|| format!("no {name}"));
    Ok(field("samples")? * field("sample_cycles")? / field("cycles")?)
}

fn row(name: &str, cells: &[Option<(f64, f64)>]) -> String {
    let mut text = format!("| {name} |");
    for cell in cells {
        let _ = match cell {
            Some((ours, theirs)) => write!(
                text,
                " {ours:.2}, {theirs:.2}, {:+.1} % |",
                100.0 * (ours / theirs - 1.0)
            ),
            None => write!(text, " |"),
        };
    }
    text + "\n"
}

/// Energy of a workload in the first `share` of its cycles.
fn measure(workload: &str, size: Size, gpu: &str, share: f64) -> Result<EnergyReport> {
    let spec = preset(gpu)?;
    let energy = for_gpu(gpu).context("the GPU has no energy preset")?;
    let whole = simulate(workload, size, &spec, None)?;
    let cycles = (share * whole.totals.figures.cycles as f64) as u64;
    let mut part = simulate(workload, size, &spec, Some(cycles))?;
    attach(&energy, &spec, &mut part);
    part.totals.figures.energy.context("nothing was timed")
}

fn simulate(
    workload: &str,
    size: Size,
    spec: &GpuSpec,
    max_cycles: Option<u64>,
) -> Result<RunReport> {
    let mut program = Target::resolve(workload)?.program(size, 0);
    let options = Options {
        max_cycles,
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let result = session.run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
    let cut = matches!(result.outcome, Outcome::CycleLimit { .. });
    ensure!(result.succeeded() || cut, "{workload} failed");
    Ok(result)
}
