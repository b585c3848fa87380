//! Nothing is left anywhere when kernels have ended and memory is quiet. Builds with assertions
//! check it before every launch and at every end.

use super::Gpu;

impl Gpu {
    /// Describes instructions that are left in SMs, and requests that are left once memory is
    /// quiet. Nothing is left in a machine without kernels, unless a part of it has lost something.
    /// Empty while kernels run.
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
                let untaken = sm.link.untaken() as u64;
                // Lines that no warp waits for may come after the last block.
                let comes = sm.front.awaits_stream(sm.link.untaken());
                let waits = !sm.is_idle() || !(comes || sm.front.l1i.is_idle());
                let kept = [
                    ("replies never came", ledger.owed[index]),
                    ("replies are not taken", if comes { 0 } else { untaken }),
                    ("caches wait", u64::from(waits)),
                ];
                let left = kept.into_iter().filter(|(_, count)| *count > 0);
                leaks.extend(left.map(|(what, count)| format!("SM {index}: {count} {what}")));
            }
        });
        leaks
    }

    /// True if memory holds no request and no reply.
    pub fn memory_is_quiet(&self) -> bool {
        self.memory.is_idle()
    }

    /// Panics if something is left, in builds with assertions.
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
