//! The example of a CUDA program, built by the `nvcc` of this machine, if it has one.

use super::{QUIET, SETTINGS_VARIABLE, folder};
use std::path::Path;
use std::process::Command;

/// Builds a source of the examples; `None` if there is no `nvcc`.
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
pub fn built(source: &str, program: &Path) -> Option<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(source);
    let mut nvcc = Command::new("nvcc");
    nvcc.args(["-cudart", "shared", "-arch=compute_75", "-o"]);
    let Ok(built) = nvcc.arg(program).arg(&source).output() else {
        eprintln!("skipped: there is no nvcc to build the example");
        return None;
    };
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    Some(())
}

/// Runs a program with settings, and returns what it prints and its result.
fn ran(program: &Path, args: &[&str], settings: &str) -> (String, serde_json::Value) {
    let folder = program.parent().expect("it is in a folder");
    let stats = folder.join("result.json");
    let settings = settings.replace("STATS", &stats.display().to_string());
    let ran = Command::new(program)
        .args(args)
        .env("LD_LIBRARY_PATH", folder)
        .env(SETTINGS_VARIABLE, settings)
        .output()
        .expect("it starts");
    assert!(ran.status.success(), "{ran:?}");
    let result = std::fs::read_to_string(stats).expect("a result");
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    (out, serde_json::from_str(&result).expect("JSON"))
}

#[test]
fn the_example_of_a_cuda_program_runs() {
    let folder = folder();
    let program = folder.path().join("dot");
    if built("cuda-program/dot.cu", &program).is_none() {
        return;
    }
    let (out, result) = ran(&program, &[], QUIET);
    // The sum of (i mod 7) (i mod 11) for i below 10,000.
    let expected: u64 = (0..10_000).map(|i: u64| (i % 7) * (i % 11)).sum();
    assert_eq!(
        out,
        format!("dot product {expected}, expected {expected}\n")
    );
    assert_eq!(result["kernels"].as_array().map(Vec::len), Some(1));
}

/// The program checks its solution itself. It launches two kernels, and seven in each iteration.
#[test]
fn the_example_of_a_sampled_program_runs() {
    let folder = folder();
    let program = folder.path().join("cg");
    if built("conjugate-gradient/cg.cu", &program).is_none() {
        return;
    }
    let sampled = QUIET.replace("{", "{\"sample_error\": 0.05, ");
    let (out, result) = ran(&program, &["32", "20"], &sampled);
    assert!(out.starts_with("32 x 32 points, 20 iterations:"), "{out}");
    let sampling = &result["sampling"];
    assert_eq!(sampling["launches"], 142);
    assert!(sampling["timed"].as_u64().is_some_and(|timed| timed < 142));
}
