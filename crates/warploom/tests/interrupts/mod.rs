//! Tests of Ctrl-C and SIGTERM: the results so far are printed and written whole.

use crate::support::{json, warploom_in};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Kernel `forever<2>`, which only the user ends.
const FOREVER: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry _Z7foreverILi2EEvPj(.param .u64 out) {
    .reg .b64 %d;
    .reg .b32 %r;
    ld.param.u64 %d, [out];
again:
    ld.volatile.global.u32 %r, [%d];
    add.u32 %r, %r, 1;
    st.volatile.global.u32 [%d], %r;
    bra again;
}
";

/// Starts `warploom run` with these arguments, and waits until it tells its progress, which begins
/// with `place` after the time.
fn started(folder: &Path, args: &[&str], place: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder)
        .args(["run", "--watch=1"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stderr.as_mut().unwrap())
        .lines()
        .next();
    let told = told.unwrap().unwrap();
    let (_, told) = told.split_once(' ').unwrap();
    assert!(told.starts_with(place), "{told}");
    child
}

/// Starts the kernel that does not end by itself.
fn forever(folder: &Path, options: &[&str]) -> Child {
    std::fs::write(folder.join("forever.ptx"), FOREVER).unwrap();
    let kernel = [
        "forever.ptx",
        "--kernel",
        "forever<2>",
        "--grid",
        "2",
        "--block",
        "32",
        "--arg",
        "u32[4]=0",
    ];
    let how = match options.contains(&"--functional") {
        true => ", executing without timing",
        false => "",
    };
    let place = format!("launch 1 (forever<2>){how}: 0 of 2 blocks, ");
    started(folder, &[&kernel, options].concat(), &place)
}

/// Sends signals to a process, such as `INT`, in this order.
fn send(child: &Child, signals: &[&str]) {
    for signal in signals {
        let command = format!("kill -{signal} {}", child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.unwrap().success(), "{command}");
    }
}

/// Exit status and standard output of a process that ends.
fn ended(child: Child) -> (i32, String) {
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    let status = status.code().expect("it ended by itself");
    (status, String::from_utf8(stdout).unwrap())
}

#[test]
fn control_c_keeps_what_a_run_has_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["--stats", "r.json", "--csv", "k.csv", "--series", "s.csv"];
    let others = ["--json", "--checkpoint", "r.ckpt"];
    let run = forever(folder.path(), &[&files[..], &others].concat());
    send(&run, &["INT"]);
    let (status, out) = ended(run);
    assert_eq!(status, 130);
    let result = json(&out);
    let outcome = &result["outcome"];
    assert_eq!(
        (&outcome["kind"], &outcome["kernel"]),
        (&"interrupted".into(), &"_Z7foreverILi2EEvPj".into())
    );
    assert_eq!(
        (&outcome["blocks_ended"], &outcome["blocks"]),
        (&0.into(), &2.into())
    );
    let cycles = result["totals"]["cycles"].as_u64().unwrap();
    assert!(cycles >= 4096, "{cycles}");
    assert_eq!(result["kernels"][0]["statistics"]["sm.blocks_started"], 2);
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(json(&text("r.json")), result);
    assert!(text("k.csv").contains("_Z7foreverILi2EEvPj"));
    let last = text("s.csv").lines().last().unwrap().to_owned();
    assert!(last.contains(&format!(",{cycles},")), "{last}");
    assert!(folder.path().join("r.ckpt").exists());
    // The stored result tells the same.
    let shown = warploom_in(folder.path(), &["report", "r.json"]);
    let told = "\nINTERRUPTED in forever<2>, after 0 of 2 blocks; outputs were not checked\n";
    assert_eq!(
        (shown.status, shown.out.contains(told)),
        (130, true),
        "{}",
        shown.out
    );
    // The places of warps tell which loop does not end.
    assert!(
        shown.out.contains("of `forever<2>`, warp 0: lanes 0"),
        "{}",
        shown.out
    );
}

#[test]
fn sigterm_ends_a_run_without_timing() {
    let folder = tempfile::tempdir().unwrap();
    let run = forever(folder.path(), &["--functional"]);
    send(&run, &["TERM"]);
    let (status, out) = ended(run);
    assert_eq!(status, 130);
    assert!(
        out.contains("\nINTERRUPTED in forever<2>, after 0 of 2 blocks; "),
        "{out}"
    );
    let rate = out.lines().find(|line| line.starts_with("executed in "));
    let rate = rate.expect("a rate");
    assert!(!rate.contains(": 0"), "{rate}");
}

/// Both signals arrive before the run can see the first.
#[test]
fn a_second_signal_ends_the_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = forever(folder.path(), &["--stats", "r.json"]);
    send(&run, &["STOP", "INT", "TERM", "CONT"]);
    assert_eq!(ended(run), (130, String::new()));
    assert!(!folder.path().join("r.json").exists());
}

