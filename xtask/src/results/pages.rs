//! Texts that follow from the verdicts on the papers' claims.

use super::{FOLDER, Judged, PAPERS, STUDIES};
use std::fmt::Write as _;
use warploom_lab::{Claim, changed_keys};
use warploom_report::page::{Cell, Judgement, Origin, Page, REMARKS, Statement, Verdict};
use warploom_report::{Chart, Scorecard, effect_chart, svg};

/// Explanation of a picture of effects.
const PICTURE: &str = "\
A large dot is a claim: the paper's effect across, ours up. Small dots are further effects of\n\
claims. On the line both are equal, in the band an effect is reproduced, and triangles lie\n\
beyond the axes. The rules are in `docs/reproducing.md`.\n";

/// Sentence on the numbers in the picture of all papers.
const NUMBERS: &str = "Numbered claims are those whose effect is not reproduced; numbers have the \
                       colour of their dots.\n";

/// Explanation of the columns of a paper's table.
const COLUMNS: &str = "\
A claim consists of statements ([rules](../reproducing.md#verdicts)). `here` is the figure that\n\
the claim itself states, with the verdict on that figure alone; `statements` counts the verdicts\n\
on all of its statements, and `verdict` is the claim's.\n";

/// Picture of the effects of all papers.
pub(super) fn all_effects(judged: &Judged<'_>) -> String {
    let groups = PAPERS.map(|(paper, _)| (paper, judged.verdicts(paper)));
    let chart = effect_chart("Effects of the papers' claims, theirs and ours", &groups);
    svg(&[Chart::Effects(chart)])
}

/// The part of README.md: table and picture of all papers.
pub(super) fn readme(judged: &Judged<'_>) -> String {
    format!(
        "{}\n{}![Effects of the papers' claims]({FOLDER}/claims.svg)\n\n{}{NUMBERS}",
        table(judged, &format!("{FOLDER}/")),
        earlier(judged),
        dots(judged)
    )
}

/// Sentence on the claims that have a dot in the picture.
fn dots(judged: &Judged<'_>) -> String {
    let verdicts = PAPERS.iter().flat_map(|(paper, _)| judged.verdicts(paper));
    let chart = effect_chart("", &[("", verdicts.collect())]);
    let shown = chart.dots.iter().filter(|dot| dot.is_claim).count();
    let all = judged.claims.len();
    format!(
        "{shown} of the {all} claims have a large dot. The others have no effect that is measured:\n\
         they are predicates, levels, counts and series, or stand apart.\n"
    )
}

/// Paragraph on the claims that are counted as reproduced or near by figures of earlier machines.
fn earlier(judged: &Judged<'_>) -> String {
    let of = |judgement| {
        let each = judged.claims.iter().filter_map(|claim| {
            let (page, verdict) = judged.verdicts.get(&claim.id)?;
            let counts = verdict.origin == Origin::Measured && verdict.judgement == Some(judgement);
            (counts && !changed_keys(page).is_empty()).then(|| format!("`{}`", claim.id))
        });
        let ids: Vec<String> = each.collect();
        (!ids.is_empty()).then(|| format!("{} ({})", judgement.name(), ids.join(", ")))
    };
    let each: Vec<String> = Judgement::ALL.into_iter().filter_map(of).collect();
    match each.as_slice() {
        [] => String::new(),
        each => format!(
            "Of figures of earlier machines, whose presets have changed since:\n{}.\n\n",
            each.join("; ")
        ),
    }
}

