//! Sharing of lines between blocks, measured in an execution, and the resulting type (Table 5.1).
//!
//! The thesis gives no rule. Types here follow from shares of the lines that blocks touch: with the
//! next block, with the block one row of the grid below, and with none of these. A workload without
//! inter-block locality (less than a tenth of the lines are shared with another block) has Type
//! III. A workload dominated by row-major access (adjacent blocks share more than twice as many
//! lines as blocks a row apart or farther apart) has Type I. All others are mixtures and have Type
//! II. The two thresholds are ours and were set before anything was measured.

use super::{GPU, WORKLOADS};
use crate::figure::Request;
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use warploom_stats::result::Sharing;

/// Share of lines below which there is no locality between blocks.
pub(super) const NONE: f64 = 0.1;
/// Ratio by which sharing with the next block exceeds any other sharing, if rows dominate.
pub(super) const DOMINATES: f64 = 2.0;

/// Sharing between blocks of a workload.
pub(super) struct Behaviour {
    pub name: &'static str,
    pub sharing: Sharing,
}

impl Behaviour {
    pub fn share(&self, lines: u64) -> f64 {
        match self.sharing.lines {
            0 => 0.0,
            all => lines as f64 / all as f64,
        }
    }

    /// The workload's type by the rule above: 1, 2 or 3.
    pub fn kind(&self) -> usize {
        let Sharing {
            shared,
            with_next,
            with_below,
            far,
            ..
        } = self.sharing;
        let other = self.share(with_below.max(far));
        if self.share(shared) < NONE {
            3
        } else if self.share(with_next) > DOMINATES * other {
            1
        } else {
            2
        }
    }
}

/// Behaviour of every workload, or `None` while runs are missing.
pub(super) fn behaviours(request: &Request, runs: &mut Runs<'_>) -> Option<Vec<Behaviour>> {
    let machine = MachineVariant::preset("execution", GPU, &[]);
    let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
    let spec = |target: &str| {
        let input = Input::workload(target, request.scale.size(), SEED);
        let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
        RunSpec {
            sharing: true,
            ..RunSpec::new(&input, &machine)
        }
    };
    let specs: Vec<_> = WORKLOADS.iter().map(|w| spec(w.target)).collect();
    let reports = runs.all(&specs)?;
    let rows = WORKLOADS.iter().zip(&reports);
    let behaviour = rows.map(|(workload, report)| Behaviour {
        name: workload.name,
        sharing: report.sharing.expect("the run was asked for it"),
    });
    Some(behaviour.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(shared: u64, with_next: u64, with_below: u64, far: u64) -> usize {
        let sharing = Sharing {
            lines: 100,
            shared,
            with_next,
            with_below,
            far,
        };
        Behaviour { name: "x", sharing }.kind()
    }

    #[test]
    fn types_follow_from_what_blocks_share() {
        assert_eq!(kind(9, 9, 0, 0), 3);
        assert_eq!(kind(10, 10, 0, 0), 1);
        assert_eq!(kind(50, 41, 20, 0), 1);
        assert_eq!(kind(50, 40, 20, 0), 2);
        assert_eq!(kind(50, 0, 40, 0), 2);
        assert_eq!(kind(50, 40, 0, 20), 2);
    }
}
