//! Compares the machine's timing with formulas: cycles of small kernels can be worked out by hand
//! from the specification (docs/model/sm.md, docs/model/load-store.md).

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{GpuSpec, preset};
use warploom_run::{
    Arg, Check, Device, HostAction, HostError, HostProgram, Launch, Options, Session, Timed,
};
use warploom_stats::result::{Outcome, RunReport};

/// A host program that launches one kernel with one buffer of `words` zeros.
struct OneKernel {
    ptx: String,
    grid: Dim3,
    block: Dim3,
    words: usize,
    launched: bool,
}

impl HostProgram for OneKernel {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if std::mem::replace(&mut self.launched, true) {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("test.ptx", &self.ptx)?;
        let buffer = device.alloc_slice(&vec![0u32; self.words])?;
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(
            module, "k", self.grid, self.block, args,
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Code that stores `%f40`, so that the instructions before it are not dead: dead results would
/// share one register.
const KEEP: &str = "ld.param.u64 %rd1, [buf];\nst.global.f32 [%rd1], %f40;\n";

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 buf) {{\n\
         .reg .pred %p<8>; .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %rd<16>;\n\
         .shared .align 4 .b8 s[4096];\n{body}\nret;\n}}\n"
    )
}

pub fn run_on(spec: &GpuSpec, body: &str, grid: u32, block: u32, threads: usize) -> RunReport {
    let mut program = OneKernel {
        ptx: kernel(body),
        grid: Dim3::linear(grid),
        block: Dim3::linear(block),
        words: 1 << 16,
        launched: false,
    };
    let session = Session::new(
        spec.clone(),
        Options {
            threads,
            ..Options::default()
        },
    );
    session
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("the kernel is sound")
}

pub fn cycles(spec: &GpuSpec, body: &str, block: u32) -> u64 {
    let report = run_on(spec, body, 1, block, 1);
    assert_eq!(report.outcome, Outcome::Finished);
    report.totals.figures.cycles
}

/// Number of cycles that one more copy of an instruction adds, measured with `count` copies.
pub fn cost(spec: &GpuSpec, start: &str, instruction: &str, count: u64) -> f64 {
    let few = format!("{start}{}", instruction.repeat(64));
    let many = format!("{start}{}", instruction.repeat(64 + count as usize));
    (cycles(spec, &many, 32) - cycles(spec, &few, 32)) as f64 / count as f64
}

fn gtx480() -> GpuSpec {
    let mut spec = preset("gtx480").expect("a built-in preset");
    // The cost of fetching is not tested here.
    spec.sm.perfect_inst_const_cache = true;
    spec
}

/// Issue in cycle t, collector t+1, operands t+2, dispatch t+3, unit t+4, write-back latency + 2
/// cycles later, and the next issue in that cycle.
#[test]
fn dependent_instructions_are_latency_plus_six_apart() {
    let spec = gtx480();
    let add = spec.sm.units.f32_timing.add.latency_cycles;
    let start = "mov.f32 %f1, 0f3F800000;\n";
    let measured = cost(&spec, start, "add.f32 %f1, %f1, 0f40000000;\n", 64);
    assert_eq!(measured, f64::from(add + 6));
    // Two reads of one bank take one more cycle.
    let measured = cost(&spec, start, "add.f32 %f1, %f1, %f1;\n", 64);
    assert_eq!(measured, f64::from(add + 7));
    let mad = spec.sm.units.int_timing.mad.latency_cycles;
    let measured = cost(
        &spec,
        "mov.u32 %r1, 1;\n",
        "mad.lo.s32 %r1, %r1, 3, 7;\n",
        64,
    );
    assert_eq!(measured, f64::from(mad + 6));
}

