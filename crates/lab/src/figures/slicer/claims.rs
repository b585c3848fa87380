//! Claims of Warped-Slicer, judged from the data of its figures.

use super::table2_paper::{TABLE_2, column};
use super::table3::DYN;
use super::{CACHE, COMPUTE_CACHE, EVEN, LEFT_OVER, MEMORY, SLICER, note_at};
use crate::data::Data;
use crate::grid::{geometric_mean, mean};
use crate::samples::{Measured, Samples};
use crate::verdict::Judged;
use warploom_report::page::{Kind, POINTS, Verdict};

/// Share of the best IPC from which a curve counts as saturated (Fig. 3a).
const SATURATED: f64 = 0.95;
/// Largest movement of a pair's IPC with longer profiles, and of the mean with a delay (V.H).
const MOVES: f64 = 0.02;
const DELAYED: f64 = 0.015;
/// Share of pairs in "over 90%" (IV.A).
const MOST_PAIRS: f64 = 0.9;

/// Verdicts on the claims about a figure.
pub(crate) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let judged = match data.figure() {
        "table2" => table2(data),
        "fig3a" => vec![shapes(data)],
        "fig3b" => vec![sweet_spot(data)],
        "fig6" => vec![total_ipc(data)],
        "fig6-oracle" => vec![oracle(data)],
        "table3" => vec![partitions(data)],
        "fig7" => vec![resources(data), caches(data), stalls(data)],
        "fig8" => vec![three(data)],
        "fig9" => vec![fairness(data)],
        "fig10a" => vec![sensitivity(data)],
        "energy" => vec![energy(data)],
        _ => Vec::new(),
    };
    let mut note = note_at(data.scale());
    note += &power_of_sms(data).unwrap_or_default();
    judged
        .into_iter()
        .map(|judged| judged.verdict(note.as_str()))
        .collect()
}

fn table2(data: &Data<'_>) -> Vec<Judged> {
    let in_percent = |name: &str| data.column(name).map(|share| share * 100.0);
    let billions = data.column("instructions").map(|count| count / 1e9);
    let paper = |at: usize| column(at);
    let lost = data
        .summary("memory_and_execution.mean")
        .map(|share| share * 100.0);
    let utilisation = Judged::new("slicer.utilisation")
        .series("instructions, billions", &paper(0), &billions)
        .series("ALU, %", &paper(3), &in_percent("alu"))
        .series("SFU, %", &paper(4), &in_percent("sfu"))
        .series("LD/ST, %", &paper(5), &in_percent("ldst"))
        .series(
            "L2 misses per thousand instructions",
            &paper(6),
            &data.column("l2_mpki"),
        )
        .value("stalls of memory and execution", Kind::Percent, 40.0, lost);
    let occupancy = Judged::new("slicer.occupancy")
        .series("registers, %", &paper(1), &in_percent("registers"))
        .series("shared memory, %", &paper(2), &in_percent("shared"));
    let shares = in_percent("profile");
    let most = shares
        .best()
        .map(|(name, most)| (most <= 6.0, format!("{most:.2} %, {name}")));
    let cost = Judged::new("slicer.profile_cost")
        .says("at most 6 % of a kernel's time", most)
        .series("profile over kernel's time, %", &paper(7), &shares);
    vec![utilisation, occupancy, types(data), cost]
}

/// Types of the benchmarks. Section IV calls those cache-sensitive whose IPC falls when more blocks
/// no longer fit L1D, which Fig. 3a shows; the others are classified by their L2 misses.
fn types(data: &Data<'_>) -> Judged {
    let curves = data.beside("fig3a");
    let names = TABLE_2.iter().map(|(name, _)| *name);
    names.fold(Judged::new("slicer.types"), |judged, name| {
        let paper = match name {
            _ if CACHE.contains(&name) => "cache",
            _ if MEMORY.contains(&name) => "memory",
            _ => "compute",
        };
        let by_l2 = data.text(name, "type");
        let ours = match curves.as_ref().map(|curves| curve(curves, name)) {
            Some(curve) if falls(&curve.values()) => Some("cache".to_owned()),
            Some(curve) if !curve.0.is_empty() => by_l2,
            _ => by_l2.filter(|_| paper != "cache"),
        };
        judged.category(name, paper, ours.as_deref())
    })
}

