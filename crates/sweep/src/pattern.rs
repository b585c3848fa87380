//! Patterns of names, such as `{target}-{warp_scheduler}`.

/// A pattern: texts and places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(String),
}

impl Pattern {
    /// Reads a pattern. A brace that is meant as such is written twice.
    ///
    /// # Errors
    /// If a brace has no partner.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            pieces.push(Piece::Text(before.to_owned()));
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                pieces.push(Piece::Text(from[..1].to_owned()));
                rest = after;
                continue;
            }
            let inner = from.strip_prefix('{').and_then(|from| from.split_once('}'));
            let (name, after) = inner.ok_or("a brace has no partner")?;
            pieces.push(Piece::Value(name.trim().to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self(pieces))
    }

    /// Names of axes in the pattern.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The pattern with values in its places. An absent value leaves its place empty.
    pub fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Piece::Value(name) => text += value(name).unwrap_or_default(),
                Piece::Text(words) => text += words,
            }
        }
        text
    }
}

/// True if `short` names the axis `name`: the whole name, or its last word.
pub fn is_called(name: &str, short: &str) -> bool {
    name == short || name.rsplit('.').next() == Some(short)
}

#[cfg(test)]
mod tests {
    use super::{Pattern, is_called};

    #[test]
    fn places_are_filled_and_double_braces_are_braces() {
        let pattern = Pattern::read("{gpu}-{{{warp_scheduler}}}").unwrap();
        assert_eq!(
            pattern.names().collect::<Vec<_>>(),
            ["gpu", "warp_scheduler"]
        );
        let value = |name: &str| (name == "gpu").then_some("gtx480");
        assert_eq!(pattern.filled(value), "gtx480-{}");
        for wrong in ["{gpu", "gpu}", "}{"] {
            assert!(Pattern::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_called_by_its_last_word() {
        assert!(is_called("sm.warp_scheduler", "warp_scheduler") && is_called("gpu", "gpu"));
        assert!(!is_called("sm.warp_scheduler", "sm"));
    }
}
