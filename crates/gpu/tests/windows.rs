//! Windows have the results of single steps: programs whose results depend on the cycle in which
//! other SMs see a store.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use support::{Drawn, Grid, InWindows, Seen, kernel, run_drawn, run_together, spec};
use warploom_base::Cycle;
use warploom_config::{Base, MultiprogramChoice, resolve};
use warploom_gpu::Stretches;
use warploom_ir::Program;

/// Grids: more blocks than SMs, and fewer than fit; more than fit; more than fit, of many warps,
/// which keep SMs busy for long and work on each other's words.
const FEW: Grid = (50, 64);
const MANY: Grid = (150, 64);
const WIDE: Grid = (75, 256);

/// Every thread works on the words of its block and the next: `%rd1` and `%rd2` in the first
/// allocation, `%rd3` and `%rd4` in the second; `%r4` is its number.
const BEGIN: &str = "\
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mad.lo.u32 %r4, %r1, 64, %r2;
mul.wide.u32 %rd5, %r4, 4;
add.u64 %rd1, %rd1, %rd5;
add.u64 %rd2, %rd1, 256;
add.u64 %rd3, %rd1, 65536;
add.u64 %rd4, %rd2, 65536;
mov.u32 %r5, %r4;
mov.u32 %r6, 0;
";

/// Copies from one allocation to the other, then from the second, in each block at another time.
const LATE: &str = "\
add.u32 %r8, %r1, 20;
L:
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd3], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, %r8;
@%p1 bra L;
M:
ld.global.u32 %r7, [%rd4];
mad.lo.u32 %r5, %r5, 5, %r7;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 90;
@%p1 bra M;
st.global.u32 [%rd1], %r5;
";

/// Copies from one allocation to the other, and nothing else.
const APART: &str = "\
L:
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd3], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 60;
@%p1 bra L;
";

/// In place, too, but few blocks store anything before the end, and seldom.
const SELDOM: &str = "\
and.b32 %r8, %r1, 31;
L:
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
and.b32 %r9, %r6, 3;
add.u32 %r9, %r9, %r8;
setp.eq.u32 %p1, %r9, 0;
@%p1 st.global.u32 [%rd1], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 40;
@%p1 bra L;
st.global.u32 [%rd3], %r5;
";

/// In place, but every thread loads from other lines each time, which its SM seldom has.
const ELSEWHERE: &str = "\
ld.param.u64 %rd6, [buf];
L:
mad.lo.u32 %r8, %r6, 4352, %r4;
and.b32 %r8, %r8, 16383;
mul.wide.u32 %rd2, %r8, 4;
add.u64 %rd2, %rd6, %rd2;
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd1], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 16;
@%p1 bra L;
";

/// Every thread stores to lines of its own, and loads what others have stored in the end: SMs send
/// more than the network takes.
const SCATTERED: &str = "\
ld.param.u64 %rd1, [buf];
L:
mad.lo.u32 %r8, %r6, 4100, %r4;
mul.lo.u32 %r8, %r8, 132;
and.b32 %r8, %r8, 65532;
cvt.u64.u32 %rd2, %r8;
add.u64 %rd2, %rd1, %rd2;
mad.lo.u32 %r5, %r5, 3, %r6;
st.global.u32 [%rd2], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 3;
@%p1 bra L;
ld.global.u32 %r7, [%rd2];
add.u32 %r5, %r5, %r7;
st.global.u32 [%rd3], %r5;
";

/// Threads of neighbouring blocks take turns in a word by atomics, some of which bring back what
/// was there, store to it and load from it: what each finds depends on the cycles in which the
/// others came.
const ATOMIC: &str = "\
L:
atom.global.add.u32 %r7, [%rd2], %r5;
mad.lo.u32 %r5, %r5, 3, %r7;
red.global.xor.b32 [%rd1], %r5;
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 5, %r7;
and.b32 %r9, %r5, 3;
setp.eq.u32 %p1, %r9, 0;
@%p1 st.global.u32 [%rd1], %r5;
atom.global.cas.b32 %r7, [%rd4], %r7, %r5;
mad.lo.u32 %r5, %r5, 3, %r7;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 6;
@%p1 bra L;
st.global.u32 [%rd3], %r5;
";

