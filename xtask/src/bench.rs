//! `cargo xtask bench`: how fast the simulator is on the workloads, and where its time goes.
//!
//! `benches/README.md` says how to read and compare the figures. Cases are interleaved: every
//! round runs each once, so that a disturbance of the machine hits all of them, and the first
//! round, which warms caches, is dropped.

mod measure;
mod sample;
mod summary;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use warploom_workloads::{Size, Suite, Target, all};

use measure::{Case, Mode};
use summary::Row;

/// Settings of `cargo xtask bench`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Workloads [default: all but the reference kernels]
    workloads: Vec<String>,

    /// Size of the workloads
    #[arg(long, default_value_t = Size::Small)]
    size: Size,

    /// Preset of the GPU
    #[arg(long, default_value = "gtx480")]
    gpu: String,

    /// Numbers of threads to measure with
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,

    /// Rounds that count; one more runs before them
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Measures and prints. A build without optimisation builds itself anew and passes on what it was
/// given.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if cfg!(debug_assertions) {
        return crate::run_optimised(root);
    }
    let rows = measure_all(args)?;
    let text = if args.json {
        serde_json::to_string_pretty(&rows)? + "\n"
    } else {
        summary::table(&rows)
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn measure_all(args: &Args) -> Result<Vec<Row>> {
    let cases = cases(args)?;
    let mut runs: Vec<Vec<measure::Run>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 0..=args.rounds.max(1) {
        for (case, runs) in cases.iter().zip(&mut runs) {
            show_progress(round, case)?;
            let run = case.run()?;
            if round > 0 {
                runs.push(run);
            }
        }
    }
    let rows = cases.iter().zip(&runs);
    Ok(rows.map(|(case, runs)| Row::new(case, runs)).collect())
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

fn cases(args: &Args) -> Result<Vec<Case>> {
    let spec = warploom_config::preset(&args.gpu)?;
    let benchmarks = all().iter().filter(|w| w.suite != Suite::Reference);
    let names: Vec<_> = benchmarks.map(|w| w.name.to_owned()).collect();
    let names = if args.workloads.is_empty() {
        &names
    } else {
        &args.workloads
    };
    let timed = args.threads.iter().map(|&threads| Mode::Timed { threads });
    let modes: Vec<_> = std::iter::once(Mode::Functional).chain(timed).collect();
    let mut cases = Vec::new();
    for name in names {
        let target = Target::resolve(name)?;
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

#[cfg(test)]
mod tests {
    use super::{Args, cases, measure_all, summary};
    use warploom_workloads::Size;

    fn args(workload: &str) -> Args {
        Args {
            workloads: vec![workload.to_owned()],
            size: Size::Test,
            gpu: "gtx480".to_owned(),
            threads: vec![1, 2],
            rounds: 1,
            json: false,
        }
    }

    #[test]
    fn every_mode_runs_the_same_instructions() {
        let rows = measure_all(&args("vectoradd")).unwrap();
        assert_eq!(rows.len(), 3);
        assert!(
            rows.iter()
                .all(|row| row.warp_instructions == rows[0].warp_instructions)
        );
        assert_eq!((rows[0].cycles, rows[1].cycles), (0, rows[2].cycles));
        assert!(rows[1].cycles > 0 && rows[1].kilocycles_per_second > 0.0);
        let shares: f64 = rows[1].parts.values().sum();
        assert!(
            rows[1].parts.is_empty() || (shares - 1.0).abs() < 1e-9,
            "{shares}"
        );
        let table = summary::table(&rows);
        assert_eq!(
            table
                .lines()
                .filter(|line| line.starts_with("vectoradd"))
                .count(),
            3
        );
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(cases(&args("vectorad")).is_err());
        assert!(
            cases(&Args {
                gpu: "gtx48".to_owned(),
                ..args("bfs")
            })
            .is_err()
        );
    }
}
