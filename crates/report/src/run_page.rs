//! Page of a single run, for the same HTML as the pages of figures: launches, what bounds them, the
//! schedulers' cycles, and lines over time where the run recorded windows.

use crate::analysis::analysis_chart;
use crate::energy::{energy_chart, scaled};
use crate::figure::{Axis, BarChart, BarSeries, Chart, LineChart, LineSeries};
use crate::format::{grouped, percent, rate, seconds};
use crate::outcome::outcome_told;
use crate::page::{Cell, Column, Configuration, Page, Table};
use std::collections::BTreeMap;
use warploom_analyze::Analysis;
use warploom_names::shortened;
use warploom_stats::result::{KernelReport, RunReport, Series};

/// Largest number of launches in the table.
const LAUNCHES_SHOWN: usize = 1000;
/// Largest width of a kernel's name in characters.
const NAME: usize = 80;
/// Components with a line of their own in a chart of power.
const COMPONENTS_SHOWN: usize = 5;

/// Columns of the table of launches: names and descriptions.
const COLUMNS: [(&str, &str); 12] = [
    ("kernel", "Name of the kernel."),
    ("grid", "Blocks of the launch."),
    ("block", "Threads of a block."),
    ("registers", "Registers per thread."),
    ("shared_bytes", "Shared memory per block in bytes."),
    ("blocks_per_sm", "Blocks that an SM holds at once."),
    ("limit", "Resource that limits this number."),
    ("cycles", "Core cycles from the launch to its end."),
    ("ipc", "Thread instructions per core cycle."),
    (
        "l1d_hit_percent",
        "Hits over accesses of the L1 data caches.",
    ),
    ("l2_hit_percent", "Hits over accesses of L2."),
    (
        "dram_percent",
        "Command cycles of DRAM in which data moves.",
    ),
];

/// The page of a run. `analysis` is that of the run, if it was timed.
pub fn run_page(run: &RunReport, analysis: Option<&Analysis>) -> Page {
    let machine = &run.gpu.name;
    let configuration = Configuration {
        name: machine.clone(),
        gpu: machine.clone(),
        overrides: Vec::new(),
        digest: run.config_digest.clone(),
    };
    let column = |(name, about): (&str, &str)| Column::new(name, about);
    Page {
        paper: "run".to_owned(),
        figure: machine.clone(),
        title: title(run),
        scale: String::new(),
        version: run.program.version.clone(),
        command: run.command.clone(),
        table: Table {
            columns: COLUMNS.map(column).into(),
            rows: run.kernels.iter().take(LAUNCHES_SHOWN).map(row).collect(),
        },
        summary: summary(run, analysis),
        explanation: Vec::new(),
        notes: Vec::new(),
        verdicts: Vec::new(),
        charts: charts(run, analysis),
        further_charts: Vec::new(),
        configurations: vec![configuration],
        presets: BTreeMap::from([(machine.clone(), run.gpu.config.clone())]),
        runs: Vec::new(),
        failures: Vec::new(),
    }
}

fn title(run: &RunReport) -> String {
    let launches = match run.kernels.len() {
        1 => "1 launch".to_owned(),
        n => format!("{} launches", grouped(n as u64)),
    };
    match run.totals.figures.cycles {
        0 => format!("{launches}, executed without timing"),
        cycles => format!("{launches}, {} core cycles", grouped(cycles)),
    }
}

fn row(kernel: &KernelReport) -> Vec<Cell> {
    let figures = &kernel.figures;
    let tenths = |value: f64| Cell::Number((value * 10.0).round() / 10.0);
    let share = |share: Option<f64>| share.map_or(Cell::None, |share| tenths(100.0 * share));
    vec![
        Cell::Text(shortened(&kernel.name, NAME)),
        Cell::Text(kernel.grid.to_string()),
        Cell::Text(kernel.block.to_string()),
        Cell::Count(kernel.registers_per_thread.into()),
        Cell::Count(kernel.shared_bytes.into()),
        Cell::Count(kernel.blocks_per_sm.into()),
        Cell::Text(kernel.occupancy_limit.clone()),
        Cell::Count(figures.cycles),
        tenths(figures.ipc),
        share(figures.l1d.hit_rate),
        share(figures.l2.hit_rate),
        share(figures.dram.utilisation),
    ]
}

