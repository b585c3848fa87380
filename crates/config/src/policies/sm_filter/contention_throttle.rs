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

names! {
    /// Which reading of Algorithm 2 decides, in `contention-throttle`.
    pub enum ThrottleListing: THROTTLE_LISTINGS {
        Prose = "prose": "the text: less contention gives one SM more, up to all",
        Literal = "literal": "the listing as printed: less contention takes one SM away while all \
            take blocks and changes nothing otherwise, and every assignment of a block checks",
    }
}

settings! {
    /// Settings of the policy `contention-throttle`.
    ContentionThrottleSettings {
        interval_cycles: u32 = 1000, int(1, 10_000_000), "core cycles",
            "Least time between two checks of the contention (listing `prose`).",
            "this program: Do et al. 2017, say \"a period of GPGPU cycles\"";
        min_sms: u32 = 2, int(1, 1024), "SMs",
            "SMs that take blocks however high the contention.",
            "Do et al. 2017, Algorithm 2, line 13";
        order: ThrottleOrder = ThrottleOrder::RoundRobin => "round-robin", THROTTLE_ORDERS, "",
            "Which SMs take blocks when not all do.",
            "Do et al. 2017: \"the next round of round-robin scheduling\"";
        listing: ThrottleListing = ThrottleListing::Prose => "prose", THROTTLE_LISTINGS, "",
            "Which reading of Algorithm 2 decides.",
            "Do et al. 2017, Algorithm 2, lines 15 and 16, and the text about it";
    }
}
