//! Graphs: their construction, queries and modification.

use crate::ffi::{get, list, put, put_list};
use crate::node;
use crate::process::abi;
use crate::types::{CAllocationNode, CCopy3, CFillNode, CHostNode, CKernelNode, CNode};
use warploom_app::{Abi, AttributeValue, Context, Cuda, CudaError, Operation};

/// Adds a node with dependencies and writes its handle.
///
/// # Safety
/// `to` is null or valid for a handle, and `after` holds the given number of handles.
pub unsafe fn add(
    context: &mut Context,
    (to, graph): (*mut u64, u64),
    (after, count): (*const u64, usize),
    operation: Operation,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let after = unsafe { list(after, count) }?;
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let made = context.add_node(graph, &after, operation)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, made) }
}

/// Edges given by two arrays of the program.
///
/// # Safety
/// Both arrays hold the given number of handles.
pub unsafe fn edges(from: *const u64, to: *const u64, count: usize) -> Cuda<Vec<(u64, u64)>> {
    // SAFETY: the caller fulfils the requirements of this function.
    let (from, to) = unsafe { (list(from, count)?, list(to, count)?) };
    Ok(from.into_iter().zip(to).collect())
}

/// Writes the edges of a graph.
///
/// # Safety
/// `from` and `to` are null or have the capacity given by `count`.
pub unsafe fn tell_edges(
    context: &Context,
    graph: u64,
    (from, to): (*mut u64, *mut u64),
    count: *mut usize,
) -> Cuda {
    if from.is_null() != to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let (first, second): (Vec<u64>, Vec<u64>) = context.graph_edges(graph)?.into_iter().unzip();
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        let mut room = get(count)?;
        put_list(to, &raw mut room, &second)?;
        put_list(from, count, &first)
    }
}

/// Selects the argument with the number of edges. From CUDA 13 on, an argument with data of edges
/// precedes it.
fn counted<T>(before: T, behind: T) -> T {
    match abi() {
        Abi::V13 => behind,
        _ => before,
    }
}

