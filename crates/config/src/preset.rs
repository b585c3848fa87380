//! The built-in presets. A preset is a TOML file in `presets/` with a source for every value; to
//! add one, write the file and add the row.

use crate::read::Layers;
use crate::value::Raw;
use warploom_diag::Source;

/// A built-in GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name for `--gpu` and `base`.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

/// Every built-in GPU.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "gtx480",
        text: include_str!("../presets/gtx480.toml"),
    },
    Preset {
        name: "gtx480-gpgpusim4",
        text: include_str!("../presets/gtx480-gpgpusim4.toml"),
    },
    Preset {
        name: "titan-kepler",
        text: include_str!("../presets/titan-kepler.toml"),
    },
    Preset {
        name: "titanx-pascal",
        text: include_str!("../presets/titanx-pascal.toml"),
    },
    Preset {
        name: "qv100-volta",
        text: include_str!("../presets/qv100-volta.toml"),
    },
    Preset {
        name: "rtx2060-turing",
        text: include_str!("../presets/rtx2060-turing.toml"),
    },
    Preset {
        name: "rtx3070-ampere",
        text: include_str!("../presets/rtx3070-ampere.toml"),
    },
];

impl Preset {
    /// What it is and where its values come from, in one line.
    pub fn about(&self) -> String {
        match Layers::default()
            .add_toml(self.source())
            .about
            .map(|about| about.raw)
        {
            Some(Raw::Text(about)) => about,
            _ => String::new(),
        }
    }

    /// The text with the name that messages give.
    pub fn source(&self) -> Source {
        Source::new(format!("{}.toml", self.name), self.text)
    }
}

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
