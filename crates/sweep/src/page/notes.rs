//! Sentences without which the results of a sweep would be misread.

use super::{AxisValues, CUT, PageBuilder, SAMPLED, STOPPED};
use crate::collect::Row;
use crate::plan::Sweep;
use crate::record::Facts;
use std::collections::BTreeMap;
use warploom_report::{
    CutRun, DigestOf, LargestLaunch, LaunchTime, causes_left_out, cut_runs_told, equal_runs_told,
    grouped, idle_sms_told, long_launches_told, unbegun_told,
};
use warploom_stats::result::{Begun, Launches, Reached};

/// Runs that the notes name.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Runs that were cut after their first instruction.
    cut: Vec<Cut>,
    /// Names of runs that were cut before their first instruction.
    unbegun: Vec<(String, Begun)>,
    /// Launches of the programs of runs that were stopped, where their number is known.
    stopped: BTreeMap<String, u64>,
    /// Most core cycles from a launch to its first block, in these runs.
    launch_cycles: u64,
    /// Fewest blocks of the largest launch, where these are fewer than the SMs, by program and by
    /// machine with its SMs, in the order of the runs.
    idle: Vec<(String, Vec<Idle>)>,
    /// Names of runs that issued instructions, with the core cycles of a launch and the share of
    /// the run that its launches take.
    launching: Vec<(String, u64, f64)>,
    /// Names and digests of runs that issued instructions.
    digests: Vec<(String, String)>,
    /// Names of sampled runs whose timed launches had other results than their execution.
    differing: Vec<String>,
}

/// A machine with too few blocks of a program.
#[derive(Debug)]
struct Idle {
    machine: String,
    sms: u64,
    blocks: u64,
}

/// A run that was cut after its first instruction.
#[derive(Debug)]
struct Cut {
    program: String,
    name: String,
    reached: Reached,
    launches: Launches,
}

/// Name of the program of a run, as charts have it.
fn program(sweep: &Sweep, axes: &AxisValues, row: &Row) -> String {
    let mut named = sweep.axes.iter().zip(&row.values);
    let program = named.find(|(axis, _)| matches!(axis.as_str(), "target" | "app"));
    let label = program.map(|(axis, value)| axes.label(sweep, axis, value));
    label.unwrap_or_else(|| row.name.clone())
}

impl Doubts {
    /// Adds a run that has a result.
    pub fn add(&mut self, sweep: &Sweep, axes: &AxisValues, row: &Row, facts: &Facts) {
        let program = program(sweep, axes, row);
        if row.status == CUT && facts.begun == Begun::Instructions {
            self.cut.extend(facts.reached.map(|reached| Cut {
                program: program.clone(),
                name: row.name.clone(),
                reached,
                launches: row.launches,
            }));
        } else if row.status == CUT {
            self.unbegun.push((row.name.clone(), facts.begun));
            self.launch_cycles = self.launch_cycles.max(facts.launch_cycles);
        } else if row.status == STOPPED && row.launches.is_exact {
            self.stopped.insert(program.clone(), row.launches.least);
        }
        if facts.sampled.is_some_and(|sampled| sampled.differing > 0) {
            self.differing.push(row.name.clone());
        }
        if facts.begun == Begun::Instructions && facts.launch_share > 0.0 {
            let (cycles, share) = (facts.launch_cycles, facts.launch_share);
            self.launching.push((row.name.clone(), cycles, share));
        }
        if let Some(digest) = row.digest.as_ref()
            && facts.begun == Begun::Instructions
        {
            self.digests.push((row.name.clone(), digest.clone()));
        }
        let Some(blocks) = facts.largest_grid.filter(|blocks| *blocks < facts.sms) else {
            return;
        };
        self.add_idle(&program, &row.machine, blocks, facts.sms);
    }

    /// Adds the largest launch of a program, which has fewer blocks than the machine has SMs.
    fn add_idle(&mut self, program: &str, machine: &str, blocks: u64, sms: u64) {
        let known = self.idle.iter().position(|(name, _)| name == program);
        let place = known.unwrap_or_else(|| {
            self.idle.push((program.to_owned(), Vec::new()));
            self.idle.len() - 1
        });
        let machines = &mut self.idle[place].1;
        let mut same = machines.iter_mut();
        match same.find(|idle| idle.machine == machine && idle.sms == sms) {
            Some(idle) => idle.blocks = idle.blocks.min(blocks),
            None => machines.push(Idle {
                machine: machine.to_owned(),
                sms,
                blocks,
            }),
        }
    }
}

