//! The verb `warploom microbench`.

use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::output::{print, print_json, width};
use serde::Serialize;
use std::process::ExitCode;
use warploom_config::GpuSpec;
use warploom_diag::nearest;
use warploom_microbench::{Answer, Benchmark, Trouble, all, find, short};
use warploom_report::{listing, wrapped};

const EXAMPLES: &str = "\
Examples:
  warploom microbench                                  run all on the default GPU
  warploom microbench --gpu qv100-volta --explain      also show the arithmetic
  warploom microbench l2-latency dram-bank-stream --gpu maxwell-duet
  warploom microbench l2-latency --set partition.rop_cycles=200 --json
  warploom list microbenchmarks                        what each measures";

/// Measure latencies, rates and bandwidths on the simulated machine, next to the values that its
/// configuration implies
///
/// Exit status 0: every measurement agrees with the configuration; 1: some do not; 2: invalid usage
/// or input.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Micro-benchmarks (`warploom list microbenchmarks`) [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Show the arithmetic of each implied value, with the numbers
    #[arg(long)]
    explain: bool,
    /// Print the results as JSON, including the arithmetic
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    gpu: String,
    config_digest: String,
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Result {
    name: &'static str,
    about: &'static str,
    unit: &'static str,
    /// Reason why there is nothing to measure on this machine.
    absent: Option<&'static str>,
    measured: Option<f64>,
    implied: Option<f64>,
    tolerance: Option<f64>,
    peak: Option<f64>,
    agrees: bool,
    arithmetic: Option<String>,
}

pub fn run(args: &Args) -> std::result::Result<ExitCode, Failure> {
    let gpu = args.gpu.spec(&[])?;
    let benchmarks = chosen(&args.names)?;
    let results = benchmarks.into_iter().map(|b| result(b, &gpu));
    let report = Report {
        gpu: gpu.name.clone(),
        config_digest: gpu.digest(),
        results: results.collect::<std::result::Result<_, _>>()?,
    };
    if args.json {
        print_json(&report)?
    } else {
        print(&text(&report, args.explain))?
    }
    let agree = report.results.iter().all(|result| result.agrees);
    Ok(ExitCode::from(u8::from(!agree)))
}

/// The benchmarks with these names, or all for an empty list.
fn chosen(names: &[String]) -> std::result::Result<Vec<&'static Benchmark>, Failure> {
    if names.is_empty() {
        return Ok(all().collect());
    }
    let named = names.iter().map(|name| {
        find(name).ok_or_else(|| {
            let hint = match nearest(name, all().map(|benchmark| benchmark.name)) {
                Some(other) => format!("did you mean `{other}`?"),
                None => "`warploom list microbenchmarks` lists all of them".to_owned(),
            };
            Failure::Input(format!("there is no micro-benchmark `{name}`; {hint}"))
        })
    });
    named.collect()
}

fn result(benchmark: &Benchmark, gpu: &GpuSpec) -> std::result::Result<Result, Failure> {
    let answer = benchmark.measure(gpu).map_err(|trouble| match trouble {
        Trouble::Run(error) => error.into(),
        trouble => Failure::Input(format!("{}: {trouble}", benchmark.name)),
    })?;
    let (absent, figure) = match answer {
        Answer::Figure(figure) => (None, Some(figure)),
        Answer::Absent(why) => (Some(why), None),
    };
    Ok(Result {
        name: benchmark.name,
        about: benchmark.about,
        unit: benchmark.unit,
        absent,
        measured: figure.as_ref().map(|f| f.measured),
        implied: figure.as_ref().map(|f| f.implied),
        tolerance: figure.as_ref().map(|f| f.tolerance),
        peak: figure.as_ref().and_then(|f| f.peak),
        agrees: figure.as_ref().is_none_or(|f| f.agrees()),
        arithmetic: figure.map(|f| f.arithmetic),
    })
}

fn text(report: &Report, explain: bool) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    let row = |result: &Result| {
        let verdict = match (result.absent, result.agrees) {
            (Some(why), _) => why,
            (None, true) => "yes",
            (None, false) => "NO",
        };
        vec![
            result.name.to_owned(),
            number(result.measured),
            number(result.implied),
            number(result.tolerance),
            number(result.peak),
            verdict.to_owned(),
            result.unit.to_owned(),
        ]
    };
    let header = [
        "benchmark",
        "measured",
        "implied",
        "within",
        "peak",
        "agrees",
        "unit",
    ];
    let rows: Vec<_> = report.results.iter().map(row).collect();
    let mut text = format!("{}\n\n{}", report.gpu, listing(&header, &rows, width()));
    if explain {
        for result in &report.results {
            if let Some(arithmetic) = &result.arithmetic {
                let told = format!("{}: {}", result.name, result.about);
                text += &format!("\n{}", wrapped("", &told, width()));
                text += &wrapped("  ", arithmetic, width());
            }
        }
    }
    text
}
