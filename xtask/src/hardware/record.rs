//! File with the results of a GPU. Lines with `#` at the beginning name the GPU. Each form has one
//! line:
//!
//! ```text
//! form <tab> results
//! ```
//!
//! Results are a digest, XXH3 (64 bits) over all results. The prefix `nan:` means that all NaNs
//! count as one value, because Warploom's had other payloads. `~` marks an approximate function;
//! its first results follow, in hexadecimal. `-` marks a form that the GPU's driver refuses; its
//! message follows. `?` marks a form that was not run on a GPU; the reason follows, written by
//! hand.
//!
//! Video instructions that Warploom does not execute are omitted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warploom_base::Digest;

use super::Outcome;
use super::accuracy::Bound;
use super::case::{Accuracy, Case, Family, TUPLES};
use super::compare::{largest_error, value, without_payload};

/// Number of stored results of an approximate function. Its special values come first.
const KEPT: usize = 192;

/// Text of the file.
pub fn record(cases: &[Case], outcomes: &[Outcome], gpu: &str) -> String {
    let mut text = format!("# {gpu}\n");
    for (case, outcome) in cases.iter().zip(outcomes) {
        let what = match outcome {
            Outcome::TooNew | Outcome::Late => continue,
            _ if is_left_out(case) => continue,
            Outcome::Refused(why) => format!("-\t{why}"),
            Outcome::Alone(_, theirs) => answers(case, theirs, false),
            Outcome::Compared(comparison, theirs) => {
                answers(case, theirs, !comparison.payloads.is_empty())
            }
        };
        writeln!(text, "{}\t{what}", case.name).expect("a string takes all");
    }
    text
}

fn answers(case: &Case, theirs: &[u8], one_nan: bool) -> String {
    match (case.accuracy, one_nan) {
        (Accuracy::Within(_), _) => format!("~\t{}", kept(case, theirs)),
        (Accuracy::Exact, false) => digest(case, theirs, false),
        (Accuracy::Exact, true) => format!("nan:{}", digest(case, theirs, true)),
    }
}

/// Digest over the results of all threads, one after the other.
fn digest(case: &Case, answers: &[u8], one_nan: bool) -> String {
    let mut digest = Digest::new();
    for thread in 0..TUPLES {
        for (k, &ty) in case.outputs.iter().enumerate() {
            let bits = value(answers, k, thread);
            digest.u64(if one_nan {
                without_payload(ty, bits)
            } else {
                bits
            });
        }
    }
    digest.hex()
}

/// First results of a form with one output.
fn kept(case: &Case, answers: &[u8]) -> String {
    assert_eq!(case.outputs.len(), 1, "{}", case.name);
    let words = (0..KEPT).map(|thread| format!("{:x}", value(answers, 0, thread)));
    words.collect::<Vec<_>>().join(" ")
}

/// True for video instructions on one lane. Drivers replace them by other instructions, not always
/// as the ISA specifies.
fn is_left_out(case: &Case) -> bool {
    let opcode = case.name.split('.').next().unwrap_or_default();
    case.family == Family::Video && !opcode.ends_with(['2', '4'])
}

/// Comparison of Warploom with a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Equal in every bit.
    Equal,
    /// Equal, except for payloads of NaNs.
    EqualButNans,
    /// Within the bound: our largest error, and that of the recorded results.
    Within([f64; 2]),
    /// The GPU's architecture is older than the form.
    TooNew,
    /// The record omits the form, because no GPU executes it as the PTX ISA specifies.
    LeftOut,
    /// The form was not run on a GPU, for this reason.
    Unasked(String),
    /// The GPU's driver refuses the form, with this message.
    Refused(String),
    /// Any other difference, with its description.
    Wrong(String),
}

/// A parsed file of results.
pub struct Record<'a> {
    /// Name of the GPU and its driver.
    pub gpu: &'a str,
    lines: BTreeMap<&'a str, &'a str>,
}

