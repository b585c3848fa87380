//! Settings of the warp scheduler `mascar`.

use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `mascar`.
    MascarSettings checked by check {
        reserved_misses: u32 = 8, int(0, 65_536), "lines or sectors",
            "Free MSHR entries of L1D below which memory is saturated.",
            "this program; Sethia et al., HPCA 2015, detect saturation at the misses of L1";
        reexecution_entries: u32 = 32, int(0, 32), "loads per SM",
            "Loads that L1D refused, or that would miss under saturation, and that wait to be \
             executed again; 0 for none. They wait where L1D's tags are looked up at once \
             (`sm.l1d_latency_cycles = 0`).",
            "Sethia et al., HPCA 2015, as a public reproduction quotes it";
    }
}

/// With a reserve of more than all entries, memory would always be saturated.
fn check(settings: &MascarSettings, spec: &GpuSpec, rules: &mut Rules) {
    let (reserved, entries) = (settings.reserved_misses, spec.l1d.mshr_entries);
    rules.require(
        !spec.l1d.enabled || reserved <= entries,
        &["mascar.reserved_misses", "l1d.mshr_entries"],
        format!("a reserve of {reserved} entries, but L1D has {entries}"),
        "write at most that many",
    );
}
