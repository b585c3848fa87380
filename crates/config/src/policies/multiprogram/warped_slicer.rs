//! Settings of the multiprogramming policy `warped-slicer`.

use crate::policies::{names, settings};
use crate::value::int;

names! {
    /// How a sample's IPC is weighted by its SM's blocks, in `warped-slicer` (equation 3's psi +
    /// 1).
    pub enum SampleWeight: SAMPLE_WEIGHTS {
        BlocksOverMean = "blocks-over-mean": "its blocks over the mean of all SMs (equation 4)",
        MeanOverBlocks = "mean-over-blocks":
            "the mean of all SMs over its blocks (equation 3, where bandwidth in the sample goes by \
             blocks and would be equal otherwise)",
        One = "one": "as sampled",
    }
}

settings! {
    /// Settings of the policy `warped-slicer`.
    WarpedSlicerSettings {
        warmup_cycles: u32 = 20_000 => "20000", int(0, 100_000_000), "core cycles",
            "Time before the first profile.", "Xu et al., ISCA 2016, section V";
        profile_cycles: u32 = 5000, int(1, 100_000_000), "core cycles",
            "Length of a sample.", "Xu et al., ISCA 2016, sections IV.A and V";
        delay_cycles: u32 = 0, int(0, 100_000_000), "core cycles",
            "Time that the algorithm takes, in which the blocks of the profile go on.",
            "Xu et al., ISCA 2016, section V.H";
        loss_percent: u32 = 120, int(0, 1000), "%",
            "Loss of a kernel from which SMs are divided instead, in percent of 1/K of its best \
             performance among K kernels.",
            "Xu et al., ISCA 2016, section IV";
        phase_percent: u32 = 50, int(0, 10_000), "%",
            "Change of a kernel's IPC over more than a profile's length from which it is profiled \
             again; 0: never.",
            "this program: Xu et al., ISCA 2016, section IV.B, say \"significantly\"";
        weight: SampleWeight = SampleWeight::BlocksOverMean => "blocks-over-mean", SAMPLE_WEIGHTS,
            "",
            "What a sample's IPC is weighted by, as far as its SM waits for memory.",
            "Xu et al., ISCA 2016, section IV.A, equations 3 and 4";
    }
}
