//! Tests of `analyze` and `reproduce` from a user's view: kernels of known character on the machine
//! of the GPUDuet paper, reports, files, errors.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{json, output, refusal, warploom_in};

/// Kernels, each of which only one part of the machine can limit.
const KERNELS: &str = include_str!("characters.ptx");

/// The analysis of a kernel of [`KERNELS`] on `maxwell-duet`.
fn analysis(kernel: &str, options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), KERNELS).unwrap();
    let target = [
        "analyze",
        "k.ptx",
        "--kernel",
        kernel,
        "--gpu",
        "maxwell-duet",
        "--json",
    ];
    let ran = warploom_in(folder.path(), &[&target[..], options].concat());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    json(&ran.out)
}

#[test]
fn a_kept_result_is_analysed_and_reported_as_it_was_when_made() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let ran = warploom_in(folder.path(), args);
        assert_eq!((ran.status, ran.told().as_str()), (0, ""), "{args:?}");
        ran.out
    };
    let gpu = ["--gpu", "maxwell-duet", "--set", "sm.warp_scheduler=lrr"];
    let what = ["spmv", "--size", "test"];
    let kept = ["--stats", "r.json", "--window", "10000"];
    let report = run(&[&["run"], &what[..], &gpu, &kept].concat());
    let windows = ["--window", "10000", "--json"];
    let fresh = json(&run(&[&["analyze"], &what[..], &gpu, &windows].concat()));
    let again = json(&run(&["analyze", "r.json", "--json"]));
    for part in [
        "utilisation",
        "windows",
        "advice",
        "config_digest",
        "digest",
    ] {
        assert_eq!(again[part], fresh[part], "{part}");
    }
    assert_eq!(run(&["report", "r.json"]), report);

    let refused = |args: &[&str]| refusal(folder.path(), 2, args);
    let told = refused(&["analyze", "r.json", "--set", "gpu.sms=2"]);
    assert!(told.contains("contains its machine"), "{told}");
    let told = refused(&["trace", "r.json", "-o", "t.json"]);
    assert!(told.contains("has no timeline"), "{told}");
    for verb in ["analyze", "report"] {
        let told = refused(&[verb, "none.json"]);
        assert!(told.contains("cannot read none.json"), "{told}");
    }
    let text = std::fs::read_to_string(folder.path().join("r.json")).unwrap();
    for (from, to, message) in [
        ("\"outcome\"", "\"income\"", "is not a result of a run"),
        ("\"lrr\"", "\"gto\"", "the machine in w.json is not the one"),
        ("\"lrr\"", "\"lrrr\"", "lrrr"),
    ] {
        std::fs::write(folder.path().join("w.json"), text.replace(from, to)).unwrap();
        let told = refused(&["analyze", "w.json"]);
        assert!(told.contains(message), "{told}");
    }
}

/// A launch with enough blocks for every SM, and long enough to be steady.
const FULL: [&str; 6] = ["--grid", "128", "--block", "256", "--max-cycles", "20000"];

#[track_caller]
fn expect(analysis: &Value, category: &str, classes: &[&str]) {
    let used = &analysis["utilisation"];
    assert_eq!(analysis["category"], category, "{used}");
    let class = analysis["class"].as_str().unwrap();
    assert!(classes.contains(&class), "{class} at {used}");
    for (part, value) in used.as_object().unwrap() {
        let value = value.as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{part} {value}");
    }
}

#[test]
fn arithmetic_is_bound_by_the_schedulers() {
    let found = analysis(
        "arithmetic",
        &[&FULL[..], &["--arg", "f32[32768]"]].concat(),
    );
    expect(&found, "compute", &["moderate", "saturated"]);
}

#[test]
fn loads_that_hit_in_l2_are_bound_by_its_replies() {
    let found = analysis("l2_loads", &[&FULL[..], &["--arg", "f32[262144]"]].concat());
    expect(&found, "l2-to-sm", &["moderate", "saturated"]);
}

#[test]
fn stores_that_hit_in_l2_are_bound_by_the_way_there() {
    let found = analysis(
        "l2_stores",
        &[&FULL[..], &["--arg", "f32[262144]"]].concat(),
    );
    expect(&found, "sm-to-l2", &["moderate", "saturated"]);
}

