//! Sentences on how runs ended, and how far those came that a limit of cycles ended.

use crate::format::{grouped, places};
use crate::wrap::lines_wrapped;
use std::fmt::Write;
use warploom_names::{WIDTH, shortened};
use warploom_stats::result::{
    Begun, ConfigValue, KernelReport, Outcome, ProcessReport, Reached, RunReport,
};

/// Largest number of lines of an outcome's message.
pub(crate) const LINES_SHOWN: usize = 24;
/// Most runs that a sentence names.
pub(crate) const MOST_NAMED: usize = 6;

/// Writes a run's outcome, if it did not finish, and below it how far the run came.
pub(crate) fn outcome(
    text: &mut String,
    outcome: &Outcome,
    reached: Option<String>,
    width: Option<u16>,
) {
    if let Some(told) = outcome_told(outcome) {
        let reached = reached.map_or_else(String::new, |reached| format!("\n  {reached}"));
        let _ = writeln!(text, "{}", lines_wrapped(&(told + &reached), width));
    }
}

/// Text of a run's outcome, such as `FAULT: ...`. `None` if the run finished.
pub fn outcome_told(outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::Finished => return None,
        Outcome::CycleLimit { cycles } => {
            let limit = grouped(*cycles);
            format!("stopped at --max-cycles {limit}; outputs were not checked")
        }
        Outcome::LaunchLimit { launches } => format!(
            "stopped after --max-launches {}, before another launch; outputs were not checked",
            grouped(*launches)
        ),
        Outcome::Interrupted {
            kernel,
            blocks_ended,
            blocks,
            waits,
        } => interrupted(kernel, *blocks_ended, *blocks) + &places(waits),
        Outcome::Fault { message } => format!("FAULT: {}", first_lines(message)),
        Outcome::Assertion(failed) => format!("ASSERTION: {}", first_lines(&failed.message)),
        Outcome::Deadlock { message } => format!("DEADLOCK: {}", first_lines(message)),
        Outcome::Livelock { message } => format!("LIVELOCK: {}", first_lines(message)),
    })
}

/// Names of kernels that ran at once, as people read them.
fn shown(kernels: &str) -> String {
    let names = kernels.split(" + ").map(|name| shortened(name, WIDTH));
    names.collect::<Vec<_>>().join(" + ")
}

/// How far an interrupted run came.
fn interrupted(kernel: &str, ended: u64, blocks: u64) -> String {
    let place = match kernel {
        "" => "between launches".to_owned(),
        kernels => format!(
            "in {}, after {} of {} blocks",
            shown(kernels),
            grouped(ended),
            grouped(blocks)
        ),
    };
    format!("INTERRUPTED {place}; outputs were not checked")
}

/// The first lines of a message, and the number of further ones.
fn first_lines(message: &str) -> String {
    let lines: Vec<&str> = message.lines().collect();
    if lines.len() <= LINES_SHOWN {
        return message.to_owned();
    }
    let hidden = lines.len() - LINES_SHOWN;
    format!(
        "{}\n({hidden} further lines in --json and --stats)",
        lines[..LINES_SHOWN].join("\n")
    )
}

/// Blocks and waves that a run has ended at a limit of cycles, or that nothing had begun by then.
pub(crate) fn cut_told(run: &RunReport) -> Option<String> {
    let Outcome::CycleLimit { .. } = run.outcome else {
        return None;
    };
    if run.is_cut_at_start() {
        let cycles = match run.gpu.config.get("gpu.kernel_launch_cycles") {
            Some(ConfigValue::Integer(cycles)) => u64::try_from(*cycles).unwrap_or(0),
            _ => 0,
        };
        return Some(nothing_began(run.begun(), "", cycles, "--max-cycles"));
    }
    let Some(reached) = run.reached() else {
        return programs_told(run);
    };
    Some(format!(
        "launch {} had ended {}",
        grouped(reached.launches),
        blocks_told(std::slice::from_ref(&reached))
    ))
}

