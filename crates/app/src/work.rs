//! What can be asked of a stream, and what nodes of graphs do.

use crate::context::Context;
use crate::copy::{Box3, Direction, End};
use crate::copy3::Copy3;
use crate::error::Cuda;
use crate::fill::Fill;
use crate::function::LaunchRequest;
use warploom_run::HostAction;

/// A function of the host with what it is given, both by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Address of the host function.
    pub function: u64,
    /// Argument that the function is given.
    pub data: u64,
}

/// A copy of a box of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyWork {
    /// Place to which is copied.
    pub to: End,
    /// Place from which is copied.
    pub from: End,
    /// Extent of what is copied.
    pub extent: Box3,
    /// Which sides the ends must be on.
    pub direction: Direction,
    /// As the program described it, if it did so by `cudaMemcpy3DParms`.
    pub described: Option<Copy3>,
}

/// What can be asked of a stream, and what nodes of graphs do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Launches a kernel.
    Launch(LaunchRequest),
    /// Copies memory or arrays.
    Copy(CopyWork),
    /// Fills memory with a value.
    Fill(Fill),
    /// Calls a function of the host.
    Call(HostCall),
    /// Does what a graph does, by its handle; of graphs alone.
    Graph(u64),
    /// Does nothing but keep the order.
    Nothing,
    /// Waits for an event.
    Wait(u64),
    /// Records an event.
    Record(u64),
    /// Begins the use of memory, by its address and bytes. It is there from the time on when the
    /// node was made, and stays.
    Allocate(u64, u64),
    /// Ends the use of memory, by its address.
    Free(u64),
}

impl Work {
    /// The number of its kind (`cudaGraphNodeType`).
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

    /// It waits for the host.
    pub(crate) fn calls(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

impl Context {
    /// Looks whether the work can be done.
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

    /// Does work in the order of a stream of the simulation, `stream`, which is `handle` for the
    /// program. Functions of the host are their caller's.
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
