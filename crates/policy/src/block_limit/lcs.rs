//! LCS, lazy block scheduling (Lee et al., HPCA 2014): the instructions that were issued until the
//! first block of a kernel ended tell how many blocks an SM needs.
//!
//! A greedy warp scheduler (`gto`) serves the oldest block first, and younger blocks only fill the
//! cycles that it leaves. When the first block of a kernel ends on an SM, the instructions that the
//! SM has issued from all blocks of the kernel, over those of the block that ended, is the number
//! of blocks that have kept the SM busy. Rounded up, it is the most blocks of the kernel that the
//! SM runs from then on. Blocks beyond it go on to their ends, and no others take their places.

use super::{BlockLimit, BlockLimitCounters, EndedBlock, NO_LIMIT};
use crate::multiprogram::MultiprogramView;
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::GpuSpec;
use warploom_state::{State, Value};

/// Block limit that the first block of a kernel decides on each SM.
#[derive(Clone, Debug, Default, State)]
pub struct Lcs {
    /// Kernels in flight, by kernel slot.
    kernels: Vec<Option<Kernel>>,
    counters: BlockLimitCounters,
}

/// A kernel in flight.
#[derive(Clone, Debug, Value)]
struct Kernel {
    launched_at: Cycle,
    blocks_per_sm: u32,
    sms: Vec<OnSm>,
}

/// A kernel on one SM.
#[derive(Clone, Copy, Debug, Value)]
struct OnSm {
    /// Instructions that the SM had issued from the kernel's slot before its launch.
    before: u64,
    /// Most blocks, once the first one has ended.
    limit: Option<u32>,
}

impl PolicyFacts for Lcs {
    const FACTS: Facts = Facts {
        about: "As many blocks as the first one needed beside it to keep the SM busy.",
        source: "LCS: Lee et al., HPCA 2014",
        state: "blocks x 32 + log2(blocks) + 1: instructions of each block, the limit, if it is set",
        bits: |spec: &GpuSpec| {
            let blocks = u64::from(spec.sm.max_blocks);
            blocks * 32 + bits_for(blocks) + 1
        },
        // A counter for each of 8 blocks, a limit of 1 to 8 (3 bits), a bit that says it is set.
        bits_on_gtx480: 8 * 32 + 3 + 1,
        part: Part::Sm,
        complexity: "blocks, once a kernel",
    };
}

impl Kernel {
    fn new(view: &MultiprogramView<'_>, slot: KernelSlot, launched_at: Cycle) -> Self {
        let on_sm = |before: u64| OnSm {
            before,
            limit: None,
        };
        let issued = view.sms.iter().map(|sm| sm.instructions[slot.index()]);
        let kernel = view.kernels.iter().find(|kernel| kernel.slot == slot);
        Self {
            launched_at,
            blocks_per_sm: kernel.map_or(1, |kernel| kernel.blocks_per_sm),
            sms: issued.map(on_sm).collect(),
        }
    }
}

impl BlockLimit for Lcs {
    /// Forgets kernels that have ended and notes new ones.
    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.kernels
            .resize(view.spec.gpu.max_concurrent_kernels as usize, None);
        for (at, known) in self.kernels.iter_mut().enumerate() {
            let slot = KernelSlot::new(at);
            let now = view.kernels.iter().find(|kernel| kernel.slot == slot);
            let launched_at = now.map(|kernel| kernel.launched_at);
            if known.as_ref().map(|kernel| kernel.launched_at) != launched_at {
                *known = launched_at.map(|at| Kernel::new(view, slot, at));
            }
        }
    }

    fn block_ended(&mut self, end: &EndedBlock) {
        let kernel = self.kernels.get_mut(end.kernel.index());
        let Some(Some(kernel)) = kernel else { return };
        let most = kernel.blocks_per_sm;
        let Some(here) = kernel.sms.get_mut(end.sm.index()) else {
            return;
        };
        if here.limit.is_none() {
            let all = end.instructions_of_kernel - here.before;
            let needed = all.div_ceil(end.instructions.max(1)).max(1);
            let limit = u32::try_from(needed).unwrap_or(most).min(most);
            here.limit = Some(limit);
            self.counters.note(most, limit);
        }
    }

    fn limit_of(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        let kernel = self.kernels.get(kernel.index()).and_then(Option::as_ref);
        let here = kernel.and_then(|kernel| kernel.sms.get(sm.index()));
        here.and_then(|here| here.limit).unwrap_or(NO_LIMIT)
    }

    fn counters(&self) -> BlockLimitCounters {
        self.counters.clone()
    }
}
