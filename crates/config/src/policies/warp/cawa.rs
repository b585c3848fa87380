//! Settings of the warp scheduler `cawa`.

use crate::policies::settings;
use crate::value::int;

settings! {
    /// Settings of the policy `cawa`.
    CawaSettings {
        critical_percent: u32 = 50, int(1, 100), "%",
            "Share of a block's warps that must be less critical than a warp that counts as \
             critical (`l1d.replacement=cacp`).",
            "this program: half of the block; the limit of Lee et al., ISCA 2015, was not at hand";
    }
}
