//! Thread that runs a simulation, and the requests of Python to it.
//!
//! The simulation asks its host program for the next action, and the host program waits for the
//! next request. No simulated time passes between two requests, so results do not depend on the
//! speed of the interpreter.

use crate::errors::{exception, input_error, run_error};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use warploom_config::GpuSpec;
use warploom_run::{Check, Device, HostAction, HostError, HostProgram, Options, RunError, Session};
use warploom_stats::result::{Outcome, RunReport};

/// Longest time between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// Request to the simulation.
enum Request {
    /// Executes a function with the device at once.
    Now(Box<dyn FnOnce(&mut Device) + Send>),
    /// Performs an action. The sender is notified when the host program continues after it.
    Act(HostAction, Option<Sender<()>>),
}

/// Host program that forwards requests.
struct Host {
    requests: Receiver<Request>,
    waiting: Option<Sender<()>>,
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(waiting) = self.waiting.take() {
            // The receiver may have given up after a signal.
            let _ = waiting.send(());
        }
        loop {
            match self.requests.recv() {
                Err(_) => return Ok(HostAction::Done),
                Ok(Request::Now(action)) => action(device),
                Ok(Request::Act(action, waiting)) => {
                    self.waiting = waiting;
                    return Ok(action);
                }
            }
        }
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

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
pub fn wait<T: Send>(
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

type Ended = Result<RunReport, RunError>;

/// Handle of a simulation that runs.
pub struct Live {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    /// Taken once, with the result; the lock is for Python's threads.
    ended: Mutex<Option<Receiver<Ended>>>,
    stop: StopFlag,
}

impl Live {
    /// Starts a simulation on a thread.
    pub fn start(spec: GpuSpec, options: Options, stop: StopFlag) -> std::io::Result<Self> {
        let (requests, received) = channel();
        let (end, ended) = channel();
        let flag = stop.clone();
        let run = move || {
            let mut host = Host {
                requests: received,
                waiting: None,
            };
            let session = Session::new(spec, options);
            let report = session.run(&mut host, &mut |_| flag.go_on());
            // The receiver may have given up after a signal.
            let _ = end.send(report);
        };
        let thread = std::thread::Builder::new().name("warploom".to_owned());
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread.spawn(run)?),
            ended: Mutex::new(Some(ended)),
            stop,
        })
    }

    fn request(&mut self, py: Python<'_>, request: Request) -> PyResult<()> {
        let sent = match &self.requests {
            Some(requests) => requests.send(request).is_ok(),
            None => return Err(input_error(py, "the run has ended; start another one")),
        };
        if sent { Ok(()) } else { Err(self.failure(py)) }
    }

    /// Executes a function with the device and returns its result.
    pub fn with<R: Send + 'static>(
        &mut self,
        py: Python<'_>,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> PyResult<R> {
        let (answer, answered) = channel();
        let action = move |device: &mut Device| drop(answer.send(action(device)));
        self.request(py, Request::Now(Box::new(action)))?;
        match wait(py, answered, &self.stop)? {
            Some(answer) => Ok(answer),
            None => Err(self.failure(py)),
        }
    }

    /// Requests an action, and waits until the host program continues after it.
    pub fn act(&mut self, py: Python<'_>, action: HostAction) -> PyResult<()> {
        let (answer, answered) = channel();
        self.request(py, Request::Act(action, Some(answer)))?;
        match wait(py, answered, &self.stop)? {
            Some(()) => Ok(()),
            None => Err(self.failure(py)),
        }
    }

    /// Ends the simulation after all requests, and returns its result.
    ///
    /// # Errors
    /// The run could not be made, or Python code in it raised an exception.
    pub fn finish(&mut self, py: Python<'_>) -> PyResult<RunReport> {
        self.requests = None;
        let ended = self.ended.get_mut().ok().and_then(Option::take);
        let Some(ended) = ended else {
            return Err(input_error(py, "the result of the run was already taken"));
        };
        let report = wait(py, ended, &self.stop)?;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is reported below: it sends no result.
            let _ = py.detach(|| thread.join());
        }
        if let Some(error) = self.stop.take() {
            return Err(error);
        }
        match report {
            Some(Ok(report)) => whole(report),
            Some(Err(error)) => Err(run_error(py, &error)),
            None => Err(pyo3::exceptions::PyRuntimeError::new_err(
                "the simulation ended by a bug of Warploom; please report it",
            )),
        }
    }

    /// Exception of a run that accepts no more requests.
    fn failure(&mut self, py: Python<'_>) -> PyErr {
        match self.finish(py) {
            Err(error) => error,
            Ok(report) => fault(py, &report),
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
pub fn whole(report: RunReport) -> PyResult<RunReport> {
    match report.outcome {
        Outcome::Interrupted { .. } => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
        _ => Ok(report),
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
