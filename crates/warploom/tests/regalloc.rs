//! Tests of `warploom crat` and `warploom resources` from a user's view.

mod support;

use std::path::Path;
use support::{json, output, refusal, warploom_in};

const HOTSPOT: &str = "../workloads/src/hotspot/kernel.ptx";
const BFS: &str = "../workloads/src/bfs/kernel.ptx";

#[test]
fn a_limit_is_kept_in_the_ptx_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ptx");
    let out = path.to_str().unwrap();
    let args = [
        "crat",
        HOTSPOT,
        "-o",
        out,
        "--registers",
        "24",
        "--verify",
        "--json",
    ];
    let report = json(&output(&args));
    assert_eq!(report["kernel"], "calculate_temp");
    assert_eq!(report["chosen"]["registers"], 24);
    let made = &report["allocation"];
    assert!(made["registers"].as_u64().unwrap() <= 24, "{made}");
    assert_eq!(made["verified"], true);
    let spilled = made["spilled"].as_array().unwrap();
    assert!(
        spilled.iter().any(|row| row["home"] == "made again"),
        "{spilled:?}"
    );
    assert!(
        spilled
            .iter()
            .any(|row| row["home"].as_str().unwrap().starts_with("local+"))
    );
    // Values of which only a part is recomputed have no line of their own.
    let lines: Vec<_> = spilled
        .iter()
        .filter_map(|row| row["line"].as_u64())
        .collect();
    assert!(
        !lines.is_empty() && lines.iter().all(|line| *line > 18),
        "{spilled:?}"
    );
    // No more registers hold values at a time than the limit permits.
    let needs = json(&output(&["resources", out, "--json"]));
    let kernel = &needs["kernels"][0];
    assert_eq!(kernel["pressure"].as_u64(), Some(24), "{kernel}");
    output(&["check", out]);
}

#[test]
fn the_best_scoring_point_of_the_staircase_is_taken() {
    let machine = ["crat", HOTSPOT, "--gpu", "fermi-crat", "--block", "16,16"];
    let report = json(&output(&[&machine[..], &["--json"]].concat()));
    // There are 32,768 registers for 1,536 threads; 6 blocks of 256 threads are 1,536.
    assert_eq!(
        (report["min_reg"].as_u64(), report["max_tlp"].as_u64()),
        (Some(21), Some(6))
    );
    let candidates = report["candidates"].as_array().unwrap();
    for candidate in candidates {
        let (registers, tlp) = (
            candidate["registers"].as_u64().unwrap(),
            candidate["tlp"].as_u64().unwrap(),
        );
        assert!(registers * 256 * tlp <= 32_768, "{candidate}");
        let more = (registers + 1) * 256 * tlp > 32_768;
        assert!(
            more || candidate["registers"] == report["max_reg"],
            "{candidate}"
        );
    }
    let score = |row: &serde_json::Value| row["tpsc"].as_f64().unwrap();
    let best = candidates
        .iter()
        .min_by(|a, b| score(a).total_cmp(&score(b)))
        .unwrap();
    assert_eq!(report["chosen"]["registers"], best["registers"]);
    assert_eq!(report["chosen"]["tlp"], best["tlp"]);
    let capped = json(&output(
        &[&machine[..], &["--opt-tlp", "3", "--json"]].concat(),
    ));
    let few = |row: &serde_json::Value| row["tlp"].as_u64() <= Some(3);
    assert!(
        capped["candidates"].as_array().unwrap().iter().all(few),
        "{capped}"
    );
    let text = output(&machine);
    assert!(text.contains("rightmost points of the staircase"), "{text}");
}

/// Loads that touch a line for each lane and never hit need fewer blocks than loads that hit.
#[test]
fn the_best_tlp_is_guessed_from_the_code() {
    let guess = |hit_ratio: &str, lines: &str| {
        let machine = ["crat", HOTSPOT, "--gpu", "fermi-crat", "--block", "16,16"];
        let cache = ["--hit-ratio", hit_ratio, "--lines", lines];
        let report = json(&output(
            &[&machine[..], &["--opt-tlp", "static", "--json"], &cache].concat(),
        ));
        report["opt_tlp"].as_u64().unwrap()
    };
    let (scattered, hits) = (guess("0", "32"), guess("1", "1"));
    assert!((1..=6).contains(&scattered) && (1..=6).contains(&hits));
    assert!(scattered < hits, "{scattered} {hits}");
}

