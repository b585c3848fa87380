//! The examples run, and the pages that show them say what they print.

use std::path::{Path, PathBuf};

use crate::support::{json, warploom_in};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Runs `warploom` in the repository's root and gives what it printed.
fn run(args: &[&str]) -> String {
    let ran = warploom_in(&root(), args);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    ran.out
}

#[test]
fn the_saxpy_example_prints_what_its_page_shows() {
    let out = run(&["run", "examples/saxpy/saxpy.toml"]);
    let page = page("your-own-kernel.md");
    let row = out.lines().find(|line| line.starts_with("saxpy "));
    assert!(page.contains(row.expect("a row of the kernel")), "{out}");
    assert!(out.contains("check y passed: 100000 values"), "{out}");
    let kernel =
        "--grid 4 --block 256 --arg 1024 --arg 2.0 --arg f32[1024]=uniform --arg f32[1024]=1.0";
    let mut args = vec!["run", "examples/saxpy/saxpy.ptx"];
    args.extend(kernel.split(' '));
    assert!(run(&args).contains("saxpy"));
}

#[test]
fn every_cause_of_a_scheduler_cycle_is_explained() {
    let result = json(&run(&["run", "examples/saxpy/saxpy.toml", "--json"]));
    let stalls = result["totals"]["stalls"].as_object().unwrap();
    assert_eq!(stalls.len(), 9);
    let page = page("reading-a-result.md");
    for cause in stalls.keys() {
        assert!(page.contains(&format!("\n| `{cause}` | ")), "{cause}");
    }
}
