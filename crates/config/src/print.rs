//! Printing of a specification as TOML and as values by key, its digest, and the documentation of
//! the keys.

use crate::keys::keys;
use crate::section::{Entry, Key, Section, Writer};
use crate::spec::GpuSpec;
use crate::value::{Rule, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use warploom_base::Digest;

/// Value of a key, in a form for other programs.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Value of a switch.
    Bool(bool),
    /// Value of a whole number.
    Integer(i64),
    /// Value of a number with a fraction.
    Float(f64),
    /// Value that is a name or a text.
    Text(String),
}

impl GpuSpec {
    /// Prints all keys with their values as a TOML text that resolves to the same specification.
    /// Keys of policies that are not selected are left out. Comments give units and meanings.
    pub fn to_toml(&self) -> String {
        let mut tables: Vec<(String, Vec<Entry>)> = Vec::new();
        for entry in entries(self) {
            let table = table_of(&entry.name).to_owned();
            match tables.iter_mut().find(|(name, _)| *name == table) {
                Some((_, entries)) => entries.push(entry),
                None => tables.push((table, vec![entry])),
            }
        }
        let mut text = String::new();
        for (table, entries) in tables {
            print_table(&mut text, &table, &entries);
        }
        text
    }

    /// Returns all keys with their values, in order of names.
    pub fn settings(&self) -> BTreeMap<String, Setting> {
        let entries = entries(self).into_iter();
        entries
            .map(|entry| (entry.name, setting(entry.info.rule, entry.value)))
            .collect()
    }

    /// Digest of all keys and values except for the name, so that equal machines have equal
    /// digests. A machine that leaves a younger key (`YOUNGER`) at its default has the digest that
    /// it had before there was the key.
    pub fn digest(&self) -> String {
        let mut digest = Digest::new();
        let counts = |entry: &&Entry| entry.name != "name" && !is_young_default(entry);
        for entry in entries(self).iter().filter(counts) {
            digest
                .str(&entry.name)
                .str(&entry.info.rule.print(&entry.value));
        }
        digest.hex()
    }
}

/// Keys that are younger than runs that people have stored, with their defaults.
const YOUNGER: &[(&str, &str)] = &[
    ("sm.block_limit", "none"),
    ("gpu.gpcs", "1"),
    ("sm.cluster_latency_cycles", "180"),
    ("sm.cluster_bytes_per_cycle", "20"),
    ("sm.warp_group_cycles", "0"),
    ("sm.warp_group_latency_cycles", "0"),
    ("sm.latency_from", "unit"),
    ("sm.bulk_interval_cycles", "32"),
    ("sm.bulk_requests", "384"),
    ("sm.bulk_issue_cycles", "0"),
    ("gpu.compute_capability", "0"),
    ("partition.far_cycles", "0"),
    ("owl.spread", "false"),
    ("sm.l1d_victims", "none"),
    ("partition.fetch_bytes", "32"),
    ("partition.write_cycles", "1"),
    ("partition.partial_write_cycles", "1"),
    ("sm.machine_instructions", "false"),
    ("sm.root_latency_cycles", "0"),
    ("sm.l1d_one_line", "false"),
    ("sm.shared_phases", "false"),
    ("sm.guard_latency_cycles", "0"),
    ("sm.memory_issue_cycles", "0"),
    ("sm.branch_cycles", "0"),
    ("sm.instruction_bytes", "8"),
    ("sm.prefetched_code_lines", "0"),
    ("sm.code_latency_cycles", "0"),
    ("sm.perfect_const_cache", "false"),
];

/// True for a younger key at its default.
fn is_young_default(entry: &Entry) -> bool {
    let has_default = |default: &str| match &entry.value {
        Value::Text(text) => text == default,
        Value::Int(number) => number.to_string() == default,
        Value::Bool(on) => on.to_string() == default,
        _ => false,
    };
    let is_this = |(name, default): &(&str, &str)| entry.name == *name && has_default(default);
    YOUNGER.iter().any(is_this)
}

/// Prints a file for `--gpu` from the values of all keys, as [`GpuSpec::settings`] returns them.
pub fn settings_toml(settings: &BTreeMap<String, Setting>) -> String {
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    for (name, setting) in settings {
        let value = match setting {
            Setting::Bool(on) => on.to_string(),
            Setting::Integer(value) => value.to_string(),
            Setting::Float(value) => value.to_string(),
            Setting::Text(text) => toml::Value::String(text.clone()).to_string(),
        };
        let table = tables.entry(table_of(name)).or_default();
        let _ = writeln!(table, "{} = {value}", last_word(name));
    }
    let mut text = tables.remove("").unwrap_or_default();
    for (table, lines) in tables {
        let _ = write!(text, "\n[{table}]\n{lines}");
    }
    text
}

/// Returns all keys with their values, in order of declaration.
pub(crate) fn entries(spec: &GpuSpec) -> Vec<Entry> {
    let mut writer = Writer::new();
    spec.write(&mut writer);
    writer.entries
}

fn setting(rule: Rule, value: Value) -> Setting {
    match value {
        Value::Bool(on) => Setting::Bool(on),
        Value::Int(khz) if rule == Rule::Megahertz => Setting::Float(khz as f64 / 1000.0),
        Value::Int(value) => Setting::Integer(value as i64),
        Value::Absent => Setting::Text("none".to_owned()),
        Value::Text(text) => Setting::Text(text),
    }
}

/// Name of the TOML table that contains a key.
pub(crate) fn table_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(table, _)| table)
}

fn last_word(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// Line of a key in its table.
pub(crate) fn assignment(entry: &Entry) -> String {
    let value = entry.info.rule.print(&entry.value);
    format!("{} = {value}", last_word(&entry.name))
}

fn print_table(text: &mut String, table: &str, entries: &[Entry]) {
    if !table.is_empty() {
        let _ = write!(text, "\n[{table}]\n");
    }
    let width = entries
        .iter()
        .map(|entry| assignment(entry).len())
        .max()
        .unwrap_or(0);
    for entry in entries {
        let unit = match entry.info.unit {
            "" => String::new(),
            unit => format!("{unit}: "),
        };
        let _ = writeln!(
            text,
            "{:width$}  # {unit}{}",
            assignment(entry),
            entry.info.about
        );
    }
}

/// Documentation of all keys as Markdown, one section for each table.
pub fn keys_markdown() -> String {
    let mut text = String::from(
        "# Keys of a GPU's configuration\n\n\
         Generated from the key table. A key is set in a file (`--gpu FILE.toml`) or with\n\
         `--set KEY=VALUE`; keys without a default are given by every preset.\n",
    );
    let mut table = None;
    for key in keys() {
        let own = table_of(&key.name).to_owned();
        if table.as_ref() != Some(&own) {
            let title = if own.is_empty() { "top level" } else { &own };
            let _ = write!(text, "\n## {title}\n\n");
            text.push_str("| key | accepts | unit | meaning | source |\n|---|---|---|---|---|\n");
            table = Some(own);
        }
        text.push_str(&key_row(&key));
    }
    text
}

fn key_row(key: &Key) -> String {
    let accepts = match key.rule {
        Rule::Names(names) => {
            let lines: Vec<_> = names
                .iter()
                .map(|(name, about)| format!("`{name}`: {about}"))
                .collect();
            lines.join("<br>")
        }
        rule => rule.describe(),
    };
    let default = key
        .default
        .map_or(String::new(), |value| format!(" (default {value})"));
    let Key {
        name,
        unit,
        about,
        source,
        ..
    } = key;
    format!("| `{name}` | {accepts}{default} | {unit} | {about} | {source} |\n")
}