/// The unit's dispatch register is occupied for the initiation interval. One collector for SFU
/// instructions suffices to keep the unit busy.
#[test]
fn independent_special_functions_are_an_interval_apart() {
    let spec = gtx480();
    let start = (0..32)
        .map(|i| format!("mov.f32 %f{i}, 0f3F800000;\n"))
        .collect::<String>();
    let group = (0..32)
        .map(|i| format!("sqrt.approx.f32 %f{i}, %f{i};\n"))
        .collect::<String>();
    let end = (0..32)
        .map(|i| format!("add.f32 %f40, %f40, %f{i};\n"))
        .collect::<String>()
        + KEEP;
    let one = cycles(&spec, &format!("{start}{}{end}", group.repeat(4)), 32);
    let two = cycles(&spec, &format!("{start}{}{end}", group.repeat(8)), 32);
    let interval = f64::from(spec.sm.units.sfu_timing.interval_cycles);
    let measured = (two - one) as f64 / 128.0;
    assert!(
        (measured - interval).abs() < 0.25,
        "{measured} cycles an instruction"
    );
}

/// A conflict of n lanes on one bank takes n cycles in the load/store unit.
#[test]
fn shared_memory_conflicts_cost_a_cycle_a_way() {
    let spec = gtx480();
    let start = |stride: u32| {
        format!(
            "mov.u32 %r1, %tid.x;\nmul.lo.s32 %r2, %r1, {stride};\nmov.u32 %r3, s;\nadd.s32 %r4, %r3, %r2;\n"
        )
    };
    let load = (0..16)
        .map(|i| format!("ld.shared.f32 %f{i}, [%r4];\n"))
        .collect::<String>();
    let end = (0..16)
        .map(|i| format!("add.f32 %f40, %f40, %f{i};\n"))
        .collect::<String>()
        + KEEP;
    let per_load = |stride| {
        let few = cycles(
            &spec,
            &format!("{}{}{end}", start(stride), load.repeat(2)),
            32,
        );
        let many = cycles(
            &spec,
            &format!("{}{}{end}", start(stride), load.repeat(6)),
            32,
        );
        (many - few) as f64 / 64.0
    };
    let (none, eight) = (per_load(4), per_load(4 * 8));
    assert!(
        (eight - 8.0).abs() < 0.51,
        "eight lanes a bank: {eight} cycles a load"
    );
    assert!(none < 2.6, "no conflict: {none} cycles a load");
}

/// A warp also waits for its atomics on shared memory, whether or not an instruction reads their
/// results. It continues when the result is selected for writing, one cycle before a dependent
/// instruction could issue.
#[test]
fn a_warp_waits_for_atomics_on_shared_memory() {
    let spec = gtx480();
    let start = "mov.u32 %r1, s;\n";
    let load = cost(&spec, start, "ld.shared.u32 %r1, [%r1];\n", 64);
    let atomic = cost(&spec, start, "red.shared.add.u32 [%r1], 1;\n", 64);
    assert_eq!(atomic, load - 1.0);
}

/// Lanes whose atomics are on one word of shared memory take turns where the machine says so, those
/// on words of their own do not. Operations on barrier objects take no turns.
#[test]
fn atomics_on_one_word_of_shared_memory_take_turns() {
    let gtx480 = gtx480();
    let mut turns = gtx480.clone();
    turns.sm.shared_atomic_cycles = 2;
    let (same, own) = (
        "mov.u32 %r1, s;\n",
        "mov.u32 %r1, s; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r2, 4, %r1;\n",
    );
    let further = |start, instruction: &str| {
        cost(&turns, start, instruction, 64) - cost(&gtx480, start, instruction, 64)
    };
    let red = "red.shared.add.u32 [%r1], 1;\n";
    assert_eq!(further(same, red), 31.0 * 2.0);
    assert_eq!(further(own, red), 0.0);
    let lanes = "@%p1 red.shared.add.u32 [%r1], 1;\n";
    let few = "mov.u32 %r1, s; mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 5;\n";
    assert_eq!(further(few, lanes), 4.0 * 2.0);
    assert_eq!(further(same, "ld.shared.u32 %r2, [%r1];\n"), 0.0);
    let object = "mov.u32 %r1, s; mbarrier.init.shared.b64 [%r1], 1048575;\n";
    let arrive = "mbarrier.arrive.shared.b64 _, [%r1];\n";
    assert_eq!(further(object, arrive), 0.0);
}

