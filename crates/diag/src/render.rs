//! Diagnostics as text, in the style of rustc: message, `file:line:column`, the source line with
//! carets, remedies.

use crate::{Diagnostic, Diagnostics, Label, Severity, Source, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// How diagnostics are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// With ANSI colours.
    Coloured,
}

impl Style {
    fn renderer(self) -> Renderer {
        match self {
            Self::Plain => Renderer::plain(),
            Self::Coloured => Renderer::styled(),
        }
    }
}

impl Diagnostic {
    /// Draws it, with the source lines that it points to and without a line break at the end.
    pub fn render(&self, source: &Source, style: Style) -> String {
        style.renderer().render(&[self.report(source)])
    }

    fn report<'a>(&'a self, source: &'a Source) -> Group<'a> {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let secondary = self.secondary.iter().map(|label| source.clamp(label.span));
        let window = secondary.fold(source.clamp(self.primary.span), Span::to);
        let (lines, first_line) = source.lines_around(window);
        let mark = |kind: AnnotationKind, label: &'a Label| {
            let annotation = kind.span(relative(source.clamp(label.span), lines));
            annotation.label((!label.text.is_empty()).then_some(label.text.as_str()))
        };
        let snippet = Snippet::source(source.slice(lines))
            .line_start(first_line as usize)
            .path(source.name())
            .annotation(mark(AnnotationKind::Primary, &self.primary))
            .annotations(
                self.secondary
                    .iter()
                    .map(|l| mark(AnnotationKind::Context, l)),
            );
        let help = self
            .help
            .iter()
            .map(|text| Level::HELP.message(text.as_str()));
        level
            .primary_title(self.message.as_str())
            .id(self.code)
            .element(snippet)
            .elements(help)
    }
}

fn relative(span: Span, base: Span) -> Range<usize> {
    (span.start - base.start) as usize..(span.end - base.start) as usize
}

impl Diagnostics {
    /// Draws all of them, a blank line between, ending with a line break unless there are none.
    pub fn render(&self, source: &Source, style: Style) -> String {
        let renderer = style.renderer();
        let mut text = String::new();
        for diagnostic in self {
            text.push_str(&renderer.render(&[diagnostic.report(source)]));
            text.push_str("\n\n");
        }
        if self.dropped() > 0 {
            text.push_str(&format!("and {} more\n", self.dropped()));
        } else {
            text.pop();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Style;
    use crate::{Diagnostic, Diagnostics, Source, Span};

    fn sample() -> (Source, Diagnostic) {
        let source = Source::new("k.ptx", "first\n  add.s33 %r1, %r2;\n\nlast\n");
        let diagnostic = Diagnostic::error("unknown-modifier", Span::new(11, 15), "no such thing")
            .label("not a modifier")
            .and(Span::new(0, 5), "because of this")
            .help("write `.s32`");
        (source, diagnostic)
    }

    #[test]
    fn plain_text_shows_place_line_and_remedy() {
        let (source, diagnostic) = sample();
        insta::assert_snapshot!(diagnostic.render(&source, Style::Plain), @r"
        error[unknown-modifier]: no such thing
         --> k.ptx:2:6
          |
        1 | first
          | ----- because of this
        2 |   add.s33 %r1, %r2;
          |      ^^^^ not a modifier
          |
          = help: write `.s32`
        ");
    }

    #[test]
    fn colours_are_escape_sequences_around_the_same_text() {
        let (source, diagnostic) = sample();
        let coloured = diagnostic.render(&source, Style::Coloured);
        assert!(coloured.contains("\u{1b}["));
        assert!(!diagnostic.render(&source, Style::Plain).contains('\u{1b}'));
    }

    #[test]
    fn many_are_cut_with_a_count() {
        let (source, diagnostic) = sample();
        let all: Diagnostics = vec![diagnostic; Diagnostics::LIMIT + 3]
            .into_iter()
            .collect();
        let text = all.render(&source, Style::Plain);
        assert_eq!(text.matches("k.ptx:2:6").count(), Diagnostics::LIMIT);
        assert!(text.ends_with("\n\nand 3 more\n"));
        assert_eq!(Diagnostics::new().render(&source, Style::Plain), "");
    }

    #[test]
    fn any_span_can_be_drawn() {
        for text in [
            "",
            "\n",
            "a",
            "a\u{e9}\r\n\tb",
            "\u{e9}",
            "a\n\n",
            "x\0y\u{202e}z",
        ] {
            let source = Source::new("t", text);
            for start in 0..10 {
                for end in 0..12 {
                    let span = Span::new(start, end);
                    let diagnostic = Diagnostic::error("x", span, "m").and(Span::new(end, end), "");
                    assert!(
                        diagnostic.render(&source, Style::Plain).contains("t:"),
                        "{text:?}"
                    );
                }
            }
        }
    }
}
