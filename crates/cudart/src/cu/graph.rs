//! Graphs: their construction, queries and modification.

use super::copy::CBoxCopy;
use super::driver;
use super::node;
use crate::ffi::put_list;
use crate::graph::{add, edges, tell_edges};
use crate::node::{allocation, fill, host, write_parameters};
use crate::types::{CAllocationNode, CFillNode, CHostNode, CKernelNode, CNode};

driver! {
    fn cuGraphGetEdges(graph: u64, from: *mut u64, to: *mut u64, count: *mut usize) |context| {
        tell_edges(context, graph, (from, to), count)
    }

    fn cuGraphNodeGetDependencies(node: u64, nodes: *mut u64, count: *mut usize) |context| {
        put_list(nodes, count, &context.node_dependencies(node)?)
    }

    fn cuGraphNodeGetDependentNodes(node: u64, nodes: *mut u64, count: *mut usize) |context| {
        put_list(nodes, count, &context.node_dependents(node)?)
    }

    fn cuGraphAddDependencies(
        graph: u64, from: *const u64, to: *const u64, count: usize,
    ) |context| {
        context.add_edges(graph, &edges(from, to, count)?)
    }

    fn cuGraphRemoveDependencies(
        graph: u64, from: *const u64, to: *const u64, count: usize,
    ) |context| {
        context.remove_edges(graph, &edges(from, to, count)?)
    }

    fn cuGraphAddKernelNode_v2(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const node::CKernel,
    ) |context| {
        let operation = node::kernel(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cuGraphKernelNodeGetParams(node: u64, to: *mut CKernelNode) |context| {
        write_parameters(context, node, 0, to.cast())
    }

    fn cuGraphKernelNodeGetParams_v2(node: u64, to: *mut node::CKernel) |context| {
        node::write_kernel(context, node, to)
    }

    fn cuGraphKernelNodeSetParams_v2(node: u64, own: *const node::CKernel) |context| {
        let operation = node::kernel(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cuGraphAddMemcpyNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CBoxCopy,
        _context_handle: u64,
    ) |context| {
        let operation = node::copy(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cuGraphMemcpyNodeGetParams(node: u64, to: *mut CBoxCopy) |context| {
        node::write_copy(context, node, to)
    }

    fn cuGraphMemcpyNodeSetParams(node: u64, own: *const CBoxCopy) |context| {
        let operation = node::copy(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cuGraphAddMemsetNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CFillNode,
        _context_handle: u64,
    ) |context| {
        add(context, (to, graph), (after, count), fill(own)?)
    }

    fn cuGraphMemsetNodeGetParams(node: u64, to: *mut CFillNode) |context| {
        write_parameters(context, node, 2, to.cast())
    }

    fn cuGraphMemsetNodeSetParams(node: u64, own: *const CFillNode) |context| {
        context.set_node_operation(node, fill(own)?)
    }

    fn cuGraphAddHostNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CHostNode,
    ) |context| {
        add(context, (to, graph), (after, count), host(own)?)
    }

    fn cuGraphHostNodeGetParams(node: u64, to: *mut CHostNode) |context| {
        write_parameters(context, node, 3, to.cast())
    }

    fn cuGraphHostNodeSetParams(node: u64, own: *const CHostNode) |context| {
        context.set_node_operation(node, host(own)?)
    }

    fn cuGraphChildGraphNodeGetGraph(node: u64, to: *mut u64) |context| {
        write_parameters(context, node, 4, to.cast())
    }

    fn cuGraphEventRecordNodeGetEvent(node: u64, to: *mut u64) |context| {
        write_parameters(context, node, 7, to.cast())
    }

    fn cuGraphEventWaitNodeGetEvent(node: u64, to: *mut u64) |context| {
        write_parameters(context, node, 6, to.cast())
    }

    fn cuGraphAddMemAllocNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *mut CAllocationNode,
    ) |context| {
        let operation = allocation(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cuGraphMemAllocNodeGetParams(node: u64, to: *mut CAllocationNode) |context| {
        write_parameters(context, node, 10, to.cast())
    }

    fn cuGraphMemFreeNodeGetParams(node: u64, to: *mut u64) |context| {
        write_parameters(context, node, 11, to.cast())
    }

    fn cuGraphAddNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *mut CNode,
    ) |context| {
        let operation = node::any(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cuGraphAddNode_v2(
        to: *mut u64, graph: u64, after: *const u64, _edges: *const u64, count: usize,
        own: *mut CNode,
    ) |context| {
        let operation = node::any(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cuGraphNodeSetParams(node: u64, own: *mut CNode) |context| {
        let operation = node::any(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cuGraphNodeGetParams(node: u64, to: *mut CNode) |context| {
        node::write_any(context, node, to)
    }
}