#[test]
fn programs_that_run_alone_first_are_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "bfs",
        "sgemm",
        "--alone-cycles",
        "1000000000000",
        "--stats",
        "r.json",
    ];
    let run = started(folder.path(), &args, "launch ");
    send(&run, &["INT"]);
    let Output {
        status,
        stdout,
        stderr,
    } = run.wait_with_output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert_eq!(
        (status.code(), stdout.as_slice()),
        (Some(130), &b""[..]),
        "{told}"
    );
    assert!(told.contains("\nINTERRUPTED in "), "{told}");
    assert!(told.contains("interrupted: bfs ran alone, "), "{told}");
}

/// Starts a command that tells its progress each second, sends a signal after a line with one of
/// these parts, and gives the exit status, standard output, and the lines of standard error after
/// the signal.
fn interrupted(folder: &Path, args: &[&str], parts: &[&str]) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder)
        .args(args)
        .args(["--watch=1", "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_seen = |line: std::io::Result<String>| {
        let line = line.unwrap_or_default();
        parts.iter().any(|part| line.contains(part))
    };
    assert!(told.any(is_seen));
    send(&child, &["INT"]);
    let rest: Vec<_> = told.map_while(Result::ok).collect();
    let (status, out) = ended(child);
    (status, out, rest.join("\n"))
}

/// The eight runs take seconds, so that a line of progress shows the end of the first ones.
#[test]
fn control_c_keeps_the_rows_of_a_comparison_that_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let vary = "sm.warp_scheduler=lrr,gto,oldest,two-level";
    let args = [
        "compare",
        "bfs",
        "--vary",
        vary,
        "--vary",
        "gpu.sms=14,15",
        "--csv",
        "rows.csv",
    ];
    let some: Vec<_> = (1..8)
        .map(|ended| format!(" {ended} of 8 runs; "))
        .collect();
    let some: Vec<_> = some.iter().map(String::as_str).collect();
    let (status, out, told) = interrupted(folder.path(), &args, &some);
    assert_eq!(status, 130, "{told}");
    let (_, rest) = out.split_once(" (interrupted: ").expect("a title");
    let rows = rest.split(' ').next().unwrap();
    let kept = format!("interrupted: {rows} of 8 rows had ended, and the result has these");
    assert!(told.contains(&kept), "{told}");
    let help = "= help: -o DIR keeps each run that ends, and the same command then goes on";
    assert!(told.contains(help), "{told}");
    let csv = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert_eq!(Ok(csv.lines().count() - 1), rows.parse(), "{csv}");
}

#[test]
fn control_c_in_the_first_run_of_a_comparison_says_that_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("forever.ptx"), FOREVER).unwrap();
    let kernel = "compare forever.ptx --grid 2 --block 32 --arg u32[4]=0 --vary gpu.sms=1,2";
    let args: Vec<_> = kernel.split(' ').collect();
    let (status, out, told) = interrupted(folder.path(), &args, &["0 of 2 runs; "]);
    assert_eq!((status, out.as_str()), (130, ""), "{told}");
    assert!(
        told.contains("interrupted: none of the 2 rows had ended"),
        "{told}"
    );
    assert!(told.contains("= help: -o DIR"), "{told}");
}

#[test]
fn control_c_tells_how_many_runs_of_an_oracle_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["oracle", "bfs", "sgemm", "--alone-cycles", "100000000"];
    let (status, out, told) = interrupted(folder.path(), &args, &[" runs; running "]);
    assert_eq!((status, out.as_str()), (130, ""), "{told}");
    assert!(told.contains("runs had ended, and none is kept"), "{told}");
    assert!(told.contains("= help: -o DIR keeps them"), "{told}");
}

#[test]
fn control_c_tells_how_many_runs_of_a_sweep_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let study =
        "[axes]\ntarget = \"forever.ptx\"\ngrid = [1, 2]\nblock = 32\nargs = \"u32[4]=0\"\n";
    std::fs::write(folder.path().join("forever.ptx"), FOREVER).unwrap();
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder.path())
        .args(["sweep", "study.toml"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(sweep.stderr.take().unwrap()).lines();
    let begun = |line: &std::io::Result<String>| {
        let line = line.as_deref().unwrap_or_default();
        line.ends_with("2 runs, 0 finished already")
    };
    assert!(told.any(|line| begun(&line)));
    send(&sweep, &["INT"]);
    let told: Vec<_> = told.map_while(Result::ok).collect();
    assert_eq!(sweep.wait().unwrap().code(), Some(130));
    let line = "interrupted: 0 of 2 runs had ended; the same command begins again";
    assert_eq!(told, ["", line]);
}