fn summary(run: &RunReport, analysis: Option<&Analysis>) -> BTreeMap<String, Cell> {
    let totals = &run.totals.figures;
    let mut lines = vec![
        ("digest".to_owned(), run.digest.clone()),
        (
            "outcome".to_owned(),
            outcome_told(&run.outcome).unwrap_or_else(|| run.outcome.kind().to_owned()),
        ),
        (
            "time of the simulation".to_owned(),
            format!(
                "{}, {} warp instructions/s",
                seconds(run.wall_seconds),
                rate(run.warp_instructions_per_second)
            ),
        ),
    ];
    if totals.cycles > 0 {
        let all = format!(
            "IPC {:.1}, L1D hit {}, L2 hit {}, DRAM {}",
            totals.ipc,
            percent(totals.l1d.hit_rate),
            percent(totals.l2.hit_rate),
            percent(totals.dram.utilisation)
        );
        lines.push(("all launches".to_owned(), all));
    }
    if let Some(analysis) = analysis {
        let (kernel, share) = analysis.longest();
        let share = match analysis.kernels.len() {
            ..2 => String::new(),
            _ => format!(
                "{} takes {} of the cycles.\n",
                shortened(&kernel.kernel, NAME),
                percent(Some(share))
            ),
        };
        let text = share + &kernel.explanation.join("\n");
        lines.push(("explanation".to_owned(), text));
    }
    if let Some(energy) = &totals.energy {
        let joules = scaled(energy.joules, "J");
        let text = format!("{joules}, {:.1} W in the mean", energy.watts);
        lines.push((format!("energy ({})", energy.preset), text));
    }
    for check in &run.checks {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        lines.push((
            format!("check {}", check.name),
            format!("{verdict}: {}", check.detail),
        ));
    }
    if !run.findings.is_empty() {
        lines.push(("warnings".to_owned(), run.findings.join("; ")));
    }
    if run.kernels.len() > LAUNCHES_SHOWN {
        let text = format!("{LAUNCHES_SHOWN} of {}", grouped(run.kernels.len() as u64));
        lines.push(("launches in the table".to_owned(), text));
    }
    let cell = |(name, text)| (name, Cell::Text(text));
    lines.into_iter().map(cell).collect()
}

fn charts(run: &RunReport, analysis: Option<&Analysis>) -> Vec<Chart> {
    let totals = &run.totals.figures;
    let mut charts = Vec::new();
    charts.extend(stalls(&totals.stalls));
    charts.extend(analysis.map(analysis_chart).unwrap_or_default());
    if let Some(series) = run.series.as_ref().filter(|series| series.end.len() > 1) {
        charts.extend(instructions(series));
        charts.extend(power(series));
    }
    if let Some(energy) = &totals.energy {
        charts.push(energy_chart(
            "Energy by component",
            &[(run.gpu.name.clone(), energy)],
        ));
    }
    charts
}

/// Shares of the scheduler cycles by cause, the largest first.
fn stalls(shares: &BTreeMap<String, f64>) -> Option<Chart> {
    let mut shares: Vec<_> = shares.iter().filter(|(_, share)| **share > 0.0).collect();
    shares.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    let chart = BarChart {
        title: "Scheduler cycles by cause".to_owned(),
        axis: Axis {
            label: "share of scheduler cycles".to_owned(),
            percent: true,
            ..Axis::default()
        },
        groups: shares.iter().map(|(cause, _)| in_words(cause)).collect(),
        series: vec![BarSeries {
            name: "share".to_owned(),
            values: shares.iter().map(|(_, share)| Some(**share)).collect(),
        }],
        marks: Vec::new(),
    };
    (!shares.is_empty()).then_some(Chart::Bars(chart))
}

/// A cause of `sm.slots` as the label of a bar, with the units whose pipe is full.
fn in_words(cause: &str) -> String {
    let units = match cause {
        "memory_pipe" => " (load/store units)",
        "execution_pipe" => " (function units)",
        _ => "",
    };
    format!("{}{units}", cause.replace('_', " "))
}

/// Points of a line that has the value of each window from its start to its end. A last window that
/// is shorter takes less room.
pub(crate) fn steps(
    start: &[u64],
    end: &[u64],
    values: impl Iterator<Item = f64>,
) -> Vec<(f64, f64)> {
    let spans = start.iter().zip(end).zip(values);
    spans
        .flat_map(|((start, end), value)| [(*start as f64, value), (*end as f64, value)])
        .collect()
}

/// Thread instructions per cycle in each window.
fn instructions(series: &Series) -> Option<Chart> {
    let counts = series.columns.get("sm.thread_instructions")?;
    let windows = series.start.iter().zip(&series.end).zip(counts);
    let ipc =
        |((start, end), count): ((&u64, &u64), &u64)| *count as f64 / (end - start).max(1) as f64;
    let line = LineSeries {
        name: "IPC".to_owned(),
        points: steps(&series.start, &series.end, windows.map(ipc)),
        dots: false,
    };
    let title = "Thread instructions per cycle";
    Some(over_time(
        series,
        title,
        "thread instructions per cycle",
        vec![line],
    ))
}

/// Power in each window: the total and the components with the largest sums.
fn power(series: &Series) -> Option<Chart> {
    let total = series.watts.get_key_value("total")?;
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let parts = series.watts.iter().filter(|(name, _)| *name != "total");
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by(|(a, x), (b, y)| sum(y).total_cmp(&sum(x)).then(a.cmp(b)));
    parts.truncate(COMPONENTS_SHOWN);
    let line = |(name, watts): (&String, &Vec<f64>)| LineSeries {
        name: name.clone(),
        points: steps(&series.start, &series.end, watts.iter().copied()),
        dots: false,
    };
    let lines = std::iter::once(total).chain(parts).map(line).collect();
    Some(over_time(series, "Power", "watts", lines))
}

