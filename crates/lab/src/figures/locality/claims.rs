//! Claims of locality-aware scheduling, judged from the data of its figures.

use super::{BCS, BLOCKS, BOTH, GTO, RR, TYPE_1, TYPE_2, TYPE_3};
use crate::data::Data;
use crate::samples::Samples;
use crate::verdict::Judged;
use warploom_report::page::{Kind, Verdict};

/// Workloads to which the warp scheduler adds a gain, and those to which it does not ("fitted into
/// L1").
const HELPED: [&str; 4] = ["HS", "SRAD", "HIS", "SIFT"];
const NOT_HELPED: [&str; 5] = ["CONV", "BP", "LUD", "TRAN", "GAUSSIAN"];
/// Largest change that counts as no gain, because a bar chart hardly shows less.
const SLIGHT: f64 = 0.02;

/// Verdicts on the claims about a figure.
pub(crate) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let note = format!(
        "Over all launches at scale {}. The thesis does not name its mean: geometric for speedups, \
         arithmetic for rates. Types are those of Table 5.1, in which Gabor does not stand.",
        data.scale()
    );
    match data.figure() {
        "fig5.1" => {
            let speeds = Speeds(data);
            let mut verdicts = vec![over_rr(&speeds, &note)];
            let others = [
                over_bcs(&speeds),
                by_type(&speeds),
                blocks_over_bcs(&speeds),
                nn_warps(data),
                warp_scheduler(&speeds),
            ];
            verdicts.extend(others.map(|judged| judged.verdict(note.as_str())));
            verdicts
        }
        "fig5.2" => vec![miss_rate(data)],
        "fig5.4" => vec![stalls(data)],
        "table5.1" => vec![types(data)],
        "table5.2" => vec![storage(data)],
        _ => Vec::new(),
    }
}

/// Performance of the configurations of Fig. 5.1.
struct Speeds<'a>(&'a Data<'a>);

impl Speeds<'_> {
    /// Ratios of one configuration to another, by workload.
    fn over(&self, of: &str, base: &str) -> Samples {
        let ipc = |config: &str| self.0.column(&format!("{config}.ipc"));
        ipc(of).over(&ipc(base))
    }
}

fn over_rr(speeds: &Speeds<'_>, note: &str) -> Verdict {
    let ratios = speeds.over(BOTH, GTO);
    let loose = speeds.over(BOTH, RR);
    let other = loose.geometric().zip(loose.best()).map(|(mean, (name, best))| {
        format!(
            " Over round-robin for blocks and for warps the mean is {:.3} and the best {best:.3}, \
             on {name}.",
            mean.value
        )
    });
    let best = ratios.best();
    let what = best.map_or("at best".to_owned(), |(name, _)| {
        format!("at best, on {name}")
    });
    Judged::new("locality.vs_rr")
        .own("geometric mean", ratios.geometric())
        .value(&what, Kind::Speedup, 1.59, best.map(|(_, best)| best))
        .verdict(format!(
            "{note} The baseline is that of Fig. 5.1, round-robin blocks under GTO.{}",
            other.unwrap_or_default()
        ))
}

fn over_bcs(speeds: &Speeds<'_>) -> Judged {
    let ratios = speeds.over(BOTH, BCS);
    let best = ratios.best();
    let what = best.map_or("at best".to_owned(), |(name, _)| {
        format!("at best, on {name}")
    });
    Judged::new("locality.vs_bcs")
        .own("geometric mean", ratios.geometric())
        .value(&what, Kind::Speedup, 1.42, best.map(|(_, best)| best))
}

fn by_type(speeds: &Speeds<'_>) -> Judged {
    let both = speeds.over(BOTH, BCS);
    let blocks = speeds.over(BLOCKS, BCS);
    let judged = Judged::new("locality.by_type")
        .value(
            "Type-I over BCS, geometric mean",
            Kind::Speedup,
            1.03,
            both.only(&TYPE_1).geometric(),
        )
        .value(
            "Type-II over BCS, geometric mean",
            Kind::Speedup,
            1.26,
            both.only(&TYPE_2).geometric(),
        )
        .value(
            "Type-II over BCS with the block scheduler alone, geometric mean",
            Kind::Speedup,
            1.24,
            blocks.only(&TYPE_2).geometric(),
        )
        .value(
            "Type-II: L1D miss rate below BCS's with the block scheduler, points",
            Kind::Points,
            10.0,
            speeds.0.summary("type-2.miss_rate_fall"),
        );
    let none = speeds.over(BOTH, GTO);
    let judged = TYPE_3.iter().fold(judged, |judged, name| {
        let what = format!("{name} over round-robin blocks");
        judged.value(&what, Kind::Speedup, 1.0, none.get(name))
    });
    let nn = speeds.over(BCS, GTO).get("NN");
    judged.value("BCS on NN over round-robin blocks", Kind::Speedup, 0.92, nn)
}

