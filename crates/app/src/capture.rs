//! Stream capture: operations of a stream become nodes of a graph.
//!
//! A capture begins in one stream. Other streams join it by waiting for events that were recorded
//! in it. Each of its streams stores the nodes on which the next operation depends. A call that is
//! not permitted during a capture invalidates it, as in CUDA. Operations of its streams then fail
//! until the capture ends.

use crate::context::{Context, ThreadKey};
use crate::error::{Cuda, CudaError};
use crate::operation::Operation;
use std::collections::BTreeMap;

/// Restriction of a thread's calls while streams are captured (`cudaStreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CaptureMode {
    /// Unsafe calls are forbidden while the thread captures, or any thread captures in this mode.
    #[default]
    Global,
    /// Unsafe calls are forbidden while the thread itself captures.
    ThreadLocal,
    /// Every call is allowed while a stream captures.
    Relaxed,
}

impl CaptureMode {
    /// Mode with the number that the runtime uses.
    pub fn of(mode: i32) -> Cuda<Self> {
        Ok(match mode {
            0 => Self::Global,
            1 => Self::ThreadLocal,
            2 => Self::Relaxed,
            _ => return Err(CudaError::INVALID_VALUE),
        })
    }

    /// Number that the runtime uses for the mode.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// State of a stream with respect to captures (`cudaStreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// The stream takes part in no capture.
    None,
    /// The stream takes part in a capture.
    Active,
    /// The stream takes part in a capture that was invalidated.
    Invalidated,
}

/// Description of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureFacts {
    /// Number of the capture, unique in the process.
    pub id: u64,
    /// Handle of the graph that the capture creates.
    pub graph: u64,
    /// Address of the list of nodes on which the next operation depends. Valid until the next call.
    pub nodes: u64,
    /// Number of nodes in the list.
    pub count: usize,
}

/// A capture in progress, with its streams.
pub(crate) struct Capture {
    graph: u64,
    /// True if the graph existed before the capture.
    into_graph: bool,
    mode: CaptureMode,
    /// Stream in which the capture began.
    origin: u64,
    thread: Option<ThreadKey>,
    invalid: bool,
    /// For each stream, the nodes on which its next operation depends.
    streams: BTreeMap<u64, Vec<u64>>,
}

impl Context {
    /// Number of the capture in which a stream takes part.
    fn capture_of(&self, stream: u64) -> Option<u64> {
        let captures = self.graphs.captures.iter();
        captures
            .filter(|(_, capture)| capture.streams.contains_key(&stream))
            .map(|(id, _)| *id)
            .next()
    }

    /// Captures with a stream for which the legacy default stream would wait.
    fn blocking_captures(&self) -> Vec<u64> {
        let captures = self.graphs.captures.iter();
        let blocks = |stream: &u64| self.streams.get(stream).is_some_and(|own| own.blocks());
        let of_blocking = captures.filter(|(_, own)| own.streams.keys().any(blocks));
        of_blocking.map(|(id, _)| *id).collect()
    }

    /// Marks captures as invalid.
    fn invalidate(&mut self, captures: &[u64]) {
        for id in captures {
            if let Some(capture) = self.graphs.captures.get_mut(id) {
                capture.invalid = true;
            }
        }
    }

    /// Returns the stream if its next operation becomes a node, and `None` if it is executed.
    ///
    /// # Errors
    /// Fails if the capture is invalid. Also fails if the legacy default stream would have to wait
    /// for a capture, which invalidates that capture.
    pub(crate) fn capturing(&mut self, stream: u64) -> Cuda<Option<u64>> {
        if self.graphs.captures.is_empty() {
            return Ok(None);
        }
        let Some(stream) = self.resolve_stream(stream)? else {
            let captures = self.blocking_captures();
            self.invalidate(&captures);
            return match captures.as_slice() {
                [] => Ok(None),
                _ => Err(CudaError::STREAM_CAPTURE_IMPLICIT),
            };
        };
        let Some(id) = self.capture_of(stream) else {
            return Ok(None);
        };
        match self.graphs.captures.get(&id) {
            Some(capture) if capture.invalid => Err(CudaError::STREAM_CAPTURE_INVALIDATED),
            _ => Ok(Some(stream)),
        }
    }

