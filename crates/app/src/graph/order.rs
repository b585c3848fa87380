//! Order in which the steps of an executable graph are requested, and assignment of steps to lanes.
//!
//! The steps of a lane are executed one after another, and those of different lanes may overlap: a
//! lane is a stream of the simulation. A step is placed in the lane of one of its dependencies if
//! that dependency is the last step of its lane. A chain of steps therefore uses a single lane.

use crate::error::{Cuda, CudaError};

/// Maximum number of lanes of a graph. With more branches, some wait for others, which does not
/// change any result.
const MOST_LANES: usize = 32;

/// Order of steps in which each follows its dependencies, given in `after` as indices of steps.
/// Steps marked in `last` are placed as late as possible, because the host waits for them.
///
/// # Errors
/// Fails if the dependencies contain a cycle.
pub(super) fn ordered(after: &[Vec<usize>], last: &[bool]) -> Cuda<Vec<usize>> {
    let mut missing: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut later: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (step, earlier) in after.iter().enumerate() {
        earlier.iter().for_each(|from| later[*from].push(step));
    }
    let mut ready: std::collections::BTreeSet<(bool, usize)> = (0..after.len())
        .filter(|step| missing[*step] == 0)
        .map(|step| (last[step], step))
        .collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some((_, step)) = ready.pop_first() {
        order.push(step);
        for next in &later[step] {
            missing[*next] -= 1;
            if missing[*next] == 0 {
                ready.insert((last[*next], *next));
            }
        }
    }
    if order.len() == after.len() {
        Ok(order)
    } else {
        Err(CudaError::INVALID_VALUE)
    }
}

/// Lane of each step, and the number of lanes. The steps must be in an order given by `ordered`.
pub(super) fn lanes(after: &[Vec<usize>]) -> (Vec<usize>, usize) {
    let mut lanes: Vec<usize> = Vec::with_capacity(after.len());
    // Last step of each lane.
    let mut ends: Vec<usize> = Vec::new();
    for (step, earlier) in after.iter().enumerate() {
        let open = earlier.iter().find(|from| ends[lanes[**from]] == **from);
        let lane = match open {
            Some(from) => lanes[*from],
            None if ends.len() < MOST_LANES => {
                ends.push(step);
                ends.len() - 1
            }
            None => step % MOST_LANES,
        };
        ends[lane] = step;
        lanes.push(lane);
    }
    (lanes, ends.len())
}

#[cfg(test)]
mod tests {
    use super::{MOST_LANES, lanes, ordered};
    use crate::error::CudaError;

    #[test]
    fn steps_come_behind_those_that_they_come_after() {
        // Steps 0 and 1 precede 2, and 2 precedes 3. Step 1 is marked as last.
        let after = [vec![], vec![], vec![0], vec![2]];
        let last = [false, true, false, false];
        assert_eq!(ordered(&after, &last), Ok(vec![0, 2, 3, 1]));
        let after = [vec![1], vec![], vec![0, 1]];
        assert_eq!(ordered(&after, &[false; 3]), Ok(vec![1, 0, 2]));
    }

    #[test]
    fn circles_are_refused() {
        let after = [vec![1], vec![0], vec![]];
        let wrong = Err(CudaError::INVALID_VALUE);
        assert_eq!(ordered(&after, &[false; 3]), wrong);
        assert_eq!(ordered(&[vec![0]], &[false]), wrong);
    }

    #[test]
    fn chains_have_one_lane_and_branches_have_their_own() {
        let chain = [vec![], vec![0], vec![1]];
        assert_eq!(lanes(&chain), (vec![0, 0, 0], 1));
        let diamond = [vec![], vec![0], vec![0], vec![1, 2]];
        assert_eq!(lanes(&diamond), (vec![0, 0, 1, 0], 2));
        let many = vec![Vec::new(); 2 * MOST_LANES];
        let (found, count) = lanes(&many);
        assert_eq!(count, MOST_LANES);
        assert_eq!(found[MOST_LANES], 0);
    }
}
