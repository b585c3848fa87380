//! Every benchmark on every preset: the measured figure is the one that the specification implies,
//! and the documentation states it.

use std::path::Path;
use warploom_config::{GpuSpec, PRESETS, preset};
use warploom_microbench::{Answer, Row, markdown, measure};

/// Message about a row whose figures disagree, with the arithmetic.
fn complaint(row: &Row) -> Option<String> {
    let place = format!("{} {}", row.gpu, row.benchmark.name);
    match &row.answer {
        Err(trouble) => Some(format!("{place}: {trouble}")),
        Ok(Answer::Absent(_)) => None,
        Ok(Answer::Figure(figure)) => (!figure.agrees()).then(|| {
            format!(
                "{place}: measured {}, implied {} within {} (peak {:?}, apart by {}): {}",
                figure.measured,
                figure.implied,
                figure.tolerance,
                figure.peak,
                figure.difference,
                figure.arithmetic
            )
        }),
    }
}

#[test]
fn every_preset_does_what_its_specification_implies() {
    let gpus: Vec<GpuSpec> = PRESETS
        .iter()
        .map(|row| preset(row.name).unwrap_or_else(|errors| panic!("{errors}")))
        .collect();
    let rows = measure(&gpus, 2);
    let wrong: Vec<_> = rows.iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/microbench.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == markdown(&rows),
        "run `cargo xtask docs`: docs/generated/microbench.md is old"
    );
}
