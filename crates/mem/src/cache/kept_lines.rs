//! Lines that the data cache has replaced and that idle registers of the SM keep: a victim cache in
//! the register file (docs/model/caches.md, Victim lines; Oh et al., ISCA 2019).
//!
//! Kept lines have the sets of the data cache. The number of ways follows from the registers that
//! no block holds. Kept lines are copies of clean data, so that they can be dropped at any time.

use super::victims::{Policy, Room};
use super::{Access, AccessOutcome, Cache, Placed};
use crate::{AccessKind, Request};
use warploom_base::{Cycle, Pc};
use warploom_config::{GpuSpec, L1dVictims};
use warploom_state::{State, Value};

/// A place for a line.
#[derive(Clone, Copy, Default, Debug, Value)]
struct Kept {
    /// Address of the line.
    line: u64,
    /// Sectors that are kept, one bit each; none if there is no line.
    sectors: u8,
    /// Cycle in which it was moved or read last.
    used_at: Cycle,
}

/// Lines that have been moved and dropped.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Lines moved from the data cache into registers.
    pub kept: u64,
    /// Kept lines that have been dropped.
    pub dropped: u64,
}

/// The kept lines of an SM, with the policy that chooses them.
#[derive(Clone, Debug, State)]
pub struct KeptLines {
    policy: Policy,
    #[state(fixed)]
    room: Room,
    #[state(fixed)]
    most_ways: u32,
    #[state(fixed)]
    latency: u32,
    /// Ways for which there are idle registers.
    ways: u32,
    /// Set by set, `most_ways` places each.
    #[state(each)]
    places: Vec<Kept>,
    /// By place in the data cache: the load that brought the line in.
    #[state(each)]
    owners: Vec<Option<Pc>>,
    /// Cycle from which the port can move a line.
    port_free_at: Cycle,
}

impl KeptLines {
    /// No lines, and a whole register file without blocks. `None` if no policy keeps any, or the
    /// SM has no data cache.
    pub fn new(spec: &GpuSpec, l1d: Option<&Cache>) -> Option<Self> {
        let latency = match spec.sm.l1d_victims {
            L1dVictims::Nothing => return None,
            L1dVictims::Linebacker(settings) => settings.latency_cycles,
        };
        let room = Room::new(spec);
        let most_ways = room.ways(spec.sm.registers);
        Some(Self {
            policy: Policy::new(spec.sm.l1d_victims),
            room,
            most_ways,
            latency,
            ways: most_ways,
            places: vec![Kept::default(); room.sets as usize * most_ways as usize],
            owners: vec![None; l1d?.places()],
            port_free_at: 0,
        })
    }

    /// Looks for the data of a read that the data cache neither has nor awaits. Returns the cycle
    /// in which they have been read from the registers.
    pub fn find(&mut self, now: Cycle, l1d: &Cache, request: &Request) -> Option<Cycle> {
        if request.kind != AccessKind::GlobalRead || !l1d.is_missing(request.addr) {
            return None;
        }
        let sector = l1d.sector_bit(request.addr);
        let at = self.place_of(l1d, l1d.line_address(request.addr))?;
        if self.places[at].sectors & sector == 0 {
            return None;
        }
        let start = self.use_port(now);
        self.places[at].used_at = start;
        Some(start + Cycle::from(self.latency))
    }

    /// Notes an access that was taken: by the data cache or, if `found`, by a kept line. `pc`: the
    /// load, if the access reads. `placed`: the line that it brought into the data cache.
    pub fn accessed(
        &mut self,
        now: Cycle,
        l1d: &Cache,
        (request, pc): (&Request, Option<Pc>),
        (access, found): (Access, bool),
        placed: Option<Placed>,
    ) -> Moved {
        let pc = pc.filter(|_| request.kind == AccessKind::GlobalRead);
        let mut moved = Moved::default();
        if request.kind.is_write() {
            moved.dropped += self.forget(l1d, request.addr);
        } else if let Some(pc) = pc {
            let found = found || access.outcome == AccessOutcome::Hit;
            self.policy.on_read(now, pc, found);
        }
        self.placed(now, l1d, placed, pc, &mut moved);
        moved
    }

