//! Tests of `compare`, `reproduce` and `report` from a user's view.

mod support;
mod sweeps;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{json, output, refusal, warploom_in};
use warploom_base::Rng;

/// A figure with runs that is small enough for a test.
const FIGURE: &str = "cooperative/fig3";

fn reproduce(folder: &Path, args: &[&str]) -> String {
    let ran = warploom_in(folder, &[&["reproduce"], args].concat());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{args:?}");
    ran.out
}

/// Every file of the figures below a folder, by path, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for paper in std::fs::read_dir(folder.join("results")).unwrap() {
        let paper = paper.unwrap().path();
        if paper.is_dir() {
            for file in std::fs::read_dir(&paper).unwrap() {
                let path = file.unwrap().path();
                files.insert(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    let below = |path: String| path.replacen(&folder.display().to_string(), "", 1);
    files
        .into_iter()
        .map(|(path, bytes)| (below(path), bytes))
        .collect()
}

#[test]
fn a_dry_run_lists_what_would_run() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["cooperative/series", "--scale", "test"];
    let dry = |told: &str| {
        let out = reproduce(folder.path(), &[&args[..], &["--dry-run"]].concat());
        assert!(out.contains(told), "{out}");
        // Costs are those of another scale.
        assert!(out.ends_with("known at scale paper only\n"), "{out}");
        out
    };
    let out = dry("\n4 runs to make now, 0 stored; ");
    assert_eq!(out.matches("warploom run ").count(), 4, "{out}");
    assert!(
        !folder.path().join("results").exists(),
        "nothing is written"
    );
    reproduce(folder.path(), &args);
    let out = dry("all 4 runs are stored\n");
    assert!(!out.contains("warploom run "), "{out}");
}

#[test]
fn figures_and_results_of_runs_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let run = [
        "run",
        "vectoradd",
        "--size",
        "test",
        "--stats",
        "results/run.json",
    ];
    std::fs::create_dir(folder.path().join("results")).unwrap();
    assert_eq!(warploom_in(folder.path(), &run).status, 0);
    reproduce(folder.path(), &["duet/fig3b", "--scale", "test"]);
    let told = refusal(folder.path(), 2, &["report", "results/duet/fig3b.json"]);
    assert!(
        told.contains("`warploom report results/duet` makes a page"),
        "{told}"
    );
    let ran = warploom_in(folder.path(), &["report", "results"]);
    assert!(
        ran.err.contains("run.json -o page.html` makes its page"),
        "{}",
        ran.err
    );
    assert_eq!(ran.status, 0);
}

#[test]
fn killed_twenty_times_and_resumed_it_ends_with_the_same_bytes() {
    let (undisturbed, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = [FIGURE, "--scale", "test"];
    let began = Instant::now();
    reproduce(undisturbed.path(), &args);
    // The kills are spread over the time of a whole run, so that they hit every stage.
    let whole = began.elapsed().max(Duration::from_millis(100));
    let mut rng = Rng::new(1);
    let mut interrupted = 0;
    for _ in 0..20 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_warploom"))
            .arg("reproduce")
            .args(args)
            .current_dir(killed.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64((rng.next_u64() % 1000) as f64 / 8000.0));
        interrupted += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    reproduce(killed.path(), &args);
    assert!(interrupted > 0, "no kill came in time");
    let expected = files(undisturbed.path());
    assert_eq!(expected.len(), 3);
    assert!(files(killed.path()) == expected, "other bytes");
}

#[test]
fn threads_and_the_store_leave_no_trace_in_figures() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = |threads| ["cooperative", "--scale", "test", "--threads", threads];
    reproduce(one.path(), &args("1"));
    reproduce(two.path(), &args("4"));
    let fresh = files(two.path());
    assert!(files(one.path()) == fresh);
    // The second time, all runs come from the store.
    let began = Instant::now();
    reproduce(two.path(), &args("4"));
    assert!(files(two.path()) == fresh);
    assert!(began.elapsed() < Duration::from_secs(60));
    let fig3 = std::fs::read_to_string(one.path().join("results/cooperative/fig3.json")).unwrap();
    schema(&fig3);
}

