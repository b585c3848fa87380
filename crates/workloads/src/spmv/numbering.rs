//! Numberings of the mesh's nodes. A numbering determines how far apart a row's columns are.

/// Two-way table of nodes and their numbers. Coordinates count from 1 along both axes; nodes on the
/// boundary have no number.
pub(super) struct Numbering {
    /// Nodes in the order of their numbers.
    nodes: Vec<(u32, u32)>,
    /// Numbers by place in the grid of all nodes, including the boundary.
    numbers: Vec<u32>,
    /// Number of nodes along a side, including the boundary.
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

    /// Numbers nodes along the grid, row by row.
    pub(super) fn by_rows(elements: u32) -> Self {
        let mut this = Self::empty(elements);
        let inside = 1..3 * elements;
        for y in inside.clone() {
            inside.clone().for_each(|x| this.add(x, y));
        }
        this
    }

    /// Numbers nodes like finite-element programs with bases of higher order (`H1Space` of
    /// Hermes2D, by the group from which the large data set comes). Functions of corners come
    /// first, then functions of edges, then functions of interiors, each in the order in which a
    /// walk through the elements reaches them. Elements come in the order in which refinement of
    /// one square makes them, four children of each counterclockwise.
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

    /// Gives a node the next number, unless it has a number or lies on the boundary.
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

/// Elements of an `n` x `n` mesh in the order of refinement.
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

    /// With two elements per side, nodes are 1 to 5. The only inner corner comes first. Then come
    /// the inner edges of the lower left element: its right edge upwards and its upper edge
    /// leftwards. The upper edge of its right neighbour follows leftwards, and the left edge of the
    /// next element downwards.
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
