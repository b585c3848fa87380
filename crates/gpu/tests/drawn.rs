//! Kernels drawn at random, whose threads race for the same words in all ways that may be run
//! ahead: what comes of them is the same in steps and ahead, on one thread and on two, on machines
//! drawn at random too. `WARPLOOM_DRAWN=FIRST..END` runs other cases than those that always run.

mod support;

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use support::{Grid, kernel, run_timed};
use warploom_base::Rng;
use warploom_config::{Base, Context, GpuSpec, resolve};
use warploom_gpu::Stretches;
use warploom_ir::Program;

/// Cases that run where nobody asks for others.
const CASES: Range<u64> = 0..16;

/// `%rd1`: the first allocation; `%rd2`: the thread's own word of shared memory, as a generic
/// address, and `%r3` as one of its own; `%r4`: the thread's number; `%r5` and `%r6` are computed
/// with, `%r8` counts.
const BEGIN: &str = "\
.shared .align 8 .b8 own[2048];
.local .align 8 .b8 l[16];
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r1, %r3, %r2;
mov.u32 %r3, own;
mad.lo.u32 %r3, %r2, 8, %r3;
cvt.u64.u32 %rd2, %r3;
cvta.shared.u64 %rd2, %rd2;
st.shared.u32 [%r3], %r4;
st.local.u32 [l], %r4;
mad.lo.u32 %r5, %r4, 2654435761, 17;
xor.b32 %r6, %r4, 12345;
mov.u32 %r8, 0;
L:
";

const END: &str = "\
add.u32 %r8, %r8, 1;
setp.lt.u32 %p1, %r8, ROUNDS;
@%p1 bra L;
mul.wide.u32 %rd3, %r4, 4;
and.b64 %rd3, %rd3, 65532;
add.u64 %rd3, %rd1, %rd3;
st.global.u32 [%rd3+65536], %r5;
";

fn one_of<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u32) as usize]
}

/// `%rd3` points to a word that others point to, too: more or less of them.
fn point(rng: &mut Rng, text: &mut String) {
    let words = 16 << rng.below(11);
    let stride = 4 << rng.below(4);
    let mask = (words * stride - 1) & 0x1_fffc & !7;
    let which = one_of(rng, &["%r5", "%r6", "%r4", "%r2", "%r8"]);
    let _ = write!(
        text,
        "mad.lo.u32 %r9, {which}, {stride}, %r8;\nand.b32 %r9, %r9, {mask};\n\
         cvt.u64.u32 %rd3, %r9;\nadd.u64 %rd3, %rd1, %rd3;\n"
    );
}

/// The same, but some lanes point to their own word of shared memory.
fn point_anywhere(rng: &mut Rng, text: &mut String) {
    point(rng, text);
    let lanes = 1 << rng.below(5);
    let _ = write!(
        text,
        "and.b32 %r9, %r2, {lanes};\nsetp.eq.u32 %p1, %r9, 0;\n\
         selp.b64 %rd3, %rd3, %rd2, %p1;\n"
    );
}

const LOADS: [&str; 7] = [
    "ld.SPACE.u32 %r7, [%rd3];",
    "@%p2 ld.SPACE.u32 %r7, [%rd3];",
    "ld.SPACE.u8 %r7, [%rd3+1];",
    "ld.SPACE.s16 %r7, [%rd3+2];",
    "ld.SPACE.v2.u32 {%r7, %r6}, [%rd3];",
    "ld.volatile.SPACE.u32 %r6, [%rd3];",
    "ld.SPACE.u64 %rd4, [%rd3];\ncvt.u32.u64 %r7, %rd4;",
];

const STORES: [&str; 5] = [
    "st.SPACE.u32 [%rd3], %r5;",
    "@%p2 st.SPACE.u32 [%rd3], %r6;",
    "st.SPACE.u8 [%rd3+3], %r5;",
    "st.SPACE.v2.u32 [%rd3], {%r5, %r6};",
    "st.volatile.SPACE.u32 [%rd3], %r6;",
];