/// Warps whose lanes take turns on words of shared memory wait for their own turns, in which those
/// of others go on.
#[test]
fn turns_on_shared_memory_overlap_between_warps() {
    let mut spec = gtx480();
    spec.sm.shared_atomic_cycles = 8;
    let round = |warps: u32| {
        let start = "mov.u32 %r1, s;\n".to_owned();
        let body = |count| start.clone() + &"red.shared.add.u32 [%r1], 1;\n".repeat(count);
        let cycles = |count| cycles(&spec, &body(count), 32 * warps) as f64;
        (cycles(64) - cycles(32)) / 32.0
    };
    let alone = round(1);
    assert!((31.0 * 8.0..31.0 * 8.0 + 60.0).contains(&alone), "{alone}");
    // Shared memory is busy for 32 cycles with each warp.
    assert!(round(4) < alone + 2.0 * 32.0, "{}", round(4));
    let full = round(16);
    assert!((16.0 * 32.0..16.0 * 42.0).contains(&full), "{full}");
}

/// Skipping of idle cycles and the number of threads do not change any bit of the result.
#[test]
fn skipping_and_threads_leave_every_bit_as_it_is() {
    for name in ["gtx480", "gtx480-gpgpusim4", "qv100-volta"] {
        check_skipping_and_threads(preset(name).expect("a built-in preset"));
    }
}

fn check_skipping_and_threads(mut spec: GpuSpec) {
    let body = "
        ld.param.u64 %rd1, [buf];
        cvta.to.global.u64 %rd1, %rd1;
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
        mad.lo.s32 %r1, %r2, %r3, %r1;
        and.b32 %r4, %r1, 1023;
        mul.wide.u32 %rd2, %r4, 4;
        add.s64 %rd3, %rd1, %rd2;
        ld.global.u32 %r5, [%rd3];
        atom.global.add.u32 %r6, [%rd1+8192], 3;
        add.s32 %r5, %r5, %r6;
        st.global.u32 [%rd3+4096], %r5;
        bar.sync 0;
        red.global.max.u32 [%rd1+8196], %r5;";
    let run = |spec: &GpuSpec, threads| {
        let report = run_on(spec, body, 64, 128, threads);
        assert_eq!(report.outcome, Outcome::Finished);
        (report.totals.figures.statistics, report.digest)
    };
    let one = run(&spec, 1);
    assert_eq!(one, run(&spec, 1), "the same run twice");
    assert_eq!(one, run(&spec, 2), "two threads");
    assert_eq!(one, run(&spec, 3), "three threads");
    spec.sim.skip_idle = false;
    let walked = run(&spec, 1);
    let differ = walked
        .0
        .iter()
        .filter(|(name, value)| one.0.get(*name) != Some(value));
    assert_eq!(
        differ.collect::<Vec<_>>(),
        [],
        "statistics without skipping"
    );
    assert_eq!(one.1, walked.1, "digest without skipping");
}

/// Every scheduler cycle has exactly one cause.
#[test]
fn scheduler_cycles_add_up() {
    let spec = preset("gtx480").expect("a built-in preset");
    let report = run_on(&spec, "bar.sync 0;\nadd.s32 %r1, %r1, 1;\n", 30, 256, 1);
    let statistics = &report.totals.figures.statistics;
    let slots: u64 = statistics
        .iter()
        .filter(|(n, _)| n.starts_with("sm.slots."))
        .map(|(_, v)| v)
        .sum();
    let sm_cycles = statistics["gpu.cycles"] * u64::from(spec.gpu.sms);
    assert_eq!(slots, sm_cycles * u64::from(spec.sm.schedulers));
    assert_eq!(
        statistics["sm.slots.issued"],
        report.totals.figures.warp_instructions
    );
}

