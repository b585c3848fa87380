//! The interference graph of one register file, with copy coalescing and colouring (Briggs, 1992).
//! A wide node takes several registers of the file, aligned to their number, so that a neighbour
//! may exclude more than one colour (Smith, Ramsey and Holloway, 2004).
//!
//! Two variables interfere if one is written while the other is live, or if one instruction writes
//! both. The source and the destination of a copy do not interfere through the copy itself. A
//! variable that the program may read before it writes it is live from the start. A colour is the
//! number of the first register of the node.

use crate::body::{Body, Var};
use crate::class::Class;
use crate::flow::Flow;
use fixedbitset::FixedBitSet;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The cost of a variable that cannot be spilled.
pub(crate) const NEVER: u64 = u64::MAX;

/// The interference graph of one file. Nodes are numbered from 0 in the order of the variables.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    /// The variable of each node.
    pub vars: Vec<Var>,
    /// The number of registers of each node.
    sizes: Vec<u32>,
    /// The number of colours of each node that its neighbours exclude at most.
    excluded: Vec<u32>,
    /// The adjacency matrix: the lower triangle, row by row.
    matrix: FixedBitSet,
    neighbours: Vec<Vec<u32>>,
    /// The copies between nodes, as destination and source, in program order.
    pub copies: Vec<(u32, u32)>,
    /// The maximum number of registers that are live at once.
    pub pressure: u32,
}

impl Graph {
    /// Returns the index in the adjacency matrix of the pair of nodes `a` and `b`.
    fn cell(a: usize, b: usize) -> usize {
        let (low, high) = (a.min(b), a.max(b));
        high * (high + 1) / 2 + low
    }

    fn add_node(&mut self, var: Var, size: u32) -> u32 {
        self.vars.push(var);
        self.sizes.push(size);
        self.excluded.push(0);
        self.neighbours.push(Vec::new());
        self.vars.len() as u32 - 1
    }

    /// Allocates the adjacency matrix, after the last node has been added.
    fn finish_nodes(&mut self) {
        let count = self.vars.len();
        self.matrix = FixedBitSet::with_capacity(count * (count + 1) / 2);
    }

    fn add_edge(&mut self, a: u32, b: u32) {
        if a != b && !self.matrix.put(Self::cell(a as usize, b as usize)) {
            self.neighbours[a as usize].push(b);
            self.neighbours[b as usize].push(a);
            self.excluded[a as usize] += self.excludes(b, a);
            self.excluded[b as usize] += self.excludes(a, b);
        }
    }

    /// Returns the number of colours of the node `of` that its neighbour `by` excludes at most.
    fn excludes(&self, by: u32, of: u32) -> u32 {
        (self.sizes[by as usize] / self.sizes[of as usize]).max(1)
    }

    /// Returns the number of colours of a node among `registers` registers.
    fn colours(&self, node: u32, registers: u32) -> u32 {
        registers / self.sizes[node as usize]
    }

    /// Returns the number of nodes that interfere with a node.
    pub fn degree(&self, node: usize) -> u32 {
        self.neighbours[node].len() as u32
    }

    pub fn interferes(&self, a: u32, b: u32) -> bool {
        self.matrix.contains(Self::cell(a as usize, b as usize))
    }
}

/// Builds the interference graphs of all files. The second result is the register pressure: the
/// maximum number of 32-bit registers over all classes that are live at one instruction.
pub(crate) fn build(body: &Body, flow: &Flow) -> (Vec<Graph>, u32) {
    let mut builder = Builder::new(body);
    builder.entry(flow.at_entry());
    let insts: Vec<_> = body.insts().collect();
    flow.for_each(|at, live| {
        if let Some(inst) = insts.get(at) {
            let copy = inst.copy(&body.vars);
            let writes: Vec<Var> = inst.writes().collect();
            builder.write(&writes, copy, live);
        }
    });
    builder.copies(&insts);
    (builder.graphs, builder.highest)
}

/// Construction of the interference graphs of a body.
struct Builder<'a> {
    body: &'a Body,
    graphs: Vec<Graph>,
    /// The node of each variable in the graph of its file.
    nodes: Vec<u32>,
    highest: u32,
}

impl<'a> Builder<'a> {
    fn new(body: &'a Body) -> Self {
        let mut mentioned = FixedBitSet::with_capacity(body.vars.len());
        for inst in body.insts() {
            inst.mentions
                .iter()
                .filter_map(|m| m.var)
                .for_each(|v| mentioned.insert(v.index()));
        }
        let typing = body.typing;
        let mut graphs = vec![Graph::default(); typing.files()];
        let mut nodes = vec![u32::MAX; body.vars.len()];
        for var in mentioned.ones() {
            let class = body.vars[var].class;
            nodes[var] = graphs[typing.file(class)].add_node(Var::new(var), typing.size(class));
        }
        graphs.iter_mut().for_each(Graph::finish_nodes);
        Self {
            body,
            graphs,
            nodes,
            highest: 0,
        }
    }

    fn class(&self, var: usize) -> Class {
        self.body.vars[var].class
    }

