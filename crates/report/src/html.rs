//! An HTML page that needs no other files: no scripts, fonts or pictures. It is light or dark as
//! the reader prefers, with one column on a phone.
//!
//! All text passes through the template's escaping. Charts are drawn here from data, so that the
//! page contains no markup except for that of this crate.

mod machines;

use crate::effects::effect_chart;
use crate::figure::Chart;
use crate::page::{Cell, Judgement, Page, REMARKS, Remark, Statement, Verdict};
use crate::scorecard::Scorecard;
use crate::svg::{Shape, svg_shaped};
use machines::{Machine, machines};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, HtmlEscape, context};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Time and place of the page's creation, which the caller knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Imprint {
    /// Date and time of the page's creation.
    pub date: String,
    /// Name and version of the program.
    pub program: String,
    /// Processor, number of cores, and operating system.
    pub machine: String,
}

/// The pages of a results folder as one self-contained HTML text.
pub fn html(title: &str, imprint: &Imprint, pages: &[Page]) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(syntax());
    environment.add_filter("shown", |Serde(cell): Serde<Cell>| cell.shown());
    environment.add_filter("words", |text: String| {
        Value::from_safe_string(words(&text))
    });
    environment.add_filter("breakable", |name: String| {
        Value::from_safe_string(breakable(&name))
    });
    environment
        .add_template("page", include_str!("page.html"))
        .expect("a test renders the template");
    let template = environment.get_template("page").expect("it was added");
    let machines = machines(pages);
    let shown: Vec<_> = pages.iter().map(|page| shown(page, &machines)).collect();
    let machines: Vec<_> = machines.iter().map(Machine::shown).collect();
    let papers = papers(pages);
    template
        .render(context! { title, imprint => Serde(imprint), pages => shown, machines, papers })
        .expect("a test renders every part of the template")
}

/// A name as HTML, which may be divided after points and underscores.
fn breakable(name: &str) -> String {
    let escaped = HtmlEscape(name).to_string();
    escaped.replace('_', "_<wbr>").replace('.', ".<wbr>")
}

/// A text as HTML, in which parts between backticks are code.
fn words(text: &str) -> String {
    let parts: Vec<_> = text
        .split('`')
        .map(|part| HtmlEscape(part).to_string())
        .collect();
    if parts.len() % 2 == 0 {
        return parts.join("`");
    }
    let part = |(nth, part): (usize, &String)| match nth % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.clone(),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Settings with which lines of only a tag leave no blank line.
fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    syntax.build().expect("the tags are the usual ones")
}

/// Characters of a note above the first picture. Longer ones stand below it.
const SHORT: usize = 240;
/// Characters of a note that is folded to its beginning.
const LONG: usize = 600;

/// Notes of a page: those above its first picture, and the longer ones below it, the longest of
/// them with a beginning to which they are folded.
fn notes(page: &Page) -> Value {
    let length = |note: &String| note.chars().count();
    let is_short = |note: &String| length(note) <= SHORT || page.charts.is_empty();
    let (short, long): (Vec<_>, Vec<_>) = page.notes.iter().cloned().partition(is_short);
    let beginning = |note: &String| {
        let end = note
            .char_indices()
            .nth(SHORT)
            .map_or(note.len(), |(at, _)| at);
        let words = note[..end].rfind(' ').unwrap_or(end);
        (length(note) > LONG).then(|| note[..words].to_owned())
    };
    let long = long.into_iter();
    let long = long.map(|note| context! { beginning => beginning(&note), text => note });
    context! { short => short, long => long.collect::<Vec<_>>() }
}

