//! The recording's graph: a linear congruential generator gives every node 1 to 15 neighbours
//! anywhere, then makes about half of the nodes active.

/// A graph in compressed rows.
pub(super) struct Graph {
    /// Index of each node's first neighbour, followed by the end of the last.
    pub rows: Vec<i32>,
    /// Neighbours of all nodes.
    pub columns: Vec<i32>,
    /// Level of every node: active ones have the current level, others -1.
    pub levels: Vec<i32>,
}

/// The 32-bit generator of Numerical Recipes; the lowest bits are dropped because of their short
/// period.
struct Lcg(u32);

impl Lcg {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }
}

impl Graph {
    /// Generates a graph of `nodes` nodes whose active nodes have the level `current`.
    pub fn generate(nodes: u32, current: i32) -> Self {
        let mut random = Lcg(12_345);
        let mut rows = vec![0];
        let mut edges = 0;
        for _ in 0..nodes {
            edges += 1 + random.next() % 15;
            rows.push(edges as i32);
        }
        let columns = (0..edges).map(|_| (random.next() % nodes) as i32).collect();
        let mut level = |_| if random.next() & 1 == 1 { current } else { -1 };
        let levels = (0..nodes).map(&mut level).collect();
        Self {
            rows,
            columns,
            levels,
        }
    }

    /// Result of a step: the next level for every node that has no level and an active neighbour,
    /// and for every active node the sum of its neighbours' levels.
    pub fn expand(&self, current: i32) -> (Vec<i32>, Vec<i32>) {
        let mut next = vec![0; self.levels.len()];
        let mut sums = vec![0; self.levels.len()];
        for (node, row) in self.rows.windows(2).enumerate() {
            if self.levels[node] != current {
                continue;
            }
            for &neighbour in &self.columns[row[0] as usize..row[1] as usize] {
                let level = self.levels[neighbour as usize];
                sums[node] += level;
                if level < 0 {
                    next[neighbour as usize] = current + 1;
                }
            }
        }
        (next, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[test]
    fn the_recorded_graph_has_its_525335_edges() {
        let graph = Graph::generate(1 << 16, 3);
        assert_eq!(graph.columns.len(), 525_335);
        assert_eq!(graph.rows.last(), Some(&525_335));
        let active = graph.levels.iter().filter(|&&level| level == 3).count();
        assert!((32_000..33_600).contains(&active), "{active}");
    }

    #[test]
    fn a_step_reaches_inactive_neighbours_of_active_nodes() {
        let graph = Graph {
            rows: vec![0, 2, 3, 3],
            columns: vec![1, 2, 0],
            levels: vec![3, -1, 3],
        };
        assert_eq!(graph.expand(3), (vec![0, 4, 0], vec![2, 0, 0]));
    }
}
