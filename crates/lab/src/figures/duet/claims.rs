//! Claims of GPUDuet, judged from the data of its figures.

use super::fig12::FIXED;
use super::{FIFTEEN, GPU, MAX_CYCLES, UNDERUTILISED, UNSATURATED};
use crate::data::Data;
use crate::samples::{Measured, Samples};
use crate::verdict::Judged;
use warploom_config::preset;
use warploom_report::grouped;
use warploom_report::page::{Kind, Verdict};

/// Categories of section 4.2, by our names. The section names ST under compute and under DRAM, and
/// nowhere CP, which is one of the 22 benchmarks: the first ST is taken as CP.
pub(super) const CATEGORIES: [(&str, &[&str]); 5] = [
    ("compute", &["SAD_1", "BP_1", "CP"]),
    ("l2-to-sm", &["KM", "CFD", "SPMV", "FDTD_2", "MMS", "CONV"]),
    ("sm-to-l2", &["GEMM", "MM"]),
    ("dram", &["SAD_2", "LBM", "FDTD_1", "BP_2", "DWT_1", "ST"]),
    ("underutilised", &["BFS", "BT", "DWT_2", "HG", "HS"]),
];
/// Sustainable throughput of the interconnect in per cent of its peak (section 4.1).
const SUSTAINABLE: f64 = 60.0;
const NETWORK_BOUND: [&str; 3] = ["KM", "CFD", "SPMV"];
const MODERATE: [&str; 4] = ["MMS", "CONV", "MM", "ST"];
/// Benchmarks for which Virtual Thread has no space (section 7.2).
const NO_ROOM: [&str; 7] = ["CFD", "LBM", "ST", "MMS", "DWT_2", "HG", "HS"];
/// Half a point is a tie, because a bar chart cannot show less.
const TIE: f64 = 0.005;

/// Verdicts on the claims about a figure.
pub(crate) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let [cut, runs] = data.cut_runs();
    let note = format!(
        "At scale {} on {GPU}; limit {} cycles, reached by {cut} of {runs} runs.",
        data.scale(),
        grouped(MAX_CYCLES)
    );
    let all = |judged: Vec<Judged>| judged.into_iter().map(|j| j.verdict(note.as_str()));
    match data.figure() {
        "fig3b" => vec![crossbar(data)],
        "fig4" => all(fig4(data)).collect(),
        "fig5" => all(vec![spmv(data)]).collect(),
        "fig6" => all(vec![doubled(data)]).collect(),
        "fig7" => all(vec![limits(data)]).collect(),
        "fig12" => all(fig12(data)).collect(),
        "fig13" => all(fig13(data)).collect(),
        "fig14" => all(fig14(data)).collect(),
        "fig15" => all(fig15(data)).collect(),
        "table4" => vec![storage(data)],
        "contexts" => vec![registers(data)],
        _ => Vec::new(),
    }
}

/// Names of the first benchmarks of Fig. 12.
fn first(count: usize) -> Vec<&'static str> {
    FIFTEEN[..count]
        .iter()
        .map(|workload| workload.name)
        .collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn crossbar(data: &Data<'_>) -> Verdict {
    let single = data.of("packet_flits", "1").named("ports", "throughput");
    let at = |ports: &str| single.get(ports).map(|share| share * 100.0);
    let values = single.values();
    let falls = values.windows(2).all(|pair| pair[1] < pair[0] + TIE);
    let shown = single.0.first().zip(single.0.last()).map(|(first, last)| {
        let [first_at, last_at] = [first, last].map(|(ports, share)| (ports, percent(*share)));
        format!(
            "{} at {} ports, {} at {}",
            first_at.1, first_at.0, last_at.1, last_at.0
        )
    });
    Judged::new("duet.crossbar.sustainable")
        .own("of the peak at 16 ports", at("16"))
        .says(
            "it falls with the number of ports",
            shown.map(|text| (falls, text)),
        )
        .value(
            "of the peak at 64 ports, where it levels off",
            Kind::Percent,
            58.6,
            at("64"),
        )
        .verdict("Packets of one flit, every input always full.")
}

