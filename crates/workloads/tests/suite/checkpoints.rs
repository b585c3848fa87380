//! Tests that every workload goes on from a checkpoint with the results of an uninterrupted run, on
//! one of two GPUs.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use warploom_base::Rng;
use warploom_config::preset;
use warploom_run::{Checkpoint, Checkpoints, Options, Session};
use warploom_stats::result::RunReport;
use warploom_workloads::{Size, Target, all};

/// Core cycles between two checkpoints. One of them, drawn at random, is tried.
const EVERY: u64 = 8000;

fn run(gpu: &str, workload: &str, options: Options) -> RunReport {
    let target = Target::resolve(workload).unwrap();
    let mut program = target.program(Size::Test, 1);
    let gpu = preset(gpu).unwrap_or_else(|errors| panic!("{errors}"));
    let session = Session::new(gpu, options);
    let report = session.run(program.as_mut(), &mut |_| ControlFlow::Continue(()));
    RunReport {
        wall_seconds: 0.0,
        cycles_per_second: 0.0,
        warp_instructions_per_second: 0.0,
        ..report.unwrap_or_else(|error| panic!("{workload}: {error}"))
    }
}

/// Result of a run and one of its checkpoints, each with the same probability.
fn saved(gpu: &str, workload: &str, rng: Rng) -> (RunReport, Option<Vec<u8>>) {
    let drawn = Arc::new(Mutex::new((rng, 0, None)));
    let kept = Arc::clone(&drawn);
    let keep = move |bytes: &[u8]| {
        let (rng, count, kept) = &mut *kept.lock().expect("nobody panics");
        *count += 1;
        if rng.below(*count) == 0 {
            *kept = Some(bytes.to_vec());
        }
    };
    let options = Options {
        checkpoints: Some(Checkpoints::new(Some(EVERY), keep)),
        ..Options::default()
    };
    let report = run(gpu, workload, options);
    let (.., kept) = &mut *drawn.lock().expect("nobody panics");
    (report, kept.take())
}

#[test]
fn every_workload_goes_on() {
    let mut tried = 0;
    for (number, workload) in all().iter().enumerate() {
        let gpu = ["gtx480", "qv100-volta"][number % 2];
        let (straight, checkpoint) = saved(gpu, workload.name, Rng::new(number as u64));
        let Some(bytes) = checkpoint else {
            continue;
        };
        let checkpoint = Checkpoint::read(&bytes).unwrap_or_else(|error| panic!("{error}"));
        let cycle = checkpoint.cycle();
        let options = Options {
            resume: Some(checkpoint),
            ..Options::default()
        };
        let resumed = run(gpu, workload.name, options);
        assert_eq!(resumed, straight, "{} on {gpu} from {cycle}", workload.name);
        tried += 1;
    }
    assert!(
        2 * tried > all().len(),
        "{tried} of {} are long enough",
        all().len()
    );
}
