//! The thread that simulates, and how it is asked.
//!
//! The simulation asks a host program for its next action; here the host program waits until the
//! process wants something. Between two wishes of the process no simulated time goes by, so that
//! results do not depend on how fast the process is.

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

/// Done at a mark of a stream, in core cycle `Cycle`.
pub(crate) type Work = Box<dyn FnOnce(&mut Device, Cycle) -> Result<(), HostError> + Send>;

/// A run's result and its timeline, if one was asked for.
pub(crate) type Made = (RunReport, Option<Trace>);

enum Wish {
    /// Something with the device, now.
    Now(Box<dyn FnOnce(&mut Device) + Send>),
    /// An action; the answer comes when the program goes on after it.
    Act(HostAction, Option<Sender<()>>),
    /// Something in the order of a stream.
    Mark(u32, u64, Work),
}

/// The host program inside the simulation.
struct Host {
    wishes: Receiver<Wish>,
    waiting: Option<Sender<()>>,
    works: BTreeMap<u64, Work>,
    why: Sender<Stopped>,
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(waiting) = self.waiting.take() {
            // Whoever waited may be gone with its process.
            let _ = waiting.send(());
        }
        loop {
            match self.wishes.recv() {
                Err(_) => return Ok(HostAction::Done),
                Ok(Wish::Now(work)) => work(device),
                Ok(Wish::Act(action, waiting)) => {
                    self.waiting = waiting;
                    return Ok(action);
                }
                Ok(Wish::Mark(stream, mark, work)) => {
                    self.works.insert(mark, work);
                    return Ok(HostAction::Mark { stream, mark });
                }
            }
        }
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        match self.works.remove(&mark) {
            Some(work) => work(device, at),
            None => Ok(()),
        }
    }

    fn stopped(&mut self, why: Stopped) {
        // The engine may be gone with its process.
        let _ = self.why.send(why);
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// The simulation, from outside.
pub(crate) struct Engine {
    wishes: Option<Sender<Wish>>,
    thread: Option<JoinHandle<Result<Made, RunError>>>,
    /// Why the run ended early; comes before the wishes' other end goes.
    why: Receiver<Stopped>,
    marks: u64,
}

impl Engine {
    /// Starts the simulation; `traced` makes a timeline, too.
    pub fn start(spec: GpuSpec, options: Options, traced: bool) -> std::io::Result<Self> {
        let (wishes, received) = channel();
        let (tell, why) = channel();
        let mut host = Host {
            wishes: received,
            waiting: None,
            works: BTreeMap::new(),
            why: tell,
        };
        let run = move || {
            let session = Session::new(spec, options);
            let go_on = &mut |_: &_| ControlFlow::Continue(());
            match traced {
                true => {
                    let made = session.run_traced(&mut host, go_on);
                    made.map(|(run, trace)| (run, Some(trace)))
                }
                false => session.run(&mut host, go_on).map(|run| (run, None)),
            }
        };
        let thread = std::thread::Builder::new().name("warploom".to_owned());
        Ok(Self {
            wishes: Some(wishes),
            thread: Some(thread.spawn(run)?),
            why,
            marks: 0,
        })
    }

    fn wish(&self, wish: Wish) -> Result<(), CudaError> {
        let wishes = self.wishes.as_ref().ok_or_else(|| self.failure())?;
        wishes.send(wish).map_err(|_| self.failure())
    }

    /// Why nothing can be asked any more. Told once: the context keeps it.
    fn failure(&self) -> CudaError {
        let why = self.why.try_recv();
        why.map_or(CudaError::UNKNOWN, CudaError::of)
    }

    /// Does something with the device, as soon as the default stream is idle.
    pub fn with<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> Result<R, CudaError> {
        let (answer, answered) = channel();
        self.wish(Wish::Now(Box::new(move |device| {
            let _ = answer.send(work(device));
        })))?;
        answered.recv().map_err(|_| self.failure())
    }

    /// Asks for an action.
    pub fn act(&self, action: HostAction) -> Result<(), CudaError> {
        self.wish(Wish::Act(action, None))
    }

    /// Asks for an action and waits until the host goes on after it.
    pub fn wait(&self, action: HostAction) -> Result<(), CudaError> {
        let (answer, answered) = channel();
        self.wish(Wish::Act(action, Some(answer)))?;
        answered.recv().map_err(|_| self.failure())
    }

    /// Asks for work in the order of a stream, and gives the mark's number.
    pub fn mark(&mut self, stream: u32, work: Work) -> Result<u64, CudaError> {
        self.marks += 1;
        self.wish(Wish::Mark(stream, self.marks, work))?;
        Ok(self.marks)
    }

    /// Ends the simulation and gives its result; `None` if it was given before.
    pub fn finish(&mut self) -> Option<Result<Made, String>> {
        self.wishes = None;
        Some(match self.thread.take()?.join() {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("the simulation ended by a bug of Warploom; please report it".to_owned()),
        })
    }
}
