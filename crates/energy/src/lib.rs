//! Energy and power of a run: joules and watts by component, from counters and an energy preset.
//!
//! The model is that of GPUWattch (Leng et al., ISCA 2013) and AccelWattch (Kandiah et al., MICRO
//! 2021): every counted event costs a fixed energy, and power that is drawn without events is added
//! over time: idle SMs, static power of active SMs by active lanes, and a constant part. An
//! [`EnergyPreset`] holds the energies and powers of a GPU, each with its source.
//!
//! Invariants: a pure function of its arguments. Components sum to the total, and windows of a run,
//! evaluated at the run's static power, sum to the run.

mod activity;
mod attach;
mod component;
mod evaluate;
mod event;
mod import;
mod preset;
mod print;
mod read;
mod scale;
mod static_power;
#[cfg(test)]
mod tests;
mod xml;

pub use activity::Activity;
pub use attach::{attach, energy_of};
pub use component::Component;
pub use evaluate::{Energy, StaticRate, evaluate, evaluate_at};
pub use event::Event;
pub use import::{Imported, import};
pub use preset::{EnergyPreset, PRESETS, Power, Row, find, for_gpu, named};
pub use read::{EnergyErrors, read};
pub use static_power::{StaticPower, UnitMix};
