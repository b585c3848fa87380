//! How the nodes of the mesh are numbered, which decides how far apart a row's columns lie.

/// Two-way table of nodes and their numbers. Nodes count from 1 along both axes; those on the
/// boundary have none.
pub(super) struct Numbering {
    /// Nodes in the order of their numbers.
    nodes: Vec<(u32, u32)>,
    /// By place in the grid of all nodes, the boundary's included.
    numbers: Vec<u32>,
    /// Nodes along a side, the boundary's included.
    side: u32,
}

/// Value of a node without a number.
const NONE: u32 = u32::MAX;

impl Numbering {
    fn empty(elements: u32) -> Self {
        let side = 3 * elements + 1;
        Self {
            nodes: Vec::new(),
            numbers: vec![NONE; (side * side) as usize],
            side,
        }
    }

    /// Along the grid, row by row.
    pub(super) fn by_rows(elements: u32) -> Self {
        let mut this = Self::empty(elements);
        let inside = 1..3 * elements;
        for y in inside.clone() {
            inside.clone().for_each(|x| this.add(x, y));
        }
        this
    }

    /// As finite-element programs with bases of higher order do it (Hermes2D's `H1Space`, of the
    /// group that the large data set comes from): first the functions of corners, then those of
    /// edges, then those of interiors, each in the order in which a walk through the elements
    /// comes to them; and elements in the order in which refining one square makes them, four
    /// sons of each counterclockwise.
    pub(super) fn by_elements(elements: u32) -> Self {
        const CORNERS: [(u32, u32); 4] = [(0, 0), (3, 0), (3, 3), (0, 3)];
        const EDGES: [(u32, u32); 8] = [
            (1, 0),
            (2, 0),
            (3, 1),
            (3, 2),
            (2, 3),
            (1, 3),
            (0, 2),
            (0, 1),
        ];
        const INTERIOR: [(u32, u32); 4] = [(1, 1), (2, 1), (1, 2), (2, 2)];
        let mut this = Self::empty(elements);
        let walk = refined(elements);
        for part in [&CORNERS[..], &EDGES, &INTERIOR] {
            for (x, y) in &walk {
                let nodes = part.iter().map(|(dx, dy)| (3 * x + dx, 3 * y + dy));
                nodes.for_each(|(x, y)| this.add(x, y));
            }
        }
        this
    }

    /// Gives a node the next number, unless it has one or lies on the boundary.
    fn add(&mut self, x: u32, y: u32) {
        let inside = 1..self.side - 1;
        let number = &mut self.numbers[(y * self.side + x) as usize];
        if *number == NONE && inside.contains(&x) && inside.contains(&y) {
            *number = self.nodes.len() as u32;
            self.nodes.push((x, y));
        }
    }

    /// Number of a node that is not on the boundary.
    pub(super) fn number(&self, x: u32, y: u32) -> u32 {
        self.numbers[(y * self.side + x) as usize]
    }

    /// All nodes, in the order of their numbers.
    pub(super) fn nodes(&self) -> &[(u32, u32)] {
        &self.nodes
    }
}

/// Elements of an `n` x `n` mesh in the order in which refining makes them.
fn refined(n: u32) -> Vec<(u32, u32)> {
    const SONS: [(u32, u32); 4] = [(0, 0), (1, 0), (1, 1), (0, 1)];
    let mut level = vec![(0, 0)];
    for _ in 0..n.next_power_of_two().ilog2() {
        let sons = |&(x, y): &(u32, u32)| SONS.map(|(dx, dy)| (2 * x + dx, 2 * y + dy));
        level = level.iter().flat_map(sons).collect();
    }
    let inside = |(x, y): &(u32, u32)| *x < n && *y < n;
    level.retain(inside);
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two elements a side: nodes 1 to 5. The only corner inside comes first; then the edges of
    /// the lower left element that are inside, its right one upwards and its upper one leftwards;
    /// of its right neighbour the upper one leftwards, of the next the left one downwards.
    #[test]
    fn corners_come_first_then_edges_then_interiors() {
        let numbering = Numbering::by_elements(2);
        let expected = [
            (3, 3),
            (3, 1),
            (3, 2),
            (2, 3),
            (1, 3),
            (5, 3),
            (4, 3),
            (3, 5),
            (3, 4),
            (1, 1),
            (2, 1),
            (1, 2),
            (2, 2),
            (4, 1),
        ];
        assert_eq!(numbering.nodes()[..expected.len()], expected);
    }

    #[test]
    fn every_node_inside_has_one_number() {
        for numbering in [Numbering::by_rows(5), Numbering::by_elements(5)] {
            assert_eq!(numbering.nodes().len(), 14 * 14);
            for (number, &(x, y)) in numbering.nodes().iter().enumerate() {
                assert_eq!(numbering.number(x, y), number as u32);
            }
        }
    }

    #[test]
    fn refining_turns_counterclockwise_in_every_square() {
        let walk = refined(4);
        assert_eq!(walk[..6], [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (3, 0)]);
        assert_eq!(walk[15], (0, 3), "the last son of the last son");
    }
}
