//! Packets for tests.

use warploom_mem::{AccessKind, Request};

/// A read whose token tells its packet from others.
pub(crate) fn packet(token: u32) -> Request {
    Request {
        token,
        ..Request::new(AccessKind::GlobalRead, 0, 32)
    }
}
