//! Kernels drawn at random, whose threads race for the same words. Each is run step by step, and in
//! windows on one thread and on two, on a machine drawn at random: cycles, counters, memory,
//! printed text and findings of checks have to be equal. They also have to be equal where a run is
//! saved in a drawn cycle and goes on in another machine. `WARPLOOM_DRAWN=FIRST..END` runs other
//! cases than those that always run.

mod support;

use std::ops::Range;
use std::sync::Arc;

use support::drawn_kernels::{drawn_kernel, one_of};
use support::{Drawn, Grid, kernel, run_drawn};
use warploom_base::{Cycle, Rng};
use warploom_config::{Base, ContextChoice, GpuSpec, resolve};
use warploom_exec::Checks;
use warploom_gpu::Stretches;
use warploom_ir::Program;
use warploom_mem::cache::REPLACEMENTS;

/// Cases that run if the environment names no others.
const CASES: Range<u64> = 0..10;

/// Cases that are saved and restored, if the environment names no others.
const SAVED_CASES: Range<u64> = 0..12;

fn draw_kernel(rng: &mut Rng) -> (String, Grid) {
    let rounds = 2 + rng.below(8);
    let text = drawn_kernel(rng, &rounds.to_string());
    let warps = 1 << rng.below(4);
    // Few warps fill the machines of few SMs, and cost less.
    let most = [40, 80, 320][rng.below(3) as usize];
    (text, (1 + rng.below(most / warps), 32 * warps))
}

/// Draws which blocks are timed; in most cases all are.
fn draw_stretches(rng: &mut Rng) -> Option<Stretches> {
    let timed = 1 + u64::from(rng.below(40));
    let stretches = Stretches {
        look: 1 + timed / 2,
        seed: timed.is_multiple_of(2).then_some(timed),
        ..Stretches::every(timed, timed + u64::from(rng.below(20)))
    };
    (rng.below(4) == 0).then_some(stretches)
}

/// Draws which checks are on; in most cases none is.
fn draw_checks(rng: &mut Rng) -> Checks {
    let mut on = |of: u32| rng.below(of) == 0;
    let any = on(6);
    Checks {
        uninitialised: on(3) && any,
        shared_races: on(2) && any,
        barrier_divergence: on(2) && any,
        bounds: false,
    }
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
    const SETS: [&str; 18] = [
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
        "sm.shared_atomic_cycles=3",
        "sm.ejection_fifo=4",
        "sm.context=duet",
        "sm.context=virtual-thread",
        "sm.context=finereg",
        "sim.skip_idle=false",
    ];
    let mut sets = vec![
        format!("gpu.sms={}", [1, 2, 4, 7, 15][rng.below(5) as usize]),
        format!("sm.warp_scheduler={}", one_of(rng, &SCHEDULERS)),
    ];
    (0..rng.below(3)).for_each(|_| sets.push(one_of(rng, &SETS).to_owned()));
    if rng.below(4) == 0 {
        let far = 1 + rng.below(300);
        sets.extend([
            "gpu.gpcs=2".to_owned(),
            format!("partition.far_cycles={far}"),
        ]);
    }
    if rng.below(4) == 0 {
        // An L1D whose lines are soon replaced, and registers that keep some.
        let victims = [
            "sm.l1d_victims=linebacker",
            "linebacker.window_cycles=200",
            "sm.global_skips_l1d=false",
            "sm.adaptive_l1d=false",
            "l1d.sets=2",
            "l1d.ways=1",
        ];
        sets.extend(victims.map(str::to_owned));
    }
    draw_parts_of_today(rng, &mut sets);
    (one_of(rng, &GPUS).to_owned(), sets)
}

/// Draws parts that machines of today have.
fn draw_parts_of_today(rng: &mut Rng, sets: &mut Vec<String>) {
    if rng.below(4) == 0 {
        // A stream buffer before a small instruction cache, whose misses go either way.
        sets.extend([
            "sm.perfect_inst_const_cache=false".to_owned(),
            "sm.instruction_bytes=16".to_owned(),
            format!("sm.prefetched_code_lines={}", 1 + rng.below(8)),
            format!("sm.code_latency_cycles={}", 60 * rng.below(3)),
            format!("l1i.sets={}", 1 << rng.below(4)),
            format!("l1i.mshr_entries={}", 2 + rng.below(6)),
        ]);
    }
    if rng.below(4) == 0 {
        // Distances of control codes, wide accesses in phases, and sectors with their neighbours.
        sets.extend([
            format!("sm.guard_latency_cycles={}", 13 * rng.below(2)),
            format!("sm.branch_cycles={}", 5 * rng.below(2)),
            format!("sm.memory_issue_cycles={}", 4 * rng.below(2)),
            format!("sm.shared_phases={}", rng.below(2) == 0),
            format!("sm.l1d_one_line={}", rng.below(2) == 0),
            format!("partition.fetch_bytes={}", 32 << rng.below(3)),
        ]);
    }
}

/// Draws a machine that is valid.
fn draw_spec(rng: &mut Rng) -> (String, GpuSpec) {
    loop {
        let (gpu, sets) = draw_gpu(rng);
        if let Ok(spec) = resolve(&Base::Preset(gpu.clone()), &sets) {
            return (format!("{gpu} {sets:?}"), spec);
        }
    }
}

