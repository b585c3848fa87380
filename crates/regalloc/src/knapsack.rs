//! The choice of sub-stacks for shared memory (Algorithm 1 of CRAT, Xie et al., MICRO 2015): a 0-1
//! knapsack optimization. It saves the largest number of accesses to local memory within the shared
//! memory that a thread block leaves unused.

/// A sub-stack of spilled values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// The shared memory that the sub-stack occupies per thread block, in bytes.
    pub bytes: u32,
    /// The number of accesses to local memory that the choice saves, possibly weighted by loop
    /// depth.
    pub gain: u64,
}

/// Returns for each item whether it is chosen. The chosen items have the largest total gain of all
/// sets that fit into `capacity` bytes. Among sets of equal gain, one that excludes earlier items
/// is preferred.
pub fn choose(items: &[Item], capacity: u32) -> Vec<bool> {
    // The sizes are multiples of a common unit, usually at least 128 bytes, so the table counts in
    // that unit.
    let unit = items
        .iter()
        .fold(0, |unit, item| gcd(unit, item.bytes))
        .max(1);
    let room = (capacity / unit) as usize;
    let mut best = vec![0_u64; room + 1];
    let mut taken = vec![vec![false; room + 1]; items.len()];
    for (item, taken) in items.iter().zip(&mut taken) {
        let size = (item.bytes / unit) as usize;
        for space in (size..=room).rev() {
            let with = best[space - size].saturating_add(item.gain);
            if item.gain > 0 && with > best[space] {
                best[space] = with;
                taken[space] = true;
            }
        }
    }
    let mut chosen = vec![false; items.len()];
    let mut space = room;
    for (index, item) in items.iter().enumerate().rev() {
        if taken[index][space] {
            chosen[index] = true;
            space -= (item.bytes / unit) as usize;
        }
    }
    chosen
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{Item, choose};
    use warploom_base::Rng;

    fn item(bytes: u32, gain: u64) -> Item {
        Item { bytes, gain }
    }

    #[test]
    fn two_small_ones_beat_a_large_one() {
        let items = [item(3072, 10), item(2048, 6), item(1024, 5)];
        assert_eq!(choose(&items, 3072), [false, true, true]);
        assert_eq!(choose(&items, 4096), [true, false, true]);
        assert_eq!(choose(&items, 1023), [false, false, false]);
    }

    #[test]
    fn the_gain_is_that_of_trying_everything() {
        let mut rng = Rng::new(7);
        for _ in 0..200 {
            let items: Vec<Item> = (0..5)
                .map(|_| item(64 * (1 + rng.below(9)), rng.below(50).into()))
                .collect();
            let capacity = 64 * rng.below(30);
            let value = |chosen: &[bool]| {
                let taken = || {
                    items
                        .iter()
                        .zip(chosen)
                        .filter(|(_, c)| **c)
                        .map(|(i, _)| *i)
                };
                let bytes: u32 = taken().map(|item| item.bytes).sum();
                (bytes <= capacity).then(|| taken().map(|item| item.gain).sum::<u64>())
            };
            let all = (0..32_u32).map(|mask| {
                let chosen: Vec<bool> = (0..5).map(|bit| mask >> bit & 1 == 1).collect();
                value(&chosen).unwrap_or(0)
            });
            assert_eq!(
                value(&choose(&items, capacity)),
                all.max(),
                "{items:?} {capacity}"
            );
        }
    }
}
