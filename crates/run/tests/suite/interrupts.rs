//! Tests of runs that the caller stops: timed, without timing, and sampled.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Device, HostAction, HostError, HostProgram, Launch, Options, Session, Stopped,
    Timed, TimedBlocks,
};
use warploom_stats::result::{Outcome, RunReport};

const BLOCKS: u32 = 2000;

/// Program that launches a short kernel and then a long one, each several blocks, and notes why it
/// was stopped.
struct TwoKernels {
    launched: u32,
    module: Option<warploom_run::ModuleId>,
    why: Arc<Mutex<Option<Stopped>>>,
}

const PTX: &str = ".version 7.0\n.target sm_50\n.address_size 64\n\
    .visible .entry short() { ret; }\n\
    .visible .entry long(.param .u32 n) { .reg .pred %p; .reg .b32 %r<3>;\n\
    ld.param.u32 %r1, [n]; mov.u32 %r0, 0;\n\
    again: add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, %r1; @%p bra again; ret; }\n";

impl HostProgram for TwoKernels {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let module = match self.module {
            Some(module) => module,
            None => *self.module.insert(device.load_ptx("two.ptx", PTX)?),
        };
        self.launched += 1;
        let launch = |name, args| {
            let (grid, block) = (Dim3::linear(BLOCKS), Dim3::linear(64));
            Ok(HostAction::Launch(Launch::new(
                module, name, grid, block, args,
            )))
        };
        match self.launched {
            1 => launch("short", Vec::new()),
            2 => launch("long", vec![Arg::U32(1000)]),
            _ => Ok(HostAction::Done),
        }
    }

    fn stopped(&mut self, why: Stopped) {
        *self.why.lock().unwrap() = Some(why);
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        panic!("outputs of a stopped run are not compared");
    }
}

/// Result of a run that is stopped as soon as `enough` blocks of the long kernel have ended, with
/// the options of the run.
fn stopped(options: Options, enough: u64) -> RunReport {
    let why = Arc::default();
    let mut program = TwoKernels {
        launched: 0,
        module: None,
        why: Arc::clone(&why),
    };
    let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    let run = Session::new(gpu, options).run(&mut program, &mut |progress| match progress.kernel
        == "long"
        && progress.blocks.0 >= enough
    {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    assert_eq!(*why.lock().unwrap(), Some(Stopped::Interrupted));
    run.unwrap_or_else(|error| panic!("{error}"))
}

/// Number of blocks of the long kernel that had ended.
fn blocks_ended(report: &RunReport) -> u64 {
    match &report.outcome {
        Outcome::Interrupted {
            kernel,
            blocks_ended,
            blocks,
            ..
        } => {
            assert_eq!((kernel.as_str(), *blocks), ("long", u64::from(BLOCKS)));
            *blocks_ended
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_timed_run_reports_what_it_has() {
    let report = stopped(Options::default(), 200);
    let ended = blocks_ended(&report);
    assert!((200..1000).contains(&ended), "{ended}");
    assert!(!report.succeeded() && report.checks.is_empty());
    let Outcome::Interrupted { waits, .. } = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    let is_place = |line: &String| line.contains("of `long`, warp ") && line.contains(" line ");
    assert!(!waits.is_empty() && waits.iter().all(is_place), "{waits:?}");
    let [short, long] = report.kernels.as_slice() else {
        panic!("{} launches", report.kernels.len());
    };
    assert_eq!(
        short.figures.statistics["sm.blocks_started"],
        u64::from(BLOCKS)
    );
    let started = long.figures.statistics["sm.blocks_started"];
    assert!((ended..u64::from(BLOCKS)).contains(&started), "{started}");
    assert!(report.totals.figures.cycles > short.figures.cycles);
}

#[test]
fn a_run_without_timing_reports_the_launches_that_ended() {
    let functional = Options {
        functional: true,
        ..Options::default()
    };
    let report = stopped(functional, 200);
    let ended = blocks_ended(&report);
    assert!((200..1000).contains(&ended), "{ended}");
    let names: Vec<_> = report.kernels.iter().map(|kernel| &kernel.name).collect();
    assert_eq!(names, ["short"]);
    // The rate counts what the long kernel had executed: 200 blocks of two warps, each 1000 times
    // three instructions.
    let executed = report.warp_instructions_per_second * report.wall_seconds;
    assert!(executed > 1_200_000.0, "{executed}");
    assert!(report.totals.figures.warp_instructions < 10_000);
}

/// Launches and blocks that a timed run only executes can be stopped, too.
#[test]
fn parts_without_timing_are_stopped() {
    let skipped = Options {
        timed: Timed {
            kernels: vec!["short".to_owned()],
            ..Timed::default()
        },
        ..Options::default()
    };
    let report = stopped(skipped, 200);
    let ended = blocks_ended(&report);
    assert!((200..1000).contains(&ended), "{ended}");
    let gap = Options {
        timed: Timed {
            blocks: TimedBlocks::Range(1000..1200),
            ..Timed::default()
        },
        ..Options::default()
    };
    blocks_ended(&stopped(gap, 200));
}