/// Launch and blocks that each of several programs had reached, a line for each program.
fn programs_told(run: &RunReport) -> Option<String> {
    let told = |(at, process): (usize, &ProcessReport)| {
        let own =
            |kernel: &&KernelReport| kernel.concurrent.map(|of| of.process as usize) == Some(at);
        let launches: Vec<_> = run.kernels.iter().filter(own).collect();
        match launches.last() {
            None => format!("{}: no launch had begun", process.name),
            Some(_) if process.ended_at.is_some() => format!("{}: had ended", process.name),
            Some(last) => {
                let ended = last.figures.statistics.get("sm.blocks_finished");
                format!(
                    "{}: launch {} had ended {} of {} blocks",
                    process.name,
                    grouped(launches.len() as u64),
                    grouped(ended.copied().unwrap_or(0)),
                    grouped(last.grid.count())
                )
            }
        }
    };
    let programs = run.processes.iter().enumerate();
    let lines: Vec<String> = programs.map(told).collect();
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

/// Blocks of the last launch that have ended, and waves of all: of several runs the least and the
/// most.
pub(crate) fn blocks_told(runs: &[Reached]) -> String {
    let count = |of: fn(&Reached) -> u64| range(runs.iter().map(of), grouped);
    let waves = runs.iter().map(|run| (100.0 * run.waves).round() as u64);
    format!(
        "{} of {} blocks ({} waves; {} blocks fill the machine)",
        count(|run| run.blocks_ended),
        count(|run| run.blocks),
        range(waves, |hundredths| format!(
            "{:.2}",
            hundredths as f64 / 100.0
        )),
        count(|run| run.wave)
    )
}

/// The least and the greatest of some values, or the only one.
pub(crate) fn range(values: impl Iterator<Item = u64>, shown: impl Fn(u64) -> String) -> String {
    let values: Vec<u64> = values.collect();
    let ends = [values.iter().min(), values.iter().max()];
    match ends.map(|end| shown(end.copied().unwrap_or(0))) {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    }
}

/// Names of the first runs, and the number of the others.
pub(crate) fn named(names: &[&str]) -> String {
    let shown = names[..names.len().min(MOST_NAMED)].join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Sentence that no block had started in `runs`, or no instruction had been issued. `option` sets
/// the limit.
fn nothing_began(begun: Begun, runs: &str, launch_cycles: u64, option: &str) -> String {
    let what = match (begun, launch_cycles) {
        (Begun::Nothing, 0) => format!("no block had started by then{runs}"),
        (Begun::Nothing, cycles) => format!(
            "no block had started by then{runs}: the first block of a launch starts {} cycles after \
             it (gpu.kernel_launch_cycles)",
            grouped(cycles)
        ),
        _ => format!("blocks had started by then, and no instruction had been issued{runs}"),
    };
    format!("{what}; write a larger {option}")
}

/// Sentences on runs that were cut before their first instruction. `launch_cycles` are the most
/// that a launch of theirs takes, and `option` sets the limit.
pub fn unbegun_told(runs: &[(&str, Begun)], launch_cycles: u64, option: &str) -> Vec<String> {
    let told = |begun: Begun| {
        let of = runs.iter().filter(|(_, own)| *own == begun);
        let names: Vec<&str> = of.map(|(name, _)| *name).collect();
        let runs = format!(" in {}", named(&names));
        (!names.is_empty()).then(|| nothing_began(begun, &runs, launch_cycles, option))
    };
    [Begun::Nothing, Begun::Blocks]
        .into_iter()
        .filter_map(told)
        .collect()
}

/// The largest launch of a program on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestLaunch<'a> {
    /// Name of the program.
    pub program: &'a str,
    /// Name of the machine; empty if all programs run on the same.
    pub machine: &'a str,
    /// Number of blocks of the launch.
    pub blocks: u64,
    /// Number of SMs of the machine.
    pub sms: u64,
}

impl LargestLaunch<'_> {
    /// Blocks and SMs in words.
    fn in_words(&self) -> String {
        let word = if self.blocks == 1 { "block" } else { "blocks" };
        let of = match self.machine {
            "" => String::new(),
            machine => format!(" of {machine}"),
        };
        let (blocks, sms) = (grouped(self.blocks), grouped(self.sms));
        format!("{blocks} {word} for {sms} SMs{of}")
    }
}