/// A page with its pictures, and its references to machines.
fn shown(page: &Page, machines: &[Machine<'_>]) -> Value {
    let own = machines.iter().filter(|machine| machine.is_of(page));
    context! {
        machines => own.map(Machine::shown).collect::<Vec<_>>(),
        anchor => page.full_name().replace('/', "-"),
        name => page.full_name(),
        page => Serde(page),
        verdicts => page.verdicts.iter().map(|of| verdict(page, of)).collect::<Vec<_>>(),
        rules => rules(page),
        caveat => page.caveat(),
        summary => page.summary_lines(),
        notes => notes(page),
        wide => drawn(&page.charts, Shape::Wide),
        narrow => drawn(&page.charts, Shape::Narrow),
        further => context! {
            wide => drawn(&page.further_charts, Shape::Wide),
            narrow => drawn(&page.further_charts, Shape::Narrow),
        },
    }
}

/// Summary of the verdicts on each paper's claims, with its chart of effects. Pages of smaller data
/// sets give no verdict.
fn papers(pages: &[Page]) -> Vec<Value> {
    let mut verdicts: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    let judged = |page: &&Page| !page.verdicts.is_empty() && page.caveat().is_none();
    for page in pages.iter().filter(judged) {
        verdicts
            .entry(&page.paper)
            .or_default()
            .extend(&page.verdicts);
    }
    let paper = |(name, verdicts): (&str, Vec<&Verdict>)| {
        let card = Scorecard::new(verdicts.iter().copied(), 0);
        let [reproduced, near, differ] = card.claims;
        let claims = format!(
            "{reproduced} reproduced, {near} near, {differ} differ, {} by construction or arithmetic",
            card.apart
        );
        let mut lines = card.lines();
        lines.push(("claims", claims));
        let chart = effect_chart("The paper's effects and ours", &[(name, verdicts)]);
        let has_dots = !chart.dots.is_empty();
        let chart = [Chart::Effects(chart)];
        let drawn = |shape| has_dots.then(|| Value::from_safe_string(svg_shaped(&chart, shape)));
        context! { name, lines, wide => drawn(Shape::Wide), narrow => drawn(Shape::Narrow) }
    };
    verdicts.into_iter().map(paper).collect()
}

/// A verdict of a page as text.
fn verdict(page: &Page, of: &Verdict) -> Value {
    let label = match page.caveat() {
        Some(_) => "no verdict",
        None => of.label(),
    };
    let statement = |of: &Statement| {
        let paper = match &of.paper {
            Cell::None => String::new(),
            _ => of.paper_shown(),
        };
        context! {
            what => of.what.as_str(),
            kind => of.kind.name(),
            paper => paper,
            ours => of.ours_shown(),
            judgement => of.judgement.map_or("not measured", Judgement::name),
            remark => of.remark().map(Remark::words),
        }
    };
    context! {
        id => of.id.as_str(),
        label => label,
        claim => of.claim.as_str(),
        place => of.place.as_str(),
        why => of.why().filter(|_| page.caveat().is_none()),
        note => of.note.as_str(),
        statements => of.statements.iter().map(statement).collect::<Vec<_>>(),
    }
}

/// Rules by which a page's statements are judged, each once.
fn rules(page: &Page) -> Vec<&'static str> {
    let statements = page.verdicts.iter().flat_map(|verdict| &verdict.statements);
    let rules: BTreeSet<_> = statements.map(|statement| statement.kind.rule()).collect();
    let claims = "a claim is reproduced if all of its statements are, and near if at least half are \
                  at least near and its own figure does not differ";
    rules.into_iter().chain([claims, REMARKS]).collect()
}

