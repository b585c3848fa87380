//! Rendering of diagnostics as text in the style of rustc: message, `file:line:column`, the source
//! line with carets, remedies.

use crate::{Diagnostic, Diagnostics, Label, Severity, Source, Span};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::ops::Range;

/// Style in which diagnostics are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text without escape sequences.
    Plain,
    /// Text with ANSI colour sequences.
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
    /// Renders the diagnostic with the source lines that it points to, without a line break at the
    /// end.
    pub fn render(&self, source: &Source, style: Style) -> String {
        style.renderer().render(&[self.report(source)])
    }

    fn report<'a>(&'a self, source: &'a Source) -> Group<'a> {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let primary = (AnnotationKind::Primary, &self.primary);
        let secondary = self
            .secondary
            .iter()
            .map(|label| (AnnotationKind::Context, label));
        let labels: Vec<_> = std::iter::once(primary).chain(secondary).collect();
        let title = level.primary_title(self.message.as_str()).id(self.code);
        let group = match excerpt(source, &labels) {
            Some(snippet) => title.element(snippet),
            // Places too far apart for one excerpt get one excerpt each.
            None => labels
                .iter()
                .fold(Group::with_title(title), |group, label| {
                    match excerpt(source, std::slice::from_ref(label)) {
                        Some(snippet) => group.element(snippet),
                        None => group.element(place(source, label.1)),
                    }
                }),
        };
        group.elements(
            self.help
                .iter()
                .map(|text| Level::HELP.message(text.as_str())),
        )
    }
}

type Marked<'a> = (AnnotationKind, &'a Label);

/// Longest excerpt in bytes. It bounds the time of rendering, which is proportional to the excerpt,
/// for a file that is one long line.
const MAX_EXCERPT: u32 = 1 << 14;

/// Excerpt of the lines that contain all labels, with their marks; `None` if it is too long.
fn excerpt<'a>(source: &'a Source, labels: &[Marked<'a>]) -> Option<Snippet<'a, Annotation<'a>>> {
    let spans = labels.iter().map(|(_, label)| source.clamp(label.span));
    let (lines, first_line) = source.lines_around(spans.reduce(Span::to)?);
    if lines.end - lines.start > MAX_EXCERPT {
        return None;
    }
    let marks = labels.iter().map(|(kind, label)| {
        let annotation = kind.span(relative(source.clamp(label.span), lines));
        annotation.label((!label.text.is_empty()).then_some(label.text.as_str()))
    });
    let snippet = Snippet::source(source.slice(lines)).line_start(first_line as usize);
    Some(snippet.path(source.name()).annotations(marks))
}

/// Place of a label without an excerpt, for a line that is too long to show.
fn place<'a>(source: &'a Source, label: &Label) -> Origin<'a> {
    let position = source.position(label.span.start);
    Origin::path(source.name())
        .line(position.line as usize)
        .char_column(position.column as usize)
}

fn relative(span: Span, base: Span) -> Range<usize> {
    (span.start - base.start) as usize..(span.end - base.start) as usize
}

impl Diagnostics {
    /// Renders all diagnostics, separated by blank lines. The text ends with a line break unless it
    /// is empty.
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
    fn labels_far_apart_have_excerpts_of_their_own() {
        let text = format!("first\n{}last\n", "x\n".repeat(100_000));
        let at = text.len() as u32 - 5;
        let source = Source::new("far.ptx", text);
        let diagnostic = Diagnostic::error("twice", Span::new(at, at + 4), "declared twice")
            .label("again here")
            .and(Span::new(0, 5), "first here");
        insta::assert_snapshot!(diagnostic.render(&source, Style::Plain), @r"
        error[twice]: declared twice
              --> far.ptx:100002:1
               |
        100002 | last
               | ^^^^ again here
               |
              ::: far.ptx:1:1
               |
             1 | first
               | ----- first here
        ");
    }

    #[test]
    fn a_line_too_long_to_show_is_named() {
        let source = Source::new("long.ptx", "x".repeat(1 << 20));
        let diagnostic = Diagnostic::error("odd", Span::new(500_000, 500_001), "odd");
        insta::assert_snapshot!(diagnostic.render(&source, Style::Plain), @r"
        error[odd]: odd
        --> long.ptx:1:500001
        ");
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
