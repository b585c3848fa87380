//! Tests of `sweep` from a user's view.

mod axes;
mod disk;
mod figures;
mod kills;
mod pictures;

use crate::support::{Ran, json, output, refusal, warploom_in};
use std::collections::BTreeMap;
use std::path::Path;

const STUDY: &str = r#"
name = "{target}-{warp_scheduler}-{sms}"
[axes]
target = ["vectoradd", "spmv"]
size = "test"
"sm.warp_scheduler" = ["lrr", "gto"]
"gpu.sms" = [2, 4]
"#;

fn folder_of(spec: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), spec).unwrap();
    folder
}

fn sweep(folder: &Path, args: &[&str]) -> Ran {
    warploom_in(folder, &[&["sweep"], args].concat())
}

fn table(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("results/sweep/study.csv")).unwrap()
}

/// Rows of the table by the name of the run, each by the name of the column. No value of these
/// tests has a comma.
fn rows(folder: &Path) -> BTreeMap<String, BTreeMap<String, String>> {
    let text = table(folder);
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    let row = |line: Vec<String>| names.iter().cloned().zip(line).collect();
    lines
        .map(Iterator::collect::<Vec<String>>)
        .map(|line| (line[0].clone(), row(line)))
        .collect()
}

/// Number of files in the folders whose contents must not outlive a sweep.
fn left_behind(folder: &Path) -> usize {
    let count = |name: &str| {
        let path = folder.join("results/sweep/study").join(name);
        std::fs::read_dir(path).map_or(0, Iterator::count)
    };
    ["tmp", "claims", "workers", "todo"].map(count).iter().sum()
}

#[test]
fn every_combination_is_run_as_run_runs_it() {
    let folder = folder_of(STUDY);
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        ran.out.contains("8 runs finished, 0 failed, 0 missing"),
        "{}",
        ran.out
    );
    let rows = rows(folder.path());
    assert_eq!(rows.len(), 8);
    for (name, sets) in [
        ("vectoradd-gto-4", ["sm.warp_scheduler=gto", "gpu.sms=4"]),
        ("spmv-lrr-2", ["sm.warp_scheduler=lrr", "gpu.sms=2"]),
    ] {
        let row = &rows[name];
        let alone = output(&[
            "run",
            &row["target"],
            "--size",
            "test",
            "--set",
            sets[0],
            "--set",
            sets[1],
            "--json",
        ]);
        let alone = json(&alone);
        assert_eq!(alone["digest"], row["digest"].as_str());
        let cycles = alone["totals"]["cycles"].as_u64().unwrap().to_string();
        assert_eq!(
            (cycles, row["status"].as_str()),
            (row["cycles"].clone(), "finished")
        );
    }
    assert_eq!(left_behind(folder.path()), 0);
    // A second command finds everything finished.
    let before = table(folder.path());
    let again = sweep(folder.path(), &["study.toml", "--threads", "1"]);
    assert!(
        again.err.contains("8 runs, 8 finished already"),
        "{}",
        again.err
    );
    assert!(table(folder.path()) == before);
}

#[test]
fn a_dry_run_lists_runs_and_takes_times_from_finished_ones() {
    let folder = folder_of(STUDY);
    let dry = sweep(folder.path(), &["study.toml", "--dry-run"]).out;
    assert!(
        dry.contains(
            "8 to be made: their time is not known, as no run of the same target, size and"
        ),
        "{dry}"
    );
    assert!(!dry.contains("unknown"), "{dry}");
    assert!(
        dry.contains("warploom run spmv --size test --gpu gtx480"),
        "{dry}"
    );
    assert!(!folder.path().join("results").exists());
    let unread = STUDY.replace("[axes]", "[axes]\n\"static-limit.warps\" = 1");
    std::fs::write(folder.path().join("unread.toml"), unread).unwrap();
    let told = sweep(folder.path(), &["unread.toml", "--dry-run"]).err;
    assert!(
        told.contains("note: the key `static-limit.warps` changes nothing: it is a setting of the"),
        "{told}"
    );
    std::fs::write(
        folder.path().join("study.toml"),
        STUDY.replace("\"vectoradd\", ", "").replace("[2, 4]", "2"),
    )
    .unwrap();
    assert_eq!(sweep(folder.path(), &["study.toml"]).status, 0);
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let dry = sweep(folder.path(), &["study.toml", "--dry-run"]).out;
    assert_eq!(dry.matches("finished  warploom").count(), 2, "{dry}");
    assert!(
        dry.contains("6 to be made: about")
            && dry.contains("of one core for 2; the time of 4 is not"),
        "{dry}"
    );
}

