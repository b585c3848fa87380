//! Tests of all figures of the paper at scale `test`.

use super::{ALLOCATOR, FERMI, KEPLER};
use crate::allocated::{Allocate, Subject};
use crate::figure::Request;
use crate::figures::{find, testing};
use crate::runner::{Results, Runner};
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use warploom_config::GpuSpec;
use warploom_regalloc::Options;
use warploom_report::page::{Cell, Page};
use warploom_workloads::Size;

fn number(cell: &Cell) -> f64 {
    cell.number()
        .unwrap_or_else(|| panic!("{cell:?} is no number"))
}

fn page<'a>(pages: &'a [Page], name: &str) -> &'a Page {
    let page = pages.iter().find(|page| page.figure == name);
    page.unwrap_or_else(|| panic!("no {name}"))
}

/// Studies for Kepler run points on Fermi's preset if they fit there.
#[test]
fn capped_blocks_are_the_same_on_both_presets() {
    let run = |gpu: &str| {
        let how = Allocate::local(24);
        let input = Input::allocated("crat/HST", Size::Test, SEED, &how).unwrap();
        let machine = MachineVariant::preset(gpu, gpu, &["gpu.max_blocks_per_sm=2"]).unwrap();
        let spec = RunSpec::new(&input, &machine);
        let mut results = Results::default();
        let runner = Runner {
            store: None,
            threads: 1,
            observer: &|_| (),
            interrupted: &|| false,
        };
        let alone = std::slice::from_ref(&spec);
        runner.run(alone, &mut results).unwrap();
        results.get(&spec.key()).unwrap().clone()
    };
    let preset = |gpu: &str, sets: &[&str]| MachineVariant::preset(gpu, gpu, sets).unwrap().spec;
    let [fermi, kepler] = [FERMI.gpu, KEPLER.gpu].map(|gpu| preset(gpu, &[]));
    let registers = format!("sm.registers={}", fermi.sm.registers);
    let threads = format!("sm.max_threads={}", fermi.sm.max_threads);
    let cut = GpuSpec {
        name: fermi.name.clone(),
        ..GpuSpec::clone(&preset(KEPLER.gpu, &[&registers, &threads]))
    };
    assert_eq!(cut, *fermi, "they differ in nothing else");
    assert!(kepler.sm.registers > fermi.sm.registers);
    let (fermi, kepler) = (run(FERMI.gpu), run(KEPLER.gpu));
    assert_ne!(fermi.config_digest, kepler.config_digest);
    assert_eq!(fermi.totals, kepler.totals);
    assert_eq!(fermi.digest, kepler.digest);
}

#[test]
fn every_figure_is_made_and_every_claim_has_its_verdict() {
    let pages = testing::pages(&find("crat").unwrap());
    testing::check(&pages, "crat", &[]);
    // Fewer registers give more blocks and more instructions.
    let rows = &page(&pages, "fig6").table.rows;
    assert!(rows.len() > 3);
    assert!(rows.is_sorted_by(|a, b| number(&a[0]) < number(&b[0])));
    assert!(rows.is_sorted_by(|a, b| number(&a[1]) >= number(&b[1])));
    assert!(number(&rows[0][2]) > 1.05, "{:?}", rows[0]);
    // Without spills no bytes move, and the fewest registers move most.
    let bytes = &page(&pages, "fig12").table.rows;
    let ends = [bytes.first(), bytes.last()].map(|row| row.map(|row| number(&row[2])));
    assert!(ends[0] > Some(0.0) && ends[1] == Some(0.0), "{ends:?}");
    // What ptxas reports stands beside it, and its spills shrink with more registers, too.
    let of_ptxas: Vec<f64> = bytes.iter().filter_map(|row| row[4].number()).collect();
    assert!(of_ptxas.len() > 3 && of_ptxas.first() > of_ptxas.last());
    // Section 5.2's yardstick: with 32 registers about the bytes of ptxas.
    let fewest = bytes[0].clone();
    for (ours, of_ptxas) in [(1, 3), (2, 4)] {
        let ratio = number(&fewest[ours]) / number(&fewest[of_ptxas]);
        assert!((0.75..1.6).contains(&ratio), "{fewest:?}");
    }
    // A value in shared memory gives another program, whatever its gain.
    let fdtd = &page(&pages, "fig8").table.rows;
    assert_ne!(fdtd[2][2], fdtd[3][2]);
    assert!(number(&fdtd[2][3]) <= number(&fdtd[3][3]));
    // What is saved follows from the two energies.
    let energy = &page(&pages, "energy").table.rows;
    for row in energy {
        let [opt, crat, saved] = [1, 2, 3].map(|at| number(&row[at]));
        assert!((100.0 * (1.0 - crat / opt) - saved).abs() < 1e-9, "{row:?}");
        assert!((5.0..95.0).contains(&number(&row[6])), "{row:?}");
    }
    // OptTLP is the fastest of its profile.
    let speeds = &page(&pages, "fig13").table.rows;
    assert!(
        speeds.iter().all(|row| number(&row[5]) <= 1.0),
        "MaxTLP is ahead of OptTLP"
    );
}

