//! Algorithm 1 of Warped-Slicer: chooses numbers of blocks of K kernels on an SM such that the
//! largest relative loss of performance of a kernel is as small as possible.

/// Performance of a kernel by blocks on an SM, and the resources of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Performance with 1, 2, 3, ... blocks on the SM, in a unit common to all kernels, such as the
    /// kernel's best performance. Need not be monotone. Not empty.
    pub performance: Vec<f64>,
    /// Amount of each resource that one block needs.
    pub needs: [u32; 4],
}

/// State of a kernel in the algorithm.
struct Filling<'a> {
    demand: &'a Demand,
    /// Q and M of the paper's listing: each performance that no smaller number of blocks reaches,
    /// with its number of blocks.
    levels: Vec<(f64, u32)>,
    /// Index of the level that the kernel has.
    level: usize,
    /// True if the kernel gets no more blocks.
    full: bool,
}

impl<'a> Filling<'a> {
    fn new(demand: &'a Demand) -> Self {
        let mut levels: Vec<(f64, u32)> = Vec::new();
        for (blocks, &performance) in (1..).zip(&demand.performance) {
            if levels.last().is_none_or(|(best, _)| performance > *best) {
                levels.push((performance, blocks));
            }
        }
        Self {
            demand,
            levels,
            level: 0,
            full: false,
        }
    }

    fn performance(&self) -> f64 {
        self.levels[self.level].0
    }

    fn blocks(&self) -> u32 {
        self.levels[self.level].1
    }
}

/// Takes the resources for some blocks out of `left`, if there are enough. Returns whether there
/// are.
fn take(left: &mut [u32; 4], needs: &[u32; 4], blocks: u32) -> bool {
    let fits =
        |(left, needs): (&u32, &u32)| u64::from(*needs) * u64::from(blocks) <= u64::from(*left);
    let all = left.iter().zip(needs).all(fits);
    if all {
        left.iter_mut()
            .zip(needs)
            .for_each(|(l, n)| *l -= n * blocks);
    }
    all
}

