//! Figures whose runs workers of a sweep make: processes of this machine, or jobs of Slurm.
//!
//! The figures request runs, stage by stage. Those that are not stored yet become the plan of a
//! sweep; when its workers have made them, they enter the store, and the figures go on.

use super::begin::{keep_program, start};
use super::display::SweepDisplay;
use super::runs::{Finder, resolve};
use super::{Engine, absolute, slurm};
use crate::experiment::{RunnerArgs, open_store, own_digest};
use crate::failure::Failure;
use crate::interrupt::KeptRuns;
use crate::output::{command_line, error_style, note};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use warploom_lab::{Failed, FigureJob, FigureOutcome, Results, RunKey, RunSpec, Store, make_by};
use warploom_run::launch_file::read as read_text;
use warploom_sweep::{
    Cluster, Folder, PlannedRun, Point, Record, StatusReader, Stopped, Sweep, WorkOptions,
    WorkProgress, Worker, begin, failure, forget_failure, read_cluster, work,
};

/// Time between two looks at runs that Slurm makes.
const LOOK: Duration = Duration::from_secs(2);

/// Time between two requests for workers of Slurm.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Requests for workers of Slurm after which no run has ended, before the command gives up.
const VAIN_REQUESTS: u32 = 5;

/// Options for the workers that make the runs of figures.
#[derive(clap::Args)]
#[command(next_help_heading = "Workers")]
pub struct EngineArgs {
    /// Let workers make the runs, as for `sweep`: processes of this machine, or jobs of Slurm
    /// [default: threads of this process]
    #[arg(
        long,
        value_name = "local|slurm",
        value_enum,
        hide_possible_values = true
    )]
    engine: Option<Engine>,
    /// With --engine slurm: number of workers [default: one for each run, at most 64]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// With --engine: file with the tables `limits` and `slurm` of a sweep's file
    #[arg(long, value_name = "FILE.toml", requires = "engine")]
    cluster: Option<PathBuf>,
}

impl EngineArgs {
    /// True if workers make the runs.
    pub fn given(&self) -> bool {
        self.engine.is_some()
    }
}

/// Makes figures. `name` names them together, and `output` is the folder of results.
pub fn make_figures(
    wanted: &[FigureJob<'_>],
    name: &str,
    args: &EngineArgs,
    runner: &RunnerArgs,
    output: &Path,
) -> Result<Vec<FigureOutcome>, Failure> {
    let mut runs = FigureRuns::new(name, args, runner, output)?;
    make_by(wanted, &mut |missing, results| runs.make(missing, results))
}

struct FigureRuns<'a> {
    args: &'a EngineArgs,
    threads: usize,
    watch: Option<Duration>,
    folder: Folder,
    sweep: Sweep,
    /// Runs of the plan, of all stages so far.
    runs: Vec<PlannedRun>,
    planned: HashSet<String>,
    finder: Finder,
    store: Store,
    /// Numbers of the runs, if this process waits for workers of its own.
    kept: Option<Arc<KeptRuns>>,
}