const ATOMICS: [&str; 7] = [
    "atom.SPACE.add.u32 %r7, [%rd3], %r5;",
    "red.SPACE.add.u32 [%rd3], 1;",
    "@%p2 atom.SPACE.exch.b32 %r7, [%rd3], %r6;",
    "atom.SPACE.cas.b32 %r7, [%rd3], %r6, %r5;",
    "red.SPACE.xor.b32 [%rd3], %r5;",
    "atom.SPACE.inc.u32 %r6, [%rd3], 1000;",
    "atom.SPACE.max.u32 %r7, [%rd3], %r6;",
];

const OTHERS: [&str; 12] = [
    "mad.lo.u32 %r5, %r5, 3, %r6;",
    "xor.b32 %r6, %r6, %r5;",
    "shr.u32 %r6, %r5, 3;",
    "mov.u32 %r7, %clock;\nadd.u32 %r5, %r5, %r7;",
    "cvt.rn.f32.u32 %r9, %r5;\nex2.approx.f32 %r9, %r9;\nadd.u32 %r6, %r6, %r9;",
    "cvt.rn.f32.u32 %r9, %r5;\nsqrt.rn.f32 %r9, %r9;\nadd.u32 %r6, %r6, %r9;",
    "and.b32 %r9, %r5, 1;\nsetp.eq.u32 %p2, %r9, 0;",
    "st.shared.u32 [%r3], %r5;",
    "ld.shared.u32 %r7, [%r3];\nadd.u32 %r5, %r5, %r7;",
    "atom.shared.add.u32 %r7, [own], %r5;\nadd.u32 %r6, %r6, %r7;",
    "ld.local.u32 %r7, [l];\nadd.u32 %r5, %r5, %r7;\nst.local.u32 [l], %r5;",
    "membar.gl;",
];

/// One thing that a thread does.
fn act(rng: &mut Rng, text: &mut String) {
    let kind = rng.below(10);
    let is_generic = rng.below(3) == 0;
    let from = match kind {
        0..=2 => &LOADS[..],
        3..=4 => &STORES[..],
        5 => &ATOMICS[..],
        _ => {
            text.push_str(one_of(rng, &OTHERS));
            return text.push('\n');
        }
    };
    let space = if is_generic { "" } else { ".global" };
    match is_generic && rng.below(2) == 0 {
        true => point_anywhere(rng, text),
        false => point(rng, text),
    }
    let _ = writeln!(text, "{}", one_of(rng, from).replace(".SPACE", space));
    if kind != 3 && kind != 4 && rng.below(4) > 0 {
        text.push_str("mad.lo.u32 %r5, %r5, 5, %r7;\n");
    }
}

/// What threads of a kernel do in each round: some of it in a part of the lanes, or behind a
/// barrier.
fn body(rng: &mut Rng) -> String {
    let mut text = String::from("mov.u32 %r7, 1;\nsetp.ne.u32 %p2, %r2, 5;\n");
    for label in 0..2 + rng.below(5) {
        let some = rng.below(4) == 0;
        if some {
            let _ = writeln!(text, "@!%p2 bra S{label};");
        }
        (0..1 + rng.below(4)).for_each(|_| act(rng, &mut text));
        if some {
            let _ = writeln!(text, "S{label}:");
        } else if rng.below(4) == 0 {
            text.push_str("bar.sync 0;\n");
        }
    }
    text
}

fn draw_kernel(rng: &mut Rng) -> (String, Grid) {
    let rounds = 2 + rng.below(8);
    let end = END.replace("ROUNDS", &rounds.to_string());
    let text = format!("{BEGIN}{}{end}", body(rng));
    let warps = 1 << rng.below(4);
    (text, (1 + rng.below(320 / warps), 32 * warps))
}

/// Mostly all blocks are timed.
fn draw_stretches(rng: &mut Rng) -> Option<Stretches> {
    let timed = 1 + u64::from(rng.below(40));
    let stretches = Stretches {
        from: 0,
        to: u64::MAX,
        timed,
        period: timed + u64::from(rng.below(20)),
    };
    (rng.below(4) == 0).then_some(stretches)
}

