//! Table of multiprogramming policies (`gpu.multiprogram`).

mod fixed;
mod smk;
mod warped_slicer;

pub use fixed::*;
pub use smk::*;
pub use warped_slicer::*;

use crate::policies::choices;

/// Calls the macro `$then` with the rows of `gpu.multiprogram`.
#[macro_export]
macro_rules! multiprogram_policies {
    ($then:ident) => {
        $then! {
            MultiprogramChoice of "gpu.multiprogram",
                "How kernels that run at once share the SMs.", "this program",
                default "left-over";
            Sequential = "sequential": "one process after the other";
            LeftOver = "left-over":
                "all that the kernel launched first can use; the next when its last block has started";
            Exclusive = "exclusive":
                "one kernel at a time on an SM; SMs that the first leaves take the next (GPGPU-Sim)";
            Fcfs = "fcfs": "kernels take blocks by turns, wherever there is room";
            Even = "even": "every SM's resources in equal parts";
            Spatial = "spatial": "SMs in equal parts";
            Fixed(settings: FixedSettings) = "fixed": "a fixed number of blocks on an SM for each";
            Smk(settings: SmkSettings) = "smk":
                "fair shares of the resource that each needs most, and quotas of instructions";
            WarpedSlicer(settings: WarpedSlicerSettings) = "warped-slicer":
                "the blocks of each by what short profiles say they gain";
        }
    };
}

multiprogram_policies!(choices);
