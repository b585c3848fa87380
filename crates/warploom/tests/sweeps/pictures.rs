//! Pictures, columns and notes of sweeps from a user's view.

use super::{folder_of, rows, sweep};
use crate::support::{json, refusal, warploom_in};
use std::collections::BTreeMap;
use std::path::Path;

const AXES: &str = "[axes]\ntarget = [\"vectoradd\", \"spmv\"]\nsize = \"test\"\n\
                    sm.warp_scheduler = [\"lrr\", \"gto\"]\ngpu.sms = [2, 4]\n";

/// The charts of a sweep and what it printed.
fn pictures(folder: &Path, report: &str) -> (Vec<serde_json::Value>, String) {
    std::fs::write(folder.join("study.toml"), format!("{AXES}{report}")).unwrap();
    let ran = sweep(folder, &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let page = std::fs::read_to_string(folder.join("results/sweep/study.json")).unwrap();
    (json(&page)["charts"].as_array().unwrap().clone(), ran.out)
}

fn titles(charts: &[serde_json::Value]) -> Vec<String> {
    let title = |chart: &serde_json::Value| {
        let kind = chart.as_object().unwrap().values().next().unwrap();
        kind["title"].as_str().unwrap().to_owned()
    };
    charts.iter().map(title).collect()
}

fn row_number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn cells(row: &serde_json::Value) -> impl Iterator<Item = f64> {
    let cells = row.as_array().unwrap().iter();
    cells.map(|cell| cell.as_f64().unwrap())
}

/// Three axes: a map for each program, and after those of speedups that of their means.
#[test]
fn programs_have_pictures_of_their_own() {
    let folder = folder_of("");
    let (charts, out) = pictures(folder.path(), "[report]\ncolours = \"shared\"\n");
    let ipc = "ipc on gtx480 by sm.warp_scheduler and gpu.sms";
    let expected = ["vectoradd", "spmv"].map(|name| format!("{ipc}: {name}"));
    assert_eq!(titles(&charts), expected);
    let table = rows(folder.path());
    let shown = charts[1]["heat"]["values"][1][0].as_f64().unwrap();
    // Both maps have the same scale of colours.
    let ranges = charts
        .iter()
        .map(|chart| chart["heat"]["range"].as_array().unwrap());
    let values = charts.iter().map(|chart| &chart["heat"]["values"]);
    let values = values.flat_map(|rows| rows.as_array().unwrap().iter().flat_map(cells));
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    for range in ranges {
        assert_eq!([&range[0], &range[1]], [low, high]);
    }
    let hint = "note: there are no speedups, because no run is the baseline: `[report]` with \
                `baseline = { warp_scheduler = \"lrr\" }` gives them";
    assert!(out.contains(hint), "{out}");
    let row = table.values().find(|row| {
        row["target"] == "spmv" && row["sm.warp_scheduler"] == "gto" && row["gpu.sms"] == "2"
    });
    assert_eq!(shown.to_string(), row.unwrap()["ipc"]);
    assert!(
        out.contains(&expected[0]) && out.contains(&expected[1]),
        "{out}"
    );

    let baseline = "[report]\nbaseline = { warp_scheduler = \"lrr\", sms = 2 }\n";
    let (charts, _) = pictures(folder.path(), baseline);
    let map = &charts[0]["heat"];
    assert_eq!(map["range"], charts[2]["heat"]["range"]);
    assert!(map["range"].is_array() && map["axis"]["line"] == 1.0);
    let title = "speedup over lrr, sms 2 on gtx480 by sm.warp_scheduler and gpu.sms";
    let expected = [
        ": vectoradd",
        ": spmv",
        ": geometric mean over target (vectoradd, spmv)",
    ];
    assert_eq!(titles(&charts), expected.map(|end| format!("{title}{end}")));
    let value = |chart: usize| charts[chart]["heat"]["values"][1][1].as_f64().unwrap();
    assert!((value(0) * value(1) - value(2) * value(2)).abs() < 1e-9);

    let (charts, _) = pictures(folder.path(), &format!("{baseline}colours = \"own\"\n"));
    assert!(charts.iter().all(|chart| chart["heat"]["range"].is_null()));

    let (charts, _) = pictures(folder.path(), &format!("{baseline}panels = []\n"));
    assert_eq!(titles(&charts), [format!("{title}{}", expected[2])]);
    let (charts, _) = pictures(
        folder.path(),
        "[report]\npanels = [\"sms\"]\nrows = \"target\"\n",
    );
    assert_eq!(
        titles(&charts)[0],
        "ipc on gtx480 by target and sm.warp_scheduler: sms 2"
    );
    // An axis with pictures for each value is no axis of these pictures.
    let (charts, _) = pictures(
        folder.path(),
        &format!("{baseline}chart = \"bars\"\npanels = [\"sms\"]\n"),
    );
    let title = "speedup over lrr, sms 2 on gtx480 by sm.warp_scheduler and target";
    let expected = [": sms 2", ": sms 4", ": geometric mean over gpu.sms (2, 4)"];
    assert_eq!(titles(&charts), expected.map(|end| format!("{title}{end}")));
    let groups = serde_json::json!(["vectoradd", "spmv", "geometric mean"]);
    assert_eq!(charts[1]["bars"]["groups"], groups);
    // Where the groups are no programs, the means say what they are over.
    let (charts, _) = pictures(
        folder.path(),
        "[report]\nbaseline = { warp_scheduler = \"lrr\" }\nchart = \"bars\"\nrows = \"sms\"\n\
         columns = \"warp_scheduler\"\npanels = [\"target\"]\n",
    );
    let groups = charts[0]["bars"]["groups"].as_array().unwrap();
    assert_eq!(groups.last().unwrap(), "geometric mean over gpu.sms");
}

/// A terminal has the means of many bars instead of them, in the order of the file, with all axes
/// that they are over and the bars that differ most.
#[test]
fn means_of_many_bars_have_their_ranges() {
    let axes = "[axes]\ntarget = [\"vectoradd\", \"spmv\", \"nn\"]\nsize = \"test\"\ngpu.sms = [2, 4]\n\
                l1d.ways = [2, 4]\nsm.warp_scheduler = [\"lrr\", \"two-level\", \"gto\", \"ccws\", \
                \"cawa\"]\n[report]\nrows = \"warp_scheduler\"\ncolumns = \"target\"\n\
                baseline = { warp_scheduler = \"lrr\" }\n";
    let folder = folder_of(axes);
    let ran = sweep(folder.path(), &["study.toml"]);
    let title = "speedup over lrr on gtx480 by sm.warp_scheduler and target: geometric mean over \
                 target (vectoradd, spmv, nn) and gpu.sms (2, 4) and l1d.ways (2, 4); from the \
                 least to the greatest\n";
    let (_, lines) = ran
        .out
        .split_once(title)
        .unwrap_or_else(|| panic!("{}", ran.out));
    let lines: Vec<_> = lines.lines().take(4).collect();
    let names: Vec<_> = lines
        .iter()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["two-level", "gto", "ccws", "cawa"]);
    let rows = rows(folder.path());
    let of_gto = rows
        .values()
        .filter(|row| row["sm.warp_scheduler"] == "gto");
    let most = of_gto.max_by(|a, b| {
        let speedup = |row: &&_| row_number(row, "speedup");
        speedup(a).total_cmp(&speedup(b))
    });
    let most = most.unwrap();
    let end = format!(
        " to {:.3} ({}, sms {}, ways ",
        row_number(most, "speedup"),
        most["target"],
        most["gpu.sms"]
    );
    assert!(lines[1].contains(&end), "{end}: {lines:?}");
}

