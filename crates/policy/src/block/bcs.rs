//! Block CTA scheduling (Lee et al., HPCA 2014; the baseline of Chen 2016): two consecutive blocks
//! at a time go to one SM.
//!
//! A pair waits in the dispatcher until an SM has room for both blocks. A single free slot of an SM
//! stays empty meanwhile. An SM takes one block in a cycle, so the second block of a pair is
//! reserved for the SM that took the first one, and follows in the next cycle. It does so even if
//! the SM filter bars the SM by then, because the policy gave out both blocks at once. The last
//! block of a grid with an odd number of blocks is given out as under `rr`. So are all blocks of a
//! kernel of which an SM can hold only one.

use super::{BlockQueueView, BlockScheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{KernelSlot, SmId};
use warploom_config::GpuSpec;
use warploom_state::{State, Value};

/// Block scheduler that gives out pairs of blocks.
#[derive(Clone, Debug, Default, State)]
pub struct Bcs {
    /// Second blocks of pairs, reserved for the SMs that took the first ones.
    owed: Vec<Owed>,
}

/// The second block of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Owed {
    sm: SmId,
    kernel: KernelSlot,
    rank: u64,
}

impl PolicyFacts for Bcs {
    const FACTS: Facts = Facts {
        about: "Consecutive blocks two at a time, to an SM that has room for both.",
        source: "Lee et al., HPCA 2014 (BCS); Chen 2016's rival",
        state: "log2(SMs) + SMs x 1: the SM that took a block last, who is owed a second block",
        bits: |spec: &GpuSpec| bits_for(u64::from(spec.gpu.sms)) + u64::from(spec.gpu.sms),
        bits_on_gtx480: 4 + 15,
        part: Part::Gpu,
        complexity: "constant",
    };
}

impl BlockScheduler for Bcs {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        let mine = |owed: &Owed| owed.sm == sm && owed.kernel == view.kernel;
        if let Some(at) = self.owed.iter().position(mine) {
            let Owed { rank, .. } = self.owed.swap_remove(at);
            return view.waiting.iter().position(|waiting| *waiting == rank);
        }
        let is_owed = |rank: u64| {
            let this = |owed: &Owed| owed.kernel == view.kernel && owed.rank == rank;
            self.owed.iter().any(this)
        };
        let mut free = (0..view.waiting.len()).filter(|at| !is_owed(view.waiting[*at]));
        let first = free.next()?;
        let Some(second) = free.next() else {
            return Some(first);
        };
        if view.blocks_per_sm < 2 {
            return Some(first);
        }
        if view.room < 2 {
            return None;
        }
        self.owed.push(Owed {
            sm,
            kernel: view.kernel,
            rank: view.waiting[second],
        });
        Some(first)
    }

    fn owed(&self, sm: SmId) -> Option<KernelSlot> {
        let owed = self.owed.iter().find(|owed| owed.sm == sm);
        owed.map(|owed| owed.kernel)
    }

    /// All reserved blocks, and the next pair after them.
    fn look_ahead(&self) -> usize {
        self.owed.len() + 2
    }
}
