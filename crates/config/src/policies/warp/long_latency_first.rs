//! Settings of the warp scheduler `long-latency-first`.

use crate::policies::{names, settings};
use crate::value::int;

names! {
    /// Among which warps stalls decide, in `long-latency-first`.
    pub enum SortScope: SORT_SCOPES {
        Block = "block": "within a block, blocks oldest first",
        Sm = "sm": "over all warps of the scheduler",
    }
}

names! {
    /// Which stalled warps are counted in a cycle, in `long-latency-first`.
    pub enum StallCount: STALL_COUNTS {
        StallCycles = "stall-cycles": "every stalled warp, if the scheduler issues nothing in the \
            cycle",
        All = "all": "every stalled warp",
        Examined = "examined": "stalled warps that the scheduler looked at in the cycle",
    }
}

settings! {
    /// Settings of the policy `long-latency-first`.
    LongLatencyFirstSettings {
        scope: SortScope = SortScope::Block => "block", SORT_SCOPES, "",
            "Among which warps stalls decide.",
            "Do et al. 2017, Algorithm 1: \"warps of a thread block\"";
        count: StallCount = StallCount::StallCycles => "stall-cycles", STALL_COUNTS, "",
            "Which stalled warps are counted in a cycle.",
            "Do et al. 2017, section 4.2: a stall cycle is one in which the scheduler finds no \
             ready instruction";
        counter_bits: u32 = 32, int(1, 63), "bits",
            "Width of a warp's stall counter, which stays at its largest value.",
            "this program: the paper gives no width";
    }
}
