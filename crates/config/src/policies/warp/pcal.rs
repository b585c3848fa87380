//! Settings of the warp scheduler `pcal`.

use super::{at_most_an_sm_holds, follows_l1d};
use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `pcal`.
    PcalSettings checked by check {
        warps: u32 = 16, int(1, 64), "warps per scheduler",
            "Warps that may issue at first, all of them with a token.",
            "this program; Li et al., HPCA 2015, begin at the best static limit";
        period_cycles: u32 = 4096, int(1, 10_000_000), "cycles",
            "Cycles for which a number of warps and tokens is tried.", "this program";
        rest_periods: u32 = 31, int(0, 100_000), "periods",
            "Periods between the end of a climb and the next climb.", "this program";
    }
}

/// The scheduler decides who takes lines of L1D, and a scheduler has at most the warps of its SM.
fn check(settings: &PcalSettings, spec: &GpuSpec, rules: &mut Rules) {
    follows_l1d("pcal", spec, rules);
    at_most_an_sm_holds("pcal.warps", settings.warps, spec, rules);
}
