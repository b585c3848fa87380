//! The oracle (section V.A): the best of all combinations of blocks that fit an SM, left-over and
//! spatial. This module works for any programs; `fig6_oracle` is for the paper's pairs.

use super::screen::{Work, kept};
use super::{LEFT_OVER, SPATIAL, Setting};
use crate::figure::Figure;
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, Mix, RunSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_config::{Base, BlockNeeds, ConfigErrors};
use warploom_report::page::{Cell, Column, Table};
use warploom_stats::mix::{MixFigures, Turnaround};
use warploom_stats::result::RunReport;

/// Programs for which the best way to share a machine is wanted.
#[derive(Clone, Debug)]
pub struct OracleRequest {
    /// The programs: two to four.
    pub inputs: Vec<Input>,
    /// Name of the machine.
    pub gpu: String,
    /// The base machine of all runs.
    pub base: Base,
    /// Changes of the machine, `KEY=VALUE`.
    pub sets: Vec<String>,
    /// Core cycles alone that fix each program's instruction target.
    pub alone_cycles: u64,
    /// Core cycles of a first pass over all ways, if only those near its best run to the targets.
    pub first_pass: Option<u64>,
}

const QUOTAS: [&str; 4] = ["first", "second", "third", "fourth"];

impl OracleRequest {
    fn machine(&self, name: &str, more: &[String]) -> Result<MachineVariant, ConfigErrors> {
        let sets = [self.sets.as_slice(), more].concat();
        MachineVariant::new(name, &self.gpu, &self.base, sets)
    }

    /// Checks the machine, of which all runs use variants.
    ///
    /// # Errors
    /// All errors in its name or the changes.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        self.machine("alone", &[]).map(|_| ())
    }

    fn variant(&self, name: &str, more: &[String]) -> MachineVariant {
        self.machine(name, more)
            .unwrap_or_else(|errors| panic!("{errors}"))
    }
}

/// Largest needs of the blocks of a run's kernels.
fn largest(report: &RunReport, machine: &MachineVariant) -> BlockNeeds {
    let sm = &machine.spec.sm;
    let of = |kernel: &warploom_stats::result::KernelReport| {
        let threads = kernel.block.0.iter().product();
        BlockNeeds::new(
            threads,
            kernel.registers_per_thread,
            kernel.shared_bytes,
            sm,
        )
    };
    let zero = BlockNeeds {
        threads: 0,
        registers: 0,
        shared_bytes: 0,
    };
    report.kernels.iter().map(of).fold(zero, |a, b| BlockNeeds {
        threads: a.threads.max(b.threads),
        registers: a.registers.max(b.registers),
        shared_bytes: a.shared_bytes.max(b.shared_bytes),
    })
}

/// All combinations of at least one block of each that fit an SM; the last number grows fastest.
fn combinations(needs: &[BlockNeeds], machine: &MachineVariant) -> Vec<Vec<u32>> {
    let sm = &machine.spec.sm;
    let total = [sm.max_threads, sm.registers, sm.shared_bytes, sm.max_blocks];
    let of = |n: &BlockNeeds| [n.threads, n.registers, n.shared_bytes, 1];
    let mut all = vec![(Vec::new(), total)];
    for needs in needs.iter().map(of) {
        let mut longer = Vec::new();
        for (blocks, left) in all {
            let mut left: [u32; 4] = left;
            for count in 1..=sm.max_blocks {
                let fits = left.iter().zip(&needs).all(|(left, need)| left >= need);
                if !fits {
                    break;
                }
                left.iter_mut()
                    .zip(&needs)
                    .for_each(|(left, need)| *left -= need);
                let more: Vec<u32> = blocks.iter().copied().chain([count]).collect();
                longer.push((more, left));
            }
        }
        all = longer;
    }
    all.into_iter().map(|(blocks, _)| blocks).collect()
}

/// All ways to share the SMs, for programs of which each ran alone: left-over, spatial, and the
/// blocks of each program on an SM.
pub(super) fn ways(alone: &[Arc<RunReport>], machine: &MachineVariant) -> Vec<Setting> {
    let needs: Vec<_> = alone.iter().map(|run| largest(run, machine)).collect();
    let mut ways = vec![Setting::policy(LEFT_OVER), Setting::policy(SPATIAL)];
    ways.extend(combinations(&needs, machine).iter().map(|b| fixed(b)));
    ways
}