/// Fetches texels that others store, as `APART` loads words: the registers of the coordinates get
/// the texels.
const FETCHED: &str = "\
mov.u64 %rd6, 1;
add.u32 %r8, %r4, 64;
L:
mov.u32 %r10, %r8;
tex.1d.v4.u32.s32 {%r10, %r11, %r12, %r13}, [%rd6, {%r10}];
add.u32 %r7, %r10, %r11;
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd3], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 60;
@%p1 bra L;
";

/// Every thread fetches texels of lines of its own: SMs request more than the network takes.
const FETCHED_APART: &str = "\
mov.u64 %rd6, 1;
L:
mad.lo.u32 %r8, %r6, 4100, %r4;
mul.lo.u32 %r8, %r8, 33;
and.b32 %r8, %r8, 16383;
tex.1d.v4.u32.s32 {%r10, %r11, %r12, %r13}, [%rd6, {%r8}];
add.u32 %r7, %r10, %r11;
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd3], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 6;
@%p1 bra L;
";

/// The first lane of each warp waits for a lock, which those of all blocks hold in turn, and
/// changes a word that nothing else protects.
const LOCKED: &str = "\
ld.param.u64 %rd1, [buf];
and.b32 %r8, %r2, 31;
setp.ne.u32 %p1, %r8, 0;
@%p1 bra END;
shr.u32 %r8, %r2, 5;
mul.wide.u32 %rd5, %r8, 128;
add.u64 %rd1, %rd1, %rd5;
add.u64 %rd2, %rd1, 65536;
st.global.u32 [%rd4], %r1;
TAKE:
atom.global.exch.b32 %r7, [%rd1+64], 1;
setp.eq.u32 %p1, %r7, 1;
@%p1 bra TAKE;
ld.volatile.global.u32 %r9, [%rd2];
mad.lo.u32 %r9, %r9, 3, %r1;
st.volatile.global.u32 [%rd2], %r9;
membar.gl;
atom.global.exch.b32 %r7, [%rd1+64], 0;
END:
";

/// Words of the next block by generic addresses, every fourth lane its own in shared memory; those
/// of its own by such addresses, too.
const GENERIC: &str = "\
.shared .b32 own[256];
mov.u32 %r8, own;
cvt.u64.u32 %rd6, %r8;
cvta.shared.u64 %rd6, %rd6;
mul.wide.u32 %rd5, %r2, 4;
add.u64 %rd6, %rd6, %rd5;
st.u32 [%rd6], %r2;
and.b32 %r8, %r2, 3;
setp.eq.u32 %p1, %r8, LANE;
selp.b64 %rd6, %rd6, %rd2, %p1;
L:
ld.u32 %r7, [%rd6];
mad.lo.u32 %r5, %r5, 3, %r7;
st.u32 [%rd1], %r5;
atom.add.u32 %r7, [%rd6], %r5;
mad.lo.u32 %r5, %r5, 3, %r7;
ld.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 8;
@%p1 bra L;
st.global.u32 [%rd3], %r5;
";

/// Words of the next block come to shared memory by asynchronous copies.
const COPIED: &str = "\
.shared .align 8 .b8 own[2048];
mov.u32 %r8, own;
mad.lo.u32 %r8, %r2, 8, %r8;
L:
cp.async.ca.shared.global [%r8], [%rd2], 4;
cp.async.commit_group;
mad.lo.u32 %r5, %r5, 3, %r6;
cp.async.wait_group 0;
ld.shared.u32 %r7, [%r8];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd1], %r5;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 12;
@%p1 bra L;
st.global.u32 [%rd3], %r5;
";

/// Threads arrive at a barrier object of their block and look whether a phase has ended.
const ARRIVED: &str = "\
.shared .align 8 .b64 barrier;
setp.eq.u32 %p1, %r2, 0;
@%p1 mbarrier.init.shared.b64 [barrier], 100;
bar.sync 0;
L:
mbarrier.arrive.shared.b64 %rd6, [barrier];
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd1], %r5;
mbarrier.test_wait.shared.b64 %p1, [barrier], %rd6;
selp.b32 %r7, 3, 7, %p1;
mad.lo.u32 %r5, %r5, 3, %r7;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 12;
@%p1 bra L;
st.global.u32 [%rd3], %r5;
";

