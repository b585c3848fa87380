//! Settings of the multiprogramming policy `warped-slicer`.

use crate::policies::{names, settings};
use crate::value::int;

names! {
    /// Quantity for equation 3's psi in `warped-slicer`: the bandwidth that an SM would have if
    /// every SM held as many blocks, over the bandwidth that it had in the sample, less 1.
    pub enum SampleWeight: SAMPLE_WEIGHTS {
        Bandwidth = "bandwidth":
            "flits that SMs received in the sample: the mean of all SMs over the SM's own, where it \
             had more than the mean (equation 3)",
        Blocks = "blocks": "the SM's blocks over the mean of all SMs (equation 4)",
        BlocksInverse = "blocks-inverse":
            "the mean of all SMs over the SM's blocks (equation 3, where bandwidth in the sample \
             goes by blocks and would be equal otherwise)",
        None = "none": "nothing: IPC stays as sampled",
    }
}

names! {
    /// Denominator of phi_mem of equation 3, in `warped-slicer`.
    pub enum PhiBase: PHI_BASES {
        Stalls = "stalls": "scheduler cycles in which no warp issued although the scheduler had some",
        Cycles = "cycles": "all scheduler cycles",
    }
}

names! {
    /// Base of the percentage of the greatest loss, in `warped-slicer`, for K kernels.
    pub enum LossBase: LOSS_BASES {
        ShareKept = "share-kept": "1/K, the share of SMs that a kernel has where they are divided",
        ShareLost = "share-lost": "(K - 1)/K, the share of SMs that it then lacks",
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
            "Loss of a kernel from which SMs are divided instead, in percent of what `loss_base` \
             says, of its best performance.",
            "Xu et al., ISCA 2016, section IV";
        loss_base: LossBase = LossBase::ShareLost => "share-lost", LOSS_BASES, "",
            "What `loss_percent` is a percentage of; the same for two kernels.",
            "this program: Xu et al., ISCA 2016, section IV, print 1/K, which no division among \
             three kernels meets";
        phase_percent: u32 = 50, int(0, 10_000), "%",
            "Change of a kernel's IPC over more than a profile's length from which it is profiled \
             again; 0: never.",
            "this program: Xu et al., ISCA 2016, section IV.B, say \"significantly\"";
        weight: SampleWeight = SampleWeight::Bandwidth => "bandwidth", SAMPLE_WEIGHTS, "",
            "What psi of equation 3 is computed from, by which a sample's IPC is corrected as far \
             as its SM waits for memory.",
            "Xu et al., ISCA 2016, section IV.A, equations 3 and 4";
        phi: PhiBase = PhiBase::Stalls => "stalls", PHI_BASES, "",
            "What the scheduler cycles that wait for memory or its pipe are divided by for phi_mem \
             of equation 3.",
            "Xu et al., ISCA 2016, section IV.A: portion of pipeline stalls";
    }
}
