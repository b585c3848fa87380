//! Costs of figures at scale `paper`. `cargo xtask costs` computes the table from the stored
//! figures and from recorded times of their runs.

/// Table of costs, with one line for each figure.
const TABLE: &str = include_str!("../data/costs.csv");

/// Source of a figure's processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostBasis {
    /// Cycles and instructions of the stored runs, with the speed of all runs of the paper.
    Computed,
    /// Processor time of the figure, made alone.
    Measured,
    /// Cycles of the stored runs, with the speed of a measured figure of the same programs.
    Scaled,
}

impl CostBasis {
    const ALL: [Self; 3] = [Self::Computed, Self::Measured, Self::Scaled];

    /// Name of the basis.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computed => "computed",
            Self::Measured => "measured",
            Self::Scaled => "scaled",
        }
    }
}

/// Cost of a figure at scale `paper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Number of runs of the figure.
    pub runs: u32,
    /// Processor time of all runs in minutes; of the figure itself if it needs no runs.
    pub minutes: f64,
    /// Source of the time.
    pub basis: CostBasis,
}

/// Cost of the figure with this full name, such as `duet/fig3b`, if it was stored.
pub fn cost(figure: &str) -> Option<Cost> {
    let row = TABLE.lines().find_map(|line| {
        let (name, rest) = line.split_once(',')?;
        (name == figure).then_some(rest)
    })?;
    let mut cells = row.split(',');
    let (runs, minutes, basis) = (cells.next()?, cells.next()?, cells.next()?);
    Some(Cost {
        runs: runs.parse().ok()?,
        minutes: minutes.parse().ok()?,
        basis: CostBasis::ALL.into_iter().find(|of| of.name() == basis)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{CostBasis, TABLE, cost};
    use crate::figures::find;

    #[test]
    fn every_line_is_the_cost_of_a_figure() {
        let mut lines = TABLE.lines();
        assert_eq!(lines.next(), Some("figure,runs,minutes,basis"));
        for line in lines {
            let (name, _) = line.split_once(',').unwrap();
            assert!(find(name).is_ok(), "{name}");
            let cost = cost(name).unwrap_or_else(|| panic!("{line}"));
            assert!(cost.minutes >= 0.0, "{line}");
        }
        assert_eq!(cost("duet/table4").map(|cost| cost.runs), Some(0));
        // CFD alone costs more for a cycle than CRAT's other programs: a figure with all of the
        // runs of another one does not cost less.
        let [whole, part] = ["crat/fig2", "crat/fig3"].map(|name| cost(name).unwrap());
        assert_eq!(
            (whole.basis, part.basis),
            (CostBasis::Scaled, CostBasis::Measured)
        );
        assert!(whole.runs > part.runs && whole.minutes > part.minutes);
        assert_eq!(cost("figure"), None);
        assert_eq!(cost("duet/fig99"), None);
    }
}