/// The time of a run that is cut says nothing about that of a whole one, nor about one that is cut
/// later.
#[test]
fn a_dry_run_takes_times_from_runs_of_the_same_limits_alone() {
    let axes =
        "[axes]\ntarget = \"bfs\"\nsize = \"test\"\nsm.warp_scheduler = [\"lrr\", \"gto\"]\n";
    let folder = folder_of(&format!("{axes}max_cycles = 1000\n"));
    assert_eq!(sweep(folder.path(), &["study.toml"]).status, 0);
    let dry = |limit: &str, change: &str| {
        let text = format!("{axes}{limit}").replace("\"gto\"", change);
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        sweep(folder.path(), &["study.toml", "--dry-run"]).out
    };
    for other in ["", "max_cycles = 2000\n", "max_launches = 1\n"] {
        let told = dry(other, "\"gto\"");
        assert!(
            told.contains("2 to be made: their time is not known"),
            "{told}"
        );
    }
    let same = dry("max_cycles = 1000\n", "\"oldest\"");
    let told = "1 to be made: about";
    assert!(same.contains(told) && !same.contains("not known"), "{same}");
}

#[test]
fn problems_of_the_file_have_places_and_remedies() {
    let folder = folder_of(
        r#"name = "{target}-{sheduler}"
[axes]
tagret = "bfs"
"gpu.sms" = []
[limits]
time = "soon"
[[skip]]
"gpu.sms" = ">many"
"#,
    );
    let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    for part in [
        "study.toml:3:1",
        "did you mean `target`?",
        "the axis `gpu.sms` has no values",
        "`soon` is not a whole number with a unit",
        "`many` is not a number",
        "there is no axis `sheduler`",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    std::fs::write(
        folder.path().join("study.toml"),
        "[axes]\ntarget = [\"bfs\", \"spvm\"]\n\"gpu.sms\" = [4, 0]",
    )
    .unwrap();
    let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    for part in [
        "study.toml:2:18",
        "did you mean `spmv`?",
        "study.toml:3:17",
        "`gpu.sms`: `0` is not accepted here",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Keys that stand in the wrong table are told where they belong.
#[test]
fn keys_in_the_wrong_table_are_told_where_they_belong() {
    let folder = folder_of(
        "[axes]\ntarget = \"bfs\"\nstatistics = [\"sm.barriers\"]\n[limits]\n\
         max_cycles = 1000\ntim = \"1m\"\n",
    );
    let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    for part in [
        "study.toml:3:1",
        "write `statistics` above `[axes]`",
        "study.toml:5:1",
        "`max_cycles` is an axis, and [limits] takes time, memory, kills",
        "write `max_cycles` below `[axes]`",
        "did you mean `time`?",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(message.matches("`max_cycles` is an axis").count(), 1);
    assert!(!message.contains("has no key `max_cycles`"), "{message}");
}

/// A contradiction between two values is known for a run only.
#[test]
fn values_that_contradict_each_other_name_the_runs() {
    let folder = folder_of(
        "[axes]\ntarget = \"bfs\"\n\"sm.max_threads\" = [1536, 1000]\n\"gpu.sms\" = [2, 4]",
    );
    let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    assert!(message.contains("2 of 4 runs cannot be made"), "{message}");
}

/// Two workloads under two schedulers: a chart for a talk.
#[test]
fn speedups_of_several_targets_are_bars_with_their_means() {
    let text = "[axes]\ntarget = [\"vectoradd\", \"spmv\"]\nsize = \"test\"\n\"gpu.sms\" = [2, 4]\n\
                [report]\nbaseline = { sms = 2 }\n";
    let folder = folder_of(text);
    let chart = |text: &str| {
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        let ran = sweep(folder.path(), &["study.toml"]);
        assert_eq!(ran.status, 0);
        let bars = "speedup over sms 2 on gtx480 by gpu.sms and target\n  \
                    vectoradd      4    ";
        assert_eq!(ran.out.contains(bars), !text.contains("map"), "{}", ran.out);
        let mean = ran.out.contains("\n  geometric mean 4    ");
        assert_eq!(mean, !text.contains("map"), "{}", ran.out);
        let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json"));
        json(&page.unwrap())["charts"][0].clone()
    };
    let bars = &chart(text)["bars"];
    let groups = serde_json::json!(["vectoradd", "spmv", "geometric mean"]);
    assert_eq!(bars["groups"], groups);
    // The baseline has no bars, and the line at 1 stands for it.
    assert_eq!(bars["series"].as_array().map(Vec::len), Some(1));
    let values = &bars["series"][0]["values"];
    let value = |at: usize| values[at].as_f64().unwrap();
    assert!(
        (value(0) * value(1) - value(2) * value(2)).abs() < 1e-9,
        "{values}"
    );
    assert!(chart(&format!("{text}chart = \"map\"\n"))["heat"].is_object());
}

/// The file of a machine is named by the name in it, or else by its own. A map is printed, too.
#[test]
fn machines_of_files_have_names_and_maps_are_printed() {
    let text = "[axes]\ntarget = \"vectoradd\"\nsize = \"test\"\n\"gpu.sms\" = [2, 4]\n\
                gpu = [\"own.toml\", \"small.toml\"]\n[report]\nbaseline = { sms = 2 }\n";
    let folder = folder_of(text);
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "own.toml",
        "base = \"gtx480\"\nname = \"big-l1\"\n[l1d]\nsets = 64\n",
    );
    write("small.toml", "base = \"gtx480\"\n[l1d]\nsets = 16\n");
    let out = sweep(folder.path(), &["study.toml"]).out;
    let map = "speedup over sms 2: vectoradd by gpu.sms and gpu\n\
               gpu.sms  big-l1  small\n\
               2          1.00   1.00\n\
               4          ";
    assert!(out.contains(map), "{out}");
    write("study.toml", &text.replace(", \"small.toml\"", ""));
    let out = sweep(folder.path(), &["study.toml"]).out;
    assert!(
        out.contains("speedup over sms 2: vectoradd on big-l1 by gpu.sms\n"),
        "{out}"
    );
    write("study.toml", &text.replace("\"own.toml\", ", ""));
    let out = sweep(folder.path(), &["study.toml"]).out;
    assert!(
        out.contains("speedup over sms 2: vectoradd on small by gpu.sms\n"),
        "{out}"
    );
    assert!(!out.contains(&*folder.path().to_string_lossy()), "{out}");
}

/// Versions of a kernel: each one's speedup over the first, and no mean that the first takes part
/// in.
#[test]
fn speedups_of_versions_are_over_the_first() {
    let versions = "[axes]\ntarget = [\"vectoradd\", \"spmv\"]\nsize = \"test\"\n";
    let baseline = "[report]\nbaseline = { target = \"vectoradd\" }\n";
    let shown = |axes: &str| {
        let text = format!("{versions}{axes}{baseline}");
        let folder = folder_of(&text);
        let ran = sweep(folder.path(), &["study.toml"]);
        assert_eq!(ran.status, 0);
        assert!(!ran.out.contains("geometric mean"), "{}", ran.out);
        let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json"));
        (ran.out, json(&page.unwrap())["charts"][0]["bars"].clone())
    };
    let (out, bars) = shown("");
    assert!(
        out.contains("speedup over vectoradd on gtx480 by target"),
        "{out}"
    );
    assert!(out.contains("\n  spmv      speedup    0."), "{out}");
    let mut bounds = out.lines().skip_while(|line| !line.ends_with("bound"));
    let header: Vec<_> = bounds.next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["run", "cycles", "speedup", "bound"]);
    let told = bounds.next().unwrap();
    let ends_in_words = told.trim_end().ends_with(|c: char| c.is_alphabetic());
    assert!(told.contains("vectoradd") && ends_in_words, "{out}");
    assert_eq!(bars["groups"], serde_json::json!(["vectoradd", "spmv"]));
    assert_eq!(bars["series"][0]["name"], "speedup");
    let (out, _) = shown("\"gpu.sms\" = [2, 4]\n");
    assert!(out.contains("\n  spmv      2    0."), "{out}");
}

#[test]
fn a_baseline_without_its_axis_is_corrected() {
    let folder = folder_of(
        "[axes]\ntarget = \"bfs\"\n\"sm.warp_scheduler\" = [\"lrr\", \"gto\"]\n[report]\n\
         metric = \"speedup\"\nbaseline = \"gto\"\nchart = \"pie\"",
    );
    let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    let help = "write `baseline = { warp_scheduler = \"gto\" }`";
    assert!(message.contains(help), "{message}");
    assert!(message.contains("there is no chart `pie`"), "{message}");
    assert_eq!(message.matches("error").count(), 2, "{message}");
}

const KERNEL: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry spin(.param .u32 n)\n\
    {\n.reg .u32 %r<3>;\n.reg .pred %p;\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n\
    LOOP:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, %r1;\n@%p bra LOOP;\nret;\n}\n";

/// A sweep over a kernel that spins for a given number of turns.
fn spinning(turns: &str, limits: &str) -> tempfile::TempDir {
    let folder = folder_of(&format!(
        "name = \"{{args}}\"\n[axes]\ntarget = \"spin.ptx\"\ngrid = 1\nblock = 32\n\
         \"gpu.sms\" = 1\nargs = [{turns}]\n{limits}\n"
    ));
    std::fs::write(folder.path().join("spin.ptx"), KERNEL).unwrap();
    folder
}

#[test]
fn limits_end_a_run_and_no_other() {
    let folder = spinning("10, 2000000000", "[limits]\ntime = \"4s\"");
    let ran = sweep(folder.path(), &["study.toml", "--watch=1"]);
    assert_eq!(ran.status, 1);
    // Without a terminal, progress is told in lines.
    assert!(
        ran.err.contains("of 2 runs; running 2000000000\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("2000000000 time: stopped after 4 s"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("--kernel") || ran.err.contains("warploom run"),
        "{}",
        ran.err
    );
    let found = rows(folder.path());
    assert_eq!(
        (
            found["10"]["status"].as_str(),
            found["2000000000"]["status"].as_str()
        ),
        ("finished", "time")
    );
    assert_eq!(left_behind(folder.path()), 0);

    let folder = spinning("10", "[limits]\nmemory = \"1MiB\"");
    sweep(folder.path(), &["study.toml"]);
    let status = rows(folder.path())["10"]["status"].clone();
    // A run may end before its memory is looked at.
    assert!(status == "memory" || status == "finished", "{status}");
    let folder = spinning("2000000000", "[limits]\nmemory = \"1MiB\"");
    sweep(folder.path(), &["study.toml"]);
    assert_eq!(rows(folder.path())["2000000000"]["status"], "memory");
}

#[test]
fn a_failure_is_told_with_its_command_and_runs_again_on_request() {
    let folder = folder_of("[axes]\ntarget = \"copy.toml\"\n\"gpu.sms\" = [1, 2]");
    let text = |expected: &str| {
        format!(
            "module = \"nothing.ptx\"\n[[buffer]]\nname = \"b\"\ntype = \"u32\"\nshape = [4]\n\
             init = \"constant\"\nvalue = 3\n[[launch]]\nkernel = \"nothing\"\ngrid = 1\nblock = 32\n\
             args = [\"b\"]\n[[expect]]\nbuffer = \"b\"\n{expected}\n"
        )
    };
    let kernel = ".version 7.0\n.target sm_70\n.address_size 64\n\
                  .visible .entry nothing(.param .u64 b)\n{\nret;\n}\n";
    std::fs::write(folder.path().join("nothing.ptx"), kernel).unwrap();
    let write = |expected| std::fs::write(folder.path().join("copy.toml"), text(expected)).unwrap();
    write("constant = 4");
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 1);
    let command = "copy.toml --gpu gtx480 --set gpu.sms=1";
    let told = format!("{command}` runs it alone");
    assert!(ran.err.contains(&told), "{}", ran.err);
    assert_eq!(warploom_in(folder.path(), &["report", "results"]).status, 0);
    let page = std::fs::read_to_string(folder.path().join("results/index.html")).unwrap();
    assert!(page.contains("Runs without a result") && page.contains(command));
    let status = sweep(folder.path(), &["status", "study.toml", "--json"]);
    assert_eq!(json(&status.out)["failed"]["failed"], 2);
    // Without a request, failed runs stay failed.
    assert!(
        sweep(folder.path(), &["study.toml"])
            .err
            .contains("2 failed earlier")
    );
    let retried = sweep(folder.path(), &["retry", "study.toml", "--run", "1"]);
    assert!(retried.out.contains("1 runs wait again"), "{}", retried.out);
    // The file changes while the run waits: a worker does not take it for the planned one.
    write("constant = 3");
    sweep(folder.path(), &["worker", "results/sweep/study"]);
    sweep(folder.path(), &["collect", "study.toml"]);
    assert!(rows(folder.path())["1"]["reason"].contains("has changed since the sweep began"));
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(
        (ran.status, rows(folder.path())["2"]["status"].as_str()),
        (0, "finished"),
        "{}",
        ran.err
    );
}

#[test]
fn a_worker_stops_in_time_and_asks_to_be_started_again() {
    let folder = spinning("2000000000, 10, 20", "");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(["sweep", "study.toml", "--threads", "1"]);
    let mut command = command.current_dir(folder.path()).spawn().unwrap();
    let running = || json(&sweep(folder.path(), &["status", "study.toml", "--json"]).out);
    let begun = || {
        folder
            .path()
            .join("results/sweep/study/sweep.json")
            .exists()
    };
    while !begun() || running()["running"] != 1 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    command.kill().unwrap();
    command.wait().unwrap();
    let worker = [
        "worker",
        "results/sweep/study",
        "--threads",
        "1",
        "--time",
        "8s",
    ];
    let ran = sweep(folder.path(), &worker);
    assert_eq!(ran.status, 75, "{}", ran.err);
    assert_eq!(left_behind(folder.path()), 2, "two runs wait");
    sweep(folder.path(), &["collect", "study.toml"]);
    let row = &rows(folder.path())["2000000000"];
    assert_eq!(row["status"], "time");
    assert!(
        row["reason"].contains("the time of the whole job was over"),
        "{row:?}"
    );
    assert_eq!(sweep(folder.path(), &worker).status, 0);
}

#[test]
fn a_cancelled_sweep_waits_until_it_goes_on() {
    let folder = spinning("10, 20", "");
    let begun = sweep(folder.path(), &["study.toml", "--dry-run"]);
    assert_eq!(begun.status, 0);
    assert_eq!(sweep(folder.path(), &["study.toml"]).status, 0);
    assert_eq!(sweep(folder.path(), &["cancel", "study.toml"]).status, 0);
    let status = sweep(folder.path(), &["status", "study.toml"]).out;
    assert!(status.contains("The sweep is cancelled"), "{status}");
    assert_eq!(sweep(folder.path(), &["study.toml"]).status, 0);
    let status = json(&sweep(folder.path(), &["status", "study.toml", "--json"]).out);
    assert_eq!(
        (&status["is_cancelled"], &status["finished"]),
        (&false.into(), &2.into())
    );
}

#[test]
fn the_example_is_what_its_page_shows_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = root.join("examples/sweep/saxpy-sweep.toml");
    let text = std::fs::read_to_string(&example).unwrap();
    let page = std::fs::read_to_string(root.join("docs/sweeps.md")).unwrap();
    let shown = text.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert!(page.contains(&shown), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let ran = sweep(folder.path(), &[example.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        ran.out.contains("12 runs finished, 0 failed"),
        "{}",
        ran.out
    );
    let table = folder.path().join("results/sweep/saxpy-sweep.csv");
    let table = std::fs::read_to_string(table).unwrap();
    let header = table.lines().next().unwrap();
    assert!(header.contains(",speedup,digest,"), "{header}");
    let first = table.lines().nth(1).unwrap();
    assert!(
        first.starts_with("lrr-1,../saxpy/saxpy.toml,lrr,1,finished,"),
        "{first}"
    );
    // The page shows the map.
    let ran = warploom_in(folder.path(), &["report", "results"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let page = std::fs::read_to_string(folder.path().join("results/index.html")).unwrap();
    let title = "speedup over lrr, max_blocks_per_sm 1: saxpy on gtx480 by sm.warp_scheduler and \
                 gpu.max_blocks_per_sm";
    assert!(page.contains(title) && page.contains("oldest"), "no map");
    let text = std::fs::read_to_string(folder.path().join("results/sweep/saxpy-sweep.json"));
    let map = &json(&text.unwrap())["charts"][0]["heat"];
    assert_eq!(map["rows"], serde_json::json!(["lrr", "gto", "oldest"]));
    assert_eq!(map["columns"].as_array().unwrap().len(), 4);
    assert_eq!(map["values"][0][0], 1.0);
}

/// Cut runs are named where results are read, and a title says over what a cell is a mean.
#[test]
fn a_sweep_says_what_was_cut_and_over_what_cells_are_means() {
    let axes = "[axes]\ntarget = [\"vectoradd\", \"spmv\"]\nsize = \"test\"\n\
                sm.warp_scheduler = [\"lrr\", \"gto\"]\ngpu.sms = [2, 4]\n";
    let report = "[report]\nrows = \"warp_scheduler\"\ncolumns = \"target\"\n\
                  baseline = { warp_scheduler = \"lrr\" }\n";
    let folder = folder_of(&format!("{axes}max_cycles = 1000\n{report}"));
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let title = "speedup over lrr by sm.warp_scheduler and target, first 1,000 cycles: geometric \
                 mean over gpu.sms (2, 4)";
    let title = title.replace("lrr by", "lrr on gtx480 by");
    let note = "note: 8 of 8 runs were cut at max_cycles 1,000: their speedups are ratios of IPC in \
                that time";
    for told in [title.as_str(), note, "speedup over lrr (ratio of IPC)"] {
        assert!(ran.out.contains(told), "{}", ran.out);
    }
    // A whole sweep has no note, and its file may give the title.
    let titled = format!("{axes}{report}title = \"Schedulers for the talk\"\n");
    let folder = folder_of(&titled);
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("Schedulers for the talk"), "{}", ran.out);
    assert!(!ran.out.contains("cut"), "{}", ran.out);
    let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json")).unwrap();
    let page = json(&page);
    assert_eq!(page["title"], "Schedulers for the talk");
    // A title of the file does not hide what a picture is of.
    let charts = page["charts"].as_array().unwrap().iter();
    let titles = charts.map(|chart| chart["bars"]["title"].as_str().unwrap());
    let expected = [
        "Schedulers for the talk: sms 2",
        "Schedulers for the talk: sms 4",
        "Schedulers for the talk: geometric mean over gpu.sms (2, 4)",
    ];
    assert_eq!(titles.collect::<Vec<_>>(), expected);
    // A map has no axis with a label: below its title stands what it shows.
    std::fs::write(
        folder.path().join("study.toml"),
        format!("{titled}chart = \"map\"\n"),
    )
    .unwrap();
    let out = sweep(folder.path(), &["study.toml"]).out;
    let shown = "Schedulers for the talk: sms 2\nspeedup over lrr on gtx480\n";
    assert!(out.contains(shown), "{out}");
    let picture = std::fs::read_to_string(folder.path().join("results/sweep/study.svg")).unwrap();
    assert!(picture.contains("speedup over lrr on gtx480"), "{picture}");
}
