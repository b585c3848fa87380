//! Two related sequences of nucleotides, and the scores of their alignments.

use warploom_base::Rng;

/// Scores of two nucleotides: equal, both purines or both pyrimidines, and otherwise.
const EQUAL: i32 = 5;
const TRANSITION: i32 = -1;
const TRANSVERSION: i32 = -4;

/// Two sequences of equal length with letters from 0 to 3, of which 0 and 2 are the purines.
pub(super) struct Pair {
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Pair {
    /// Generates two sequences. The second is the first after mutations: a tenth of the letters
    /// replaced, and one insertion or deletion of up to 12 letters in every 64.
    pub(super) fn generate(length: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let first: Vec<u8> = (0..length).map(|_| rng.below(4) as u8).collect();
        let mut second = Vec::with_capacity(length);
        let mut from = 0;
        while second.len() < length {
            match rng.below(640) {
                0..5 => from += 1 + rng.below(12) as usize,
                5..10 => (0..=rng.below(12)).for_each(|_| second.push(rng.below(4) as u8)),
                10..74 => {
                    second.push(rng.below(4) as u8);
                    from += 1;
                }
                _ => {
                    // Beyond the end of the first sequence, letters are random.
                    second.push(first.get(from).copied().unwrap_or(rng.below(4) as u8));
                    from += 1;
                }
            }
        }
        second.truncate(length);
        Self { first, second }
    }

    /// Number of columns of the matrices: one per letter, and one for the gap before the first.
    pub(super) fn columns(&self) -> usize {
        self.first.len() + 1
    }

    /// Scores of all pairs of letters. Rows belong to the first sequence; the first row and column
    /// are empty.
    pub(super) fn matches(&self) -> Vec<i32> {
        let mut matches = vec![0; self.columns() * self.columns()];
        let rows = matches.chunks_exact_mut(self.columns()).skip(1);
        for (row, &a) in rows.zip(&self.first) {
            let cells = row[1..].iter_mut().zip(&self.second);
            cells.for_each(|(cell, &b)| *cell = score(a, b));
        }
        matches
    }

    /// Scores of the best alignments of all pairs of prefixes.
    pub(super) fn scores(&self, penalty: i32) -> Vec<i32> {
        let gaps = (0..self.columns() as i32).map(|gap| -gap * penalty);
        let mut above: Vec<i32> = gaps.collect();
        let mut scores = above.clone();
        for (row, &a) in self.first.iter().enumerate() {
            let mut left = -(row as i32 + 1) * penalty;
            let mut now = vec![left];
            for (column, &b) in self.second.iter().enumerate() {
                let diagonal = above[column] + score(a, b);
                left = diagonal
                    .max(left - penalty)
                    .max(above[column + 1] - penalty);
                now.push(left);
            }
            scores.extend(&now);
            above = now;
        }
        scores
    }
}

fn score(a: u8, b: u8) -> i32 {
    match a ^ b {
        0 => EQUAL,
        2 => TRANSITION,
        _ => TRANSVERSION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insertion_costs_one_gap() {
        let pair = Pair {
            first: vec![0, 1, 2, 3],
            second: vec![0, 1, 1, 2],
        };
        // A-C-(C)-G-T against A-C-C-G: two gaps or mismatches.
        let by_hand = [EQUAL + EQUAL + TRANSVERSION + TRANSVERSION, 3 * EQUAL - 20];
        assert_eq!(pair.scores(10).last(), by_hand.iter().max());
    }

    #[test]
    fn related_sequences_align_better_than_strangers() {
        let best = |pair: &Pair| *pair.scores(10).last().unwrap();
        let pair = Pair::generate(512, 1);
        let strangers = Pair {
            first: pair.first.clone(),
            second: Pair::generate(512, 2).first,
        };
        assert!(best(&pair) > best(&strangers) + 500);
    }
}
