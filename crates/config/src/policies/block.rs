//! Table of block schedulers (`gpu.block_scheduler`).

mod locality;

pub use locality::*;

use crate::policies::choices;

/// Calls the macro `$then` with the rows of `gpu.block_scheduler`.
#[macro_export]
macro_rules! block_schedulers {
    ($then:ident) => {
        $then! {
            BlockSchedulerChoice of "gpu.block_scheduler", "Which block goes to which SM.",
                "this program";
            RoundRobin = "rr": "blocks in grid order, one at a time, to SMs in turn";
            Bcs = "bcs": "two consecutive blocks at a time to one SM";
            Locality(settings: BlockLocalitySettings) = "locality":
                "the block that shares most cache lines with those on the SM";
        }
    };
}

block_schedulers!(choices);
