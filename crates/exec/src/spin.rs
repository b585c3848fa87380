//! Finds out that a part of a warp spins: it jumps back again and again and nothing changes, while
//! other lanes of the warp wait for it. What it waits for may be theirs to do.
//!
//! A split spins when it comes back to a state that it was in before: the same registers, the same
//! local memory, the same place. States are compared at a few jumps after doubling intervals, so
//! that a loop that computes is hardly slowed down, and never taken for one that spins. A loop that
//! counts its rounds never comes back to a state: it is taken for one that spins after many jumps if
//! it looks at what others may change (atomics, volatile loads), after very many if not, and after
//! few once lanes of the warp have been found to wait for each other.

/// Jumps back before states are compared.
const FIRST: u32 = 32;
/// Jumps back after which a state is compared with the one kept: the longest period found.
const PERIOD: u32 = 16;
/// Jumps back after which a split spins, whatever its state.
const MOST: u32 = 1 << 18;
/// The same in a loop that looks at what others may change.
const MOST_POLLING: u32 = 1 << 11;
/// The same where lanes of the warp are known to wait for each other.
const MOST_AGAIN: u32 = FIRST;

/// Watches the jumps back of a warp's splits.
#[derive(Clone, Debug)]
pub(crate) struct SpinWatch {
    jumps: u32,
    /// Jump at which the state is looked at next.
    next: u32,
    /// Jump at which `state` was kept.
    kept_at: u32,
    state: u64,
    /// A split of the warp has been found to spin.
    known: bool,
}

impl SpinWatch {
    pub const NEW: Self = Self {
        jumps: 0,
        next: FIRST,
        kept_at: FIRST,
        state: 0,
        known: false,
    };

    /// Jumps back since the watch began.
    pub fn jumps(&self) -> u32 {
        self.jumps
    }

    /// Lanes have met: what they did before does not count.
    pub fn restart(&mut self) {
        *self = Self {
            known: self.known,
            ..Self::NEW
        };
    }

    /// The running split has jumped back, in this state, in a loop that polls or not. True if it
    /// spins.
    pub fn jumped(&mut self, polls: bool, state: impl FnOnce() -> u64) -> bool {
        self.jumps += 1;
        if self.jumps < self.next {
            return false;
        }
        let most = match (self.known, polls) {
            (true, _) => MOST_AGAIN,
            (_, true) => MOST_POLLING,
            _ => MOST,
        };
        let spins = self.jumps >= most || self.compare(state());
        if spins {
            self.restart();
            self.known = true;
        }
        spins
    }

    fn compare(&mut self, state: u64) -> bool {
        self.next = self.jumps + 1;
        if self.jumps == self.kept_at {
            self.state = state;
        } else if self.state == state {
            return true;
        } else if self.jumps == self.kept_at + PERIOD {
            self.kept_at *= 2;
            self.next = self.kept_at;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, MOST, MOST_AGAIN, MOST_POLLING, PERIOD, SpinWatch};

    /// The jump at which a loop is found to spin whose state at a jump is `state`.
    fn found(watch: &mut SpinWatch, state: impl Fn(u32) -> u64) -> Option<u32> {
        (1..=2 * MOST).find(|&jump| watch.jumped(false, || state(jump)))
    }

    /// The same of a warp of which nothing is known.
    fn first(state: impl Fn(u32) -> u64) -> Option<u32> {
        let mut watch = SpinWatch::NEW;
        found(&mut watch, state)
    }

    #[test]
    fn a_state_that_comes_back_is_found() {
        assert_eq!(first(|_| 7), Some(FIRST + 1));
        let period = |n: u32| move |jump: u32| u64::from(jump % n);
        assert_eq!(first(period(3)), Some(FIRST + 3));
        let longest = first(period(PERIOD));
        assert_eq!(longest, Some(FIRST + PERIOD));
    }

    /// A loop that settles into its period late.
    #[test]
    fn a_loop_may_begin_with_other_states() {
        let late = |jump: u32| u64::from(jump.min(100));
        assert_eq!(first(late), Some(129));
    }

    #[test]
    fn a_loop_that_counts_spins_after_many_jumps() {
        let mut watch = SpinWatch::NEW;
        assert_eq!(found(&mut watch, u64::from), Some(MOST));
        assert_eq!(found(&mut watch, u64::from), Some(MOST_AGAIN));
        let mut watch = SpinWatch::NEW;
        let polling = (1..=MOST).find(|&jump| watch.jumped(true, || jump.into()));
        assert_eq!(polling, Some(MOST_POLLING));
    }
}
