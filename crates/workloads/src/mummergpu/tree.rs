//! Suffix trees with suffix links (E. Ukkonen, "On-line construction of suffix trees",
//! Algorithmica 14, 1995).

use super::layout::texel;
use std::collections::VecDeque;

/// Number that denotes no node.
pub(super) const NONE: u32 = 0;
/// Number of the root.
pub(super) const ROOT: u32 = 1;
/// Character that ends a text and occurs nowhere else.
const END: u8 = b'$';

/// A node with the edge that leads to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Index in the text of the edge's first character.
    first: u32,
    /// Index in the text of the edge's last character.
    last: u32,
    /// The node whose path is this node's path without its first character. The root and leaves
    /// have none.
    link: u32,
    /// Children by the first characters of their edges: A, C, G, T, end.
    children: [u32; 5],
}

/// A place in the tree: `on_edge` characters down the edge to `node`. If `on_edge` is 0, the place
/// is `node` itself, and no child continues the match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub node: u32,
    pub on_edge: u32,
}

/// Suffix tree of a text of A, C, G and T.
pub(super) struct SuffixTree {
    text: Vec<u8>,
    /// All nodes; number 0 is not a node.
    nodes: Vec<Node>,
}

/// Index of a child by the first character of its edge.
fn symbol(character: u8) -> usize {
    b"ACGT$"
        .iter()
        .position(|c| *c == character)
        .expect("A, C, G, T or the end")
}

impl SuffixTree {
    /// The tree of `text`, its nodes numbered level by level.
    pub(super) fn new(text: &[u8]) -> Self {
        let text = [text, &[END]].concat();
        let mut builder = Builder::new(&text);
        (0..text.len()).for_each(|at| builder.extend(at));
        let nodes = by_level(&builder.nodes);
        Self { text, nodes }
    }

    /// The text, followed by its end character.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Records of all nodes: first and last character of the edge, suffix link, 0.
    pub(super) fn records(&self) -> Vec<[u32; 4]> {
        let record = |node: &Node| [node.first, node.last, texel(node.link), 0];
        self.nodes.iter().map(record).collect()
    }

    /// Children of all nodes by A, C, G, T.
    pub(super) fn child_lists(&self) -> Vec<[u32; 4]> {
        let list = |node: &Node| {
            let [a, c, g, t, _] = node.children;
            [a, c, g, t].map(texel)
        };
        self.nodes.iter().map(list).collect()
    }

    /// Place at which the longest prefix of `query` that occurs in the text ends, and its length.
    pub(super) fn longest(&self, query: &[u8]) -> (Place, usize) {
        let (mut node, mut length) = (ROOT, 0);
        loop {
            let Some(character) = query.get(length) else {
                return (Place { node, on_edge: 0 }, length);
            };
            let child = self.nodes[node as usize].children[symbol(*character)];
            if child == NONE {
                return (Place { node, on_edge: 0 }, length);
            }
            let Node { first, last, .. } = self.nodes[child as usize];
            let edge = &self.text[first as usize..=last as usize];
            let pairs = edge.iter().zip(&query[length..]);
            let on_edge = pairs.take_while(|(a, b)| a == b).count();
            length += on_edge;
            if on_edge < edge.len() || length == query.len() {
                let on_edge = on_edge as u32;
                return (
                    Place {
                        node: child,
                        on_edge,
                    },
                    length,
                );
            }
            node = child;
        }
    }
}

/// State of the algorithm: the active point, and the number of suffixes that are still implicit.
struct Builder<'a> {
    text: &'a [u8],
    nodes: Vec<Node>,
    active: u32,
    /// Index in the text of the active edge's first character.
    edge: usize,
    /// Number of characters down the active edge.
    length: usize,
    implicit: usize,
}

