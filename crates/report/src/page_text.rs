//! Text of a page for a terminal.

use crate::chart::bar;
use crate::figure::{BarChart, BarSeries, Chart, HeatMap};
use crate::page::{Cell, Column, Page, Statement, Table, Verdict};
use crate::table::{figures, labelled};
use crate::wrap::wrapped;
use std::fmt::Write;

const BAR_WIDTH: usize = 40;
/// Width of the shortest bars, on a terminal without room for more.
const LEAST_BAR: usize = 8;
/// Characters of the series of a stacked bar.
const STACKED: [char; 7] = ['█', '▓', '▒', '░', '▚', '=', '-'];
/// Line width of claims.
const LINE: u16 = 96;

/// Text of a page's table, bars, summary and claims. Lines keep to `width` characters, if it is
/// given.
pub fn page_report(page: &Page, width: Option<u16>) -> String {
    // The name of a comparison is that of its files, which may not be kept.
    let mut title = match page.paper.as_str() {
        "compare" => page.title.clone(),
        _ => format!("{}: {}", page.full_name(), page.title),
    };
    if !page.scale.is_empty() {
        let _ = write!(title, " (scale {})", page.scale);
    }
    let mut text = wrapped("", &title, width);
    let header: Vec<_> = page.table.columns.iter().map(|c| c.name.as_str()).collect();
    let row = |row: &Vec<Cell>| row.iter().map(Cell::shown).collect();
    let rows: Vec<Vec<_>> = page.table.rows.iter().map(row).collect();
    let table = labelled(&header, &rows, labels(&page.table), width);
    let _ = write!(text, "\n{table}\n");
    let before = text.len();
    for chart in &page.charts {
        match chart {
            Chart::Bars(chart) => bars(&mut text, chart, width),
            Chart::Stacks(chart) => stacks(&mut text, chart, width),
            Chart::Lines(_) | Chart::Effects(_) | Chart::Heat(_) => {}
        }
    }
    // Without bars that show what they stand for, the columns are explained. Those of comparisons
    // are in the help.
    if text.len() == before && page.paper != "compare" {
        for Column { name, about } in &page.table.columns {
            text.push_str(&wrapped("  ", &format!("{name}: {about}"), width));
        }
        if !page.summary.is_empty() {
            text.push('\n');
        }
    }
    for (name, value) in page.summary_lines() {
        text.push_str(&wrapped("", &format!("{name} {value}"), width));
    }
    if !page.explanation.is_empty() {
        text.push_str("\nwhy\n");
        for sentence in &page.explanation {
            text.push_str(&wrapped("  ", &format!("- {sentence}"), width));
        }
        text.push('\n');
    }
    for note in &page.notes {
        text.push_str(&wrapped("", &format!("note: {note}"), width));
    }
    if let Some(caveat) = page.caveat() {
        let _ = write!(text, "\n{}", wrapped("", &caveat, width));
    }
    claims(&mut text, page, width);
    text
}

/// Bars of a chart with their values, a line for each, after the title. Lines keep to `width`
/// characters, if it is given.
pub fn bar_lines(chart: &BarChart, width: Option<u16>) -> String {
    let mut text = String::new();
    bars(&mut text, chart, width);
    text
}

