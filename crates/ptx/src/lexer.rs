//! Lexer: text into tokens (PTX ISA 4.1 to 4.4).
//!
//! The lexer delimits literals; the parser interprets them and reports errors in them. White space,
//! comments and preprocessor lines (`# 1 "file"`) are skipped. The lexer never fails: text that
//! fits no token becomes an `Unknown` token with a reason.

use logos::{FilterResult, Lexer, Logos, Skip};
use warploom_diag::Span;

/// Kind of a token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\v]+", error = Unknown)]
pub(crate) enum Kind {
    /// Identifier, mnemonic or register: `add`, `%r1`, `$L_1`, `WARP_SZ`.
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*|[_$%][a-zA-Z0-9_$]+")]
    Word,
    /// Directive or modifier with its dot: `.reg`, `.L2::128B`.
    #[regex(r"\.[a-zA-Z0-9_$]+(::[a-zA-Z0-9_$]+)*", priority = 3)]
    Dotted,
    /// Number other than a decimal float: `12`, `0x1FU`, `0f3F800000`.
    #[regex(r"[0-9][a-zA-Z0-9_$]*", priority = 3)]
    Number,
    /// Floating-point literal in decimal notation.
    #[regex(
        r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+",
        priority = 8
    )]
    Float,
    /// String with its quotes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    /// Underscore that is no part of a name.
    #[token("_")]
    Underscore,
    /// Punctuation or operator `,`.
    #[token(",")]
    Comma,
    /// Punctuation or operator `;`.
    #[token(";")]
    Semicolon,
    /// Punctuation or operator `:`.
    #[token(":")]
    Colon,
    /// Punctuation or operator `{`.
    #[token("{")]
    OpenBrace,
    /// Punctuation or operator `}`.
    #[token("}")]
    CloseBrace,
    /// Punctuation or operator `[`.
    #[token("[")]
    OpenBracket,
    /// Punctuation or operator `]`.
    #[token("]")]
    CloseBracket,
    /// Punctuation or operator `(`.
    #[token("(")]
    OpenParen,
    /// Punctuation or operator `)`.
    #[token(")")]
    CloseParen,
    /// Punctuation or operator `@`.
    #[token("@")]
    At,
    /// Punctuation or operator `=`.
    #[token("=")]
    Assign,
    /// Punctuation or operator `?`.
    #[token("?")]
    Question,
    /// Punctuation or operator `!`.
    #[token("!")]
    Bang,
    /// Punctuation or operator `~`.
    #[token("~")]
    Tilde,
    /// Punctuation or operator `+`.
    #[token("+")]
    Plus,
    /// Punctuation or operator `-`.
    #[token("-")]
    Minus,
    /// Punctuation or operator `*`.
    #[token("*")]
    Star,
    /// Punctuation or operator `/`.
    #[token("/")]
    Slash,
    /// `%` that does not start a register.
    #[token("%")]
    Percent,
    /// Punctuation or operator `<`.
    #[token("<")]
    Less,
    /// Punctuation or operator `>`.
    #[token(">")]
    Greater,
    /// Punctuation or operator `<=`.
    #[token("<=")]
    LessEqual,
    /// Punctuation or operator `>=`.
    #[token(">=")]
    GreaterEqual,
    /// Punctuation or operator `==`.
    #[token("==")]
    Equal,
    /// Punctuation or operator `!=`.
    #[token("!=")]
    NotEqual,
    /// Punctuation or operator `<<`.
    #[token("<<")]
    ShiftLeft,
    /// Punctuation or operator `>>`.
    #[token(">>")]
    ShiftRight,
    /// Punctuation or operator `&`.
    #[token("&")]
    Ampersand,
    /// Punctuation or operator `|`.
    #[token("|")]
    Pipe,
    /// Punctuation or operator `^`.
    #[token("^")]
    Caret,
    /// Punctuation or operator `&&`.
    #[token("&&")]
    AndAnd,
    /// Punctuation or operator `||`.
    #[token("||")]
    OrOr,
    /// Skipped text; these patterns never produce a token.
    #[token("//", line_comment)]
    #[token("/*", block_comment)]
    #[token("#", preprocessor_line)]
    Skipped,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Character that no token has here.
    #[default]
    Character,
    /// Comment that is not closed: `/*` without `*/`.
    OpenComment,
}

fn line_comment(lexer: &mut Lexer<Kind>) -> Skip {
    let length = lexer
        .remainder()
        .find('\n')
        .unwrap_or(lexer.remainder().len());
    lexer.bump(length);
    Skip
}

fn block_comment(lexer: &mut Lexer<Kind>) -> FilterResult<(), Unknown> {
    if let Some(length) = lexer.remainder().find("*/") {
        lexer.bump(length + 2);
        return FilterResult::Skip;
    }
    lexer.bump(lexer.remainder().len());
    FilterResult::Error(Unknown::OpenComment)
}

/// Skips the line of a `#` that is the first character on it; any other `#` is a stray character.
fn preprocessor_line(lexer: &mut Lexer<Kind>) -> FilterResult<(), Unknown> {
    let before = &lexer.source()[..lexer.span().start];
    let is_first = before
        .bytes()
        .rev()
        .take_while(|b| *b != b'\n')
        .all(|b| b.is_ascii_whitespace());
    if !is_first {
        return FilterResult::Error(Unknown::Character);
    }
    let length = lexer
        .remainder()
        .find('\n')
        .unwrap_or(lexer.remainder().len());
    lexer.bump(length);
    FilterResult::Skip
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
    for (kind, range) in Logos::lexer(text).spanned() {
        let kind = kind.unwrap_or_else(Kind::Unknown);
        let span = Span::new(range.start as u32, range.end as u32);
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
