//! Tests of statistics from a script's view: files, and GPGPU-Sim's lines, read with the
//! expressions of Accel-Sim's get_stats.py.

use regex_lite::Regex;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs `warploom run` in `folder` and returns its output.
fn run(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    let output = command.arg("run").args(args).current_dir(folder).output();
    let output = output.unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let told = err.lines().any(|line| !line.starts_with("wrote "));
    assert!(output.status.success() && !told, "{args:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The last match of the expression, as get_stats.py takes it for the last kernel.
fn scrape(text: &str, expression: &str) -> String {
    let regex = Regex::new(expression).unwrap();
    let found = text.lines().rev().find_map(|line| {
        let captures = regex.captures(line.trim_end())?;
        Some(captures.get(1)?.as_str().trim().to_owned())
    });
    found.unwrap_or_else(|| panic!("{expression} matches no line"))
}

/// Cumulative figures of a result, each with the expression that finds it.
fn cumulative(result: &Value) -> Vec<(String, u64)> {
    let totals = &result["totals"];
    let counter = |name: &str| totals["statistics"][name].as_u64().unwrap_or(0);
    let sum = |names: &[String]| -> u64 { names.iter().map(|name| counter(name)).sum() };
    let of = |groups: &[&str], kinds: &[&str], outcomes: &[&str]| {
        let mut names = Vec::new();
        for group in groups {
            for kind in kinds {
                let name = |o: &&str| format!("{group}.accesses.{o}.{kind}");
                names.extend(outcomes.iter().map(name));
            }
        }
        sum(&names)
    };
    let (l2, core) = (&["l2"][..], &["l1i", "l1d", "l1c", "l1t"][..]);
    let read = &["global_read", "global_atomic"][..];
    let write = &["global_write"][..];
    let hit = &["hit"][..];
    let access = &["hit", "hit_reserved", "miss", "sector_miss"][..];
    let breakdown = |cache: &str, kind: &str, outcome: &str| {
        format!(r"\s+{cache}_cache_stats_breakdown\[{kind}\]\[{outcome}\]\s*=\s*(.*)")
    };
    let reads = counter("dram.reads") + counter("dram.allocate_reads");
    let writes = counter("dram.writes") + counter("dram.write_backs");
    vec![
        (
            r"gpu_tot_sim_insn\s*=\s*(.*)".to_owned(),
            totals["thread_instructions"].as_u64().unwrap(),
        ),
        (
            r"gpu_tot_sim_cycle\s*=\s*(.*)".to_owned(),
            totals["cycles"].as_u64().unwrap(),
        ),
        (
            r"gpgpu_n_tot_w_icount\s*=\s*(.*)".to_owned(),
            totals["warp_instructions"].as_u64().unwrap(),
        ),
        (r"total dram reads\s*=\s*(.*)".to_owned(), reads),
        (r"total dram writes\s*=\s*(.*)".to_owned(), writes),
        (breakdown("L2", "GLOBAL_ACC_R", "HIT"), of(l2, read, hit)),
        (
            breakdown("L2", "GLOBAL_ACC_R", "TOTAL_ACCESS"),
            of(l2, read, access),
        ),
        (breakdown("L2", "GLOBAL_ACC_W", "HIT"), of(l2, write, hit)),
        (
            breakdown("L2", "GLOBAL_ACC_W", "TOTAL_ACCESS"),
            of(l2, write, access),
        ),
        (
            breakdown("Total_core", "GLOBAL_ACC_R", "TOTAL_ACCESS"),
            of(core, read, access),
        ),
        (
            breakdown("Total_core", "GLOBAL_ACC_R", "HIT"),
            of(core, read, hit),
        ),
        (
            breakdown("Total_core", "GLOBAL_ACC_W", "HIT"),
            of(core, write, hit),
        ),
        (
            breakdown("Total_core", "GLOBAL_ACC_W", "TOTAL_ACCESS"),
            of(core, write, access),
        ),
        (
            r"gpgpu_simulation_time\s*=.*\(([0-9]+) sec\).*".to_owned(),
            (result["wall_seconds"].as_f64().unwrap() as u64).max(1),
        ),
    ]
}

/// Counters of two kernels, and the expressions in util/job_launching/stats/example_stats.yml of
/// Accel-Sim.
#[test]
fn accel_sims_expressions_find_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--gpgpusim-stats", "--stats", "result.json"];
    let target = ["backprop", "--size", "test"];
    let text = run(folder.path(), &[&target[..], &options[..]].concat());
    let result = json(&read(folder.path(), "result.json"));
    let kernels = result["kernels"].as_array().unwrap();
    assert!(kernels.len() > 1, "cumulative counters need two kernels");
    let totals = &result["totals"];
    let whole = cumulative(&result);
    for (expression, expected) in &whole {
        assert_eq!(
            scrape(&text, expression),
            expected.to_string(),
            "{expression}"
        );
    }
    // The run is not trivial.
    assert!(whole.iter().filter(|(_, value)| *value > 0).count() >= 11);
    let number = |expression: &str| scrape(&text, expression).parse::<f64>().unwrap();
    let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-4 * expected + 1e-4;
    let last = kernels.last().unwrap();
    for (expression, figures) in [
        (r"gpu_ipc\s*=\s*(.*)", last),
        (r"gpu_tot_ipc\s*=\s*(.*)", totals),
    ] {
        let (found, expected) = (number(expression), figures["ipc"].as_f64().unwrap());
        assert!(close(found, expected), "{found} {expected}");
    }
    let in_last = |name: &str| last["statistics"][name].as_f64().unwrap_or(0.0);
    let slots = result["gpu"]["config"]["sm.max_threads"].as_f64().unwrap() / 32.0;
    let filled = in_last("sm.resident_warp_cycles") / (in_last("sm.active_cycles") * slots);
    let found = number(r"gpu_occupancy\s*=\s*(.*)%");
    assert!(close(found, 100.0 * filled), "{found} {filled}");
    let megahertz = result["gpu"]["config"]["clocks.core_mhz"].as_f64().unwrap();
    let nanoseconds = last["cycles"].as_f64().unwrap() / megahertz * 1e3;
    let found = number(r"L2_BW\s*=\s*(.*)+GB\/Sec".replace(")+", ")").as_str());
    assert!(
        close(found, in_last("partition.replies") * 32.0 / nanoseconds),
        "{found}"
    );
    let rate = number(r"gpgpu_simulation_rate\s+=\s+(.*)\s+\(inst\/sec\)");
    assert!(rate > 0.0);
    assert!(
        text.lines()
            .any(|line| line == "GPGPU-Sim: *** exit detected ***")
    );
}

#[test]
fn files_hold_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, target) = (folder.path(), ["backprop", "--size", "test"]);
    let kept = [
        "--stats",
        "r.json",
        "--csv",
        "r.csv",
        "--per",
        "sm,partition",
    ];
    let series = ["--series", "s.csv", "--window", "1000"];
    run(folder, &[&target[..], &kept[..], &series[..]].concat());
    let result = json(&read(folder, "r.json"));
    assert_eq!(result["series"], Value::Null, "they are in their file");
    let parts = &result["totals"]["parts"];
    let lengths =
        ["sms", "banks", "channels", "networks"].map(|part| parts[part].as_array().unwrap().len());
    let csv = read(folder, "r.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let stretches = result["kernels"].as_array().unwrap().len() + 1;
    let expected = 1 + stretches * (1 + lengths.iter().sum::<usize>());
    assert_eq!(rows.len(), expected);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let column = |name: &str| rows[0].iter().position(|cell| *cell == name).unwrap();
    let total = rows
        .iter()
        .find(|row| (row[0], row[2]) == ("total", "all"))
        .unwrap();
    let statistics = &result["totals"]["statistics"];
    for name in [
        "sm.warp_instructions",
        "l2.accesses.hit.global_read",
        "dram.reads",
    ] {
        assert_eq!(total[column(name)], statistics[name].to_string());
    }
    let windows = read(folder, "s.csv");
    let rows: Vec<Vec<&str>> = windows.lines().map(|l| l.split(',').collect()).collect();
    let at = rows[0]
        .iter()
        .position(|cell| *cell == "sm.warp_instructions")
        .unwrap();
    let sum: u64 = rows[1..]
        .iter()
        .map(|row| row[at].parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, result["totals"]["warp_instructions"].as_u64().unwrap());
    run(
        folder,
        &[&target[..], &["--stats", "t.csv", "--series", "s.json"]].concat(),
    );
    assert!(read(folder, "t.csv").starts_with("launch,kernel,part,"));
    let series = json(&read(folder, "s.json"));
    assert_eq!(series["window_cycles"], 10_000);
    assert_eq!(series["input_digest"], result["input_digest"]);
}

#[test]
fn windows_without_a_file_are_in_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["vectoradd", "--size", "test", "--window", "500", "--json"];
    let result = json(&run(folder.path(), &args));
    let windows = result["series"]["columns"]["gpu.cycles"]
        .as_array()
        .unwrap();
    let sum: u64 = windows.iter().map(|value| value.as_u64().unwrap()).sum();
    assert_eq!(
        Some(sum),
        result["totals"]["statistics"]["gpu.cycles"].as_u64()
    );
    assert!(result["totals"].get("parts").is_none());
}
