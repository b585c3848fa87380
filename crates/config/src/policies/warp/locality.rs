//! Settings of the warp scheduler `locality`.

use crate::policies::settings;
use crate::value::{Rule, int};

settings! {
    /// Settings of the warp scheduler `locality`.
    WarpLocalitySettings {
        active_warps: u32 = 8, int(1, 64), "warps per scheduler",
            "Warps in the group that issues.",
            "this program: Chen, NTU thesis 2016, gives no size; two-level's";
        arrays as "warp_arrays": u32 = 5, int(1, 16), "arrays",
            "Arrays that a warp's access range covers.", "Chen, NTU thesis 2016, section 5.4";
        region_bits: u32 = 10, int(1, 16), "bits",
            "Width of the index of a block's region; an array has at most 2 to that many regions.",
            "Chen, NTU thesis 2016, section 5.2";
        sub_regions: u32 = 16, int(1, 64), "bits",
            "Sub-regions of a region, one bit each.", "Chen, NTU thesis 2016, section 5.2";
        work_conserving: bool = false, Rule::Switch, "",
            "True if any ready warp may issue when no warp of the active group can.",
            "this program; Chen, NTU thesis 2016, section 3.4.2, issues from the active group only";
        ideal as "ideal_warps": bool = false, Rule::Switch, "",
            "Warp scheduler without limits: 16 arrays, 65536 regions of 64 sub-regions, pairs of \
             more than a byte.",
            "this program";
    }
}

impl WarpLocalitySettings {
    /// The settings with the limits of `ideal_warps` in place.
    pub const fn resolved(self) -> Self {
        if self.ideal {
            Self {
                arrays: 16,
                region_bits: 16,
                sub_regions: 64,
                ..self
            }
        } else {
            self
        }
    }
}
