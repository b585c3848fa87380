//! Barriers of a block (`bar`, `barrier`). Arrivals are counted by warp: the lanes of a warp first
//! wait for each other (see `ops::warp_sync`), then the warp arrives as a whole (PTX ISA,
//! `barrier`).

use crate::state::cluster::{ClusterArrivals, ClusterPlace, ClusterSignal};
use crate::state::race::RaceTable;
use warploom_base::{LaneMask, lanes_of};
use warploom_ir::{BarrierKind, Dst};
use warploom_state::Value;

/// Number of named barriers of a block.
pub const BARRIERS: usize = 16;
/// Number of the barrier of the block's cluster, after the named ones.
pub(crate) const CLUSTER: u8 = BARRIERS as u8;
/// Number of all barriers.
pub(crate) const ALL_BARRIERS: usize = BARRIERS + 1;

/// Arrival of a warp at a barrier, as [`step`](crate::step()) reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierArrival {
    /// Kind of the barrier instruction.
    pub kind: BarrierKind,
    /// Number of the barrier: below [`BARRIERS`], or that of the cluster's barrier.
    pub id: u8,
    /// Number of threads that must arrive, a multiple of 32. `None` stands for all threads of the
    /// block.
    pub threads: Option<u32>,
    /// Lanes that arrive with the warp.
    pub lanes: LaneMask,
    /// Arriving lanes whose predicate is true, for barrier reductions.
    pub votes: LaneMask,
}

/// Consequence of an arrival for the arriving warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierOutcome {
    /// The arriving warp must wait.
    Wait,
    /// The warp continues at once (`barrier.arrive`), and no warp is released.
    Continue,
    /// The barrier completes with this arrival.
    Release(BarrierRelease),
}

/// Warps that a completed barrier releases, and the result of its reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierRelease {
    /// Number of the barrier.
    pub id: u8,
    /// Warps that waited and now continue, one bit for each index in the block. The warp that
    /// arrived last is included unless its instruction was `barrier.arrive`.
    pub warps: u64,
    /// Number of threads whose predicate was true.
    pub count: u32,
    /// True if the predicate of every arriving thread was true.
    pub all: bool,
    /// True if the predicate of any arriving thread was true.
    pub any: bool,
}

/// Barrier at which a warp waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) struct PendingBarrier {
    pub kind: BarrierKind,
    pub id: u8,
    /// Lanes that wait at the instruction of the running split, and the destination of the result.
    pub target: ReductionTarget,
}

/// Lanes that wait at one barrier instruction, and the destination of a reduction's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) struct ReductionTarget {
    pub lanes: LaneMask,
    pub dst: Dst,
}

/// Arrivals at one barrier.
#[derive(Clone, Copy, Debug, Value)]
struct Barrier {
    arrived: u64,
    waiting: u64,
    /// Number of arrivals. A warp that does not wait may arrive more than once.
    arrivals: u32,
    /// Number of arrivals of warps that complete it. 0 stands for one of each unexited warp.
    expected: u32,
    count: u32,
    all: bool,
    any: bool,
}

impl Barrier {
    const IDLE: Self = Self {
        arrived: 0,
        waiting: 0,
        arrivals: 0,
        expected: 0,
        count: 0,
        all: true,
        any: false,
    };
}

/// Barriers of one block.
#[derive(Clone, Debug, Value)]
pub struct BarrierTable {
    barriers: [Barrier; ALL_BARRIERS],
    /// Warps that arrived at the cluster's barrier in a phase that is complete, and have not waited
    /// for its end.
    cluster_done: u64,
    /// Arrivals of the other blocks of the cluster at its barrier.
    peers: ClusterArrivals,
    /// Warps that have not exited, one bit for each index in the block.
    live: u64,
    /// Tracker of races on shared memory, if the launch checks them. Barriers order accesses.
    pub(crate) races: Option<Box<RaceTable>>,
}

impl Default for BarrierTable {
    fn default() -> Self {
        Self {
            barriers: [Barrier::IDLE; ALL_BARRIERS],
            cluster_done: 0,
            peers: ClusterArrivals::default(),
            live: 0,
            races: None,
        }
    }
}

impl BarrierTable {
    /// Clears all arrivals for a block of `warps` unexited warps, at a place in its cluster.
    pub fn reset(&mut self, warps: u32, place: ClusterPlace) {
        self.barriers = [Barrier::IDLE; ALL_BARRIERS];
        self.cluster_done = 0;
        self.peers = ClusterArrivals::new(place);
        self.live = if warps >= 64 {
            u64::MAX
        } else {
            (1 << warps) - 1
        };
    }

    /// Records the arrival of a warp, given by its index in the block.
    pub fn arrive(&mut self, warp: u32, arrival: &BarrierArrival) -> BarrierOutcome {
        let blocks = !matches!(
            arrival.kind,
            BarrierKind::Arrive | BarrierKind::ClusterArrive
        );
        if let Some(races) = &mut self.races {
            races.arrive(warp, arrival.id);
        }
        let barrier = &mut self.barriers[arrival.id as usize];
        barrier.arrived |= 1 << warp;
        barrier.arrivals += 1;
        barrier.waiting |= u64::from(blocks) << warp;
        barrier.expected = arrival.threads.map_or(0, |t| t.div_ceil(32));
        barrier.count += arrival.votes.count_ones();
        barrier.all &= arrival.votes == arrival.lanes;
        barrier.any |= arrival.votes != 0;
        if arrival.id == CLUSTER {
            self.tell_cluster();
        }
        match self.test(arrival.id) {
            Some(release) => BarrierOutcome::Release(release),
            None if blocks => BarrierOutcome::Wait,
            None => BarrierOutcome::Continue,
        }
    }