fn fixed(blocks: &[u32]) -> Setting {
    let counts: Vec<String> = blocks.iter().map(u32::to_string).collect();
    let quotas = QUOTAS.iter().zip(blocks);
    Setting {
        name: format!("({})", counts.join(",")),
        more: quotas
            .map(|(name, blocks)| format!("fixed.{name}={blocks}"))
            .collect(),
        blocks: blocks.to_vec(),
        ..Setting::policy("fixed")
    }
}

/// Index of the highest value; the first of equal values.
pub(super) fn best_of(values: impl Iterator<Item = f64>) -> usize {
    let best = values
        .enumerate()
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(0, |(at, _)| at)
}

/// Runs all ways to share the machine, or those that a first pass finds worth it, and names the
/// best. `None` while runs are missing.
pub fn oracle(request: &OracleRequest, runs: &mut Runs<'_>) -> Option<Figure> {
    let machine = request.variant("alone", &[]);
    let alone = runs.all(&request.alone(request.alone_cycles))?;
    let target = |run: &Arc<RunReport>| run.processes[0].thread_instructions;
    let targets: Vec<u64> = alone.iter().map(target).collect();
    let all = ways(&alone, &machine);
    let ways = request.worth_a_run(runs, &all, &targets)?;
    let specs: Vec<_> = ways.iter().map(|way| request.mix(way, &targets)).collect();
    let reports = runs.all(&specs)?;
    let row = |(way, report): (&Setting, &Arc<RunReport>)| {
        (way.name.clone(), figures_of(request, &targets, report))
    };
    let rows: Vec<_> = ways.iter().zip(&reports).map(row).collect();
    let base = rows[0].1.total_ipc;
    let (best, figures) = &rows[best_of(rows.iter().map(|row| row.1.total_ipc))];
    let over = figures.total_ipc / base;
    let summary = [
        ("best", Cell::Text(best.clone())),
        ("best.ipc", Cell::Number(figures.total_ipc)),
        ("best.over_left_over", Cell::Number(over)),
        ("run", Cell::Count(rows.len() as u64)),
        ("ways", Cell::Count(all.len() as u64)),
    ];
    Some(Figure {
        table: table(&rows, base),
        summary: BTreeMap::from(summary.map(|(name, cell)| (name.to_owned(), cell))),
        ..Figure::default()
    })
}

impl OracleRequest {
    /// Runs of each program alone for a number of cycles.
    fn alone(&self, cycles: u64) -> Vec<RunSpec> {
        let machine = self.variant("alone", &[]);
        let spec = |input| RunSpec {
            max_cycles: Some(cycles),
            mix: Some(Mix {
                again: true,
                ..Mix::default()
            }),
            ..RunSpec::new(input, &machine)
        };
        self.inputs.iter().map(spec).collect()
    }

    /// The ways that run to the targets, of which the first is left-over. `None` while runs of the
    /// first pass are missing.
    fn worth_a_run(
        &self,
        runs: &mut Runs<'_>,
        ways: &[Setting],
        targets: &[u64],
    ) -> Option<Vec<Setting>> {
        let Some(cycles) = self.first_pass else {
            return Some(ways.to_vec());
        };
        let (left_over, others) = ways.split_first()?;
        let short = |way: &Setting| RunSpec {
            max_cycles: Some(cycles),
            ..self.mix(way, targets)
        };
        let reports = runs.all(&others.iter().map(short).collect::<Vec<_>>());
        let alone = runs.all(&self.alone(cycles));
        let (reports, alone) = (reports?, alone?);
        let work = Work {
            targets,
            alone: self.alone_cycles,
        };
        let estimates = reports.iter().map(|report| work.estimate(report, &alone));
        let estimates: Vec<f64> = estimates.collect();
        let near = kept(&estimates).into_iter().map(|at| &others[at]);
        Some(std::iter::once(left_over).chain(near).cloned().collect())
    }

    /// A run of all programs that share the SMs in this way.
    fn mix(&self, way: &Setting, targets: &[u64]) -> RunSpec {
        let policy = format!("gpu.multiprogram={}", way.policy);
        let sets = [&[policy], way.more.as_slice()].concat();
        RunSpec {
            mix: Some(Mix {
                others: self.inputs[1..].to_vec(),
                targets: targets.to_vec(),
                again: true,
            }),
            ..RunSpec::new(&self.inputs[0], &self.variant(&way.name, &sets))
        }
    }
}

