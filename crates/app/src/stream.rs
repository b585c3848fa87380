//! Streams and events. The host takes no simulated time, so that events measure only the time of
//! the GPU.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::operation::{HostCall, Operation};
use crate::order::Predecessors;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use warploom_base::Cycle;
use warploom_run::HostAction;

/// Handle of the default stream. The caller decides which of the two default streams it denotes.
const DEFAULT: u64 = 0;
/// Handles `cudaStreamLegacy` and `cudaStreamPerThread`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;
/// Flag `cudaEventDisableTiming` of an event.
const DISABLE_TIMING: u32 = 2;

/// Cycle of an event that has not been reached.
const NOT_YET: Cycle = Cycle::MAX;

/// A stream of the program.
pub(crate) struct Stream {
    number: u32,
    flags: u32,
    priority: i32,
    /// True if an operation was requested since the host last waited for the stream.
    pub busy: bool,
}

impl Stream {
    /// True if the legacy default stream of a GPU waits for this stream, which is then not
    /// `cudaStreamNonBlocking`.
    pub fn blocks(&self) -> bool {
        self.flags == 0
    }
}

/// An event of the program.
#[derive(Default)]
pub(crate) struct Event {
    flags: u32,
    recorded: Option<Recorded>,
    /// Capture and nodes for which the event stands, if it was last recorded in a capturing stream.
    pub captured: Option<(u64, Vec<u64>)>,
}

/// The last recording of an event.
#[derive(Clone)]
struct Recorded {
    mark: u64,
    stream: u64,
    /// Cycle at which the mark was reached, or [`NOT_YET`].
    time: Arc<AtomicU64>,
    /// Points in the order of streams that precede the event.
    known: Predecessors,
}

impl Context {
    /// Creates a stream and returns its handle.
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

    /// Destroys a stream. Operations that were requested before are still executed.
    pub fn destroy_stream(&mut self, handle: u64) -> Cuda {
        self.abandon_capture(handle);
        self.stream_attributes.remove(&handle);
        let known = self.streams.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Resolves a handle to a stream. `None` stands for the default stream of the process. The
    /// default stream of a thread is created if necessary.
    pub(crate) fn resolve_stream(&mut self, handle: u64) -> Cuda<Option<u64>> {
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

    /// Unique handle of a stream, whichever handle the caller used.
    pub(crate) fn stream_key(&mut self, handle: u64) -> Cuda<u64> {
        Ok(self.resolve_stream(handle)?.unwrap_or(LEGACY))
    }

    /// Number of a stream in the simulation.
    pub(crate) fn stream(&mut self, handle: u64) -> Cuda<u32> {
        let Some(handle) = self.resolve_stream(handle)? else {
            return Ok(0);
        };
        let stream = self.streams.get(&handle);
        stream
            .map(|s| s.number)
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Number of a stream in the simulation, which is marked as busy.
    pub(crate) fn busy_stream(&mut self, handle: u64) -> Cuda<u32> {
        let handle = self.resolve_stream(handle)?.unwrap_or(LEGACY);
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.busy = true;
        }
        self.stream(handle)
    }

    /// Flags and priority of a stream.
    pub fn stream_facts(&mut self, handle: u64) -> Cuda<(u32, i32)> {
        let Some(handle) = self.resolve_stream(handle)? else {
            return Ok((0, 0));
        };
        let stream = self.streams.get(&handle);
        let facts = stream.map(|s| (s.flags, s.priority));
        facts.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Waits for a stream, which must not be capturing.
    pub fn synchronize_stream(&mut self, handle: u64) -> Cuda {
        self.forbid_if_capturing(handle)?;
        self.wait_for_stream(handle)
    }

    /// Waits for a stream and records the resulting order.
    fn wait_for_stream(&mut self, handle: u64) -> Cuda {
        let handle = self.resolve_stream(handle)?.unwrap_or(LEGACY);
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
                self.order.complete_stream(handle);
            }
            None => self.order.complete_all(),
        }
        self.release_free_blocks()
    }

    /// Calls a host function in the order of a stream. Simulated time does not advance while the
    /// host is idle, so that the host waits for the stream here. Returns true if the caller must
    /// call the function now, and false if the call was captured as a node.
    pub fn call_in_stream(&mut self, handle: u64, call: HostCall) -> Cuda<bool> {
        if let Some(stream) = self.capturing(handle)? {
            return self.capture(stream, Operation::Call(call)).map(|()| false);
        }
        self.wait_for_stream(handle).map(|()| true)
    }

    /// Checks whether a callback can be added to a stream (`cudaStreamAddCallback`), which must not
    /// be capturing.
    pub fn may_call_back(&mut self, handle: u64) -> Cuda {
        self.stream_facts(handle)?;
        self.forbid_if_capturing(handle)
    }

    /// Creates an event and returns its handle.
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

    /// Destroys an event (`cudaEventDestroy`).
    pub fn destroy_event(&mut self, handle: u64) -> Cuda {
        let known = self.events.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Records an event in a stream. With `external`, a capturing stream records it as a node.
    pub fn record(&mut self, event: u64, stream: u64, external: bool) -> Cuda {
        self.known_event(event)?;
        if let Some(stream) = self.capturing(stream)? {
            return if external {
                self.capture(stream, Operation::Record(event))
            } else {
                self.capture_event(event, stream)
            };
        }
        let stream = self.stream_key(stream)?;
        let number = self.busy_stream(stream)?;
        self.perform_record(event, number, stream)
    }

    /// Checks that an event exists.
    pub(crate) fn known_event(&self, event: u64) -> Cuda {
        self.event(event).map(|_| ())
    }

    /// Records an event in the order of a simulated stream. `handle` is the stream's handle in the
    /// program.
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
                known: self.order.predecessors_of_event(handle),
            });
        }
        Ok(())
    }

    /// Event with the given handle.
    pub(crate) fn event(&self, handle: u64) -> Cuda<&Event> {
        self.events
            .get(&handle)
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Lets a stream wait for an event. With `external`, a capturing stream records the wait as a
    /// node.
    pub fn wait_for_event(&mut self, stream: u64, event: u64, external: bool) -> Cuda {
        self.known_event(event)?;
        if external && let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Operation::Wait(event));
        }
        if self.joins_capture(stream, event)? {
            return Ok(());
        }
        let key = self.stream_key(stream)?;
        if let Some(recorded) = &self.event(event)?.recorded {
            let known = recorded.known.clone();
            self.order.wait_for_event(key, &known);
        }
        let stream = self.busy_stream(stream)?;
        self.perform_wait(event, stream)
    }

    /// Lets a simulated stream wait for an event.
    pub(crate) fn perform_wait(&mut self, event: u64, stream: u32) -> Cuda {
        let recorded = &self.event(event)?.recorded;
        match recorded.as_ref().map(|recorded| recorded.mark) {
            Some(mark) => self.act(HostAction::WaitFor { stream, mark }),
            None => Ok(()),
        }
    }

    /// Waits for an event. Returns at once if the event was never recorded.
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

    /// Time between two events in milliseconds.
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

    /// Cycle at which an event was reached.
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
