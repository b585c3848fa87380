//! Combinations of four systems, and what they gain together.

use crate::figures::shared::add_mean;
use crate::samples::Samples;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

/// Number of systems that are combined.
pub(super) const SYSTEMS: usize = 4;
/// Difference from the product of single gains, in percent of it, below which gains add.
const TIE_PERCENT: f64 = 2.0;

/// A set of systems: bit i stands for system i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combination(pub usize);

impl Combination {
    /// All combinations: none first, then the single ones, then those of two, three, four.
    pub(super) fn all() -> Vec<Self> {
        let mut all: Vec<Self> = (0..1 << SYSTEMS).map(Self).collect();
        all.sort_by_key(|one| one.0.count_ones());
        all
    }

    pub(super) const fn has(self, system: usize) -> bool {
        self.0 >> system & 1 != 0
    }

    const fn size(self) -> u32 {
        self.0.count_ones()
    }

    /// Names of the systems, joined by a plus sign.
    pub(super) fn name(self, names: [&str; SYSTEMS]) -> String {
        let own = (0..SYSTEMS).filter(|system| self.has(*system));
        let own: Vec<&str> = own.map(|system| names[system]).collect();
        match own.as_slice() {
            [] => "baseline".to_owned(),
            own => own.join("+"),
        }
    }
}

/// Speedups of one workload over the baseline, by combination.
#[derive(Clone, Debug)]
pub(super) struct Gains {
    pub name: String,
    /// Indexed by the bits of the combination.
    pub speedups: Vec<f64>,
}

/// How a combination's speedup compares with the product of the speedups of its members alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The speedup is the product, within 2 %.
    Adds,
    /// The speedup is less.
    Fights,
    /// The speedup is more.
    Helps,
}

impl Relation {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Adds => "adds",
            Self::Fights => "fights",
            Self::Helps => "helps",
        }
    }
}

impl Gains {
    pub(super) fn of(&self, combination: Combination) -> f64 {
        self.speedups[combination.0]
    }

    /// Product of the speedups of the members alone.
    pub(super) fn product(&self, combination: Combination) -> f64 {
        let own = (0..SYSTEMS).filter(|system| combination.has(*system));
        own.map(|system| self.of(Combination(1 << system)))
            .product()
    }

    /// Speedup over the product.
    pub(super) fn over_product(&self, combination: Combination) -> f64 {
        self.of(combination) / self.product(combination)
    }

    /// `None` for combinations of fewer than two systems.
    pub(super) fn relation(&self, combination: Combination) -> Option<Relation> {
        let percent = 100.0 * (self.over_product(combination) - 1.0);
        (combination.size() > 1).then_some(match percent {
            less if less < -TIE_PERCENT => Relation::Fights,
            more if more > TIE_PERCENT => Relation::Helps,
            _ => Relation::Adds,
        })
    }

    /// Cells of the columns that `columns` describes.
    pub(super) fn cells(&self, combination: Combination, names: [&str; SYSTEMS]) -> Vec<Cell> {
        let relation = self.relation(combination);
        vec![
            Cell::from(self.name.as_str()),
            Cell::Text(combination.name(names)),
            Cell::Number(self.of(combination)),
            Cell::Number(self.product(combination)),
            relation.map_or(Cell::None, |relation| Cell::from(relation.name())),
        ]
    }
}

/// Columns of a workload's combinations.
pub(super) fn columns(workload: &str, speedup: &str) -> Vec<Column> {
    vec![
        Column::new(workload, "Name for `warploom run`."),
        Column::new("combination", "The systems that act together."),
        Column::new("speedup", speedup),
        Column::new("product", "Product of the speedups of its members alone."),
        Column::new(
            "relation",
            "adds: the speedup is the product within 2 %; fights: less; helps: more.",
        ),
    ]
}

/// Geometric means by combination, and the number of workloads by relation.
pub(super) fn summary(gains: &[Gains], names: [&str; SYSTEMS]) -> BTreeMap<String, Cell> {
    let mut summary = BTreeMap::new();
    for combination in Combination::all() {
        let name = combination.name(names);
        let values = |of: &dyn Fn(&Gains) -> f64| {
            Samples(gains.iter().map(|g| (g.name.clone(), of(g))).collect())
        };
        let speedups = values(&|g| g.of(combination));
        add_mean(
            &mut summary,
            &format!("{name}.speedup"),
            speedups.geometric(),
        );
        if combination.size() < 2 {
            continue;
        }
        let over = values(&|g| g.over_product(combination));
        add_mean(
            &mut summary,
            &format!("{name}.over_product"),
            over.geometric(),
        );
        for relation in [Relation::Adds, Relation::Fights, Relation::Helps] {
            let is = |g: &&Gains| g.relation(combination) == Some(relation);
            let count = gains.iter().filter(is).count() as u64;
            summary.insert(format!("{name}.{}", relation.name()), Cell::Count(count));
        }
    }
    summary
}

/// Charts of speedups by combination, and of speedups over products.
pub(super) fn charts(gains: &[Gains], names: [&str; SYSTEMS], baseline: &str) -> Vec<Chart> {
    let all = Combination::all();
    let several = all.iter().copied().filter(|one| one.size() > 1).collect();
    let speedup = chart(
        "Speedup by combination",
        &format!("over {baseline}"),
        (gains, names),
        all.into_iter().filter(|one| one.0 != 0).collect(),
        Gains::of,
    );
    let over = chart(
        "Speedup over the product of single speedups",
        "1: gains add; below: they fight",
        (gains, names),
        several,
        Gains::over_product,
    );
    vec![speedup, over]
}

fn chart(
    title: &str,
    label: &str,
    (gains, names): (&[Gains], [&str; SYSTEMS]),
    shown: Vec<Combination>,
    of: fn(&Gains, Combination) -> f64,
) -> Chart {
    let mean = |combination: &Combination| {
        let values = gains.iter().map(|g| (g.name.clone(), of(g, *combination)));
        Samples(values.collect()).geometric().map(|mean| mean.value)
    };
    Chart::Bars(BarChart {
        title: title.to_owned(),
        axis: Axis {
            label: format!("geometric mean, {label}"),
            ..Axis::default()
        },
        groups: shown.iter().map(|one| one.name(names)).collect(),
        series: vec![BarSeries {
            name: "all".to_owned(),
            values: shown.iter().map(mean).collect(),
        }],
        marks: Vec::new(),
    })
}
