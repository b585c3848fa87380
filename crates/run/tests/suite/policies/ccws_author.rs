//! The kernels on which `ccws` is compared with its author's simulator: directions of what that
//! simulator measured (`docs/ccws-simulator.md`).

use super::count;
use std::ops::ControlFlow;
use std::path::Path;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_diag::Source;
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_run::{Options, Session};

/// Cycles of a kernel, and lines that it fetched into L1D.
#[derive(PartialEq, Eq, Debug)]
struct Cost {
    cycles: u64,
    misses: u64,
}

/// The machine of the comparison with a warp scheduler.
fn machine(folder: &Path, scheduler: &str) -> GpuSpec {
    let path = folder.join("quadro-fx5800-ccws.toml");
    let text = std::fs::read_to_string(&path).expect("a machine file");
    let base = Base::Text(Source::new(path.display().to_string(), text));
    let set = format!("sm.warp_scheduler={scheduler}");
    resolve(&base, &[set]).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a launch file of the comparison under `lrr`, `gto` and `ccws`.
fn costs(name: &str) -> [Cost; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/ccws");
    let file = folder.join(name).with_extension("toml");
    ["lrr", "gto", "ccws"].map(|scheduler| {
        let machine = machine(&folder, scheduler);
        let file = LaunchFile::load(&file).unwrap_or_else(|e| panic!("{e}"));
        let mut program = file.program(Limits::of(&machine)).expect("a program");
        let session = Session::new(machine, Options::default());
        let run = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
        let run = run.unwrap_or_else(|e| panic!("{e}"));
        assert!(run.succeeded());
        Cost {
            cycles: run.totals.figures.cycles,
            misses: count(&run, "l1d.accesses.miss.global_read"),
        }
    })
}

/// In the author's simulator the gather takes 0.63 of the cycles of greedy-then-oldest and 0.34 of
/// those of round robin, with 0.19 and 0.12 of the misses.
#[test]
fn ccws_gains_on_the_gather_as_in_its_authors_simulator() {
    let [lrr, gto, ccws] = costs("gather-32");
    assert!(ccws.cycles * 5 < gto.cycles * 4, "{ccws:?} {gto:?}");
    assert!(ccws.cycles * 2 < lrr.cycles, "{ccws:?} {lrr:?}");
    assert!(ccws.misses * 3 < gto.misses, "{ccws:?} {gto:?}");
    assert!(ccws.misses * 5 < lrr.misses, "{ccws:?} {lrr:?}");
}

/// In the author's simulator the probes take 0.74 of the cycles of greedy-then-oldest and 0.28 of
/// those of round robin, with 0.36 and 0.12 of the misses.
#[test]
fn ccws_gains_on_the_probes_as_in_its_authors_simulator() {
    let [lrr, gto, ccws] = costs("probe-64");
    assert!(ccws.cycles * 10 < gto.cycles * 9, "{ccws:?} {gto:?}");
    assert!(ccws.cycles * 2 < lrr.cycles, "{ccws:?} {lrr:?}");
    assert!(ccws.misses * 2 < gto.misses, "{ccws:?} {gto:?}");
    assert!(ccws.misses * 5 < lrr.misses, "{ccws:?} {lrr:?}");
}

/// Where greedy issue alone keeps the lines, CCWS is greedy-then-oldest there as here, and several
/// times as fast as round robin.
#[test]
fn ccws_is_greedy_where_greedy_issue_is_enough() {
    let [lrr, gto, ccws] = costs("rows-16");
    assert_eq!(ccws, gto);
    assert!(ccws.cycles * 3 < lrr.cycles, "{ccws:?} {lrr:?}");
    assert!(ccws.misses * 5 < lrr.misses, "{ccws:?} {lrr:?}");
}

/// Nothing is read again: there is nothing to gain, there as here.
#[test]
fn ccws_changes_nothing_where_no_line_is_read_again() {
    let [lrr, gto, ccws] = costs("stream");
    assert_eq!(ccws, gto);
    assert_eq!(ccws.misses, lrr.misses);
}
