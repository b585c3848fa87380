//! The hardware's answers as a file of digests, one line a form:
//!
//!     form <tab> tuples <tab> digest
//!
//! A digest is XXH3 (64 bits) over all results. `nan:` before it says that NaNs count as one
//! value. Of an approximate function, `~N` is how many units of the last place Warploom was off at
//! most, and the hardware's first answers follow, so that a test can hold Warploom to them.

use std::fmt::Write as _;

use warploom_base::Digest;

use super::Outcome;
use super::case::{Accuracy, Case, TUPLES};
use super::compare::{row, without_payload};

/// Answers of an approximate function that are kept: its special values come first.
const KEPT: usize = 192;

/// The file.
pub fn record(cases: &[Case], outcomes: &[Outcome], gpu: &str) -> String {
    let mut text = format!("# {gpu}\n");
    for (case, outcome) in cases.iter().zip(outcomes) {
        let what = match outcome {
            Outcome::NotRun(_) => continue,
            Outcome::Alone(_, theirs) => format!("alone:{}", digest(case, theirs, false)),
            Outcome::Compared(comparison, theirs) => {
                let nan = !comparison.payloads.is_empty();
                match case.accuracy {
                    Accuracy::Within(_) => {
                        let ulps = comparison.farthest.as_ref().map_or(0, |(ulps, _)| *ulps);
                        format!("~{ulps}\t{}", kept(case, theirs))
                    }
                    Accuracy::Exact if nan => format!("nan:{}", digest(case, theirs, true)),
                    Accuracy::Exact => digest(case, theirs, false),
                }
            }
        };
        writeln!(text, "{}\t{TUPLES}\t{what}", case.name).expect("a string takes all");
    }
    text
}

/// Over the results of all threads, one after the other.
fn digest(case: &Case, theirs: &[u8], one_nan: bool) -> String {
    let mut digest = Digest::new();
    for thread in 0..TUPLES {
        let row = row(theirs, case.outputs.len(), thread);
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

fn kept(case: &Case, theirs: &[u8]) -> String {
    let answers = (0..KEPT).flat_map(|thread| row(theirs, case.outputs.len(), thread));
    let words: Vec<String> = answers.map(|bits| format!("{bits:x}")).collect();
    words.join(" ")
}
