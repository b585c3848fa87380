//! Settings of the warp scheduler `daws`.

use super::follows_l1d;
use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::{Rule, int};

settings! {
    /// Settings of the policy `daws`.
    DawsSettings checked by check {
        l1d_percent: u32 = 60, int(1, 100), "percent",
            "Part of L1D's lines that warps in loops may fill.", "this program";
        loops: u32 = 4, int(1, 64), "loops",
            "Loops that a scheduler knows.", "this program";
        loads: u32 = 16, int(1, 256), "loads",
            "Loads that a scheduler knows, in all loops.", "this program";
        coalesced_accesses: u32 = 2, int(1, 32), "lines",
            "Lines of an execution, on average, up to which a load is coalesced.", "this program";
        reuse_percent: u32 = 25, int(1, 100), "percent",
            "Part of a load's accesses from which on it reuses lines.", "this program";
        lost_percent: u32 = 25, int(0, 100), "percent",
            "Part of a load's misses on lines that their warp has lost, from which on the load \
             needs room in L1D.", "this program";
        measured_lines: bool = true, Rule::Switch, "",
            "A divergent load needs as many lines a lane as it has read, instead of one.",
            "this program: one a lane is the paper's";
        victim_sets: u32 = 2, int(1, 64), "sets",
            "Sets of a warp's victim tag array.", "this program: that of ccws";
        victim_ways: u32 = 8, int(1, 64), "tags",
            "Tags in a set of a warp's victim tag array.", "this program: that of ccws";
    }
}

/// The scheduler follows the lines of L1D.
fn check(_: &DawsSettings, spec: &GpuSpec, rules: &mut Rules) {
    follows_l1d("daws", spec, rules);
}
