//! Conversion of options to keys: common functions, and the options of the GPU as a whole.

use super::emit::{Origin, OriginKind};
use super::number::whole;
use super::options::{Fate, Kind, OPTIONS, find};
use super::report::{Class, Item, Report};
use super::settings::{Setting, Settings};
use super::{OWN, OWN_VALUES, Place, ReadFile};
use crate::read::Layers;
use crate::section::Located;
use crate::spec::ModelStyle;
use crate::value::Raw;
use std::collections::BTreeMap;
use warploom_diag::{Diagnostic, Position, Source, Span};

/// Machine whose keys are being converted.
pub(super) struct Draft {
    pub layers: Layers,
    pub settings: Settings,
    pub style: ModelStyle,
    /// Origin of the value of each key.
    pub origins: BTreeMap<String, Origin>,
    /// Classes and texts of options whose rows do not say them, by row.
    outcomes: BTreeMap<usize, (Class, String)>,
    /// Items of the report about the file of the network.
    pub network_items: Vec<Item>,
    /// Warnings about unknown names, with the index of the text.
    pub unknown: Vec<(usize, Diagnostic)>,
    /// Name of the file of the network.
    pub network_file: Option<String>,
    /// Text of the values without an option.
    own_text: String,
}

impl Draft {
    pub fn new(layers: Layers, settings: Settings, style: ModelStyle) -> Self {
        Self {
            layers,
            settings,
            style,
            origins: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            network_items: Vec::new(),
            unknown: Vec::new(),
            network_file: None,
            own_text: String::new(),
        }
    }

    /// Gives every key its value, and collects problems.
    pub fn convert(&mut self, name: &str, network: Option<Source>, files: &mut ReadFile<'_>) {
        self.own("name", Raw::Text(name.to_owned()), OriginKind::Name, "");
        self.plain_keys();
        self.chip();
        self.sm();
        self.caches();
        self.network(network, files);
        self.partition();
        self.dram();
        self.warn_of_options();
        let text = std::mem::take(&mut self.own_text);
        self.layers.sources[OWN] = Source::new(OWN_VALUES, text);
    }

    /// Converts options whose value is that of a key.
    fn plain_keys(&mut self) {
        for row in OPTIONS {
            let Fate::Key(key) = row.fate else { continue };
            let Some(setting) = self.settings.get(row.name).cloned() else {
                continue;
            };
            let raw = match row.kind {
                Kind::Flag => Raw::Bool(whole(&setting.text) == Some(1)),
                Kind::Int => Raw::Int(whole(&setting.text)),
                Kind::Text => Raw::Text(setting.text.clone()),
            };
            self.put(key, raw, &setting, row.name);
        }
    }

    fn chip(&mut self) {
        self.clocks();
        let clusters = self.int("-gpgpu_n_clusters");
        let cores = self.int("-gpgpu_n_cores_per_cluster");
        let setting = self.settings.of("-gpgpu_n_clusters").clone();
        let option = "-gpgpu_n_clusters x -gpgpu_n_cores_per_cluster";
        self.put(
            "gpu.sms",
            Raw::Int(clusters.checked_mul(cores)),
            &setting,
            option,
        );
        let option = "-gpgpu_n_cores_per_cluster";
        let setting = self.settings.of(option).clone();
        self.put(
            "gpu.sms_per_cluster",
            Raw::Int(Some(cores)),
            &setting,
            option,
        );
        let style = match self.style {
            ModelStyle::V3 => "gpgpu-sim-3",
            ModelStyle::V4 => "gpgpu-sim-4",
        };
        self.source("gpu.style", Raw::Text(style.to_owned()), "");
        self.choice(
            "-gpgpu_concurrent_kernel_sm",
            "gpu.multiprogram",
            &["exclusive", "left-over"],
        );
        let ours = [
            (
                "gpu.max_blocks_per_sm",
                Raw::Text("none".into()),
                "resources alone decide",
            ),
            (
                "gpu.block_scheduler",
                Raw::Text("rr".into()),
                "GPGPU-Sim has no other",
            ),
            ("gpu.sm_filter", Raw::Text("all".into()), "the same"),
            (
                "gpu.link_cycles",
                Raw::Int(Some(1)),
                "as GPGPU-Sim exchanges",
            ),
            ("gpu.seed", Raw::Int(Some(1)), ""),
            (
                "noc.sustainable_percent",
                Raw::Text("none".into()),
                "measured when it is asked for",
            ),
        ];
        for (key, raw, why) in ours {
            self.own(key, raw, OriginKind::Ours, why);
        }
    }

