//! Graphs: nodes with operations, and the dependencies between them.
//!
//! A graph is only a description. An executable graph (`executable`) is created from it and is
//! independent of it afterwards. A graph that is the operation of a node belongs to the graph of
//! this node.

mod edit;
mod executable;
mod order;
mod run;
mod user;

pub use executable::{UpdateFailure, UpdateMismatch};
pub use run::GraphLaunch;

use crate::attributes::Attributes;
use crate::capture::Capture;
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::operation::{HostCall, Operation};
use executable::Executable;
use std::collections::{BTreeMap, BTreeSet};
use user::{References, UserObject};

/// A node of a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub operation: Operation,
    /// Nodes on which the node depends, in the order in which they were given.
    pub after: Vec<u64>,
    /// Attributes of a kernel's launch.
    pub attributes: Attributes,
    /// Addresses of a kernel's arguments, for queries of the node's parameters.
    pub arguments: Vec<u64>,
    /// Number of the node in its graph.
    pub number: u32,
}

impl Node {
    pub fn new(operation: Operation, after: Vec<u64>) -> Self {
        Self {
            operation,
            after,
            attributes: Attributes::new(),
            arguments: Vec::new(),
            number: 0,
        }
    }
}

/// A graph: nodes and the edges between them.
#[derive(Default)]
pub(crate) struct Graph {
    /// Nodes by handle, in the order of their creation.
    pub nodes: BTreeMap<u64, Node>,
    /// For a clone, the node that corresponds to each node of the original.
    pub clones: BTreeMap<u64, u64>,
    /// True if the graph is a child node of another graph, which owns it.
    pub embedded: bool,
    /// Number of nodes created so far.
    made: u32,
    /// Number of the graph.
    id: u32,
}

/// All graphs of a process.
#[derive(Default)]
pub(crate) struct Graphs {
    pub graphs: BTreeMap<u64, Graph>,
    /// Handle of the graph that contains each node.
    pub owners: BTreeMap<u64, u64>,
    pub executables: BTreeMap<u64, Executable>,
    pub captures: BTreeMap<u64, Capture>,
    /// Addresses of the memory that graphs allocate. The memory remains available for the next
    /// launch even if it is freed.
    pub memory: BTreeSet<u64>,
    /// User objects by handle.
    pub users: BTreeMap<u64, UserObject>,
    /// References to user objects by handle of the graph or executable graph that has them.
    pub references: BTreeMap<u64, References>,
    /// Functions that destroy user objects without references.
    pub destroyed: Vec<HostCall>,
    /// Streams of the simulation that destroyed executable graphs no longer use.
    pub streams: Vec<u32>,
    numbers: u64,
}

impl Graphs {
    /// Creates a number that is unique among graphs, captures and executable graphs.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Graph with the given handle.
    pub fn graph(&self, graph: u64) -> Cuda<&Graph> {
        self.graphs.get(&graph).ok_or(CudaError::INVALID_VALUE)
    }

    /// Mutable graph with the given handle.
    pub fn graph_mut(&mut self, graph: u64) -> Cuda<&mut Graph> {
        self.graphs.get_mut(&graph).ok_or(CudaError::INVALID_VALUE)
    }

    /// Node with the given handle.
    pub fn node(&self, node: u64) -> Cuda<&Node> {
        let graph = self.graph(self.owner(node)?)?;
        graph.nodes.get(&node).ok_or(CudaError::INVALID_VALUE)
    }

    /// Mutable node with the given handle.
    pub fn node_mut(&mut self, node: u64) -> Cuda<&mut Node> {
        let graph = self.owner(node)?;
        let nodes = &mut self.graph_mut(graph)?.nodes;
        nodes.get_mut(&node).ok_or(CudaError::INVALID_VALUE)
    }

    /// Handle of the graph that contains a node.
    fn owner(&self, node: u64) -> Cuda<u64> {
        let owner = self.owners.get(&node).copied();
        owner.ok_or(CudaError::INVALID_VALUE)
    }
}

impl Context {
    /// Creates an empty graph and returns its handle.
    pub fn create_graph(&mut self) -> u64 {
        let handle = self.handle();
        let graph = Graph {
            id: self.graphs.number() as u32,
            ..Graph::default()
        };
        self.graphs.graphs.insert(handle, graph);
        handle
    }

    /// Destroys a graph with its nodes.
    pub fn destroy_graph(&mut self, graph: u64) -> Cuda {
        if self.graphs.graph(graph)?.embedded {
            Err(CudaError::INVALID_VALUE)
        } else {
            self.drop_graph(graph)
        }
    }

    /// Forgets all graphs. User objects stay as long as the program has references to them.
    pub(crate) fn forget_graphs(&mut self) {
        let holders: Vec<u64> = self.graphs.references.keys().copied().collect();
        holders
            .into_iter()
            .for_each(|holder| self.drop_references(holder));
        let (users, destroyed) = (
            std::mem::take(&mut self.graphs.users),
            std::mem::take(&mut self.graphs.destroyed),
        );
        self.graphs = Graphs {
            users,
            destroyed,
            ..Graphs::default()
        };
    }

