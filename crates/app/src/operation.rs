//! Operations of streams and of graph nodes.

use crate::context::Context;
use crate::copy::{CopyExtent, Direction, Endpoint};
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
pub struct CopyOperation {
    /// Destination of the copy.
    pub to: Endpoint,
    /// Source of the copy.
    pub from: Endpoint,
    /// Extent of the copied box.
    pub extent: CopyExtent,
    /// Sides on which source and destination must be.
    pub direction: Direction,
    /// Description by `cudaMemcpy3DParms`, if the program used one.
    pub described: Option<Copy3>,
}

/// An operation of a stream or of a graph node.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Launches a kernel function.
    Launch(LaunchRequest),
    /// Copies memory or arrays.
    Copy(CopyOperation),
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

impl Operation {
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
    pub(crate) fn check_operation(&mut self, operation: &Operation) -> Cuda {
        match operation {
            Operation::Launch(request) => self.check_launch(request),
            Operation::Copy(copy) => self.check_copy(copy).map(|_| ()),
            Operation::Fill(fill) => self.check_fill(fill).map(|_| ()),
            Operation::Wait(event) | Operation::Record(event) => self.known_event(*event),
            Operation::Call(_) | Operation::Graph(_) | Operation::Nothing => Ok(()),
            Operation::Allocate(..) | Operation::Free(_) => Ok(()),
        }
    }

    /// Executes an operation in the order of the simulated stream `stream`, whose handle in the
    /// program is `handle`. Host functions are left to the caller.
    pub(crate) fn perform(&mut self, operation: &Operation, stream: u32, handle: u64) -> Cuda {
        match operation {
            Operation::Launch(request) => self.perform_launch(request.clone(), stream),
            Operation::Copy(copy) => self.perform_copy(copy, stream).map(|_| ()),
            Operation::Fill(fill) => self.perform_fill(fill, stream),
            Operation::Record(event) => self.perform_record(*event, stream, handle),
            Operation::Wait(event) => self.perform_wait(*event, stream),
            Operation::Call(_) => self.wait(match stream {
                0 => HostAction::Synchronize,
                own => HostAction::SynchronizeStream(own),
            }),
            Operation::Graph(_)
            | Operation::Nothing
            | Operation::Allocate(..)
            | Operation::Free(_) => Ok(()),
        }
    }
}
