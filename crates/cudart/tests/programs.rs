//! Tests with CUDA programs that use the library. They are built by compilers of CUDA 11, 12 and 13
//! (`cargo xtask cuda-programs`). Each program checks itself and reports errors.

mod checkpoints;
mod compiled;
mod driver;
mod example;
mod signals;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use warploom_app::{SETTINGS_VARIABLE, stub};

/// Path at which cargo builds the library for these tests.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let places = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(stub::LIBRARY));
    let found: Vec<_> = places.filter(|path| path.is_file()).collect();
    found
        .first()
        .expect("cargo builds the library before its tests")
        .clone()
}

/// Creates a folder with the library and the stub libraries that programs request.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    stub::write_all(folder.path(), &library()).expect("written");
    std::os::unix::fs::symlink(library(), folder.path().join(stub::LIBRARY)).expect("linked");
    folder
}

struct Ran {
    folder: tempfile::TempDir,
    output: Output,
}

impl Ran {
    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn result(&self) -> Option<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.path().join("result.json")).ok()?;
        Some(serde_json::from_str(&text).expect("whole"))
    }

    /// Files that the program created, without those that existed before.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.retain(|name| !name.starts_with("lib"));
        names.sort();
        names
    }
}

/// Folder with the programs of a release of CUDA.
fn built(release: u32) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    programs.join(release.to_string())
}

fn run(release: u32, program: &str, arguments: &[&str], settings: &str) -> Ran {
    let folder = folder();
    let stats = folder.path().join("result.json");
    let settings = settings.replace("STATS", &stats.display().to_string());
    let output = Command::new(built(release).join(program))
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder.path())
        .env(SETTINGS_VARIABLE, settings)
        .output()
        .expect("it starts");
    Ran { folder, output }
}

const QUIET: &str = "{\"quiet\": true, \"stats\": \"STATS\"}";
const FUNCTIONAL: &str = "{\"quiet\": true, \"functional\": true, \"stats\": \"STATS\"}";

fn check(release: u32, program: &str, settings: &str) -> Ran {
    let ran = run(release, program, &[], settings);
    let (out, err) = (ran.stdout(), ran.stderr());
    assert!(
        ran.output.status.success(),
        "{release} {program}:\n{out}{err}"
    );
    assert!(
        out.ends_with("all right\n"),
        "{release} {program}:\n{out}{err}"
    );
    ran
}

#[test]
fn memory_of_every_kind() {
    for release in [11, 13] {
        let ran = check(release, "memory", QUIET);
        assert_eq!(ran.stderr(), "");
    }
    check(13, "memory", FUNCTIONAL);
}

#[test]
fn launches_and_what_is_known_of_functions() {
    for release in [12, 13] {
        check(release, "launch", QUIET);
    }
}

#[test]
fn clusters_of_several_blocks() {
    let gpu = "{\"gpu\": \"h100-hopper\", ";
    for settings in [QUIET, FUNCTIONAL] {
        check(13, "cluster", &settings.replacen('{', gpu, 1));
    }
}

#[test]
fn streams_events_and_threads() {
    let ran = check(13, "stream", QUIET);
    assert!(ran.stdout().starts_with("longer: yes"), "{}", ran.stdout());
    check(13, "stream", FUNCTIONAL);
    check(13, "stream-per-thread", QUIET);
    check(13, "stream-per-thread", FUNCTIONAL);
}

#[test]
fn copies_to_memory_that_is_not_pinned_are_done_when_they_return() {
    check(13, "transfer", QUIET);
    check(13, "transfer", FUNCTIONAL);
}

#[test]
fn graphs_are_captured_put_together_changed_and_replayed() {
    for program in ["graph", "graph-per-thread"] {
        // Branches of a graph run at the same time.
        let ran = check(13, program, QUIET);
        let said = ran.stdout();
        assert!(said.starts_with("at the same time: yes"), "{said}");
        assert_eq!(ran.stderr(), "");
        check(13, program, FUNCTIONAL);
    }
}