/// IPC of a benchmark over its best one, by the share of its blocks (Fig. 3a).
fn curve(data: &Data<'_>, name: &str) -> Samples {
    data.of("benchmark", name).named("share", "normalised")
}

/// True if the IPC with all blocks is below 95 % of the best.
fn falls(curve: &[f64]) -> bool {
    curve.last().is_some_and(|last| *last < SATURATED)
}

/// Share of a benchmark's blocks at which it first reaches 95 % of its best IPC.
fn saturates_at(curve: &Samples) -> Option<f64> {
    let reached = curve.0.iter().find(|(_, ipc)| *ipc >= SATURATED)?;
    reached.0.parse().ok()
}

/// Shapes of the curves of Fig. 3a.
fn shapes(data: &Data<'_>) -> Judged {
    let curve = |name: &str| curve(data, name);
    let shown = |curve: &Samples| {
        curve
            .values()
            .iter()
            .map(|y| format!("{y:.2}"))
            .collect::<Vec<_>>()
    };
    let says = |judged: Judged, name: &str, what: &str, is: &dyn Fn(&[f64]) -> bool| {
        let curve = curve(name);
        let so = (curve.0.len() > 1).then(|| (is(&curve.values()), shown(&curve).join(" ")));
        judged.says(&format!("{name} {what}"), so)
    };
    let rises = |ys: &[f64]| ys.windows(2).all(|pair| pair[1] >= pair[0]);
    let is_flat = |ys: &[f64]| ys[ys.len() - 2] >= SATURATED && ys[ys.len() - 1] >= SATURATED;
    let judged = Judged::new("slicer.shapes");
    let judged = says(judged, "HOT", "rises up to its last block", &|ys| {
        rises(ys) && ys[ys.len() - 2] < 1.0
    });
    let judged = says(judged, "IMG", "saturates", &is_flat);
    let judged = says(judged, "BLK", "saturates", &is_flat);
    let ends = saturates_at(&curve("BLK")).zip(saturates_at(&curve("IMG")));
    let judged = judged.says(
        "BLK saturates with a smaller share of its blocks than IMG",
        ends.map(|(blk, img)| (blk < img, format!("{blk:.2} and {img:.2}"))),
    );
    let judged = says(
        judged,
        "MVP",
        "falls below 95 % of its best with all blocks",
        &falls,
    );
    says(
        judged,
        "NN",
        "falls below 95 % of its best with all blocks",
        &falls,
    )
}

/// Two statements about Fig. 3b.
fn sweet_spot(data: &Data<'_>) -> Judged {
    let loss = |kept: Option<f64>| kept.map(|kept| 100.0 * (1.0 - kept));
    let chosen = data.of("water_filling", "chosen");
    let of = |column: &str| chosen.column(column).0.first().map(|(_, kept)| *kept);
    Judged::new("slicer.sweet_spot")
        .value(
            "loss of IMG with half of the SM",
            Kind::Decrease,
            30.0,
            loss(data.number("4", "img.kept")),
        )
        .value(
            "loss of NN with half of the SM",
            Kind::Decrease,
            0.0,
            loss(data.number("4", "nn.kept")),
        )
        .value(
            "loss of IMG with the better split",
            Kind::Decrease,
            10.0,
            loss(of("img.kept")),
        )
        .value(
            "loss of NN with the better split",
            Kind::Decrease,
            10.0,
            loss(of("nn.kept")),
        )
}

fn total_ipc(data: &Data<'_>) -> Judged {
    let slicer = data.column(SLICER);
    let over = |base: &str| slicer.over(&data.column(base)).geometric();
    let sequential = data.column("sequential").map(|ratio| 1.0 / ratio);
    Judged::new("slicer.vs_leftover")
        .own("over left-over, geometric mean", slicer.geometric())
        .value("over even, geometric mean", Kind::Speedup, 1.14, over(EVEN))
        .value(
            "over spatial, geometric mean",
            Kind::Speedup,
            1.17,
            over("spatial"),
        )
        .value(
            "left-over over sequential, geometric mean",
            Kind::Speedup,
            1.032,
            sequential.geometric(),
        )
}