#[test]
fn a_copy_is_bound_by_dram() {
    let buffers = ["--arg", "f32[4194304]", "--arg", "f32[4194304]"];
    let found = analysis("copy", &[&FULL[..], &buffers].concat());
    expect(&found, "dram", &["moderate", "saturated"]);
}

#[test]
fn a_chain_of_loads_is_bound_by_latency() {
    let shape = ["--grid", "16", "--block", "32", "--max-cycles", "20000"];
    let found = analysis("chain", &[&shape[..], &["--arg", "u32[262144]"]].concat());
    expect(&found, "underutilised", &["underutilised"]);
    assert_eq!(found["bound"], "load-latency");
    assert_eq!(found["occupancy_limit"], "grid");
    let advice = found["advice"].to_string();
    assert!(
        advice.contains("The latency of loads from global memory bounds `chain`")
            && advice.contains("More warps would help"),
        "{advice}"
    );
}

#[test]
fn windows_cover_the_run_and_average_to_it() {
    let options = ["--window", "1000", "--arg", "f32[32768]"];
    let found = analysis("arithmetic", &[&FULL[..], &options].concat());
    let windows = &found["windows"];
    let starts = windows["start"].as_array().unwrap();
    assert_eq!((starts.len(), &starts[0]), (20, &Value::from(0)));
    assert_eq!(windows["end"][19], 20_000);
    let of = |window: &Value| window["scheduler"].as_f64().unwrap();
    let windows = windows["utilisation"].as_array().unwrap();
    let mean = windows.iter().map(of).sum::<f64>() / windows.len() as f64;
    assert!((mean - of(&found["utilisation"])).abs() < 1e-9);
}

#[test]
fn the_report_names_the_bottleneck() {
    let folder = tempfile::tempdir().unwrap();
    let target = [
        "analyze",
        "vectoradd",
        "--size",
        "test",
        "--gpu",
        "maxwell-duet",
    ];
    let options = ["--window", "500", "--svg", "v.svg"];
    let ran = warploom_in(folder.path(), &[&target[..], &options].concat());
    let wrote = "wrote v.svg\n";
    assert_eq!((ran.status, ran.err.as_str()), (0, wrote), "{}", ran.out);
    for line in ["bound by   ", "occupancy of vector_add: ", "check c passed"] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    // GPUDuet is for those who ask, or run it.
    assert!(!ran.out.contains("GPUDuet"), "{}", ran.out);
    for asked in [&["--duet"][..], &["--set", "sm.context=duet"]] {
        let out = warploom_in(folder.path(), &[&target[..], asked].concat()).out;
        assert!(out.contains("\n  TLP class  "), "{asked:?}: {out}");
    }
    let picture = std::fs::read_to_string(folder.path().join("v.svg")).unwrap();
    assert!(picture.contains("network L2 to SM") && picture.contains("windows of 500 cycles"));
}

#[test]
fn threads_change_nothing() {
    let of = |threads: &str| {
        let target = [
            "analyze",
            "transpose",
            "--size",
            "test",
            "--json",
            "--threads",
            threads,
        ];
        let mut found = json(&output(&target));
        found["command"].take();
        found
    };
    assert_eq!(of("1"), of("2"));
}

#[test]
fn lines_with_most_work_are_listed() {
    let args = ["analyze", "spmv", "--size", "test", "--lines=2"];
    let text = output(&args);
    assert!(text.contains("lines with most instructions"), "{text}");
    let rows = text.lines().filter(|line| line.starts_with("PTX line "));
    assert_eq!(rows.count(), 2, "{text}");
    let lines = &json(&output(&[&args[..], &["--json"]].concat()))["lines"];
    assert_eq!(lines.as_array().map(Vec::len), Some(2));
    assert!(lines[0]["issued"].as_u64() > Some(0), "{lines}");
    assert!(output(&args[..4]).contains("bound by") && !output(&args[..4]).contains("PTX line"));
}

/// The PTX of `compute` has a branch from line 152 back to line 86.
#[test]
fn lines_in_loops_are_told_from_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bounds.ptx"), include_str!("bounds.ptx")).unwrap();
    let command = "analyze bounds.ptx --kernel compute --lines --json";
    let args: Vec<_> = command.split(' ').collect();
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let issued = json(&ran.out)["issued"].clone();
    let lines = issued.as_array().expect("lines");
    assert!(lines.len() > 80, "{issued}");
    for line in lines {
        let place = line["line"].as_str().expect("a place");
        let number = place.strip_prefix("PTX line ").expect("of the PTX");
        let inside = (86..=152).contains(&number.parse().unwrap_or(0));
        assert_eq!(line["in_loop"], inside, "{line}");
    }
}