    fn clocks(&mut self) {
        let option = "-gpgpu_clock_domains";
        let setting = self.settings.of(option).clone();
        let parts: Vec<_> = setting.text.split(':').map(str::trim).collect();
        if parts.len() != 4 {
            return self.refuse(
                &setting,
                format!("{} clocks where four belong", parts.len()),
                "write core:network:L2:DRAM in MHz",
            );
        }
        let keys = ["core_mhz", "noc_mhz", "l2_mhz", "dram_mhz"];
        for (key, part) in keys.into_iter().zip(parts) {
            let key = format!("clocks.{key}");
            self.put(&key, Raw::Float(part.to_owned()), &setting, option);
        }
    }

    /// Number of an option; 0 if it cannot be read, which has been reported.
    pub fn int(&self, option: &str) -> i64 {
        whole(&self.settings.of(option).text).unwrap_or(0)
    }

    /// Numbers of an option; empty if there are fewer than `min` or more than `max`.
    pub fn numbers(&mut self, option: &str, separator: char, min: usize, max: usize) -> Vec<i64> {
        let setting = self.settings.of(option).clone();
        let parts: Vec<_> = setting.text.split(separator).map(str::trim).collect();
        let numbers: Option<Vec<_>> = parts.iter().map(|part| whole(part)).collect();
        match numbers {
            Some(numbers) if (min..=max).contains(&numbers.len()) => numbers,
            Some(numbers) => {
                let count = match min == max {
                    true => min.to_string(),
                    false => format!("{min} to {max}"),
                };
                self.refuse(
                    &setting,
                    format!(
                        "`{option}`: {} where {count} belong",
                        counted(numbers.len())
                    ),
                    &format!("write {count} numbers with `{separator}` between them"),
                );
                Vec::new()
            }
            None => {
                self.refuse(
                    &setting,
                    format!("`{option}`: not only whole numbers"),
                    &format!("write whole numbers with `{separator}` between them"),
                );
                Vec::new()
            }
        }
    }

    /// Sets a key from an option.
    pub fn put(&mut self, key: &str, raw: Raw, setting: &Setting, option: &str) {
        let kind = match setting.given_as {
            Some(_) => OriginKind::Imported,
            None => OriginKind::Default,
        };
        self.place(key, raw, setting.key, setting.value, kind, option);
    }

    /// Sets a key from a constant of GPGPU-Sim's source.
    pub fn source(&mut self, key: &str, raw: Raw, what: &str) {
        self.own(key, raw, OriginKind::Source, what);
    }

    /// Sets a key that has no option.
    pub fn own(&mut self, key: &str, raw: Raw, kind: OriginKind, why: &str) {
        let place = Place::new(OWN, self.own_text.len(), key.len());
        self.own_text.push_str(key);
        self.own_text.push('\n');
        self.place(key, raw, place, place, kind, why);
    }

    /// Sets a key with the place and the origin of its value.
    pub fn place(
        &mut self,
        key: &str,
        raw: Raw,
        name: Place,
        value: Place,
        kind: OriginKind,
        text: &str,
    ) {
        let located = Located {
            raw,
            source: value.source,
            key: if name.source == value.source {
                name.span
            } else {
                value.span
            },
            value: value.span,
        };
        self.layers.values.insert(key.to_owned(), located);
        let text = text.to_owned();
        self.origins.insert(key.to_owned(), Origin { kind, text });
    }

    /// Reports a value of an option that cannot be read.
    pub fn refuse(&mut self, setting: &Setting, reason: String, help: &str) {
        let problem = Diagnostic::error("bad-option", setting.value.span, reason).help(help);
        self.layers.problems.push((setting.value.source, problem));
    }

