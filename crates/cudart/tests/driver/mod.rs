//! Programs in C that load the driver by its name and call its functions, built by the compiler
//! that links these tests.

use super::{QUIET, SETTINGS_VARIABLE, folder};
use std::path::Path;
use std::process::{Command, Output};

/// Builds and runs a program. Its first argument is the path of a file that it may write.
fn run(name: &str, arguments: &[&str]) -> Output {
    let folder = folder();
    let program = folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/driver/{name}.c"));
    let built = Command::new("cc")
        .args(["-std=gnu17", "-o"])
        .args([&program, &source])
        .arg("-ldl")
        .output()
        .expect("the compiler starts");
    let errors = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{errors}");
    let stats = folder.path().join("result.json");
    Command::new(&program)
        .arg(folder.path().join("file"))
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder.path())
        .env(
            SETTINGS_VARIABLE,
            QUIET.replace("STATS", &stats.display().to_string()),
        )
        .output()
        .expect("it starts")
}

#[test]
fn a_program_calls_the_driver() {
    let ran = run("driver", &[]);
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{out}{err}");
    assert_eq!(out, "all right\n", "{err}");
    // The program loads a text that is wrong, and machine code.
    assert!(
        err.contains("fma.rx.f32") && err.contains("machine code"),
        "{err}"
    );
}

#[test]
fn graphs_boxes_and_textures_of_the_driver() {
    let ran = run("graph", &[]);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "all right\n", "{err}");
    assert!(ran.status.success(), "{err}");
    assert_eq!(err, "");
}

#[test]
fn the_machine_is_described_to_nvml() {
    let ran = run("nvml", &[]);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "all right\n", "{err}");
    assert!(ran.status.success(), "{err}");
}

#[test]
fn a_fault_stays() {
    let ran = run("driver", &["fault"]);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "all right\n", "{err}");
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(
        err.contains("access out of bounds in kernel `add`"),
        "{err}"
    );
}