both! {
    fn cudaGraphCreate = cuGraphCreate (to: *mut u64, flags: u32) |context| {
        if to.is_null() || flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        put(to, context.create_graph())
    }

    fn cudaGraphDestroy = cuGraphDestroy (graph: u64) |context| { context.destroy_graph(graph) }

    fn cudaGraphClone = cuGraphClone (to: *mut u64, graph: u64) |context| {
        let clone = context.clone_graph(graph)?;
        put(to, clone)
    }

    fn cudaGraphNodeFindInClone = cuGraphNodeFindInClone (
        to: *mut u64, node: u64, clone: u64,
    ) |context| {
        put(to, context.find_in_clone(node, clone)?)
    }

    fn cudaGraphGetNodes = cuGraphGetNodes (
        graph: u64, nodes: *mut u64, count: *mut usize,
    ) |context| {
        put_list(nodes, count, &context.graph_nodes(graph)?)
    }

    fn cudaGraphGetRootNodes = cuGraphGetRootNodes (
        graph: u64, nodes: *mut u64, count: *mut usize,
    ) |context| {
        put_list(nodes, count, &context.graph_roots(graph)?)
    }

    fn cudaGraphGetEdges_v2 = cuGraphGetEdges_v2 (
        graph: u64, from: *mut u64, to: *mut u64, _edges: *mut u64, count: *mut usize,
    ) |context| {
        tell_edges(context, graph, (from, to), count)
    }

    fn cudaGraphNodeGetDependencies_v2 = cuGraphNodeGetDependencies_v2 (
        node: u64, nodes: *mut u64, _edges: *mut u64, count: *mut usize,
    ) |context| {
        put_list(nodes, count, &context.node_dependencies(node)?)
    }

    fn cudaGraphNodeGetDependentNodes_v2 = cuGraphNodeGetDependentNodes_v2 (
        node: u64, nodes: *mut u64, _edges: *mut u64, count: *mut usize,
    ) |context| {
        put_list(nodes, count, &context.node_dependents(node)?)
    }

    fn cudaGraphAddDependencies_v2 = cuGraphAddDependencies_v2 (
        graph: u64, from: *const u64, to: *const u64, _edges: *const u64, count: usize,
    ) |context| {
        context.add_edges(graph, &edges(from, to, count)?)
    }

    fn cudaGraphRemoveDependencies_v2 = cuGraphRemoveDependencies_v2 (
        graph: u64, from: *const u64, to: *const u64, _edges: *const u64, count: usize,
    ) |context| {
        context.remove_edges(graph, &edges(from, to, count)?)
    }

    fn cudaGraphDestroyNode = cuGraphDestroyNode (node: u64) |context| {
        context.destroy_node(node)
    }

    fn cudaGraphNodeGetType = cuGraphNodeGetType (node: u64, to: *mut i32) |context| {
        put(to, context.node_operation(node)?.kind())
    }

    fn cudaGraphNodeGetContainingGraph = cuGraphNodeGetContainingGraph (
        node: u64, to: *mut u64,
    ) |context| {
        put(to, context.node_graph(node)?)
    }

    fn cudaGraphNodeGetLocalId = cuGraphNodeGetLocalId (node: u64, to: *mut u32) |context| {
        put(to, context.node_number(node)?)
    }

    fn cudaGraphNodeGetToolsId = cuGraphNodeGetToolsId (node: u64, to: *mut u64) |context| {
        context.node_graph(node)?;
        put(to, node)
    }

    fn cudaGraphGetId = cuGraphGetId (graph: u64, to: *mut u32) |context| {
        put(to, context.graph_number(graph)?)
    }

    fn cudaGraphAddKernelNode = cuGraphAddKernelNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CKernelNode,
    ) |context| {
        let operation = node::kernel(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cudaGraphKernelNodeSetParams = cuGraphKernelNodeSetParams (
        node: u64, own: *const CKernelNode,
    ) |context| {
        let operation = node::kernel(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphKernelNodeCopyAttributes = cuGraphKernelNodeCopyAttributes (
        to: u64, from: u64,
    ) |context| {
        context.copy_node_attributes(to, from)
    }

    fn cudaGraphKernelNodeGetAttribute = cuGraphKernelNodeGetAttribute (
        node: u64, number: i32, to: *mut AttributeValue,
    ) |context| {
        put(to, context.node_attribute(node, number)?)
    }

    fn cudaGraphKernelNodeSetAttribute = cuGraphKernelNodeSetAttribute (
        node: u64, number: i32, value: *const AttributeValue,
    ) |context| {
        context.set_node_attribute(node, number, get(value)?)
    }

    fn cudaGraphAddChildGraphNode = cuGraphAddChildGraphNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize, child: u64,
    ) |context| {
        add(context, (to, graph), (after, count), Operation::Graph(child))
    }

    fn cudaGraphAddEmptyNode = cuGraphAddEmptyNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize,
    ) |context| {
        add(context, (to, graph), (after, count), Operation::Nothing)
    }

    fn cudaGraphAddEventRecordNode = cuGraphAddEventRecordNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize, event: u64,
    ) |context| {
        add(context, (to, graph), (after, count), Operation::Record(event))
    }

    fn cudaGraphEventRecordNodeSetEvent = cuGraphEventRecordNodeSetEvent (
        node: u64, event: u64,
    ) |context| {
        context.set_node_operation(node, Operation::Record(event))
    }

    fn cudaGraphAddEventWaitNode = cuGraphAddEventWaitNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize, event: u64,
    ) |context| {
        add(context, (to, graph), (after, count), Operation::Wait(event))
    }

    fn cudaGraphEventWaitNodeSetEvent = cuGraphEventWaitNodeSetEvent (
        node: u64, event: u64,
    ) |context| {
        context.set_node_operation(node, Operation::Wait(event))
    }

    fn cudaGraphAddMemFreeNode = cuGraphAddMemFreeNode (
        to: *mut u64, graph: u64, after: *const u64, count: usize, address: u64,
    ) |context| {
        add(context, (to, graph), (after, count), Operation::Free(address))
    }
}

