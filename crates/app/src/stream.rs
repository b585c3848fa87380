//! Streams and events. The host takes no simulated time: events tell the time of what the GPU did.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::order::Known;
use crate::work::{HostCall, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use warploom_base::Cycle;
use warploom_run::HostAction;

/// The default stream, which is the one of the two that the caller wants.
const DEFAULT: u64 = 0;
/// `cudaStreamLegacy` and `cudaStreamPerThread`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;
/// `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;

/// A time that has not come.
const NOT_YET: Cycle = Cycle::MAX;

/// A stream.
pub(crate) struct Stream {
    number: u32,
    flags: u32,
    priority: i32,
    /// Something was asked of it since the host waited last.
    pub busy: bool,
}

impl Stream {
    /// The legacy default stream waits for it on a GPU: it is not `cudaStreamNonBlocking`.
    pub fn blocks(&self) -> bool {
        self.flags == 0
    }
}

/// An event.
#[derive(Default)]
pub(crate) struct Event {
    flags: u32,
    recorded: Option<Recorded>,
    /// It was recorded last in a stream that captured: in which capture, behind which nodes.
    pub captured: Option<(u64, Vec<u64>)>,
}

/// How an event was recorded last.
#[derive(Clone)]
struct Recorded {
    mark: u64,
    stream: u64,
    /// When the mark was reached, or [`NOT_YET`].
    time: Arc<AtomicU64>,
    /// What it comes behind.
    known: Known,
}

impl Context {
    /// Creates a stream.
    pub fn create_stream(&mut self, flags: u32, priority: i32) -> Cuda<u64> {
        if flags > 1 {
            return Err(CudaError::INVALID_VALUE);
        }
        let (handle, number) = (self.handle(), self.stream_number());
        let stream = Stream {
            number,
            flags,
            priority,
            busy: false,
        };
        self.streams.insert(handle, stream);
        Ok(handle)
    }

    /// Destroys one; what was asked of it is done all the same.
    pub fn destroy_stream(&mut self, handle: u64) -> Cuda {
        self.abandon_capture(handle);
        self.stream_attributes.remove(&handle);
        let known = self.streams.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// The stream that a handle stands for where it is asked for: `None` is the process's default
    /// stream. A thread's own is made now if it has none.
    pub(crate) fn meant(&mut self, handle: u64) -> Cuda<Option<u64>> {
        let own = self.caller.is_some_and(|caller| caller.own_stream);
        let caller = self.caller.map(|caller| caller.thread);
        let thread = match (handle, own) {
            (LEGACY, _) | (DEFAULT, false) => return Ok(None),
            (PER_THREAD, _) | (DEFAULT, true) => caller.ok_or(CudaError::UNKNOWN)?,
            _ => return Ok(Some(handle)),
        };
        if let Some(stream) = self.thread(thread).stream {
            return Ok(Some(stream));
        }
        let stream = self.create_stream(0, 0)?;
        self.thread(thread).stream = Some(stream);
        Ok(Some(stream))
    }

    /// The handle by which a stream is known however it is asked for.
    pub(crate) fn stream_key(&mut self, handle: u64) -> Cuda<u64> {
        Ok(self.meant(handle)?.unwrap_or(LEGACY))
    }

    /// The simulation's number of a stream.
    pub(crate) fn stream(&mut self, handle: u64) -> Cuda<u32> {
        let Some(handle) = self.meant(handle)? else {
            return Ok(0);
        };
        let stream = self.streams.get(&handle);
        stream
            .map(|s| s.number)
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// The same, for something that is asked of it now.
    pub(crate) fn busy_stream(&mut self, handle: u64) -> Cuda<u32> {
        let handle = self.meant(handle)?.unwrap_or(LEGACY);
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.busy = true;
        }
        self.stream(handle)
    }

    /// Flags and priority.
    pub fn stream_facts(&mut self, handle: u64) -> Cuda<(u32, i32)> {
        let Some(handle) = self.meant(handle)? else {
            return Ok((0, 0));
        };
        let stream = self.streams.get(&handle);
        let facts = stream.map(|s| (s.flags, s.priority));
        facts.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Waits for a stream, which must not capture.
    pub fn synchronize_stream(&mut self, handle: u64) -> Cuda {
        self.forbid_if_capturing(handle)?;
        self.wait_for_stream(handle)
    }

    fn wait_for_stream(&mut self, handle: u64) -> Cuda {
        let handle = self.meant(handle)?.unwrap_or(LEGACY);
        match self.stream(handle)? {
            0 => {
                self.wait(HostAction::Synchronize)?;
                self.streams.values_mut().for_each(|s| s.busy = false);
            }
            number => self.wait(HostAction::SynchronizeStream(number))?,
        }
        match self.streams.get_mut(&handle) {
            Some(stream) => {
                stream.busy = false;
                self.order.stream_over(handle);
            }
            None => self.order.all_over(),
        }
        self.release_spares()
    }

    /// Calls a function of the host when a stream has come to it. Simulated time stands still while
    /// the host does nothing, so the host waits for it here. Returns whether the function is to be
    /// called now: where the stream captures it becomes a node.
    pub fn call_in_stream(&mut self, handle: u64, call: HostCall) -> Cuda<bool> {
        if let Some(stream) = self.capturing(handle)? {
            return self.capture(stream, Work::Call(call)).map(|()| false);
        }
        self.wait_for_stream(handle).map(|()| true)
    }

    /// Looks whether a stream may call back (`cudaStreamAddCallback`): it must not capture.
    pub fn may_call_back(&mut self, handle: u64) -> Cuda {
        self.stream_facts(handle)?;
        self.forbid_if_capturing(handle)
    }

    /// Creates an event.
    pub fn create_event(&mut self, flags: u32) -> Cuda<u64> {
        if flags > 7 {
            return Err(CudaError::INVALID_VALUE);
        }
        let handle = self.handle();
        let event = Event {
            flags,
            ..Event::default()
        };
        self.events.insert(handle, event);
        Ok(handle)
    }

    /// Destroys one.
    pub fn destroy_event(&mut self, handle: u64) -> Cuda {
        let known = self.events.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Records an event in a stream; `external` makes that a node where the stream captures.
    pub fn record(&mut self, event: u64, stream: u64, external: bool) -> Cuda {
        self.known_event(event)?;
        if let Some(stream) = self.capturing(stream)? {
            return match external {
                true => self.capture(stream, Work::Record(event)),
                false => self.capture_event(event, stream),
            };
        }
        let stream = self.stream_key(stream)?;
        let number = self.busy_stream(stream)?;
        self.perform_record(event, number, stream)
    }

    /// The event is one.
    pub(crate) fn known_event(&self, event: u64) -> Cuda {
        self.event(event).map(|_| ())
    }

    /// Records an event in the order of a stream of the simulation, for the program `handle`.
    pub(crate) fn perform_record(&mut self, event: u64, number: u32, handle: u64) -> Cuda {
        let time = Arc::new(AtomicU64::new(NOT_YET));
        let kept = Arc::clone(&time);
        let mark = self.mark(
            number,
            Box::new(move |_, at| {
                kept.store(at, Ordering::Release);
                Ok(())
            }),
        )?;
        if let Some(event) = self.events.get_mut(&event) {
            event.captured = None;
            event.recorded = Some(Recorded {
                mark,
                stream: handle,
                time,
                known: self.order.recorded(handle),
            });
        }
        Ok(())
    }

    pub(crate) fn event(&self, handle: u64) -> Cuda<&Event> {
        self.events
            .get(&handle)
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Lets a stream wait for an event; `external` makes that a node where the stream captures.
    pub fn wait_for_event(&mut self, stream: u64, event: u64, external: bool) -> Cuda {
        self.known_event(event)?;
        if external && let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Work::Wait(event));
        }
        if self.joins_capture(stream, event)? {
            return Ok(());
        }
        let key = self.stream_key(stream)?;
        if let Some(recorded) = &self.event(event)?.recorded {
            let known = recorded.known.clone();
            self.order.waits(key, &known);
        }
        let stream = self.busy_stream(stream)?;
        self.perform_wait(event, stream)
    }

    /// Lets a stream of the simulation wait for an event.
    pub(crate) fn perform_wait(&mut self, event: u64, stream: u32) -> Cuda {
        let recorded = &self.event(event)?.recorded;
        match recorded.as_ref().map(|recorded| recorded.mark) {
            Some(mark) => self.act(HostAction::WaitFor { stream, mark }),
            None => Ok(()),
        }
    }

    /// Waits for an event; one that was never recorded is there at once.
    pub fn synchronize_event(&mut self, event: u64) -> Cuda {
        self.forbid_captured(event)?;
        let Some(Recorded { stream, .. }) = self.event(event)?.recorded.clone() else {
            return Ok(());
        };
        if self.stream(stream).is_err() {
            return self.synchronize();
        }
        self.wait_for_stream(stream)
    }

    /// Milliseconds between two events.
    pub fn elapsed(&mut self, start: u64, end: u64) -> Cuda<f32> {
        for event in [start, end] {
            if self.event(event)?.flags & DISABLE_TIMING != 0 {
                return Err(CudaError::INVALID_RESOURCE_HANDLE);
            }
            if self.event(event)?.recorded.is_none() {
                return Err(CudaError::INVALID_RESOURCE_HANDLE);
            }
            self.synchronize_event(event)?;
        }
        let cycles = self.reached_at(end)? as f64 - self.reached_at(start)? as f64;
        Ok((cycles / f64::from(self.spec.clocks.core_khz)) as f32)
    }

    fn reached_at(&self, event: u64) -> Cuda<Cycle> {
        let recorded = self
            .event(event)?
            .recorded
            .clone()
            .ok_or(CudaError::NOT_READY)?;
        match recorded.time.load(Ordering::Acquire) {
            NOT_YET => Err(CudaError::NOT_READY),
            at => Ok(at),
        }
    }
}
