//! Operations of streams and of graph nodes.

use crate::context::Context;
use crate::copy::{Box3, Direction, End};
use crate::copy3::Copy3;
use crate::error::Cuda;
use crate::fill::Fill;
use crate::function::LaunchRequest;
use warploom_run::HostAction;

/// Call of a host function with its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Address of the host function.
    pub function: u64,
    /// Argument that is passed to the function.
    pub data: u64,
}

/// Copy of a box of bytes between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyWork {
    /// Destination of the copy.
    pub to: End,
    /// Source of the copy.
    pub from: End,
    /// Extent of the copied box.
    pub extent: Box3,
    /// Sides on which source and destination must be.
    pub direction: Direction,
    /// Description by `cudaMemcpy3DParms`, if the program used one.
    pub described: Option<Copy3>,
}

/// An operation of a stream or of a graph node.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Launches a kernel function.
    Launch(LaunchRequest),
    /// Copies memory or arrays.
    Copy(CopyWork),
    /// Fills memory with a value.
    Fill(Fill),
    /// Calls a function of the host.
    Call(HostCall),
    /// Executes another graph, given by its handle. Occurs only in graphs.
    Graph(u64),
    /// Does nothing except keep the order of its neighbours.
    Nothing,
    /// Waits for an event, given by its handle.
    Wait(u64),
    /// Records an event, given by its handle.
    Record(u64),
    /// Begins the use of an allocation, given by address and size in bytes. The memory exists from
    /// the creation of the node on.
    Allocate(u64, u64),
    /// Ends the use of an allocation, given by its address.
    Free(u64),
}

impl Work {
    /// Number of the operation's kind (`cudaGraphNodeType`).
    pub fn kind(&self) -> i32 {
        match self {
            Self::Launch(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Call(_) => 3,
            Self::Graph(_) => 4,
            Self::Nothing => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate(..) => 10,
            Self::Free(_) => 11,
        }
    }

    /// True if the operation waits for the host.
    pub(crate) fn calls(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

impl Context {
    /// Checks whether an operation can be executed.
    pub(crate) fn check_work(&mut self, work: &Work) -> Cuda {
        match work {
            Work::Launch(request) => self.check_launch(request),
            Work::Copy(copy) => self.check_copy(copy).map(|_| ()),
            Work::Fill(fill) => self.check_fill(fill).map(|_| ()),
            Work::Wait(event) | Work::Record(event) => self.known_event(*event),
            Work::Call(_) | Work::Graph(_) | Work::Nothing => Ok(()),
            Work::Allocate(..) | Work::Free(_) => Ok(()),
        }
    }

    /// Executes an operation in the order of the simulated stream `stream`, whose handle in the
    /// program is `handle`. Host functions are left to the caller.
    pub(crate) fn perform(&mut self, work: &Work, stream: u32, handle: u64) -> Cuda {
        match work {
            Work::Launch(request) => self.perform_launch(request.clone(), stream),
            Work::Copy(copy) => self.perform_copy(copy, stream).map(|_| ()),
            Work::Fill(fill) => self.perform_fill(fill, stream),
            Work::Record(event) => self.perform_record(*event, stream, handle),
            Work::Wait(event) => self.perform_wait(*event, stream),
            Work::Call(_) => self.wait(match stream {
                0 => HostAction::Synchronize,
                own => HostAction::SynchronizeStream(own),
            }),
            Work::Graph(_) | Work::Nothing | Work::Allocate(..) | Work::Free(_) => Ok(()),
        }
    }
}
