//! Metrics of programs that run concurrently, relative to their speed alone (Eyerman and Eeckhout,
//! IEEE Micro 28(3), 2008; Warped-Slicer, sections V.A and V.F).

use crate::result::{ProcessReport, ratio};
use serde::{Deserialize, Serialize};

/// Core cycles of the same work of one program, alone and in a mix; neither is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turnaround {
    /// Cycles alone on the machine.
    pub alone: f64,
    /// Cycles from start to end in the mix.
    pub mixed: f64,
}

impl Turnaround {
    /// Speed in the mix over speed alone.
    pub fn speedup(self) -> f64 {
        self.alone / self.mixed
    }

    /// Time in the mix over time alone.
    pub fn slowdown(self) -> f64 {
        self.mixed / self.alone
    }
}

/// Metrics of a mix, relative to its programs alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MixFigures {
    /// Thread instructions of all programs per core cycle, until the last program has ended.
    pub total_ipc: f64,
    /// Time in the mix over time alone for the same work, by program.
    pub slowdowns: Vec<f64>,
    /// System throughput, or weighted speedup: the sum of the speedups over running alone.
    pub stp: f64,
    /// Average normalised turnaround time: the mean of the slowdowns.
    pub antt: f64,
    /// Smallest speedup over running alone, a measure of fairness.
    pub minimum_speedup: f64,
    /// Harmonic mean of the speedups over running alone.
    pub harmonic_mean: f64,
    /// Factors of each slowdown, by program, if results of the runs alone are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<SlowdownCauses>,
}

/// Factors of the slowdown of a program in a mix: the slowdown is `room` times `pace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownCauses {
    /// Mean number of registers that the program's blocks hold alone over that in the mix: the loss
    /// by fewer blocks. `None` if the program holds none.
    pub room: Option<f64>,
    /// Instructions per cycle and register held, alone over those in the mix: the loss by slower
    /// blocks, which share an SM or the memory system.
    pub pace: Option<f64>,
    /// Hit rate of L1D alone.
    pub l1d_hit_rate_alone: Option<f64>,
    /// Hit rate of L2 alone.
    pub l2_hit_rate_alone: Option<f64>,
}

impl SlowdownCauses {
    /// Computes the factors from the reports of the same program alone and in a mix.
    pub fn of(alone: &ProcessReport, mixed: &ProcessReport) -> Self {
        let held = |p: &ProcessReport| ratio(p.register_cycles, p.cycles);
        let room = held(alone)
            .zip(held(mixed))
            .map(|(alone, mixed)| alone / mixed);
        let slowdown = ratio(mixed.cycles, alone.cycles);
        let known = |value: &f64| value.is_finite() && *value > 0.0;
        let room = room.filter(known);
        Self {
            room,
            pace: slowdown.zip(room).map(|(slowdown, room)| slowdown / room),
            l1d_hit_rate_alone: alone.l1d.hit_rate,
            l2_hit_rate_alone: alone.l2.hit_rate,
        }
    }
}

impl MixFigures {
    /// Computes the metrics of at least one program. `instructions` and `cycles` are those of the
    /// whole mix.
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
            causes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MixFigures, SlowdownCauses, Turnaround};
    use crate::result::{CacheFigures, ProcessReport};

    /// Definitions of Eyerman and Eeckhout for two programs, one 2 and one 4 times as slow as
    /// alone.
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
            causes: Vec::new(),
        };
        assert_eq!(mix, expected);
    }

    /// A single program has a speedup of 1; two that share perfectly have a throughput of 2.
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

    /// Slowdown of 3: half of the blocks, each at two thirds of the speed.
    #[test]
    fn a_slowdown_is_room_times_pace() {
        let alone = ProcessReport {
            cycles: 100,
            register_cycles: 40_000,
            l1d: CacheFigures::new(3, 4),
            ..ProcessReport::default()
        };
        let mixed = ProcessReport {
            cycles: 300,
            register_cycles: 60_000,
            ..ProcessReport::default()
        };
        let causes = SlowdownCauses::of(&alone, &mixed);
        assert_eq!((causes.room, causes.pace), (Some(2.0), Some(1.5)));
        assert_eq!(causes.l1d_hit_rate_alone, Some(0.75));
        assert_eq!(causes.l2_hit_rate_alone, None);
        let nothing = SlowdownCauses::of(&alone, &ProcessReport::default());
        assert_eq!((nothing.room, nothing.pace), (None, None));
    }
}
