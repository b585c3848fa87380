//! Clusters of a grid, and what the blocks of a cluster know of each other (PTX ISA, "Cluster of
//! Cooperative Thread Arrays", "barrier.cluster").

use warploom_base::Dim3;
use warploom_ir::{CLUSTER_STRIDE, CLUSTER_WINDOW, MOST_CLUSTER_BLOCKS, Program, SHARED_WINDOW};
use warploom_state::Value;

/// First address of `.shared::cluster` that names a block by its rank. Addresses below it are in
/// the shared memory of the block that accesses them.
const FIRST: u64 = CLUSTER_WINDOW - SHARED_WINDOW;

/// Address in `.shared::cluster` of a place in the shared memory of the block of a rank.
pub(crate) fn cluster_address(rank: u32, offset: u64) -> u64 {
    FIRST + u64::from(rank) * CLUSTER_STRIDE + offset
}

/// Rank and place that an address in `.shared::cluster` names. The rank is `None` where it is that
/// of the block that accesses the address.
pub(crate) fn split_address(address: u64) -> (Option<u32>, u64) {
    match address.checked_sub(FIRST) {
        None => (None, address),
        Some(above) => {
            let rank = above / CLUSTER_STRIDE;
            (
                Some(rank.min(u32::MAX.into()) as u32),
                above % CLUSTER_STRIDE,
            )
        }
    }
}

/// True if an address in `.shared::cluster` names its block by a rank.
pub(crate) fn names_block(address: u64) -> bool {
    address >= FIRST
}

/// Place of a block in its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterPlace {
    /// Rank of the block in the cluster, x fastest.
    pub rank: u32,
    /// Number of blocks of the cluster.
    pub blocks: u32,
}

impl ClusterPlace {
    /// The only block of a cluster.
    pub const ALONE: Self = Self { rank: 0, blocks: 1 };
}

/// Division of a grid into clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterShape {
    /// Extents of the grid in blocks.
    pub(crate) grid: Dim3,
    /// Extents of a cluster in blocks.
    pub(crate) extents: Dim3,
    /// True if the launch or the kernel states the extents.
    pub(crate) is_explicit: bool,
}

/// Clusters that a launch cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImpossibleCluster {
    /// Extents of a cluster in blocks.
    pub cluster: Dim3,
    /// Extents of the grid in blocks.
    pub grid: Dim3,
    /// Violated rule and its remedy.
    pub reason: String,
}

impl ClusterShape {
    /// The clusters of a launch with a grid of `given` blocks (of clusters if the kernel's blocks
    /// are clusters), whose extents are those of `cluster` or those that the kernel requires.
    ///
    /// # Errors
    /// Returns [`ImpossibleCluster`] if the kernel or the grid does not permit them.
    pub fn new(
        program: &Program,
        given: Dim3,
        cluster: Option<Dim3>,
    ) -> Result<Self, ImpossibleCluster> {
        let directives = &program.cluster;
        let required = directives.required.map(|[x, y, z]| Dim3::new(x, y, z));
        let stated = cluster.or(required);
        let extents = stated.unwrap_or(Dim3::new(1, 1, 1));
        let times = |blocks: u32, extent: u32| match directives.blocks_are_clusters {
            true => blocks.saturating_mul(extent),
            false => blocks,
        };
        let grid = Dim3::new(
            times(given.x, extents.x),
            times(given.y, extents.y),
            times(given.z, extents.z),
        );
        let shape = Self {
            grid,
            extents,
            is_explicit: stated.is_some(),
        };
        match shape.problem(program, required) {
            None => Ok(shape),
            Some(reason) => Err(ImpossibleCluster {
                cluster: extents,
                grid,
                reason,
            }),
        }
    }

