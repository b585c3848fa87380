//! Host program that performs the requests of another thread, such as that of a CUDA program.
//!
//! The simulation asks its host program for the next action, and the host program waits for the
//! next request. No simulated time passes between two requests, so results do not depend on the
//! speed of the other thread.

use crate::device::Device;
use crate::host::{Check, HostAction, HostError, HostProgram, Stopped};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use warploom_base::Cycle;

/// Function that is executed when a stream reaches a mark. It receives the core cycle of that time.
pub type MarkAction = Box<dyn FnOnce(&mut Device, Cycle) -> Result<(), HostError> + Send>;

/// Request to the simulation.
enum Request {
    /// Executes a function with the device at once.
    Now(Box<dyn FnOnce(&mut Device) + Send>),
    /// Performs an action. The sender is notified when the host program continues after it.
    Act(HostAction, Option<Sender<()>>),
    /// Executes a function in the order of a stream, with the number of its mark.
    Mark(u32, u64, MarkAction),
}

/// Error of a request to a simulation that takes no more requests: it has ended, or was told that
/// there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulation takes no more requests; start another one")]
pub struct NoMoreRequests;

/// Sender of requests to a [`RequestedHost`].
pub struct Requester {
    requests: Option<Sender<Request>>,
    /// Reason for which the run ended early. It is sent before the channel of requests is closed.
    why: Receiver<Stopped>,
    marks: u64,
}

/// Host program that performs the requests of a [`Requester`], and ends when that has ended them.
pub struct RequestedHost {
    requests: Receiver<Request>,
    waiting: Option<Sender<()>>,
    marks: BTreeMap<u64, MarkAction>,
    why: Sender<Stopped>,
}

/// A host program for a simulation on another thread, and the sender of its requests.
pub fn requested_host() -> (Requester, RequestedHost) {
    let (sender, requests) = channel();
    let (tell, why) = channel();
    let requester = Requester {
        requests: Some(sender),
        why,
        marks: 0,
    };
    let host = RequestedHost {
        requests,
        waiting: None,
        marks: BTreeMap::new(),
        why: tell,
    };
    (requester, host)
}

impl Requester {
    fn send(&self, request: Request) -> Result<(), NoMoreRequests> {
        let requests = self.requests.as_ref().ok_or(NoMoreRequests)?;
        requests.send(request).map_err(|_| NoMoreRequests)
    }

    /// Requests the execution of a function with the device, as soon as the default stream is idle.
    /// The receiver gets its result, or an error if the simulation ends before.
    pub fn now<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> Result<Receiver<R>, NoMoreRequests> {
        let (answer, answered) = channel();
        // The receiver may have given up.
        let action = move |device: &mut Device| drop(answer.send(action(device)));
        self.send(Request::Now(Box::new(action)))?;
        Ok(answered)
    }

    /// Requests an action without waiting for it.
    pub fn act(&self, action: HostAction) -> Result<(), NoMoreRequests> {
        self.send(Request::Act(action, None))
    }

    /// Requests an action. The receiver gets a message when the host program continues after it,
    /// or an error if the simulation ends before.
    pub fn act_and_tell(&self, action: HostAction) -> Result<Receiver<()>, NoMoreRequests> {
        let (answer, answered) = channel();
        self.send(Request::Act(action, Some(answer)))?;
        Ok(answered)
    }

    /// Requests the execution of a function in the order of a stream. Returns the number of its
    /// mark.
    pub fn mark(&mut self, stream: u32, action: MarkAction) -> Result<u64, NoMoreRequests> {
        self.marks += 1;
        self.send(Request::Mark(stream, self.marks, action))?;
        Ok(self.marks)
    }

    /// Ends the requests: a program that waits for one is interrupted. A run in progress has to be
    /// stopped by its progress function.
    pub fn interrupt(&mut self) {
        // A simulation that has ended needs no interruption.
        let _ = self.act(HostAction::Interrupt);
        self.end();
    }

    /// Ends the requests: the host program ends after those that were made.
    pub fn end(&mut self) {
        self.requests = None;
    }

