//! The design space of registers and thread-level parallelism, and what picks a point of it (CRAT,
//! sections 4 and 6): pure functions of figures that others measure.
//!
//! TLP is a number of blocks on an SM. How many fit with so many registers is asked of the
//! machine's specification, so that nothing here knows a machine.

use crate::report::Report;

/// A point of the design space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Registers per thread.
    pub registers: u32,
    /// Blocks on an SM.
    pub tlp: u32,
}

/// The fewest registers worth considering (section 4.1): with these, `max_threads` threads use up
/// the `registers` of an SM. Fewer would not let more threads in.
pub fn min_registers(registers: u32, max_threads: u32) -> u32 {
    registers / max_threads.max(1)
}

/// The rightmost point of every stair (section 4.2): for each TLP the most registers, of those from
/// `min` to `max`, with which so many blocks fit. TLPs of more than `opt_tlp` are left out, and so
/// is none at all. In order of registers.
///
/// `blocks` says how many blocks fit with so many registers a thread; it must not grow with them.
/// Where every stair is too high, the points for `opt_tlp` that remain are those of the largest
/// number of registers: its blocks are then capped.
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

/// `1 - TLP * BlockSize / (TLP * BlockSize + MaxThread)` (section 6): smaller is better, and less
/// and less so.
pub fn tlp_gain(tlp: u32, block_threads: u32, max_threads: u32) -> f64 {
    let threads = f64::from(tlp) * f64::from(block_threads);
    1.0 - threads / (threads + f64::from(max_threads))
}

/// What a spilled program executes, in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// An access to local memory.
    pub local: f64,
    /// An access to shared memory.
    pub shared: f64,
    /// Any other instruction of the allocator's.
    pub other: f64,
}

/// `Num_local * Cost_local + Num_shm * Cost_shm + Num_others` (section 6), weighted by loops or as
/// it stands in the code.
pub fn spill_cost(report: &Report, costs: &Costs, weigh_loops: bool) -> f64 {
    let amount = |amount: crate::report::Amount| match weigh_loops {
        true => amount.weighted as f64,
        false => amount.count as f64,
    };
    let added = &report.added;
    amount(added.local) * costs.local
        + amount(added.shared) * costs.shared
        + amount(added.others) * costs.other
}

/// `TLP_gain * Spill_cost` (section 6): the smallest wins. Read literally (`base` 0), a point
/// without spills scores 0 and always wins, although the paper's own choice for FDTD is one with
/// spills; so `base` is the latency-weighted instruction count of the unspilled code.
pub fn tpsc(gain: f64, base: f64, spill_cost: f64) -> f64 {
    gain * (base + spill_cost)
}

/// The best of several scored points: the smallest score; of equal ones the higher TLP.
pub fn choose(points: &[(Point, f64)]) -> Option<Point> {
    let better =
        |a: &&(Point, f64), b: &&(Point, f64)| a.1.total_cmp(&b.1).then(b.0.tlp.cmp(&a.0.tlp));
    points.iter().min_by(better).map(|(point, _)| *point)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 7's machine: 128 KB of registers, 1,536 threads, 8 blocks.
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
        // 32768 / 256 = 128 registers for each thread of a block slot: 128/6, 128/5, ...
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
        // 1 - 256/(256 + 1536) = 6/7; 1 - 1536/3072 = 1/2.
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
