//! The hardware's answers as a file of digests, one line a form:
//!
//! ```text
//! form <tab> tuples <tab> digest
//! ```
//!
//! A digest is XXH3 (64 bits) over all results. `nan:` before it says that NaNs count as one
//! value, because Warploom's have another payload. `~N` stands for an approximate function: the
//! hardware's first answers follow, and Warploom was off by N units of the last place at most.
//! `-` is a form that the GPU's driver refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warploom_base::Digest;

use super::Outcome;
use super::case::{Accuracy, Case, TUPLES};
use super::compare::{apart, row, without_payload};

/// Answers of an approximate function that are kept: its special values come first.
const KEPT: usize = 192;

/// The file.
pub fn record(cases: &[Case], outcomes: &[Outcome], gpu: &str) -> String {
    let mut text = format!("# {gpu}\n");
    for (case, outcome) in cases.iter().zip(outcomes) {
        let what = match outcome {
            Outcome::TooNew | Outcome::Late => continue,
            Outcome::Refused(_) => "-".to_owned(),
            Outcome::Alone(_, theirs) => digest(case, theirs, false),
            Outcome::Compared(comparison, theirs) => match case.accuracy {
                Accuracy::Within(_) => {
                    let ulps = comparison.farthest.as_ref().map_or(0, |(ulps, _)| *ulps);
                    format!("~{ulps}\t{}", kept(case, theirs))
                }
                Accuracy::Exact => match comparison.payloads.is_empty() {
                    true => digest(case, theirs, false),
                    false => format!("nan:{}", digest(case, theirs, true)),
                },
            },
        };
        writeln!(text, "{}\t{TUPLES}\t{what}", case.name).expect("a string takes all");
    }
    text
}

/// Over the results of all threads, one after the other.
fn digest(case: &Case, answers: &[u8], one_nan: bool) -> String {
    let mut digest = Digest::new();
    for thread in 0..TUPLES {
        let row = row(answers, case.outputs.len(), thread);
        for (bits, &ty) in row.into_iter().zip(&case.outputs) {
            digest.u64(if one_nan {
                without_payload(ty, bits)
            } else {
                bits
            });
        }
    }
    digest.hex()
}

/// The first answers, in hexadecimal.
fn kept(case: &Case, answers: &[u8]) -> String {
    let words: Vec<String> = first(case, answers)
        .map(|bits| format!("{bits:x}"))
        .collect();
    words.join(" ")
}

fn first(case: &Case, answers: &[u8]) -> impl Iterator<Item = u64> {
    (0..KEPT).flat_map(move |thread| row(answers, case.outputs.len(), thread))
}

/// A file of digests, to hold answers to.
pub struct Record<'a> {
    lines: BTreeMap<&'a str, &'a str>,
}

impl<'a> Record<'a> {
    /// Reads a file.
    pub fn new(text: &'a str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines = lines.filter_map(|line| {
            let (name, rest) = line.split_once('\t')?;
            Some((name, rest.split_once('\t')?.1))
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// What is wrong with Warploom's answers to a case.
    pub fn judge(&self, case: &Case, answers: &Result<Vec<u8>, String>) -> Option<String> {
        let name = &case.name;
        let Some(&expected) = self.lines.get(name.as_str()) else {
            return Some(format!("{name}: not in the record"));
        };
        match (expected, answers) {
            ("-", _) => None,
            (_, Err(why)) => Some(format!("{name}: {why}")),
            (_, Ok(answers)) => match is_met(case, answers, expected) {
                true => None,
                false => Some(format!("{name}: other results than the GPU's")),
            },
        }
    }
}

fn is_met(case: &Case, answers: &[u8], expected: &str) -> bool {
    let Some((ulps, kept)) = expected
        .strip_prefix('~')
        .and_then(|rest| rest.split_once('\t'))
    else {
        return match expected.strip_prefix("nan:") {
            Some(expected) => digest(case, answers, true) == expected,
            None => digest(case, answers, false) == expected,
        };
    };
    let most: u64 = ulps.parse().unwrap_or(0);
    let kept: Vec<_> = kept
        .split(' ')
        .map(|word| u64::from_str_radix(word, 16))
        .collect();
    let ours: Vec<u64> = first(case, answers).collect();
    let near = |(index, (ours, theirs)): (usize, (&u64, &Result<u64, _>))| {
        let ty = case.outputs[index % case.outputs.len()];
        let apart = theirs.as_ref().map(|theirs| apart(ty, *ours, *theirs));
        apart.is_ok_and(|apart| apart.is_within(most))
    };
    kept.len() == ours.len() && ours.iter().zip(&kept).enumerate().all(near)
}
