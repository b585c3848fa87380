//! A B+ tree in the layout of the device: nodes in one array, level by level from the root.

use std::iter;

use warploom_base::Rng;

/// Largest number of children of a node.
pub(super) const ORDER: usize = 256;
/// Number of words of a node: its number, `ORDER` + 1 indices and keys each, whether it is a leaf,
/// its number of keys.
const WORDS: usize = 2 * (ORDER + 1) + 3;
/// Result for a key that does not exist.
pub(super) const ABSENT: i32 = -1;

pub(super) struct Tree {
    /// Keys in ascending order.
    keys: Vec<i32>,
    /// Records, one for each key.
    pub(super) values: Vec<i32>,
    pub(super) nodes: Vec<i32>,
    /// Number of levels below the root.
    pub(super) height: i64,
}

impl Tree {
    /// A random tree. Nodes are between half full and full, as after insertions in random order.
    pub(super) fn generate(count: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut key = 0;
        let keys: Vec<i32> = iter::repeat_with(|| {
            key += 1 + rng.below(20) as i32;
            key
        })
        .take(count)
        .collect();
        let values = (0..count).map(|_| rng.below(1 << 30) as i32).collect();
        // From the leaves up: for each node of a level, the first of its entries and its smallest
        // key.
        let mut levels = vec![split(keys.len(), &mut rng)];
        while levels[levels.len() - 1].len() > 1 {
            let children = levels[levels.len() - 1].len();
            levels.push(split(children, &mut rng));
        }
        let mut tree = Self {
            keys,
            values,
            nodes: Vec::new(),
            height: levels.len() as i64 - 1,
        };
        tree.lay_out(&levels);
        tree
    }

    /// Writes the nodes, beginning with the root's level (the last).
    fn lay_out(&mut self, levels: &[Vec<usize>]) {
        let mut below = 0;
        for depth in (0..levels.len()).rev() {
            // Number of the first node of the level below, or of the first record.
            let entries = match depth {
                0 => self.keys.len(),
                _ => levels[depth - 1].len(),
            };
            below = if depth == 0 {
                0
            } else {
                below + levels[depth].len()
            };
            let ends = levels[depth].iter().skip(1).copied().chain([entries]);
            for (&first, end) in levels[depth].iter().zip(ends) {
                let keys: Vec<i32> = (first..end)
                    .map(|at| self.least(levels, depth, at))
                    .collect();
                self.push_node(&keys, below + first, depth == 0);
            }
        }
    }

    /// The smallest key at or below entry `at` of a level.
    fn least(&self, levels: &[Vec<usize>], depth: usize, at: usize) -> i32 {
        let key = (0..depth).rev().fold(at, |at, depth| levels[depth][at]);
        self.keys[key]
    }

    fn push_node(&mut self, keys: &[i32], first_index: usize, leaf: bool) {
        let number = self.node_count() as i32;
        let indices = (0..=ORDER).map(|i| {
            let last = keys.len() - 1;
            (first_index + i.min(last)) as i32
        });
        self.nodes.push(number);
        self.nodes.extend(indices);
        // An inner node's first child contains all smaller keys; unused keys are larger than any
        // other.
        let first = if leaf { keys[0] } else { i32::MIN };
        let rest = keys[1..].iter().copied().chain(iter::repeat(i32::MAX));
        self.nodes
            .extend(iter::once(first).chain(rest).take(ORDER + 1));
        self.nodes.extend([i32::from(leaf), keys.len() as i32]);
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len() / WORDS
    }

    /// Keys to look up, of which fifteen in sixteen exist.
    pub(super) fn queries(&self, count: u32, seed: u64) -> Vec<i32> {
        let mut rng = Rng::new(!seed);
        let mut query = || {
            let key = self.keys[rng.below(self.keys.len() as u32) as usize];
            key + i32::from(rng.below(16) == 0)
        };
        (0..count).map(|_| query()).collect()
    }

    /// The record of a key.
    pub(super) fn find(&self, key: i32) -> i32 {
        let found = self.keys.binary_search(&key);
        found.map_or(ABSENT, |at| self.values[at])
    }
}

/// Index of the first entry of each node, when `entries` are distributed over nodes.
fn split(entries: usize, rng: &mut Rng) -> Vec<usize> {
    let mut firsts = Vec::new();
    let mut at = 0;
    while at < entries {
        firsts.push(at);
        let room = ORDER - 1;
        at += match entries - at {
            left if left <= room => left,
            // The rest for the last two nodes must suffice for two.
            left if left < 2 * room => left / 2,
            _ => room / 2 + 1 + rng.below(room as u32 / 2) as usize,
        };
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_reached_from_the_root() {
        let tree = Tree::generate(70_000, 6);
        assert_eq!(tree.height, 2);
        for (at, &key) in tree.keys.iter().enumerate().step_by(97) {
            let mut node = 0;
            for level in 0..=tree.height {
                let words = &tree.nodes[node * WORDS..][..WORDS];
                let (indices, keys) = (&words[1..], &words[ORDER + 2..][..ORDER + 1]);
                let interval = (0..ORDER).find(|&i| keys[i] <= key && keys[i + 1] > key);
                let index = indices[interval.unwrap()] as usize;
                assert_eq!(words[WORDS - 2] == 1, level == tree.height);
                if level == tree.height {
                    assert_eq!((index, keys[interval.unwrap()]), (at, key));
                }
                node = index;
            }
        }
    }

    #[test]
    fn nodes_are_at_least_half_full() {
        let tree = Tree::generate(70_000, 7);
        for node in tree.nodes.chunks_exact(WORDS).skip(1) {
            assert!(
                (127..=255).contains(&node[WORDS - 1]),
                "{}",
                node[WORDS - 1]
            );
        }
    }
}