/// Checks the keys of a figure's JSON.
fn schema(text: &str) {
    let page = json(text);
    for path in [
        "/paper",
        "/figure",
        "/rows/0/workload",
        "/summary",
        "/verdicts/0/id",
        "/verdicts/0/origin",
        "/verdicts/0/judgement",
        "/verdicts/0/note",
        "/verdicts/0/statements/0/what",
        "/verdicts/0/statements/0/kind",
        "/verdicts/0/statements/0/paper",
        "/verdicts/0/statements/0/ours",
        "/verdicts/0/statements/0/range/least_without",
        "/version",
        "/command",
        "/configurations/0/overrides/0",
        "/presets/gtx480/gpu.sms",
        "/runs/0/command",
        "/runs/0/digest",
    ] {
        assert!(page.pointer(path).is_some(), "{path} is missing");
    }
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let object = value.as_object().unwrap();
        object.keys().cloned().collect()
    };
    insta::assert_snapshot!(format!(
        "{}\nverdicts: {}\nruns: {}\n",
        keys(&page).join(" "),
        keys(&page["verdicts"][0]).join(" "),
        keys(&page["runs"][0]).join(" ")
    ));
}

#[test]
fn a_run_of_a_figure_can_be_made_alone() {
    let folder = tempfile::tempdir().unwrap();
    let page = json(&reproduce(
        folder.path(),
        &["cooperative/fig3", "--scale", "test", "--json"],
    ));
    let run = &page["runs"][1];
    let command = run["command"].as_str().unwrap();
    let mut args: Vec<_> = command.split(' ').skip(1).collect();
    args.push("--json");
    let alone = json(&warploom_in(folder.path(), &args).out);
    assert_eq!(alone["digest"], run["digest"]);
    assert_eq!(alone["input_digest"], run["input_digest"]);
}

#[test]
fn a_comparison_is_a_row_a_value_and_part_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let base = [
        "compare",
        "vectoradd",
        "--size",
        "test",
        "--set",
        "gpu.sms=2",
    ];
    let args = [&base[..], &["--vary", "gpu.max_blocks_per_sm=1,2,4"]].concat();
    let table = output(&args);
    let first = |line: &str| {
        line.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let rows: Vec<_> = table.lines().skip(3).take(3).map(first).collect();
    assert_eq!(rows, ["1", "2", "4"], "{table}");
    assert!(
        table.contains("speedup over max_blocks_per_sm 1\n  1 vectoradd    1.000 █"),
        "{table}"
    );
    let kept = ["-o", "out", "--csv", "c.csv", "--svg", "c.svg", "--json"];
    let page = json(&warploom_in(folder.path(), &[&args[..], &kept].concat()).out);
    assert_eq!(page["rows"].as_array().unwrap().len(), 3);
    let csv = std::fs::read_to_string(folder.path().join("c.csv")).unwrap();
    assert!(
        csv.starts_with("gpu.max_blocks_per_sm,cycles,ipc,speedup,"),
        "{csv}"
    );
    let said = warploom_in(folder.path(), &["report", "out"]).out;
    assert_eq!(said, "wrote out/index.html: 1 figure\n");
    let html = std::fs::read_to_string(folder.path().join("out/index.html")).unwrap();
    assert!(html.contains("vectoradd-max_blocks_per_sm"));
}

/// Titles have the machine's own name, and no name of a file that is not written. Of several keys,
/// each value is named.
#[test]
fn a_comparison_names_its_machine_and_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let machine = "base = \"gtx480\"\nname = \"few-sms\"\n[gpu]\nsms = 2\n";
    std::fs::write(folder.path().join("own.toml"), machine).unwrap();
    let args = "compare vectoradd --size test --gpu own.toml --vary l1d.ways=2,4 --vary \
                sm.warp_scheduler=lrr,gto";
    let args: Vec<_> = args.split_whitespace().collect();
    let out = warploom_in(folder.path(), &args).out;
    let title = "vectoradd on few-sms by l1d.ways and sm.warp_scheduler";
    assert!(out.starts_with(&format!("{title}\n")), "{out}");
    let chart =
        format!("\n{title}: speedup over ways 2, lrr\n  ways 2 warp_scheduler lrr    1.000");
    assert!(
        out.contains(&chart) && out.contains("\n  ways 4 warp"),
        "{out}"
    );
}