/// A table with one row for each paper.
fn table(judged: &Judged<'_>, folder: &str) -> String {
    let mut text = String::from(
        "| paper | claims | reproduced | near | differ | not measured | apart | effects in the \
         paper's direction | median share of effect | mean error of speedups, points |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut sums = [0; 9];
    for (paper, title) in PAPERS {
        let card = judged.card(paper);
        let counts = counts(&card);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        let share = card.shares.map(|[_, median, _]| format!("{median:.2}"));
        let error = card.error.map(|error| format!("{error:.1}"));
        let [share, error] = [share, error].map(|value| value.unwrap_or("-".to_owned()));
        let name = format!("[{title}]({folder}{paper}.md)");
        text += &row(&name, counts, &share, &error);
    }
    text + &row("all", sums, "", "")
}

/// Claims, then reproduced, near, differ, not measured, apart; effects with the paper's sign, all
/// effects, and those of the first that are below a point here.
fn counts(card: &Scorecard) -> [usize; 9] {
    let [reproduced, near, differ] = card.claims;
    let [same, effects] = card.direction;
    let (missing, apart) = (card.not_measured, card.apart);
    let all = reproduced + near + differ + missing + apart;
    let small = card.small;
    [
        all, reproduced, near, differ, missing, apart, same, effects, small,
    ]
}

fn row(name: &str, counts: [usize; 9], share: &str, error: &str) -> String {
    let [
        all,
        reproduced,
        near,
        differ,
        missing,
        apart,
        same,
        effects,
        small,
    ] = counts;
    let small = match small {
        0 => String::new(),
        small => format!(", {small} below 1 point"),
    };
    format!(
        "| {name} | {all} | {reproduced} | {near} | {differ} | {missing} | {apart} | {same} of \
         {effects}{small} | {share} | {error} |\n"
    )
}

/// The beginning of a paper's page.
pub(super) fn head(judged: &Judged<'_>, paper: &str) -> String {
    let card = judged.card(paper);
    let mut text = String::from("| | |\n|---|---|\n");
    for (what, value) in card.lines() {
        let _ = writeln!(text, "| {what} | {value} |");
    }
    let [_, reproduced, near, differ, missing, apart, ..] = counts(&card);
    let _ = write!(
        text,
        "| claims | {reproduced} reproduced, {near} near, {differ} differ, {missing} not measured; \
         {apart} by construction or arithmetic |\n\n\
         ![Effects of the paper's claims]({paper}/claims.svg)\n\n{PICTURE}\
         [Every statement]({paper}/claims.md) has the paper's value, ours and its verdict.\n"
    );
    text
}

/// The page with every claim of all papers.
pub(super) fn summary(judged: &Judged<'_>) -> String {
    let mut text = format!(
        "# Results\n\n\
         Generated by `cargo xtask results` from the figures stored next to this page, judged by \
         the rules\nin `docs/reproducing.md`. A claim of which nothing was measured is not \
         measured. Claims by\nconstruction and arithmetic stand apart.\n\n{}\n{}\
         ![Effects of the papers' claims](claims.svg)\n\n{PICTURE}{}{NUMBERS}\n{COLUMNS}{REMARKS}\n",
        table(judged, ""),
        earlier(judged),
        dots(judged)
    );
    for (paper, title) in PAPERS {
        let _ = write!(text, "\n<a id=\"{paper}\"></a>\n\n## {title}\n\n");
        text += "| claim | where | paper | here | statements | verdict | figure |\n\
                 |---|---|--:|---|---|---|---|\n";
        for (claim, verdict) in judged.of_paper(paper) {
            text += &claim_row(claim, verdict);
        }
    }
    text += "\n## Studies\n\n\
             Figures of no paper, which therefore have no claims.\n\n";
    for (study, title) in STUDIES {
        let _ = writeln!(text, "- [{title}]({study}.md)");
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn claim_row(claim: &Claim, judged: Option<(&Page, &Verdict)>) -> String {
    let text = format!("`{}`: {}", claim.id, escaped(&claim.text));
    let place = &claim.place;
    let value = claim.value.map_or(Cell::None, Cell::Number);
    let paper = claim
        .kind
        .map_or(value.shown(), |kind| kind.quantity(&value));
    let Some((page, verdict)) = judged else {
        return format!("| {text} | {place} | {paper} | - | - | not measured | - |\n");
    };
    let kind = match page.charts.is_empty() {
        true => "csv",
        false => "svg",
    };
    let scale = match page.scale.as_str() {
        "paper" | "" => String::new(),
        scale => format!(" at scale {scale}"),
    };
    let machine = match changed_keys(page).as_slice() {
        [] => "",
        _ => " (earlier machine)",
    };
    let ours = verdict.own().map_or("-".to_owned(), |own| {
        format!("{}: {}", escaped(&own.ours_shown()), own.judged())
    });
    format!(
        "| {text} | {place} | {paper} | {ours} | {} | {}{machine} | [{}]({}/{}.{kind}){scale} |\n",
        verdict.tally(),
        verdict.label(),
        page.figure,
        page.paper,
        page.figure
    )
}

/// The page with every statement of a paper's claims.
pub(super) fn statements(judged: &Judged<'_>, paper: &str, title: &str) -> String {
    let mut text = format!(
        "# {title}: statements\n\n\
         Generated by `cargo xtask results`. Means have the smallest and the largest value that \
         they take\nwithout one benchmark.\n{REMARKS}\n"
    );
    for (claim, judged) in judged.of_paper(paper) {
        let Claim {
            id,
            place,
            text: says,
            ..
        } = claim;
        let label = judged.map_or("not measured", |(_, verdict)| verdict.label());
        let _ = write!(text, "\n## {id}: {label}\n\n{} ({place}).\n", escaped(says));
        let Some((_, verdict)) = judged else {
            continue;
        };
        text += "\n| statement | kind | paper | here | verdict |\n|---|---|--:|---|---|\n";
        for statement in &verdict.statements {
            text += &statement_row(statement);
        }
        if let Some(told) = verdict.why() {
            let _ = writeln!(text, "\n{told}.");
        }
        let _ = writeln!(text, "\n{}", verdict.note);
    }
    text
}

fn statement_row(statement: &Statement) -> String {
    format!(
        "| {} | {} | {} | {} | {} |\n",
        escaped(&statement.what),
        statement.kind.name(),
        statement.paper_shown(),
        escaped(&statement.ours_shown()),
        statement.judged()
    )
}
