//! Generations of NVIDIA's GPUs, by the names of products, chips and compute capabilities, so that
//! a GPU without a preset is answered with the presets that are nearest to it.
//!
//! Source: NVIDIA, "CUDA GPU Compute Capability", and the CUDA C++ Programming Guide's table of
//! compute capabilities.

use crate::preset::{PRESETS, Preset};
use std::ops::RangeInclusive;

/// Generation of a GPU's architecture. Ada and Hopper are of one age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Generation {
    Fermi,
    Kepler,
    Maxwell,
    Pascal,
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

use Generation::*;

/// Names of the generations in lower case.
const NAMES: [(&str, Generation); 10] = [
    ("fermi", Fermi),
    ("kepler", Kepler),
    ("maxwell", Maxwell),
    ("pascal", Pascal),
    ("volta", Volta),
    ("turing", Turing),
    ("ampere", Ampere),
    ("ada", Ada),
    ("hopper", Hopper),
    ("blackwell", Blackwell),
];

/// Letters of a model, the numbers that may follow them, and its generation.
type Model = (&'static str, RangeInclusive<u32>, Generation);

/// Models of products, chips and compute capabilities.
const MODELS: &[Model] = &[
    ("gtx", 400..=599, Fermi),
    ("gtx", 750..=750, Maxwell),
    ("gtx", 600..=799, Kepler),
    ("gtx", 900..=999, Maxwell),
    ("gtx", 1000..=1099, Pascal),
    ("gtx", 1600..=1699, Turing),
    ("rtx", 2000..=2099, Turing),
    ("rtx", 3000..=3099, Ampere),
    ("rtx", 4000..=4099, Ada),
    ("rtx", 5000..=5099, Blackwell),
    ("k", 10..=80, Kepler),
    ("m", 4..=60, Maxwell),
    ("p", 4..=100, Pascal),
    ("v", 100..=100, Volta),
    ("t", 4..=4, Turing),
    ("a", 2..=800, Ampere),
    ("a", 1000..=6000, Ampere),
    ("l", 4..=40, Ada),
    ("h", 20..=800, Hopper),
    ("gh", 200..=200, Hopper),
    ("b", 100..=300, Blackwell),
    ("gb", 100..=300, Blackwell),
    ("gf", 100..=119, Fermi),
    ("gk", 104..=210, Kepler),
    ("gm", 107..=206, Maxwell),
    ("gp", 100..=108, Pascal),
    ("gv", 100..=100, Volta),
    ("tu", 102..=117, Turing),
    ("ga", 100..=107, Ampere),
    ("ad", 102..=107, Ada),
    ("gh", 100..=100, Hopper),
    ("sm", 20..=21, Fermi),
    ("sm", 30..=37, Kepler),
    ("sm", 50..=53, Maxwell),
    ("sm", 60..=62, Pascal),
    ("sm", 70..=72, Volta),
    ("sm", 75..=75, Turing),
    ("sm", 80..=88, Ampere),
    ("sm", 89..=89, Ada),
    ("sm", 90..=90, Hopper),
    ("sm", 100..=121, Blackwell),
    ("qv", 100..=100, Volta),
    ("titanv", 0..=0, Volta),
];

/// Words of vendors before a model.
const VENDORS: [&str; 5] = ["nvidia", "geforce", "tesla", "quadro", "rtxpro"];

impl Generation {
    /// Generation of the GPU that a name means.
    fn of(name: &str) -> Option<Self> {
        let known = |word: &str| NAMES.iter().find(|(known, _)| *known == word);
        let named = words(name).iter().find_map(|word| Some(known(word)?.1));
        named.or_else(|| Some(model(name)?.2))
    }

    /// Name of the generation.
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// Number of generations between two that differ, 0 between equal ones.
    fn distance(self, other: Self) -> u32 {
        let age = |of: Self| of as u32 - u32::from(of >= Hopper);
        age(self).abs_diff(age(other)) + u32::from(self != other)
    }
}

/// Words of a name in lower case, and all of them together: vendors write `RTX 3080`.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let parts = || lower.split(['-', '_', ' ']);
    let apart = parts().map(str::to_owned);
    apart.chain([parts().collect()]).collect()
}