impl<'a> Record<'a> {
    /// Parses the text of a file.
    pub fn new(text: &'a str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            gpu: text.lines().next().unwrap_or("").trim_start_matches("# "),
            lines: lines.filter_map(|line| line.split_once('\t')).collect(),
        }
    }

    /// Recorded forms for which there are no cases.
    pub fn without_case(&self, cases: &[Case]) -> Vec<&'a str> {
        let mut left = self.lines.clone();
        for case in cases {
            left.remove(case.name.as_str());
        }
        left.into_keys().collect()
    }

    /// Compares Warploom's results for a case with the record.
    pub fn judge(&self, case: &Case, input: &[u8], answers: &Result<Vec<u8>, String>) -> Verdict {
        let Some(&expected) = self.lines.get(case.name.as_str()) else {
            return match (is_left_out(case), answers) {
                (true, Ok(_)) => Verdict::LeftOut,
                _ => Verdict::Wrong("not in the record".to_owned()),
            };
        };
        let (mark, rest) = expected.split_once('\t').unwrap_or((expected, ""));
        match (mark, answers, case.accuracy) {
            ("-", ..) => Verdict::Refused(rest.to_owned()),
            (_, Err(why), _) => Verdict::Wrong(why.clone()),
            ("?", ..) => Verdict::Unasked(rest.to_owned()),
            ("~", Ok(answers), Accuracy::Within(bound)) => {
                approximation(case, &bound, input, answers, rest)
            }
            (_, Ok(answers), Accuracy::Exact) => exact(case, answers, mark),
            _ => Verdict::Wrong("the record has another kind of result".to_owned()),
        }
    }
}

fn exact(case: &Case, answers: &[u8], expected: &str) -> Verdict {
    let (one_nan, expected) = match expected.strip_prefix("nan:") {
        Some(expected) => (true, expected),
        None => (false, expected),
    };
    match (digest(case, answers, one_nan) == expected, one_nan) {
        (true, false) => Verdict::Equal,
        (true, true) => Verdict::EqualButNans,
        (false, _) => Verdict::Wrong("results differ from the GPU's".to_owned()),
    }
}

fn approximation(case: &Case, bound: &Bound, input: &[u8], answers: &[u8], kept: &str) -> Verdict {
    let words = kept.split(' ').map(|word| u64::from_str_radix(word, 16));
    let theirs: Vec<u64> = words.map_while(Result::ok).collect();
    if theirs.len() != KEPT {
        return Verdict::Wrong("results are missing in the record".to_owned());
    }
    let ours: Vec<u64> = (0..TUPLES)
        .map(|thread| value(answers, 0, thread))
        .collect();
    let errors =
        [&ours, &theirs].map(|results| largest_error(case, bound, input, results.iter().copied()));
    let both = ours.iter().zip(&theirs);
    match (
        errors,
        both.clone().all(|(&a, &b)| bound.is_same_kind(a, b)),
    ) {
        ([ours, _], _) if bound.is_broken_by(ours) => Verdict::Wrong(format!(
            "error {}, allowed: {}",
            bound.shown(ours),
            bound.text
        )),
        ([_, theirs], _) if bound.is_broken_by(theirs) => {
            let shown = bound.shown(theirs);
            Verdict::Wrong(format!("error of the GPU {shown}, allowed: {}", bound.text))
        }
        (_, false) => Verdict::Wrong(
            "a NaN, infinity or zero where the GPU has another value, or the reverse".to_owned(),
        ),
        (errors, true) => Verdict::Within(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::cases;
    use super::{Record, Verdict, answers};

    #[test]
    fn a_record_tells_what_changed() {
        let cases = cases();
        let named = |name| cases.iter().find(|case| case.name == name).expect("a form");
        let (sum, root) = (named("add.u32"), named("sqrt.approx.f32"));
        let some = vec![7; sum.output_bytes()];
        let line = format!(
            "# GPU\nadd.u32\t{}\nsub.u32\t-\tno\nand.b32\t?\tnew\ngone\t0",
            answers(sum, &some, false)
        );
        let record = Record::new(&line);
        let judge = |case, answers| record.judge(case, &[], &answers);
        assert_eq!(record.gpu, "GPU");
        assert_eq!(judge(sum, Ok(some.clone())), Verdict::Equal);
        let other = judge(sum, Ok(vec![8; sum.output_bytes()]));
        assert!(matches!(other, Verdict::Wrong(_)), "a digest changed");
        let missing = judge(sum, Err("no".to_owned()));
        assert!(
            matches!(missing, Verdict::Wrong(_)),
            "a form is not executed"
        );
        let new = judge(root, Ok(some.clone()));
        assert!(matches!(new, Verdict::Wrong(_)), "a form has no record");
        let refused = judge(named("sub.u32"), Ok(some.clone()));
        assert_eq!(refused, Verdict::Refused("no".to_owned()));
        let unasked = judge(named("and.b32"), Ok(some));
        assert_eq!(unasked, Verdict::Unasked("new".to_owned()));
        assert_eq!(record.without_case(&cases), ["gone"]);
    }
}
