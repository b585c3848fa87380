//! What the simulated program does wrong is a result, with its place: in timed runs and in runs
//! without timing.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Checks, Device, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::{Outcome, RunReport};

struct OneKernel {
    body: &'static str,
    block: u32,
    launched: bool,
}

impl HostProgram for OneKernel {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if std::mem::replace(&mut self.launched, true) {
            return Ok(HostAction::Done);
        }
        let ptx = format!(
            ".version 7.0\n.target sm_50\n.address_size 64\n\
             .visible .entry k(.param .u64 buf) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n\
             .shared .align 4 .b8 s[1024];\n\
             ld.param.u64 %rd1, [buf]; cvta.to.global.u64 %rd1, %rd1;\n\
             mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n{}\nret;\n}}\n",
            self.body
        );
        let module = device.load_ptx("test.ptx", &ptx)?;
        let buffer = device.alloc(256)?;
        device.fill(buffer, 0, 128)?;
        let (grid, block) = (Dim3::linear(1), Dim3::linear(self.block));
        Ok(HostAction::Launch(Launch::new(
            module,
            "k",
            grid,
            block,
            vec![Arg::Pointer(buffer)],
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

fn run(body: &'static str, block: u32, functional: bool, checks: Checks) -> RunReport {
    let options = Options {
        functional,
        checks,
        ..Options::default()
    };
    let session = Session::new(preset("gtx480").expect("a built-in preset"), options);
    let mut program = OneKernel {
        body,
        block,
        launched: false,
    };
    session
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("a sound launch")
}

/// Runs both ways and gives the messages of how the runs ended.
fn messages(body: &'static str, block: u32) -> [String; 2] {
    [false, true].map(
        |functional| match run(body, block, functional, Checks::default()).outcome {
            Outcome::Fault { message }
            | Outcome::Deadlock { message }
            | Outcome::Livelock { message } => message,
            other => panic!("{other:?}"),
        },
    )
}

fn check(body: &'static str, block: u32, parts: &[&str]) {
    for message in messages(body, block) {
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
    }
}

#[test]
fn a_store_out_of_bounds_names_line_block_thread_and_allocation() {
    let parts = [
        "kernel `k`",
        "line 9",
        "block (0, 0, 0)",
        "thread (2, 0, 0)",
        "256 bytes",
    ];
    check("st.global.u32 [%rd3+248], %r1;", 32, &parts);
}

#[test]
fn a_misaligned_load_is_a_fault() {
    check(
        "ld.global.u32 %r2, [%rd3+2];",
        32,
        &["isaligned", "line 9", "thread (0, 0, 0)"],
    );
}

#[test]
fn a_trap_is_a_fault() {
    check(
        "setp.eq.u32 %p1, %r1, 5;\n@%p1 trap;",
        32,
        &["trap", "line 10", "thread (5, 0, 0)"],
    );
}

#[test]
fn warps_at_different_barriers_are_a_deadlock() {
    let body = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra W;\nbar.sync 1, 64;\nret;\nW:\nbar.sync 2, 64;";
    check(body, 64, &["barrier 1", "barrier 2"]);
}

#[test]
fn a_spin_lock_within_a_warp_is_a_livelock() {
    // Lane 0 takes the lock and waits at the reconvergence point; the others spin for ever.
    let body = "SPIN:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra SPIN;\n\
                mov.u32 %r3, 0;\natom.global.exch.b32 %r4, [%rd1], %r3;";
    check(body, 32, &["spin", "lanes"]);
    let timed = run(body, 32, false, Checks::default());
    assert!(
        matches!(timed.outcome, Outcome::Livelock { .. }),
        "{:?}",
        timed.outcome
    );
}

#[test]
fn a_long_loop_is_no_livelock() {
    // 40,000 iterations without a store, one lane at a time longer than its neighbours.
    let body =
        "add.u32 %r2, %r1, 40000;\nL:\nsub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let timed = run(body, 32, false, Checks::default());
    assert_eq!(timed.outcome, Outcome::Finished);
    assert!(
        timed.totals.figures.cycles > 400_000,
        "long enough for the watchdog to look"
    );
}

#[test]
fn loads_of_what_nobody_wrote_are_found_on_request() {
    let body = "ld.global.u32 %r2, [%rd3+124];\nst.global.u32 [%rd3], %r2;";
    let asked = Checks {
        uninitialised: true,
        ..Checks::default()
    };
    for functional in [false, true] {
        let report = run(body, 32, functional, asked);
        assert_eq!(report.outcome, Outcome::Finished);
        let [finding] = report.findings.as_slice() else {
            panic!("{:?}", report.findings)
        };
        assert!(
            finding.contains("uninitialised") && finding.contains("thread (1, 0, 0)"),
            "{finding}"
        );
        assert!(
            run(body, 32, functional, Checks::default())
                .findings
                .is_empty()
        );
    }
}

#[test]
fn races_on_shared_memory_are_found_on_request() {
    let race = "mov.u32 %r2, s;\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r3, [%r2];\nst.global.u32 [%rd1], %r3;";
    let asked = Checks {
        shared_races: true,
        ..Checks::default()
    };
    for functional in [false, true] {
        let findings = run(race, 64, functional, asked).findings;
        assert!(
            findings.iter().any(|f| f.contains("race on shared memory")),
            "{findings:?}"
        );
    }
    let ordered = "mov.u32 %r2, s;\nshl.b32 %r4, %r1, 2;\nadd.u32 %r4, %r4, %r2;\n\
                   st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r3, [%r2];\nst.global.u32 [%rd1], %r3;";
    assert!(run(ordered, 64, false, asked).findings.is_empty());
}
