//! Sentences on runs that a limit of cycles ended after their first instruction: how few blocks had
//! ended, and which launches the runs do not have.

use crate::format::grouped;
use crate::outcome::{blocks_told, named, range};
use warploom_stats::result::{Begun, Launches, Outcome, Reached, RunReport};

/// A run that was cut.
#[derive(Clone, Copy, Debug)]
pub struct CutRun<'a> {
    /// Name of the program.
    pub program: &'a str,
    /// Name of the run.
    pub name: &'a str,
    /// Progress of the run.
    pub reached: Reached,
    /// Launches that the program makes, as far as that is known.
    pub launches: Launches,
}

/// Sentences on cut runs, if there is something to tell.
pub fn cut_runs_told(runs: &[CutRun<'_>]) -> Vec<String> {
    let all = [
        short(runs),
        later_launches(runs, true),
        later_launches(runs, false),
        tails(runs),
    ];
    all.into_iter().flatten().collect()
}

/// Sentences on what a single run lacks that a limit ended: `launches` are those that its program
/// makes, as far as that is known. Below the run's outcome stands how far it came.
pub fn ended_early_told(run: &RunReport, launches: Launches) -> Vec<String> {
    let made = grouped(launches.least);
    if let Outcome::LaunchLimit { launches: timed } = run.outcome {
        let told = format!(
            "the program makes {made} launches, and the result is for {} of them",
            grouped(timed)
        );
        return launches.is_exact.then_some(told).into_iter().collect();
    }
    let is_cut = matches!(run.outcome, Outcome::CycleLimit { .. });
    let Some(reached) = run
        .reached()
        .filter(|_| is_cut && run.begun() == Begun::Instructions)
    else {
        return Vec::new();
    };
    let short = reached.is_short().then(|| {
        "fewer than two waves of blocks ended, so that the result is that of first blocks: SMs have \
         hardly run one block after another"
            .to_owned()
    });
    let nth = grouped(reached.launches);
    let later = match launches {
        Launches {
            least,
            is_exact: true,
        } if reached.launches < least => Some(format!(
            "cut in launch {nth} of {made}: later launches are not in the result"
        )),
        Launches { is_exact: true, .. } => None,
        Launches { .. } => Some(format!(
            "cut in launch {nth}: later launches, if there are any, are not in the result"
        )),
    };
    let tail = reached.is_tail().then(|| {
        format!(
            "at the cut most SMs were idle, because only the last {} of {} blocks of the launch still \
             ran",
            grouped(reached.running),
            grouped(reached.blocks)
        )
    });
    [short, later, tail].into_iter().flatten().collect()
}

/// The runs of each program, in the order of the first runs.
fn by_program<'r, 'a>(runs: &[&'r CutRun<'a>]) -> Vec<(&'a str, Vec<&'r CutRun<'a>>)> {
    let mut programs: Vec<(&str, Vec<_>)> = Vec::new();
    for run in runs {
        match programs.iter_mut().find(|(name, _)| *name == run.program) {
            Some((_, own)) => own.push(*run),
            None => programs.push((run.program, vec![*run])),
        }
    }
    programs
}

/// A text for each program, of which the first are named.
fn each<'r>(runs: &[&'r CutRun<'_>], told: impl Fn(&str, &[&'r CutRun<'_>]) -> String) -> String {
    let programs = by_program(runs);
    let texts = programs.iter().map(|(name, runs)| told(name, runs));
    let texts: Vec<String> = texts.collect();
    named(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Names of the first runs, and the number of the others.
fn names(runs: &[&CutRun<'_>]) -> String {
    named(&runs.iter().map(|run| run.name).collect::<Vec<_>>())
}

/// Sentence on those of the cut runs in which fewer than two waves of blocks ended. Most SMs have
/// then not run one block after another.
fn short(runs: &[CutRun<'_>]) -> Option<String> {
    let short: Vec<_> = runs.iter().filter(|run| run.reached.is_short()).collect();
    let told = |program: &str, own: &[&CutRun<'_>]| {
        let all = runs.iter().filter(|run| run.program == program).count();
        let blocks: Vec<Reached> = own.iter().map(|run| run.reached).collect();
        let blocks = blocks_told(&blocks);
        match own.len() == all {
            true => format!("{program} {blocks}"),
            false => format!("{program} {blocks} in {}", names(own)),
        }
    };
    (!short.is_empty()).then(|| {
        format!(
            "fewer than two waves of blocks ended in {} of the cut runs, so that their order may be \
             that of the first blocks alone, at twice the cycles too: {}",
            short.len(),
            each(&short, told)
        )
    })
}

/// Sentence on the launch in which runs were cut and after which their programs make others
/// (`certain`), or may make others.
fn later_launches(runs: &[CutRun<'_>], certain: bool) -> Option<String> {
    let has_later = |run: &&CutRun<'_>| match certain {
        true => run.reached.launches < run.launches.least,
        false => run.reached.launches >= run.launches.least && !run.launches.is_exact,
    };
    let runs: Vec<_> = runs.iter().filter(has_later).collect();
    let told = |program: &str, runs: &[&CutRun<'_>]| {
        let launches = runs.iter().map(|run| run.reached.launches);
        let launches = range(launches, grouped);
        let word = if launches.contains(' ') {
            "launches"
        } else {
            "launch"
        };
        match runs[0].launches {
            Launches {
                least,
                is_exact: true,
            } => format!("in {word} {launches} of {} ({program})", grouped(least)),
            _ => format!("in {word} {launches} ({program})"),
        }
    };
    let later = match certain {
        true => "later launches are not in the comparison",
        false => "later launches, if there are any, are not in the comparison",
    };
    (!runs.is_empty()).then(|| format!("cut {}: {later}", each(&runs, told)))
}

/// Sentence on runs that were cut while the last blocks of a launch ran on few SMs.
fn tails(runs: &[CutRun<'_>]) -> Option<String> {
    let tails: Vec<_> = runs.iter().filter(|run| run.reached.is_tail()).collect();
    let told = |program: &str, runs: &[&CutRun<'_>]| {
        let of =
            |value: fn(&Reached) -> u64| range(runs.iter().map(|run| value(&run.reached)), grouped);
        format!(
            "{} of {} blocks of {program} in {}",
            of(|reached| reached.running),
            of(|reached| reached.blocks),
            names(runs)
        )
    };
    (!tails.is_empty()).then(|| {
        format!(
            "at the cut most SMs were idle, because only the last blocks of a launch still ran: {}",
            each(&tails, told)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{CutRun, cut_runs_told, ended_early_told};
    use crate::run::tests::run as report;
    use warploom_stats::result::{ConfigValue, Launches, Outcome, Reached};

    fn reached(waves: f64) -> Reached {
        Reached {
            launches: 1,
            blocks_ended: ((waves * 1104.0) as u64).min(1920),
            blocks: 1920,
            wave: 1104,
            waves,
            running: 552,
            sms: 46,
        }
    }

    fn run<'a>(program: &'a str, name: &'a str, reached: Reached) -> CutRun<'a> {
        let launches = Launches {
            least: 1,
            is_exact: true,
        };
        CutRun {
            program,
            name,
            reached,
            launches,
        }
    }

    #[test]
    fn programs_with_fewer_than_two_waves_are_named_once_with_their_blocks() {
        let some = [
            run("lbm", "lrr", reached(0.5)),
            run("lbm", "gto", reached(2.0)),
        ];
        let told = cut_runs_told(&some);
        assert!(
            told.len() == 1
                && told[0].contains("in 1 of the cut runs")
                && told[0].ends_with(
                    "lbm 552 of 1,920 blocks (0.50 waves; 1,104 blocks fill the machine) in lrr"
                ),
            "{told:?}"
        );
        let mut all = vec![run("lbm", "lrr", reached(0.05)); 8];
        all.push(run("lbm", "gto", reached(1.0)));
        let told = cut_runs_told(&all);
        let end =
            ": lbm 55 to 1,104 of 1,920 blocks (0.05 to 1.00 waves; 1,104 blocks fill the machine)";
        assert!(told[0].ends_with(end), "{told:?}");
        assert_eq!(cut_runs_told(&[run("lbm", "gto", reached(2.0))]), [""; 0]);
        let programs = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let many = programs.map(|name| run(name, name, reached(1.0)));
        assert!(cut_runs_told(&many)[0].ends_with(" and 2 more"));
    }

    /// A launch whose last block of 128 runs hides that the next launch has not begun.
    #[test]
    fn launches_that_are_missing_and_last_blocks_are_told() {
        let tail = Reached {
            blocks_ended: 127,
            blocks: 128,
            running: 1,
            sms: 15,
            waves: 2.82,
            ..reached(0.0)
        };
        let of = |least: u64, is_exact: bool| CutRun {
            launches: Launches { least, is_exact },
            ..run("bfs", "lrr", tail)
        };
        let told = cut_runs_told(&[of(2, false)]);
        let last = "at the cut most SMs were idle, because only the last blocks of a launch still \
                    ran: 1 of 128 blocks of bfs in lrr";
        assert_eq!(
            told,
            [
                "cut in launch 1 (bfs): later launches are not in the comparison",
                last
            ]
        );
        let first = |run: CutRun<'_>| cut_runs_told(&[run]).swap_remove(0);
        let of_all = "cut in launch 1 of 14 (bfs): later launches are not in the comparison";
        assert_eq!(first(of(14, true)), of_all);
        let unknown = "cut in launch 1 (bfs): later launches, if there are any, are not in the \
                       comparison";
        assert_eq!(first(of(0, false)), unknown);
        assert_eq!(first(of(1, true)), last);
    }

    /// A single run tells the same as several: its waves, the launches that it lacks, and last blocks.
    #[test]
    fn a_single_run_tells_what_it_lacks() {
        let of = |least: u64, is_exact: bool| Launches { least, is_exact };
        let mut cut = report(2);
        cut.outcome = Outcome::CycleLimit { cycles: 1000 };
        let sms = ConfigValue::Integer(15);
        cut.gpu.config.insert("gpu.sms".to_owned(), sms);
        // A launch of 64 blocks, of which 90 fill the machine.
        for (kernel, ended) in cut.kernels.iter_mut().zip([64, 61]) {
            let counts = &mut kernel.figures.statistics;
            counts.insert("sm.blocks_started".to_owned(), 64);
            counts.insert("sm.blocks_finished".to_owned(), ended);
        }
        let told = ended_early_told(&cut, of(14, true));
        assert!(
            told[0].starts_with("fewer than two waves of blocks ended"),
            "{told:?}"
        );
        assert_eq!(
            told[1],
            "cut in launch 2 of 14: later launches are not in the result"
        );
        assert!(
            told[2].ends_with("the last 3 of 64 blocks of the launch still ran"),
            "{told:?}"
        );
        let open = ended_early_told(&cut, of(1, false));
        assert!(
            open[1].starts_with("cut in launch 2: later launches, if there are any"),
            "{open:?}"
        );
        // Two launches of ten blocks more than two waves, and no launch is missing.
        for kernel in &mut cut.kernels {
            let counts = &mut kernel.figures.statistics;
            counts.insert("sm.blocks_finished".to_owned(), 100);
            kernel.grid.0 = [110, 1, 1];
        }
        assert_eq!(ended_early_told(&cut, of(2, true)), [""; 0]);
        cut.outcome = Outcome::LaunchLimit { launches: 2 };
        let stopped = "the program makes 14 launches, and the result is for 2 of them";
        assert_eq!(ended_early_told(&cut, of(14, true)), [stopped]);
        assert_eq!(ended_early_told(&cut, of(1, false)), [""; 0]);
        cut.outcome = Outcome::Finished;
        assert_eq!(ended_early_told(&cut, of(14, true)), [""; 0]);
    }
}