/// A map as a table with a row and a column for each value of its axes, after the title.
pub fn map_table(map: &HeatMap, width: Option<u16>) -> String {
    let names = std::iter::once(map.row_axis.as_str());
    let header: Vec<_> = names
        .chain(map.columns.iter().map(String::as_str))
        .collect();
    let row = |(name, values): (&String, &Vec<Option<f64>>)| {
        let cells = values.iter().map(|value| map.shown(*value));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let rows: Vec<Vec<_>> = map.rows.iter().zip(&map.values).map(row).collect();
    // A table has no colours.
    let mut plain = HeatMap {
        range: None,
        ..map.clone()
    };
    plain.axis.line = None;
    let legend = plain.legend();
    let legend = legend.map_or_else(String::new, |legend| wrapped("", &legend, width));
    wrapped("", &map.title, width) + &legend + &figures(&header, &rows, width)
}

/// Number of columns that name the rows: those before the first with a number, and at least one.
fn labels(table: &Table) -> usize {
    let is_name = |cell: &Cell| matches!(cell, Cell::Text(_) | Cell::None);
    let named = (0..table.columns.len())
        .take_while(|column| table.rows.iter().all(|row| is_name(&row[*column])));
    match named.count() {
        all if all == table.columns.len() => 1,
        some => some.max(1),
    }
}

/// Length of bars beside a number of characters.
fn bar_width(beside: usize, width: Option<u16>) -> usize {
    let room = width.map_or(BAR_WIDTH, |width| usize::from(width).saturating_sub(beside));
    room.clamp(LEAST_BAR, BAR_WIDTH)
}

/// Writes one line per bar, with groups separated.
fn bars(text: &mut String, chart: &BarChart, width: Option<u16>) {
    let values = chart.series.iter().flat_map(|s| s.values.iter().flatten());
    let marked = chart
        .marks
        .iter()
        .flat_map(|mark| mark.values.iter().flatten());
    let top = values.chain(marked).copied().fold(0.0, f64::max);
    if top <= 0.0 {
        return;
    }
    let longest = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| name.chars().count()).max().unwrap_or(0)
    };
    let group_width = longest(&mut chart.groups.iter());
    let series_width = longest(&mut chart.series.iter().map(|series| &series.name));
    let length = bar_width(13 + group_width + series_width, width);
    let title = match chart.title.starts_with(&chart.axis.label) {
        true => chart.title.clone(),
        false => format!("{}: {}", chart.title, chart.axis.label),
    };
    text.push_str(&wrapped("", &title, width));
    for (g, group) in chart.groups.iter().enumerate() {
        for (s, series) in chart.series.iter().enumerate() {
            let Some(value) = series.values.get(g).copied().flatten() else {
                continue;
            };
            let group = if s == 0 { group.as_str() } else { "" };
            let shown = if chart.axis.percent {
                format!("{:.1}%", value * 100.0)
            } else {
                format!("{value:.3}")
            };
            let _ = writeln!(
                text,
                "  {group:group_width$} {:series_width$} {shown:>8} {}",
                series.name,
                bar(value / top, length)
            );
        }
    }
    text.push('\n');
}

/// Writes one line per group, in which each series has a character of its own, and the sum.
fn stacks(text: &mut String, chart: &BarChart, room: Option<u16>) {
    let value = |series: &BarSeries, group: usize| {
        let value = series.values.get(group).copied().flatten();
        value.filter(|value| value.is_finite()).unwrap_or(0.0)
    };
    let sum = |group: usize| -> f64 { chart.series.iter().map(|s| value(s, group)).sum() };
    let top = (0..chart.groups.len()).map(sum).fold(0.0, f64::max);
    if top <= 0.0 {
        return;
    }
    let legend = chart.series.iter().zip(STACKED.iter().cycle());
    let legend: Vec<_> = legend
        .map(|(s, mark)| format!("{mark} {}", s.name))
        .collect();
    let title = format!("{}: {}", chart.title, chart.axis.label);
    text.push_str(&wrapped("", &title, room));
    text.push_str(&wrapped("  ", &legend.join("  "), room));
    let width = chart.groups.iter().map(|name| name.chars().count());
    let width = width.max().unwrap_or(0);
    let length = bar_width(12 + width, room) as f64;
    for (g, group) in chart.groups.iter().enumerate() {
        let (mut end, mut bar) = (0.0, String::new());
        for (series, mark) in chart.series.iter().zip(STACKED.iter().cycle()) {
            end += value(series, g);
            let until = (end / top * length).round() as usize;
            let drawn = bar.chars().count();
            bar.extend(std::iter::repeat_n(*mark, until.saturating_sub(drawn)));
        }
        let _ = writeln!(text, "  {group:width$} {:>8.3} {bar}", sum(g));
    }
    text.push('\n');
}

