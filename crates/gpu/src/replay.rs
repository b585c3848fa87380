//! Launches without timing: what they leave in caches and in the order of SMs, so that the next
//! timed launch finds it.

use crate::Gpu;
pub use warploom_mem::cache::{Replay, ReplayKind, SEGMENT_BYTES};
use warploom_sm::physical_base;

impl Gpu {
    /// SMs that would take the first blocks of a grid of `blocks` blocks on the idle machine, one
    /// each, in order.
    pub fn next_sms(&self, blocks: u64) -> Vec<usize> {
        self.dispatcher.next_sms(blocks)
    }

    /// Lets the turns of SMs go on as if a grid of `blocks` blocks had run.
    pub fn pass_blocks(&mut self, blocks: u64) {
        self.dispatcher.pass(blocks);
    }

    /// True if data caches keep their lines at the end of a kernel, so that accesses are to be
    /// replayed in those as well.
    pub fn keeps_l1(&self) -> bool {
        !self.spec.gpu.flush_l1_at_kernel_end && self.spec.l1d.enabled
    }

    /// Has the effects of an access of a process on caches without timing: on the data cache
    /// or the texture cache of `sm`, if there is one, and on L2. `later` is the number of such
    /// accesses of one of these caches before.
    pub fn replay(&mut self, asid: u8, access: &Replay, sm: Option<usize>, later: u64) {
        let segment = physical_base(asid) + access.segment;
        let access = Replay { segment, ..*access };
        let now = self.now + later;
        let asked = match sm {
            Some(sm) => self.sms.get(sm).replay_access(now, &access),
            None => Some(access),
        };
        if let Some(asked) = asked {
            let l2 = &self.spec.partition.l2;
            let atom = if l2.sectored { 32 } else { l2.line_bytes };
            self.memory.replay(&asked, atom);
        }
    }

    /// Has the effect of a fetch of a process's code on the instruction cache of an SM without
    /// timing. `later` is the number of such fetches before.
    pub fn replay_fetch(&mut self, asid: u8, fetch: &Replay, sm: usize, later: u64) {
        let segment = physical_base(asid) + fetch.segment;
        let fetch = Replay { segment, ..*fetch };
        self.sms.get(sm).replay_fetch(self.now + later, &fetch);
    }

    /// Ends a launch without timing: dirty lines of L2 go where the machine drops them at the end
    /// of a kernel.
    pub fn end_replay(&mut self) {
        if self.spec.gpu.flush_l2_at_kernel_end {
            self.memory.flush_l2();
        }
    }
}
