//! Reference: time steps over the whole grid, without tiles.

use super::input::Chip;

const AMBIENT: f32 = 80.0;

/// Temperatures after `steps` steps.
pub(super) fn temperatures(chip: &Chip, steps: u32) -> Vec<f32> {
    let mut now = chip.temperature.clone();
    for _ in 0..steps {
        now = step(chip, &now);
    }
    now
}

/// Computes one step with the PTX's operations. The factor 2.0 of the source is a double, so the
/// sum is in double precision, except for the differences that the source writes in `f32`.
fn step(chip: &Chip, now: &[f32]) -> Vec<f32> {
    let constants = chip.conductance();
    let by_capacity = f64::from(constants.step / constants.capacity);
    let rx_inverse = f64::from(1.0 / constants.rx);
    let ry_inverse = f64::from(1.0 / constants.ry);
    let rz_inverse = 1.0 / constants.rz;
    let (columns, rows) = (chip.columns as usize, chip.rows as usize);
    let at = |x: usize, y: usize| now[y * columns + x];
    let cell = |index: usize| {
        let (x, y) = (index % columns, index / columns);
        let here = at(x, y);
        let twice = f64::from(here) + f64::from(here);
        let vertical = at(x, (y + 1).min(rows - 1)) + at(x, y.saturating_sub(1));
        let horizontal = at((x + 1).min(columns - 1), y) + at(x.saturating_sub(1), y);
        let sum = (f64::from(vertical) - twice).mul_add(ry_inverse, chip.power[index].into());
        let sum = (f64::from(horizontal) - twice).mul_add(rx_inverse, sum);
        let sum = sum + f64::from(rz_inverse * (AMBIENT - here));
        sum.mul_add(by_capacity, here.into()) as f32
    };
    (0..now.len()).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_chip_changes_by_power_and_ambient_alone() {
        let mut chip = Chip::generate(20, 30, 1);
        chip.power.fill(2.0e-3);
        chip.temperature.fill(330.0);
        let c = chip.conductance();
        let flow = 2.0e-3 + (80.0 - 330.0) / f64::from(c.rz);
        let expected = 330.0 + f64::from(c.step) / f64::from(c.capacity) * flow;
        for t in temperatures(&chip, 1) {
            assert!(
                (f64::from(t) - expected).abs() < 1e-4,
                "{t} instead of {expected}"
            );
        }
    }

    #[test]
    fn diffusion_keeps_the_sum_of_temperatures() {
        // Without power and with a known loss to ambient, the exchange between cells cancels.
        let mut chip = Chip::generate(24, 24, 2);
        chip.power.fill(0.0);
        let c = chip.conductance();
        let total = |t: &[f32]| t.iter().map(|&t| f64::from(t)).sum::<f64>();
        let loss: f64 = chip
            .temperature
            .iter()
            .map(|&t| (80.0 - f64::from(t)) / f64::from(c.rz))
            .sum();
        let expected = total(&chip.temperature) + f64::from(c.step / c.capacity) * loss;
        let got = total(&temperatures(&chip, 1));
        assert!((got - expected).abs() < 1e-2, "{got} instead of {expected}");
    }

    #[test]
    fn steps_compose() {
        let mut chip = Chip::generate(17, 13, 3);
        let three = temperatures(&chip, 3);
        chip.temperature = temperatures(&chip, 2);
        assert_eq!(temperatures(&chip, 1), three);
    }
}
