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

/// Every built-in GPU: the papers' machines in the order of the papers, then GPGPU-Sim 4.2's by
/// age.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "gtx480",
        text: include_str!("../presets/gtx480.toml"),
    },
    Preset {
        name: "maxwell-duet",
        text: include_str!("../presets/maxwell-duet.toml"),
    },
    Preset {
        name: "fermi-crat",
        text: include_str!("../presets/fermi-crat.toml"),
    },
    Preset {
        name: "kepler-crat",
        text: include_str!("../presets/kepler-crat.toml"),
    },
    Preset {
        name: "fermi-slicer",
        text: include_str!("../presets/fermi-slicer.toml"),
    },
    Preset {
        name: "fermi-slicer-large",
        text: include_str!("../presets/fermi-slicer-large.toml"),
    },
    Preset {
        name: "fermi-locality",
        text: include_str!("../presets/fermi-locality.toml"),
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