/// A warp that waits for a number of threads that never arrive is reported, with the wait of each
/// warp.
#[test]
fn a_barrier_that_nobody_reaches_is_a_deadlock() {
    let spec = preset("gtx480").expect("a built-in preset");
    let body = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra W;\nbar.sync 1, 64;\nret;\nW:\nbar.sync 2, 64;\n";
    let report = run_on(&spec, body, 1, 64, 1);
    match report.outcome {
        Outcome::Deadlock { message } => assert!(message.contains("barrier"), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Numbers of hits and misses of reads in L1D.
fn l1d_reads(spec: &GpuSpec, body: &str) -> [u64; 2] {
    let report = run_on(spec, body, 1, 32, 1);
    assert_eq!(report.outcome, Outcome::Finished);
    ["hit", "miss"].map(|outcome| {
        let name = format!("l1d.accesses.{outcome}.global_read");
        let statistics = &report.totals.figures.statistics;
        statistics.get(&name).copied().unwrap_or(0)
    })
}

#[test]
fn a_fence_empties_l1d_where_kernels_ends_do() {
    let body = "ld.param.u64 %rd1, [buf];\nld.global.u32 %r1, [%rd1];\nmembar.gl;\n\
                ld.global.u32 %r2, [%rd1];\n";
    let mut spec = preset("gtx480-gpgpusim4").expect("a built-in preset");
    assert_eq!(l1d_reads(&spec, body), [0, 2]);
    spec.gpu.flush_l1_at_kernel_end = false;
    assert_eq!(l1d_reads(&spec, body), [1, 1]);
}

/// The kernel makes two passes over 320 lines. L1D by itself holds 256 (4 sets of 64 ways); the
/// least recently used are evicted, so that the second pass has no hits. Next to 4 KiB of shared
/// memory, for which 8 KiB of 128 are taken, L1D holds 960 (4 sets of 240 ways).
#[test]
fn l1d_takes_what_shared_memory_leaves() {
    let pass: String = (0..320)
        .map(|line| format!("ld.global.u32 %r1, [%rd1+{}];\n", line * 128))
        .collect();
    let body = format!("ld.param.u64 %rd1, [buf];\n{pass}{pass}");
    let mut spec = preset("qv100-volta").expect("a built-in preset");
    assert_eq!(l1d_reads(&spec, &body), [320, 320]);
    spec.sm.adaptive_l1d = false;
    assert_eq!(l1d_reads(&spec, &body), [0, 640]);
}

/// A program that launches the same kernel again and again, each time on the results of the last
/// launch.
struct Again {
    left: u32,
    buffer: Option<(warploom_run::ModuleId, warploom_run::DevicePtr)>,
}

impl HostProgram for Again {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.left == 0 {
            return Ok(HostAction::Done);
        }
        self.left -= 1;
        let (module, buffer) = match self.buffer {
            Some(made) => made,
            None => {
                let body = "ld.param.u64 %rd1, [buf];\nld.global.u32 %r1, [%rd1];\n\
                            mad.lo.u32 %r2, %r1, 10, 1;\nst.global.u32 [%rd1], %r2;\n";
                let module = device.load_ptx("test.ptx", &kernel(body))?;
                (module, device.alloc_slice(&[0_u32])?)
            }
        };
        self.buffer = Some((module, buffer));
        let one = Dim3::linear(1);
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(module, "k", one, one, args)))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let (_, buffer) = self.buffer.expect("launched");
        let result = device.read_vec::<u32>(buffer, 1)?;
        Ok(vec![Check {
            name: "result".to_owned(),
            passed: result == [1111],
            detail: format!("{result:?}"),
            compared: 1,
        }])
    }
}

