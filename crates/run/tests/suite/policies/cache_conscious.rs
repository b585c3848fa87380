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

/// Results depend neither on threads nor on skipped cycles; tags are looked up at once or after a
/// latency, in lines or in sectors, and lines come in with the miss or with the data.
#[test]
fn ccws_is_the_same_always() {
    for sets in [
        &["sm.l1d_latency_cycles=0"][..],
        &["sm.l1d_latency_cycles=20"],
        &["l1d.allocate=streaming"],
        &["sm.l1d_allocation=warp-tokens", "warp-tokens.warps=3"],
    ] {
        same_always(&[&["sm.warp_scheduler=ccws"], sets].concat());
        let mut spec = spec(&[&["sm.warp_scheduler=ccws"], sets].concat());
        let once = own_lines(&spec, 1);
        assert_eq!(results(&own_lines(&spec, 3)), results(&once), "{sets:?}");
        spec.sim.skip_idle = false;
        assert_eq!(results(&own_lines(&spec, 1)), results(&once), "{sets:?}");
    }
}

/// Without an L1D, or where warps change their slots, the choice is refused.
#[test]
fn ccws_is_refused_where_it_cannot_work() {
    for (set, says) in [
        ("l1d.enabled=false", "does not exist"),
        ("sm.context=duet", "context switching"),
    ] {
        let base = warploom_config::Base::Preset("gtx480".to_owned());
        let sets = ["sm.warp_scheduler=ccws".to_owned(), set.to_owned()];
        let errors = warploom_config::resolve(&base, &sets).expect_err("refused");
        assert!(errors.to_string().contains(says), "{set}: {errors}");
    }
}
