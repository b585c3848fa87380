//! Measures the distance of two cores. Data passes from thread to thread at least once in each step
//! of the machine, so two threads gain little on cores that do not share a cache.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Largest number of round trips in one measurement.
const ROUNDS: u32 = 20_000;

/// Longest duration of one measurement. It is checked between batches: where others use a core,
/// each answer waits for the operating system, which few round trips show.
const LONGEST: Duration = Duration::from_millis(20);
const STRETCH: u32 = 16;

/// Iterations of a waiting loop before a thread yields.
const SPINS: u32 = 1 << 12;

/// Value of the turn that ends a measurement.
const END: u32 = u32::MAX;

/// Time that a cache line takes from one thread's core to another's, with the threads where the
/// operating system has placed them: the median of five measurements. `None` with one core, where
/// each answer would take as long as the operating system needs to switch threads.
pub fn hop() -> Option<Duration> {
    (cores() > 1).then(|| {
        let mut hops = [(); 5].map(|()| round_trips());
        hops.sort_unstable();
        hops[2]
    })
}

/// Number of cores that this program may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs two threads that answer each other. Returns the time of an answer.
fn round_trips() -> Duration {
    let turn = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&turn));
        let (start, mut rounds) = (Instant::now(), 0);
        while rounds < ROUNDS && (rounds % STRETCH != 0 || start.elapsed() < LONGEST) {
            turn.store(2 * rounds + 1, Ordering::Release);
            wait_for(&turn, 2 * rounds + 2);
            rounds += 1;
        }
        let took = start.elapsed();
        turn.store(END, Ordering::Release);
        took / (2 * rounds)
    })
}

/// Changes every odd turn into the next even one, until the end.
fn answer(turn: &AtomicU32) {
    let mut next = 1;
    while wait_for(turn, next) != END {
        turn.store(next + 1, Ordering::Release);
        next += 2;
    }
}

/// Waits for a turn, or for the end, and returns which of them came.
fn wait_for(turn: &AtomicU32, wanted: u32) -> u32 {
    let mut turns = 0_u32;
    loop {
        let now = turn.load(Ordering::Acquire);
        if now == wanted || now == END {
            return now;
        }
        turns = turns.saturating_add(1);
        if turns < SPINS {
            std::hint::spin_loop();
        } else {
            // The other thread may need this core.
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU32, END, answer};

    #[test]
    fn a_hop_takes_time_where_there_are_two_cores() {
        assert_eq!(super::hop().is_some(), super::cores() > 1);
        assert!(super::hop().is_none_or(|hop| hop.as_nanos() > 0));
    }

    #[test]
    fn the_end_is_not_answered() {
        let turn = AtomicU32::new(END);
        answer(&turn);
        assert_eq!(turn.into_inner(), END);
    }
}
