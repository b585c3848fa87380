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
use crate::outcome::Effect;
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_ir::tensor_map::TENSOR_MAP_BYTES;
use warploom_ir::{AtomOp, AtomTy, BulkAct, CacheOp, MemSpace};

/// Alignment of addresses and sizes of bulk copies in bytes.
const ALIGN: u64 = 16;

impl InstExec<'_, '_> {
    /// Executes `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub fn bulk_copy(&mut self, act: BulkAct, wide: [bool; 2]) -> Exec {
        self.addresses();
        self.out
            .bulk
            .begin(matches!(act, BulkAct::Store | BulkAct::Reduce(..)));
        let (near, barriers) = self.shared_operands(wide);
        let sizes = *self.src::<u32>(2);
        for lane in lanes_of(self.mask) {
            let (far, near, size) = (self.out.addrs[lane], near[lane], sizes[lane] as usize);
            if size > 0 {
                self.copy_of_lane(act, (far, near), size, lane)?;
            }
            if matches!(act, BulkAct::Load | BulkAct::Within) {
                self.complete_bulk(barriers[lane], size, lane)?;
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
            BulkAct::Load => (MemSpace::Global, Load, Store),
            BulkAct::Within => (MemSpace::Shared, Load, Store),
            BulkAct::Store | BulkAct::Reduce(..) => (MemSpace::Global, Store, Load),
        };
        self.check_bulk(far_space, far_kind, far, size, lane)?;
        self.check_bulk(MemSpace::Shared, near_kind, near, size, lane)?;
        match act {
            BulkAct::Load => self.load_bulk(far, near, size),
            BulkAct::Within => {
                let (far, near) = (far as usize, near as usize);
                self.block.shared.copy_within(far..far + size, near);
                self.block.mark_written(near, size);
            }
            BulkAct::Store => self.store_bulk(near, far, size),
            BulkAct::Reduce(op, ty) => {
                let ty = ty.ok_or_else(|| self.illegal())?;
                self.reduce_bulk(near, far, size, (op, ty));
            }
        }
        Ok(())
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

    /// Copies checked bytes from global to shared memory.
    pub(super) fn load_bulk(&mut self, far: u64, near: u64, size: usize) {
        let near = near as usize;
        let bytes = &mut self.block.shared[near..near + size];
        self.port.read(self.ctx.asid, far, bytes);
        self.block.mark_written(near, size);
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

    /// Reports the end of a copy to its barrier object: now, or when the timing says so.
    pub(super) fn complete_bulk(&mut self, barrier: u64, bytes: usize, lane: usize) -> Exec {
        let access = Access {
            space: MemSpace::Shared,
            kind: MemKind::Atomic,
            bytes: 8,
            align: 8,
        };
        let before = std::mem::replace(&mut self.out.addrs[lane], barrier);
        let checked = self.check(access, lane);
        self.out.addrs[lane] = before;
        checked?;
        let completion = (barrier as u32, bytes as u32);
        match self.env.atomics {
            AtomicMode::Immediate => self.block.complete_transactions(completion.0, completion.1),
            AtomicMode::Deferred => self.out.bulk.completions.push(completion),
        }
        Ok(())
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
