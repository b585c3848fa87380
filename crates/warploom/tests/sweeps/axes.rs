//! Every kind of axis: a run of a sweep is the run that its command makes alone.

use super::{folder_of, left_behind, rows};
use crate::support::{Ran, json, ran};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Commands of all rows by the name of the run. The command is the last column and may have commas.
fn commands(folder: &Path) -> Vec<(String, String)> {
    let path = folder.join("results/sweep/study-costs.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let command = |line: &str| {
        let mut fields = line.splitn(7, ',');
        let name = fields.next().unwrap().to_owned();
        let command = fields.nth(5).unwrap();
        let inner = command
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let unquoted = inner.unwrap_or(command).replace("\"\"", "\"");
        (name, unquoted)
    };
    text.lines().skip(1).map(command).collect()
}

/// Runs the sweep of a folder with this build's library for CUDA programs.
fn sweep_with_library(folder: &Path) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(["sweep", "study.toml"]).current_dir(folder);
    command.env("WARPLOOM_CUDART", library());
    ran(command)
}

/// Digest of a run that a shell makes by this command.
fn digest_of(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_warploom"));
    let stats = folder.join("alone.json");
    let option = format!("--stats {}", stats.display());
    // Words after `--` belong to a CUDA program.
    let line = match command.split_once(" -- ") {
        Some((own, program)) => format!("{own} {option} -- {program}"),
        None => format!("{command} {option}"),
    };
    let folders = [program.parent().unwrap().to_owned()].into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line])
        .current_dir(folder)
        .env("PATH", path)
        .env("WARPLOOM_CUDART", library());
    let ran = shell.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{line}: {told}");
    let result = json(&std::fs::read_to_string(stats).unwrap());
    result["digest"].as_str().unwrap().to_owned()
}

/// Runs a sweep, and compares the digest of each row with that of its command.
fn compare(spec: &str, runs: usize) -> tempfile::TempDir {
    let folder = folder_of(spec);
    let ran = sweep_with_library(folder.path());
    assert_eq!(ran.status, 0, "{}", ran.err);
    let rows = rows(folder.path());
    let commands = commands(folder.path());
    assert_eq!((rows.len(), commands.len()), (runs, runs));
    for (name, command) in &commands {
        assert_eq!(
            rows[name]["digest"],
            digest_of(folder.path(), command),
            "{command}"
        );
    }
    assert_eq!(left_behind(folder.path()), 0);
    folder
}

#[test]
fn mixes_seeds_allocations_presets_and_files_run_as_alone() {
    let examples = root().join("examples/saxpy");
    let examples = examples.display();
    let spec = format!(
        "[axes]\nsize = \"test\"\n\
         [[product]]\naxes = {{ target = \"vectoradd + nn\", \"gpu.multiprogram\" = [\"even\", \"left-over\"] }}\n\
         [[product]]\naxes = {{ target = \"vectoradd + nn\", max_cycles = 3000, again = true }}\n\
         [[product]]\naxes = {{ target = \"vectoradd + nn\", instructions = \"9000 8000\" }}\n\
         [[product]]\naxes = {{ target = \"spmv\", seed = [1, 2], gpu = [\"gtx480\", \"maxwell-duet\"] }}\n\
         [[product]]\naxes = {{ target = \"crat/HST\", allocate = [24, 60] }}\n\
         [[product]]\naxes = {{ target = \"crat/HST\", allocate = 24, spill_shared = 8192 }}\n\
         [[product]]\naxes = {{ target = \"{examples}/saxpy.toml\" }}\n\
         [[product]]\naxes = {{ target = \"{examples}/saxpy.ptx\", grid = 4, block = [64, 128], shared = 1024, \
         args = \"256 2.0 f32[256]=iota f32[256]=1\" }}\n"
    );
    let folder = compare(&spec, 14);
    let rows = rows(folder.path());
    // If all were equal, the comparison would say nothing.
    let digests: std::collections::BTreeSet<_> = rows.values().map(|row| &row["digest"]).collect();
    assert!(digests.len() >= 12, "{rows:?}");
}

