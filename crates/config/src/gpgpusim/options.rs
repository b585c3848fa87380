//! Table of GPGPU-Sim's options: names, types, defaults and their treatment. Names and defaults are
//! those of the registration calls in GPGPU-Sim 4.2 and 3.2.2.

mod table;

pub(super) use table::OPTIONS;

use super::network::keys_markdown;
use std::fmt::Write;

/// Type of the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Switch with the value 0 or 1; without a value it is 1.
    Flag,
    /// Whole number: decimal, hexadecimal after `0x`, or octal after `0`.
    Int,
    /// Single word or a quoted text.
    Text,
}

/// Treatment of an option by the import.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// The value becomes that of this key.
    Key(&'static str),
    /// The value is converted into these keys.
    Into(&'static str),
    /// The option has no effect by design, for this reason.
    NoEffect(&'static str),
    /// Only this value is modelled; the text says what another means for results.
    Only(&'static str, &'static str),
    /// The option is not modelled; the text says what that means for results.
    NotModelled(&'static str),
}

/// Option of GPGPU-Sim with its treatment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub name: &'static str,
    /// Older names, and the correct spelling of misspelt ones.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    /// Default of GPGPU-Sim 3.2.2, or what its source does without the option.
    pub v3: Option<&'static str>,
    /// Default of GPGPU-Sim 4.2.
    pub v4: Option<&'static str>,
    /// True if GPGPU-Sim 3.2.2 registers the option under this name or an alias.
    pub in_v3: bool,
    pub fate: Fate,
}

impl Row {
    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// Row of an option of both versions with one default.
const fn both(name: &'static str, kind: Kind, default: &'static str, fate: Fate) -> Row {
    split(name, kind, default, default, fate)
}

/// Row of an option of both versions with different defaults, that of 3.2.2 first.
const fn split(
    name: &'static str,
    kind: Kind,
    v3: &'static str,
    v4: &'static str,
    fate: Fate,
) -> Row {
    Row {
        name,
        aliases: &[],
        kind,
        v3: Some(v3),
        v4: Some(v4),
        in_v3: true,
        fate,
    }
}

/// Row of an option of 4.2, with what 3.2.2 does without it.
const fn newer(
    name: &'static str,
    kind: Kind,
    v3: &'static str,
    v4: &'static str,
    fate: Fate,
) -> Row {
    let mut row = split(name, kind, v3, v4, fate);
    row.in_v3 = false;
    row
}

/// Row of an option without a default.
const fn bare(name: &'static str, in_v3: bool, fate: Fate) -> Row {
    Row {
        name,
        aliases: &[],
        kind: Text,
        v3: None,
        v4: None,
        in_v3,
        fate,
    }
}

use Fate::{Into, Key, NoEffect, NotModelled, Only};
use Kind::Text;

/// Finds the index of the option with a name or alias.
pub(super) fn find(name: &str) -> Option<usize> {
    OPTIONS
        .iter()
        .position(|row| row.name == name || row.aliases.contains(&name))
}

/// Iterates over all names and aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()))
}

/// Documentation of the options by treatment, as Markdown.
pub fn options_markdown() -> String {
    let mut text = String::from(
        "# GPGPU-Sim's options and what becomes of them\n\n\
         Generated from the importer's table (`warploom import`). The defaults are those that\n\
         GPGPU-Sim registers, or what its source does where it has no such option.\n",
    );
    section(&mut text, "Carried", "keys", |fate| match fate {
        Key(key) => Some(format!("`{key}`")),
        Into(keys) => Some(keys.to_owned()),
        _ => None,
    });
    section(
        &mut text,
        "Modelled with one value only",
        "otherwise",
        |fate| match fate {
            Only(value, meaning) => Some(format!("only `{value}`: {meaning}")),
            _ => None,
        },
    );
    section(
        &mut text,
        "Not modelled",
        "what that means",
        |fate| match fate {
            NotModelled(meaning) => Some(meaning.to_owned()),
            _ => None,
        },
    );
    section(
        &mut text,
        "Without effect by design",
        "why",
        |fate| match fate {
            NoEffect(why) => Some(why.to_owned()),
            _ => None,
        },
    );
    text.push_str(
        "\n## The network's file\n\n\
         BookSim's settings, read with `-network_mode 1`.\n\n\
         | setting | default | what becomes of it |\n|---|---|---|\n",
    );
    text.push_str(&keys_markdown());
    text
}

fn section(text: &mut String, title: &str, column: &str, cell: impl Fn(Fate) -> Option<String>) {
    let _ = write!(
        text,
        "\n## {title}\n\n| option | other names | default 4.2 | 3.2.2 | {column} |\n\
         |---|---|---|---|---|\n"
    );
    for row in OPTIONS {
        let Some(cell) = cell(row.fate) else { continue };
        let aliases: Vec<_> = row
            .aliases
            .iter()
            .map(|alias| format!("`{alias}`"))
            .collect();
        let default = |value: Option<&str>| value.map_or(String::new(), |v| format!("`{v}`"));
        let v3 = match row.in_v3 {
            true => default(row.v3),
            false => "not there".to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {v3} | {cell} |",
            row.name,
            aliases.join(", "),
            default(row.v4)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Kind, OPTIONS, names};
    use crate::gpgpusim::number::whole;
    use crate::keys::keys;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_values_fit_their_types() {
        let all: Vec<_> = names().collect();
        assert!(all.len() > 240, "{}", all.len());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for row in OPTIONS {
            assert!(row.name.starts_with('-'), "{}", row.name);
            for value in [row.v3, row.v4].into_iter().flatten() {
                let fits = match row.kind {
                    Kind::Flag => ["0", "1"].contains(&value),
                    Kind::Int => whole(value).is_some(),
                    Kind::Text => !value.is_empty(),
                };
                assert!(fits, "{} {value}", row.name);
            }
        }
    }

    #[test]
    fn carried_options_name_keys_that_exist() {
        let keys = keys();
        for row in OPTIONS {
            if let Fate::Key(name) = row.fate {
                assert!(keys.iter().any(|key| key.name == name), "{name}");
            }
        }
    }
}
