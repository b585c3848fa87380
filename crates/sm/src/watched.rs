//! An SM that runs ahead of others: what it loads and stores is watched, and the loads of its last
//! cycle can be repeated.

use crate::context::Place;
use crate::ldst::image_of;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_exec::{DeviceMemory, Effect, Loaded, MemKind};
use warploom_ir::MemSpace;

/// Loads of one cycle.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The cycle of `loads`.
    at: Cycle,
    loads: Vec<(WarpSlot, Loaded)>,
    /// It touched what is both loaded and stored.
    pub shares: bool,
}

impl Watched {
    fn new() -> Self {
        Self {
            at: 0,
            loads: Vec::with_capacity(8),
            shares: false,
        }
    }
}

impl Sm {
    /// From now on accesses to global memory are watched, or not any more.
    pub fn watch(&mut self, on: bool) {
        self.watched = on.then(|| Box::new(Watched::new()));
    }

    /// Its accesses are watched.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.is_some()
    }

    /// It has touched an allocation that SMs both load and store.
    #[inline]
    pub fn shares(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.shares)
    }

    /// Watches what a warp has just issued in cycle `now`.
    #[inline(never)]
    pub(crate) fn watch_issue(&mut self, slot: WarpSlot, now: Cycle, memory: &DeviceMemory) {
        let Effect::Memory(access) = self.out.effect else {
            return;
        };
        let plain = matches!(access.kind, MemKind::Load | MemKind::Store);
        if access.space != MemSpace::Global || !plain || self.out.active == 0 {
            return;
        }
        let Some(watched) = &mut self.watched else {
            return;
        };
        let image = image_of(&self.kernels, self.warps.track[slot.index()].kernel);
        let asid = image.launch.asid();
        watched.shares |= memory.note_access(asid, &access, self.out.active, &self.out);
        if access.kind == MemKind::Load {
            if watched.at != now {
                watched.at = now;
                watched.loads.clear();
            }
            watched
                .loads
                .push((slot, Loaded::of(now, &self.out, &self.log)));
        }
    }

    /// Repeats the loads of cycle `at`, the last one that it ran, if it ran in it: every store of
    /// the cycles before is visible now.
    pub fn repeat_loads(&mut self, at: Cycle, memory: &DeviceMemory) {
        let Some(watched) = self.watched.take_if(|watched| watched.at == at) else {
            return;
        };
        for (slot, load) in &watched.loads {
            self.repeat(slot.index(), load, memory);
        }
        self.watched = Some(watched);
    }

    /// Repeats a load of the warp in a place.
    pub(crate) fn repeat(&mut self, place: Place, load: &Loaded, memory: &DeviceMemory) {
        let track = self.warps.track[place];
        let image = image_of(&self.kernels, track.kernel);
        let block = &mut self.blocks[track.block.index()].state;
        let warp = &mut self.warps.exec[place];
        let state = (&image.launch, block, warp);
        load.repeat(state, memory, &self.log, &mut self.out);
    }
}
