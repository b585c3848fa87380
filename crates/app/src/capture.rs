//! Stream capture: what is asked of a stream becomes nodes of a graph.
//!
//! A capture begins in one stream, and others join it by waiting for events that were recorded in
//! it. Each of its streams knows the nodes that what is asked of it next comes after. A call that
//! is not permitted meanwhile makes the capture useless, as in CUDA: what is asked of its streams
//! then fails until its end.

use crate::context::{Context, ThreadKey};
use crate::error::{Cuda, CudaError};
use crate::work::Work;
use std::collections::BTreeMap;

/// What a thread may do while streams capture (`cudaStreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CaptureMode {
    /// Nothing unsafe while it captures, or any thread in this mode.
    #[default]
    Global,
    /// Nothing unsafe while it captures itself.
    ThreadLocal,
    /// Every call is allowed while a stream captures.
    Relaxed,
}

impl CaptureMode {
    /// From the runtime's number.
    pub fn of(mode: i32) -> Cuda<Self> {
        Ok(match mode {
            0 => Self::Global,
            1 => Self::ThreadLocal,
            2 => Self::Relaxed,
            _ => return Err(CudaError::INVALID_VALUE),
        })
    }

    /// Number of the mode in the runtime's interface.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// How a stream is told to be captured (`cudaStreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// The stream does not capture.
    None,
    /// The stream captures.
    Active,
    /// It captures, and what comes of it cannot be used.
    Invalidated,
}

/// What is told of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureFacts {
    /// Number of the capture, unique in the process.
    pub id: u64,
    /// Handle of the graph that the capture makes.
    pub graph: u64,
    /// Address of the nodes that what is asked next comes after, until the next call.
    pub nodes: u64,
    /// How many there are.
    pub count: usize,
}

/// A capture under way, with the streams that take part in it.
pub(crate) struct Capture {
    graph: u64,
    /// The graph was there before.
    into_graph: bool,
    mode: CaptureMode,
    /// Stream in which it began.
    origin: u64,
    thread: Option<ThreadKey>,
    invalid: bool,
    /// By stream: the nodes that what is asked of it next comes after.
    streams: BTreeMap<u64, Vec<u64>>,
}

impl Context {
    /// The capture that a stream takes part in.
    fn capture_of(&self, stream: u64) -> Option<u64> {
        let captures = self.graphs.captures.iter();
        captures
            .filter(|(_, capture)| capture.streams.contains_key(&stream))
            .map(|(id, _)| *id)
            .next()
    }

    /// Captures in which a stream takes part that the legacy default stream waits for.
    fn blocking_captures(&self) -> Vec<u64> {
        let captures = self.graphs.captures.iter();
        let blocks = |stream: &u64| self.streams.get(stream).is_some_and(|own| own.blocks());
        let of_blocking = captures.filter(|(_, own)| own.streams.keys().any(blocks));
        of_blocking.map(|(id, _)| *id).collect()
    }

    fn invalidate(&mut self, captures: &[u64]) {
        for id in captures {
            if let Some(capture) = self.graphs.captures.get_mut(id) {
                capture.invalid = true;
            }
        }
    }