/// Every round the first thread of a block prints what the next block stored last.
const PRINTED: &str = "\
.local .align 8 .b8 l[16];
st.local.u32 [l], 681253;
L:
ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r5, %r5, 3, %r7;
st.global.u32 [%rd1], %r5;
st.local.u32 [l+8], %r7;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra N;
mov.u64 %rd5, l;
cvta.local.u64 %rd5, %rd5;
add.u64 %rd6, %rd5, 8;
{
.param .b64 f; st.param.b64 [f], %rd5;
.param .b64 v; st.param.b64 [v], %rd6;
.param .b32 r; call.uni (r), vprintf, (f, v);
ld.param.b32 %r7, [r];
}
N:
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 20;
@%p1 bra L;
";

/// Load from an address without memory, by some block in the end.
const FAULT: &str = "\
setp.eq.u32 %p1, %r1, 31;
@%p1 ld.global.u32 %r7, [%rd2+1048576];
";

/// Blocks load what the next one stores, all in one allocation, from the beginning on.
fn in_place() -> String {
    APART.replace("%rd3", "%rd1")
}

fn program(body: &str) -> Arc<Program> {
    kernel(&format!("{BEGIN}{body}"))
}

/// Loads that hit are read after some forty cycles, or four.
const GPUS: [&str; 2] = ["gtx480-gpgpusim4", "gtx480"];

/// Runs two launches of a kernel, in steps or windows.
fn run(gpu: &str, program: &Arc<Program>, grid: Grid, how: (usize, bool)) -> (Seen, InWindows) {
    run_together(&spec(gpu), &[(Arc::clone(program), grid)], how)
}

/// Results are the same for any number of threads, run after run, as in steps on one thread.
fn check(body: &str, grid: Grid) -> [Seen; 2] {
    let program = program(body);
    GPUS.map(|gpu| {
        let (expected, _) = run(gpu, &program, grid, (1, false));
        // A run on one thread gives the same result each time.
        for threads in [1, 2, 3, 15, 15] {
            let (seen, _) = run(gpu, &program, grid, (threads, true));
            assert!(seen == expected, "{gpu}, {threads} threads: {body}");
        }
        expected
    })
}

/// The same where accesses are so far apart that there are credits for them.
fn check_apart(body: &str) -> [Seen; 2] {
    check_windows(&apart(body))
}

fn apart(body: &str) -> String {
    const STEP: &str = "mad.lo.u32 %r5, %r5, 3, %r7;\n";
    let fewer = body.replace(", 60;", ", 8;").replace(", 90;", ", 60;");
    fewer.replace(STEP, &STEP.repeat(15))
}

/// Half of the cycles are in windows, or a third where there are several threads; and what is seen
/// is the same as without.
fn check_windows(body: &str) -> [Seen; 2] {
    check_windows_of(body, WIDE)
}

fn check_windows_of(body: &str, grid: Grid) -> [Seen; 2] {
    let program = program(body);
    GPUS.map(|gpu| {
        let (expected, _) = run(gpu, &program, grid, (1, false));
        for threads in [1, 2] {
            let (seen, ahead) = run(gpu, &program, grid, (threads, true));
            let (windows, all) = (ahead.in_windows, seen.at);
            assert!(
                (threads as Cycle + 1) * windows > all,
                "{gpu}, {threads}: {windows} of {all}: {body}"
            );
            assert!(seen == expected, "{gpu}, {threads}: {body}");
        }
        expected
    })
}

#[test]
fn who_loads_what_others_store_sees_it_in_the_same_cycle() {
    let memory = |body: &str| run(GPUS[0], &program(body), FEW, (1, false)).0.memory;
    assert_ne!(memory(&in_place()), memory(APART));
    check(&in_place(), FEW);
}

#[test]
fn a_store_is_seen_that_was_made_long_before() {
    check(LATE, FEW);
}

#[test]
fn a_fault_stops_all_in_the_same_cycle() {
    let seen = check(&format!("{APART}{FAULT}"), FEW);
    assert!(seen.iter().all(|seen| seen.fault.is_some()));
}

/// SMs meet where blocks end, and those that begin there do so in the cycle that they should.
#[test]
fn blocks_begin_while_others_are_ahead() {
    check(APART, MANY);
}

