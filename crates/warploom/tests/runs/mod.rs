//! Runs of workloads, launch files and PTX files: exit status, digest, and default machine.

use crate::folder_with;
use crate::support::{json, output, refusal, warploom_in};

/// Requests in flight make progress even with the shortest possible queues.
#[test]
fn the_shortest_queues_let_programs_end() {
    let least = [
        ("gtx480", "l1d.miss_queue=2"),
        ("gtx480", "l2.miss_queue=3"),
        ("gtx480", "noc.boundary_buffer=5"),
        ("qv100-volta", "l1d.miss_queue=2"),
        ("qv100-volta", "l2.miss_queue=2"),
        ("rtx3070-ampere", "l1d.miss_queue=2"),
    ];
    for (gpu, set) in least {
        for workload in ["spmv", "histogram"] {
            output(&[
                "run", workload, "--size", "test", "--gpu", gpu, "--set", set,
            ]);
        }
    }
}

#[test]
fn a_wrong_output_is_status_1() {
    let folder = folder_with("buffer = \"b\"\nconstant", "buffer = \"c\"\nconstant");
    let ran = warploom_in(folder.path(), &["run", "run.toml"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let check = "check c FAILED: 999 of 1000 differ, first at 1: 1.5 instead of 0.5";
    assert!(ran.out.contains(check), "{}", ran.out);
}

/// The note on a buffer of another type is repeated where a check of the launch fails.
#[test]
fn a_wrong_output_is_told_with_the_buffers_that_the_kernel_misreads() {
    let folder = folder_with("buffer = \"b\"\nconstant", "buffer = \"c\"\nconstant");
    let path = folder.path().join("run.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let wide = text.replacen("type = \"f32\"", "type = \"f64\"", 1);
    std::fs::write(&path, wide).unwrap();
    let ran = warploom_in(folder.path(), &["run", "run.toml"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("which has another size"), "{}", ran.err);
    let check = ran
        .out
        .lines()
        .find(|line| line.starts_with("check c FAILED"));
    let told = "; buffer `a` has elements of type f64, and `vector_add` accesses f32 there";
    assert!(
        check.is_some_and(|check| check.ends_with(told)),
        "{}",
        ran.out
    );
}

/// A file of another type is refused with what the kernel reads.
#[test]
fn an_array_of_another_type_is_told_with_what_the_kernel_reads() {
    let folder = folder_with("init = \"iota\"", "init = \"a.npy\"");
    let entries = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000,), }";
    let header = format!("{entries:<117}\n");
    let mut file = [b"\x93NUMPY\x01\x00".as_slice(), &118_u16.to_le_bytes()].concat();
    file.extend(header.bytes().chain([0; 8000]));
    std::fs::write(folder.path().join("a.npy"), file).unwrap();
    let told = refusal(folder.path(), 2, &["run", "run.toml"]);
    let remedy = "`vector_add` accesses f32 there: save f32 with NumPy's `.astype(\"float32\")`\n";
    assert!(told.contains(remedy), "{told}");
}

#[test]
fn a_fault_is_status_1() {
    let folder = folder_with("\"c\", 1000]", "\"c\", 1024]");
    let ran = warploom_in(folder.path(), &["run", "run.toml"]);
    assert_eq!(ran.status, 1, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("FAULT: ") && ran.out.contains("vector_add"),
        "{}",
        ran.out
    );
}

#[test]
fn a_cycle_limit_that_was_asked_for_is_no_failure() {
    let ran = output(&["run", "vectoradd", "--size", "test", "--max-cycles", "50"]);
    assert!(ran.contains("stopped at --max-cycles 50"), "{ran}");
    let cut = |launches| {
        let run = ["run", "hotspot", "--size", "test", "--max-cycles", "3000"];
        output(&[&run[..], launches].concat())
    };
    for note in [
        "note: fewer than two waves of blocks ended",
        "note: cut in launch 1 of 2: later launches are not in the result\n",
    ] {
        assert!(cut(&[]).contains(note), "{note}: {}", cut(&[]));
    }
    // Launches that were not timed are not counted.
    let open = cut(&["--skip-launches", "1"]);
    assert!(open.contains("later launches, if there are any"), "{open}");
    let both = [
        "run",
        "vectoradd",
        "hotspot",
        "--size",
        "test",
        "--max-cycles",
        "3000",
    ];
    let both = output(&both);
    let told = "  vectoradd: had ended\n  hotspot: launch 1 had ended ";
    assert!(both.contains(told), "{both}");
}

/// Programs at once are explained together and one by one, and a comparison names the same bound.
#[test]
fn programs_at_once_are_explained() {
    let both = ["vectoradd", "hotspot", "--size", "test"];
    let told = output(&[&["run"], &both[..], &["--explain"]].concat());
    let (_, told) = told
        .split_once("explanation of 2 programs at once\n")
        .unwrap();
    for part in [
        "\nvectoradd\n- It runs from cycle 0",
        "\nhotspot\n- It runs from cycle 0",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let compared = ["--vary", "gpu.multiprogram=left-over,even", "--json"];
    let compared = json(&output(&[&["compare"], &both[..], &compared].concat()));
    let bound = compared["rows"][0]["bound"].as_str().unwrap();
    let first = format!("- The bound of all programs together is: {bound}.");
    let unwrapped = told.replace("\n  ", " ");
    assert!(unwrapped.starts_with(&first), "{bound}: {told}");
}

#[test]
fn a_ptx_file_runs_from_the_command_line() {
    let folder = folder_with("", "");
    let launch = [
        "run",
        "kernel.ptx",
        "--kernel",
        "vector_add",
        "--grid",
        "4",
        "--block",
        "256",
    ];
    let inputs = ["--arg", "f32[1000]=iota", "--arg", "f32[1000]=0.5"];
    let others = ["--arg", "f32[1000]", "--arg", "1000", "--json"];
    let ran = warploom_in(
        folder.path(),
        &[&launch[..], &inputs[..], &others[..]].concat(),
    );
    assert_eq!(ran.status, 0, "{}", ran.err);
    let result = json(&ran.out);
    assert_eq!(result["kernels"][0]["grid"], serde_json::json!([4, 1, 1]));
    // The same launch as the file's leaves the same memory and therefore has the same digest.
    let file = warploom_in(folder.path(), &["run", "run.toml", "--json"]);
    assert_eq!(result["digest"], json(&file.out)["digest"]);
}

#[test]
fn results_are_the_same_twice_and_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str, file: &str| {
        let target = ["run", "transpose", "--size", "test"];
        let options = ["--threads", threads, "--stats", file];
        let ran = warploom_in(folder.path(), &[&target[..], &options[..]].concat());
        assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
        json(&std::fs::read_to_string(folder.path().join(file)).unwrap())
    };
    let first = run("1", "1.json");
    assert_eq!(first["digest"], run("1", "1.json")["digest"]);
    assert_eq!(first["digest"], run("2", "2.json")["digest"]);
    let stalls = first["totals"]["stalls"].as_object().unwrap().values();
    let sum: f64 = stalls.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let command = first["command"].as_str().unwrap();
    assert!(
        command.starts_with("warploom run transpose --size test"),
        "{command}"
    );
}

#[test]
fn an_abbreviation_of_a_paper_brings_its_registers_and_machine() {
    let registers = |target: &str| {
        let args = [
            "run",
            target,
            "--size",
            "test",
            "--max-cycles",
            "100",
            "--json",
        ];
        let ran = warploom_in(std::path::Path::new("."), &args);
        let result = json(&ran.out);
        let registers = result["kernels"][0]["registers_per_thread"].clone();
        (registers, result["gpu"]["name"].clone(), ran.err)
    };
    let (count, gpu, note) = registers("slicer/MVP");
    assert_eq!((count, gpu), (16.into(), "fermi-slicer".into()));
    let said = "note: slicer/MVP on fermi-slicer, the paper's machine; --gpu chooses another\n";
    assert_eq!(note, said);
    let (count, gpu, note) = registers("spmv");
    assert_ne!(count, 16);
    assert_eq!((gpu, note), ("gtx480".into(), String::new()));
}

/// A page of a run, and the same page of the stored result. Windows are recorded for the page
/// alone.
#[test]
fn a_run_has_a_page_for_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let energy = "run transpose --size test --energy --html run.html --stats r.json --json";
    let ran = warploom_in(folder.path(), &energy.split(' ').collect::<Vec<_>>());
    let wrote = "wrote r.json\nwrote run.html\n";
    assert_eq!((ran.status, ran.err.as_str()), (0, wrote));
    assert!(json(&ran.out).get("series").is_none());
    let page = text("run.html");
    for part in [
        "Scheduler cycles by cause",
        "network SM to L2",
        "Energy by component",
        "gpu.sms",
        " of the cycles.<br>",
        json(&ran.out)["digest"].as_str().unwrap(),
    ] {
        assert!(page.contains(part), "{part}");
    }
    let stored = warploom_in(folder.path(), &["report", "r.json", "-o", "stored.html"]);
    assert_eq!(
        (stored.status, stored.out.as_str()),
        (0, "wrote stored.html\n")
    );
    assert!(text("stored.html").contains("Scheduler cycles by cause"));
    let own = warploom_in(folder.path(), &["report", "r.json", "-o", "r.json"]);
    assert!(
        own.err.contains("--output would overwrite r.json"),
        "{}",
        own.err
    );
}
