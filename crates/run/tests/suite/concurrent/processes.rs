//! Tests of several programs that run at once.

use crate::concurrent::script::{Script, Step, WORDS, mix, participant, run, until};
use crate::results::results;
use Step::{Alloc, Launch, LaunchBeyond, Write};
use warploom_config::{Base, GpuSpec, resolve};
use warploom_run::Participant;
use warploom_stats::result::{Figures, KernelReport, Outcome, RunReport};

/// Names of all multiprogramming policies.
pub fn policies() -> impl Iterator<Item = &'static str> {
    let own = warploom_policy::all().filter(|policy| policy.key == "gpu.multiprogram");
    own.map(|policy| policy.name)
}

pub fn gpu(policy: &str, more: &[&str]) -> GpuSpec {
    let mut sets = vec![format!("gpu.multiprogram={policy}"), "gpu.sms=4".to_owned()];
    sets.extend(more.iter().map(|set| (*set).to_owned()));
    let base = Base::Preset("fermi-slicer".to_owned());
    resolve(&base, &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn sound(report: &RunReport) {
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.succeeded(), "{:?}", report.checks);
}

/// A program that adds one to every word of `blocks` blocks, `turns` times.
pub fn adder(blocks: u32, turns: u32) -> Script {
    Script::new(&[Launch(0, "inc", blocks, turns)], &[(0, 1), (63, 1)])
}

/// A program that waits for memory most of the time.
pub fn loader(blocks: u32, turns: u32) -> Script {
    Script::new(&[Launch(0, "load", blocks, turns)], &[(0, 0)])
}

#[test]
fn processes_share_nothing_but_the_machine() {
    for policy in policies() {
        // Both use the same addresses with different values.
        let one = Script::new(
            &[Write(0, 3, 10), Launch(0, "inc", 40, 10)],
            &[(0, 1), (3, 11)],
        );
        let two = Script::new(
            &[Write(0, 3, 20), Launch(0, "double", 40, 10)],
            &[(0, 0), (3, 40)],
        );
        let programs = vec![participant("a", &one), participant("b", &two)];
        let report = mix(&gpu(policy, &[]), programs, 1);
        sound(&report);
        let names: Vec<&str> = report.checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            ["a: word 0", "a: word 3", "b: word 0", "b: word 3"],
            "{policy}"
        );
    }
}

/// The second program's launch accesses addresses at which only the first has memory: `inc` reads
/// there, and `put` only writes.
#[test]
fn a_kernel_that_touches_another_process_memory_faults() {
    for kernel in ["inc", "put"] {
        let far = 4 * WORDS as u64;
        let owner = Script::new(&[Alloc(far), LaunchBeyond(kernel, far)], &[]);
        sound(&mix(
            &gpu("even", &[]),
            vec![participant("owner", &owner)],
            1,
        ));
        let guest = Script::new(&[LaunchBeyond(kernel, far)], &[]);
        let programs = vec![participant("owner", &owner), participant("guest", &guest)];
        let report = mix(&gpu("even", &[]), programs, 1);
        let Outcome::Fault { message } = report.outcome else {
            panic!("{:?}", report.outcome)
        };
        assert!(message.starts_with("program `guest`: "), "{message}");
        assert!(message.contains(&format!("kernel `{kernel}`")), "{message}");
        // Kernels in flight are reported with their progress so far.
        let process = |kernel: &KernelReport| kernel.concurrent.as_ref().map(|c| c.process);
        let processes: Vec<_> = report.kernels.iter().map(process).collect();
        assert_eq!(processes, [Some(0), Some(1)]);
    }
}

#[test]
fn quotas_that_let_nobody_start_are_a_deadlock() {
    let report = unchecked_two("fixed", &["fixed.first=0", "fixed.second=0"], 1);
    let Outcome::Deadlock { message } = report.outcome else {
        panic!("{:?}", report.outcome)
    };
    assert!(message.contains("no SM may take one"), "{message}");
}

#[test]
fn a_single_kernel_runs_as_it_does_alone_under_every_policy() {
    for script in [adder(80, 20), loader(50, 4)] {
        let alone = results(&run(&gpu("left-over", &[]), &script, 1));
        for policy in policies() {
            let spec = gpu(policy, &["fixed.first=1"]);
            assert_eq!(results(&run(&spec, &script, 1)), alone, "{policy}");
        }
    }
}

