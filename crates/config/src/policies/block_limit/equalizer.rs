//! Settings of the block limit `equalizer`.

use crate::policies::settings;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use crate::value::int;

settings! {
    /// Settings of the policy `equalizer`.
    EqualizerSettings checked by check {
        sample_cycles: u32 = 128, int(1, 10_000_000), "core cycles",
            "Time between two samples of the warps of an SM.",
            "Sethia and Mahlke, MICRO 2014 (as others quote it)";
        epoch_cycles: u32 = 4096, int(1, 10_000_000), "core cycles",
            "Length of an epoch, over which samples are averaged.",
            "Sethia and Mahlke, MICRO 2014 (as others quote it)";
        epochs: u32 = 3, int(1, 1000), "epochs",
            "Epochs in a row that have to ask for the same change of the number of blocks.",
            "Sethia and Mahlke, MICRO 2014 (as others quote it)";
        bandwidth_warps: u32 = 2, int(0, 128), "warps",
            "Warps that queue for the load/store pipe above which memory counts as saturated.",
            "Sethia and Mahlke, MICRO 2014 (as others quote it)";
    }
}

/// Requires that an epoch contains a sample.
fn check(settings: &EqualizerSettings, _spec: &GpuSpec, rules: &mut Rules) {
    let (sample, epoch) = (settings.sample_cycles, settings.epoch_cycles);
    rules.require(
        sample <= epoch,
        &["equalizer.sample_cycles", "equalizer.epoch_cycles"],
        format!("an epoch of {epoch} cycles ends before its first sample, after {sample} cycles"),
        "write an epoch that is at least as long as the time between samples",
    );
}
