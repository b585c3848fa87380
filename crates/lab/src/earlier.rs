//! Stored figures of earlier machines: presets whose values have changed since.

use std::collections::{BTreeMap, BTreeSet};
use warploom_config::preset;
use warploom_report::page::Page;
use warploom_run::config_values;
use warploom_stats::result::ConfigValue;

/// A key of a preset with another value than when a figure was made.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedKey {
    /// Name of the preset.
    pub gpu: String,
    /// Name of the changed key.
    pub key: String,
    /// Value in the figure's machine.
    pub then: ConfigValue,
    /// Value in the preset of this build.
    pub now: ConfigValue,
}

/// Keys of a page's presets that this build's presets of these names have with other values. Keys
/// that only one of them has are left out: a later build may have more.
pub fn changed_keys(page: &Page) -> Vec<ChangedKey> {
    let of_preset = |(gpu, then): (&String, &BTreeMap<String, ConfigValue>)| {
        let settings = preset(gpu)
            .map(|spec| config_values(&spec))
            .unwrap_or_default();
        let changed = settings.into_iter().filter_map(|(key, now)| {
            let then = then.get(&key)?.clone();
            let gpu = gpu.clone();
            (then != now).then_some(ChangedKey {
                gpu,
                key,
                then,
                now,
            })
        });
        changed.collect::<Vec<_>>()
    };
    page.presets.iter().flat_map(of_preset).collect()
}

/// Sentence on a page of an earlier machine, for its verdicts. `None` for one of today's.
pub(crate) fn sentence(page: &Page) -> Option<String> {
    let changed = changed_keys(page);
    // Presets that have a base share its keys.
    let each: BTreeSet<_> = changed
        .iter()
        .map(|of| format!("{} {}, {} today", of.key, of.then, of.now))
        .collect();
    let each = each.into_iter().collect::<Vec<_>>().join("; ");
    (!changed.is_empty()).then(|| format!("{} is of an earlier machine ({each}).", page.figure))
}
