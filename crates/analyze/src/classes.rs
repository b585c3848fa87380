//! Classes of kernels: by the part that bounds them (section 4.2), and by how much room is left for
//! more TLP (Table 3).

use crate::utilisation::{Part, Utilisation};
use serde::Serialize;

/// Utilisations at which a part is thought of as in demand, and as full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Above it the part may be the bottleneck; below it, it is underutilised.
    pub high: f64,
    /// Above it the part is saturated.
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

/// What a kernel is bound by. The five categories of section 4.2, and two for the caches' ports,
/// which Table 3 has thresholds for and none of the paper's kernels reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Compute-intensive: the schedulers.
    Compute,
    /// Interconnect from L2 to the SMs.
    L2ToSm,
    /// Interconnect from the SMs to L2.
    SmToL2,
    /// DRAM.
    Dram,
    /// The data port of L1D, and nothing of the above.
    L1d,
    /// The data ports of L2, and nothing of the above.
    L2,
    /// Nothing: too few warps to use any part.
    Underutilised,
}

impl Category {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::L2ToSm => "l2-to-sm",
            Self::SmToL2 => "sm-to-l2",
            Self::Dram => "dram",
            Self::L1d => "l1d",
            Self::L2 => "l2",
            Self::Underutilised => "underutilised",
        }
    }

    /// The part that bounds the kernel.
    pub const fn part(self) -> Option<Part> {
        match self {
            Self::Compute => Some(Part::Scheduler),
            Self::L2ToSm => Some(Part::NocToSm),
            Self::SmToL2 => Some(Part::NocToL2),
            Self::Dram => Some(Part::Dram),
            Self::L1d => Some(Part::L1d),
            Self::L2 => Some(Part::L2),
            Self::Underutilised => None,
        }
    }

    /// Of the parts above their lower threshold, the most utilised one; a cache's port only where
    /// no other part is.
    pub fn of(utilisation: &Utilisation) -> Self {
        const PAPER: [Category; 4] = [
            Category::Compute,
            Category::L2ToSm,
            Category::SmToL2,
            Category::Dram,
        ];
        const CACHES: [Category; 2] = [Category::L1d, Category::L2];
        most_utilised(&PAPER, utilisation)
            .or_else(|| most_utilised(&CACHES, utilisation))
            .unwrap_or(Self::Underutilised)
    }
}

/// Of equally utilised parts, the first.
fn most_utilised(among: &[Category], utilisation: &Utilisation) -> Option<Category> {
    let mut most: Option<(Category, f64)> = None;
    for &category in among {
        let Some(part) = category.part() else {
            continue;
        };
        let used = utilisation.of(part);
        let more = most.is_none_or(|(_, highest)| used > highest);
        if used > thresholds(part).high && more {
            most = Some((category, used));
        }
    }
    most.map(|(category, _)| category)
}

/// Room for more TLP: Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Every part is below its lower threshold.
    Underutilised,
    /// Neither of the others.
    Moderate,
    /// Some part is above its upper threshold.
    Saturated,
}

impl Class {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Underutilised => "underutilised",
            Self::Moderate => "moderate",
            Self::Saturated => "saturated",
        }
    }

    /// The class of utilisations.
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
    use super::{Category, Class, thresholds};
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
            let class = |used| Class::of(&only(part, used));
            assert_eq!(class(high - 1e-9), Class::Underutilised, "{part:?}");
            assert_eq!(class(high), Class::Moderate, "{part:?}: < in the table");
            assert_eq!(
                class(saturated),
                Class::Moderate,
                "{part:?}: > in the table"
            );
            assert_eq!(class(saturated + 1e-9), Class::Saturated, "{part:?}");
        }
        assert_eq!(Class::of(&Utilisation::default()), Class::Underutilised);
    }

    #[test]
    fn one_saturated_part_outweighs_idle_ones() {
        let mut mixed = only(Part::Dram, 0.71);
        assert_eq!(Class::of(&mixed), Class::Saturated);
        mixed.dram = 0.3;
        mixed.l2 = 0.65;
        assert_eq!(Class::of(&mixed), Class::Moderate);
    }

    #[test]
    fn a_part_bounds_from_above_its_lower_threshold() {
        let expected = [
            (Part::Scheduler, Category::Compute),
            (Part::NocToSm, Category::L2ToSm),
            (Part::NocToL2, Category::SmToL2),
            (Part::Dram, Category::Dram),
            (Part::L1d, Category::L1d),
            (Part::L2, Category::L2),
        ];
        for (part, category) in expected {
            let high = thresholds(part).high;
            assert_eq!(Category::of(&only(part, high)), Category::Underutilised);
            assert_eq!(Category::of(&only(part, high + 1e-9)), category);
            assert_eq!(category.part(), Some(part));
        }
    }

    #[test]
    fn the_most_utilised_part_names_the_category() {
        let mut both = only(Part::Scheduler, 0.7);
        both.dram = 0.55;
        assert_eq!(Category::of(&both), Category::Compute);
        both.dram = 0.71;
        assert_eq!(Category::of(&both), Category::Dram);
        both.l2 = 0.9;
        assert_eq!(
            Category::of(&both),
            Category::Dram,
            "the paper's categories first"
        );
    }
}
