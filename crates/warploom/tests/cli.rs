//! Tests of the command from a user's view: help, lists, errors with their exit status, runs. Text
//! is compared with snapshots. Commands that access files run in folders of their own.

mod app;
mod check;
mod checkpoints;
mod energy;
mod examples;
#[cfg(unix)]
mod interrupts;
mod mistakes;
mod own_kernels;
mod runs;
mod support;
mod terminal;

use support::{json, output, refusal, warploom_in};

#[test]
fn help_of_every_verb() {
    let verbs = [
        "run",
        "analyze",
        "trace",
        "compare",
        "reproduce",
        "report",
        "check",
        "resources",
        "crat",
        "list",
        "show",
        "import",
        "app",
        "completions",
        "install-docs",
    ];
    let texts = verbs.map(|verb| output(&[verb, "--help"]));
    insta::assert_snapshot!(texts.join("\n---\n"));
    insta::assert_snapshot!(output(&["--help"]));
}

#[test]
fn lists_name_everything_with_what_it_is() {
    insta::assert_snapshot!(output(&["list", "gpus"]) + "---\n" + &output(&["list", "policies"]));
    for what in ["gpus", "workloads", "policies", "stats", "figures"] {
        let list = json(&output(&["list", what, "--json"]));
        let rows = list.as_array().unwrap();
        assert!(!rows.is_empty(), "{what}");
        let described = |row: &serde_json::Value| !row["about"].as_str().unwrap().is_empty();
        assert!(rows.iter().all(described), "{what}");
    }
}

#[test]
fn run_without_a_target_lists_what_can_be_run() {
    let text = output(&["run"]);
    for workload in warploom_workloads::all() {
        assert!(text.contains(workload.name) && text.contains(workload.sentence));
    }
}

#[test]
fn all_workloads_run_at_once() {
    let rows = json(&output(&[
        "run",
        "all",
        "--size",
        "test",
        "--functional",
        "--json",
    ]));
    let rows = rows.as_array().unwrap();
    for workload in warploom_workloads::all() {
        let mut mine = rows.iter().filter(|row| row["workload"] == workload.name);
        assert_eq!(mine.clone().count(), workload.variants.len());
        assert!(mine.all(|row| row["passed"] == true && row.get("timed").is_none()));
    }
    let nowhere = tempfile::tempdir().unwrap();
    let refused = refusal(nowhere.path(), 2, &["run", "all", "--csv", "all.csv"]);
    assert!(refused.contains("--csv is for one run"), "{refused}");
}

#[test]
fn a_gpus_keys_are_a_file_that_gives_the_same_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let shown = output(&["show", "gpu", "gtx480", "--keys"]);
    // Settings of a policy that is not in force are named without values.
    let setting = "two-level.active_warps";
    let named = |line: &str| line.starts_with("# ") && line.contains(setting);
    assert!(shown.lines().any(named), "{shown}");
    let set = ["--keys", "--set", "sm.warp_scheduler=two-level"];
    let chosen = output(&[&["show", "gpu", "gtx480"][..], &set].concat());
    assert!(
        !chosen.contains(setting) && chosen.contains("\nactive_warps = "),
        "{chosen}"
    );
    std::fs::write(folder.path().join("my.toml"), shown).unwrap();
    let show = |args: &[&str]| warploom_in(folder.path(), &[&["show", "gpu"], args].concat()).out;
    let settings = |name: &str| show(&[name, "--keys", "--json"]);
    assert_eq!(settings("my.toml"), settings("gtx480"));
    assert_eq!(json(&settings("my.toml"))["gpu.sms"], 15);
    let changed = show(&["my.toml", "--set", "gpu.sms=3", "--keys"]);
    assert!(changed.contains("\nsms = 3 "), "{changed}");
}

#[test]
fn a_gpu_has_a_data_sheet() {
    let sheets = ["gtx480", "maxwell-duet", "qv100-volta"].map(|gpu| output(&["show", "gpu", gpu]));
    insta::assert_snapshot!(sheets.join("\n---\n"));
    let duet = json(&output(&["show", "gpu", "maxwell-duet", "--json"]));
    let rate = |part: &serde_json::Value| part["gb_per_second"].as_f64().unwrap();
    assert!((rate(&duet["noc"]["per_direction"]) - 614.4).abs() < 1e-6);
    assert!((rate(&duet["dram"]["bandwidth"]) - 307.2).abs() < 1e-6);
    assert_eq!(duet["latencies"]["dram"]["cycles"], 450);
    assert_eq!(duet["policies"]["sm.warp_scheduler"], "gto");
    let narrow = [
        "show",
        "gpu",
        "maxwell-duet",
        "--set",
        "noc.flit_bytes=16",
        "--json",
    ];
    let narrow = json(&output(&narrow));
    assert!((rate(&narrow["noc"]["per_direction"]) - 307.2).abs() < 1e-6);
}

