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
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use crate::step::fault_of;
use warploom_base::{Pc, WARP_SIZE};
use warploom_ir::{AtomOp, AtomTy, Dst, Inst, MbarrierOp, MemSpace, MemTy, Op};

/// Action on the shared memory of another block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerAct {
    /// Bytes of it are read.
    Load,
    /// Bytes of it are written.
    Store,
    /// A value is combined with the one in memory, which is returned; the operands are the second
    /// and the third one of the instruction.
    Atomic(AtomOp, AtomTy, [u64; 2]),
    /// Elements of a bulk copy are combined with those in memory.
    Reduce(AtomOp, AtomTy),
    /// A barrier object is changed, with an operand.
    Barrier(MbarrierOp, u64),
}

/// Access of a lane to the shared memory of another block of its cluster. The place was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAccess {
    /// Rank in the cluster of the block that is accessed.
    pub rank: u32,
    /// Address in its shared memory.
    pub address: u32,
    /// Action on its memory.
    pub act: PeerAct,
    /// Lane of the warp.
    lane: u8,
    /// First of its bytes in the list of all, and their number.
    bytes: (u32, u32),
}

impl PeerAccess {
    /// True for an operation on a barrier object, which takes effect when the timing says so.
    pub fn is_signal(&self) -> bool {
        matches!(self.act, PeerAct::Barrier(..))
    }

    /// Number of bytes that are moved.
    pub fn size(&self) -> u32 {
        self.bytes.1
    }
}

/// Accesses of an instruction to the shared memory of other blocks of its cluster.
#[derive(Clone, Debug, Default)]
pub struct PeerAccesses {
    all: Vec<PeerAccess>,
    /// Bytes that are written, and those that were read.
    bytes: Vec<u8>,
}

impl PeerAccesses {
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Accesses, in the order of lanes.
    pub fn all(&self) -> &[PeerAccess] {
        &self.all
    }

    /// Forgets all of the accesses.
    pub fn clear(&mut self) {
        self.all.clear();
        self.bytes.clear();
    }

    /// Adds an access of a lane at a checked place, with the bytes that it writes or room for those
    /// that it reads.
    pub(crate) fn push(&mut self, lane: usize, place: (u32, u32), act: PeerAct, bytes: &[u8]) {
        self.all.push(PeerAccess {
            rank: place.0,
            address: place.1,
            act,
            lane: lane as u8,
            bytes: (self.bytes.len() as u32, bytes.len() as u32),
        });
        self.bytes.extend_from_slice(bytes);
    }

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
