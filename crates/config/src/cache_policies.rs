//! Tables of the policies of caches. One row a policy gives the choice in the specification and the
//! names that its key accepts; the crate `warploom_mem` makes dispatch, lists and documentation
//! from the same row, and has a struct of the variant's name.

use crate::policies::{choices, settings};
use crate::value::{int, names, pow2};

/// Hands the rows of `l1d.replacement`, `l2.replacement` and their like to a macro. Hits under the
/// first row's policy, the usual one, cost no call.
#[macro_export]
macro_rules! replacement_policies {
    ($then:ident) => {
        $then! {
            Replacement;
            Lru = "lru": "least recently used";
            Fifo = "fifo": "first in, first out";
            Random = "random": "any line, drawn from a generator seeded by `gpu.seed`";
            Srrip = "srrip": "static re-reference interval prediction, 2 bits";
            Brrip = "brrip": "bimodal re-reference interval prediction, 2 bits";
            Dip = "dip": "dynamic insertion: LRU or bimodal insertion by set dueling";
            Cacp = "cacp": "half of the ways for lines of critical warps; L1D with `cawa` only";
        }
    };
}

/// Passes the rows of `sm.l1d_allocation` to a macro. Under the policy of the first row, the usual
/// one, reads do not consult a policy.
#[macro_export]
macro_rules! l1d_allocations {
    ($then:ident) => {
        $then! {
            L1dAllocation of "sm.l1d_allocation",
                "Which reads that miss L1D take a line of it; others go past it.",
                "this program", default "always";
            Always = "always": "every read";
            WarpTokens(settings: WarpTokensSettings) = "warp-tokens":
                "reads of the warps that hold a token";
        }
    };
}

l1d_allocations!(choices);

/// Passes the rows of `sm.l1d_victims` to a macro. Under the policy of the first row, the usual
/// one, no line is kept, and accesses do not consult a policy.
#[macro_export]
macro_rules! l1d_victims {
    ($then:ident) => {
        $then! {
            L1dVictims of "sm.l1d_victims",
                "Which lines that L1D replaces are kept in registers that no block holds.",
                "this program", default "none";
            Nothing = "none": "no lines";
            Linebacker(settings: LinebackerSettings) = "linebacker":
                "lines of loads that find their data again";
        }
    };
}

l1d_victims!(choices);

settings! {
    /// Settings of the policy `warp-tokens`.
    WarpTokensSettings {
        warps: u32 = 16, int(0, 128), "warps per SM",
            "Warps that hold a token: those in the first slots of the SM.",
            "Li et al., HPCA 2015, search for the number; this program fixes it";
    }
}

settings! {
    /// Settings of the policy `linebacker`.
    LinebackerSettings {
        window_cycles: u32 = 4096, int(1, 10_000_000), "core cycles",
            "Time for which loads are watched, on each SM, before some are chosen.",
            "this program: as long as the epochs of `equalizer`";
        hit_percent: u32 = 20, int(0, 100), "%",
            "Share of its reads that a load must find in L1D or in kept lines to be chosen.",
            "this program";
        loads: u32 = 32, pow2(1, 256), "numbers",
            "Numbers of loads, which are hashes of their places in the code.", "this program";
        latency_cycles: u32 = 4, int(1, 1000), "core cycles",
            "Time from the look-up of L1D until the data of a kept line have been read.",
            "this program; Oh et al., ISCA 2019: a move from register to register";
    }
}

/// Declares the enum of a key and its accepted names from its table.
macro_rules! choice {
    ($Enum:ident; $($Variant:ident = $name:literal: $meaning:literal;)+) => {
        /// Policy that selects the line of a set to replace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $Variant,)+
        }

        names! {
            $Enum: REPLACEMENT {
                $($Variant = $name: $meaning,)+
            }
        }
    };
}

replacement_policies!(choice);