#[test]
fn reproduce_lists_makes_and_writes_figures() {
    let list = output(&["reproduce"]);
    let folder = tempfile::tempdir().unwrap();
    let make = |what: &str| {
        let ran = warploom_in(
            folder.path(),
            &["reproduce", what, "--scale", "test", "-o", "out"],
        );
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
        ran.out
    };
    insta::assert_snapshot!(list + "---\n" + &make("duet/fig3b"));
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let page = json(&read("out/duet/fig3b.json"));
    assert_eq!(page["verdicts"][0]["id"], "duet.crossbar.sustainable");
    assert_eq!(page["verdicts"][0]["judgement"], "reproduced");
    assert_eq!(
        page["rows"].as_array().unwrap().len(),
        read("out/duet/fig3b.csv").lines().count() - 1
    );
    assert!(!page["summary"].as_object().unwrap().is_empty());
    assert!(read("out/duet/fig3b.svg").contains("Karol"));
    make("slicer/storage");
    assert!(read("out/slicer/storage.csv").lines().count() > 1);
    let picture = folder.path().join("out/slicer/storage.svg");
    assert!(!picture.exists(), "a figure without a chart has no picture");
    let args = [
        "reproduce",
        "duet/fig3b",
        "--scale",
        "test",
        "-o",
        "out",
        "--json",
    ];
    let printed = warploom_in(folder.path(), &args);
    assert_eq!(json(&printed.out), page);
}

#[test]
fn mistakes_are_refused_with_status_2() {
    let nowhere = tempfile::tempdir().unwrap();
    std::fs::write(nowhere.path().join("file"), "").unwrap();
    let refuse = |args: &[&str]| refusal(nowhere.path(), 2, args);
    insta::assert_snapshot!(
        [
            refuse(&["analyze"]),
            refuse(&["analyze", "spvm"]),
            refuse(&["analyze", "spmv", "--gpu", "maxwell"]),
            refuse(&["analyze", "spmv", "--window", "0"]),
            refuse(&["analyze", "spmv", "--functional"]),
            refuse(&["reproduce", "duet/fig3"]),
            refuse(&["reproduce", "fig3b"]),
            refuse(&["reproduce", "duet/fig3b", "--scale", "tiny"]),
            refuse(&["reproduce", "duet/fig3b", "--scale", "test", "-o", "file"]),
        ]
        .join("\n")
    );
}

#[test]
fn a_fault_is_status_1() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), KERNELS).unwrap();
    let shape = ["--kernel", "copy", "--grid", "1", "--block", "32"];
    let buffers = ["--arg", "f32[32]", "--arg", "f32[32]"];
    let args = [&["analyze", "k.ptx"], &shape[..], &buffers].concat();
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("FAULT: "), "{}", ran.out);
    assert!(
        Path::new("src").exists(),
        "the tests run in the crate's folder"
    );
}

/// Every warp has a row, its slices cover the row without gaps, and switches are visible.
#[test]
fn a_timeline_shows_switches() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "trace",
        "hotspot",
        "--size",
        "test",
        "--gpu",
        "maxwell-duet",
        "--set",
        "gpu.sms=1",
        "--set",
        "sm.max_threads=512",
        "--set",
        "sm.context=duet",
        "--set",
        "duet.extra_blocks=1",
        "-o",
        "t.json",
        "--json",
    ];
    let run = warploom_in(folder.path(), &args);
    assert_eq!(run.status, 0, "{}", run.err);
    let written = json(&run.out);
    let text = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let trace = json(&text);
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    for name in [
        "runs",
        "waits for memory",
        "moves out",
        "out, ready",
        "moves in",
    ] {
        assert!(named(name) > 0, "nothing {name}");
    }
    assert!(written["events"].as_u64() > Some(100));
    let warps = events.iter().filter(|e| e["name"] == "block 0, warp 0");
    assert_eq!(warps.count(), 1, "one slice a warp");
}
