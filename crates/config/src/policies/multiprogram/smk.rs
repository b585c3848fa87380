//! Settings of the multiprogramming policy `smk`.

use crate::policies::settings;
use crate::value::{Rule, int};

settings! {
    /// Settings of the policy `smk`.
    SmkSettings {
        issue_quotas: bool = true, Rule::Switch, "",
            "Kernels issue in proportion to their IPC alone; else only blocks have fair shares.",
            "Wang et al., HPCA 2016: both are evaluated";
        epoch_instructions: u32 = 2000, int(1, 100_000_000), "warp instructions",
            "Quotas of all kernels of an SM together.",
            "this program";
        warmup_cycles: u32 = 5000, int(0, 100_000_000), "core cycles",
            "Time for which kernels run alone before they are measured.",
            "this program";
        profile_cycles: u32 = 5000, int(1, 100_000_000), "core cycles",
            "Time for which they are measured.",
            "this program: the same as `warped-slicer.profile_cycles`";
    }
}
