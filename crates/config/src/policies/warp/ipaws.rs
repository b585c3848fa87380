//! Settings of the warp scheduler `ipaws`.

use crate::policies::settings;
use crate::value::int;

settings! {
    /// Settings of the policy `ipaws`.
    IpawsSettings {
        fair_percent: u32 = 75, int(0, 100), "%",
            "Share of the instructions that all warps would have issued had each issued as many as \
             the first, above which the pattern counts as even and round robin follows.",
            "this program: half-way between the 50 % of a triangle, one warp after the other, and \
             the 100 % of a rectangle, all warps alike";
    }
}