/// Charts as one picture, if there are any.
fn drawn(charts: &[Chart], shape: Shape) -> Option<Value> {
    let picture = || Value::from_safe_string(svg_shaped(charts, shape));
    (!charts.is_empty()).then(picture)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Imprint, html};
    use crate::figure::{Axis, BarChart, BarSeries, Chart, LineChart};
    use crate::page::*;
    use std::collections::BTreeMap;
    use warploom_stats::energy::EnergyReport;
    use warploom_stats::result::ConfigValue;

    /// Text that must never become markup.
    const HOSTILE: &str = "<script>alert('&')</script>";

    /// A page with all kinds of content.
    fn verdict() -> Verdict {
        let statement = |what: &str, own, judgement| Statement {
            what: what.to_owned(),
            kind: Kind::Speedup,
            own,
            paper: Cell::Number(1.075),
            ours: Cell::Number(1.0123),
            judgement: Some(judgement),
            range: own.then(|| Range {
                of: 6,
                least: 1.01,
                least_without: "MUMmerGPU".to_owned(),
                most: 1.03,
                most_without: "MonteCarlo".to_owned(),
            }),
            agreement: None,
        };
        Verdict {
            id: "cooperative.warp.vs_rr".to_owned(),
            claim: "Over round-robin, mean of six".to_owned(),
            place: "6, Fig. 3".to_owned(),
            origin: Origin::Measured,
            judgement: Some(Judgement::Near),
            note: "Measured at scale test.".to_owned(),
            statements: vec![
                statement("the mean", true, Judgement::Near),
                statement("the best", false, Judgement::Differs),
            ],
        }
    }

    pub(crate) fn page() -> Page {
        Page {
            paper: "cooperative".to_owned(),
            figure: "fig3".to_owned(),
            title: "IPC of warp schedulers".to_owned(),
            scale: "test".to_owned(),
            version: "0.1.0".to_owned(),
            command: "warploom reproduce cooperative/fig3 --scale test".to_owned(),
            table: Table {
                columns: vec![
                    Column::new("workload", "The paper's name."),
                    Column::new("gto", "IPC over that of lrr."),
                ],
                rows: vec![
                    vec![Cell::from("VectorAddition"), Cell::Number(1.02)],
                    vec![Cell::from("MergeSort"), Cell::Count(12_345)],
                    vec![Cell::from(HOSTILE), Cell::None],
                ],
            },
            summary: BTreeMap::from([("gto.mean".to_owned(), Cell::Number(1.02))]),
            explanation: vec!["`gto` is 1.10 times faster than `lrr`.".to_owned()],
            notes: vec!["2 of 3 runs were cut at `--max-cycles`.".to_owned()],
            verdicts: vec![verdict()],
            charts: vec![
                Chart::Bars(BarChart {
                    title: format!("Bars {HOSTILE}"),
                    axis: Axis {
                        label: "IPC over lrr".to_owned(),
                        ..Axis::default()
                    },
                    groups: vec!["VectorAddition".to_owned(), "MergeSort".to_owned()],
                    series: vec![BarSeries {
                        name: "gto".to_owned(),
                        values: vec![Some(1.02), None],
                    }],
                    marks: Vec::new(),
                }),
                Chart::Lines(LineChart::default()),
            ],
            further_charts: Vec::new(),
            configurations: vec![Configuration {
                name: "gto".to_owned(),
                gpu: "gtx480".to_owned(),
                overrides: vec!["sm.warp_scheduler=gto".to_owned()],
                digest: "00ff".to_owned(),
            }],
            presets: BTreeMap::from([(
                "gtx480".to_owned(),
                BTreeMap::from([("gpu.sms".to_owned(), ConfigValue::Integer(15))]),
            )]),
            runs: vec![RunLine {
                input: "vectoradd".to_owned(),
                configuration: "gto".to_owned(),
                command: "warploom run vectoradd --size test".to_owned(),
                cycles: 1234,
                ipc: 17.5,
                ended: "finished".to_owned(),
                input_digest: "0a".to_owned(),
                digest: "0b".to_owned(),
                energy: None,
            }],

            failures: Vec::new(),
        }
    }

    pub(crate) fn imprint() -> Imprint {
        Imprint {
            date: "2026-01-02T03:04:05Z".to_owned(),
            program: "warploom 0.1.0".to_owned(),
            machine: format!("two cores {HOSTILE}"),
        }
    }

    /// Names of the page's elements, indented by nesting, without their texts.
    fn structure(html: &str) -> String {
        let (mut depth, mut text) = (0_usize, String::new());
        let void = [
            "meta", "br", "rect", "line", "polyline", "circle", "!doctype", "path",
        ];
        for tag in html.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let name = tag.split([' ', '/', '\n']).next().unwrap_or_default();
            if tag.starts_with('/') {
                depth -= 1;
                continue;
            }
            text += &format!("{}{name}\n", " ".repeat(depth));
            if !tag.ends_with('/') && !void.contains(&name) {
                depth += 1;
            }
        }
        assert_eq!(depth, 0, "every element ends");
        text
    }

    #[test]
    fn the_page_has_a_place_for_everything() {
        let whole = Page {
            scale: "paper".to_owned(),
            ..page()
        };
        let text = html("Results", &imprint(), &[whole, page()]);
        let without_pictures: String = text
            .split("<svg")
            .enumerate()
            .map(|(i, part)| match i {
                0 => part,
                _ => part.split_once("</svg>").expect("a picture ends").1,
            })
            .collect();
        insta::assert_snapshot!(structure(&without_pictures));
        for word in [
            "cooperative/fig3",
            "12,345",
            "gto.mean",
            "cooperative.warp.vs_rr",
            "1.012x",
            "MUMmerGPU",
            "near",
            "sm.warp_scheduler=gto",
            "gpu.sms",
            "2026-01-02T03:04:05Z",
            "warploom 0.1.0",
            "warploom run vectoradd --size test",
        ] {
            // The template also escapes slashes.
            assert!(text.contains(&word.replace('/', "&#x2f;")), "{word}");
        }
    }

    #[test]
    fn smaller_data_sets_give_no_verdict() {
        let summary = |pages: &[Page]| html("Results", &imprint(), pages).contains("median ");
        let small = page();
        let whole = Page {
            scale: "paper".to_owned(),
            ..page()
        };
        assert!(!summary(std::slice::from_ref(&small)) && summary(&[small.clone(), whole]));
        assert!(html("Results", &imprint(), &[small]).contains("no verdict"));
    }

    /// A short note stands above the first picture, a long one below it, and a very long one is
    /// folded to its beginning.
    #[test]
    fn long_notes_stand_below_the_picture() {
        let mut page = page();
        let of = |length: usize| format!("of {length} {}", "words ".repeat(length / 6));
        page.notes = [700, 300, 60].map(of).to_vec();
        let text = html("Results", &imprint(), &[page.clone()]);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let picture = place("<div class=\"wide\" role=\"img\"");
        assert!(place("<p>Note: of 60 ") < picture && picture < place("<p>Note: of 300 "));
        assert!(picture < place("<details><summary>Note: of 700 "));
        assert_eq!(text.matches(of(700).trim_end()).count(), 1);
        page.charts.clear();
        let text = html("Results", &imprint(), &[page]);
        assert!(text.contains("<p>Note: of 700 "));
    }

    #[test]
    fn runs_show_energy_where_it_was_requested() {
        let mut with = page();
        assert!(!html("Results", &imprint(), &[with.clone()]).contains(">mJ<"));
        with.runs.push(with.runs[0].clone());
        with.runs[0].energy = Some(EnergyReport {
            joules: 0.0125,
            watts: 81.5,
            ..EnergyReport::default()
        });
        let text = html("Results", &imprint(), &[with.clone()]);
        for word in [">mJ<", ">12.5</td>", ">81.5</td>", "<td></td><td></td>"] {
            assert!(text.contains(word), "{word}");
        }
        let text = serde_json::to_string(&with).unwrap();
        assert_eq!(serde_json::from_str::<Page>(&text).unwrap(), with);
    }

    #[test]
    fn nothing_of_the_data_becomes_markup_and_nothing_is_fetched() {
        let text = html(HOSTILE, &imprint(), &[page()]);
        assert!(!text.contains("<script") && !text.contains("alert('"));
        assert!(text.contains("&lt;script&gt;"));
        for word in ["src=", "url(", "@import", "<link", "href=\"http"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    /// Every chart and every table that scrolls has a name for screen readers, the keyboard reaches
    /// the tables, and every heading cell names its direction.
    #[test]
    fn screen_readers_and_keyboards_find_everything() {
        let text = html("Results", &imprint(), &[page()]);
        let count = |part: &str| text.matches(part).count();
        assert_eq!(count("<svg"), count("role=\"img\" aria-label=\"Chart: "));
        let named = "tabindex=\"0\" role=\"region\" aria-label=\"";
        assert!(count("<table") >= 5);
        assert_eq!(count("<table"), count(named));
        assert_eq!(count("<th "), count("<th scope=\"col\""));
        assert_eq!(count("<th>"), 0);
        assert!(text.contains("href=\"#main\"") && text.contains("<main id=\"main\">"));
        assert!(
            text.contains("aria-label=\"Data of cooperative&#x2f;fig3\""),
            "{text}"
        );
    }

    /// A shade at the edge tells that a table goes on there: it stays, and what covers it scrolls
    /// away with the table.
    #[test]
    fn tables_that_scroll_have_a_shade_at_their_edges() {
        let text = html("Results", &imprint(), &[page()]);
        let shades = "var(--edge),transparent) 100% 0/1rem 100% no-repeat scroll";
        let covers = "var(--paper) 40%,transparent) 100% 0/3rem 100% no-repeat local";
        assert!(text.contains(shades) && text.contains(covers), "{text}");
        assert_eq!(text.matches("--edge:").count(), 2, "light and dark");
    }

    #[test]
    fn an_explanation_stands_above_the_data() {
        let text = html("Results", &imprint(), &[page()]);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let sentence = "<li><code>gto</code> is 1.10 times faster than <code>lrr</code>.</li>";
        assert!(place("<h3>Why one is faster</h3>") < place(sentence));
        assert!(place(sentence) < place("<h3>Data</h3>"));
    }

    #[test]
    fn pages_are_the_same_twice() {
        let make = || html("Results", &imprint(), &[page(), page()]);
        assert_eq!(make(), make());
    }

    #[test]
    fn a_page_reads_back_as_written() {
        let text = serde_json::to_string_pretty(&page()).unwrap();
        assert_eq!(serde_json::from_str::<Page>(&text).unwrap(), page());
    }
}
