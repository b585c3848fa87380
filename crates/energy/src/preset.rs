//! Energy presets: what events cost on a GPU, with sources.

use crate::event::Event;
use crate::read::read;
use crate::static_power::{StaticPower, UnitMix};
use warploom_diag::{Source, nearest};

/// Power that is drawn over time, in watts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Power of one SM without blocks.
    IdleSm,
    /// Power of all memory controllers without accesses.
    MemoryControllers,
    /// Power of all DRAM without accesses: refresh, clocks, interfaces.
    DramBackground,
    /// Power of everything else that never changes.
    Constant,
}

impl Power {
    /// All powers, in order.
    pub const ALL: [Self; 4] = [
        Self::IdleSm,
        Self::MemoryControllers,
        Self::DramBackground,
        Self::Constant,
    ];

    /// Key in energy presets.
    pub const fn key(self) -> &'static str {
        match self {
            Self::IdleSm => "idle_sm",
            Self::MemoryControllers => "memory_controllers",
            Self::DramBackground => "dram_background",
            Self::Constant => "constant",
        }
    }
}

/// Energies and powers of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyPreset {
    /// Name of the preset for `--energy`.
    pub name: String,
    /// Description in one sentence.
    pub about: String,
    /// True if inactive lanes of a warp use no energy.
    pub gated_lanes: bool,
    /// SMs that static powers are for.
    pub sms: u32,
    /// Supply voltage in volts that the values are for.
    pub volts: f64,
    /// Joules of an event, in the order of [`Event::ALL`].
    pub joules: Vec<f64>,
    /// Watts, in the order of [`Power::ALL`].
    pub watts: [f64; Power::ALL.len()],
    /// Static power, in the order of [`UnitMix::ALL`].
    pub statics: [StaticPower; UnitMix::ALL.len()],
}

impl EnergyPreset {
    /// Joules of the event of a key.
    pub fn joules_of(&self, key: &str) -> Option<f64> {
        let at = Event::ALL.iter().position(|event| event.key == key)?;
        self.joules.get(at).copied()
    }

    /// Watts drawn over time.
    pub fn power(&self, power: Power) -> f64 {
        self.watts[power as usize]
    }

    /// Static power of SMs with blocks.
    pub fn static_power(&self, mix: UnitMix) -> StaticPower {
        self.statics[mix as usize]
    }

    /// Returns the preset at another supply voltage: energies of events grow with its square,
    /// static and idle power with the voltage itself. Constant power, the memory controllers' and
    /// DRAM's stay: they have supplies of their own.
    #[must_use]
    pub fn at_volts(mut self, volts: f64) -> Self {
        let ratio = volts / self.volts;
        self.joules
            .iter_mut()
            .for_each(|joules| *joules *= ratio * ratio);
        self.watts[Power::IdleSm as usize] *= ratio;
        for power in &mut self.statics {
            power.first_lane_w *= ratio;
            power.added_lane_w *= ratio;
        }
        self.volts = volts;
        self
    }
}

/// A built-in energy preset: its name, the GPU presets that it stands for, and its text.
pub struct Row {
    /// Name of the preset for `--energy`.
    pub name: &'static str,
    /// GPU presets whose energy it gives without being named.
    pub gpus: &'static [&'static str],
    /// Text of the preset as TOML.
    pub text: &'static str,
}

/// Every built-in energy preset.
pub const PRESETS: &[Row] = &[
    Row {
        name: "gtx480-gpgpusim4",
        gpus: &["gtx480-gpgpusim4"],
        text: include_str!("../presets/gtx480-gpgpusim4.toml"),
    },
    Row {
        name: "gtx480",
        gpus: &[
            "gtx480",
            "fermi-crat",
            "kepler-crat",
            "fermi-slicer",
            "fermi-slicer-large",
            "fermi-locality",
        ],
        text: include_str!("../presets/gtx480.toml"),
    },
    Row {
        name: "qv100",
        gpus: &["qv100-volta"],
        text: include_str!("../presets/qv100.toml"),
    },
    Row {
        name: "titan-kepler",
        gpus: &["titan-kepler"],
        text: include_str!("../presets/titan-kepler.toml"),
    },
    Row {
        name: "maxwell-duet",
        gpus: &["maxwell-duet"],
        text: include_str!("../presets/maxwell-duet.toml"),
    },
    Row {
        name: "titanx-pascal",
        gpus: &["titanx-pascal"],
        text: include_str!("../presets/titanx-pascal.toml"),
    },
    Row {
        name: "rtx2060-turing",
        gpus: &["rtx2060-turing"],
        text: include_str!("../presets/rtx2060-turing.toml"),
    },
    Row {
        name: "rtx3070-ampere",
        gpus: &["rtx3070-ampere"],
        text: include_str!("../presets/rtx3070-ampere.toml"),
    },
    Row {
        name: "a100-ampere",
        gpus: &["a100-ampere"],
        text: include_str!("../presets/a100-ampere.toml"),
    },
    Row {
        name: "h100-hopper",
        gpus: &["h100-hopper"],
        text: include_str!("../presets/h100-hopper.toml"),
    },
    Row {
        name: "h200-hopper",
        gpus: &["h200-hopper"],
        text: include_str!("../presets/h200-hopper.toml"),
    },
    Row {
        name: "rtx5090-blackwell",
        gpus: &["rtx5090-blackwell"],
        text: include_str!("../presets/rtx5090-blackwell.toml"),
    },
];

/// A built-in energy preset by its name.
pub fn find(name: &str) -> Option<EnergyPreset> {
    let row = PRESETS.iter().find(|row| row.name == name)?;
    Some(built_in(row))
}

/// The energy preset of a GPU preset.
pub fn for_gpu(gpu: &str) -> Option<EnergyPreset> {
    let row = PRESETS.iter().find(|row| row.gpus.contains(&gpu))?;
    Some(built_in(row))
}

/// The built-in energy preset of a name; an empty name stands for that of a GPU preset.
///
/// # Errors
/// If there is none, with a remedy.
pub fn named(name: &str, gpu: &str) -> Result<EnergyPreset, String> {
    let names = || PRESETS.iter().map(|row| row.name);
    let all = || names().collect::<Vec<_>>().join(", ");
    let (preset, wrong) = match name {
        "" => (for_gpu(gpu), format!("there is no energy preset for {gpu}")),
        _ => (find(name), format!("there is no energy preset `{name}`")),
    };
    preset.ok_or_else(|| {
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("name one of {}, or a file that ends in .toml", all()),
        };
        format!("{wrong}\n  = help: {help}")
    })
}

fn built_in(row: &Row) -> EnergyPreset {
    let source = Source::new(row.name, row.text);
    match read(&source) {
        Ok(preset) => preset,
        Err(errors) => panic!("a built-in energy preset is wrong: {errors}"),
    }
}