    /// True if `end` has been called.
    pub fn has_ended(&self) -> bool {
        self.requests.is_none()
    }

    /// Reason for which the simulation ended before its host program. Known as soon as a request
    /// fails, and returned once.
    pub fn stopped(&self) -> Option<Stopped> {
        self.why.try_recv().ok()
    }
}

impl HostProgram for RequestedHost {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(waiting) = self.waiting.take() {
            // The receiver may have given up.
            let _ = waiting.send(());
        }
        // Each request is an action, so that a checkpoint lies between two requests.
        Ok(match self.requests.recv() {
            Err(_) => HostAction::Done,
            Ok(Request::Now(action)) => {
                action(device);
                HostAction::Nothing
            }
            Ok(Request::Act(action, waiting)) => {
                self.waiting = waiting;
                action
            }
            Ok(Request::Mark(stream, mark, action)) => {
                self.marks.insert(mark, action);
                HostAction::Mark { stream, mark }
            }
        })
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        match self.marks.remove(&mark) {
            Some(action) => action(device, at),
            None => Ok(()),
        }
    }

    fn stopped(&mut self, why: Stopped) {
        // The requester may have given up.
        let _ = self.why.send(why);
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::{NoMoreRequests, requested_host};
    use crate::device::Device;
    use crate::host::{HostAction, HostProgram, Stopped};

    /// Requests are performed in their order, each action when the program is asked for the next.
    #[test]
    fn the_host_program_performs_requests_in_order() {
        let (mut requester, mut host) = requested_host();
        let mut device = Device::new(1 << 20, 0);
        let first = requester.now(|device| device.alloc(64)).expect("open");
        let told = requester.act_and_tell(HostAction::Synchronize);
        let told = told.expect("open");
        let at = std::sync::Arc::new(std::sync::Mutex::new(0));
        let noted = at.clone();
        let mark = requester.mark(
            3,
            Box::new(move |_, cycle| {
                *noted.lock().expect("no panic") = cycle;
                Ok(())
            }),
        );
        assert_eq!(mark, Ok(1));
        requester.end();

        assert!(first.try_recv().is_err(), "nobody has asked yet");
        assert_eq!(host.next(&mut device).ok(), Some(HostAction::Nothing));
        assert_eq!(host.next(&mut device).ok(), Some(HostAction::Synchronize));
        assert!(first.try_recv().expect("it has run").is_ok());
        assert!(told.try_recv().is_err(), "the action goes on");
        let mark = HostAction::Mark { stream: 3, mark: 1 };
        assert_eq!(host.next(&mut device).ok(), Some(mark));
        assert!(told.try_recv().is_ok());
        assert!(host.reached(1, &mut device, 77).is_ok());
        assert!(host.reached(2, &mut device, 88).is_ok(), "of nobody");
        assert_eq!(*at.lock().expect("no panic"), 77);
        assert_eq!(host.next(&mut device).ok(), Some(HostAction::Done));
    }

    #[test]
    fn an_interruption_follows_the_requests_before_it() {
        let mut device = Device::new(1 << 20, 0);
        let (mut requester, mut host) = requested_host();
        assert_eq!(requester.act(HostAction::Synchronize), Ok(()));
        requester.interrupt();
        assert!(requester.has_ended());
        assert_eq!(host.next(&mut device).ok(), Some(HostAction::Synchronize));
        assert_eq!(host.next(&mut device).ok(), Some(HostAction::Interrupt));
    }

    #[test]
    fn a_simulation_that_has_ended_takes_no_requests() {
        let (mut requester, mut host) = requested_host();
        let answer = requester.now(|_| ()).expect("open");
        host.stopped(Stopped::Stuck);
        drop(host);
        assert!(answer.recv().is_err(), "it was never executed");
        assert_eq!(requester.act(HostAction::Done), Err(NoMoreRequests));
        assert_eq!(requester.stopped(), Some(Stopped::Stuck));
        assert!(!requester.has_ended());
        requester.end();
        assert!(requester.has_ended());
    }
}
