//! Report of an import about itself.

use crate::spec::ModelStyle;
use warploom_diag::Position;

/// Class of what became of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The option is carried over into the machine.
    Carried,
    /// The option has no effect by design: statistics, power, tracing.
    NoEffect,
    /// The option changes GPGPU-Sim's results and is not modelled here.
    NotModelled,
    /// The name is no option of GPGPU-Sim.
    Unknown,
}

/// Item of the report: an option of the configuration or a key of its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Name of the option as it was written.
    pub option: String,
    /// Value of the option as it was written.
    pub value: String,
    /// Class of what became of the option.
    pub class: Class,
    /// Reason, or meaning for results; may be empty for an option that is carried over.
    pub text: String,
    /// Name of the file; `None` if the value is a default.
    pub file: Option<String>,
    /// Place in that file.
    pub position: Position,
}

/// Report of what became of each option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the imported file.
    pub config: String,
    /// Name of the file of its network, if one was read.
    pub network: Option<String>,
    /// Version of the options and defaults.
    pub style: ModelStyle,
    /// Evidence of that version.
    pub evidence: String,
    /// Options that were given, and those whose default is not modelled, in order of class.
    pub items: Vec<Item>,
}

impl Report {
    /// Iterates over the options of a class.
    pub fn of(&self, class: Class) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.class == class)
    }

    /// Name of the version.
    pub fn version(&self) -> &'static str {
        match self.style {
            ModelStyle::V3 => "3.2.2",
            ModelStyle::V4 => "4.2",
        }
    }
}
