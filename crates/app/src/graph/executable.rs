//! Executable graphs: the steps of a graph and of its child graphs at the time of instantiation. An
//! executable graph can be changed as long as its topology stays the same.

use super::order::{lanes, ordered};
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::operation::Operation;
use std::collections::BTreeMap;
use std::ops::Range;

/// A step of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Node from which the step was created.
    pub node: u64,
    pub operation: Operation,
    /// Indices of the steps on which the step depends.
    pub after: Vec<usize>,
    /// For a node with a child graph, the range of that graph's steps.
    pub inner: Range<usize>,
    /// False if the step is skipped when the graph runs.
    pub enabled: bool,
}

/// An executable graph with its schedule.
pub(crate) struct Executable {
    pub steps: Vec<Step>,
    /// Order in which steps are requested.
    pub order: Vec<usize>,
    /// Lane of each step.
    pub lanes: Vec<usize>,
    /// For each step, whether another lane waits for it.
    pub waited: Vec<bool>,
    /// Simulated streams of all lanes but the first.
    pub streams: Vec<u32>,
    /// Index of each node's step.
    places: BTreeMap<u64, usize>,
    flags: u64,
    id: u32,
}

/// Reason for which an executable graph cannot be updated, with the numbers of
/// `cudaGraphExecUpdateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMismatch {
    /// The graphs differ in nodes or edges.
    Topology = 2,
    /// A node has another kind of operation.
    Kind = 3,
}

/// Failure of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFailure {
    /// Reason for which the update failed.
    pub reason: UpdateMismatch,
    /// First node that differs, or 0.
    pub node: u64,
}

impl Executable {
    /// Assigns a lane to each step. The streams are assigned later.
    fn new(steps: Vec<Step>, flags: u64, id: u32) -> Cuda<Self> {
        let after: Vec<Vec<usize>> = steps.iter().map(|step| step.after.clone()).collect();
        let last: Vec<bool> = steps.iter().map(|step| step.operation.calls()).collect();
        let order = ordered(&after, &last)?;
        let mut places = vec![0; order.len()];
        for (place, step) in order.iter().enumerate() {
            places[*step] = place;
        }
        let in_order = order.iter().map(|step| {
            let earlier = after[*step].iter();
            earlier.map(|from| places[*from]).collect()
        });
        let (by_place, count) = lanes(&in_order.collect::<Vec<Vec<usize>>>());
        let lanes: Vec<usize> = places.iter().map(|place| by_place[*place]).collect();
        let nodes = steps.iter().enumerate();
        Ok(Self {
            places: nodes.map(|(at, step)| (step.node, at)).collect(),
            waited: waited(&after, &lanes),
            lanes,
            streams: Vec::with_capacity(count.saturating_sub(1)),
            order,
            steps,
            flags,
            id,
        })
    }

    /// Number of streams needed in addition to the one in which the graph is launched.
    fn further_streams(&self) -> usize {
        self.lanes.iter().copied().max().unwrap_or(0)
    }
}

/// For each step, whether another lane waits for it.
fn waited(after: &[Vec<usize>], lanes: &[usize]) -> Vec<bool> {
    let mut waited = vec![false; lanes.len()];
    for (step, earlier) in after.iter().enumerate() {
        for from in earlier.iter().filter(|from| lanes[**from] != lanes[step]) {
            waited[*from] = true;
        }
    }
    waited
}

/// First difference in topology between two lists of steps.
fn compared(old: &[Step], new: &[Step]) -> Result<(), UpdateFailure> {
    let different = |reason, node| Err(UpdateFailure { reason, node });
    for (old, new) in old.iter().zip(new) {
        if old.after.len() != new.after.len() {
            return different(UpdateMismatch::Topology, new.node);
        }
        if old.operation.kind() != new.operation.kind() || old.inner.len() != new.inner.len() {
            return different(UpdateMismatch::Kind, new.node);
        }
        if old.after != new.after {
            return different(UpdateMismatch::Topology, new.node);
        }
    }
    if old.len() == new.len() {
        Ok(())
    } else {
        different(UpdateMismatch::Topology, 0)
    }
}

impl Context {
    /// Appends the steps of a graph. Steps without dependencies depend on `before`. Returns the
    /// steps on which no other step of the graph depends.
    fn flatten(&self, graph: u64, before: &[usize], steps: &mut Vec<Step>) -> Cuda<Vec<usize>> {
        let nodes: Vec<_> = self.graphs.graph(graph)?.nodes.iter().collect();
        let number = |node: &u64| nodes.binary_search_by_key(node, |(handle, _)| **handle);
        let after = nodes.iter().map(|(_, node)| {
            let earlier = node.after.iter();
            earlier.filter_map(|from| number(from).ok()).collect()
        });
        let after: Vec<Vec<usize>> = after.collect();
        let mut made = vec![0; nodes.len()];
        let mut ends = vec![true; nodes.len()];
        for at in ordered(&after, &vec![false; nodes.len()])? {
            let (handle, node) = nodes[at];
            let mut earlier: Vec<usize> = after[at].iter().map(|from| made[*from]).collect();
            after[at].iter().for_each(|from| ends[*from] = false);
            if earlier.is_empty() {
                earlier = before.to_vec();
            }
            let from = steps.len();
            if let Operation::Graph(inner) = node.operation {
                earlier = self.flatten(inner, &earlier, steps)?;
            }
            made[at] = steps.len();
            steps.push(Step {
                node: *handle,
                operation: node.operation.clone(),
                after: earlier,
                inner: from..steps.len(),
                enabled: true,
            });
        }
        let all = made.into_iter().zip(ends);
        let last: Vec<usize> = all.filter(|(_, end)| *end).map(|(step, _)| step).collect();
        // For an empty graph, later steps depend on the steps before it.
        Ok(if nodes.is_empty() {
            before.to_vec()
        } else {
            last
        })
    }