/// In windows SMs run many cycles at a stretch, whether or not they load what others store, until
/// near a kernel's end. What a block has stored is loaded by others in the same window, and the
/// window in which it was decides what is computed.
#[test]
fn windows_are_as_steps() {
    check_apart(APART);
    let in_place = check_apart(&in_place());
    assert_ne!(in_place[0].memory, check_apart(LATE)[0].memory);
    assert_ne!(in_place[0].memory, in_place[1].memory, "not of the GPU");
    check_windows_of(SELDOM, (75, 64));
}

/// SMs that are short of credits are, too.
#[test]
fn windows_without_credits_are_as_steps() {
    for seen in check_windows(SCATTERED) {
        let sms = seen.counters.sms.iter();
        let sent: u64 = sms.map(|part| part.sm.flits_sent).sum();
        assert!(sent > 3 * seen.at, "{sent} flits in {} cycles", seen.at);
    }
}

/// A fault stops the machine in the same cycle, whether it came up in a window or a step.
#[test]
fn a_fault_in_a_window_stops_all_in_the_same_cycle() {
    let late = FAULT.replace("31", "72");
    let seen = check_apart(&format!("{}{late}", in_place()));
    assert!(seen.iter().all(|seen| seen.fault.is_some()));
}

/// Atomics act in windows as in steps, and their old values are read after that.
#[test]
fn windows_with_atomics_are_as_steps() {
    for seen in check_windows(ATOMIC) {
        assert!(
            seen.counters.device.atomics > 50_000,
            "{}",
            seen.counters.device.atomics
        );
    }
    for seen in check_windows_of(LOCKED, FEW) {
        assert!(
            seen.counters.device.atomics > 200,
            "{}",
            seen.counters.device.atomics
        );
    }
}

/// Texture fetches run in windows where their requests wait for the delay before L2, as they do
/// before an L2 of sectors, and what others store is fetched in the cycle in which it should be.
#[test]
fn windows_with_textures_are_as_steps() {
    let in_place = FETCHED.replace("%rd3", "%rd1");
    let memory = [FETCHED, &in_place].map(|body| {
        let program = program(&apart(body));
        let [(seen, ahead), steps] = GPUS.map(|gpu| run(gpu, &program, WIDE, (1, true)));
        assert!(2 * ahead.in_windows > seen.at, "{}", ahead.in_windows);
        assert_eq!(steps.1.in_windows, 0, "without sectors");
        for threads in [1, 2] {
            let (other, _) = run(GPUS[0], &program, WIDE, (threads, threads == 2));
            assert!(other == seen, "{threads} threads: {body}");
        }
        seen.memory
    });
    assert_ne!(memory[0], memory[1], "nobody fetches what others store");
}

/// SMs that lack credits for texture requests stop in their windows, as for others.
#[test]
fn windows_with_textures_without_credits_are_as_steps() {
    let program = program(FETCHED_APART);
    let mut spec = spec(GPUS[0]);
    spec.noc.injection_buffer = 4;
    let run = |how| run_together(&spec, &[(Arc::clone(&program), WIDE)], how);
    let (expected, _) = run((1, false));
    assert_eq!(expected.fault, None);
    for threads in [1, 2] {
        let (seen, ahead) = run((threads, true));
        assert!(3 * ahead.in_windows > seen.at, "{}", ahead.in_windows);
        assert!(seen == expected, "{threads} threads");
    }
}

/// Instructions that read memory when they issue wait until it is as it should be.
#[test]
fn windows_with_copies_and_prints_are_as_steps() {
    // A warp that a barrier releases may copy in the same cycle.
    check_windows(&COPIED.replace("L:\n", "L:\nbar.sync 0;\n"));
    check_windows(COPIED);
    check_windows(ARRIVED);
    for seen in check_windows(PRINTED) {
        let lines = seen.printed.split(|byte| *byte == b'\n');
        assert_eq!(lines.count(), 2 * 75 * 20 + 1);
    }
}