    /// Records the arrival of a warp as [`arrive`](Self::arrive) does. The usual arrival, at a
    /// barrier of all threads of the block, takes a short path.
    #[inline(always)]
    pub(crate) fn arrive_quickly(&mut self, warp: u32, arrival: &BarrierArrival) -> BarrierOutcome {
        let usual = arrival.kind == BarrierKind::Sync && arrival.threads.is_none();
        if !usual || arrival.id == CLUSTER || self.races.is_some() {
            return self.arrive(warp, arrival);
        }
        let barrier = &mut self.barriers[arrival.id as usize];
        barrier.arrived |= 1 << warp;
        if barrier.arrived & self.live == self.live {
            return self.arrive(warp, arrival);
        }
        barrier.arrivals += 1;
        barrier.waiting |= 1 << warp;
        barrier.expected = 0;
        barrier.count += arrival.votes.count_ones();
        barrier.all &= arrival.votes == arrival.lanes;
        barrier.any |= arrival.votes != 0;
        BarrierOutcome::Wait
    }

    /// Completes the barrier if its condition holds.
    fn test(&mut self, id: u8) -> Option<BarrierRelease> {
        let barrier = &self.barriers[id as usize];
        let all_live = barrier.arrived & self.live == self.live;
        let complete = if barrier.expected == 0 {
            all_live && (id != CLUSTER || self.peers.have_arrived())
        } else {
            barrier.arrivals >= barrier.expected
        };
        complete.then(|| self.complete(id))
    }

    /// Notes that the other blocks of the cluster have to hear of the block's arrival, if all of
    /// its unexited warps have arrived.
    fn tell_cluster(&mut self) {
        let arrived = self.barriers[usize::from(CLUSTER)].arrived;
        if arrived & self.live == self.live {
            self.peers.arrive();
        }
    }

    /// Signal that the other blocks of the cluster have to hear from this one, once.
    pub fn take_signal(&mut self) -> Option<ClusterSignal> {
        self.peers.take_signal()
    }

    /// Notes what another block of the cluster, given by its rank there, has signalled. Returns the
    /// warps that go on.
    pub fn hear(&mut self, rank: u32, signal: ClusterSignal) -> Option<BarrierRelease> {
        self.peers.hear(rank, signal);
        match self.barriers[usize::from(CLUSTER)].arrived {
            0 => None,
            _ => self.test(CLUSTER),
        }
    }

    /// Resets a barrier and describes the warps that it releases.
    fn complete(&mut self, id: u8) -> BarrierRelease {
        let done = std::mem::replace(&mut self.barriers[id as usize], Barrier::IDLE);
        let gone_on = done.arrived & !done.waiting;
        if id == CLUSTER {
            self.cluster_done |= gone_on;
            self.peers.complete();
        }
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
            let later = if id == CLUSTER { gone_on } else { 0 };
            races.release(release.id, release.warps | later);
        }
        release
    }

    /// Takes note that a warp waits for the phase of the cluster's barrier in which it arrived.
    /// True if the phase is complete, so that the warp continues at once.
    pub(crate) fn cluster_is_done(&mut self, warp: u32) -> bool {
        let own = 1 << warp;
        let done = self.cluster_done & own != 0;
        self.cluster_done &= !own;
        done
    }

    /// Records that a warp exited. Barriers that waited only for this warp complete, and `released`
    /// is called for each of them. For a barrier with a thread count, the exit is not an arrival.
    pub fn warp_exited(&mut self, warp: u32, mut released: impl FnMut(BarrierRelease)) {
        self.live &= !(1 << warp);
        if self.live == 0 {
            self.peers.end();
        } else if self.barriers[usize::from(CLUSTER)].arrived != 0 {
            self.tell_cluster();
        }
        let all = self.barriers.iter();
        if all.fold(0, |any, barrier| any | barrier.arrived) == 0 {
            return;
        }
        for id in 0..ALL_BARRIERS as u8 {
            let barrier = &self.barriers[id as usize];
            let counts = barrier.expected > 0;
            let used = match id {
                CLUSTER => barrier.arrived,
                _ => barrier.waiting,
            };
            if !counts && used != 0 {
                self.test(id).into_iter().for_each(&mut released);
            }
        }
    }

    /// Warps that wait at a barrier, one bit for each index in the block.
    pub fn waiting(&self, id: u8) -> u64 {
        self.barriers[id as usize].waiting
    }

    /// Warps that have not exited, one bit for each index in the block.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Unexited warps that have not arrived at a barrier, one bit for each index in the block.
    pub fn missing(&self, id: u8) -> u64 {
        self.live & !self.barriers[id as usize].arrived
    }

    /// Describes for which warps a barrier waits.
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
        let more = barrier.expected.saturating_sub(barrier.arrivals);
        match (barrier.expected, missing) {
            (0, 0) if id == CLUSTER => {
                "the cluster's barrier waits for other blocks of the cluster".to_owned()
            }
            (0, _) if id == CLUSTER => {
                format!("the cluster's barrier waits for warps {}", list(missing))
            }
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
