//! The built-in presets. A preset is a TOML file in `presets/` with a source for every value. To
//! add one, write the file and add its row here.

use crate::read::Layers;
use crate::value::Raw;
use warploom_diag::Source;

/// Built-in preset of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name of the preset for `--gpu` and `base`.
    pub name: &'static str,
    /// Text of the TOML file.
    pub text: &'static str,
}

/// All built-in GPUs: the machines of the papers in the order of the papers, those of GPGPU-Sim 4.2
/// by age, then those from published figures by age.
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
    Preset {
        name: "a100-ampere",
        text: include_str!("../presets/a100-ampere.toml"),
    },
    Preset {
        name: "h100-hopper",
        text: include_str!("../presets/h100-hopper.toml"),
    },
    Preset {
        name: "h200-hopper",
        text: include_str!("../presets/h200-hopper.toml"),
    },
    Preset {
        name: "rtx5090-blackwell",
        text: include_str!("../presets/rtx5090-blackwell.toml"),
    },
];

impl Preset {
    /// Description with the source of the values, in one line.
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

    /// Text with the name that messages use.
    pub fn source(&self) -> Source {
        Source::new(format!("{}.toml", self.name), self.text)
    }
}

/// Finds the preset with a name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