    /// The rule that the clusters violate, with its remedy.
    fn problem(&self, program: &Program, required: Option<Dim3>) -> Option<String> {
        let directives = &program.cluster;
        let (extents, grid) = (self.extents, self.grid);
        let most = directives.max_rank.unwrap_or(MOST_CLUSTER_BLOCKS);
        let most = most.min(MOST_CLUSTER_BLOCKS);
        let axes = [
            (extents.x, grid.x),
            (extents.y, grid.y),
            (extents.z, grid.z),
        ];
        if axes.iter().any(|(extent, _)| *extent == 0) || extents.count() > u64::from(most) {
            return Some(format!("choose clusters of 1 to {most} blocks"));
        }
        if required.is_some_and(|required| required != extents) {
            return Some("the kernel requires others (`.reqnctapercluster`)".to_owned());
        }
        if directives.explicit && !self.is_explicit {
            return Some("the kernel is to be launched with clusters (`.explicitcluster`)".into());
        }
        if axes.iter().any(|(extent, blocks)| blocks % extent != 0) {
            return Some("choose a grid of whole clusters along each axis".to_owned());
        }
        None
    }

    /// Extents of a cluster in blocks.
    pub fn extents(&self) -> Dim3 {
        self.extents
    }

    /// Number of blocks of a cluster.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.extents.count() as u32
    }

    /// True if clusters have several blocks.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.blocks() > 1
    }

    /// Extents of the grid in clusters.
    pub(crate) fn clusters(&self) -> Dim3 {
        let Self { grid, extents, .. } = self;
        Dim3::new(grid.x / extents.x, grid.y / extents.y, grid.z / extents.z)
    }

    /// Index of the block of a rank, where the blocks of a cluster follow each other.
    pub(crate) fn block_at(&self, rank: u64) -> Dim3 {
        if !self.are_several() {
            return self.grid.point(rank);
        }
        let blocks = u64::from(self.blocks());
        let (cluster, inner) = (
            self.clusters().point(rank / blocks),
            self.extents.point(rank % blocks),
        );
        Dim3::new(
            cluster.x * self.extents.x + inner.x,
            cluster.y * self.extents.y + inner.y,
            cluster.z * self.extents.z + inner.z,
        )
    }

    /// Index of a block in its cluster.
    pub(crate) fn inner(&self, block: Dim3) -> Dim3 {
        let extents = self.extents;
        Dim3::new(
            block.x % extents.x,
            block.y % extents.y,
            block.z % extents.z,
        )
    }

    /// Index of a block's cluster in the grid of clusters.
    pub(crate) fn cluster_of(&self, block: Dim3) -> Dim3 {
        let extents = self.extents;
        Dim3::new(
            block.x / extents.x,
            block.y / extents.y,
            block.z / extents.z,
        )
    }

    /// Place of a block in its cluster.
    pub(crate) fn place(&self, block: Dim3) -> ClusterPlace {
        let inner = self.inner(block);
        ClusterPlace {
            rank: inner.x + self.extents.x * (inner.y + self.extents.y * inner.z),
            blocks: self.blocks(),
        }
    }
}

/// Signal of a block to the other blocks of its cluster about the cluster's barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum ClusterSignal {
    /// All unexited warps of the block have arrived in a phase, of which the lowest bit is given.
    Arrived(u8),
    /// All warps of the block have exited: it has arrived in all phases.
    Ended,
}

/// Arrivals of the blocks of a cluster at its barrier, as one of them knows them. A block may be
/// one phase ahead of another one at most, so that two phases are kept.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct ClusterArrivals {
    /// The other blocks of the cluster, one bit for each rank.
    others: u32,
    /// Blocks that have arrived in phases whose number is even, and odd.
    arrived: [u32; 2],
    /// Blocks that have ended.
    ended: u32,
    /// Lowest bit of the number of the phase.
    phase: u8,
    /// True if the block itself has arrived in the phase.
    is_told: bool,
    /// Signal that the other blocks have to hear.
    signal: Option<ClusterSignal>,
}

impl Default for ClusterArrivals {
    fn default() -> Self {
        Self::new(ClusterPlace::ALONE)
    }
}

impl ClusterArrivals {
    /// Arrivals before the first phase.
    pub fn new(place: ClusterPlace) -> Self {
        let all = u32::MAX.checked_shr(32 - place.blocks.min(32)).unwrap_or(0);
        Self {
            others: all & !(1 << place.rank),
            arrived: [0; 2],
            ended: 0,
            phase: 0,
            is_told: false,
            signal: None,
        }
    }

