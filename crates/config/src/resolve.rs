//! Resolution of a preset or a file, with overrides, to a validated [`GpuSpec`].

use crate::error::ConfigErrors;
use crate::generation::{Relatives, relatives};
use crate::preset::{PRESETS, find};
use crate::read::Layers;
use crate::section::{Key, Located, Problem, Reader, Section};
use crate::spec::GpuSpec;
use crate::validate::validate;
use crate::value::Raw;
use std::collections::HashSet;
use warploom_diag::{Diagnostic, Source, Span, nearest};

/// Text from which a configuration starts.
#[derive(Clone, Debug)]
pub enum Base {
    /// Name of a built-in preset.
    Preset(String),
    /// TOML text, whose `base` names the preset that it changes, if any.
    Text(Source),
}

/// Resolves the specification that `base` describes, changed by `sets` (`KEY=VALUE`, the last one
/// wins).
///
/// # Errors
/// All problems, each with its place and a remedy: bad TOML, unknown keys and presets, impossible
/// values, missing keys, and values that contradict each other.
pub fn resolve(base: &Base, sets: &[String]) -> Result<GpuSpec, ConfigErrors> {
    let mut layers = Layers::default();
    match base {
        Base::Preset(name) => add_preset_argument(&mut layers, name),
        Base::Text(source) => add_text(&mut layers, source.clone()),
    }
    for set in sets {
        layers.add_override(set);
    }
    finish(layers)
}

/// Resolves a built-in preset without changes.
///
/// # Errors
/// If there is no preset with this name.
pub fn preset(name: &str) -> Result<GpuSpec, ConfigErrors> {
    resolve(&Base::Preset(name.to_owned()), &[])
}

fn add_preset_argument(layers: &mut Layers, name: &str) {
    match find(name) {
        Some(preset) => add_text(layers, preset.source()),
        None => {
            let index = layers.sources.len();
            layers.sources.push(Source::new("--gpu", name));
            let whole = Span::new(0, name.len() as u32);
            layers.problems.push((index, unknown_preset(name, whole)));
        }
    }
}

fn unknown_preset(name: &str, place: Span) -> Diagnostic {
    let message = format!("there is no preset `{name}`");
    let problem = Diagnostic::error("unknown-preset", place, message);
    let near = near_preset(name).map(|near| format!("did you mean `{near}`?"));
    let near = near.or_else(|| relatives_told(name));
    problem
        .maybe_help(near)
        .help("`warploom list gpus` lists the presets; a file's name ends in .toml")
}

/// The preset that a name most likely means.
fn near_preset(name: &str) -> Option<&'static str> {
    // Vendors write `RTX 3070`.
    let folded = name.to_lowercase().replace([' ', '_'], "");
    let names = || PRESETS.iter().map(|preset| preset.name);
    let contains = |preset: &&str| !folded.is_empty() && preset.contains(&folded);
    let near = nearest(&folded, names()).or_else(|| names().find(contains));
    // Another model of a known generation is no typing error.
    let is_model = relatives(name).is_some();
    let first = |preset: &&str| {
        let model = preset.split('-').next();
        model.is_some_and(|model| nearest(&folded, [model]).is_some())
    };
    near.or_else(|| names().find(first).filter(|_| !is_model))
}

/// Sentence on the presets that are nearest to a GPU without one, and how to describe it.
fn relatives_told(name: &str) -> Option<String> {
    let Relatives {
        generation,
        is_own,
        presets,
    } = relatives(name)?;
    let first = presets.first()?.name;
    let names: Vec<String> = presets.iter().map(|p| format!("`{}`", p.name)).collect();
    let (names, generation) = (names.join(" and "), generation.name());
    let told = match is_own {
        true => format!("of its generation, {generation}, there is {names}"),
        false => format!("there is none of its generation, {generation}; the nearest are {names}"),
    };
    Some(format!(
        "{told}; a file with `base = \"{first}\"` and the values that differ describes another GPU"
    ))
}

