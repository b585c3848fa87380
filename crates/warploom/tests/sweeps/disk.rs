//! A disk that is full: the worker says so, leaves nothing half-written, and goes on once there is
//! space.

use super::{folder_of, rows, sweep};
use std::path::Path;
use std::process::Command;

/// A sweep of short runs, of which each result takes some kilobytes.
const STUDY: &str = "name = \"{seed}\"\n[axes]\ntarget = \"nn\"\nsize = \"test\"\n\"gpu.sms\" = 2\n\
                     seed = [1, 2, 3, 4, 5, 6]\n[limits]\nkills = 9\n";

/// Number of files in a folder and its folders.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: std::fs::DirEntry| match entry.path() {
        path if path.is_dir() => files(&path),
        _ => 1,
    };
    entries.map(count).sum()
}

/// Runs lines of a shell in a space of its own, where a small disk can be mounted. `None` if the
/// system does not permit it.
fn with_disk(folder: &Path, lines: &str) -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", lines]);
    command.current_dir(folder).env("NO_COLOR", "1");
    let ran = command
        .env("WARPLOOM", env!("CARGO_BIN_EXE_warploom"))
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    told.contains("mounted").then_some(told)
}

#[test]
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
fn a_full_disk_is_told_and_costs_nothing_but_time() {
    let folder = folder_of(STUDY);
    // The program's copy fits, and little else.
    let lines = "
        kib=$(($(stat -c %s \"$WARPLOOM\") / 1024 + 600))
        mkdir results && mount -t tmpfs -o size=${kib}k none results && echo mounted || exit 0
        sweep() { \"$WARPLOOM\" sweep study.toml --threads 1 >$1.out 2>$1.err; echo $? >$1.status; }
        sed 's/, 2, 3, 4, 5, 6//' study.toml >whole.toml
        cp study.toml all.toml; mv whole.toml study.toml; sweep first; mv all.toml study.toml
        dd if=/dev/zero of=results/filler bs=1k count=9999 2>/dev/null
        sweep none
        truncate -s -48k results/filler
        sweep few
        cp -r results/sweep/study full; cp -r results/runs runs
        rm results/filler
        sweep last
        cp results/sweep/study.csv table.csv; cp -r results/sweep/study after";
    if with_disk(folder.path(), lines).is_none() {
        eprintln!("skipped: no disk can be mounted here");
        return;
    }
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("first.status"), "0\n", "{}", text("first.err"));
    for full in ["none", "few"] {
        let told = text(&format!("{full}.err"));
        assert_ne!(text(&format!("{full}.status")), "0\n", "{told}");
        assert!(told.contains("No space left on device"), "{told}");
        assert!(told.contains("the same command goes on"), "{told}");
    }
    assert_eq!(files(&folder.path().join("full/tmp")), 0);
    assert_eq!(files(&folder.path().join("full/claims")), 0);
    // Some runs were stored, each of them whole.
    let stored = files(&folder.path().join("runs"));
    assert!((1..6).contains(&stored), "{stored} runs");
    assert_eq!(text("last.status"), "0\n", "{}", text("last.err"));
    for place in ["tmp", "claims", "todo", "workers"] {
        assert_eq!(
            files(&folder.path().join("after").join(place)),
            0,
            "{place}"
        );
    }
    // The table is that of a disk with space.
    let other = folder_of(STUDY);
    assert_eq!(sweep(other.path(), &["study.toml"]).status, 0);
    assert_eq!(rows(other.path()).len(), 6);
    assert!(text("table.csv") == super::table(other.path()));
}
