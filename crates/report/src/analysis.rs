//! Text report and charts of a bottleneck analysis.

mod sentences;

use crate::chart::{bar_with_marks, sparkline};
use crate::figure::{Axis, BarChart, BarSeries, Chart, LineChart, LineSeries, Mark};
use crate::format::{grouped, percent};
use crate::outcome::outcome;
use crate::run::{checks, stalls};
use crate::run_page::steps;
use crate::table::{figures, kernel_figures};
use sentences::{sentences, wrapped};
use std::fmt::Write;
use warploom_analyze::{
    Analysis, KernelAnalysis, LoadClass, MixExplanation, Part, SHARED_BUSY, UnitUse, Utilisation,
    WindowSeries, thresholds,
};
use warploom_names::{WIDTH, shortened};
use warploom_stats::result::Outcome;

/// Width of bars, and that on a terminal that is too narrow for them and for what is beside them.
const BAR_WIDTHS: (usize, usize) = (40, 20);
/// Width of a terminal from which on bars have their full width.
const WIDE: u16 = 104;
/// Largest number of windows in a line; of more windows, several share a character.
const WINDOWS_SHOWN: usize = 80;
/// Characters of a line of windows beside the windows.
const BESIDE_WINDOWS: u16 = 22;
/// Label of the L2 bank for which requests wait longest.
const HOT_BANK: &str = "hottest L2 bank";

/// Text report of the analysis. With `gpu_duet` it has the class by the paper of GPUDuet, and what
/// GPUDuet would do. Lines keep to `width` characters, if it is given and at least 80.
pub fn analysis_report(analysis: &Analysis, gpu_duet: bool, width: Option<u16>) -> String {
    let mut text = String::new();
    let whole = &analysis.whole;
    let title = format!(
        "{} on {}: {} cycles, IPC {:.1}",
        analysis.command,
        analysis.gpu,
        grouped(whole.cycles),
        whole.ipc
    );
    let _ = writeln!(text, "{}", crate::wrap::wrapped("", &title, width));
    utilisation(&mut text, whole, width);
    let until = match analysis.outcome {
        Outcome::CycleLimit { cycles } => {
            format!(" (in the first {} cycles: --max-cycles)", grouped(cycles))
        }
        _ => String::new(),
    };
    let of = match analysis.kernels.len() {
        ..2 => "",
        _ => " (all launches together)",
    };
    let _ = writeln!(text, "bound by   {}{of}{until}\n", whole.bounds());
    over_time(&mut text, analysis.windows.as_ref(), gpu_duet, width);
    occupancy(&mut text, whole);
    stalls(&mut text, &whole.stalls);
    kernels(&mut text, &analysis.kernels, gpu_duet, width);
    advice(&mut text, analysis);
    if gpu_duet {
        prediction(&mut text, whole);
    }
    outcome(&mut text, &analysis.outcome, None, width);
    checks(&mut text, &analysis.checks);
    text
}

