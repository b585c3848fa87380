//! Tests of context switching in the whole machine: contexts are switched where they should be,
//! outputs are correct, and results depend neither on threads nor on skipped cycles.

mod scenarios;

use crate::results::results;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::{Outcome, RunReport};
use warploom_stats::trace::{Activity, TraceEvent};

/// Number of words that are read. As many words after them are written.
const WORDS: usize = 1 << 15;

/// Each thread sums words from several lines, in a number of rounds that depends on its warp,
/// exchanges sums with its block, and writes its own word. Outputs do not depend on any order.
const GATHER: &str = "
    .shared .b32 sums[1024];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    shr.u32 %r9, %r1, 5; and.b32 %r9, %r9, 3; add.u32 %r9, %r9, 2;
    mov.u32 %r10, 0;
    mul.lo.u32 %r5, %r4, 1540;
again:
    and.b32 %r6, %r5, 131068;
    cvt.u64.u32 %rd2, %r6;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r11, [%rd3];
    mad.lo.u32 %r10, %r10, 3, %r11;
    add.u32 %r5, %r5, 49284;
    sub.u32 %r9, %r9, 1;
    setp.gt.u32 %p1, %r9, 0;
    @%p1 bra again;
    mov.u32 %r12, sums; shl.b32 %r13, %r1, 2; add.u32 %r14, %r12, %r13;
    st.shared.u32 [%r14], %r10;
    bar.sync 0;
    xor.b32 %r15, %r13, 128; add.u32 %r15, %r15, %r12;
    ld.shared.u32 %r11, [%r15];
    ld.global.u32 %r6, [%rd3];
    add.u32 %r10, %r10, %r11;
    add.u32 %r10, %r10, %r6;
    mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
    st.global.u32 [%rd4+131072], %r10;
";

/// Parameters of the kernel's launch.
#[derive(Clone, Copy)]
struct Kernel {
    body: &'static str,
    grid: u32,
    block: u32,
    registers: u32,
    shared: u32,
}

struct OneKernel {
    kernel: Kernel,
    buffer: Option<DevicePtr>,
    output: Vec<u32>,
}

impl HostProgram for OneKernel {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffer.is_some() {
            return Ok(HostAction::Done);
        }
        let ptx = format!(
            ".version 7.0\n.target sm_50\n.address_size 64\n\
             .visible .entry k(.param .u64 buf) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [buf];\n{}\nret;\n}}\n",
            self.kernel.body
        );
        let module = device.load_ptx("test.ptx", &ptx)?;
        let words: Vec<u32> = (0..2 * WORDS as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 7)
            .collect();
        let buffer = device.alloc_slice(&words)?;
        self.buffer = Some(buffer);
        let (grid, block) = (
            Dim3::linear(self.kernel.grid),
            Dim3::linear(self.kernel.block),
        );
        let mut launch = Launch::new(module, "k", grid, block, vec![Arg::Pointer(buffer)]);
        launch.registers_per_thread = Some(self.kernel.registers);
        launch.dynamic_shared_bytes = self.kernel.shared;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let buffer = self.buffer.expect("it was launched");
        self.output = device.read_vec(buffer, 2 * WORDS)?;
        Ok(Vec::new())
    }
}

fn spec(sets: &[&str]) -> GpuSpec {
    let sets = ["gpu.sms=2"].iter().chain(sets);
    let sets: Vec<_> = sets.map(|set| (*set).to_owned()).collect();
    resolve(&Base::Preset("gtx480".to_owned()), &sets).unwrap_or_else(|e| panic!("{e}"))
}