#[test]
fn pools_give_memory_in_the_order_of_streams() {
    for program in ["pool", "pool-per-thread"] {
        check(13, program, QUIET);
        check(13, program, FUNCTIONAL);
    }
}

#[test]
fn textures_by_object_and_by_reference() {
    check(11, "reference", QUIET);
    check(12, "texture", QUIET);
    check(13, "texture", QUIET);
}

#[test]
fn mipmaps_views_and_colours_of_borders() {
    check(13, "mipmap", QUIET);
    check(13, "mipmap", FUNCTIONAL);
}

#[test]
fn the_device_and_what_it_does_not_do() {
    for release in [11, 12, 13] {
        let ran = check(release, "device", QUIET);
        assert!(
            ran.stdout().starts_with("Warploom gtx480 2.0\n"),
            "{}",
            ran.stdout()
        );
        // The function is called twice but reported once.
        let told = "warploom: cudaIpcGetMemHandle (each process has a GPU of its own) is not supported: it \
             returns cudaErrorNotSupported\n";
        assert_eq!(ran.stderr(), told);
    }
}

#[test]
fn results_are_those_of_every_launch() {
    let ran = check(13, "fault", "{\"stats\": \"STATS\"}");
    let result = ran.result().expect("a result");
    assert_eq!(result["kernels"][0]["name"], "_Z3setPii");
    assert_eq!(result["outcome"]["kind"], "finished");
    assert!(result["totals"]["cycles"].as_u64() > Some(0));
    assert!(
        ran.stderr().contains("\nset "),
        "the report, with names in C++:\n{}",
        ran.stderr()
    );
    let again = check(13, "fault", QUIET).result().expect("a result");
    assert_eq!(again["digest"], result["digest"]);
}

