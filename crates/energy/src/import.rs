//! Import of an XML file of AccelWattch or GPUWattch, which GPGPU-Sim reads for its power
//! simulation.
//!
//! Such a file has an activity factor for each kind of event, and AccelWattch's has constant, idle
//! and static powers. McPAT computes the energies that the factors multiply; here they are those of
//! the preset `qv100` for a file of AccelWattch and of `gtx480` for one of GPUWattch. As in
//! GPGPU-Sim, a factor that the file leaves out is 1.

mod factors;

use crate::event::Event;
use crate::preset::{EnergyPreset, Power, find};
use crate::read::EnergyErrors;
use crate::static_power::UnitMix;
use crate::xml::{Param, params};
use factors::{FACTORS, Factor};
use std::collections::{BTreeMap, BTreeSet};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span, nearest};

/// Energy preset of an imported file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Preset with the file's values.
    pub preset: EnergyPreset,
    /// The preset as TOML, with the place of each value in the file beside it.
    pub toml: String,
    /// Number of the file's parameters that are in the preset.
    pub carried: usize,
    /// Differences between the preset and the file, one sentence each.
    pub notes: Vec<String>,
}

/// Version of the power model that a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    AccelWattch,
    GpuWattch,
}

impl Version {
    fn of(names: &BTreeMap<&str, Param<'_>>) -> Option<Self> {
        let has = |of: fn(&Factor) -> &str| FACTORS.iter().any(|row| names.contains_key(of(row)));
        let accelwattch = STATICS.iter().any(|row| names.contains_key(row.1))
            || ["constant_power", "INT_ACC", "FP_ACC", "DP_ACC"]
                .iter()
                .any(|name| names.contains_key(name));
        match (
            accelwattch,
            has(|row| row.accelwattch.0) || has(|row| row.gpuwattch.0),
        ) {
            (true, _) => Some(Self::AccelWattch),
            (false, true) => Some(Self::GpuWattch),
            (false, false) => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::AccelWattch => "AccelWattch",
            Self::GpuWattch => "GPUWattch",
        }
    }

    /// The preset with McPAT's energies.
    const fn base(self) -> &'static str {
        match self {
            Self::AccelWattch => "qv100",
            Self::GpuWattch => "gtx480",
        }
    }

    const fn factor(self, row: &Factor) -> (&'static str, f64) {
        match self {
            Self::AccelWattch => row.accelwattch,
            Self::GpuWattch => row.gpuwattch,
        }
    }

    const fn constant(self) -> &'static str {
        match self {
            Self::AccelWattch => "constant_power",
            Self::GpuWattch => "CONST_DYNAMICN",
        }
    }
}

/// AccelWattch's name of the power of an SM without blocks; GPUWattch has the same.
const IDLE: &str = "idle_core_power";

/// Kinds of work with AccelWattch's names of the power of the first lane and of each further lane.
const STATICS: &[(UnitMix, &str, &str)] = &[
    (
        UnitMix::IntAdd,
        "static_intadd_flane",
        "static_intadd_addlane",
    ),
    (
        UnitMix::IntMul,
        "static_intmul_flane",
        "static_intmul_addlane",
    ),
    (UnitMix::Int, "static_cat1_flane", "static_cat1_addlane"),
    (UnitMix::IntFp, "static_cat2_flane", "static_cat2_addlane"),
    (UnitMix::IntFpDp, "static_cat3_flane", "static_cat3_addlane"),
    (
        UnitMix::IntFpSpecial,
        "static_cat4_flane",
        "static_cat4_addlane",
    ),
    (
        UnitMix::IntFpTexture,
        "static_cat5_flane",
        "static_cat5_addlane",
    ),
    (
        UnitMix::IntFpTensor,
        "static_cat6_flane",
        "static_cat6_addlane",
    ),
    (UnitMix::Light, "static_light_flane", "static_light_addlane"),
    (
        UnitMix::Other,
        "static_geomean_flane",
        "static_geomean_addlane",
    ),
    (UnitMix::L1d, "static_l1_flane", ""),
    (UnitMix::Shared, "static_shared_flane", ""),
    (UnitMix::L2, "static_l2_flane", ""),
];

/// Imports a file. The preset has the source's name without `.xml`.
///
/// # Errors
/// If the file is no such XML, has none of the known parameters, or a known parameter is no number
/// of at least 0.
pub fn import(source: &Source) -> Result<Imported, EnergyErrors> {
    let fail = |problems: Vec<Diagnostic>| {
        let mut all = Diagnostics::new();
        problems.into_iter().for_each(|problem| all.push(problem));
        EnergyErrors {
            source: source.clone(),
            problems: all,
        }
    };
    let list = params(source).map_err(|problem| fail(vec![*problem]))?;
    let mut names = BTreeMap::new();
    for param in &list {
        names.entry(param.name).or_insert(*param);
    }
    let Some(version) = Version::of(&names) else {
        let message = "the file has no parameter of AccelWattch or GPUWattch";
        let help = "give the file that -accelwattch_xml_file or -gpuwattch_xml_file names";
        let problem = Diagnostic::error("no-power-model", Span::default(), message);
        return Err(fail(vec![problem.help(help)]));
    };
    let mut reader = Reader {
        source,
        names,
        used: BTreeMap::new(),
        missing: Vec::new(),
        problems: Vec::new(),
    };
    let preset = reader.preset(version);
    match reader.problems.is_empty() {
        true => Ok(reader.imported(preset, version)),
        false => Err(fail(reader.problems)),
    }
}

