//! Settings of the warp scheduler `owl`.

use crate::policies::settings;
use crate::value::{Rule, int};

settings! {
    /// Settings of the policy `owl`.
    OwlSettings {
        group_blocks: u32 = 2, int(1, 32), "blocks",
            "Blocks of a group.", "this program";
        interval_cycles: u32 = 8192, int(1, 10_000_000), "cycles",
            "Time for which a group is in front.", "this program";
        returns: bool = true, Rule::Switch, "",
            "True if the front group goes first again when its data come; false if a group goes on \
             until all its warps wait.",
            "Jog et al., ASPLOS 2013: the second scheme, or the first alone";
        spread: bool = false, Rule::Switch, "",
            "SMs put different groups in front: SM n the nth one after the group whose turn it is.",
            "Jog et al., ASPLOS 2013: the third scheme; the order: this program";
    }
}
