//! Tests of `run --checkpoint`, `--resume` and `--fork`.

use crate::support::{json, refusal, warploom_in};
use std::path::Path;

/// JSON result of a run with these arguments in a folder, without what differs from run to run.
fn result(folder: &Path, args: &[&str]) -> serde_json::Value {
    let ran = warploom_in(folder, &[&["run", "--json"], args].concat());
    assert_eq!(ran.err, "", "{args:?}");
    let mut result = json(&ran.out);
    let fields = result.as_object_mut().unwrap();
    for changing in [
        "command",
        "wall_seconds",
        "cycles_per_second",
        "warp_instructions_per_second",
    ] {
        fields.remove(changing).unwrap();
    }
    result
}

#[test]
fn a_run_goes_on_and_is_forked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let bfs = ["bfs", "--size", "test"];
    let run = |more: &[&str]| result(folder, &[&bfs, more].concat());
    let straight = run(&[]);
    let cut = run(&["--max-cycles", "6000", "--checkpoint", "bfs.ckpt"]);
    assert_eq!(cut["outcome"]["kind"], "cycle-limit");
    assert_eq!(run(&["--resume", "bfs.ckpt"]), straight);
    let two_threads = ["--resume", "bfs.ckpt", "--threads", "2"];
    let every = ["--checkpoint", "later.ckpt", "--checkpoint-every", "3000"];
    assert_eq!(run(&[&two_threads[..], &every].concat()), straight);
    assert_eq!(run(&["--resume", "later.ckpt"]), straight);
    let fork = run(&["--fork", "bfs.ckpt", "--set", "sm.warp_scheduler=rrr"]);
    assert_eq!(fork["fork"]["cycle"], 6000);
    assert_ne!(fork["digest"], straight["digest"]);
    let refused = |args: &[&str]| refusal(folder, 2, &[&["run"], args].concat());
    std::fs::write(folder.join("text.ckpt"), "no checkpoint").unwrap();
    let bytes = std::fs::read(folder.join("bfs.ckpt")).unwrap();
    std::fs::write(folder.join("half.ckpt"), &bytes[..bytes.len() / 2]).unwrap();
    let resume = |file: &str| refused(&[&bfs[..], &["--resume", file]].concat());
    for (file, reason) in [
        ("none.ckpt", "there is no such file"),
        ("text.ckpt", "the file is no checkpoint of Warploom"),
        ("half.ckpt", "the checkpoint is cut off"),
    ] {
        let message = resume(file);
        assert!(
            message.contains(file) && message.contains(reason),
            "{message}"
        );
    }
    let key = ["--resume", "bfs.ckpt", "--set", "l1d.ways=2"];
    let message = refused(&[&bfs[..], &key].concat());
    assert!(message.contains("l1d.ways is 2 and was"), "{message}");
    let seed = ["--resume", "bfs.ckpt", "--seed", "7"];
    let message = refused(&[&bfs[..], &seed].concat());
    assert!(
        message.contains("the program or its input differs"),
        "{message}"
    );
    let nowhere = ["--checkpoint", "none/bfs.ckpt"];
    let message = refused(&[&bfs[..], &nowhere].concat());
    assert!(message.contains("cannot write the checkpoint"), "{message}");
}
