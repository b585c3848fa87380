//! Several programs on a machine that switches contexts: an SM switches those of a kernel that has
//! it to itself, and blocks on a shared SM keep their resources.

use crate::concurrent::processes::{adder, gpu, loader, policies, sound};
use crate::concurrent::script::{mix, participant, until};
use crate::results::results;
use warploom_stats::result::{ContextDecline, KernelReport, RunReport};

/// Systems with extra blocks that no monitor decides about. Four blocks of 64 threads fill an SM.
const SYSTEMS: [&[&str]; 4] = [
    &[
        "sm.max_threads=256",
        "sm.context=duet",
        "duet.extra_blocks=2",
    ],
    &[
        "sm.max_threads=256",
        "sm.context=duet-tb",
        "duet-tb.extra_blocks=2",
    ],
    &["sm.max_threads=256", "sm.context=virtual-thread"],
    &["sm.max_threads=256", "sm.context=finereg"],
];

fn two(policy: &str, sets: &[&str], threads: usize) -> RunReport {
    let programs = vec![
        participant("one", &loader(60, 4)),
        participant("two", &loader(50, 3)),
    ];
    let report = mix(&gpu(policy, sets), programs, threads);
    sound(&report);
    report
}

fn count(report: &RunReport, name: &str) -> u64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

fn left(report: &RunReport) -> u64 {
    count(report, "context.warps_out") + count(report, "context.blocks_out")
}

fn refusals(report: &RunReport) -> Vec<Option<ContextDecline>> {
    let of = |kernel: &KernelReport| kernel.context.as_ref().map(|context| context.refusal);
    report
        .kernels
        .iter()
        .map(|k| of(k).expect("contexts are switched"))
        .collect()
}

#[test]
fn contexts_are_switched_under_every_policy_and_on_any_threads() {
    for (at, policy) in policies().enumerate() {
        // Each policy with one of the systems, in turn.
        let system = SYSTEMS[at % SYSTEMS.len()];
        let one = two(policy, system, 1);
        let (expected, more) = (results(&one), results(&two(policy, system, 2)));
        assert_eq!(expected, more, "{policy}, {system:?}: two threads");
        let walking = [system, &["sim.skip_idle=false"]].concat();
        let walked = results(&two(policy, &walking, 1));
        assert_eq!(expected, walked, "{policy}, {system:?}: without sleep");
    }
}

/// Policies that give a kernel SMs of its own let both switch. Where quotas divide every SM, no
/// block of two kernels that run all the time together is switched, and both say why.
#[test]
fn an_sm_switches_the_contexts_of_a_kernel_that_has_it_to_itself() {
    for system in SYSTEMS {
        for policy in ["spatial", "sequential", "exclusive"] {
            let report = two(policy, system, 1);
            assert_eq!(refusals(&report), [None, None], "{policy}, {system:?}");
            assert!(
                left(&report) > 20,
                "{policy}, {system:?}: {}",
                left(&report)
            );
        }
        let fixed = [system, &["fixed.first=2", "fixed.second=2"]].concat();
        let report = two("fixed", &fixed, 1);
        assert_eq!(
            refusals(&report)[0],
            Some(ContextDecline::SharedSms),
            "{system:?}"
        );
    }
}

/// Blocks on the SM, most at once, do not exceed four where none is switched. With one program
/// alone, two more start.
#[test]
fn extra_blocks_come_only_where_contexts_are_switched() {
    let system = SYSTEMS[0];
    let most = |report: &RunReport| count(report, "context.blocks_max");
    let alone = mix(
        &gpu("even", system),
        vec![participant("one", &loader(60, 8))],
        1,
    );
    sound(&alone);
    assert_eq!(most(&alone), 6);
    assert_eq!(most(&two("spatial", system, 1)), 6);
}

/// A halted kernel leaves nothing: its absent warps end, and its blocks that have not started are
/// dropped. The machine looks for leaks at every end of a kernel.
#[test]
fn a_halted_kernel_whose_contexts_are_out_ends() {
    for system in SYSTEMS {
        for policy in ["spatial", "sequential", "left-over", "warped-slicer"] {
            for targets in [[9_000, 21_000], [33_000, 15_500], [52_000, 60_000]] {
                let programs = vec![
                    until("one", &loader(60, 8), targets[0]),
                    until("two", &loader(50, 6), targets[1]),
                ];
                let report = mix(&gpu(policy, system), programs, 1);
                sound(&report);
                for (process, target) in report.processes.iter().zip(targets) {
                    assert!(
                        process.thread_instructions >= target,
                        "{policy}, {system:?}"
                    );
                }
            }
        }
    }
}

/// A second program that comes later waits on an SM for the end of the switched blocks there, and
/// then shares it.
#[test]
fn a_program_that_comes_later_gets_its_share() {
    let late = warploom_run::Participant {
        arrives_at: 2000,
        ..participant("late", &adder(20, 20))
    };
    let early = participant("early", &loader(400, 8));
    let report = mix(&gpu("even", SYSTEMS[0]), vec![early, late], 1);
    sound(&report);
    let ends: Vec<_> = report.processes.iter().map(|p| p.ended_at).collect();
    assert!(ends[1] < ends[0], "the late one need not wait: {ends:?}");
    assert!(left(&report) > 0, "the early one was alone at first");
}