/// Runs without an instruction have no explanation, and are not said to be equal.
#[test]
fn runs_that_are_cut_before_their_first_instruction_get_no_advice() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |args: &str| {
        let args: Vec<_> = args.split_whitespace().collect();
        warploom_in(folder.path(), &args).out
    };
    let told = "blocks had started by then, and no instruction had been issued";
    let out = ran("compare vectoradd --size test --max-cycles 20 --vary sm.warp_scheduler=lrr,gto");
    assert!(
        out.contains(told) && !out.contains("same in every cycle"),
        "{out}"
    );
    let out = ran("run vectoradd --size test --max-cycles 20 --explain");
    assert!(out.contains(told), "{out}");
    assert!(!out.contains("smaller or straighter"), "{out}");
    let out = ran("analyze vectoradd --size test --max-cycles 20");
    assert!(out.contains(told), "{out}");
    assert!(!out.contains("smaller or straighter"), "{out}");
}

/// Why a row is faster is told below the table, in JSON, and on the page of a folder.
#[test]
fn a_comparison_explains_its_fastest_row() {
    let folder = tempfile::tempdir().unwrap();
    let of = |args: &str| {
        let args: Vec<_> = args.split_whitespace().collect();
        warploom_in(folder.path(), &args)
    };
    let compared = "compare vectoradd --size test --vary gpu.max_blocks_per_sm=1,4";
    let ran = of(&format!("{compared} --explain -o results"));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let (_, why) = ran.out.split_once("\nwhy\n").expect("an explanation");
    for told in [
        "- `max_blocks_per_sm 4` is ",
        " times faster than `max_blocks_per_sm 1`: ",
        "For each warp instruction its schedulers spend ",
        "the bound is",
        "- Next",
    ] {
        assert!(why.contains(told), "{told}: {why}");
    }
    assert_eq!(of("report results -o page.html").status, 0);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("<h3>Why one is faster</h3>"));
    assert!(!of(compared).out.contains("\nwhy\n"));
    for refused in [
        "compare vectoradd nn --size test --explain --vary gpu.sms=1,2",
        "compare gaussian --size test --explain --sample-error 5% --vary gpu.sms=1,2",
    ] {
        let ran = of(refused);
        assert_eq!(ran.status, 2, "{refused}");
        assert!(ran.err.contains("--explain"), "{}", ran.err);
    }
}

#[test]
fn a_sampled_comparison_has_margins_and_refuses_what_it_cannot_have() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |args: &str| {
        let args = format!("compare gaussian --size test --set gpu.sms=3 --sample-error 5% {args}");
        let args: Vec<_> = args.split_whitespace().collect();
        warploom_in(folder.path(), &args)
    };
    let of =
        "--vary sm.warp_scheduler=lrr,gto --csv c.csv --columns cycles,speedup.margin,timed,status";
    let out = ran(of).out;
    assert!(out.contains("sampled with a bound of 5%"), "{out}");
    assert!(
        out.contains("sampled: ") && out.contains(" of 78 launches were timed"),
        "{out}"
    );
    let table = std::fs::read_to_string(folder.path().join("c.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(
        rows[0][1..],
        ["cycles", "speedup.margin", "timed", "status"]
    );
    assert_eq!((rows[1][2], rows[1][4]), ("0", "sampled"));
    assert!(rows[2][2].parse::<f64>().unwrap() > 0.0, "{table}");
    // Machines that hold another number of blocks execute the program in another order.
    let apart = ran("--vary gpu.max_blocks_per_sm=1,4 --threads 1 --json");
    let told = "note: gaussian on 4 executes the program anew: its machine holds ";
    assert!(apart.err.contains(told), "{}", apart.err);
    assert_eq!(json(&apart.out)["rows"][1]["status"], "sampled");
    for (args, why) in [
        ("nn --vary gpu.sms=1,2", "several programs at once"),
        (
            "--vary gpu.sms=1,2 --max-cycles 9",
            "a run that is cut has no estimates",
        ),
        ("--vary gpu.sms=1,2 --max-launches 9", "the plan chooses"),
        ("--vary gpu.sms=1,2 --energy", "of timed launches only"),
    ] {
        let ran = ran(args);
        assert_eq!(ran.status, 2, "{args}");
        assert!(
            ran.err.contains(why) && ran.err.contains("= help: "),
            "{}",
            ran.err
        );
    }
}

