//! Results as comma-separated values (RFC 4180): a header, then a line for each kernel, part or
//! window.

use std::collections::BTreeSet;
use std::fmt::Write;
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::{Counts, Figures, KernelReport, RunReport, Series};

/// Parts that have lines of their own, in addition to each kernel and the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Write a line for each SM.
    pub sms: bool,
    /// Write a line for each L2 bank and each memory channel.
    pub partitions: bool,
}

/// Names of the columns before the statistics.
const FIXED: [&str; 16] = [
    "launch",
    "kernel",
    "part",
    "grid",
    "block",
    "registers_per_thread",
    "shared_bytes",
    "blocks_per_sm",
    "occupancy_limit",
    "cycles",
    "warp_instructions",
    "thread_instructions",
    "ipc",
    "l1d.hit_rate",
    "l2.hit_rate",
    "dram.utilisation",
];

/// Names of the columns of energy before those of its components.
const ENERGY: [&str; 4] = [
    "energy.joules",
    "energy.watts",
    "energy.joule_seconds",
    "energy.static_share",
];

/// A line of the table.
struct Row<'a> {
    fixed: Vec<String>,
    counts: &'a Counts,
    /// Energy of the whole machine, where it was computed.
    energy: Option<&'a EnergyReport>,
    /// Kind of the part. Counters that no part of this kind has are left empty; others are 0.
    kind: &'static str,
}

/// Statistics of a run. Each kernel, and at the end the run (`total`), has a line for the whole
/// machine (`all`) and one for each part of `rows`. Counters that are 0 everywhere are omitted.
/// Columns of energy are there if some line has energy.
pub fn statistics_csv(run: &RunReport, rows: Rows) -> String {
    let mut table = Vec::new();
    for (i, kernel) in run.kernels.iter().enumerate() {
        let launch = (i + 1).to_string();
        add_rows(&mut table, &launch, Some(kernel), &kernel.figures, rows);
    }
    add_rows(&mut table, "total", None, &run.totals.figures, rows);
    print(&table)
}

fn add_rows<'a>(
    table: &mut Vec<Row<'a>>,
    launch: &str,
    kernel: Option<&KernelReport>,
    figures: &'a Figures,
    rows: Rows,
) {
    let start = |part: String| {
        let name = kernel.map_or("", |k| &k.name);
        vec![launch.to_owned(), name.to_owned(), part]
    };
    let mut fixed = start("all".to_owned());
    fixed.extend(match kernel {
        Some(k) => [
            k.grid.to_string(),
            k.block.to_string(),
            k.registers_per_thread.to_string(),
            k.shared_bytes.to_string(),
            k.blocks_per_sm.to_string(),
            k.occupancy_limit.clone(),
        ],
        None => Default::default(),
    });
    let rate = |rate: Option<f64>| rate.map_or_else(String::new, |r| r.to_string());
    fixed.extend([
        figures.cycles.to_string(),
        figures.warp_instructions.to_string(),
        figures.thread_instructions.to_string(),
        figures.ipc.to_string(),
        rate(figures.l1d.hit_rate),
        rate(figures.l2.hit_rate),
        rate(figures.dram.utilisation),
    ]);
    let counts = &figures.statistics;
    table.push(Row {
        fixed,
        counts,
        energy: figures.energy.as_ref(),
        kind: "all",
    });
    let Some(parts) = &figures.parts else { return };
    for (kind, wanted, list) in [
        ("sm", rows.sms, &parts.sms),
        ("bank", rows.partitions, &parts.banks),
        ("channel", rows.partitions, &parts.channels),
        ("network", rows.partitions, &parts.networks),
    ] {
        let list = if wanted { list.as_slice() } else { &[] };
        for (i, counts) in list.iter().enumerate() {
            let mut fixed = start(format!("{kind}{i}"));
            fixed.resize(FIXED.len(), String::new());
            table.push(Row {
                fixed,
                counts,
                energy: None,
                kind,
            });
        }
    }
}

