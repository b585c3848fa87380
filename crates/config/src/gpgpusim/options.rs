//! The one table of GPGPU-Sim's options: names, types, defaults and what becomes of them here.
//! Names and defaults are those of the registration calls in GPGPU-Sim 4.2 and 3.2.2.

mod table;

pub(super) use table::OPTIONS;

use super::network::keys_markdown;
use std::fmt::Write;

/// Type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 0 or 1; the value may be left out, which means 1.
    Flag,
    /// A whole number: decimal, `0x` hexadecimal or `0` octal.
    Int,
    /// A word or a quoted text.
    Text,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// The value itself goes into this key.
    Key(&'static str),
    /// It is converted into these keys.
    Into(&'static str),
    /// It has no effect here by design; why.
    NoEffect(&'static str),
    /// Only this value is modelled; what another means for results.
    Only(&'static str, &'static str),
    /// It is not modelled, whatever its value; what that means for results.
    NotModelled(&'static str),
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub name: &'static str,
    /// Older names, and the right spelling of misspelt ones.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    /// GPGPU-Sim 3.2.2's default, or what its source does where it has no such option.
    pub v3: Option<&'static str>,
    /// GPGPU-Sim 4.2's default.
    pub v4: Option<&'static str>,
    /// Registered by GPGPU-Sim 3.2.2 (under this name or an alias).
    pub in_v3: bool,
    pub fate: Fate,
}

impl Row {
    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// An option of both versions with one default.
const fn both(name: &'static str, kind: Kind, default: &'static str, fate: Fate) -> Row {
    split(name, kind, default, default, fate)
}

/// An option of both versions with a default each, 3.2.2's first.
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

/// An option of 4.2, behind what 3.2.2 does without it.
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

/// An option without a default.
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

/// Index of the option of that name or alias.
pub(super) fn find(name: &str) -> Option<usize> {
    OPTIONS
        .iter()
        .position(|row| row.name == name || row.aliases.contains(&name))
}

/// Every name and alias.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()))
}

/// Documentation of the options by what becomes of them, as Markdown.
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
