//! Tests of what a terminal offers around the verbs: the first screen, manual pages, completions,
//! and lines of progress.

use crate::support::{json, output, ran, refusal, warploom_in};
use std::path::Path;

/// The commands of the first screen are valid, and the screen fits a small terminal.
#[test]
fn the_name_alone_says_what_to_do_first() {
    let screen = output(&[]);
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 96),
        "{screen}"
    );
    for verb in ["run", "app", "compare", "reproduce", "list", "install-docs"] {
        assert!(screen.contains(&format!("\n  warploom {verb} ")), "{verb}");
    }
}

/// In a pipe, every entry of a list is a line with as many tabs as the header and no padding.
#[test]
fn lists_in_a_pipe_are_lines_with_tabs() {
    for what in [
        "gpus",
        "energy",
        "workloads",
        "keys",
        "policies",
        "stats",
        "figures",
        "microbenchmarks",
    ] {
        let list = output(&["list", what]);
        let rows = json(&output(&["list", what, "--json"]));
        assert_eq!(
            list.lines().count(),
            1 + rows.as_array().unwrap().len(),
            "{what}"
        );
        let tabs = |line: &str| line.matches('\t').count();
        for line in list.lines() {
            assert_eq!(tabs(line), tabs(list.lines().next().unwrap()), "{line}");
            let cells = line.split('\t');
            assert!(cells.clone().all(|cell| cell.trim() == cell), "{line}");
            assert!(!line.contains("   "), "{line}");
        }
    }
    assert!(output(&["list", "policies"]).contains("\nsm.warp_scheduler\tgto\t"));
}

#[test]
fn manual_pages_and_completions_are_installed_by_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let ran = warploom_in(folder.path(), &["install-docs", "--prefix", "here"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let text = |path: &str| {
        let path = folder.path().join("here/share").join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    };
    assert!(text("man/man1/warploom.1").contains("warploom\\-run(1)"));
    assert!(text("man/man1/warploom-run.1").contains("\\-\\-explain"));
    // The synopsis is the usage, in which options have their values.
    let synopsis =
        ".SH SYNOPSIS\nwarploom compare [OPTIONS] \\-\\-vary <KEY=V1,V2,...> <TARGET>...\n.SH";
    let page = text("man/man1/warploom-compare.1");
    assert!(page.contains(synopsis), "{page}");
    // The verb of the Python package is not one of this command.
    assert!(!text("man/man1/warploom.1").contains("python"));
    assert!(
        !folder
            .path()
            .join("here/share/man/man1/warploom-python.1")
            .exists()
    );
    for place in [
        "bash-completion/completions/warploom",
        "zsh/site-functions/_warploom",
        "fish/vendor_completions.d/warploom.fish",
    ] {
        for word in ["multiprogram", "maxwell-duet"] {
            assert!(text(place).contains(word), "{place} knows {word}");
        }
        assert!(
            ran.out.contains(&format!("here/share/{place}")),
            "{}",
            ran.out
        );
    }
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = refusal(folder.path(), 2, &["install-docs", "--prefix", "file"]);
    assert!(
        refused.contains("choose a folder with --prefix"),
        "{refused}"
    );
}

/// The verb exists in the Python package's command, which does not start this one for it.
#[test]
fn python_is_a_verb_of_the_package() {
    let args = [
        "python",
        "--gpu",
        "rtx3070-ampere",
        "--",
        "matmul.py",
        "--n",
        "64",
    ];
    let refused = refusal(Path::new("."), 2, &args);
    for part in [
        "a verb of the Python package",
        "= help: install the package",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

/// Tables and sentences of all commands keep to 80 columns, as on a narrow terminal. The title of a
/// run is its command, which may be longer.
#[test]
fn everything_that_is_printed_keeps_to_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = include_str!("../bounds.ptx");
    std::fs::write(folder.path().join("k.ptx"), kernels).unwrap();
    let small = "vectoradd --size test";
    for command in [
        "run".to_owned(),
        format!("run {small}"),
        format!("run {small} --functional --sharing"),
        "run k.ptx --kernel compute --grid 4".to_owned(),
        format!("run {small} --explain --energy"),
        "run atax --size test --sample-error 5%".to_owned(),
        format!("run transpose {small} --multiprogram even --alone-cycles 2000"),
        format!("analyze {small} --lines"),
        "analyze atax --size test --window 500".to_owned(),
        format!("compare {small} --vary sm.warp_scheduler=lrr,gto"),
        format!("compare {small} --vary sm.warp_scheduler=lrr,gto --vary gpu.sms=2,4 --energy"),
        format!("compare transpose {small} --alone-cycles 2000 --vary gpu.multiprogram=even,fcfs"),
        "oracle vectoradd transpose --size test --alone-cycles 500 --set gpu.sms=2".to_owned(),
        "reproduce".to_owned(),
        "reproduce cooperative/fig3 --scale test -o r".to_owned(),
        "reproduce cooperative --scale test --dry-run -o r".to_owned(),
        "report r -o r.html".to_owned(),
        "list gpus".to_owned(),
        "list energy".to_owned(),
        "list workloads".to_owned(),
        "list keys".to_owned(),
        "list policies".to_owned(),
        "list stats".to_owned(),
        "list figures".to_owned(),
        "list microbenchmarks".to_owned(),
        "show gpu gtx480".to_owned(),
        "show gpu h100-hopper".to_owned(),
        "check k.ptx".to_owned(),
        "resources k.ptx".to_owned(),
        "resources k.ptx --switch-points".to_owned(),
        "slices k.ptx".to_owned(),
        "crat k.ptx --kernel transpose --registers 6 -o o.ptx".to_owned(),
        "crat k.ptx --kernel transpose --block 16,16 -o o.ptx".to_owned(),
        "microbench l1d-latency --explain".to_owned(),
    ] {
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
        run.args(command.split(' ')).current_dir(folder.path());
        run.env("COLUMNS", "80");
        let ran = ran(run);
        assert_eq!(ran.status, 0, "{command}: {}", ran.err);
        let is_wide = |line: &&str| line.chars().count() > 80 && !line.starts_with("warploom ");
        let wide: Vec<_> = ran.out.lines().filter(is_wide).collect();
        assert!(wide.is_empty(), "{command}: {wide:#?}");
    }
}

/// Lines of progress are for standard error; the result stays the same.
#[test]
fn watching_changes_no_result() {
    let digest = |args: &[&str]| {
        let ran = warploom_in(Path::new("."), args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.out.lines().last().unwrap().to_owned()
    };
    let plain = digest(&["run", "vectoradd", "--size", "test"]);
    let watched = digest(&["run", "--watch", "vectoradd", "--size", "test"]);
    assert_eq!(watched, plain);
    let refused = refusal(Path::new("."), 2, &["run", "vectoradd", "--watch=0"]);
    assert!(refused.contains("0 is not in 1..=86400"), "{refused}");
}
