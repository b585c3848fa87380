//! Ctrl-C and SIGTERM during a program: the result so far is written whole, and the program does
//! not go on. The program is built by the compiler that links these tests.

use super::compiled::{compiled, started};
use super::folder;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output};
use warploom_app::Settings;

/// A program that runs and is ready for signals.
struct Started {
    folder: tempfile::TempDir,
    child: Child,
    out: BufReader<ChildStdout>,
    /// Process that gets signals.
    process: String,
}

/// A program that has ended.
struct Ended {
    folder: tempfile::TempDir,
    status: Option<i32>,
    /// Standard output after the line that tells that the program is ready.
    out: String,
    err: String,
}

impl Started {
    /// Starts the program in its folder and waits until it is ready.
    fn new(what: &str, settings: Settings) -> Self {
        let folder = folder();
        let program = compiled(folder.path(), "signals/program.c");
        let settings = Settings {
            stats: Some("result.json".into()),
            ..settings
        };
        let mut child = started(folder.path(), &program, &[what], &settings);
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let process = line.strip_prefix("ready ").expect("it is ready").trim();
        Self {
            process: process.to_owned(),
            folder,
            child,
            out,
        }
    }

    /// Sends signals, such as `INT`, in this order, and waits for the end.
    fn send(mut self, signals: &[&str]) -> Ended {
        for signal in signals {
            let command = format!("kill -{signal} {}", self.process);
            let sent = Command::new("sh").args(["-c", &command]).status();
            assert!(sent.expect("a shell").success(), "{command}");
        }
        let mut out = String::new();
        self.out.read_to_string(&mut out).expect("text");
        let Output { status, stderr, .. } = self.child.wait_with_output().expect("it ends");
        Ended {
            folder: self.folder,
            status: status.code(),
            out,
            err: String::from_utf8(stderr).expect("text"),
        }
    }
}

impl Ended {
    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }

    fn result(&self) -> serde_json::Value {
        let text = self.text("result.json").expect("a result");
        serde_json::from_str(&text).expect("whole")
    }
}

fn quiet() -> Settings {
    Settings {
        quiet: true,
        ..Settings::default()
    }
}

const IN_THE_KERNEL: &str = "INTERRUPTED in forever, after 0 of 2 blocks";
/// Where the warps of the kernel are: it is one branch to itself.
const PLACES: [&str; 2] = [
    "sm0, block (0, 0, 0) of `forever`, warp 0: lanes 0-31 are at line 8",
    "sm1, block (1, 0, 0) of `forever`, warp 0: lanes 0-31 are at line 8",
];

#[test]
fn control_c_keeps_what_a_program_has_so_far() {
    let settings = Settings {
        report: Some("report.txt".into()),
        trace: Some("trace.json".into()),
        ..Settings::default()
    };
    let ended = Started::new("kernel", settings).send(&["INT"]);
    assert_eq!(ended.status, Some(130), "{}", ended.err);
    assert_eq!(ended.out, "more text");
    let told = format!("{IN_THE_KERNEL}\n  {}\n", PLACES.join("\n  "));
    assert_eq!(ended.err, format!("warploom: {told}"));
    let report = ended.text("report.txt").expect("a report");
    assert!(report.contains(&format!("\n{told}")), "{report}");
    let trace = ended.text("trace.json").expect("a timeline");
    serde_json::from_str::<serde_json::Value>(&trace).expect("whole");
    let result = ended.result();
    let outcome = serde_json::json!({
        "kind": "interrupted", "kernel": "forever", "blocks_ended": 0, "blocks": 2, "waits": PLACES
    });
    assert_eq!(result["outcome"], outcome);
    assert!(result["totals"]["cycles"].as_u64() >= Some(4096));
    let started = &result["kernels"][0]["statistics"]["sm.blocks_started"];
    assert_eq!(started, 2);
}

#[test]
fn sigterm_ends_a_program_without_timing() {
    let settings = Settings {
        functional: true,
        ..quiet()
    };
    let ended = Started::new("kernel", settings).send(&["TERM"]);
    assert_eq!(ended.status, Some(130), "{}", ended.err);
    assert_eq!(ended.err, format!("warploom: {IN_THE_KERNEL}\n"));
    assert_eq!(ended.result()["outcome"]["kind"], "interrupted");
}

/// The simulation waits for the program, and the program for something else.
#[test]
fn programs_are_ended_between_launches() {
    for functional in [false, true] {
        let settings = Settings {
            functional,
            ..quiet()
        };
        let ended = Started::new("host", settings).send(&["INT"]);
        assert_eq!(ended.status, Some(130), "{}", ended.err);
        assert_eq!(ended.out, "more text");
        let told = "warploom: INTERRUPTED between launches\n";
        assert_eq!(ended.err, told);
        let result = ended.result();
        assert_eq!(result["outcome"]["kernel"], "");
        assert_eq!(result["kernels"][0]["name"], "once");
        assert_eq!(result["totals"]["launches"], 1);
    }
}

/// The program has ended, and its last launch goes on.
#[test]
fn launches_that_outlive_the_program_are_interrupted() {
    let ended = Started::new("end", quiet()).send(&["INT"]);
    assert_eq!(ended.status, Some(130), "{}", ended.err);
    assert_eq!(ended.result()["outcome"]["kernel"], "forever");
}

/// Both signals arrive before the simulation can see the first.
#[test]
fn a_second_signal_ends_the_program_at_once() {
    let ended = Started::new("kernel", quiet()).send(&["STOP", "INT", "TERM", "CONT"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(130), ""));
    assert_eq!(ended.text("result.json"), None);
}

#[test]
fn signals_that_the_program_handles_are_its_own() {
    let ended = Started::new("handler", quiet()).send(&["INT"]);
    assert_eq!(ended.status, Some(9), "{}", ended.err);
    assert_eq!(ended.text("result.json"), None);
}

/// A signal that is ignored is not the first of two.
#[test]
fn signals_that_the_program_ignores_are_ignored() {
    let ended = Started::new("ignore", quiet()).send(&["INT", "TERM"]);
    assert_eq!(ended.status, Some(130), "{}", ended.err);
    assert_eq!(ended.result()["outcome"]["kind"], "interrupted");
}

/// The child of a fork has the handlers, but neither the simulation nor the thread that ends it.
#[test]
fn the_child_of_a_fork_ends_by_its_signal() {
    let ended = Started::new("fork", quiet()).send(&["INT"]);
    assert_eq!(ended.status, Some(0), "{}", ended.err);
    assert_eq!(ended.out, "more text, ended by signal 2\n");
    assert_eq!(ended.result()["outcome"]["kind"], "finished");
}
