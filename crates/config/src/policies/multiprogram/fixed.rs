//! Settings of the multiprogramming policy `fixed`.

use crate::policies::settings;
use crate::value::Rule;

/// Blocks of a kernel on an SM.
const QUOTA: Rule = Rule::IntegerOrNone { min: 0, max: 64 };

settings! {
    /// Settings of the policy `fixed`: blocks of each kernel on an SM, kernels in order of their
    /// processes. `None` means as many as the SM can hold. The limits apply while more than one
    /// kernel runs.
    FixedSettings {
        first: Option<u32> = None => "\"none\"", QUOTA, "blocks per SM",
            "Blocks of the first process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        second: Option<u32> = None => "\"none\"", QUOTA, "blocks per SM",
            "Blocks of the second process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        third: Option<u32> = None => "\"none\"", QUOTA, "blocks per SM",
            "Blocks of the third process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        fourth: Option<u32> = None => "\"none\"", QUOTA, "blocks per SM",
            "Blocks of the fourth process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
    }
}
