//! Warp schedulers that follow the data cache, in the whole machine.

use super::{count, run_with, same_always, spec};
use crate::results::results;
use warploom_config::GpuSpec;
use warploom_run::CustomPolicies;
use warploom_stats::result::RunReport;

/// Kernel whose threads each walk through a line of their own: a warp has 32 lines in use, the
/// lines of four warps fill an L1D of 32 sets of four ways, and an SM holds 16 warps.
const OWN_LINES: &str = "
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    shl.b32 %r5, %r4, 7;
    and.b32 %r5, %r5, 262143;
    cvt.u64.u32 %rd2, %r5;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r9, 0;
    mov.f32 %f2, 0f00000000;
again:
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f2, %f1;
    add.u64 %rd3, %rd3, 4;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p1, %r9, 32;
    @%p1 bra again;
    st.global.f32 [%rd3+-4], %f2;
";

/// Runs 16 blocks of eight warps.
fn own_lines(spec: &GpuSpec, threads: usize) -> RunReport {
    let kernel = (OWN_LINES, 16, 256);
    run_with(spec, kernel, threads, CustomPolicies::default())
}

fn under(scheduler: &str) -> RunReport {
    own_lines(&spec(&[&format!("sm.warp_scheduler={scheduler}")]), 1)
}

fn hits(report: &RunReport) -> u64 {
    count(report, "l1d.accesses.hit.global_read")
}

/// CCWS holds loads back, keeps more lines than greedy-then-oldest and round robin, and the kernel
/// takes fewer cycles.
#[test]
fn ccws_keeps_the_lines_of_warps() {
    let ccws = under("ccws");
    for rival in ["lrr", "gto"] {
        let rival = under(rival);
        assert_eq!(
            count(&rival, "sm.thread_instructions"),
            count(&ccws, "sm.thread_instructions")
        );
        assert!(hits(&ccws) > 5 * hits(&rival));
        assert!(2 * ccws.totals.figures.cycles < rival.totals.figures.cycles);
        assert_eq!(count(&rival, "warp_policy.victim_tag_hits"), 0);
    }
    assert!(count(&ccws, "warp_policy.victim_tag_hits") > 100);
    assert!(count(&ccws, "warp_policy.loads_held_back") > 100);
    assert!(count(&ccws, "sm.slots.policy") > 100);
}

/// PCAL sends reads of warps without a token past L1D, tries numbers of warps and tokens, and keeps
/// more lines than greedy-then-oldest.
#[test]
fn pcal_lets_warps_read_past_the_cache() {
    let with = |sets: &[&str]| own_lines(&spec(sets), 1);
    let gto = with(&["sm.warp_scheduler=gto"]);
    let start = "pcal.warps=2";
    let pcal = with(&["sm.warp_scheduler=pcal", start, "pcal.period_cycles=500"]);
    assert!(hits(&pcal) > 2 * hits(&gto));
    assert!(count(&pcal, "warp_policy.moves_tried") > 10);
    assert!(count(&pcal, "warp_policy.moves_kept") > 0);
    let limited = with(&["sm.warp_scheduler=static-limit", "static-limit.warps=2"]);
    let fetched = |report: &RunReport| count(report, "l1d.accesses.miss.global_read");
    assert_ne!(fetched(&pcal), fetched(&limited));
}

/// DAWS finds the loop of the kernel, predicts that each lane needs a line, holds back the loads of
/// warps for which there is no room, and keeps more lines than greedy-then-oldest.
#[test]
fn daws_keeps_the_lines_of_a_loop() {
    let (daws, gto) = (under("daws"), under("gto"));
    assert!(hits(&daws) > 5 * hits(&gto));
    assert!(2 * daws.totals.figures.cycles < gto.totals.figures.cycles);
    assert!(count(&daws, "warp_policy.loops") > 0);
    assert!(count(&daws, "warp_policy.loads_held_back") > 1000);
    assert!(count(&daws, "sm.slots.policy") > 100);
}