fn print(table: &[Row<'_>]) -> String {
    let names: BTreeSet<&str> = table.iter().flat_map(|row| names(row.counts)).collect();
    let has = |kind: &'static str| -> BTreeSet<&str> {
        let same = table.iter().filter(|row| row.kind == kind);
        same.flat_map(|row| names_of(row)).collect()
    };
    let kinds = ["all", "sm", "bank", "channel"].map(|kind| (kind, has(kind)));
    let mut text = String::new();
    let energies: Vec<&EnergyReport> = table.iter().filter_map(|row| row.energy).collect();
    let parts: BTreeSet<&str> = energies
        .iter()
        .flat_map(|energy| energy.components.keys())
        .map(String::as_str)
        .collect();
    let mut header: Vec<String> = FIXED.iter().map(|n| (*n).to_owned()).collect();
    if !energies.is_empty() {
        header.extend(ENERGY.map(str::to_owned));
        header.extend(parts.iter().map(|part| format!("energy.joules.{part}")));
    }
    header.extend(names.iter().map(|n| (*n).to_owned()));
    put_line(&mut text, &header);
    for row in table {
        let known = kinds.iter().find(|(kind, _)| *kind == row.kind);
        let mut cells = row.fixed.clone();
        if !energies.is_empty() {
            cells.extend(energy_cells(row.energy, &parts));
        }
        for name in &names {
            let counted = known.is_some_and(|(_, of_kind)| of_kind.contains(name));
            let value = row.counts.get(*name).copied();
            cells.push(match value {
                Some(value) => value.to_string(),
                None if counted => "0".to_owned(),
                None => String::new(),
            });
        }
        put_line(&mut text, &cells);
    }
    text
}

/// Cells of the columns of energy; empty for a line without energy.
fn energy_cells(energy: Option<&EnergyReport>, parts: &BTreeSet<&str>) -> Vec<String> {
    let Some(energy) = energy else {
        return vec![String::new(); ENERGY.len() + parts.len()];
    };
    let figures = [
        energy.joules,
        energy.watts,
        energy.energy_delay,
        energy.static_share,
    ];
    let of = |part: &&str| energy.components.get(*part).copied().unwrap_or(0.0);
    let all = figures.into_iter().chain(parts.iter().map(of));
    all.map(|value| value.to_string()).collect()
}

fn names(counts: &Counts) -> impl Iterator<Item = &str> {
    counts.keys().map(String::as_str)
}

fn names_of<'a>(row: &Row<'a>) -> impl Iterator<Item = &'a str> {
    row.counts.keys().map(String::as_str)
}

/// A time series, with one line per window.
pub fn series_csv(series: &Series) -> String {
    let mut text = String::new();
    let mut header = vec!["start".to_owned(), "end".to_owned()];
    header.extend(series.columns.keys().cloned());
    header.extend(series.watts.keys().map(|part| format!("watts.{part}")));
    put_line(&mut text, &header);
    for (i, (start, end)) in series.start.iter().zip(&series.end).enumerate() {
        let _ = write!(text, "{start},{end}");
        for values in series.columns.values() {
            let _ = write!(text, ",{}", values[i]);
        }
        for values in series.watts.values() {
            let _ = write!(text, ",{}", values[i]);
        }
        text.push('\n');
    }
    text
}

fn put_line(text: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    text.push_str(&cells.join(","));
    text.push('\n');
}

/// A cell, in quotes if it contains separators.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{energy_cells, quoted, series_csv};
    use std::collections::{BTreeMap, BTreeSet};
    use warploom_stats::energy::EnergyReport;
    use warploom_stats::result::Series;

    #[test]
    fn energy_has_a_cell_for_each_component_of_any_line() {
        let energy = EnergyReport {
            joules: 2.0,
            watts: 4.0,
            energy_delay: 1.0,
            static_share: 0.25,
            components: BTreeMap::from([("static".to_owned(), 0.5)]),
            ..EnergyReport::default()
        };
        let parts = BTreeSet::from(["dram", "static"]);
        let cells = energy_cells(Some(&energy), &parts);
        assert_eq!(cells, ["2", "4", "1", "0.25", "0", "0.5"]);
        assert_eq!(energy_cells(None, &parts), [""; 6]);
    }

    #[test]
    fn a_window_is_a_line() {
        let series = Series {
            window_cycles: 10,
            start: vec![0, 10],
            end: vec![10, 15],
            columns: [
                ("sm.barriers".to_owned(), vec![3, 0]),
                ("gpu.cycles".to_owned(), vec![10, 5]),
            ]
            .into(),
            watts: [("total".to_owned(), vec![2.5, 0.25])].into(),
        };
        let expected =
            "start,end,gpu.cycles,sm.barriers,watts.total\n0,10,10,3,2.5\n10,15,5,0,0.25\n";
        assert_eq!(series_csv(&series), expected);
    }

    #[test]
    fn separators_are_quoted() {
        assert_eq!(quoted("void f(int, char)"), "\"void f(int, char)\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
