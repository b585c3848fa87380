//! Import of GPGPU-Sim's configurations: `gpgpusim.config` of 3.x and 4.x and the BookSim file of
//! its network, to a preset.
//!
//! Every value becomes a value of the key table at its own place in the user's file, so that the
//! rules of the keys point there; what a file leaves out takes the default that GPGPU-Sim of that
//! version registers. What becomes of each option stands in `options`: nothing is dropped without
//! a word in the [`Report`].
//!
//! Invariants: an import that succeeds gives a valid specification, and its text resolves to the
//! same one; no input panics. Files are read by the caller.

mod cache;
mod convert;
mod dram;
mod emit;
mod icnt;
mod lexer;
mod network;
mod number;
mod options;
mod report;
mod settings;
mod sm;
#[cfg(test)]
mod tests;

pub use options::options_markdown;
pub use report::{Class, Item, Report};

use crate::error::ConfigErrors;
use crate::read::Layers;
use crate::resolve::finish;
use crate::spec::{GpuSpec, ModelStyle};
use convert::Draft;
use lexer::Word;
use settings::Settings;
use warploom_diag::{Source, Span};

/// Gives the text of a file: the name of the text that names it, and the path as written there. An
/// error says why there is none.
pub type ReadFile<'a> = dyn FnMut(&str, &str) -> Result<Source, String> + 'a;

/// What to import.
#[derive(Clone, Debug)]
pub struct Request {
    /// `gpgpusim.config`.
    pub config: Source,
    /// The network's file; `None` takes the one that the configuration names.
    pub network: Option<Source>,
    /// Name of the machine.
    pub name: String,
    /// Version whose options and defaults these are; `None` finds it.
    pub style: Option<ModelStyle>,
}

/// An imported machine.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The machine.
    pub spec: GpuSpec,
    /// A preset with the source of each value; it resolves to the machine.
    pub toml: String,
    /// What became of each option.
    pub report: Report,
}

/// Reads a configuration of GPGPU-Sim.
///
/// # Errors
/// Values that cannot be read, or that together are no machine, each at its place. Options that
/// nobody knows are no error: they are in the report, or stand as warnings among the errors.
pub fn import(request: Request, files: &mut ReadFile<'_>) -> Result<Imported, ConfigErrors> {
    // Our own texts stand in front of the user's files, so that of two values that contradict each
    // other the user's own is pointed at.
    let own = ["defaults", OWN_VALUES].map(|name| Source::new(name, ""));
    let mut layers = Layers {
        sources: own.into(),
        ..Layers::default()
    };
    let config = request.config.name().to_owned();
    let mut settings = settings::read(&mut layers, request.config, files);
    let (style, evidence) = style(&settings, &layers, request.style);
    settings.fill_defaults(&mut layers, style);
    let mut draft = Draft::new(layers, settings, style);
    draft.convert(&request.name, request.network, files);
    let report = draft.report(config, style, evidence);
    let (layers, origins) = (draft.layers, draft.origins);
    let spec = finish(layers).map_err(|errors| errors.with(draft.unknown))?;
    let toml = emit::toml(&spec, &origins, &report);
    Ok(Imported { spec, toml, report })
}

/// The version whose grammar a configuration follows, and what shows it.
fn style(settings: &Settings, layers: &Layers, wanted: Option<ModelStyle>) -> (ModelStyle, String) {
    if let Some(style) = wanted {
        return (style, "as asked".to_owned());
    }
    let given = |name: &str| {
        let setting = settings.get(name)?;
        Some((name.to_owned(), setting.text.as_str(), setting.value))
    };
    let at = |place: Place| layers.sources[place.source].position(place.span.start);
    if let Some((name, text, place)) = given("-gpgpu_pipeline_widths") {
        let numbers = text.split(',').count();
        let style = match numbers {
            ..=7 => ModelStyle::V3,
            _ => ModelStyle::V4,
        };
        let line = at(place).line;
        return (style, format!("line {line}: {name} has {numbers} numbers"));
    }
    let caches = [
        "-gpgpu_cache:dl1",
        "-gpgpu_cache:dl2",
        "-gpgpu_cache:il1",
        "-gpgpu_const_cache:l1",
        "-gpgpu_tex_cache:l1",
    ];
    let mut caches = caches.iter().filter_map(|name| given(name));
    if let Some((name, text, place)) = caches.find(|(_, text, _)| *text != "none") {
        let line = at(place).line;
        return match text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => (
                ModelStyle::V4,
                format!("line {line}: {name} names its kind"),
            ),
            false => (ModelStyle::V3, format!("line {line}: {name} names no kind")),
        };
    }
    let only_4 = options::OPTIONS.iter().zip(&settings.rows);
    let mut newer = only_4.filter(|(row, setting)| !row.in_v3 && setting.is_some());
    match newer.next().map(|(row, _)| row.name) {
        Some(name) => (ModelStyle::V4, format!("3.2.2 has no {name}")),
        None => (ModelStyle::V4, "nothing shows a version".to_owned()),
    }
}

/// Index of the text with GPGPU-Sim's defaults.
const DEFAULTS: usize = 0;

/// Index of the text with the values that no option gives, and its name.
const OWN: usize = 1;
const OWN_VALUES: &str = "values that no option gives";

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Index of the text.
    source: usize,
    span: Span,
}

impl Place {
    fn new(source: usize, start: usize, len: usize) -> Self {
        Self {
            source,
            span: Span::new(start as u32, (start + len) as u32),
        }
    }

    fn of(source: usize, word: &Word) -> Self {
        Self {
            source,
            span: word.span,
        }
    }
}
