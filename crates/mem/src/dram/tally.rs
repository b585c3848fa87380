//! A count that changes over time, and its sum over cycles.
//!
//! The sum needs no work in cycles without a change: it is the count times the present cycle, less
//! the cycles in which items were added, plus those in which items were removed.

use warploom_state::Value;

/// A count and its sum over cycles.
#[derive(Clone, Copy, Default, Debug, Value)]
pub(super) struct Tally {
    count: u64,
    /// The sum less `count` times the present cycle, modulo 2^64.
    less: u64,
}

impl Tally {
    /// The count at present.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds one to the count from cycle `from` on.
    #[inline]
    pub(super) fn add(&mut self, from: u64) {
        self.add_if(true, from);
    }

    /// Takes one off the count from cycle `from` on.
    #[inline]
    pub(super) fn remove(&mut self, from: u64) {
        self.remove_if(true, from);
    }

    /// `add` if `adds` is set, without a branch.
    #[inline]
    pub(super) fn add_if(&mut self, adds: bool, from: u64) {
        let more = u64::from(adds);
        self.count += more;
        self.less = self.less.wrapping_sub(from & more.wrapping_neg());
    }

    /// `remove` if `removes` is set, without a branch.
    #[inline]
    pub(super) fn remove_if(&mut self, removes: bool, from: u64) {
        let fewer = u64::from(removes);
        self.count -= fewer;
        self.less = self.less.wrapping_add(from & fewer.wrapping_neg());
    }

    /// Sets the count from cycle `from` on.
    #[inline]
    pub(super) fn set(&mut self, count: u64, from: u64) {
        if count != self.count {
            self.less = self.sum(from).wrapping_sub(count.wrapping_mul(from));
            self.count = count;
        }
    }

    /// Sum of the count over the cycles before `now`.
    #[inline]
    pub(super) fn sum(&self, now: u64) -> u64 {
        self.less.wrapping_add(self.count.wrapping_mul(now))
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn sums_the_count_of_each_cycle() {
        let mut tally = Tally::default();
        tally.add(3);
        tally.add(5);
        assert_eq!((tally.sum(5), tally.sum(6)), (2, 4));
        tally.remove(7);
        assert_eq!((tally.count(), tally.sum(7), tally.sum(10)), (1, 6, 9));
        tally.set(4, 10);
        tally.set(0, 12);
        assert_eq!((tally.sum(12), tally.sum(100)), (17, 17));
    }
}