/// Runs that Kepler has in common with Fermi are named by the figure's machine.
#[test]
fn shared_runs_keep_the_name_of_their_machine() {
    let results = Results::default();
    let mut runs = Runs::new(&results);
    let info = &find("crat/fig3").unwrap()[0];
    assert!((info.make)(&Request::default(), &mut runs).is_none());
    let names: Vec<_> = runs.wanted().iter().map(|run| &run.machine.name).collect();
    assert!(
        names.iter().all(|name| name.starts_with("kepler-crat, ")),
        "{names:?}"
    );
    assert_eq!(
        names[0],
        "kepler-crat, 1 block (equal to fermi-crat, which runs)"
    );
}

/// Section 7.2: by default HST and BLK spill, and DTC, FDTD, CFD and STE do; STM, SPMV, KMN and LBM
/// have the registers that they need.
#[test]
fn the_paper_s_benchmarks_spill_by_default() {
    let gpu = warploom_config::preset(FERMI.gpu).unwrap();
    let spills = |name: &str| {
        let subject = Subject::new(&format!("crat/{name}"), Size::Test).unwrap();
        let kernel = subject.kernel().unwrap();
        let options = Options {
            registers: Some(subject.default_registers(&kernel, &gpu)),
            method: ALLOCATOR,
            ..Options::default()
        };
        let added = kernel.allocate(&options).unwrap().report.added;
        added.local.count > 0
    };
    let of = |names: &[&str]| names.iter().map(|name| spills(name)).collect::<Vec<_>>();
    let spilling = of(&["HST", "BLK", "DTC", "FDTD", "CFD", "STE"]);
    assert_eq!(spilling, [true; 6]);
    assert_eq!(of(&["STM", "SPMV", "KMN", "LBM"]), [false; 4]);
}

#[test]
fn hit_rates_and_stalls_are_compared_relatively() {
    let rows = r#"{"workload":"KMN","max":6,"crat":1},{"workload":"CFD","max":4,"crat":4}"#;
    let summary = r#""KMN.max.l1d_hits":0.5,"KMN.crat.l1d_hits":0.9,
                     "KMN.max.congestion":0.8,"KMN.crat.congestion":0.4,
                     "KMN.max.stalls":8000,"KMN.crat.stalls":800"#;
    let verdicts = testing::judged("crat/fig14", &["workload", "max", "crat"], rows, summary);
    // Means of 5 for 5.1 and of 2.5 for 2.6. Hits rise by 80 %. The number of stalls falls by 90 %;
    // their share of a run that is shorter, too, is not judged.
    assert_eq!(testing::letters(&verdicts[0]), "rrrrn", "{verdicts:#?}");
    assert_eq!(number(&verdicts[0].statements[3].ours).round(), 80.0);
}

#[test]
fn solutions_without_spills_gain_nothing_from_shared_memory() {
    let row = |name: &str, local: f64, crat: f64| {
        format!(r#"{{"workload":"{name}","local.speed":{local},"crat.speed":{crat}}}"#)
    };
    let rows = [
        row("HST", 1.5, 1.504),
        row("BLK", 1.1, 1.2),
        row("DTC", 1.0, 1.08),
        row("FDTD", 1.3, 1.303),
        row("STM", 1.0, 1.009),
        row("SPMV", 1.0, 1.2),
    ];
    let columns = ["workload", "local.speed", "crat.speed"];
    let verdicts = testing::judged("crat/fig13", &columns, &rows.join(","), "");
    let letters: Vec<_> = verdicts[1..].iter().map(testing::letters).collect();
    // Half a point is a tie; CFD, STE, KMN and LBM are missing.
    assert_eq!(letters, ["rdrd--", "rd--"]);
}

/// The range is the paper's own, without a tolerance, and every benchmark is judged.
#[test]
fn registers_in_use_improve_in_the_mean_and_for_each_benchmark() {
    let row = |name: &str, opt: f64, crat: f64| {
        format!(r#"{{"workload":"{name}","opt":{opt},"crat":{crat}}}"#)
    };
    let judged = |crat: f64| {
        let rows = [
            row("CFD", 0.5, crat),
            row("DTC", 0.9, 0.9),
            row("STM", 0.5, 0.5),
            row("LBM", 0.4, 0.5),
        ];
        let columns = ["workload", "opt", "crat"];
        let verdicts = testing::judged("crat/fig15", &columns, &rows.join(","), "");
        testing::letters(&verdicts[0])
    };
    // The mean rises by 15, by 14.75 and by 27.25 points.
    assert_eq!(judged(1.0), "rrdrd");
    assert_eq!(judged(0.99), "drdrd");
    assert_eq!(judged(1.49), "drdrd");
}

/// A profile has one run for each number of blocks, so that its cost follows from sizes.
#[test]
fn runs_of_a_profile_are_arithmetic() {
    let rows = r#"{"workload":"CFD","runs":4},{"workload":"BLK","runs":8}"#;
    let verdicts = testing::judged("crat/overhead", &["workload", "runs"], rows, "");
    assert_eq!(verdicts[0].label(), "arithmetic");
}
