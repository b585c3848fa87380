//! A packet for tests.

use warploom_base::{KernelSlot, SmId};
use warploom_mem::{AccessKind, Request};

/// A read's packet that its token tells from others.
pub(crate) fn packet(token: u32) -> Request {
    Request {
        addr: 0,
        byte_mask: 0,
        issued_at: 0,
        returned_at: 0,
        token,
        bytes: 32,
        sm: SmId(0),
        kind: AccessKind::GlobalRead,
        sectors: 1,
        kernel: KernelSlot(0),
        asid: 0,
    }
}
