//! Sentences of a text report, in lines of limited width.

use std::fmt::Write;

/// Line width of sentences.
const LINE: usize = 80;

/// Writes sentences as a list, and an empty line.
pub(super) fn sentences(text: &mut String, sentences: &[String]) {
    for sentence in sentences {
        wrapped(text, "- ", sentence);
    }
    text.push('\n');
}

/// Writes a sentence behind a prefix, in lines of at most [`LINE`] characters.
pub(super) fn wrapped(text: &mut String, prefix: &str, sentence: &str) {
    let mut line = prefix.to_owned();
    for (nth, word) in sentence.split(' ').enumerate() {
        if line.chars().count() + 1 + word.chars().count() > LINE {
            let _ = writeln!(text, "{line}");
            line = " ".to_owned();
        }
        if nth > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