runtime! {
    fn cudaGraphGetEdges(
        graph: u64, from: *mut u64, to: *mut u64, fourth: *mut usize, fifth: *mut usize,
    ) |context| {
        tell_edges(context, graph, (from, to), counted(fourth, fifth))
    }

    fn cudaGraphNodeGetDependencies(
        node: u64, nodes: *mut u64, third: *mut usize, fourth: *mut usize,
    ) |context| {
        put_list(nodes, counted(third, fourth), &context.node_dependencies(node)?)
    }

    fn cudaGraphNodeGetDependentNodes(
        node: u64, nodes: *mut u64, third: *mut usize, fourth: *mut usize,
    ) |context| {
        put_list(nodes, counted(third, fourth), &context.node_dependents(node)?)
    }

    fn cudaGraphAddDependencies(
        graph: u64, from: *const u64, to: *const u64, fourth: usize, fifth: usize,
    ) |context| {
        context.add_edges(graph, &edges(from, to, counted(fourth, fifth))?)
    }

    fn cudaGraphRemoveDependencies(
        graph: u64, from: *const u64, to: *const u64, fourth: usize, fifth: usize,
    ) |context| {
        context.remove_edges(graph, &edges(from, to, counted(fourth, fifth))?)
    }

    fn cudaGraphKernelNodeGetParams(node: u64, to: *mut CKernelNode) |context| {
        node::write_parameters(context, node, 0, to.cast())
    }

    fn cudaGraphAddMemcpyNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CCopy3,
    ) |context| {
        let operation = node::copy3(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cudaGraphAddMemcpyNode1D(
        node: *mut u64, graph: u64, after: *const u64, count: usize, to: u64, from: u64,
        bytes: usize,
        kind: i32,
    ) |context| {
        let operation = node::copy1(context, (to, from), bytes, kind)?;
        add(context, (node, graph), (after, count), operation)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut u64, graph: u64, after: *const u64, count: usize, symbol: u64, from: u64,
        bytes: usize,
        offset: usize,
        kind: i32,
    ) |context| {
        let operation = node::to_symbol(context, symbol, from, (bytes, offset, kind))?;
        add(context, (node, graph), (after, count), operation)
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut u64, graph: u64, after: *const u64, count: usize, to: u64, symbol: u64,
        bytes: usize,
        offset: usize,
        kind: i32,
    ) |context| {
        let operation = node::from_symbol(context, to, symbol, (bytes, offset, kind))?;
        add(context, (node, graph), (after, count), operation)
    }

    fn cudaGraphMemcpyNodeGetParams(node: u64, to: *mut CCopy3) |context| {
        node::write_parameters(context, node, 1, to.cast())
    }

    fn cudaGraphMemcpyNodeSetParams(node: u64, own: *const CCopy3) |context| {
        let operation = node::copy3(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphMemcpyNodeSetParams1D(
        node: u64, to: u64, from: u64, bytes: usize, kind: i32,
    ) |context| {
        let operation = node::copy1(context, (to, from), bytes, kind)?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: u64, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let operation = node::to_symbol(context, symbol, from, (bytes, offset, kind))?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: u64, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let operation = node::from_symbol(context, to, symbol, (bytes, offset, kind))?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphAddMemsetNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CFillNode,
    ) |context| {
        add(context, (to, graph), (after, count), node::fill(own)?)
    }

    fn cudaGraphMemsetNodeGetParams(node: u64, to: *mut CFillNode) |context| {
        node::write_parameters(context, node, 2, to.cast())
    }

    fn cudaGraphMemsetNodeSetParams(node: u64, own: *const CFillNode) |context| {
        context.set_node_operation(node, node::fill(own)?)
    }

    fn cudaGraphAddHostNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *const CHostNode,
    ) |context| {
        add(context, (to, graph), (after, count), node::host(own)?)
    }

    fn cudaGraphHostNodeGetParams(node: u64, to: *mut CHostNode) |context| {
        node::write_parameters(context, node, 3, to.cast())
    }

    fn cudaGraphHostNodeSetParams(node: u64, own: *const CHostNode) |context| {
        context.set_node_operation(node, node::host(own)?)
    }

    fn cudaGraphChildGraphNodeGetGraph(node: u64, to: *mut u64) |context| {
        node::write_parameters(context, node, 4, to.cast())
    }

    fn cudaGraphEventRecordNodeGetEvent(node: u64, to: *mut u64) |context| {
        node::write_parameters(context, node, 7, to.cast())
    }

    fn cudaGraphEventWaitNodeGetEvent(node: u64, to: *mut u64) |context| {
        node::write_parameters(context, node, 6, to.cast())
    }

    fn cudaGraphAddMemAllocNode(
        to: *mut u64, graph: u64, after: *const u64, count: usize, own: *mut CAllocationNode,
    ) |context| {
        let operation = node::allocation(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cudaGraphMemAllocNodeGetParams(node: u64, to: *mut CAllocationNode) |context| {
        node::write_parameters(context, node, 10, to.cast())
    }

    fn cudaGraphMemFreeNodeGetParams(node: u64, to: *mut u64) |context| {
        node::write_parameters(context, node, 11, to.cast())
    }

    // From CUDA 13 on, an argument with data of edges precedes the number of edges.
    fn cudaGraphAddNode(
        to: *mut u64, graph: u64, after: *const u64, fourth: usize, fifth: usize,
        sixth: *mut CNode,
    ) |context| {
        let (count, own) = match abi() {
            Abi::V13 => (fifth, sixth),
            _ => (fourth, fifth as *mut CNode),
        };
        let operation = node::any(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cudaGraphAddNode_v2(
        to: *mut u64, graph: u64, after: *const u64, _edges: *const u64, count: usize,
        own: *mut CNode,
    ) |context| {
        let operation = node::any(context, own)?;
        add(context, (to, graph), (after, count), operation)
    }

    fn cudaGraphNodeSetParams(node: u64, own: *mut CNode) |context| {
        let operation = node::any(context, own)?;
        context.set_node_operation(node, operation)
    }

    fn cudaGraphNodeGetParams(node: u64, to: *mut CNode) |context| {
        node::write_any_parameters(context, node, to)
    }
}
