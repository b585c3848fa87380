//! Parked loads: accesses of the data cache that were refused are set aside, so that the accesses
//! behind them go by, and are executed again (docs/model/load-store.md, Parked loads).
//!
//! A load is parked if the data cache refuses it, or if it would send a miss and its warp may not
//! (`WarpScheduler::may_miss`). The parked loads are tried again, one a cycle, once the data cache
//! has taken a reply, sent a miss or freed an MSHR, or once one of their warps may miss. A load
//! that is refused again goes to the end. A warp has one parked load, and its later accesses wait
//! for it.
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

/// The loads that are parked in a load/store unit.
#[derive(Debug, State)]
pub(super) struct ParkedLoads {
    pub(super) queue: FixedQueue<MemId>,
    /// Warps of these loads, by the slots that they had when the queue changed last.
    pub(super) warps: WarpMask,
    /// Number of loads, from the front on, that have not been tried since something changed.
    pub(super) due: usize,
    /// Warps that could send misses when it was looked at last, as `Sm::may_miss` tells.
    pub(super) may_miss: WarpMask,
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

    /// Lets `cycles` cycles pass in which loads that are due are tried in vain.
    pub(super) fn pass_on_for(&mut self, cycles: u64) {
        let due = self.due as u64;
        (0..due.min(cycles)).for_each(|_| self.pass_on());
    }

    /// Moves the first load to the end: it was tried in vain.
    pub(super) fn pass_on(&mut self) {
        self.due -= 1;
        if let Some(id) = self.queue.pop() {
            self.queue.push(id);
        }
    }
}
