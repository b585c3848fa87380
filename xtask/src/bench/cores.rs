//! How far two threads are apart. A step of the machine is a cycle, and whatever one thread has for
//! another crosses once in each: on cores that do not share a cache two threads gain little.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Most round trips of one measurement.
const ROUNDS: u32 = 20_000;

/// Longest that one measurement goes on, in whole stretches: where others have a core, each answer
/// waits for the system, and that is known soon.
const LONGEST: Duration = Duration::from_millis(20);
const STRETCH: u32 = 16;

/// Turns of a waiting loop before a thread gives way.
const SPINS: u32 = 1 << 12;

/// The turn that ends a measurement.
const END: u32 = u32::MAX;

/// The time that a cache line takes from one thread's core to another's, where the system has put
/// them now: the median of five. `None` with one core, on which each answer would take the time
/// that the system takes from one thread to the next.
pub fn hop() -> Option<Duration> {
    (cores() > 1).then(|| {
        let mut hops = [(); 5].map(|()| round_trips());
        hops.sort_unstable();
        hops[2]
    })
}

/// Cores that the system lets this program use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Two threads that answer each other: the time of an answer.
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

/// Makes every odd turn the next even one, until there are no more.
fn answer(turn: &AtomicU32) {
    let mut next = 1;
    while wait_for(turn, next) != END {
        turn.store(next + 1, Ordering::Release);
        next += 2;
    }
}

/// Waits for a turn, or the end. Returns which it is.
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
            // The other one may need this core.
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
