//! Tests of printing from kernels: `vprintf` as compilers call it, in timed runs and in runs
//! without timing.

use crate::results::results;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Check, Device, HostAction, HostError, HostProgram, Launch, Options, Printer, Session,
};
use warploom_stats::result::{Outcome, RunReport};

/// A kernel in which every thread prints its number and half of it. The last thread of a block ends
/// the block if `broken` is set.
const KERNEL: &str = r#"
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.extern .func __assertfail(
	.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e
);
.global .align 1 .b8 format[15] = {37, 115, 32, 37, 100, 46, 37, 100, 32, 37, 46, 49, 102, 10};
.global .align 1 .b8 thread[2] = {116, 0};
.global .align 1 .b8 condition[4] = {120, 60, 52, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.visible .entry k(.param .u32 most)
{
	.local .align 8 .b8 depot[32];
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	.reg .f64 %f<4>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u64 %rd1, thread;
	st.local.u64 [depot], %rd1;
	st.local.u32 [depot+8], %r2;
	st.local.u32 [depot+12], %r1;
	cvt.rn.f64.u32 %f1, %r1;
	mul.f64 %f1, %f1, 0d3FE0000000000000;
	st.local.f64 [depot+16], %f1;
	mov.u64 %rd2, depot;
	cvta.local.u64 %rd2, %rd2;
	mov.u64 %rd3, format;
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd3;
	.param .b64 param1;
	st.param.b64 [param1], %rd2;
	.param .b32 retval0;
	call.uni (retval0), vprintf, (param0, param1);
	ld.param.b32 %r3, [retval0];
	}
	ld.param.u32 %r4, [most];
	add.u32 %r5, %r1, %r3;
	setp.lt.u32 %p1, %r5, %r4;
	@%p1 bra DONE;
	mov.u64 %rd4, condition;
	mov.u64 %rd5, file;
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd4;
	.param .b64 param1;
	st.param.b64 [param1], %rd5;
	.param .b32 param2;
	st.param.b32 [param2], 7;
	.param .b64 param3;
	st.param.b64 [param3], %rd1;
	.param .b64 param4;
	st.param.b64 [param4], 1;
	call.uni __assertfail, (param0, param1, param2, param3, param4);
	}
DONE:
	ret;
}
"#;

struct Prints {
    most: u32,
    blocks: u32,
    limit: Option<u64>,
    launches: u32,
}

impl HostProgram for Prints {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.launches == 0 {
            return Ok(HostAction::Done);
        }
        self.launches -= 1;
        if let Some(bytes) = self.limit {
            device.limit_printed(bytes);
        }
        let module = device.load_ptx("test.ptx", KERNEL)?;
        let (grid, block) = (Dim3::linear(self.blocks), Dim3::linear(2));
        let most = warploom_run::Arg::Bytes(self.most.to_le_bytes().to_vec());
        Ok(HostAction::Launch(Launch::new(
            module,
            "k",
            grid,
            block,
            vec![most],
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Result of a run, and the text that was printed at the end of each launch.
fn run(mut program: Prints, functional: bool, threads: usize) -> (RunReport, Vec<String>) {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&printed);
    let printer = Printer::new(move |text| {
        let text = String::from_utf8_lossy(text).into_owned();
        kept.lock().expect("nobody panics").push(text);
    });
    let options = Options {
        functional,
        threads,
        printer,
        ..Options::default()
    };
    let session = Session::new(preset("gtx480").expect("a built-in preset"), options);
    let report = session
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("a sound launch");
    let printed = printed.lock().expect("nobody panics").clone();
    (report, printed)
}

fn prints(blocks: u32) -> Prints {
    Prints {
        most: 100,
        blocks,
        limit: None,
        launches: 1,
    }
}

#[test]
fn threads_print_in_their_order() {
    for functional in [false, true] {
        let (report, printed) = run(prints(2), functional, 1);
        assert_eq!(report.outcome, Outcome::Finished);
        let mut lines: Vec<&str> = printed[0].lines().collect();
        lines.sort_unstable();
        assert_eq!(printed.len(), 1);
        assert_eq!(lines, ["t 0.0 0.0", "t 0.1 0.5", "t 1.0 0.0", "t 1.1 0.5"]);
    }
}

#[test]
fn the_order_hangs_on_nothing_but_simulated_time() {
    let alone = run(prints(64), false, 1);
    assert_eq!(alone.1[0].lines().count(), 128);
    let many = run(prints(64), false, 4);
    assert_eq!(alone.1, many.1);
    assert_eq!(results(&alone.0), results(&many.0));
}

#[test]
fn every_launch_hands_on_what_it_printed_the_newest_of_it() {
    let program = Prints {
        limit: Some(25),
        launches: 2,
        ..prints(2)
    };
    let (_, printed) = run(program, true, 1);
    assert_eq!(printed, ["t 1.0 0.0\nt 1.1 0.5\n"; 2]);
}

#[test]
fn an_assertion_ends_the_run_behind_what_was_printed() {
    for functional in [false, true] {
        // The number of arguments, four, is added to the thread's number.
        let program = Prints {
            most: 5,
            ..prints(1)
        };
        let (report, printed) = run(program, functional, 1);
        assert_eq!(printed, ["t 0.0 0.0\nt 0.1 0.5\n"]);
        let Outcome::Assertion(failed) = report.outcome else {
            panic!("{:?}", report.outcome);
        };
        let message = &failed.message;
        let told = "a.cu:7: t: assertion `x<4` failed in kernel `k`";
        assert!(message.starts_with(told), "{message}");
        let place = (
            failed.expression.as_str(),
            failed.file.as_str(),
            failed.line,
        );
        assert_eq!(place, ("x<4", "a.cu", 7));
        assert_eq!(
            (failed.function.as_str(), failed.kernel.as_str()),
            ("t", "k")
        );
        assert_eq!((failed.block.0, failed.thread.0), ([0; 3], [1, 0, 0]));
    }
}
