//! Compares the figures of both simulators with their bounds.

use serde::Serialize;

use super::counts::{CacheCounts, Counts};

/// Largest permitted mean of the cycles' absolute differences, as a share.
pub const MEAN_CYCLES: f64 = 0.06;

/// Permitted difference of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bound {
    /// No difference at all.
    Equal,
    /// A share of GPGPU-Sim's figure.
    Share(f64),
    /// An absolute difference, of figures that are shares.
    Points(f64),
    /// No bound: the figure is only shown.
    Free,
}

/// Unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A number of events.
    Count,
    /// A share from 0 to 1.
    Share,
}

/// Definition of a figure of [`Counts`].
struct Row {
    name: &'static str,
    unit: Unit,
    bound: Bound,
    of: fn(&Counts) -> Option<f64>,
}

const fn count(name: &'static str, bound: Bound, of: fn(&Counts) -> Option<f64>) -> Row {
    let unit = Unit::Count;
    Row {
        name,
        unit,
        bound,
        of,
    }
}

const fn share(name: &'static str, bound: Bound, of: fn(&Counts) -> Option<f64>) -> Row {
    let unit = Unit::Share;
    Row {
        name,
        unit,
        bound,
        of,
    }
}

/// Name of the row with cycles.
pub const CYCLES: &str = "cycles";
const HITS: Bound = Bound::Points(0.03);
const TRAFFIC: Bound = Bound::Share(0.05);

/// The figures that are compared, in the order of the page.
static ROWS: &[Row] = &[
    count("blocks per SM", Bound::Equal, |c| number(c.blocks_per_sm)),
    count("thread instructions", Bound::Equal, |c| {
        number(c.thread_instructions)
    }),
    count("warp instructions", Bound::Equal, |c| {
        number(c.warp_instructions)
    }),
    count(CYCLES, Bound::Share(0.10), |c| number(c.cycles)),
    count("L1D accesses", Bound::Free, |c| number(c.l1d.accesses)),
    share("L1D hit rate", HITS, |c| hit_rate(&c.l1d)),
    share("L1D miss rate", HITS, |c| miss_rate(&c.l1d)),
    count("L1D failed attempts", Bound::Free, |c| {
        number(c.l1d.failed_attempts)
    }),
    count("L1I accesses", Bound::Free, |c| number(c.l1i.accesses)),
    count("L1I misses", Bound::Free, |c| number(c.l1i.misses)),
    count("L1C accesses", Bound::Free, |c| number(c.l1c.accesses)),
    count("L1C misses", Bound::Free, |c| number(c.l1c.misses)),
    count("L2 accesses", Bound::Free, |c| number(c.l2.accesses)),
    share("L2 hit rate", HITS, |c| hit_rate(&c.l2)),
    share("L2 miss rate", HITS, |c| miss_rate(&c.l2)),
    count("DRAM reads", TRAFFIC, |c| number(c.dram.reads)),
    count("DRAM writes", TRAFFIC, |c| number(c.dram.writes)),
    count("DRAM activates", Bound::Free, |c| number(c.dram.activates)),
    share("row-buffer locality", Bound::Free, |c| c.dram.row_locality),
    share("DRAM utilisation", Bound::Free, |c| {
        Some(c.dram.utilisation)
    }),
    count("slots idle", Bound::Free, |c| number(c.slots.idle)),
    count("slots scoreboard", Bound::Free, |c| {
        number(c.slots.scoreboard)
    }),
    count("slots stall", Bound::Free, |c| number(c.slots.stall)),
    count("DRAM full", Bound::Free, |c| number(c.dram_full_stalls)),
    count("stalled replies", Bound::Free, |c| number(c.reply_stalls)),
    count("flits to memory", Bound::Free, |c| {
        number(c.flits.to_memory)
    }),
    count("flits from memory", Bound::Free, |c| {
        number(c.flits.from_memory)
    }),
];

fn number(value: u64) -> Option<f64> {
    Some(value as f64)
}

fn hit_rate(cache: &CacheCounts) -> Option<f64> {
    (cache.accesses > 0).then(|| cache.hits as f64 / cache.accesses as f64)
}

fn miss_rate(cache: &CacheCounts) -> Option<f64> {
    (cache.accesses > 0).then(|| cache.misses as f64 / cache.accesses as f64)
}

/// A figure of both simulators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name of the figure.
    pub name: &'static str,
    /// Unit of both values.
    pub unit: Unit,
    /// Value of GPGPU-Sim, if defined.
    pub theirs: Option<f64>,
    /// Value of Warploom, if defined.
    pub ours: Option<f64>,
    /// Our value minus theirs: for counts as a share of theirs, for shares as the difference.
    /// `None` if it is undefined.
    pub difference: Option<f64>,
    /// Permitted difference, in the unit of `difference`. `None` for figures without a bound.
    pub bound: Option<f64>,
    /// True if the difference exceeds the bound.
    pub outside: bool,
}

