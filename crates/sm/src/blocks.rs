//! Block slots of an SM and the resources that blocks take: threads, registers, shared memory,
//! slots. Several kernels may share an SM.

use warploom_base::KernelSlot;
use warploom_config::{BlockNeeds, SmSpec};
use warploom_exec::BlockState;
use warploom_policy::WarpMask;
use warploom_state::Value;

/// Most blocks of an SM, because masks of block slots are words.
const MOST_BLOCKS: usize = 64;

/// A resource of which each block takes one piece, by first fit: registers or shared memory.
#[derive(Clone, Copy, Debug, Value)]
struct Extent {
    total: u32,
    free: u32,
    /// Begin and end of each piece, in order.
    taken: [(u32, u32); MOST_BLOCKS],
    pieces: usize,
}

impl Extent {
    fn new(total: u32) -> Self {
        Self {
            total,
            free: total,
            taken: [(0, 0); MOST_BLOCKS],
            pieces: 0,
        }
    }

    /// The first place with `size` free units in one piece.
    fn find(&self, size: u32) -> Option<u32> {
        let mut start = 0;
        for &(from, to) in &self.taken[..self.pieces] {
            if from - start >= size {
                return Some(start);
            }
            start = to;
        }
        (self.total - start >= size).then_some(start)
    }

    /// Takes `size` units at the first place for them. Requires that there is one.
    fn take(&mut self, size: u32) -> u32 {
        let start = self.find(size).expect("the caller asked for room");
        if size > 0 {
            let at = self.taken[..self.pieces].partition_point(|piece| piece.0 < start);
            self.taken.copy_within(at..self.pieces, at + 1);
            self.taken[at] = (start, start + size);
            self.pieces += 1;
            self.free -= size;
        }
        start
    }

    /// Gives back the piece that was taken at `start`.
    fn give(&mut self, start: u32, size: u32) {
        if size > 0 {
            let at = self.taken[..self.pieces].partition_point(|piece| piece.0 < start);
            debug_assert_eq!(self.taken[at], (start, start + size));
            self.taken.copy_within(at + 1..self.pieces, at);
            self.pieces -= 1;
            self.free += size;
        }
    }
}

/// Begin of a block's registers and shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct Place {
    /// First register of the block.
    pub registers: u32,
    /// First byte of shared memory.
    pub shared_bytes: u32,
}

/// Free resources of an SM. A block's registers are one piece, and so is its shared memory, at the
/// first place where they fit. Blocks of different sizes leave holes between them that are too
/// small for some blocks (Warped-Slicer, Fig. 2). Blocks of one size never do.
#[derive(Clone, Copy, Debug, Value)]
pub struct Resources {
    /// Threads, in whole warps.
    threads: u32,
    /// Number of block slots.
    blocks: u32,
    registers: Extent,
    shared_bytes: Extent,
}

impl Resources {
    /// All resources of an SM.
    pub fn of(spec: &SmSpec) -> Self {
        Self {
            threads: spec.max_threads,
            registers: Extent::new(spec.registers),
            shared_bytes: Extent::new(spec.shared_bytes),
            blocks: spec.max_blocks,
        }
    }

    /// True if there is enough of each resource, in one piece or not.
    #[inline]
    pub fn has(&self, needs: &BlockNeeds) -> bool {
        self.blocks > 0
            && needs.threads <= self.threads
            && needs.registers <= self.registers.free
            && needs.shared_bytes <= self.shared_bytes.free
    }

    /// True if a block with these needs fits.
    pub fn fits(&self, needs: &BlockNeeds) -> bool {
        self.has(needs)
            && self.registers.find(needs.registers).is_some()
            && self.shared_bytes.find(needs.shared_bytes).is_some()
    }

    /// Takes the resources of a block. Returns their places. Requires `fits`.
    pub fn take(&mut self, needs: &BlockNeeds) -> Place {
        self.blocks -= 1;
        self.threads -= needs.threads;
        Place {
            registers: self.registers.take(needs.registers),
            shared_bytes: self.shared_bytes.take(needs.shared_bytes),
        }
    }

    /// Gives a block's resources back.
    pub fn give(&mut self, needs: &BlockNeeds, place: Place) {
        self.blocks += 1;
        self.threads += needs.threads;
        self.registers.give(place.registers, needs.registers);
        self.shared_bytes
            .give(place.shared_bytes, needs.shared_bytes);
    }
}

