//! Accesses to the shared memory of other blocks of a cluster (PTX ISA, "Shared State Space").
//!
//! An instruction reports them ([`StepOut::peers`](crate::StepOut::peers)), and its caller applies
//! them to the other blocks: data at once, operations on barrier objects when the timing says so.
//! Values that were read then go to the warp's registers.

use crate::context::LaunchContext;
use crate::fault::{Fault, FaultKind, RawFault};
use crate::memory::atomic::{AtomicDst, atom_bytes, combine};
use crate::memory::device::DeviceMemory;
use crate::ops::load::extend;
use crate::peer_access::{PeerAccesses, PeerAct};
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use crate::step::fault_of;
use warploom_base::{Pc, WARP_SIZE};
use warploom_ir::{Dst, Inst, MemSpace, MemTy, Op};

impl PeerAccesses {
    /// Applies access `nth` to the block that it names.
    pub fn apply(&mut self, nth: usize, block: &mut BlockState) {
        let access = self.all[nth];
        let (from, size) = (access.bytes.0 as usize, access.bytes.1 as usize);
        let own = &mut self.bytes[from..from + size];
        let at = access.address as usize;
        match access.act {
            PeerAct::Load => own.copy_from_slice(&block.shared[at..at + size]),
            PeerAct::Store => {
                block.shared[at..at + size].copy_from_slice(own);
                block.mark_written(at, size);
            }
            PeerAct::Atomic(op, ty, [a, b]) => {
                let place = &mut block.shared[at..at + size];
                let old = number(place);
                let new = combine(op, ty, old, a, b, false).to_le_bytes();
                own.copy_from_slice(place);
                place.copy_from_slice(&new[..size]);
                block.mark_written(at, size);
            }
            PeerAct::Reduce(op, ty) => {
                let each = usize::from(atom_bytes(ty));
                let places = block.shared[at..at + size].chunks_exact_mut(each);
                for (place, value) in places.zip(own.chunks_exact(each)) {
                    let new = combine(op, ty, number(place), number(value), 0, false);
                    place.copy_from_slice(&new.to_le_bytes()[..each]);
                }
                block.mark_written(at, size);
            }
            PeerAct::Barrier(op, operand) => block.operate(access.address, op, operand),
        }
    }

    /// Writes the values that were read to the registers of the warp that executed the instruction
    /// at `pc`.
    pub fn write_results(&self, launch: &LaunchContext, warp: &mut WarpState, pc: Pc) {
        let Some(inst) = launch.program().insts.get(pc.index()) else {
            return;
        };
        for access in &self.all {
            let from = access.bytes.0 as usize;
            let bytes = &self.bytes[from..from + access.bytes.1 as usize];
            let lane = usize::from(access.lane);
            match (access.act, inst.op) {
                (PeerAct::Load, Op::Ld(_, ty, _)) => {
                    for (nth, part) in bytes.chunks_exact(ty.bytes.into()).enumerate() {
                        let dst = element(launch, inst, ty, nth);
                        write(warp, dst, ty.wide_reg, lane, extend(number(part), ty));
                    }
                }
                (PeerAct::Atomic(..), Op::Atom(_, _, ty)) => {
                    let wide = atom_bytes(ty) == 8;
                    write(warp, inst.dst[0], wide, lane, number(bytes));
                }
                _ => {}
            }
        }
    }

    /// Fault of access `nth` of the instruction at `pc`, whose block has ended.
    pub fn fault(
        &self,
        nth: usize,
        (launch, block, warp): (&LaunchContext, &BlockState, &WarpState),
        image: &DeviceMemory,
        pc: Pc,
    ) -> Fault {
        let access = &self.all[nth];
        let raw = RawFault::memory(
            FaultKind::BlockEnded,
            access.lane.into(),
            MemSpace::Shared,
            access.address.into(),
            access.size(),
        );
        fault_of(launch, block, warp, image, pc, &raw)
    }
}

/// Up to eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(raw)
}

/// Destination of an element of a load.
fn element(launch: &LaunchContext, inst: &Inst, ty: MemTy, nth: usize) -> Dst {
    if ty.count == 1 {
        return inst.dst[0];
    }
    let extra = launch.program().extras.get(inst.extra.0 as usize);
    let dst = extra.and_then(|extra| extra.dsts.get(nth));
    dst.copied().unwrap_or(Dst::None)
}

/// Writes a value to a register of one lane.
fn write(warp: &mut WarpState, dst: Dst, wide: bool, lane: usize, value: u64) {
    if let Dst::Reg(reg) = dst {
        let dst = AtomicDst { reg, wide };
        warp.write_atomic_result(dst, 1 << lane, &[value; WARP_SIZE]);
    }
}
