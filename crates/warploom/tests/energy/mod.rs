//! Tests of the option `--energy`.

use std::path::Path;

use serde_json::Value;

use crate::support::{json, output, refusal, warploom_in};

const RUN: [&str; 7] = [
    "run",
    "vectoradd",
    "--size",
    "test",
    "--gpu",
    "qv100-volta",
    "--json",
];

fn with(more: &[&str]) -> Value {
    json(&output(&[&RUN[..], more].concat()))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn energy_adds_up_and_changes_nothing_else() {
    let plain = with(&[]);
    let result = with(&["--energy"]);
    assert_eq!(plain["digest"], result["digest"]);
    assert!(plain["totals"]["energy"].is_null());
    let energy = &result["totals"]["energy"];
    assert_eq!(energy["preset"], "qv100");
    let parts = energy["components"].as_object().unwrap();
    let joules = number(&energy["joules"]);
    assert!(near(parts.values().map(number).sum(), joules));
    let seconds = number(&energy["seconds"]);
    assert!(near(number(&energy["watts"]) * seconds, joules));
    assert!(near(number(&energy["energy_delay"]), seconds * joules));
    // One addition of floats in every lane, and the counters of lanes say so.
    let lanes = &result["totals"]["statistics"]["sm.unit_lanes.fp_add"];
    let elements = result["checks"][0]["detail"].as_str().unwrap();
    assert!(elements.starts_with(&lanes.to_string()), "{elements}");
    let static_share = number(&energy["static_share"]);
    assert!(static_share > 0.5 && static_share < 1.0, "{static_share}");
}

#[test]
fn windows_sum_to_the_run() {
    let result = with(&["--energy", "--window", "500"]);
    let series = &result["series"];
    let list = |name: &str| series[name].as_array().unwrap().iter().map(number);
    let watts = series["watts"]["total"].as_array().unwrap();
    let hertz = number(&result["gpu"]["config"]["clocks.core_mhz"]) * 1e6;
    let lengths = list("start")
        .zip(list("end"))
        .map(|(start, end)| (end - start) / hertz);
    let joules: f64 = watts
        .iter()
        .map(number)
        .zip(lengths)
        .map(|(w, s)| w * s)
        .sum();
    let run = number(&result["totals"]["energy"]["joules"]);
    assert!((joules / run - 1.0).abs() < 1e-6, "{joules} J, {run} J");
}

#[test]
fn a_lower_voltage_and_a_preset_of_ones_own_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "base = \"qv100\"\n[watts]\nconstant = 0.0\n").unwrap();
    let mine = format!("--energy={}", path.display());
    let own = with(&[&mine]);
    assert!(own["totals"]["energy"]["components"]["constant"].is_null());
    let low = with(&["--energy", "--volts", "0.5"]);
    let full = with(&["--energy"]);
    let l1d = |run: &Value| number(&run["totals"]["energy"]["components"]["l1d"]);
    assert!(near(l1d(&low) * 4.0, l1d(&full)));
}

#[test]
fn a_kept_result_gets_its_energy_later() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "run",
        "vectoradd",
        "--size",
        "test",
        "--stats",
        "result.json",
    ];
    assert_eq!(warploom_in(folder.path(), &args).status, 0);
    let report = ["report", "result.json", "--energy"];
    let text = warploom_in(folder.path(), &report).out;
    assert!(text.contains("energy (gtx480): "), "{text}");
    assert!(text.contains("\n  dram "), "{text}");
}

#[test]
fn what_has_no_energy_is_refused() {
    let refused = |args: &[&str]| refusal(Path::new("."), 2, &[&["run", "bfs"], args].concat());
    insta::assert_snapshot!(
        [
            refused(&["--gpu", "maxwell-duet", "--energy"]),
            refused(&["--energy=qv10"]),
            refused(&["--energy", "--volts", "0"]),
            refused(&["--volts", "1"]),
            refusal(Path::new("."), 2, &["report", ".", "--energy"]),
        ]
        .join("")
    );
}
