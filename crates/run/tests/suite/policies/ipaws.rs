//! The warp scheduler `ipaws` in the whole machine.

use super::block_limit::COMPUTE;
use super::{count, run_with, same_always, spec};
use warploom_run::CustomPolicies;
use warploom_stats::result::RunReport;

/// Decisions to stay greedy, and decisions for round robin.
fn decisions(report: &RunReport) -> [u64; 2] {
    ["greedy_decisions", "fair_decisions"].map(|name| count(report, &format!("warp_policy.{name}")))
}

/// Warps that wait for memory issue alike although one has priority: round robin follows. The
/// greedy order stays where one block keeps the SM busy. Every scheduler of the four SMs decides.
#[test]
fn ipaws_decides_by_the_kernel() {
    let ipaws = "sm.warp_scheduler=ipaws";
    let [greedy, fair] = decisions(&same_always(&[ipaws, "ipaws.fair_percent=50"]));
    assert!(fair > 0 && greedy + fair >= 8, "{greedy} and {fair}");
    let compute = run_with(
        &spec(&[ipaws]),
        (COMPUTE, 24, 256),
        1,
        CustomPolicies::default(),
    );
    let [greedy, fair] = decisions(&compute);
    assert!(greedy >= 8 && fair < greedy, "{greedy} and {fair}");
}