/// Comparison of a kernel on a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// GPGPU-Sim's name of the configuration.
    pub configuration: String,
    /// Name of the machine on which our kernel ran.
    pub machine: String,
    /// Name of the kernel's workload.
    pub workload: String,
    /// Digest of our run.
    pub digest: String,
    /// Figures of both simulators.
    pub figures: Vec<Figure>,
}

impl Comparison {
    /// Figure with the given name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// All figures of both simulators.
pub fn figures(theirs: &Counts, ours: &Counts) -> Vec<Figure> {
    let figure = |row: &Row| row.figure((row.of)(theirs), (row.of)(ours));
    ROWS.iter().map(figure).collect()
}

impl Row {
    fn figure(&self, theirs: Option<f64>, ours: Option<f64>) -> Figure {
        let difference = difference(self.unit, theirs, ours);
        let bound = match self.bound {
            Bound::Equal => Some(0.0),
            Bound::Share(bound) | Bound::Points(bound) => Some(bound),
            Bound::Free => None,
        };
        let within = |bound: f64| match difference {
            Some(difference) => difference.abs() <= bound,
            None => theirs == ours,
        };
        Figure {
            name: self.name,
            unit: self.unit,
            theirs,
            ours,
            difference,
            bound,
            outside: !bound.is_none_or(within),
        }
    }
}

fn difference(unit: Unit, theirs: Option<f64>, ours: Option<f64>) -> Option<f64> {
    let (theirs, ours) = (theirs?, ours?);
    match unit {
        Unit::Share => Some(ours - theirs),
        Unit::Count if theirs == ours => Some(0.0),
        Unit::Count => (theirs != 0.0).then(|| (ours - theirs) / theirs),
    }
}

/// Mean of the cycles' absolute differences. `None` without comparisons.
pub fn mean_cycle_error(comparisons: &[&Comparison]) -> Option<f64> {
    let cycles = comparisons.iter().filter_map(|c| c.figure(CYCLES));
    let errors: Vec<_> = cycles.filter_map(|f| f.difference).map(f64::abs).collect();
    (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Figure, figures, mean_cycle_error};
    use crate::fidelity::counts::{Counts, recorded};

    fn vecadd() -> Counts {
        recorded().unwrap().runs.swap_remove(0).counts
    }

    fn figure(change: impl FnOnce(&mut Counts), name: &str) -> Figure {
        let mut ours = vecadd();
        change(&mut ours);
        let figures = figures(&vecadd(), &ours);
        figures.into_iter().find(|f| f.name == name).unwrap()
    }

    #[test]
    fn equal_counts_are_inside() {
        let figures = figures(&vecadd(), &vecadd());
        assert!(figures.iter().all(|f| !f.outside));
        assert!(figures.iter().all(|f| f.difference == Some(0.0)));
    }

    #[test]
    fn a_bound_holds_up_to_its_value() {
        let cycles = |cycles: u64| figure(|c| c.cycles = cycles, "cycles").outside;
        // GPGPU-Sim's 85,737 cycles and a tenth of them.
        assert_eq!((cycles(94_310), cycles(94_311)), (false, true));
        assert_eq!((cycles(77_164), cycles(77_163)), (false, true));
        assert!(figure(|c| c.warp_instructions += 1, "warp instructions").outside);
        let hits = |hits| figure(|c| c.l1d.hits = hits, "L1D hit rate").outside;
        // 3 points of 98,304 accesses are 2,949.
        assert_eq!((hits(2_949), hits(2_950)), (false, true));
        assert!(!figure(|c| c.slots.idle *= 3, "slots idle").outside);
    }

    #[test]
    fn nothing_there_and_something_here_is_outside() {
        let mut theirs = vecadd();
        theirs.dram.reads = 0;
        let reads = |ours: u64| {
            let mut counts = vecadd();
            counts.dram.reads = ours;
            let figures = figures(&theirs, &counts);
            figures
                .into_iter()
                .find(|f| f.name == "DRAM reads")
                .unwrap()
        };
        assert_eq!((reads(1).difference, reads(1).outside), (None, true));
        assert_eq!((reads(0).difference, reads(0).outside), (Some(0.0), false));
    }

    #[test]
    fn the_mean_takes_both_directions_alike() {
        let comparison = |cycles| {
            let mut ours = vecadd();
            ours.cycles = cycles;
            Comparison {
                configuration: String::new(),
                machine: String::new(),
                workload: String::new(),
                digest: String::new(),
                figures: figures(&vecadd(), &ours),
            }
        };
        let (slow, fast) = (comparison(85_737 * 11 / 10), comparison(85_737 * 9 / 10));
        let mean = mean_cycle_error(&[&slow, &fast]).unwrap();
        assert!((mean - 0.1).abs() < 1e-5, "{mean}");
        assert_eq!(mean_cycle_error(&[]), None);
    }
}
