//! Thread that runs the simulation, and the requests to it.
//!
//! The simulation asks a host program for its next action. Here, the host program waits for the
//! next request of the process. No simulated time passes between two requests, so that results do
//! not depend on the speed of the process.

use crate::error::CudaError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use warploom_base::Cycle;
use warploom_config::GpuSpec;
use warploom_run::{
    Check, Device, HostAction, HostError, HostProgram, Options, RunError, Session, Stopped,
};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Function that is executed when a stream reaches a mark. It receives the core cycle of that time.
pub(crate) type MarkAction = Box<dyn FnOnce(&mut Device, Cycle) -> Result<(), HostError> + Send>;

/// Result of a run, with its timeline if one was requested.
pub(crate) type RunResult = (RunReport, Option<Trace>);

/// Request of the process to the simulation.
enum Request {
    /// Executes a function with the device at once.
    Now(Box<dyn FnOnce(&mut Device) + Send>),
    /// Performs an action. The sender is notified when the host program continues after it.
    Act(HostAction, Option<Sender<()>>),
    /// Executes a function in the order of a stream, with the number of its mark.
    Mark(u32, u64, MarkAction),
}

/// Host program inside the simulation, which forwards requests.
struct Host {
    requests: Receiver<Request>,
    waiting: Option<Sender<()>>,
    actions: BTreeMap<u64, MarkAction>,
    why: Sender<Stopped>,
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(waiting) = self.waiting.take() {
            // The receiver may have ended with its process.
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
                Ok(Request::Mark(stream, mark, action)) => {
                    self.actions.insert(mark, action);
                    return Ok(HostAction::Mark { stream, mark });
                }
            }
        }
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        match self.actions.remove(&mark) {
            Some(action) => action(device, at),
            None => Ok(()),
        }
    }

    fn stopped(&mut self, why: Stopped) {
        // The engine may have ended with its process.
        let _ = self.why.send(why);
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Handle of the process to the simulation.
pub(crate) struct Engine {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<Result<RunResult, RunError>>>,
    /// Reason for which the run ended early. It is sent before the channel of requests is closed.
    why: Receiver<Stopped>,
    marks: u64,
}

impl Engine {
    /// Starts the simulation. `traced` also requests a timeline.
    pub fn start(spec: GpuSpec, options: Options, traced: bool) -> std::io::Result<Self> {
        let (requests, received) = channel();
        let (tell, why) = channel();
        let mut host = Host {
            requests: received,
            waiting: None,
            actions: BTreeMap::new(),
            why: tell,
        };
        let run = move || {
            let session = Session::new(spec, options);
            let go_on = &mut |_: &_| ControlFlow::Continue(());
            if traced {
                let made = session.run_traced(&mut host, go_on);
                made.map(|(run, trace)| (run, Some(trace)))
            } else {
                session.run(&mut host, go_on).map(|run| (run, None))
            }
        };
        let thread = std::thread::Builder::new().name("warploom".to_owned());
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread.spawn(run)?),
            why,
            marks: 0,
        })
    }

    /// Sends a request to the simulation.
    fn request(&self, request: Request) -> Result<(), CudaError> {
        let requests = self.requests.as_ref().ok_or_else(|| self.failure())?;
        requests.send(request).map_err(|_| self.failure())
    }

    /// Reason for which the simulation accepts no more requests. It can be read only once, and the
    /// context keeps it.
    fn failure(&self) -> CudaError {
        let why = self.why.try_recv();
        why.map_or(CudaError::UNKNOWN, CudaError::of)
    }

    /// Executes a function with the device as soon as the default stream is idle, and returns its
    /// result.
    pub fn with<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> Result<R, CudaError> {
        let (answer, answered) = channel();
        self.request(Request::Now(Box::new(move |device| {
            let _ = answer.send(action(device));
        })))?;
        answered.recv().map_err(|_| self.failure())
    }

    /// Requests an action without waiting.
    pub fn act(&self, action: HostAction) -> Result<(), CudaError> {
        self.request(Request::Act(action, None))
    }

    /// Requests an action and waits until the host program continues after it.
    pub fn wait(&self, action: HostAction) -> Result<(), CudaError> {
        let (answer, answered) = channel();
        self.request(Request::Act(action, Some(answer)))?;
        answered.recv().map_err(|_| self.failure())
    }

    /// Requests the execution of a function in the order of a stream. Returns the number of its
    /// mark.
    pub fn mark(&mut self, stream: u32, action: MarkAction) -> Result<u64, CudaError> {
        self.marks += 1;
        self.request(Request::Mark(stream, self.marks, action))?;
        Ok(self.marks)
    }

    /// Ends the simulation and returns its result. Returns `None` if the result was already taken.
    pub fn finish(&mut self) -> Option<Result<RunResult, String>> {
        self.requests = None;
        Some(match self.thread.take()?.join() {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("the simulation ended by a bug of Warploom; please report it".to_owned()),
        })
    }
}