/// Row of [`MODELS`] that a name means.
fn model(name: &str) -> Option<&'static Model> {
    words(name).iter().find_map(|word| model_of(word))
}

fn model_of(word: &str) -> Option<&'static Model> {
    let without = |word, vendor| str::strip_prefix(word, vendor).unwrap_or(word);
    let word = VENDORS.into_iter().fold(word, without);
    let digits = word.find(|c: char| c.is_ascii_digit());
    let (letters, rest) = word.split_at(digits.unwrap_or(word.len()));
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let number = rest[..end.unwrap_or(rest.len())].parse().unwrap_or(0);
    let mut rows = MODELS.iter();
    rows.find(|(name, numbers, _)| *name == letters && numbers.contains(&number))
}

/// Presets that are nearest to a GPU without one.
pub(crate) struct Relatives {
    /// Generation of the GPU.
    pub generation: Generation,
    /// True if the presets are of this generation.
    pub is_own: bool,
    /// Presets, those of the same family first.
    pub presets: Vec<&'static Preset>,
}

/// The presets that are nearest to the GPU that a name means: those of its generation where there
/// are any.
pub(crate) fn relatives(name: &str) -> Option<Relatives> {
    let own = Generation::of(name)?;
    let family = |name: &str| model(name).map(|(letters, ..)| *letters);
    let of_family = family(name);
    let distance = |preset: &Preset| Generation::of(preset.name).map(|of| own.distance(of));
    let mut near: Vec<&Preset> = PRESETS.iter().filter(|p| distance(p).is_some()).collect();
    let is_own = |preset: &&Preset| distance(preset) == Some(0);
    let has_own = near.iter().any(is_own);
    near.retain(|preset| is_own(preset) || !has_own);
    near.sort_by_key(|preset| (family(preset.name) != of_family, distance(preset)));
    near.truncate(if has_own { 3 } else { 2 });
    Some(Relatives {
        generation: own,
        is_own: has_own,
        presets: near,
    })
}

#[cfg(test)]
mod tests {
    use super::{Generation, relatives};

    #[test]
    fn products_chips_and_capabilities_have_a_generation() {
        for (name, generation) in [
            ("rtx3080", Generation::Ampere),
            ("GeForce RTX 4090", Generation::Ada),
            ("NVIDIA A100-SXM4-40GB", Generation::Ampere),
            ("gtx750", Generation::Maxwell),
            ("GTX 1080 Ti", Generation::Pascal),
            ("tesla-v100", Generation::Volta),
            ("sm_86", Generation::Ampere),
            ("SM7_TITANV", Generation::Volta),
            ("gb202", Generation::Blackwell),
            ("my-hopper", Generation::Hopper),
        ] {
            assert_eq!(Generation::of(name), Some(generation), "{name}");
        }
        for name in ["", "radeon", "rtx", "gtx9999", "spmv"] {
            assert_eq!(Generation::of(name), None, "{name}");
        }
    }

    #[test]
    fn presets_of_the_same_generation_are_nearest() {
        let near = |name: &str| -> Vec<&str> {
            let presets = relatives(name).unwrap().presets;
            presets.iter().map(|preset| preset.name).collect()
        };
        assert_eq!(near("rtx3080"), ["rtx3070-ampere", "a100-ampere"]);
        assert_eq!(near("a6000"), ["a100-ampere", "rtx3070-ampere"]);
        assert_eq!(near("rtx4090"), ["rtx3070-ampere", "rtx5090-blackwell"]);
        assert_eq!(near("rtx5080"), ["rtx5090-blackwell"]);
        assert_eq!(near("gtx580").first(), Some(&"gtx480"));
    }
}