    fn file(&self, var: usize) -> usize {
        self.body.typing.file(self.class(var))
    }

    /// Adds an interference between two variables if they are in the same file.
    fn edge(&mut self, a: usize, b: usize) {
        let file = self.file(a);
        if file == self.file(b) {
            self.graphs[file].add_edge(self.nodes[a], self.nodes[b]);
        }
    }

    /// Adds the interferences among the variables that are live at function entry.
    fn entry(&mut self, live: &FixedBitSet) {
        let count = self.nodes.len();
        let vars: Vec<usize> = live.ones().take_while(|var| *var < count).collect();
        for (nth, &a) in vars.iter().enumerate() {
            vars[..nth].iter().for_each(|&b| self.edge(a, b));
        }
        self.count(&vars);
    }

    /// Adds the interferences of the variables that one instruction writes with the variables that
    /// are live after it.
    fn write(&mut self, writes: &[Var], copy: Option<(Var, Var)>, after: &FixedBitSet) {
        let count = self.nodes.len();
        let mut live: Vec<usize> = after.ones().take_while(|var| *var < count).collect();
        for (nth, to) in writes.iter().enumerate() {
            for &other in &live {
                if copy.is_none_or(|(_, from)| from.index() != other) {
                    self.edge(to.index(), other);
                }
            }
            for other in &writes[..nth] {
                self.edge(to.index(), other.index());
            }
        }
        // A variable that is written but never read occupies a register at this instruction too.
        let dead = writes
            .iter()
            .map(|var| var.index())
            .filter(|var| !after.contains(*var));
        live.extend(dead);
        self.count(&live);
    }

    /// Updates the register pressure with the variables that are live at one instruction.
    fn count(&mut self, live: &[usize]) {
        let mut counts = vec![0; self.graphs.len()];
        let mut units = 0;
        for &var in live {
            let class = self.class(var);
            counts[self.file(var)] += self.body.typing.size(class);
            units += class.units();
        }
        for (graph, count) in self.graphs.iter_mut().zip(counts) {
            graph.pressure = graph.pressure.max(count);
        }
        self.highest = self.highest.max(units);
    }

    /// Records the copies between different variables.
    fn copies(&mut self, insts: &[&crate::body::Inst]) {
        for inst in insts {
            if let Some((to, from)) = inst.copy(&self.body.vars).filter(|(to, from)| to != from) {
                let file = self.file(to.index());
                let pair = (self.nodes[to.index()], self.nodes[from.index()]);
                self.graphs[file].copies.push(pair);
            }
        }
    }
}

/// Merges the nodes of each copy where the merged node is certain to receive a colour. Briggs's
/// criterion is that the neighbours that may fail to receive a colour themselves leave one for the
/// merged node. Returns the representative of every node.
pub(crate) fn coalesce(graph: &Graph, registers: u32) -> Vec<u32> {
    let mut merged = graph.clone();
    let mut stands_for: Vec<u32> = (0..graph.vars.len() as u32).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &(to, from) in &graph.copies {
            let (a, b) = (find(&stands_for, to), find(&stands_for, from));
            if a != b && !merged.interferes(a, b) && merged.safe_to_merge(a, b, registers) {
                let (kept, gone) = (a.min(b), a.max(b));
                merged.merge(kept, gone);
                stands_for[gone as usize] = kept;
                changed = true;
            }
        }
    }
    (0..graph.vars.len() as u32)
        .map(|node| find(&stands_for, node))
        .collect()
}

/// Returns the representative of a node.
fn find(stands_for: &[u32], mut node: u32) -> u32 {
    while stands_for[node as usize] != node {
        node = stands_for[node as usize];
    }
    node
}

impl Graph {
    /// Returns whether the node that results from merging `a` and `b` meets Briggs's criterion.
    fn safe_to_merge(&self, a: u32, b: u32, registers: u32) -> bool {
        let significant = |node: &&u32| {
            let shared = self.interferes(**node, a) && self.interferes(**node, b);
            let twice = if shared { self.excludes(a, **node) } else { 0 };
            self.excluded[**node as usize] - twice >= self.colours(**node, registers)
        };
        let excluded = |node: &u32| self.excludes(*node, a);
        let (of_a, of_b) = (&self.neighbours[a as usize], &self.neighbours[b as usize]);
        let both = of_a
            .iter()
            .chain(of_b.iter().filter(|node| !self.interferes(**node, a)));
        both.filter(significant).map(excluded).sum::<u32>() < self.colours(a, registers)
    }

    /// Merges the node `gone` into the node `kept` by moving its edges.
    fn merge(&mut self, kept: u32, gone: u32) {
        for other in std::mem::take(&mut self.neighbours[gone as usize]) {
            self.matrix
                .set(Self::cell(gone as usize, other as usize), false);
            let list = &mut self.neighbours[other as usize];
            if let Some(at) = list.iter().position(|node| *node == gone) {
                list.swap_remove(at);
            }
            self.excluded[other as usize] -= self.excludes(gone, other);
            self.add_edge(kept, other);
        }
    }
}

