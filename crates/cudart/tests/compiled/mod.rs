//! Programs in C that the compiler which links these tests builds, and that run while a test
//! looks on.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use warploom_app::{SETTINGS_VARIABLE, Settings};

/// The program of a source file in the folder of tests, built in `folder`.
pub fn compiled(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu17", "-o"])
        .args([&program, &source])
        .arg("-ldl");
    let built = compiler.output().expect("the compiler starts");
    let errors = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{errors}");
    program
}

/// Starts a program in a folder, with settings for the library.
pub fn started(folder: &Path, program: &Path, arguments: &[&str], settings: &Settings) -> Child {
    let settings = serde_json::to_string(settings).expect("plain data");
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", folder)
        .env(SETTINGS_VARIABLE, settings)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}
