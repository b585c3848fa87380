//! The verb `warploom trace`.

use crate::energy_args::{EnergyArgs, with_energy};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, status};
use crate::kept::is_kept;
use crate::output::{check_outputs, command_line, print, print_json, write_file};
use crate::simulate::simulate_traced;
use crate::target::TargetArgs;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_report::{grouped, outcome_told, perfetto};
use warploom_run::{Options, Timed};
use warploom_stats::result::Outcome;

const EXAMPLES: &str = "\
Examples:
  warploom trace hotspot -o hotspot.json                       what every warp does, cycle by cycle
  warploom trace spmv --gpu maxwell-duet --set sm.context=duet --set duet.extra_blocks=2 -o s.json
  warploom trace hotspot --energy -o hotspot.json              with power over time as counters
  warploom trace bfs --size paper --skip-launches 4 --max-cycles 20000 -o bfs.json

Open the file at https://ui.perfetto.dev: an SM is a process, a warp slot (or a warp context, where
contexts are switched) a thread; a microsecond there is a core cycle here.";

/// Write a timeline for the Perfetto UI: what every warp runs, waits for, and when it is switched
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    subject: TargetArgs,
    /// File for the timeline
    #[arg(short, long, value_name = "FILE.json")]
    output: PathBuf,
    /// Stop after this many core cycles, because a longer timeline is hard to view
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20_000,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_cycles: u64,
    /// Execute the first N launches without timing
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_launches: u64,
    /// Length in core cycles of the windows of power, with --energy
    #[arg(
        long,
        value_name = "N",
        default_value_t = 500,
        requires = "energy",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    window: u64,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    energy: EnergyArgs,
}

/// Summary of the written timeline.
#[derive(Serialize)]
struct Written {
    file: String,
    /// Number of core cycles.
    cycles: u64,
    /// Number of changes of warps' states.
    events: u64,
    /// Way in which the run ended.
    outcome: Outcome,
    /// Digest of the run.
    digest: String,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if is_kept(&args.subject.target) {
        return Err(Failure::Input(format!(
            "{} is a result, which has no timeline\n  = help: give what was run; `warploom app --trace \
             FILE.json` writes the timeline of a CUDA program",
            args.subject.target
        )));
    }
    check_outputs(&[("--output", Some(&args.output))], &args.subject.files())?;
    let (gpu, mut program) = args.subject.load()?;
    let energy = args.energy.preset(&gpu)?;
    let options = Options {
        threads: args.subject.threads,
        max_cycles: Some(args.max_cycles),
        timed: Timed::from(args.skip_launches),
        window_cycles: energy.is_some().then_some(args.window),
        command: command_line(),
        ..Options::default()
    };
    let (result, trace) = simulate_traced(
        gpu.clone(),
        options,
        program.as_mut(),
        args.subject.watch(),
        &Interrupt::new(),
    )?;
    let result = with_energy(energy.as_ref(), &gpu, result);
    write_file(&args.output, &perfetto(&trace, result.series.as_ref()))?;
    let written = Written {
        file: args.output.display().to_string(),
        cycles: trace.end,
        events: trace.events.len() as u64,
        outcome: result.outcome.clone(),
        digest: result.digest.clone(),
    };
    if args.json {
        print_json(&written)?
    } else {
        print(&told(&written))?
    }
    Ok(status(&result))
}

/// The lines about a timeline. A cut one does not show the whole program.
fn told(written: &Written) -> String {
    let Written { file, cycles, .. } = written;
    let events = grouped(written.events);
    let open = "open it at https://ui.perfetto.dev";
    let (cycles, end) = (grouped(*cycles), outcome_told(&written.outcome));
    match (&written.outcome, end) {
        (Outcome::CycleLimit { cycles: limit }, _) => format!(
            "{file}: {events} events, cut after {cycles} cycles; --max-cycles {} for more\n{open}\n",
            limit.saturating_mul(2)
        ),
        (_, None) => format!("{file}: {cycles} cycles, {events} events; {open}\n"),
        (_, Some(end)) => format!("{file}: {cycles} cycles, {events} events; {open}\n{end}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Written, told};
    use warploom_stats::result::Outcome;

    #[test]
    fn a_cut_timeline_says_so() {
        let mut written = Written {
            file: "t.json".to_owned(),
            cycles: 20_000,
            events: 47_050,
            outcome: Outcome::CycleLimit { cycles: 20_000 },
            digest: String::new(),
        };
        let open = "open it at https://ui.perfetto.dev\n";
        let cut = "t.json: 47,050 events, cut after 20,000 cycles; --max-cycles 40000 for more\n";
        assert_eq!(told(&written), format!("{cut}{open}"));
        written.outcome = Outcome::Finished;
        assert_eq!(
            told(&written),
            format!("t.json: 20,000 cycles, 47,050 events; {open}")
        );
    }
}
