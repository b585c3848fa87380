//! Access of a figure to its runs. A figure requests runs, and is evaluated again until all of them
//! are available.
//!
//! A figure is a function of a request and of results. It requests the runs that it needs. Missing
//! runs are noted and made, and then the figure is evaluated again. So a figure whose later runs
//! depend on earlier results (the best number of blocks, an oracle's partition) is written as if
//! all results were available from the start, and figures that share runs need not know of each
//! other.

use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runner::{Failed, Results, Runner};
use crate::spec::{RunKey, RunSpec};
use crate::store::StoreError;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use warploom_report::page::Page;
use warploom_stats::result::RunReport;

/// A run with its result.
pub type UsedRun = (RunSpec, Arc<RunReport>);

/// Interface of a figure to its runs.
pub struct Runs<'a> {
    results: &'a Results,
    wanted: Vec<RunSpec>,
    /// Runs in the order in which they were requested.
    used: Vec<UsedRun>,
    /// Keys of these runs.
    used_keys: BTreeSet<RunKey>,
    failed: Vec<Failed>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(results: &'a Results) -> Self {
        Self {
            results,
            wanted: Vec::new(),
            used: Vec::new(),
            used_keys: BTreeSet::new(),
            failed: Vec::new(),
        }
    }

    /// The result of a run, if it is available. Otherwise the run is requested.
    pub fn get(&mut self, spec: &RunSpec) -> Option<Arc<RunReport>> {
        let key = spec.key();
        if let Some(report) = self.results.get(&key) {
            if self.used_keys.insert(key) {
                self.used.push((spec.clone(), Arc::clone(report)));
            }
            return Some(Arc::clone(report));
        }
        match self.results.failure(&key) {
            Some(failed) => self.failed.push(failed.clone()),
            None => self.wanted.push(spec.clone()),
        }
        None
    }

    /// Runs that were requested and are not available.
    #[cfg(test)]
    pub(crate) fn wanted(&self) -> &[RunSpec] {
        &self.wanted
    }

    /// The value of `make`, computed once for each key: for computations that take time without
    /// being a run, and depend on the key alone.
    pub fn computed<T: Any + Send + Sync>(&self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.results.computed(key, make)
    }

    /// The results of all of these runs, or `None` while some are missing. Requests all of them at
    /// once.
    pub fn all(&mut self, specs: &[RunSpec]) -> Option<Vec<Arc<RunReport>>> {
        let found: Vec<_> = specs.iter().map(|spec| self.get(spec)).collect();
        found.into_iter().collect()
    }
}

/// Function that makes a figure from results; `None` while some are missing.
type Make<'a> = dyn Fn(&mut Runs<'_>) -> Option<Figure> + 'a;

/// Function that makes a figure's page.
type Paged<'a> = dyn Fn(Figure, &[UsedRun]) -> Page + 'a;

/// A figure to be made from runs.
pub struct FigureJob<'a> {
    /// Name of the figure in messages.
    pub name: String,
    /// Makes the figure from results; `None` while some are missing.
    pub make: Box<Make<'a>>,
    /// Makes the page of the figure.
    pub page: Box<Paged<'a>>,
}

impl<'a> FigureJob<'a> {
    /// A figure of a paper.
    pub fn figure(info: &'a FigureInfo, request: &'a Request) -> Self {
        Self {
            name: info.full_name(),
            make: Box::new(|runs| (info.make)(request, runs)),
            page: Box::new(|figure, used| figure.page(info, request, used)),
        }
    }
}

/// Result of making a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureOutcome {
    /// The page of the figure.
    Page(Box<Page>),
    /// Runs on which the figure depends have failed.
    Failed {
        /// Name of the figure.
        name: String,
        /// The runs that failed.
        runs: Vec<Failed>,
    },
}

