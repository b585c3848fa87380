//! Words of a GPGPU-Sim configuration with their places (docs/model/formats.md, Options), as in
//! `option_parser.cc` of GPGPU-Sim 4.2.

use warploom_diag::{Diagnostic, Source, Span};

/// Word with its place in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Text of the word without quotes.
    pub text: String,
    pub span: Span,
}

/// Splits a text into words. Returns them with the problem of a quote that is not closed, if any.
pub(super) fn words(source: &Source) -> (Vec<Word>, Option<Diagnostic>) {
    let mut all = Vec::new();
    let mut open: Option<Word> = None;
    for word in plain_words(source.text()) {
        if let Some(quoted) = &mut open {
            quoted.text.push(' ');
            quoted.text.push_str(&word.text);
            quoted.span = quoted.span.to(word.span);
            if word.text.ends_with('"') {
                all.extend(open.take().map(unquoted));
            }
        } else if !word.text.starts_with('"') {
            all.push(word);
        } else if word.text.len() > 1 && word.text.ends_with('"') {
            all.push(unquoted(word));
        } else {
            open = Some(word);
        }
    }
    let problem = open.map(|quoted| {
        let start = Span::new(quoted.span.start, quoted.span.start + 1);
        Diagnostic::error("open-quote", start, "nothing closes this quote")
            .help("end the value with `\"`; a quoted value may go over several lines")
    });
    (all, problem)
}

/// Splits a text at blanks and comments, without regard to quotes.
fn plain_words(text: &str) -> Vec<Word> {
    let mut all = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or("");
        let mut rest = code;
        while let Some(begin) = rest.find(|c: char| !c.is_whitespace()) {
            let word = rest[begin..].split_whitespace().next().unwrap_or("");
            let start = line_start + (code.len() - rest.len()) + begin;
            all.push(Word {
                text: word.to_owned(),
                span: Span::new(start as u32, (start + word.len()) as u32),
            });
            rest = &rest[begin + word.len()..];
        }
        line_start += line.len();
    }
    all
}

fn unquoted(mut word: Word) -> Word {
    word.text = word.text.trim_matches('"').trim().to_owned();
    word
}

#[cfg(test)]
mod tests {
    use super::words;
    use warploom_diag::Source;

    fn texts(text: &str) -> Vec<String> {
        let (words, problem) = words(&Source::new("t", text));
        assert_eq!(problem, None);
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn comments_end_with_their_line_and_lines_mean_nothing() {
        let text = "-a 1 # -b 2\n# -c\n-d\n\n  3\t-e#x\n";
        assert_eq!(texts(text), ["-a", "1", "-d", "3", "-e"]);
    }

    #[test]
    fn quotes_join_words_over_lines_and_comments() {
        assert_eq!(
            texts("-t \"CCD=2: # x\n  RRD=6\" -u"),
            ["-t", "CCD=2: RRD=6", "-u"]
        );
        assert_eq!(texts("\"one\" \" two \""), ["one", "two"]);
    }

    #[test]
    fn words_know_their_place() {
        let source = Source::new("t", "# x\n -a\t\"b\n c\"");
        let (words, _) = words(&source);
        let slices: Vec<_> = words.iter().map(|word| source.slice(word.span)).collect();
        assert_eq!(slices, ["-a", "\"b\n c\""]);
    }

    #[test]
    fn an_open_quote_is_located() {
        let (words, problem) = words(&Source::new("t", "-a \"b c"));
        assert_eq!(words.len(), 1);
        assert_eq!(problem.unwrap().primary.span.start, 3);
    }
}