/// Warped-Slicer of Fig. 6 over the oracle. Earlier builds stored the ratio beside the oracle.
fn oracle(data: &Data<'_>) -> Judged {
    let stored = data.column("reached");
    let reached = if stored.0.is_empty() {
        reached(data).unwrap_or_default()
    } else {
        stored
    };
    let close = reached
        .filter_values(|share| share >= 1.0 - POINTS / 100.0)
        .0
        .len();
    let all = reached.0.len();
    Judged::new("slicer.oracle").says(
        "within 5 % of the oracle in more than half of the pairs",
        (all > 0).then(|| (2 * close > all, format!("{close} of {all}"))),
    )
}

fn reached(data: &Data<'_>) -> Option<Samples> {
    let fig6 = data.beside("fig6")?;
    let left_over = fig6.column("left-over.ipc");
    let slicer = fig6.column(SLICER).over(&left_over.map(|ipc| 1.0 / ipc));
    Some(slicer.over(&data.column("oracle.ipc")))
}

/// Blocks of a partition such as `(4,4)`. `None` for any other text.
fn blocks(text: &str) -> Option<Vec<u32>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    inner.split(',').map(|blocks| blocks.parse().ok()).collect()
}

fn is_near(ours: &[u32], theirs: &[u32]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.abs_diff(*b) <= 1)
}

fn partitions(data: &Data<'_>) -> Judged {
    let first = data.texts("dyn");
    let all = first.len();
    let decided = first.iter().filter(|(_, text)| text != "none").count();
    let spatial = first.iter().filter(|(_, text)| text == "spatial");
    let spatial: Vec<&str> = spatial.map(|(pair, _)| pair.as_str()).collect();
    let is_expected = spatial == ["HOT_BFS", "MM_BFS"];
    let shared: Vec<_> = first
        .iter()
        .filter_map(|(pair, text)| Some((pair, blocks(text)?)))
        .collect();
    let alone = |pair: &str| blocks(&data.text(pair, "alone")?);
    let well = shared
        .iter()
        .filter(|(pair, ours)| alone(pair).is_some_and(|alone| is_near(ours, &alone)));
    let (well, pairs) = (well.count(), shared.len());
    let (paper, ours) = both_partitions(&shared);
    let known = |text: (bool, String)| (all > 0).then_some(text);
    Judged::new("slicer.partitions")
        .says(
            "every pair is decided",
            known((decided == all, format!("{decided} of {all}"))),
        )
        .says(
            "HOT_BFS and MM_BFS fall back to spatial, and no other pair",
            known((
                is_expected,
                match spatial.as_slice() {
                    [] => "no pair".to_owned(),
                    pairs => pairs.join(", "),
                },
            )),
        )
        .says(
            "within one block of the choice from runs alone for over 90 % of the pairs that share",
            known((
                well as f64 > MOST_PAIRS * pairs as f64,
                format!("{well} of {pairs}"),
            )),
        )
        .series(
            "blocks of either program in pairs that share",
            &paper,
            &ours,
        )
}

/// Blocks of either program, the paper's and ours, for pairs that share an SM in both.
fn both_partitions(shared: &[(&String, Vec<u32>)]) -> (Samples, Samples) {
    let (mut paper, mut ours) = (Samples::default(), Samples::default());
    for (pair, blocks) in shared {
        let theirs = DYN.iter().find(|(name, _)| *name == pair.as_str());
        for (at, theirs) in theirs
            .and_then(|(_, blocks)| *blocks)
            .iter()
            .flatten()
            .enumerate()
        {
            let name = format!("{pair}, {at}");
            paper.0.push((name.clone(), f64::from(*theirs)));
            ours.0.push((name, f64::from(blocks[at])));
        }
    }
    (paper, ours)
}

