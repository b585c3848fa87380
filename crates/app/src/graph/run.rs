//! Execution of an executable graph in a stream. The first lane is the stream itself. The other
//! lanes begin after earlier operations of the stream, and the stream waits for them at the end.
//! Host functions are called by the launching thread in between.

use super::executable::Executable;
use crate::context::Context;
use crate::error::Cuda;
use crate::operation::{HostCall, Operation};
use std::collections::BTreeMap;
use warploom_run::HostAction;

/// A launch of a graph in progress.
#[derive(Debug)]
pub struct GraphLaunch {
    executable: u64,
    /// Handle of the stream, and its number in the simulation.
    stream: (u64, u32),
    /// Number of steps that were requested.
    done: usize,
    /// Last requested step of each lane.
    ends: BTreeMap<usize, usize>,
    /// Marks after steps for which other lanes wait.
    marks: BTreeMap<usize, u64>,
}

impl Executable {
    /// Simulated stream of a lane.
    fn stream(&self, lane: usize, own: u32) -> u32 {
        match lane {
            0 => own,
            other => self.streams[other - 1],
        }
    }
}

impl Context {
    /// Begins the launch of an executable graph in a stream (`cudaGraphLaunch`). In a capturing
    /// stream the graph becomes a node, and `None` is returned.
    pub fn launch_graph(&mut self, executable: u64, stream: u64) -> Cuda<Option<GraphLaunch>> {
        self.executable(executable)?;
        if let Some(stream) = self.capturing(stream)? {
            let graph = self.graph_of(executable)?;
            let captured = self.capture(stream, Operation::Graph(graph));
            self.destroy_graph(graph)?;
            return captured.map(|()| None);
        }
        let handle = self.stream_key(stream)?;
        let number = self.busy_stream(stream)?;
        let launching = GraphLaunch {
            executable,
            stream: (handle, number),
            done: 0,
            ends: BTreeMap::new(),
            marks: BTreeMap::new(),
        };
        self.begin_lanes(executable, number)?;
        Ok(Some(launching))
    }

    /// Graph that consists of the current steps.
    fn graph_of(&mut self, executable: u64) -> Cuda<u64> {
        let steps = self.executable(executable)?.steps.clone();
        let graph = self.create_graph();
        let mut nodes: Vec<u64> = Vec::with_capacity(steps.len());
        for step in steps {
            let after: Vec<u64> = step.after.iter().map(|from| nodes[*from]).collect();
            let operation = match step.operation {
                // The steps of a child graph precede the step of its node.
                Operation::Graph(_) => Operation::Nothing,
                _ if !step.enabled => Operation::Nothing,
                operation => operation,
            };
            nodes.push(self.add_node(graph, &after, operation)?);
        }
        Ok(graph)
    }

    /// Lets all lanes but the first begin after earlier operations of the stream.
    fn begin_lanes(&mut self, executable: u64, number: u32) -> Cuda {
        let streams = self.executable(executable)?.streams.clone();
        if streams.is_empty() {
            return Ok(());
        }
        let mark = self.mark(number, Box::new(|_, _| Ok(())))?;
        let mut waits = streams.into_iter();
        waits.try_for_each(|stream| self.act(HostAction::WaitFor { stream, mark }))
    }

    /// Requests the remaining steps of a launch up to the next call of a host function. Returns
    /// this call, or `None` at the end of the launch.
    pub fn advance(&mut self, launching: &mut GraphLaunch) -> Cuda<Option<HostCall>> {
        loop {
            let own = self.executable(launching.executable)?;
            let Some(at) = own.order.get(launching.done).copied() else {
                return self.join_lanes(launching).map(|()| None);
            };
            launching.done += 1;
            let (lane, waited, step) = (own.lanes[at], own.waited[at], own.steps[at].clone());
            let stream = own.stream(lane, launching.stream.1);
            for from in step.after {
                self.wait_for_step(launching, from, lane, stream)?;
            }
            launching.ends.insert(lane, at);
            if step.enabled {
                self.perform(&step.operation, stream, launching.stream.0)?;
            }
            if waited {
                let mark = self.mark(stream, Box::new(|_, _| Ok(())))?;
                launching.marks.insert(at, mark);
            }
            if let Operation::Call(call) = step.operation {
                return Ok(Some(call));
            }
        }
    }

    /// Lets a lane wait for a step of another lane.
    fn wait_for_step(
        &mut self,
        launching: &mut GraphLaunch,
        step: usize,
        lane: usize,
        stream: u32,
    ) -> Cuda {
        let own = self.executable(launching.executable)?;
        let other = own.lanes[step];
        if other == lane {
            return Ok(());
        }
        let from = own.stream(other, launching.stream.1);
        let mark = match launching.marks.get(&step) {
            Some(mark) => *mark,
            None => self.mark(from, Box::new(|_, _| Ok(())))?,
        };
        self.act(HostAction::WaitFor { stream, mark })
    }

    /// Lets the stream wait for all lanes.
    fn join_lanes(&mut self, launching: &mut GraphLaunch) -> Cuda {
        let ends: Vec<usize> = launching.ends.values().copied().collect();
        let stream = launching.stream.1;
        ends.into_iter()
            .try_for_each(|step| self.wait_for_step(launching, step, 0, stream))
    }

    /// Checks whether a graph could be launched in a stream (`cudaGraphUpload`). No data needs to
    /// be transferred.
    pub fn upload_graph(&mut self, executable: u64, stream: u64) -> Cuda {
        self.executable(executable)?;
        self.stream(stream).map(|_| ())
    }
}