    /// True if all other blocks have arrived in the phase.
    pub fn have_arrived(&self) -> bool {
        let arrived = self.arrived[usize::from(self.phase)] | self.ended;
        self.others & !arrived == 0
    }

    /// Notes that the block itself has arrived in the phase.
    pub fn arrive(&mut self) {
        if !self.is_told && self.others != 0 {
            self.is_told = true;
            self.signal = Some(ClusterSignal::Arrived(self.phase));
        }
    }

    /// Notes that the block has ended.
    pub fn end(&mut self) {
        if self.others != 0 {
            self.signal = Some(ClusterSignal::Ended);
        }
    }

    /// Begins the next phase.
    pub fn complete(&mut self) {
        self.arrived[usize::from(self.phase)] = 0;
        self.phase ^= 1;
        self.is_told = false;
    }

    /// Signal that the other blocks have to hear, once.
    pub fn take_signal(&mut self) -> Option<ClusterSignal> {
        self.signal.take()
    }

    /// Notes a signal of another block.
    pub fn hear(&mut self, rank: u32, signal: ClusterSignal) {
        let bit = 1 << rank;
        match signal {
            ClusterSignal::Arrived(phase) => self.arrived[usize::from(phase & 1)] |= bit,
            ClusterSignal::Ended => self.ended |= bit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterArrivals, ClusterPlace, ClusterShape, ClusterSignal, split_address};
    use crate::state::cluster::cluster_address;
    use warploom_base::Dim3;

    fn shape(grid: Dim3, extents: Dim3) -> ClusterShape {
        ClusterShape {
            grid,
            extents,
            is_explicit: true,
        }
    }

    /// Each block has one rank, the blocks of a cluster follow each other, and their places are
    /// their ranks in the cluster.
    #[test]
    fn blocks_of_a_cluster_follow_each_other() {
        let shape = shape(Dim3::new(4, 6, 2), Dim3::new(2, 3, 1));
        let all: Vec<Dim3> = (0..48).map(|rank| shape.block_at(rank)).collect();
        for (rank, block) in all.iter().enumerate() {
            let first = shape.cluster_of(all[rank / 6 * 6]);
            assert_eq!(shape.cluster_of(*block), first);
            let place = ClusterPlace {
                rank: rank as u32 % 6,
                blocks: 6,
            };
            assert_eq!(shape.place(*block), place);
            assert!(!all[..rank].contains(block));
        }
        assert_eq!(all[7], Dim3::new(3, 0, 0));
        assert_eq!(all[8], Dim3::new(2, 1, 0));
    }

    #[test]
    fn addresses_name_blocks() {
        assert_eq!(split_address(0x1234), (None, 0x1234));
        for rank in [0, 1, 15] {
            let address = cluster_address(rank, 0x3_8000);
            assert_eq!(split_address(address), (Some(rank), 0x3_8000));
            assert!(u32::try_from(address).is_ok());
        }
    }

    /// A block that is a phase ahead is not counted in the phase before, and one that has ended is
    /// counted in all.
    #[test]
    fn a_phase_waits_for_all_other_blocks() {
        let mut own = ClusterArrivals::new(ClusterPlace { rank: 1, blocks: 3 });
        own.arrive();
        own.arrive();
        assert_eq!(own.take_signal(), Some(ClusterSignal::Arrived(0)));
        assert_eq!(own.take_signal(), None, "it is told once");
        own.hear(0, ClusterSignal::Arrived(0));
        own.hear(0, ClusterSignal::Arrived(1));
        assert!(!own.have_arrived());
        own.hear(2, ClusterSignal::Ended);
        assert!(own.have_arrived());
        own.complete();
        assert!(own.have_arrived(), "block 0 is a phase ahead");
        own.arrive();
        assert_eq!(own.take_signal(), Some(ClusterSignal::Arrived(1)));
        own.complete();
        assert!(!own.have_arrived());
    }
}