fn draw_gpu(rng: &mut Rng) -> (String, Vec<String>) {
    const GPUS: [&str; 9] = [
        "gtx480-gpgpusim4",
        "gtx480-gpgpusim4",
        "gtx480",
        "fermi-slicer",
        "kepler-crat",
        "maxwell-duet",
        "qv100-volta",
        "rtx2060-turing",
        "titanx-pascal",
    ];
    const SCHEDULERS: [&str; 5] = ["lrr", "gto", "oldest", "two-level", "rrr"];
    const SETS: [&str; 16] = [
        "sm.global_skips_l1d=true",
        "sm.global_skips_l1d=false",
        "gpu.multiprogram=even",
        "gpu.multiprogram=spatial",
        "gpu.multiprogram=left-over",
        "gpu.sms_per_cluster=2",
        "gpu.link_cycles=2",
        "gpu.block_scheduler=bcs",
        "gpu.sm_filter=contention-throttle",
        "sm.max_issue_per_warp=2",
        "sm.mem_unit_ports=2",
        "sm.shared_warp_parts=2",
        "sm.ejection_fifo=4",
        "sm.context=duet",
        "sm.context=virtual-thread",
        "sim.skip_idle=false",
    ];
    let mut sets = vec![
        format!("gpu.sms={}", [1, 2, 4, 7, 15][rng.below(5) as usize]),
        format!("sm.warp_scheduler={}", one_of(rng, &SCHEDULERS)),
    ];
    (0..rng.below(3)).for_each(|_| sets.push(one_of(rng, &SETS).to_owned()));
    (one_of(rng, &GPUS).to_owned(), sets)
}

/// A machine, if there can be such a one.
fn draw_spec(rng: &mut Rng) -> (String, GpuSpec) {
    loop {
        let (gpu, sets) = draw_gpu(rng);
        if let Ok(spec) = resolve(&Base::Preset(gpu.clone()), &sets) {
            return (format!("{gpu} {sets:?}"), spec);
        }
    }
}

/// What comes of a case is the same however it is run. Returns the share of its cycles that are run
/// in spells on one thread.
fn check(seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let (gpu, spec) = draw_spec(&mut rng);
    // Where contexts are switched kernels run one by one.
    let others = rng.below(2) * rng.below(2) * u32::from(spec.sm.context == Context::Resident);
    let drawn = (0..=others).map(|_| draw_kernel(&mut rng));
    let drawn: Vec<(String, Grid)> = drawn.collect();
    let kernels: Vec<(Arc<Program>, Grid)> = drawn
        .iter()
        .map(|(text, grid)| (kernel(text), *grid))
        .collect();
    let stretches = draw_stretches(&mut rng);
    let run = |how| run_timed(&spec, &kernels, stretches, how);
    let (expected, _) = run((1, false));
    let mut share = 0.0;
    for threads in [1, 2] {
        let (seen, ahead) = run((threads, true));
        if threads == 1 {
            share = ahead.in_spells as f64 / seen.at as f64;
        }
        assert!(
            seen == expected,
            "{seed} on {gpu}, {threads} threads, {stretches:?}, ends in {} instead of {}:\n{drawn:#?}",
            seen.at,
            expected.at
        );
    }
    share
}

fn cases() -> Range<u64> {
    let Ok(asked) = std::env::var("WARPLOOM_DRAWN") else {
        return CASES;
    };
    let range = asked.split_once("..").and_then(|(first, end)| {
        let range = first.parse().ok()?..end.parse().ok()?;
        (!range.is_empty()).then_some(range)
    });
    range.unwrap_or_else(|| panic!("WARPLOOM_DRAWN is FIRST..END, not `{asked}`"))
}

#[test]
fn what_races_comes_out_the_same_however_it_is_run() {
    let shares: Vec<f64> = cases().map(check).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean > 0.25, "{mean} of the cycles are in spells");
}
