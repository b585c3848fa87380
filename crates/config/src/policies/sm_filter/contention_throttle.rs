//! Settings of the SM filter `contention-throttle`.

use crate::policies::{names, settings};
use crate::value::int;

names! {
    /// Which SMs take blocks when not all do, in `contention-throttle`.
    pub enum ThrottleOrder: THROTTLE_ORDERS {
        RoundRobin = "round-robin": "the first ones after the SM that took a block last",
        Lowest = "lowest": "those with the lowest numbers",
    }
}

settings! {
    /// Settings of the policy `contention-throttle`.
    ContentionThrottleSettings {
        interval_cycles: u32 = 1000, int(1, 10_000_000), "core cycles",
            "Least time between two checks of the contention.",
            "this program: Do et al. 2017, say \"a period of GPGPU cycles\"";
        min_sms: u32 = 2, int(1, 1024), "SMs",
            "SMs that take blocks however high the contention.",
            "Do et al. 2017, Algorithm 2, line 13";
        order: ThrottleOrder = ThrottleOrder::RoundRobin => "round-robin", THROTTLE_ORDERS, "",
            "Which SMs take blocks when not all do.",
            "Do et al. 2017: \"the next round of round-robin scheduling\"";
    }
}
