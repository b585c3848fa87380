//! Section 7.2: energy of CRAT against OptTLP.

use super::study::{Solution, Study};
use super::{FERMI, PAPER, SENSITIVE, columns, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::energy::{Parts, SHARES, preset_of};
use crate::figures::shared::{bars, row};
use crate::grid::mean;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_energy::EnergyPreset;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "energy",
    title: "Energy that CRAT saves against OptTLP",
    make,
};

/// Energy of the kernel under study, all its launches.
fn parts(preset: &EnergyPreset, study: &Study, of: &Solution) -> Parts {
    let launches = study.launches(&of.report);
    Parts::sum(launches.map(|kernel| Parts::of(preset, &study.spec, &kernel.figures)))
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let preset = preset_of(FERMI.gpu);
    let energies: Vec<[Parts; 2]> = all
        .iter()
        .map(|s| [&s.opt, &s.crat].map(|of| parts(&preset, &s.study, of)))
        .collect();
    let of = |f: &dyn Fn(&[Parts; 2]) -> f64| energies.iter().map(f).collect::<Vec<f64>>();
    let saved = of(&|[opt, crat]| crat.saved(opt));
    let [low, high] = SHARES.map(|share| of(&|[opt, crat]| crat.saved_at(opt, share)));
    let share = of(&|[opt, _]| 100.0 * opt.share());
    let rows = SENSITIVE.iter().enumerate().map(|(at, workload)| {
        let [opt, crat] = &energies[at];
        let numbers = [
            1e3 * opt.joules(),
            1e3 * crat.joules(),
            saved[at],
            low[at],
            high[at],
            share[at],
        ];
        row(workload.name, numbers)
    });
    let summary = [
        ("saved.mean", &saved),
        ("saved.at30.mean", &low),
        ("saved.at60.mean", &high),
        ("opt.share.mean", &share),
    ];
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("opt.mj", "Energy with OptTLP in millijoules."),
                ("crat.mj", "Energy with CRAT in millijoules."),
                ("saved", "Energy saved, in percent."),
                (
                    "saved.at30",
                    "Energy saved if 30 % of OptTLP's energy were drawn over time, in percent.",
                ),
                ("saved.at60", "The same for 60 %."),
                (
                    "opt.share",
                    "Static, idle and constant share of OptTLP's energy, in percent.",
                ),
            ]),
            rows: rows.collect(),
        },
        summary: BTreeMap::from(
            summary.map(|(name, values)| (name.to_owned(), Cell::Number(mean(values)))),
        ),
        charts: vec![bars(
            "Energy saved against OptTLP",
            "percent",
            &SENSITIVE,
            vec![
                ("preset's own share", saved),
                ("30 % over time", low),
                ("60 % over time", high),
            ],
        )],
    })
}
