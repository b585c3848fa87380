//! Tests of runs without timing: values and instruction counts equal those of timed runs, and how
//! runs end.

use std::ops::ControlFlow;
use warploom_base::{Dim3, LaneMask, Pc, lanes_of};
use warploom_config::preset;
use warploom_exec::{Effect, LaunchContext, Observer, StepOut};
use warploom_ir::MemSpace;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// Enough for the analysis of the code before its execution.
const BLOCKS: u32 = 50;
const THREADS: u32 = 64;

/// A kernel in which every thread writes the square of its number, with a barrier in between.
const SQUARES: &str = "
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    bar.sync 0;
    mul.lo.u32 %r5, %r4, %r4;
    ld.param.u64 %rd1, [buf];
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    st.global.u32 [%rd2], %r5;
    ret;";

/// A kernel whose lanes leave a loop at different times, wait, read the clock, and store, load and
/// store again.
const MIXED: &str = "
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    and.b32 %r5, %r3, 3;
    mov.u32 %r6, 0;
LOOP:
    mad.lo.u32 %r6, %r6, 3, %r4;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 sub.u32 %r5, %r5, 1;
    @%p1 bra LOOP;
    bar.sync 0;
    mov.u32 %r7, %clock;
    add.u32 %r6, %r6, %r7;
    ld.param.u64 %rd1, [buf];
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    st.global.u32 [%rd2], %r6;
    ld.global.u32 %r5, [%rd2];
    @%p1 add.u32 %r5, %r5, 1;
    st.global.u32 [%rd2], %r5;
    ret;";

/// A kernel with values that are the same in all threads of a launch: a parameter, an extent,
/// numbers and copies of them, some of which threads replace by others, or only in a loop.
const ALIKE: &str = "
    ld.param.u64 %rd1, [buf];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r2, %r1, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd1, %rd2, %rd3;
    mov.u32 %r5, 7;
    mov.u32 %r6, %r5;
    and.b32 %r7, %r3, 3;
    setp.gt.u32 %p1, %r7, 1;
    @%p1 mov.u32 %r5, %r4;
LOOP:
    mad.lo.u32 %r6, %r6, 3, %r5;
    mov.u32 %r5, %r1;
    sub.u32 %r7, %r7, 1;
    setp.ge.s32 %p1, %r7, 0;
    @%p1 bra LOOP;
    mov.u32 %r2, 5;
    st.global.u32 [%rd1], %r6;
    bar.sync 0;
    mad.lo.u32 %r6, %r2, %r1, %r6;
    st.global.u32 [%rd1], %r6;
    ret;";

/// Accesses and numbers of instructions that an observer sees.
#[derive(Default)]
struct Seen {
    follows_all: bool,
    /// Warps that accessed memory: rank of the block, index of the warp, program counter, lanes and
    /// their addresses.
    accesses: Vec<(u64, u32, Pc, LaneMask, Vec<u64>)>,
    /// Number of instructions that were passed, and of those that were followed one by one.
    passed: u64,
    followed: u64,
}

impl Observer for Seen {
    fn begin(&mut self, _: &LaunchContext) {}

    fn stepped(&mut self, block: u64, warp: u32, out: &StepOut) {
        let accesses = matches!(out.effect, Effect::Memory(_));
        // Not all loads of parameters are reported.
        if matches!(out.effect, Effect::Memory(effect) if effect.space != MemSpace::Param) {
            let addrs = lanes_of(out.active).map(|lane| out.addrs[lane]);
            let access = (block, warp, out.pc, out.active, addrs.collect());
            self.accesses.push(access);
        }
        self.followed += u64::from(self.follows_all || !accesses);
    }

    fn follows_all(&self) -> bool {
        self.follows_all
    }

    fn passed(&mut self, _: Pc, count: u32) {
        self.passed += u64::from(count);
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {}
}

struct Program {
    body: &'static str,
    buffer: Option<DevicePtr>,
}

impl Program {
    fn new(body: &'static str) -> Self {
        Self { body, buffer: None }
    }
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffer.is_some() {
            return Ok(HostAction::Done);
        }
        let ptx = format!(
            ".version 7.0\n.target sm_50\n.address_size 64\n\
             .visible .entry k(.param .u64 buf) {{\n\
             .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n{}\n}}\n",
            self.body
        );
        let module = device.load_ptx("k.ptx", &ptx)?;
        let buffer = device.alloc_slice(&vec![0u32; (BLOCKS * THREADS) as usize])?;
        self.buffer = Some(buffer);
        let (grid, block) = (Dim3::linear(BLOCKS), Dim3::linear(THREADS));
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let buffer = self.buffer.expect("the launch came before");
        let output = device.output::<u32>(buffer, (BLOCKS * THREADS) as usize)?;
        let values = output.values().iter().enumerate();
        let computed: Vec<_> = values.filter(|(at, _)| output.is_computed(*at)).collect();
        let passed = computed
            .iter()
            .all(|(at, value)| **value as usize == at * at);
        let (name, detail) = ("squares".to_owned(), String::new());
        Ok(vec![Check {
            name,
            passed,
            detail,
            compared: computed.len() as u64,
        }])
    }
}