/// Gains in use of each resource over even.
fn resources(data: &Data<'_>) -> Judged {
    let ours = data.of("policy", SLICER);
    let names = ["alu", "sfu", "registers", "shared"];
    let ratios = names.map(|name| ours.column(name));
    let pairs = ratios[0].names();
    let overall = Measured::over(&pairs, |at| {
        let means = ratios.iter().map(|of| {
            let of = of.filter(|pair| at.iter().any(|at| pairs[*at] == pair));
            geometric_mean(&of.values())
        });
        let means: Vec<f64> = means.filter(|mean| mean.is_finite()).collect();
        100.0 * (geometric_mean(&means) - 1.0)
    });
    let judged = Judged::new("slicer.resources").own("overall, geometric mean", overall);
    names
        .iter()
        .zip(&ratios)
        .fold(judged, |judged, (name, ratios)| {
            let gain = ratios.geometric().map(|mean| 100.0 * (mean.value - 1.0));
            let so = gain.map(|gain| (gain > 15.0, format!("{gain:.1} %")));
            judged.says(&format!("{name}: more than 15 % in the geometric mean"), so)
        })
}

/// Misses of L1D and accesses of L2 of pairs with a cache-sensitive program.
fn caches(data: &Data<'_>) -> Judged {
    let of = |policy: &str| {
        let rates = data.of("policy", policy).column("l1_miss_rate");
        rates.filter(|pair| CACHE.iter().any(|name| pair.ends_with(&format!("_{name}"))))
    };
    let ours = of(SLICER);
    let below = |policy: &str| {
        let base = of(policy);
        let pair =
            |(name, rate): &(String, f64)| Some((name.clone(), 100.0 * (rate - ours.get(name)?)));
        Samples(base.0.iter().filter_map(pair).collect()).arithmetic()
    };
    let l2 = data.summary(&format!("{COMPUTE_CACHE}.l2_accesses"));
    Judged::new("slicer.caches")
        .value(
            "L1 miss rate below even's, arithmetic mean",
            Kind::Points,
            2.0,
            below(EVEN),
        )
        .value(
            "L1 miss rate below left-over's, arithmetic mean",
            Kind::Points,
            17.0,
            below(LEFT_OVER),
        )
        .value(
            "L2 accesses below left-over's, geometric mean",
            Kind::Decrease,
            43.0,
            l2.map(|ratio| 100.0 * (1.0 - ratio)),
        )
}

fn stalls(data: &Data<'_>) -> Judged {
    let ratios = data.of("policy", SLICER).column("stalls");
    let fewer = ratios
        .geometric()
        .map(|mean| mean.map(|kept| 1.0 - kept).percent());
    Judged::new("slicer.stalls").own("below left-over's, geometric mean", fewer)
}

fn three(data: &Data<'_>) -> Judged {
    let over = data.column(SLICER).over(&data.column(EVEN));
    Judged::new("slicer.three").own("over even, geometric mean", over.geometric())
}

fn fairness(data: &Data<'_>) -> Judged {
    let of = |kind: &str, policy: &str, column: &str| {
        let rows = data.of("kind", kind).of("policy", policy);
        rows.named("kernels", column)
    };
    let fair = |kind: &str, base: &str| {
        let ratios = of(kind, SLICER, "minimum_speedup").over(&of(kind, base, "minimum_speedup"));
        ratios
            .geometric()
            .map(|mean| mean.map(|ratio| ratio - 1.0).percent())
    };
    let [ours, even] = [SLICER, EVEN].map(|policy| of("3 kernels", policy, "antt"));
    let turnaround = Measured::over(&ours.names(), |at| {
        let of = |all: &Samples| {
            mean(
                &at.iter()
                    .filter_map(|at| Some(all.0.get(*at)?.1))
                    .collect::<Vec<_>>(),
            )
        };
        100.0 * (1.0 - of(&ours) / of(&even))
    });
    Judged::new("slicer.fairness")
        .value(
            "minimum speedup over even, two kernels, geometric mean",
            Kind::Increase,
            14.0,
            fair("2 kernels", EVEN),
        )
        .value(
            "minimum speedup over even, three kernels, geometric mean",
            Kind::Increase,
            23.0,
            fair("3 kernels", EVEN),
        )
        .value(
            "ANTT below even's, three kernels, of arithmetic means",
            Kind::Decrease,
            15.0,
            turnaround,
        )
        .value(
            "minimum speedup over left-over, two kernels, geometric mean",
            Kind::Increase,
            26.0,
            fair("2 kernels", LEFT_OVER),
        )
}

