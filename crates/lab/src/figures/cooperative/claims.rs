//! Claims of cooperative warp and block scheduling, judged from the data of its figures.

use super::{BOTH, GPU, GTO, LLF, LRR};
use crate::data::Data;
use crate::samples::Samples;
use crate::verdict::Judged;
use warploom_report::page::{Kind, Verdict};

/// Half a point is a tie where the paper says that no benchmark loses, because a bar chart cannot
/// show less.
const TIE: f64 = 0.005;
/// Largest change that is "very slight", because a bar chart hardly shows less.
const SLIGHT: f64 = 0.02;
/// Benchmarks that the throttle helps according to section 6, and those that it hardly helps. The
/// text names StoreGPU in both groups, and MergeSort in none: neither is judged.
const HELPED: [&str; 2] = ["MUMmerGPU", "SimpleMultiGPU"];
const HARDLY: [&str; 2] = ["VectorAddition", "MonteCarlo"];
const UNCLEAR: [&str; 2] = ["StoreGPU", "MergeSort"];

/// Verdicts on the claims about a figure.
pub(crate) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let note = format!(
        "IPC over all launches at scale {}, on {GPU}. The paper does not name its mean: geometric.",
        data.scale()
    );
    let over = |of: &str, base: &str| ipc(data, of).over(&ipc(data, base));
    match data.figure() {
        "fig3" => {
            let judged = [over_rr(&over(LLF, LRR)), over_gto(&over(LLF, GTO))];
            judged.map(|judged| judged.verdict(note.as_str())).to_vec()
        }
        "fig4" => {
            let gto = over(BOTH, GTO).geometric();
            let judged = Judged::new("cooperative.both.vs_rr")
                .own(
                    "over round-robin, geometric mean",
                    over(BOTH, LRR).geometric(),
                )
                .value("over GTO, geometric mean", Kind::Speedup, 1.032, gto);
            vec![judged.verdict(note)]
        }
        "table3" => vec![concurrency(data)],
        "stalls" => vec![throttled(data)],
        _ => Vec::new(),
    }
}

fn ipc(data: &Data<'_>, config: &str) -> Samples {
    data.column(&format!("{config}.ipc"))
}

fn over_rr(ratios: &Samples) -> Judged {
    let best = ratios.best();
    let worst = ratios.worst();
    Judged::new("cooperative.warp.vs_rr")
        .own("geometric mean", ratios.geometric())
        .says(
            "MUMmerGPU gains most",
            best.map(|(name, ratio)| (name == "MUMmerGPU", format!("{name} {ratio:.3}"))),
        )
        .value("MUMmerGPU", Kind::Speedup, 1.21, ratios.get("MUMmerGPU"))
        .says(
            "no benchmark loses (half a point is a tie)",
            worst.map(|(name, ratio)| (ratio >= 1.0 - TIE, format!("worst on {name}: {ratio:.3}"))),
        )
}

fn over_gto(ratios: &Samples) -> Judged {
    let is_wrong = |(name, ratio): &&(String, f64)| (*ratio > 1.0) == (name == "MergeSort");
    let wrong = Samples(ratios.0.iter().filter(is_wrong).cloned().collect());
    let shown = match wrong.0.is_empty() {
        true => "true for all".to_owned(),
        false => format!("false for {}", wrong.shown()),
    };
    Judged::new("cooperative.warp.vs_gto")
        .own("geometric mean", ratios.geometric())
        .says(
            "all but MergeSort gain",
            (!ratios.0.is_empty()).then_some((wrong.0.is_empty(), shown)),
        )
}

fn concurrency(data: &Data<'_>) -> Verdict {
    let mut judged = Judged::new("cooperative.concurrency");
    for (column, what) in [
        ("blocks", "blocks of a kernel"),
        ("blocks_per_sm", "blocks on an SM"),
    ] {
        let ours = data.column(column);
        for (name, paper) in data.column(&format!("{column}.paper")).0 {
            let what = format!("{name}: {what}");
            judged = judged.value(&what, Kind::Count, paper, ours.get(&name));
        }
    }
    judged.verdict(format!(
        "At scale {}; means over the launches of a run, rounded up. Only scale paper has the \
         paper's shapes, which the workloads are given. MUMmerGPU's 32 registers were chosen so \
         that its four blocks come out.",
        data.scale()
    ))
}

fn throttled(data: &Data<'_>) -> Verdict {
    let [stalls, gains] = ["stalls.per_cycle", "throttle.gain"].map(|name| data.column(name));
    let most = |of: &Samples| of.only(&HARDLY).best().map(|(_, most)| most);
    let others = HARDLY.join(" and ");
    let mut judged = Judged::new("cooperative.throttle.who");
    for name in HELPED {
        let stall = stalls.get(name).zip(most(&stalls));
        let gain = gains.get(name).zip(most(&gains));
        judged = judged
            .says(
                &format!("{name} stalls more than {others}"),
                stall.map(|(own, most)| {
                    (
                        own > most,
                        format!("{own:.3} a cycle, those {most:.3} at most"),
                    )
                }),
            )
            .says(
                &format!("{name} gains, and more than {others}"),
                gain.map(|(own, most)| {
                    (
                        own > 1.0 && own > most,
                        format!("{own:.3}, those {most:.3} at most"),
                    )
                }),
            );
    }
    for name in HARDLY {
        let gain = gains.get(name);
        judged = judged.says(
            &format!("{name} changes by less than {:.0} %", SLIGHT * 100.0),
            gain.map(|gain| ((gain - 1.0).abs() < SLIGHT, format!("{gain:.3}"))),
        );
    }
    let shown = |name: &&str| {
        let [stalls, gain] = [&stalls, &gains].map(|of| of.get(name).unwrap_or(f64::NAN));
        format!("{name} stalls {stalls:.3} a cycle and gains {gain:.3}")
    };
    judged.verdict(format!(
        "The text names StoreGPU in both groups, where one must be another: here {}. At scale {}.",
        UNCLEAR.iter().map(shown).collect::<Vec<_>>().join(", "),
        data.scale()
    ))
}
