//! Table of block limits (`sm.block_limit`).

mod dyncta;
mod equalizer;

pub use dyncta::*;
pub use equalizer::*;

use crate::policies::choices;

/// Calls the macro `$then` with the rows of `sm.block_limit`.
#[macro_export]
macro_rules! block_limits {
    ($then:ident) => {
        $then! {
            BlockLimitChoice of "sm.block_limit",
                "How many of the blocks for which it has room an SM runs.",
                "this program", default "none";
            Unlimited = "none": "all of them";
            Dyncta(settings: DynctaSettings) = "dyncta":
                "one block more or fewer by the cycles in which the SM idles or waits for memory";
            Lcs = "lcs": "as many blocks as the first one needed beside it to keep the SM busy";
            Equalizer(settings: EqualizerSettings) = "equalizer":
                "one block more where warps wait, one fewer where they queue for memory";
        }
    };
}

block_limits!(choices);
