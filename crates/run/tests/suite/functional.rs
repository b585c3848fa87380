//! Tests of runs without timing: values and instruction counts equal those of timed runs, and how
//! runs end.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

const BLOCKS: u32 = 5;
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
             .reg .b32 %r<8>; .reg .b64 %rd<4>;\n{}\n}}\n",
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
    assert_eq!(run(1000), (5, 320, true));
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
