//! Makes requested runs on all cores: each on one thread, each stored as soon as it is finished.
//!
//! Results depend neither on the order in which runs end nor on the number of threads: a run is a
//! pure function of its specification, and results are looked up by key.

mod together;

use crate::spec::{Input, Mix, RunKey, RunSpec};
use crate::store::{Store, StoreError};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use warploom_config::GpuSpec;
use warploom_run::{Again, HostProgram, Options, Participant, Progress, Session, Timed};
use warploom_stats::result::{Outcome, RunReport};

/// Progress of the runs.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The number of runs to make, and of those found in the store.
    Planned {
        /// Number of runs to make.
        runs: usize,
        /// Number of stored runs that were found.
        stored: usize,
    },
    /// The beginning of a run.
    Started {
        /// Number of the run among those planned.
        number: usize,
        /// Name of the run.
        label: &'a str,
    },
    /// A run made progress.
    At {
        /// Number of the run among those planned.
        number: usize,
        /// Progress of the run.
        progress: &'a Progress,
    },
    /// A sampled run does not share the execution of its program with the runs before it.
    Apart {
        /// Name of the run.
        label: &'a str,
        /// Reason why it does not.
        why: &'a str,
    },
    /// The end of a run.
    Ended {
        /// Number of the run among those planned.
        number: usize,
    },
}

/// Settings for making runs.
pub struct Runner<'a> {
    /// Store for finished runs, if any.
    pub store: Option<Store>,
    /// Number of simultaneous runs.
    pub threads: usize,
    /// Receives events, from any thread.
    pub observer: &'a (dyn Fn(Event<'_>) + Sync),
    /// Tells, in any thread, whether all runs should stop. Those that have not ended then have no
    /// result.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// Results of runs, by key.
#[derive(Default)]
pub struct Results {
    done: BTreeMap<RunKey, Arc<RunReport>>,
    failed: BTreeMap<RunKey, Failed>,
    /// Values that figures have computed without runs, by their key.
    computed: Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>,
}

/// A run that was made, or the reason why it has no result.
type Made = Result<RunReport, String>;

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Names of the target and the machine.
    pub label: String,
    /// Command that makes the run alone.
    pub command: String,
    /// Reason of the failure, with its place.
    pub reason: String,
}

impl Results {
    /// The result of a run.
    pub fn get(&self, key: &RunKey) -> Option<&Arc<RunReport>> {
        self.done.get(key)
    }

    /// Adds the result of a run.
    pub fn add(&mut self, key: RunKey, report: RunReport) {
        self.done.insert(key, Arc::new(report));
    }

    /// Adds a run that has failed.
    pub fn add_failure(&mut self, key: RunKey, failed: Failed) {
        self.failed.insert(key, failed);
    }

    /// True if a run has ended, with a result or without.
    pub fn has(&self, key: &RunKey) -> bool {
        self.done.contains_key(key) || self.failed.contains_key(key)
    }

    /// The value of `make`, computed once for each key. It must depend on the key alone, and on no
    /// run.
    pub(crate) fn computed<T>(&self, key: &str, make: impl FnOnce() -> T) -> Arc<T>
    where
        T: Any + Send + Sync,
    {
        // The lock is not held while `make` runs, because one figure's value may need another's.
        let lock = || self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(key).cloned();
        let found = known.unwrap_or_else(|| {
            let made: Arc<dyn Any + Send + Sync> = Arc::new(make());
            lock().insert(key.to_owned(), Arc::clone(&made));
            made
        });
        found.downcast().expect("one type for a key")
    }

    /// Failure of a run, if it has failed.
    pub fn failure(&self, key: &RunKey) -> Option<&Failed> {
        self.failed.get(key)
    }

    /// Number of runs that have ended, with a result or without.
    pub(crate) fn ended(&self) -> usize {
        self.done.len() + self.failed.len()
    }

    /// All runs without a result, in the order of keys.
    pub fn failures(&self) -> impl Iterator<Item = &Failed> {
        self.failed.values()
    }
}