/// Launches before the first timed one take effect and have no figures.
#[test]
fn earlier_launches_are_executed_without_timing() {
    let run = |timed| {
        let options = Options {
            timed,
            ..Options::default()
        };
        let mut program = Again {
            left: 4,
            buffer: None,
        };
        let session = Session::new(gtx480(), options);
        let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
        report.expect("the kernel is sound")
    };
    let all = run(Timed::default());
    assert_eq!((all.kernels.len(), all.checks[0].passed), (4, true));
    let late = run(Timed::from(3));
    assert_eq!((late.kernels.len(), late.checks[0].passed), (1, true));
    // It finds cold caches, as the first launch does.
    assert_eq!(late.totals.figures.cycles, all.kernels[0].figures.cycles);
    let few = run(Timed {
        launches: 1..3,
        ..Timed::default()
    });
    assert_eq!((few.kernels.len(), few.checks[0].passed), (2, true));
    let named = run(Timed {
        kernels: vec!["other".to_owned()],
        ..Timed::default()
    });
    assert_eq!((named.kernels.len(), named.checks[0].passed), (0, true));
    let none = run(Timed::from(9));
    assert_eq!((none.kernels.len(), none.checks[0].passed), (0, true));
}

/// A wait that leaves groups of asynchronous copies in flight lets them overlap: four copies at
/// once each take a quarter of the time of a copy that is waited for alone.
#[test]
fn copies_overlap_as_far_as_waits_let_them() {
    let spec = gtx480();
    let start = "ld.param.u64 %rd1, [buf];\n";
    let copy = |under_way: u32| {
        let copy = "cp.async.cg.shared.global [s], [%rd1], 16;\n";
        let wait = format!("cp.async.commit_group;\ncp.async.wait_group {under_way};\n");
        cost(&spec, start, &format!("{copy}{wait}"), 64)
    };
    let (alone, four) = (copy(0), copy(3));
    assert!(alone > 100.0, "a way to L2 and back: {alone}");
    assert!((four - alone / 4.0).abs() < 1.0, "{four}, alone {alone}");
}

/// Matrix products take their share of a 16x16x16 product of halves on a tensor unit for each
/// sub-core: its latency where they depend on each other, its interval where they do not.
#[test]
fn products_of_matrices_take_their_share_of_a_tensor_unit() {
    let mut spec = preset("qv100-volta").expect("a built-in preset");
    spec.sm.perfect_inst_const_cache = true;
    let timing = spec.sm.units.tensor_timing;
    let start = "mov.u32 %r0, 0;\nmov.u32 %r1, 0;\nmov.f32 %f0, 0f00000000;\n";
    let product = |d: &str, c: &str| {
        format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{d}}}, {{%r0, %r0, %r0, %r0}}, \
             {{%r1, %r1}}, {{{c}}};\n"
        )
    };
    let own = "%f0, %f0, %f0, %f0";
    let half = f64::from(timing.interval_cycles) / 2.0;
    let apart = cost(&spec, start, &product("_, _, _, _", own), 64);
    assert!(
        (apart - half).abs() < 1.0,
        "{apart}, half of a product {half}"
    );
    let chained = cost(&spec, start, &product("_, _, _, %f0", own), 64);
    let least = f64::from(timing.latency_cycles) / 2.0;
    assert!(
        chained > least + 2.0,
        "{chained} with its way there and back, {least} alone"
    );
}

#[test]
fn a_gpu_without_tensor_units_refuses_products_of_matrices() {
    let body = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0}, \
                {%r1}, {%f0, %f1, %f2, %f3};\n";
    let mut program = OneKernel {
        ptx: kernel(body),
        grid: Dim3::linear(1),
        block: Dim3::linear(32),
        words: 32,
        launched: false,
    };
    let session = Session::new(gtx480(), Options::default());
    let result = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
    let error = result.expect_err("no tensor units").to_string();
    assert!(error.contains("tensor units"), "{error}");
}

/// Product of a warp group of eight columns, with the accumulator in the first registers.
const WARP_GROUP_PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 \
    {%f0, %f1, %f2, %f3}, %rd2, %rd2, 1, 1, 1, 0, 0;\n";

