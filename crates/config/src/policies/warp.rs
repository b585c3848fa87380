//! Table of warp schedulers (`sm.warp_scheduler`).

mod cawa;
mod ccws;
mod daws;
mod ipaws;
mod locality;
mod long_latency_first;
mod mascar;
mod owl;
mod pcal;
mod static_limit;
mod two_level;

pub use cawa::*;
pub use ccws::*;
pub use daws::*;
pub use ipaws::*;
pub use locality::*;
pub use long_latency_first::*;
pub use mascar::*;
pub use owl::*;
pub use pcal::*;
pub use static_limit::*;
pub use two_level::*;

use crate::policies::choices;
use crate::spec::GpuSpec;
use crate::validate::Rules;

/// Calls the macro `$then` with the rows of `sm.warp_scheduler`.
#[macro_export]
macro_rules! warp_schedulers {
    ($then:ident) => {
        $then! {
            WarpSchedulerChoice of "sm.warp_scheduler", "Which warp goes first.",
                "GPGPU-Sim -gpgpu_scheduler";
            Lrr = "lrr": "loose round robin";
            Grr = "grr": "greedy, then round robin";
            Gto = "gto": "greedy, then oldest";
            Oldest = "oldest": "oldest first, never greedy";
            Rrr = "rrr": "strict round robin: nobody goes before the one whose turn it is";
            TwoLevel(settings: TwoLevelSettings) = "two-level":
                "one group of warps goes on until its warps wait for memory";
            StaticLimit(settings: StaticLimitSettings) = "static-limit":
                "greedy, then oldest, over the oldest warps only";
            LongLatencyFirst(settings: LongLatencyFirstSettings) = "long-latency-first":
                "warps that stalled for most cycles first";
            Ipaws(settings: IpawsSettings) = "ipaws":
                "greedy, then oldest, or loose round robin, by how evenly warps issue at first";
            Locality(settings: WarpLocalitySettings) = "locality":
                "a group goes on; who shares lines with it comes in and goes first";
            Ccws(settings: CcwsSettings) = "ccws":
                "greedy, then oldest; loads from the warps that lose most lines of L1D";
            Pcal(settings: PcalSettings) = "pcal":
                "greedy, then oldest, over a limit of warps, of which some take lines of L1D";
            Cawa(settings: CawaSettings) = "cawa":
                "the warp that will end last, as far as its past tells, goes first";
            Daws(settings: DawsSettings) = "daws":
                "greedy, then oldest; in loops, loads from as many warps as L1D has room for";
            Mascar(settings: MascarSettings) = "mascar":
                "greedy, then oldest; one warp's accesses at a time while memory is saturated";
            Owl(settings: OwlSettings) = "owl":
                "the warps of one group of blocks first for a while, then those of the next";
        }
    };
}

warp_schedulers!(choices);

/// Requires that warps keep their slots, by which a policy knows them.
fn knows_warps_by_slot(policy: &str, spec: &GpuSpec, rules: &mut Rules) {
    rules.require(
        spec.sm.context.rules().is_none(),
        &["sm.context", "sm.warp_scheduler"],
        format!(
            "`sm.warp_scheduler={policy}` knows warps by slots, which context switching \
             (`sm.context`) changes"
        ),
        "choose another warp scheduler",
    );
}

/// Requires an L1D, and that warps keep their slots, for a policy that follows the lines of warps.
fn follows_l1d(policy: &str, spec: &GpuSpec, rules: &mut Rules) {
    knows_warps_by_slot(policy, spec, rules);
    rules.require(
        spec.l1d.enabled,
        &["l1d.enabled", "sm.warp_scheduler"],
        format!("the warp scheduler `{policy}` follows the lines of an L1D that does not exist"),
        "set `l1d.enabled` to true, or choose another warp scheduler",
    );
}

/// Requires that a number of warps, the value of `key`, is at most what an SM holds.
fn at_most_an_sm_holds(key: &str, warps: u32, spec: &GpuSpec, rules: &mut Rules) {
    let held = spec.sm.max_threads / 32;
    rules.require(
        warps <= held,
        &[key, "sm.max_threads"],
        format!("{warps} warps, but an SM holds {held}"),
        "write at most that many",
    );
}
