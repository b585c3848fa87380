//! Barriers of a block (`bar`, `barrier`). Counting is by warp: its lanes wait for each other first
//! (see `meet.rs`), then the warp arrives as a whole (PTX ISA, `barrier`).

use crate::state::race::RaceTable;
use warploom_base::{LaneMask, lanes_of};
use warploom_ir::{BarrierKind, Dst};

/// Named barriers of a block.
pub const BARRIERS: usize = 16;

/// A warp at a barrier, as `step` reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierArrival {
    /// What the instruction does.
    pub kind: BarrierKind,
    /// Number of the barrier, below [`BARRIERS`].
    pub id: u8,
    /// Threads that must arrive, a multiple of 32; `None`: all of the block.
    pub threads: Option<u32>,
    /// Lanes that arrive.
    pub lanes: LaneMask,
    /// Arriving lanes whose predicate is true (reductions).
    pub votes: LaneMask,
}

/// What an arrival brings about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierOutcome {
    /// The warp waits.
    Wait,
    /// The warp goes on at once (`arrive`), nobody is released.
    Continue,
    /// The barrier completes.
    Release(BarrierRelease),
}

/// A completed barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierRelease {
    /// Number of the barrier.
    pub id: u8,
    /// Warps of the block that waited and go on, by index in the block; the arriving warp is among
    /// them unless it only arrived.
    pub warps: u64,
    /// Threads whose predicate was true.
    pub count: u32,
    /// Every arriving thread's predicate was true.
    pub all: bool,
    /// Some arriving thread's predicate was true.
    pub any: bool,
}

/// Where the result of a reduction goes, kept by the waiting warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingBarrier {
    pub kind: BarrierKind,
    pub id: u8,
    pub lanes: LaneMask,
    pub dst: Dst,
}

#[derive(Clone, Copy, Debug)]
struct Barrier {
    arrived: u64,
    waiting: u64,
    /// Warps that must arrive; 0: all unexited ones.
    expected: u32,
    count: u32,
    all: bool,
    any: bool,
}

impl Barrier {
    const IDLE: Self = Self {
        arrived: 0,
        waiting: 0,
        expected: 0,
        count: 0,
        all: true,
        any: false,
    };
}

/// The sixteen barriers of one block.
#[derive(Clone, Debug)]
pub struct BarrierTable {
    barriers: [Barrier; BARRIERS],
    /// Warps that have not exited.
    live: u64,
    /// Races on shared memory, when they are looked for: barriers order accesses.
    pub(crate) races: Option<Box<RaceTable>>,
}

impl Default for BarrierTable {
    fn default() -> Self {
        Self {
            barriers: [Barrier::IDLE; BARRIERS],
            live: 0,
            races: None,
        }
    }
}

impl BarrierTable {
    /// No arrivals; `warps` warps live.
    pub fn reset(&mut self, warps: u32) {
        self.barriers = [Barrier::IDLE; BARRIERS];
        self.live = if warps >= 64 {
            u64::MAX
        } else {
            (1 << warps) - 1
        };
    }

    /// A warp (by index in the block) arrives.
    pub fn arrive(&mut self, warp: u32, arrival: &BarrierArrival) -> BarrierOutcome {
        let blocks = !matches!(arrival.kind, BarrierKind::Arrive);
        if let Some(races) = &mut self.races {
            races.arrive(warp, arrival.id);
        }
        let barrier = &mut self.barriers[arrival.id as usize];
        barrier.arrived |= 1 << warp;
        barrier.waiting |= u64::from(blocks) << warp;
        barrier.expected = arrival.threads.map_or(0, |t| t.div_ceil(32));
        barrier.count += arrival.votes.count_ones();
        barrier.all &= arrival.votes == arrival.lanes;
        barrier.any |= arrival.votes != 0;
        match self.test(arrival.id) {
            Some(release) => BarrierOutcome::Release(release),
            None if blocks => BarrierOutcome::Wait,
            None => BarrierOutcome::Continue,
        }
    }

    /// Completes the barrier if its condition holds.
    fn test(&mut self, id: u8) -> Option<BarrierRelease> {
        let barrier = &self.barriers[id as usize];
        let all_live = barrier.arrived & self.live == self.live;
        let counted = barrier.expected > 0 && barrier.arrived.count_ones() >= barrier.expected;
        let complete = if barrier.expected == 0 {
            all_live
        } else {
            counted
        };
        complete.then(|| self.complete(id))
    }

    fn complete(&mut self, id: u8) -> BarrierRelease {
        let done = std::mem::replace(&mut self.barriers[id as usize], Barrier::IDLE);
        let Barrier {
            waiting: warps,
            count,
            all,
            any,
            ..
        } = done;
        let release = BarrierRelease {
            id,
            warps,
            count,
            all,
            any,
        };
        if let Some(races) = &mut self.races {
            races.release(&release);
        }
        release
    }

    /// A warp exits: barriers that waited only for it complete. To those with a thread count its
    /// end is no arrival. Calls `released` for each completed barrier.
    pub fn warp_exited(&mut self, warp: u32, mut released: impl FnMut(BarrierRelease)) {
        self.live &= !(1 << warp);
        for id in 0..BARRIERS as u8 {
            let barrier = &self.barriers[id as usize];
            let counts = barrier.expected > 0;
            if !counts && barrier.waiting != 0 && barrier.arrived & self.live == self.live {
                released(self.complete(id));
            }
        }
    }

    /// Warps that wait at a barrier.
    pub fn waiting(&self, id: u8) -> u64 {
        self.barriers[id as usize].waiting
    }

    /// Warps that have not exited.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Live warps that a barrier still waits for.
    pub fn missing(&self, id: u8) -> u64 {
        self.live & !self.barriers[id as usize].arrived
    }

    /// What a barrier waits for, in words.
    pub fn describe(&self, id: u8) -> String {
        let barrier = &self.barriers[id as usize];
        let missing = self.missing(id);
        let list = |warps: u64| {
            let halves = [warps as u32, (warps >> 32) as u32];
            let numbers = halves
                .iter()
                .enumerate()
                .flat_map(|(half, &mask)| lanes_of(mask).map(move |w| (w + 32 * half).to_string()));
            numbers.collect::<Vec<_>>().join(", ")
        };
        let more = barrier
            .expected
            .saturating_sub(barrier.arrived.count_ones());
        match (barrier.expected, missing) {
            (0, _) => format!("barrier {id} waits for warps {}", list(missing)),
            (_, 0) => format!(
                "barrier {id} waits for {more} more warps, but every warp that has not ended has \
                 arrived"
            ),
            _ => format!(
                "barrier {id} waits for {more} more warps; warps {} have not arrived",
                list(missing)
            ),
        }
    }
}