    /// Removes a graph with its nodes and child graphs.
    fn drop_graph(&mut self, graph: u64) -> Cuda {
        self.drop_references(graph);
        let gone = self.graphs.graphs.remove(&graph);
        for (handle, node) in gone.ok_or(CudaError::INVALID_VALUE)?.nodes {
            self.graphs.owners.remove(&handle);
            if let Operation::Graph(inner) = node.operation {
                self.drop_graph(inner)?;
            }
        }
        Ok(())
    }

    /// Creates a copy of a graph, including its child graphs.
    pub fn clone_graph(&mut self, graph: u64) -> Cuda<u64> {
        let nodes = self.graphs.graph(graph)?.nodes.clone();
        let made = self.graphs.graph(graph)?.made;
        let clone = self.create_graph();
        let mut clones = BTreeMap::new();
        for original in nodes.keys() {
            clones.insert(*original, self.handle());
        }
        for (original, mut node) in nodes {
            node.after = node.after.iter().map(|after| clones[after]).collect();
            if let Operation::Graph(inner) = node.operation {
                node.operation = Operation::Graph(self.embed(inner)?);
            }
            self.graphs.owners.insert(clones[&original], clone);
            let own = self.graphs.graph_mut(clone)?;
            own.nodes.insert(clones[&original], node);
        }
        let own = self.graphs.graph_mut(clone)?;
        (own.clones, own.made) = (clones, made);
        // Child graphs were embedded with references of their own.
        self.copy_own_references(graph, clone);
        Ok(clone)
    }

    /// Creates a copy of a graph that belongs to a node.
    pub(crate) fn embed(&mut self, graph: u64) -> Cuda<u64> {
        let inner = self.clone_graph(graph)?;
        self.graphs.graph_mut(inner)?.embedded = true;
        Ok(inner)
    }

    /// Node of a clone that corresponds to a node of the original graph
    /// (`cudaGraphNodeFindInClone`).
    pub fn find_in_clone(&self, node: u64, clone: u64) -> Cuda<u64> {
        let found = self.graphs.graph(clone)?.clones.get(&node).copied();
        found.ok_or(CudaError::INVALID_VALUE)
    }

    /// Nodes of a graph in the order of their creation.
    pub fn graph_nodes(&self, graph: u64) -> Cuda<Vec<u64>> {
        Ok(self.graphs.graph(graph)?.nodes.keys().copied().collect())
    }

    /// Nodes of a graph that depend on no other node.
    pub fn graph_roots(&self, graph: u64) -> Cuda<Vec<u64>> {
        let nodes = self.graphs.graph(graph)?.nodes.iter();
        let roots = nodes.filter(|(_, node)| node.after.is_empty());
        Ok(roots.map(|(handle, _)| *handle).collect())
    }

    /// Edges of a graph as pairs of nodes, of which the second depends on the first.
    pub fn graph_edges(&self, graph: u64) -> Cuda<Vec<(u64, u64)>> {
        let nodes = self.graphs.graph(graph)?.nodes.iter();
        let edges = nodes.flat_map(|(handle, node)| node.after.iter().map(|from| (*from, *handle)));
        Ok(edges.collect())
    }

    /// Nodes on which a node depends.
    pub fn node_dependencies(&self, node: u64) -> Cuda<Vec<u64>> {
        Ok(self.graphs.node(node)?.after.clone())
    }

    /// Nodes that depend on a node.
    pub fn node_dependents(&self, node: u64) -> Cuda<Vec<u64>> {
        let graph = self.graphs.graph(self.graphs.owner(node)?)?;
        let later = graph.nodes.iter();
        let later = later.filter(|(_, other)| other.after.contains(&node));
        Ok(later.map(|(handle, _)| *handle).collect())
    }

    /// Operation of a node.
    pub fn node_operation(&self, node: u64) -> Cuda<&Operation> {
        Ok(&self.graphs.node(node)?.operation)
    }

    /// Handle of the graph that contains a node.
    pub fn node_graph(&self, node: u64) -> Cuda<u64> {
        self.graphs.owner(node)
    }

    /// Number of a node in its graph.
    pub fn node_number(&self, node: u64) -> Cuda<u32> {
        Ok(self.graphs.node(node)?.number)
    }

    /// Number of a graph, unique in the process.
    pub fn graph_number(&self, graph: u64) -> Cuda<u32> {
        Ok(self.graphs.graph(graph)?.id)
    }

    /// Address of the list of argument addresses of a kernel node. Valid until its arguments
    /// change.
    pub fn node_arguments(&mut self, node: u64) -> Cuda<u64> {
        let node = self.graphs.node_mut(node)?;
        let Operation::Launch(request) = &node.operation else {
            return Err(CudaError::INVALID_VALUE);
        };
        let addresses = request.arguments.iter();
        let addresses: Vec<u64> = addresses.map(|value| value.as_ptr() as u64).collect();
        if node.arguments != addresses {
            node.arguments = addresses;
        }
        Ok(node.arguments.as_ptr() as u64)
    }
}
