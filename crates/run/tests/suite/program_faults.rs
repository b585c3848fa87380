//! Tests of errors in the simulated program, which are results with their place: in timed runs and
//! in runs without timing.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{Base, preset, resolve};
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

/// A fault in cycle t is the outcome of a run that is cut at t + 1, although the machine reports
/// faults later, and the run cut at t ends at its limit. Each of some additions before the store to
/// nowhere moves t by the same number of cycles.
#[test]
fn a_fault_before_the_limit_is_reported() {
    const BODIES: [&str; 3] = [
        "mov.u64 %rd4, 0; st.global.u32 [%rd4], %r1;",
        "mov.u64 %rd4, 0; add.u64 %rd4, %rd4, 0; st.global.u32 [%rd4], %r1;",
        "mov.u64 %rd4, 0; add.u64 %rd4, %rd4, 0; add.u64 %rd4, %rd4, 0; st.global.u32 [%rd4], %r1;",
    ];
    let is_fault = |body: &'static str, cycles: u64| {
        let options = Options {
            max_cycles: Some(cycles),
            ..Options::default()
        };
        let session = Session::new(preset("gtx480").expect("a built-in preset"), options);
        let mut program = OneKernel {
            body,
            block: 32,
            launched: false,
        };
        let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
        match report.expect("the program is accepted").outcome {
            Outcome::Fault { .. } => true,
            Outcome::CycleLimit { cycles: cut } => {
                assert_eq!(cut, cycles);
                false
            }
            other => panic!("{other:?}"),
        }
    };
    let [a, b, c] = BODIES.map(|body| first_cut(|cycles| is_fault(body, cycles)));
    assert!(a < b && c - b == b - a, "{a} {b} {c}");
    assert!(is_fault(BODIES[0], a + 1) && is_fault(BODIES[0], a + 500));
}

/// The least of the first 2000 cycles whose cut shows the fault, found by halving.
fn first_cut(is_fault: impl Fn(u64) -> bool) -> u64 {
    let (mut ends_at_limit, mut shows_fault) = (0, 2000);
    while ends_at_limit + 1 < shows_fault {
        let middle = u64::midpoint(ends_at_limit, shows_fault);
        if is_fault(middle) {
            shows_fault = middle;
        } else {
            ends_at_limit = middle;
        }
    }
    assert!(shows_fault < 2000 && is_fault(shows_fault));
    shows_fault
}

fn run(body: &'static str, block: u32, functional: bool, checks: Checks) -> RunReport {
    run_on("gtx480", body, block, functional, checks)
}

fn run_on(
    gpu: &str,
    body: &'static str,
    block: u32,
    functional: bool,
    checks: Checks,
) -> RunReport {
    let options = Options {
        functional,
        checks,
        ..Options::default()
    };
    let session = Session::new(preset(gpu).expect("a built-in preset"), options);
    let mut program = OneKernel {
        body,
        block,
        launched: false,
    };
    session
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("a sound launch")
}

/// Runs both ways and returns the messages of both ends.
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

/// The PTX states the lines of its source, with the names of files after the kernel.
#[test]
fn faults_deadlocks_and_races_name_the_line_of_the_source() {
    const FILE: &str = "ret;\n}\n.file 1 \"../src/t.cu\"\n.visible .entry other() {";
    let with_file = |body: &str| -> &'static str { format!("{body}\n{FILE}").leak() };
    let store = with_file(".loc 1 40 3\nst.global.u32 [%rd1+1000], %r1;\n.loc 1 41 1");
    check(
        store,
        32,
        &[", PTX line 10 (t.cu:40), block (0, 0, 0), thread"],
    );
    let waits = with_file(
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\n.loc 1 50 1\nbar.warp.sync 0xffffffff;\nbra E;\nA:\n\
         .loc 1 60 1\nshfl.sync.idx.b32 %r2, %r1, 1, 31, 0xffffffff;\nE:",
    );
    let parts = [
        "lanes 0 wait at line 16 (t.cu:60) for lanes 1-31",
        "lanes 1-31 wait at line 12 (t.cu:50) for lanes 0",
    ];
    check(waits, 32, &parts);
    let races = Checks {
        shared_races: true,
        ..Checks::default()
    };
    let race = with_file(
        "mov.u32 %r2, s;\n.loc 1 7 1\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r3, [%r2];\n\
         st.global.u32 [%rd1], %r3;",
    );
    let findings = run(race, 64, false, races).findings;
    assert!(
        findings.iter().any(|f| f.contains("(t.cu:7)")),
        "{findings:?}"
    );
}

