//! `cargo xtask bench`: measures the speed of the simulator, compares it with GPGPU-Sim's recorded
//! speed and with functional execution, and shows where its time goes.
//!
//! `benches/README.md` explains how to read and compare the figures. Cases are interleaved: every
//! round runs each case once, so that a disturbance of the machine affects all of them. The first
//! round warms caches and is dropped.

mod cores;
mod growth;
mod measure;
mod memory;
mod programs;
mod sample;
mod summary;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use warploom_workloads::{Size, Suite, Target, all};

use measure::{Case, Mode};
use summary::Summary;

/// Settings of `cargo xtask bench`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  cargo xtask bench                           the kernels that GPGPU-Sim's speed is known for
  cargo xtask bench --size small --gpu gtx480 all
  cargo xtask bench --json ref-gather > gather.json
  cargo xtask bench --growth                  what a cycle costs by number of SMs, and by time
  cargo xtask bench --programs ~/built --gpgpusim ~/gpgpusim.sh
                                              whole programs, in turns with GPGPU-Sim")]
pub struct Args {
    /// Workloads, or `all` [default: the reference kernels]; with --programs, names of programs
    workloads: Vec<String>,

    /// Size of the workloads' inputs
    #[arg(long, default_value_t = Size::Paper)]
    size: Size,

    /// Preset of the GPU
    #[arg(long, default_value = "gtx480-gpgpusim4")]
    gpu: String,

    /// Numbers of simulator threads to measure
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,

    /// Number of rounds that count, in addition to one before them
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Instead, measure the cost of a cycle by number of SMs [default: of dxtc] and by time
    #[arg(long, conflicts_with_all = ["size", "threads"])]
    growth: bool,

    #[command(flatten)]
    programs: programs::ProgramArgs,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Measures and prints. A build without optimisation builds an optimised one and runs it with the
/// same arguments.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if args.programs.given() {
        let (names, rounds) = (&args.workloads, args.rounds);
        let measured = programs::measure(&args.programs, names, rounds, root)?;
        return print(&measured, args.json);
    }
    if cfg!(debug_assertions) {
        return crate::run_optimised("dist", root);
    }
    if args.growth {
        print(
            &growth::measure(&args.gpu, &args.workloads, args.rounds)?,
            args.json,
        )
    } else {
        print(&measure_all(args)?, args.json)
    }
}

fn print(measured: &(impl Serialize + Display), json: bool) -> Result<()> {
    let text = if json {
        serde_json::to_string_pretty(measured)? + "\n"
    } else {
        measured.to_string()
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn measure_all(args: &Args) -> Result<Summary> {
    let cases = cases(args)?;
    let mut runs: Vec<Vec<measure::Run>> = cases.iter().map(|_| Vec::new()).collect();
    let mut hops = Vec::new();
    for round in 0..=args.rounds.max(1) {
        hops.extend(cores::hop());
        for (case, runs) in cases.iter().zip(&mut runs) {
            show_progress(round, case)?;
            let run = case.run()?;
            if round > 0 {
                runs.push(run);
            }
        }
    }
    let runs: Vec<_> = cases.iter().zip(runs).collect();
    hops.extend(cores::hop());
    Summary::new(&args.gpu, &runs, &hops)
}

fn show_progress(round: usize, case: &Case) -> Result<()> {
    let mut err = io::stderr();
    if err.is_terminal() {
        writeln!(
            err,
            "round {round}: {} {}",
            case.target.workload.name, case.mode
        )?;
    }
    Ok(())
}

/// Cases of each workload, the one without timing first.
fn cases(args: &Args) -> Result<Vec<Case>> {
    let spec = warploom_config::preset(&args.gpu)?;
    let timed = args.threads.iter().map(|&threads| Mode::Timed { threads });
    let modes: Vec<_> = std::iter::once(Mode::Functional).chain(timed).collect();
    let mut cases = Vec::new();
    for target in targets(&args.workloads)? {
        let case = |mode: &Mode| Case {
            target,
            size: args.size,
            spec: spec.clone(),
            mode: *mode,
        };
        cases.extend(modes.iter().map(case));
    }
    Ok(cases)
}

fn targets(names: &[String]) -> Result<Vec<Target>> {
    let of_suite = |reference: bool| {
        let chosen = all()
            .iter()
            .filter(move |w| (w.suite == Suite::Reference) == reference);
        chosen.map(|w| w.name.to_owned()).collect()
    };
    let names: Vec<String> = match names {
        [] => of_suite(true),
        [name] if name == "all" => of_suite(false),
        names => names.to_vec(),
    };
    let targets = names.iter().map(|name| Ok(Target::resolve(name)?));
    targets.collect()
}

#[cfg(test)]
mod tests {
    use super::{Args, cases, measure_all, programs};
    use warploom_workloads::Size;

    fn args(workload: &str, size: Size, gpu: &str) -> Args {
        Args {
            workloads: vec![workload.to_owned()],
            size,
            gpu: gpu.to_owned(),
            threads: vec![1, 2],
            rounds: 1,
            growth: false,
            programs: programs::ProgramArgs::default(),
            json: false,
        }
    }

    #[test]
    fn a_row_tells_speed_and_ratios() {
        let summary = measure_all(&args("ref-vecadd", Size::Test, "gtx480-gpgpusim4")).unwrap();
        let [row] = summary.rows.as_slice() else {
            panic!("one kernel, one row");
        };
        assert_eq!(row.kernel, "ref-vecadd");
        assert!(row.cycles > 0 && row.thread_instructions > row.warp_instructions);
        assert!(row.cycles_per_second > 0.0 && row.ratio_to_functional < 1.0);
        assert_eq!(
            row.ratio_to_gpgpusim, None,
            "its speed is known for another size"
        );
        assert_eq!(row.threads.len(), 2);
        let shares: f64 = row.parts.values().sum();
        assert!(
            row.parts.is_empty() || (shares - 1.0).abs() < 1e-9,
            "{shares}"
        );
        assert!(summary.to_string().contains("ref-vecadd"));
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(cases(&args("vectorad", Size::Test, "gtx480")).is_err());
        assert!(cases(&args("bfs", Size::Test, "gtx48")).is_err());
    }
}
