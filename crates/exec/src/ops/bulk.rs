//! Bulk copies of contiguous bytes, and copies of tensor maps (PTX ISA, "cp.async.bulk",
//! "cp.reduce.async.bulk", "tensormap.cp_fenceproxy").
//!
//! Values arrive at once, which is one of the orders of events that the ISA allows: a program may
//! read or overwrite them only after it has waited. Barrier objects learn of the end of a copy when
//! the timing says so.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::atomic::{AtomicMode, atom_bytes};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use crate::outcome::{Completion, Effect};
use crate::peers::{PeerAccesses, PeerAct};
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_ir::tensor_map::TENSOR_MAP_BYTES;
use warploom_ir::{AtomOp, AtomTy, BulkAct, CacheOp, MbarrierOp, MemSpace};

/// Alignment of addresses and sizes of bulk copies in bytes.
const ALIGN: u64 = 16;

/// Blocks of the cluster that a copy writes to.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    /// True if the copies' own block is among them.
    own: bool,
    /// The other ones, one bit for each rank in the cluster.
    others: u32,
}

impl Targets {
    /// The block of a rank, or the copies' own one.
    pub fn one(rank: Option<u32>) -> Self {
        Self {
            own: rank.is_none(),
            others: rank.map_or(0, |rank| 1 << rank),
        }
    }
}

