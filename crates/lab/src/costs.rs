//! Costs of figures at scale `paper`. `cargo xtask costs` computes the table from the stored
//! figures and from recorded times of their runs.

/// Table of costs, with one line for each figure.
const TABLE: &str = include_str!("../data/costs.csv");

/// Cost of a figure at scale `paper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Number of runs of the figure.
    pub runs: u32,
    /// Processor time of all runs in minutes; of the figure itself if it needs no runs.
    pub minutes: f64,
}

/// Cost of the figure with this full name, such as `duet/fig3b`, if it was stored.
pub fn cost(figure: &str) -> Option<Cost> {
    let row = TABLE.lines().find_map(|line| {
        let (name, rest) = line.split_once(',')?;
        (name == figure).then_some(rest)
    })?;
    let mut cells = row.split(',');
    Some(Cost {
        runs: cells.next()?.parse().ok()?,
        minutes: cells.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{TABLE, cost};
    use crate::figures::find;

    #[test]
    fn every_line_is_the_cost_of_a_figure() {
        let mut lines = TABLE.lines();
        assert_eq!(lines.next(), Some("figure,runs,minutes"));
        for line in lines {
            let (name, _) = line.split_once(',').unwrap();
            assert!(find(name).is_ok(), "{name}");
            let cost = cost(name).unwrap_or_else(|| panic!("{line}"));
            assert!(cost.minutes >= 0.0, "{line}");
        }
        assert_eq!(cost("duet/table4").map(|cost| cost.runs), Some(0));
        assert_eq!(cost("figure"), None);
        assert_eq!(cost("duet/fig99"), None);
    }
}
