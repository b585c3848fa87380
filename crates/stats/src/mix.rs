//! Metrics of programs that run at once: how much of their speed alone they keep (Eyerman and
//! Eeckhout, IEEE Micro 28(3), 2008; seed 003, sections V.A and V.F).

use serde::{Deserialize, Serialize};

/// The same work of one program, alone and in a mix, in cycles; neither is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turnaround {
    /// Alone on the machine.
    pub alone: f64,
    /// From its start to its end in the mix.
    pub mixed: f64,
}

impl Turnaround {
    /// Its speed in the mix over that alone.
    pub fn speedup(self) -> f64 {
        self.alone / self.mixed
    }

    /// Its time in the mix over that alone.
    pub fn slowdown(self) -> f64 {
        self.mixed / self.alone
    }
}

/// What a mix came to, over what its programs do alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MixFigures {
    /// Thread instructions of all programs per core cycle, until the last has ended.
    pub total_ipc: f64,
    /// By program: time in the mix over time alone for the same work.
    pub slowdowns: Vec<f64>,
    /// System throughput, or weighted speedup: sum of the speedups over running alone.
    pub stp: f64,
    /// Average normalised turnaround time: mean of the slowdowns.
    pub antt: f64,
    /// The smallest speedup over running alone: fairness.
    pub minimum_speedup: f64,
    /// Harmonic mean of the speedups.
    pub harmonic_mean: f64,
}

impl MixFigures {
    /// Of at least one program. `instructions` and `cycles` are those of the whole mix.
    pub fn new(instructions: u64, cycles: u64, programs: &[Turnaround]) -> Self {
        let count = programs.len() as f64;
        let slowdowns: Vec<f64> = programs.iter().map(|p| p.slowdown()).collect();
        let speedups = programs.iter().map(|p| p.speedup());
        let all_slowdowns: f64 = slowdowns.iter().sum();
        Self {
            total_ipc: instructions as f64 / cycles.max(1) as f64,
            stp: speedups.clone().sum(),
            antt: all_slowdowns / count,
            minimum_speedup: speedups.fold(f64::INFINITY, f64::min),
            harmonic_mean: count / all_slowdowns,
            slowdowns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MixFigures, Turnaround};

    /// Eyerman and Eeckhout's definitions on two programs, one twice and one four times as slow.
    #[test]
    fn figures_follow_their_definitions() {
        let program = |mixed| Turnaround {
            alone: 1000.0,
            mixed,
        };
        let mix = MixFigures::new(90_000, 4000, &[program(2000.0), program(4000.0)]);
        let expected = MixFigures {
            total_ipc: 22.5,
            slowdowns: vec![2.0, 4.0],
            stp: 0.5 + 0.25,
            antt: 3.0,
            minimum_speedup: 0.25,
            harmonic_mean: 2.0 / 6.0,
        };
        assert_eq!(mix, expected);
    }

    /// A program by itself loses nothing; two that share perfectly have the throughput of two.
    #[test]
    fn bounds() {
        let same = Turnaround {
            alone: 7.0,
            mixed: 7.0,
        };
        let one = MixFigures::new(7, 7, &[same]);
        let ones = [one.stp, one.antt, one.minimum_speedup, one.harmonic_mean];
        assert_eq!(ones, [1.0; 4]);
        assert_eq!(MixFigures::new(14, 7, &[same, same]).stp, 2.0);
    }
}