/// Where the baseline lies in one of the panels, its series has bars in all of them, so that a
/// series has the same colour and its own range.
#[test]
fn a_baseline_in_one_panel_keeps_the_series_of_all() {
    let axes = "[axes]\ntarget = [\"vectoradd\", \"spmv\", \"nn\"]\nsize = \"test\"\ngpu.sms = [2, 4]\n\
                sm.warp_scheduler = [\"lrr\", \"two-level\", \"gto\", \"ccws\", \"cawa\", \"rrr\", \
                \"oldest\", \"daws\", \"mascar\"]\n[report]\nrows = \"warp_scheduler\"\n\
                columns = \"target\"\npanels = [\"gpu.sms\"]\nchart = \"bars\"\n\
                baseline = { warp_scheduler = \"lrr\", \"gpu.sms\" = 2 }\n";
    let folder = folder_of(axes);
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json")).unwrap();
    let names = |chart: &serde_json::Value| {
        let series = chart["bars"]["series"].as_array().unwrap().iter();
        series.map(|of| of["name"].clone()).collect::<Vec<_>>()
    };
    let page = json(&page);
    let charts = page["charts"].as_array().unwrap();
    assert!(charts.len() == 3 && names(&charts[0]).len() == 9);
    assert!(charts.iter().all(|chart| names(chart) == names(&charts[0])));
    let top = |chart: &serde_json::Value| chart["bars"]["axis"]["max"].as_f64();
    assert!(top(&charts[0]).is_some() && charts.iter().all(|chart| top(chart) == top(&charts[0])));
    let rows = rows(folder.path());
    for scheduler in ["lrr", "gto", "mascar"] {
        let own = rows
            .values()
            .filter(|row| row["sm.warp_scheduler"] == scheduler);
        let least = own.map(|row| row_number(row, "speedup"));
        let least = least.min_by(f64::total_cmp).unwrap();
        let line = ran.out.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(scheduler)
        });
        let told = format!(" {least:.3} (");
        assert!(line.unwrap().contains(&told), "{told}: {}", ran.out);
    }
}

