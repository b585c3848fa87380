//! Asynchronous copies and barrier objects in shared memory (PTX ISA, "Asynchronous Copy" and
//! "mbarrier").

use crate::fault::FaultKind;
use crate::inst::{Exec, InstExec, lowest_lane};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use crate::peer_access::PeerAct;
use crate::state::barrier_object::BarrierObject;
use crate::state::registers::LANE_BITS;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, MbarrierOp, MemSpace, Src};

impl InstExec<'_, '_> {
    /// Executes `cp.async`: copies `bytes` bytes of each lane from global to shared memory. Bytes
    /// beyond the source size are zero.
    pub fn copy_async(&mut self, bytes: u8, wide: bool, cache: CacheOp) -> Exec {
        self.addresses();
        let bytes = usize::from(bytes);
        let access = |space: MemSpace, kind: MemKind, bytes: usize| Access {
            space,
            kind,
            bytes,
            align: bytes.max(1) as u64,
        };
        let targets = self.gather::<u64>(self.inst.src[1], wide);
        let sizes = match self.inst.src[2] {
            Src::None => [bytes; WARP_SIZE],
            _ => self.src::<u32>(2).map(|size| (size as usize).min(bytes)),
        };
        let whole = access(MemSpace::Global, MemKind::Load, bytes);
        let store = access(MemSpace::Shared, MemKind::Store, bytes);
        if sizes == [bytes; WARP_SIZE] && self.copy_plainly(whole, store, &targets) {
            self.memory_effect(whole, cache, true);
            return Ok(());
        }
        let mut data = [[0; 16]; WARP_SIZE];
        for lane in lanes_of(self.mask) {
            let (size, address) = (sizes[lane], self.out.addrs[lane]);
            if size > 0 {
                let read = Access {
                    bytes: size,
                    ..whole
                };
                self.check(read, lane)?;
                self.read_lane(MemSpace::Global, lane, address, &mut data[lane][..size]);
            }
        }
        let sources = std::mem::replace(&mut self.out.addrs, targets);
        for lane in lanes_of(self.mask) {
            self.check(store, lane)?;
        }
        self.look_for_races(store, self.mask);
        for lane in lanes_of(self.mask) {
            self.write_lane(MemSpace::Shared, lane, targets[lane], &data[lane][..bytes]);
        }
        self.out.addrs = sources;
        if self.leave_out(sizes.map(|size| size == 0)) {
            self.memory_effect(whole, cache, true);
        }
        Ok(())
    }

    /// Copies whole pieces from one allocation if no store of the SM overlaps them and there are no
    /// checks. Returns false otherwise.
    fn copy_plainly(&mut self, load: Access, store: Access, targets: &[u64; WARP_SIZE]) -> bool {
        let span = self.span(load);
        let one_page = span.is_in_one_page();
        let live = one_page && self.port.image.page(self.ctx.asid, span.low).0;
        if !self.one_allocation(&span, load, live) || self.own_stores(&span, load) {
            return false;
        }
        let sources = std::mem::replace(&mut self.out.addrs, *targets);
        let is_plain = self.plain_shared(&self.span(store), store);
        self.out.addrs = sources;
        if is_plain {
            match store.bytes {
                4 => self.copy_pieces::<4>(targets),
                8 => self.copy_pieces::<8>(targets),
                _ => self.copy_pieces::<16>(targets),
            }
        }
        is_plain
    }

    /// Copies `BYTES` checked bytes of each lane.
    fn copy_pieces<const BYTES: usize>(&mut self, targets: &[u64; WARP_SIZE]) {
        for lane in lanes_of(self.mask) {
            let block = self
                .port
                .image
                .read_block(self.ctx.asid, self.out.addrs[lane]);
            let at = targets[lane] as usize;
            self.block.shared[at..at + BYTES].copy_from_slice(&block[..BYTES]);
        }
    }

    /// Gives lanes that read nothing the address of one that does, so that they cause no access.
    /// False if no lane reads.
    fn leave_out(&mut self, empty: [bool; WARP_SIZE]) -> bool {
        let Some(reader) = lanes_of(self.mask).find(|lane| !empty[*lane]) else {
            return false;
        };
        for lane in lanes_of(self.mask).filter(|lane| empty[*lane]) {
            self.out.addrs[lane] = self.out.addrs[reader];
        }
        true
    }