    /// Records what became of an option whose row does not say it.
    pub fn outcome(&mut self, option: &str, class: Class, text: &str) {
        let row = find(option).unwrap_or_else(|| panic!("{option} is not in the table"));
        self.outcomes.insert(row, (class, text.to_owned()));
    }

    /// Adds a warning about an unknown name, with a guess.
    pub fn warn(&mut self, place: Place, name: &str, text: &str) {
        let message = format!("`{name}` is unknown, and is left out");
        let warning = Diagnostic::warning("unknown-option", place.span, message).help(text);
        self.unknown.push((place.source, warning));
    }

    /// Adds a warning about every unknown option.
    fn warn_of_options(&mut self) {
        let unknown = self.settings.unknown.iter().map(|unknown| {
            let name = unknown.words.first().cloned().unwrap_or_default();
            (unknown.place, name, unknown.text())
        });
        for (place, name, text) in unknown.collect::<Vec<_>>() {
            self.warn(place, &name, &text);
        }
    }

    /// Builds the report of what became of each option.
    pub fn report(&self, config: String, style: ModelStyle, evidence: String) -> Report {
        let mut items = Vec::new();
        for (row, setting) in self.settings.rows.iter().enumerate() {
            items.extend(setting.as_ref().and_then(|setting| self.item(row, setting)));
        }
        items.extend(self.network_items.iter().cloned());
        for unknown in &self.settings.unknown {
            let (option, value) = unknown.words.split_first().map_or_else(
                || (String::new(), String::new()),
                |(first, rest)| (first.clone(), rest.join(" ")),
            );
            items.push(Item {
                option,
                value,
                class: Class::Unknown,
                text: unknown.text(),
                file: Some(self.layers.sources[unknown.place.source].name().to_owned()),
                position: self.position(unknown.place),
            });
        }
        items.sort_by_key(|item| item.class);
        Report {
            config,
            network: self.network_file.clone(),
            style,
            evidence,
            items,
        }
    }

    fn position(&self, place: Place) -> Position {
        self.layers.sources[place.source].position(place.span.start)
    }

    /// Item of the report about an option; `None` for a default, unless it is not modelled.
    fn item(&self, row: usize, setting: &Setting) -> Option<Item> {
        let (class, text) = self.outcome_of(row, setting);
        let by_default = setting.given_as.is_none();
        let default_matters = !matches!(OPTIONS[row].fate, Fate::NotModelled(_));
        if by_default && !(class == Class::NotModelled && default_matters) {
            return None;
        }
        let file = self.layers.sources[setting.key.source].name().to_owned();
        Some(Item {
            option: setting
                .given_as
                .clone()
                .unwrap_or_else(|| OPTIONS[row].name.to_owned()),
            value: setting.text.clone(),
            class,
            text,
            file: setting.given_as.as_ref().map(|_| file),
            position: self.position(setting.key),
        })
    }

    fn outcome_of(&self, row: usize, setting: &Setting) -> (Class, String) {
        if let Some(outcome) = self.outcomes.get(&row) {
            return outcome.clone();
        }
        let row = &OPTIONS[row];
        let alias = setting.given_as.as_deref().filter(|name| *name != row.name);
        let taken_as = alias.map_or(String::new(), |_| format!("taken as `{}`", row.name));
        match row.fate {
            Fate::Key(_) | Fate::Into(_) => (Class::Carried, taken_as),
            Fate::NoEffect(why) => (Class::NoEffect, why.to_owned()),
            Fate::Only(value, _) if same(value, &setting.text) => (Class::Carried, taken_as),
            Fate::Only(_, meaning) | Fate::NotModelled(meaning) => {
                (Class::NotModelled, meaning.to_owned())
            }
        }
    }

    /// Returns an empty span in the importer's own text, for values without a better place.
    pub fn nowhere() -> Place {
        Place {
            source: OWN,
            span: Span::default(),
        }
    }
}

/// True if two texts are the same value.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || whole(one).is_some() && whole(one) == whole(other)
}

/// Formats a count of numbers.
fn counted(numbers: usize) -> String {
    match numbers {
        1 => "1 number".to_owned(),
        more => format!("{more} numbers"),
    }
}
