//! Steps of workers, with and without them.

use super::*;
use crate::host::testing::{idle_sm, turns};
use crate::host::untaken::UntakenCounts;
use crate::memory::MemorySystem;
use warploom_base::Cycle;
use warploom_config::preset;
use warploom_exec::DeviceMemory;

/// Groups of an SM each.
fn groups(count: usize) -> Vec<SmGroup> {
    let untaken = Arc::new(UntakenCounts::new(count));
    let group = |id| SmGroup::new(id, vec![idle_sm(id)], Arc::clone(&untaken));
    (0..count).map(group).collect()
}

/// Runs a cycle of these groups. Returns the number of SMs that ran.
fn step(
    workers: &mut Workers,
    groups: &mut [SmGroup],
    now: Cycle,
    runs: impl Fn(usize) -> bool,
) -> usize {
    let memory = DeviceMemory::new(1 << 16);
    for (number, group) in groups.iter_mut().enumerate() {
        let awake = [number];
        let awake = if runs(number) { &awake[..] } else { &[] };
        group.order(&turns(awake, (now, now + 1)));
    }
    let step = Step {
        settled: None,
        memory: &memory,
    };
    workers.run(&step, groups, || (), |_| ());
    groups.iter_mut().flat_map(SmGroup::end).count()
}

/// All groups that do not rest have run when a step is over, on any thread; workers that were
/// parked are there again.
#[test]
fn groups_run_while_workers_are_parked_and_after() {
    let count = 3;
    let mut groups = groups(count + 1);
    let mut workers = Workers::new(count);
    workers.note_wait(&Wait {
        yielded: true,
        few_yields: false,
        late: true,
    });
    for from in 0..1100 {
        let resting = from as usize % (count + 1);
        // After the backoff, a worker that was not scheduled may have led to another one.
        if from <= 1024 {
            assert_eq!(workers.are_awake(), from == 1024, "before cycle {from}");
        }
        let ran = step(&mut workers, &mut groups, from, |number| number != resting);
        assert_eq!(ran, count);
    }
}

/// Whether a worker is called meanwhile or not, a task comes back done.
#[test]
fn tasks_are_done_beside_steps() {
    let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    let mut system = MemorySystem::new(&spec);
    let mut groups = groups(2);
    let mut workers = Workers::new(1);
    for nth in 0..20 {
        let (from, end) = (100 * nth, 100 * (nth + 1));
        // A worker that was not scheduled may be parked for some steps.
        let gives = workers.are_awake();
        assert!(gives || nth > 0);
        let task = system.lend_backend(from, end).expect("it is here");
        let mut here = match gives {
            true => {
                workers.give_task(task);
                None
            }
            false => Some(task),
        };
        for now in from..from + nth % 3 {
            let ran = step(&mut workers, &mut groups, now, |_| true);
            assert_eq!(ran, 2);
        }
        if let Some(task) = &mut here {
            while task.advance() {}
            task.finish();
        }
        let task = here.unwrap_or_else(|| workers.take_task());
        assert_eq!(system.take_backend(task), end);
        system.begin_requests();
        (from..end).for_each(|now| system.run_requests(now));
    }
}