/// Checks that a case has the same results in steps and in windows. Returns the share of its cycles
/// that run in windows on one thread.
fn check(seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let (gpu, spec) = draw_spec(&mut rng);
    // Where contexts are switched kernels run one by one.
    let others =
        rng.below(2) * rng.below(3) * u32::from(spec.sm.context == ContextChoice::Resident);
    let drawn = (0..=others).map(|_| draw_kernel(&mut rng));
    let drawn: Vec<(String, Grid)> = drawn.collect();
    let kernels: Vec<(Arc<Program>, Grid)> = drawn
        .iter()
        .map(|(text, grid)| (kernel(text), *grid))
        .collect();
    let launch = Drawn {
        stretches: draw_stretches(&mut rng),
        checks: draw_checks(&mut rng),
        ..Drawn::default()
    };
    let run = |how| run_drawn(&spec, &kernels, &launch, how);
    let (expected, _) = run((1, false));
    let mut share = 0.0;
    for threads in [1, 2] {
        let (seen, ahead) = run((threads, true));
        if threads == 1 {
            share = ahead.in_windows as f64 / seen.at as f64;
        }
        assert!(
            seen == expected,
            "{seed} on {gpu}, {threads} threads, {launch:?}, ends in {} instead of {}:\n{drawn:#?}",
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
    let cases = cases();
    let shares: Vec<f64> = cases.clone().map(check).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    // A few cases of a user's choice may all need single steps.
    assert!(
        cases != CASES || mean > 0.25,
        "{mean} of the cycles are in windows"
    );
}

/// Draws a policy of every kind, and a network.
fn draw_policies(rng: &mut Rng) -> Vec<String> {
    let policies: Vec<_> = warploom_policy::all().collect();
    let mut sets = Vec::new();
    for key in [
        "sm.warp_scheduler",
        "sm.block_limit",
        "gpu.multiprogram",
        "gpu.block_scheduler",
        "gpu.sm_filter",
    ] {
        let of_key = policies.iter().filter(|policy| policy.key == key);
        let names: Vec<&str> = of_key.map(|policy| policy.name).collect();
        if rng.below(2) == 0 {
            sets.push(format!("{key}={}", one_of(rng, &names)));
        }
    }
    for cache in ["l1d", "l1i", "l1c", "l1t", "l2"] {
        if rng.below(3) == 0 {
            let at = rng.below(REPLACEMENTS.len() as u32) as usize;
            match REPLACEMENTS[at].name {
                // L1D alone knows the warps, and this scheduler alone the critical ones.
                "cacp" => sets
                    .extend(["l1d.replacement=cacp", "sm.warp_scheduler=cawa"].map(str::to_owned)),
                name => sets.push(format!("{cache}.replacement={name}")),
            }
        }
    }
    const NETWORKS: [&str; 4] = ["random-crossbar", "local-crossbar", "turn-crossbar", "fly"];
    if rng.below(3) == 0 {
        sets.push(format!("noc.kind={}", one_of(rng, &NETWORKS)));
    }
    sets
}

/// A drawn machine with drawn policies; without them where they do not fit the machine.
fn draw_spec_and_policies(rng: &mut Rng) -> (String, GpuSpec) {
    loop {
        let (gpu, mut sets) = draw_gpu(rng);
        sets.extend(draw_policies(rng));
        sets.push(format!("gpu.sms={}", [1, 2, 4, 7][rng.below(4) as usize]));
        if let Ok(spec) = resolve(&Base::Preset(gpu.clone()), &sets) {
            return (format!("{gpu} {sets:?}"), spec);
        }
    }
}

/// Checks that a case has the same results if it is saved in a drawn cycle and goes on in another
/// machine, on one thread or two before and after.
fn check_saved(seed: u64) {
    let mut rng = Rng::new(!seed);
    let (gpu, spec) = draw_spec_and_policies(&mut rng);
    let others = rng.below(3) * u32::from(spec.sm.context == ContextChoice::Resident);
    let drawn = (0..=others).map(|_| draw_kernel(&mut rng));
    let drawn: Vec<(String, Grid)> = drawn.collect();
    let kernels: Vec<(Arc<Program>, Grid)> = drawn
        .iter()
        .map(|(text, grid)| (kernel(text), *grid))
        .collect();
    let straight = Drawn {
        stretches: draw_stretches(&mut rng),
        checks: draw_checks(&mut rng),
        window: (rng.below(2) == 0).then_some(777),
        ..Drawn::default()
    };
    let (expected, _) = run_drawn(&spec, &kernels, &straight, (1, true));
    let link = Cycle::from(spec.gpu.link_cycles.max(1));
    let at = Cycle::from(rng.next_u32()) % expected.at.max(1) / link * link;
    let [before, after] = [(); 2].map(|()| 1 + rng.below(2) as usize);
    let ahead = rng.below(4) > 0;
    let saved = Drawn {
        saved: Some((at, after)),
        ..straight
    };
    let (seen, _) = run_drawn(&spec, &kernels, &saved, (before, ahead));
    assert!(
        seen == expected,
        "{seed} on {gpu}, {saved:?}, {before} threads, windows {ahead}, ends in {} instead of \
         {}:\n{drawn:#?}",
        seen.at,
        expected.at
    );
}

#[test]
fn a_saved_run_goes_on_in_another_machine() {
    let saved = cases();
    let cases = if saved == CASES { SAVED_CASES } else { saved };
    cases.for_each(check_saved);
}