fn fig4(data: &Data<'_>) -> Vec<Judged> {
    let mut categories = Judged::new("duet.categories");
    for (category, names) in CATEGORIES {
        for name in names {
            let ours = data.text(name, "category");
            categories = categories.category(name, category, ours.as_deref());
        }
    }
    let measured = data.texts("category");
    let is_network =
        |(_, category): &&(String, String)| ["l2-to-sm", "sm-to-l2"].contains(&category.as_str());
    let bound = measured.iter().filter(is_network).count() as f64;
    let bound = (!measured.is_empty()).then_some(bound);
    let above = |column: &str, share: f64| {
        let used = data.column(column);
        let above = used.values().iter().filter(|used| **used > share).count();
        (!used.0.is_empty()).then_some(above as f64)
    };
    let network = data.column("noc_to_sm.utilisation");
    let peak = |name: &str| network.get(name).map(|used| used * SUSTAINABLE);
    let near_peak =
        NETWORK_BOUND
            .iter()
            .fold(Judged::new("duet.crossbar.kernels"), |judged, name| {
                let what = format!("{name}: of the interconnect's peak");
                judged.value(&what, Kind::Percent, SUSTAINABLE, peak(name))
            });
    vec![
        categories,
        Judged::new("duet.categories.interconnect_bound").own("benchmarks", bound),
        Judged::new("duet.l1d.low")
            .value(
                "above 5 % of L1D's bandwidth",
                Kind::Count,
                7.0,
                above("l1d.utilisation", 0.05),
            )
            .value(
                "above 10 % of L2's bandwidth",
                Kind::Count,
                13.0,
                above("l2.utilisation", 0.1),
            ),
        near_peak,
    ]
}

/// Statements of sections 1 and 4.3 about SPMV over its active warps.
fn spmv(data: &Data<'_>) -> Judged {
    let ipc = |width: &str| data.of("wire_bytes", width).named("warps", "ipc");
    let narrow = data.of("wire_bytes", "16");
    let hits = narrow.named("warps", "l1d.hit_rate");
    let hits = hits.get("4").zip(hits.get("24"));
    let dram = narrow.named("warps", "dram");
    let peak = ipc("16").best().map(|(warps, _)| warps.to_owned());
    let fall = |width: &str| {
        let ipc = ipc(width);
        let last = ipc.0.last()?.1;
        Some(1.0 - last / ipc.best()?.1)
    };
    let is_early = |warps: &String| {
        warps
            .parse()
            .is_ok_and(|warps: u32| (12..=24).contains(&warps))
    };
    Judged::new("duet.spmv.warps")
        .says(
            "L1D's hit rate falls from 4 to 24 warps, by a third or more",
            hits.map(|(few, many)| {
                let text = format!("{} to {}", percent(few), percent(many));
                (many <= few * 2.0 / 3.0, text)
            }),
        )
        .says(
            "IPC is best at 12 to 24 warps (wires of 16 bytes)",
            peak.map(|warps| (is_early(&warps), format!("{warps} warps"))),
        )
        .says(
            "and falls after, by 2 % or more",
            fall("16").map(|fall| (fall >= 0.02, percent(fall))),
        )
        .says(
            "DRAM stays below 50 %",
            dram.best().map(|(_, most)| (most < 0.5, percent(most))),
        )
        .says(
            "with wires of 64 bytes it does not fall by 2 %",
            fall("64").map(|fall| (fall < 0.02, percent(fall))),
        )
}