impl InstExec<'_, '_> {
    /// Executes `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub fn bulk_copy(&mut self, act: BulkAct, wide: [bool; 2]) -> Exec {
        self.addresses();
        self.out.bulk.begin(act.writes_global());
        let (near, barriers) = self.shared_operands(wide);
        let sizes = *self.src::<u32>(2);
        for lane in lanes_of(self.mask) {
            let (far, near, size) = (self.out.addrs[lane], near[lane], sizes[lane] as usize);
            if size > 0 {
                self.copy_of_lane(act, (far, near), size, lane)?;
            }
            if act.completes_transactions() {
                self.complete_bulk(act, barriers[lane], size, lane)?;
            }
        }
        self.set_effect(Effect::Bulk);
        Ok(())
    }

    /// Checks and makes the copy of a lane, which has at least a byte.
    fn copy_of_lane(
        &mut self,
        act: BulkAct,
        (far, near): (u64, u64),
        size: usize,
        lane: usize,
    ) -> Exec {
        use MemKind::{Load, Store};
        let (far_space, far_kind, near_kind) = match act {
            BulkAct::Load | BulkAct::Multicast => (MemSpace::Global, Load, Store),
            BulkAct::Within | BulkAct::ReduceWithin(..) => (MemSpace::Shared, Load, Store),
            BulkAct::Store | BulkAct::Reduce(..) => (MemSpace::Global, Store, Load),
        };
        self.check_bulk(far_space, far_kind, far, size, lane)?;
        if act.writes_global() {
            self.check_bulk(MemSpace::Shared, near_kind, near, size, lane)?;
        }
        match act {
            BulkAct::Load | BulkAct::Multicast => {
                let (targets, near) = self.targets(act, near, size, lane)?;
                self.load_bulk(far, near, size, targets, lane);
            }
            BulkAct::Within | BulkAct::ReduceWithin(..) => {
                let how = match act {
                    BulkAct::ReduceWithin(op, ty) => Some((op, ty)),
                    _ => None,
                };
                let (rank, near) = self.check_place(near_kind, near, size, lane)?;
                self.copy_within(far, (rank, near), size, how, lane);
            }
            BulkAct::Store => self.store_bulk(near, far, size),
            BulkAct::Reduce(op, ty) => {
                let ty = ty.ok_or_else(|| self.illegal())?;
                self.reduce_bulk(near, far, size, (op, ty));
            }
        }
        Ok(())
    }

    /// Blocks that a load writes to, and the place in each of them, which is checked.
    pub(super) fn targets(
        &mut self,
        act: BulkAct,
        near: u64,
        size: usize,
        lane: usize,
    ) -> Exec<(Targets, u64)> {
        let (rank, place) = self.check_place(MemKind::Store, near, size, lane)?;
        let targets = match act {
            BulkAct::Multicast => self.masked_blocks(lane)?,
            _ => Targets::one(rank),
        };
        Ok((targets, place))
    }

    /// Blocks that the mask of a copy to several blocks names. Others than those of the cluster are
    /// a fault.
    fn masked_blocks(&self, lane: usize) -> Exec<Targets> {
        let mask = self.extra_operands()?.srcs.last();
        let mask = mask.map_or(0, |mask| self.lane_value(*mask, lane) as u32 & 0xffff);
        let place = self.ctx.cluster.place(self.block.ctaid);
        if mask >> place.blocks != 0 {
            return Err(RawFault::plain(FaultKind::OutOfBounds, lane));
        }
        let own = 1 << place.rank;
        Ok(Targets {
            own: mask & own != 0,
            others: mask & !own,
        })
    }

    /// Writes checked bytes to the same place in shared memory of some blocks.
    pub(super) fn write_blocks(&mut self, to: Targets, near: u64, bytes: &[u8], lane: usize) {
        if to.own {
            let at = near as usize;
            self.block.shared[at..at + bytes.len()].copy_from_slice(bytes);
            self.block.mark_written(at, bytes.len());
        }
        for rank in lanes_of(to.others) {
            let place = (rank as u32, near as u32);
            self.out.peers.push(lane, place, PeerAct::Store, bytes);
        }
    }

    /// Copies checked bytes of shared memory to a place in shared memory, or combines them with the
    /// bytes there.
    fn copy_within(
        &mut self,
        from: u64,
        (rank, to): (Option<u32>, u64),
        size: usize,
        how: Option<(AtomOp, AtomTy)>,
        lane: usize,
    ) {
        let bytes = self.block.shared[from as usize..from as usize + size].to_vec();
        let act = how.map_or(PeerAct::Store, |(op, ty)| PeerAct::Reduce(op, ty));
        match rank {
            Some(rank) => {
                self.out.bulk.peer_bytes += size as u32;
                self.out.peers.push(lane, (rank, to as u32), act, &bytes);
            }
            None => {
                let mut own = PeerAccesses::default();
                own.push(lane, (0, to as u32), act, &bytes);
                own.apply(0, self.block);
            }
        }
    }

    /// Addresses in shared memory of the data and of the barrier objects.
    pub(super) fn shared_operands(&self, wide: [bool; 2]) -> ([u64; WARP_SIZE], [u64; WARP_SIZE]) {
        (
            self.gather::<u64>(self.inst.src[1], wide[0]),
            self.gather::<u64>(self.inst.src[3], wide[1]),
        )
    }

    /// Checks a contiguous range of a copy.
    pub(super) fn check_bulk(
        &mut self,
        space: MemSpace,
        kind: MemKind,
        address: u64,
        bytes: usize,
        lane: usize,
    ) -> Exec {
        let access = Access {
            space,
            kind,
            bytes,
            align: ALIGN,
        };
        let before = std::mem::replace(&mut self.out.addrs[lane], address);
        let checked = match bytes as u64 % ALIGN {
            0 => self.check(access, lane),
            _ => Err(self.memory_fault(FaultKind::Misaligned, access, lane)),
        };
        self.out.addrs[lane] = before;
        checked
    }

    /// Checks a contiguous range of a copy in shared memory of the cluster. Returns the other block
    /// that contains it, if one does, and its place there.
    fn check_place(
        &mut self,
        kind: MemKind,
        address: u64,
        bytes: usize,
        lane: usize,
    ) -> Exec<(Option<u32>, u64)> {
        let access = Access {
            space: MemSpace::Shared,
            kind,
            bytes,
            align: ALIGN,
        };
        if !(bytes as u64).is_multiple_of(ALIGN) {
            let kind = FaultKind::Misaligned;
            let size = bytes as u32;
            return Err(RawFault::memory(
                kind,
                lane,
                MemSpace::Shared,
                address,
                size,
            ));
        }
        self.place_of(access, address, lane)
    }

    /// Copies checked bytes from global memory to the same place in shared memory of some blocks.
    fn load_bulk(&mut self, far: u64, near: u64, size: usize, to: Targets, lane: usize) {
        if to.others == 0 && to.own {
            let near = near as usize;
            let bytes = &mut self.block.shared[near..near + size];
            self.port.read(self.ctx.asid, far, bytes);
            self.block.mark_written(near, size);
        } else {
            let mut bytes = vec![0; size];
            self.port.read(self.ctx.asid, far, &mut bytes);
            self.write_blocks(to, near, &bytes, lane);
        }
        self.out.bulk.touch(far, size);
    }

    /// Copies checked bytes from shared to global memory.
    fn store_bulk(&mut self, near: u64, far: u64, size: usize) {
        let near = near as usize;
        let bytes = &self.block.shared[near..near + size];
        self.port.write(self.ctx.asid, far, bytes);
        self.out.bulk.touch(far, size);
    }

    /// Combines checked bytes of shared memory into global memory, element by element.
    fn reduce_bulk(&mut self, near: u64, far: u64, size: usize, how: (AtomOp, AtomTy)) {
        let near = near as usize;
        let bytes = &self.block.shared[near..near + size];
        let whole = size - size % usize::from(atom_bytes(how.1));
        self.port.combine(self.ctx.asid, far, &bytes[..whole], how);
        self.out.bulk.touch(far, size);
    }

    /// Reports the end of a copy to its barrier object, or to one in each block that the copy goes
    /// to: now, or when the timing says so.
    pub(super) fn complete_bulk(
        &mut self,
        act: BulkAct,
        barrier: u64,
        bytes: usize,
        lane: usize,
    ) -> Exec {
        let access = Access {
            space: MemSpace::Shared,
            kind: MemKind::Atomic,
            bytes: 8,
            align: 8,
        };
        let (rank, address) = self.place_of(access, barrier, lane)?;
        let to = match act {
            BulkAct::Multicast => self.masked_blocks(lane)?,
            _ => Targets::one(rank),
        };
        let ranks = lanes_of(to.others).map(|rank| Some(rank as u32));
        let own = to.own.then_some(None);
        for rank in own.into_iter().chain(ranks) {
            self.complete_in(rank, address as u32, bytes as u32, lane);
        }
        Ok(())
    }

    /// Reports the end of a copy to a barrier object of one block.
    fn complete_in(&mut self, rank: Option<u32>, address: u32, count: u32, lane: usize) {
        match (self.env.atomics, rank) {
            (AtomicMode::Deferred, _) => self.out.bulk.completions.push(Completion {
                rank,
                address,
                count,
            }),
            (AtomicMode::Immediate, None) => self.block.complete_transactions(address, count),
            (AtomicMode::Immediate, Some(rank)) => {
                let act = PeerAct::Barrier(MbarrierOp::CompleteTx, count.into());
                self.out.peers.push(lane, (rank, address), act, &[]);
            }
        }
    }

    /// Executes `tensormap.cp_fenceproxy`: the warp copies a tensor map from shared to global
    /// memory, a word a lane.
    pub fn copy_tensor_map(&mut self, wide: bool) -> Exec {
        self.addresses();
        let lane = self.lowest_lane();
        let sources = self.gather::<u64>(self.inst.src[1], wide);
        let (near, far) = (sources[lane], self.out.addrs[lane]);
        let bytes = TENSOR_MAP_BYTES;
        for (space, kind, address) in [
            (MemSpace::Shared, MemKind::Load, near),
            (MemSpace::Global, MemKind::Store, far),
        ] {
            if !address.is_multiple_of(bytes as u64) {
                let size = bytes as u32;
                return Err(RawFault::memory(
                    FaultKind::Misaligned,
                    lane,
                    space,
                    address,
                    size,
                ));
            }
            self.check_bulk(space, kind, address, bytes, lane)?;
        }
        let near = near as usize;
        let map = &self.block.shared[near..near + bytes];
        self.port.write(self.ctx.asid, far, map);
        self.out.addrs = std::array::from_fn(|lane| far + lane as u64 * 4);
        let store = Access {
            space: MemSpace::Global,
            kind: MemKind::Store,
            bytes: 4,
            align: 4,
        };
        self.memory_effect(store, CacheOp::Default, false);
        Ok(())
    }
}
