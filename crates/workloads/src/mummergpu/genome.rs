//! DNA with the structure of a bacterium's: more A and T than C and G, some dispersed repeats with
//! changes since the copy, and a few tandem repeats.

use warploom_base::Rng;

/// Share of C and G, as in Bacillus anthracis (35.4%).
const GC: f64 = 0.354;
/// Share of the characters that change in a copy.
const CHANGE: f64 = 0.02;

/// A genome of `length` characters.
pub(super) fn genome(length: usize, rng: &mut Rng) -> Vec<u8> {
    let mut text: Vec<u8> = Vec::with_capacity(length);
    while text.len() < length {
        match rng.below(1000) {
            // 2.7% of the characters are copies. Of the windows of 20 characters 4% then occur more
            // than once, as in the benchmark's reference.
            0..4 if text.len() > 1000 => disperse(&mut text, rng),
            4..6 => tandem(&mut text, rng),
            _ => text.extend((0..50).map(|_| base(rng)).collect::<Vec<_>>()),
        }
    }
    text.truncate(length);
    text
}

fn base(rng: &mut Rng) -> u8 {
    let pair: &[u8; 2] = if rng.unit_f64() < GC { b"CG" } else { b"AT" };
    pair[rng.below(2) as usize]
}

/// Appends a copy of an earlier part, with changes.
fn disperse(text: &mut Vec<u8>, rng: &mut Rng) {
    let length = 100 + rng.below(500) as usize;
    let start = rng.below((text.len() - length) as u32) as usize;
    for at in start..start + length {
        let changed = rng.unit_f64() < CHANGE;
        text.push(if changed { base(rng) } else { text[at] });
    }
}

/// Appends a short unit many times.
fn tandem(text: &mut Vec<u8>, rng: &mut Rng) {
    let unit: Vec<_> = (0..2 + rng.below(8)).map(|_| base(rng)).collect();
    let length = unit.len() * (4 + rng.below(12) as usize);
    text.extend(unit.iter().cycle().take(length));
}

/// Reads of `length` characters from anywhere in a genome.
pub(super) fn reads(genome: &[u8], count: usize, length: usize, rng: &mut Rng) -> Vec<Vec<u8>> {
    let read = |_| {
        let start = rng.below((genome.len() - length + 1) as u32) as usize;
        genome[start..start + length].to_vec()
    };
    (0..count).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Number of windows of `length` characters that occur more than once.
    fn repeated(text: &[u8], length: usize) -> usize {
        let mut counts = BTreeMap::new();
        for window in text.windows(length) {
            *counts.entry(window).or_insert(0) += 1;
        }
        counts.values().filter(|count| **count > 1).sum()
    }

    #[test]
    fn genomes_repeat_themselves_and_prefer_a_and_t() {
        let text = genome(50_000, &mut Rng::new(1));
        assert_eq!(text.len(), 50_000);
        let gc = text.iter().filter(|c| b"CG".contains(c)).count() as f64 / 50_000.0;
        assert!((gc - GC).abs() < 0.02, "{gc}");
        // Of 50,000 random characters hardly any two windows of 20 would be equal: 4^20 is 10^12.
        // Of the benchmark's 1,399,930 characters 3.9% begin a window that occurs again.
        let share = repeated(&text, 20) as f64 / 50_000.0;
        assert!((0.01..0.1).contains(&share), "{share}");
    }

    #[test]
    fn reads_are_the_genomes() {
        let mut rng = Rng::new(2);
        let text = genome(3_000, &mut rng);
        let reads = reads(&text, 200, 25, &mut rng);
        let found = |read: &Vec<u8>| text.windows(25).any(|window| window == &read[..]);
        assert!(reads.iter().all(found));
        let starts: std::collections::BTreeSet<_> = reads.iter().collect();
        assert!(starts.len() > 150);
    }
}
