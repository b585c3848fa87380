//! Tests of sampled runs that share a pass over their program: each has the result that it has
//! alone.

use crate::results::results;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_run::{
    AddressMode, Arg, ChannelKind, Check, Device, DevicePtr, HostAction, HostError, HostProgram,
    Launch, ModuleId, OnMachine, Options, Session, Texture,
};
use warploom_stats::result::{Outcome, RunReport};

const THREADS: u32 = 128;
const BLOCKS: u32 = 24;
const ELEMENTS: u32 = BLOCKS * THREADS;
const LAUNCHES: u32 = 36;

/// Each thread adds a scattered element to its own, and stores the sum in the other buffer.
const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry mix(.param .u64 from, .param .u64 to, .param .u32 step, .param .u64 texture) {
.reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [to];
ld.param.u32 %r9, [step];
ld.param.u64 %rd9, [texture];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd1, %rd3;
add.u64 %rd5, %rd2, %rd3;
ld.global.u32 %r4, [%rd4];
mad.lo.u32 %r5, %r3, 37, %r9;
rem.u32 %r5, %r5, ELEMENTS;
mul.wide.u32 %rd6, %r5, 4;
add.u64 %rd7, %rd1, %rd6;
ld.global.u32 %r6, [%rd7];
add.u32 %r7, %r4, %r6;
READ
st.global.u32 [%rd5], %r7;
ret;
}
.visible .entry order(.param .u64 counter, .param .u64 to) {
.reg .b32 %r<6>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [counter];
ld.param.u64 %rd2, [to];
mov.u32 %r1, %ctaid.x;
atom.global.add.u32 %r2, [%rd1], 1;
mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r2;
ret;
}
";

/// A program of launches of two sizes, whose host reads and writes in between.
#[derive(Default)]
struct Mixing {
    textures: bool,
    /// Launches `order` at the end, whose result depends on the order of blocks.
    racing: bool,
    /// Reads the time of every fourth launch.
    timing: bool,
    module: Option<ModuleId>,
    buffers: [Option<DevicePtr>; 2],
    texture: u64,
    launched: u32,
    marks: u64,
    read: u64,
}

impl Mixing {
    fn module(&mut self, device: &mut Device) -> Result<ModuleId, HostError> {
        if let Some(module) = self.module {
            return Ok(module);
        }
        let fetch = "mov.u32 %r10, %r1;\ntex.1d.v4.u32.s32 {%r11, %r12, %r13, %r14}, [%rd9, {%r10}];\n\
                     add.u32 %r7, %r7, %r11;";
        let ptx = PTX.replace("ELEMENTS", &ELEMENTS.to_string());
        let ptx = ptx.replace("READ", if self.textures { fetch } else { "" });
        let module = device.load_ptx("mix.ptx", &ptx)?;
        let values: Vec<u32> = (0..ELEMENTS).collect();
        let own = device.alloc_slice(&values)?;
        self.buffers = [Some(own), Some(device.alloc(u64::from(ELEMENTS) * 4)?)];
        self.texture = device.texture_object(Texture {
            base: own.0,
            width: THREADS,
            height: 1,
            depth: 1,
            layers: 1,
            pitch: 4 * THREADS,
            channels: 1,
            channel_bits: 32,
            kind: ChannelKind::Unsigned,
            normalized: false,
            address: [AddressMode::Clamp; 3],
            linear: false,
        });
        Ok(*self.module.insert(module))
    }
}

