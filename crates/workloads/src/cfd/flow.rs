//! A flow, and its fluxes computed with the kernel's operations.

use warploom_base::Rng;

use super::mesh::{FACES, FAR_FIELD, Mesh, WALL};

/// Density, momentum in x, y and z, energy.
pub(super) const VARIABLES: usize = 5;
const GAMMA: f32 = 1.4;
const SMOOTHING: f32 = 0.2;
/// Speed of the far flow relative to the speed of sound, which is 1 with this density and pressure
/// 1.
const MACH: f32 = 1.2;
const FAR_DENSITY: f32 = GAMMA;
/// State of the far flow: along x, with the energy of pressure 1 and of its motion.
pub(super) const FAR_STATE: [f32; VARIABLES] = [
    FAR_DENSITY,
    FAR_DENSITY * MACH,
    0.0,
    0.0,
    FAR_DENSITY * 0.5 * MACH * MACH + 1.0 / (GAMMA - 1.0),
];

/// Fluxes of momentum in x, y and z and of energy.
type Flux = [[f32; 3]; 4];

struct State {
    density: f32,
    momentum: [f32; 3],
    velocity: [f32; 3],
    enthalpy: f32,
    energy: f32,
    pressure: f32,
    speed_squared: f32,
    speed_of_sound: f32,
    flux: Flux,
}

impl State {
    fn new([density, x, y, z, energy]: [f32; VARIABLES]) -> Self {
        let momentum = [x, y, z];
        let v = momentum.map(|momentum| momentum / density);
        let speed_squared = v[2].mul_add(v[2], v[1].mul_add(v[1], v[0] * v[0]));
        let pressure = (GAMMA - 1.0) * (-(0.5 * density)).mul_add(speed_squared, energy);
        let (xy, xz, yz) = (v[0] * y, v[0] * z, v[1] * z);
        let enthalpy = energy + pressure;
        Self {
            density,
            momentum,
            velocity: v,
            enthalpy,
            energy,
            pressure,
            speed_squared,
            speed_of_sound: (GAMMA * pressure / density).sqrt(),
            flux: [
                [v[0].mul_add(x, pressure), xy, xz],
                [xy, v[1].mul_add(y, pressure), yz],
                [xz, yz, v[2].mul_add(z, pressure)],
                v.map(|v| v * enthalpy),
            ],
        }
    }

    /// Sum of the own fluxes and a neighbour's, whose products are fused with the sum.
    fn flux_with(&self, other: &Self) -> Flux {
        let (own, v) = (&self.flux, other.velocity);
        let [_, y, z] = other.momentum;
        let xy = v[0].mul_add(y, own[0][1]);
        let xz = v[0].mul_add(z, own[0][2]);
        let yz = v[1].mul_add(z, own[1][2]);
        let along = |axis: usize| other.flux[axis][axis] + own[axis][axis];
        let energy = |axis: usize| v[axis].mul_add(other.enthalpy, own[3][axis]);
        [
            [along(0), xy, xz],
            [xy, along(1), yz],
            [xz, yz, along(2)],
            [0, 1, 2].map(energy),
        ]
    }

    /// Sum of the own fluxes and those of the far flow.
    fn flux_with_far(&self) -> Flux {
        let far = far_flux();
        std::array::from_fn(|of| [0, 1, 2].map(|axis| far[of][axis] + self.flux[of][axis]))
    }
}

/// Fluxes of the far flow.
pub(super) fn far_flux() -> Flux {
    State::new(FAR_STATE).flux
}

pub(super) struct Flow {
    /// Values by variable, then by cell.
    pub(super) variables: Vec<f32>,
}

impl Flow {
    /// The far flow, disturbed differently in every cell by up to a fifth.
    pub(super) fn generate(mesh: &Mesh, seed: u64) -> Self {
        let mut rng = Rng::new(!seed);
        let mut variables = vec![0.0; VARIABLES * mesh.cells];
        for cell in 0..mesh.cells {
            let mut near = |value: f32| value * (0.8 + 0.4 * rng.unit_f32());
            let (density, pressure) = (near(FAR_DENSITY), near(1.0));
            let velocity = [near(MACH), near(MACH) - MACH, near(MACH) - MACH];
            let squared: f32 = velocity.iter().map(|v| v * v).sum();
            let [x, y, z] = velocity.map(|v| density * v);
            let energy = density * 0.5 * squared + pressure / (GAMMA - 1.0);
            for (variable, value) in [density, x, y, z, energy].into_iter().enumerate() {
                variables[variable * mesh.cells + cell] = value;
            }
        }
        Self { variables }
    }

    fn state(&self, mesh: &Mesh, cell: usize) -> State {
        State::new(std::array::from_fn(|variable| {
            self.variables[variable * mesh.cells + cell]
        }))
    }

