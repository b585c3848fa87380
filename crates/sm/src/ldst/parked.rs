//! Parked loads: accesses of the data cache that were refused are set aside, so that the accesses
//! behind them go by, and are executed again (docs/model/load-store.md, Parked loads).
//!
//! A load is parked if the data cache refuses it, or if it would send a miss and its warp may not
//! (`WarpScheduler::may_miss`). The parked loads are tried again, one a cycle, once the data cache
//! has taken a reply, sent a miss or freed an MSHR, or once one of their warps may miss. A load
//! that is refused again goes to the end. A warp has one parked load, and its later accesses wait
//! for it.
//!
//! Whether a load would send a miss is looked up once, and again only after an access of its line
//! that the data cache may have kept or asked for.
//!
//! Nothing can change for parked loads that are not due, so that an SM may sleep while it has some,
//! and while those that are due would send misses that they may not.

use crate::flight::MemId;
use warploom_base::FixedQueue;
use warploom_config::{GpuSpec, SmSpec};
use warploom_policy::WarpMask;
use warploom_state::State;

/// Most parked loads of an SM, whatever the policy asks for.
const MOST: usize = 32;

/// Place of a load that is not parked.
pub(super) const NO_PLACE: u8 = MOST as u8;

/// Stands for no line, whose address would have no bits within a line.
const NO_LINE: u64 = u64::MAX;

/// The loads that are parked in a load/store unit.
#[derive(Debug, State)]
pub(super) struct ParkedLoads {
    pub(super) queue: FixedQueue<MemId>,
    /// Warps of these loads, by slots, where no contexts are switched: a warp has one such load.
    pub(super) warps: WarpMask,
    /// Number of loads, from the front on, that have not been tried since something changed.
    pub(super) due: usize,
    /// Warps that could send misses when it was looked at last, as `Sm::may_miss` tells.
    pub(super) may_miss: WarpMask,
    /// By a load's place (`MemInst::parked_at`): the line of its next access, if the data cache is
    /// known not to have it.
    missing: [u64; MOST],
    /// Places that loads have, as a mask.
    places: u32,
    /// Number of loads that the policies of the SM let park; 0 if none is parked.
    #[state(fixed)]
    entries: usize,
}

impl ParkedLoads {
    /// A queue without loads, for as many as policies `ask` for. Loads can be parked where all of
    /// them look up the data cache's tags at once.
    pub(super) fn new(spec: &GpuSpec, ask: u32) -> Self {
        let SmSpec {
            l1d_latency_cycles,
            global_skips_l1d,
            ..
        } = spec.sm;
        let at_once = l1d_latency_cycles == 0 && !global_skips_l1d;
        Self {
            queue: FixedQueue::new(MOST),
            warps: 0,
            due: 0,
            may_miss: !0,
            missing: [NO_LINE; MOST],
            places: 0,
            entries: match at_once && spec.l1d.enabled {
                true => (ask as usize).min(MOST),
                false => 0,
            },
        }
    }

    /// True if policies park loads, or did before the run was forked.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.entries > 0 || !self.is_empty()
    }

    /// True if no load is parked.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// True if another load can be parked.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.entries
    }

    /// Notes that the data cache may take a load that it has refused.
    #[inline]
    pub(super) fn cache_has_changed(&mut self) {
        self.due = self.queue.len();
    }

    /// A free place for a load that is parked.
    pub(super) fn take_place(&mut self) -> u8 {
        let at = self.places.trailing_ones();
        debug_assert!(at < MOST as u32, "the queue has room");
        self.places |= 1 << at;
        self.look_up_again(at as u8);
        at as u8
    }

    /// Gives back the place of a load that is no longer parked.
    pub(super) fn give_place(&mut self, at: u8) {
        self.places &= !(1 << at);
        self.look_up_again(at);
    }

    /// Notes the line that the load at a place misses.
    pub(super) fn note_missing(&mut self, at: u8, line_address: u64) {
        self.missing[usize::from(at)] = line_address;
    }

    /// True if the load at a place is known to miss. False for a load that has none.
    #[inline]
    pub(super) fn is_known_missing(&self, at: u8) -> bool {
        let line = self.missing.get(usize::from(at));
        line.is_some_and(|line| *line != NO_LINE)
    }

    /// Forgets what is known of the load at a place.
    pub(super) fn look_up_again(&mut self, at: u8) {
        self.missing[usize::from(at)] = NO_LINE;
    }

    /// Notes that the data cache may have changed what it holds of a line: loads that missed it
    /// must be looked up again.
    #[inline(never)]
    pub(super) fn line_may_come(&mut self, line_address: u64) {
        for line in &mut self.missing {
            *line |= u64::from(*line == line_address).wrapping_neg();
        }
    }

    /// Lets `cycles` cycles pass in which loads that are due are tried in vain.
    pub(super) fn pass_on_for(&mut self, cycles: u64) {
        let tried = (self.due as u64).min(cycles);
        (0..tried).for_each(|_| self.pass_on());
    }

    /// Moves the first load to the end: it was tried in vain.
    #[inline]
    pub(super) fn pass_on(&mut self) {
        self.due -= 1;
        if let Some(id) = self.queue.pop() {
            self.queue.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loads miss one line and a third another one. Once the first line may come, its two loads
    /// are looked up again. A place that is free again says nothing of its next load.
    #[test]
    fn loads_are_looked_up_again_once_their_line_may_come() {
        let mut parked = ParkedLoads {
            queue: FixedQueue::new(MOST),
            warps: 0,
            due: 0,
            may_miss: !0,
            missing: [NO_LINE; MOST],
            places: 0,
            entries: MOST,
        };
        let places = [(); 3].map(|()| parked.take_place());
        assert_eq!(places, [0, 1, 2]);
        for (at, line) in places.into_iter().zip([0x80, 0x100, 0x80]) {
            assert!(!parked.is_known_missing(at));
            parked.note_missing(at, line);
        }
        let known = |parked: &ParkedLoads| places.map(|at| parked.is_known_missing(at));
        parked.line_may_come(0x180);
        assert_eq!(known(&parked), [true; 3]);
        parked.line_may_come(0x80);
        assert_eq!(known(&parked), [false, true, false]);
        parked.give_place(1);
        assert_eq!(parked.take_place(), 1);
        assert_eq!(known(&parked), [false; 3]);
        assert!(!parked.is_known_missing(NO_PLACE), "not parked");
    }
}
