//! Activities of warps, recorded whenever they change.

use super::Sm;
use crate::tracing::Tracer;
use warploom_base::Cycle;
use warploom_policy::WarpMask;
use warploom_stats::trace::{Activity, TraceEvent};

impl Sm {
    /// Records the activities of warps from now on.
    pub fn record_trace(&mut self) {
        let rows = self
            .context
            .as_ref()
            .map_or(self.warps.slots(), |c| c.count());
        self.at_rest = false;
        self.tracer = Some(Box::new(Tracer {
            last: vec![(Activity::None, 0, 0); rows],
            events: Vec::new(),
        }));
    }

    /// Takes everything that was recorded, oldest first.
    pub fn take_trace(&mut self) -> Vec<TraceEvent> {
        let tracer = self.tracer.as_mut();
        tracer.map_or(Vec::new(), |tracer| std::mem::take(&mut tracer.events))
    }

    /// Records the activities that have changed, at the end of a cycle.
    #[cold]
    pub(crate) fn note_activities(&mut self, now: Cycle) {
        let Some(mut tracer) = self.tracer.take() else {
            return;
        };
        for row in 0..tracer.last.len() {
            let shown = self.shown(row);
            if shown != tracer.last[row] {
                tracer.last[row] = shown;
                let (activity, block, warp) = shown;
                tracer.events.push(TraceEvent {
                    at: now,
                    sm: self.id.0,
                    row: row as u16,
                    block,
                    warp,
                    activity,
                });
            }
        }
        self.tracer = Some(tracer);
    }

    /// Activity, rank of the block and number of the warp of a row.
    fn shown(&self, row: usize) -> (Activity, u64, u32) {
        let place = self.place(row as u16);
        let activity = match &self.context {
            Some(context) if place >= self.warps.slots() => context.activity(row),
            _ => self.slot_activity(place),
        };
        if activity == Activity::None {
            return (activity, 0, 0);
        }
        let block = &self.blocks[self.warps.track[place].block.index()];
        (activity, block.rank, self.warps.exec[place].warp_index())
    }

    /// Activity of the warp in a slot.
    fn slot_activity(&self, slot: usize) -> Activity {
        let w = &self.warps;
        let is = |mask: WarpMask| mask >> slot & 1 != 0;
        match () {
            () if !w.live.has(slot) => Activity::None,
            () if w.done.has(slot) => Activity::Ends,
            () if w.at_barrier.has(slot) => Activity::WaitsAtBarrier,
            () if is(w.fenced | w.atomic) => Activity::WaitsForOrder,
            () if is(w.buffered & w.long_wait) => Activity::WaitsForMemory,
            () => Activity::Runs,
        }
    }
}