/// Stalls of memory and network cannot be attributed to one of several kernels in flight.
#[test]
fn only_a_kernel_that_had_the_machine_to_itself_has_stalls() {
    let alone = run(&gpu("even", &[]), &adder(50, 60), 1);
    for (report, known) in [(alone, true), (two("even", &[], 1), false)] {
        for Figures {
            contention, stalls, ..
        } in report.kernels.into_iter().map(|kernel| kernel.figures)
        {
            assert_eq!(contention.dram_full.is_some(), known);
            assert_eq!(contention.noc_to_sm.is_some(), known);
            assert_eq!(stalls.is_empty(), !known);
        }
    }
}

fn unchecked_two(policy: &str, more: &[&str], threads: usize) -> RunReport {
    let programs = vec![
        participant("adder", &adder(50, 60)),
        participant("loader", &loader(50, 8)),
    ];
    mix(&gpu(policy, more), programs, threads)
}

fn two(policy: &str, more: &[&str], threads: usize) -> RunReport {
    let report = unchecked_two(policy, more, threads);
    sound(&report);
    report
}

/// Numbers of blocks that an SM accepted while it held blocks of the other program. Policies that
/// keep programs apart have none. Policies that share an SM have some of the later program.
#[test]
fn blocks_that_share_an_sm_are_counted() {
    let joined = |policy: &str, more: &[&str]| -> Vec<u64> {
        let report = two(policy, more, 1);
        report.processes.iter().map(|p| p.joined_blocks).collect()
    };
    for apart in ["sequential", "exclusive", "spatial"] {
        assert_eq!(joined(apart, &[]), [0, 0], "{apart}");
    }
    for shared in ["left-over", "fcfs", "even", "fixed"] {
        let joined = joined(shared, &["fixed.first=2", "fixed.second=2"]);
        assert!((1..=50).contains(&joined[1]), "{shared}: {joined:?}");
    }
}

/// Start of the first block and end of each process.
fn times(report: &RunReport) -> Vec<(u64, u64)> {
    let of = |at: u32| {
        let own = report.kernels.iter().filter_map(|k| k.concurrent);
        let own = own.filter(|c| c.process == at);
        let started = own.map(|c| c.started_at).min().expect("it ran");
        (
            started,
            report.processes[at as usize].ended_at.expect("it ended"),
        )
    };
    (0..report.processes.len() as u32).map(of).collect()
}

#[test]
fn sequential_left_over_and_exclusive_begin_in_this_order() {
    let one_by_one = times(&two("sequential", &[], 1));
    assert!(one_by_one[1].0 >= one_by_one[0].1, "{one_by_one:?}");
    // 50 blocks of two warps run on 4 SMs with space for eight warps. The second kernel starts when
    // the first has no more waiting blocks, before it ends.
    let left = times(&two("left-over", &[], 1));
    assert!(left[1].0 > 0 && left[1].0 < left[0].1, "{left:?}");
    // An SM without blocks of the first kernel takes the second: later, and still before the first
    // ends on the other SMs.
    let alone = times(&two("exclusive", &[], 1));
    assert!(
        left[1].0 < alone[1].0 && alone[1].0 < alone[0].1,
        "{alone:?}"
    );
    for policy in ["fcfs", "even", "spatial"] {
        let both = times(&two(policy, &[], 1));
        assert!(both[1].0 < 100, "{policy} starts both at once: {both:?}");
    }
}

/// The running process is served first, also where the machine holds one kernel at a time.
#[test]
fn sequential_keeps_to_a_process_when_places_are_short() {
    let twice = Script::new(&[Launch(0, "inc", 50, 60), Launch(0, "inc", 50, 60)], &[]);
    let spec = gpu("sequential", &["gpu.max_concurrent_kernels=1"]);
    let programs = vec![participant("a", &twice), participant("b", &twice)];
    let report = mix(&spec, programs, 1);
    sound(&report);
    let order = report.kernels.iter().filter_map(|k| k.concurrent);
    let order: Vec<u32> = order.map(|c| c.process).collect();
    assert_eq!(order, [0, 0, 1, 1]);
}