/// Sampled runs are those of their commands, and have margins in the table.
#[test]
fn sampled_runs_have_margins() {
    let spec = "[axes]\ntarget = \"gaussian\"\nsize = \"test\"\n\"gpu.sms\" = 3\nsample_error = \"5%\"\n\
                \"sm.warp_scheduler\" = [\"lrr\", \"gto\"]\n\
                [report]\nbaseline = { warp_scheduler = \"lrr\" }\n";
    let folder = compare(spec, 2);
    for (name, row) in &rows(folder.path()) {
        let number = |column: &str| row[column].parse::<f64>().unwrap();
        let bound = 0.06 * number("cycles");
        assert!((1.0..bound).contains(&number("cycles.margin")), "{row:?}");
        assert_eq!(row["status"], "sampled");
        let is_baseline = name.contains("lrr");
        assert_eq!(
            number("speedup.margin") == 0.0,
            is_baseline,
            "{name}: {row:?}"
        );
        assert_eq!(number("speedup") == 1.0, is_baseline, "{name}: {row:?}");
    }
    let page = folder.path().join("results/sweep/study.json");
    let page = json(&std::fs::read_to_string(page).unwrap());
    let note = page["notes"][0].as_str().unwrap();
    assert!(note.starts_with("2 of 2 runs are sampled: "), "{note}");
}

#[test]
fn settings_that_contradict_are_told_with_a_remedy() {
    for (axes, part) in [
        (
            "target = \"bfs\"\nsample_error = \"2\"",
            "write a percentage",
        ),
        (
            "target = \"bfs\"\nsample_error = \"2%\"\nmax_cycles = 9",
            "leave one of the two out",
        ),
        ("target = \"bfs\"\napp = \"./a\"", "both `app` and `target`"),
        ("target = \"bfs\"\nagain = true", "set `max_cycles`, too"),
        (
            "target = \"bfs + nn\"\ninstructions = \"5\"",
            "write one for each",
        ),
        (
            "target = \"bfs\"\nspill_shared = 64",
            "settings of the allocator need `allocate`",
        ),
        ("target = \"a.ptx\"\nallocate = 20", "`warploom crat` write"),
        ("app = \"./nothing 5\"", "there is no program"),
        ("app = \"./a 'b\"", "close all quotes"),
    ] {
        let folder = folder_of(&format!("[axes]\n{axes}\n"));
        let ran = sweep_with_library(folder.path());
        assert!(
            ran.status == 2 && ran.err.contains(part),
            "{part}: {}",
            ran.err
        );
    }
}

/// Path of the library for CUDA programs that cargo builds for the tests of the workspace.
fn library() -> std::path::PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_warploom")).parent().unwrap();
    own.join("deps/libwarploom_cudart.so")
}

/// A program of our own that CUDA 12's compiler has built, if there is a library for it.
fn cuda_program() -> Option<std::path::PathBuf> {
    let program = root().join("crates/cudart/tests/programs/12/launch");
    library().is_file().then_some(program)
}

#[test]
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
fn programs_are_targets_with_their_arguments() {
    let Some(program) = cuda_program() else {
        eprintln!("skipped: libwarploom_cudart.so is not built");
        return;
    };
    let spec = format!(
        "[axes]\napp = \"{} '{{scratch}}/a b'\"\n\"sm.warp_scheduler\" = [\"lrr\", \"gto\"]\n",
        program.display()
    );
    let folder = compare(&spec, 2);
    let again = sweep_with_library(folder.path());
    assert!(
        again.err.contains("2 runs, 2 finished already"),
        "{}",
        again.err
    );
}

/// A sweep over a script, which may start any program.
fn of_script(script: &str, limits: &str) -> tempfile::TempDir {
    let folder = folder_of(&format!("[axes]\napp = \"./script\"\n{limits}\n"));
    let path = folder.path().join("script");
    std::fs::write(&path, script).unwrap();
    let mut chmod = Command::new("chmod");
    assert!(chmod.arg("+x").arg(&path).status().unwrap().success());
    folder
}

