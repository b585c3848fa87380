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

/// A single warp: four instructions that write a register, of which the load gets as many replies
/// as it touches lines of 128 bytes; the load of the parameter writes none.
#[test]
fn registers_of_loads_are_written_by_reply() {
    let folder = tempfile::tempdir().unwrap();
    for (stride, writes) in [(4, 4), (128, 35)] {
        let ptx = format!(
            ".version 6.0\n.target sm_20\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b64 %rd<4>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd2, %r1, {stride};\nadd.u64 %rd3, %rd1, %rd2;\n\
             ld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd3], %r2;\nret;\n}}\n"
        );
        std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
        let args = [
            "run",
            "k.ptx",
            "--kernel",
            "k",
            "--grid",
            "1",
            "--block",
            "32",
            "--arg",
            "u32[1024]=iota",
            "--json",
        ];
        let ran = warploom_in(folder.path(), &args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let counts = &json(&ran.out)["totals"]["statistics"];
        assert_eq!(counts["sm.register_writes"], writes, "{stride}");
    }
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
fn a_table_of_counters_has_columns_of_energy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.csv");
    let path = path.to_str().unwrap();
    let result = with(&["--energy", "--csv", path]);
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let last = rows.last().unwrap();
    let cell = |name: &str| {
        let column = rows[0].iter().position(|known| *known == name);
        last[column.unwrap_or_else(|| panic!("no {name}"))]
    };
    let energy = &result["totals"]["energy"];
    for (name, value) in [
        ("energy.joules", &energy["joules"]),
        ("energy.watts", &energy["watts"]),
        ("energy.joule_seconds", &energy["energy_delay"]),
        ("energy.joules.static", &energy["components"]["static"]),
    ] {
        assert_eq!(cell(name).parse::<f64>().unwrap(), number(value), "{name}");
    }
}

#[test]
fn comparisons_have_power_and_energy() {
    let args = [
        "compare",
        "vectoradd",
        "--size",
        "test",
        "--vary",
        "gpu.sms=2,4",
        "--energy",
        "--json",
    ];
    let ran = warploom_in(Path::new("."), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let page = json(&ran.out);
    for row in page["rows"].as_array().unwrap() {
        let seconds = number(&row["cycles"]) / 700e6;
        let mj = number(&row["energy.mj"]);
        assert!(near(number(&row["power.w"]) * seconds * 1e3, mj), "{row}");
        let delay = number(&row["energy_delay.uj_s"]);
        assert!(near(delay, 1e3 * mj * seconds), "{row}");
    }
    assert_eq!(number(&page["rows"][0]["energy.ratio"]), 1.0);
    assert_eq!(page["runs"][0]["energy"]["preset"], "gtx480");
    let stacks = &page["charts"][1]["stacks"];
    assert_eq!(stacks["groups"], serde_json::json!(["2", "4"]));
    let plain = warploom_in(Path::new("."), &[&args[..6], &["--json"]].concat());
    let plain = json(&plain.out);
    assert_eq!(plain["charts"].as_array().unwrap().len(), 1);
    assert!(plain["runs"][0]["energy"].is_null() && plain["rows"][0]["power.w"].is_null());
}

#[test]
fn a_timeline_has_counters_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |more: &[&str]| {
        let args = ["trace", "vectoradd", "--size", "test", "-o", "t.json"];
        let ran = warploom_in(folder.path(), &[&args, more].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
        let text = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
        let events = json(&text)["traceEvents"].as_array().unwrap().clone();
        events
            .into_iter()
            .filter(|event| event["ph"] == "C")
            .collect::<Vec<_>>()
    };
    assert!(trace(&[]).is_empty());
    let counters = trace(&["--energy", "--window", "200"]);
    let times: Vec<u64> = counters.iter().map(|e| e["ts"].as_u64().unwrap()).collect();
    assert!(times.len() > 3 && times[..3] == [0, 200, 400], "{times:?}");
    for event in &counters {
        let args = event["args"].as_object().unwrap();
        let parts = args.iter().filter(|(part, _)| *part != "total");
        let sum: f64 = parts.map(|(_, watts)| number(watts)).sum();
        assert!((sum - number(&args["total"])).abs() < 1e-6, "{event}");
    }
}

/// A figure's runs get energy by their machines' own presets.
#[test]
fn runs_of_figures_have_energy() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "cooperative/fig3",
        "--scale",
        "test",
        "--energy",
        "--json",
    ];
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let page = json(&ran.out);
    let runs = page["runs"].as_array().unwrap();
    assert!(!runs.is_empty());
    for run in runs {
        assert_eq!(run["energy"]["preset"], "gtx480");
        assert!(number(&run["energy"]["watts"]) > 20.0, "{run}");
    }
}

const XML: &str = "<component id=\"root\"><component id=\"system\">\n\
    <param name=\"constant_power\" value=\"50\"/>\n<!-- no static power -->\n\
    <param name=\"DC_RH\" value=\"7.737353491\"/>\n</component></component>\n";

#[test]
fn files_of_accelwattch_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.xml"), XML).unwrap();
    let ran = warploom_in(folder.path(), &["import", "own.xml", "-o", "own.toml"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.starts_with("own.xml is imported: 2 values\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("`NOC_A` is missing: 1\n"), "{}", ran.out);
    let run = |energy: &str| {
        let ran = warploom_in(folder.path(), &[&RUN[..], &[energy]].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
        json(&ran.out)["totals"]["energy"].clone()
    };
    let (direct, imported) = (run("--energy=own.xml"), run("--energy=own.toml"));
    assert_eq!(
        (&direct["preset"], &imported["preset"]),
        (&"own".into(), &"own".into())
    );
    let constant = number(&direct["components"]["constant"]);
    assert!(near(constant, 50.0 * number(&direct["seconds"])));
    for (part, joules) in direct["components"].as_object().unwrap() {
        let other = number(&imported["components"][part]);
        assert!((number(joules) - other).abs() <= 1e-10 * other, "{part}");
    }
    let refused = |args: &[&str]| refusal(folder.path(), 2, args);
    let wrong = XML.replace("50", "much");
    std::fs::write(folder.path().join("wrong.xml"), wrong).unwrap();
    insta::assert_snapshot!(
        [
            refused(&["import", "own.xml", "--style", "4"]),
            refused(&["import", "wrong.xml"]),
        ]
        .join("")
    );
}

#[test]
fn what_has_no_energy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = "name = \"mine\"\nbase = \"gtx480\"\n";
    std::fs::write(folder.path().join("own-gpu.toml"), own).unwrap();
    let refused = |args: &[&str]| refusal(folder.path(), 2, &[&["run", "bfs"], args].concat());
    insta::assert_snapshot!(
        [
            refused(&["--gpu", "own-gpu.toml", "--energy"]),
            refused(&["--energy=qv10"]),
            refused(&["--energy", "--volts", "0"]),
            refused(&["--volts", "1"]),
            refusal(Path::new("."), 2, &["report", ".", "--energy"]),
        ]
        .join("")
    );
}