/// Machines have pictures of their own, and no mean over them is made unless one asks.
#[test]
fn no_mean_over_machines_is_made_unasked() {
    let axes = "[axes]\ntarget = [\"vectoradd\", \"nn\"]\nsize = \"test\"\ngpu = [\"gtx480\", \
                \"gtx480-gpgpusim4\"]\nsm.warp_scheduler = [\"lrr\", \"gto\"]\n[report]\n\
                baseline = { warp_scheduler = \"lrr\" }\nrows = \"target\"\n\
                columns = \"warp_scheduler\"\n";
    let folder = folder_of(axes);
    let page = |more: &str| {
        std::fs::write(folder.path().join("study.toml"), format!("{axes}{more}")).unwrap();
        let ran = sweep(folder.path(), &["study.toml"]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json"));
        json(&page.unwrap())
    };
    let title = "speedup over lrr by target and sm.warp_scheduler";
    let own = page("");
    let expected = ["gtx480", "gtx480-gpgpusim4"].map(|gpu| format!("{title}: {gpu}"));
    assert_eq!(titles(own["charts"].as_array().unwrap()), expected);
    let means = own["summary"].as_object().unwrap();
    assert!(
        means.contains_key("geometric_mean.gtx480-gpgpusim4, gto"),
        "{means:?}"
    );
    let asked = page("panels = []\n");
    let mean = format!("{title}: geometric mean over gpu (gtx480, gtx480-gpgpusim4)");
    assert_eq!(titles(asked["charts"].as_array().unwrap()), [mean]);
}

/// Two programs on an axis that the map does not show have a map each, although the
/// file names both axes and a title. A mean that the file asks for is named below its title.
#[test]
fn axes_and_titles_of_the_file_hide_no_mean() {
    let folder = folder_of("");
    let report =
        "[report]\nrows = \"warp_scheduler\"\ncolumns = \"sms\"\ntitle = \"For the talk\"\n";
    let (charts, _) = pictures(folder.path(), report);
    let expected = ["vectoradd", "spmv"].map(|name| format!("For the talk: {name}"));
    assert_eq!(titles(&charts), expected);
    let (charts, out) = pictures(folder.path(), &format!("{report}panels = []\n"));
    let mean = "For the talk: mean over target (vectoradd, spmv)";
    assert_eq!(titles(&charts), [mean]);
    assert!(out.contains(mean), "{out}");
}

/// Fourteen pictures would be too many, and means of IPC over them say nothing unless one asks.
#[test]
fn means_of_ipc_are_refused_unless_the_file_asks_for_them() {
    let axes = "[axes]\ntarget = \"vectoradd\"\nsize = \"test\"\ngpu.sms = [2, 4]\n\
                sm.warp_scheduler = [\"lrr\", \"gto\"]\nl1d.sets = [16, 32]\n\
                l1d.ways = [1, 2, 3, 4, 5, 6, 8]\n";
    let folder = folder_of(axes);
    let picture = folder.path().join("results/sweep/study.svg");
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let note = "note: there is no picture, because its cells would be means over l1d.sets (16, 32) \
                and 7 values of l1d.ways: `[report]` chooses";
    assert!(ran.out.contains(note), "{}", ran.out);
    assert!(!picture.exists());
    let asked = format!("{axes}[report]\npanels = []\n");
    std::fs::write(folder.path().join("study.toml"), asked).unwrap();
    let out = sweep(folder.path(), &["study.toml"]).out;
    let title = "ipc: vectoradd on gtx480 by gpu.sms and sm.warp_scheduler: mean over l1d.sets (16, 32) and";
    assert!(out.contains(title) && picture.exists(), "{out}");
}

#[test]
fn axes_of_panels_and_columns_of_words_are_checked() {
    let folder = folder_of(&format!(
        "{AXES}[report]\nrows = \"target\"\npanels = [\"target\", \"smss\"]\nmetric = \"bound\"\n\
         colours = \"same\"\n"
    ));
    let told = refusal(folder.path(), 2, &["sweep", "study.toml"]);
    for part in [
        "`target` is an axis of each picture already",
        "there is no axis `smss`",
        "did you mean `sms`?",
        "the table has no column `bound`",
        "write \"own\" (those of each map) or \"shared\"",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// A row names what limits its blocks and what bound its run, and the page shows the causes.
#[test]
fn rows_say_what_bound_their_runs() {
    let folder = folder_of("[axes]\ntarget = [\"vectoradd\", \"nn\"]\nsize = \"test\"\n");
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let rows = rows(folder.path());
    let explained = warploom_in(
        folder.path(),
        &[
            "compare",
            "vectoradd",
            "--size",
            "test",
            "--vary",
            "gpu.sms=15",
            "--json",
        ],
    );
    let compared = json(&explained.out)["rows"][0].clone();
    assert_eq!(compared["bound"], rows["vectoradd"]["bound"].as_str());
    assert!(!rows["vectoradd"]["bound"].is_empty());
    assert_eq!(compared["limit"], rows["vectoradd"]["limit"].as_str());
    let note = "note: nn has ";
    assert!(
        ran.out.contains(note) && ran.out.contains("SMs are idle"),
        "{}",
        ran.out
    );
    assert_eq!(warploom_in(folder.path(), &["report", "results"]).status, 0);
    let page = std::fs::read_to_string(folder.path().join("results/index.html")).unwrap();
    assert!(page.contains("Why: scheduler cycles by cause") && page.contains("instruction_buffer"));
    let why = folder.path().join("results/sweep/study-why.svg");
    let why = std::fs::read_to_string(why).unwrap();
    assert!(why.contains("Scheduler cycles by cause") && why.contains("instruction_buffer"));
}

/// A policy that holds warps back is no bound where the run is no slower than that of another one.
#[test]
fn a_policy_that_costs_no_time_is_not_the_bound() {
    let axes = "[axes]\ntarget = \"nn\"\nsize = \"test\"\ngpu.sms = 2\nmax_cycles = 1500\n\
                two-level.active_warps = [2, 3]\n";
    let folder = folder_of(axes);
    let bounds = |schedulers: &str| {
        let text = format!("{axes}sm.warp_scheduler = {schedulers}\n");
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        let ran = sweep(folder.path(), &["study.toml"]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let rows = rows(folder.path());
        let held = rows
            .values()
            .filter(|row| row["sm.warp_scheduler"] == "two-level");
        let bounds = held.map(|row| row["bound"].clone()).collect::<Vec<_>>();
        let page = folder.path().join("results/sweep/study.json");
        (bounds, std::fs::read_to_string(page).unwrap())
    };
    let policy = "scheduling policy".to_owned();
    let (alone, page) = bounds("[\"two-level\"]");
    assert_eq!(alone, [policy.clone(), policy.clone()]);
    assert!(!page.contains("policy, at no cost"), "{page}");
    let (beside, page) = bounds("[\"lrr\", \"two-level\"]");
    assert!(beside[0] == policy && beside[1] != policy, "{beside:?}");
    assert!(page.contains("policy, at no cost"), "{page}");
    // Runs that differ in the policy's settings show it as well.
    let text = axes.replace("[2, 3]", "[2, 3, 24]") + "sm.warp_scheduler = \"two-level\"\n";
    std::fs::write(folder.path().join("study.toml"), text).unwrap();
    assert_eq!(sweep(folder.path(), &["study.toml"]).status, 0);
    let rows = super::rows(folder.path());
    let bounds: Vec<_> = rows.values().map(|row| &row["bound"]).collect();
    let held: Vec<_> = bounds.iter().map(|bound| **bound == policy).collect();
    assert_eq!(held.iter().filter(|held| **held).count(), 1, "{bounds:?}");
}

/// Equal runs have the names that the table has, and the page names them.
#[test]
fn runs_that_are_the_same_in_every_cycle_are_told() {
    let folder = folder_of(
        "[axes]\ntarget = \"bfs\"\nsize = \"test\"\nsm.warp_scheduler = [\"lrr\", \"gto\"]\n\
         max_cycles = 300\nl1d.ways = [4, 8]\n",
    );
    let ran = sweep(folder.path(), &["study.toml"]);
    let told = "the runs of each of 2 groups are the same in every cycle, so what differs in their \
                settings changed nothing (docs/comparing.md, Equal runs): (lrr-4; lrr-8), (gto-4; \
                gto-8)";
    let plain = ran.out.replace('\n', " ");
    assert!(plain.contains(&format!("note: {told} ")), "{}", ran.out);
    let page = std::fs::read_to_string(folder.path().join("results/sweep/study.json")).unwrap();
    assert!(page.contains(told), "{page}");
}

#[test]
fn cut_and_stopped_runs_say_how_far_they_came() {
    let axes =
        "[axes]\ntarget = \"bfs\"\nsize = \"test\"\nsm.warp_scheduler = [\"lrr\", \"gto\"]\n";
    let folder = folder_of(&format!("{axes}max_cycles = 3000\n"));
    let ran = sweep(folder.path(), &["study.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    for told in [
        "note: fewer than two waves of blocks ended in 2 of the cut runs",
        " 15 blocks fill the machine)",
        "note: cut in launch 1 (bfs): later launches",
    ] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    let cut = rows(folder.path());
    let blocks = |row: &str| -> u64 { cut["gto"][row].parse().unwrap() };
    assert!(blocks("blocks_ended") <= blocks("blocks") && blocks("blocks") > 0);
    let written = |text: &str| {
        std::fs::write(folder.path().join("study.toml"), format!("{axes}{text}")).unwrap();
        sweep(folder.path(), &["study.toml"])
    };
    let unbegun = written("max_cycles = 10\ngpu.kernel_launch_cycles = 500\n").out;
    let told =
        "no block had started by then in lrr, gto: the first block of a launch starts 500 cycles";
    assert!(unbegun.contains(told), "{unbegun}");
    let said = "the same in every cycle";
    assert!(!unbegun.contains(said), "{unbegun}");
    let unissued = written("max_cycles = 20\ngpu.kernel_launch_cycles = 0\n").out;
    let told = "blocks had started by then, and no instruction had been issued in lrr, gto";
    assert!(
        unissued.contains(told) && !unissued.contains(said),
        "{unissued}"
    );
    let long = written("gpu.kernel_launch_cycles = 50000\n").out;
    let told = "cycles of lrr, gto, 50,000 cycles each before the first block starts";
    let remedy = "`gpu.kernel_launch_cycles = 0` below `[axes]` leaves it out";
    let plain = long.replace('\n', " ");
    assert!(plain.contains(told) && plain.contains(remedy), "{long}");

    let ran = written("max_launches = 2\n[report]\nbaseline = { warp_scheduler = \"lrr\" }\n");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        ran.out
            .contains("note: 2 of 2 runs were stopped after max_launches: what")
            && ran.out.contains(", first 2 launches"),
        "{}",
        ran.out
    );
    let stopped = rows(folder.path());
    let of = |name: &str, column: &str| stopped[name][column].parse::<f64>().unwrap();
    assert_eq!(
        (&*stopped["gto"]["status"], of("gto", "launches")),
        ("stopped", 2.0)
    );
    let speedup = of("lrr", "cycles") / of("gto", "cycles");
    assert!((of("gto", "speedup") - speedup).abs() < 1e-9, "{stopped:?}");
    for (text, told) in [
        ("max_launches = 0\n", "write 1 or more"),
        (
            "[[product]]\naxes = { target = \"bfs + nn\", max_launches = 2 }\n",
            "is for one program",
        ),
        (
            "[[product]]\naxes = { app = \"./a\", max_launches = 2 }\n",
            "launches = \"..4\"",
        ),
    ] {
        let axes = if text.contains("product") {
            "[axes]\nsize = \"test\"\n"
        } else {
            axes
        };
        std::fs::write(folder.path().join("study.toml"), format!("{axes}{text}")).unwrap();
        let message = refusal(folder.path(), 2, &["sweep", "study.toml"]);
        assert!(message.contains(told), "{message}");
    }
}
