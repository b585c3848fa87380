//! Thread that runs a simulation, and the requests of Python to it.

use crate::errors::{exception, input_error, run_error};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use warploom_config::GpuSpec;
use warploom_run::{
    Device, HostAction, HostProgram, NoMoreRequests, Options, Progress, Requester, RunError,
    Session, requested_host,
};
use warploom_stats::result::{Outcome, RunReport};
use warploom_stats::trace::Trace;

/// Result of a run, with the events of its warps if they were recorded.
pub type Ended = (RunReport, Option<Trace>);

/// Longest time between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// Reasons of Python to stop a run, shared with its thread.
#[derive(Clone, Default)]
pub struct StopFlag {
    set: Arc<AtomicBool>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl StopFlag {
    /// Stops the run as soon as it looks.
    pub fn stop(&self) {
        self.set.store(true, Ordering::Relaxed);
    }

    /// Stops the run because of an exception in Python code that the simulation called. The first
    /// one counts.
    pub fn fail(&self, error: PyErr) {
        if let Ok(mut first) = self.error.lock() {
            first.get_or_insert(error);
        }
        self.stop();
    }

    /// Whether the run goes on.
    pub fn go_on(&self) -> ControlFlow<()> {
        match self.set.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Exception that stopped the run, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().ok()?.take()
    }
}

/// Stop of all runs whose options contain it, for several runs on threads of Python: signals reach
/// only the main thread.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Stop(pub StopFlag);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the runs as soon as they look.
    fn set(&self) {
        self.0.stop();
    }
}

/// Waits for the answer of a thread without the interpreter's lock, and looks for signals. `None`
/// means that the thread has ended without an answer.
///
/// # Errors
/// The exception that a signal raised, such as `KeyboardInterrupt`. The run is then told to stop.
fn wait<T: Send>(
    py: Python<'_>,
    mut answered: Receiver<T>,
    stop: &StopFlag,
) -> PyResult<Option<T>> {
    loop {
        let (answer, again) = py.detach(move || (answered.recv_timeout(PATIENCE), answered));
        answered = again;
        match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| stop.stop())?,
        }
    }
}

/// Simulation on a thread of its own.
pub struct Simulation {
    thread: JoinHandle<()>,
    report: Receiver<Result<Ended, RunError>>,
    stop: StopFlag,
}

impl Simulation {
    /// Starts the simulation of a host program, which ends early when `stop` is set. Records the
    /// events of all warps if `traced` is set.
    pub fn start(
        spec: GpuSpec,
        options: Options,
        mut program: Box<dyn HostProgram>,
        stop: StopFlag,
        traced: bool,
    ) -> std::io::Result<Self> {
        let (end, report) = channel();
        let flag = stop.clone();
        let run = move || {
            let session = Session::new(spec, options);
            let mut progress = |_: &Progress| flag.go_on();
            let report = match traced {
                true => session
                    .run_traced(&mut *program, &mut progress)
                    .map(|(report, trace)| (report, Some(trace))),
                false => session
                    .run(&mut *program, &mut progress)
                    .map(|report| (report, None)),
            };
            // The receiver may have given up after a signal.
            let _ = end.send(report);
        };
        let thread = std::thread::Builder::new().name("warploom".to_owned());
        Ok(Self {
            thread: thread.spawn(run)?,
            report,
            stop,
        })
    }

    /// Waits for the end of the simulation, and returns its result.
    ///
    /// # Errors
    /// The run could not be made, or Python code in it raised an exception.
    pub fn finish(self, py: Python<'_>) -> PyResult<Ended> {
        let report = wait(py, self.report, &self.stop)?;
        // A panic of the thread is reported below: it sends no result.
        let _ = py.detach(|| self.thread.join());
        if let Some(error) = self.stop.take() {
            return Err(error);
        }
        match report {
            Some(Ok(ended)) => whole(ended),
            Some(Err(error)) => Err(run_error(py, &error)),
            None => Err(pyo3::exceptions::PyRuntimeError::new_err(
                "the simulation ended by a bug of Warploom; please report it",
            )),
        }
    }
}

/// Handle of a simulation that performs requests.
pub struct Live {
    /// The locks are for Python's threads.
    requester: Mutex<Requester>,
    /// Taken once, with the result.
    simulation: Mutex<Option<Simulation>>,
    stop: StopFlag,
}

impl Live {
    /// Starts a simulation on a thread.
    pub fn start(
        spec: GpuSpec,
        options: Options,
        stop: StopFlag,
        traced: bool,
    ) -> std::io::Result<Self> {
        let (requester, host) = requested_host();
        let simulation = Simulation::start(spec, options, Box::new(host), stop.clone(), traced)?;
        Ok(Self {
            requester: Mutex::new(requester),
            simulation: Mutex::new(Some(simulation)),
            stop,
        })
    }

    fn requester(&mut self) -> &mut Requester {
        let requester = self.requester.get_mut();
        requester.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the answer to a request.
    fn answer<R: Send>(
        &mut self,
        py: Python<'_>,
        request: Result<Receiver<R>, NoMoreRequests>,
    ) -> PyResult<R> {
        if self.requester().has_ended() {
            return Err(input_error(py, "the run has ended; start another one"));
        }
        let answer = match request {
            Ok(answered) => wait(py, answered, &self.stop)?,
            Err(NoMoreRequests) => None,
        };
        answer.ok_or_else(|| self.failure(py))
    }

    /// Executes a function with the device and returns its result.
    pub fn with<R: Send + 'static>(
        &mut self,
        py: Python<'_>,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> PyResult<R> {
        let request = self.requester().now(action);
        self.answer(py, request)
    }

    /// Requests an action, and waits until the host program continues after it.
    pub fn act(&mut self, py: Python<'_>, action: HostAction) -> PyResult<()> {
        let request = self.requester().act_and_tell(action);
        self.answer(py, request)
    }

    /// Ends the simulation after all requests, and returns its result.
    ///
    /// # Errors
    /// The run could not be made, or Python code in it raised an exception.
    pub fn finish(&mut self, py: Python<'_>) -> PyResult<Ended> {
        self.requester().end();
        let simulation = self.simulation.get_mut().ok().and_then(Option::take);
        match simulation {
            Some(simulation) => simulation.finish(py),
            None => Err(input_error(py, "the result of the run was already taken")),
        }
    }

    /// Exception of a run that accepts no more requests.
    fn failure(&mut self, py: Python<'_>) -> PyErr {
        match self.finish(py) {
            Err(error) => error,
            Ok((report, _)) => fault(py, &report),
        }
    }
}

impl Drop for Live {
    /// Stops a run that nobody asked for its result.
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// The result of a run, unless another thread stopped it after a signal.
///
/// # Errors
/// `KeyboardInterrupt` for a run that was stopped.
fn whole(ended: Ended) -> PyResult<Ended> {
    match ended.0.outcome {
        Outcome::Interrupted { .. } => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
        _ => Ok(ended),
    }
}

/// Exception for a run that the simulated program ended.
pub fn fault(py: Python<'_>, report: &RunReport) -> PyErr {
    let outcome = &report.outcome;
    let class = match outcome.kind() {
        "deadlock" | "livelock" => "Stuck",
        "cycle-limit" => "CycleLimit",
        _ => "Fault",
    };
    let limit = "the limit of cycles was reached before the program ended; raise `max_cycles`";
    exception(py, class, outcome.message().unwrap_or(limit))
}