    /// The stream, if what is asked of it now becomes a node.
    ///
    /// # Errors
    /// When the capture is of no use any more, or the legacy default stream would have to wait for
    /// one, which that makes useless.
    pub(crate) fn capturing(&mut self, stream: u64) -> Cuda<Option<u64>> {
        if self.graphs.captures.is_empty() {
            return Ok(None);
        }
        let Some(stream) = self.meant(stream)? else {
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

    /// What no capturing stream may be asked: it makes the capture useless.
    pub(crate) fn forbid_if_capturing(&mut self, stream: u64) -> Cuda {
        let Some(stream) = self.capturing(stream)? else {
            return Ok(());
        };
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.invalidate(&captures);
        Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// The same of what is asked of no stream but waits for all.
    pub(crate) fn forbid_in_any_capture(&mut self) -> Cuda {
        let captures: Vec<u64> = self.graphs.captures.keys().copied().collect();
        self.invalidate(&captures);
        match captures.as_slice() {
            [] => Ok(()),
            _ => Err(CudaError::STREAM_CAPTURE_UNSUPPORTED),
        }
    }

    /// Refuses a call for which the host waits while the stream captures, or where a capture
    /// forbids unsafe calls.
    pub(crate) fn forbid_in_capture(&mut self, stream: u64) -> Cuda {
        self.forbid_if_capturing(stream)?;
        self.forbid_unsafe()
    }

    /// What is potentially unsafe while streams capture, such as `cudaMalloc`: whether it is
    /// permitted depends on the thread's mode and on those of the captures
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

    /// An event that was recorded last in a capture cannot be waited for by the host.
    pub(crate) fn forbid_captured(&mut self, event: u64) -> Cuda {
        let Some((capture, _)) = self.event(event)?.captured else {
            return Ok(());
        };
        self.invalidate(&[capture]);
        Err(CudaError::CAPTURED_EVENT)
    }

    /// Makes a node of what is asked of a stream that captures.
    pub(crate) fn capture(&mut self, stream: u64, work: Work) -> Cuda {
        self.check_work(&work)?;
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let capture = self.graphs.captures.get(&id).ok_or(CudaError::UNKNOWN)?;
        let after = capture.streams.get(&stream).cloned().unwrap_or_default();
        let node = self.add_node(capture.graph, &after, work)?;
        self.set_tails(id, stream, vec![node]);
        Ok(())
    }

    fn set_tails(&mut self, id: u64, stream: u64, nodes: Vec<u64>) {
        if let Some(capture) = self.graphs.captures.get_mut(&id) {
            capture.streams.insert(stream, nodes);
        }
    }

    fn tails(&self, id: u64, stream: u64) -> Vec<u64> {
        let capture = self.graphs.captures.get(&id);
        let nodes = capture.and_then(|capture| capture.streams.get(&stream));
        nodes.cloned().unwrap_or_default()
    }

    /// Records an event in a stream that captures: it stands for the nodes so far.
    pub(crate) fn capture_event(&mut self, event: u64, stream: u64) -> Cuda {
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let nodes = self.tails(id, stream);
        if let Some(event) = self.events.get_mut(&event) {
            event.captured = Some((id, nodes));
        }
        Ok(())
    }

    /// A stream is to wait for an event. Returns whether that concerns a capture, which the stream
    /// takes part in from then on.
    pub(crate) fn joins_capture(&mut self, stream: u64, event: u64) -> Cuda<bool> {
        let captured = self.event(event)?.captured.clone();
        let own = self.capturing(stream)?;
        let Some((id, nodes)) = captured else {
            return match own {
                None => Ok(false),
                Some(stream) => self.refuse_isolation(stream),
            };
        };
        // What is left of an event behind its capture's end.
        let Some(capture) = self.graphs.captures.get(&id) else {
            return Err(CudaError::CAPTURED_EVENT);
        };
        if capture.invalid {
            return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
        }
        let Some(stream) = self.meant(stream)? else {
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

    /// A stream that captures cannot wait for what is not captured.
    fn refuse_isolation(&mut self, stream: u64) -> Cuda<bool> {
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.invalidate(&captures);
        Err(CudaError::STREAM_CAPTURE_ISOLATION)
    }

    /// Begins to capture a stream (`cudaStreamBeginCapture`).
    pub fn begin_capture(&mut self, stream: u64, mode: CaptureMode) -> Cuda {
        let stream = self.capturable(stream)?;
        let graph = self.create_graph();
        self.start_capture(stream, mode, (graph, false), Vec::new())
    }

    /// The same, into a graph that is there, behind some of its nodes.
    pub fn begin_capture_to_graph(
        &mut self,
        stream: u64,
        graph: u64,
        nodes: Vec<u64>,
        mode: CaptureMode,
    ) -> Cuda {
        let stream = self.capturable(stream)?;
        self.nodes_of(graph, &nodes)?;
        self.start_capture(stream, mode, (graph, true), nodes)
    }

    /// A stream that can begin a capture.
    fn capturable(&mut self, stream: u64) -> Cuda<u64> {
        self.stream(stream)?;
        let key = self.meant(stream)?;
        let key = key.ok_or(CudaError::STREAM_CAPTURE_UNSUPPORTED)?;
        match self.capture_of(key) {
            None => Ok(key),
            Some(_) => Err(CudaError::ILLEGAL_STATE),
        }
    }

    fn start_capture(
        &mut self,
        stream: u64,
        mode: CaptureMode,
        (graph, into_graph): (u64, bool),
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

    /// Ends the capture that began in a stream, and gives its graph (`cudaStreamEndCapture`).
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

    /// What was asked of the capture's other streams comes before what is asked next of the first.
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

    /// A stream is destroyed. What was asked of one that joined stays in the graph, and must be
    /// joined; the capture of the one in which it began is gone.
    pub(crate) fn abandon_capture(&mut self, stream: u64) {
        let captures = &mut self.graphs.captures;
        captures.retain(|_, capture| capture.origin != stream);
    }

    /// Whether a stream captures (`cudaStreamIsCapturing`), and what is known of the capture.
    pub fn capture_status(&mut self, stream: u64) -> Cuda<(CaptureStatus, CaptureFacts)> {
        self.stream(stream)?;
        let none = CaptureFacts {
            id: 0,
            graph: 0,
            nodes: 0,
            count: 0,
        };
        let Some(stream) = self.meant(stream)? else {
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

    /// Changes the nodes that what is asked of a stream next comes after: these, or these too
    /// (`cudaStreamUpdateCaptureDependencies`).
    pub fn update_capture(&mut self, stream: u64, nodes: Vec<u64>, only_these: bool) -> Cuda {
        self.stream(stream)?;
        let stream = self.capturing(stream)?.ok_or(CudaError::ILLEGAL_STATE)?;
        let id = self.capture_of(stream).ok_or(CudaError::UNKNOWN)?;
        let graph = self.graphs.captures.get(&id).map(|capture| capture.graph);
        self.nodes_of(graph.ok_or(CudaError::UNKNOWN)?, &nodes)?;
        let mut tails = match only_these {
            true => Vec::new(),
            false => self.tails(id, stream),
        };
        tails.extend(nodes);
        tails.sort_unstable();
        tails.dedup();
        self.set_tails(id, stream, tails);
        Ok(())
    }

    /// Sets the calling thread's mode and gives the one that it had
    /// (`cudaThreadExchangeStreamCaptureMode`).
    pub fn exchange_capture_mode(&mut self, mode: CaptureMode) -> Cuda<CaptureMode> {
        let caller = self.caller.ok_or(CudaError::UNKNOWN)?;
        let own = &mut self.thread(caller.thread).capture_mode;
        Ok(std::mem::replace(own, mode))
    }
}
