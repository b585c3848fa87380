//! Tests of policies in the whole machine: they act where they should, their own counts are exact,
//! and results depend neither on threads nor on skipped cycles.

mod block_limit;
mod cache_conscious;
mod caches;
mod ccws_author;
mod ipaws;
mod ipc_over_time;
mod load_gate;
mod youngest_first;

use crate::results::results;
use ipc_over_time::IpcOverTime;
use load_gate::LoadGate;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{Base, GpuSpec, Rule, SmFilterChoice as Choice, keys, resolve};
use warploom_policy::{Facts, PolicyFacts, WarpScheduler};
use warploom_run::{
    Arg, Check, CustomPolicies, Device, DevicePtr, HostAction, HostError, HostProgram, Launch,
    Make, Options, Session,
};
use warploom_stats::result::{Outcome, RunReport};
use youngest_first::YoungestFirst;

const WORDS: usize = 1 << 16;

/// A kernel in which every lane of a warp reads a line of its own four times. The number of loop
/// iterations depends on the warp, so that networks and DRAM fill and warps drift apart.
const SCATTER: &str = "
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    shr.u32 %r9, %r1, 5; and.b32 %r9, %r9, 3; add.u32 %r9, %r9, 1;
    mov.f32 %f2, 0f00000000;
    mul.lo.u32 %r5, %r4, 1540;
again:
    and.b32 %r6, %r5, 262140;
    cvt.u64.u32 %rd2, %r6;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f2, %f1;
    sqrt.approx.f32 %f2, %f2;
    add.u32 %r5, %r5, 98564;
    sub.u32 %r9, %r9, 1;
    setp.gt.u32 %p1, %r9, 0;
    @%p1 bra again;
    bar.sync 0;
    and.b32 %r6, %r5, 262140;
    cvt.u64.u32 %rd2, %r6;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f2;
";

struct OneKernel {
    body: &'static str,
    grid: u32,
    block: u32,
    buffer: Option<DevicePtr>,
}