impl<'a> FigureRuns<'a> {
    fn new(
        name: &str,
        args: &'a EngineArgs,
        runner: &RunnerArgs,
        output: &Path,
    ) -> Result<Self, Failure> {
        let cluster = match &args.cluster {
            None => Cluster::default(),
            Some(path) => read_cluster(&read_text(path)?)
                .map_err(|errors| Failure::Input(errors.render(error_style())))?,
        };
        let store = open_store(output)?;
        let folder = Folder::new(&absolute(output)?, name);
        let build = own_digest()?;
        let worker = Worker::register(&folder, None)?;
        let kept = keep_program(&folder, &worker, &build);
        worker.leave()?;
        kept?;
        let axes = ["input", "machine"].map(str::to_owned).to_vec();
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self {
            args,
            threads: runner.threads(),
            watch: runner.watch(),
            sweep: Sweep::of_runs(axes, cluster, &build, version, &command_line()),
            folder,
            runs: Vec::new(),
            planned: HashSet::new(),
            finder: Finder::default(),
            store,
            kept: (args.engine != Some(Engine::Slurm)).then(KeptRuns::new),
        })
    }

    /// Makes runs, or takes them from the store, and adds them to `results`.
    fn make(&mut self, wanted: &[RunSpec], results: &mut Results) -> Result<(), Failure> {
        let mut missing: BTreeMap<RunKey, &RunSpec> = BTreeMap::new();
        for spec in wanted {
            let key = spec.key();
            if results.has(&key) {
                continue;
            }
            match self.store.get(&key)? {
                Some(report) => results.add(key, report),
                None => {
                    missing.entry(key).or_insert(spec);
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        for spec in missing.values() {
            self.plan(spec)?;
        }
        self.sweep.runs = self.runs.len();
        let worker = Worker::register(&self.folder, None)?;
        let made = self.work(&worker);
        worker.leave()?;
        made?;
        for (key, spec) in missing {
            self.take(key, spec, results)?;
        }
        Ok(())
    }

    /// Adds a run to the plan. One that has failed under an earlier command is made again.
    fn plan(&mut self, spec: &RunSpec) -> Result<(), Failure> {
        let settings = spec.settings().unwrap_or_default();
        let resolved = resolve(&mut self.finder, &settings);
        let resolved = resolved
            .ok()
            .filter(|run| run.identity == spec.key().text());
        let Some(resolved) = resolved else {
            return Err(Failure::Input(format!(
                "{} cannot be made by another process\n  = help: leave --engine out",
                spec.label()
            )));
        };
        let point = Point {
            name: spec.label(),
            values: vec![spec.input.name().to_owned(), spec.machine.name.clone()],
            settings,
        };
        let run = self.sweep.plan(point, resolved);
        if self.planned.insert(run.key.clone()) {
            forget_failure(&self.folder, &run.key)?;
            self.runs.push(run);
        }
        Ok(())
    }

    /// Lets workers make all runs of the plan.
    fn work(&self, worker: &Worker) -> Result<(), Failure> {
        let begun = begin(&self.folder, worker, &self.sweep, &self.runs)?;
        let mut display = SweepDisplay::new(self.sweep.runs, self.watch);
        let worked = match self.args.engine {
            Some(Engine::Slurm) => self.wait_for_slurm(worker, &mut display),
            _ => self.work_here(&mut display, begun.finished),
        };
        display.finish();
        worked
    }

    fn work_here(&self, display: &mut SweepDisplay, before: usize) -> Result<(), Failure> {
        let options = WorkOptions {
            jobs: self.threads,
            wait: true,
            until: None,
            job: None,
            start: 0,
        };
        let start = start(&self.folder, &self.sweep);
        let tell = &mut |progress: &WorkProgress| {
            if let Some(kept) = &self.kept {
                kept.set(before + progress.finished, self.sweep.runs);
            }
            display.tell(progress);
        };
        match work(&self.folder, &self.sweep, &options, &start, tell)? {
            (Stopped::Cancelled, _) => Err(cancelled()),
            _ => Ok(()),
        }
    }

    fn wait_for_slurm(&self, worker: &Worker, display: &mut SweepDisplay) -> Result<(), Failure> {
        let mut reader = StatusReader::default();
        let (mut asked, mut vain, mut ended) = (None::<Instant>, 0, 0);
        loop {
            worker.bury_dead()?;
            let status = reader.read(&self.folder, Some(worker))?;
            if status.is_cancelled {
                return Err(cancelled());
            }
            if status.remaining() == 0 {
                return Ok(());
            }
            if status.finished + status.failures() > ended {
                (ended, vain) = (status.finished + status.failures(), 0);
            }
            let is_time = asked.is_none_or(|asked| asked.elapsed() > ASK_AGAIN);
            if status.running == 0 && is_time {
                if vain == VAIN_REQUESTS {
                    return Err(self.in_vain());
                }
                let workers = self.args.workers;
                let told = slurm::request(&self.folder, &self.sweep, status.remaining(), workers)?;
                vain += u32::from(told.is_some());
                note(&told.unwrap_or_default());
                asked = Some(Instant::now());
            }
            display.tell(&WorkProgress {
                finished: status.finished,
                failed: status.failures(),
                waiting: status.waiting,
                running: vec![format!("{} running", status.running)],
            });
            std::thread::sleep(LOOK);
        }
    }

    fn in_vain(&self) -> Failure {
        Failure::Output(format!(
            "Slurm's workers end without finishing a run\n  = help: {} tells why; `warploom sweep \
             status {}` shows the state of the runs",
            self.folder.state().join("logs").display(),
            self.folder.state().display()
        ))
    }

    /// Takes a run that has ended from the folder into the store.
    fn take(&self, key: RunKey, spec: &RunSpec, results: &mut Results) -> Result<(), Failure> {
        let in_folder = self.sweep.key(key.text());
        let record = Record::open(&self.folder, &in_folder)?;
        if let Some(report) = record.and_then(Record::report) {
            self.store.put(&key, &report)?;
            results.add(key, report);
            return Ok(());
        }
        let reason = match failure(&self.folder, &in_folder)? {
            Some(failure) => failure.reason,
            None => "its result is damaged; the same command makes it again".to_owned(),
        };
        let failed = Failed {
            label: spec.label(),
            command: spec.command(),
            reason,
        };
        results.add_failure(key, failed);
        Ok(())
    }
}

fn cancelled() -> Failure {
    Failure::Output("the runs were cancelled; the same command goes on".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::runs::{Finder, resolve};
    use std::collections::BTreeMap;
    use warploom_lab::{
        Allocate, FigureJob, Input, MachineVariant, Request, RunSpec, SEED, Scale, all,
        by_name_only, make_by,
    };
    use warploom_workloads::Size;

    /// A run with allocated registers, as CRAT's figures request; to choose them takes minutes.
    fn allocated() -> RunSpec {
        let how = Allocate {
            shared_bytes: 4096,
            ..Allocate::local(24)
        };
        let input = Input::allocated("crat/HST", Size::Test, SEED, &how).unwrap();
        let machine = MachineVariant::preset("any", "fermi-crat", &["gpu.max_blocks_per_sm=2"]);
        RunSpec::new(&input, &machine.unwrap())
    }

    /// Another process finds the first runs of the figures by their settings alone.
    #[test]
    fn runs_of_figures_are_found_again_by_their_settings() {
        let request = Request { scale: Scale::Test };
        let mut wanted = BTreeMap::from([(allocated().key(), allocated())]);
        let figures = all().iter().chain(by_name_only());
        for info in figures.filter(|info| info.paper != "crat") {
            let job = FigureJob::figure(info, &request);
            let made = make_by(&[job], &mut |missing, _| {
                let specs = missing.iter().map(|spec| (spec.key(), spec.clone()));
                wanted.extend(specs);
                Err(info.full_name())
            });
            // A table that needs no run is made at once.
            assert!(made.is_ok() || made == Err(info.full_name()));
        }
        assert!(wanted.len() > 100, "{} runs", wanted.len());
        let mut finder = Finder::default();
        for (key, spec) in wanted {
            let settings = spec
                .settings()
                .unwrap_or_else(|| panic!("{}", spec.label()));
            let found = resolve(&mut finder, &settings).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(found.identity, key.text(), "{}", spec.command());
            assert_eq!(found.command, spec.command());
        }
    }
}
