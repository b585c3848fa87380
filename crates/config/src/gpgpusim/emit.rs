//! Text of an imported machine as a preset: all keys with values, units and sources.

use super::report::{Class, Report};
use crate::print::{assignment, entries, table_of};
use crate::spec::GpuSpec;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Origin of the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub kind: OriginKind,
    /// Name of the option, or the reason; may be empty.
    pub text: String,
}

/// Kinds of origins of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OriginKind {
    /// Value in the user's files.
    Imported,
    /// Default of GPGPU-Sim for an option that is left out.
    Default,
    /// Constant of GPGPU-Sim's source code.
    Source,
    /// Choice of this program.
    Ours,
    /// Name of the machine.
    Name,
}

/// Prints the text of a preset.
pub(super) fn toml(spec: &GpuSpec, origins: &BTreeMap<String, Origin>, report: &Report) -> String {
    let mut text = header(report);
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries(spec) {
        let table = table_of(&entry.name).to_owned();
        let origin = origins.get(&entry.name);
        let line = match comment(entry.info.unit, origin) {
            comment if comment.is_empty() => assignment(&entry),
            comment => format!("{} # {comment}", assignment(&entry)),
        };
        match tables.iter_mut().find(|(name, _)| *name == table) {
            Some((_, lines)) => lines.push(line),
            None => tables.push((table, vec![line])),
        }
    }
    for (table, lines) in tables {
        if table.is_empty() {
            let _ = writeln!(text, "{}", lines.join("\n"));
            let about = format!("imported from GPGPU-Sim {}'s options", report.version());
            let _ = writeln!(text, "about = \"{about}\"");
        } else {
            let _ = writeln!(text, "\n[{table}]\n{}", lines.join("\n"));
        }
    }
    text
}

fn header(report: &Report) -> String {
    let version = report.version();
    let network = report.network.as_deref().map(one_line);
    let mut text = format!(
        "# Imported from {}{}, options of GPGPU-Sim {version}.\n\
         # Source of a value: [imported] stands there; [default] is what GPGPU-Sim takes for an\n\
         # option that is left out; [source] is a constant of its source code; [ours] is a choice\n\
         # of Warploom.\n",
        one_line(&report.config),
        network.map_or(String::new(), |file| format!(" and {file}"))
    );
    let mut before = "";
    for item in report.of(Class::NotModelled) {
        if before.is_empty() {
            text.push_str("#\n# Not modelled:\n");
        }
        let (option, value) = (one_line(&item.option), one_line(&item.value));
        let meaning = match item.text == before {
            true => "the same",
            false => &item.text,
        };
        let _ = writeln!(text, "# {option} {value}: {meaning}");
        before = &item.text;
    }
    for item in report.of(Class::Unknown) {
        let (option, value) = (one_line(&item.option), one_line(&item.value));
        let _ = writeln!(text, "# Unknown: {option} {value}");
    }
    text.push('\n');
    text
}

/// Removes control characters, which TOML does not allow in comments.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn comment(unit: &str, origin: Option<&Origin>) -> String {
    let Some(origin) = origin else {
        return unit.to_owned();
    };
    let tag = match origin.kind {
        OriginKind::Imported => "[imported]",
        OriginKind::Default => "[default]",
        OriginKind::Source => "[source]",
        OriginKind::Ours => "[ours]",
        OriginKind::Name => return String::new(),
    };
    let unit = match unit {
        "" => String::new(),
        unit => format!("{unit} "),
    };
    match origin.text.as_str() {
        "" => format!("{unit}{tag}"),
        why => format!("{unit}{tag}: {why}"),
    }
}
