//! Detection of spinning splits: a part of a warp that repeats a loop without changing anything
//! while other lanes of the warp wait for it. The loop may wait for something that only those lanes
//! can do.
//!
//! A loop spins if the warp returns to an earlier state: the same registers, local memory and
//! positions of all lanes. States are compared in a few iterations at doubling intervals, so that a
//! loop that computes is hardly slowed down. A loop that counts its iterations never repeats a
//! state. It is taken as spinning after many iterations if it polls (by volatile loads or atomic
//! operations that return a value), and after a still larger number otherwise.

use warploom_base::{Digest, Pc};
use warploom_state::Value;

/// Iterations before states are compared.
const FIRST: u32 = 32;
/// Iterations for which a state is compared with the stored one: the longest period that is
/// detected.
const PERIOD: u32 = 16;
/// Iterations after which a loop is taken as spinning, whatever its state.
const MOST: u32 = 1 << 18;
/// Iterations after which a polling loop is taken as spinning, whatever its state.
const MOST_POLLING: u32 = 1 << 11;
/// Iterations after which a loop is taken as spinning if it was found to spin before.
const MOST_AGAIN: u32 = FIRST;
/// Maximum number of nested loops that are watched.
const DEPTH: usize = 16;

/// A backward jump: its target, its own program counter, and whether the loop between them polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) struct JumpBack {
    pub start: Pc,
    pub end: Pc,
    pub polls: bool,
}

impl JumpBack {
    fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A loop that a part of the warp executes repeatedly.
#[derive(Clone, Copy, Debug, Value)]
struct Loop {
    jump: JumpBack,
    rounds: u32,
    /// Iteration in which the state is compared next.
    next: u32,
    /// Iteration in which `state` was stored.
    kept_at: u32,
    state: u64,
}

impl Loop {
    fn new(jump: JumpBack) -> Self {
        Self {
            jump,
            rounds: 0,
            next: FIRST,
            kept_at: FIRST,
            state: 0,
        }
    }

    /// Counts an iteration that ends in the given state. Returns true if the loop spins.
    fn round(&mut self, most: u32, state: impl FnOnce() -> u64) -> bool {
        self.rounds += 1;
        if self.rounds >= most {
            return true;
        }
        self.rounds >= self.next && self.compare(state())
    }

    fn compare(&mut self, state: u64) -> bool {
        self.next = self.rounds + 1;
        if self.rounds == self.kept_at {
            self.state = state;
        } else if self.state == state {
            return true;
        } else if self.rounds == self.kept_at + PERIOD {
            self.kept_at *= 2;
            self.next = self.kept_at;
        }
        false
    }
}

/// Loops that a part of the warp executes, each nested in the previous one.
#[derive(Clone, Debug, Default, Value)]
pub(crate) struct SpinWatch {
    loops: Vec<Loop>,
    /// Program counter at the end of the loop that was last found to spin.
    known: Option<Pc>,
}

impl SpinWatch {
    /// Forgets all loops, as at the start of a warp.
    pub fn reset(&mut self) {
        self.loops.clear();
        self.known = None;
    }

    /// Forgets the iterations counted so far, because lanes have reconverged.
    pub fn restart(&mut self) {
        self.loops.clear();
    }

    /// Adds the state that decides when a loop counts as spinning to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        for each in &self.loops {
            digest.u64(each.jump.end.0.into());
            digest.u64(each.rounds.into());
            digest.u64(each.state);
        }
        digest.u64(self.known.map_or(u64::MAX, |end| end.0.into()));
    }

    /// Records that the running split jumped backward in the given state. Returns true if the loop
    /// spins.
    pub fn jumped(&mut self, jump: JumpBack, state: impl FnOnce() -> u64) -> bool {
        while self.loops.last().is_some_and(|l| !l.jump.contains(&jump)) {
            self.loops.pop();
        }
        if self.loops.last().is_none_or(|l| l.jump.end != jump.end) {
            if self.loops.len() == DEPTH {
                self.loops.remove(0);
            }
            self.loops.push(Loop::new(jump));
        }
        let most = match (self.known, jump.polls) {
            (Some(end), _) if end == jump.end => MOST_AGAIN,
            (_, true) => MOST_POLLING,
            _ => MOST,
        };
        let spins = self.loops.last_mut().is_some_and(|l| l.round(most, state));
        if spins {
            self.loops.clear();
            self.known = Some(jump.end);
        }
        spins
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, JumpBack, MOST, MOST_AGAIN, MOST_POLLING, PERIOD, SpinWatch};
    use warploom_base::Pc;

    fn jump(start: u32, end: u32) -> JumpBack {
        JumpBack {
            start: Pc(start),
            end: Pc(end),
            polls: false,
        }
    }

    /// Iteration in which a loop is found to spin, given its state in each iteration.
    fn found(watch: &mut SpinWatch, polls: bool, state: impl Fn(u32) -> u64) -> Option<u32> {
        let jump = JumpBack {
            polls,
            ..jump(10, 20)
        };
        (1..=2 * MOST).find(|&round| watch.jumped(jump, || state(round)))
    }

    fn first(state: impl Fn(u32) -> u64) -> Option<u32> {
        found(&mut SpinWatch::default(), false, state)
    }

    #[test]
    fn a_state_that_comes_back_is_found() {
        assert_eq!(first(|_| 7), Some(FIRST + 1));
        let period = |n: u32| move |round: u32| u64::from(round % n);
        assert_eq!(first(period(3)), Some(FIRST + 3));
        assert_eq!(first(period(PERIOD)), Some(FIRST + PERIOD));
    }

    /// A loop that reaches its periodic states late.
    #[test]
    fn a_loop_may_begin_with_other_states() {
        assert_eq!(first(|round| u64::from(round.min(100))), Some(129));
    }

    #[test]
    fn a_loop_that_counts_spins_after_many_rounds() {
        let mut watch = SpinWatch::default();
        assert_eq!(found(&mut watch, false, u64::from), Some(MOST));
        assert_eq!(found(&mut watch, false, u64::from), Some(MOST_AGAIN));
        let polling = found(&mut SpinWatch::default(), true, u64::from);
        assert_eq!(polling, Some(MOST_POLLING));
    }

    /// Iterations of consecutive loops do not add up, nor do those of an inner loop that is entered
    /// again. An outer loop that spins is found whatever its inner loops do.
    #[test]
    fn rounds_count_by_loop() {
        let mut watch = SpinWatch::default();
        let (inner, outer, later) = (jump(12, 15), jump(10, 20), jump(30, 40));
        for round in 0..2 * FIRST {
            assert!(!watch.jumped(inner, || round.into()));
        }
        let rounds = |watch: &SpinWatch| watch.loops.iter().map(|l| l.rounds).collect::<Vec<_>>();
        assert_eq!(rounds(&watch), [2 * FIRST]);
        assert!(!watch.jumped(later, || 0));
        assert_eq!(rounds(&watch), [1]);
        let mut rounds = 0;
        while !watch.jumped(outer, || 7) {
            rounds += 1;
            for _ in 0..5 {
                assert!(
                    !watch.jumped(inner, || 7),
                    "it ends before its state comes back"
                );
            }
        }
        assert_eq!(rounds, FIRST);
    }
}