/// Several programs share the GPU. Somebody who expects a row for each is told so.
#[test]
fn programs_that_share_the_gpu_are_announced_unless_sharing_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let told = |vary: &str| {
        let args = "compare vectoradd nn --size test --set gpu.sms=2 --vary";
        let args: Vec<&str> = args.split(' ').chain([vary]).collect();
        let ran = warploom_in(folder.path(), &args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.err
    };
    let told_of_schedulers = told("sm.warp_scheduler=gto");
    assert!(told_of_schedulers.contains("these 2 programs run at the same time"));
    assert!(!told("gpu.multiprogram=left-over").contains("at the same time"));
}

#[test]
fn a_comparison_takes_launch_files_and_tells_of_runs_that_fail() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = ".version 8.0\n.target sm_50\n.address_size 64\n\
        .visible .entry k(.param .u64 a) { .reg .b64 %r; ld.param.u64 %r, [a]; \
        add.u64 %r, %r, 1; .reg .b32 %v; ld.global.u32 %v, [%r]; ret; }\n";
    std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
    let launch = "module = \"k.ptx\"\n[[buffer]]\nname = \"a\"\ntype = \"u32\"\nshape = [4]\n\
        init = \"zeros\"\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = [\"a\"]\n";
    std::fs::write(folder.path().join("k.toml"), launch).unwrap();
    let args = ["compare", "k.toml", "--vary", "gpu.sms=1,2"];
    let message = refusal(folder.path(), 1, &args);
    assert!(message.contains("2 of its runs failed"), "{message}");
    assert!(message.contains("misaligned"), "{message}");
    assert!(
        message.contains("`warploom run k.toml --gpu gtx480 --set gpu.sms=1`"),
        "{message}"
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("empty")).unwrap();
    std::fs::create_dir(at.join("foreign")).unwrap();
    std::fs::write(at.join("foreign/runs.redb"), "a shopping list").unwrap();
    let fig3 = [
        "reproduce",
        "cooperative/fig3",
        "--scale",
        "test",
        "-o",
        "foreign",
    ];
    let refusals = [
        refusal(at, 2, &["report", "empty"]),
        refusal(at, 2, &["report", "nowhere"]),
        refusal(at, 2, &fig3),
        refusal(at, 2, &["compare", "vectoradd"]),
        refusal(at, 2, &["compare", "vectoradd", "--vary", "gpu.sms"]),
        refusal(at, 2, &["compare", "vectoradd", "--vary", "gpu.sms=1,1"]),
        refusal(at, 2, &["compare", "vectoradd", "--vary", "gpu.smx=1,2"]),
        refusal(
            at,
            2,
            &[
                "compare",
                "vectoradd",
                "--vary",
                "gpu.sms=1",
                "--vary",
                "gpu.sms=2",
            ],
        ),
        refusal(at, 2, &["compare", "vectorad", "--vary", "gpu.sms=1,2"]),
        refusal(at, 2, &["compare", "lbm,spmv", "--vary", "gpu.sms=1,2"]),
        refusal(
            at,
            2,
            &["compare", "bfs", "--vary", "gpu=gtx480,qv100-volta"],
        ),
        refusal(at, 2, &["compare", "bfs", "--vary", "gpu=gtx480,rtx3080"]),
        refusal(
            at,
            2,
            &[
                "compare",
                "bfs",
                "spmv",
                "--gpu",
                "gtx480,own.toml",
                "--vary",
                "gpu.sms=1,2",
            ],
        ),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(
        std::fs::read_to_string(at.join("foreign/runs.redb")).unwrap(),
        "a shopping list"
    );
}

#[test]
fn a_page_leaves_out_what_is_no_figure_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    reproduce(folder.path(), &["duet/fig3b", "--scale", "test"]);
    std::fs::write(folder.path().join("results/duet/notes.json"), "{}").unwrap();
    let ran = warploom_in(folder.path(), &["report", "results", "-o", "page.html"]);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (0, "wrote page.html: 1 figure\n")
    );
    assert!(
        ran.err
            .starts_with("warning: results/duet/notes.json is not a figure"),
        "{}",
        ran.err
    );
    let contents = json(&warploom_in(folder.path(), &["report", "results", "--json"]).out);
    assert_eq!(contents["pages"].as_array().unwrap().len(), 1);
    let date = contents["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.ends_with('Z'), "{date}");
}