    /// Rejects a call that a capturing stream does not permit, and invalidates the capture.
    pub(crate) fn forbid_if_capturing(&mut self, stream: u64) -> Cuda {
        let Some(stream) = self.capturing(stream)? else {
            return Ok(());
        };
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.invalidate(&captures);
        Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Rejects a call that waits for all streams while any stream captures.
    pub(crate) fn forbid_in_any_capture(&mut self) -> Cuda {
        let captures: Vec<u64> = self.graphs.captures.keys().copied().collect();
        self.invalidate(&captures);
        match captures.as_slice() {
            [] => Ok(()),
            _ => Err(CudaError::STREAM_CAPTURE_UNSUPPORTED),
        }
    }

    /// Rejects a call for which the host waits while the stream captures, or while a capture
    /// forbids unsafe calls.
    pub(crate) fn forbid_in_capture(&mut self, stream: u64) -> Cuda {
        self.forbid_if_capturing(stream)?;
        self.forbid_unsafe()
    }

    /// Rejects a potentially unsafe call, such as `cudaMalloc`, if a capture forbids it. This
    /// depends on the mode of the thread and on those of the captures
    /// (`cudaThreadExchangeStreamCaptureMode`).
    pub(crate) fn forbid_unsafe(&mut self) -> Cuda {
        let caller = self.caller.map(|caller| caller.thread);
        let own = caller.map_or(CaptureMode::Global, |thread| {
            self.thread(thread).capture_mode
        });
        let hinders = |capture: &Capture| match own {
            CaptureMode::Relaxed => false,
            _ if capture.mode == CaptureMode::Relaxed => false,
            _ if capture.thread == caller => true,
            CaptureMode::ThreadLocal => false,
            CaptureMode::Global => capture.mode == CaptureMode::Global,
        };
        let captures = self.graphs.captures.iter();
        let hindering = captures.filter(|(_, capture)| hinders(capture));
        let hindering: Vec<u64> = hindering.map(|(id, _)| *id).collect();
        self.invalidate(&hindering);
        match hindering.as_slice() {
            [] => Ok(()),
            _ => Err(CudaError::STREAM_CAPTURE_UNSUPPORTED),
        }
    }

    /// Rejects a wait of the host for an event that was last recorded in a capture.
    pub(crate) fn forbid_captured(&mut self, event: u64) -> Cuda {
        let Some((capture, _)) = self.event(event)?.captured else {
            return Ok(());
        };
        self.invalidate(&[capture]);
        Err(CudaError::CAPTURED_EVENT)
    }

    /// Adds an operation of a capturing stream to the graph.
    pub(crate) fn capture(&mut self, stream: u64, operation: Operation) -> Cuda {
        self.check_operation(&operation)?;
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let capture = self.graphs.captures.get(&id).ok_or(CudaError::UNKNOWN)?;
        let after = capture.streams.get(&stream).cloned().unwrap_or_default();
        let node = self.add_node(capture.graph, &after, operation)?;
        self.set_tails(id, stream, vec![node]);
        Ok(())
    }

    /// Sets the nodes on which the next operation of a stream depends.
    fn set_tails(&mut self, id: u64, stream: u64, nodes: Vec<u64>) {
        if let Some(capture) = self.graphs.captures.get_mut(&id) {
            capture.streams.insert(stream, nodes);
        }
    }

    /// Nodes on which the next operation of a stream depends.
    fn tails(&self, id: u64, stream: u64) -> Vec<u64> {
        let capture = self.graphs.captures.get(&id);
        let nodes = capture.and_then(|capture| capture.streams.get(&stream));
        nodes.cloned().unwrap_or_default()
    }

    /// Records an event in a capturing stream. The event stands for the nodes captured so far.
    pub(crate) fn capture_event(&mut self, event: u64, stream: u64) -> Cuda {
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let nodes = self.tails(id, stream);
        if let Some(event) = self.events.get_mut(&event) {
            event.captured = Some((id, nodes));
        }
        Ok(())
    }

    /// Handles a wait of a stream for an event. Returns true if the event belongs to a capture,
    /// which the stream then joins.
    pub(crate) fn joins_capture(&mut self, stream: u64, event: u64) -> Cuda<bool> {
        let captured = self.event(event)?.captured.clone();
        let own = self.capturing(stream)?;
        let Some((id, nodes)) = captured else {
            return match own {
                None => Ok(false),
                Some(stream) => self.refuse_isolation(stream),
            };
        };
        // The event was recorded in a capture that has ended.
        let Some(capture) = self.graphs.captures.get(&id) else {
            return Err(CudaError::CAPTURED_EVENT);
        };
        if capture.invalid {
            return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
        }
        let Some(stream) = self.resolve_stream(stream)? else {
            self.invalidate(&[id]);
            return Err(CudaError::STREAM_CAPTURE_IMPLICIT);
        };
        match self.capture_of(stream) {
            Some(other) if other != id => {
                self.invalidate(&[id, other]);
                return Err(CudaError::STREAM_CAPTURE_MERGE);
            }
            _ => {}
        }
        let mut tails = self.tails(id, stream);
        tails.extend(nodes);
        tails.sort_unstable();
        tails.dedup();
        self.set_tails(id, stream, tails);
        Ok(true)
    }

    /// Rejects a wait of a capturing stream for an event outside of the capture.
    fn refuse_isolation(&mut self, stream: u64) -> Cuda<bool> {
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.invalidate(&captures);
        Err(CudaError::STREAM_CAPTURE_ISOLATION)
    }

    /// Begins to capture a stream (`cudaStreamBeginCapture`).
    pub fn begin_capture(&mut self, stream: u64, mode: CaptureMode) -> Cuda {
        let stream = self.capturable(stream)?;
        let graph = self.create_graph();
        self.start_capture(stream, mode, graph, false, Vec::new())
    }

    /// Begins to capture a stream into an existing graph, after some of its nodes
    /// (`cudaStreamBeginCaptureToGraph`).
    pub fn begin_capture_to_graph(
        &mut self,
        stream: u64,
        graph: u64,
        nodes: Vec<u64>,
        mode: CaptureMode,
    ) -> Cuda {
        let stream = self.capturable(stream)?;
        self.nodes_of(graph, &nodes)?;
        self.start_capture(stream, mode, graph, true, nodes)
    }

    /// Unique handle of a stream, which must be able to begin a capture.
    fn capturable(&mut self, stream: u64) -> Cuda<u64> {
        self.stream(stream)?;
        let key = self.resolve_stream(stream)?;
        let key = key.ok_or(CudaError::STREAM_CAPTURE_UNSUPPORTED)?;
        match self.capture_of(key) {
            None => Ok(key),
            Some(_) => Err(CudaError::ILLEGAL_STATE),
        }
    }

    /// Creates the capture of a stream.
    fn start_capture(
        &mut self,
        stream: u64,
        mode: CaptureMode,
        graph: u64,
        into_graph: bool,
        nodes: Vec<u64>,
    ) -> Cuda {
        let capture = Capture {
            graph,
            into_graph,
            mode,
            origin: stream,
            thread: self.caller.map(|caller| caller.thread),
            invalid: false,
            streams: BTreeMap::from([(stream, nodes)]),
        };
        let id = self.graphs.number();
        self.graphs.captures.insert(id, capture);
        Ok(())
    }

    /// Ends the capture that began in a stream and returns its graph (`cudaStreamEndCapture`).
    pub fn end_capture(&mut self, stream: u64) -> Cuda<u64> {
        self.stream(stream)?;
        let stream = self.stream_key(stream)?;
        let id = self.capture_of(stream).ok_or(CudaError::ILLEGAL_STATE)?;
        let capture = self.graphs.captures.get(&id).ok_or(CudaError::UNKNOWN)?;
        let caller = self.caller.map(|caller| caller.thread);
        if capture.mode != CaptureMode::Relaxed && capture.thread != caller {
            return Err(CudaError::STREAM_CAPTURE_WRONG_THREAD);
        }
        if capture.origin != stream {
            self.invalidate(&[id]);
            return Err(CudaError::STREAM_CAPTURE_UNMATCHED);
        }
        let unjoined = !self.is_joined(capture);
        let capture = self.graphs.captures.remove(&id);
        let capture = capture.ok_or(CudaError::UNKNOWN)?;
        let error = match (capture.invalid, unjoined) {
            (true, _) => CudaError::STREAM_CAPTURE_INVALIDATED,
            (false, true) => CudaError::STREAM_CAPTURE_UNJOINED,
            (false, false) => return Ok(capture.graph),
        };
        if !capture.into_graph {
            self.destroy_graph(capture.graph)?;
        }
        Err(error)
    }

    /// True if the next operation of the first stream would depend on all operations of the
    /// capture's other streams.
    fn is_joined(&self, capture: &Capture) -> bool {
        let mut before: Vec<u64> = capture.streams[&capture.origin].clone();
        let mut at = 0;
        while let Some(node) = before.get(at) {
            for earlier in self.node_dependencies(*node).unwrap_or_default() {
                if !before.contains(&earlier) {
                    before.push(earlier);
                }
            }
            at += 1;
        }
        let mut tails = capture.streams.values().flatten();
        tails.all(|node| before.contains(node))
    }

    /// Handles the destruction of a stream. A capture that began in it is discarded. Operations of
    /// a stream that joined remain in the graph and must still be joined.
    pub(crate) fn abandon_capture(&mut self, stream: u64) {
        let captures = &mut self.graphs.captures;
        captures.retain(|_, capture| capture.origin != stream);
    }

    /// Status of a stream (`cudaStreamIsCapturing`), and a description of its capture.
    pub fn capture_status(&mut self, stream: u64) -> Cuda<(CaptureStatus, CaptureFacts)> {
        self.stream(stream)?;
        let none = CaptureFacts {
            id: 0,
            graph: 0,
            nodes: 0,
            count: 0,
        };
        let Some(stream) = self.resolve_stream(stream)? else {
            return match self.blocking_captures().as_slice() {
                [] => Ok((CaptureStatus::None, none)),
                _ => Err(CudaError::STREAM_CAPTURE_IMPLICIT),
            };
        };
        let found = self.capture_of(stream);
        let capture = found.and_then(|id| Some((id, self.graphs.captures.get(&id)?)));
        Ok(match capture {
            None => (CaptureStatus::None, none),
            Some((_, capture)) if capture.invalid => (CaptureStatus::Invalidated, none),
            Some((id, capture)) => {
                let nodes = &capture.streams[&stream];
                let facts = CaptureFacts {
                    id,
                    graph: capture.graph,
                    nodes: nodes.as_ptr() as u64,
                    count: nodes.len(),
                };
                (CaptureStatus::Active, facts)
            }
        })
    }

    /// Changes the nodes on which the next operation of a stream depends. The given nodes replace
    /// the current ones if `only_these`, and are added otherwise
    /// (`cudaStreamUpdateCaptureDependencies`).
    pub fn update_capture(&mut self, stream: u64, nodes: Vec<u64>, only_these: bool) -> Cuda {
        self.stream(stream)?;
        let stream = self.capturing(stream)?.ok_or(CudaError::ILLEGAL_STATE)?;
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let graph = self.graphs.captures.get(&id).map(|capture| capture.graph);
        self.nodes_of(graph.ok_or(CudaError::UNKNOWN)?, &nodes)?;
        let mut tails = if only_these {
            Vec::new()
        } else {
            self.tails(id, stream)
        };
        tails.extend(nodes);
        tails.sort_unstable();
        tails.dedup();
        self.set_tails(id, stream, tails);
        Ok(())
    }

    /// Sets the capture mode of the calling thread and returns the previous one
    /// (`cudaThreadExchangeStreamCaptureMode`).
    pub fn exchange_capture_mode(&mut self, mode: CaptureMode) -> Cuda<CaptureMode> {
        let caller = self.caller.ok_or(CudaError::UNKNOWN)?;
        let own = &mut self.thread(caller.thread).capture_mode;
        Ok(std::mem::replace(own, mode))
    }
}