/// Makes a run. Returns its result and the final contents of memory.
fn run(spec: &GpuSpec, kernel: Kernel, threads: usize) -> (RunReport, Vec<u32>) {
    let mut program = OneKernel {
        kernel,
        buffer: None,
        output: Vec::new(),
    };
    let options = Options {
        threads,
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
    (report.expect("the kernel is sound"), program.output)
}

fn finished(spec: &GpuSpec, kernel: Kernel) -> (RunReport, Vec<u32>) {
    let (report, output) = run(spec, kernel, 1);
    assert_eq!(report.outcome, Outcome::Finished);
    (report, output)
}

fn count(report: &RunReport, name: &str) -> u64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

fn cycles(report: &RunReport) -> u64 {
    report.totals.figures.cycles
}

/// Runs with one thread, with two, and without skipping. All must agree, and memory must be as
/// without context switching.
fn same_always(sets: &[&str], kernel: Kernel) -> RunReport {
    let mut machine = spec(sets);
    let (report, output) = finished(&machine, kernel);
    let (two, _) = run(&machine, kernel, 2);
    assert_eq!(results(&two), results(&report), "{sets:?}");
    machine.sim.skip_idle = false;
    let (awake, _) = finished(&machine, kernel);
    assert_eq!(awake.totals, report.totals, "{sets:?}");
    assert_eq!(results(&awake), results(&report), "{sets:?}");
    let (_, expected) = finished(&spec(&[]), kernel);
    assert!(output == expected, "{sets:?}: other outputs");
    let units = count(&report, "context.bytes") / 128;
    assert!(units > 0, "{sets:?}: nothing was switched");
    report
}

const fn gather(registers: u32, shared: u32) -> Kernel {
    Kernel {
        body: GATHER,
        grid: 30,
        block: 256,
        registers,
        shared,
    }
}

/// 32 registers permit 4 blocks, with warp slots for 6.
const REGISTERS_LIMIT: Kernel = gather(32, 0);
/// 16 registers permit 6 blocks, which take all warp slots.
const SLOTS_LIMIT: Kernel = gather(16, 0);
/// 4 KB of static and 9 KB of dynamic shared memory permit 3 blocks in 48 KB.
const SHARED_LIMITS: Kernel = gather(16, 9 * 1024);

#[test]
fn warps_leave_where_registers_limit() {
    let report = same_always(&["sm.context=duet", "duet.extra_blocks=8"], REGISTERS_LIMIT);
    assert_eq!(count(&report, "context.blocks_out"), 0);
    let out = count(&report, "context.warps_out");
    assert!(out > 100, "{out} warps");
    // Contexts that leave come back, and blocks that started outside come in.
    assert!(count(&report, "context.warps_in") >= out);
    assert!(count(&report, "context.out_at_barriers") > 0);
    assert!(count(&report, "context.swaps") > 100);
    assert!(count(&report, "context.blocks_max") > 4);
}

/// Alternates loads with arithmetic for long enough that the watchdog looks for warps that spin. A
/// warp whose context returns unchanged to its slot does not spin.
#[test]
fn a_warp_that_comes_back_does_not_spin() {
    let kernel = Kernel {
        body: "
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.lo.u32 %r5, %r4, 1540; mov.u32 %r9, 700; mov.u32 %r10, 0;
again:
    and.b32 %r6, %r5, 131068;
    cvt.u64.u32 %rd2, %r6;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r11, [%rd3];
    mad.lo.u32 %r10, %r10, 3, %r11;
    add.u32 %r5, %r5, 49284;
    sub.u32 %r9, %r9, 1;
    setp.gt.u32 %p1, %r9, 0;
    @%p1 bra again;
    mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
    st.global.u32 [%rd4+131072], %r10;
",
        grid: 12,
        block: 64,
        registers: 63,
        shared: 0,
    };
    let sets = [
        "sm.context=duet",
        "duet.extra_blocks=2",
        "sm.registers=16384",
        "l1d.enabled=false",
    ];
    let (report, _) = finished(&spec(&sets), kernel);
    assert!(count(&report, "context.warps_out") > 1000);
    assert!(cycles(&report) > 300_000, "long enough for the watchdog");
}

/// Lane 0 of a warp holds the lock and waits for the other lanes, which spin for it, while the
/// other warps of the block are switched out at a barrier.
#[test]
fn a_warp_that_spins_while_others_are_out_is_a_livelock() {
    let kernel = Kernel {
        body: "
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra wait;
spin:
    atom.global.cas.b32 %r2, [%rd1+131072], 0, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra spin;
    mov.u32 %r3, 0;
    atom.global.exch.b32 %r4, [%rd1+131072], %r3;
wait:
    bar.sync 0;
",
        grid: 12,
        ..REGISTERS_LIMIT
    };
    let sets = ["sm.context=duet", "duet.extra_blocks=2"];
    let (report, _) = run(&spec(&sets), kernel, 1);
    let Outcome::Livelock { message } = &report.outcome else {
        panic!("{:?}", report.outcome)
    };
    assert!(message.contains("out, at a barrier"), "{message}");
}

#[test]
fn warps_leave_where_slots_limit() {
    let report = same_always(&["sm.context=duet", "duet.extra_blocks=1"], SLOTS_LIMIT);
    // Registers stay: each move transfers a slot of 256 bytes.
    let moves = count(&report, "context.warps_out") + count(&report, "context.warps_in");
    assert_eq!(count(&report, "context.bytes"), 256 * moves);
    assert_eq!(count(&report, "context.port_cycles"), 2 * moves);
    assert_eq!(count(&report, "context.blocks_max"), 7);
}

#[test]
fn blocks_leave_where_shared_memory_limits() {
    let report = same_always(&["sm.context=duet", "duet.extra_blocks=2"], SHARED_LIMITS);
    assert_eq!(count(&report, "context.warps_out"), 0);
    let blocks = count(&report, "context.blocks_out");
    assert!(blocks > 5, "{blocks} blocks");
    assert_eq!(count(&report, "context.blocks_max"), 5);
}

#[test]
fn the_rivals_switch_blocks() {
    for (sets, kernel) in [
        (
            ["sm.context=duet-tb", "duet-tb.extra_blocks=2"],
            REGISTERS_LIMIT,
        ),
        (
            ["sm.context=virtual-thread", "virtual-thread.warps=96"],
            SLOTS_LIMIT,
        ),
        (
            ["sm.context=finereg", "finereg.active_percent=60"],
            REGISTERS_LIMIT,
        ),
    ] {
        let report = same_always(&sets, kernel);
        assert_eq!(count(&report, "context.warps_out"), 0, "{sets:?}");
        assert!(count(&report, "context.blocks_out") > 3, "{sets:?}");
    }
}

/// A slot of 256 bytes takes two cycles on a port of 128 bytes. A context that moves out is out
/// after two cycles. A context that moves in alone is in after two cycles, and after another
/// context after four. A serial transfer begins when the previous one has ended, or later. Others
/// overlap, up to as many as the queue has entries.
#[test]
fn transfers_take_their_time() {
    assert_eq!(most_at_once("serial", 16), 1);
    assert_eq!(most_at_once("overlap", 2), 2);
    assert!(most_at_once("overlap", 16) > 2);
}

/// Most transfers of an SM that are under way at once. Each takes as long as its contexts need.
fn most_at_once(transfers: &str, queue: u32) -> usize {
    let transfers = format!("duet.transfers={transfers}");
    let queue = format!("duet.warp_queue={queue}");
    let machine = spec(&["sm.context=duet", "duet.extra_blocks=1", &transfers, &queue]);
    let mut program = OneKernel {
        kernel: Kernel {
            grid: 16,
            ..SLOTS_LIMIT
        },
        buffer: None,
        output: Vec::new(),
    };
    let session = Session::new(machine, Options::default());
    let traced = session.run_traced(&mut program, &mut |_| ControlFlow::Continue(()));
    let (report, trace) = traced.expect("the kernel is sound");
    let mut moves = 0;
    // By SM: the first cycle of each transfer, and the cycle in which it ends.
    let mut busy: BTreeMap<u16, BTreeMap<u64, u64>> = BTreeMap::new();
    for event in &trace.events {
        let out = event.activity == Activity::MovesOut;
        if !out && event.activity != Activity::MovesIn {
            continue;
        }
        let same = |e: &&TraceEvent| (e.sm, e.row) == (event.sm, event.row) && e.at > event.at;
        let next = trace.events.iter().find(same).expect("it arrives");
        let leaves = |e: &TraceEvent| {
            (e.sm, e.at) == (event.sm, event.at) && e.activity == Activity::MovesOut
        };
        let behind = !out && trace.events.iter().any(leaves);
        let cycles = next.at - event.at;
        assert_eq!(cycles, if behind { 4 } else { 2 }, "{event:?} {next:?}");
        let transfers = busy.entry(event.sm).or_default();
        let ends = transfers.entry(event.at).or_default();
        *ends = next.at.max(*ends);
        moves += 1;
    }
    let counted = count(&report, "context.warps_out") + count(&report, "context.warps_in");
    assert_eq!(moves, counted);
    let under_way = |transfers: &BTreeMap<u64, u64>, now: u64| {
        let begun = transfers.range(..=now);
        begun.filter(|(_, ends)| **ends > now).count()
    };
    let at_once = busy.values().flat_map(|transfers| {
        let begins = transfers.keys();
        begins.map(|begin| under_way(transfers, *begin))
    });
    at_once.max().unwrap_or(0)
}

/// Virtual Thread ignores blocks that registers limit. Without extra blocks GPUDuet changes
/// nothing.
#[test]
fn without_extra_blocks_nothing_changes() {
    let (plain, _) = finished(&spec(&[]), REGISTERS_LIMIT);
    for sets in [
        vec!["sm.context=virtual-thread"],
        vec!["sm.context=duet", "duet.extra_blocks=0"],
        vec!["sm.context=duet-tb", "duet-tb.extra_blocks=0"],
        // The first check comes after the end.
        vec!["sm.context=duet", "duet.warm_up_cycles=10000000"],
    ] {
        let (report, _) = finished(&spec(&sets), REGISTERS_LIMIT);
        assert_eq!(cycles(&report), cycles(&plain), "{sets:?}");
        let mut counts = report.totals.figures.statistics.clone();
        // The monitored machine counts its blocks.
        counts.retain(|name, _| !name.starts_with("context."));
        assert_eq!(counts, plain.totals.figures.statistics, "{sets:?}");
        assert_eq!(report.digest, plain.digest, "{sets:?}");
    }
}

/// A machine without a saturated part takes all extra blocks after the first window.
#[test]
fn the_monitor_steps_up() {
    let sets = [
        "sm.context=duet",
        "duet.warm_up_cycles=500",
        "duet.window_cycles=500",
    ];
    let report = same_always(&sets, gather(32, 0));
    // The number rises in one step or in several, on both SMs.
    let up = count(&report, "context.steps_up");
    assert!(up >= 2 && up.is_multiple_of(2), "{up}");
    assert_eq!(count(&report, "context.steps_down"), 0);
    assert!(count(&report, "context.blocks_max") > 4);
}

/// Only L1D has free space: registers limit the number of blocks, and shared memory has no space
/// for another context.
#[test]
fn l1d_holds_contexts_after_it_was_emptied() {
    let kernel = Kernel {
        grid: 40,
        ..gather(32, 5 * 1024)
    };
    let sets = ["sm.context=duet", "duet.extra_blocks=2", "duet.l1d=always"];
    let report = same_always(&sets, kernel);
    assert_eq!(count(&report, "context.l1d_taken"), 2, "both SMs");
    assert!(count(&report, "context.warps_out") > 10);
}

/// Outputs are correct with random latencies and ports.
#[test]
fn outputs_are_right_under_any_latencies() {
    let mut rng = warploom_base::Rng::new(7);
    for (kernel, names) in [
        (REGISTERS_LIMIT, ["duet", "duet-tb"]),
        (SLOTS_LIMIT, ["duet", "virtual-thread"]),
        (SHARED_LIMITS, ["duet", "duet-tb"]),
    ] {
        let kernel = Kernel { grid: 16, ..kernel };
        let (_, expected) = finished(&spec(&[]), kernel);
        for name in names {
            for extra in [1, 3] {
                let mut draw = |from: u64, to: u64| from + rng.next_u64() % (to - from);
                let context = format!("sm.context={name}");
                let extra = format!(
                    "{}.extra_blocks={extra}",
                    name.replace("virtual-thread", "duet")
                );
                let rop = format!("partition.rop_cycles={}", draw(2, 600));
                let port = format!("{name}.port_bytes={}", 1 << draw(4, 9));
                let sets = [
                    &*context,
                    &*extra,
                    &*rop,
                    &*port,
                    "gpu.flush_l1_at_kernel_end=true",
                ];
                let (_, output) = finished(&spec(&sets), kernel);
                assert!(output == expected, "{sets:?}: other outputs");
            }
        }
    }
}
