//! Tests of checkpoints: a run that goes on from one has the results of a run that was not
//! interrupted, and what does not belong to the run is refused.

use crate::concurrent::processes::{adder, loader};
use crate::concurrent::script::{OWN, Script, Step, participant, until};
use Step::{Copy, Expect, Launch, Mark, SynchronizeStream, WaitFor, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use warploom_base::Rng;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_run::{
    CallKind, Checkpoint, CheckpointError, Checkpoints, Checks, Options, Participant, RunError,
    Session, Timed, TimedBlocks,
};
use warploom_stats::result::{Outcome, RunReport};

pub(super) fn gpu(sets: &[&str]) -> GpuSpec {
    let sets = ["gpu.sms=3"].iter().chain(sets);
    let sets: Vec<_> = sets.map(|set| (*set).to_owned()).collect();
    resolve(&Base::Preset("gtx480".to_owned()), &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Three streams, copies in their order, marks, and a host that reads between launches.
fn script() -> Script {
    let steps = [
        Launch(2, "spin", 7, 300),
        Launch(1, "inc", 2, 60),
        Write(1, OWN + 5, 40),
        Launch(1, "inc", 1, 40),
        Copy(1, OWN + 5, 9),
        Mark(1, 1),
        WaitFor(3, 1),
        Launch(3, "double", 3, 50),
        SynchronizeStream(1),
        Expect(OWN, 2),
        Expect(9, 41),
        Launch(0, "load", 20, 40),
        Expect(OWN + 5, 41),
        Launch(2, "double", 2, 60),
        Launch(1, "inc", 9, 40),
    ];
    Script::new(&steps, &[(OWN, 3), (OWN + 5, 42)])
}

/// A result without what differs from run to run.
fn lasting(report: RunReport) -> RunReport {
    RunReport {
        wall_seconds: 0.0,
        cycles_per_second: 0.0,
        warp_instructions_per_second: 0.0,
        ..report
    }
}

pub(super) type Programs = fn() -> Vec<Participant<'static>>;

pub(super) fn run(
    spec: &GpuSpec,
    programs: Programs,
    options: Options,
) -> Result<RunReport, RunError> {
    let session = Session::new(spec.clone(), options);
    let report = session.run_mix(programs(), &mut |_| ControlFlow::Continue(()));
    report.map(lasting)
}

/// Result of a run, and its checkpoints.
pub(super) fn saved(
    spec: &GpuSpec,
    programs: Programs,
    options: Options,
    every: u64,
) -> (RunReport, Vec<Vec<u8>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&all);
    let keep = move |bytes: &[u8]| kept.lock().expect("nobody panics").push(bytes.to_vec());
    let options = Options {
        checkpoints: Some(Checkpoints::new(Some(every), keep)),
        ..options
    };
    let report = run(spec, programs, options).unwrap_or_else(|error| panic!("{error}"));
    let all = std::mem::take(&mut *all.lock().expect("nobody panics"));
    (report, all)
}

fn from(bytes: &[u8], options: Options) -> Options {
    let checkpoint = Checkpoint::read(bytes).unwrap_or_else(|error| panic!("{error}"));
    Options {
        resume: Some(checkpoint),
        ..options
    }
}

/// Checks that a run goes on from each of its checkpoints, on one thread or two. Returns its number
/// of checkpoints.
fn goes_on(spec: &GpuSpec, programs: Programs, options: Options, every: u64) -> usize {
    let straight = run(spec, programs, options.clone()).unwrap_or_else(|error| panic!("{error}"));
    let (report, checkpoints) = saved(spec, programs, options.clone(), every);
    assert_eq!(report, straight, "checkpoints change nothing");
    for (at, bytes) in checkpoints.iter().enumerate() {
        let options = Options {
            threads: 1 + at % 2,
            ..from(bytes, options.clone())
        };
        let report = run(spec, programs, options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report, straight, "from checkpoint {at}");
    }
    checkpoints.len()
}

pub(super) fn streams() -> Vec<Participant<'static>> {
    vec![participant("script", &script())]
}

#[test]
fn a_run_with_streams_goes_on_from_any_checkpoint() {
    let options = Options {
        window_cycles: Some(1000),
        parts: true,
        ..Options::default()
    };
    assert!(goes_on(&gpu(&[]), streams, options, 7000) > 2);
}

#[test]
fn processes_that_restart_go_on() {
    let programs = || {
        let late = Participant {
            arrives_at: 3000,
            ..until("loader", &loader(40, 8), 90_000)
        };
        vec![until("adder", &adder(8, 60), 300_000), late]
    };
    let spec = gpu(&["gpu.multiprogram=even"]);
    assert!(goes_on(&spec, programs, Options::default(), 4000) > 1);
}

/// Launches that are executed without timing, blocks that are not timed, and checks of a launch go
/// on, too.
#[test]
fn parts_of_runs_go_on() {
    let loads = || {
        vec![participant(
            "loads",
            &Script::new(&[Launch(0, "inc", 9, 20), Launch(0, "load", 120, 12)], &[]),
        )]
    };
    let timed = Timed {
        blocks: TimedBlocks::OneOf(3),
        ..Timed::from(1)
    };
    let options = Options {
        timed,
        checks: Checks {
            uninitialised: true,
            ..Checks::default()
        },
        ..Options::default()
    };
    assert!(goes_on(&gpu(&[]), loads, options, 9000) > 1);
}

/// The bytes of a checkpoint of a run that its caller stops.
#[test]
fn a_stopped_run_leaves_a_checkpoint() {
    let spec = gpu(&[]);
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bytes);
    let keep = move |bytes: &[u8]| *kept.lock().expect("nobody panics") = bytes.to_vec();
    let options = Options {
        checkpoints: Some(Checkpoints::new(None, keep)),
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let stopped = session.run_mix(streams(), &mut |progress| match progress.cycles > 9000 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let stopped = stopped.unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(stopped.outcome, Outcome::Interrupted { .. }));
    let bytes = bytes.lock().expect("nobody panics");
    let straight = run(&spec, streams, Options::default());
    let report = run(&spec, streams, from(&bytes, Options::default()));
    assert_eq!(report.ok(), straight.ok());
}

fn refused(spec: &GpuSpec, programs: Programs, options: Options) -> CheckpointError {
    match run(spec, programs, options) {
        Err(RunError::Checkpoint(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_run_is_refused_by_name() {
    let spec = gpu(&[]);
    let (_, checkpoints) = saved(&spec, streams, Options::default(), 8000);
    let options = from(&checkpoints[0], Options::default());
    let other = gpu(&["gpu.seed=5", "l1d.ways=8"]);
    let CheckpointError::Keys(keys) = refused(&other, streams, options.clone()) else {
        panic!("keys differ");
    };
    let named: Vec<&str> = keys
        .iter()
        .filter_map(|key| key.split(' ').next())
        .collect();
    assert_eq!(named, ["gpu.seed", "l1d.ways"]);
    // Of another machine the first keys are named, and the others counted.
    let volta = resolve(&Base::Preset("qv100-volta".to_owned()), &[]).expect("built in");
    let CheckpointError::Keys(keys) = refused(&volta, streams, options.clone()) else {
        panic!("keys differ");
    };
    assert_eq!(keys.len(), 7, "{keys:?}");
    assert!(keys[6].ends_with("others differ, as for another `--gpu`"));
    let parts = Options {
        parts: true,
        ..options.clone()
    };
    let keys = vec!["counters by part is true and was false".to_owned()];
    assert_eq!(refused(&spec, streams, parts), CheckpointError::Keys(keys));
    let another = || {
        let mut script = script();
        script.steps[2] = Write(1, OWN + 5, 41);
        vec![participant("script", &script)]
    };
    let CheckpointError::OtherCall(other) = refused(&spec, another, options.clone()) else {
        panic!("a call differs");
    };
    assert_eq!((other.is, other.was), (CallKind::Write, CallKind::Write));
    let shorter = || vec![participant("script", &adder(2, 60))];
    let error = refused(&spec, shorter, options.clone());
    assert!(matches!(error, CheckpointError::OtherCall(_)), "{error}");
    let sampled = Options {
        sample_error: Some(0.02),
        ..options
    };
    let unsaved = CheckpointError::Unsaved("a sampled program");
    assert_eq!(refused(&spec, streams, sampled), unsaved);
}

/// A checkpoint that is cut off or damaged anywhere, or is none, is refused with the reason.
#[test]
fn damaged_checkpoints_are_refused() {
    let (_, checkpoints) = saved(&gpu(&[]), streams, Options::default(), 9000);
    let bytes = &checkpoints[0];
    let read = |bytes: &[u8]| Checkpoint::read(bytes).map(|checkpoint| checkpoint.cycle());
    assert!(read(bytes).is_ok_and(|cycle| cycle >= 9000));
    assert_eq!(read(b"PK\x03\x04 and more"), Err(CheckpointError::Foreign));
    assert_eq!(read(&[]), Err(CheckpointError::Foreign));
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let at = rng.below(bytes.len() as u32) as usize;
        let cut = read(&bytes[..at]).expect_err("bytes are missing");
        let expected = match at {
            0..8 => matches!(cut, CheckpointError::Foreign),
            _ => matches!(cut, CheckpointError::CutOff { .. }),
        };
        assert!(expected, "cut at {at}: {cut:?}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << rng.below(8);
        assert!(read(&damaged).is_err(), "damaged at {at}");
    }
    assert_eq!(
        read(&[bytes, &b"x"[..]].concat()),
        Err(CheckpointError::Damaged)
    );
}

/// A fork has other policies from the checkpoint on, and says so. With the same policies it is the
/// run itself.
#[test]
fn a_fork_has_other_policies_and_says_so() {
    let spec = gpu(&["sm.warp_scheduler=gto"]);
    let (straight, checkpoints) = saved(&spec, streams, Options::default(), 8000);
    let options = Options {
        fork: true,
        ..from(&checkpoints[0], Options::default())
    };
    let cycle = Checkpoint::read(&checkpoints[0]).map(|checkpoint| checkpoint.cycle());
    let fork = |sets: &[&str]| {
        let report = run(&gpu(sets), streams, options.clone());
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.outcome, Outcome::Finished);
        assert!(report.succeeded(), "{sets:?}: {:?}", report.checks);
        let fork = report.fork.clone().expect("it says so");
        assert_eq!(Ok(fork.cycle), cycle);
        (report, fork.changes)
    };
    let (same, changes) = fork(&["sm.warp_scheduler=gto"]);
    assert!(changes.is_empty());
    assert_eq!(RunReport { fork: None, ..same }, straight);
    for policy in warploom_policy::all() {
        let fits = policy.key == "sm.warp_scheduler" && !["gto", "locality"].contains(&policy.name);
        if fits || policy.key == "sm.block_limit" && policy.name != "none" {
            let set = format!("{}={}", policy.key, policy.name);
            let (_, changes) = fork(&["sm.warp_scheduler=gto", &set]);
            let was = if fits { "gto" } else { "none" };
            let change = format!("{} is {} and was {was}", policy.key, policy.name);
            assert!(changes.contains(&change), "{changes:?}");
        }
    }
    let keys = ["sm.warp_scheduler=locality", "l1d.replacement=fifo"];
    for (at, key) in keys.into_iter().enumerate() {
        let error = refused(&gpu(&[key]), streams, options.clone());
        let CheckpointError::Unforkable(named) = error else {
            panic!("{error}");
        };
        assert!(
            at == 0 || named == ["l1d.replacement is fifo and was lru"],
            "{named:?}"
        );
    }
}
