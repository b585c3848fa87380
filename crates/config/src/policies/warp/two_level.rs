//! Settings of the warp scheduler `two-level`.

use super::at_most_an_sm_holds;
use crate::policies::{names, settings};
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

names! {
    /// Order of the warps that may issue, in `two-level`.
    pub enum InnerOrder: INNER_ORDERS {
        Lrr = "lrr": "loose round robin",
        Grr = "grr": "greedy, then round robin",
        Gto = "gto": "greedy, then oldest",
        Oldest = "oldest": "oldest first",
    }
}

names! {
    /// Which warps may issue, in `two-level`.
    pub enum OuterOrder: OUTER_ORDERS {
        Queue = "queue":
            "a warp that waits goes to a queue's tail, its head takes the place (Gebhart et al.)",
        Oldest = "oldest": "the oldest of those outside takes the place of a warp that waits",
        Groups = "groups": "fixed groups, in turn when all warps of one wait (Narasiman et al.)",
    }
}

settings! {
    /// Settings of the policy `two-level`.
    TwoLevelSettings checked by check {
        active_warps: u32 = 8, int(1, 64), "warps per scheduler",
            "Warps in the group that issues.",
            "Narasiman et al., MICRO 2011: fetch groups of 8; GPGPU-Sim two_level_active:N";
        inner: InnerOrder = InnerOrder::Lrr => "lrr", INNER_ORDERS, "",
            "Order within the group.", "GPGPU-Sim two_level_active:N:INNER:OUTER";
        outer: OuterOrder = OuterOrder::Queue => "queue", OUTER_ORDERS, "",
            "Which warps are the group.",
            "Gebhart et al., ISCA 2011, as GPGPU-Sim two_level_active (queue); \
             Narasiman et al., MICRO 2011 (groups)";
    }
}

/// A scheduler has at most the warps of its SM.
fn check(settings: &TwoLevelSettings, spec: &GpuSpec, rules: &mut Rules) {
    at_most_an_sm_holds("two-level.active_warps", settings.active_warps, spec, rules);
}
