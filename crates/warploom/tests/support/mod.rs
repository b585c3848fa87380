//! Helpers for the tests of the command. Each test file uses all of them.

use std::path::Path;
use std::process::{Command, Output};

/// Output of a command, and its exit status.
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn warploom_in(folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(args).current_dir(folder);
    ran(command)
}

/// Runs a command without colours, and without a width unless the caller sets one.
pub fn ran(mut command: Command) -> Ran {
    command.env("NO_COLOR", "1");
    if !command.get_envs().any(|(name, _)| name == "COLUMNS") {
        command.env_remove("COLUMNS");
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Ran {
        status: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

impl Ran {
    /// Standard error without the lines on files that were written.
    pub fn told(&self) -> String {
        let lines = self.err.lines().filter(|line| !line.starts_with("wrote "));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// Standard output of a command that must succeed without other output than on files.
pub fn output(args: &[&str]) -> String {
    let ran = warploom_in(Path::new("."), args);
    assert_eq!((ran.status, ran.told().as_str()), (0, ""), "{args:?}");
    ran.out
}

/// Standard error of a command that must fail with `status` and print no result.
pub fn refusal(folder: &Path, status: i32, args: &[&str]) -> String {
    let ran = warploom_in(folder, args);
    let message = &ran.err;
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (status, ""),
        "{args:?}: {message}"
    );
    format!("$ warploom {}\n{message}", args.join(" "))
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}
