//! What an SM loads while it runs some cycles at a stretch. Another may have stored there in one of
//! them, which is known when all have run them: then those loads are repeated.

use crate::ldst::image_of;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_exec::{DeviceMemory, Loaded, Pages, StoredLines};

/// One of them.
#[derive(Clone, Debug)]
struct Load {
    at: Cycle,
    warp: WarpSlot,
    what: Loaded,
    /// It is to be repeated.
    again: bool,
}

/// The loads of a stretch.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The stretch.
    from: Cycle,
    to: Cycle,
    /// So many of `loads`; the others are room.
    count: usize,
    loads: Vec<Load>,
}

impl Kept {
    /// Loads belong to this stretch from now on.
    #[inline]
    pub fn go_on(&mut self, from: Cycle, to: Cycle) {
        if self.from != from {
            (self.from, self.count) = (from, 0);
        }
        self.to = to;
    }

    /// Those of cycle `now` are kept.
    #[inline]
    pub fn is_open(&self, now: Cycle) -> bool {
        now < self.to
    }

    /// Room for another.
    #[inline]
    fn next(&mut self) -> &mut Load {
        if self.count == self.loads.len() {
            self.loads.push(Load {
                at: 0,
                warp: WarpSlot(0),
                what: Loaded::NOTHING,
                again: false,
            });
        }
        self.count += 1;
        &mut self.loads[self.count - 1]
    }
}

impl Sm {
    /// Keeps the load from global memory that a warp has just issued in cycle `now`.
    #[inline(never)]
    pub(crate) fn keep_load(&mut self, warp: WarpSlot, now: Cycle) {
        let load = self.kept.next();
        (load.at, load.warp, load.again) = (now, warp, false);
        load.what.be(&self.out, &self.log);
    }

    /// The pages that were loaded from in the stretch.
    pub fn loaded_pages(&self) -> Pages {
        let mut pages = Pages::default();
        let loads = self.kept.loads[..self.kept.count].iter();
        loads.for_each(|load| load.what.mark_pages(&mut pages));
        pages
    }

    /// Finds the loads of the stretch that begins with cycle `from` which have to be repeated, for
    /// all SMs together have stored to these lines. Returns whether there are any.
    pub fn find_loads(&mut self, from: Cycle, stored: &StoredLines) -> bool {
        let kept = &mut self.kept;
        if kept.from != from {
            return false;
        }
        if cfg!(debug_assertions) {
            for load in &kept.loads[..kept.count] {
                let slot = load.warp.index();
                let image = image_of(&self.kernels, self.warps.track[slot].kernel);
                let awaits = self.warps.awaits(slot, image.at(load.what.pc()));
                assert!(awaits, "it may have been read: {load:?}");
            }
        }
        let mut any = false;
        for load in &mut kept.loads[..kept.count] {
            load.again = load.what.may_touch(stored);
            any |= load.again;
        }
        any
    }

    /// Repeats those of cycle `at`: every store of the cycles before is visible now, and nothing
    /// that was loaded has been read.
    pub fn load_again(&mut self, at: Cycle, memory: &DeviceMemory) {
        let kept = std::mem::take(&mut self.kept);
        let loads = kept.loads[..kept.count].iter();
        for load in loads.filter(|load| load.again & (load.at == at)) {
            self.repeat(load.warp, &load.what, memory);
        }
        self.kept = kept;
    }
}
