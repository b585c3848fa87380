//! Claims of CRAT, judged from the data of its figures.

use super::{FERMI, GTX680, KEPLER};
use crate::data::Data;
use crate::samples::{Measured, Samples};
use crate::verdict::Judged;
use warploom_report::page::{Kind, Verdict};

/// Half a point is a tie.
const TIE: f64 = 0.005;
/// Gain that the paper would call remarkable.
const REMARKABLE: f64 = 0.05;
/// Benchmarks whose default registers are CRAT's choice (section 7.2).
const UNCHANGED: [&str; 4] = ["STM", "SPMV", "KMN", "LBM"];
/// Benchmarks without spills under CRAT, and those with some.
const NO_SPILLS: [&str; 2] = ["HST", "BLK"];
const SPILLS: [&str; 4] = ["DTC", "FDTD", "CFD", "STE"];

/// Limits of registers at which CRAT's bytes of spills are not said to be similar to nvcc's.
const EXCEPTED: [&str; 2] = ["32", "35"];

/// Verdicts on the claims about a figure.
pub(crate) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let judged = match data.figure() {
        "fig1" => vec![throttling(data)],
        "fig3" => vec![cfd(data)],
        "fig7" => vec![utilisation(data)],
        "fig8" => vec![fdtd(data)],
        "fig12" => vec![spilled_bytes(data)],
        "fig13" => speedups(data),
        "fig14" => vec![blocks(data)],
        "fig15" => vec![registers(data)],
        "fig16" => vec![local(data)],
        "fig17" => kepler(data),
        "fig18" => vec![inputs(data)],
        "fig19" => vec![insensitive(data)],
        "fig20" => vec![guessed(data)],
        "overhead" => vec![profiling(data)],
        "energy" => vec![energy(data)],
        _ => Vec::new(),
    };
    let gpu = match data.figure() {
        "fig3" | "fig7" | "fig12" => GTX680,
        "fig17" => KEPLER,
        _ => FERMI,
    };
    let note = format!(
        "Core cycles of the kernel under study, all launches to their ends, other kernels executed \
         without timing, at scale {}, on {gpu}.{}",
        data.scale(),
        shares_of_energy(data).unwrap_or_default()
    );
    judged
        .into_iter()
        .map(|judged| judged.verdict(note.as_str()))
        .collect()
}

/// Energy saved, from a column of savings in per cent.
fn saved(data: &Data<'_>, column: &str) -> Option<Measured> {
    let kept = data.column(column).map(|percent| 1.0 - percent / 100.0);
    let mean = kept.geometric()?;
    Some(mean.map(|kept| 1.0 - kept).percent())
}

/// Sentence about the savings with other shares of energy that is drawn over time.
fn shares_of_energy(data: &Data<'_>) -> Option<String> {
    let [low, high] = ["saved.at30", "saved.at60"].map(|column| saved(data, column));
    Some(format!(
        " With 30 and 60 % of OptTLP's energy drawn over time, {:.1} and {:.1} % are saved.",
        low?.value, high?.value
    ))
}

fn energy(data: &Data<'_>) -> Judged {
    Judged::new("crat.energy").own("geometric mean", saved(data, "saved"))
}

fn throttling(data: &Data<'_>) -> Judged {
    let threads = data.column("opt_tlp").over(&data.column("max_tlp"));
    let unused = data.column("opt.registers").map(|share| 1.0 - share);
    Judged::new("crat.opttlp")
        .own("geometric mean", data.column("speedup").geometric())
        .value(
            "threads kept, arithmetic mean",
            Kind::Percent,
            55.0,
            threads.arithmetic().map(|mean| mean.percent()),
        )
        .value(
            "registers unused, arithmetic mean",
            Kind::Percent,
            51.3,
            unused.arithmetic().map(|mean| mean.percent()),
        )
}

fn cfd(data: &Data<'_>) -> Judged {
    let [registers, tlp] = ["registers", "tlp"].map(|name| data.column(name));
    let points = [
        ("MaxTLP", "(32, 8)"),
        ("OptTLP", "(32, 7)"),
        ("OptTLP+Reg", "(36, 7)"),
        ("CRAT", "(50, 5)"),
    ];
    let judged = Judged::new("crat.cfd").own("CRAT over MaxTLP", data.number("CRAT", "speedup"));
    let judged = points.iter().fold(judged, |judged, (name, paper)| {
        let pair = registers.get(name).zip(tlp.get(name));
        let ours = pair.map(|(registers, tlp)| format!("({registers}, {tlp})"));
        judged.category(name, paper, ours.as_deref())
    });
    let used = data.number("OptTLP", "register_share");
    let unused = used.map(|share| 100.0 * (1.0 - share));
    judged.value("registers unused under OptTLP", Kind::Percent, 12.5, unused)
}

