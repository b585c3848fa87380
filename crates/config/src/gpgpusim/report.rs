//! What an import says about itself.

use crate::spec::ModelStyle;
use warploom_diag::Position;

/// What became of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It is in the machine.
    Carried,
    /// It has no effect here by design: statistics, power, tracing.
    NoEffect,
    /// It changes GPGPU-Sim's results, and is not modelled here.
    NotModelled,
    /// It is no option of GPGPU-Sim.
    Unknown,
}

/// An option of the configuration or a key of its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name, as it was written.
    pub option: String,
    /// Its value, as it was written.
    pub value: String,
    /// What became of it.
    pub class: Class,
    /// Why, or what that means for results; may be empty for what was carried.
    pub text: String,
    /// Name of its file; `None` where the value is a default.
    pub file: Option<String>,
    /// Its place in that file.
    pub position: Position,
}

/// What became of each option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file that was imported.
    pub config: String,
    /// The file of its network, if one was read.
    pub network: Option<String>,
    /// The version whose options and defaults it has.
    pub style: ModelStyle,
    /// What shows that version.
    pub evidence: String,
    /// Every option that was given, and those whose default is not modelled, in order of class.
    pub items: Vec<Item>,
}

impl Report {
    /// The options of a class.
    pub fn of(&self, class: Class) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.class == class)
    }

    /// The version whose options these are.
    pub fn version(&self) -> &'static str {
        match self.style {
            ModelStyle::V3 => "3.2.2",
            ModelStyle::V4 => "4.2",
        }
    }
}
