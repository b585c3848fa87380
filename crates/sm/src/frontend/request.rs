//! Requests for code, of warps and of the stream buffer.

use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_mem::{AccessKind, Request};

/// Token of requests that no warp waits for.
pub(super) const NOBODY: u32 = u32::MAX;

/// Request for `bytes` bytes of code at `addr`. `of`: its token, and the SM, the kernel and the
/// address space that it is for.
pub(super) fn code_request(
    now: Cycle,
    addr: u64,
    bytes: u32,
    of: (u32, SmId, KernelSlot, u8),
) -> Request {
    let (token, sm, kernel, asid) = of;
    let ones = u128::MAX >> (128 - bytes.clamp(1, 128));
    Request {
        addr,
        byte_mask: ones << (addr % 128),
        issued_at: now as u32,
        entry: Request::NO_ENTRY,
        returned_at: 0,
        token,
        bytes: bytes as u16,
        sm,
        kind: AccessKind::InstRead,
        sectors: 1 << (addr % 128 / 32),
        kernel,
        asid,
    }
}
