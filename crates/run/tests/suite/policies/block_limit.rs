//! Block limits in the whole machine.

use super::{SCATTER, count, results, run_with, same_always, spec};
use std::ops::ControlFlow;
use warploom_base::{Cycle, Dim3, SmId};
use warploom_policy::{BlockLimit, MultiprogramView};
use warploom_run::{
    Arg, Check, CustomPolicies, Device, DevicePtr, HostAction, HostError, HostProgram, Launch,
    Make, Options, Session,
};
use warploom_state::State;
use warploom_stats::result::{Outcome, RunReport};

/// Mean number of resident warps of an SM with blocks.
fn warps(report: &RunReport) -> f64 {
    let resident = count(report, "sm.resident_warp_cycles") as f64;
    resident / count(report, "sm.active_cycles") as f64
}

/// The statistics of the limit add up: a decision an SM and window, and the blocks allowed.
#[test]
fn dyncta_runs_fewer_blocks_where_memory_is_slow() {
    let room = "gpu.max_blocks_per_sm=4";
    let all = super::scatter(&spec(&[room]), 1);
    assert_eq!(count(&all, "block_limit.decisions"), 0);
    let limit = "sm.block_limit=dyncta";
    let window = "dyncta.window_cycles=512";
    let report = same_always(&[
        room,
        limit,
        window,
        "dyncta.memory_low_cycles=0",
        "dyncta.idle_cycles=300",
    ]);
    let [decisions, up, down, allowed] = ["decisions", "steps_up", "steps_down", "blocks_allowed"]
        .map(|name| count(&report, &format!("block_limit.{name}")));
    assert!(decisions > 40 && decisions % 4 == 0, "{decisions}");
    assert!(up > 0 && down > 4, "{up} up, {down} down");
    assert!(allowed >= decisions && allowed < 4 * decisions, "{allowed}");
    assert!(warps(&report) < warps(&all), "{} warps", warps(&report));
    assert_eq!(count(&report, "sm.blocks_finished"), 24);
}

/// A kernel of long independent chains of arithmetic, of which one block keeps an SM busy.
pub(super) const COMPUTE: &str = "
    mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;
    mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    mov.f32 %f5, %f1; mov.f32 %f6, %f1; mov.f32 %f7, %f1;
    mov.u32 %r2, 60;
again:
    fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f2, %f2, %f2, %f2;
    fma.rn.f32 %f3, %f3, %f3, %f3; fma.rn.f32 %f4, %f4, %f4, %f4;
    fma.rn.f32 %f5, %f5, %f5, %f5; fma.rn.f32 %f6, %f6, %f6, %f6;
    fma.rn.f32 %f7, %f7, %f7, %f7;
    sub.u32 %r2, %r2, 1; setp.gt.u32 %p1, %r2, 0;
    @%p1 bra again;
    mul.lo.u32 %r3, %r1, 4; cvt.u64.u32 %rd2, %r3; add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f7;
";

/// A block that computes keeps an SM busy, so that the first one to end leaves few instructions to
/// the others. Four blocks that read memory have issued nearly as many each.
#[test]
fn lcs_needs_fewer_blocks_where_one_keeps_an_sm_busy() {
    let sets = [
        "gpu.max_blocks_per_sm=4",
        "sm.block_limit=lcs",
        "sm.warp_scheduler=gto",
    ];
    let counts = |report: &RunReport| {
        ["decisions", "steps_down", "blocks_allowed", "steps_up"]
            .map(|name| count(report, &format!("block_limit.{name}")))
    };
    let computes = run_with(
        &spec(&sets),
        (COMPUTE, 24, 256),
        1,
        CustomPolicies::default(),
    );
    let [decisions, down, allowed, up] = counts(&computes);
    assert_eq!((decisions, down, up), (4, 4, 0), "one an SM");
    assert!(allowed <= 3 * 4, "{allowed}");
    assert_eq!(count(&computes, "sm.blocks_finished"), 24);
    let loads = same_always(&sets);
    let [decisions, _, loads_allowed, _] = counts(&loads);
    assert!(decisions == 4 && loads_allowed > allowed, "{loads_allowed}");
    let free = super::scatter(&spec(&sets[..1]), 1);
    assert_eq!(count(&free, "block_limit.decisions"), 0);
}

/// Equalizer takes blocks from an SM whose warps queue for the load/store pipe.
#[test]
fn equalizer_runs_fewer_blocks_where_warps_queue_for_memory() {
    let sets = [
        "gpu.max_blocks_per_sm=4",
        "sm.block_limit=equalizer",
        "equalizer.sample_cycles=32",
        "equalizer.epoch_cycles=256",
        "equalizer.epochs=2",
    ];
    let report = same_always(&sets);
    let [decisions, down] =
        ["decisions", "steps_down"].map(|name| count(&report, &format!("block_limit.{name}")));
    assert!(decisions > 100 && decisions % 4 == 0, "{decisions}");
    assert!(down > 4, "{down}");
    let all = super::scatter(&spec(&sets[..1]), 1);
    assert!(warps(&report) < warps(&all), "{} warps", warps(&report));
}

