//! Settings of the warp scheduler `static-limit`.

use super::at_most_an_sm_holds;
use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `static-limit`.
    StaticLimitSettings checked by check {
        warps: u32 = 16, int(1, 64), "warps per scheduler",
            "Warps that may issue.", "GPGPU-Sim warp_limiting:2:N; Rogers et al., MICRO 2012 (SWL)";
    }
}

/// A scheduler has at most the warps of its SM.
fn check(settings: &StaticLimitSettings, spec: &GpuSpec, rules: &mut Rules) {
    at_most_an_sm_holds("static-limit.warps", settings.warps, spec, rules);
}