impl PageBuilder<'_> {
    /// Sentences on the runs and the picture.
    pub(super) fn notes(&self) -> Vec<String> {
        let doubts = &self.doubts;
        let unbegun = doubts.unbegun.iter();
        let unbegun: Vec<_> = unbegun
            .map(|(name, begun)| (name.as_str(), *begun))
            .collect();
        let cut = doubts.cut.iter().map(|cut| CutRun {
            program: &cut.program,
            name: &cut.name,
            reached: cut.reached,
            launches: cut.launches,
        });
        let cut: Vec<_> = cut.collect();
        let idle = idle_sms_told(&self.largest_launches());
        let digests = doubts.digests.iter();
        let digests = digests.map(|(name, digest)| DigestOf { name, digest });
        let equal = equal_runs_told(&digests.collect::<Vec<_>>(), self.of(SAMPLED).is_some());
        let ends = [self.cut_runs(), self.stopped_runs(), self.sampled_runs()];
        let unbegun = unbegun_told(&unbegun, doubts.launch_cycles, "max_cycles");
        let launching = doubts.launching.iter();
        let launching = launching.map(|(name, cycles, share)| LaunchTime {
            name,
            cycles: *cycles,
            share: *share,
        });
        let launching: Vec<_> = launching.collect();
        let remedy = "`gpu.kernel_launch_cycles = 0` below `[axes]`";
        let launching = long_launches_told(&launching, remedy);
        let others = [idle, launching, self.no_picture(), self.no_baseline()];
        ends.into_iter()
            .flatten()
            .chain(unbegun)
            .chain(cut_runs_told(&cut))
            .chain(others.into_iter().flatten())
            .chain(equal)
            .chain(causes_left_out(self.with_result() as usize))
            .collect()
    }

    /// The largest launches of programs with too few blocks, on each machine if there are several.
    fn largest_launches(&self) -> Vec<LargestLaunch<'_>> {
        let several = self.machines.len() > 1;
        let mut all = Vec::new();
        for (program, machines) in &self.doubts.idle {
            all.extend(machines.iter().map(|idle| LargestLaunch {
                program,
                machine: if several { &idle.machine } else { "" },
                blocks: idle.blocks,
                sms: idle.sms,
            }));
        }
        all
    }

    /// Number of runs of a status, and of all that have a result.
    fn of(&self, status: &str) -> Option<(u64, u64)> {
        Some((*self.counts.get(status)?, self.with_result()))
    }

    /// Number of runs that have a result.
    fn with_result(&self) -> u64 {
        let with_result = ["finished", SAMPLED, CUT, STOPPED].into_iter();
        with_result
            .filter_map(|status| self.counts.get(status))
            .sum()
    }

    /// A sentence on runs that were cut, if any were.
    fn cut_runs(&self) -> Option<String> {
        let (cut, all) = self.of(CUT)?;
        let speedups = match self.sweep.report.baseline.is_empty() {
            true => "",
            false => "their speedups are ratios of IPC in that time, and ",
        };
        Some(format!(
            "{cut} of {all} runs were cut at max_cycles{}: {speedups}whole runs may differ \
             (docs/comparing.md, Cut runs)",
            self.limit().map_or(String::new(), |at| format!(" {at}"))
        ))
    }

    /// A sentence on runs that were stopped after some launches, if any were.
    fn stopped_runs(&self) -> Option<String> {
        let (stopped, all) = self.of(STOPPED)?;
        let known = self.doubts.stopped.iter();
        let known: Vec<_> = known
            .map(|(program, launches)| format!("{program} has {}", grouped(*launches)))
            .collect();
        let known = match known.is_empty() {
            true => String::new(),
            false => format!(" ({})", known.join(", ")),
        };
        Some(format!(
            "{stopped} of {all} runs were stopped after max_launches{known}: what is measured is \
             for these launches, and outputs were not checked"
        ))
    }

    /// Sentence on runs that are sampled, if any are.
    fn sampled_runs(&self) -> Option<String> {
        let (sampled, all) = self.of(SAMPLED)?;
        let differing = &self.doubts.differing;
        let differing = match differing.as_slice() {
            [] => String::new(),
            names => format!(
                ". Timed launches had other results than their execution without timing, with which the \
                 program went on: {}",
                names.join(", ")
            ),
        };
        Some(format!(
            "{sampled} of {all} runs are sampled: what is measured is an estimate for all launches, with \
             its margin at 95% confidence beside it, and a speedup whose interval contains 1 \
             decides nothing; `bound` and scheduler cycles by cause are those of the timed \
             launches (docs/comparing.md, Sampled comparisons){differing}"
        ))
    }

    /// How to get speedups, if the sweep compares something and chose neither a baseline nor a
    /// metric.
    fn no_baseline(&self) -> Option<String> {
        let report = &self.sweep.report;
        if !report.baseline.is_empty() || report.metric.is_some() {
            return None;
        }
        let axes = self.sweep.axes.iter().zip(&self.axes.values);
        let mut varied = axes.filter(|(axis, values)| {
            !["target", "app", "size", "seed"].contains(&axis.as_str()) && values.len() > 1
        });
        let (axis, values) = varied.next()?;
        let name = axis.rsplit('.').next().unwrap_or(axis);
        let value = match values[0].parse::<f64>() {
            Ok(_) => values[0].clone(),
            Err(_) => format!("{:?}", values[0]),
        };
        Some(format!(
            "there are no speedups, because no run is the baseline: `[report]` with `baseline = {{ \
             {name} = {value} }}` gives them"
        ))
    }

    /// A sentence on why there is no picture of values whose means say nothing.
    fn no_picture(&self) -> Option<String> {
        let others: Vec<usize> = self.axes.others(self.map).collect();
        let refused = self.refuses_means() && !self.cells.is_empty();
        refused.then(|| {
            format!(
                "there is no picture, because its cells would be means over {}: `[report]` chooses \
                 `rows`, `columns` and `panels`, and a `baseline` gives speedups with their means",
                self.with_values(&others)
            )
        })
    }

    /// True if a picture would show means over programs or machines of what only has a meaning for
    /// each, and the sweep did not choose them.
    pub(super) fn refuses_means(&self) -> bool {
        let chosen = self.sweep.report.panels.is_some();
        let mut others = self.axes.others(self.map);
        let any = others.any(|at| self.sweep.axes[at] != "seed");
        !self.is_ratio() && !chosen && self.panels.is_empty() && any
    }
}
