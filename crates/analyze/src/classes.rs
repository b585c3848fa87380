//! Categories of kernels, by the part of the machine that bounds them (section 4.2).

use serde::Serialize;
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::{Part, Utilisation};

/// Bottleneck of a kernel: one of the five categories of section 4.2, or of two for the ports of
/// the caches, for which Table 3 has thresholds that none of the paper's kernels reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// The warp schedulers: the kernel is compute-intensive.
    Compute,
    /// Interconnect from L2 to the SMs.
    L2ToSm,
    /// Interconnect from the SMs to L2.
    SmToL2,
    /// Data buses of DRAM.
    Dram,
    /// The data port of L1D, and none of the parts above.
    L1d,
    /// The data ports of L2, and none of the parts above.
    L2,
    /// No part bounds the kernel: there are too few warps to use any fully.
    Underutilised,
}

impl Category {
    /// Name of the category in results.
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

    /// Category of a kernel that a part bounds.
    pub(crate) const fn of_part(part: Part) -> Self {
        match part {
            Part::Scheduler => Self::Compute,
            Part::NocToSm => Self::L2ToSm,
            Part::NocToL2 => Self::SmToL2,
            Part::Dram => Self::Dram,
            Part::L1d => Self::L1d,
            Part::L2 => Self::L2,
        }
    }

    /// Category of the most utilised part among those above their lower threshold. The port of a
    /// cache counts only where no other part is above.
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

/// Category of the most utilised part above its threshold; the first of equal ones.
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

#[cfg(test)]
mod tests {
    use super::{Category, Part, Utilisation, thresholds};

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
            assert_eq!(Category::of_part(part), category);
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
