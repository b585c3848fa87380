//! Tests of runs that time a part of a launch's blocks: outputs are those of all blocks, cycles and
//! counters those of the timed part, and the estimate is for the whole.

use crate::results::results;
use std::ops::{ControlFlow, Range};
use warploom_base::Dim3;
use warploom_config::{Base, GpuSpec, preset, resolve};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
    Timed, TimedBlocks,
};
use warploom_stats::result::{Outcome, RunReport};

const BLOCKS: u32 = 1200;
const THREADS: u32 = 64;
const ROUNDS: u32 = 12;

/// A kernel in which every thread draws `ROUNDS` random numbers from a seed in its element.
const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry draw(.param .u64 buf) {
.reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 64, %r1;
mul.wide.u32 %rd2, %r3, 4;
add.u64 %rd3, %rd1, %rd2;
ld.global.u32 %r4, [%rd3];
mov.u32 %r5, 0;
L:
mad.lo.u32 %r4, %r4, 1664525, 1013904223;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p1, %r5, 12;
@%p1 bra L;
st.global.u32 [%rd3], %r4;
ret;
}
";

/// A program that launches `draw` several times, each on a stream of its own or all on the default
/// stream.
struct Draw {
    ptx: String,
    launches: u32,
    launched: u32,
    at_once: bool,
    /// Number of blocks for which the buffer is long enough.
    blocks: u32,
    buffer: Option<(warploom_run::ModuleId, DevicePtr)>,
}

impl HostProgram for Draw {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.launched == self.launches {
            return Ok(HostAction::Done);
        }
        let (module, buffer) = match self.buffer {
            Some(known) => known,
            None => {
                let seeds: Vec<u32> = (0..self.blocks * THREADS).collect();
                let module = device.load_ptx("draw.ptx", &self.ptx)?;
                *self.buffer.insert((module, device.alloc_slice(&seeds)?))
            }
        };
        self.launched += 1;
        let (grid, block) = (Dim3::linear(BLOCKS), Dim3::linear(THREADS));
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch {
            stream: if self.at_once { self.launched } else { 0 },
            ..Launch::new(module, "draw", grid, block, args)
        }))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let (_, buffer) = self.buffer.expect("it was launched");
        let drawn: Vec<u32> = device.read_vec(buffer, (BLOCKS * THREADS) as usize)?;
        let expected = |seed: u32| {
            let next = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (0..ROUNDS * self.launches).fold(seed, next)
        };
        let wrong = drawn
            .iter()
            .zip(0..)
            .find(|(x, seed)| **x != expected(*seed));
        Ok(vec![Check {
            name: "numbers".to_owned(),
            passed: wrong.is_none(),
            detail: format!("{wrong:?}"),
            compared: drawn.len() as u64,
        }])
    }
}

/// A machine with two SMs of eight blocks each, which hold 16 of the 1,200 blocks.
fn gpu() -> GpuSpec {
    let mut spec = preset("gtx480").expect("a preset");
    spec.gpu.sms = 2;
    spec
}

fn run(blocks: TimedBlocks, launches: u32, threads: usize) -> RunReport {
    run_on(gpu(), blocks, launches, threads)
}

fn run_on(gpu: GpuSpec, blocks: TimedBlocks, launches: u32, threads: usize) -> RunReport {
    let options = Options {
        threads,
        ..options(blocks)
    };
    let report = run_with(gpu, options, &mut draw(launches));
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.checks[0].passed, "{:?}", report.checks);
    report
}

fn options(blocks: TimedBlocks) -> Options {
    Options {
        memory_bytes: 1 << 24,
        timed: Timed {
            blocks,
            ..Timed::default()
        },
        ..Options::default()
    }
}

fn draw(launches: u32) -> Draw {
    Draw {
        ptx: PTX.to_owned(),
        launches,
        launched: 0,
        at_once: false,
        blocks: BLOCKS,
        buffer: None,
    }
}

