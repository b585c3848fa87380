//! Names that a shell may complete, for arguments that also accept other text, such as a path.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// Parser that accepts any text. Completion scripts contain the names.
#[derive(Clone)]
pub struct Names(pub fn() -> Vec<&'static str>);

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
pub fn presets() -> Vec<&'static str> {
    let names = warploom_config::PRESETS.iter().map(|preset| preset.name);
    names.collect()
}