fn utilisation(data: &Data<'_>) -> Judged {
    let mean = |column: &str| Some(data.column(column).arithmetic()?.percent());
    Judged::new("crat.utilisation")
        .value(
            "registers, arithmetic mean",
            Kind::Percent,
            65.5,
            mean("registers"),
        )
        .value(
            "shared memory, arithmetic mean",
            Kind::Percent,
            3.8,
            mean("shared_memory"),
        )
}

fn fdtd(data: &Data<'_>) -> Judged {
    let speed = |name: &str| data.number(name, "speedup");
    let [colder, hotter] =
        ["the colder in shared memory", "the hotter in shared memory"].map(speed);
    let order = colder.zip(hotter);
    Judged::new("crat.fdtd.spill_choice")
        .value(
            "32 registers over 48",
            Kind::Speedup,
            1.35,
            speed("32 registers"),
        )
        .value(
            "the colder value in shared memory",
            Kind::Speedup,
            1.64,
            colder,
        )
        .value(
            "the hotter value in shared memory",
            Kind::Speedup,
            1.41,
            hotter,
        )
        .says(
            "the colder is the better choice",
            order.map(|(cold, hot)| (cold > hot, format!("{cold:.3} and {hot:.3}"))),
        )
}

fn speedups(data: &Data<'_>) -> Vec<Judged> {
    let [local, crat] = ["local.speed", "crat.speed"].map(|name| data.column(name));
    let pair = |name: &str| local.get(name).zip(crat.get(name));
    let shown = |(local, crat): (f64, f64)| format!("{local:.3} and {crat:.3}");
    let spilling = NO_SPILLS
        .iter()
        .fold(Judged::new("crat.spilling"), |judged, name| {
            let same = pair(name).map(|both| ((both.1 - both.0).abs() <= TIE, shown(both)));
            judged.says(
                &format!("CRAT is no faster than CRAT-local on {name}"),
                same,
            )
        });
    let spilling = SPILLS.iter().fold(spilling, |judged, name| {
        let ahead = pair(name).map(|both| (both.1 > both.0 + TIE, shown(both)));
        judged.says(&format!("CRAT is faster than CRAT-local on {name}"), ahead)
    });
    let unchanged = UNCHANGED
        .iter()
        .fold(Judged::new("crat.unchanged"), |judged, name| {
            judged.value(
                &format!("{name} over OptTLP"),
                Kind::Speedup,
                1.0,
                crat.get(name),
            )
        });
    let best = crat.best().map(|(_, ratio)| ratio);
    vec![
        Judged::new("crat.speedup.gmean")
            .own("CRAT, geometric mean", crat.geometric())
            .value(
                "CRAT-local, geometric mean",
                Kind::Speedup,
                1.17,
                local.geometric(),
            )
            .value("CRAT at best", Kind::Speedup, 1.79, best),
        spilling,
        unchanged,
    ]
}

/// The paper excepts 32 and 35 registers, and its assembler is that of nvcc 4.2.
fn spilled_bytes(data: &Data<'_>) -> Judged {
    let similar = |name: &str| {
        let mut bytes = data.column(name);
        bytes
            .0
            .retain(|(limit, _)| !EXCEPTED.contains(&limit.as_str()));
        bytes
    };
    ["stores", "loads"]
        .iter()
        .fold(Judged::new("crat.spill_bytes"), |judged, what| {
            let theirs = similar(&format!("ptxas.{what}"));
            judged.series(
                &format!("bytes of {what}, against ptxas 12.9"),
                &theirs,
                &similar(what),
            )
        })
}

fn blocks(data: &Data<'_>) -> Judged {
    let [max, crat] = ["max", "crat"].map(|name| data.column(name));
    let change = |what: &str| {
        let of = |solution: &str| data.summary(&format!("KMN.{solution}.{what}"));
        Some(100.0 * (of("crat")? / of("max")? - 1.0))
    };
    let fewer = max.get("KMN").zip(crat.get("KMN"));
    let fewer = fewer.map(|(max, crat)| format!("{max} to {crat}"));
    Judged::new("crat.tlp")
        .value(
            "MaxTLP, arithmetic mean",
            Kind::Number,
            5.1,
            max.arithmetic(),
        )
        .value(
            "CRAT, arithmetic mean",
            Kind::Number,
            2.6,
            crat.arithmetic(),
        )
        .category("KMN's blocks", "6 to 1", fewer.as_deref())
        .value(
            "KMN's share of L1D hits",
            Kind::Increase,
            82.1,
            change("l1d_hits"),
        )
        .value(
            "KMN's stalls by congestion",
            Kind::Decrease,
            97.2,
            change("stalls").map(|change| -change),
        )
}

