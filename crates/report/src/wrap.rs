//! Lines of words that keep to a width.

/// Words behind a lead, in lines of at most `width` characters, if it is given. Further lines are
/// indented to the first word. A word that is longer than a line has one of its own.
pub fn wrapped(lead: &str, words: &str, width: Option<u16>) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let length = |text: &str| text.chars().count();
    let whole = format!("{lead}{words}");
    if length(&whole) <= width {
        return whole.trim_end().to_owned() + "\n";
    }
    let indent = " ".repeat(length(lead));
    let (mut text, mut line, mut is_first) = (String::new(), lead.to_owned(), true);
    for word in words.split_whitespace() {
        if !is_first && length(&line) + 1 + length(word) > width {
            text += &(line + "\n");
            (line, is_first) = (indent.clone(), true);
        }
        if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    text + &line + "\n"
}

/// Each line of a text in lines of at most `width` characters, if it is given. Further lines have
/// its indentation.
pub(crate) fn lines_wrapped(text: &str, width: Option<u16>) -> String {
    let one = |line: &str| {
        let words = line.trim_start();
        wrapped(&line[..line.len() - words.len()], words, width)
    };
    text.lines().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{lines_wrapped, wrapped};

    #[test]
    fn lines_keep_their_indentation() {
        let text = "FAULT: one two\n  three four";
        assert_eq!(
            lines_wrapped(text, Some(10)),
            "FAULT: one\ntwo\n  three\n  four\n"
        );
        assert_eq!(lines_wrapped(text, None), format!("{text}\n"));
    }

    #[test]
    fn lines_are_indented_to_the_first_word() {
        let words = "word ".repeat(20);
        let text = wrapped("  note: ", &words, Some(40));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("  note: word") && lines[1].starts_with("        word"));
        assert!(
            lines.iter().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert_eq!(text.matches("word").count(), 20);
        assert_eq!(wrapped("", "two  words", None), "two  words\n");
        assert_eq!(wrapped("", "unbreakable", Some(4)), "unbreakable\n");
    }
}