/// The result of colouring a graph.
#[derive(Clone, Debug)]
pub(crate) struct Colouring {
    /// The colour of each node, or `None` for a node that received no colour.
    pub colours: Vec<Option<u32>>,
    /// The nodes without a colour.
    pub failed: Vec<u32>,
    /// The total cost of spilling the nodes without a colour. The cost is [`NEVER`] if one of them
    /// cannot be spilled.
    pub cost: u64,
}

impl Colouring {
    /// Returns the number of registers in use.
    pub fn used(&self, graph: &Graph) -> u32 {
        let nodes = self.colours.iter().zip(&graph.sizes);
        let ends = nodes.filter_map(|(colour, size)| Some((*colour)? + size));
        ends.max().unwrap_or(0)
    }
}

/// Colours a graph optimistically with `registers` registers (Briggs, 1992).
///
/// Nodes whose remaining neighbours leave a colour in any case are removed from the graph first. If
/// there is no such node, the node with the lowest ratio of spill cost to degree is removed. Nodes
/// then receive colours in reverse order of removal: preferably the colour of a node that a copy
/// connects them to, then for single registers one beside a taken register, which keeps pairs
/// together.
pub(crate) fn colour(graph: &Graph, costs: &[u64], registers: u32) -> Colouring {
    let order = simplify(graph, costs, registers);
    let mut partners: Vec<Vec<u32>> = vec![Vec::new(); graph.vars.len()];
    for &(to, from) in &graph.copies {
        partners[to as usize].push(from);
        partners[from as usize].push(to);
    }
    let mut colours: Vec<Option<u32>> = vec![None; graph.vars.len()];
    let mut failed = Vec::new();
    let mut taken = FixedBitSet::with_capacity(registers as usize + 4);
    for &node in order.iter().rev() {
        taken.clear();
        for &other in &graph.neighbours[node as usize] {
            if let Some(colour) = colours[other as usize] {
                let end = colour + graph.sizes[other as usize];
                taken.insert_range(colour as usize..end as usize);
            }
        }
        let size = graph.sizes[node as usize];
        let free = |colour: &u32| {
            let end = colour + size;
            end <= registers && !taken.contains_any_in_range(*colour as usize..end as usize)
        };
        let wished = partners[node as usize]
            .iter()
            .filter_map(|p| colours[*p as usize]);
        let wished = wished.filter(free).min();
        let all = || (0..registers).step_by(size as usize).filter(free);
        let beside = |colour: &u32| size > 1 || taken.contains((*colour ^ 1) as usize);
        let lowest = || all().find(beside).or_else(|| all().next());
        match wished.or_else(lowest) {
            Some(colour) => colours[node as usize] = Some(colour),
            None => failed.push(node),
        }
    }
    failed.sort_unstable();
    let cost = failed
        .iter()
        .fold(0_u64, |sum, node| sum.saturating_add(costs[*node as usize]));
    Colouring {
        colours,
        failed,
        cost,
    }
}

/// Returns the order in which nodes are removed from the graph.
fn simplify(graph: &Graph, costs: &[u64], registers: u32) -> Vec<u32> {
    let count = graph.vars.len();
    let mut excluded = graph.excluded.clone();
    let mut aside = FixedBitSet::with_capacity(count);
    let mut order = Vec::with_capacity(count);
    let low = |node: u32, excluded: u32| excluded < graph.colours(node, registers);
    let mut ready: Vec<u32> = (0..count as u32)
        .rev()
        .filter(|n| low(*n, excluded[*n as usize]))
        .collect();
    // The ratio of cost to degree of a node rises as its neighbours are removed. A key in the heap
    // is therefore a lower bound, and an entry with an outdated key is reinserted when it reaches
    // the top.
    let price = |node: u32, excluded: u32| Price {
        price: costs[node as usize] as f64 / f64::from(excluded.max(1)),
        node,
    };
    let mut waiting: BinaryHeap<Reverse<Price>> = (0..count as u32)
        .filter(|n| !low(*n, excluded[*n as usize]))
        .map(|n| Reverse(price(n, excluded[n as usize])))
        .collect();
    loop {
        while let Some(node) = ready.pop() {
            if !aside.put(node as usize) {
                order.push(node);
                for &other in &graph.neighbours[node as usize] {
                    let before = excluded[other as usize];
                    let after = before - graph.excludes(node, other);
                    excluded[other as usize] = after;
                    let falls = !low(other, before) && low(other, after);
                    if falls && !aside.contains(other as usize) {
                        ready.push(other);
                    }
                }
            }
        }
        let Some(Reverse(cheapest)) = waiting.pop() else {
            return order;
        };
        let now = price(cheapest.node, excluded[cheapest.node as usize]);
        if aside.contains(cheapest.node as usize) {
            continue;
        } else if now > cheapest {
            waiting.push(Reverse(now));
        } else {
            ready.push(cheapest.node);
        }
    }
}

/// The ratio of the spill cost of a node to its degree. Equal ratios are ordered by node.
#[derive(Clone, Copy, Debug)]
struct Price {
    price: f64,
    node: u32,
}

impl Ord for Price {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_price = self.price.total_cmp(&other.price);
        by_price.then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Price {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Price {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Price {}
