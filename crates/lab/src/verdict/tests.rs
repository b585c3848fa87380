//! Tests of every rule and of its borders. Values are computed by hand.

use super::{Judged, judge};
use crate::samples::Samples;
use warploom_report::page::Judgement::{self, Differs, Near, Reproduced};
use warploom_report::page::{Kind, Origin, Remark};

#[test]
fn an_effect_needs_the_sign_five_points_and_half_of_it() {
    let speedup = |ours| judge(Kind::Speedup, 1.20, ours);
    assert_eq!([1.20, 1.25, 1.15].map(speedup), [Reproduced; 3]);
    assert_eq!([1.251, 1.149, 1.06].map(speedup), [Near; 3]);
    // A quarter of ln 1.2 is ln 1.0466.
    assert_eq!(
        [1.0467, 1.0465, 1.0, 0.9].map(speedup),
        [Near, Differs, Differs, Differs]
    );
    // Twice and more of the effect is near, however large.
    assert_eq!(judge(Kind::Speedup, 1.78, 4.72), Near);
    // Within five points, but of the other sign.
    assert_eq!(judge(Kind::Speedup, 1.02, 0.99), Differs);
    assert_eq!(judge(Kind::Speedup, 0.92, 0.975), Near);
    assert_eq!(judge(Kind::Speedup, 0.92, 0.94), Reproduced);
}

#[test]
fn half_twice_and_a_quarter_of_an_effect_belong_to_it() {
    // 1.03 squared is 1.0609, and its fourth power 1.12550881.
    assert_eq!(judge(Kind::Speedup, 1.0609, 1.03), Reproduced);
    assert_eq!(judge(Kind::Speedup, 1.0609, 1.0299), Near);
    assert_eq!(judge(Kind::Speedup, 1.03, 1.0609), Reproduced);
    assert_eq!(judge(Kind::Speedup, 1.03, 1.0610), Near);
    assert_eq!(judge(Kind::Speedup, 1.125_508_81, 1.03), Near);
    assert_eq!(judge(Kind::Speedup, 1.125_508_81, 1.0299), Differs);
}

#[test]
fn an_effect_below_a_point_is_none() {
    let none = |ours| judge(Kind::Speedup, 1.009, ours);
    assert_eq!([1.0, 1.01, 0.99].map(none), [Reproduced; 3]);
    assert_eq!([1.011, 0.989, 1.05].map(none), [Differs; 3]);
    // An effect of one point is an effect.
    assert_eq!(judge(Kind::Speedup, 1.01, 0.999), Differs);
    assert_eq!(judge(Kind::Increase, 0.0, 0.5), Reproduced);
}

#[test]
fn increases_and_decreases_are_effects() {
    assert_eq!(judge(Kind::Increase, 14.0, 10.0), Reproduced);
    // ln 1.05 / ln 1.14 is 0.37.
    assert_eq!(judge(Kind::Increase, 14.0, 5.0), Near);
    assert_eq!(judge(Kind::Increase, 14.0, -1.0), Differs);
    assert_eq!(judge(Kind::Decrease, 16.5, 12.0), Reproduced);
    // ln 0.96 / ln 0.835 is 0.226.
    assert_eq!(judge(Kind::Decrease, 16.5, 4.0), Differs);
    assert_eq!(judge(Kind::Decrease, 43.0, 25.5), Near);
}

#[test]
fn levels_agree_in_points_or_relative_to_themselves() {
    let level = |ours| judge(Kind::Percent, 30.0, ours);
    assert_eq!([30.0, 35.0, 25.0].map(level), [Reproduced; 3]);
    assert_eq!([35.1, 24.9, 40.0, 20.0].map(level), [Near; 4]);
    assert_eq!([40.1, 19.9].map(level), [Differs; 2]);
    // Of 90, a tenth is 9 and a quarter 22.5.
    let high = |ours| judge(Kind::Percent, 90.0, ours);
    assert_eq!(
        [81.0, 80.9, 67.5, 67.4].map(high),
        [Reproduced, Near, Near, Differs]
    );
    let points = |ours| judge(Kind::Points, 15.0, ours);
    assert_eq!([20.0, 25.0, 25.1].map(points), [Reproduced, Near, Differs]);
}

#[test]
fn means_of_counts_agree_relative_to_themselves_only() {
    let mean = |ours| judge(Kind::Number, 2.0, ours);
    assert_eq!([2.2, 1.8].map(mean), [Reproduced; 2]);
    assert_eq!([2.21, 1.5].map(mean), [Near; 2]);
    assert_eq!([2.51, 1.49].map(mean), [Differs; 2]);
}

#[test]
fn counts_and_sizes_are_equal_or_near() {
    for kind in [Kind::Count, Kind::Bytes] {
        let count = |ours| judge(kind, 20.0, ours);
        assert_eq!([20.0, 22.0, 18.0].map(count), [Reproduced, Near, Near]);
        assert_eq!([22.1, 17.0].map(count), [Differs; 2]);
    }
}

fn samples(values: &[f64]) -> Samples {
    let named = values
        .iter()
        .enumerate()
        .map(|(at, value)| (at.to_string(), *value));
    Samples(named.collect())
}

