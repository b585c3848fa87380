//! Source texts with names, and places in them.

use std::fmt;

/// Half-open range of bytes in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates the range from `start` to `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the smallest range that contains both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns an empty range after this one, to mark a place where something is missing.
    #[must_use]
    pub const fn after(self) -> Self {
        Self {
            start: self.end,
            end: self.end,
        }
    }
}

/// Line and column of a place, both numbered from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line number from 1.
    pub line: u32,
    /// Character within the line, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Reason why bytes cannot be read as a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// The bytes are not UTF-8: a binary file, or another encoding.
    NotText {
        /// Name of the file.
        name: String,
        /// Offset of the first byte that is not UTF-8.
        offset: usize,
    },
    /// The text is longer than [`Source::MAX_LEN`].
    TooLong {
        /// Name of the file.
        name: String,
        /// Length of the file in bytes.
        len: usize,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText { name, offset } => write!(
                f,
                "{name} is not text: byte {offset} is not UTF-8; give a text file, not a binary \
                 one, and re-save it as UTF-8 if it is in another encoding"
            ),
            Self::TooLong { name, len } => write!(
                f,
                "{name} has {len} bytes, more than the {} that can be read; split it",
                Source::MAX_LEN
            ),
        }
    }
}

impl std::error::Error for SourceError {}

/// Text with its name and the offsets of its lines.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl Source {
    /// Longest text in bytes; offsets have 32 bits.
    pub const MAX_LEN: usize = u32::MAX as usize - 1;

    /// Creates a source from a text of the program itself.
    ///
    /// # Panics
    /// If `text` is longer than [`Source::MAX_LEN`]; files go through [`Source::from_bytes`].
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        assert!(
            text.len() <= Self::MAX_LEN,
            "{name}: text too long for 32-bit offsets"
        );
        // The standard library's search, because this crate itself is not optimised.
        let after = text.match_indices('\n').map(|(at, _)| at as u32 + 1);
        let line_starts = std::iter::once(0).chain(after).collect();
        Self {
            name,
            text,
            line_starts,
        }
    }

    /// Creates a source from bytes read from outside, such as a file.
    ///
    /// # Errors
    /// If the bytes are not UTF-8, or too many.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let name = name.into();
        if bytes.len() > Self::MAX_LEN {
            return Err(SourceError::TooLong {
                name,
                len: bytes.len(),
            });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                Err(SourceError::NotText { name, offset })
            }
        }
    }

    /// Name of the text, usually a path as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as a whole.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines, at least 1.
    pub fn line_count(&self) -> u32 {
        self.line_starts.len() as u32
    }

    /// Line and column of a byte offset. An offset after the end is taken for the end of the text.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.floor(offset);
        let line = self.line_index(offset);
        let start = self.line_starts[line] as usize;
        let column = self.text[start..offset as usize].chars().count();
        Position {
            line: line as u32 + 1,
            column: column as u32 + 1,
        }
    }

    /// Text of a line, numbered from 1, without its line break; `None` after the last line.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let text = self.text[start..].split('\n').next()?;
        Some(text.strip_suffix('\r').unwrap_or(text))
    }

    /// Text of a span, after `clamp`.
    pub fn slice(&self, span: Span) -> &str {
        let span = self.clamp(span);
        &self.text[span.start as usize..span.end as usize]
    }

    /// Moves a span into the text and extends it to whole characters.
    pub(crate) fn clamp(&self, span: Span) -> Span {
        let start = self.floor(span.start);
        let mut end = span.end.max(start).min(self.text.len() as u32);
        while !self.text.is_char_boundary(end as usize) {
            end += 1;
        }
        Span { start, end }
    }

    /// Byte range of the lines that contain a span, and the number of the first line, from 1.
    pub(crate) fn lines_around(&self, span: Span) -> (Span, u32) {
        let span = self.clamp(span);
        let (first, last) = (self.line_index(span.start), self.line_index(span.end));
        let next = self.line_starts.get(last + 1);
        let mut end = next.map_or(self.text.len() as u32, |next| next - 1);
        // A carriage return is part of the line break, unless the span contains it.
        if end > span.end && self.text[..end as usize].ends_with('\r') {
            end -= 1;
        }
        (
            Span {
                start: self.line_starts[first],
                end,
            },
            first as u32 + 1,
        )
    }

    fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|start| *start <= offset) - 1
    }

    fn floor(&self, offset: u32) -> u32 {
        let mut offset = offset.min(self.text.len() as u32);
        while !self.text.is_char_boundary(offset as usize) {
            offset -= 1;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, SourceError, Span};

    fn at(text: &str, offset: u32) -> (u32, u32) {
        let position = Source::new("t", text).position(offset);
        (position.line, position.column)
    }

    #[test]
    fn positions_count_lines_and_characters() {
        assert_eq!(at("", 0), (1, 1));
        assert_eq!(at("ab\ncd", 1), (1, 2));
        assert_eq!(at("ab\ncd", 2), (1, 3));
        assert_eq!(at("ab\ncd", 3), (2, 1));
        assert_eq!(at("ab\ncd", 99), (2, 3));
        assert_eq!(at("ab\n", 3), (2, 1));
        // e-acute is two bytes: offset 2 is inside it.
        assert_eq!(at("a\u{e9}b", 2), (1, 2));
        assert_eq!(at("a\u{e9}b", 3), (1, 3));
    }

    #[test]
    fn lines_come_without_their_breaks() {
        let source = Source::new("t", "one\r\ntwo\n");
        assert_eq!(source.line_count(), 3);
        assert_eq!(source.line(0), None);
        assert_eq!(source.line(1), Some("one"));
        assert_eq!(source.line(2), Some("two"));
        assert_eq!(source.line(3), Some(""));
        assert_eq!(source.line(4), None);
    }

    #[test]
    fn slices_never_split_characters() {
        let source = Source::new("t", "a\u{e9}b");
        assert_eq!(source.slice(Span::new(0, 2)), "a\u{e9}");
        assert_eq!(source.slice(Span::new(2, 3)), "\u{e9}");
        assert_eq!(source.slice(Span::new(3, 90)), "b");
        assert_eq!(source.slice(Span::new(3, 1)), "");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_place() {
        let error = Source::from_bytes("x.ptx", vec![b'a', 0xFF]).unwrap_err();
        assert_eq!(
            error,
            SourceError::NotText {
                name: "x.ptx".into(),
                offset: 1
            }
        );
        assert!(error.to_string().contains("byte 1"), "{error}");
    }
}