/// The five sentences on the kernel that takes the most cycles.
pub fn explanation_report(analysis: &Analysis) -> String {
    let (kernel, share) = analysis.longest();
    let mut text = "\n".to_owned();
    let name = shortened(&kernel.kernel, WIDTH);
    let title = match analysis.kernels.len() {
        0 => "explanation".to_owned(),
        1 => format!("explanation of {name}"),
        _ => format!(
            "explanation of {name}, which takes {} of the cycles",
            percent(Some(share))
        ),
    };
    let until = match analysis.outcome {
        Outcome::Fault { .. } => ", of the cycles up to the fault",
        _ => "",
    };
    wrapped(&mut text, "", &format!("{title}{until}"));
    sentences(&mut text, &kernel.explanation);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The explanation of several programs that ran at once: first of what they shared, then of each.
pub fn mix_report(explanation: &MixExplanation) -> String {
    let mut text = "\n".to_owned();
    let number = explanation.programs.len();
    wrapped(
        &mut text,
        "",
        &format!("explanation of {number} programs at once"),
    );
    sentences(&mut text, &explanation.shared);
    for (name, told) in &explanation.programs {
        wrapped(&mut text, "", name);
        sentences(&mut text, told);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Category and class of a kernel by the paper of GPUDuet, and what GPUDuet would do.
fn prediction(text: &mut String, kernel: &KernelAnalysis) {
    let _ = writeln!(
        text,
        "GPUDuet, a proposal that runs more blocks than fit (Lin et al., TACO 2018)\n  \
         category   {}\n  TLP class  {} ({})",
        kernel.category.name(),
        kernel.class.name(),
        meaning(kernel.class),
    );
    let prediction = kernel.duet.prediction();
    sentences(text, &[format!("GPUDuet (sm.context=duet) {prediction}.")]);
}

const fn meaning(class: LoadClass) -> &'static str {
    match class {
        LoadClass::Underutilised => "none of its six parts is heavily used",
        LoadClass::Moderate => "one of its six parts is heavily used, none is saturated",
        LoadClass::Saturated => "one of its six parts is saturated",
    }
}

fn utilisation(text: &mut String, kernel: &KernelAnalysis, width: Option<u16>) {
    let (bars, scale) = match width {
        Some(width) if width < WIDE => (BAR_WIDTHS.1, "0%        50%       100%"),
        _ => (BAR_WIDTHS.0, "0%        25%       50%       75%       100%"),
    };
    let _ = writeln!(text, "{:<28}{scale}", "utilisation");
    for part in Part::ALL {
        let (used, at) = (kernel.utilisation.of(part), thresholds(part));
        let bar = bar_with_marks(used, &[at.high, at.saturated], bars);
        let moved = kernel.throughput.of(part).map_or_else(String::new, |of| {
            let peak = match part {
                Part::NocToL2 | Part::NocToSm => format!(", peak {:.0}", of.peak_gb_per_s),
                _ => String::new(),
            };
            let (used, most) = (of.used_gb_per_s + 0.0, of.sustainable_gb_per_s);
            format!("{used:.0} of {most:.0} GB/s{peak}")
        });
        let percent = percent(Some(used));
        let line = format!("  {:<18}{percent:>6}  {bar}  {moved}", label(part));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let Utilisation {
        registers, shared, ..
    } = kernel.utilisation;
    let units = &kernel.units;
    let transactions = match units.transactions_per_cycle > 0.0 {
        true => format!("{:.2} transactions a cycle", units.transactions_per_cycle),
        false => String::new(),
    };
    let pipe = format!("pipe `{}`", units.pipe);
    let others: [(_, _, &[f64], _); 4] = [
        ("shared memory", shared, &[SHARED_BUSY], String::new()),
        ("load/store units", units.load_store, &[], transactions),
        ("function units", units.function_units, &[], pipe),
        ("register file", registers, &[], String::new()),
    ];
    let none: &[f64] = &[];
    let hot = kernel.hot_l2_bank;
    let hot = hot.map(|used| (HOT_BANK, used, none, String::new()));
    for (name, used, marks, beside) in others.into_iter().chain(hot) {
        let bar = bar_with_marks(used, marks, bars);
        let line = format!("  {name:<18}{:>6}  {bar}  {beside}", percent(Some(used)));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("  (marks: heavily used above the first, saturated above the second;\n");
    text.push_str("  network: of the GB/s that it sustains, which are below its peak;\n");
    text.push_str("  load/store units: cycles with an access that they have not finished;\n");
    text.push_str("  function units: cycles in which those of the most used pipe take no other\n");
    text.push_str("  instruction");
    if kernel.hot_l2_bank.is_some() {
        text.push_str(
            ";\n  hottest L2 bank: L2 cycles in which the bank with the longest waits is busy",
        );
    }
    text.push_str(")\n\n");
}

const fn label(part: Part) -> &'static str {
    match part {
        Part::Scheduler => "schedulers",
        Part::L1d => "L1D",
        Part::L2 => "L2",
        Part::NocToL2 => "network SM to L2",
        Part::NocToSm => "network L2 to SM",
        Part::Dram => "DRAM",
    }
}

fn over_time(
    text: &mut String,
    windows: Option<&WindowSeries>,
    with_class: bool,
    width: Option<u16>,
) {
    let Some(windows) = windows.filter(|windows| windows.start.len() > 1) else {
        return;
    };
    let count = windows.start.len();
    let room = width.map(|width| width.saturating_sub(BESIDE_WINDOWS).max(1));
    let shown = room.map_or(WINDOWS_SHOWN, |room| WINDOWS_SHOWN.min(room.into()));
    let together = count.div_ceil(shown);
    let share = match together {
        1 => String::new(),
        n => format!(", {n} per character"),
    };
    let _ = writeln!(
        text,
        "over time, {count} windows of {} cycles{share}",
        grouped(windows.window_cycles)
    );
    for (name, values) in lines_of(windows) {
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let means: Vec<_> = values.chunks(together).map(mean).collect();
        let _ = writeln!(text, "  {name:<18}|{}|", sparkline(&means));
    }
    if !with_class {
        text.push('\n');
        return;
    }
    let letter = |of: &[LoadClass]| {
        of.iter()
            .max_by_key(|class| **class as u8)
            .map_or(' ', initial)
    };
    let classes: String = windows.class.chunks(together).map(letter).collect();
    let _ = writeln!(
        text,
        "  {:<18}|{classes}|\n  (u underutilised, m moderate, S saturated)\n",
        "class"
    );
}

/// Use of each part and of the units in windows, by their names.
fn lines_of(windows: &WindowSeries) -> Vec<(&'static str, Vec<f64>)> {
    let part = |part: &Part| {
        let values = windows.utilisation.iter().map(|of| of.of(*part));
        (label(*part), values.collect())
    };
    let units = |of: fn(&UnitUse) -> f64| windows.units.iter().map(of).collect();
    let units = [
        ("load/store units", units(|of| of.load_store)),
        ("function units", units(|of| of.function_units)),
    ];
    Part::ALL.iter().map(part).chain(units).collect()
}

const fn initial(class: &LoadClass) -> char {
    match class {
        LoadClass::Underutilised => 'u',
        LoadClass::Moderate => 'm',
        LoadClass::Saturated => 'S',
    }
}

fn occupancy(text: &mut String, kernel: &KernelAnalysis) {
    let of = &kernel.occupancy;
    let told = format!(
        "occupancy of {}: {} of {} threads per SM, {} of the warp slots, limited by {}",
        shortened(&kernel.kernel, WIDTH),
        match of.blocks_per_sm {
            1 => "1 block".to_owned(),
            n => format!("{n} blocks"),
        },
        of.block_threads,
        percent(Some(of.theoretical)),
        kernel.occupancy_limit
    );
    wrapped(text, "", &told);
    let row = |room: &warploom_analyze::Room| {
        vec![
            format!("  {}", room.resource.replace('-', " ")),
            grouped(room.each.into()),
            grouped(room.total.into()),
            room.blocks
                .map_or_else(|| "any".to_owned(), |n| grouped(n.into())),
        ]
    };
    let rows: Vec<_> = of.rooms.iter().map(row).collect();
    let header = ["  resource", "a block", "an SM", "blocks"];
    text.push_str(&figures(&header, &rows, None));
    text.push('\n');
}

fn kernels(text: &mut String, kernels: &[KernelAnalysis], with_class: bool, width: Option<u16>) {
    if kernels.is_empty() {
        return;
    }
    let class = with_class.then_some("class");
    let header = ["kernel", "launches", "cycles", "bound by"].into_iter();
    let header = header
        .chain(class)
        .chain(["limit", "sched.", "L1D", "L2", "to L2", "to SM", "DRAM"]);
    let header: Vec<_> = header.collect();
    let row = |kernel: &KernelAnalysis| {
        let mut row = vec![
            kernel.kernel.clone(),
            grouped(kernel.launches),
            grouped(kernel.cycles),
        ];
        row.push(kernel.bound_keys());
        row.extend(with_class.then(|| kernel.class.name().to_owned()));
        row.push(kernel.occupancy_limit.clone());
        let used = |part: &Part| percent(Some(kernel.utilisation.of(*part)));
        row.extend(Part::ALL.iter().map(used));
        row
    };
    let rows: Vec<_> = kernels.iter().map(row).collect();
    let used = header.len() - Part::ALL.len();
    let parts = [1..used, used..header.len()];
    text.push_str(&kernel_figures(&header, &rows, &parts, width));
    text.push('\n');
}

/// Advice on the kernel that takes the most cycles.
fn advice(text: &mut String, analysis: &Analysis) {
    let (kernel, share) = analysis.longest();
    if analysis.kernels.len() > 1 {
        let share = percent(Some(share));
        let longest = format!("Of `{}`, which takes {share} of the cycles:", kernel.kernel);
        wrapped(text, "", &longest);
    }
    sentences(text, &kernel.advice);
}

/// Axis of a share of what a part can do.
fn utilisation_axis() -> Axis {
    Axis {
        label: "utilisation".to_owned(),
        percent: true,
        max: Some(1.0),
        ..Axis::default()
    }
}

/// Bars of the use of each part by a kernel, or by several together, under their name.
fn utilisation_bars(name: &str, gpu: &str, kernel: &KernelAnalysis) -> Chart {
    let of_parts = Part::ALL.map(|part| kernel.utilisation.of(part));
    let units = &kernel.units;
    let others = [
        ("shared memory".to_owned(), kernel.utilisation.shared),
        ("load/store units".to_owned(), units.load_store),
        (
            format!("function units ({})", units.pipe),
            units.function_units,
        ),
    ];
    let hot = kernel.hot_l2_bank.map(|used| (HOT_BANK.to_owned(), used));
    let others = others.into_iter().chain(hot);
    let labels = Part::ALL.map(|part| label(part).to_owned());
    let (labels, used): (Vec<_>, Vec<_>) = labels.into_iter().zip(of_parts).chain(others).unzip();
    let bars = labels.len();
    let mark = |name: &str, of: fn(Part) -> f64, shared: Option<f64>| {
        let parts = Part::ALL.map(|part| Some(of(part)));
        let mut values: Vec<_> = parts.into_iter().chain([shared]).collect();
        values.resize(bars, None);
        Mark {
            name: name.to_owned(),
            values,
            series: None,
        }
    };
    Chart::Bars(BarChart {
        title: format!("{name} on {gpu}: bound by {}", kernel.bounds()),
        axis: utilisation_axis(),
        groups: labels,
        series: vec![BarSeries {
            name: "utilisation".to_owned(),
            values: used.into_iter().map(Some).collect(),
        }],
        marks: vec![
            mark(
                "heavily used",
                |part| thresholds(part).high,
                Some(SHARED_BUSY),
            ),
            mark("saturated", |part| thresholds(part).saturated, None),
        ],
    })
}

/// Most kernels with a chart of their own.
const KERNELS_DRAWN: usize = 12;

/// Charts of utilisations with their thresholds: of the run, of each of its kernels if it has
/// several, those that take the most cycles, and over time if there are windows.
pub fn analysis_chart(analysis: &Analysis) -> Vec<Chart> {
    let whole = &analysis.whole;
    let name = match analysis.kernels.len() {
        0 => shortened(&whole.kernel, WIDTH),
        number => format!("mean over {number} kernels and all their cycles"),
    };
    let mut charts = vec![utilisation_bars(&name, &analysis.gpu, whole)];
    let mut longest: Vec<&KernelAnalysis> = analysis.kernels.iter().collect();
    longest.sort_by_key(|kernel| std::cmp::Reverse(kernel.cycles));
    let kernels = longest.iter().take(KERNELS_DRAWN);
    charts.extend(
        kernels.map(|kernel| {
            utilisation_bars(&shortened(&kernel.kernel, WIDTH), &analysis.gpu, kernel)
        }),
    );
    let series = analysis.windows.as_ref();
    if let Some(windows) = series.filter(|windows| windows.start.len() > 1) {
        let line = |(name, values): (&str, Vec<f64>)| LineSeries {
            name: name.to_owned(),
            points: steps(&windows.start, &windows.end, values.into_iter()),
            dots: false,
        };
        charts.push(Chart::Lines(LineChart {
            title: format!("In windows of {} cycles", grouped(windows.window_cycles)),
            x: Axis {
                label: "core cycle".to_owned(),
                ..Axis::default()
            },
            y: utilisation_axis(),
            series: lines_of(windows).into_iter().map(line).collect(),
        }));
    }
    charts
}

#[cfg(test)]
mod tests {
    use super::{Chart, Outcome, analysis_chart, analysis_report, explanation_report};
    use crate::run::tests::run;
    use warploom_analyze::{Analysis, Machine, analyze};
    use warploom_config::preset;
    use warploom_stats::result::{Counts, RunReport, Series};

    /// Counters of 1,000 cycles on a GTX 480 that is busy for `n` tenths of the time.
    fn counts(n: u64) -> Counts {
        let counts = [
            ("gpu.cycles", 1000),
            ("sm.warp_instructions", 15 * 2 * 100 * n),
            ("sm.thread_instructions", 15 * 2 * 100 * n * 20),
            ("sm.active_cycles", 15_000),
            ("sm.resident_warp_cycles", 15_000 * 40),
            ("sm.memory_instructions", 100),
            ("sm.memory_transactions", 450),
            ("sm.register_reads", 15 * 16 * 40 * n),
            ("sm.shared_instructions", 15 * 20 * n),
            ("l1d.data_port_hits", 15 * 5 * n),
            ("l1d.accesses.hit.global_read", 50),
            ("l1d.accesses.miss.global_read", 400),
            ("l2.data_port_hits", 12 * 30 * n),
            ("noc_to_l2.cycles", 1000),
            ("noc_to_l2.flits", 12 * 12 * n),
            ("noc_to_sm.cycles", 1000),
            ("noc_to_sm.flits", 12 * 65 * n),
            ("dram.cycles", 6 * 1320),
            ("dram.data_cycles", 6 * 50 * n),
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }

    fn analysis(mut run: RunReport) -> Analysis {
        let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        for (k, kernel) in run.kernels.iter_mut().enumerate() {
            kernel.figures.statistics = counts(9 - k as u64);
        }
        run.totals.figures.statistics = run.kernels[0].figures.statistics.clone();
        analyze(&Machine::new(&gpu, 0.7), &run).expect("it was timed")
    }

    fn with_windows() -> Analysis {
        let mut run = run(1);
        let columns = counts(1).into_keys().map(|name| {
            let of = |n| counts(n)[&name];
            (name.clone(), (0..10).map(of).collect())
        });
        run.series = Some(Series {
            window_cycles: 1000,
            start: (0..10).map(|w| 1000 * w).collect(),
            end: (1..11).map(|w| 1000 * w).collect(),
            columns: columns.collect(),
            watts: std::collections::BTreeMap::new(),
        });
        analysis(run)
    }

    #[test]
    fn a_kernel_with_windows() {
        insta::assert_snapshot!(analysis_report(&with_windows(), true, None));
    }

    #[test]
    fn several_kernels_are_shown_apart() {
        let mut two = run(2);
        two.kernels[1].name = "other".to_owned();
        insta::assert_snapshot!(analysis_report(&analysis(two.clone()), true, None));
        two.kernels[1].name = "_ZN2at6native3mapILi4ENS_3AddIfEESt5arrayIPcLm3EEEEvT0_".to_owned();
        let narrow = analysis_report(&analysis(two), true, Some(80));
        insta::assert_snapshot!(narrow);
    }

    /// Without the question about GPUDuet, nothing is said of it or of its classes.
    #[test]
    fn gpu_duet_is_left_out_unless_one_asks() {
        let mut two = run(2);
        two.kernels[1].name = "other".to_owned();
        for of in [with_windows(), analysis(two)] {
            let [with, without] = [true, false].map(|duet| analysis_report(&of, duet, None));
            for word in ["GPUDuet", "class"] {
                assert!(
                    with.contains(word) && !without.contains(word),
                    "{word}: {without}"
                );
            }
        }
    }

    /// No line is longer than 80 characters, for any number of windows.
    #[test]
    fn a_terminal_of_80_columns_is_enough() {
        let narrow = analysis_report(&with_windows(), true, Some(80));
        let widest = narrow.lines().max_by_key(|line| line.chars().count());
        let widest = widest.unwrap();
        assert!(widest.chars().count() <= 80, "{widest}");
    }

    #[test]
    fn windows_get_a_chart_of_their_own() {
        assert_eq!(analysis_chart(&with_windows()).len(), 2);
        assert_eq!(analysis_chart(&analysis(run(1))).len(), 1);
    }

    /// Bars of two kernels together say so, and each kernel has bars of its own.
    #[test]
    fn kernels_have_charts_of_their_own() {
        let mut two = run(2);
        two.kernels[1].name = "other".to_owned();
        let charts = analysis_chart(&analysis(two));
        let title = |chart: &Chart| match chart {
            Chart::Bars(bars) => bars.title.split(" on ").next().map(str::to_owned),
            _ => None,
        };
        let titles: Vec<_> = charts.iter().filter_map(title).collect();
        let together = "mean over 2 kernels and all their cycles";
        assert_eq!(titles, [together, "other", "vectorAdd"]);
    }

    #[test]
    fn the_chart_has_the_verdict_and_a_bar_for_all_that_it_may_name() {
        let mut one = run(1);
        let conflicts = "sm.shared_conflict_cycles".to_owned();
        let mut found = analysis(one.clone());
        assert_eq!(found.whole.bound.name(), "warp schedulers");
        one.kernels[0].figures.statistics = counts(1);
        let figures = &mut one.kernels[0].figures;
        figures.statistics.insert(conflicts, 15 * 700);
        one.totals.figures = figures.clone();
        let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        found = analyze(&Machine::new(&gpu, 0.7), &one).expect("it was timed");
        let Chart::Bars(bars) = &analysis_chart(&found)[0] else {
            panic!("bars come first");
        };
        assert!(
            bars.title.ends_with(": bound by shared memory"),
            "{}",
            bars.title
        );
        let at = bars
            .groups
            .iter()
            .position(|group| group == "shared memory");
        // 20 accesses and 700 cycles of conflicts in 1,000 cycles of an SM.
        assert_eq!(bars.series[0].values[at.expect("a bar")], Some(0.72));
        for mark in &bars.marks {
            assert_eq!(mark.values.len(), bars.groups.len(), "{}", mark.name);
        }
    }

    #[test]
    fn an_explanation_of_a_fault_says_which_cycles_it_is_of() {
        let told = |outcome: Outcome| {
            let one = RunReport { outcome, ..run(1) };
            explanation_report(&analysis(one))
        };
        let message = "m".to_owned();
        let fault = told(Outcome::Fault { message });
        assert!(fault.starts_with("\nexplanation, of the cycles up to the fault\n"));
        assert!(told(Outcome::Finished).starts_with("\nexplanation\n"));
    }
}