impl HostProgram for OneKernel {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffer.is_some() {
            return Ok(HostAction::Done);
        }
        let ptx = format!(
            ".version 7.0\n.target sm_50\n.address_size 64\n\
             .visible .entry k(.param .u64 buf) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [buf];\n{}\nret;\n}}\n",
            self.body
        );
        let module = device.load_ptx("test.ptx", &ptx)?;
        let buffer = device.alloc_slice(&vec![0u32; WORDS])?;
        self.buffer = Some(buffer);
        let (grid, block) = (Dim3::linear(self.grid), Dim3::linear(self.block));
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

fn spec(sets: &[&str]) -> GpuSpec {
    let few = ["gpu.sms=4", "gpu.max_blocks_per_sm=2"].iter().chain(sets);
    let sets: Vec<_> = few.map(|set| (*set).to_owned()).collect();
    resolve(&Base::Preset("gtx480".to_owned()), &sets).unwrap_or_else(|e| panic!("{e}"))
}

fn run_with(
    spec: &GpuSpec,
    (body, grid, block): (&'static str, u32, u32),
    threads: usize,
    policies: CustomPolicies,
) -> RunReport {
    let mut program = OneKernel {
        body,
        grid,
        block,
        buffer: None,
    };
    let options = Options {
        threads,
        policies,
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
    let report = report.expect("the kernel is sound");
    assert_eq!(report.outcome, Outcome::Finished);
    report
}

/// Runs scattered reads of 24 blocks of eight warps.
fn scatter(spec: &GpuSpec, threads: usize) -> RunReport {
    run_with(spec, (SCATTER, 24, 256), threads, CustomPolicies::default())
}

fn count(report: &RunReport, name: &str) -> u64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

/// Runs a configuration on three threads, and on one without skipping. Returns the result on which
/// both agree.
fn same_always(sets: &[&str]) -> RunReport {
    let mut spec = spec(sets);
    let report = scatter(&spec, 3);
    spec.sim.skip_idle = false;
    let awake = scatter(&spec, 1);
    assert_eq!(awake.sm_filter_checks, report.sm_filter_checks, "{sets:?}");
    assert_eq!(awake.totals, report.totals, "{sets:?}");
    assert_eq!(results(&awake), results(&report), "{sets:?}");
    report
}

#[test]
fn long_latency_first_reorders() {
    for scope in ["block", "sm"] {
        for counted in ["stall-cycles", "all", "examined"] {
            let scope = format!("long-latency-first.scope={scope}");
            let counted = format!("long-latency-first.count={counted}");
            let report = same_always(&["sm.warp_scheduler=long-latency-first", &scope, &counted]);
            let act = [
                count(&report, "warp_policy.reorderings"),
                count(&report, "warp_policy.stall_cycles"),
            ];
            assert!(act.iter().all(|n| *n > 100), "{scope} {counted}: {act:?}");
        }
    }
}

/// Criticality puts warps before older ones. The order differs from that of greedy-then-oldest.
#[test]
fn cawa_reorders() {
    let report = same_always(&["sm.warp_scheduler=cawa"]);
    assert!(count(&report, "warp_policy.reorderings") > 100);
    let gto = scatter(&spec(&["sm.warp_scheduler=gto"]), 1);
    assert_ne!(report.totals.figures.cycles, gto.totals.figures.cycles);
}

/// With one warp on the machine and no branch, each scheduler cycle in which its instruction could
/// not issue is one of its stalls: all cycles that waited for the scoreboard or a pipe, whether
/// they were run or skipped.
#[test]
fn stalls_of_one_warp_are_its_schedulers_cycles() {
    const STRAIGHT: &str = "
        mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 1540; cvt.u64.u32 %rd2, %r2;
        add.u64 %rd3, %rd1, %rd2;
        ld.global.f32 %f1, [%rd3];
        ld.global.f32 %f2, [%rd3+128];
        add.f32 %f3, %f1, %f2;
        sqrt.approx.f32 %f3, %f3; sqrt.approx.f32 %f4, %f1; sqrt.approx.f32 %f5, %f2;
        add.f32 %f3, %f3, %f4; add.f32 %f3, %f3, %f5;
        st.global.f32 [%rd3], %f3;
        st.global.f32 [%rd3+4], %f4;
    ";
    for counted in ["stall-cycles", "all", "examined"] {
        let counted = format!("long-latency-first.count={counted}");
        let mut spec = spec(&["sm.warp_scheduler=long-latency-first", &counted]);
        for skip_idle in [true, false] {
            spec.sim.skip_idle = skip_idle;
            let report = run_with(&spec, (STRAIGHT, 1, 32), 1, CustomPolicies::default());
            let causes = [
                "memory_dependence",
                "execution_dependence",
                "memory_pipe",
                "execution_pipe",
            ];
            let slots = causes.map(|cause| count(&report, &format!("sm.slots.{cause}")));
            assert!(
                slots[0] > 300 && slots[1] > 0,
                "{slots:?}: a load from DRAM"
            );
            let stalls = count(&report, "warp_policy.stall_cycles");
            assert_eq!(stalls, slots.iter().sum::<u64>(), "{counted} {skip_idle}");
        }
    }
}

#[test]
fn two_level_exchanges_warps() {
    for outer in ["queue", "oldest", "groups"] {
        for inner in ["lrr", "gto"] {
            let (outer, inner) = (
                format!("two-level.outer={outer}"),
                format!("two-level.inner={inner}"),
            );
            let size = "two-level.active_warps=3";
            let report = same_always(&["sm.warp_scheduler=two-level", size, &outer, &inner]);
            let changes = count(&report, "warp_policy.group_changes");
            assert!(changes > 50, "{outer} {inner}: {changes}");
        }
    }
}

/// A block has eight warps, four a scheduler. With a block in a group, OWL changes the front group
/// when its time is over or all its warps wait, and does not act as one group alone.
#[test]
fn owl_changes_groups() {
    let with = |sets: &[&str]| {
        let all = [
            &["sm.warp_scheduler=owl", "owl.interval_cycles=300"][..],
            sets,
        ]
        .concat();
        same_always(&all)
    };
    let whole = with(&["owl.group_blocks=8"]);
    assert_eq!(count(&whole, "warp_policy.group_changes"), 0);
    for returns in ["true", "false"] {
        let report = with(&["owl.group_blocks=1", &format!("owl.returns={returns}")]);
        assert!(
            count(&report, "warp_policy.group_changes") > 20,
            "{returns}"
        );
        assert_ne!(report.totals.figures.cycles, whole.totals.figures.cycles);
    }
}

/// Cycles in which all ready warps are held back are skipped without a trace.
#[test]
fn a_limit_of_warps_is_the_same_always() {
    let report = same_always(&["sm.warp_scheduler=static-limit", "static-limit.warps=2"]);
    assert!(count(&report, "sm.slots.policy") > 100);
}

/// Names that a key accepts: the rows of its table.
fn names_of(key: &str) -> impl Iterator<Item = &'static str> {
    let found = keys().into_iter().find(|known| known.name == key);
    let Some(Rule::Names(names)) = found.map(|known| known.rule) else {
        panic!("{key} has no table of names");
    };
    names.iter().map(|(name, _)| *name)
}

/// Results depend neither on threads nor on skipped cycles, for every scheduler of the table.
#[test]
fn every_scheduler_is_the_same_always() {
    for name in names_of("sm.warp_scheduler") {
        same_always(&[&format!("sm.warp_scheduler={name}")]);
    }
}

/// Schedulers without counters: their effect shows in cycles with a warp that could have
/// issued, or in different times.
#[test]
fn schedulers_without_counters_act() {
    let mut cycles = Vec::new();
    for name in ["lrr", "grr", "gto", "oldest", "static-limit"] {
        let chosen = format!("sm.warp_scheduler={name}");
        let report = scatter(&spec(&[&chosen, "static-limit.warps=2"]), 1);
        let passed = count(&report, "sm.slots.policy");
        assert_eq!(passed > 0, name == "static-limit", "{name}: {passed}");
        assert_eq!(count(&report, "warp_policy.reorderings"), 0);
        cycles.push(report.totals.figures.cycles);
    }
    let distinct: std::collections::BTreeSet<_> = cycles.iter().collect();
    assert_eq!(distinct.len(), cycles.len(), "two act alike: {cycles:?}");
}

/// Every address depends on a random number of the thread. A block scheduler that computes
/// addresses has no information, and blocks start in the grid's order.
#[test]
fn locality_without_regular_accesses_is_round_robin() {
    const DRAWN: &str = "
        atom.global.add.u32 %r1, [%rd1], 1;
        mul.lo.u32 %r2, %r1, 68; and.b32 %r2, %r2, 131068; cvt.u64.u32 %rd2, %r2;
        add.u64 %rd3, %rd1, %rd2;
        ld.global.u32 %r3, [%rd3+64];
        add.u32 %r3, %r3, 1;
        st.global.u32 [%rd3+64], %r3;
    ";
    let run = |scheduler: &str| {
        let spec = spec(&[&format!("gpu.block_scheduler={scheduler}")]);
        run_with(&spec, (DRAWN, 48, 128), 1, CustomPolicies::default())
    };
    let (plain, local) = (run("rr"), run("locality"));
    assert_eq!(results(&local), results(&plain));
    assert_eq!(count(&local, "sm.blocks_finished"), 48);
    assert_eq!(count(&local, "gpu.blocks_reordered"), 0);
}

/// The number of blocks of an SM changes in both directions, when the contention's trend says so,
/// at least an interval apart. The statistics are the sums of the trace.
#[test]
fn contention_throttle_steps() {
    for order in ["round-robin", "lowest"] {
        let order = format!("contention-throttle.order={order}");
        let interval = "contention-throttle.interval_cycles=300";
        let sets = ["gpu.sm_filter=contention-throttle", &order, interval];
        let report = same_always(&sets);
        let (mut sms, mut at, mut contention) = (4, 0, 0.0);
        let (mut up, mut down, mut allowed) = (0, 0, 0);
        for check in &report.sm_filter_checks {
            assert!(check.cycle >= at + 300, "{check:?} after {at}");
            let expected = if check.contention > contention && sms > 2 {
                down += 1;
                sms - 1
            } else if check.contention < contention && sms < 4 {
                up += 1;
                sms + 1
            } else {
                sms
            };
            assert_eq!(check.sms, expected, "{check:?}");
            (sms, at, contention) = (check.sms, check.cycle, check.contention);
            allowed += u64::from(sms);
        }
        assert!(up > 0 && down > 0, "{up} up, {down} down");
        let counted = ["steps_up", "steps_down", "checks", "sms_allowed"]
            .map(|name| count(&report, &format!("sm_filter.{name}")));
        let checks = report.sm_filter_checks.len() as u64;
        assert_eq!(counted, [up, down, checks, allowed]);
        let baseline = scatter(&spec(&[]), 1);
        assert_ne!(report.totals.figures.cycles, baseline.totals.figures.cycles);
    }
}

/// The ratios of section 6 are the counts over cycles, and this kernel has some.
#[test]
fn stall_ratios_are_counts_over_cycles() {
    let figures = scatter(&spec(&[]), 1).totals.figures;
    let over_cycles = |name: &str| figures.statistics[name] as f64 / figures.cycles as f64;
    assert_eq!(
        figures.contention.noc_to_sm,
        Some(over_cycles("gpu.reply_stalls"))
    );
    assert!(
        figures.contention.noc_to_sm > Some(0.1),
        "{:?}",
        figures.contention
    );
}

#[test]
fn the_cap_holds_on_every_sm() {
    for cap in [1, 3] {
        let cap = format!("gpu.max_blocks_per_sm={cap}");
        let report = scatter(&spec(&[&cap]), 1);
        assert_eq!(report.kernels[0].occupancy_limit, "cap");
        let resident = count(&report, "sm.resident_warp_cycles") as f64;
        let warps = resident / count(&report, "sm.active_cycles") as f64;
        let most = 8.0 * f64::from(report.kernels[0].blocks_per_sm);
        assert!(warps <= most && warps > most / 2.0, "{cap}: {warps} warps");
    }
}

/// The example of `docs/adding-a-policy.md` runs in the machine, gives other times than `oldest`
/// and the same outputs, and is identical to the file on the page.
#[test]
fn the_documented_example_runs() {
    let own = CustomPolicies {
        warp: Some(Make::<dyn WarpScheduler>::new(|_| {
            Box::new(YoungestFirst::default())
        })),
        ..CustomPolicies::default()
    };
    let spec = spec(&["sm.warp_scheduler=oldest"]);
    let young = run_with(&spec, (SCATTER, 24, 256), 1, own.clone());
    let threads = run_with(&spec, (SCATTER, 24, 256), 3, own);
    assert_eq!(results(&young), results(&threads));
    assert!(count(&young, "warp_policy.reorderings") > 100);
    let old = scatter(&spec, 1);
    assert_ne!(young.totals.figures.cycles, old.totals.figures.cycles);
    let Facts { about, .. } = YoungestFirst::FACTS;
    assert!(about.ends_with('.'));
    let page = include_str!("../../../../docs/adding-a-policy.md");
    let file = include_str!("policies/youngest_first.rs");
    assert!(
        page.contains(file),
        "the page does not show the file as it is"
    );
}

/// The example of `docs/develop/observers.md`: it writes a file whose lines add up to the run, on
/// any number of threads, and changes no result. The page shows the file as it is.
#[test]
fn an_observer_writes_a_file() {
    let spec = spec(&[]);
    let plain = scatter(&spec, 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let observed = |threads| {
        let path = folder.path().join(format!("{threads}.csv"));
        let file = std::fs::File::create(&path).expect("a file");
        let observer = IpcOverTime::new(std::io::BufWriter::new(file), 500);
        let options = Options {
            threads,
            ..Options::default()
        };
        let mut program = OneKernel {
            body: SCATTER,
            grid: 24,
            block: 256,
            buffer: None,
        };
        let report = Session::new(spec.clone(), options)
            .run_with_observers(&mut program, vec![Box::new(observer)], &mut |_| {
                ControlFlow::Continue(())
            })
            .expect("the kernel is sound");
        assert_eq!(report.totals, plain.totals);
        assert_eq!(report.digest, plain.digest);
        std::fs::read_to_string(path).expect("the observer's file")
    };
    let text = observed(1);
    assert_eq!(text, observed(3));
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 1);
    let (mut start, mut instructions) = (0, 0.0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (end, ipc) = line.split_once(',').expect("two columns");
        let (end, ipc): (u64, f64) = (end.parse().expect("cycles"), ipc.parse().expect("IPC"));
        instructions += ipc * (end - start) as f64;
        start = end;
    }
    assert_eq!(start, plain.totals.figures.cycles);
    let counted = count(&plain, "sm.thread_instructions") as f64;
    // A line has three digits after the point.
    assert!(
        (instructions - counted).abs() <= 0.0005 * start as f64,
        "{instructions}"
    );
    let page = include_str!("../../../../docs/develop/observers.md");
    assert!(
        page.contains(include_str!("policies/ipc_over_time.rs")),
        "the page does not show the file as it is"
    );
}

/// A gate that admits every load changes nothing. One that lets a single warp of a scheduler load
/// makes the kernel slower: all warps compute the same, and the cycles in which only held-back
/// warps were ready count as the policy's. Threads and skipped cycles make no difference.
#[test]
fn a_gate_holds_loads_back() {
    let spec = spec(&["sm.warp_scheduler=gto"]);
    let gated = |make: fn(&GpuSpec) -> Box<dyn WarpScheduler>, spec: &GpuSpec, threads| {
        let own = CustomPolicies {
            warp: Some(Make::new(make)),
            ..CustomPolicies::default()
        };
        run_with(spec, (SCATTER, 24, 256), threads, own)
    };
    let open = gated(|_| Box::new(LoadGate::new(64)), &spec, 1);
    let free = scatter(&spec, 1);
    assert_eq!(open.totals, free.totals);
    let one = gated(|_| Box::new(LoadGate::new(1)), &spec, 1);
    let instructions = |report: &RunReport| count(report, "sm.thread_instructions");
    assert_eq!(instructions(&one), instructions(&free));
    assert!(one.totals.figures.cycles > free.totals.figures.cycles);
    assert_eq!(count(&free, "sm.slots.policy"), 0);
    assert!(count(&one, "sm.slots.policy") > 1000);
    assert_eq!(
        gated(|_| Box::new(LoadGate::new(1)), &spec, 3).digest,
        one.digest
    );
    let mut awake = spec;
    awake.sim.skip_idle = false;
    let awake = gated(|_| Box::new(LoadGate::new(1)), &awake, 1);
    assert_eq!(awake.totals, one.totals);
}

/// Custom filters and block schedulers also work: blocks start from the grid's end, on the first SM
/// alone.
#[test]
fn own_filters_and_block_schedulers_take_part() {
    use warploom_base::SmId;
    use warploom_policy::{BlockQueueView, BlockScheduler, SmFilter, Turn};
    use warploom_state::State;
    #[derive(State)]
    struct FirstSm;
    impl SmFilter for FirstSm {
        fn allows(&self, turn: &Turn) -> bool {
            turn.sm == SmId(0)
        }
    }
    #[derive(State)]
    struct LastBlock;
    impl BlockScheduler for LastBlock {
        fn pick(&mut self, _: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
            view.waiting.len().checked_sub(1)
        }
        fn look_ahead(&self) -> usize {
            64
        }
    }
    let own = CustomPolicies {
        sm_filter: Some(Make::<dyn SmFilter>::new(|_| Box::new(FirstSm))),
        block: Some(Make::<dyn BlockScheduler>::new(|_| Box::new(LastBlock))),
        ..CustomPolicies::default()
    };
    let spec = spec(&[]);
    assert_eq!(spec.gpu.sm_filter, Choice::All);
    let alone = run_with(&spec, (SCATTER, 24, 256), 1, own);
    let all = scatter(&spec, 1);
    assert_eq!(count(&alone, "sm.blocks_finished"), 24);
    let active = |report: &RunReport| count(report, "sm.active_cycles");
    assert!(
        active(&alone) <= alone.totals.figures.cycles,
        "one SM works"
    );
    assert!(active(&all) > all.totals.figures.cycles, "several do");
    assert!(alone.totals.figures.cycles > all.totals.figures.cycles);
}