fn doubled(data: &Data<'_>) -> Judged {
    let speedups = data.column("speedup");
    let mut order = speedups.0.clone();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.truncate(UNDERUTILISED);
    let leading = Samples(order);
    let names = leading.names();
    let under = first(UNDERUTILISED);
    let same = under
        .iter()
        .all(|name| names.iter().any(|leading| leading == name));
    let shown = |name: &str, is: fn(f64) -> bool| {
        speedups
            .get(name)
            .map(|ratio| (is(ratio), format!("{ratio:.3}")))
    };
    Judged::new("duet.doubled")
        .says(
            "the five that gain most are the underused ones",
            (!names.is_empty()).then(|| (same, leading.shown())),
        )
        .says(
            "SAD_1 gains little (within 5 %)",
            shown("SAD_1", |ratio| (ratio - 1.0).abs() <= 0.05),
        )
        .says("KM loses", shown("KM", |ratio| ratio < 1.0))
}

fn limits(data: &Data<'_>) -> Judged {
    let limits = data.texts("limit");
    let count = |names: [&str; 2]| {
        let of = limits
            .iter()
            .filter(|(_, limit)| names.contains(&limit.as_str()));
        (!limits.is_empty()).then(|| of.count() as f64)
    };
    let bt = data.number("BT", "registers").map(|share| share * 100.0);
    Judged::new("duet.limits")
        .value(
            "limited by scheduling",
            Kind::Count,
            5.0,
            count(["threads", "block-slots"]),
        )
        .value(
            "limited by capacity",
            Kind::Count,
            5.0,
            count(["registers", "shared-memory"]),
        )
        .value("registers in use with BT", Kind::Percent, 88.0, bt)
}

fn fig12(data: &Data<'_>) -> Vec<Judged> {
    let monitored = data.column("dynamic");
    let unsaturated = monitored.only(&first(UNSATURATED));
    let best = monitored.best().map(|(_, ratio)| ratio);
    let loss = data.summary("DWT_2.without_l1d");
    vec![
        Judged::new("duet.speedup.max").own("best, monitored", best),
        Judged::new("duet.speedup.gmean").own(
            "unsaturated benchmarks, monitored, geometric mean",
            unsaturated.geometric(),
        ),
        ranges(data, &monitored),
        Judged::new("duet.dwt2.bypass").own(
            "loss of DWT_2 without L1D",
            loss.map(|ratio| (1.0 - ratio) * 100.0),
        ),
    ]
}

/// Speedups of a benchmark by number of extra blocks, up to the first number that reaches its
/// bound.
fn fixed(data: &Data<'_>, name: &str) -> Samples {
    let bound = data.number(name, "bound").unwrap_or(0.0);
    let numbers = FIXED.iter().enumerate();
    let useful = numbers.filter(|(at, _)| *at == 0 || (FIXED[at - 1].1 as f64) < bound);
    let pair = |(_, (column, _)): (usize, &(&str, u64))| {
        Some(((*column).to_owned(), data.number(name, column)?))
    };
    Samples(useful.filter_map(pair).collect())
}

