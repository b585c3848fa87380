//! How far two threads are apart. A step of the machine is a cycle, and whatever one thread has for
//! another crosses once in each: on cores that do not share a cache two threads gain little.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Round trips of one measurement.
const ROUNDS: u64 = 20_000;

/// Turns of a waiting loop before a thread gives way.
const SPINS: u32 = 1 << 12;

/// The time that a cache line takes from one thread's core to another's, where the system has put
/// them now: the median of five. `None` with one core, on which each answer would take the time
/// that the system takes from one thread to the next.
pub fn hop() -> Option<Duration> {
    (cores() > 1).then(|| {
        let mut hops = [(); 5].map(|()| round_trips() / (2 * ROUNDS as u32));
        hops.sort_unstable();
        hops[2]
    })
}

/// Cores that the system lets this program use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Two threads that answer each other.
fn round_trips() -> Duration {
    let turn = AtomicU64::new(0);
    let wait_for = |value| {
        let mut turns = 0_u32;
        while turn.load(Ordering::Acquire) != value {
            turns = turns.saturating_add(1);
            if turns < SPINS {
                std::hint::spin_loop();
            } else {
                // The other one may need this core.
                std::thread::yield_now();
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                wait_for(2 * round + 1);
                turn.store(2 * round + 2, Ordering::Release);
            }
        });
        let start = Instant::now();
        for round in 0..ROUNDS {
            turn.store(2 * round + 1, Ordering::Release);
            wait_for(2 * round + 2);
        }
        start.elapsed()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_hop_takes_time_where_there_are_two_cores() {
        assert_eq!(super::hop().is_some(), super::cores() > 1);
        assert!(super::hop().is_none_or(|hop| hop.as_nanos() > 0));
    }
}
