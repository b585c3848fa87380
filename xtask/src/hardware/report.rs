//! Text report of a comparison with a GPU.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::case::{Accuracy, Case, Family, TUPLES};
use super::compare::{Comparison, Tuple, row};
use super::{Outcome, operands};

/// Number of tuples of a form in the report.
const SHOWN: usize = 3;
/// Number of tuples of a form in the file of differences.
const WRITTEN: usize = 48;
/// Number of tuples in that file of a form that only the GPU executed.
const ALONE: usize = 16;
/// Number of names to show of forms that were not run for the same reason.
const NAMES: usize = 6;
/// Largest size of the file of differences.
const MOST_BYTES: usize = 10 << 20;

/// Outcomes of one family, counted.
#[derive(Default)]
struct Counts {
    forms: usize,
    equal: usize,
    payload: usize,
    differing: usize,
    not_run: usize,
}

/// Text of the whole report.
pub fn report(cases: &[Case], outcomes: &[Outcome], gpu: &str) -> String {
    let all: Vec<(&Case, &Outcome)> = cases.iter().zip(outcomes).collect();
    let mut text = format!("{gpu}, {TUPLES} tuples a form\n\n");
    text += "| family | forms | equal | NaN payload only | differing | not run |\n";
    text += "|---|--:|--:|--:|--:|--:|\n";
    for &family in Family::ALL {
        let of_family = all.iter().filter(|(case, _)| case.family == family);
        let counts = count(of_family.map(|(_, outcome)| *outcome));
        let Counts {
            forms,
            equal,
            payload,
            differing,
            not_run,
        } = counts;
        let title = family.title();
        let row = format!("| {title} | {forms} | {equal} | {payload} | {differing} | {not_run} |");
        text = text + &row + "\n";
    }
    text + &differing(&all) + &approximate(&all) + &not_run(&all)
}

fn count<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Counts {
    let mut counts = Counts::default();
    for outcome in outcomes {
        counts.forms += 1;
        match outcome {
            Outcome::Compared(comparison, _) if comparison.is_equal() => counts.equal += 1,
            Outcome::Compared(comparison, _) if comparison.differing.is_empty() => {
                counts.payload += 1;
            }
            Outcome::Compared(..) => counts.differing += 1,
            _ => counts.not_run += 1,
        }
    }
    counts
}

fn differing(all: &[(&Case, &Outcome)]) -> String {
    let mut text = "\nDiffering: inputs, ours, the GPU's\n".to_owned();
    for (case, outcome) in all {
        let Outcome::Compared(comparison, _) = outcome else {
            continue;
        };
        if case.accuracy == Accuracy::Exact && !comparison.differing.is_empty() {
            let count = comparison.differing.len();
            writeln!(text, "{}: {count}", case.name).expect("a string takes all");
            for tuple in comparison.differing.iter().take(SHOWN) {
                text += &line(tuple);
            }
        }
    }
    text
}

fn approximate(all: &[(&Case, &Outcome)]) -> String {
    let mut text = "\nApproximate: largest error, ours, the GPU's, documented bound\n".to_owned();
    for (case, outcome) in all {
        let (Outcome::Compared(comparison, _), Accuracy::Within(bound)) = (outcome, case.accuracy)
        else {
            continue;
        };
        let [ours, theirs] = comparison.errors.map(|error| bound.shown(error));
        let broken = comparison
            .errors
            .iter()
            .any(|&error| bound.is_broken_by(error));
        let mark = if broken { ", broken" } else { "" };
        let (name, count) = (&case.name, comparison.differing.len());
        let row = format!(
            "{name}: {ours}, {theirs} ({}{mark}), {count} differ",
            bound.text
        );
        text = text + &row + "\n";
    }
    text
}

fn not_run(all: &[(&Case, &Outcome)]) -> String {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (case, outcome) in all {
        let why = match outcome {
            Outcome::Compared(..) => continue,
            Outcome::Late => "the time limit was reached".to_owned(),
            Outcome::TooNew => format!("needs sm_{}", case.since),
            Outcome::Refused(why) => format!("refused by the GPU's driver: {why}"),
            // The text in quotes is the form, which differs between messages.
            Outcome::Alone(why, _) => format!("Warploom: {}", why.split('`').next().unwrap_or("")),
        };
        reasons.entry(why).or_default().push(&case.name);
    }
    let mut text = "\nNot run\n".to_owned();
    for (why, names) in reasons {
        let shown = names[..names.len().min(NAMES)].join(", ");
        writeln!(text, "{}: {why}: {shown}", names.len()).expect("a string takes all");
    }
    text
}

/// Text of a tuple as a line.
fn line(tuple: &Tuple) -> String {
    let words = |values: &[u64]| {
        let words: Vec<String> = values.iter().map(|bits| format!("{bits:x}")).collect();
        words.join(" ")
    };
    let [inputs, ours, theirs] = [&tuple.inputs, &tuple.ours, &tuple.theirs].map(|v| words(v));
    format!("  {inputs} | {ours} | {theirs}\n")
}

/// Text of the file of differences: tuples that differ, evenly selected, then tuples that Warploom
/// cannot run.
pub fn tuples(cases: &[Case], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut add = |case: &Case, some: String| {
        if !some.is_empty() && text.len() + some.len() < MOST_BYTES {
            writeln!(text, "{}", case.name).expect("a string takes all");
            text += &some;
        }
    };
    for (case, outcome) in cases.iter().zip(outcomes) {
        if let Outcome::Compared(comparison, _) = outcome {
            add(case, of_comparison(comparison));
        }
    }
    for (case, outcome) in cases.iter().zip(outcomes) {
        if let Outcome::Alone(_, theirs) = outcome {
            add(case, alone(case, theirs));
        }
    }
    text
}

fn of_comparison(comparison: &Comparison) -> String {
    let payloads = comparison.payloads.iter().take(SHOWN);
    let all = spread(&comparison.differing).chain(payloads);
    all.map(line).collect()
}

fn spread(tuples: &[Tuple]) -> impl Iterator<Item = &Tuple> {
    tuples.iter().step_by(tuples.len().div_ceil(WRITTEN).max(1))
}

/// Some results of a form that only the GPU executed.
fn alone(case: &Case, theirs: &[u8]) -> String {
    let input = operands::bytes(case);
    let of = |thread| Tuple {
        inputs: row(&input, case.inputs.len(), thread),
        ours: Vec::new(),
        theirs: row(theirs, case.outputs.len(), thread),
    };
    let threads = (0..TUPLES).step_by(TUPLES.div_ceil(ALONE));
    threads.map(|thread| line(&of(thread))).collect()
}