/// With few MSHR entries memory is saturated most of the time. Mascar chooses owners and holds back
/// the accesses of the other warps, so that the order of accesses is not that of
/// greedy-then-oldest.
#[test]
fn mascar_lets_one_warp_access_memory() {
    let alone = ["sm.warp_scheduler=mascar", "mascar.reexecution_entries=0"];
    let (mascar, gto) = (own_lines(&spec(&alone), 1), under("gto"));
    for (name, least) in [
        ("warp_policy.owners", 100),
        ("warp_policy.saturated_cycles", 1000),
        ("warp_policy.accesses_held_back", 1000),
    ] {
        assert!(count(&mascar, name) > least, "{name}");
        assert!(count(&gto, name) == 0, "{name}");
    }
    assert_ne!(hits(&mascar), hits(&gto));
    assert_ne!(mascar.totals.figures.cycles, gto.totals.figures.cycles);
    let issued = |report: &RunReport| count(report, "sm.thread_instructions");
    assert_eq!(issued(&mascar), issued(&gto));
}

/// Where loads can be parked, those of warps that are not the owner try L1D, too: more of them
/// issue under saturation, and the outputs and instructions are the same.
#[test]
fn mascar_parks_loads() {
    let with = |entries: u32| {
        let entries = format!("mascar.reexecution_entries={entries}");
        same_always(&["sm.warp_scheduler=mascar", &entries]);
        own_lines(&spec(&["sm.warp_scheduler=mascar", &entries]), 1)
    };
    let reports = [0, 1, 32].map(with);
    let of = |name: &str| reports.each_ref().map(|report| count(report, name));
    let [held, _, fewer] = of("warp_policy.accesses_held_back");
    assert!(fewer < held, "{fewer} of {held} held back");
    let [none, one, many] = of("sm.ldst_stalls.global_load.reservation");
    assert!(none > many, "{none}, {one}, {many}");
    let issued = of("sm.thread_instructions");
    assert!(issued.iter().all(|n| *n == issued[0]), "{issued:?}");
}

/// Results depend neither on threads nor on skipped cycles; tags are looked up at once or after a
/// latency, in lines or in sectors, and lines come in with the miss or with the data.
#[test]
fn schedulers_that_follow_l1d_are_the_same_always() {
    for scheduler in ["ccws", "pcal", "mascar", "daws"] {
        same_with(&format!("sm.warp_scheduler={scheduler}"));
    }
}

fn same_with(scheduler: &str) {
    for sets in [
        &["sm.l1d_latency_cycles=0", "l1d.allocate=streaming"][..],
        &[
            "sm.l1d_latency_cycles=20",
            "sm.l1d_allocation=warp-tokens",
            "warp-tokens.warps=3",
        ],
    ] {
        let short = &["pcal.warps=2", "pcal.period_cycles=300"];
        let sets = [&[scheduler], &short[..], sets].concat();
        same_always(&sets);
        let mut spec = spec(&sets);
        let threads = own_lines(&spec, 3);
        spec.sim.skip_idle = false;
        assert_eq!(results(&own_lines(&spec, 1)), results(&threads), "{sets:?}");
    }
}

/// Without an L1D, or where warps change their slots, the choice is refused.
#[test]
fn schedulers_that_follow_l1d_are_refused_where_they_cannot_work() {
    for scheduler in ["ccws", "pcal", "daws"] {
        for (set, says) in [
            ("l1d.enabled=false", "does not exist"),
            ("sm.context=duet", "context switching"),
        ] {
            let base = warploom_config::Base::Preset("gtx480".to_owned());
            let chosen = format!("sm.warp_scheduler={scheduler}");
            let sets = [chosen, set.to_owned()];
            let errors = warploom_config::resolve(&base, &sets).expect_err("refused");
            assert!(errors.to_string().contains(says), "{set}: {errors}");
        }
    }
}
