//! What an SM loads while it runs some cycles at a stretch. Another may have stored there in one of
//! them, or an atomic acted, which is known when all have run them: then those loads are repeated,
//! and what atomics bring back is there.
//!
//! Invariant: of no load kept here, and of no atomic that has not acted, anything has been read,
//! for the SM stands in front of issue in the cycle in which one has all that it waited for, until
//! it is as it should be.

use crate::context::Place;
use crate::ldst::image_of;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_exec::{DeviceMemory, Loaded, Pages, StoredLines};

/// Where others are while an SM runs ahead of them.
#[derive(Clone, Copy, Debug)]
pub struct Others {
    /// The cycle in which the stretch began.
    pub began: Cycle,
    /// All have run the cycles before this one, and what was stored in these is visible: loads are
    /// as they should be up to it.
    pub settled: Cycle,
}

/// One of them.
#[derive(Clone, Debug)]
struct Load {
    /// What memory instructions call its warp, which may leave its slot meanwhile.
    owner: u16,
    what: Loaded,
    /// It is to be repeated.
    again: bool,
}

/// The loads of a stretch.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The stretch.
    from: Cycle,
    /// Loads behind `settled` and before `to` are kept.
    settled: Cycle,
    to: Cycle,
    /// `loads[first..count]`, in order of cycles; the others are room.
    first: usize,
    count: usize,
    loads: Vec<Load>,
    /// Up to where all has to be settled for what may be read, 0 if nothing may.
    arrived: Cycle,
    /// The SM stands in front of issue.
    stands: bool,
}

impl Kept {
    /// The SM goes on up to cycle `to`.
    pub fn go_on(&mut self, to: Cycle, others: &Others) {
        if self.from != others.began {
            self.from = others.began;
            (self.first, self.count, self.arrived) = (0, 0, 0);
        }
        (self.settled, self.to) = (others.settled, to);
        let loads = self.loads().iter();
        let settled = loads.take_while(|load| load.what.at() <= others.settled);
        self.first += settled.count();
        if self.first == self.count {
            (self.first, self.count) = (0, 0);
        }
    }

    fn loads(&self) -> &[Load] {
        &self.loads[self.first..self.count]
    }

    /// What is as it should be once all is settled up to cycle `at`, 0 if it is, may be read.
    #[inline]
    pub fn arrive(&mut self, at: Cycle) {
        self.arrived = self.arrived.max(at);
    }

    /// Whether the SM has to stand in front of issue in cycle `now`.
    #[inline]
    pub fn stops(&mut self, now: Cycle) -> bool {
        self.stands = (self.settled < self.arrived) & (now < self.to);
        self.stands
    }

    /// It does.
    #[inline]
    pub fn stands(&self) -> bool {
        self.stands
    }

    /// Those of cycle `now` are kept.
    #[inline]
    pub fn is_open(&self, now: Cycle) -> bool {
        (self.settled < now) & (now < self.to)
    }

    /// Room for another.
    #[inline]
    fn next(&mut self) -> &mut Load {
        if self.count == self.loads.len() {
            self.loads.push(Load {
                owner: 0,
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
        let owner = self.owner(warp.index());
        let load = self.kept.next();
        (load.owner, load.again) = (owner, false);
        load.what.be(now, &self.out, &self.log);
    }

    /// The cycle up to which loads have to be settled before the SM goes on, if it stands.
    #[inline]
    pub fn waits_for(&self) -> Option<Cycle> {
        self.kept.stands().then_some(self.kept.arrived)
    }

    /// The pages that were loaded from in the stretch.
    pub fn loaded_pages(&self) -> Pages {
        let mut pages = Pages::default();
        let loads = self.kept.loads().iter();
        loads.for_each(|load| load.what.mark_pages(&mut pages));
        pages
    }

    /// Finds the loads that have to be repeated, of those in the stretch that began with cycle
    /// `from` which come behind cycle `settled`, up to cycle `to`: all SMs together have stored to
    /// these lines in it. Returns whether there are any.
    pub fn find_loads(
        &mut self,
        from: Cycle,
        (settled, to): (Cycle, Cycle),
        stored: &StoredLines,
    ) -> bool {
        if self.kept.from != from {
            return false;
        }
        let loads = self.kept.loads();
        let begin = loads.partition_point(|load| load.what.at() <= settled);
        let end = loads.partition_point(|load| load.what.at() <= to);
        if cfg!(debug_assertions) {
            for load in &loads[begin..] {
                let place = self.place(load.owner);
                let image = image_of(&self.kernels, self.warps.track[place].kernel);
                let awaits = self.warps.awaits(place, image.at(load.what.pc()));
                let stands = self.waits_for() >= Some(load.what.at());
                assert!(awaits | stands, "it may have been read: {load:?}");
            }
        }
        let kept = &mut self.kept;
        let loads = &mut kept.loads[kept.first..kept.count];
        let mut any = false;
        for load in &mut loads[begin..end] {
            load.again = load.what.may_touch(stored);
            any |= load.again;
        }
        any
    }

    /// Repeats those of cycle `at`: every store of the cycles before is visible now, and nothing
    /// that was loaded has been read.
    pub fn load_again(&mut self, at: Cycle, memory: &DeviceMemory) {
        let kept = std::mem::take(&mut self.kept);
        let loads = kept.loads().iter();
        for load in loads.filter(|load| load.again & (load.what.at() == at)) {
            self.repeat(self.place(load.owner), &load.what, memory);
        }
        self.kept = kept;
    }

    /// Repeats a load of the warp in a place.
    fn repeat(&mut self, place: Place, load: &Loaded, memory: &DeviceMemory) {
        let track = self.warps.track[place];
        let image = image_of(&self.kernels, track.kernel);
        let block = &mut self.blocks[track.block.index()].state;
        let warp = &mut self.warps.exec[place];
        let state = (&image.launch, block, warp);
        load.repeat(state, memory, &self.log, &mut self.out);
    }
}