struct Reader<'a> {
    source: &'a Source,
    names: BTreeMap<&'a str, Param<'a>>,
    /// Parameters that values of the preset come from, by the values' keys.
    used: BTreeMap<String, Vec<&'static str>>,
    /// Names that the file lacks, with what stands for them.
    missing: Vec<(&'static str, &'static str)>,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn preset(&mut self, version: Version) -> EnergyPreset {
        let name = self.source.name().rsplit(['/', '\\']).next().unwrap_or("");
        let base = find(version.base()).expect("it is in the list");
        let mut preset = EnergyPreset {
            name: name.strip_suffix(".xml").unwrap_or(name).to_owned(),
            about: format!("{name}, imported as a file of {}", version.name()),
            ..base
        };
        for row in FACTORS {
            self.event(version, row, &mut preset);
        }
        for (power, name) in [(Power::Constant, version.constant()), (Power::IdleSm, IDLE)] {
            if let Some(watts) = self.number(power.key(), name, "as in the base") {
                preset.watts[power as usize] = watts;
            }
        }
        if version == Version::AccelWattch {
            self.statics(&mut preset);
        }
        preset
    }

    fn event(&mut self, version: Version, row: &Factor, preset: &mut EnergyPreset) {
        let (name, stock) = version.factor(row);
        let factor = self.number(row.event, name, "1").unwrap_or(1.0);
        let at = Event::ALL.iter().position(|event| event.key == row.event);
        if let Some(joules) = at.and_then(|at| preset.joules.get_mut(at)) {
            *joules *= factor / stock;
        }
    }

    fn statics(&mut self, preset: &mut EnergyPreset) {
        for (mix, first, added) in STATICS {
            let key = format!("static.{}", mix.key());
            let power = &mut preset.statics[*mix as usize];
            if !added.is_empty()
                && let Some(watts) = self.number(&key, added, "as in the base")
            {
                power.added_lane_w = watts;
            }
            if let Some(watts) = self.number(&key, first, "as in the base") {
                power.first_lane_w = watts;
            }
        }
    }

    /// The value of a parameter for a key of the preset. Notes a parameter that is missing.
    fn number(&mut self, key: &str, name: &'static str, otherwise: &'static str) -> Option<f64> {
        let Some(param) = self.names.get(name) else {
            if !self.missing.contains(&(name, otherwise)) {
                self.missing.push((name, otherwise));
            }
            return None;
        };
        let value = param.value.parse::<f64>().ok();
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        if value.is_none() {
            let message = format!("`{name}` is no number of at least 0");
            let problem = Diagnostic::error("wrong-value", param.value_span, message);
            let problem = problem.help("write the factor or the watts as a decimal number");
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        self.used.entry(key.to_owned()).or_default().push(name);
        value
    }

    fn imported(&self, preset: EnergyPreset, version: Version) -> Imported {
        let place = |key: &str| {
            let name = self.used.get(key)?.first()?;
            let place = self.source.position(self.names.get(name)?.value_span.start);
            Some(format!("{name}, line {}", place.line))
        };
        let carried: BTreeSet<_> = self.used.values().flatten().collect();
        let header = format!(
            "# {}, a file of {}. Energies are the file's factors times McPAT's energies\n\
             # of the preset `{}`, whose structures stand for those of the file.\n\n",
            self.source.name(),
            version.name(),
            version.base()
        );
        Imported {
            toml: header + &preset.to_toml_with(&place),
            carried: carried.len(),
            notes: self.notes(version),
            preset,
        }
    }

    fn notes(&self, version: Version) -> Vec<String> {
        let known: Vec<&str> = self.used.values().flatten().copied().collect();
        let others = || self.names.keys().copied();
        let missing = self.missing.iter().map(|(name, otherwise)| {
            let unknown = others().filter(|other| !known.contains(other));
            match nearest(name, unknown) {
                Some(near) => format!("`{name}` is missing: {otherwise}; is `{near}` meant?"),
                None => format!("`{name}` is missing: {otherwise}"),
            }
        });
        let mut notes: Vec<String> = missing.collect();
        notes.push(format!(
            "structures are not read: McPAT's energies are those of the preset {}",
            version.base()
        ));
        if version == Version::GpuWattch {
            notes.push("the file has no static power: it is that of the preset gtx480".to_owned());
        }
        notes
    }
}

#[cfg(test)]
mod tests;
