//! A chip: power and temperature of its cells, and the properties of its material.

use warploom_base::Rng;

/// Side of the (square) chip in metres.
const CHIP_SIDE: f64 = 0.016;
/// Thickness of the chip in metres.
const THICKNESS: f64 = 0.0005;
/// Greatest power density in watts per square metre.
const MAX_POWER_DENSITY: f64 = 3.0e6;
/// Accuracy of a time step in kelvins.
const PRECISION: f64 = 0.001;
/// Heat capacity of silicon in joules per cubic metre and kelvin.
const SPECIFIC_HEAT: f64 = 1.75e6;
/// Thermal conductivity of silicon in watts per metre and kelvin.
const CONDUCTIVITY: f64 = 100.0;
/// Share of the thickness that stores heat.
const CAPACITY_FACTOR: f64 = 0.5;
/// Number of units of the floor plan along each side.
const UNITS: u32 = 8;

/// A chip's grid, row major.
pub(super) struct Chip {
    pub(super) columns: u32,
    pub(super) rows: u32,
    /// Power of each cell in watts.
    pub(super) power: Vec<f32>,
    /// Temperature of each cell in kelvins at time 0.
    pub(super) temperature: Vec<f32>,
}

/// The kernel's constants: heat capacity of a cell, thermal resistances, and seconds per step.
#[derive(Clone, Copy)]
pub(super) struct Conductance {
    pub(super) capacity: f32,
    pub(super) rx: f32,
    pub(super) ry: f32,
    pub(super) rz: f32,
    pub(super) step: f32,
}

impl Chip {
    /// Generates units of random activity. Power follows activity; temperature follows it with some
    /// noise.
    pub(super) fn generate(columns: u32, rows: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let activity: Vec<f64> = (0..UNITS * UNITS).map(|_| rng.unit_f64()).collect();
        let most = MAX_POWER_DENSITY * cell_side(columns) * cell_side(rows);
        let mut chip = Self {
            columns,
            rows,
            power: Vec::new(),
            temperature: Vec::new(),
        };
        for cell in 0..columns * rows {
            let (x, y) = (cell % columns, cell / columns);
            let activity = activity[(y * UNITS / rows * UNITS + x * UNITS / columns) as usize];
            chip.power
                .push((most * activity * (0.5 + 0.5 * rng.unit_f64())) as f32);
            chip.temperature
                .push((323.0 + 20.0 * activity + rng.unit_f64()) as f32);
        }
        chip
    }

    pub(super) fn conductance(&self) -> Conductance {
        let (width, height) = (cell_side(self.columns), cell_side(self.rows));
        let heat = CAPACITY_FACTOR * SPECIFIC_HEAT * THICKNESS;
        let along = 2.0 * CONDUCTIVITY * THICKNESS;
        Conductance {
            capacity: (heat * width * height) as f32,
            rx: (width / (along * height)) as f32,
            ry: (height / (along * width)) as f32,
            rz: (THICKNESS / (CONDUCTIVITY * width * height)) as f32,
            step: (PRECISION * heat / MAX_POWER_DENSITY) as f32,
        }
    }
}

fn cell_side(cells: u32) -> f64 {
    CHIP_SIDE / f64::from(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_unit_share_its_activity() {
        let chip = Chip::generate(64, 32, 5);
        assert_eq!(
            (chip.power.len(), chip.temperature.len()),
            (64 * 32, 64 * 32)
        );
        // Cells (0, 0) and (7, 3) lie in the first unit: only noise separates their temperatures.
        assert!((chip.temperature[0] - chip.temperature[3 * 64 + 7]).abs() <= 1.0);
        assert!(chip.temperature.iter().all(|t| (323.0..=344.0).contains(t)));
        assert!(chip.power.iter().all(|&p| p >= 0.0));
    }

    #[test]
    fn a_step_is_stable() {
        // Explicit diffusion diverges if a step moves more than half of the differences.
        for side in [46, 512, 1024] {
            let Conductance {
                capacity,
                rx,
                ry,
                step,
                ..
            } = Chip::generate(side, side, 0).conductance();
            assert!(step / capacity * (2.0 / rx + 2.0 / ry) < 1.0, "{side}");
        }
    }
}
