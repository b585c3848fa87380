//! Sampled comparisons: the same runs as alone, and what is said about them.

use super::super::{Comparison, Vary};
use super::{ESTIMATED, differing, undecided, wide};
use crate::runner::{Event, Runner};
use crate::runs::{FigureJob, FigureOutcome, make};
use crate::spec::{Input, RunSpec};
use std::ops::ControlFlow;
use std::sync::Mutex;
use warploom_config::Base;
use warploom_report::Chart;
use warploom_report::page::{Cell, Page};
use warploom_stats::result::RunReport;
use warploom_stats::sampling::{Interval, SamplingReport};
use warploom_workloads::Size;

fn comparison(program: &str, gpu: &str, vary: &[(&str, &[&str])]) -> Comparison {
    let vary = vary.iter().map(|(key, values)| Vary {
        key: (*key).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    });
    Comparison {
        input: Input::workload(program, Size::Test, 1).unwrap(),
        programs: None,
        gpu: gpu.to_owned(),
        base: Base::Preset(gpu.to_owned()),
        sets: vec!["gpu.sms=3".to_owned()],
        vary: vary.collect(),
        best: Vec::new(),
        max_cycles: None,
        max_launches: None,
        energy: None,
        explain: false,
        sample_error: Some(0.02),
    }
}

/// The page, the results of its runs, and the names of those that were apart.
fn made(comparison: &Comparison, threads: usize) -> (Page, Vec<RunReport>, Vec<String>) {
    let specs = comparison.runs().unwrap();
    let apart = Mutex::new(Vec::new());
    let results = Mutex::new(Vec::new());
    let wanted = FigureJob {
        name: comparison.name(),
        make: Box::new(|runs| comparison.make(&specs, runs)),
        page: Box::new(|figure, used| {
            let reports = used.iter().map(|(_, report)| RunReport::clone(report));
            *results.lock().unwrap() = reports.collect();
            comparison.page(figure, used, "warploom compare")
        }),
    };
    let runner = Runner {
        store: None,
        threads,
        observer: &|event| {
            if let Event::Apart { label, .. } = event {
                apart.lock().unwrap().push(label.to_owned());
            }
        },
        interrupted: &|| false,
    };
    let mut made = make(std::slice::from_ref(&wanted), &runner).unwrap();
    drop(wanted);
    let Some(FigureOutcome::Page(page)) = made.pop() else {
        panic!("no page");
    };
    (
        *page,
        results.into_inner().unwrap(),
        apart.into_inner().unwrap(),
    )
}

/// A result without the time that it took.
fn timeless(report: RunReport) -> RunReport {
    RunReport {
        wall_seconds: 0.0,
        cycles_per_second: 0.0,
        warp_instructions_per_second: 0.0,
        ..report
    }
}

fn alone(spec: &RunSpec) -> RunReport {
    timeless(spec.simulate(&mut |_| ControlFlow::Continue(())).unwrap())
}

/// Runs of several workloads that share passes have, bit by bit, the results that they have alone,
/// for any number of threads.
#[test]
fn runs_of_a_pass_are_those_of_each_alone() {
    let schedulers = ("sm.warp_scheduler", &["lrr", "gto"][..]);
    let cases = [
        comparison(
            "gaussian",
            "gtx480",
            &[schedulers, ("l2.sets", &["64", "16"])],
        ),
        comparison(
            "kmeans",
            "rtx2060-turing",
            &[schedulers, ("l2.ways", &["16", "4"])],
        ),
        comparison(
            "nw",
            "gtx480-gpgpusim4",
            &[schedulers, ("l1d.sets", &["64", "32"])],
        ),
        comparison(
            "gaussian",
            "titanx-pascal",
            &[schedulers, ("gpu.max_blocks_per_sm", &["2", "8"])],
        ),
    ];
    for (at, comparison) in cases.iter().enumerate() {
        let specs = comparison.runs().unwrap();
        let expected: Vec<RunReport> = specs.iter().map(alone).collect();
        for threads in [1, 3] {
            let (page, reports, apart) = made(comparison, threads);
            let reports: Vec<RunReport> = reports.into_iter().map(timeless).collect();
            assert!(reports == expected, "{}, {threads} threads", page.title);
            assert_eq!(page.table.rows.len(), 4);
            let parts = usize::from(at == 3 && threads == 1);
            assert_eq!(apart.len(), 2 * parts, "{apart:?}");
        }
    }
}

