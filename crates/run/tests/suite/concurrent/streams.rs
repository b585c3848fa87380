//! Tests of streams of one program.

use crate::concurrent::script::{OWN, Script, Step, run};
use crate::results::results;
use Step::{Copy, Expect, Launch, Mark, Synchronize, SynchronizeStream, WaitFor, Write};
use warploom_config::{GpuSpec, preset};
use warploom_stats::result::{Outcome, RunReport};

fn gpu() -> GpuSpec {
    let mut spec = preset("gtx480").expect("a built-in preset");
    spec.gpu.sms = 5;
    spec
}

fn cycles(report: &RunReport) -> u64 {
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.succeeded(), "{:?}", report.checks);
    report.totals.figures.cycles
}

/// Two kernels of a few blocks each on the same machine.
fn pair(streams: [u32; 2]) -> Script {
    let [one, two] = streams;
    Script::new(
        &[Launch(one, "inc", 2, 500), Launch(two, "spin", 2, 500)],
        &[(one as usize * OWN, 1)],
    )
}

#[test]
fn streams_overlap_and_the_default_stream_does_not() {
    let serial = cycles(&run(&gpu(), &pair([0, 0]), 1));
    let same = cycles(&run(&gpu(), &pair([3, 3]), 1));
    let apart = cycles(&run(&gpu(), &pair([1, 2]), 1));
    assert_eq!(same, serial, "one stream is one order, whatever its number");
    // Two blocks leave more than half of the machine empty, so the second kernel runs for free.
    assert!(apart * 10 < serial * 6, "{apart} of {serial}");
    // The default stream waits for all others, and they wait for it.
    for mixed in [[0, 1], [1, 0]] {
        assert_eq!(cycles(&run(&gpu(), &pair(mixed), 1)), serial, "{mixed:?}");
    }
}

#[test]
fn the_number_of_kernels_at_once_is_a_key() {
    let mut spec = gpu();
    spec.gpu.max_concurrent_kernels = 1;
    let apart = cycles(&run(&spec, &pair([1, 2]), 1));
    assert_eq!(apart, cycles(&run(&spec, &pair([0, 0]), 1)));
}

/// Two kernels process one buffer in one stream while another stream is busy. Copies are in the
/// same order, and a host that waits for a stream sees its results.
#[test]
fn a_stream_keeps_its_order() {
    let steps = [
        Launch(2, "spin", 3, 900),
        Launch(1, "inc", 1, 10),
        Launch(1, "double", 1, 10),
        Write(1, OWN + 5, 40),
        Launch(1, "inc", 1, 10),
        Copy(1, OWN + 5, 9),
        SynchronizeStream(1),
        Expect(OWN, 3),
        Expect(OWN + 5, 41),
        Expect(9, 41),
        Launch(1, "double", 1, 10),
        Synchronize,
        Expect(OWN, 6),
    ];
    let report = run(&gpu(), &Script::new(&steps, &[(OWN, 6), (OWN + 5, 82)]), 1);
    cycles(&report);
    let names: Vec<&str> = report.kernels.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(
        names,
        ["spin", "inc", "double", "inc", "double"],
        "as launched"
    );
}

/// Counts of a kernel cover only its own work: it has as many instructions next to another kernel
/// as alone.
#[test]
fn counts_are_told_apart() {
    let alone = run(&gpu(), &pair([0, 0]), 1);
    let beside = run(&gpu(), &pair([1, 2]), 1);
    for (alone, beside) in alone.kernels.iter().zip(&beside.kernels) {
        let (alone, beside) = (&alone.figures, &beside.figures);
        assert_eq!(alone.warp_instructions, beside.warp_instructions);
        assert_eq!(alone.thread_instructions, beside.thread_instructions);
        let accesses = |statistics: &std::collections::BTreeMap<String, u64>| {
            let own = statistics
                .iter()
                .filter(|(n, _)| n.starts_with("l1d.accesses."));
            own.map(|(_, count)| count).sum::<u64>()
        };
        assert_eq!(accesses(&alone.statistics), accesses(&beside.statistics));
    }
    let sum: u64 = beside
        .kernels
        .iter()
        .map(|k| k.figures.warp_instructions)
        .sum();
    assert_eq!(sum, beside.totals.figures.warp_instructions);
    let at = |n: usize| beside.kernels[n].concurrent.expect("they ran at once");
    assert_eq!((at(0).stream, at(1).stream), (1, 2));
    assert!(at(1).started_at < at(0).launched_at + beside.kernels[0].figures.cycles);
}

#[test]
fn results_do_not_depend_on_threads_or_on_sleep() {
    let steps = [
        Launch(1, "load", 20, 5),
        Launch(2, "load", 12, 7),
        Launch(1, "inc", 10, 20),
        Launch(3, "double", 5, 50),
    ];
    // The streams race on purpose. The order is still that of cycle and SM.
    let script = Script::new(&steps, &[]);
    let mut spec = gpu();
    let one = run(&spec, &script, 1);
    assert_eq!(results(&one), results(&run(&spec, &script, 2)));
    assert_eq!(results(&one), results(&run(&spec, &script, 3)));
    spec.sim.skip_idle = false;
    let walked = run(&spec, &script, 1);
    for (slept, walked) in one.kernels.iter().zip(&walked.kernels) {
        assert_eq!(slept, walked);
    }
    assert_eq!(one.totals, walked.totals);
    assert_eq!(results(&one), results(&walked));
}

#[test]
fn a_deadlock_names_both_kernels() {
    let steps = [Launch(1, "stuck", 1, 0), Launch(2, "stuck", 1, 0)];
    let report = run(&gpu(), &Script::new(&steps, &[]), 1);
    let Outcome::Deadlock { message } = report.outcome else {
        panic!("{:?}", report.outcome)
    };
    let waits = message.matches("of `stuck`").count();
    assert_eq!(waits, 4, "two warps of each: {message}");
}

/// A mark is reached when all earlier operations of its stream have ended. A stream that waits for
/// it then continues.
#[test]
fn streams_wait_for_marks_of_others() {
    let both = |wait: &[Step]| {
        let mut steps = vec![Launch(1, "inc", 2, 500), Mark(1, 7)];
        steps.extend_from_slice(wait);
        steps.extend([Launch(2, "inc", 2, 500), Mark(2, 8)]);
        let script = Script::new(&steps, &[(OWN, 1), (2 * OWN, 1)]);
        let total = cycles(&run(&gpu(), &script, 1));
        let reached = script.reached.lock().expect("nobody panics").clone();
        (total, reached)
    };
    let (apart, marks) = both(&[]);
    let at: Vec<_> = marks.iter().map(|(_, at)| *at).collect();
    assert_eq!((marks.len(), at.iter().max()), (2, Some(&apart)));
    let (serial, marks) = both(&[WaitFor(2, 7)]);
    let [(7, first), (8, last)] = marks[..] else {
        panic!("not in order: {marks:?}");
    };
    assert!(first < last && last == serial, "{marks:?}, {serial}");
    assert!(apart * 10 < serial * 6, "{apart} of {serial}");
}
