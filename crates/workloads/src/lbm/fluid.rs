//! The lattice on the host and its time steps.

use warploom_base::Rng;

/// Velocities in the kernel's order: steps in x, y and z.
const VELOCITIES: [[isize; 3]; 19] = [
    [0, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [-1, -1, 0],
    [0, 1, 1],
    [0, 1, -1],
    [0, -1, 1],
    [0, -1, -1],
    [1, 0, 1],
    [1, 0, -1],
    [-1, 0, 1],
    [-1, 0, -1],
];
/// Index of the array of flags, after the arrays of velocities.
const FLAGS: usize = VELOCITIES.len();
const OBSTACLE: u32 = 1;
const ACCELERATED: u32 = 2;
const OMEGA: f32 = 1.95;
/// Number of cells of padding per row, and of layers of padding per array.
const PADDING: (usize, usize) = (8, 4);
/// Number of layers before the first array and after the last.
const MARGIN: usize = 2;
/// Largest deviation of a cell's density from 1.
const RIPPLE: f32 = 0.02;

/// Distributions and flags: one array of padded layers per velocity, with a margin around them.
pub(super) struct Lattice {
    extents: [usize; 3],
    pub(super) values: Vec<f32>,
}

impl Lattice {
    /// Generates a resting fluid with ripples of density, walls on all sides, and a moving lid at
    /// both ends of z.
    pub(super) fn generate(extents: [usize; 3], seed: u64) -> Self {
        let mut lattice = Self {
            extents,
            values: Vec::new(),
        };
        let count = (FLAGS + 1) * lattice.cells() + 2 * lattice.margin();
        lattice.values.resize(count, 0.0);
        let mut rng = Rng::new(seed);
        let all = lattice.indices();
        for (cell, place) in all {
            let density = 1.0 + RIPPLE * (rng.unit_f32() - 0.5);
            for (velocity, weight) in WEIGHTS.into_iter().enumerate() {
                let at = lattice.at(velocity, cell);
                lattice.values[at] = weight * density;
            }
            let at = lattice.at(FLAGS, cell);
            lattice.values[at] = f32::from_bits(flags(extents, place));
        }
        lattice
    }

    fn layer(&self) -> usize {
        (self.extents[0] + PADDING.0) * self.extents[1]
    }

    /// Number of elements of one array.
    fn cells(&self) -> usize {
        self.layer() * (self.extents[2] + PADDING.1)
    }

    /// Number of elements before the first array.
    pub(super) fn margin(&self) -> usize {
        MARGIN * self.layer()
    }

    fn at(&self, array: usize, cell: usize) -> usize {
        self.margin() + array * self.cells() + cell
    }

    /// Number and place of every cell.
    fn indices(&self) -> Vec<(usize, [usize; 3])> {
        let [nx, ny, nz] = self.extents;
        let (row, layer) = (nx + PADDING.0, self.layer());
        let plane = move |z| (0..ny).map(move |y| (y, z));
        let line = move |(y, z)| (0..nx).map(move |x| (x + y * row + z * layer, [x, y, z]));
        (0..nz).flat_map(plane).flat_map(line).collect()
    }

    /// Distance in memory to the neighbour in a velocity's direction.
    fn offset(&self, [x, y, z]: [isize; 3]) -> isize {
        let row = (self.extents[0] + PADDING.0) as isize;
        x + y * row + z * self.layer() as isize
    }

    /// The buffer that the last of `steps` steps wrote. Elements to which no cell scatters keep
    /// their values in both buffers.
    pub(super) fn after(&self, steps: u32) -> Vec<f32> {
        let offsets = VELOCITIES.map(|velocity| self.offset(velocity));
        let cells = self.indices();
        let (mut from, mut to) = (self.values.clone(), self.values.clone());
        for _ in 0..steps {
            for &(cell, _) in &cells {
                let flags = from[self.at(FLAGS, cell)].to_bits();
                let mut f = [0; 19].map(|_| 0.0);
                for (velocity, f) in f.iter_mut().enumerate() {
                    *f = from[self.at(velocity, cell)];
                }
                let f = if flags & OBSTACLE != 0 {
                    reflected(&f)
                } else {
                    collided(&f, flags & ACCELERATED != 0)
                };
                for (velocity, value) in f.into_iter().enumerate() {
                    let at = self.at(velocity, cell);
                    to[at.wrapping_add_signed(offsets[velocity])] = value;
                }
            }
            std::mem::swap(&mut from, &mut to);
        }
        from
    }
}

/// Weights of the velocities in equilibrium at rest.
const WEIGHTS: [f32; 19] = {
    let mut weights = [1.0 / 36.0; 19];
    weights[0] = 1.0 / 3.0;
    let mut i = 1;
    while i <= 6 {
        weights[i] = 1.0 / 18.0;
        i += 1;
    }
    weights
};

fn flags(extents: [usize; 3], place: [usize; 3]) -> u32 {
    let wall = (0..3).any(|axis| place[axis] == 0 || place[axis] == extents[axis] - 1);
    let inner = (0..2).all(|axis| place[axis] > 1 && place[axis] < extents[axis] - 2);
    let lid = place[2] == 1 || place[2] == extents[2] - 2;
    match (wall, inner && lid) {
        (true, _) => OBSTACLE,
        (false, true) => ACCELERATED,
        _ => 0,
    }
}

fn opposite(velocity: [isize; 3]) -> usize {
    let turned = velocity.map(|step| -step);
    let found = VELOCITIES.iter().position(|&other| other == turned);
    found.expect("every velocity has an opposite")
}

fn reflected(f: &[f32; 19]) -> [f32; 19] {
    VELOCITIES.map(|velocity| f[opposite(velocity)])
}

/// Flow along an axis, added up in the kernel's order.
fn flow(f: &[f32; 19], order: [(usize, f32); 10]) -> f32 {
    let start = order[0].1 * f[order[0].0];
    order[1..]
        .iter()
        .fold(start, |sum, &(i, sign)| sum + sign * f[i])
}

const P: f32 = 1.0;
const M: f32 = -1.0;
/// Velocities that move along x, y and z, with their signs, in the kernel's order.
const ALONG: [[(usize, f32); 10]; 3] = [
    [
        (3, P),
        (4, M),
        (7, P),
        (8, M),
        (9, P),
        (10, M),
        (15, P),
        (16, P),
        (17, M),
        (18, M),
    ],
    [
        (1, P),
        (2, M),
        (7, P),
        (8, P),
        (9, M),
        (10, M),
        (11, P),
        (12, P),
        (13, M),
        (14, M),
    ],
    [
        (5, P),
        (6, M),
        (11, P),
        (12, M),
        (13, P),
        (14, M),
        (15, P),
        (16, M),
        (17, P),
        (18, M),
    ],
];

fn collided(f: &[f32; 19], accelerated: bool) -> [f32; 19] {
    let density = f[1..].iter().fold(f[0], |sum, f| sum + f);
    let mut u = ALONG.map(|order| flow(f, order) / density);
    if accelerated {
        u = [0.005, 0.002, 0.0];
    }
    let [x, y, z] = u;
    let u2 = z.mul_add(z, x.mul_add(x, y * y)).mul_add(1.5, -1.0);
    let base = density * OMEGA;
    let mut after = *f;
    after[0] = f[0].mul_add(1.0 - OMEGA, base * (-1.0 / 3.0) * u2);
    for (velocity, steps) in VELOCITIES.into_iter().enumerate().skip(1) {
        let along = along(steps, u);
        // Velocities along an axis share 4.5 u with their opposites, so that it is not fused.
        let (weight, inner) = if velocity <= 6 {
            (base * (1.0 / 18.0), along * 4.5 + 3.0)
        } else {
            (base * (1.0 / 36.0), along.mul_add(4.5, 3.0))
        };
        after[velocity] = weight * (along * inner - u2) - f[velocity] * (OMEGA - 1.0);
    }
    after
}

/// The component of a flow along a velocity.
fn along(steps: [isize; 3], u: [f32; 3]) -> f32 {
    let parts = steps.into_iter().zip(u).filter(|(step, _)| *step != 0);
    let signed = parts.map(|(step, u)| step as f32 * u);
    signed.reduce(|sum, part| sum + part).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fluid_at_rest_stays_at_rest() {
        let after = collided(&WEIGHTS, false);
        for (after, before) in after.iter().zip(WEIGHTS) {
            assert!((after - before).abs() < 1e-6);
        }
    }

    #[test]
    fn collisions_keep_mass_and_reflections_are_undone_by_reflections() {
        let mut rng = Rng::new(3);
        let f = WEIGHTS.map(|weight| weight * (1.0 + 0.1 * rng.unit_f32()));
        let mass = |f: &[f32; 19]| f.iter().map(|f| f64::from(*f)).sum::<f64>();
        assert!((mass(&collided(&f, false)) - mass(&f)).abs() < 1e-6);
        assert_eq!(reflected(&reflected(&f)), f);
    }

    #[test]
    fn closed_walls_keep_the_mass() {
        let lattice = Lattice::generate([12, 10, 9], 1);
        // After two steps, values that walls reflect in the first step are back in the fluid.
        let mass = |values: &[f32]| {
            let inside = |place: &[usize; 3]| flags(lattice.extents, *place) != OBSTACLE;
            let cells = lattice.indices();
            let fluid = cells.iter().filter(|(_, place)| inside(place));
            let sum = |cell: usize| -> f64 {
                (0..19)
                    .map(|v| f64::from(values[lattice.at(v, cell)]))
                    .sum()
            };
            fluid.map(|&(cell, _)| sum(cell)).sum::<f64>()
        };
        let (before, after) = (mass(&lattice.values), mass(&lattice.after(2)));
        assert!((after / before - 1.0).abs() < 0.01, "{before} {after}");
    }
}
