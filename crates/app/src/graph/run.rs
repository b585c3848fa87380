//! How an executable graph runs in a stream: the first lane is the stream itself, and others begin
//! behind what was asked of it before and are waited for at the end. Functions of the host are
//! called by whoever launches, in between.

use super::executable::Executable;
use crate::context::Context;
use crate::error::Cuda;
use crate::work::{HostCall, Work};
use std::collections::BTreeMap;
use warploom_run::HostAction;

/// A launch that is on its way.
#[derive(Debug)]
pub struct Launching {
    executable: u64,
    /// Handle of the stream, and its number.
    stream: (u64, u32),
    /// Steps that were asked for.
    done: usize,
    /// The step of each lane that was asked for last.
    ends: BTreeMap<usize, usize>,
    /// Marks behind steps that other lanes wait for.
    marks: BTreeMap<usize, u64>,
}

impl Executable {
    /// The simulation's stream of a lane.
    fn stream(&self, lane: usize, own: u32) -> u32 {
        match lane {
            0 => own,
            other => self.streams[other - 1],
        }
    }
}

impl Context {
    /// Begins to launch an executable graph in a stream (`cudaGraphLaunch`). Where the stream
    /// captures it becomes a node, and there is nothing more to do.
    pub fn launch_graph(&mut self, executable: u64, stream: u64) -> Cuda<Option<Launching>> {
        self.executable(executable)?;
        if let Some(stream) = self.capturing(stream)? {
            let graph = self.graph_of(executable)?;
            let captured = self.capture(stream, Work::Graph(graph));
            self.destroy_graph(graph)?;
            return captured.map(|()| None);
        }
        let handle = self.stream_key(stream)?;
        let number = self.busy_stream(stream)?;
        let launching = Launching {
            executable,
            stream: (handle, number),
            done: 0,
            ends: BTreeMap::new(),
            marks: BTreeMap::new(),
        };
        self.begin_lanes(executable, number)?;
        Ok(Some(launching))
    }

    /// A graph of the steps as they are now.
    fn graph_of(&mut self, executable: u64) -> Cuda<u64> {
        let steps = self.executable(executable)?.steps.clone();
        let graph = self.create_graph();
        let mut nodes: Vec<u64> = Vec::with_capacity(steps.len());
        for step in steps {
            let after: Vec<u64> = step.after.iter().map(|from| nodes[*from]).collect();
            let work = match step.work {
                // The steps of a child graph stand before the step of its node.
                Work::Graph(_) => Work::Nothing,
                _ if !step.enabled => Work::Nothing,
                work => work,
            };
            nodes.push(self.add_node(graph, &after, work)?);
        }
        Ok(graph)
    }

    /// All lanes but the first begin behind what was asked of the stream before.
    fn begin_lanes(&mut self, executable: u64, number: u32) -> Cuda {
        let streams = self.executable(executable)?.streams.clone();
        if streams.is_empty() {
            return Ok(());
        }
        let mark = self.mark(number, Box::new(|_, _| Ok(())))?;
        let mut waits = streams.into_iter();
        waits.try_for_each(|stream| self.act(HostAction::WaitFor { stream, mark }))
    }

    /// Asks for what is left of a launch, as far as the host need not do anything: what it is to
    /// call now, or `None` at the end.
    pub fn go_on(&mut self, launching: &mut Launching) -> Cuda<Option<HostCall>> {
        loop {
            let own = self.executable(launching.executable)?;
            let Some(at) = own.order.get(launching.done).copied() else {
                return self.join_lanes(launching).map(|()| None);
            };
            launching.done += 1;
            let (lane, waited, step) = (own.lanes[at], own.waited[at], own.steps[at].clone());
            let stream = own.stream(lane, launching.stream.1);
            for from in step.after {
                self.wait_for_step(launching, from, (lane, stream))?;
            }
            launching.ends.insert(lane, at);
            if step.enabled {
                self.perform(&step.work, stream, launching.stream.0)?;
            }
            if waited {
                let mark = self.mark(stream, Box::new(|_, _| Ok(())))?;
                launching.marks.insert(at, mark);
            }
            if let Work::Call(call) = step.work {
                return Ok(Some(call));
            }
        }
    }

    /// Lets a lane wait for a step of another.
    fn wait_for_step(
        &mut self,
        launching: &mut Launching,
        step: usize,
        (lane, stream): (usize, u32),
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

    /// The stream waits for all lanes.
    fn join_lanes(&mut self, launching: &mut Launching) -> Cuda {
        let ends: Vec<usize> = launching.ends.values().copied().collect();
        let own = (0, launching.stream.1);
        ends.into_iter()
            .try_for_each(|step| self.wait_for_step(launching, step, own))
    }

    /// Looks whether a graph could be launched in a stream (`cudaGraphUpload`): nothing has to be
    /// brought anywhere.
    pub fn upload_graph(&mut self, executable: u64, stream: u64) -> Cuda {
        self.executable(executable)?;
        self.stream(stream).map(|_| ())
    }
}