impl HostProgram for Mixing {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let module = self.module(device)?;
        let [from, to] = self.buffers.map(|buffer| buffer.expect("it was allocated"));
        self.launched += 1;
        let number = self.launched;
        if self.timing && number.is_multiple_of(4) && self.marks < u64::from(number / 4) {
            self.launched -= 1;
            self.marks += 1;
            let mark = self.marks;
            return Ok(HostAction::Mark { stream: 0, mark });
        }
        if number > LAUNCHES {
            return Ok(HostAction::Done);
        }
        if self.racing && number > LAUNCHES - 6 {
            let args = vec![Arg::Pointer(from), Arg::Pointer(to)];
            let (grid, block) = (Dim3::linear(BLOCKS), Dim3::linear(1));
            return Ok(HostAction::Launch(Launch::new(
                module, "order", grid, block, args,
            )));
        }
        if number.is_multiple_of(9) {
            let some: Vec<u32> = device.read_vec(from, 16)?;
            self.read = self.read.wrapping_mul(31) + u64::from(some[3]);
            device.write_slice(to.offset(64), &[self.read as u32; 24])?;
        }
        self.buffers.swap(0, 1);
        let blocks = if number.is_multiple_of(3) {
            BLOCKS / 6
        } else {
            BLOCKS
        };
        let (grid, block) = (Dim3::linear(blocks), Dim3::linear(THREADS));
        let args = vec![
            Arg::Pointer(from),
            Arg::Pointer(to),
            Arg::U32(number * 11),
            Arg::U64(self.texture),
        ];
        Ok(HostAction::Launch(Launch::new(
            module, "mix", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let [from, _] = self.buffers.map(|buffer| buffer.expect("it was allocated"));
        let all: Vec<u32> = device.read_vec(from, ELEMENTS as usize)?;
        let sum: u64 = all.into_iter().map(u64::from).sum();
        Ok(vec![Check {
            name: "sum".to_owned(),
            passed: true,
            detail: format!("{sum} {}", self.read),
            compared: 1,
        }])
    }
}

fn machine(gpu: &str, sets: &[&str]) -> GpuSpec {
    let sets = sets.iter().map(|set| (*set).to_owned());
    let sets: Vec<String> = sets.chain(["gpu.sms=4".to_owned()]).collect();
    resolve(&Base::Preset(gpu.to_owned()), &sets).expect("a machine")
}

fn session(spec: &GpuSpec) -> Session {
    let options = Options {
        memory_bytes: 1 << 24,
        sample_error: Some(0.02),
        ..Options::default()
    };
    Session::new(spec.clone(), options)
}

fn go_on() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn alone(spec: &GpuSpec, mut program: Mixing) -> RunReport {
    let report = session(spec).run(&mut program, &mut |_| go_on());
    report.unwrap_or_else(|error| panic!("{error}"))
}

fn together(specs: &[GpuSpec], mut program: Mixing) -> Vec<OnMachine> {
    let sessions: Vec<Session> = specs.iter().map(session).collect();
    let ran = Session::run_together(&sessions, &mut program, &mut |_, _| go_on());
    ran.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a program on all machines at once and on each alone, and compares everything.
fn check(specs: &[GpuSpec], program: impl Fn() -> Mixing) -> Vec<RunReport> {
    let ran = together(specs, program());
    let reports = ran.into_iter().zip(specs).map(|(ran, spec)| {
        let OnMachine::Ran(report) = ran else {
            panic!("{ran:?}");
        };
        let alone = alone(spec, program());
        assert_eq!(report.outcome, Outcome::Finished);
        assert_eq!(report.sampling, alone.sampling);
        assert_eq!(results(&report), results(&alone));
        assert_eq!(report.checks, alone.checks);
        *report
    });
    reports.collect()
}

#[test]
fn schedulers_share_a_pass() {
    let schedulers = ["lrr", "gto", "two-level", "oldest"]
        .map(|name| machine("gtx480", &[&format!("sm.warp_scheduler={name}")]));
    let reports = check(&schedulers, Mixing::default);
    let timed = |report: &RunReport| report.sampling.as_ref().expect("sampled").timed;
    assert!(
        reports
            .iter()
            .all(|report| timed(report) < u64::from(LAUNCHES))
    );
    let cycles = |report: &RunReport| report.totals.figures.cycles;
    assert_ne!(cycles(&reports[0]), cycles(&reports[1]));
}

/// Machines with other caches have other sizes of launches, and other plans.
#[test]
fn machines_with_other_caches_share_a_pass() {
    let sets: [&[&str]; 4] = [
        &[],
        &["l1d.ways=8"],
        &["l2.ways=2"],
        &[
            "gpu.copies_warm_l2=false",
            "gpu.flush_l1_at_kernel_end=false",
        ],
    ];
    let machines = sets.map(|sets| machine("gtx480-gpgpusim4", sets));
    check(&machines, Mixing::default);
}

/// A machine that holds the whole grid takes blocks in the same order as one that holds more.
#[test]
fn machines_of_which_each_holds_the_grid_share_a_pass() {
    let machines = ["gpu.kernel_launch_cycles=100", "gpu.max_blocks_per_sm=7"]
        .map(|set| machine("gtx480", &[set]));
    check(&machines, Mixing::default);
}

/// Texture caches keep their lines, so that it matters which SM reads what.
#[test]
fn textures_are_read_on_the_sms_of_each_machine() {
    let sets: [&[&str]; 3] = [
        &["sm.warp_scheduler=lrr"],
        &["sm.warp_scheduler=gto"],
        &["sm.warp_scheduler=gto", "gpu.kernel_launch_cycles=500"],
    ];
    for gpu in ["gtx480", "rtx2060-turing"] {
        let machines = sets.map(|sets| machine(gpu, sets));
        check(&machines, || Mixing {
            textures: true,
            ..Mixing::default()
        });
    }
}

/// Machines that hold another number of blocks at once run them in another order.
#[test]
fn machines_that_may_do_something_else_are_apart() {
    let one = machine("gtx480", &[]);
    let fewer = machine("gtx480", &["gpu.max_blocks_per_sm=2"]);
    let other = machine("qv100-volta", &[]);
    let ran = together(&[one.clone(), fewer, other, one], Mixing::default());
    let why = |ran: &OnMachine| match ran {
        OnMachine::Ran(_) => String::new(),
        OnMachine::Apart(why) => why.clone(),
    };
    let why: Vec<String> = ran.iter().map(why).collect();
    assert!(why[0].is_empty() && why[3].is_empty(), "{why:?}");
    assert!(
        why[1].contains("holds 8 blocks of `mix` at once"),
        "{why:?}"
    );
    assert!(why[2].contains("its machine"), "{why:?}");
}

/// A program that may read the time does not do the same on two machines.
#[test]
fn a_program_that_reads_the_time_has_a_pass_for_each_machine() {
    let machines =
        ["lrr", "gto"].map(|name| machine("gtx480", &[&format!("sm.warp_scheduler={name}")]));
    let timing = || Mixing {
        timing: true,
        ..Mixing::default()
    };
    let ran = together(&machines, timing());
    let [OnMachine::Ran(first), OnMachine::Apart(why)] = ran.as_slice() else {
        panic!("{ran:?}");
    };
    assert_eq!(results(first), results(&alone(&machines[0], timing())));
    assert!(why.contains("read the time"), "{why}");
}

/// Launches whose results depend on the order of blocks are counted, and the program goes on with
/// those of the execution, on every machine.
#[test]
fn other_results_of_a_timed_launch_are_told() {
    let machines =
        ["lrr", "gto"].map(|name| machine("gtx480", &[&format!("sm.warp_scheduler={name}")]));
    let reports = check(&machines, || Mixing {
        racing: true,
        ..Mixing::default()
    });
    let differing = |report: &RunReport| report.sampling.as_ref().expect("sampled").differing;
    assert!(differing(&reports[0]) > 0);
    let checks = |report: &RunReport| report.checks.clone();
    assert_eq!(checks(&reports[0]), checks(&reports[1]));
    let quiet = check(&machines[..1], Mixing::default);
    assert_eq!(differing(&quiet[0]), 0);
}

/// A run that is stopped takes the others of its pass with it.
#[test]
fn runs_of_a_pass_are_stopped_together() {
    let machines = ["lrr", "gto"].map(|name| {
        let scheduler = format!("sm.warp_scheduler={name}");
        machine("gtx480", &[&scheduler, "gpu.kernel_launch_cycles=20000"])
    });
    let sessions: Vec<Session> = machines.iter().map(session).collect();
    let mut program = Mixing::default();
    let mut calls = 0;
    let ran = Session::run_together(&sessions, &mut program, &mut |_, progress| {
        calls += u32::from(progress.timed);
        match calls {
            2.. => ControlFlow::Break(()),
            _ => go_on(),
        }
    });
    for ran in ran.expect("it ran") {
        let OnMachine::Ran(report) = ran else {
            panic!("{ran:?}");
        };
        assert!(matches!(report.outcome, Outcome::Interrupted { .. }));
        assert_eq!(report.sampling, None);
    }
}