/// Writes the paper's values next to ours, then each claim with its statements.
fn claims(text: &mut String, page: &Page, width: Option<u16>) {
    let verdicts = &page.verdicts;
    if verdicts.is_empty() {
        return;
    }
    // Words of smaller data sets are no verdicts, and say so wherever they stand.
    let label = |verdict: &Verdict| match page.caveat() {
        Some(_) => format!("{} ({})", verdict.label(), page.scale),
        None => verdict.label().to_owned(),
    };
    let row = |verdict: &Verdict| {
        let own = verdict.own();
        let shown = |of: fn(&Statement) -> String| own.map_or("see below".to_owned(), of);
        // The verdict behind our value is that of the value, and the last one the claim's.
        let ours = |of: &Statement| format!("{}, {}", of.kind.quantity(&of.ours), of.judged());
        vec![
            verdict.id.clone(),
            own.map_or("statements", |statement| statement.kind.name())
                .to_owned(),
            shown(Statement::paper_shown),
            shown(ours),
            verdict.tally(),
            label(verdict),
        ]
    };
    // A single claim without a figure of its own has nothing to show in a table.
    let has_own = verdicts.iter().any(|verdict| verdict.own().is_some());
    if verdicts.len() > 1 || has_own {
        let rows: Vec<_> = verdicts.iter().map(row).collect();
        let header = ["claim", "kind", "paper", "ours", "statements", "verdict"];
        let _ = write!(text, "\n{}", figures(&header, &rows, width));
    }
    let line = Some(width.map_or(LINE, |width| width.min(LINE)));
    for verdict in verdicts {
        let (id, place, label) = (&verdict.id, &verdict.place, label(verdict));
        text.push('\n');
        sentence(text, "", &format!("{id} ({place}): {label}"), line);
        sentence(text, "  the paper: ", &verdict.claim, line);
        for statement in &verdict.statements {
            let paper = match &statement.paper {
                Cell::None => String::new(),
                _ => format!("paper {}, ", statement.paper_shown()),
            };
            let ours = statement.ours_shown();
            let kind = statement.kind.direction();
            let kind = kind.map_or(String::new(), |kind| format!(" ({kind})"));
            let told = format!("{}: {paper}ours {ours}{kind}", statement.what);
            let judged = statement.judged();
            sentence(text, &format!("  [{judged}] "), &told, line);
        }
        sentence(text, "  ", &verdict.why().unwrap_or_default(), line);
        sentence(text, "  ", &verdict.note, line);
    }
}

/// Writes words behind a lead in lines of at most `line` characters, if there are any words.
fn sentence(text: &mut String, lead: &str, words: &str, line: Option<u16>) {
    if !words.is_empty() {
        text.push_str(&wrapped(lead, words, line));
    }
}

#[cfg(test)]
mod tests {
    use super::{map_table, page_report, stacks};
    use crate::figure::{BarChart, BarSeries, HeatMap};
    use crate::html::tests::page;

    #[test]
    fn a_map_is_a_table() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let map = HeatMap {
            title: "speedup over lrr by target and gpu".to_owned(),
            row_axis: "target".to_owned(),
            rows: names(&["bfs", "spmv"]),
            columns: names(&["gtx480", "big"]),
            values: vec![vec![Some(1.0), Some(1.0024)], vec![None, Some(2.5)]],
            ..HeatMap::default()
        };
        assert_eq!(
            map_table(&map, None),
            "speedup over lrr by target and gpu\n\
             target  gtx480   big\n\
             bfs       1.00  1.00\n\
             spmv         -  2.50\n"
        );
    }

    #[test]
    fn stacked_bars_have_a_character_for_each_series() {
        let series = |name: &str, values: [f64; 2]| BarSeries {
            name: name.to_owned(),
            values: values.map(Some).to_vec(),
        };
        let chart = BarChart {
            title: "Energy".to_owned(),
            groups: vec!["gto".to_owned(), "lrr".to_owned()],
            series: vec![series("dram", [3.0, 0.0]), series("static", [1.0, 2.0])],
            ..BarChart::default()
        };
        let mut text = String::new();
        stacks(&mut text, &chart, None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "  █ dram  ▓ static");
        // 40 characters for a sum of 4.
        let [gto, lrr] = [(30, 10), (0, 20)].map(|(a, b)| "█".repeat(a) + &"▓".repeat(b));
        assert_eq!(lines[2], format!("  gto    4.000 {gto}"));
        assert_eq!(lines[3], format!("  lrr    2.000 {lrr}"));
    }

    #[test]
    fn a_page_with_everything() {
        insta::assert_snapshot!(page_report(&page(), None));
    }

    #[test]
    fn a_page_keeps_to_the_width_of_a_terminal() {
        for width in [80, 64] {
            let text = page_report(&page(), Some(width));
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width.into()), "{text}");
        }
    }
}
