//! `--gpu` and `--set`.

use crate::failure::Failure;
use crate::output::{error_style, note};
use std::path::Path;
use warploom_config::gpgpusim::{Class, Request, import};
use warploom_config::{Base, GpuSpec, find, resolve};
use warploom_diag::Source;
use warploom_run::launch_file::read;
use warploom_workloads::{Target, preset_of_paper};

/// Which GPU, and what to change of it.
#[derive(clap::Args)]
pub struct GpuArgs {
    /// Preset (`warploom list gpus`), TOML file or GPGPU-Sim's gpgpusim.config; without it the
    /// machine of the paper for a paper's benchmark such as crat/CFD, else gtx480
    #[arg(long, value_name = "PRESET-or-FILE")]
    pub gpu: Option<String>,
    /// Change one key, for example `sm.warp_scheduler=lrr`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// The preset of targets that belong to no paper.
const STANDARD: &str = "gtx480";

impl GpuArgs {
    /// True if a machine or a key of one was asked for.
    pub fn given(&self) -> bool {
        self.gpu.is_some() || !self.sets.is_empty()
    }

    /// The preset or file for these targets: `--gpu`, or the machine of the paper whose benchmarks
    /// all of them are, which is then noted on standard error, or the standard one.
    pub fn name(&self, targets: &[String]) -> String {
        let paper = preset_of(targets);
        if let (None, Some(preset)) = (&self.gpu, paper) {
            note(&format!(
                "note: {} on {preset}, the machine of the paper; --gpu names another\n",
                targets.join(" ")
            ));
        }
        let given = self.gpu.as_deref();
        given.or(paper).unwrap_or(STANDARD).to_owned()
    }

    /// The specification for these targets.
    pub fn spec(&self, targets: &[String]) -> Result<GpuSpec, Failure> {
        spec(&self.name(targets), &self.sets)
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

/// The specification of a preset or file with changes.
pub fn spec(gpu: &str, sets: &[String]) -> Result<GpuSpec, Failure> {
    Ok(resolve(&base(gpu)?, sets)?)
}

/// A preset or file.
pub fn base(gpu: &str) -> Result<Base, Failure> {
    let path = Path::new(gpu);
    // No preset's name has a folder in it, so that one cannot be meant.
    let named_as_file =
        [".toml", ".config"].iter().any(|end| gpu.ends_with(end)) || path.components().count() > 1;
    let is_file = named_as_file || (find(gpu).is_none() && path.is_file());
    Ok(match is_file {
        true => Base::Text(preset_text(read(path)?)?),
        false => Base::Preset(gpu.to_owned()),
    })
}

/// A file as a preset's text: itself, or what is imported from GPGPU-Sim's options.
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

/// Whether a file holds options and not TOML, in which nothing begins with `-`.
fn is_options(file: &Source) -> bool {
    let mut lines = file.text().lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    file.name().ends_with(".config") || first.is_some_and(|line| line.starts_with('-'))
}

/// Name of an imported machine: the file's without its ending, or its folder's where the file is
/// called as GPGPU-Sim wants it.
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

/// The file at `path`, seen from the folder of the file `from`.
pub fn file_beside(from: &str, path: &str) -> Result<Source, String> {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    read(&folder.join(path)).map_err(|error| {
        let text = error.render(error_style());
        text.trim().trim_start_matches("error: ").to_owned()
    })
}
