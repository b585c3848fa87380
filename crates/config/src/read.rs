//! Reading of texts into values by key: TOML files flattened to dotted names, and `KEY=VALUE`
//! overrides.

use crate::error::OVERRIDE;
use crate::section::Located;
use crate::value::Raw;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Source, Span};

/// Values given so far, the texts that contain them, and problems of these texts.
#[derive(Default)]
pub(crate) struct Layers {
    pub sources: Vec<Source>,
    pub values: BTreeMap<String, Located>,
    pub problems: Vec<(usize, Diagnostic)>,
}

impl Layers {
    /// Adds the values of a TOML text, which replace earlier ones. Returns the values of the top
    /// level that describe the file and are not keys: `base` and `about`.
    pub fn add_toml(&mut self, source: Source) -> Header {
        let index = self.sources.len();
        let text = source.text().to_owned();
        self.sources.push(source);
        let (document, errors) = DeTable::parse_recoverable(&text);
        for error in &errors {
            let span = error.span().map_or(Span::default(), span);
            let problem = Diagnostic::error("bad-toml", span, error.message().to_owned());
            let help = "this must be TOML: `key = value` lines under `[table]` headers";
            self.problems.push((index, problem.help(help)));
        }
        let mut header = Header::default();
        if errors.is_empty() {
            self.flatten(document.get_ref(), "", index, &mut header);
        }
        header
    }

    fn flatten(&mut self, table: &DeTable<'_>, prefix: &str, source: usize, header: &mut Header) {
        for (key, value) in table.iter() {
            let name = match prefix {
                "" => key.get_ref().to_string(),
                _ => format!("{prefix}.{}", key.get_ref()),
            };
            if let Some(inner) = value.get_ref().as_table() {
                self.flatten(inner, &name, source, header);
                continue;
            }
            let located = Located {
                raw: raw(value.get_ref()),
                source,
                key: span(key.span()),
                value: span(value.span()),
            };
            match name.as_str() {
                "base" => header.base = Some(located),
                "about" => header.about = Some(located),
                _ => {
                    self.values.insert(name, located);
                }
            }
        }
    }

    /// Adds one `KEY=VALUE`. The value is TOML, or else a bare word.
    pub fn add_override(&mut self, text: &str) {
        let index = self.sources.len();
        self.sources.push(Source::new(OVERRIDE, text));
        let Some((key, value)) = text.split_once('=') else {
            let whole = Span::new(0, text.len() as u32);
            let problem = Diagnostic::error("bad-override", whole, "no `=` in an override")
                .help("write `--set KEY=VALUE`, for example `--set sm.warp_scheduler=gto`");
            self.problems.push((index, problem));
            return;
        };
        let located = Located {
            raw: raw_of(value),
            source: index,
            key: Span::new(0, key.len() as u32),
            value: Span::new(key.len() as u32 + 1, text.len() as u32),
        };
        self.values.insert(key.trim().to_owned(), located);
    }
}

/// Description of a file by itself.
#[derive(Default)]
pub(crate) struct Header {
    /// Preset on which the file is based.
    pub base: Option<Located>,
    /// Description in one line.
    pub about: Option<Located>,
}

fn span(range: Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

/// Value of a text that is TOML, or else a bare word.
pub(crate) fn raw_of(text: &str) -> Raw {
    match DeValue::parse(text.trim()) {
        Ok(parsed) => raw(parsed.get_ref()),
        Err(_) => Raw::Text(text.trim().to_owned()),
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(int) => Raw::Int(i64::from_str_radix(int.as_str(), int.radix()).ok()),
        DeValue::Float(float) => Raw::Float(float.as_str().to_owned()),
        DeValue::Boolean(on) => Raw::Bool(*on),
        other => Raw::Other(other.type_str()),
    }
}
