//! Points around centres, and the results that the kernel computes from them.

use warploom_base::Rng;

/// Number of open centres; in the benchmark from 10 to 20.
pub(super) const CENTRES: usize = 16;

pub(super) struct Points {
    pub(super) count: usize,
    /// Coordinates by dimension, then by point.
    pub(super) coordinates: Vec<f32>,
    weights: Vec<f32>,
    /// Centre of each point; a centre is a point.
    assigned: Vec<usize>,
    /// Distance to the centre times weight.
    costs: Vec<f32>,
}

/// Changes due to one candidate.
pub(super) struct Opening {
    /// A row for each point, with a column for each centre and one for the candidate.
    pub(super) savings: Vec<f32>,
    pub(super) switches: Vec<u8>,
}

impl Points {
    /// Random points in as many clouds as there are centres. The first point of a cloud is the
    /// centre of its points, except for every eighth, which belongs to the centre of another cloud
    /// as if a stream had left it there.
    pub(super) fn generate(count: usize, dimensions: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clouds: Vec<usize> = (0..count)
            .map(|i| match i {
                0..CENTRES => i,
                _ => rng.below(CENTRES as u32) as usize,
            })
            .collect();
        let mut coordinates = Vec::with_capacity(count * dimensions);
        for _ in 0..dimensions {
            let middles: [f32; CENTRES] = std::array::from_fn(|_| rng.unit_f32());
            coordinates.extend(clouds.iter().map(|&c| middles[c] + 0.5 * rng.unit_f32()));
        }
        let stray = |i: usize| usize::from(i % 8 == 7 && i >= CENTRES);
        let assigned = clouds.iter().enumerate();
        let assigned = assigned
            .map(|(i, cloud)| (cloud + stray(i)) % CENTRES)
            .collect();
        let mut points = Self {
            count,
            coordinates,
            weights: (0..count).map(|_| (1 + rng.below(4)) as f32).collect(),
            assigned,
            costs: Vec::new(),
        };
        let mut distances = vec![0.0; count];
        for row in points.coordinates.chunks_exact(count) {
            for (i, distance) in distances.iter_mut().enumerate() {
                let difference = row[i] - row[points.assigned[i]];
                *distance += difference * difference;
            }
        }
        let costs = distances.iter().zip(&points.weights);
        points.costs = costs.map(|(distance, weight)| distance * weight).collect();
        points
    }

    /// The points in the layout of the device: 32 bytes each.
    pub(super) fn records(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32 * self.count);
        for i in 0..self.count {
            bytes.extend(self.weights[i].to_le_bytes());
            // Padding and the pointer to the host's coordinates.
            bytes.extend([0; 12]);
            bytes.extend((self.assigned[i] as u64).to_le_bytes());
            bytes.extend(self.costs[i].to_le_bytes());
            bytes.extend([0; 4]);
        }
        bytes
    }

    /// Number of the centre that a point is, and 0 for all other points.
    pub(super) fn centre_of(&self) -> Vec<i32> {
        let number = |i: usize| if i < CENTRES { i as i32 } else { 0 };
        (0..self.count).map(number).collect()
    }

    /// Result of the kernel for a candidate.
    pub(super) fn opening(&self, candidate: usize) -> Opening {
        let mut distances = vec![0.0_f32; self.count];
        for row in self.coordinates.chunks_exact(self.count) {
            for (distance, coordinate) in distances.iter_mut().zip(row) {
                let difference = coordinate - row[candidate];
                *distance = difference.mul_add(difference, *distance);
            }
        }
        let mut opening = Opening {
            savings: vec![0.0; self.count * (CENTRES + 1)],
            switches: vec![0; self.count],
        };
        for (i, row) in opening.savings.chunks_exact_mut(CENTRES + 1).enumerate() {
            let cost = distances[i] * self.weights[i];
            if cost < self.costs[i] {
                opening.switches[i] = 1;
                row[CENTRES] += cost - self.costs[i];
            } else {
                row[self.assigned[i]] += self.costs[i] - cost;
            }
        }
        opening
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_draws_its_cloud_and_strays() {
        let points = Points::generate(2000, 16, 2);
        assert_eq!(points.coordinates.len(), 2000 * 16);
        let candidate = 1500;
        let opening = points.opening(candidate);
        let switched = opening
            .switches
            .iter()
            .filter(|&&switch| switch == 1)
            .count();
        assert_eq!(opening.switches[candidate], 1);
        assert!((20..1000).contains(&switched), "{switched}");
        let (sixteen, rest) = opening.savings.split_at(CENTRES * (CENTRES + 1));
        // A centre has no cost at its own place, so it stays.
        assert!(sixteen.iter().all(|saving| *saving <= 0.0));
        assert!(rest.iter().all(|saving| *saving <= 0.0));
    }
}
