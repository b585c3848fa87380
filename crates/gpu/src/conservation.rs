//! Conservation of requests: every request gets its replies, each of them once. Builds with
//! assertions check it.

use warploom_mem::{AccessKind, Reply, Request};
use warploom_state::State;

/// Number of replies that memory owes to each SM. Kept in builds with assertions only.
#[derive(Clone, Debug, State)]
pub(crate) struct Ledger {
    pub(crate) owed: Vec<u64>,
    sectored_l2: bool,
}

impl Ledger {
    /// A ledger for `sms` SMs without requests. `sectored_l2`: L2 replies by sectors.
    pub fn new(sms: usize, sectored_l2: bool) -> Self {
        Self {
            owed: vec![0; sms],
            sectored_l2,
        }
    }

    /// Notes a request that an SM has sent. Write-backs get no reply; any other request gets as
    /// many replies as L2 makes of it.
    pub fn sent(&mut self, index: usize, request: &Request) {
        if cfg!(debug_assertions) && request.kind != AccessKind::L1WriteBack {
            self.owed[index] += u64::from(request.replies(self.sectored_l2));
        }
    }

    /// Notes a reply that reaches an SM.
    pub fn answered(&mut self, index: usize, reply: &Reply) {
        if cfg!(debug_assertions) {
            let owed = self.owed[index].checked_sub(1);
            self.owed[index] = owed.unwrap_or_else(|| panic!("nobody asked for {reply:?}"));
        }
    }
}
