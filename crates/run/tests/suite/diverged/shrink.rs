//! Reduces a kernel as long as Warploom and the reference differ on it.

use crate::diverged::code::{Ins, Kernel};
use crate::diverged::drawn::{Case, Difference, Drawn, compare};
use crate::diverged::machine::Named;

/// Largest number of runs.
const RUNS: u32 = 600;

/// Returns a smaller kernel that differs in the same way, and its difference.
pub fn shrink(mut drawn: Drawn, seed: u64, ways: &[&Named]) -> (Drawn, Difference) {
    let Case::Differs(mut difference) = compare(&drawn, seed, ways) else {
        panic!("case {seed} differs at times only");
    };
    let only: Vec<&Named> = ways
        .iter()
        .copied()
        .filter(|way| way.name == difference.way)
        .collect();
    let mut runs = 0;
    let mut size = 64;
    while size > 0 && runs < RUNS {
        let mut is_smaller = false;
        for place in places(&drawn.kernel, size) {
            let kernel = without(&drawn.kernel, place, size);
            if !kernel.is_whole() {
                continue;
            }
            let spin = drawn.spin;
            let candidate = Drawn { kernel, spin };
            runs += 1;
            if let Case::Differs(found) = compare(&candidate, seed, &only)
                && is_alike(&found, &difference)
            {
                (drawn, difference, is_smaller) = (candidate, found, true);
                break;
            }
        }
        if !is_smaller {
            size /= 2;
        }
    }
    (drawn, difference)
}

/// True if both differences are of the same kind.
fn is_alike(one: &Difference, other: &Difference) -> bool {
    let kind = |difference: &Difference| {
        (
            std::mem::discriminant(&difference.expected),
            std::mem::discriminant(&difference.seen),
        )
    };
    kind(one) == kind(other)
}

/// Places of `size` instructions that can be removed, the last first.
fn places(kernel: &Kernel, size: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (body, code) in kernel.bodies.iter().enumerate() {
        all.extend((0..code.len()).step_by(size).map(|at| (body, at)));
    }
    all.reverse();
    all
}

fn without(kernel: &Kernel, (body, at): (usize, usize), size: usize) -> Kernel {
    let mut smaller = kernel.clone();
    let code: &mut Vec<Ins> = &mut smaller.bodies[body];
    code.drain(at..(at + size).min(code.len()));
    smaller
}