/// Numbers of blocks of the kernels on an SM with `total` of each resource; `None` if the SM has no
/// room for one block of each.
///
/// Each kernel begins with one block. The kernel with the lowest performance gets the smallest
/// number of blocks that gives it more. If there is no such number, or no room for it, the kernel
/// is full, and the next lowest one goes on. (The paper's listing instead continues while the
/// remaining resources are not negative, which they never are, and reads past a kernel's last
/// level.) Time and memory are O(K N) for N blocks.
pub fn water_fill(demands: &[Demand], total: [u32; 4]) -> Option<Vec<u32>> {
    let mut left = total;
    if !demands
        .iter()
        .all(|demand| take(&mut left, &demand.needs, 1))
    {
        return None;
    }
    let mut kernels: Vec<_> = demands.iter().map(Filling::new).collect();
    let open = |(_, kernel): &(usize, &Filling<'_>)| !kernel.full;
    let by_performance = |a: &(usize, &Filling<'_>), b: &(usize, &Filling<'_>)| {
        a.1.performance().total_cmp(&b.1.performance())
    };
    while let Some((worst, _)) = kernels
        .iter()
        .enumerate()
        .filter(open)
        .min_by(by_performance)
    {
        let kernel = &mut kernels[worst];
        let next = kernel.levels.get(kernel.level + 1);
        let more = next.map(|(_, blocks)| blocks - kernel.blocks());
        match more {
            Some(more) if take(&mut left, &kernel.demand.needs, more) => kernel.level += 1,
            _ => kernel.full = true,
        }
    }
    Some(kernels.iter().map(Filling::blocks).collect())
}

#[cfg(test)]
mod tests {
    use super::{Demand, water_fill};
    use warploom_base::Rng;

    fn demand(performance: &[f64], needs: [u32; 4]) -> Demand {
        Demand {
            performance: performance.to_vec(),
            needs,
        }
    }

    /// Two kernels like those of the paper's Fig. 3b: the performance of one saturates, and that of
    /// the other one falls after its maximum.
    #[test]
    fn the_worst_grows_until_nothing_fits() {
        let saturating = demand(&[0.3, 0.6, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0], [64, 1792, 0, 1]);
        let peaking = demand(&[0.4, 0.7, 1.0, 0.8, 0.7, 0.6, 0.5, 0.5], [192, 3840, 0, 1]);
        let sm = [1536, 32_768, 49_152, 8];
        assert_eq!(water_fill(&[saturating, peaking], sm), Some(vec![5, 3]));
    }

    #[test]
    fn kernels_that_do_not_fit_together_have_no_partition() {
        let large = demand(&[1.0], [800, 0, 0, 1]);
        assert_eq!(water_fill(&[large.clone(), large], [1536, 1, 1, 8]), None);
    }

    /// Blocks that gain nothing are not taken, and a maximum after a dip is reached in one step.
    #[test]
    fn levels_skip_what_brings_nothing() {
        let dip = demand(&[0.5, 0.4, 0.3, 1.0], [1, 1, 1, 1]);
        let flat = demand(&[0.6, 0.6, 0.6, 0.6], [1, 1, 1, 1]);
        let fill = |blocks| water_fill(&[dip.clone(), flat.clone()], [99, 99, 99, blocks]);
        assert_eq!(fill(4), Some(vec![1, 1]), "a fourth block does not fit");
        assert_eq!(fill(5), Some(vec![4, 1]));
    }

    /// A random curve of up to eight blocks, in half of the cases an increasing one.
    fn curve(rng: &mut Rng) -> Vec<f64> {
        let blocks = 1 + rng.below(8);
        let monotone = rng.below(2) == 0;
        let mut level = 0.0;
        let mut point = |_| {
            // There are few values, so that many points are equal.
            let value = f64::from(1 + rng.below(12)) / 12.0;
            level = if monotone { level + value } else { value };
            level
        };
        let points: Vec<f64> = (0..blocks).map(&mut point).collect();
        let best = points.iter().copied().fold(0.0, f64::max);
        points.iter().map(|point| point / best).collect()
    }

    /// The largest performance of the slowest kernel, over all combinations of blocks that fit.
    fn exhaustive(demands: &[Demand], total: [u32; 4]) -> Option<f64> {
        let Some((first, rest)) = demands.split_first() else {
            return Some(f64::INFINITY);
        };
        let fits = |blocks: u32| {
            let left = |(total, need): (u32, u32)| total.checked_sub(need * blocks);
            let mut out = [0; 4];
            for (at, pair) in total.into_iter().zip(first.needs).enumerate() {
                out[at] = left(pair)?;
            }
            Some(out)
        };
        (1..=first.performance.len() as u32)
            .filter_map(|blocks| {
                let others = exhaustive(rest, fits(blocks)?)?;
                Some(others.min(first.performance[blocks as usize - 1]))
            })
            .max_by(f64::total_cmp)
    }

    /// The result is optimal for thousands of random curves of two to four kernels.
    #[test]
    fn no_combination_is_fairer() {
        let mut rng = Rng::new(3);
        let mut shared = 0;
        for case in 0..6000 {
            let kernels = 2 + case % 3;
            let mut demand = || Demand {
                needs: [1 + rng.below(8), rng.below(9), rng.below(6), 1],
                performance: curve(&mut rng),
            };
            let demands: Vec<Demand> = (0..kernels).map(|_| demand()).collect();
            let total = [24, 20, 14, 8];
            let found = water_fill(&demands, total);
            let performance =
                |(demand, blocks): (&Demand, &u32)| demand.performance[*blocks as usize - 1];
            let worst = found.as_ref().map(|blocks| {
                let all = demands.iter().zip(blocks).map(performance);
                all.min_by(f64::total_cmp).expect("two kernels at least")
            });
            assert_eq!(worst, exhaustive(&demands, total), "{demands:?}: {found:?}");
            shared += usize::from(found.is_some());
        }
        assert!(shared > 2000, "{shared} cases had a partition at all");
    }
}
