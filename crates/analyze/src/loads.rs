//! Steps where loads are the bound: fewer of them, or more at a time.

use crate::accesses::SPREAD;
use crate::advice::{HALF, percent};
use crate::explain::Subject;
use crate::loadstore::Stall;
use warploom_policy::utilisation::Part;

/// Share of the loads that hit in a cache from which data counts as read again.
pub(crate) const AGAIN: f64 = 0.05;

/// Share of the loads that find in L2 what was loaded before from which shared memory is named. It
/// is above a half, which sectors reach that come from DRAM in pairs.
const REREAD: f64 = 0.75;

/// Lines that loads fetch over those of L1D from which it does not keep them.
const SEVERAL: f64 = 2.0;

/// Bytes that a load moves for a full warp with 16 bytes in each lane.
const WIDEST: f64 = 512.0;

impl Subject<'_> {
    /// Step where bytes of loads are too many.
    pub(crate) fn fewer_loads(&self) -> String {
        // What copies left in L2 is not read again.
        let copied = self.facts.copied.unwrap_or(0.0);
        let l2 = self.facts.l2_reread;
        let l1d = self.facts.l1d_reads;
        let again = |share: Option<f64>| share.is_some_and(|share| share >= AGAIN);
        let hits = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
        let found = format!(
            "with lines that are on their way, L1D hits {} of the loads, L2 {}{}",
            hits(l1d),
            hits(l2),
            match copied > 0.0 {
                true => " beside what copies left there",
                false => "",
            }
        );
        if again(l1d) {
            format!(
                "load less: keep data that is read again in registers or shared memory ({found})"
            )
        } else if again(l2) {
            format!(
                "load less: if data is read again, keep it in registers or shared memory; else use \
                 smaller types ({found})"
            )
        } else {
            format!(
                "load fewer bytes, for example smaller types; hardly a line is read again ({found})"
            )
        }
    }

    /// Step where loads take long: against what makes them slow, or else more of them at a time.
    pub(crate) fn faster_loads(&self) -> String {
        let used = &self.analysis.utilisation;
        let memory = [Part::Dram, Part::NocToSm];
        let nearer = |a: &Part, b: &Part| used.of(*a).total_cmp(&used.of(*b));
        let nearest = memory.into_iter().max_by(nearer);
        if self.facts.scattered().is_some() {
            return self.fewer_transactions();
        }
        if let Some(step) = self.fewer_local_loads() {
            return step;
        }
        match (self.slow_shared(), nearest) {
            // Loads are no faster without the turns of atomics.
            (Some(wait), _) if wait.is_atomic => {
                format!("{}; then {}", self.more_loads(), wait.remedy())
            }
            (Some(wait), _) => format!("{}; then {}", wait.remedy(), self.more_loads()),
            (None, Some(part)) if self.facts.queueing > HALF => self.less_traffic(part),
            _ => self.more_loads(),
        }
    }

    /// Step that has more loads in flight: more warps, or wider loads.
    fn more_loads(&self) -> String {
        let load = self.facts.accesses.iter().find(|kind| kind.is_load());
        let narrow = load.filter(|kind| kind.spread() < SPREAD && 2.0 * kind.bytes <= WIDEST);
        let wider = narrow.map_or_else(String::new, |kind| {
            format!(
                "; or load wider words, such as `float4` or `uint4` (a load of a warp moves {:.0} \
                 bytes, of up to {WIDEST:.0})",
                kind.bytes
            )
        });
        format!("{}{wider}{}", self.more_warps(), self.nearer_in_words())
    }

    /// Share of the loads that miss in L1D and find in L2 what was loaded before, where misses fill
    /// L1D although its loads use only parts of lines: these leave it before their other words are
    /// used.
    pub(crate) fn fetched_again(&self) -> Option<f64> {
        let unit = self.unit?;
        let of_misses = matches!(unit.stall, Stall::Mshrs | Stall::MissQueue | Stall::Cache);
        let of_loads = unit.stage == "global_load" && !unit.is_atomic;
        let scattered = self.facts.scattered();
        let in_parts = scattered.is_some_and(|kind| kind.is_load() && !kind.are_local());
        let is_lost = self.facts.l1d_reads.is_some_and(|share| share < HALF) && self.fills_l1d();
        let again = self.facts.l2_reread.filter(|&share| share >= REREAD);
        again.filter(|_| of_misses && of_loads && in_parts && is_lost)
    }

    /// True if loads fetch several times as many lines as all L1D hold.
    fn fills_l1d(&self) -> bool {
        let spec = self.machine.spec;
        let lines = spec.gpu.sms * spec.l1d.sets * spec.l1d.ways;
        let misses = self.figures.statistics.get("l1d.accesses.miss.global_read");
        let misses = misses.copied().unwrap_or(0) as f64;
        misses > SEVERAL * f64::from(lines)
    }

    /// Clause on data that loads find in L2, unless the host's copies left it there.
    fn nearer_in_words(&self) -> String {
        let again = self.facts.l2_reread.filter(|&share| share >= REREAD);
        again.map_or_else(String::new, |share| {
            format!(
                "; or, where threads of a block load the same data, let them share it in shared \
                 memory ({} of the loads that come to L2 find there what was loaded before{})",
                percent(share),
                match self.analysis.launches {
                    1 => "",
                    _ => ", by this launch or an earlier one",
                }
            )
        })
    }
}
