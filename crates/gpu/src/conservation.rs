//! What the machine owes and must not keep: every request gets its replies, each once, and when
//! kernels have ended and memory is quiet nothing is left anywhere. Builds with assertions check it
//! before every launch and at every end.

use crate::machine::Gpu;
use warploom_mem::{AccessKind, Reply, Request};

/// Replies that memory owes each SM. Kept in builds with assertions only.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    owed: Vec<u64>,
    sectored_l2: bool,
}

impl Ledger {
    pub fn new(sms: usize, sectored_l2: bool) -> Self {
        Self {
            owed: vec![0; sms],
            sectored_l2,
        }
    }

    /// An SM's request has left: a write-back is not answered, anything else by as many replies as
    /// L2 makes of it.
    pub fn sent(&mut self, index: usize, request: &Request) {
        if cfg!(debug_assertions) && request.kind != AccessKind::L1WriteBack {
            self.owed[index] += u64::from(request.replies(self.sectored_l2));
        }
    }

    /// A reply reaches an SM.
    pub fn answered(&mut self, index: usize, reply: &Reply) {
        if cfg!(debug_assertions) {
            let owed = self.owed[index].checked_sub(1);
            self.owed[index] = owed.unwrap_or_else(|| panic!("nobody asked for {reply:?}"));
        }
    }
}

impl Gpu {
    /// What is left of instructions in the SMs, and of requests once memory is quiet: in a machine
    /// without kernels nothing may be, or a part of it has lost something.
    pub fn leaks(&mut self) -> Vec<String> {
        let mut leaks = Vec::new();
        if !self.is_idle() {
            return leaks;
        }
        let memory_is_quiet = self.memory.is_idle();
        let ledger = &self.ledger;
        self.sms.for_each(|index, sm| {
            sm.describe_leaks(&mut leaks);
            if memory_is_quiet {
                let kept = [
                    ("replies never came", ledger.owed[index]),
                    ("replies are not taken", sm.link.undelivered() as u64),
                    (
                        "caches wait",
                        u64::from(!sm.is_idle() || !sm.front.l1i.is_idle()),
                    ),
                ];
                let left = kept.into_iter().filter(|(_, count)| *count > 0);
                leaks.extend(left.map(|(what, count)| format!("SM {index}: {count} {what}")));
            }
        });
        leaks
    }

    /// Memory holds no request and no reply.
    pub fn memory_is_quiet(&self) -> bool {
        self.memory.is_idle()
    }

    /// Stops at our own bug, in builds with assertions.
    pub(crate) fn check_leaks(&mut self) {
        if cfg!(debug_assertions) {
            let leaks = self.leaks();
            assert!(leaks.is_empty(), "{}", leaks.join("\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::Gpu;
    use crate::probe::Probe;
    use warploom_config::preset;

    #[test]
    fn a_reply_that_never_comes_is_found() {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut gpu = Gpu::new(spec, 1, Probe::default());
        assert!(gpu.leaks().is_empty());
        gpu.ledger.owed[3] = 2;
        assert_eq!(gpu.leaks(), ["SM 3: 2 replies never came"]);
    }
}
