//! Text of a page for a terminal.

use crate::chart::bar;
use crate::figure::{BarChart, BarSeries, Chart};
use crate::page::{Cell, Judgement, Page, Statement, Verdict};
use crate::table::figures;
use std::fmt::Write;

const BAR_WIDTH: usize = 40;
/// Characters of the series of a stacked bar.
const STACKED: [char; 7] = ['█', '▓', '▒', '░', '▚', '=', '-'];
/// Line width of claims.
const LINE: usize = 96;

/// Text of a page's table, bars, summary and claims.
pub fn page_report(page: &Page) -> String {
    let mut text = format!("{}: {}", page.full_name(), page.title);
    if !page.scale.is_empty() {
        let _ = write!(text, " (scale {})", page.scale);
    }
    let header: Vec<_> = page.table.columns.iter().map(|c| c.name.as_str()).collect();
    let row = |row: &Vec<Cell>| row.iter().map(Cell::shown).collect();
    let rows: Vec<Vec<_>> = page.table.rows.iter().map(row).collect();
    let _ = write!(text, "\n\n{}\n", figures(&header, &rows));
    for chart in &page.charts {
        match chart {
            Chart::Bars(chart) => bars(&mut text, chart),
            Chart::Stacks(chart) => stacks(&mut text, chart),
            Chart::Lines(_) | Chart::Effects(_) | Chart::Heat(_) => {}
        }
    }
    for (name, value) in &page.summary {
        let _ = writeln!(text, "{name} {}", value.shown());
    }
    if let Some(caveat) = page.caveat() {
        let _ = writeln!(text, "\n{caveat}");
    }
    claims(&mut text, &page.verdicts);
    text
}

/// Writes one line per bar, with groups separated.
fn bars(text: &mut String, chart: &BarChart) {
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
    let _ = writeln!(text, "{}: {}", chart.title, chart.axis.label);
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
                bar(value / top, BAR_WIDTH)
            );
        }
    }
    text.push('\n');
}

/// Writes one line per group, in which each series has a character of its own, and the sum.
fn stacks(text: &mut String, chart: &BarChart) {
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
    let label = &chart.axis.label;
    let _ = writeln!(text, "{}: {label}\n  {}", chart.title, legend.join("  "));
    let width = chart.groups.iter().map(|name| name.chars().count());
    let width = width.max().unwrap_or(0);
    for (g, group) in chart.groups.iter().enumerate() {
        let (mut end, mut bar) = (0.0, String::new());
        for (series, mark) in chart.series.iter().zip(STACKED.iter().cycle()) {
            end += value(series, g);
            let until = (end / top * BAR_WIDTH as f64).round() as usize;
            let drawn = bar.chars().count();
            bar.extend(std::iter::repeat_n(*mark, until.saturating_sub(drawn)));
        }
        let _ = writeln!(text, "  {group:width$} {:>8.3} {bar}", sum(g));
    }
    text.push('\n');
}

/// Writes the paper's values next to ours, then each claim with its statements.
fn claims(text: &mut String, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    let row = |verdict: &Verdict| {
        let own = verdict.statements.iter().find(|statement| statement.own);
        let shown = |of: fn(&Statement) -> &Cell| {
            own.map_or("see below".to_owned(), |statement| of(statement).shown())
        };
        vec![
            verdict.id.clone(),
            own.map_or("statements", |statement| statement.kind.name())
                .to_owned(),
            shown(|statement| &statement.paper),
            shown(|statement| &statement.ours),
            verdict.label().to_owned(),
        ]
    };
    let rows: Vec<_> = verdicts.iter().map(row).collect();
    let header = ["claim", "kind", "paper", "ours", "verdict"];
    let _ = write!(text, "\n{}", figures(&header, &rows));
    for verdict in verdicts {
        let (id, place, label) = (&verdict.id, &verdict.place, verdict.label());
        let _ = writeln!(text, "\n{id} ({place}): {label}");
        wrapped(text, "  the paper: ", &verdict.claim);
        for statement in &verdict.statements {
            let paper = match &statement.paper {
                Cell::None => String::new(),
                paper => format!("paper {}, ", paper.shown()),
            };
            let line = format!("{}: {paper}ours {}", statement.what, statement.ours_shown());
            let judgement = statement.judgement.map_or("not measured", Judgement::name);
            wrapped(text, &format!("  [{judgement}] "), &line);
        }
        wrapped(text, "  ", &verdict.note);
    }
}

/// Writes words in lines, indented to the first word.
fn wrapped(text: &mut String, lead: &str, words: &str) {
    if words.is_empty() {
        return;
    }
    let indent = " ".repeat(lead.chars().count());
    let mut line = lead.to_owned();
    for word in words.split_whitespace() {
        let is_first = line.trim().is_empty() || line == lead;
        if !is_first && line.chars().count() + 1 + word.chars().count() > LINE {
            let _ = writeln!(text, "{line}");
            line = indent.clone();
            line.push_str(word);
            continue;
        }
        if !is_first {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::{page_report, stacks, wrapped};
    use crate::figure::{BarChart, BarSeries};
    use crate::html::tests::page;

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
        stacks(&mut text, &chart);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "  █ dram  ▓ static");
        // 40 characters for a sum of 4.
        let [gto, lrr] = [(30, 10), (0, 20)].map(|(a, b)| "█".repeat(a) + &"▓".repeat(b));
        assert_eq!(lines[2], format!("  gto    4.000 {gto}"));
        assert_eq!(lines[3], format!("  lrr    2.000 {lrr}"));
    }

    #[test]
    fn a_page_with_everything() {
        insta::assert_snapshot!(page_report(&page()));
    }

    #[test]
    fn long_lines_wrap_under_their_first_word() {
        let mut text = String::new();
        wrapped(&mut text, "  note: ", &"word ".repeat(20));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  note: word") && lines[1].starts_with("        word"));
        assert!(lines.iter().all(|line| line.chars().count() <= super::LINE));
    }
}