/// Statements of section 5.1 about the block scheduler and BCS.
fn blocks_over_bcs(speeds: &Speeds<'_>) -> Judged {
    let ratios = speeds.over(BLOCKS, BCS);
    let says = |judged: Judged, what: &str, name: &str, is: fn(f64) -> bool| {
        let ratio = ratios.get(name);
        judged.says(
            &format!("{name} {what}"),
            ratio.map(|ratio| (is(ratio), format!("{ratio:.3} over BCS"))),
        )
    };
    let judged = Judged::new("locality.blocks_vs_bcs").value(
        "Type-I, geometric mean",
        Kind::Speedup,
        1.0,
        ratios.only(&TYPE_1).geometric(),
    );
    let judged = says(judged, "is faster under BCS", "SRAD", |ratio| ratio < 1.0);
    let ahead = ["HS", "HIS"].iter().chain(&TYPE_2);
    ahead.fold(judged, |judged, name| {
        says(judged, "is slower under BCS", name, |ratio| ratio > 1.0)
    })
}

fn nn_warps(data: &Data<'_>) -> Judged {
    let warps = |config: &str| data.summary(&format!("NN.{config}.warps"));
    Judged::new("locality.nn_warps")
        .value(
            "warps of NN on an SM with round-robin blocks",
            Kind::Number,
            8.0,
            warps(GTO),
        )
        .value(
            "warps of NN on an SM with BCS",
            Kind::Number,
            6.0,
            warps(BCS),
        )
}

fn warp_scheduler(speeds: &Speeds<'_>) -> Judged {
    let adds = speeds.over(BOTH, BLOCKS);
    let both: Vec<_> = TYPE_1.iter().chain(&TYPE_2).copied().collect();
    let judged = Judged::new("locality.warp_scheduler").own(
        "Type-I and Type-II over the block scheduler alone, geometric mean",
        adds.only(&both).geometric(),
    );
    let says = |judged: Judged, name: &str, what: &str, is: fn(f64) -> bool| {
        let ratio = adds.get(name);
        let so = ratio.map(|ratio| (is(ratio), format!("{ratio:.3}")));
        judged.says(&format!("{name} {what}"), so)
    };
    let judged = HELPED.iter().fold(judged, |judged, name| {
        says(judged, name, "gains 2 % to 10 %", |ratio| {
            (1.02..=1.10).contains(&ratio)
        })
    });
    NOT_HELPED.iter().fold(judged, |judged, name| {
        says(judged, name, "changes by less than 2 %", |ratio| {
            (ratio - 1.0).abs() < SLIGHT
        })
    })
}

fn miss_rate(data: &Data<'_>) -> Verdict {
    let [before, after] = [GTO, BOTH].map(|config| data.column(config));
    let fall = |(name, rate): &(String, f64)| Some((name.clone(), rate - after.get(name)?));
    let falls = Samples(before.0.iter().filter_map(fall).collect());
    let (name, most) = falls.best().unzip();
    Judged::new("locality.miss_rate")
        .own(
            &format!("largest fall, with both schedulers, from {GTO}"),
            most,
        )
        .verdict(format!(
            "On {}, at scale {}. The thesis does not say from which machine: the baseline of its \
             figure is taken.",
            name.unwrap_or("no workload"),
            data.scale()
        ))
}

fn stalls(data: &Data<'_>) -> Verdict {
    let mean = |class: &str, config: &str| data.summary(&format!("{class}.{config}"));
    let mut judged = Judged::new("locality.stalls");
    for (class, what) in [("raw", "RAW"), ("structural", "structural")] {
        let pair = mean(class, GTO).zip(mean(class, BLOCKS));
        judged = judged.says(
            &format!("the block scheduler cuts {what} stalls"),
            pair.map(|(before, after)| {
                (
                    after < before,
                    format!("{before:.4} to {after:.4} of the baseline's cycles"),
                )
            }),
        );
    }
    let rise = |of: &str| data.summary(&format!("idle_or_control.rise.{of}"));
    let rises = rise("barriers").zip(rise("no_barriers"));
    judged
        .says(
            "the warp scheduler raises idle or control stalls where blocks have barriers",
            rises.map(|(with, without)| {
                let text = format!(
                    "by {with:.4} of the baseline's cycles; without barriers by {without:.4}"
                );
                (with > 0.0, text)
            }),
        )
        .verdict(format!(
            "Arithmetic means over workloads at scale {}.",
            data.scale()
        ))
}

fn types(data: &Data<'_>) -> Verdict {
    let mut judged = Judged::new("locality.types");
    for (at, names) in [&TYPE_1[..], &TYPE_2, &TYPE_3].into_iter().enumerate() {
        let paper = format!("Type-{}", "I".repeat(at + 1));
        for name in names {
            judged = judged.category(name, &paper, data.text(name, "type").as_deref());
        }
    }
    judged.verdict(
        "The thesis gives no rule; ours on lines that blocks share was set before measuring, and \
         the figure states it.",
    )
}

fn storage(data: &Data<'_>) -> Verdict {
    let [ours, paper] = ["bytes", "bytes.paper"].map(|column| data.named("component", column));
    let judged = paper
        .0
        .iter()
        .fold(Judged::new("locality.storage"), |judged, (what, paper)| {
            judged.value(what, Kind::Bytes, *paper, ours.get(what))
        });
    judged.verdict(
        "An entry has column, row, width and height of a rectangle for each of five arrays, a byte \
         each; 15 bytes are three fields an array. The thesis rounds the ranges up to 1 KB where \
         its own product is 768 bytes.",
    )
}
