//! Table of SM filters (`gpu.sm_filter`).

mod contention_throttle;

pub use contention_throttle::*;

use crate::policies::choices;

/// Calls the macro `$then` with the rows of `gpu.sm_filter`.
#[macro_export]
macro_rules! sm_filters {
    ($then:ident) => {
        $then! {
            SmFilterChoice of "gpu.sm_filter", "Which SMs take new blocks.", "this program";
            All = "all": "every SM takes blocks whenever it has room";
            ContentionThrottle(settings: ContentionThrottleSettings) = "contention-throttle":
                "fewer SMs take blocks while stalls of DRAM and network grow";
        }
    };
}

sm_filters!(choices);
