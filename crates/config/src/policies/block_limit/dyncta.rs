//! Settings of the block limit `dyncta`.

use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `dyncta`.
    DynctaSettings checked by check {
        window_cycles: u32 = 2048, int(1, 10_000_000), "core cycles",
            "Length of a window, after which an SM may run one block more or fewer.",
            "Kayiran et al., PACT 2013 (as others quote it): sampling period";
        idle_cycles: u32 = 16, int(0, 10_000_000), "core cycles",
            "Idle cycles of a window from which the SM runs one block more.",
            "Kayiran et al., PACT 2013 (as others quote it): t_idle";
        memory_low_cycles: u32 = 128, int(0, 10_000_000), "core cycles",
            "Cycles of a window that wait for memory, below which the SM runs one block more.",
            "Kayiran et al., PACT 2013 (as others quote it): t_mem_l";
        memory_high_cycles: u32 = 384, int(0, 10_000_000), "core cycles",
            "Cycles of a window that wait for memory, from which the SM runs one block fewer.",
            "Kayiran et al., PACT 2013 (as others quote it): t_mem_h";
    }
}

/// Requires that the thresholds of memory are in order.
fn check(settings: &DynctaSettings, _spec: &GpuSpec, rules: &mut Rules) {
    let (low, high) = (settings.memory_low_cycles, settings.memory_high_cycles);
    rules.require(
        low <= high,
        &["dyncta.memory_low_cycles", "dyncta.memory_high_cycles"],
        format!("the lower threshold, {low} cycles, is above the upper one, {high} cycles"),
        "write a lower threshold that is at most the upper one",
    );
}