/// Shares of registers in use are in per cent in Fig. 15, so that the range is one of points.
fn registers(data: &Data<'_>) -> Judged {
    let [opt, crat] = ["opt", "crat"].map(|name| data.column(name).map(|share| 100.0 * share));
    let means = opt.arithmetic().zip(crat.arithmetic());
    let judged = Judged::new("crat.register_utilisation").says(
        "the arithmetic mean rises by 15 to 27 points",
        means.map(|(opt, crat)| {
            let points = crat.value - opt.value;
            let [opt, crat] = [opt.value, crat.value];
            let text = format!("{points:.1} points, from {opt:.1} to {crat:.1} %");
            ((15.0..=27.0).contains(&points), text)
        }),
    );
    opt.0.iter().fold(judged, |judged, (name, opt)| {
        let pair = crat.get(name).map(|crat| (crat, crat - opt));
        let shown = |crat: f64| format!("{opt:.1} to {crat:.1} %");
        if UNCHANGED.contains(&name.as_str()) {
            let same = pair.map(|(crat, more)| (more.abs() < 100.0 * TIE, shown(crat)));
            return judged.says(&format!("no change for {name}"), same);
        }
        let more = pair.map(|(crat, more)| (more > 100.0 * TIE, shown(crat)));
        judged.says(&format!("improved for {name}"), more)
    })
}

/// Fewer accesses of local memory. The mean is arithmetic, because none may be left.
fn local(data: &Data<'_>) -> Judged {
    let saved = data.column("kept").map(|kept| 1.0 - kept).arithmetic();
    Judged::new("crat.local_accesses").own("arithmetic mean", saved.map(Measured::percent))
}

fn kepler(data: &Data<'_>) -> Vec<Judged> {
    let [on_fermi, on_kepler] = ["fermi.speed", "crat.speed"].map(|name| data.column(name));
    let direction = |judged: Judged, name: &str, more: bool| {
        let pair = on_fermi.get(name).zip(on_kepler.get(name));
        let word = if more { "more" } else { "less" };
        let so = pair.map(|(fermi, kepler)| {
            let so = match more {
                true => kepler > fermi + TIE,
                false => kepler < fermi - TIE,
            };
            (so, format!("{fermi:.3} to {kepler:.3}"))
        });
        judged.says(&format!("{name} gains {word} on Kepler"), so)
    };
    let less = ["LBM", "FDTD", "CFD"].iter();
    let judged = less.fold(Judged::new("crat.kepler.directions"), |judged, name| {
        direction(judged, name, false)
    });
    let more = ["SPMV", "HST", "BLK", "STE"].iter();
    vec![
        Judged::new("crat.kepler").own("geometric mean", on_kepler.geometric()),
        more.fold(judged, |judged, name| direction(judged, name, true)),
    ]
}

fn inputs(data: &Data<'_>) -> Judged {
    let best = data.column("own.opt_tlp");
    ["CFD", "BLK"]
        .iter()
        .fold(Judged::new("crat.inputs"), |judged, application| {
            let own = best.filter(|input| input.starts_with(application));
            let ends = own.worst().zip(own.best());
            let so = ends.map(|((_, least), (_, most))| {
                let each = own.0.iter().map(|(input, tlp)| format!("{input}: {tlp}"));
                (least == most, each.collect::<Vec<_>>().join("; "))
            });
            judged.says(
                &format!("OptTLP is the same for all inputs of {application}"),
                so,
            )
        })
}

fn insensitive(data: &Data<'_>) -> Judged {
    let opt = data.column("max.speed").map(|speed| 1.0 / speed);
    let crat = data.column("crat.speed");
    let gains = |judged: Judged, name: &str, gains: &Samples| {
        let so = gains.best().map(|(name, most)| {
            (
                most < 1.0 + REMARKABLE,
                format!("at most {most:.3}, on {name}"),
            )
        });
        let what = format!("{name} gains less than {:.0} %", 100.0 * REMARKABLE);
        judged.says(&what, so)
    };
    let judged = gains(Judged::new("crat.insensitive"), "OptTLP over MaxTLP", &opt);
    gains(judged, "CRAT over OptTLP", &crat)
}

fn guessed(data: &Data<'_>) -> Judged {
    let mean = |column: &str| data.column(column).geometric();
    Judged::new("crat.static")
        .own("CRAT-static, geometric mean", mean("static.speed"))
        .value(
            "CRAT-profile, geometric mean",
            Kind::Speedup,
            1.25,
            mean("profile.speed"),
        )
}

/// A profile has one run for each number of blocks that fits an SM, so that this is arithmetic.
fn profiling(data: &Data<'_>) -> Judged {
    let runs = data.column("runs");
    let most = runs.best().map(|(_, most)| most);
    Judged::new("crat.profiling")
        .value(
            "runs, one for each number of blocks that fits, arithmetic mean",
            Kind::Number,
            5.0,
            runs.arithmetic(),
        )
        .value("runs at most", Kind::Count, 8.0, most)
}