    /// Fluxes of every cell, by variable, then by cell.
    pub(super) fn fluxes(&self, mesh: &Mesh) -> Vec<f32> {
        let mut fluxes = vec![0.0; VARIABLES * mesh.cells];
        for cell in 0..mesh.cells {
            let own = self.state(mesh, cell);
            let mut sum = Sum::default();
            for face in 0..FACES {
                let normal = mesh.normal(cell, face);
                match mesh.neighbour(cell, face) {
                    WALL => sum.add_wall(normal, own.pressure),
                    FAR_FIELD => {
                        let momentum = [FAR_STATE[1], FAR_STATE[2], FAR_STATE[3]];
                        sum.add_face(&own, normal, momentum, &own.flux_with_far());
                    }
                    neighbour => {
                        let other = self.state(mesh, neighbour as usize);
                        sum.add_viscosity(&own, &other, normal);
                        sum.add_face(&own, normal, other.momentum, &own.flux_with(&other));
                    }
                }
            }
            for (variable, value) in sum.0.into_iter().enumerate() {
                fluxes[variable * mesh.cells + cell] = value;
            }
        }
        fluxes
    }
}

#[derive(Default)]
struct Sum([f32; VARIABLES]);

impl Sum {
    fn add(&mut self, factor: f32, values: [f32; VARIABLES]) {
        let sums = self.0.iter_mut().zip(values);
        sums.for_each(|(sum, value)| *sum = factor.mul_add(value, *sum));
    }

    fn add_wall(&mut self, normal: [f32; 3], pressure: f32) {
        let sums = self.0[1..4].iter_mut().zip(normal);
        sums.for_each(|(sum, normal)| *sum = normal.mul_add(pressure, *sum));
    }

    /// Adds half of both sides' fluxes, one component of the normal after the other.
    fn add_face(&mut self, own: &State, normal: [f32; 3], momentum: [f32; 3], both: &Flux) {
        for axis in 0..3 {
            let [x, y, z, energy] = both.map(|flux| flux[axis]);
            let mass = momentum[axis] + own.momentum[axis];
            self.add(0.5 * normal[axis], [mass, x, y, z, energy]);
        }
    }

    fn add_viscosity(&mut self, own: &State, other: &State, [x, y, z]: [f32; 3]) {
        let area = z.mul_add(z, y.mul_add(y, x * x)).sqrt();
        let speeds = own.speed_squared.sqrt() + other.speed_squared.sqrt();
        let speeds = speeds + own.speed_of_sound + other.speed_of_sound;
        let change = |axis: usize| own.momentum[axis] - other.momentum[axis];
        let values = [
            own.density - other.density,
            change(0),
            change(1),
            change(2),
            own.energy - other.energy,
        ];
        self.add(-area * SMOOTHING * 0.5 * speeds, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_flow_only_changes_at_walls() {
        let mesh = Mesh::generate(2000, 2000, 4);
        let variables = FAR_STATE.iter().flat_map(|value| vec![*value; mesh.cells]);
        let flow = Flow {
            variables: variables.collect(),
        };
        let fluxes = flow.fluxes(&mesh);
        for cell in 0..mesh.cells {
            let at_wall = (0..FACES).any(|face| mesh.neighbour(cell, face) == WALL);
            let most = (0..VARIABLES).map(|v| fluxes[v * mesh.cells + cell].abs());
            let most = most.fold(0.0, f32::max);
            assert!(at_wall || most < 1e-5, "cell {cell}: {most}");
        }
    }

    #[test]
    fn what_flows_out_of_cells_flows_into_others() {
        // Without boundaries the fluxes of all cells cancel; otherwise, those at boundaries remain.
        let mesh = Mesh::generate(2000, 2000, 5);
        let flow = Flow::generate(&mesh, 5);
        let fluxes = flow.fluxes(&mesh);
        let total: f64 = fluxes[..mesh.cells].iter().map(|&f| f64::from(f)).sum();
        let edge: f64 = (0..mesh.cells)
            .flat_map(|cell| (0..FACES).map(move |face| (cell, face)))
            .filter(|&(cell, face)| mesh.neighbour(cell, face) == FAR_FIELD)
            .map(|(cell, face)| {
                let momentum = flow.state(&mesh, cell).momentum;
                let normal = mesh.normal(cell, face);
                let both = (0..3).map(|axis| {
                    f64::from(normal[axis]) * f64::from(momentum[axis] + FAR_STATE[axis + 1])
                });
                0.5 * both.sum::<f64>()
            })
            .sum();
        assert!((total - edge).abs() < 1e-3, "{total} instead of {edge}");
    }
}
