//! Texts of faults and findings as people read them: kernels by their plain names, and advice where
//! the PTX does not state the lines of its source.

use warploom_exec::{Fault, FindingReport};

/// Largest width of a name in a message, in characters.
const NAME: usize = 80;

/// Advice for PTX without the lines of its source.
const LINES: &str =
    "\n  = help: compile with `nvcc -lineinfo`, and messages name the line of the source";

/// A message with plain names of kernels and functions.
pub(crate) fn plain(message: &str) -> String {
    warploom_names::in_text(message, NAME)
}

/// Message of a fault. An assertion names a line of the source by itself.
pub(crate) fn fault(fault: &Fault) -> String {
    let mut text = plain(&fault.to_string());
    if fault.place.written.is_none() && fault.assertion.is_none() {
        text += LINES;
    }
    text
}

/// Messages of findings. The first one without a line of the source has the advice.
pub(crate) fn findings(findings: &[FindingReport]) -> Vec<String> {
    let mut texts: Vec<_> = findings.iter().map(|of| plain(&of.to_string())).collect();
    let unknown = |of: &FindingReport| of.place.written.is_none();
    if let Some(at) = findings.iter().position(unknown) {
        texts[at] += LINES;
    }
    texts
}
