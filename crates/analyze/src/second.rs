//! The bound that comes close to the first one, so that both are told.

use crate::advice::{HALF, percent};
use crate::classes::Category;
use crate::explain::Subject;
use crate::verdict::{Bound, CAUSES, Evidence, SHARED_BUSY, issuing};
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::Part;

/// Share of the SMs' cycles without a block from which these are told beside a part.
const LONG: f64 = 0.1;
/// Ratio to the first bound from which another one comes close.
const CLOSE: f64 = 0.8;

impl Evidence<'_> {
    /// The bound that comes close to `first`: a part that is nearly as close to its saturation and
    /// above its lower threshold, the latency of loads beside a part that is not saturated, a cause
    /// of nearly as many cycles, or what bounds the SMs that hold a block if they do so for nearly
    /// as long as they hold none. Idle SMs are it where a part comes first that is full on those
    /// that hold a block.
    pub(crate) fn second(&self, first: Bound) -> Option<Bound> {
        match first {
            Bound::IdleSms => {
                let active = self.active();
                (active >= CLOSE * (1.0 - active)).then(|| self.bound_within_sms())
            }
            Bound::Part(_) | Bound::Shared | Bound::LoadStore if self.is_long_idle() => {
                Some(Bound::IdleSms)
            }
            Bound::Part(_) | Bound::Shared => self
                .second_part(first)
                .or_else(|| self.lines_beside(first))
                .or_else(|| self.latency_beside(first)),
            Bound::LoadStore => self
                .part_beside_lines()
                .or_else(|| self.second_cause(first)),
            cause => self.second_cause(cause),
        }
    }

    /// True if SMs hold no block for longer than schedulers wait for anything else, and for long
    /// enough to be told.
    fn is_long_idle(&self) -> bool {
        self.is_idle() && self.idle_after_launch() > LONG
    }

    /// Load/store units whose loads find no line in their set of L1D, beside a part that the
    /// misses fill.
    fn lines_beside(&self, first: Bound) -> Option<Bound> {
        let Bound::Part(part) = first else {
            return None;
        };
        self.lacks_lines(part).then_some(Bound::LoadStore)
    }

    /// The part that misses fill, where load/store units whose loads find no line come first.
    fn part_beside_lines(&self) -> Option<Bound> {
        let part = Category::of(self.with_blocks).part()?;
        self.lacks_lines(part).then_some(Bound::Part(part))
    }

    fn second_part(&self, first: Bound) -> Option<Bound> {
        let others = Part::ALL.into_iter().map(Bound::Part);
        let others = others.chain([Bound::Shared]).filter(|of| *of != first);
        let (fullest, load) = others
            .filter_map(|of| Some((of, self.load(of)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let [used, _, full] = self.measure(first)?;
        (load >= CLOSE * used / full).then_some(fullest)
    }

    /// The latency of loads, where schedulers wait for loads in most cycles although the part that
    /// bounds the kernel is not saturated.
    fn latency_beside(&self, first: Bound) -> Option<Bound> {
        let [used, _, full] = self.measure(first)?;
        (used < full && Bound::Loads.waits(self.figures) > HALF).then_some(Bound::Loads)
    }

    /// Use of a part while SMs hold blocks, as a share of that at which it is saturated. `None`
    /// below its lower threshold.
    fn load(&self, bound: Bound) -> Option<f64> {
        let [used, high, full] = self.measure(bound)?;
        (used > high).then_some(used / full)
    }

    /// Use of a part while SMs hold blocks, its lower threshold, and the use at which it is
    /// saturated. `None` for a bound that is no part.
    fn measure(&self, bound: Bound) -> Option<[f64; 3]> {
        match bound {
            Bound::Shared => Some([self.with_blocks.shared, SHARED_BUSY, 1.0]),
            Bound::Part(part) => {
                let limits = thresholds(part);
                let used = self.used_with_blocks(part);
                Some([used, limits.high, limits.saturated])
            }
            _ => None,
        }
    }

    /// Use of a part while SMs hold blocks. Schedulers count by the cycles in which they issue.
    fn used_with_blocks(&self, part: Part) -> f64 {
        let issued = issuing(self.used, self.figures) / self.active();
        match part {
            Part::Scheduler => issued.min(1.0).max(self.with_blocks.scheduler),
            part => self.with_blocks.of(part),
        }
    }

    /// The cause of nearly as many cycles as `first`, if that is the largest one.
    fn second_cause(&self, first: Bound) -> Option<Bound> {
        let named = |cause: Bound| match cause {
            Bound::Barriers => self.at_barrier(),
            cause => cause,
        };
        let mut causes = CAUSES.map(|cause| (named(cause), cause.waits(self.figures)));
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(largest, most), (next, cycles), ..] = causes;
        (largest == first && cycles >= CLOSE * most && cycles > 0.0).then_some(next)
    }
}

impl Subject<'_> {
    /// Sentence on the bound that comes close to the first one, unless the first sentence has it.
    pub(crate) fn close_in_words(&self, first: Bound) -> String {
        let Some(second) = self
            .analysis
            .bound_beside
            .filter(|_| first != Bound::IdleSms)
        else {
            return String::new();
        };
        let used = &self.analysis.utilisation_with_blocks;
        let how = match second {
            Bound::Part(part) => {
                let evidence = self.evidence();
                format!(
                    "{} used while SMs hold blocks, full from {} on",
                    percent(evidence.used_with_blocks(part)),
                    percent(thresholds(part).saturated)
                )
            }
            Bound::Shared => format!("busy for {} while SMs hold blocks", percent(used.shared)),
            Bound::IdleSms => format!(
                "they hold none in {} of their cycles",
                percent(1.0 - self.facts.active.unwrap_or(0.0))
            ),
            cause => format!(
                "{} of the scheduler cycles",
                percent(cause.waits(self.figures))
            ),
        };
        format!(" Close behind: {} ({how}).", second.name())
    }
}