/// Fig. 10a, and the means of Fig. 10b and of the larger SMs: of their own figures, or, without
/// these, as earlier builds stored them with Fig. 10a.
fn sensitivity(data: &Data<'_>) -> Judged {
    let moved = |column: &str| data.column(column).map(|ratio| (ratio - 1.0).abs());
    let profiles = ["profile_cycles 10K", "profile_cycles 50K"].map(moved);
    let most = |of: &Samples| of.best().map(|(pair, most)| (pair.to_owned(), most));
    let profile = profiles
        .iter()
        .filter_map(most)
        .reduce(|a, b| if b.1 > a.1 { b } else { a });
    let over = profiles
        .iter()
        .flat_map(Samples::values)
        .filter(|moved| *moved > MOVES)
        .count();
    let delays = ["delay_cycles 1K", "delay_cycles 5K", "delay_cycles 10K"];
    let delays = delays
        .iter()
        .filter_map(|name| data.column(name).geometric());
    let delay = delays.map(|mean| (mean.value - 1.0).abs()).reduce(f64::max);
    let of_figure = |figure: &str, name: &str| {
        let other = data.elsewhere(figure).and_then(|of| of.summary(name));
        other.or_else(|| data.summary(name))
    };
    let [gto, lrr] = ["gto.speedup", "lrr.speedup"].map(|name| of_figure("fig10b", name));
    let large = |name: &str| of_figure("large", &format!("large.{name}.gmean"));
    let fairness = large("fairness").map(|ratio| 100.0 * (ratio - 1.0));
    Judged::new("slicer.sensitivity")
        .says(
            "no pair moves by more than 2 % with longer profiles",
            profile.map(|(pair, most)| {
                let text = format!(
                    "{pair} by {:.1} %; {over} runs by more than 2 %",
                    100.0 * most
                );
                (most <= MOVES, text)
            }),
        )
        .says(
            "the mean moves by less than 1.5 % with 1K to 10K cycles of delay",
            delay.map(|delay| (delay < DELAYED, format!("{:.2} %", 100.0 * delay))),
        )
        .value(
            "speedup over left-over with round-robin, over that with GTO (fig10b)",
            Kind::Speedup,
            1.0,
            lrr.zip(gto).map(|(lrr, gto)| lrr / gto),
        )
        .value(
            "over left-over on larger SMs, geometric mean (large)",
            Kind::Speedup,
            1.26,
            large("ipc"),
        )
        .value(
            "minimum speedup over left-over on larger SMs, geometric mean (large)",
            Kind::Increase,
            26.0,
            fairness,
        )
}

/// Sentences about section V.I, and about the savings with other shares of energy that is drawn
/// over time, for the figure `energy`.
fn power_of_sms(data: &Data<'_>) -> Option<String> {
    let [dynamic, leakage] =
        ["dynamic_w", "static_w"].map(|of| data.summary(&format!("alone.16_sms.{of}")));
    let saved = |column: &str| {
        let kept = data.column(column).map(|percent| 1.0 - percent / 100.0);
        kept.geometric().map(|kept| 100.0 * (1.0 - kept.value))
    };
    Some(format!(
        " With 30 and 60 % of left-over's energy drawn over time, {:.1} and {:.1} % are saved. \
         Section V.I has 37.7 W of dynamic power and 34.6 W of leakage for 16 SMs; the benchmarks \
         alone take {:.1} and {:.1} W in 16 SMs here, in the mean. The leakage is the energy \
         preset's, which comes from that section.",
        saved("saved.at30")?,
        saved("saved.at60")?,
        dynamic?,
        leakage?
    ))
}

fn energy(data: &Data<'_>) -> Judged {
    let ratio = |column: &str, sign: f64| {
        let ratios = data
            .column(column)
            .map(|percent| 1.0 + sign * percent / 100.0);
        ratios.geometric()
    };
    let saved = ratio("saved", -1.0).map(|mean| mean.map(|kept| 1.0 - kept).percent());
    let power = ratio("dynamic_power", 1.0).map(|mean| mean.map(|more| more - 1.0).percent());
    Judged::new("slicer.energy")
        .own("energy saved, geometric mean of pairs", saved)
        .value(
            "dynamic power, geometric mean of pairs",
            Kind::Increase,
            3.1,
            power,
        )
}