/// Statements of section 7.1.
fn ranges(data: &Data<'_>, monitored: &Samples) -> Judged {
    let under = monitored.only(&first(UNDERUTILISED));
    let moderate = monitored.only(&MODERATE);
    let least = |of: &Samples| of.worst().map(|(_, ratio)| ratio);
    let most = |of: &Samples| of.best().map(|(_, ratio)| ratio);
    let at_bound = first(UNDERUTILISED).into_iter().filter_map(|name| {
        let fixed = fixed(data, name);
        let last = fixed.0.last()?.1;
        Some((name, last >= fixed.best()?.1 - TIE))
    });
    let (yes, no): (Vec<_>, Vec<_>) = at_bound.partition(|(_, so)| *so);
    let not: Vec<_> = no.iter().map(|(name, _)| *name).collect();
    let not = match not.as_slice() {
        [] => "all of them".to_owned(),
        not => format!("not {}", not.join(", ")),
    };
    let [spmv, mm, km] = ["SPMV", "MM", "KM"].map(|name| fixed(data, name));
    let mm = mm
        .best()
        .map(|(column, _)| (column == "me3", column.to_owned()));
    Judged::new("duet.speedup.underutilised.range")
        .value(
            "least gain of the underused ones",
            Kind::Speedup,
            1.23,
            least(&under),
        )
        .value(
            "largest gain of the underused ones",
            Kind::Speedup,
            1.47,
            most(&under),
        )
        .says(
            "the underused ones are best at the bound of ME",
            (!yes.is_empty() || !no.is_empty()).then_some((no.is_empty(), not)),
        )
        .value(
            "least gain of the moderate ones",
            Kind::Speedup,
            1.07,
            least(&moderate),
        )
        .value(
            "largest gain of the moderate ones",
            Kind::Speedup,
            1.25,
            most(&moderate),
        )
        .says(
            "SPMV only loses",
            most(&spmv).map(|most| (most <= 1.0 + TIE, format!("at best {most:.3}"))),
        )
        .says("MM is best with ME=3", mm)
        .value("KM at worst", Kind::Speedup, 0.74, least(&km))
}

fn fig13(data: &Data<'_>) -> Vec<Judged> {
    let [vt, blocks, duet] = ["virtual-thread", "duet-tb", "duet"].map(|name| data.column(name));
    let over = duet.over(&vt);
    let km = vt
        .get("KM")
        .map(|ratio| (ratio < 1.0, format!("{ratio:.3}")));
    let ahead = |name: &str| {
        let [warps, blocks] = [duet.get(name)?, blocks.get(name)?];
        Some((warps > blocks, format!("{warps:.3} and {blocks:.3}")))
    };
    let levels = Judged::new("duet.levels")
        .says("on HS warps gain more than blocks", ahead("HS"))
        .says("on BFS warps gain more than blocks", ahead("BFS"));
    vec![
        Judged::new("duet.vs_vt.all")
            .own("all fifteen, geometric mean", over.geometric())
            .value(
                "unsaturated ones, geometric mean",
                Kind::Speedup,
                1.16,
                over.only(&first(UNSATURATED)).geometric(),
            ),
        Judged::new("duet.vt.km").says("Virtual Thread loses on KM", km),
        levels,
    ]
}

fn fig14(data: &Data<'_>) -> Vec<Judged> {
    let [native, vt, duet] = ["blocks", "virtual-thread", "duet"].map(|name| data.column(name));
    let unsaturated = |of: &Samples| of.over(&native).only(&first(UNSATURATED)).geometric();
    let bound = |name: &str, of: &str| data.number(name, &format!("{of}.bound"));
    let room = NO_ROOM
        .iter()
        .fold(Judged::new("duet.vt.room"), |judged, name| {
            let extra = bound(name, "virtual-thread");
            let what = format!("Virtual Thread has no space for another block of {name}");
            judged.says(
                &what,
                extra.map(|extra| (extra == 0.0, format!("space for {extra}"))),
            )
        });
    let more = |judged: Judged, name: &&str| {
        let pair = vt.get(name).zip(duet.get(name));
        let what = format!("more blocks of {name} on an SM with Virtual Thread than with GPUDuet");
        judged.says(
            &what,
            pair.map(|(vt, duet)| (vt > duet, format!("{vt} and {duet}"))),
        )
    };
    let saturated = FIFTEEN[UNSATURATED..].iter().map(|workload| workload.name);
    let off = saturated.fold(Judged::new("duet.saturated"), |judged, name| {
        let pair = native.get(name).zip(duet.get(name));
        let what = format!("no extra blocks of {name}");
        judged.says(
            &what,
            pair.map(|(native, duet)| {
                (
                    duet == native,
                    format!("{duet} blocks at most, {native} without"),
                )
            }),
        )
    });
    vec![
        Judged::new("duet.tlp")
            .value(
                "Virtual Thread, unsaturated, geometric mean",
                Kind::Speedup,
                1.18,
                unsaturated(&vt),
            )
            .value(
                "GPUDuet, unsaturated, geometric mean",
                Kind::Speedup,
                1.70,
                unsaturated(&duet),
            ),
        Judged::new("duet.extra_tbs")
            .value("DWT_2: blocks", Kind::Count, 10.0, native.get("DWT_2"))
            .value(
                "DWT_2: extra blocks",
                Kind::Count,
                2.0,
                bound("DWT_2", "duet"),
            )
            .value("HG: extra blocks", Kind::Count, 8.0, bound("HG", "duet"))
            .value("BT: extra blocks", Kind::Count, 6.0, bound("BT", "duet"))
            .value(
                "BT: those of Virtual Thread",
                Kind::Count,
                1.0,
                bound("BT", "virtual-thread"),
            ),
        ["KM", "BP_1"].iter().fold(room, more),
        off,
    ]
}