/// Blocks between which others are left out run in windows, too, but near a gap.
#[test]
fn windows_of_sampled_launches_are_as_steps() {
    let kernels = [(program(&apart(&in_place())), (600, 64))];
    let kind = Drawn {
        stretches: Some(Stretches::every(250, 300)),
        ..Drawn::default()
    };
    for gpu in GPUS {
        let spec = spec(gpu);
        let (expected, _) = run_drawn(&spec, &kernels, &kind, (1, false));
        for threads in [1, 2] {
            let (seen, ahead) = run_drawn(&spec, &kernels, &kind, (threads, true));
            let (windows, all) = (ahead.in_windows, seen.at);
            assert!(3 * windows > all, "{gpu}: {windows} of {all}");
            assert!(seen == expected, "{gpu}, {threads} threads");
        }
    }
}

/// Where addresses say which memory they are of, some lanes' that they are of shared memory.
#[test]
fn windows_with_generic_addresses_are_as_steps() {
    let memory = ["0", "3", "9"].map(|lane| {
        let [seen, _] = check_windows(&GENERIC.replace("LANE", lane));
        seen.memory
    });
    assert_eq!(BTreeSet::from(memory).len(), 3);
}

const POLICIES: [MultiprogramChoice; 5] = [
    MultiprogramChoice::LeftOver,
    MultiprogramChoice::Exclusive,
    MultiprogramChoice::Fcfs,
    MultiprogramChoice::Even,
    MultiprogramChoice::Spatial,
];

/// Blocks of several kernels, in whatever order they are given out, run in windows as in steps. The
/// second kernel's wait for the first's where they must, which is seen by all SMs at once.
#[test]
fn windows_of_several_kernels_are_as_steps() {
    // Three blocks of the first leave room for some of the second.
    let kernels = [
        (in_place(), (33, 448)),
        (SELDOM.to_owned(), (50, 64)),
        (APART.to_owned(), (25, 256)),
    ];
    let kernels = kernels.map(|(body, grid)| (program(&apart(&body)), grid));
    for gpu in GPUS {
        for policy in POLICIES {
            let mut spec = spec(gpu);
            spec.gpu.multiprogram = policy;
            spec.gpu.sms = 5;
            let (expected, _) = run_together(&spec, &kernels, (1, false));
            for threads in [1, 2] {
                let (seen, ahead) = run_together(&spec, &kernels, (threads, true));
                let (windows, all) = (ahead.in_windows, seen.at);
                assert!(4 * windows > all, "{gpu}, {policy:?}: {windows} of {all}");
                assert!(seen == expected, "{gpu}, {policy:?}, {threads} threads");
            }
        }
    }
}

/// Warps leave an SM while they wait for what they have loaded, and come back into other slots: on
/// the first GPU, whose loads go past its data cache, before it is known whether that has to be
/// loaded again.
#[test]
fn windows_with_context_switching_are_as_steps() {
    check_contexts(ELSEWHERE, (52, 256), 3);
    // A warp that waits for an atomic stays.
    check_contexts(ATOMIC, (32, 256), 2);
}

/// Cycles that the kernel takes at least, by the system of context switching.
fn check_contexts(body: &str, grid: Grid, different: usize) {
    let kernels = [(program(body), grid)];
    for gpu in GPUS {
        let base = Base::Preset(gpu.to_owned());
        let mut ends = BTreeSet::new();
        for context in ["none", "duet", "duet-tb", "virtual-thread"] {
            // Contexts move in a cycle or two.
            let sets = [
                "gpu.sms=4",
                "sm.global_skips_l1d=true",
                "duet.extra_blocks=2",
                "duet.port_bytes=4096",
                "duet-tb.extra_blocks=2",
                "duet-tb.port_bytes=4096",
                "virtual-thread.port_bytes=4096",
                &format!("sm.context={context}"),
            ];
            let sets = sets.map(str::to_owned);
            let spec = resolve(&base, &sets).unwrap_or_else(|errors| panic!("{errors}"));
            let (expected, _) = run_together(&spec, &kernels, (1, false));
            for threads in [1, 2] {
                let (seen, ahead) = run_together(&spec, &kernels, (threads, true));
                let (windows, all) = (ahead.in_windows, seen.at);
                assert!(2 * windows > all, "{gpu}, {context}: {windows} of {all}");
                assert!(seen == expected, "{gpu}, {context}, {threads} threads");
            }
            ends.insert(expected.at);
        }
        assert!(ends.len() >= different, "{gpu}: contexts are switched");
    }
}
