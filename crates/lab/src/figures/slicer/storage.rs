//! Section V.I: storage of the policy.

use super::{GPU, PAPER, columns};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::preset;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "storage",
    title: "Storage of the policies by which kernels share the SMs",
    make,
};

fn make(_: &Request, _: &mut Runs<'_>) -> Option<Figure> {
    let mut rows = Vec::new();
    for gpu in [GPU, "fermi-slicer-large"] {
        let spec = preset(gpu).unwrap_or_else(|errors| panic!("{errors}"));
        let policies = warploom_policy::all().filter(|info| info.key == "gpu.multiprogram");
        rows.extend(policies.map(|info| {
            vec![
                Cell::from(info.name),
                Cell::from(gpu),
                Cell::from(info.facts.part.name()),
                Cell::from(info.facts.state),
                Cell::Count((info.facts.bits)(&spec)),
            ]
        }));
    }
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("policy", "Name of the policy."),
                ("machine", "The preset."),
                ("part", "The part with the storage."),
                ("state", "Contents of the storage."),
                ("bits", "Bits of one part."),
            ]),
            rows,
        },
        summary: BTreeMap::new(),
        charts: Vec::new(),
    })
}
