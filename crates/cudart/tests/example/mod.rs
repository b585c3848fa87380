//! The example of a CUDA program, built by the `nvcc` of this machine, if it has one.

use super::{QUIET, SETTINGS_VARIABLE, folder};
use std::path::Path;
use std::process::Command;

#[test]
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
fn the_example_of_a_cuda_program_runs() {
    let folder = folder();
    let program = folder.path().join("dot");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cuda-program/dot.cu");
    let mut nvcc = Command::new("nvcc");
    nvcc.args(["-cudart", "shared", "-arch=compute_75", "-o"]);
    let Ok(built) = nvcc.arg(&program).arg(&source).output() else {
        eprintln!("skipped: there is no nvcc to build the example");
        return;
    };
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let stats = folder.path().join("result.json");
    let settings = QUIET.replace("STATS", &stats.display().to_string());
    let ran = Command::new(&program)
        .env("LD_LIBRARY_PATH", folder.path())
        .env(SETTINGS_VARIABLE, settings)
        .output()
        .expect("it starts");
    // The sum of (i mod 7) (i mod 11) for i below 10,000.
    let expected: u64 = (0..10_000).map(|i: u64| (i % 7) * (i % 11)).sum();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(
        out,
        format!("dot product {expected}, expected {expected}\n")
    );
    assert!(ran.status.success());
    let result = std::fs::read_to_string(stats).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result["kernels"].as_array().map(Vec::len), Some(1));
}
