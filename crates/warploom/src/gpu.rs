//! Options `--gpu` and `--set`.

use crate::failure::Failure;
use crate::names::{Names, changes, presets};
use crate::output::{error_style, note};
use std::path::Path;
use warploom_config::gpgpusim::{Class, Request, import};
use warploom_config::{Base, GpuSpec, UnreadKeys, find, resolve};
use warploom_diag::Source;
use warploom_run::launch_file::read;
use warploom_workloads::{Target, preset_of_paper};

/// Choice of the GPU, and changes to it.
#[derive(clap::Args)]
pub struct GpuArgs {
    /// Preset (`warploom list gpus`), TOML file or GPGPU-Sim's gpgpusim.config [default: the
    /// paper's machine for a paper's benchmark such as crat/CFD, otherwise gtx480]
    #[arg(
        long,
        value_name = "PRESET-or-FILE",
        value_parser = Names(presets),
        hide_possible_values = true
    )]
    pub gpu: Option<String>,
    /// Change a key, for example `sm.warp_scheduler=lrr`; may be repeated
    #[arg(
        long = "set",
        value_name = "KEY=VALUE",
        value_parser = Names(changes),
        hide_possible_values = true
    )]
    pub sets: Vec<String>,
}

/// Preset for targets that do not belong to a paper.
const STANDARD: &str = "gtx480";

impl GpuArgs {
    /// True if the options choose a machine or change a key.
    pub fn given(&self) -> bool {
        self.gpu.is_some() || !self.sets.is_empty()
    }

    /// Preset or file for these targets. If `--gpu` is absent and all targets are benchmarks of
    /// one paper, it is that paper's machine, and a note is printed to standard error. Otherwise
    /// it is the standard preset.
    pub fn name(&self, targets: &[String]) -> String {
        let paper = preset_of(targets);
        if let (None, Some(preset)) = (&self.gpu, paper) {
            note(&format!(
                "note: {} on {preset}, the paper's machine; --gpu chooses another\n",
                targets.join(" ")
            ));
        }
        self.name_quietly(targets)
    }

    /// As [`GpuArgs::name`], without the note, for commands with many runs.
    pub fn name_quietly(&self, targets: &[String]) -> String {
        let given = self.gpu.as_deref();
        let paper = preset_of(targets);
        given.or(paper).unwrap_or(STANDARD).to_owned()
    }

    /// The built-in preset that `--gpu` names, or the standard one, if no key is changed. Its
    /// values are known to be valid.
    pub fn unchanged_preset(&self) -> Option<&'static str> {
        let preset = find(self.gpu.as_deref().unwrap_or(STANDARD));
        preset.filter(|_| self.sets.is_empty()).map(|own| own.name)
    }

    /// The specification for these targets.
    pub fn spec(&self, targets: &[String]) -> Result<GpuSpec, Failure> {
        told_spec(&self.name(targets), &self.sets)
    }
}

/// The machine of the one paper whose benchmarks all targets are.
fn preset_of(targets: &[String]) -> Option<&'static str> {
    let mut presets = targets.iter().map(|target| {
        let (paper, _) = target.split_once('/')?;
        Target::resolve(target).ok().and(preset_of_paper(paper))
    });
    let first = presets.next()??;
    presets.all(|preset| preset == Some(first)).then_some(first)
}

/// Specification of a preset or file with changes.
pub fn spec(gpu: &str, sets: &[String]) -> Result<GpuSpec, Failure> {
    Ok(resolve(&base(gpu)?, sets)?)
}

/// As [`spec`], with a note about changes that the machine does not read.
pub fn told_spec(gpu: &str, sets: &[String]) -> Result<GpuSpec, Failure> {
    let spec = spec(gpu, sets)?;
    for (told, choice) in UnreadKeys::of_sets(sets, &spec).told() {
        note(&format!(
            "note: {told}\n  = help: `--set {choice}` chooses it\n"
        ));
    }
    Ok(spec)
}

/// The preset or file with this name.
pub fn base(gpu: &str) -> Result<Base, Failure> {
    let path = Path::new(gpu);
    // No preset's name contains a folder, so such a name is a file.
    let named_as_file =
        [".toml", ".config"].iter().any(|end| gpu.ends_with(end)) || path.components().count() > 1;
    let is_file = named_as_file || (find(gpu).is_none() && path.is_file());
    Ok(if is_file {
        Base::Text(preset_text(read(path)?)?)
    } else {
        Base::Preset(gpu.to_owned())
    })
}

/// Contents of a file as a preset's text: the file itself, or the import of GPGPU-Sim's options.
fn preset_text(file: Source) -> Result<Source, Failure> {
    if !is_options(&file) {
        return Ok(file);
    }
    let name = file.name().to_owned();
    let request = Request {
        name: name_of(Path::new(&name)),
        config: file,
        network: None,
        style: None,
    };
    let imported = import(request, &mut file_beside)?;
    let lost = |class| imported.report.of(class).count();
    let (unmodelled, unknown) = (lost(Class::NotModelled), lost(Class::Unknown));
    if unmodelled + unknown > 0 {
        note(&format!(
            "note: {name}: not modelled {unmodelled}, unknown {unknown}; \
             `warploom import {name}` names the options\n"
        ));
    }
    Ok(Source::new(format!("{name}, imported"), imported.toml))
}

/// True if a file contains options. A line of TOML never begins with `-`.
fn is_options(file: &Source) -> bool {
    let mut lines = file.text().lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    file.name().ends_with(".config") || first.is_some_and(|line| line.starts_with('-'))
}

/// Name of an imported machine: that of the file without its extension, or that of its folder if
/// the file has GPGPU-Sim's usual name.
pub fn name_of(config: &Path) -> String {
    let absolute = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
    let name = match absolute.file_name() {
        Some(file) if file != "gpgpusim.config" => absolute.file_stem(),
        _ => absolute.parent().and_then(Path::file_name),
    };
    name.map_or("imported".to_owned(), |name| {
        name.to_string_lossy().into_owned()
    })
}

/// The file at `path`, relative to the folder of the file `from`.
pub fn file_beside(from: &str, path: &str) -> Result<Source, String> {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    read(&folder.join(path)).map_err(|error| {
        let text = error.render(error_style());
        text.trim().trim_start_matches("error: ").to_owned()
    })
}
