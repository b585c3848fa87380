//! Settings of the warp scheduler `ccws`.

use super::follows_l1d;
use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `ccws`.
    CcwsSettings checked by check {
        k: u32 = 8, int(1, 1024), "",
            "Weight of lost locality: how strongly it takes the right to load from other warps.",
            "Rogers et al., MICRO 2012, section 3.3 (K_THROTTLE), and its author's simulator";
        base_score: u32 = 100, int(1, 10_000), "points",
            "Score of a warp that has lost no locality.",
            "Rogers et al., MICRO 2012, section 3.3, and its author's simulator";
        victim_sets: u32 = 2, int(1, 64), "sets",
            "Sets of a warp's victim tag array.",
            "Rogers et al., MICRO 2012: 16 entries of 8 ways; its author's simulator";
        victim_ways: u32 = 8, int(1, 64), "tags",
            "Tags in a set of a warp's victim tag array.",
            "Rogers et al., MICRO 2012: 16 entries of 8 ways; its author's simulator";
    }
}

/// The scheduler follows the lines of L1D.
fn check(_: &CcwsSettings, spec: &GpuSpec, rules: &mut Rules) {
    follows_l1d("ccws", spec, rules);
}
