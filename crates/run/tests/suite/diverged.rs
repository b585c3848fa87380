//! Tests of random kernels whose warps diverge around operations of warps and blocks, against a
//! reference that runs every lane by itself. `WARPLOOM_DRAWN=FIRST..END` selects other cases than
//! the default ones.

mod barriers;
mod block;
mod clocks;
mod code;
mod draw;
mod drawn;
mod hand;
mod items;
mod lane;
mod lanes;
mod locks;
mod machine;
mod meet;
mod shapes;
mod shrink;
mod text;

use drawn::{Case, compare, describe, kernel};
use lanes::End;
use locks::Spin;
use machine::{Named, ways};
use shrink::shrink;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Default range of cases.
const CASES: Range<u64> = 0..100;
/// Number of threads that run cases.
const THREADS: usize = 2;

fn cases() -> Range<u64> {
    let Ok(asked) = std::env::var("WARPLOOM_DRAWN") else {
        return CASES;
    };
    let range = asked.split_once("..").and_then(|(first, end)| {
        let range = first.parse().ok()?..end.parse().ok()?;
        (!range.is_empty()).then_some(range)
    });
    range.unwrap_or_else(|| panic!("WARPLOOM_DRAWN is FIRST..END, not `{asked}`"))
}

/// Numbers of cases by their result.
type Counts = BTreeMap<String, u64>;

/// Ways to run a case: without timing and on both kinds of machine, as text and assembled, and
/// sometimes on the third machine.
fn ways_of(seed: u64, ways: &[Named]) -> Vec<&Named> {
    let is_meant = |named: &&Named| named.name != "rtx3070-ampere" || seed.is_multiple_of(4);
    ways.iter().filter(is_meant).collect()
}

fn check(seed: u64, ways: &[Named], counts: &mut Counts) -> Result<(), String> {
    let drawn = kernel(seed);
    let ways = ways_of(seed, ways);
    let name = match compare(&drawn, seed, &ways) {
        Case::Unclear(why) => format!("{why:?}"),
        Case::Alike(End::Done(_)) if drawn.spin != Spin::Ends => "spins".to_owned(),
        Case::Alike(End::Done(_)) => "ends".to_owned(),
        Case::Alike(End::Deadlock(_)) => "deadlocks".to_owned(),
        Case::Alike(End::Fault(_)) => "traps".to_owned(),
        Case::Differs(_) => {
            let (drawn, difference) = shrink(drawn, seed, &ways);
            return Err(describe(seed, &drawn, &difference));
        }
    };
    *counts.entry(name).or_default() += 1;
    Ok(())
}

#[test]
#[allow(clippy::print_stdout, reason = "the user requests the counts")]
fn lanes_that_wait_for_each_other_give_what_each_gives_by_itself() {
    let (cases, ways) = (cases(), ways());
    let next = AtomicU64::new(cases.start);
    let found = Mutex::new(Vec::new());
    let work = || {
        let mut counts = Counts::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= cases.end || !found.lock().expect("no panic").is_empty() {
                return counts;
            }
            if let Err(difference) = check(seed, &ways, &mut counts) {
                found.lock().expect("no panic").push((seed, difference));
            }
        }
    };
    let mut counts = Counts::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            for (name, count) in thread.join().expect("no panic") {
                *counts.entry(name).or_default() += count;
            }
        }
    });
    let found = found.into_inner().expect("no panic").into_iter().min();
    if let Some((_, difference)) = found {
        panic!("{difference}");
    }
    println!("{counts:?}");
    judge(&counts, cases.end - cases.start);
}

/// Checks that most kernels have a defined result, and that every kind of result occurs.
fn judge(counts: &Counts, all: u64) {
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    let some = ["deadlocks", "traps", "spins"].map(of);
    assert!(
        all < 500 || some.iter().all(|count| *count > 0),
        "{counts:?}"
    );
    assert!(all < 500 || of("ends") * 4 > all * 3, "{counts:?}");
}