    /// Executes an operation on barrier objects, one lane after the other.
    pub fn mbarrier(&mut self, space: MemSpace, op: MbarrierOp) -> Exec {
        let operands = self.barrier_operands(op);
        if op == MbarrierOp::PendingCount {
            self.write_result(&operands.map(|state| BarrierObject::new(state).pending() as u32));
            return Ok(());
        }
        self.addresses();
        let access = Access {
            space,
            kind: MemKind::Atomic,
            bytes: 8,
            align: 8,
        };
        if space == MemSpace::Generic {
            self.only_shared(access)?;
        }
        let access = access.within(MemSpace::Shared);
        self.memory_effect(access, CacheOp::Default, true);
        let mut own = self.mask;
        if self.names_blocks(own) {
            if !may_be_remote(op) {
                return Err(self.memory_fault(FaultKind::OutOfBounds, access, self.lowest_lane()));
            }
            let act = |lane: usize| PeerAct::Barrier(op, operands[lane]);
            own = self.part_peers(access, own, |lane| (act(lane), &[]))?;
        }
        // All lanes learn the same of a test that they have in common.
        let shared_test = is_test(op) && self.are_alike(own, &operands);
        let single = match shared_test {
            true => own & own.wrapping_neg(),
            false => own,
        };
        for lane in lanes_of(single) {
            self.check(access, lane)?;
        }
        self.look_for_races(access, single);
        let (mut states, mut passed) = ([0; WARP_SIZE], 0);
        for lane in lanes_of(single) {
            let address = self.out.addrs[lane];
            let mut raw = [0; 8];
            self.read_lane(MemSpace::Shared, lane, address, &mut raw);
            let mut barrier = BarrierObject::new(u64::from_le_bytes(raw));
            states[lane] = barrier.bits();
            let holds = barrier.change(op, operands[lane]);
            passed |= u32::from(holds) << lane;
            self.write_lane(
                MemSpace::Shared,
                lane,
                address,
                &barrier.bits().to_le_bytes(),
            );
        }
        if shared_test {
            states = [states[lowest_lane(own)]; WARP_SIZE];
            passed = if passed == 0 { 0 } else { own };
        }
        self.write_result(&states);
        self.write_pred(self.inst.dst[0], passed);
        Ok(())
    }

    /// True if the given lanes, of which there is one at least, have the same address and operand.
    fn are_alike(&self, lanes: LaneMask, operands: &[u64; WARP_SIZE]) -> bool {
        let addrs = &self.out.addrs;
        let first = lowest_lane(lanes);
        let mut differ = 0;
        for lane in 0..WARP_SIZE {
            let bits = addrs[lane] ^ addrs[first] | operands[lane] ^ operands[first];
            differ |= if lanes & LANE_BITS[lane] != 0 {
                bits
            } else {
                0
            };
        }
        differ == 0
    }

    /// Counts, states or parities of all lanes. A missing count is 1.
    fn barrier_operands(&self, op: MbarrierOp) -> [u64; WARP_SIZE] {
        match (op, self.inst.src[1]) {
            (_, Src::None) => [1; WARP_SIZE],
            (MbarrierOp::Test | MbarrierOp::PendingCount, _) => *self.src::<u64>(1),
            _ => self.src::<u32>(1).map(u64::from),
        }
    }
}

/// True for operations that leave the barrier object as it is.
fn is_test(op: MbarrierOp) -> bool {
    matches!(op, MbarrierOp::Test | MbarrierOp::TestParity)
}

/// True for operations on a barrier object of another block (PTX ISA, "mbarrier": those with
/// `.shared::cluster`).
fn may_be_remote(op: MbarrierOp) -> bool {
    use MbarrierOp as M;
    matches!(
        op,
        M::Arrive
            | M::ArriveDrop
            | M::ExpectTx
            | M::CompleteTx
            | M::ArriveExpectTx
            | M::ArriveDropExpectTx
    )
}
