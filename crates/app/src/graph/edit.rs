//! Construction and modification of graphs.

use super::{Graph, Node};
use crate::attributes::{AttributeValue, COOPERATIVE, attribute_of, first_word, word};
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::operation::Operation;

impl Context {
    /// Checks that all of the given nodes belong to a graph.
    pub(crate) fn nodes_of(&self, graph: u64, nodes: &[u64]) -> Cuda {
        let graph = self.graphs.graph(graph)?;
        if nodes.iter().all(|node| graph.nodes.contains_key(node)) {
            Ok(())
        } else {
            Err(CudaError::INVALID_VALUE)
        }
    }

    /// Adds a node that depends on others of its graph. A child graph is copied.
    pub fn add_node(&mut self, graph: u64, after: &[u64], operation: Operation) -> Cuda<u64> {
        self.nodes_of(graph, after)?;
        if (1..after.len()).any(|at| after[..at].contains(&after[at])) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.check_operation(&operation)?;
        let operation = match operation {
            Operation::Graph(inner) => Operation::Graph(self.embed(inner)?),
            other => other,
        };
        let handle = self.handle();
        let own = self.graphs.graph_mut(graph)?;
        own.insert(handle, Node::new(operation, after.to_vec()));
        self.graphs.owners.insert(handle, graph);
        Ok(handle)
    }

    /// Adds edges, given as pairs of nodes of which the second depends on the first.
    pub fn add_edges(&mut self, graph: u64, edges: &[(u64, u64)]) -> Cuda {
        for (from, to) in edges {
            self.nodes_of(graph, &[*from, *to])?;
            let after = &mut self.graphs.node_mut(*to)?.after;
            if from == to || after.contains(from) {
                return Err(CudaError::INVALID_VALUE);
            }
            after.push(*from);
        }
        Ok(())
    }

    /// Removes edges, given as pairs of nodes.
    pub fn remove_edges(&mut self, graph: u64, edges: &[(u64, u64)]) -> Cuda {
        for (from, to) in edges {
            self.nodes_of(graph, &[*from, *to])?;
            let after = &mut self.graphs.node_mut(*to)?.after;
            let at = after.iter().position(|earlier| earlier == from);
            after.remove(at.ok_or(CudaError::INVALID_VALUE)?);
        }
        Ok(())
    }

    /// Removes a node from its graph, with all of its edges.
    pub fn destroy_node(&mut self, node: u64) -> Cuda {
        let graph = self.node_graph(node)?;
        let own = self.graphs.graph_mut(graph)?;
        let gone = own.nodes.remove(&node);
        for other in own.nodes.values_mut() {
            other.after.retain(|earlier| *earlier != node);
        }
        self.graphs.owners.remove(&node);
        match gone.map(|gone| gone.operation) {
            Some(Operation::Graph(inner)) => self.drop_graph(inner),
            _ => Ok(()),
        }
    }

    /// Replaces the operation of a node by another one of the same kind.
    pub fn set_node_operation(&mut self, node: u64, operation: Operation) -> Cuda {
        if self.graphs.node(node)?.operation.kind() != operation.kind() {
            return Err(CudaError::INVALID_VALUE);
        }
        self.check_operation(&operation)?;
        let own = self.graphs.node_mut(node)?;
        let (cooperative, cluster) = match &own.operation {
            Operation::Launch(request) => (request.cooperative, request.cluster),
            _ => (false, None),
        };
        own.operation = operation;
        if let Operation::Launch(request) = &mut own.operation {
            (request.cooperative, request.cluster) = (cooperative, cluster);
        }
        Ok(())
    }

    /// Node with the given handle, which must be a kernel node.
    fn kernel_node(&mut self, node: u64) -> Cuda<&mut Node> {
        let node = self.graphs.node_mut(node)?;
        match node.operation {
            Operation::Launch(_) => Ok(node),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Value of an attribute of a kernel node.
    pub fn node_attribute(&mut self, node: u64, number: i32) -> Cuda<AttributeValue> {
        let node = self.kernel_node(node)?;
        match &node.operation {
            Operation::Launch(request) if number == COOPERATIVE => {
                Ok(word(request.cooperative.into()))
            }
            _ => attribute_of(&node.attributes, number),
        }
    }

    /// Sets an attribute of a kernel node. Only the attribute for cooperative launches has an
    /// effect.
    pub fn set_node_attribute(&mut self, node: u64, number: i32, value: AttributeValue) -> Cuda {
        let node = self.kernel_node(node)?;
        attribute_of(&node.attributes, number)?;
        if let Operation::Launch(request) = &mut node.operation
            && number == COOPERATIVE
        {
            request.cooperative = first_word(&value) != 0;
        }
        node.attributes.insert(number, value);
        Ok(())
    }

    /// Copies the attributes of one kernel node to another.
    pub fn copy_node_attributes(&mut self, to: u64, from: u64) -> Cuda {
        let attributes = self.kernel_node(from)?.attributes.clone();
        let cooperative = first_word(&self.node_attribute(from, COOPERATIVE)?) != 0;
        let node = self.kernel_node(to)?;
        node.attributes = attributes;
        if let Operation::Launch(request) = &mut node.operation {
            request.cooperative = cooperative;
        }
        Ok(())
    }
}

impl Graph {
    /// Adds a node and assigns its number.
    fn insert(&mut self, handle: u64, mut node: Node) {
        node.number = self.made;
        self.made += 1;
        self.nodes.insert(handle, node);
    }
}
