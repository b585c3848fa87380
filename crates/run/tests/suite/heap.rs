//! Tests of `malloc` and `free` in kernels: addresses are the same for any number of threads,
//! memory persists from kernel to kernel, and errors are detected.

use crate::results::results;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId, Options,
    Session,
};
use warploom_stats::result::{Outcome, RunReport};

/// Kernels. `take` stores the address of 20 new bytes and, in them, the thread's number. `give`
/// reads the numbers by the addresses and frees them. `lose` frees the address in its argument.
const KERNELS: &str = r#"
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.visible .entry take(.param .u64 out, .param .u64 bytes)
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	ld.param.u64 %rd1, [out];
	mul.wide.u32 %rd2, %r1, 8;
	add.u64 %rd1, %rd1, %rd2;
	ld.param.u64 %rd4, [bytes];
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd4;
	.param .b64 retval0;
	call.uni (retval0), malloc, (param0);
	ld.param.b64 %rd3, [retval0];
	}
	st.global.u64 [%rd1], %rd3;
	setp.eq.u64 %p1, %rd3, 0;
	@!%p1 st.u32 [%rd3], %r1;
	ret;
}
.visible .entry give(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	ld.param.u64 %rd1, [out];
	mul.wide.u32 %rd2, %r1, 8;
	add.u64 %rd1, %rd1, %rd2;
	ld.global.u64 %rd3, [%rd1];
	ld.u32 %r4, [%rd3];
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd3;
	call.uni free, (param0);
	}
	cvt.u64.u32 %rd4, %r4;
	st.global.u64 [%rd1], %rd4;
	ret;
}
.visible .entry lose(.param .u64 address)
{
	.reg .b64 %rd<8>;
	ld.param.u64 %rd3, [address];
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd3;
	call.uni free, (param0);
	}
	ret;
}
"#;

const THREADS: u32 = 64;

/// Steps of the host, in order.
#[derive(Clone, Copy)]
enum Step {
    Take { blocks: u32, bytes: u64 },
    Keep,
    Give { blocks: u32 },
    Lose { address: u64, threads: u32 },
}

struct Heap {
    steps: Vec<Step>,
    limit: u64,
    module: Option<ModuleId>,
    out: DevicePtr,
    kept: Vec<Vec<u64>>,
}

impl HostProgram for Heap {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let module = match self.module {
            Some(module) => module,
            None => {
                device.limit_heap(self.limit)?;
                self.out = device.alloc(8 * 64 * u64::from(THREADS))?;
                *self.module.insert(device.load_ptx("test.ptx", KERNELS)?)
            }
        };
        loop {
            if self.steps.is_empty() {
                return Ok(HostAction::Done);
            }
            let step = self.steps.remove(0);
            let (kernel, grid, block, args) = match step {
                Step::Keep => {
                    self.kept.push(device.read_vec(self.out, 256)?);
                    continue;
                }
                Step::Take { blocks, bytes } => {
                    let bytes = Arg::Bytes(bytes.to_le_bytes().to_vec());
                    ("take", blocks, THREADS, vec![Arg::Pointer(self.out), bytes])
                }
                Step::Give { blocks } => ("give", blocks, THREADS, vec![Arg::Pointer(self.out)]),
                Step::Lose { address, threads } => {
                    let address = Arg::Bytes(address.to_le_bytes().to_vec());
                    ("lose", 1, threads, vec![address])
                }
            };
            let (grid, block) = (Dim3::linear(grid), Dim3::linear(block));
            return Ok(HostAction::Launch(Launch::new(
                module, kernel, grid, block, args,
            )));
        }
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

fn run(steps: &[Step], limit: u64, functional: bool, threads: usize) -> (RunReport, Heap) {
    let mut program = Heap {
        steps: steps.to_vec(),
        limit,
        module: None,
        out: DevicePtr(0),
        kept: Vec::new(),
    };
    let options = Options {
        functional,
        threads,
        ..Options::default()
    };
    let session = Session::new(preset("gtx480").expect("a built-in preset"), options);
    let report = session
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("a sound launch");
    (report, program)
}

const WHOLE: u64 = 8 << 20;

#[test]
fn parts_are_apart_and_stay_for_other_kernels() {
    let steps = [
        Step::Take {
            blocks: 4,
            bytes: 20,
        },
        Step::Keep,
        Step::Give { blocks: 4 },
        Step::Keep,
        Step::Take {
            blocks: 4,
            bytes: 20,
        },
        Step::Keep,
    ];
    for functional in [false, true] {
        let (report, program) = run(&steps, WHOLE, functional, 1);
        assert_eq!(report.outcome, Outcome::Finished);
        let [addresses, numbers, again] = &program.kept[..] else {
            panic!("three times");
        };
        let mut sorted = addresses.clone();
        sorted.sort_unstable();
        assert!(sorted[0] % 16 == 0 && sorted[0] > 0);
        // Allocations of 32 bytes, one after the other.
        assert!(sorted.windows(2).all(|pair| pair[1] == pair[0] + 32));
        assert_eq!(*numbers, (0..256).collect::<Vec<u64>>());
        let mut second = again.clone();
        second.sort_unstable();
        assert_eq!(sorted, second);
    }
}

#[test]
fn the_threads_that_simulate_change_nothing() {
    let steps = [
        Step::Take {
            blocks: 40,
            bytes: 48,
        },
        Step::Keep,
    ];
    let (alone, one) = run(&steps, WHOLE, false, 1);
    let (together, four) = run(&steps, WHOLE, false, 4);
    assert_eq!(one.kept, four.kept);
    assert_eq!(results(&alone), results(&together));
}

#[test]
fn a_heap_that_is_used_up_gives_nothing() {
    let steps = [
        Step::Take {
            blocks: 1,
            bytes: 32,
        },
        Step::Keep,
    ];
    for functional in [false, true] {
        let (report, program) = run(&steps, 32 * 60, functional, 1);
        assert_eq!(report.outcome, Outcome::Finished);
        let taken = &program.kept[0][..THREADS as usize];
        assert_eq!(taken.iter().filter(|address| **address == 0).count(), 4);
    }
}

#[test]
fn what_malloc_has_not_given_is_no_fault_to_give_back_if_it_is_nothing() {
    let nothing = Step::Lose {
        address: 0,
        threads: 32,
    };
    assert_eq!(
        run(&[nothing], WHOLE, false, 1).0.outcome,
        Outcome::Finished
    );
    for functional in [false, true] {
        let wrong = Step::Lose {
            address: 0x1234,
            threads: 1,
        };
        let Outcome::Fault { message } = run(&[wrong], WHOLE, functional, 1).0.outcome else {
            panic!("a fault");
        };
        assert!(
            message.starts_with("free of what malloc has not given"),
            "{message}"
        );
        assert!(message.contains("0x1234"), "{message}");
    }
}

#[test]
fn two_lanes_that_free_the_same_are_a_fault() {
    let take = Step::Take {
        blocks: 1,
        bytes: 16,
    };
    let first = run(&[take, Step::Keep], WHOLE, true, 1).1.kept[0][0];
    let free = |threads| {
        [
            take,
            Step::Lose {
                address: first,
                threads,
            },
        ]
    };
    assert_eq!(run(&free(1), WHOLE, true, 1).0.outcome, Outcome::Finished);
    let twice = run(&free(2), WHOLE, true, 1).0.outcome;
    assert!(matches!(twice, Outcome::Fault { .. }), "{twice:?}");
}
