//! Lexer: text into tokens (PTX ISA 4.1 to 4.4).
//!
//! The lexer delimits literals; the parser interprets them and reports errors in them. White space,
//! comments and preprocessor lines (`# 1 "file"`) are skipped. The lexer never fails: text that
//! fits no token becomes an `Unknown` token with a reason. Where several tokens fit, the longest is
//! taken. The lexer is written by hand, because a generator of lexers and what it needs would take
//! more time to build than all of this crate.

use warploom_diag::Span;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Identifier, mnemonic or register: `add`, `%r1`, `$L_1`, `WARP_SZ`.
    Word,
    /// Directive or modifier with its dot: `.reg`, `.L2::128B`.
    Dotted,
    /// Number other than a decimal float: `12`, `0x1FU`, `0f3F800000`.
    Number,
    /// Floating-point literal in decimal notation.
    Float,
    /// String with its quotes.
    Text,
    /// Underscore that is no part of a name.
    Underscore,
    /// Punctuation or operator `,`.
    Comma,
    /// Punctuation or operator `;`.
    Semicolon,
    /// Punctuation or operator `:`.
    Colon,
    /// Punctuation or operator `{`.
    OpenBrace,
    /// Punctuation or operator `}`.
    CloseBrace,
    /// Punctuation or operator `[`.
    OpenBracket,
    /// Punctuation or operator `]`.
    CloseBracket,
    /// Punctuation or operator `(`.
    OpenParen,
    /// Punctuation or operator `)`.
    CloseParen,
    /// Punctuation or operator `@`.
    At,
    /// Punctuation or operator `=`.
    Assign,
    /// Punctuation or operator `?`.
    Question,
    /// Punctuation or operator `!`.
    Bang,
    /// Punctuation or operator `~`.
    Tilde,
    /// Punctuation or operator `+`.
    Plus,
    /// Punctuation or operator `-`.
    Minus,
    /// Punctuation or operator `*`.
    Star,
    /// Punctuation or operator `/`.
    Slash,
    /// `%` that does not start a register.
    Percent,
    /// Punctuation or operator `<`.
    Less,
    /// Punctuation or operator `>`.
    Greater,
    /// Punctuation or operator `<=`.
    LessEqual,
    /// Punctuation or operator `>=`.
    GreaterEqual,
    /// Punctuation or operator `==`.
    Equal,
    /// Punctuation or operator `!=`.
    NotEqual,
    /// Punctuation or operator `<<`.
    ShiftLeft,
    /// Punctuation or operator `>>`.
    ShiftRight,
    /// Punctuation or operator `&`.
    Ampersand,
    /// Punctuation or operator `|`.
    Pipe,
    /// Punctuation or operator `^`.
    Caret,
    /// Punctuation or operator `&&`.
    AndAnd,
    /// Punctuation or operator `||`.
    OrOr,
    /// Text that fits no token, with the reason.
    Unknown(Unknown),
    /// End of the text, returned any number of times.
    End,
}

impl Kind {
    /// True for text that fits no token.
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

/// Reason why text fits no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Character that no token has here.
    Character,
    /// Comment that is not closed: `/*` without `*/`.
    OpenComment,
}

/// Sets of bytes to which a byte can belong.
const SPACE: u8 = 1;
const DIGIT: u8 = 2;
/// Bytes of names after the first: letters, digits, `_` and `$`.
const NAME: u8 = 4;

/// Sets of every byte.
const SETS: [u8; 256] = {
    let mut sets = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let is = byte as u8;
        if matches!(is, b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c') {
            sets[byte] |= SPACE;
        }
        if is.is_ascii_digit() {
            sets[byte] |= DIGIT;
        }
        if is.is_ascii_alphanumeric() || is == b'_' || is == b'$' {
            sets[byte] |= NAME;
        }
        byte += 1;
    }
    sets
};

/// End of the bytes of a set that begin at `at`.
fn run(bytes: &[u8], mut at: usize, set: u8) -> usize {
    while at < bytes.len() && SETS[usize::from(bytes[at])] & set != 0 {
        at += 1;
    }
    at
}

/// Byte at a position, zero behind the end.
fn peek(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// End of the line that contains a position.
fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |length| at + length)
}