fn run_with(gpu: GpuSpec, options: Options, program: &mut Draw) -> RunReport {
    Session::new(gpu, options)
        .run(program, &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_third_of_the_blocks_tells_what_all_take() {
    let all = run(TimedBlocks::All, 1, 1);
    let third = run(TimedBlocks::OneOf(3), 1, 1);
    assert_eq!(all.kernels[0].sample, None);
    let sample = third.kernels[0].sample.expect("not all were timed");
    // Ten samples of 40 blocks, and as many gaps.
    assert_eq!((sample.blocks_timed, sample.blocks), (400, 1200));
    let whole = all.totals.figures.thread_instructions;
    assert_eq!(sample.thread_instructions, whole);
    assert_eq!(third.totals.figures.thread_instructions, whole / 3);
    let estimate = sample.estimate.expect("ten gaps");
    assert_eq!(estimate.stretches, 9);
    let cycles = all.totals.figures.cycles as f64;
    let error = (estimate.cycles / cycles - 1.0).abs();
    assert!(error < 0.03, "{estimate:?}, all took {cycles}");
    assert!(third.totals.figures.cycles < all.totals.figures.cycles / 2);
    assert_eq!(third.totals.estimate, Some(estimate));
}

#[test]
fn a_sample_is_the_same_for_any_number_of_threads() {
    for blocks in [TimedBlocks::OneOf(3), TimedBlocks::UntilStable(0.05)] {
        let [one, two] = [1, 2].map(|threads| run(blocks.clone(), 1, threads));
        assert_eq!(results(&one), results(&two));
        assert_eq!(one.kernels[0].sample, two.kernels[0].sample);
    }
}

/// Blocks that are all alike are known after a part of them. A bound that no interval can meet
/// times all.
#[test]
fn a_launch_is_timed_until_it_is_stable() {
    let cycles = run(TimedBlocks::All, 1, 1).totals.figures.cycles as f64;
    let report = run(TimedBlocks::UntilStable(0.05), 1, 1);
    let sample = report.kernels[0].sample.expect("not all were timed");
    assert!(sample.blocks_timed < 600, "{sample:?}");
    assert_eq!(sample.blocks, 1200);
    let estimate = sample.estimate.expect("it is stable");
    assert!(estimate.relative_margin() <= 0.05, "{estimate:?}");
    let error = (estimate.cycles - cycles).abs();
    assert!(error <= estimate.margin, "{estimate:?}, all took {cycles}");
    let never = run(TimedBlocks::UntilStable(1e-6), 1, 1);
    let sample = never.kernels[0].sample.expect("a part was asked for");
    assert_eq!((sample.blocks_timed, sample.estimate), (1200, None));
    // A block that waits for a look may start a cycle later.
    let all = never.totals.figures.cycles as f64;
    assert!(
        (all / cycles - 1.0).abs() < 0.01,
        "{all} instead of {cycles}"
    );
}

#[test]
fn a_grid_too_small_for_stretches_is_timed_whole_and_says_so() {
    let [all, sampled] = [TimedBlocks::All, TimedBlocks::OneOf(30)].map(|b| run(b, 1, 1));
    let sample = sampled.kernels[0].sample.expect("a part was asked for");
    assert_eq!((sample.blocks_timed, sample.blocks), (1200, 1200));
    assert_eq!(sample.estimate, None);
    assert_eq!(results(&sampled), results(&all));
}

/// Progress has the number of a launch in the program, whether it is timed, and the fewest blocks
/// of a grid of which a part would be timed.
#[test]
fn progress_tells_what_is_timed() {
    let mut seen = Vec::new();
    let timed = Timed {
        launches: 1..2,
        blocks: TimedBlocks::OneOf(30),
        ..Timed::default()
    };
    let options = Options {
        timed,
        ..options(TimedBlocks::All)
    };
    Session::new(gpu(), options)
        .run(&mut draw(3), &mut |now| {
            seen.push((now.launches, now.timed, now.fewest_sampled));
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    seen.dedup();
    // Five samples of 32 blocks, one in thirty. Too little is executed before the timed launch for
    // progress there.
    assert_eq!(seen, [(1, true, Some(4800)), (2, false, None)]);
}

#[test]
fn estimates_of_launches_add() {
    let report = run(TimedBlocks::OneOf(3), 2, 1);
    let parts = report.kernels.iter().map(|kernel| {
        let sample = kernel.sample.expect("not all were timed");
        sample.estimate.expect("ten stretches").cycles
    });
    let total = report.totals.estimate.expect("both have one").cycles;
    assert!((total - parts.sum::<f64>()).abs() < 1e-6);
}

#[test]
fn a_range_of_blocks_is_timed_alone() {
    let range = |ranks: Range<u64>| run(TimedBlocks::Range(ranks), 1, 1);
    let each = run(TimedBlocks::All, 1, 1)
        .totals
        .figures
        .thread_instructions
        / u64::from(BLOCKS);
    for (ranks, blocks) in [(0..16, 16), (500..600, 100), (1190..5000, 10)] {
        let report = range(ranks.clone());
        let sample = report.kernels[0].sample.expect("not all were timed");
        assert_eq!(
            (sample.blocks_timed, sample.blocks),
            (blocks, 1200),
            "{ranks:?}"
        );
        assert_eq!(report.totals.figures.thread_instructions, blocks * each);
        assert_eq!(sample.estimate, None);
    }
    // Outputs are checked by `run`; no block was timed.
    assert!(range(1200..1300).kernels.is_empty());
}

/// Policies that look ahead see blocks on both sides of a gap as neighbours.
#[test]
fn gaps_do_not_stop_policies_that_look_ahead() {
    for scheduler in ["bcs", "locality"] {
        let set = format!("gpu.block_scheduler={scheduler}");
        let base = Base::Preset("gtx480".to_owned());
        let mut spec = resolve(&base, &[set]).unwrap_or_else(|e| panic!("{e}"));
        spec.gpu.sms = 2;
        for blocks in [TimedBlocks::Range(3..10), TimedBlocks::OneOf(3)] {
            let report = run_on(spec.clone(), blocks, 1, 1);
            let sample = report.kernels[0].sample.expect("not all were timed");
            assert_eq!(sample.blocks, 1200, "{scheduler}");
        }
    }
}

/// The effect of the blocks left out on the other launch is unknown.
#[test]
fn launches_at_once_have_no_estimate() {
    let mut program = Draw {
        at_once: true,
        ..draw(2)
    };
    let report = run_with(gpu(), options(TimedBlocks::OneOf(3)), &mut program);
    assert_eq!(report.outcome, Outcome::Finished);
    for kernel in &report.kernels {
        let sample = kernel.sample.expect("not all were timed");
        assert_eq!((sample.blocks_timed, sample.blocks), (400, 1200));
        assert_eq!(sample.estimate, None);
    }
    assert_eq!(report.totals.estimate, None);
}

#[test]
fn a_sample_that_was_cut_says_how_far_it_came() {
    let whole = run(TimedBlocks::OneOf(3), 1, 1).totals.figures.cycles;
    let cut = |blocks| {
        let options = Options {
            max_cycles: Some(whole / 2),
            ..options(blocks)
        };
        let report = run_with(gpu(), options, &mut draw(1));
        assert_eq!(report.totals.estimate, None);
        let sample = report.kernels[0].sample.expect("a part was asked for");
        assert_eq!((sample.grid_blocks, sample.estimate), (1200, None));
        (sample.blocks_timed, sample.blocks)
    };
    let (timed, executed) = cut(TimedBlocks::OneOf(3));
    assert!((100..300).contains(&timed) && executed < 900 && executed > 2 * timed);
    // This also holds for a grid that is too small for samples.
    let (timed, executed) = cut(TimedBlocks::OneOf(30));
    assert!(timed == executed && timed < 400, "{timed} of {executed}");
}

/// Block 960 lies in the gap after the eighth stretch, and is the first after the end of the
/// buffer.
#[test]
fn a_fault_in_a_gap_reports_what_was_timed() {
    let mut program = Draw {
        blocks: 960,
        ..draw(1)
    };
    let report = run_with(gpu(), options(TimedBlocks::OneOf(3)), &mut program);
    let Outcome::Fault { message } = &report.outcome else {
        panic!("{:?}", report.outcome)
    };
    assert!(message.contains("block (960, 0, 0)"), "{message}");
    let sample = report.kernels[0].sample.expect("not all were timed");
    assert_eq!((sample.blocks_timed, sample.blocks), (320, 944));
    assert!(report.totals.figures.cycles > 0);
}

/// Ten gaps and all SMs report the same finding.
#[test]
fn a_finding_is_reported_once() {
    let race = "st.shared.u32 [s], %r1;\nst.global.u32";
    let mut program = Draw {
        ptx: PTX
            .replace(".reg .pred", ".shared .b32 s; .reg .pred")
            .replace("st.global.u32", race),
        ..draw(1)
    };
    let options = Options {
        checks: warploom_run::Checks {
            shared_races: true,
            ..Default::default()
        },
        ..options(TimedBlocks::OneOf(3))
    };
    let report = run_with(gpu(), options, &mut program);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
}

/// Each block waits for the previous one. Blocks in the gap begin when the last timed block has
/// begun.
#[test]
fn blocks_left_out_that_wait_for_timed_ones_say_what_to_do() {
    let chain = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry draw(.param .u64 buf) {
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [buf];
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd3, %rd1, %rd2;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra FREE;
L:
ld.volatile.global.u32 %r1, [%rd3+-4];
setp.ne.u32 %p1, %r1, 4000000;
@%p1 bra L;
FREE:
st.volatile.global.u32 [%rd3], 4000000;
ret;
}
";
    let mut program = Draw {
        ptx: chain.to_owned(),
        ..draw(1)
    };
    let options = options(TimedBlocks::Range(0..500));
    let report = run_with(gpu(), options, &mut program);
    let Outcome::Livelock { message } = &report.outcome else {
        panic!("{:?}", report.outcome)
    };
    assert!(message.contains("leave out --blocks"), "{message}");
    assert_eq!(report.kernels[0].sample.map(|s| s.blocks_timed), Some(500));
}

fn sampled(launches: u32, at_once: bool, sample_error: Option<f64>) -> RunReport {
    let options = Options {
        sample_error,
        ..options(TimedBlocks::All)
    };
    let mut program = Draw {
        at_once,
        ..draw(launches)
    };
    run_with(gpu(), options, &mut program)
}

/// Each launch continues with the numbers of the one before, so that a launch that took effect
/// twice or not at all would change the outputs.
#[test]
fn launches_that_are_not_timed_leave_the_same_memory() {
    let report = sampled(40, false, Some(0.02));
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.checks[0].passed, "{:?}", report.checks);
    let sampling = report.sampling.expect("it was asked for");
    let stratum = |at: usize| {
        let stratum = &sampling.strata[at];
        let timed = stratum.timed.iter();
        let timed: Vec<(u64, &str)> = timed.map(|t| (t.launch, t.why.as_str())).collect();
        let epochs = stratum.epochs.iter().map(|epoch| epoch.launches);
        (stratum.launches, epochs.collect::<Vec<u64>>(), timed)
    };
    assert_eq!(stratum(0), (1, vec![1], vec![(0, "first")]));
    let (launches, epochs, timed) = stratum(1);
    assert_eq!((launches, epochs), (39, vec![3, 3, 6, 12, 15]));
    assert_eq!(timed[..3], [(1, "pilot"), (2, "pilot"), (3, "pilot")]);
    let checks = timed.iter().filter(|(_, why)| *why == "check").count();
    assert_eq!(timed.len(), 3 + checks);
    assert_eq!(sampling.timed, 4 + checks as u64);
    assert_eq!(report.kernels.len() as u64, sampling.timed);
}

#[test]
fn estimates_of_a_sampled_program_contain_the_true_values() {
    let all = sampled(40, false, None).totals.figures;
    let report = sampled(40, false, Some(0.02));
    let sampling = report.sampling.expect("it was asked for");
    assert_eq!(sampling.thread_instructions, all.thread_instructions);
    assert_eq!(sampling.warp_instructions, all.warp_instructions);
    let counted = |name: &str| all.statistics[name] as f64;
    let true_values = [
        ("cycles", all.cycles as f64),
        ("ipc", all.ipc),
        ("sm.thread_instructions", counted("sm.thread_instructions")),
        ("noc_to_l2.flits", counted("noc_to_l2.flits")),
        ("noc_to_sm.flits", counted("noc_to_sm.flits")),
    ];
    for (name, value) in true_values {
        let estimate = sampling.estimates[name];
        let error = (estimate.value - value).abs();
        assert!(
            error <= estimate.margin,
            "{name}: {estimate:?}, it is {value}"
        );
        assert!(estimate.relative_margin() <= 0.02, "{name}: {estimate:?}");
    }
}

#[test]
fn a_sampled_program_gives_the_same_result_again() {
    let [one, two] = [(); 2].map(|()| sampled(20, false, Some(0.02)));
    assert_eq!(results(&one), results(&two));
    assert_eq!(one.sampling, two.sampling);
}

/// Launches that could overlap run one by one, because the launches that are left out would have
/// delayed the timed ones.
#[test]
fn launches_of_a_sampled_program_run_one_by_one() {
    let report = sampled(12, true, Some(0.02));
    assert_eq!(report.outcome, Outcome::Finished);
    let flights = report.kernels.iter().map(|kernel| {
        let at = kernel.concurrent.expect("they have streams").launched_at;
        (at, at + kernel.figures.cycles)
    });
    let flights: Vec<(u64, u64)> = flights.collect();
    assert!(flights.windows(2).all(|pair| pair[0].1 <= pair[1].0));
}