#[test]
fn what_is_wrong_has_its_place_and_remedy() {
    let here = Path::new(".");
    let few = refusal(here, 2, &["crat", HOTSPOT, "--registers", "5"]);
    assert!(
        few.contains("error[register-limit]") && few.contains("kernel.ptx:18:17"),
        "{few}"
    );
    assert!(few.contains("registers or more"), "{few}");
    let unknown = refusal(
        here,
        2,
        &["crat", BFS, "--registers", "20", "--kernel", "kernl"],
    );
    assert!(unknown.contains("did you mean `kernel`?"), "{unknown}");
    let several = refusal(here, 2, &["crat", BFS, "--registers", "20"]);
    assert!(
        several.contains("choose one with --kernel: kernel, kernel2"),
        "{several}"
    );
    let blind = refusal(here, 2, &["crat", HOTSPOT]);
    assert!(blind.contains("give --block, or --registers"), "{blind}");
    let shapeless = refusal(
        here,
        2,
        &["crat", HOTSPOT, "--registers", "24", "--spill", "shared"],
    );
    assert!(shapeless.contains("give it with --block"), "{shapeless}");
}

#[test]
fn resources_are_those_that_ptxas_would_report() {
    let free = json(&output(&["resources", HOTSPOT, "--json"]));
    let kernel = &free["kernels"][0];
    assert_eq!(kernel["kernel"], "calculate_temp");
    // There are three tiles of 16 x 16 words, and the parameters as declared.
    assert_eq!(kernel["shared_bytes"], 3 * 16 * 16 * 4);
    assert_eq!(kernel["constant_bytes"], 60);
    assert_eq!(
        (&kernel["spill_stores_bytes"], &kernel["local_bytes"]),
        (&0.into(), &0.into())
    );
    let tight = json(&output(&[
        "resources",
        HOTSPOT,
        "--registers",
        "20",
        "--json",
    ]));
    let kernel = &tight["kernels"][0];
    assert_eq!(kernel["registers_per_thread"], 20);
    for key in ["spill_stores_bytes", "spill_loads_bytes", "local_bytes"] {
        assert!(kernel[key].as_u64() > Some(0), "{key}");
    }
    let broken = warploom_in(Path::new("."), &["resources", "no.ptx"]);
    assert_eq!(broken.status, 2, "{}", broken.err);
}

/// The context of a warp is no larger than its registers, and the table agrees with the JSON.
#[test]
fn resources_say_where_a_warp_may_be_switched_out() {
    let args = ["resources", HOTSPOT, "--switch-points", "--json"];
    let kernels = json(&output(&args))["kernels"].clone();
    let kernel = &kernels[0];
    let context = &kernel["context"];
    let points = context["points"].as_array().expect("a list");
    let largest = points
        .iter()
        .filter_map(|point| point["units"].as_u64())
        .max();
    assert_eq!(context["allocation"].as_u64(), largest);
    assert!(largest < kernel["registers_per_thread"].as_u64());
    for what in ["load", "barrier"] {
        assert!(points.iter().any(|point| point[what] == true), "{what}");
    }
    let text = output(&["resources", HOTSPOT, "--switch-points"]);
    assert_eq!(text.lines().count(), points.len() + 2, "{text}");
    let without = json(&output(&["resources", HOTSPOT, "--json"]));
    assert!(without["kernels"][0].get("context").is_none());
}

/// Each program of several is allocated on its own, and context switching says what it gave each.
#[test]
fn programs_of_a_mix_are_allocated_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "run",
        "hotspot",
        "vectoradd",
        "--size",
        "test",
        "--gpu",
        "fermi-crat",
        "--allocate",
        "24,-",
        "--set",
        "sm.context=duet",
        "--multiprogram",
        "spatial",
    ];
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("context switching\n"), "{}", ran.out);
    let with_json = [&args[..], &["--json"]].concat();
    let result = json(&warploom_in(folder.path(), &with_json).out);
    let registers = |name: &str| {
        let kernels = result["kernels"].as_array().unwrap();
        let process = result["processes"].as_array().unwrap();
        let at = process.iter().position(|p| p["name"] == name).unwrap();
        let of = |k: &&serde_json::Value| k["concurrent"]["process"] == at;
        kernels.iter().find(of).unwrap()["registers_per_thread"].as_u64()
    };
    assert_eq!(registers("hotspot"), Some(24));
    assert_ne!(registers("vectoradd"), Some(24));
}