/// Adds a text after the preset on which it is based.
fn add_text(layers: &mut Layers, source: Source) {
    // The chain of bases of a preset is finite: a test follows all of them.
    let mut own = Layers::default();
    let header = own.add_toml(source);
    if let Some(base) = header.base {
        add_base(layers, &mut own, &base);
    }
    let shift = layers.sources.len();
    layers.sources.append(&mut own.sources);
    for (name, mut located) in own.values {
        located.source += shift;
        layers.values.insert(name, located);
    }
    let problems = own.problems.into_iter();
    layers
        .problems
        .extend(problems.map(|(source, problem)| (source + shift, problem)));
}

fn add_base(layers: &mut Layers, own: &mut Layers, base: &Located) {
    match &base.raw {
        Raw::Text(name) => match find(name) {
            Some(preset) => add_text(layers, preset.source()),
            None => own.problems.push((0, unknown_preset(name, base.value))),
        },
        _ => {
            let problem = Diagnostic::error("impossible-value", base.value, "`base` is no name")
                .help("write the name of a preset, for example `base = \"gtx480\"`");
            own.problems.push((0, problem));
        }
    }
}

/// Builds and validates the specification from values, or returns all problems.
pub(crate) fn finish(mut layers: Layers) -> Result<GpuSpec, ConfigErrors> {
    if layers
        .problems
        .iter()
        .any(|(_, problem)| problem.code == "bad-toml")
    {
        return refuse(layers);
    }
    let mut reader = Reader::new(Some(&layers.values));
    let spec = GpuSpec::read(&mut reader);
    let Reader {
        keys,
        mut problems,
        missing,
        ..
    } = reader;
    report_unknown_keys(&mut layers, &keys);
    let complete = problems.is_empty() && missing.is_empty() && layers.problems.is_empty();
    if complete {
        problems = validate(&spec);
    }
    for problem in problems {
        locate(&mut layers, problem);
    }
    // After an unknown preset all keys are missing, and after a refused option its keys are. The
    // first problem is enough.
    let causes = ["unknown-preset", "bad-option", "bad-network"];
    let known_cause = layers
        .problems
        .iter()
        .any(|(_, problem)| causes.contains(&problem.code));
    if !missing.is_empty() && !known_cause {
        report_missing(&mut layers, &missing);
    }
    if layers.problems.is_empty() {
        Ok(spec)
    } else {
        refuse(layers)
    }
}

fn refuse(layers: Layers) -> Result<GpuSpec, ConfigErrors> {
    Err(ConfigErrors::new(layers.sources, layers.problems))
}

/// Reports the values whose names are not among the declared `keys`.
fn report_unknown_keys(layers: &mut Layers, keys: &[Key]) {
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let known: HashSet<&str> = names.iter().copied().collect();
    let values = layers.values.iter();
    for (name, located) in values.filter(|(name, _)| !known.contains(name.as_str())) {
        let message = format!("there is no key `{name}`");
        let help = help_for_unknown_key(name, &names);
        let problem = Diagnostic::error("unknown-key", located.key, message).help(help);
        layers.problems.push((located.source, problem));
    }
}