impl Runner<'_> {
    /// Makes runs, or takes them from the store, and adds them to `results`. Runs with the same key
    /// are made once.
    ///
    /// After an interruption some have no result.
    ///
    /// # Errors
    /// If the store fails. Runs that were stored before remain.
    pub fn run(&self, wanted: &[RunSpec], results: &mut Results) -> Result<(), StoreError> {
        let mut todo: BTreeMap<RunKey, &RunSpec> = BTreeMap::new();
        let mut stored = 0;
        for spec in wanted {
            let key = spec.key();
            if results.has(&key) {
                continue;
            }
            match self
                .store
                .as_ref()
                .map_or(Ok(None), |store| store.get(&key))?
            {
                Some(report) => {
                    stored += 1;
                    results.done.insert(key, Arc::new(report));
                }
                None => {
                    todo.entry(key).or_insert(spec);
                }
            }
        }
        let mut todo: Vec<_> = todo.into_iter().collect();
        // The longest runs start first, so that no core waits at the end.
        todo.sort_by_key(|(_, spec)| std::cmp::Reverse(spec.weight()));
        (self.observer)(Event::Planned {
            runs: todo.len(),
            stored,
        });
        self.make(&todo, results)
    }

    fn make(&self, todo: &[(RunKey, &RunSpec)], results: &mut Results) -> Result<(), StoreError> {
        let specs: Vec<&RunSpec> = todo.iter().map(|(_, spec)| *spec).collect();
        let jobs = together::jobs(&specs, self.threads);
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..self.threads.clamp(1, jobs.len().max(1)) {
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                let (specs, jobs) = (&specs, &jobs);
                scope.spawn(move || {
                    while !self.stops(stop) {
                        let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                            return;
                        };
                        if !self.job(job, specs, stop, &sender) {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (number, result) in receiver {
                let (key, spec) = &todo[number];
                match result {
                    Ok(report) => {
                        if let Some(store) = &self.store
                            && let Err(error) = store.put(key, &report)
                        {
                            stop.store(true, Ordering::Relaxed);
                            return Err(error);
                        }
                        results.done.insert(key.clone(), Arc::new(report));
                    }
                    Err(reason) => {
                        let failed = Failed {
                            label: spec.label(),
                            command: spec.command(),
                            reason,
                        };
                        results.failed.insert(key.clone(), failed);
                    }
                }
                (self.observer)(Event::Ended { number });
            }
            Ok(())
        })
    }

    /// Makes the runs of a job. Returns false if they were stopped.
    fn job(
        &self,
        job: &[usize],
        specs: &[&RunSpec],
        stop: &AtomicBool,
        sender: &mpsc::Sender<(usize, Made)>,
    ) -> bool {
        if let [number] = job {
            let result = self.simulate(*number, specs[*number], stop);
            return result.is_some_and(|result| sender.send((*number, result)).is_ok());
        }
        let mut give = |number, made| sender.send((number, made)).is_ok();
        self.simulate_together(job, specs, stop, &mut give)
    }

    /// True if no further run should begin or go on.
    fn stops(&self, stop: &AtomicBool) -> bool {
        stop.load(Ordering::Relaxed) || (self.interrupted)()
    }

    /// Makes a run. `None` if it was stopped.
    fn simulate(&self, number: usize, spec: &RunSpec, stop: &AtomicBool) -> Option<Made> {
        let label = spec.label();
        (self.observer)(Event::Started {
            number,
            label: &label,
        });
        let mut is_stopped = false;
        let made = spec.simulate(&mut |progress| {
            (self.observer)(Event::At { number, progress });
            is_stopped = self.stops(stop);
            match is_stopped {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        (!is_stopped).then_some(made)
    }
}

impl RunSpec {
    /// Makes the run in this thread. `progress` learns how far it is, and may end it.
    ///
    /// # Errors
    /// If the input does not fit the machine, the simulated program fails, or an output is wrong.
    pub fn simulate(
        &self,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunReport, String> {
        let gpu = &self.machine.spec;
        let program = self.input.program(gpu)?;
        let session = self.session(program.as_ref());
        let report = run(&session, self, program, progress)?;
        made(report)
    }
}

/// A run that ended, or the reason why it has no result.
fn made(report: RunReport) -> Made {
    match failure(&report) {
        Some(reason) => Err(reason),
        None => Ok(report),
    }
}

impl RunSpec {
    /// The session of the run of a program.
    fn session(&self, program: &dyn HostProgram) -> Session {
        let options = Options {
            max_cycles: self.max_cycles,
            max_launches: self.max_launches,
            window_cycles: self.window_cycles,
            timed: Timed {
                kernels: self.time_kernels.clone(),
                ..Timed::from(if self.from_analysis_start {
                    program.analysis_start()
                } else {
                    0
                })
            },
            functional: self.sharing,
            sharing: self.sharing,
            sample_error: self.sample_error,
            command: self.command(),
            ..Options::default()
        };
        Session::new(GpuSpec::clone(&self.machine.spec), options)
    }
}

/// Runs one program, or several at once.
fn run(
    session: &Session,
    spec: &RunSpec,
    mut program: Box<dyn HostProgram>,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunReport, String> {
    let gpu = session.spec();
    let report = match &spec.mix {
        None => session.run(program.as_mut(), progress),
        Some(mix) => session.run_mix(participants(&spec.input, program, mix, gpu)?, progress),
    };
    report.map_err(|error| error.to_string())
}

fn participants<'a>(
    first: &'a Input,
    program: Box<dyn HostProgram>,
    mix: &'a Mix,
    gpu: &'a GpuSpec,
) -> Result<Vec<Participant<'a>>, String> {
    let mut programs = vec![(first, program)];
    for other in &mix.others {
        programs.push((other, other.program(gpu)?));
    }
    let programs = programs.into_iter().enumerate();
    let participant = |(at, (input, program)): (usize, (&'a Input, _))| Participant {
        again: mix
            .again
            .then(|| Box::new(move || input.program(gpu)) as Again<'a>),
        target: mix.targets.get(at).copied(),
        ..Participant::new(input.name(), program)
    };
    Ok(programs.map(participant).collect())
}

/// Reason why a run that ended has no result.
fn failure(report: &RunReport) -> Option<String> {
    if let Some(message) = report.outcome.message() {
        return Some(message.to_owned());
    }
    if matches!(report.outcome, Outcome::Interrupted { .. }) {
        return Some("the run was interrupted".to_owned());
    }
    let wrong = report.checks.iter().find(|check| !check.passed)?;
    Some(format!("wrong output `{}`: {}", wrong.name, wrong.detail))
}
