//! Names that a shell may complete, for arguments that also accept other text, such as a path.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// Parser that accepts any text. Completion scripts contain the names.
#[derive(Clone)]
pub struct Names(pub fn() -> Vec<String>);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, text: &OsStr) -> Result<String, Error> {
        let text = text.to_str().map(str::to_owned);
        text.ok_or_else(|| Error::new(ErrorKind::InvalidUtf8).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// Names of the presets of GPUs.
pub fn presets() -> Vec<String> {
    let presets = warploom_config::PRESETS.iter();
    presets.map(|preset| preset.name.to_owned()).collect()
}

/// Names of the workloads.
pub fn workloads() -> Vec<String> {
    let workloads = warploom_workloads::all().iter();
    workloads.map(|workload| workload.name.to_owned()).collect()
}

/// Keys of a machine, each as the beginning of `KEY=VALUE`.
pub fn changes() -> Vec<String> {
    let keys = warploom_config::keys().into_iter();
    keys.map(|key| format!("{}=", key.name)).collect()
}

/// Names of the papers and of their figures.
pub fn figures() -> Vec<String> {
    let infos = || {
        warploom_lab::all()
            .iter()
            .chain(warploom_lab::by_name_only())
    };
    let mut names: Vec<String> = infos().map(|info| info.paper.to_owned()).collect();
    names.dedup();
    names.extend(infos().map(warploom_lab::FigureInfo::full_name));
    names
}
