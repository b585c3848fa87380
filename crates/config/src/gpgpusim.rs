//! Import of GPGPU-Sim's configurations: from `gpgpusim.config` of 3.x and 4.x, and the BookSim
//! file of its network, to a preset (docs/model/formats.md).
//!
//! Every value becomes the value of a key with its place in the user's file, so that messages of
//! the keys' rules point there. An option that a file leaves out takes the default that GPGPU-Sim
//! of that version registers. The table in `options` says what becomes of each option; the
//! [`Report`] names each option that is not carried over.
//!
//! Invariants: a successful import gives a valid specification, and its text resolves to the same
//! specification. No input causes a panic. The caller reads the files.

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

/// Function that reads a file. The arguments are the name of the text that names the file, and the
/// path as written there. An error says why the file cannot be read.
pub type ReadFile<'a> = dyn FnMut(&str, &str) -> Result<Source, String> + 'a;

/// Request for an import.
#[derive(Clone, Debug)]
pub struct Request {
    /// Text of the file `gpgpusim.config`.
    pub config: Source,
    /// File of the network; `None` takes the one that the configuration names.
    pub network: Option<Source>,
    /// Name of the machine.
    pub name: String,
    /// Version of the options and defaults; `None` detects it.
    pub style: Option<ModelStyle>,
}

/// Imported machine with its report.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Specification of the machine.
    pub spec: GpuSpec,
    /// Text of a preset with the source of each value; it resolves to `spec`.
    pub toml: String,
    /// Report of what became of each option.
    pub report: Report,
}

/// Imports a configuration of GPGPU-Sim.
///
/// # Errors
/// Values that cannot be read, or that contradict each other, each with its place. Unknown options
/// are not errors: they are in the report, or are warnings among the errors.
pub fn import(request: Request, files: &mut ReadFile<'_>) -> Result<Imported, ConfigErrors> {
    // Our own texts come before the user's files, so that of two values that contradict each other
    // the message points at the user's.
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

/// Detects the version of a configuration. Returns it with the evidence.
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

/// Index of the text that has GPGPU-Sim's defaults.
const DEFAULTS: usize = 0;

/// Index of the text that has the values without an option.
const OWN: usize = 1;
const OWN_VALUES: &str = "values that no option gives";

/// Place in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Index of the text it is in.
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