/// A slot for a resident block.
#[derive(Value)]
pub struct BlockSlot {
    /// Architectural state of the block.
    pub state: BlockState,
    /// Kernel of the block.
    pub kernel: KernelSlot,
    /// Rank of the block in the grid, x fastest.
    pub rank: u64,
    /// First warp slot; the block's warps follow each other.
    pub first_warp: u32,
    /// Instructions that had been issued from the block's warp slots when it started.
    pub issued_before: u64,
    /// Number of warps that have not been reclaimed; 0 for a free slot.
    pub live_warps: u32,
}

/// Mask of `warps` slots in a row from `first`.
pub fn warp_run(first: u32, warps: u32) -> WarpMask {
    let run = if warps >= WarpMask::BITS {
        !0
    } else {
        (1 << warps) - 1
    };
    run << first
}

/// Finds `warps` free slots in a row at a multiple of `warps` (GPGPU-Sim's thread base of a
/// block), of `slots` slots of which `used` are taken.
pub fn free_run(used: WarpMask, warps: u32, slots: u32) -> Option<u32> {
    (0..slots / warps)
        .map(|i| i * warps)
        .find(|&first| used & warp_run(first, warps) == 0)
}

impl BlockSlot {
    /// A slot without a block.
    pub fn free() -> Self {
        Self {
            state: BlockState::new(),
            kernel: KernelSlot(0),
            rank: 0,
            first_warp: 0,
            issued_before: 0,
            live_warps: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockNeeds, Extent, Place, Resources, free_run};
    use warploom_base::Rng;
    use warploom_config::preset;

    /// Fig. 2a of Warped-Slicer: blocks of A (4) and B (8) by turns; when every A has ended, half
    /// of what they had is free and no B fits.
    #[test]
    fn interleaved_blocks_leave_holes() {
        let mut extent = Extent::new(24);
        let starts = [4, 8, 4, 8].map(|size| extent.take(size));
        assert_eq!(starts, [0, 4, 12, 16]);
        extent.give(0, 4);
        extent.give(12, 4);
        assert_eq!((extent.free, extent.find(8)), (8, None));
        assert_eq!(extent.find(4), Some(0));
        // Fig. 2b: two neighbours make room.
        extent.give(16, 8);
        assert_eq!(extent.find(8), Some(12));
    }

    /// Blocks of one size fill the whole, in whatever order they come and go.
    #[test]
    fn blocks_of_one_size_leave_no_holes() {
        let mut rng = Rng::new(1);
        for size in 1..40 {
            let mut extent = Extent::new(100);
            let mut taken = Vec::new();
            for _ in 0..200 {
                if rng.below(2) == 0 && !taken.is_empty() {
                    let at = rng.below(taken.len() as u32) as usize;
                    extent.give(taken.swap_remove(at), size);
                } else if extent.free >= size {
                    taken.push(extent.take(size));
                }
                assert_eq!(
                    extent.find(size).is_some(),
                    taken.len() < 100 / size as usize
                );
            }
        }
    }

    #[test]
    fn a_block_takes_all_that_it_needs() {
        let spec = preset("fermi-slicer").expect("a preset").sm;
        let needs = BlockNeeds {
            threads: 256,
            registers: 9216,
            shared_bytes: 0,
        };
        let mut resources = Resources::of(&spec);
        let places: Vec<Place> = (0..3).map(|_| resources.take(&needs)).collect();
        assert_eq!(places[2].registers, 2 * 9216);
        assert!(!resources.fits(&needs), "32,768 registers hold three");
        resources.give(&needs, places[1]);
        assert_eq!(resources.take(&needs), places[1]);
    }

    #[test]
    fn runs_start_at_multiples_of_their_length() {
        assert_eq!(free_run(0, 8, 48), Some(0));
        assert_eq!(free_run(0x01, 8, 48), Some(8));
        assert_eq!(free_run(0xff00_ff01, 8, 48), Some(16));
        assert_eq!(free_run(0xffff_ffff_ffff, 8, 48), None);
        assert_eq!(free_run(0, 32, 48), Some(0));
        assert_eq!(free_run(u64::MAX.into(), 32, 128), Some(64));
        assert_eq!(free_run((1 << 96) - 1, 32, 128), Some(96));
        assert_eq!(
            free_run(1, 32, 48),
            None,
            "16 slots are left at the end, too few"
        );
        assert_eq!(free_run(0, 64, 64), Some(0));
    }
}