    /// Notes a fill of the data cache on behalf of a request, and the line that it brought in.
    /// `pc`: the load, if the request reads.
    pub fn filled(
        &mut self,
        now: Cycle,
        l1d: &Cache,
        (request, pc): (&Request, Option<Pc>),
        placed: Option<Placed>,
    ) -> Moved {
        let pc = pc.filter(|_| request.kind == AccessKind::GlobalRead);
        let mut moved = Moved::default();
        self.placed(now, l1d, placed, pc, &mut moved);
        moved
    }

    /// Drops the line of an address, whose data change. Returns the number of lines dropped.
    pub fn forget(&mut self, l1d: &Cache, addr: u64) -> u64 {
        let Some(at) = self.place_of(l1d, l1d.line_address(addr)) else {
            return 0;
        };
        self.places[at].sectors = 0;
        1
    }

    /// Drops all kept lines.
    pub fn clear(&mut self) {
        self.places.fill(Kept::default());
    }

    /// Forgets what the policy knows of loads.
    pub fn forget_loads(&mut self) {
        self.policy.forget_loads();
    }

    /// Uses as many ways as `registers` idle registers of threads have room for. Lines in the
    /// others are dropped; their number is returned.
    pub fn set_registers(&mut self, registers: u32) -> u64 {
        let ways = self.room.ways(registers).min(self.most_ways);
        let mut dropped = 0;
        for way in ways..self.ways.min(self.most_ways) {
            for set in 0..self.room.sets {
                let place = &mut self.places[(set * self.most_ways + way) as usize];
                dropped += u64::from(place.sectors != 0);
                place.sectors = 0;
            }
        }
        self.ways = ways;
        dropped
    }

    /// Notes a line that has come into the data cache for the load at `pc`, and keeps the line that
    /// it has replaced, if the policy says so.
    fn placed(
        &mut self,
        now: Cycle,
        l1d: &Cache,
        placed: Option<Placed>,
        pc: Option<Pc>,
        moved: &mut Moved,
    ) {
        let Some(placed) = placed else {
            return;
        };
        let owner = std::mem::replace(&mut self.owners[placed.at as usize], pc);
        if let (Some(line), Some(owner)) = (placed.replaced, owner)
            && placed.readable != 0
            && self.ways > 0
            && self.policy.keeps(now, owner)
        {
            self.keep(now, l1d, line, placed.readable, moved);
        }
    }

    /// Moves a line into registers, where it replaces the one that was used longest ago.
    fn keep(&mut self, now: Cycle, l1d: &Cache, line: u64, sectors: u8, moved: &mut Moved) {
        let used_at = self.use_port(now);
        moved.kept += 1;
        if let Some(at) = self.place_of(l1d, line) {
            self.places[at].sectors |= sectors;
            self.places[at].used_at = used_at;
            return;
        }
        let set = self.set(l1d, line);
        let age = |place: &Kept| (place.sectors != 0, place.used_at);
        let ways = &mut self.places[set];
        if let Some(oldest) = ways.iter_mut().min_by_key(|place| age(place)) {
            moved.dropped += u64::from(oldest.sectors != 0);
            *oldest = Kept {
                line,
                sectors,
                used_at,
            };
        }
    }

    /// Places in use of the set of an address.
    fn set(&self, l1d: &Cache, addr: u64) -> std::ops::Range<usize> {
        let first = l1d.set_of(addr) as usize * self.most_ways as usize;
        first..first + self.ways.min(self.most_ways) as usize
    }

    /// Place of a kept line.
    fn place_of(&self, l1d: &Cache, line: u64) -> Option<usize> {
        let set = self.set(l1d, line);
        let has = |place: &Kept| place.line == line && place.sectors != 0;
        let found = self.places[set.clone()].iter().position(has);
        found.map(|way| set.start + way)
    }

    /// Takes the port, which moves one line a cycle, for the first cycle in which it is free.
    /// Returns that cycle.
    fn use_port(&mut self, now: Cycle) -> Cycle {
        let start = self.port_free_at.max(now);
        self.port_free_at = start + 1;
        start
    }
}

#[cfg(test)]
mod tests;