/// Figures of a mix whose programs run to these targets.
fn figures_of(request: &OracleRequest, targets: &[u64], report: &RunReport) -> MixFigures {
    let processes = report.processes.iter();
    let programs = processes.clone().map(|process| Turnaround {
        alone: request.alone_cycles as f64,
        mixed: process.cycles.max(1) as f64,
    });
    let programs: Vec<_> = programs.collect();
    let cycles = processes.filter_map(|process| process.ended_at).max();
    MixFigures::new(targets.iter().sum(), cycles.unwrap_or(0), &programs)
}

/// A table with one row per way. `base` is the total IPC under left-over.
fn table(rows: &[(String, MixFigures)], base: f64) -> Table {
    let columns = [
        (
            "way",
            "Left-over, spatial, or blocks of each program on every SM.",
        ),
        ("ipc", "Total IPC."),
        ("over_left_over", "Total IPC over that under left-over."),
        ("stp", "Sum of the speedups over running alone."),
        ("antt", "Mean of the times over those alone."),
        (
            "minimum_speedup",
            "The smallest speedup over running alone.",
        ),
    ];
    let line = |(name, figures): &(String, MixFigures)| {
        let values = [
            figures.total_ipc,
            figures.total_ipc / base,
            figures.stp,
            figures.antt,
            figures.minimum_speedup,
        ];
        let name = std::iter::once(Cell::Text(name.clone()));
        name.chain(values.map(Cell::Number)).collect()
    };
    let column = |(name, about)| Column::new(name, about);
    Table {
        columns: columns.map(column).to_vec(),
        rows: rows.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{OracleRequest, best_of, combinations, oracle};
    use crate::runner::{Results, Runner};
    use crate::runs::Runs;
    use crate::spec::{Input, MachineVariant};
    use warploom_config::{Base, BlockNeeds};
    use warploom_report::page::Cell;
    use warploom_workloads::Size;

    /// HOT (256 threads, 9,216 registers) and LBM (128, 4,608) on 32,768 registers: 1 with up to 5,
    /// 2 with up to 3, 3 with 1.
    #[test]
    fn combinations_are_those_that_fit() {
        let machine = MachineVariant::preset("any", "fermi-slicer", &[]).unwrap();
        let needs = |threads, registers| BlockNeeds {
            threads,
            registers,
            shared_bytes: 0,
        };
        let all = combinations(&[needs(256, 9216), needs(128, 4608)], &machine);
        let (one, two) = ((1..=5).map(|b| vec![1, b]), (1..=3).map(|b| vec![2, b]));
        let expected: Vec<Vec<u32>> = one.chain(two).chain([vec![3, 1]]).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn the_best_is_the_first_of_the_highest() {
        assert_eq!(best_of([1.0, 3.0, 2.0, 3.0].into_iter()), 1);
        assert_eq!(best_of([2.0, 1.0].into_iter()), 0);
    }

    /// Ways and the number of those that exist, and the name of the best.
    fn ways(first_pass: Option<u64>) -> (Vec<String>, Cell, String) {
        let input = |name| Input::workload(name, Size::Test, 1).unwrap();
        let request = OracleRequest {
            inputs: ["vectoradd", "transpose"].map(input).to_vec(),
            gpu: "gtx480".to_owned(),
            base: Base::Preset("gtx480".to_owned()),
            sets: vec!["gpu.sms=2".to_owned()],
            alone_cycles: 4000,
            first_pass,
        };
        let runner = Runner {
            store: None,
            threads: 2,
            observer: &|_| (),
            interrupted: &|| false,
        };
        let mut results = Results::default();
        loop {
            let mut runs = Runs::new(&results);
            if let Some(made) = oracle(&request, &mut runs) {
                let names = made.table.rows.iter().map(|row| row[0].to_string());
                let best = made.summary["best"].to_string();
                return (names.collect(), made.summary["ways"].clone(), best);
            }
            let missing = runs.wanted().to_vec();
            runner.run(&missing, &mut results).unwrap();
        }
    }

    /// The best of all may be among those that are left out, as it is here.
    #[test]
    fn a_first_pass_leaves_out_ways() {
        let (all, count, best) = ways(None);
        assert_eq!(count, Cell::Count(all.len() as u64));
        assert!(all.contains(&best));
        let (some, same_count, best) = ways(Some(1000));
        assert_eq!(same_count, count);
        assert!(some.len() < all.len(), "{some:?}");
        assert_eq!(some[0], "left-over");
        assert!(some.contains(&best) && some.iter().all(|way| all.contains(way)));
    }
}