impl<'a> Builder<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            nodes: vec![Node::default(); 2],
            active: ROOT,
            edge: 0,
            length: 0,
            implicit: 0,
        }
    }

    fn child(&mut self, node: u32, at: usize) -> &mut u32 {
        &mut self.nodes[node as usize].children[symbol(self.text[at])]
    }

    fn add(&mut self, first: usize, last: usize) -> u32 {
        self.nodes.push(Node {
            first: first as u32,
            last: last as u32,
            ..Node::default()
        });
        self.nodes.len() as u32 - 1
    }

    /// Extends the tree by the character at `at`.
    fn extend(&mut self, at: usize) {
        let end = self.text.len() - 1;
        let mut unlinked = NONE;
        self.implicit += 1;
        while self.implicit > 0 {
            if self.length == 0 {
                self.edge = at;
            }
            let (active, edge) = (self.active, self.edge);
            let next = *self.child(active, edge);
            if next == NONE {
                *self.child(active, edge) = self.add(at, end);
                self.link(&mut unlinked, active);
            } else {
                let Node { first, last, .. } = self.nodes[next as usize];
                let size = (last - first) as usize + 1;
                if self.length >= size {
                    self.edge += size;
                    self.length -= size;
                    self.active = next;
                    continue;
                }
                let middle = first as usize + self.length;
                if self.text[middle] == self.text[at] {
                    self.link(&mut unlinked, active);
                    self.length += 1;
                    return;
                }
                let split = self.add(first as usize, middle - 1);
                self.nodes[next as usize].first = middle as u32;
                *self.child(active, edge) = split;
                *self.child(split, at) = self.add(at, end);
                *self.child(split, middle) = next;
                self.link(&mut unlinked, split);
                unlinked = split;
            }
            self.implicit -= 1;
            if active != ROOT {
                self.active = self.nodes[active as usize].link;
            } else if self.length > 0 {
                self.length -= 1;
                self.edge = at + 1 - self.implicit;
            }
        }
    }

    /// Sets the suffix link of the last node that was split, if any.
    fn link(&mut self, unlinked: &mut u32, to: u32) {
        if *unlinked != NONE {
            self.nodes[*unlinked as usize].link = to;
        }
        *unlinked = NONE;
    }
}

/// Renumbers the nodes level by level from the root.
fn by_level(nodes: &[Node]) -> Vec<Node> {
    let mut number = vec![NONE; nodes.len()];
    let mut order = vec![NONE];
    let mut queue = VecDeque::from([ROOT]);
    while let Some(node) = queue.pop_front() {
        number[node as usize] = order.len() as u32;
        order.push(node);
        let children = nodes[node as usize].children;
        queue.extend(children.into_iter().filter(|child| *child != NONE));
    }
    let renumbered = |old: &u32| {
        let node = nodes[*old as usize];
        Node {
            link: number[node.link as usize],
            children: node.children.map(|child| number[child as usize]),
            ..node
        }
    };
    order.iter().map(renumbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_base::Rng;

    fn random(length: usize, letters: u32, seed: u64) -> Vec<u8> {
        let mut rng = Rng::new(seed);
        let letter = |_| b"ACGT"[rng.below(letters) as usize];
        (0..length).map(letter).collect()
    }

    /// Characters on the path from the root to a place.
    fn spell(tree: &SuffixTree, place: Place) -> Vec<u8> {
        let parent_of = |child: u32| {
            let is_parent = |node: &Node| node.children.contains(&child);
            tree.nodes
                .iter()
                .position(is_parent)
                .map(|parent| parent as u32)
        };
        let mut path = Vec::new();
        let Place { mut node, on_edge } = place;
        while node != ROOT {
            let Node { first, last, .. } = tree.nodes[node as usize];
            let whole = path.is_empty() && on_edge > 0;
            let end = if whole { first + on_edge } else { last + 1 };
            path.splice(
                0..0,
                tree.text[first as usize..end as usize].iter().copied(),
            );
            node = parent_of(node).expect("every node but the root has a parent");
        }
        path
    }

    #[test]
    fn every_suffix_ends_at_a_leaf_of_its_own() {
        for (length, letters) in [(1, 1), (50, 1), (300, 2), (300, 4)] {
            let text = random(length, letters, 1);
            let tree = SuffixTree::new(&text);
            let leaves = tree.nodes[1..].iter().filter(|n| n.children == [NONE; 5]);
            assert_eq!(leaves.count(), length + 1);
            for start in 0..length {
                assert_eq!(tree.longest(&text[start..]).1, length - start);
            }
        }
    }

    #[test]
    fn the_longest_match_is_that_of_a_plain_search() {
        let text = random(400, 3, 2);
        let tree = SuffixTree::new(&text);
        for seed in 0..200 {
            let query = random(20, 4, seed);
            let (place, length) = tree.longest(&query);
            let found = |n: usize| n == 0 || text.windows(n).any(|window| window == &query[..n]);
            assert!(found(length) && (length == 20 || !found(length + 1)));
            assert_eq!(spell(&tree, place), query[..length]);
        }
    }

    #[test]
    fn links_take_away_the_first_character() {
        let tree = SuffixTree::new(&random(300, 3, 3));
        let mut seen = 0;
        for (number, node) in tree.nodes.iter().enumerate().skip(ROOT as usize + 1) {
            let place = |node| Place { node, on_edge: 0 };
            if node.children == [NONE; 5] {
                assert_eq!(node.link, NONE);
                continue;
            }
            let path = spell(&tree, place(number as u32));
            assert_eq!(spell(&tree, place(node.link)), path[1..]);
            seen += 1;
        }
        assert!(seen > 50);
        assert_eq!(tree.nodes[ROOT as usize].link, NONE);
    }
}
