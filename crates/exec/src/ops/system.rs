//! System functions that kernels call: `vprintf`, `__assertfail`, `malloc` and `free`.

use crate::fault::{Assertion, FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::atomic::AtomicAction;
use crate::memory::effect::MemKind;
use crate::memory::state_space::resolve;
use crate::ops::access::Access;
use crate::ops::printf::{Arguments, format};
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_ir::{AtomTy, CacheOp, MemSpace, SystemCall};

/// Result of `vprintf` for a null format (CUDA C++ Programming Guide).
const NO_FORMAT: i32 = -1;

impl InstExec<'_, '_> {
    /// Executes a call of a system function.
    pub fn system(&mut self, call: SystemCall) -> Exec {
        match call {
            SystemCall::Print => self.print(),
            SystemCall::AssertFail => {
                let lane = self.lowest_lane();
                Err(RawFault::plain(FaultKind::Assertion, lane))
            }
            SystemCall::Malloc => self.heap_call(AtomicAction::HeapAlloc),
            SystemCall::Free => {
                self.check_frees()?;
                self.heap_call(AtomicAction::HeapFree)
            }
        }
    }

    /// Executes `malloc` or `free` as an atomic operation on the lock of the heap. All SMs share
    /// the heap, so that the owner of the memory applies the operation in every mode.
    fn heap_call(&mut self, act: AtomicAction) -> Exec {
        let heap = self.port.image.heap(self.ctx.asid);
        let lock = heap.ok_or_else(|| self.illegal())?.lock;
        self.out.addrs = [lock; WARP_SIZE];
        let dst = self.atomic_dst(AtomTy::B64);
        let access = Access {
            space: MemSpace::Global,
            kind: MemKind::Atomic,
            bytes: 8,
            align: 8,
        };
        self.memory_effect(access, CacheOp::Default, dst.is_some());
        let operands = *self.src::<u64>(0);
        self.defer_atomic(act, dst, self.mask, &operands, &[0; WARP_SIZE]);
        Ok(())
    }

    /// Checks that the address in every lane is null or an allocated part of the heap that no other
    /// lane frees.
    fn check_frees(&self) -> Exec {
        let addresses = self.src::<u64>(0);
        let heap = self.port.image.heap(self.ctx.asid);
        for lane in lanes_of(self.mask) {
            let address = addresses[lane];
            let mut lower = lanes_of(self.mask & ((1 << lane) - 1));
            let twice = lower.any(|other| addresses[other] == address);
            let known = heap.is_some_and(|heap| heap.is_allocated(address));
            if address != 0 && (twice || !known) {
                let kind = FaultKind::BadFree;
                return Err(RawFault::memory(kind, lane, MemSpace::Global, address, 0));
            }
        }
        Ok(())
    }

    /// Executes `vprintf`, one lane after the other.
    fn print(&mut self) -> Exec {
        let (formats, buffers) = (*self.src::<u64>(0), *self.src::<u64>(1));
        let mut counts = [0; WARP_SIZE];
        for lane in lanes_of(self.mask) {
            if formats[lane] == 0 {
                counts[lane] = NO_FORMAT as u32;
                continue;
            }
            let text = self.string(lane, formats[lane], usize::MAX)?;
            let mut arguments = Buffer {
                machine: self,
                lane,
                next: buffers[lane],
            };
            let (text, count) = format(&text, &mut arguments)?;
            self.port.print(self.ctx.asid, text);
            counts[lane] = count;
        }
        self.write_result(&counts);
        Ok(())
    }

    /// Texts of the failed assertion of a lane. Texts that cannot be read are empty.
    pub fn assertion(&mut self, lane: usize) -> Assertion {
        let mut text = |k: usize| {
            let address = self.src::<u64>(k)[lane];
            let bytes = match address {
                0 => Vec::new(),
                _ => self.string(lane, address, usize::MAX).unwrap_or_default(),
            };
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Assertion {
            expression: text(0),
            file: text(1),
            function: text(3),
            line: self.src::<u32>(2)[lane],
        }
    }

    /// Bytes at a generic address up to a terminating zero, at most `most`.
    fn string(&mut self, lane: usize, address: u64, most: usize) -> Exec<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < most {
            let mut byte = [0];
            self.read_generic(lane, address.wrapping_add(text.len() as u64), &mut byte)?;
            match byte {
                [0] => break,
                [byte] => text.push(byte),
            }
        }
        Ok(text)
    }

    /// Reads bytes of one lane at a generic address.
    fn read_generic(&mut self, lane: usize, address: u64, out: &mut [u8]) -> Exec {
        let access = Access {
            space: MemSpace::Generic,
            kind: MemKind::Load,
            bytes: out.len(),
            align: 1,
        };
        self.out.addrs[lane] = address;
        let Some((space, own)) = resolve(address) else {
            return Err(self.memory_fault(FaultKind::NoStateSpace, access, lane));
        };
        self.out.addrs[lane] = own;
        self.check(access.within(space), lane)?;
        self.read_lane(space, lane, own, out);
        Ok(())
    }
}

/// Arguments of one lane, stored consecutively and each aligned to its size.
struct Buffer<'m, 'a, 'p> {
    machine: &'m mut InstExec<'a, 'p>,
    lane: usize,
    next: u64,
}

impl Arguments for Buffer<'_, '_, '_> {
    fn next(&mut self, bytes: u64) -> Exec<u64> {
        let at = self.next.div_ceil(bytes).wrapping_mul(bytes);
        self.next = at.wrapping_add(bytes);
        let mut raw = [0; 8];
        let value = &mut raw[..bytes as usize];
        self.machine.read_generic(self.lane, at, value)?;
        Ok(u64::from_le_bytes(raw))
    }

    fn string(&mut self, address: u64, most: usize) -> Exec<Vec<u8>> {
        self.machine.string(self.lane, address, most)
    }
}