#[test]
fn energy_is_in_the_result_and_in_the_report() {
    let settings = "{\"stats\": \"STATS\", \"energy\": \"\"}";
    let ran = check(13, "fault", settings);
    let energy = &ran.result().expect("a result")["totals"]["energy"];
    assert_eq!(energy["preset"], "gtx480");
    assert!(energy["joules"].as_f64() > Some(0.0), "{energy}");
    assert!(
        ran.stderr().contains("energy (gtx480): "),
        "{}",
        ran.stderr()
    );
    let ran = run(13, "fault", &[], "{\"energy\": \"qv10\"}");
    assert!(!ran.output.status.success());
    assert!(
        ran.stderr().contains("did you mean `qv100`?"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn timelines_show_what_warps_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.json");
    let settings = serde_json::json!({"quiet": true, "trace": trace});
    check(13, "fault", &settings.to_string());
    let text = std::fs::read_to_string(&trace).expect("a timeline");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("whole");
    let events = trace["traceEvents"].as_array().expect("a list");
    assert!(events.iter().any(|event| event["name"] == "runs"));
}

#[test]
fn programs_that_ask_nothing_of_the_gpu_are_told_so() {
    let ran = run(13, "fault", &["nothing"], "{}");
    assert!(ran.output.status.success(), "{}", ran.stdout());
    assert!(
        ran.stderr().contains("asked nothing of the GPU"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn launches_are_timed_by_place_and_by_name() {
    let timed = |settings: &str| {
        let ran = check(13, "memory", settings);
        let result = ran.result().expect("a result");
        let kernels = result["kernels"].as_array().expect("a list").clone();
        kernels
            .iter()
            .map(|k| k["name"].as_str().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    let all = timed(QUIET);
    assert_eq!(all.len(), 6);
    let some = "{\"quiet\": true, \"stats\": \"STATS\", \"launches\": {\"start\": 1, \"end\": 3}}";
    assert_eq!(timed(some), all[1..3]);
    let named = "{\"quiet\": true, \"stats\": \"STATS\", \"kernels\": [\"walk\"]}";
    assert_eq!(timed(named), ["_Z4walkP4node", "_Z4walkP4node"]);
}

/// The program detects that the run ended early and reports success. Its exit status becomes 1.
fn check_early_end(program: &str, what: &str, settings: &str) -> Ran {
    let ran = run(13, program, &[what], settings);
    let (out, err) = (ran.stdout(), ran.stderr());
    assert!(
        out.ends_with("all right\n"),
        "{program} {what}:\n{out}{err}"
    );
    let status = ran.output.status.code();
    assert_eq!(status, Some(1), "{program} {what}:\n{out}{err}");
    ran
}

#[test]
fn registers_are_those_that_are_said() {
    let registers = |said: &str| {
        let settings = format!("{{\"quiet\": true, \"stats\": \"STATS\"{said}}}");
        let result = check(13, "fault", &settings).result().expect("a result");
        result["kernels"][0]["registers_per_thread"].as_u64()
    };
    let counted = registers("").expect("a number");
    assert_ne!(counted, 40);
    assert_eq!(
        registers(", \"registers\": {\"Z3set\": 40, \"set\": 20}"),
        Some(40)
    );
    assert_eq!(registers(", \"registers\": {\"other\": 40}"), Some(counted));
}

#[test]
fn programs_are_checked_for_what_no_fault_shows() {
    let settings = "{\"quiet\": true, \"stats\": \"STATS\", \"check\": [\"uninitialised\"]}";
    for (what, found) in [("", 0), ("unwritten", 1)] {
        let ran = run(13, "fault", &[what], settings);
        assert_eq!(ran.output.status.success(), found == 0, "{}", ran.stdout());
        let result = ran.result().expect("a result");
        let findings = result["findings"].as_array().map_or(0, Vec::len);
        assert_eq!(findings, found, "{result}");
    }
}

#[test]
fn faults_stay_and_are_told() {
    for what in ["address", "misaligned"] {
        let ran = check_early_end("fault", what, QUIET);
        assert!(
            ran.stderr().contains("PTX line"),
            "{what}: {}",
            ran.stderr()
        );
        assert_eq!(ran.result().expect("a result")["outcome"]["kind"], "fault");
    }
}

#[test]
fn programs_that_ignore_a_fault_end_with_it() {
    for (what, status) in [("ignored", 1), ("own", 7)] {
        for settings in ["{}", QUIET, "{\"functional\": true}"] {
            let ran = run(13, "fault", &[what], settings);
            assert_eq!(ran.output.status.code(), Some(status), "{what} {settings}");
            let told = ran.stderr();
            let last = told.lines().rfind(|line| line.starts_with("warploom: "));
            let last = last.expect("something is told");
            let fault = "warploom: FAULT: access out of bounds in kernel `set`, PTX line";
            assert!(last.starts_with(fault), "{told}");
        }
    }
}

#[test]
fn memory_may_be_protected_by_pages() {
    let settings = "{\"quiet\": true, \"page_protection\": true}";
    check(13, "fault", settings);
    check_early_end("fault", "page", settings);
    let ran = run(13, "fault", &["page"], QUIET);
    assert!(!ran.stdout().ends_with("all right\n"), "{}", ran.stdout());
    // A context has memory of its own around the allocations.
    let ran = run(13, "fault", &["above"], settings);
    assert!(ran.output.status.success(), "{}", ran.stdout());
    let ran = run(13, "fault", &["above"], QUIET);
    assert!(
        ran.stderr().contains("128 bytes before"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn kernels_print_when_the_host_waits() {
    for settings in [QUIET, FUNCTIONAL] {
        let ran = check(13, "system", settings);
        let expected = "before\nlaunched\n\
             a=0 in block 0, a text,   0.0% -1 (nil)\n\
             b=0.25 in block 0, a text,   0.2% -2 (nil)\n\
             no arguments\n\
             after\n\
             000 029\n000 030\n000 031\n\
             all right\n";
        assert_eq!(ran.stdout(), expected);
        assert_eq!(ran.stderr(), "");
    }
}

#[test]
fn failed_assertions_stay_and_are_told() {
    let ran = check_early_end("system", "assert", QUIET);
    let told = "system.cu:20: void checked(int): assertion \
                `(int)threadIdx.x < most && \"too many\"` failed";
    assert!(ran.stderr().contains(told), "{}", ran.stderr());
    let outcome = &ran.result().expect("a result")["outcome"];
    assert_eq!(outcome["kind"], "assertion");
    assert_eq!(outcome["thread"], serde_json::json!([30, 0, 0]));
}

#[test]
fn kernels_take_memory_themselves() {
    check(13, "heap", QUIET);
    check(13, "heap", FUNCTIONAL);
    let ran = check_early_end("heap", "wrong", QUIET);
    assert!(
        ran.stderr().contains("malloc has not given"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn functions_call_themselves_and_by_pointers() {
    check(13, "calls", QUIET);
    check(13, "calls", FUNCTIONAL);
    let ran = check_early_end("calls", "deep", QUIET);
    assert!(ran.stderr().contains("stack overflow"), "{}", ran.stderr());
}

#[test]
fn surfaces_are_written_and_read() {
    check(13, "surface", QUIET);
    check(13, "surface", FUNCTIONAL);
    for what in ["outside", "reduced"] {
        let ran = check_early_end("surface", what, QUIET);
        let told = ran.stderr();
        assert!(told.contains("outside a surface"), "{what}: {told}");
    }
}

#[test]
fn surfaces_are_bound_to_references() {
    check(11, "surfref", QUIET);
    check(11, "surfref", FUNCTIONAL);
    let ran = run(11, "surfref", &["outside"], QUIET);
    assert_eq!(ran.output.status.code(), Some(1), "{}", ran.stdout());
    let told = ran.stderr();
    assert!(told.contains("outside a surface"), "{told}");
}

#[test]
fn grids_of_cooperative_launches_synchronise() {
    check(13, "grid", QUIET);
    check(13, "grid", FUNCTIONAL);
}

#[test]
fn matrices_are_multiplied_where_there_are_units_for_it() {
    let cycles = |latency: u64| {
        let set = [format!("sm.units.tensor_timing.latency_cycles={latency}")];
        let settings = serde_json::json!({
            "quiet": true, "stats": "STATS", "gpu": "qv100-volta", "set": set
        });
        let result = check(13, "tensor", &settings.to_string()).result();
        result.expect("a result")["totals"]["cycles"].as_u64()
    };
    // A kernel waits at least for its last product.
    let (fast, slow) = (cycles(64).expect("timed"), cycles(464).expect("timed"));
    assert!(slow >= fast + (464 - 64), "{fast}, {slow}");
    check(13, "tensor", FUNCTIONAL);
    let ran = run(13, "tensor", &["none"], QUIET);
    assert!(ran.output.status.success(), "{}", ran.stdout());
    let told = ran.stderr();
    assert!(told.contains("gtx480 has no tensor units"), "{told}");
}

#[test]
fn processes_that_end_otherwise_leave_nothing_half_done() {
    for what in ["abort", "_exit"] {
        let ran = run(13, "fault", &[what], QUIET);
        assert!(!ran.output.status.success());
        assert_eq!(ran.files(), Vec::<String>::new(), "{what}");
    }
    let ran = run(13, "fault", &["signal"], QUIET);
    assert_eq!(ran.output.status.code(), Some(4), "{}", ran.stderr());
    assert!(
        ran.stderr().contains("ended inside a call"),
        "{}",
        ran.stderr()
    );
    assert_eq!(ran.files(), Vec::<String>::new());
    let ran = run(13, "fault", &["leave"], QUIET);
    assert_eq!(ran.output.status.code(), Some(5), "{}", ran.stderr());
    assert_eq!(ran.result().expect("a result")["totals"]["launches"], 1);
    for what in ["fork", "leak"] {
        let ran = run(13, "fault", &[what], QUIET);
        assert!(ran.output.status.success(), "{what}: {}", ran.stdout());
        assert_eq!(ran.files(), ["result.json"], "{what}");
        let result = ran.result().expect("a result");
        assert_eq!(result["totals"]["launches"], 2, "{what}");
    }
}

#[test]
fn settings_that_are_wrong_are_told() {
    let ran = run(13, "fault", &[], "{\"gpu\": \"gtx48\"}");
    assert!(!ran.output.status.success());
    assert!(ran.stderr().contains("gtx480"), "{}", ran.stderr());
    assert!(
        ran.stdout().contains("cudaErrorInitializationError"),
        "{}",
        ran.stdout()
    );
}

#[test]
fn the_less_usual_members_of_families() {
    // Both kinds of default streams are tested.
    for (program, overlap) in [("family", "no"), ("family-per-thread", "yes")] {
        let ran = check(13, program, QUIET);
        let said = format!("overlap: {overlap}\n");
        assert!(
            ran.stdout().starts_with(&said),
            "{program}: {}",
            ran.stdout()
        );
        let told = ran.stderr();
        let told: Vec<&str> = told.lines().collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("cudaLaunchKernelExC with clusters is not supported"));
        assert!(told[1].contains("cudaCreateTextureObject with sRGB is not supported"));
        check(13, program, FUNCTIONAL);
    }
}

#[test]
fn calls_that_newer_releases_do_not_have() {
    for release in [11, 12] {
        let ran = check(release, "older", QUIET);
        assert_eq!(ran.stderr(), "");
    }
}

/// Names of the symbols that a library defines or requests.
fn symbols(file: &Path, defined: bool) -> BTreeSet<String> {
    use object::read::elf::{FileHeader, Sym};
    use object::{Endianness, elf};
    let file = std::fs::read(file).expect("a file");
    let header = elf::FileHeader64::<Endianness>::parse(&*file).expect("ELF");
    let endian = header.endian().expect("ours");
    let sections = header.sections(endian, &*file).expect("sections");
    let symbols = sections
        .symbols(endian, &*file, elf::SHT_DYNSYM)
        .expect("symbols");
    symbols
        .iter()
        .filter(|symbol| symbol.is_undefined(endian) != defined)
        .filter_map(|symbol| symbol.name(endian, symbols.strings()).ok())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Functions that NVIDIA's runtime exports in any release.
fn names() -> Vec<&'static str> {
    let lines = include_str!("exports.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let names: Vec<_> = lines.filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() > 500);
    names
}

/// Compilers generate calls of these functions only for programs with features that no test program
/// uses.
const OF_COMPILERS: [&str; 2] = ["__cudaRegisterHostVar", "__cudaRegisterUnifiedTable"];

/// Every supported function is called and checked by one of the test programs.
#[test]
fn programs_make_all_calls() {
    let mut called = BTreeSet::new();
    for release in [11, 12, 13] {
        let programs = std::fs::read_dir(built(release)).expect("a folder");
        for program in programs {
            called.extend(symbols(&program.expect("a program").path(), false));
        }
    }
    let table = include_str!("../src/unsupported.rs");
    let (_, table) = table.split_once("\nunsupported! {").expect("the table");
    let unsupported: BTreeSet<&str> = table.split_whitespace().collect();
    let names = names();
    let supported = names.iter().filter(|name| !unsupported.contains(**name));
    let missing: Vec<_> = supported
        .filter(|name| !called.contains(**name) && !OF_COMPILERS.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    for name in OF_COMPILERS {
        assert!(!called.contains(name), "{name} needs no exception");
    }
}

/// Every function that NVIDIA's runtime exports is defined, so that any program can be loaded.
#[test]
fn all_names_are_exported() {
    let exported = symbols(&library(), true);
    let names = names();
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !exported.contains(**name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