fn of_series(ours: &[f64]) -> Option<Judgement> {
    let paper = samples(&[1.0, 2.0, 3.0, 4.0]);
    let judged = Judged::new("cooperative.throttle.who").series("s", &paper, &samples(ours));
    judged.verdict("").statements[0].judgement
}

#[test]
fn a_series_is_judged_by_ranks_and_by_its_mean_ratio() {
    assert_eq!(of_series(&[1.0, 2.0, 3.0, 4.0]), Some(Reproduced));
    // A rank correlation of 0.8 exactly.
    assert_eq!(of_series(&[1.0, 3.0, 2.0, 4.0]), Some(Reproduced));
    // All values a quarter higher, and more than that.
    assert_eq!(of_series(&[1.25, 2.5, 3.75, 5.0]), Some(Reproduced));
    assert_eq!(of_series(&[1.26, 2.52, 3.78, 5.04]), Some(Near));
    // Ranks 2, 1, 4, 3: 1 - 6 * 4 / 60 = 0.6.
    assert_eq!(of_series(&[2.0, 1.0, 4.0, 3.0]), Some(Near));
    // Ranks 3, 1, 2, 4: 1 - 6 * 6 / 60 = 0.4.
    assert_eq!(of_series(&[3.0, 1.0, 2.0, 4.0]), Some(Differs));
    // A constant series has no order.
    assert_eq!(of_series(&[2.0, 2.0, 2.0, 2.0]), Some(Differs));
    // Two pairs are no series.
    assert_eq!(of_series(&[1.0, 2.0]), None);
}

/// A claim with a figure of its own, 1.075, and predicates.
fn claim(own: f64, says: &[bool]) -> Option<Judgement> {
    let claim = Judged::new("cooperative.warp.vs_rr").own("mean", Some(own));
    let add = |claim: Judged, so: &bool| claim.says("so", Some((*so, String::new())));
    says.iter().fold(claim, add).verdict("").judgement
}

#[test]
fn a_claim_is_as_good_as_its_statements() {
    assert_eq!(claim(1.07, &[]), Some(Reproduced));
    assert_eq!(claim(1.07, &[true, true]), Some(Reproduced));
    assert_eq!(claim(1.03, &[true]), Some(Near));
    // Half of the statements are enough, fewer are not.
    assert_eq!(claim(1.07, &[false]), Some(Near));
    assert_eq!(claim(1.07, &[false, true, false]), Some(Near));
    assert_eq!(claim(1.07, &[false, false]), Some(Differs));
    // Nothing makes up for a claim's own figure.
    assert_eq!(claim(0.99, &[true, true, true]), Some(Differs));
}

#[test]
fn what_was_not_measured_neither_counts_nor_passes() {
    let judged = |says: &[Option<bool>]| {
        let claim = Judged::new("cooperative.throttle.who");
        let add =
            |claim: Judged, so: &Option<bool>| claim.says("so", so.map(|so| (so, String::new())));
        says.iter().fold(claim, add).verdict("")
    };
    assert_eq!(judged(&[None, None]).judgement, None);
    assert_eq!(judged(&[Some(true), None]).judgement, Some(Near));
    assert_eq!(
        judged(&[Some(true), Some(false), None]).judgement,
        Some(Near)
    );
    assert_eq!(judged(&[None]).label(), "not measured");
    let none = Judged::new("cooperative.warp.vs_rr").own("mean", Some(f64::NAN));
    assert_eq!(none.verdict("").judgement, None);
}

#[test]
fn claims_by_construction_and_arithmetic_have_their_own_label() {
    let table = Judged::new("cooperative.concurrency").value("n", Kind::Count, 6.0, Some(6.0));
    let table = table.verdict("");
    assert_eq!(
        (table.origin, table.label()),
        (Origin::ByConstruction, "by construction")
    );
    let bytes = Judged::new("duet.storage").value("b", Kind::Bytes, 84.0, Some(84.0));
    assert_eq!(bytes.verdict("").label(), "arithmetic");
}

#[test]
fn a_mean_is_printed_with_its_range() {
    let ratios = samples(&[1.0, 1.21]);
    let claim = Judged::new("cooperative.warp.vs_rr").own("mean", ratios.geometric());
    let statement = &claim.verdict("").statements[0];
    assert_eq!(
        statement.ours_shown(),
        "1.1x (1.000 without 1 to 1.210 without 0)"
    );
    assert!(statement.own && statement.effect().is_some());
}

/// The remark on a level says what the rule itself does with 0.
#[test]
fn a_level_that_is_as_zero_would_be_has_the_judgement_of_zero() {
    for tenths in 0..300 {
        let paper = f64::from(tenths) / 10.0;
        for ours in [0.0, 0.4, 0.8, 0.95, 1.2].map(|share| share * paper) {
            let claim = Judged::new("cooperative.throttle.who");
            let claim = claim.value("level", Kind::Points, paper, Some(ours));
            let statement = &claim.verdict("").statements[0];
            let judged = statement.judgement.filter(|of| *of != Differs);
            let is_zeros = judged.is_some_and(|of| judge(Kind::Points, paper, 0.0) >= of);
            let remark = is_zeros.then_some(Remark::AsZero);
            assert_eq!(statement.remark(), remark, "{paper} {ours}");
        }
    }
}
