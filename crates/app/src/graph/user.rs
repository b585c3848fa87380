//! User objects: what a program keeps as long as graphs need it, with a function that destroys it
//! (`cudaUserObjectCreate`).
//!
//! An object counts the references of the program and of graphs. A clone of a graph and an
//! executable graph have references of their own, for each one of the graph from which they were
//! made.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::operation::{HostCall, Operation};
use std::collections::BTreeMap;

/// An object of the program, and the number of references to it.
pub(crate) struct UserObject {
    destroy: HostCall,
    count: u64,
}

/// Numbers of references by handle of the object.
pub(crate) type References = BTreeMap<u64, u64>;

/// Flag `cudaGraphUserObjectMove`: the graph takes references over from the program.
const MOVE: u32 = 1;

impl Context {
    /// Creates an object with a number of references, which `destroy` destroys when none is left.
    pub fn create_user_object(&mut self, destroy: HostCall, count: u32) -> Cuda<u64> {
        if destroy.function == 0 || count == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let handle = self.handle();
        let count = count.into();
        self.graphs
            .users
            .insert(handle, UserObject { destroy, count });
        Ok(handle)
    }

    /// Adds references to an object.
    pub fn retain_user_object(&mut self, object: u64, count: u32) -> Cuda {
        let own = self.graphs.users.get_mut(&object);
        let own = own.filter(|_| count > 0);
        own.ok_or(CudaError::INVALID_VALUE)?.count += u64::from(count);
        Ok(())
    }

    /// Removes references to an object.
    pub fn release_user_object(&mut self, object: u64, count: u32) -> Cuda {
        self.release_references(object, count.into())
    }

    fn release_references(&mut self, object: u64, count: u64) -> Cuda {
        let own = self.graphs.users.get_mut(&object);
        let own = own.filter(|own| (1..=own.count).contains(&count));
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        own.count -= count;
        if own.count == 0 {
            self.graphs.destroyed.push(own.destroy);
            self.graphs.users.remove(&object);
        }
        Ok(())
    }

    /// Gives a graph references to an object: new ones, or ones of the program.
    pub fn retain_for_graph(&mut self, graph: u64, object: u64, count: u32, flags: u32) -> Cuda {
        self.graphs.graph(graph)?;
        match flags {
            0 => self.retain_user_object(object, count)?,
            MOVE => {
                let own = self.graphs.users.get(&object);
                let own = own.filter(|own| (1..=own.count).contains(&count.into()));
                own.ok_or(CudaError::INVALID_VALUE)?;
            }
            _ => return Err(CudaError::INVALID_VALUE),
        }
        let own = self.graphs.references.entry(graph).or_default();
        *own.entry(object).or_default() += u64::from(count);
        Ok(())
    }

    /// Removes references of a graph to an object.
    pub fn release_for_graph(&mut self, graph: u64, object: u64, count: u32) -> Cuda {
        let own = self.graphs.references.get_mut(&graph);
        let own = own.and_then(|own| own.get_mut(&object));
        let own = own.filter(|own| (1..=**own).contains(&count.into()));
        *own.ok_or(CudaError::INVALID_VALUE)? -= u64::from(count);
        self.release_references(object, count.into())
    }

    /// Gives a clone the references of a graph, without those of its child graphs.
    pub(super) fn copy_own_references(&mut self, graph: u64, to: u64) {
        let own = self.graphs.references.get(&graph).cloned();
        for (object, count) in own.unwrap_or_default() {
            if let Some(own) = self.graphs.users.get_mut(&object) {
                own.count += count;
            }
            let own = self.graphs.references.entry(to).or_default();
            *own.entry(object).or_default() += count;
        }
    }

    /// Gives an executable graph the references of a graph and of its child graphs.
    pub(super) fn copy_references(&mut self, graph: u64, to: u64) -> Cuda {
        self.copy_own_references(graph, to);
        let nodes = self.graphs.graph(graph)?.nodes.values();
        let inner = nodes.filter_map(|node| match node.operation {
            Operation::Graph(inner) => Some(inner),
            _ => None,
        });
        let inner: Vec<u64> = inner.collect();
        let mut inner = inner.into_iter();
        inner.try_for_each(|inner| self.copy_references(inner, to))
    }

    /// Removes all references of a graph or of an executable graph.
    pub(crate) fn drop_references(&mut self, holder: u64) {
        let own = self.graphs.references.remove(&holder);
        for (object, count) in own.unwrap_or_default() {
            // The graph may have released all of them before.
            if count > 0 {
                let _ = self.release_references(object, count);
            }
        }
    }

    /// Functions that destroy objects without references, for the caller to call.
    pub fn take_destructors(&mut self) -> Vec<HostCall> {
        std::mem::take(&mut self.graphs.destroyed)
    }
}