/// Reads what begins at `start`: its kind, or `None` if it is skipped, and its end.
fn read(text: &str, start: usize) -> (Option<Kind>, usize) {
    let bytes = text.as_bytes();
    let (kind, end) = match bytes[start] {
        b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c' => {
            return (None, run(bytes, start + 1, SPACE));
        }
        b'a'..=b'z' | b'A'..=b'Z' => (Kind::Word, run(bytes, start + 1, NAME)),
        first @ (b'_' | b'$' | b'%') => match (run(bytes, start + 1, NAME), first) {
            (end, _) if end > start + 1 => (Kind::Word, end),
            (end, b'_') => (Kind::Underscore, end),
            (end, b'%') => (Kind::Percent, end),
            (end, _) => (Kind::Unknown(Unknown::Character), end),
        },
        b'.' => dotted(bytes, start),
        b'0'..=b'9' => number(bytes, start),
        b'"' => quoted(bytes, start),
        b'/' => match peek(bytes, start + 1) {
            b'/' => return (None, line_end(text, start)),
            b'*' => return block_comment(text, start),
            _ => (Kind::Slash, start + 1),
        },
        b'#' if is_first_of_line(bytes, start) => return (None, line_end(text, start)),
        _ => operator(text, start),
    };
    (Some(kind), end)
}

/// True if only white space is before a position on its line.
fn is_first_of_line(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev();
    before
        .take_while(|byte| **byte != b'\n')
        .all(u8::is_ascii_whitespace)
}

fn block_comment(text: &str, start: usize) -> (Option<Kind>, usize) {
    match text[start + 2..].find("*/") {
        Some(length) => (None, start + 2 + length + 2),
        None => (Some(Kind::Unknown(Unknown::OpenComment)), text.len()),
    }
}

/// Reads a directive or modifier, `(.NAME)(::NAME)*`, or a float that begins with its point.
fn dotted(bytes: &[u8], start: usize) -> (Kind, usize) {
    let mut end = run(bytes, start + 1, NAME);
    if end == start + 1 {
        return (Kind::Unknown(Unknown::Character), end);
    }
    while bytes[end..].starts_with(b"::") {
        let next = run(bytes, end + 2, NAME);
        if next == end + 2 {
            break;
        }
        end = next;
    }
    match float(bytes, start) {
        Some(float) if float >= end => (Kind::Float, float),
        _ => (Kind::Dotted, end),
    }
}

/// Reads a number. A decimal float is taken if it is not shorter than another number.
fn number(bytes: &[u8], start: usize) -> (Kind, usize) {
    let end = run(bytes, start + 1, NAME);
    match float(bytes, start) {
        Some(float) if float >= end => (Kind::Float, float),
        _ => (Kind::Number, end),
    }
}

/// End of the decimal float at a position: digits with a point, an exponent or both.
fn float(bytes: &[u8], start: usize) -> Option<usize> {
    let whole = run(bytes, start, DIGIT);
    if peek(bytes, whole) != b'.' {
        return exponent(bytes, whole);
    }
    let fraction = run(bytes, whole + 1, DIGIT);
    let has_digits = fraction > start + 1;
    has_digits.then(|| exponent(bytes, fraction).unwrap_or(fraction))
}

/// End of the exponent at a position.
fn exponent(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(peek(bytes, at), b'e' | b'E') {
        return None;
    }
    let sign = usize::from(matches!(peek(bytes, at + 1), b'+' | b'-'));
    let end = run(bytes, at + 1 + sign, DIGIT);
    (end > at + 1 + sign).then_some(end)
}

/// Reads a string. One that its line does not close is stray text.
fn quoted(bytes: &[u8], start: usize) -> (Kind, usize) {
    let mut at = start + 1;
    loop {
        match peek(bytes, at) {
            b'"' => return (Kind::Text, at + 1),
            _ if at >= bytes.len() => break,
            b'\n' => break,
            b'\\' if !matches!(peek(bytes, at + 1), b'\n') && at + 1 < bytes.len() => at += 2,
            _ => at += 1,
        }
    }
    (Kind::Unknown(Unknown::Character), at)
}

