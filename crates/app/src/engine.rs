//! Thread that runs the simulation, and the requests of the process to it.

use crate::error::CudaError;
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
        })
    }

    /// Error of the process for a request that the simulation does not take or answer. Its reason
    /// can be read only once, and the context keeps it.
    fn failure(&self) -> CudaError {
        let why = self.requester.stopped();
        why.map_or(CudaError::UNKNOWN, CudaError::of)
    }

    /// Waits for the answer to a request.
    fn answer<R>(&self, request: Result<Receiver<R>, NoMoreRequests>) -> Result<R, CudaError> {
        let answer = request.ok().and_then(|answered| answered.recv().ok());
        answer.ok_or_else(|| self.failure())
    }

    /// Executes a function with the device as soon as the default stream is idle, and returns its
    /// result.
    pub fn with<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> Result<R, CudaError> {
        self.answer(self.requester.now(action))
    }

    /// Requests an action without waiting.
    pub fn act(&self, action: HostAction) -> Result<(), CudaError> {
        self.requester.act(action).map_err(|_| self.failure())
    }

    /// Requests an action and waits until the host program continues after it.
    pub fn wait(&self, action: HostAction) -> Result<(), CudaError> {
        self.answer(self.requester.act_and_tell(action))
    }

    /// Requests the execution of a function in the order of a stream. Returns the number of its
    /// mark.
    pub fn mark(&mut self, stream: u32, action: MarkAction) -> Result<u64, CudaError> {
        let mark = self.requester.mark(stream, action);
        mark.map_err(|_| self.failure())
    }

    /// Ends the simulation and returns its result, after an interruption the result so far. Returns
    /// `None` if the result was already taken.
    pub fn finish(&mut self) -> Option<Result<RunResult, String>> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => self.requester.interrupt(),
            false => self.requester.end(),
        }
        Some(match self.thread.take()?.join() {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("the simulation ended by a bug of Warploom; please report it".to_owned()),
        })
    }
}