/// A loop over shared memory without a barrier, unrolled twice, is one warning: both lines are
/// named, whichever warp comes first.
#[test]
fn a_race_of_two_lines_is_reported_once_with_both_lines() {
    let body = "mov.u32 %r2, s;\n.loc 1 7 1\nst.shared.u32 [%r2], %r1;\n.loc 1 9 1\n\
                ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [%r2];\n\
                st.global.u32 [%rd1], %r3;";
    let body: &'static str =
        format!("{body}\nret;\n}}\n.file 1 \"t.cu\"\n.visible .entry other() {{").leak();
    let races = Checks {
        shared_races: true,
        ..Checks::default()
    };
    for functional in [false, true] {
        let findings = run(body, 64, functional, races).findings;
        let between = |a: &str, b: &str| {
            let other = format!("; the other access is in PTX line {b}");
            let of = |f: &&String| f.contains(&format!("(t.cu:{a}), block")) && f.contains(&other);
            findings.iter().filter(of).count()
        };
        assert_eq!(between("7", "11 (t.cu:7)"), 1, "{findings:?}");
        // Without timing a warp runs to its end before the next one begins, and the loads of each
        // find its own store.
        let loads = usize::from(!functional);
        assert_eq!(between("9", "11 (t.cu:7)"), loads, "{findings:?}");
        assert_eq!(findings.len(), 1 + loads, "{findings:?}");
        assert!(
            findings
                .iter()
                .all(|f| f.ends_with("no barrier lies between the two"))
        );
    }
}

