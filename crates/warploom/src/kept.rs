//! Stored results, which `--stats` of `run` and `app` wrote.

use crate::failure::Failure;
use std::path::Path;
use warploom_config::{Base, GpuSpec, Setting, resolve, settings_toml};
use warploom_diag::Source;
use warploom_report::page::Page;
use warploom_run::io_reason;
use warploom_stats::result::{ConfigValue, RunReport};

/// True if a target is a stored result.
pub fn is_kept(target: &str) -> bool {
    target.ends_with(".json")
}

/// Reads a stored result.
pub fn read(path: &Path) -> Result<RunReport, Failure> {
    let shown = path.display();
    let help = "`--stats FILE.json` of `warploom run` and `warploom app` writes one";
    let text = std::fs::read_to_string(path).map_err(|error| {
        let reason = io_reason(&error);
        Failure::Input(format!("cannot read {shown}: {reason}\n  = help: {help}"))
    })?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::Input(no_result(path, &text, &error.to_string())))
}

/// Message for a file that is no result of a run.
fn no_result(path: &Path, text: &str, error: &str) -> String {
    let shown = path.display();
    if serde_json::from_str::<Page>(text).is_ok() {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).display();
        return format!(
            "{shown} is a figure or a comparison, and no result of a run\n  = help: `warploom report \
             {folder}` makes a page of all figures in its folder"
        );
    }
    let no_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_err();
    let why = match no_json {
        true => format!("it is no JSON ({error})"),
        false => error.to_owned(),
    };
    format!(
        "{shown} is not a result of a run: {why}\n  = help: `--stats FILE.json` of `warploom run` and \
         `warploom app` writes one"
    )
}

/// The machine of a result, with the values of all keys.
pub fn machine(path: &Path, result: &RunReport) -> Result<GpuSpec, Failure> {
    let config = result.gpu.config.iter();
    let settings = config.map(|(key, value)| (key.clone(), setting(value)));
    let text = settings_toml(&settings.collect());
    let source = Source::new(format!("the machine in {}", path.display()), text);
    let spec = resolve(&Base::Text(source), &[])?;
    if spec.digest() == result.config_digest {
        Ok(spec)
    } else {
        Err(Failure::Input(format!(
            "the machine in {} is not the one that its digest was made of: {} {} wrote it\n  = help: \
             make the result again",
            path.display(),
            result.program.name,
            result.program.version
        )))
    }
}

fn setting(value: &ConfigValue) -> Setting {
    match value {
        ConfigValue::Bool(on) => Setting::Bool(*on),
        ConfigValue::Integer(value) => Setting::Integer(*value),
        ConfigValue::Float(value) => Setting::Float(*value),
        ConfigValue::Text(text) => Setting::Text(text.clone()),
    }
}