fn over_time(series: &Series, what: &str, label: &str, lines: Vec<LineSeries>) -> Chart {
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        ..Axis::default()
    };
    Chart::Lines(LineChart {
        title: format!(
            "{what}, in windows of {} cycles",
            grouped(series.window_cycles)
        ),
        x: axis("core cycle"),
        y: axis(label),
        series: lines,
    })
}

#[cfg(test)]
mod tests {
    use super::run_page;
    use crate::figure::Chart;
    use crate::html::{Imprint, html};
    use crate::page::Cell;
    use crate::run::tests::run;
    use warploom_stats::energy::EnergyReport;
    use warploom_stats::result::{Outcome, RunReport, Series};

    fn with_windows() -> RunReport {
        let mut run = run(2);
        run.kernels[0].name = "_Z6reduceILi256EEvPf".to_owned();
        let columns = [("sm.thread_instructions".to_owned(), vec![1000, 3000])];
        let watts = [("dram", 20.0), ("constant", 30.0), ("total", 50.0)];
        run.series = Some(Series {
            window_cycles: 1000,
            start: vec![0, 1000],
            end: vec![1000, 2000],
            columns: columns.into(),
            watts: watts.map(|(name, w)| (name.to_owned(), vec![w, w])).into(),
        });
        run.totals.figures.energy = Some(EnergyReport {
            preset: "gtx480".to_owned(),
            joules: 0.0125,
            watts: 50.0,
            components: [("dram".to_owned(), 0.0125)].into(),
            ..EnergyReport::default()
        });
        run
    }

    #[test]
    fn a_run_has_its_launches_and_charts_over_time() {
        let page = run_page(&with_windows(), None);
        assert_eq!(page.table.rows[0][0], Cell::from("reduce<256>"));
        assert_eq!(page.table.rows[1][7], Cell::Count(1001));
        assert_eq!(
            page.table.rows[0][10],
            Cell::Number(12.5),
            "12 of 96 hit L2"
        );
        let titles = page.charts.iter().map(|chart| match chart {
            Chart::Bars(chart) | Chart::Stacks(chart) => chart.title.as_str(),
            Chart::Lines(chart) => chart.title.as_str(),
            _ => "",
        });
        let expected = [
            "Scheduler cycles by cause",
            "Thread instructions per cycle, in windows of 1,000 cycles",
            "Power, in windows of 1,000 cycles",
            "Energy by component",
        ];
        assert_eq!(titles.collect::<Vec<_>>(), expected);
        let Chart::Lines(ipc) = &page.charts[1] else {
            panic!("lines");
        };
        let points = [(0.0, 1.0), (1000.0, 1.0), (1000.0, 3.0), (2000.0, 3.0)];
        assert_eq!(ipc.series[0].points, points);
        let Chart::Lines(power) = &page.charts[2] else {
            panic!("lines");
        };
        let names: Vec<_> = power.series.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["total", "constant", "dram"]);
        assert_eq!(page.summary["check c"], Cell::from("passed: 8,192 values"));
    }

    #[test]
    fn names_between_backticks_are_code() {
        let mut page = run_page(&with_windows(), None);
        let told = "`k<4>` waits (`memory`)\nNext: b".to_owned();
        page.summary
            .insert("explanation".to_owned(), Cell::Text(told));
        page.summary
            .insert("odd".to_owned(), Cell::Text("a ` b <c>".to_owned()));
        let text = html("warploom run", &imprint(), &[page]);
        assert!(text.contains("<code>k&lt;4&gt;</code> waits (<code>memory</code>)<br>Next: b"));
        assert!(text.contains("a ` b &lt;c&gt;"));
    }

    fn imprint() -> Imprint {
        Imprint {
            date: "2026-01-02T03:04:05Z".to_owned(),
            program: "warploom 0.1.0".to_owned(),
            machine: "two cores".to_owned(),
        }
    }

    /// The overview of figures and claims is for several pages.
    #[test]
    fn the_html_of_a_run_has_no_overview() {
        let mut stopped = with_windows();
        stopped.outcome = Outcome::Interrupted {
            kernel: "<b>".to_owned(),
            blocks_ended: 3,
            blocks: 8,
            waits: Vec::new(),
        };
        let text = html("warploom run", &imprint(), &[run_page(&stopped, None)]);
        assert!(!text.contains("Figures and claims"));
        assert!(text.contains("INTERRUPTED in &lt;b&gt;, after 3 of 8 blocks"));
        assert!(text.contains("reduce&lt;256&gt;"));
        assert!(text.contains("prefers-color-scheme:dark"));
    }
}