/// Sentence on the programs whose largest launch has fewer blocks than the machine has SMs: each
/// with its blocks and the SMs. Launches of one program follow each other.
pub fn idle_sms_told(launches: &[LargestLaunch<'_>]) -> Option<String> {
    let few = launches.iter().filter(|launch| launch.blocks < launch.sms);
    let few: Vec<_> = few.collect();
    let programs = few.chunk_by(|a, b| a.program == b.program);
    let programs: Vec<_> = programs.collect();
    let on_machines = |of: &[&LargestLaunch<'_>]| {
        let machines = of.iter().map(|launch| launch.in_words());
        machines.collect::<Vec<_>>().join(" and ")
    };
    let idle = "SMs are idle, and a larger input may give another picture";
    match (programs.as_slice(), few.as_slice()) {
        ([], _) => None,
        (_, [only]) => Some(format!(
            "{} has {} in its largest launch: {} {idle}",
            only.program,
            only.in_words(),
            grouped(only.sms - only.blocks)
        )),
        ([one], _) => Some(format!(
            "{} has {} in its largest launch: {idle}",
            one[0].program,
            on_machines(one)
        )),
        (several, _) => {
            let told = several.iter();
            let told = told.map(|of| format!("{} {}", of[0].program, on_machines(of)));
            Some(format!(
                "{} programs have fewer blocks in their largest launch than the machine has SMs, so \
                 that SMs are idle, and larger inputs may give another picture: {}",
                several.len(),
                told.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// Share of a run's cycles from which the time of its launches is named.
const LONG_LAUNCHES: f64 = 0.2;

/// Time that passes in a run before the first blocks of its launches.
#[derive(Clone, Copy, Debug)]
pub struct LaunchTime<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Core cycles from a launch to its first block, `gpu.kernel_launch_cycles`.
    pub cycles: u64,
    /// Share of the run's cycles that all of its launches take so.
    pub share: f64,
}

/// Share of a run's cycles that pass before the first blocks of its launches, each of which takes
/// `launch_cycles`; 0 where kernels ran at once, whose times overlap.
pub fn launch_share(run: &RunReport, launch_cycles: u64) -> f64 {
    match run.reached() {
        None => 0.0,
        Some(reached) => {
            let cycles = (launch_cycles * reached.launches) as f64;
            (cycles / run.totals.figures.cycles.max(1) as f64).min(1.0)
        }
    }
}

/// Sentence on runs whose launches take a large part of their time. `remedy` is what leaves this
/// time out.
pub fn long_launches_told(runs: &[LaunchTime<'_>], remedy: &str) -> Option<String> {
    let long = runs.iter().filter(|run| run.share > LONG_LAUNCHES);
    let long: Vec<_> = long.collect();
    let names: Vec<&str> = long.iter().map(|run| run.name).collect();
    let shares = long.iter().map(|run| (100.0 * run.share).round() as u64);
    (!long.is_empty()).then(|| {
        format!(
            "launches take {}% of the cycles of {}, {} cycles each before the first block starts \
             (gpu.kernel_launch_cycles): this part does not depend on the SMs, so that speedups \
             are nearer to 1, and {remedy} leaves it out",
            range(shares, |share| share.to_string()),
            named(&names),
            range(long.iter().map(|run| run.cycles), grouped),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{
        LargestLaunch, LaunchTime, idle_sms_told, launch_share, long_launches_told, unbegun_told,
    };
    use crate::run::run_report;
    use crate::run::tests::run;
    use warploom_stats::result::{Begun, Concurrent, ConfigValue, Outcome, ProcessReport};

    #[test]
    fn a_cut_run_tells_its_blocks_below_its_outcome() {
        let mut cut = run(1);
        cut.outcome = Outcome::CycleLimit { cycles: 1000 };
        let config = &mut cut.gpu.config;
        config.insert("gpu.sms".to_owned(), ConfigValue::Integer(15));
        config.insert(
            "gpu.kernel_launch_cycles".to_owned(),
            ConfigValue::Integer(700),
        );
        let counts = &mut cut.kernels[0].figures.statistics;
        counts.insert("sm.blocks_finished".to_owned(), 3);
        let (blocks, wave) = (
            cut.kernels[0].grid.count(),
            15 * cut.kernels[0].blocks_per_sm,
        );
        let told = format!(
            "stopped at --max-cycles 1,000; outputs were not checked\n  launch 1 had ended 3 of \
             {blocks} blocks ({:.2} waves; {wave} blocks fill the machine)\n",
            3.0 / f64::from(wave)
        );
        let text = run_report(&cut, None);
        assert!(text.contains(&told), "{told}: {text}");
        cut.totals.figures.thread_instructions = 0;
        let text = run_report(&cut, None);
        assert!(
            text.contains("no block had started by then: the first"),
            "{text}"
        );
        assert!(text.contains("starts 700 cycles after it"), "{text}");
        let counts = &mut cut.totals.figures.statistics;
        counts.insert("sm.blocks_started".to_owned(), 3);
        let text = run_report(&cut, None);
        let told = "blocks had started by then, and no instruction had been issued; write a larger";
        assert!(text.contains(told), "{text}");
    }

    /// Blocks of several programs are counted by launch, and told for each program.
    #[test]
    fn a_cut_run_of_several_programs_tells_the_blocks_of_each() {
        let mut cut = run(3);
        cut.outcome = Outcome::CycleLimit { cycles: 1000 };
        let sms = ConfigValue::Integer(15);
        cut.gpu.config.insert("gpu.sms".to_owned(), sms);
        for (kernel, process) in cut.kernels.iter_mut().zip([0, 1, 0]) {
            kernel.concurrent = Some(Concurrent {
                process,
                stream: 0,
                launched_at: 0,
                started_at: 0,
                halted: false,
            });
            let counts = &mut kernel.figures.statistics;
            counts.insert("sm.blocks_finished".to_owned(), 9);
        }
        let program = |name: &str, ended_at| ProcessReport {
            name: name.to_owned(),
            ended_at,
            ..ProcessReport::default()
        };
        cut.processes = vec![
            program("bfs", None),
            program("nn", Some(700)),
            program("spmv", None),
        ];
        let told = "outputs were not checked\n  bfs: launch 2 had ended 9 of 64 blocks\n  nn: had \
                    ended\n  spmv: no launch had begun\n";
        let text = run_report(&cut, None);
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn runs_without_an_instruction_say_why() {
        let runs = [
            ("lrr", Begun::Nothing),
            ("gto", Begun::Nothing),
            ("ccws", Begun::Blocks),
        ];
        let told = unbegun_told(&runs, 5000, "--max-cycles");
        let expected = [
            "no block had started by then in lrr, gto: the first block of a launch starts 5,000 \
             cycles after it (gpu.kernel_launch_cycles); write a larger --max-cycles",
            "blocks had started by then, and no instruction had been issued in ccws; write a larger \
             --max-cycles",
        ];
        assert_eq!(told, expected);
        let told = unbegun_told(&runs[..1], 0, "max_cycles");
        assert_eq!(
            told,
            ["no block had started by then in lrr; write a larger max_cycles"]
        );
        assert_eq!(unbegun_told(&[], 5000, "--max-cycles"), [""; 0]);
    }

    fn launch<'a>(program: &'a str, machine: &'a str, blocks: u64, sms: u64) -> LargestLaunch<'a> {
        LargestLaunch {
            program,
            machine,
            blocks,
            sms,
        }
    }

    #[test]
    fn a_grid_is_too_small_below_a_block_for_each_sm() {
        let launches = [launch("nn", "", 1, 15), launch("bfs", "", 15, 15)];
        let told = idle_sms_told(&launches).unwrap();
        assert!(told.starts_with("nn has 1 block for 15 SMs") && told.contains("14 SMs are idle"));
        assert_eq!(idle_sms_told(&launches[1..]), None);
    }

    #[test]
    fn all_programs_with_too_small_grids_are_named() {
        let told = idle_sms_told(&[
            launch("kmeans", "", 9, 15),
            launch("bfs", "", 128, 15),
            launch("mvt", "", 1, 15),
        ]);
        let told = told.unwrap();
        let start = "2 programs have fewer blocks in their largest launch than the machine has SMs";
        let end = ": kmeans 9 blocks for 15 SMs, mvt 1 block for 15 SMs";
        assert!(told.starts_with(start) && told.ends_with(end), "{told}");
    }

    #[test]
    fn all_machines_on_which_sms_are_idle_are_named() {
        let launches = [
            launch("kmeans", "gtx480", 9, 15),
            launch("kmeans", "rtx3070", 9, 46),
            launch("nn", "gtx480", 15, 15),
            launch("nn", "rtx3070", 15, 46),
        ];
        let told = idle_sms_told(&launches).unwrap();
        let end = ": kmeans 9 blocks for 15 SMs of gtx480 and 9 blocks for 46 SMs of rtx3070, \
                   nn 15 blocks for 46 SMs of rtx3070";
        assert!(told.ends_with(end), "{told}");
        let told = idle_sms_told(&launches[..2]).unwrap();
        let start = "kmeans has 9 blocks for 15 SMs of gtx480 and 9 blocks for 46 SMs of rtx3070 in \
                     its largest launch: SMs are idle";
        assert!(told.starts_with(start), "{told}");
    }

    #[test]
    fn launches_that_take_a_fifth_of_a_run_are_named() {
        let time = |name, share| LaunchTime {
            name,
            cycles: 2900,
            share,
        };
        let runs = [time("lrr", 0.2), time("gto", 0.31), time("ccws", 0.4)];
        let told = long_launches_told(&runs, "`--set gpu.kernel_launch_cycles=0`").unwrap();
        let start = "launches take 31 to 40% of the cycles of gto, ccws, 2,900 cycles each before";
        assert!(
            told.starts_with(start) && told.contains("=0` leaves"),
            "{told}"
        );
        assert_eq!(long_launches_told(&runs[..1], ""), None);
        // Two launches of 250 cycles each in 2,000 cycles.
        let mut of_two = run(2);
        let sms = ConfigValue::Integer(15);
        of_two.gpu.config.insert("gpu.sms".to_owned(), sms);
        assert_eq!(launch_share(&of_two, 250), 0.25);
        assert_eq!(launch_share(&of_two, 9000), 1.0);
        of_two.gpu.config.clear();
        assert_eq!(launch_share(&of_two, 250), 0.0);
    }
}