/// A folder `SM2_GTX480` with GPGPU-Sim 4.2's configuration of that name, followed by `more`.
fn gpgpusim_folder(more: &str) -> tempfile::TempDir {
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/testdata/gpgpusim/");
    let text = |name: &str| std::fs::read_to_string(format!("{files}{name}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("SM2_GTX480");
    std::fs::create_dir(&inner).unwrap();
    let config = text("sm2_gtx480.config") + more;
    std::fs::write(inner.join("gpgpusim.config"), config).unwrap();
    std::fs::write(inner.join("config_fermi_islip.icnt"), text("fermi.icnt")).unwrap();
    folder
}

#[test]
fn a_configuration_of_gpgpusim_becomes_a_preset() {
    let folder = gpgpusim_folder("-gpgpu_simple_dram_model 1\n-gpgpu_n_cluster 4\n");
    let config = "SM2_GTX480/gpgpusim.config";
    let report = warploom_in(folder.path(), &["import", config, "-o", "my.toml"]);
    assert_eq!((report.status, report.err.as_str()), (0, ""));
    insta::assert_snapshot!(report.out);
    let settings = |gpu: &str| {
        let args = ["show", "gpu", gpu, "--keys", "--json"];
        warploom_in(folder.path(), &args)
    };
    let (imported, direct) = (settings("my.toml"), settings(config));
    assert_eq!(json(&imported.out)["name"], "SM2_GTX480");
    assert_eq!(imported.out, direct.out);
    assert_eq!(
        direct.err,
        "note: SM2_GTX480/gpgpusim.config: not modelled 1, unknown 1; \
         `warploom import SM2_GTX480/gpgpusim.config` names the options\n"
    );
    let plain = warploom_in(folder.path(), &["import", config]);
    let written = std::fs::read_to_string(folder.path().join("my.toml")).unwrap();
    assert_eq!((plain.out, plain.err), (written, report.out));
}

#[test]
fn an_import_says_the_same_as_json() {
    let folder = gpgpusim_folder("-gpgpu_simple_dram_model\n");
    let args = [
        "import",
        "SM2_GTX480/gpgpusim.config",
        "--name",
        "mine",
        "--json",
    ];
    let report = json(&warploom_in(folder.path(), &args).out);
    assert_eq!(
        (&report["name"], &report["version"]),
        (&"mine".into(), &"4.2".into())
    );
    assert!(report["toml"].as_str().unwrap().contains("name = \"mine\""));
    let options = report["options"].as_array().unwrap();
    let lost: Vec<_> = options
        .iter()
        .filter(|row| row["class"] == "not modelled")
        .collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (&lost[0]["option"], &lost[0]["line"]),
        (&"-gpgpu_simple_dram_model".into(), &82.into())
    );
}

#[test]
fn broken_configurations_of_gpgpusim_are_refused() {
    let refused = |more: &str, args: &[&str]| {
        let folder = gpgpusim_folder(more);
        let args = [&["import", "SM2_GTX480/gpgpusim.config"], args].concat();
        refusal(folder.path(), 2, &args)
    };
    let all = [
        refused("-gpgpu_cache:dl1 32:128", &[]),
        refused("-inter_config_file none.icnt", &[]),
        refused("", &["--style", "5"]),
        refused("", &["--icnt", "none.icnt"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            output(&["completions", shell]).contains("warploom"),
            "{shell}"
        );
    }
}

#[test]
fn completions_know_workloads_presets_keys_and_figures() {
    // The generator for fish completes options alone.
    let options = ["maxwell-duet", "sm.warp_scheduler="];
    for shell in ["bash", "zsh", "fish"] {
        let script = output(&["completions", shell]);
        let targets = ["hotspot", "duet/fig3b"].iter();
        let targets = targets.filter(|_| shell != "fish");
        for name in options.iter().chain(targets) {
            assert!(script.contains(name), "{name} for {shell}");
        }
    }
}

const VECTOR_ADD: &str = r#"module = "kernel.ptx"

[[buffer]]
name = "a"
type = "f32"
shape = 1000
init = "iota"

[[buffer]]
name = "b"
type = "f32"
shape = 1000
init = "constant"
value = 0.5

[[buffer]]
name = "c"
type = "f32"
shape = 1000

[[launch]]
kernel = "vector_add"
grid = 4
block = 256
args = ["a", "b", "c", 1000]

[[expect]]
buffer = "b"
constant = 0.5

[[dump]]
buffer = "c"
npy = "c.npy"
"#;

/// A folder with `kernel.ptx` (vector addition) and `run.toml`: [`VECTOR_ADD`] with `from` replaced
/// by `to`.
fn folder_with(from: &str, to: &str) -> tempfile::TempDir {
    assert!(VECTOR_ADD.contains(from), "{from}");
    let folder = tempfile::tempdir().unwrap();
    let mut workloads = warploom_workloads::all().iter();
    let ptx = workloads
        .find(|workload| workload.name == "vectoradd")
        .unwrap()
        .ptx;
    std::fs::write(folder.path().join("kernel.ptx"), ptx).unwrap();
    let launch_file = VECTOR_ADD.replace(from, to);
    std::fs::write(folder.path().join("run.toml"), launch_file).unwrap();
    folder
}

#[test]
fn bad_usage_is_refused_with_status_2() {
    let nowhere = tempfile::tempdir().unwrap();
    let refuse = |args: &[&str]| refusal(nowhere.path(), 2, args);
    insta::assert_snapshot!(
        [
            refuse(&["run", "bsf"]),
            refuse(&["run", "quicksort3"]),
            refuse(&["run", "bfs:kernel9"]),
            refuse(&["run", "bfs", "--size", "huge"]),
            refuse(&["run", "bfs", "--gpu", "gtx490"]),
            refuse(&["run", "bfs", "--gpu", "missing.toml"]),
            refuse(&["run", "bfs", "--set", "sm.warp_schduler=gto"]),
            refuse(&[
                "run",
                "bfs",
                "--set",
                "l1d.allocate=on-fil",
                "--set",
                "gpu.sms=0"
            ]),
            refuse(&["run", "bfs", "--threads", "0"]),
            refuse(&["run", "bfs", "--max-cycles", "0"]),
            refuse(&["run", "bfs", "--grid", "4"]),
            refuse(&["run", "bfs", "--functional", "--window", "500"]),
            refuse(&["run", "bfs", "--stats", "-"]),
            refuse(&["run", "missing.toml"]),
            refuse(&[
                "run",
                "missing.ptx",
                "--kernel",
                "k",
                "--grid",
                "1",
                "--block",
                "1"
            ]),
            refuse(&["run", "--kernels", "k"]),
            refuse(&["check", "missing.ptx"]),
            refuse(&["show", "gpu", "gtx999"]),
            refuse(&["list", "everything"]),
            refuse(&["analyse", "bfs"]),
        ]
        .join("\n")
    );
}

/// Outputs are correct for any selection of timed launches, and the result contains those that are
/// timed.
#[test]
fn kernels_are_timed_by_name() {
    let run = |more: &[&str]| {
        let args = [&["run", "gaussian", "--size", "test", "--json"], more].concat();
        let result = json(&output(&args));
        assert_eq!(result["outcome"]["kind"], "finished");
        let kernels = result["kernels"].as_array().unwrap();
        let names = kernels.iter().map(|kernel| kernel["name"].to_string());
        names.collect::<Vec<_>>()
    };
    let (all, one) = (run(&[]), run(&["--time-kernel", "an2"]));
    assert_eq!(all.len(), 78);
    assert_eq!(one, vec!["\"Fan2\""; 39]);
    let both = run(&["--time-kernel", "Fan1", "--time-kernel", "Fan2"]);
    assert_eq!(both, all);
}

#[test]
fn bad_samples_are_refused_with_status_2() {
    let nowhere = tempfile::tempdir().unwrap();
    let refuse = |args: &[&str]| refusal(nowhere.path(), 2, args);
    insta::assert_snapshot!(
        [
            refuse(&["run", "bfs", "--sample", "1"]),
            refuse(&["run", "bfs", "--sample", "4", "--blocks", "0..2"]),
            refuse(&["run", "bfs", "--blocks", "5..3"]),
            refuse(&["run", "bfs", "--blocks", "7"]),
            refuse(&["run", "bfs", "--sample", "4", "--functional"]),
            refuse(&["run", "bfs", "--sample", "4", "--csv", "counters.csv"]),
            refuse(&["run", "all", "--sample", "4"]),
            refuse(&["run", "bfs", "sgemm", "--blocks", "0..2"]),
            refuse(&["run", "all", "--time-kernel", "kernel"]),
            refuse(&["run", "bfs", "sgemm", "--time-kernel", "kernel"]),
            refuse(&["run", "bfs", "--size", "test", "--time-kernel", "kernel3"]),
        ]
        .join("\n")
    );
}

#[test]
fn bad_launches_are_refused_with_status_2() {
    let refuse = |from: &str, to: &str| {
        let folder = folder_with(from, to);
        refusal(folder.path(), 2, &["run", "run.toml"])
    };
    insta::assert_snapshot!(
        [
            refuse("\"vector_add\"", "\"vector_sub\""),
            refuse("\"c\", 1000]", "\"c\"]"),
            refuse("\"c\", 1000]", "\"c\", \"a\"]"),
            refuse("\"c\", 1000]", "\"c\", 1e3]"),
            refuse("grid = 4", "grid = 0"),
            refuse("block = 256", "block = [512, 4]"),
            refuse("block = 256", "block = 256\ndynamic_shared_bytes = 49153"),
            refuse("\"kernel.ptx\"", "\"kernels.ptx\""),
            refuse("\"kernel.ptx\"", "\"kernel.cu\""),
            refuse("grid = 4", "grid = "),
            refuse("grid = 4", "gird = 4"),
            refuse("constant = 0.5", "npy = \"b.npy\""),
        ]
        .join("\n")
    );
}

#[test]
fn bad_ptx_is_located() {
    let folder = folder_with("", "");
    let path = folder.path().join("kernel.ptx");
    let ptx = std::fs::read_to_string(&path).unwrap();
    let broken = ptx.replacen("mad.lo.s32", "mad.lo.s31", 1);
    assert_ne!(broken, ptx);
    std::fs::write(&path, broken).unwrap();
    for args in [["check", "kernel.ptx"], ["run", "run.toml"]] {
        let ran = warploom_in(folder.path(), &args);
        let message = ran.out + &ran.err;
        assert_eq!(ran.status, 2, "{message}");
        assert!(
            message.contains("kernel.ptx:") && message.contains("s31"),
            "{message}"
        );
    }
}

#[test]
fn check_shows_the_kernels_of_a_file() {
    let folder = folder_with("", "");
    let ran = warploom_in(folder.path(), &["check", "kernel.ptx", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let report = json(&ran.out);
    assert_eq!(report["kernels"][0]["name"], "vector_add");
    assert_eq!(report["kernels"][0]["parameters"], 4);
    assert_eq!(report["refused"], serde_json::json!([]));
}

#[test]
fn a_launch_file_runs_checks_and_dumps() {
    let folder = folder_with("", "");
    let ran = warploom_in(folder.path(), &["run", "run.toml"]);
    assert_eq!((ran.status, ran.told().as_str()), (0, ""), "{}", ran.out);
    assert!(ran.err.starts_with("wrote "), "{}", ran.err);
    assert!(
        ran.out.contains("check b passed: 1000 values"),
        "{}",
        ran.out
    );
    let dumped = std::fs::read(folder.path().join("c.npy")).unwrap();
    let last = f32::from_le_bytes(dumped[dumped.len() - 4..].try_into().unwrap());
    assert_eq!(last, 999.5);
    // The dumped output is the expected output of the next run.
    let expect = "buffer = \"c\"\nnpy = \"c.npy\"";
    let again = VECTOR_ADD.replace("buffer = \"b\"\nconstant = 0.5", expect);
    std::fs::write(folder.path().join("run.toml"), &again).unwrap();
    let refused = refusal(folder.path(), 2, &["run", "run.toml"]);
    assert!(refused.contains("error[dump-overwrites]"), "{refused}");
    let again = again.replace("[[dump]]\nbuffer = \"c\"\nnpy = \"c.npy\"", "");
    std::fs::write(folder.path().join("run.toml"), again).unwrap();
    let ran = warploom_in(folder.path(), &["run", "run.toml", "--json"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert_eq!(json(&ran.out)["checks"][0]["passed"], true);
}

#[test]
fn what_a_mix_cannot_do_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[process]]\ntarget = \"bfs\"\n[[process]]\ntarget = \"spmv\"\n";
    std::fs::write(folder.path().join("mix.toml"), file).unwrap();
    let goals = file.replace("\"\n", "\"\ninstructions = 1000\n");
    std::fs::write(folder.path().join("goals.toml"), goals).unwrap();
    let refused = |args: &[&str]| refusal(folder.path(), 2, &[&["run"], args].concat());
    let many = ["bfs"; 257];
    let too_many = refused(&many);
    let messages = [
        refused(&["bfs", "spmv", "--targets", "0,5"]),
        refused(&["mix.toml", "--targets", "5,5"]),
        refused(&["mix.toml", "--arrive", "0,100"]),
        refused(&["mix.toml", "--size", "test", "--alone-cycles", "1"]),
        refused(&["goals.toml", "--size", "test", "--alone-cycles", "500"]),
        refused(&["goals.toml", "--again", "--max-cycles", "500"]),
        refused(&["bfs", "spmv", "--allocate", "24"]),
        refused(&["bfs", "spmv", "--functional", "--targets", "5,5"]),
        too_many.lines().skip(1).collect::<Vec<_>>().join("\n"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
    let functional = warploom_in(
        folder.path(),
        &["run", "mix.toml", "--size", "test", "--functional"],
    );
    assert_eq!(functional.status, 0, "{}{}", functional.out, functional.err);
    assert!(functional.out.contains("check bfs: "), "{}", functional.out);
    let mixed = ["run", "mix.toml", "--size", "test", "--alone-cycles", "500"];
    let ran = warploom_in(folder.path(), &mixed);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("slowdown"), "{}", ran.out);
    assert_eq!(
        ran.out.matches(" (fewer blocks) x ").count(),
        2,
        "{}",
        ran.out
    );
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let folder = folder_with("", "");
    std::fs::write(folder.path().join("k.cpp"), "__global__ void k() {}").unwrap();
    std::fs::create_dir(folder.path().join("inputs")).unwrap();
    let kernel = ["--grid", "1", "--block", "32", "--stats", "kernel.ptx"];
    let refused = |args: &[&str]| refusal(folder.path(), 2, args);
    insta::assert_snapshot!(
        [
            refused(&["run", "run.toml", "--stats", "run.toml"]),
            refused(&["run", "run.toml", "--csv", "inputs/../kernel.ptx"]),
            refused(&[&["run", "kernel.ptx"], &kernel[..]].concat()),
            refused(&["run", "run.toml", "--stats", "a", "--csv", "a"]),
            refused(&["trace", "run.toml", "-o", "run.toml"]),
            refused(&["run", "run.toml", "--stats", "inputs"]),
            refused(&["run", "k.cpp"]),
            refused(&["run", "inputs"]),
            refused(&["run", "./k.cubin"]),
            refused(&["run", "bfs", "--gpu", "QV100"]),
        ]
        .join("")
    );
    let text = std::fs::read_to_string(folder.path().join("run.toml")).unwrap();
    assert_eq!(text, VECTOR_ADD);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_does_not_take_the_result_away() {
    let folder = folder_with("", "");
    let ran = warploom_in(folder.path(), &["run", "run.toml", "--stats", "/dev/full"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("check b passed"), "{}", ran.out);
    assert!(ran.err.contains("cannot write /dev/full"), "{}", ran.err);
    let dump = folder_with("npy = \"c.npy\"", "npy = \"/dev/full\"");
    let ran = warploom_in(dump.path(), &["run", "run.toml"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let said = "check c FAILED: the dump `/dev/full` cannot be written";
    assert!(ran.out.contains(said), "{}", ran.out);
}

#[test]
fn what_would_come_to_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        refusal(folder.path(), 2, &args)
    };
    let messages = [
        "run bfs --size test --skip-launches 400",
        "run hotspot --size test --blocks 100..200",
        "run bfs all",
        "run vectoradd --size test --per sm",
        "run vectoradd --size test --stats no/such/x.json",
        "run vectoradd --gpu no/such/gpgpusim.config",
        "run hotspot --size test --allocate 24 --in-shared %nope",
        "run hotspot --size test --allocate 24 --in-shared r13",
        "app --stats no/such/x.json -- ./program",
    ];
    insta::assert_snapshot!(messages.map(refused).join("\n"));
}

#[test]
fn bad_launches_from_the_command_line_are_refused() {
    let folder = folder_with("", "");
    let refuse = |args: &[&str]| {
        let all = [&["run", "kernel.ptx"], args].concat();
        refusal(folder.path(), 2, &all)
    };
    insta::assert_snapshot!(
        [
            refuse(&[
                "--grid", "1", "--block", "32", "--arg=1", "--arg=2", "--arg=3", "--arg=4",
                "--arg=5"
            ]),
            refuse(&["--block", "2048"]),
            refuse(&[
                "--kernel",
                "vector_add",
                "--grid",
                "1",
                "--block",
                "2048",
                "--arg",
                "x"
            ]),
            refuse(&[
                "--kernel",
                "vector_add",
                "--grid",
                "0",
                "--block",
                "32",
                "--arg",
                "f32[4]"
            ]),
        ]
        .join("\n")
    );
}
