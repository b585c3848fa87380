//! Text report of an allocation: spilled values with reasons, and scores of points.

use super::Output;
use crate::output::width;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use warploom_diag::Source;
use warploom_regalloc::{Home, Report, Spilled};
use warploom_report::{figures, grouped, listing, wrapped};

/// A value without a register.
#[derive(Serialize)]
pub struct SpilledRow {
    /// Name of the register in the input.
    register: String,
    r#type: String,
    /// Place of the value: `local+8`, `shared+0`, or `made again`.
    home: String,
    /// Number of loads, or of recomputations.
    loads: u64,
    stores: u64,
    /// Expected cost of spilling, with each loop counting tenfold.
    cost: u64,
    /// Number of values of its class that are live at the same time.
    neighbours: u32,
    /// Line of the input that first defines the value.
    line: Option<u32>,
}

/// Rows for the report's spilled values.
pub fn spilled_rows(report: &Report, source: &Source) -> Vec<SpilledRow> {
    report
        .spilled
        .iter()
        .map(|spilled| row(spilled, source))
        .collect()
}

fn row(spilled: &Spilled, source: &Source) -> SpilledRow {
    let home = match spilled.home {
        Home::Rematerialized => "made again".to_owned(),
        Home::Local(offset) => format!("local+{offset}"),
        Home::Shared(offset) => format!("shared+{offset}"),
    };
    let known = spilled.place.end > 0;
    SpilledRow {
        register: spilled.name.clone(),
        r#type: spilled.ty.to_string(),
        home,
        loads: spilled.loads.count,
        stores: spilled.stores.count,
        cost: spilled.cost,
        neighbours: spilled.neighbours,
        line: known.then(|| source.position(spilled.place.start).line),
    }
}

/// Text of the report.
pub fn render(output: &Output, path: Option<&Path>) -> String {
    let mut text = String::new();
    let made = &output.allocation;
    let told = format!(
        "{}: {} registers per thread, {} predicates; {} avoid all spills, {} are the fewest",
        output.kernel, made.registers, made.predicates, output.max_reg, output.fewest_registers
    );
    text.push_str(&wrapped("", &told, width()));
    if !output.candidates.is_empty() {
        text.push_str(&candidates(output));
    }
    text.push('\n');
    if made.spilled.is_empty() {
        text.push_str("nothing is spilled\n")
    } else {
        text.push_str(&spills(output))
    }
    if made.verified {
        text.push_str("\nthe checker accepts the result\n");
    }
    if let Some(path) = path {
        let told = format!(
            "written to {}; its `.maxnreg {}` has `warploom run` give each thread as many registers",
            path.display(),
            made.registers.max(1)
        );
        let _ = write!(text, "\n{}", wrapped("", &told, width()));
    }
    text
}

fn candidates(output: &Output) -> String {
    let header = [
        "",
        "registers",
        "blocks/SM",
        "local",
        "shared",
        "others",
        "TLP gain",
        "spill cost",
        "TPSC",
        "literal",
    ];
    let rows: Vec<_> = output
        .candidates
        .iter()
        .map(|candidate| {
            let chosen = candidate.registers == output.chosen.registers
                && Some(candidate.tlp) == output.chosen.tlp;
            vec![
                if chosen { "*" } else { "" }.to_owned(),
                candidate.registers.to_string(),
                candidate.tlp.to_string(),
                candidate.spills.local.to_string(),
                candidate.spills.shared.to_string(),
                candidate.spills.others.to_string(),
                format!("{:.3}", candidate.tlp_gain),
                format!("{:.0}", candidate.spill_cost),
                format!("{:.1}", candidate.tpsc),
                format!("{:.1}", candidate.tpsc_literal),
            ]
        })
        .collect();
    format!(
        "\nrightmost points of the staircase, at most {} blocks on an SM (* chosen)\n{}",
        output.opt_tlp.unwrap_or(0),
        figures(&header, &rows, width())
    )
}

fn spills(output: &Output) -> String {
    let made = &output.allocation;
    let header = [
        "value",
        "type",
        "line",
        "goes to",
        "loads",
        "stores",
        "cost",
        "neighbours",
    ];
    let rows: Vec<_> = made
        .spilled
        .iter()
        .map(|row| {
            vec![
                row.register.clone(),
                row.r#type.clone(),
                row.line.map_or(String::new(), |line| line.to_string()),
                row.home.clone(),
                row.loads.to_string(),
                row.stores.to_string(),
                grouped(row.cost),
                row.neighbours.to_string(),
            ]
        })
        .collect();
    let about = "values without a register: when registers ran out, each was the cheapest to spill \
                 for the neighbours that it freed (cost: accesses, tenfold for every loop around \
                 them)";
    let told = format!(
        "{} accesses in local memory ({} bytes per thread), {} in shared memory ({} bytes per block), \
         {} other instructions; {} instructions of the program are not needed any more",
        made.local_accesses,
        grouped(made.local_bytes.into()),
        made.shared_accesses,
        grouped(made.shared_bytes.into()),
        made.other_instructions,
        made.removed_instructions
    );
    let (about, told) = [about, &told].map(|text| wrapped("", text, width())).into();
    format!("{about}{}\n{told}", listing(&header, &rows, width()))
}
