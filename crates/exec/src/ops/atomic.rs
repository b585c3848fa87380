//! Atomic instructions on memory.

use crate::inst::{Exec, InstExec};
use crate::memory::atomic::{AtomicAction, AtomicDst, AtomicMode, atom_bytes, combine};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use crate::outcome::Effect;
use crate::peer_access::PeerAct;
use crate::state::registers::map_lanes;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{AtomOp, AtomTy, CacheOp, Dst, MemSpace};

impl InstExec<'_, '_> {
    /// Source operand `k` of an atomic instruction in every lane, zero-extended to 64 bits.
    fn atomic_operand(&self, k: usize, ty: AtomTy) -> [u64; WARP_SIZE] {
        if atom_bytes(ty) == 8 {
            *self.src::<u64>(k)
        } else {
            map_lanes(self.src::<u32>(k), u64::from)
        }
    }

    /// Executes `atom` and `red`.
    pub fn atomic(&mut self, space: MemSpace, op: AtomOp, ty: AtomTy) -> Exec {
        self.addresses();
        let bytes = atom_bytes(ty);
        let align = u64::from(bytes);
        let access = Access {
            space,
            kind: MemKind::Atomic,
            bytes: bytes.into(),
            align,
        };
        let mut groups = match space {
            MemSpace::Generic => self.split_spaces(access)?,
            space => {
                let mut groups = [(space, 0); 5];
                groups[0].1 = self.mask;
                groups
            }
        };
        let (a, b) = (self.atomic_operand(1, ty), self.atomic_operand(2, ty));
        let returns = self.inst.dst[0] != Dst::None;
        // If any lane accesses global memory, the timing must send the access there, whatever the
        // other lanes access.
        let is_global = |group: &(MemSpace, LaneMask)| group.0 == MemSpace::Global && group.1 != 0;
        let (first, _) = groups.iter().copied().find(is_global).unwrap_or(groups[0]);
        let mixed = space == MemSpace::Generic;
        self.effect_of(access.within(first), CacheOp::Default, returns, mixed);
        if let Effect::Memory(effect) = &mut self.out.effect {
            effect.serial = true;
        }
        for (space, lanes) in &mut groups {
            let access = access.within(*space);
            if *space == MemSpace::Shared && self.names_blocks(*lanes) {
                let room = [0; 8];
                let act = |lane: usize| PeerAct::Atomic(op, ty, [a[lane], b[lane]]);
                let access = access.within(MemSpace::Shared);
                *lanes =
                    self.part_peers(access, *lanes, |lane| (act(lane), &room[..access.bytes]))?;
            }
            for lane in lanes_of(*lanes) {
                self.check(access, lane)?;
            }
        }
        for (space, lanes) in groups {
            let access = access.within(space);
            if lanes == 0 {
                continue;
            }
            self.combine_lanes(access, op, ty, lanes, &a, &b);
        }
        Ok(())
    }

    /// Combines values with memory at the addresses of `out.addrs`, either now or when the memory
    /// system applies the batch.
    pub(crate) fn combine_lanes(
        &mut self,
        access: Access,
        op: AtomOp,
        ty: AtomTy,
        lanes: LaneMask,
        a: &[u64; WARP_SIZE],
        b: &[u64; WARP_SIZE],
    ) {
        if access.space == MemSpace::Global && self.env.atomics == AtomicMode::Deferred {
            let dst = self.atomic_dst(ty);
            self.defer_atomic(AtomicAction::Combine(op, ty), dst, lanes, a, b);
        } else {
            self.look_for_races(access, lanes);
            self.atomic_now(access, op, ty, lanes, a, b);
        }
    }

    /// Destination register of the old values. `None` if the instruction has no destination.
    pub(crate) fn atomic_dst(&self, ty: AtomTy) -> Option<AtomicDst> {
        match self.inst.dst[0] {
            Dst::Reg(reg) => Some(AtomicDst {
                reg,
                wide: atom_bytes(ty) == 8,
            }),
            _ => None,
        }
    }

    /// Leaves an atomic operation on the addresses of `out.addrs` to the memory system.
    pub(crate) fn defer_atomic(
        &mut self,
        act: AtomicAction,
        dst: Option<AtomicDst>,
        lanes: LaneMask,
        a: &[u64; WARP_SIZE],
        b: &[u64; WARP_SIZE],
    ) {
        let batch = &mut self.out.atomic;
        (batch.asid, batch.act) = (self.ctx.asid, act);
        (batch.mask, batch.dst) = (lanes, dst);
        (batch.a, batch.b) = (*a, *b);
        batch.addrs = self.out.addrs;
    }

    /// Applies an atomic operation at once.
    fn atomic_now(
        &mut self,
        access: Access,
        op: AtomOp,
        ty: AtomTy,
        lanes: LaneMask,
        a: &[u64; WARP_SIZE],
        b: &[u64; WARP_SIZE],
    ) {
        let mut old = [0; WARP_SIZE];
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            let mut raw = [0; 8];
            self.read_lane(access.space, lane, address, &mut raw[..access.bytes]);
            old[lane] = u64::from_le_bytes(raw);
            let ftz = access.space == MemSpace::Global;
            let new = combine(op, ty, old[lane], a[lane], b[lane], ftz);
            let new = &new.to_le_bytes()[..access.bytes];
            self.write_lane(access.space, lane, address, new);
        }
        if let Some(dst) = self.atomic_dst(ty) {
            self.warp.write_atomic_result(dst, lanes, &old);
        }
    }
}
