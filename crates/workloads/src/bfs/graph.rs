//! Undirected graphs in compressed rows, and distances in them.

use warploom_base::Rng;

/// Distance of a node that cannot be reached from the source.
pub(super) const UNREACHED: i32 = -1;

/// A graph in compressed rows. Every edge is in the rows of both of its ends.
pub(super) struct Graph {
    /// Index of each node's first entry in `targets`, followed by the number of all entries.
    row_start: Vec<i32>,
    pub(super) targets: Vec<i32>,
}

impl Graph {
    fn from_edges(nodes: u32, edges: &[(u32, u32)]) -> Self {
        let mut row_start = vec![0_i32; nodes as usize + 1];
        for &(a, b) in edges {
            row_start[a as usize + 1] += 1;
            row_start[b as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            row_start[node + 1] += row_start[node];
        }
        let mut free = row_start.clone();
        let mut targets = vec![0; 2 * edges.len()];
        for &(a, b) in edges {
            for (from, to) in [(a, b), (b, a)] {
                let slot = &mut free[from as usize];
                targets[*slot as usize] = to as i32;
                *slot += 1;
            }
        }
        Self { row_start, targets }
    }

    /// A connected graph with 6 neighbours per node on average, whose degree distribution is a
    /// power law with exponent 3, up to some hundreds. Every node is joined to an earlier one and
    /// to two random ones. Earlier nodes are more likely, the i-th with a probability proportional
    /// to (i + s)^-1/2. Nodes are then renumbered, so that those with many neighbours are spread.
    pub(super) fn power_law(nodes: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let shift = 1.0 + f64::from(nodes) / 16_384.0;
        let mut likely = |below: u32| {
            let (low, high) = (shift.sqrt(), (f64::from(below) + shift).sqrt());
            let root = low + rng.unit_f64() * (high - low);
            ((root * root - shift) as u32).min(below - 1)
        };
        let mut edges = Vec::with_capacity(3 * nodes as usize);
        for node in 1..nodes {
            edges.extend([
                (node, likely(node)),
                (node, likely(nodes)),
                (node, likely(nodes)),
            ]);
        }
        // Multiplication by a prime larger than the number of nodes is a permutation.
        let renumber = |node: u32| (u64::from(node) * 2_654_435_761 % u64::from(nodes)) as u32;
        edges
            .iter_mut()
            .for_each(|(a, b)| (*a, *b) = (renumber(*a), renumber(*b)));
        Self::from_edges(nodes, &edges)
    }

    /// A graph in which every node is joined to 2 to 4 random others: 6 neighbours per node on
    /// average.
    pub(super) fn uniform(nodes: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut edges = Vec::with_capacity(3 * nodes as usize);
        for node in 0..nodes {
            let joined = 2 + rng.below(3);
            edges.extend((0..joined).map(|_| (node, rng.below(nodes))));
        }
        Self::from_edges(nodes, &edges)
    }

    /// A map of streets on a square of crossings (`nodes` is its area). Every crossing has a street
    /// to the west or to the north, so that all are connected, and 3 in 8 of the remaining streets
    /// exist.
    pub(super) fn road(nodes: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let side = nodes.isqrt();
        let mut edges = Vec::with_capacity(2 * nodes as usize);
        for node in 1..side * side {
            let west = (node % side > 0).then(|| (node, node - 1));
            let north = (node >= side).then(|| (node, node - side));
            match (west, north) {
                (Some(west), Some(north)) => {
                    let (first, second) = if rng.below(2) == 0 {
                        (west, north)
                    } else {
                        (north, west)
                    };
                    edges.push(first);
                    edges.extend((rng.below(8) < 3).then_some(second));
                }
                _ => edges.extend(west.or(north)),
            }
        }
        Self::from_edges(nodes, &edges)
    }

    pub(super) fn nodes(&self) -> usize {
        self.row_start.len() - 1
    }

    /// First entry and number of entries of every row, alternately, as the kernel reads them.
    pub(super) fn extents(&self) -> Vec<i32> {
        self.row_start
            .windows(2)
            .flat_map(|ends| [ends[0], ends[1] - ends[0]])
            .collect()
    }

    fn neighbours(&self, node: usize) -> &[i32] {
        &self.targets[self.row_start[node] as usize..self.row_start[node + 1] as usize]
    }

    /// Number of edges on the shortest path from `source` to every node, by a queue.
    pub(super) fn distances(&self, source: usize) -> Vec<i32> {
        let mut distances = vec![UNREACHED; self.nodes()];
        let mut queue = vec![source as i32];
        distances[source] = 0;
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for &target in self.neighbours(node as usize) {
                if distances[target as usize] == UNREACHED {
                    distances[target as usize] = distances[node as usize] + 1;
                    queue.push(target);
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [fn(u32, u64) -> Graph; 3] = [Graph::power_law, Graph::uniform, Graph::road];

    /// Degrees of all nodes, largest first.
    fn degrees(graph: &Graph) -> Vec<usize> {
        let mut degrees: Vec<_> = (0..graph.nodes())
            .map(|n| graph.neighbours(n).len())
            .collect();
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        degrees
    }

    #[test]
    fn edges_stand_at_both_ends() {
        for generate in ALL {
            let graph = generate(400, 1);
            let count = |a: usize, b: usize| {
                graph
                    .neighbours(a)
                    .iter()
                    .filter(|&&target| target as usize == b)
                    .count()
            };
            for node in 0..graph.nodes() {
                for &target in graph.neighbours(node) {
                    assert_eq!(count(node, target as usize), count(target as usize, node));
                }
            }
        }
    }

    #[test]
    fn distances_are_those_of_relaxation() {
        // The method of Bellman and Ford, which uses no queue.
        for generate in ALL {
            let graph = generate(100, 2);
            let far = graph.nodes() as i32;
            let mut distances = vec![far; graph.nodes()];
            distances[0] = 0;
            for _ in 0..graph.nodes() {
                for node in 0..graph.nodes() {
                    let through = graph
                        .neighbours(node)
                        .iter()
                        .map(|&t| distances[t as usize] + 1);
                    let nearest = through.min().unwrap_or(far);
                    distances[node] = distances[node].min(nearest);
                }
            }
            let expected: Vec<_> = distances
                .iter()
                .map(|&d| if d == far { UNREACHED } else { d })
                .collect();
            assert_eq!(graph.distances(0), expected);
        }
    }

    #[test]
    fn power_law_degrees_are_skewed_and_the_graph_is_connected() {
        let graph = Graph::power_law(20_000, 3);
        let degrees = degrees(&graph);
        let total: usize = degrees.iter().sum();
        assert_eq!(total, 6 * 19_999);
        assert!(degrees[0] > 20 * 6, "largest degree {}", degrees[0]);
        assert!(degrees[10_000] < 6, "the median lies below the mean");
        // The share of nodes above a degree has a slope of -2: it is four times smaller above the
        // double degree.
        let above = |degree: usize| degrees.partition_point(|&d| d > degree) as f64;
        let ratio = above(15) / above(30);
        assert!((2.5..6.0).contains(&ratio), "{ratio}");
        assert!(!graph.distances(0).contains(&UNREACHED));
    }

    #[test]
    fn uniform_degrees_are_not_skewed() {
        let degrees = degrees(&Graph::uniform(20_000, 3));
        let mean = degrees.iter().sum::<usize>() as f64 / 20_000.0;
        assert!((5.9..6.1).contains(&mean), "{mean}");
        assert!(
            degrees[0] < 20 && degrees[19_999] >= 2,
            "{} {}",
            degrees[0],
            degrees[19_999]
        );
    }

    #[test]
    fn roads_have_few_neighbours_and_long_ways() {
        let graph = Graph::road(32 * 32, 3);
        let degrees = degrees(&graph);
        let mean = degrees.iter().sum::<usize>() as f64 / 1024.0;
        assert!((2.4..3.0).contains(&mean) && degrees[0] <= 4, "{mean}");
        // Paths to the west or north lead to the origin without a detour.
        let expected: Vec<_> = (0..1024).map(|node| node % 32 + node / 32).collect();
        assert_eq!(graph.distances(0), expected);
    }

    #[test]
    fn the_seed_matters() {
        for generate in ALL {
            assert_eq!(generate(400, 1).targets, generate(400, 1).targets);
            assert_ne!(generate(400, 1).targets, generate(400, 2).targets);
        }
    }
}
