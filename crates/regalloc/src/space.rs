//! The design space of register counts and thread-level parallelism, and the choice of a point in
//! it (sections 4 and 6 of CRAT, Xie et al., MICRO 2015).
//!
//! Thread-level parallelism (TLP) is the number of resident blocks per SM. The functions are
//! independent of a specific GPU: callers supply the number of blocks that fit and all measured
//! values.

use crate::report::Report;

/// A point of the design space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of resident blocks per SM.
    pub tlp: u32,
}

/// Returns the lowest number of registers per thread worth considering (CRAT, section 4.1). With
/// that number, `max_threads` threads occupy all `registers` of an SM, and a lower number would not
/// admit more threads.
pub fn min_registers(registers: u32, max_threads: u32) -> u32 {
    registers / max_threads.max(1)
}

/// Returns the rightmost point of each step of the staircase (CRAT, section 4.2). For each number
/// of blocks, this is the largest number of registers from `min` to `max` with which that many
/// blocks fit. Points are in order of registers, and points without any block are omitted.
///
/// `blocks` returns the number of blocks that fit with a given number of registers per thread, and
/// must not increase with the number of registers. A number of blocks above `opt_tlp` is reduced to
/// `opt_tlp`. The point for `opt_tlp` blocks therefore has the largest number of registers with
/// which at least that many fit.
pub fn staircase(min: u32, max: u32, opt_tlp: u32, blocks: impl Fn(u32) -> u32) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for registers in min.min(max)..=max {
        let tlp = blocks(registers).min(opt_tlp);
        if tlp == 0 {
            continue;
        }
        match points.last_mut().filter(|last| last.tlp == tlp) {
            Some(last) => last.registers = registers,
            None => points.push(Point { registers, tlp }),
        }
    }
    points
}

/// Returns the TLP gain, `1 - TLP * BlockSize / (TLP * BlockSize + MaxThread)` (CRAT, section 6).
/// Smaller values are better, and the improvement diminishes as TLP grows.
pub fn tlp_gain(tlp: u32, block_threads: u32, max_threads: u32) -> f64 {
    let threads = f64::from(tlp) * f64::from(block_threads);
    1.0 - threads / (threads + f64::from(max_threads))
}

/// The costs of the instructions that an allocator adds, in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// The cost of an access to local memory.
    pub local: f64,
    /// The cost of an access to shared memory.
    pub shared: f64,
    /// The cost of any other added instruction.
    pub other: f64,
}

/// Returns the spill cost in cycles, `Num_local * Cost_local + Num_shm * Cost_shm + Num_others *
/// Cost_other` (CRAT, section 6). The numbers are weighted by loop depth if `weigh_loops` is true,
/// and static counts otherwise.
pub fn spill_cost(report: &Report, costs: &Costs, weigh_loops: bool) -> f64 {
    let amount = |amount: crate::report::Amount| {
        if weigh_loops {
            amount.weighted as f64
        } else {
            amount.count as f64
        }
    };
    let added = &report.added;
    amount(added.local) * costs.local
        + amount(added.shared) * costs.shared
        + amount(added.others) * costs.other
}

/// Returns the score of a point, `TLP_gain * Spill_cost` (CRAT, section 6), with `base` added to
/// the spill cost. The point with the smallest score is the best.
///
/// With a `base` of 0, as the formula is printed, a point without spills scores 0 and always wins,
/// although CRAT itself reports a choice with spills for FDTD. The callers therefore pass the
/// latency-weighted instruction count of the code without spills.
pub fn tpsc(gain: f64, base: f64, spill_cost: f64) -> f64 {
    gain * (base + spill_cost)
}

/// Returns the point with the smallest score, or the one with the highest TLP among equal scores.
pub fn choose(points: &[(Point, f64)]) -> Option<Point> {
    let better =
        |a: &&(Point, f64), b: &&(Point, f64)| a.1.total_cmp(&b.1).then(b.0.tlp.cmp(&a.0.tlp));
    points.iter().min_by(better).map(|(point, _)| *point)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The GPU of CRAT's section 7: 128 KiB of registers, 1536 threads and 8 blocks per SM.
    fn fermi(block: u32) -> impl Fn(u32) -> u32 {
        move |registers| (32_768 / (registers * block)).min(1536 / block).min(8)
    }

    #[test]
    fn the_paper_s_machine_grants_21_registers_to_every_thread() {
        assert_eq!(min_registers(32_768, 1536), 21);
    }

    #[test]
    fn each_stair_keeps_its_rightmost_point() {
        let points = staircase(21, 63, 8, fermi(256));
        let pairs: Vec<_> = points.iter().map(|p| (p.registers, p.tlp)).collect();
        // An SM has 32768 / 256 = 128 registers for each thread of a 256-thread block, to be
        // divided by the number of blocks: 128/6, 128/5 and so on.
        assert_eq!(pairs, [(21, 6), (25, 5), (32, 4), (42, 3), (63, 2)]);
    }

    #[test]
    fn blocks_above_the_best_are_capped() {
        let points = staircase(21, 63, 3, fermi(256));
        let pairs: Vec<_> = points.iter().map(|p| (p.registers, p.tlp)).collect();
        assert_eq!(pairs, [(42, 3), (63, 2)]);
    }

    #[test]
    fn a_program_with_few_registers_has_one_point() {
        let points = staircase(21, 12, 8, fermi(256));
        assert_eq!(
            points,
            [Point {
                registers: 12,
                tlp: 6
            }]
        );
    }

    #[test]
    fn tlp_pays_less_and_less() {
        // The expected values are 1 - 256/(256 + 1536) = 6/7 and 1 - 1536/3072 = 1/2.
        assert!((tlp_gain(1, 256, 1536) - 6.0 / 7.0).abs() < 1e-12);
        assert!((tlp_gain(6, 256, 1536) - 0.5).abs() < 1e-12);
        let step = |tlp| tlp_gain(tlp, 256, 1536) - tlp_gain(tlp + 1, 256, 1536);
        assert!((1..5).all(|tlp| step(tlp) > step(tlp + 1)));
    }

    #[test]
    fn ties_go_to_the_higher_tlp() {
        let point = |registers, tlp| Point { registers, tlp };
        let points = [
            (point(32, 4), 0.0),
            (point(42, 3), 0.0),
            (point(63, 2), 1.0),
        ];
        assert_eq!(choose(&points), Some(point(32, 4)));
        assert_eq!(choose(&[]), None);
    }
}
