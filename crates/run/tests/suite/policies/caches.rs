//! Policies of caches in the whole machine.

use super::{OneKernel, count, names_of, same_always, spec};
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{Options, Session};
use warploom_stats::result::RunReport;

/// Kernel whose only warp reads 160 neighbouring lines in turn, ten times: five lines for each of
/// the 32 sets of an L1D of four ways.
const CYCLE: &str = "
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 128;
    mov.u32 %r3, 0;
    mov.f32 %f2, 0f00000000;
round:
    mov.u32 %r4, 0;
again:
    shl.b32 %r5, %r4, 12;
    add.u32 %r5, %r5, %r2;
    cvt.u64.u32 %rd2, %r5;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f2, %f1;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 5;
    @%p1 bra again;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 10;
    @%p1 bra round;
    add.u64 %rd3, %rd1, 131072;
    st.global.f32 [%rd3], %f2;
";

fn cycle(spec: &GpuSpec) -> RunReport {
    let mut program = OneKernel {
        body: CYCLE,
        grid: 1,
        block: 32,
        buffer: None,
    };
    let options = Options {
        parts: true,
        ..Options::default()
    };
    let session = Session::new(spec.clone(), options);
    let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
    report.expect("the kernel is sound")
}

fn l1d_hits(report: &RunReport) -> u64 {
    count(report, "l1d.accesses.hit.global_read")
}

/// Among 1,600 reads, a cyclic working set that is larger than a set never hits under LRU and FIFO.
/// BRRIP and DIP keep about three of five lines.
#[test]
fn replacement_of_l1d_acts_on_a_cyclic_working_set() {
    let hits = |policy: &str| {
        let report = cycle(&spec(&[&format!("l1d.replacement={policy}")]));
        l1d_hits(&report)
    };
    assert_eq!([hits("lru"), hits("fifo")], [0, 0]);
    for policy in ["brrip", "dip"] {
        let hits = hits(policy);
        assert!((480..960).contains(&hits), "{policy}: {hits}");
    }
    assert!(hits("random") > 100);
}

/// Results depend neither on threads nor on skipped cycles, whichever cache has the policy.
#[test]
fn every_replacement_policy_is_the_same_always() {
    for policy in names_of("l1d.replacement") {
        let (scheduler, of_l2) = match policy {
            "cacp" => ("cawa", "lru"),
            _ => ("gto", policy),
        };
        same_always(&[
            &format!("sm.warp_scheduler={scheduler}"),
            &format!("l1d.replacement={policy}"),
            &format!("l2.replacement={of_l2}"),
        ]);
    }
}

/// Lines for critical warps where the tags are looked up at once or after a latency, and where the
/// line comes in at the miss or with its data.
#[test]
fn lines_of_critical_warps_are_the_same_always() {
    for others in [
        "l1d.allocate=on-fill",
        "sm.l1d_latency_cycles=20",
        "l1d.sectored=true",
    ] {
        let sets = ["sm.warp_scheduler=cawa", "l1d.replacement=cacp"];
        same_always(&[sets[0], sets[1], others]);
    }
}

/// A counter of all SMs.
fn of_sms(report: &RunReport, name: &str) -> u64 {
    let parts = report.totals.figures.parts.as_ref();
    let parts = parts.expect("parts are kept");
    parts.sms.iter().filter_map(|sm| sm.get(name)).sum()
}

/// With a set of five ways all lines stay: of 1,600 reads 160 miss. Without tokens, no read
/// allocates a line, and every read bypasses L1D. The tags are looked up at once or after a
/// latency.
#[test]
fn reads_of_warps_without_a_token_go_past_l1d() {
    for latency in ["sm.l1d_latency_cycles=0", "sm.l1d_latency_cycles=20"] {
        let with = |sets: &[&str]| {
            let all = [&["l1d.ways=5", latency], sets].concat();
            let report = cycle(&spec(&all));
            (l1d_hits(&report), of_sms(&report, "sm_detail.l1d_bypasses"))
        };
        assert_eq!(with(&[]), (1440, 0));
        let tokens = "sm.l1d_allocation=warp-tokens";
        assert_eq!(with(&[tokens, "warp-tokens.warps=1"]), (1440, 0));
        assert_eq!(with(&[tokens, "warp-tokens.warps=0"]), (0, 1600));
    }
}

#[test]
fn warp_tokens_are_the_same_always() {
    same_always(&["sm.l1d_allocation=warp-tokens", "warp-tokens.warps=3"]);
}

/// L1D keeps four of the five lines of each of 32 sets, and the first one goes into registers when
/// the fifth comes. It stays there, for a read that finds it does not bring it back: in each of
/// nine further rounds one of five reads finds its line in registers, and four do in L1D. The tags
/// are looked up at once or after a latency.
#[test]
fn idle_registers_keep_what_l1d_replaces() {
    for latency in ["sm.l1d_latency_cycles=0", "sm.l1d_latency_cycles=20"] {
        let report = cycle(&spec(&["sm.l1d_victims=linebacker", latency]));
        assert_eq!(l1d_hits(&report), 9 * 4 * 32);
        let counts = ["victim_hits", "victim_lines_kept", "victim_lines_dropped"];
        let counts = counts.map(|name| of_sms(&report, &format!("sm_detail.{name}")));
        assert_eq!(counts, [9 * 32, 32, 0]);
        let without = cycle(&spec(&[latency]));
        assert_eq!(l1d_hits(&without), 0);
        assert!(report.totals.figures.cycles < without.totals.figures.cycles);
    }
}

/// Results depend neither on threads nor on skipped cycles: with a latency of L1D, sectors, lines
/// that come in with their data, and other policies that take part in accesses.
#[test]
fn kept_lines_are_the_same_always() {
    for others in [
        "sm.l1d_latency_cycles=0",
        "sm.l1d_latency_cycles=20",
        "l1d.sectored=true",
        "l1d.allocate=on-fill",
        "sm.l1d_allocation=warp-tokens",
        "sm.warp_scheduler=ccws",
        "sm.warp_scheduler=mascar",
        "sm.block_limit=dyncta",
    ] {
        let report = same_always(&[
            "sm.l1d_victims=linebacker",
            "linebacker.window_cycles=500",
            "l1d.ways=1",
            others,
        ]);
        assert!(report.succeeded(), "{others}");
    }
}

/// Combinations that cannot work are refused with the keys and a remedy.
#[test]
fn impossible_combinations_are_refused() {
    let refused = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let base = warploom_config::Base::Preset("gtx480".to_owned());
        let errors = warploom_config::resolve(&base, &sets).expect_err("refused");
        errors.to_string()
    };
    for (sets, says) in [
        (&["l2.replacement=dip", "l2.sets=2"][..], "leader sets"),
        (
            &["sm.l1d_allocation=warp-tokens", "l1d.enabled=false"],
            "does not exist",
        ),
        (
            &["sm.l1d_victims=linebacker", "l1d.enabled=false"],
            "does not exist",
        ),
        (
            &["sm.l1d_victims=linebacker", "sm.context=finereg"],
            "both lines of L1D and contexts",
        ),
        (&["l1d.replacement=plru"], "replacement"),
        (&["l1d.replacement=cacp"], "`cawa` alone finds"),
        (
            &["l2.replacement=cacp", "sm.warp_scheduler=cawa"],
            "only L1D knows",
        ),
        (
            &[
                "l1d.replacement=cacp",
                "sm.warp_scheduler=cawa",
                "sm.context=virtual-thread",
            ],
            "context switching",
        ),
    ] {
        let text = refused(sets);
        assert!(text.contains(says), "{sets:?}: {text}");
    }
}
