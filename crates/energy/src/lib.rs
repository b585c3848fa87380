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
mod preset;
mod read;
mod static_power;
#[cfg(test)]
mod tests;

pub use activity::Activity;
pub use attach::attach;
pub use component::Component;
pub use evaluate::{Energy, StaticRate, evaluate, evaluate_at};
pub use event::Event;
pub use preset::{EnergyPreset, PRESETS, Power, Row, find, for_gpu};
pub use read::{EnergyErrors, read};
pub use static_power::{StaticPower, UnitMix};
