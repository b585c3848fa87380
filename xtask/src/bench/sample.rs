//! Samples which part of the machine is running, from a thread of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warploom_run::Probe;

/// Time between two samples. A run of seconds gets thousands of samples and does not notice them.
const PERIOD: Duration = Duration::from_micros(500);

/// Number of samples in which each part was running, by its name.
pub type Counts = BTreeMap<&'static str, u64>;

/// Does `work` and counts samples of `probe` in the meantime.
pub fn sample<T>(probe: &Probe, work: impl FnOnce() -> T) -> (T, Counts) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| count(probe, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        let counts = watcher.join().expect("counting cannot fail");
        (result, counts)
    })
}

fn count(probe: &Probe, done: &AtomicBool) -> Counts {
    let mut counts = Counts::new();
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(PERIOD);
        *counts.entry(probe.part().name()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::{PERIOD, sample};
    use warploom_run::{Part, Probe};

    #[test]
    fn counts_while_the_work_lasts() {
        let (result, counts) = sample(&Probe::default(), || {
            std::thread::sleep(PERIOD * 20);
            7
        });
        assert_eq!(result, 7);
        assert_eq!(counts.keys().collect::<Vec<_>>(), [&Part::Outside.name()]);
    }
}
