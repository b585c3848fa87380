//! Thread that runs the simulation, and the requests of the process to it.

use crate::error::CudaError;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use warploom_config::GpuSpec;
use warploom_run::{
    Device, HostAction, MarkAction, NoMoreRequests, Options, Requester, RunError, Session,
    requested_host,
};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Result of a run, with its timeline if one was requested.
pub(crate) type RunResult = (RunReport, Option<Trace>);

/// Handle of the process to the simulation.
pub(crate) struct Engine {
    requester: Requester,
    /// Flag that a request to end the process sets.
    interrupted: &'static AtomicBool,
    thread: Option<JoinHandle<Result<RunResult, RunError>>>,
    /// Result of the thread after its end, until it is taken.
    ended: Option<Result<RunResult, EarlyEnd>>,
}

/// Reason why a run has no result.
pub(crate) enum EarlyEnd {
    /// The run could not be made.
    Refused(RunError),
    /// A bug of the simulator.
    Bug,
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Bug => f.write_str("the simulation ended by a bug of Warploom; please report it"),
        }
    }
}

impl EarlyEnd {
    /// Reason why a run cannot go on from its checkpoint, or make one.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Refused(RunError::Checkpoint(error)) => Some(error.to_string()),
            _ => None,
        }
    }
}

impl Engine {
    /// Starts the simulation, which stops once `interrupted` is set. `traced` also requests a
    /// timeline.
    pub fn start(
        spec: GpuSpec,
        options: Options,
        traced: bool,
        interrupted: &'static AtomicBool,
    ) -> std::io::Result<Self> {
        let (requester, mut host) = requested_host();
        let run = move || {
            let session = Session::new(spec, options);
            let go_on = &mut |_: &_| match interrupted.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            if traced {
                let made = session.run_traced(&mut host, go_on);
                made.map(|(run, trace)| (run, Some(trace)))
            } else {
                session.run(&mut host, go_on).map(|run| (run, None))
            }
        };
        let thread = std::thread::Builder::new().name("warploom".to_owned());
        Ok(Self {
            requester,
            interrupted,
            thread: Some(thread.spawn(run)?),
            ended: None,
        })
    }

    /// Error of the process for a request that the simulation does not take or answer. Its reason
    /// can be read only once, and the context keeps it. Without a reason, the run could not be
    /// made, and its thread has ended.
    fn failure(&mut self) -> CudaError {
        if let Some(why) = self.requester.stopped() {
            return CudaError::of(why);
        }
        self.join();
        CudaError::UNKNOWN
    }

    /// Waits for the end of the thread.
    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.ended = Some(match thread.join() {
                Ok(result) => result.map_err(EarlyEnd::Refused),
                Err(_) => Err(EarlyEnd::Bug),
            });
        }
    }

    /// Reason why the run cannot go on from its checkpoint, or make one, if it has ended by it.
    pub fn refusal(&self) -> Option<String> {
        self.ended.as_ref()?.as_ref().err()?.refusal()
    }

    /// Waits for the answer to a request.
    fn answer<R>(&mut self, request: Result<Receiver<R>, NoMoreRequests>) -> Result<R, CudaError> {
        let answer = request.ok().and_then(|answered| answered.recv().ok());
        answer.ok_or_else(|| self.failure())
    }

    /// Executes a function with the device as soon as the default stream is idle, and returns its
    /// result.
    pub fn with<R: Send + 'static>(
        &mut self,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> Result<R, CudaError> {
        let request = self.requester.now(action);
        self.answer(request)
    }

    /// Requests an action without waiting.
    pub fn act(&mut self, action: HostAction) -> Result<(), CudaError> {
        let sent = self.requester.act(action);
        sent.map_err(|_| self.failure())
    }

    /// Requests an action and waits until the host program continues after it.
    pub fn wait(&mut self, action: HostAction) -> Result<(), CudaError> {
        let request = self.requester.act_and_tell(action);
        self.answer(request)
    }

    /// Requests the execution of a function in the order of a stream. Returns the number of its
    /// mark.
    pub fn mark(&mut self, stream: u32, action: MarkAction) -> Result<u64, CudaError> {
        let mark = self.requester.mark(stream, action);
        mark.map_err(|_| self.failure())
    }

    /// Ends the simulation and returns its result, after an interruption the result so far. Returns
    /// `None` if the result was already taken.
    pub fn finish(&mut self) -> Option<Result<RunResult, EarlyEnd>> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => self.requester.interrupt(),
            false => self.requester.end(),
        }
        self.join();
        self.ended.take()
    }
}