/// Reads punctuation or an operator, or else a stray character.
fn operator(text: &str, start: usize) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let pair = match (bytes[start], peek(bytes, start + 1)) {
        (b'<', b'=') => Some(Kind::LessEqual),
        (b'<', b'<') => Some(Kind::ShiftLeft),
        (b'>', b'=') => Some(Kind::GreaterEqual),
        (b'>', b'>') => Some(Kind::ShiftRight),
        (b'=', b'=') => Some(Kind::Equal),
        (b'!', b'=') => Some(Kind::NotEqual),
        (b'&', b'&') => Some(Kind::AndAnd),
        (b'|', b'|') => Some(Kind::OrOr),
        _ => None,
    };
    if let Some(kind) = pair {
        return (kind, start + 2);
    }
    let kind = match bytes[start] {
        b',' => Kind::Comma,
        b';' => Kind::Semicolon,
        b':' => Kind::Colon,
        b'{' => Kind::OpenBrace,
        b'}' => Kind::CloseBrace,
        b'[' => Kind::OpenBracket,
        b']' => Kind::CloseBracket,
        b'(' => Kind::OpenParen,
        b')' => Kind::CloseParen,
        b'@' => Kind::At,
        b'=' => Kind::Assign,
        b'?' => Kind::Question,
        b'!' => Kind::Bang,
        b'~' => Kind::Tilde,
        b'+' => Kind::Plus,
        b'-' => Kind::Minus,
        b'*' => Kind::Star,
        b'<' => Kind::Less,
        b'>' => Kind::Greater,
        b'&' => Kind::Ampersand,
        b'|' => Kind::Pipe,
        b'^' => Kind::Caret,
        _ => {
            let character = text[start..].chars().next();
            let length = character.map_or(1, char::len_utf8);
            return (Kind::Unknown(Unknown::Character), start + length);
        }
    };
    (kind, start + 1)
}

/// Token with its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// Splits a text into tokens, with an `End` after the last. Adjacent stray characters are one
/// token.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4 + 1);
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = read(text, at);
        let span = Span::new(at as u32, end as u32);
        at = end;
        let Some(kind) = kind else {
            continue;
        };
        match tokens.last_mut() {
            Some(last)
                if kind == Kind::Unknown(Unknown::Character)
                    && last.kind == kind
                    && last.span.end == span.start =>
            {
                last.span.end = span.end;
            }
            _ => tokens.push(Token { kind, span }),
        }
    }
    let end = text.len() as u32;
    tokens.push(Token {
        kind: Kind::End,
        span: Span::new(end, end),
    });
    tokens
}

#[cfg(test)]
mod tests {
    use super::tokenize;

    fn check(text: &str, expected: &str) {
        let tokens = tokenize(text);
        let shown: Vec<String> = tokens[..tokens.len() - 1]
            .iter()
            .map(|t| {
                format!(
                    "{:?}={}",
                    t.kind,
                    &text[t.span.start as usize..t.span.end as usize]
                )
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text:?}");
    }

    #[test]
    fn words_and_dots() {
        check("add.s32 %r1", "Word=add Dotted=.s32 Word=%r1");
        check("$L__1: _ _a", "Word=$L__1 Colon=: Underscore=_ Word=_a");
        check("ld.L2::128B.v2", "Word=ld Dotted=.L2::128B Dotted=.v2");
        check("tex.2d %tid.x", "Word=tex Dotted=.2d Word=%tid Dotted=.x");
        check("a%3 4 % 3", "Word=a Word=%3 Number=4 Percent=% Number=3");
    }

    #[test]
    fn numbers() {
        check(
            "12 0x1FU 017 0b1",
            "Number=12 Number=0x1FU Number=017 Number=0b1",
        );
        check(
            "0f3F800000 0d3FF0000000000000",
            "Number=0f3F800000 Number=0d3FF0000000000000",
        );
        check(
            "1.5 1. .5 1e3 1.5e-3 .5e+3",
            "Float=1.5 Float=1. Float=.5 Float=1e3 Float=1.5e-3 Float=.5e+3",
        );
        check("7.8 12abc", "Float=7.8 Number=12abc");
    }

    #[test]
    fn comments_and_preprocessor_lines_vanish() {
        check(
            "a // b\nc /* d\n * e **/ f /**/ g",
            "Word=a Word=c Word=f Word=g",
        );
        check("# 1 \"x\"\na\n  #line\nb", "Word=a Word=b");
        check("a //", "Word=a");
    }

    #[test]
    fn strange_text_is_kept_as_unknown() {
        check("a #5", "Word=a Unknown(Character)=# Number=5");
        check("a /* b", "Word=a Unknown(OpenComment)=/* b");
        check(
            "\u{e9}\u{e9} \"x",
            "Unknown(Character)=\u{e9}\u{e9} Unknown(Character)=\"x",
        );
        check("\"a\\\"b\" .", "Text=\"a\\\"b\" Unknown(Character)=.");
    }

    #[test]
    fn operators_take_the_longest_match() {
        check(
            "<<>>&&||<=>===!=",
            "ShiftLeft=<< ShiftRight=>> AndAnd=&& OrOr=|| LessEqual=<= GreaterEqual=>= Equal=== NotEqual=!=",
        );
    }
}
