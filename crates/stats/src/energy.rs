//! Energy and power in the results of runs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warploom_state::Value;

/// Energy and mean power of a run or of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Value)]
pub struct EnergyReport {
    /// Name of the energy preset.
    pub preset: String,
    /// Time in seconds, at the core clock.
    pub seconds: f64,
    /// Energy of the whole run or launch in joules.
    pub joules: f64,
    /// Mean power in watts.
    pub watts: f64,
    /// Energy times time, in joule seconds.
    pub energy_delay: f64,
    /// Share of the energy that does not depend on events: static, idle and constant power.
    pub static_share: f64,
    /// Joules by component, those that used none left out.
    pub components: BTreeMap<String, f64>,
}