/// Remedy for a name that is not a key: the key that it most likely means, or the keys of its
/// table.
fn help_for_unknown_key(name: &str, keys: &[&str]) -> String {
    let prefix = format!("{name}.");
    if keys.iter().any(|key| key.starts_with(&prefix)) {
        return format!("`{name}` is a table: set one of its keys");
    }
    let in_table = keys
        .iter()
        .copied()
        .filter(|key| name.contains('.') && table_of(key) == table_of(name));
    if let Some(near) = near_key(name, in_table.clone()) {
        // A name may be the end of a longer one, too: `sm.scheduler` of `sm.warp_scheduler`.
        let end = format!("_{}", last_word(name));
        let longer = in_table.filter(|key| *key != near && key.ends_with(&end));
        let meant = std::iter::once(near).chain(longer).take(SUGGESTIONS);
        let meant: Vec<_> = meant.map(|key| format!("`{key}`")).collect();
        return format!("did you mean {}?", meant.join(" or "));
    }
    if in_table.clone().next().is_some() {
        let words: Vec<_> = in_table.map(last_word).collect();
        let factors = ["sets", "ways", "line_bytes"];
        if last_word(name) == "size" && factors.iter().all(|factor| words.contains(factor)) {
            let table = table_of(name);
            let factors = factors.map(|factor| format!("`{table}.{factor}`"));
            return format!("the size of a cache is {}, in bytes", factors.join(" x "));
        }
        return format!("`{}` has the keys {}", table_of(name), words.join(", "));
    }
    if let Some(several) = keys_of_word(name, keys) {
        return several;
    }
    match near_key(name, keys.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`warploom show gpu gtx480 --keys` prints every key".to_owned(),
    }
}

/// Most keys in a suggestion.
const SUGGESTIONS: usize = 4;

/// Suggestion of the keys that end with a word, such as `scheduler`, if there are several.
fn keys_of_word(word: &str, keys: &[&str]) -> Option<String> {
    let end = format!("_{word}");
    let is_meant = |key: &&&str| last_word(key) == word || last_word(key).ends_with(&end);
    let mut meant: Vec<&str> = keys.iter().filter(is_meant).copied().collect();
    // Keys of the machine's core come before those of its parts.
    meant.sort_by_key(|key| !(key.starts_with("sm.") || key.starts_with("gpu.")));
    let shown = 2..=SUGGESTIONS;
    shown.contains(&meant.len()).then(|| {
        let names: Vec<_> = meant.iter().map(|key| format!("`{key}`")).collect();
        format!("did you mean {}?", names.join(" or "))
    })
}

/// Table of a key: its name up to the last point.
fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Name of a key within its table.
fn last_word(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Key that a wrong name most likely means: one with a similar name, or with the same or a similar
/// last word in another table.
fn near_key<'a>(name: &str, keys: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let wanted = last_word(name);
    let near_word = || {
        let mut words = keys.clone().map(last_word);
        words
            .clone()
            .find(|word| *word == wanted)
            .or_else(|| nearest(wanted, &mut words))
    };
    nearest(name, keys.clone()).or_else(|| {
        let word = near_word()?;
        keys.clone().find(|key| last_word(key) == word)
    })
}

/// Reports a problem at the key that was written last, and marks the other keys if they are in the
/// same text.
fn locate(layers: &mut Layers, problem: Problem) {
    let places: Vec<_> = problem
        .keys
        .iter()
        .filter_map(|key| layers.values.get(key))
        .collect();
    let last = places
        .iter()
        .max_by_key(|place| (place.source, place.value.start));
    let Some(last) = last else {
        // Only keys with defaults are not written anywhere, and defaults are valid.
        unreachable!("{:?} are nowhere given", problem.keys)
    };
    let mut diagnostic = Diagnostic::error(problem.code, last.value, problem.reason);
    for place in &places {
        if place.source == last.source && place.value != last.value {
            diagnostic = diagnostic.and(place.value, "");
        }
    }
    let source = last.source;
    layers
        .problems
        .push((source, diagnostic.help(problem.remedy)));
}

fn report_missing(layers: &mut Layers, missing: &[String]) {
    let source = layers.sources.len() - 1;
    let some: Vec<_> = missing
        .iter()
        .take(5)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = match missing.len() {
        n if n > 5 => format!(" and {} more", n - 5),
        _ => String::new(),
    };
    let message = format!("{}{more} not given", some.join(", "));
    let problem = Diagnostic::error("missing-key", Span::default(), message)
        .help("start from a preset: put `base = \"gtx480\"` at the top")
        .help("`warploom show gpu gtx480 --keys` prints every key with a value");
    layers.problems.push((source, problem));
}