/// The second program's kernel is ready and must wait for a kernel whose blocks are still being
/// dispatched.
#[test]
fn a_kernel_that_waits_for_a_launch_is_no_deadlock() {
    let spec = gpu("sequential", &["gpu.kernel_launch_cycles=150000"]);
    let twice = Script::new(&[Launch(0, "inc", 5, 2), Launch(0, "inc", 5, 2)], &[]);
    let programs = vec![participant("a", &twice), participant("b", &adder(5, 2))];
    sound(&mix(&spec, programs, 1));
}

#[test]
fn mixes_do_not_depend_on_threads_or_on_sleep() {
    for policy in policies() {
        let sets = [
            "warped-slicer.warmup_cycles=200",
            "warped-slicer.profile_cycles=150",
            "smk.warmup_cycles=200",
            "smk.profile_cycles=150",
        ];
        let one = results(&two(policy, &sets, 1));
        for threads in [2, 3] {
            let more = results(&two(policy, &sets, threads));
            assert_eq!(one, more, "{policy}: {threads} threads");
        }
        let walking = [&sets[..], &["sim.skip_idle=false"]].concat();
        let walked = results(&two(policy, &walking, 1));
        assert_eq!(one, walked, "{policy}: without sleep");
    }
}

/// Each process restarts until it reaches its target, and is then halted. The other process then
/// has the machine.
#[test]
fn processes_run_to_their_targets() {
    let instructions = |script: &Script| {
        let report = run(&gpu("left-over", &[]), script, 1);
        report.totals.figures.thread_instructions
    };
    let (small, large) = (adder(20, 20), loader(20, 4));
    let targets = [instructions(&small) * 5 / 2, instructions(&large) * 9 / 2];
    for policy in policies() {
        let programs = vec![
            until("a", &small, targets[0]),
            until("b", &large, targets[1]),
        ];
        let report = mix(&gpu(policy, &[]), programs, 1);
        sound(&report);
        for (process, target) in report.processes.iter().zip(targets) {
            let reached = process.thread_instructions;
            // Targets are checked every 100 cycles, in which 4 SMs issue at most two warps each.
            let most = target + 100 * 4 * 2 * 32;
            assert!(
                (target..most).contains(&reached),
                "{policy}: {reached} of {target}"
            );
        }
        let runs = [report.processes[0].runs, report.processes[1].runs];
        assert_eq!(runs, [2, 4], "{policy}");
        // Halted launches count, including the last one.
        let launches: u64 = report.processes.iter().map(|p| p.launches).sum();
        assert_eq!(launches, report.totals.launches, "{policy}");
        let halted = |k: &&KernelReport| k.concurrent.is_some_and(|c| c.halted);
        assert_eq!(report.kernels.iter().filter(halted).count(), 2, "{policy}");
        // SMs that sleep when a kernel is halted have slept before that.
        let programs = vec![
            until("a", &small, targets[0]),
            until("b", &large, targets[1]),
        ];
        let walking = mix(&gpu(policy, &["sim.skip_idle=false"]), programs, 1);
        assert_eq!(results(&walking), results(&report), "{policy}");
        // A program restarts in the cycle in which it ended, without a new decision of the policy.
        assert!(
            report.decisions.len() <= 2,
            "{policy}: {:?}",
            report.decisions
        );
        let ends = report.processes.iter().filter_map(|p| p.ended_at);
        let cycles = report.totals.figures.statistics["gpu.cycles"];
        assert_eq!(
            ends.max(),
            Some(cycles),
            "{policy}: the last to finish ends the run"
        );
    }
}

#[test]
fn a_program_may_come_later() {
    let late = Participant {
        arrives_at: 3000,
        ..participant("late", &loader(20, 4))
    };
    let report = mix(
        &gpu("even", &[]),
        vec![participant("early", &adder(150, 40)), late],
        1,
    );
    sound(&report);
    let times = times(&report);
    // It gets its share as soon as blocks of the first program end: nothing is evicted.
    assert!(times[1].0 >= 3000, "{times:?}");
    assert!(times[1].0 < times[0].1, "the first still ran: {times:?}");
    // No cycle is simulated before the only program arrives.
    let late = Participant {
        arrives_at: 50_000,
        ..participant("late", &adder(1, 1))
    };
    let report = mix(&gpu("even", &[]), vec![late], 1);
    sound(&report);
    assert_eq!(report.kernels[0].concurrent, None, "it is alone");
    assert!(report.processes[0].ended_at > Some(50_000));
}
