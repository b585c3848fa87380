//! Allocation by the warps that hold a token.

use super::{Allocate, Facts, MissView};
use crate::AccessKind;
use warploom_config::{GpuSpec, WarpTokensSettings};
use warploom_state::State;

/// Lets global reads of the warps in the first slots of the SM take lines; those of other warps go
/// past the cache, and hit in it where a warp with a token has brought the line. A block that
/// starts in the slots of one that ended gets its tokens.
#[derive(Clone, Debug, State)]
pub(super) struct WarpTokens {
    tokens: u32,
}

impl WarpTokens {
    pub(super) fn new(settings: WarpTokensSettings) -> Self {
        Self {
            tokens: settings.warps,
        }
    }
}

impl Allocate for WarpTokens {
    const FACTS: Facts<GpuSpec> = Facts {
        about: "Global reads that miss take a line of L1D if their warp holds a token; others go \
                past it.",
        source: "PCAL with a fixed number of tokens: Li et al., HPCA 2015",
        state: "log2(warps + 1): the number of tokens; a warp's slot tells whether it holds one",
        bits: |spec| u64::from((spec.sm.max_threads / 32 + 1).next_power_of_two().ilog2()),
        // 48 warp slots: 6 bits for 0 to 48 tokens.
        example_bits: 6,
    };

    fn allocates(&mut self, miss: &MissView<'_>) -> bool {
        miss.request.kind != AccessKind::GlobalRead || u32::from(miss.warp.0) < self.tokens
    }
}
