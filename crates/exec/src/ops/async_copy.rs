//! Asynchronous copies and barrier objects in shared memory (PTX ISA, "Asynchronous Copy" and
//! "mbarrier").
//!
//! PTX leaves the contents of the 8 bytes of a barrier object open. Here they hold the arrivals
//! that the current phase still waits for, the arrivals that each phase expects, and the number of
//! completed phases.

use crate::inst::{Exec, InstExec};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, MbarrierOp, MemSpace, Src};

/// Number of bits of an arrival count (PTX ISA: at most 2^20 - 1).
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// Decoded barrier object, or the state that an arrival returns.
#[derive(Clone, Copy)]
struct Barrier {
    pending: u64,
    expected: u64,
    phase: u64,
}

impl Barrier {
    fn new(bits: u64) -> Self {
        Self {
            pending: bits & COUNT,
            expected: bits >> COUNT_BITS & COUNT,
            phase: bits >> (2 * COUNT_BITS),
        }
    }

    fn bits(self) -> u64 {
        let phase = self.phase << (2 * COUNT_BITS);
        phase | (self.expected & COUNT) << COUNT_BITS | self.pending & COUNT
    }

    /// Records arrivals. The last expected arrival completes the phase, and the next one begins.
    fn arrive(&mut self, count: u64, drop: bool) {
        if drop {
            self.expected = self.expected.wrapping_sub(count);
        }
        self.pending = self.pending.wrapping_sub(count) & COUNT;
        if self.pending == 0 {
            self.pending = self.expected & COUNT;
            self.phase = self.phase.wrapping_add(1);
        }
    }
}

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
        let mut data = [[0; 16]; WARP_SIZE];
        let whole = access(MemSpace::Global, MemKind::Load, bytes);
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
        let store = access(MemSpace::Shared, MemKind::Store, bytes);
        for lane in lanes_of(self.mask) {
            self.check(store, lane)?;
        }
        self.look_for_races(store, self.mask);
        for lane in lanes_of(self.mask) {
            self.write_lane(MemSpace::Shared, lane, targets[lane], &data[lane][..bytes]);
        }
        self.out.addrs = sources;
        self.memory_effect(whole, cache, true);
        Ok(())
    }

    /// Executes an operation on barrier objects, one lane after the other.
    pub fn mbarrier(&mut self, space: MemSpace, op: MbarrierOp) -> Exec {
        let operands = self.barrier_operands(op);
        if op == MbarrierOp::PendingCount {
            self.write_result(&operands.map(|state| Barrier::new(state).pending as u32));
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
        for lane in lanes_of(self.mask) {
            self.check(access, lane)?;
        }
        self.look_for_races(access, self.mask);
        self.memory_effect(access, CacheOp::Default, true);
        let (mut states, mut passed) = ([0; WARP_SIZE], 0);
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            let mut raw = [0; 8];
            self.read_lane(MemSpace::Shared, lane, address, &mut raw);
            let mut barrier = Barrier::new(u64::from_le_bytes(raw));
            states[lane] = barrier.bits();
            let holds = change(&mut barrier, op, operands[lane]);
            passed |= u32::from(holds) << lane;
            self.write_lane(
                MemSpace::Shared,
                lane,
                address,
                &barrier.bits().to_le_bytes(),
            );
        }
        self.write_result(&states);
        self.write_pred(self.inst.dst[0], passed);
        Ok(())
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

/// Applies an operation to a barrier object. Returns true if the tested phase has completed.
fn change(barrier: &mut Barrier, op: MbarrierOp, operand: u64) -> bool {
    match op {
        MbarrierOp::Init => {
            *barrier = Barrier {
                pending: operand,
                expected: operand,
                phase: 0,
            };
        }
        MbarrierOp::Arrive => barrier.arrive(operand, false),
        MbarrierOp::ArriveDrop => barrier.arrive(operand, true),
        MbarrierOp::Test => return Barrier::new(operand).phase != barrier.phase,
        MbarrierOp::TestParity => return barrier.phase & 1 != operand & 1,
        MbarrierOp::Nothing | MbarrierOp::PendingCount => {}
    }
    false
}
