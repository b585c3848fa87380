//! Charges in a box of water, in bins, and their potential.

use warploom_base::Rng;

/// Distance between lattice points in Angstrom.
pub(super) const SPACING: f32 = 0.5;
/// Lattice points along a side of a region.
pub(super) const REGION: u32 = 8;
/// Lattice points of a region.
pub(super) const REGION_POINTS: usize = (REGION * REGION * REGION) as usize;
/// Side of a bin in Angstrom: that of a region.
const BIN: f32 = 4.0;
/// Most atoms of a bin.
const DEPTH: usize = 8;
/// Number of values of a bin: three coordinates and the charge of each atom.
const BIN_FLOATS: usize = 4 * DEPTH;
/// Charges of hydrogen and oxygen in water.
const CHARGES: [f32; 3] = [0.417, 0.417, -0.834];

/// A cube of atoms. There is one bin for each region, and `padding` further bins on every side.
pub(super) struct Box3 {
    cutoff: f32,
    padding: u32,
    pub(super) bins_along: u32,
    pub(super) bins: Vec<f32>,
}

impl Box3 {
    /// Atoms at random places. An atom whose bin is full goes to another place (the benchmark
    /// leaves those to the host).
    pub(super) fn generate(regions: u32, atoms: u32, cutoff: f32, seed: u64) -> Self {
        let padding = (cutoff / BIN).ceil() as u32;
        let bins_along = regions + 2 * padding;
        let bins = vec![0.0; bins_along.pow(3) as usize * BIN_FLOATS];
        let mut box3 = Self {
            cutoff,
            padding,
            bins_along,
            bins,
        };
        let mut rng = Rng::new(seed);
        let side = regions as f32 * BIN;
        let mut filled = vec![0; box3.bins.len() / BIN_FLOATS];
        for atom in 0..atoms as usize {
            let (place, bin) = loop {
                let place = [0; 3].map(|_| side * rng.unit_f32());
                let bin = box3.bin(place.map(|x| (x / BIN) as i32));
                if filled[bin] < DEPTH {
                    break (place, bin);
                }
            };
            let at = bin * BIN_FLOATS + 4 * filled[bin];
            box3.bins[at..at + 3].copy_from_slice(&place);
            box3.bins[at + 3] = CHARGES[atom % 3];
            filled[bin] += 1;
        }
        box3
    }

    /// Number of a bin by its coordinates, which are negative in the padding.
    fn bin(&self, place: [i32; 3]) -> usize {
        let [x, y, z] = place.map(|c| (c + self.padding as i32) as usize);
        let along = self.bins_along as usize;
        (z * along + y) * along + x
    }

    /// Number of values before the bin at the lattice's origin.
    pub(super) fn origin(&self) -> usize {
        self.bin([0; 3]) * BIN_FLOATS
    }

    /// Bins around that of a region that may contain atoms within the cutoff of one of its points.
    pub(super) fn neighbours(&self) -> Vec<[i32; 3]> {
        let reach = self.cutoff + 3f32.sqrt() * BIN;
        let range = -(self.padding as i32)..=self.padding as i32;
        let mut list = Vec::new();
        for z in range.clone() {
            for y in range.clone() {
                for x in range.clone() {
                    if ((x * x + y * y + z * z) as f32) * BIN * BIN < reach * reach {
                        list.push([x, y, z]);
                    }
                }
            }
        }
        list
    }

    /// The potential at a lattice point, computed with the PTX's operations: bins and their atoms
    /// in order. The kernel steps through every second row of points by subtraction.
    pub(super) fn potential(&self, point: [u32; 3], neighbours: &[[i32; 3]]) -> f32 {
        let (cutoff2, region) = (self.cutoff * self.cutoff, point.map(|c| c / REGION));
        let (x, z) = (point[0] as f32 * SPACING, point[2] as f32 * SPACING);
        let steps = point[1] % REGION / 2;
        let y = (point[1] - 2 * steps) as f32 * SPACING;
        let mut sum = 0.0;
        for neighbour in neighbours {
            let bin = self.bin(std::array::from_fn(|axis| {
                region[axis] as i32 + neighbour[axis]
            }));
            let atoms = self.bins[bin * BIN_FLOATS..][..BIN_FLOATS].chunks_exact(4);
            for atom in atoms.take_while(|atom| atom[3] != 0.0) {
                let (dx, dz) = (atom[0] - x, atom[2] - z);
                let dy = (0..steps).fold(atom[1] - y, |dy, _| dy - (SPACING + SPACING));
                let r2 = dy.mul_add(dy, dx.mul_add(dx, dz * dz));
                if r2 < cutoff2 {
                    let s = 1.0 - r2 * (1.0 / cutoff2);
                    sum = s.mul_add(s * (atom[3] * inverse_root(r2)), sum);
                }
            }
        }
        sum
    }
}

/// The value of `rsqrt.approx.f32`: the exact value, rounded once.
fn inverse_root(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_atom_where_it_lies() {
        let water = Box3::generate(4, 390, 8.0, 1);
        let mut count = 0;
        for (number, bin) in water.bins.chunks_exact(BIN_FLOATS).enumerate() {
            for atom in bin.chunks_exact(4).filter(|atom| atom[3] != 0.0) {
                let place = [atom[0], atom[1], atom[2]].map(|x| (x / BIN) as i32);
                assert_eq!(water.bin(place), number);
                count += 1;
            }
        }
        assert_eq!(count, 390);
    }

    #[test]
    fn the_benchmarks_cutoff_has_335_neighbours() {
        // A cube of seven bins, without its corners.
        let water = Box3::generate(1, 0, 12.0, 0);
        assert_eq!(water.neighbours().len(), 7 * 7 * 7 - 8);
    }

    #[test]
    fn a_charge_acts_within_the_cutoff_alone() {
        let mut water = Box3::generate(3, 0, 4.0, 0);
        let bin = water.bin([1, 1, 1]) * BIN_FLOATS;
        water.bins[bin..bin + 4].copy_from_slice(&[6.0, 6.0, 6.0, 1.0]);
        let neighbours = water.neighbours();
        let at = |x: u32| water.potential([x, 12, 12], &neighbours);
        // At a distance of 2: 1/2 (1 - 4/16)^2.
        assert!((at(16) - 0.5 * 0.5625).abs() < 1e-6);
        assert_eq!((at(8), at(20), at(21)), (at(16), 0.0, 0.0));
    }
}
