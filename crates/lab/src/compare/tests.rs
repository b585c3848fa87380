//! Comparisons of small runs.

use super::{Comparison, Programs, Vary};
use crate::runner::{Event, Runner};
use crate::runs::{FigureJob, FigureOutcome, make};
use crate::spec::Input;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use warploom_config::Base;
use warploom_report::Chart;
use warploom_report::page::{Cell, Page};
use warploom_workloads::Size;

pub(super) fn comparison() -> Comparison {
    let vary = |key: &str, values: &[&str]| Vary {
        key: key.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    Comparison {
        input: Input::workload("vectoradd", Size::Test, 1).unwrap(),
        programs: None,
        gpu: "gtx480".to_owned(),
        base: Base::Preset("gtx480".to_owned()),
        sets: vec!["gpu.sms=2".to_owned()],
        vary: vec![
            vary("sm.warp_scheduler", &["lrr", "gto"]),
            vary("gpu.max_blocks_per_sm", &["1", "2", "4"]),
        ],
        best: Vec::new(),
        max_cycles: None,
        max_launches: None,
        energy: None,
        explain: false,
        sample_error: None,
    }
}

pub(super) fn page_of(comparison: &Comparison) -> Page {
    let specs = comparison.runs().unwrap();
    let wanted = FigureJob {
        name: comparison.name(),
        make: Box::new(|runs| comparison.make(&specs, runs)),
        page: Box::new(|figure, used| comparison.page(figure, used, "warploom compare")),
    };
    let runner = Runner {
        store: None,
        threads: 2,
        observer: &|_| (),
        interrupted: &|| false,
    };
    let made = make(&[wanted], &runner).unwrap();
    match made.as_slice() {
        [FigureOutcome::Page(page)] => Page::clone(page),
        made => panic!("{made:?}"),
    }
}

/// An interrupted comparison has the rows of the whole one whose runs have ended.
#[test]
fn an_interrupted_comparison_has_the_rows_that_ended() {
    let comparison = comparison();
    let specs = comparison.runs().unwrap();
    let ended = AtomicUsize::new(0);
    let is_interrupted = || ended.load(Ordering::Relaxed) >= 2;
    let wanted = FigureJob {
        name: comparison.name(),
        make: Box::new(|runs| match is_interrupted() {
            true => comparison.make_of_ended(&specs, runs),
            false => comparison.make(&specs, runs),
        }),
        page: Box::new(|figure, used| comparison.page(figure, used, "warploom compare")),
    };
    let runner = Runner {
        store: None,
        threads: 1,
        observer: &|event| {
            if let Event::Ended { .. } = event {
                ended.fetch_add(1, Ordering::Relaxed);
            }
        },
        interrupted: &is_interrupted,
    };
    let made = make(&[wanted], &runner).unwrap();
    let [FigureOutcome::Page(page)] = made.as_slice() else {
        panic!("{made:?}")
    };
    // The run that had begun when the second one was counted may have ended, too.
    let rows = &page.table.rows;
    assert!((2..=3).contains(&rows.len()), "{rows:?}");
    let whole = page_of(&comparison);
    let number = |row: &[Cell], column: usize| row[column].number().unwrap();
    for row in rows {
        let same = |other: &&Vec<Cell>| other[..2] == row[..2];
        let whole = whole.table.rows.iter().find(same).unwrap();
        assert_eq!(row[2..4], whole[2..4]);
        assert_eq!(number(row, 4), number(&rows[0], 2) / number(row, 2));
    }
}

/// Without a run that has ended there is no page.
#[test]
fn a_comparison_that_is_interrupted_at_once_has_no_page() {
    let comparison = comparison();
    let specs = comparison.runs().unwrap();
    let wanted = FigureJob {
        name: comparison.name(),
        make: Box::new(|runs| comparison.make(&specs, runs)),
        page: Box::new(|figure, used| comparison.page(figure, used, "warploom compare")),
    };
    let runner = Runner {
        store: None,
        threads: 2,
        observer: &|_| (),
        interrupted: &|| true,
    };
    assert_eq!(make(&[wanted], &runner).unwrap(), []);
}

/// At half the clock power that is drawn over time is drawn twice as long for the same work.
#[test]
fn energy_has_columns_a_chart_and_its_runs() {
    let comparison = Comparison {
        vary: vec![Vary {
            key: "clocks.core_mhz".to_owned(),
            values: ["700", "350"].map(str::to_owned).to_vec(),
        }],
        energy: warploom_energy::find("gtx480"),
        ..comparison()
    };
    let page = page_of(&comparison);
    let at = |name: &str| {
        let column = page
            .table
            .columns
            .iter()
            .position(|c| c.name == name)
            .unwrap();
        let cells = page
            .table
            .rows
            .iter()
            .map(|row| row[column].number().unwrap());
        cells.collect::<Vec<_>>()
    };
    let (cycles, watts, mj) = (at("cycles"), at("power.w"), at("energy.mj"));
    let seconds = |row: usize| cycles[row] / [700e6, 350e6][row];
    for row in 0..2 {
        let joules = watts[row] * seconds(row);
        assert!((joules - 1e-3 * mj[row]).abs() < 1e-9 * joules);
        let delay = 1e6 * joules * seconds(row);
        assert!((at("energy_delay.uj_s")[row] - delay).abs() < 1e-9 * delay);
        let run = page.runs[row].energy.as_ref().unwrap();
        assert_eq!(run.joules * 1e3, mj[row]);
    }
    let ratio = at("energy.ratio");
    assert!(ratio[0] == 1.0 && (ratio[1] * mj[0] - mj[1]).abs() < 1e-9 * mj[1]);
    assert!(watts[1] < watts[0]);
    let Chart::Stacks(chart) = &page.charts[1] else {
        panic!("no stacks")
    };
    assert_eq!(chart.groups, ["700", "350"]);
    let sum: f64 = chart.series.iter().filter_map(|s| s.values[1]).sum();
    assert!((sum - mj[1]).abs() < 1e-9 * sum);
}

/// Searched values make no rows: each row has the fastest of its runs, and says which it is.
/// The cycles are those of the rows that a comparison without a search has.
#[test]
fn a_search_shows_the_fastest_run_of_each_row() {
    let all = comparison();
    let (vary, best) = (all.vary[..1].to_vec(), all.vary[1..].to_vec());
    let searched = page_of(&Comparison { vary, best, ..all });
    let page = page_of(&comparison());
    let cycles = |row: &[Cell]| row[2].number().unwrap();
    assert_eq!(searched.table.rows.len(), 2);
    assert_eq!(searched.table.columns[1].name, "gpu.max_blocks_per_sm");
    for (found, rows) in searched.table.rows.iter().zip(page.table.rows.chunks(3)) {
        let least = rows.iter().map(|row| cycles(row)).fold(f64::MAX, f64::min);
        let first = rows.iter().find(|row| cycles(row) == least).unwrap();
        assert_eq!(found[..3], first[..3]);
    }
}

/// A searched setting of a policy has a value in the rows of this policy alone.
#[test]
fn a_search_names_no_value_of_a_key_that_changes_nothing() {
    let all = comparison();
    let vary = vec![Vary {
        values: ["gto", "static-limit"].map(str::to_owned).to_vec(),
        ..all.vary[0].clone()
    }];
    let best = vec![
        Vary {
            key: "static-limit.warps".to_owned(),
            values: ["1", "24"].map(str::to_owned).to_vec(),
        },
        all.vary[1].clone(),
    ];
    let page = page_of(&Comparison { vary, best, ..all });
    let [gto, limited] = page.table.rows.as_slice() else {
        panic!("not two rows")
    };
    assert_eq!(gto[1], Cell::None);
    assert_eq!(limited[1], Cell::from("24"));
    assert!(gto[2] != Cell::None && limited[2] != Cell::None);
}

#[test]
fn a_key_that_no_row_reads_is_named() {
    let all = comparison();
    let key = Vary {
        key: "static-limit.warps".to_owned(),
        values: ["1", "16"].map(str::to_owned).to_vec(),
    };
    let told = "the key `static-limit.warps` changes nothing: it is a setting of the policy \
                `sm.warp_scheduler=static-limit`, and `sm.warp_scheduler` is gto";
    let alone = Comparison {
        vary: vec![key.clone()],
        ..all.clone()
    };
    assert_eq!(
        page_of(&alone).notes.first().map(String::as_str),
        Some(told)
    );
    let scheduler = Vary {
        values: ["gto", "static-limit"].map(str::to_owned).to_vec(),
        ..all.vary[0].clone()
    };
    let chosen = Comparison {
        vary: vec![scheduler, key],
        ..all
    };
    let notes = page_of(&chosen).notes;
    assert!(
        !notes.iter().any(|note| note.contains("changes nothing")),
        "{notes:?}"
    );
}

/// Runs that were cut say so in titles, axis, rows and a note; so does a grid that leaves SMs idle.
#[test]
fn runs_that_were_cut_and_idle_sms_are_named() {
    let cut = Comparison {
        input: Input::workload("mvt", Size::Test, 1).unwrap(),
        max_cycles: Some(1500),
        sets: Vec::new(),
        vary: comparison().vary[..1].to_vec(),
        ..comparison()
    };
    let page = page_of(&cut);
    let title = "mvt on gtx480 by sm.warp_scheduler, first 1,500 cycles";
    assert_eq!(page.title, title);
    let Chart::Bars(chart) = &page.charts[0] else {
        panic!("no bars")
    };
    assert_eq!(chart.title, title);
    assert_eq!(chart.axis.label, "speedup over lrr (ratio of IPC)");
    let column = |name: &str| {
        let at = page.table.columns.iter().position(|c| c.name == name);
        let at = at.unwrap_or_else(|| panic!("no column {name}"));
        let cells = page.table.rows.iter().map(|row| row[at].to_string());
        cells.collect::<Vec<_>>()
    };
    assert_eq!(column("status"), ["cut", "cut"]);
    assert_eq!(column("limit"), ["grid", "grid"]);
    assert_eq!(column("blocks_ended"), ["0", "0"]);
    let reached = ["launch", "blocks", "waves"].map(|name| column(name).swap_remove(0));
    assert_eq!(reached, ["1", "1", "0"]);
    let [cut_note, short, later, idle] = page.notes.as_slice() else {
        panic!("{:?}", page.notes)
    };
    assert!(
        cut_note
            .starts_with("2 of 2 runs were cut at --max-cycles 1,500: their speedups are ratios"),
        "{cut_note}"
    );
    assert!(
        short.starts_with("fewer than two waves of blocks ended in 2 of the cut runs")
            && short.ends_with(": mvt 0 of 1 blocks (0.00 waves; 15 blocks fill the machine)"),
        "{short}"
    );
    let missing = "cut in launch 1 of 2 (mvt): later launches are not in the comparison";
    assert_eq!(later, missing);
    let expected = "mvt has 1 block for 15 SMs in its largest launch: 14 SMs are idle";
    assert!(idle.starts_with(expected), "{idle}");
    let whole = page_of(&comparison());
    assert_eq!(whole.notes, Vec::<String>::new());
    assert!(!whole.title.contains("cycles"), "{}", whole.title);
}

/// Runs that are cut before their first instruction have no speedup, and a note says why.
#[test]
fn runs_that_are_cut_before_their_first_block_say_so() {
    let cut = Comparison {
        max_cycles: Some(100),
        sets: vec!["gpu.kernel_launch_cycles=5000".to_owned()],
        vary: comparison().vary[..1].to_vec(),
        ..comparison()
    };
    let page = page_of(&cut);
    assert!(
        page.title
            .ends_with("first 100 cycles: no block had started"),
        "{}",
        page.title
    );
    let expected = "no block had started by then in lrr, gto: the first block of a launch starts \
                    5,000 cycles after it (gpu.kernel_launch_cycles); write a larger --max-cycles";
    assert_eq!(page.notes[1], expected);
    assert_eq!(page.further_charts.len(), 1);
    let started = page_of(&Comparison {
        max_cycles: Some(20),
        sets: vec!["gpu.kernel_launch_cycles=0".to_owned()],
        ..cut
    });
    let end = "first 20 cycles: no instruction had been issued";
    assert!(started.title.ends_with(end), "{}", started.title);
    let expected = "blocks had started by then, and no instruction had been issued in lrr, gto; \
                    write a larger --max-cycles";
    assert_eq!(started.notes[1], expected);
}

/// The time of launches, 100,000 cycles each, is told where it is a large part of the runs.
#[test]
fn launches_that_take_most_of_a_run_are_told() {
    let page = page_of(&Comparison {
        sets: vec!["gpu.kernel_launch_cycles=100000".to_owned()],
        vary: comparison().vary[..1].to_vec(),
        ..comparison()
    });
    let [note] = &page.notes[..] else {
        panic!("{:?}", page.notes)
    };
    let cycles = page.table.columns.iter().position(|c| c.name == "cycles");
    let cycles = page
        .table
        .rows
        .iter()
        .map(|row| row[cycles.unwrap()].number());
    let share = |cycles: f64| (100.0 * 1e5 / cycles).round();
    let shares: Vec<f64> = cycles.map(|cycles| share(cycles.unwrap())).collect();
    assert_eq!(shares[0], shares[1], "both take the same");
    let start = format!(
        "launches take {}% of the cycles of lrr, gto, 100,000 cycles each",
        shares[0]
    );
    assert!(
        note.starts_with(&start) && note.contains("`--set gpu.kernel_launch_cycles=0`"),
        "{note}"
    );
}

/// Launches of workloads are known before they run, where no kernel repeats until it is done.
#[test]
fn programs_have_the_launches_that_are_told() {
    for (name, is_exact) in [("mvt", true), ("bfs", false), ("nw", true)] {
        let comparison = Comparison {
            input: Input::workload(name, Size::Test, 1).unwrap(),
            vary: vec![Vary {
                values: vec!["gto".to_owned()],
                ..comparison().vary[0].clone()
            }],
            ..comparison()
        };
        let spec = comparison.runs().unwrap().swap_remove(0);
        let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
        let made = spec.simulate(go_on).unwrap().kernels.len() as u64;
        let known = spec.launches();
        assert_eq!(known.is_exact, is_exact, "{name}");
        assert!(known.least >= 2 && known.least <= made, "{name}: {made}");
        assert!(!is_exact || known.least == made, "{name}: {made}");
    }
}

/// Runs that stop after some launches did the same work: their speedups are ratios of cycles, which
/// are those of the first launches of a whole run.
#[test]
fn runs_stop_after_a_number_of_launches() {
    let whole = Comparison {
        input: Input::workload("bfs", Size::Test, 1).unwrap(),
        vary: comparison().vary[..1].to_vec(),
        ..comparison()
    };
    let stopped = Comparison {
        max_launches: Some(2),
        ..whole.clone()
    };
    let specs = stopped.runs().unwrap();
    let run = |spec: &crate::RunSpec| {
        let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
        spec.simulate(go_on).unwrap()
    };
    let (part, all) = (run(&specs[0]), run(&whole.runs().unwrap()[0]));
    assert!(all.kernels.len() > 2, "{} launches", all.kernels.len());
    assert_eq!(part.kernels, all.kernels[..2]);
    assert_eq!(part.checks, []);
    let page = page_of(&stopped);
    assert!(page.title.ends_with(", first 2 launches"), "{}", page.title);
    // How many launches `bfs` makes is known only after it ran.
    let told = "2 of 2 runs were stopped after --max-launches 2: cycles and speedups are for these";
    assert!(page.notes[0].starts_with(told), "{:?}", page.notes);
    let column = |name: &str| {
        let at = page
            .table
            .columns
            .iter()
            .position(|c| c.name == name)
            .unwrap();
        [0, 1].map(|row: usize| page.table.rows[row][at].clone())
    };
    assert_eq!(column("status"), ["stopped", "stopped"].map(Cell::from));
    let [lrr, gto] = column("cycles").map(|cycles| cycles.number().unwrap());
    assert_eq!(column("speedup")[1], Cell::Number(lrr / gto));
    // As many launches as the program makes are all of it.
    let mut enough = specs[0].clone();
    enough.max_launches = Some(all.kernels.len() as u64);
    assert_eq!(run(&enough).digest, all.digest);
}

/// A row names what bound its run as `run --explain` does, and the page shows the causes.
#[test]
fn rows_name_what_bound_their_runs() {
    let spec = &comparison().runs().unwrap()[0];
    let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
    let report = spec.simulate(go_on).unwrap();
    let gpu = &spec.machine.spec;
    let machine = warploom_analyze::Machine::new(gpu, warploom_noc::sustainable(gpu));
    let explained = warploom_analyze::analyze(&machine, &report).unwrap();
    let page = page_of(&comparison());
    let at = page.table.columns.iter().position(|c| c.name == "bound");
    let cell = page.table.rows[0][at.unwrap()].clone();
    assert_eq!(cell, Cell::from(explained.longest().0.bounds().as_str()));
    let [Chart::Stacks(causes)] = page.further_charts.as_slice() else {
        panic!("{:?}", page.further_charts)
    };
    assert_eq!(causes.groups[..2], ["lrr, 1", "lrr, 2"]);
    assert_eq!(causes.series[0].name, "issued");
    let counted: BTreeSet<&str> = report.totals.figures.stalls.keys().map(|c| &**c).collect();
    assert_eq!(counted, BTreeSet::from(warploom_report::CAUSES));
    // A bar is as high as its run is long, over the first row.
    let at = page.table.columns.iter().position(|c| c.name == "speedup");
    for (nth, row) in page.table.rows.iter().enumerate() {
        let parts = causes.series.iter().filter_map(|part| part.values[nth]);
        let speedup = row[at.unwrap()].number().unwrap();
        assert!((parts.sum::<f64>() * speedup - 1.0).abs() < 1e-6, "{row:?}");
    }
}

/// The ways of L1D make no difference to a run that ends before its first miss is answered.
#[test]
fn rows_that_are_the_same_in_every_cycle_are_told() {
    let page = page_of(&Comparison {
        max_cycles: Some(300),
        vary: vec![Vary {
            key: "l1d.ways".to_owned(),
            values: ["4", "8"].map(str::to_owned).to_vec(),
        }],
        ..comparison()
    });
    let told = "these runs are the same in every cycle, so what differs in their settings changed \
                nothing (docs/comparing.md, Equal runs): 4; 8";
    assert_eq!(page.notes.last().map(String::as_str), Some(told));
}

/// A program that gets no SM before its run is cut has no IPC.
#[test]
fn programs_that_never_started_are_named() {
    let programs = Programs {
        others: vec![Input::workload("transpose", Size::Test, 1).unwrap()],
        ..Programs::default()
    };
    let cut = Comparison {
        programs: Some(programs),
        max_cycles: Some(1500),
        vary: vec![Vary {
            key: "gpu.multiprogram".to_owned(),
            values: ["sequential", "even"].map(str::to_owned).to_vec(),
        }],
        ..comparison()
    };
    let page = page_of(&cut);
    let ipc = page
        .table
        .columns
        .iter()
        .position(|c| c.name == "transpose.ipc");
    let ipc = ipc.unwrap();
    assert_eq!(page.table.rows[0][ipc], Cell::None);
    assert!(page.table.rows[1][ipc].number() > Some(0.0));
    let expected = "no block of transpose had started in at least one row when its run was cut";
    assert!(page.notes[1].starts_with(expected), "{:?}", page.notes);
}

/// Two programs under two policies: their targets are the instructions of the first machine
/// alone, the same in every row, and STP is the sum of the speeds over those alone.
#[test]
fn several_programs_have_figures_of_a_mix() {
    let programs = Programs {
        others: vec![Input::workload("transpose", Size::Test, 1).unwrap()],
        targets: Vec::new(),
        again: false,
        alone_cycles: Some(1500),
    };
    let comparison = Comparison {
        programs: Some(programs),
        vary: vec![Vary {
            key: "gpu.multiprogram".to_owned(),
            values: ["sequential", "even"].map(str::to_owned).to_vec(),
        }],
        ..comparison()
    };
    let page = page_of(&comparison);
    assert_eq!(page.figure, "vectoradd+transpose-multiprogram");
    assert_eq!(
        page.title,
        "vectoradd + transpose on gtx480 by gpu.multiprogram, with gpu.sms=2"
    );
    let at = |row: usize, name: &str| {
        let column = page.table.columns.iter().position(|c| c.name == name);
        let column = column.unwrap_or_else(|| panic!("no column {name}"));
        page.table.rows[row][column].number().unwrap()
    };
    for row in 0..2 {
        let cycles = ["vectoradd.cycles", "transpose.cycles"].map(|name| at(row, name));
        let stp: f64 = cycles.iter().map(|cycles| 1500.0 / cycles).sum();
        assert!((at(row, "stp") - stp).abs() < 1e-9);
        let antt: f64 = cycles.iter().map(|cycles| cycles / 1500.0).sum::<f64>() / 2.0;
        assert!((at(row, "antt") - antt).abs() < 1e-9);
    }
    assert!(
        at(1, "stp") > at(0, "stp"),
        "at once is more than one by one"
    );
    assert!(at(1, "speedup") > 1.0 && at(0, "speedup") == 1.0);
    let alone = page
        .runs
        .iter()
        .filter(|run| run.configuration == "alone")
        .count();
    assert_eq!((page.runs.len(), alone), (4, 2), "two alone, two mixes");
    assert!(
        page.runs[3].command.contains(" --targets "),
        "{}",
        page.runs[3].command
    );
}

#[test]
fn every_combination_is_a_row_and_speedups_are_over_the_first() {
    let page = page_of(&comparison());
    assert_eq!(page.figure, "vectoradd-warp_scheduler-max_blocks_per_sm");
    let names = |row: &Vec<Cell>| format!("{} {}", row[0], row[1]);
    let rows: Vec<_> = page.table.rows.iter().map(names).collect();
    assert_eq!(rows, ["lrr 1", "lrr 2", "lrr 4", "gto 1", "gto 2", "gto 4"]);
    let cycles = |row: usize| page.table.rows[row][2].number().unwrap();
    let speedup = |row: usize| page.table.rows[row][4].number().unwrap();
    assert_eq!(speedup(0), 1.0);
    for row in 1..6 {
        assert_eq!(speedup(row), cycles(0) / cycles(row));
    }
    // More blocks hide more latency.
    assert!(speedup(2) > 1.5, "{:?}", page.table.rows);
    let Chart::Bars(chart) = &page.charts[0] else {
        panic!("no bars")
    };
    assert_eq!(chart.groups, ["lrr", "gto"]);
    assert_eq!(chart.series[2].values, [Some(speedup(2)), Some(speedup(5))]);
    assert_eq!(page.configurations.len(), 6);
}

#[test]
fn keys_with_the_same_last_word_are_told_apart() {
    use super::last_words;
    let keys = ["sm.units.sp.count", "sm.units.int.count", "gpu.sms"];
    let names = keys.map(|key| last_words(key, &keys));
    assert_eq!(names, ["sp.count", "int.count", "sms"]);
    assert_eq!(last_words("gpu.sms", &["gpu.sms", "gpu.sms"]), "sms");
    assert_eq!(last_words("count", &["count", "sp.count"]), "count");
}