#[test]
fn rows_have_estimates_with_margins() {
    let schedulers = ("sm.warp_scheduler", &["lrr", "gto"][..]);
    let (page, reports, _) = made(&comparison("gaussian", "gtx480", &[schedulers]), 1);
    assert!(
        page.title.ends_with(", sampled with a bound of 2%"),
        "{}",
        page.title
    );
    let names: Vec<&str> = page.table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names[1..], ESTIMATED.map(|(name, _)| name));
    let at = |name: &str| names.iter().position(|column| *column == name).unwrap();
    let number = |row: usize, name: &str| page.table.rows[row][at(name)].number().unwrap();
    for (row, report) in reports.iter().enumerate() {
        let sampling = report.sampling.as_ref().unwrap();
        let cycles = sampling.cycles();
        assert_eq!(number(row, "cycles"), cycles.value.round());
        assert_eq!(number(row, "cycles.margin"), cycles.margin.round());
        assert!(sampling.timed < sampling.launches);
        assert!(number(row, "cycles") > report.totals.figures.cycles as f64);
        assert_eq!(page.runs[row].cycles as f64, number(row, "cycles"));
        assert_eq!(page.runs[row].ended, "sampled");
        assert!(page.runs[row].command.ends_with(" --sample-error 2%"));
        assert_eq!(page.table.rows[row][at("status")], Cell::from("sampled"));
    }
    assert_eq!(
        (number(0, "speedup"), number(0, "speedup.margin")),
        (1.0, 0.0)
    );
    let ratio = number(0, "cycles") / number(1, "cycles");
    assert!((number(1, "speedup") - ratio).abs() < 1e-4);
    assert!(number(1, "speedup.margin") > 0.0);
    assert!(page.notes[0].starts_with("sampled: "), "{:?}", page.notes);
    let Chart::Bars(chart) = &page.charts[0] else {
        panic!("no bars")
    };
    assert_eq!(chart.axis.label, "speedup over lrr (estimated)");
    let ends: Vec<f64> = chart
        .marks
        .iter()
        .filter_map(|mark| mark.values[1])
        .collect();
    let (speedup, margin) = (number(1, "speedup"), number(1, "speedup.margin"));
    assert!((ends[0] - (speedup - margin)).abs() < 1e-9 && (ends[1] - ends[0]) > margin);
}

fn sampling(value: f64, margin: f64) -> SamplingReport {
    SamplingReport {
        bound: 0.02,
        confidence: 0.95,
        launches: 9,
        timed: 4,
        differing: 0,
        warp_instructions: 0,
        thread_instructions: 0,
        estimates: [("cycles".to_owned(), Interval { value, margin })].into(),
        strata: Vec::new(),
    }
}

#[test]
fn differences_within_margins_are_named() {
    let runs = [(100.0, 3.0), (102.0, 4.0), (150.0, 3.0)];
    let [a, b, c] = runs.map(|(value, margin)| sampling(value, margin));
    let all = [("a", &a), ("b", &b), ("c", &c)];
    let told = undecided(&all).unwrap();
    // 0.98 with 3 % and 3.92 %, as squares 4.94 %.
    assert!(told.ends_with("may: b over a (0.980 +- 0.048)"), "{told}");
    assert_eq!(undecided(&all[1..]), None);
    let told = wide(&all, 0.035).unwrap();
    assert!(told.ends_with("timed: b"), "{told}");
    assert_eq!(differing(&all), None);
    let racing = SamplingReport { differing: 3, ..a };
    let told = differing(&[("a", &racing)]).unwrap();
    assert!(told.ends_with("each run: a (3)"), "{told}");
}