fn fig15(data: &Data<'_>) -> Vec<Judged> {
    let widths = [("256", 1.24), ("128", 1.22), ("64", 1.18)];
    let speedups = widths.map(|(width, _)| data.column(width));
    let means = speedups.each_ref().map(Samples::geometric);
    let mut means_judged = Judged::new("duet.bandwidth");
    for ((width, paper), ours) in widths.iter().zip(&means) {
        let what = format!("{width} bytes, geometric mean");
        means_judged = means_judged.value(&what, Kind::Speedup, *paper, ours.clone());
    }
    let [wide, usual, narrow] = means.map(|mean| mean.map(|mean: Measured| mean.value));
    let order = wide.zip(usual).zip(narrow).map(|((wide, usual), narrow)| {
        let text = format!("{wide:.3}, {usual:.3}, {narrow:.3}");
        (wide >= usual && usual >= narrow, text)
    });
    let mut sensitive = speedups[0].over(&speedups[2]).0;
    sensitive.sort_by(|a, b| b.1.total_cmp(&a.1));
    sensitive.truncate(2);
    let leading = Samples(sensitive);
    let is = ["HG", "BT"].iter().all(|name| leading.get(name).is_some());
    vec![
        means_judged.says("a wider port is never worse in the mean", order),
        Judged::new("duet.bandwidth.sensitive").says(
            "HG and BT gain most from 256 bytes over 64",
            (!leading.0.is_empty()).then(|| (is, leading.shown())),
        ),
    ]
}

fn storage(data: &Data<'_>) -> Verdict {
    let bytes = |name: &str| data.summary(&format!("{name}.bytes"));
    Judged::new("duet.storage")
        .value("GPUDuet", Kind::Bytes, 1034.0, bytes("duet"))
        .value("Virtual Thread", Kind::Bytes, 84.0, bytes("virtual-thread"))
        .verdict("Computed from the preset.")
}

/// Registers kept of those that a block is granted, in per cent.
fn registers(data: &Data<'_>) -> Verdict {
    let spec = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let unit = f64::from(spec.sm.register_granularity.max(1));
    let granted = data
        .column("registers")
        .map(|held| (held / unit).ceil() * unit);
    let shares = data
        .column("kept")
        .over(&granted)
        .map(|share| share * 100.0);
    let mean = |count: usize| {
        let mean = shares.only(&first(count)).arithmetic();
        mean.map_or("-".to_owned(), |mean| format!("{:.1} %", mean.value))
    };
    let note = format!(
        "By static analysis of the PTX: registers live at each switch point, compressed where they \
         are proved uniform or narrow, of the registers as granted, in units of {unit}. Over the \
         15 benchmarks of Fig. 12: {}, over its ten unsaturated ones: {}.",
        mean(FIFTEEN.len()),
        mean(UNSATURATED)
    );
    Judged::new("duet.register_reduction")
        .own(
            "of the registers, arithmetic mean of 22",
            shares.arithmetic(),
        )
        .verdict(note)
}