/// Waits until a process that was killed has ended, which takes it a moment.
fn assert_ends(process: &str) {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if state.is_empty() || state.contains(") Z") {
            return;
        }
        assert!(Instant::now() < until, "{process} runs on: {state}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
fn a_program_is_stopped_at_the_limit_with_all_that_it_started() {
    if cuda_program().is_none() {
        eprintln!("skipped: libwarploom_cudart.so is not built");
        return;
    }
    let script = "#!/bin/sh\necho $$ > pid\nsleep 777 & echo $! >> pid\nwait\n";
    let folder = of_script(script, "[limits]\ntime = \"5s\"");
    let ran = sweep_with_library(folder.path());
    assert!(ran.err.contains("time: stopped after 5 s"), "{}", ran.err);
    let numbers = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    for process in numbers.lines() {
        assert_ends(process);
    }
    assert_eq!(left_behind(folder.path()), 0);
    for (script, part) in [
        ("#!/bin/sh\nexit 0\n", "asked nothing of the GPU"),
        (
            "#!/bin/sh\necho no input >&2\nexit 3\n",
            "exit status: 3: no input",
        ),
    ] {
        let folder = of_script(script, "");
        let ran = sweep_with_library(folder.path());
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

/// A file of CUDA source is compiled once for all launch files and machines, also for those that
/// are refused.
#[test]
fn cuda_source_of_several_launch_files_is_compiled_once() {
    let folder = folder_of(
        "[axes]\ntarget = [\"a.toml\", \"b.toml\"]\ngpu = [\"gtx480\", \"qv100-volta\"]\n",
    );
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
    std::fs::write(path("bounds.ptx"), include_str!("../bounds.ptx")).unwrap();
    std::fs::write(path("k.cu"), "// not read by this compiler\n").unwrap();
    // The compiler's arguments end with `-o FILE k.cu`.
    let script = "#!/bin/sh\necho once >>compiled\ncat bounds.ptx >\"$5\"\n";
    std::fs::write(path("compiler"), script).unwrap();
    let mut chmod = Command::new("chmod");
    assert!(
        chmod
            .arg("+x")
            .arg(path("compiler"))
            .status()
            .unwrap()
            .success()
    );
    let planned = |init: &str| {
        for (name, elements) in [("a.toml", 64), ("b.toml", 128)] {
            let launch = format!(
                "module = \"k.cu\"\n[[buffer]]\nname = \"x\"\ntype = \"f32\"\nshape = {elements}\n\
                 init = \"{init}\"\n[[launch]]\nkernel = \"compute\"\ngrid = 1\nblock = 64\n\
                 args = [\"x\", 8]\n"
            );
            std::fs::write(path(name), launch).unwrap();
        }
        let _ = std::fs::remove_file(path("compiled"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
        command
            .args(["sweep", "study.toml", "--dry-run"])
            .current_dir(folder.path());
        command.env("NVCC", path("compiler"));
        let planned = ran(command);
        assert_eq!(
            planned.err.matches("note: compiled ").count(),
            1,
            "{}",
            planned.err
        );
        assert_eq!(text("compiled"), "once\n");
        planned
    };
    let all = planned("zeros");
    assert_eq!(all.status, 0, "{}", all.err);
    let refused = planned("missing.npy");
    assert!(
        refused.err.contains("4 of 4 runs cannot be made"),
        "{}",
        refused.err
    );
}

/// A launch file that all runs read is noted upon once, whatever the number of seeds and machines.
#[test]
fn a_note_on_a_launch_file_is_given_once() {
    let folder = folder_of(
        "[axes]\ntarget = \"a.toml\"\nseed = [1, 2, 3]\ngpu = [\"gtx480\", \"qv100-volta\"]\n",
    );
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("bounds.ptx"), include_str!("../bounds.ptx")).unwrap();
    let launch = "module = \"bounds.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"f64\"\nshape = 64\n\
                  [[launch]]\nkernel = \"compute\"\ngrid = 1\nblock = 64\nargs = [\"x\", 8]\n";
    std::fs::write(path("a.toml"), launch).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command
        .args(["sweep", "study.toml", "--dry-run"])
        .current_dir(folder.path());
    let planned = ran(command);
    let notes = planned.err.matches("which has another size").count();
    assert_eq!(notes, 1, "{}", planned.err);
}
