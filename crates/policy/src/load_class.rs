//! Classes of load: how much room the throughput of the machine leaves for more thread-level
//! parallelism (Lin et al., TACO 2018, Table 3).

use crate::utilisation::{Part, Utilisation};
use serde::Serialize;
use warploom_state::Value;

/// Utilisations from which a part counts as heavily used and as saturated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Limit above which the part may be the bottleneck, and below which it is underutilised.
    pub high: f64,
    /// Limit above which the part is saturated.
    pub saturated: f64,
}

/// Thresholds of a part: Table 3; those of section 4.2 are the same as its lower ones. DRAM's are
/// lower because rows and refresh keep it from its peak.
pub const fn thresholds(part: Part) -> Thresholds {
    let (high, saturated) = match part {
        Part::Scheduler | Part::L1d | Part::L2 => (0.6, 0.8),
        Part::NocToL2 | Part::NocToSm => (0.6, 0.9),
        Part::Dram => (0.5, 0.7),
    };
    Thresholds { high, saturated }
}

/// Class of a machine's load, by Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Value)]
#[serde(rename_all = "kebab-case")]
pub enum LoadClass {
    /// Every part is below its lower threshold.
    Underutilised,
    /// Some part is heavily used, and no part is saturated.
    Moderate,
    /// Some part is above its upper threshold.
    Saturated,
}

impl LoadClass {
    /// Name of the class in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Underutilised => "underutilised",
            Self::Moderate => "moderate",
            Self::Saturated => "saturated",
        }
    }

    /// Class of a machine with these utilisations.
    pub fn of(utilisation: &Utilisation) -> Self {
        let used = |part: &Part| (utilisation.of(*part), thresholds(*part));
        let mut parts = Part::ALL.iter().map(used);
        if parts.clone().any(|(used, at)| used > at.saturated) {
            Self::Saturated
        } else if parts.all(|(used, at)| used < at.high) {
            Self::Underutilised
        } else {
            Self::Moderate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LoadClass;
    use crate::utilisation::{Part, Utilisation};

    fn only(part: Part, used: f64) -> Utilisation {
        let mut all = Utilisation::default();
        match part {
            Part::Scheduler => all.scheduler = used,
            Part::L1d => all.l1d = used,
            Part::L2 => all.l2 = used,
            Part::NocToL2 => all.noc_to_l2 = used,
            Part::NocToSm => all.noc_to_sm = used,
            Part::Dram => all.dram = used,
        }
        all
    }

    /// Table 3, typed again: scheduler 60 and 80%, interconnect 60 and 90, DRAM 50 and 70, L1 and
    /// L2 60 and 80.
    const TABLE_3: [(Part, f64, f64); 6] = [
        (Part::Scheduler, 0.6, 0.8),
        (Part::NocToL2, 0.6, 0.9),
        (Part::NocToSm, 0.6, 0.9),
        (Part::Dram, 0.5, 0.7),
        (Part::L1d, 0.6, 0.8),
        (Part::L2, 0.6, 0.8),
    ];

    #[test]
    fn classes_change_at_the_thresholds_of_table_3() {
        for (part, high, saturated) in TABLE_3 {
            let class = |used| LoadClass::of(&only(part, used));
            assert_eq!(class(high - 1e-9), LoadClass::Underutilised, "{part:?}");
            assert_eq!(class(high), LoadClass::Moderate, "{part:?}: < in the table");
            assert_eq!(
                class(saturated),
                LoadClass::Moderate,
                "{part:?}: > in the table"
            );
            assert_eq!(class(saturated + 1e-9), LoadClass::Saturated, "{part:?}");
        }
        assert_eq!(
            LoadClass::of(&Utilisation::default()),
            LoadClass::Underutilised
        );
    }

    #[test]
    fn one_saturated_part_outweighs_idle_ones() {
        let mut mixed = only(Part::Dram, 0.71);
        assert_eq!(LoadClass::of(&mixed), LoadClass::Saturated);
        mixed.dram = 0.3;
        mixed.l2 = 0.65;
        assert_eq!(LoadClass::of(&mixed), LoadClass::Moderate);
    }
}
