//! Conflicts in shared memory, atomics, barriers, instruction supply.

use crate::kernel::{Code, Kernel, PER_FETCH, memory_base};
use crate::memory::{Chain, pointers};
use crate::{Answer, Benchmark, Family, Figure, Trouble};
use warploom_config::{Edge, GpuSpec, Stage};

const fn row(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Sync,
        about,
        unit: "core cycles",
        measure,
    }
}

pub(crate) const BENCHMARKS: &[Benchmark] = &[
    row(
        "shared-conflict-2",
        "load from shared memory, 2 words per bank",
        |gpu| conflict(gpu, 2),
    ),
    row(
        "shared-conflict-4",
        "load from shared memory, 4 words per bank",
        |gpu| conflict(gpu, 4),
    ),
    row(
        "shared-conflict-8",
        "load from shared memory, 8 words per bank",
        |gpu| conflict(gpu, 8),
    ),
    row(
        "shared-conflict-16",
        "load from shared memory, 16 words per bank",
        |gpu| conflict(gpu, 16),
    ),
    row(
        "shared-conflict-32",
        "load from shared memory, 32 words per bank",
        |gpu| conflict(gpu, 32),
    ),
    row(
        "shared-atomic-latency",
        "atomic on shared memory, all lanes on one word",
        |gpu| {
            let chain = Chain {
                clock_first: true,
                ..Chain::of("mov.u64 %rd10, s", "atom.shared.add.u32 %r10, [%rd10], 0")
            };
            chain.figure(gpu, &gpu.shared_atomic())
        },
    ),
    row(
        "atomic-latency",
        "atomic on global memory that hits L2, one lane",
        |gpu| {
            let chain = Chain {
                lanes: 1,
                clock_first: true,
                ..pointers("atom.global.add.u64 %rd10, [%rd10], 0", &[memory_base()?])
            };
            chain.figure(gpu, &gpu.atomic_hit())
        },
    ),
    row(
        "barrier-one-warp",
        "bar.sync of a block of one warp",
        |gpu| {
            let chain = Chain::of("mov.u32 %r10, 0", "bar.sync 0");
            chain.figure(gpu, &pair(gpu))
        },
    ),
    row(
        "l1i-miss",
        "instruction that misses L1I and hits L2",
        l1i_miss,
    ),
];

/// Stages of two instructions without dependences, up to the issue of the next two.
pub(crate) fn pair(gpu: &GpuSpec) -> Vec<Stage> {
    // Both use the same unit: if a pair must use different ones, the second waits a cycle.
    let together = gpu.sm.max_issue_per_warp > 1 && !gpu.sm.dual_issue_different_units;
    let second = u32::from(!together);
    vec![
        Stage {
            what: "the other instruction of the fetch",
            edges: vec![Edge::Core(second)],
            how: "sm.max_issue_per_warp, sm.dual_issue_different_units".to_owned(),
        },
        gpu.decode_and_issue(),
    ]
}

/// Measures a load in which lane `i` accesses word `ways` x `i`. Each bank in use then has `ways`
/// distinct words, as far as there are lanes.
fn conflict(gpu: &GpuSpec, ways: u32) -> Result<Answer, Trouble> {
    let step = match ways {
        2 => "mul.wide.u32 %rd10, %r2, 8",
        4 => "mul.wide.u32 %rd10, %r2, 16",
        8 => "mul.wide.u32 %rd10, %r2, 32",
        16 => "mul.wide.u32 %rd10, %r2, 64",
        _ => "mul.wide.u32 %rd10, %r2, 128",
    };
    let chain = Chain {
        setup: [
            "mov.u32 %r2, %tid.x",
            step,
            "mov.u64 %rd2, s",
            "add.u64 %rd10, %rd10, %rd2",
        ]
        .map(str::to_owned)
        .into(),
        ..Chain::of("mov.u32 %r11, 0", "ld.shared.u32 %r11, [%rd10]")
    };
    let banks = u64::from(gpu.sm.shared_banks);
    let parts = u64::from(gpu.sm.shared_warp_parts);
    let lanes = 32 / parts;
    let most = |part: u64| {
        let words = (part * lanes..(part + 1) * lanes).map(|lane| lane * u64::from(ways) % banks);
        let words: Vec<_> = words.collect();
        let in_bank = |bank| words.iter().filter(|&&word| word == bank).count() as u32;
        (0..banks).map(in_bank).max().unwrap_or(1)
    };
    let cycles = (0..parts).map(most).sum();
    chain.figure(gpu, &gpu.shared_load(cycles))
}

/// Number of lines measured.
const LINES: usize = 9;

/// Measures a miss of L1I with code of twice the cache's size, run twice: LRU evicts every line
/// before it is needed again, and L2 keeps it. The last instruction of a line and the first of the
/// next one read the clock.
fn l1i_miss(gpu: &GpuSpec) -> Result<Answer, Trouble> {
    let cache = &gpu.l1i;
    if gpu.sm.perfect_inst_const_cache || !cache.enabled {
        return Ok(Answer::Absent("every instruction fetch hits"));
    }
    if gpu.sm.prefetched_code_lines > 0 || gpu.sm.code_latency_cycles > 0 {
        return Ok(Answer::Absent("code is read ahead"));
    }
    let group = (cache.line_bytes / gpu.sm.instruction_bytes) as usize;
    let lines = 2 * (cache.sets * cache.ways) as usize;
    let mut code = Code::default();
    code.push("ld.param.u64 %rd0, [out]");
    code.push("mov.u32 %r0, 0");
    code.align(group);
    code.label("AGAIN");
    let from = lines / 2;
    for line in 0..lines {
        let clocked = line.checked_sub(from).filter(|&i| i <= LINES);
        let first = clocked.and_then(|i| i.checked_sub(1));
        let last = clocked.filter(|&i| i < LINES);
        let fill = "mov.u32 %r15, 0".to_owned();
        let read = |register: usize| format!("mov.u32 %r{register}, %clock");
        code.push(first.map_or(fill.clone(), |i| read(17 + 2 * i)));
        (2..group).for_each(|_| code.push(&fill));
        code.push(last.map_or(fill.clone(), |i| read(16 + 2 * i)));
    }
    code.push("add.u32 %r0, %r0, 1");
    code.push("setp.lt.u32 %p2, %r0, 2");
    code.push("@%p2 bra AGAIN");
    (0..2 * LINES).for_each(|i| code.push(format!("st.global.u32 [%rd0+{}], %r{}", 4 * i, 16 + i)));
    let clocks = Kernel::warp(code.text, 2 * LINES).run(gpu)?.results;
    let pairs = clocks.chunks(PER_FETCH).map(|pair| (pair[0], pair[1]));
    Ok(Answer::Figure(Figure::walked(
        gpu,
        &gpu.l1i_miss(),
        pairs,
        0,
    )))
}