    /// Steps of a graph and of its child graphs.
    fn steps(&self, graph: u64) -> Cuda<Vec<Step>> {
        let mut steps = Vec::new();
        self.flatten(graph, &[], &mut steps)?;
        Ok(steps)
    }

    /// Creates an executable graph from a graph (`cudaGraphInstantiate`).
    pub fn instantiate(&mut self, graph: u64, flags: u64) -> Cuda<u64> {
        let id = self.graphs.number() as u32;
        let mut made = Executable::new(self.steps(graph)?, flags, id)?;
        for _ in 0..made.further_streams() {
            let spare = self.graphs.streams.pop();
            let stream = spare.unwrap_or_else(|| self.stream_number());
            made.streams.push(stream);
        }
        let handle = self.handle();
        self.graphs.executables.insert(handle, made);
        self.copy_references(graph, handle)?;
        Ok(handle)
    }

    /// Executable graph with the given handle.
    pub(super) fn executable(&self, handle: u64) -> Cuda<&Executable> {
        let found = self.graphs.executables.get(&handle);
        found.ok_or(CudaError::INVALID_VALUE)
    }

    /// Mutable executable graph with the given handle.
    fn executable_mut(&mut self, handle: u64) -> Cuda<&mut Executable> {
        let found = self.graphs.executables.get_mut(&handle);
        found.ok_or(CudaError::INVALID_VALUE)
    }

    /// Destroys an executable graph. Operations of earlier launches are still executed.
    pub fn destroy_executable(&mut self, handle: u64) -> Cuda {
        let gone = self.graphs.executables.remove(&handle);
        let gone = gone.ok_or(CudaError::INVALID_VALUE)?;
        self.graphs.streams.extend(gone.streams);
        self.drop_references(handle);
        Ok(())
    }

    /// Flags with which an executable graph was created.
    pub fn executable_flags(&self, handle: u64) -> Cuda<u64> {
        Ok(self.executable(handle)?.flags)
    }

    /// Number of an executable graph, unique in the process.
    pub fn executable_number(&self, handle: u64) -> Cuda<u32> {
        Ok(self.executable(handle)?.id)
    }

    /// Step that was created from a node.
    fn step_mut(&mut self, executable: u64, node: u64) -> Cuda<&mut Step> {
        let own = self.executable_mut(executable)?;
        let at = own.places.get(&node).copied();
        Ok(&mut own.steps[at.ok_or(CudaError::INVALID_VALUE)?])
    }

    /// Replaces the operation of a node's step by another one of the same kind.
    pub fn set_step_operation(&mut self, executable: u64, node: u64, operation: Operation) -> Cuda {
        self.step_mut(executable, node)?;
        if let Operation::Graph(graph) = operation {
            return self.set_step_graph(executable, node, graph);
        }
        self.check_operation(&operation)?;
        let own = self.step_mut(executable, node)?;
        if own.operation.kind() != operation.kind() {
            return Err(CudaError::INVALID_VALUE);
        }
        own.operation = operation;
        Ok(())
    }

    /// Replaces the operations of a child graph's steps by those of another graph with the same
    /// topology.
    fn set_step_graph(&mut self, executable: u64, node: u64, graph: u64) -> Cuda {
        let inner = self.step_mut(executable, node)?.inner.clone();
        let own = self.executable_mut(executable)?;
        // Indices are relative to the first step of the child graph, on which dependencies outside
        // are dropped.
        let from = inner.start;
        let mut old = own.steps[inner.clone()].to_vec();
        for step in &mut old {
            step.after.retain(|earlier| *earlier >= from);
            step.after.iter_mut().for_each(|earlier| *earlier -= from);
            step.inner = step.inner.start - from..step.inner.end - from;
        }
        let new = self.steps(graph)?;
        compared(&old, &new).map_err(|_| CudaError::INVALID_VALUE)?;
        let own = self.executable_mut(executable)?;
        for (step, new) in own.steps[inner].iter_mut().zip(new) {
            step.operation = new.operation;
        }
        Ok(())
    }

    /// Replaces the operations of all steps by those of another graph with the same topology
    /// (`cudaGraphExecUpdate`). The inner error describes a mismatch.
    pub fn update_executable(
        &mut self,
        executable: u64,
        graph: u64,
    ) -> Cuda<Result<(), UpdateFailure>> {
        let new = self.steps(graph)?;
        let own = self.executable_mut(executable)?;
        if let Err(failure) = compared(&own.steps, &new) {
            return Ok(Err(failure));
        }
        for (at, (step, new)) in own.steps.iter_mut().zip(new).enumerate() {
            step.operation = new.operation;
            own.places.insert(new.node, at);
        }
        Ok(Ok(()))
    }

    /// True if the step of a node is executed.
    pub fn step_enabled(&mut self, executable: u64, node: u64) -> Cuda<bool> {
        Ok(self.step_mut(executable, node)?.enabled)
    }

    /// Enables or disables the step of a node, which must be a kernel, a copy or a fill.
    pub fn enable_step(&mut self, executable: u64, node: u64, enabled: bool) -> Cuda {
        let step = self.step_mut(executable, node)?;
        match step.operation {
            Operation::Launch(_) | Operation::Copy(_) | Operation::Fill(_) => {
                step.enabled = enabled;
                Ok(())
            }
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}