/// Makes figures, and the runs that they request, each once. Pages are in the order of `wanted`.
/// After an interruption, figures are left out that need more runs than have ended.
///
/// # Errors
/// If the store fails. Runs that were stored before remain.
pub fn make(
    wanted: &[FigureJob<'_>],
    runner: &Runner<'_>,
) -> Result<Vec<FigureOutcome>, StoreError> {
    make_by(wanted, &mut |missing, results| runner.run(missing, results))
}

/// Function that makes runs, each once, and adds them to the results.
pub type MakeRuns<'a, E> = dyn FnMut(&[RunSpec], &mut Results) -> Result<(), E> + 'a;

/// Makes figures as [`make`], from runs that `make_runs` makes. Figures are left out whose runs it
/// does not make, because it was interrupted.
///
/// # Errors
/// Errors of `make_runs`.
pub fn make_by<E>(
    wanted: &[FigureJob<'_>],
    make_runs: &mut MakeRuns<'_, E>,
) -> Result<Vec<FigureOutcome>, E> {
    let mut results = Results::default();
    let mut made: Vec<Option<FigureOutcome>> = wanted.iter().map(|_| None).collect();
    loop {
        let mut missing = Vec::new();
        for (wanted, made) in wanted.iter().zip(&mut made) {
            if made.is_none() {
                match attempt(wanted, &results) {
                    Ok(done) => *made = Some(done),
                    Err(runs) => missing.extend(runs),
                }
            }
        }
        if missing.is_empty() {
            return Ok(made.into_iter().flatten().collect());
        }
        let before = results.ended();
        make_runs(&missing, &mut results)?;
        if results.ended() == before {
            return Ok(made.into_iter().flatten().collect());
        }
    }
}

/// A figure from the available results, or the runs that are missing.
fn attempt(wanted: &FigureJob<'_>, results: &Results) -> Result<FigureOutcome, Vec<RunSpec>> {
    let mut runs = Runs::new(results);
    let figure = (wanted.make)(&mut runs);
    match figure {
        Some(figure) => Ok(FigureOutcome::Page(Box::new((wanted.page)(
            figure, &runs.used,
        )))),
        None if !runs.wanted.is_empty() => Err(runs.wanted),
        None => {
            let mut seen = BTreeSet::new();
            runs.failed
                .retain(|failed| seen.insert(failed.command.clone()));
            assert!(!runs.failed.is_empty(), "{} asked for nothing", wanted.name);
            Ok(FigureOutcome::Failed {
                name: wanted.name.clone(),
                runs: runs.failed,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FigureJob, FigureOutcome, Runs, make};
    use crate::figure::Figure;
    use crate::runner::{Event, Runner};
    use crate::spec::{Input, MachineVariant, RunSpec};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use warploom_report::page::Cell;
    use warploom_workloads::Size;

    fn machine(sets: &[&str]) -> MachineVariant {
        MachineVariant::preset(&sets.join(" "), "gtx480", sets).unwrap()
    }

    fn spec(sets: &[&str]) -> RunSpec {
        let input = Input::workload("vectoradd", Size::Test, 1).unwrap();
        RunSpec::new(&input, &machine(sets))
    }

    /// A figure with the best limit on blocks, and then that limit with another scheduler: a run
    /// whose configuration depends on the results of others.
    fn staged(runs: &mut Runs<'_>) -> Option<Figure> {
        let caps = ["gpu.max_blocks_per_sm=1", "gpu.max_blocks_per_sm=2"];
        let capped = runs.all(&caps.map(|cap| spec(&[cap])))?;
        let cycles = |run: &usize| capped[*run].totals.figures.cycles;
        let best = (0..caps.len()).min_by_key(cycles)?;
        let last = runs.get(&spec(&[caps[best], "sm.warp_scheduler=oldest"]))?;
        let cycles = Cell::Count(last.totals.figures.cycles);
        Some(Figure {
            summary: [("cycles".to_owned(), cycles)].into(),
            ..Figure::default()
        })
    }

    fn wanted<'a>(name: &str, make: &'a dyn Fn(&mut Runs<'_>) -> Option<Figure>) -> FigureJob<'a> {
        FigureJob {
            name: name.to_owned(),
            make: Box::new(make),
            page: Box::new(|figure, used| figure.into_page(used)),
        }
    }

    /// Pages, and the number of runs that were made.
    fn made(wanted: &[FigureJob<'_>], threads: usize) -> (Vec<FigureOutcome>, usize) {
        let runs = AtomicUsize::new(0);
        let observer = |event: Event<'_>| {
            if let Event::Ended { .. } = event {
                runs.fetch_add(1, Ordering::Relaxed);
            }
        };
        let runner = Runner {
            store: None,
            threads,
            observer: &observer,
            interrupted: &|| false,
        };
        let made = make(wanted, &runner).unwrap();
        (made, runs.into_inner())
    }

    #[test]
    fn runs_may_depend_on_results_and_are_shared() {
        let (alone, runs) = made(&[wanted("one", &staged)], 1);
        assert_eq!(runs, 3);
        let FigureOutcome::Page(page) = &alone[0] else {
            panic!("{alone:?}")
        };
        assert_eq!(page.runs.len(), 3);
        assert!(page.summary["cycles"].number() > Some(0.0));
        // The same figure twice makes the same runs, on any number of threads.
        let (twice, runs) = made(&[wanted("one", &staged), wanted("two", &staged)], 4);
        assert_eq!((runs, &twice[0], &twice[1]), (3, &alone[0], &alone[0]));
    }

    #[test]
    fn a_run_that_fails_is_told_and_takes_nothing_else_with_it() {
        let broken = |runs: &mut Runs<'_>| {
            let input = Input::new("broken", "broken.toml", "0", |_| {
                Err("broken.toml:3: no such buffer".to_owned())
            });
            runs.get(&RunSpec::new(&input, &machine(&[])))?;
            Some(Figure::default())
        };
        let (made, _) = made(&[wanted("bad", &broken), wanted("good", &staged)], 2);
        let [FigureOutcome::Failed { name, runs }, FigureOutcome::Page(_)] = made.as_slice() else {
            panic!("{made:?}")
        };
        assert_eq!((name.as_str(), runs.len()), ("bad", 1));
        assert!(runs[0].reason.contains("broken.toml:3"), "{runs:?}");
        assert_eq!(runs[0].command, "warploom run broken.toml --gpu gtx480");
    }
}