/// A warp's part of a product of a warp group keeps a tensor unit busy for its share of a product
/// of 16x16x16 halves, whatever the products before it; a wait adds the latency of a whole one.
#[test]
fn products_of_warp_groups_overlap_unless_a_wait_comes_between() {
    let mut spec = preset("qv100-volta").expect("a built-in preset");
    spec.sm.perfect_inst_const_cache = true;
    let timing = spec.sm.units.tensor_timing;
    let start = "mov.b64 %rd2, 0;\n";
    let share = f64::from(timing.interval_cycles) / 2.0;
    let apart = cost(&spec, start, WARP_GROUP_PRODUCT, 64);
    assert!((apart - share).abs() < 1.0, "{apart}, a share of {share}");
    let wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    let alone = cost(&spec, start, &format!("{WARP_GROUP_PRODUCT}{wait}"), 64);
    let least = share + f64::from(timing.latency_cycles);
    assert!(
        alone > least && alone < least + 32.0,
        "{alone}, at least {least}"
    );
}

/// Cycles that a bulk copy of `bytes` bytes adds to a warp that makes one after the other.
fn bulk_load(spec: &GpuSpec, bytes: u32) -> f64 {
    let start = "ld.param.u64 %rd1, [buf];\nmov.u32 %r1, %laneid;\nsetp.eq.u32 %p0, %r1, 0;\n\
                 @%p0 mbarrier.init.shared.b64 [s], 1;\n";
    let prefix = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let copy = format!("@%p0 {prefix} [s+1024], [%rd1], {bytes}, [s];\n");
    cost(spec, start, &copy, 64)
}

/// A warp whose bulk copy holds it issues the next one that many cycles after the unit began, and
/// some more until the unit has it.
#[test]
fn a_bulk_copy_holds_its_warp_as_long_as_stated() {
    let mut spec = gtx480();
    spec.sm.bulk_issue_cycles = 168;
    let apart = bulk_load(&spec, 16);
    assert!((168.0..184.0).contains(&apart), "{apart}");
    spec.sm.bulk_issue_cycles = 0;
    spec.sm.bulk_interval_cycles = 70;
    let apart = bulk_load(&spec, 16);
    assert!((apart - 70.0).abs() < 1.0, "{apart}");
}

/// Latencies that count from issue are the distance of dependent instructions; simple instructions
/// take the stages' own time.
#[test]
fn dependent_instructions_are_the_latency_from_issue_apart() {
    let mut spec = preset("a100-ampere").expect("a built-in preset");
    // Nothing reads the results.
    spec.sm.folds_instructions = false;
    let start = "mov.f32 %f1, 0f3F800000;\nmov.u32 %r1, 1;\n";
    let apart = |link| cost(&spec, start, link, 64);
    assert_eq!(apart("add.f32 %f1, %f1, 0f40000000;\n"), 4.0);
    assert_eq!(apart("sqrt.approx.ftz.f32 %f1, %f1;\n"), 23.0);
    assert_eq!(apart("xor.b32 %r1, %r1, 5;\n"), 4.0);
}

/// The unit of bulk copies begins an instruction 32 cycles after the one before, and sends a line
/// of 128 bytes a cycle.
#[test]
fn bulk_copies_take_a_gap_or_their_lines() {
    let spec = gtx480();
    let load = |bytes| bulk_load(&spec, bytes);
    let short = load(16);
    assert!((short - 32.0).abs() < 1.0, "{short}");
    // Replies bound longer copies; two of 12 lines fit into the gap.
    let long = load(3072);
    assert!(long >= 32.0, "{long}");
    assert!(load(1536) <= long, "a shorter copy takes no longer");
}

/// The H100 reaches its peak of 4,096 operations a cycle: a product of 64 x 8 x 16 halves takes 4
/// cycles.
#[test]
fn the_h100_has_its_peak_rate() {
    let spec = preset("h100-hopper").expect("the preset is sound");
    let registers: Vec<String> = (0..32).map(|nth| format!("%f{nth}")).collect();
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{}}}, %rd2, %rd2, 1, 1, 1, 0, 0;\n",
        registers.join(", ")
    );
    let apart = cost(&spec, "mov.b64 %rd2, 0;\n", &product, 64);
    assert!((apart - 8.0 * 4.0).abs() < 1.0, "{apart}");
}
