//! Loops that are unrolled. NVIDIA's assembler repeats the body of a counted loop of one basic
//! block: wholly if the number of iterations is known and small, in large groups if it is known,
//! and four times if it is not. Loads of several iterations are then in flight at once.

mod copies;
mod counted;
mod rotate;

use crate::body::Body;
use crate::fold::Counts;
use copies::Unrolled;
use counted::Loop;
use rustc_hash::FxHashSet;

/// Most instructions of the body of a loop that is repeated four times, found as the limits of
/// [`crate::predicate`], as the following ones.
const MOST_BODY: usize = 32;
/// Iterations of a group where their number is not known.
const GROUP: usize = 4;
/// Most instructions of a loop that is unrolled wholly.
const MOST_WHOLE: u64 = 2048;
/// Instructions of a group of iterations where their number is known.
const GROUP_SIZE: usize = 324;
/// Most that an iteration may add to an address or to the counter, so that sums stay within theirs.
const MOST_STEP: u64 = 1 << 18;

/// How a loop is unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// All iterations one after the other.
    Whole(u64),
    /// A loop of `times` groups of `group` iterations, and `rest` iterations after it.
    Groups { group: u64, times: u64, rest: u64 },
    /// A loop of groups of [`GROUP`] iterations, and the loop of the text for the rest.
    Test,
}

/// Unrolls loops, from the innermost on: a loop whose inner loops are unrolled wholly may be one
/// of a single block then.
pub(crate) fn unroll(body: &mut Body) {
    rotate::rotate(body);
    // Branches of loops that are as they stay, by their place in the text.
    let mut done = FxHashSet::default();
    loop {
        let (cfg, live) = body.flow();
        let counts = Counts::of(body);
        let loops = (0..cfg.blocks.len()).filter_map(|nth| Loop::find(body, &cfg, &counts, nth));
        let found: Vec<(Loop, Way)> = loops
            .filter(|found| done.insert(body.origin[found.branch]))
            .filter_map(|found| way(&found, body).map(|way| (found, way)))
            .collect();
        if found.is_empty() {
            return;
        }
        let mut unrolled = Unrolled::new(body, &live);
        let mut next = found.iter().peekable();
        for (nth, block) in cfg.blocks.iter().enumerate() {
            match next.next_if(|(found, _)| found.block == nth) {
                Some((found, way)) => unrolled.repeat(found, *way),
                None => unrolled.keep(block.start..block.end),
            }
        }
        let grown = unrolled.finish();
        body.replace(grown);
    }
}

/// How a loop is unrolled, if it is.
fn way(found: &Loop, body: &Body) -> Option<Way> {
    let steps = found.sums.iter().map(|sum| sum.step.unsigned_abs());
    let longest = steps.fold(found.step.unsigned_abs().into(), u64::max);
    if longest > MOST_STEP {
        return None;
    }
    if let Some(trips) = found.trips(body) {
        if trips.saturating_mul(found.work().max(1) as u64) <= MOST_WHOLE {
            return Some(Way::Whole(trips));
        }
        let group = GROUP_SIZE as u64 / (found.range.len() as u64).saturating_sub(3).max(1);
        let groups = Way::Groups {
            group,
            times: trips / group.max(1),
            rest: trips % group.max(1),
        };
        return (group > 1).then_some(groups);
    }
    let short = found.range.len() <= MOST_BODY;
    (short && found.may_split(body)).then_some(Way::Test)
}