#[test]
fn a_fault_without_lines_of_the_source_says_how_to_have_them() {
    check(
        "st.global.u32 [%rd3+248], %r1;",
        32,
        &["= help: compile with `nvcc -lineinfo`"],
    );
    let asked = Checks {
        uninitialised: true,
        ..Checks::default()
    };
    let body = "ld.global.u32 %r2, [%rd3+124];\nld.global.u32 %r4, [%rd3+124];\n\
                st.global.u32 [%rd3], %r2;";
    let findings = run(body, 32, true, asked).findings;
    let advised: Vec<_> = findings.iter().map(|f| f.contains("-lineinfo")).collect();
    assert_eq!(advised, [true, false], "{findings:?}");
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

/// The loop's end is the reconvergence point. Lane 0 takes the lock and waits there for the others,
/// which spin for ever on a GPU before Volta.
#[test]
fn a_spin_lock_within_a_warp_needs_progress_among_lanes() {
    let body = "SPIN:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra SPIN;\n\
                mov.u32 %r3, 0;\natom.global.exch.b32 %r4, [%rd1], %r3;";
    let outcome = |gpu, functional| run_on(gpu, body, 32, functional, Checks::default()).outcome;
    let Outcome::Livelock { message } = outcome("gtx480", false) else {
        panic!("{:?}", outcome("gtx480", false))
    };
    for part in ["spin at line 11; lanes", "wait at line 13 for them"] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    for gpu in ["qv100-volta", "rtx2060-turing", "rtx3070-ampere"] {
        assert_eq!(outcome(gpu, false), Outcome::Finished, "{gpu}");
    }
    assert_eq!(outcome("gtx480", true), Outcome::Finished);
}

/// Backward jumps may lead to the reconvergence point, or separate lanes. Odd and even lanes loop
/// on different paths, and lane 0, which holds the lock, never runs.
#[test]
fn lanes_may_spin_in_several_ways() {
    let lock = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p2, %r3, 1;\nH:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\n\
                setp.ne.u32 %p1, %r2, 0;\n@%p1 bra R;\n\
                atom.global.exch.b32 %r4, [%rd1], 0;\nbra D;\nR:\n\
                @%p2 bra S;\nmov.u32 %r5, 20;\nbra H;\nS:\nmov.u32 %r5, 40;\nbra H;\nD:";
    let flag = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p2, %r3, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra P;\nW:\n\
                ld.volatile.global.u32 %r2, [%rd1+128];\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra D;\n\
                @%p2 bra A;\nbra W;\nA:\nbra W;\nP:\nst.volatile.global.u32 [%rd1+128], 1;\nD:";
    for body in [lock, flag] {
        for (gpu, functional) in [("qv100-volta", false), ("gtx480", true)] {
            let report = run_on(gpu, body, 32, functional, Checks::default());
            assert_eq!(report.outcome, Outcome::Finished, "{gpu}");
        }
    }
}

/// Instructions that lanes of several splits execute together count for all of them.
#[test]
fn lanes_that_wait_count_as_executing() {
    let together = "shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;";
    let apart = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nshfl.sync.idx.b32 %r2, %r1, 1, 31, -1;\nbra E;\nA:\n\
                 shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;\nE:";
    let count = |body| {
        let report = run(body, 32, false, Checks::default());
        report.totals.figures.thread_instructions
    };
    // In addition, all lanes execute the comparison, and half of them each of two branches.
    assert_eq!(count(apart), count(together) + 32 + 16 + 16);
}

/// A loop that counts its iterations never returns to an earlier state.
#[test]
fn a_spin_loop_may_count_its_rounds() {
    let body = "mov.u32 %r5, 0;\nSPIN:\nadd.u32 %r5, %r5, 1;\natom.global.cas.b32 %r2, [%rd1], 0, 1;\n\
                setp.ne.u32 %p1, %r2, 0;\n@%p1 bra SPIN;\natom.global.exch.b32 %r4, [%rd1], 0;\n\
                st.global.u32 [%rd3+128], %r5;";
    let functional = run(body, 32, true, Checks::default());
    assert_eq!(functional.outcome, Outcome::Finished);
}

/// Lane 0 ends the wait of the others at once or never.
#[test]
fn lanes_that_wait_for_one_that_never_comes_are_a_deadlock() {
    let body = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nbar.warp.sync 0xffffffff;\nbra E;\nA:\n\
                shfl.sync.idx.b32 %r2, %r1, 1, 31, 0xffffffff;\nE:";
    let parts = [
        "`k`",
        "lanes 0 wait at line 14 for lanes 1-31",
        "lanes 1-31 wait at line 11 for lanes 0",
    ];
    check(body, 32, &parts);
    let ends = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nbar.warp.sync 0xffffffff;\nbra E;\nA:\n\
                ret;\nE:";
    for functional in [false, true] {
        let report = run(ends, 32, functional, Checks::default());
        assert_eq!(report.outcome, Outcome::Finished);
    }
}

#[test]
fn the_end_of_a_warp_is_no_arrival_at_a_counted_barrier() {
    let body = "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra E;\nbar.sync 1, 128;\nE:";
    let part = "lanes 0-31 wait at the barrier in line 11; barrier 1 waits for 3 more warps, but every \
                warp that has not ended has arrived";
    check(body, 64, &[part]);
}

/// Differences between lanes that meet, and lanes that arrive late, are findings on request.
#[test]
fn waits_of_lanes_are_found_on_request() {
    let find = |body| {
        let checks = Checks {
            barrier_divergence: true,
            ..Checks::default()
        };
        let report = run(body, 32, true, checks);
        assert_eq!(report.outcome, Outcome::Finished);
        report.findings
    };
    let arms = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nbar.warp.sync -1;\nbra E;\nA:\nbar.warp.sync -1;\nE:";
    let others = find(arms);
    assert_eq!(others.len(), 1, "{others:?}");
    assert!(
        others[0].contains("lanes wait for others of the warp") && others[0].contains("line 14")
    );
    let own = "add.u32 %r2, %r1, 1;\nmov.u32 %r3, 1;\nshl.b32 %r3, %r3, %r2;\nsub.u32 %r3, %r3, 1;\n\
               vote.sync.ballot.b32 %r4, 1, %r3;";
    let differ = find(own);
    assert_eq!(differ.len(), 1, "{differ:?}");
    assert!(differ[0].contains("member masks that differ") && differ[0].contains("line 13"));
    let without = find("bar.warp.sync 0xfffffffe;");
    assert_eq!(without.len(), 1, "{without:?}");
    assert!(without[0].contains("without the lane") && without[0].contains("thread (0, 0, 0)"));
    assert!(find("bar.warp.sync -1;\nbar.sync 0;").is_empty());
}

/// A kernel in which no lanes wait for each other takes the same cycles on both kinds of machine.
#[test]
fn progress_among_lanes_costs_nothing_where_none_waits() {
    let body = "and.b32 %r2, %r1, 7;\nadd.u32 %r2, %r2, 40;\nL:\nsub.u32 %r2, %r2, 1;\n\
                and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra M;\n\
                add.u32 %r4, %r4, %r2;\nM:\n\
                setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\nst.global.u32 [%rd3], %r4;";
    let cycles = |divergence: &str| {
        let set = format!("sm.divergence={divergence}");
        let spec = resolve(&Base::Preset("gtx480".to_owned()), &[set]);
        let session = Session::new(spec.expect("a machine"), Options::default());
        let mut program = OneKernel {
            body,
            block: 32,
            launched: false,
        };
        let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
        report.expect("a sound launch").totals.figures.cycles
    };
    assert_eq!(cycles("stack"), cycles("independent"));
}

#[test]
fn a_long_loop_is_no_livelock() {
    // 40,000 iterations without a store, with one more iteration for each lane.
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
