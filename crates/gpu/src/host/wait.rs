//! Waiting loops of threads.

use std::time::{Duration, Instant};

/// A wait longer than this shows that a worker has lost its core. It is less than the time slice of
/// an operating system, and more than the difference between groups in a step. Host time decides
/// only which thread runs SMs, and no result.
const LATE: Duration = Duration::from_millis(1);

/// Most yields of a wait that ends because of them: the awaited thread had no other core. Where it
/// has one, a yield takes hardly any time, and there are hundreds.
const FEW: u32 = 4;

/// Looks until `ready` is true. After `spins` looks it calls `yield_now` between them.
pub(super) fn wait_until(spins: u32, ready: impl Fn() -> bool, mut yield_now: impl FnMut()) {
    let mut turns = 0u32;
    while !ready() {
        turns = turns.saturating_add(1);
        pause(turns < spins, &mut yield_now);
    }
}

/// A turn of a waiting loop: a short pause of the core, or a yield to other threads.
#[inline]
pub(super) fn pause(is_short: bool, yield_now: impl FnOnce()) {
    if is_short {
        std::hint::spin_loop()
    } else {
        yield_now();
    }
}

/// Wait of the stepping thread for workers.
#[derive(Default)]
pub(super) struct Wait {
    /// True if the wait yielded to other threads.
    pub yielded: bool,
    /// True if a few yields ended the wait.
    pub few_yields: bool,
    /// True if the wait took longer than [`LATE`] after the first yield.
    pub late: bool,
}

impl Wait {
    /// Waits until `ready` is true.
    pub fn until(spins: u32, ready: impl Fn() -> bool) -> Self {
        let (mut since, mut yields) = (None, 0u32);
        wait_until(spins, ready, || {
            since.get_or_insert_with(Instant::now);
            yields = yields.saturating_add(1);
            std::thread::yield_now();
        });
        Self {
            yielded: since.is_some(),
            few_yields: (1..=FEW).contains(&yields),
            late: since.is_some_and(|since| since.elapsed() > LATE),
        }
    }

    /// Adds another wait to this one.
    pub fn add(&mut self, other: &Self) {
        self.yielded |= other.yielded;
        self.few_yields |= other.few_yields;
        self.late |= other.late;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, Wait};

    /// A wait that ends as soon as a thread yields is told from shorter and longer ones.
    #[test]
    fn waits_that_yielding_ends_are_known() {
        let spins = 8;
        let wait = |looks: u32| {
            let left = std::cell::Cell::new(looks);
            let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
            let wait = Wait::until(spins, is_over);
            (wait.yielded, wait.few_yields)
        };
        assert_eq!(wait(0), (false, false));
        assert_eq!(wait(spins - 1), (false, false));
        assert_eq!(wait(spins), (true, true));
        assert_eq!(wait(spins - 1 + FEW), (true, true));
        assert_eq!(wait(spins + FEW), (true, false));
    }
}
