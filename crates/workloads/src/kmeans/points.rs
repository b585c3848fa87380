//! Network connections as records of features, and their clusters.

use warploom_base::Rng;

pub(super) const FEATURES: usize = 34;
pub(super) const CLUSTERS: usize = 5;
/// The cluster of a point before the first iteration.
pub(super) const NOWHERE: i32 = -1;
/// Number of connections of each kind in a thousand: two attacks make up most of the data set of
/// the KDD cup.
const KINDS: [u32; 8] = [568, 217, 195, 8, 5, 3, 2, 2];

pub(super) struct Points {
    /// Records in row-major order, one per point.
    pub(super) records: Vec<f32>,
}

impl Points {
    pub(super) fn generate(count: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let middles: Vec<[f32; FEATURES]> = KINDS
            .iter()
            .map(|_| std::array::from_fn(|_| rng.unit_f32()))
            .collect();
        let mut records = Vec::with_capacity(count * FEATURES);
        for _ in 0..count {
            let mut left = rng.below(KINDS.iter().sum());
            let kind = KINDS.iter().position(|&share| {
                let found = left < share;
                left = left.saturating_sub(share);
                found
            });
            let middle = &middles[kind.unwrap_or(0)];
            records.extend(
                middle
                    .iter()
                    .map(|middle| middle + 0.6 * (rng.unit_f32() - 0.5)),
            );
        }
        Self { records }
    }

    pub(super) fn count(&self) -> usize {
        self.records.len() / FEATURES
    }

    fn record(&self, point: usize) -> &[f32] {
        &self.records[point * FEATURES..][..FEATURES]
    }

    /// Features as columns: by feature, then by point.
    pub(super) fn columns(&self) -> Vec<f32> {
        let count = self.count();
        let column = |feature: usize| self.records[feature..].iter().step_by(FEATURES).take(count);
        (0..FEATURES).flat_map(column).copied().collect()
    }

    /// First centres: points at even distances.
    pub(super) fn first_centres(&self) -> Vec<f32> {
        let apart = self.count() / CLUSTERS;
        let chosen = (0..CLUSTERS).map(|cluster| self.record(cluster * apart));
        chosen.flatten().copied().collect()
    }

    /// Means of the clusters' points; an empty cluster keeps its centre.
    pub(super) fn centres(&self, membership: &[i32], before: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0_f32; CLUSTERS * FEATURES];
        let mut members = [0_u32; CLUSTERS];
        for (point, &cluster) in membership.iter().enumerate() {
            let Ok(cluster) = usize::try_from(cluster) else {
                continue;
            };
            members[cluster] += 1;
            let sums = sums[cluster * FEATURES..].iter_mut();
            sums.zip(self.record(point))
                .for_each(|(sum, value)| *sum += value);
        }
        let centres = sums.iter().zip(before).enumerate();
        centres
            .map(|(at, (sum, before))| match members[at / FEATURES] {
                0 => *before,
                members => sum / members as f32,
            })
            .collect()
    }

    /// Nearest centre of each point, computed with the kernel's operations.
    fn nearest(&self, centres: &[f32]) -> Vec<i32> {
        let distance = |point: usize, cluster: usize| {
            let pairs = self
                .record(point)
                .iter()
                .zip(&centres[cluster * FEATURES..]);
            pairs.fold(0.0_f32, |sum, (value, centre)| {
                let difference = value - centre;
                difference.mul_add(difference, sum)
            })
        };
        let nearest = |point: usize| {
            let clusters = (0..CLUSTERS).map(|cluster| (distance(point, cluster), cluster));
            let least = clusters.reduce(|best, next| if next.0 < best.0 { next } else { best });
            least.map_or(NOWHERE, |(_, cluster)| cluster as i32)
        };
        (0..self.count()).map(nearest).collect()
    }

    /// Clusters when no point changes its cluster any more, or after the largest number of
    /// iterations.
    pub(super) fn clusters(&self, most: u32) -> Vec<i32> {
        let mut membership = vec![NOWHERE; self.count()];
        let mut centres = self.first_centres();
        for _ in 0..most {
            let next = self.nearest(&centres);
            if next == membership {
                break;
            }
            membership = next;
            centres = self.centres(&membership, &centres);
        }
        membership
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_one_kind_share_a_cluster() {
        let points = Points::generate(2000, 1);
        let clusters = points.clusters(u32::MAX);
        // The clusters separate at least the three largest kinds.
        let mut sizes = [0; CLUSTERS];
        clusters
            .iter()
            .for_each(|&cluster| sizes[cluster as usize] += 1);
        assert!(
            sizes.iter().filter(|&&size| size > 100).count() >= 2,
            "{sizes:?}"
        );
        let centres = points.centres(&clusters, &points.first_centres());
        assert_eq!(points.nearest(&centres), clusters, "nothing moves any more");
    }

    #[test]
    fn columns_are_the_records_transposed() {
        let points = Points::generate(50, 3);
        let columns = points.columns();
        for point in 0..50 {
            let column = columns[point..].iter().step_by(50);
            assert!(column.eq(points.record(point)));
        }
    }
}