fn session() -> Session {
    let spec = preset("gtx480").expect("a built-in preset");
    Session::new(spec, Options::default())
}

#[test]
fn values_and_counts_are_those_of_a_timed_run() {
    let report = session()
        .run_functional(&mut Program::new(SQUARES))
        .unwrap();
    let [(kernel, counts)] = &report.launches[..] else {
        panic!("one launch");
    };
    assert_eq!((report.outcome, kernel.as_str()), (Outcome::Finished, "k"));
    assert!(report.checks.iter().all(|check| check.passed));
    assert_eq!(report.checks.len(), 1);
    let mut program = Program::new(SQUARES);
    let timed = session()
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let figures = &timed.totals.figures;
    assert_eq!(counts.warp_instructions, figures.warp_instructions);
    assert_eq!(counts.thread_instructions, figures.thread_instructions);
    assert_eq!(
        counts.warp_instructions,
        u64::from(BLOCKS * THREADS / 32) * 10
    );
}

/// Rows of instructions are executed together for an observer that does not need each one. It sees
/// the same accesses, and the program does the same.
#[test]
fn rows_of_instructions_do_what_single_ones_do() {
    let run = |body, follows_all| {
        let mut seen = Seen {
            follows_all,
            ..Seen::default()
        };
        let mut program = Program::new(body);
        let run = session().run_observed(&mut program, &mut seen).unwrap();
        (run, seen)
    };
    let warps = u64::from(BLOCKS * THREADS / 32);
    // Of `MIXED`, each warp executes a read of the clock by itself.
    for (body, by_itself) in [(MIXED, warps), (ALIKE, 0)] {
        let ((rows, of_rows), (single, of_single)) = (run(body, false), run(body, true));
        let unobserved = session().run_functional(&mut Program::new(body)).unwrap();
        assert_eq!(unobserved.memory, single.memory);
        assert_eq!(
            (rows.memory, &rows.launches),
            (single.memory, &single.launches)
        );
        assert_eq!(of_rows.accesses, of_single.accesses);
        let executed = single.launches[0].1.warp_instructions;
        assert_eq!((of_single.passed, of_single.followed), (0, executed));
        assert_eq!((of_rows.passed, of_rows.followed), (executed, by_itself));
    }
}

/// A block of two warps executes 20 instructions.
#[test]
fn first_blocks_are_checked_where_they_wrote() {
    let run = |instructions| {
        let mut gpu = preset("gtx480").expect("a built-in preset");
        gpu.gpu.sms = 1;
        gpu.sm.max_blocks = 1;
        let session = Session::new(gpu, Options::default());
        let run = session.run_first_blocks(&mut Program::new(SQUARES), instructions);
        let run = run.unwrap();
        let [(_, counts)] = &run.launches[..] else {
            panic!("one launch");
        };
        assert_eq!((run.outcome, run.checks.len()), (Outcome::Finished, 1));
        assert!(run.checks[0].passed);
        (counts.blocks, run.checks[0].compared, run.whole)
    };
    assert_eq!(run(1), (1, 64, false));
    assert_eq!(run(20), (1, 64, false));
    assert_eq!(run(21), (2, 128, false));
    let (blocks, threads) = (BLOCKS.into(), (BLOCKS * THREADS).into());
    assert_eq!(run(10_000), (blocks, threads, true));
}

#[test]
fn a_fault_ends_the_run_without_checks() {
    let report = session()
        .run_functional(&mut Program::new("trap;"))
        .unwrap();
    assert!(
        matches!(report.outcome, Outcome::Fault { .. }),
        "{:?}",
        report.outcome
    );
    assert!(report.checks.is_empty());
}

#[test]
fn warps_that_wait_for_ever_are_a_deadlock() {
    // Warp 0 waits at a barrier for the whole block, warp 1 at another one.
    let body = "
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        barrier.sync %r2, 64;
        ret;";
    let report = session().run_functional(&mut Program::new(body)).unwrap();
    assert!(
        matches!(report.outcome, Outcome::Deadlock { .. }),
        "{:?}",
        report.outcome
    );
}