/// A limit that falls from all blocks to one in cycle 2000.
#[derive(State)]
struct Falls(bool);

impl BlockLimit for Falls {
    fn next_check(&self) -> Cycle {
        if self.0 { Cycle::MAX } else { 2000 }
    }
    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.0 |= view.now >= 2000;
    }
    fn limit(&self, _: SmId) -> u32 {
        if self.0 { 1 } else { u32::MAX }
    }
    fn pauses(&self) -> bool {
        true
    }
}

/// The same limit, under which the blocks beyond it go on as before.
#[derive(State)]
struct Drains(Falls);

impl BlockLimit for Drains {
    fn next_check(&self) -> Cycle {
        self.0.next_check()
    }
    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.0.update(view);
    }
    fn limit(&self, sm: SmId) -> u32 {
        self.0.limit(sm)
    }
}

/// Paused blocks issue last, so that pausing changes the times of blocks that are there already;
/// threads and skipped cycles make no difference. Schedulers of every kind have paused warps.
#[test]
fn paused_blocks_issue_last() {
    for scheduler in ["lrr", "gto", "two-level"] {
        let mut spec = spec(&[
            "gpu.max_blocks_per_sm=4",
            &format!("sm.warp_scheduler={scheduler}"),
        ]);
        let with = |own: &CustomPolicies, spec: &_, threads| {
            run_with(spec, (SCATTER, 24, 256), threads, own.clone())
        };
        let falls = CustomPolicies {
            block_limit: Some(Make::<dyn BlockLimit>::new(|_| Box::new(Falls(false)))),
            ..CustomPolicies::default()
        };
        let drains = CustomPolicies {
            block_limit: Some(Make::<dyn BlockLimit>::new(|_| {
                Box::new(Drains(Falls(false)))
            })),
            ..CustomPolicies::default()
        };
        let paused = with(&falls, &spec, 1);
        let drained = with(&drains, &spec, 1);
        let cycles = |report: &RunReport| report.totals.figures.cycles;
        assert_ne!(cycles(&paused), cycles(&drained), "{scheduler}");
        assert_eq!(
            results(&with(&falls, &spec, 3)),
            results(&paused),
            "{scheduler}"
        );
        spec.sim.skip_idle = false;
        assert_eq!(
            results(&with(&falls, &spec, 1)),
            results(&paused),
            "{scheduler}"
        );
    }
}

/// A kernel whose blocks wait until all of them have come, as at a grid barrier.
struct Meets {
    is_cooperative: bool,
    buffer: Option<DevicePtr>,
}

const MEETS: &str = ".version 7.0
.target sm_50
.address_size 64
.visible .entry k(.param .u64 buf) {
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [buf];
    atom.global.add.u32 %r1, [%rd1], 1;
again:
    ld.volatile.global.u32 %r2, [%rd1];
    setp.lt.u32 %p1, %r2, 512;
    @%p1 bra again;
    ret;
}
";

impl HostProgram for Meets {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffer.is_some() {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("meets.ptx", MEETS)?;
        let buffer = device.alloc_slice(&[0_u32; 8])?;
        self.buffer = Some(buffer);
        let args = vec![Arg::Pointer(buffer)];
        let shape = (Dim3::linear(16), Dim3::linear(32));
        let launch = Launch::new(module, "k", shape.0, shape.1, args);
        let workspace = self.is_cooperative.then_some(buffer);
        Ok(HostAction::Launch(Launch {
            workspace,
            ..launch
        }))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// All blocks of a cooperative launch are resident at once, whatever the limit. The same kernel
/// without the promise waits for ever for blocks that do not start.
#[test]
fn cooperative_launches_are_not_limited() {
    let spec = spec(&["gpu.max_blocks_per_sm=4", "sm.block_limit=dyncta"]);
    let outcome = |is_cooperative| {
        let mut program = Meets {
            is_cooperative,
            buffer: None,
        };
        let session = Session::new(spec.clone(), Options::default());
        let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
        report.expect("the kernel is sound").outcome
    };
    assert_eq!(outcome(true), Outcome::Finished);
    assert_ne!(outcome(false), Outcome::Finished);
}

/// A limit counts whole blocks, and its thresholds have an order.
#[test]
fn impossible_limits_are_refused() {
    for (sets, says) in [
        (["sm.block_limit=dyncta", "sm.context=duet"], "whole blocks"),
        (
            ["sm.block_limit=dyncta", "dyncta.memory_low_cycles=385"],
            "above",
        ),
        (
            ["sm.block_limit=lcs", "sm.max_threads=4096"],
            "64 warp slots",
        ),
        (
            ["sm.block_limit=equalizer", "equalizer.epoch_cycles=100"],
            "before its first sample",
        ),
        (["sm.block_limit=dynkta", "gpu.sms=4"], "dyncta"),
    ] {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let base = warploom_config::Base::Preset("gtx480".to_owned());
        let errors = warploom_config::resolve(&base, &sets).expect_err("refused");
        let text = errors.to_string();
        assert!(text.contains(says), "{sets:?}: {text}");
    }
}
