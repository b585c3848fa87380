//! Comparisons: one input, or several at once, on machines that differ in some keys.

mod by_kernel;
mod columns;
mod held;
mod notes;
mod programs;
mod sampled;
#[cfg(test)]
mod tests;
mod why;

pub use columns::measured_columns;
pub use programs::Programs;
pub use sampled::sampled_columns;

use crate::energy::add_energy;
use crate::figure::Figure;
use crate::runs::{Runs, UsedRun};
use crate::spec::{Input, MachineVariant, RunSpec, machine_name, percent};
use columns::energy_cells;
use held::{Compared, judged};
use sampled::interval_marks;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_config::{Base, ConfigErrors, resolve};
use warploom_energy::{EnergyPreset, energy_of};
use warploom_report::page::{Cell, Page, Table};
use warploom_report::{
    Axis, BarChart, BarSeries, CausesOf, Chart, causes_charts, energy_chart, grouped,
};
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::{Begun, Outcome, RunReport};

/// A key and the values that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// Name of the key.
    pub key: String,
    /// Values of the key.
    pub values: Vec<String>,
}

/// A comparison of one input, or of several at once, on all combinations of the values.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The input of all runs.
    pub input: Input,
    /// Programs that run at once with the input, if any, and how long.
    pub programs: Option<Programs>,
    /// Name of the base machine.
    pub gpu: String,
    /// The base machine of all combinations.
    pub base: Base,
    /// Changes that all machines have.
    pub sets: Vec<String>,
    /// Keys that are varied; the first varies slowest.
    pub vary: Vec<Vary>,
    /// Keys whose values are searched: of all their combinations, each row shows the fastest.
    pub best: Vec<Vary>,
    /// Core cycle at which runs are cut.
    pub max_cycles: Option<u64>,
    /// Number of launches after which runs stop.
    pub max_launches: Option<u64>,
    /// Energy preset of all machines, if energy is compared.
    pub energy: Option<EnergyPreset>,
    /// True if the page says why a row is faster than the first one. Neither for several programs,
    /// nor for sampled runs.
    pub explain: bool,
    /// Bound of the relative error of the cycles, if a part of the launches is timed and all values
    /// are estimates. Neither for several programs, nor with limits or energy.
    pub sample_error: Option<f64>,
}

/// The run that a row shows.
struct Shown {
    /// Number of the run.
    run: usize,
    report: Arc<RunReport>,
}

/// Checks the machines of all combinations of values of some keys.
///
/// # Errors
/// All errors of the first machine that is impossible.
pub fn check_keys(
    gpu: &str,
    base: &Base,
    sets: &[String],
    keys: &[Vary],
) -> Result<(), ConfigErrors> {
    let machine =
        |values: Vec<&str>| MachineVariant::new("", gpu, base, varied(sets, keys, &values));
    combinations(keys)
        .into_iter()
        .try_for_each(|values| machine(values).map(drop))
}

/// Settings of a machine with values of some keys.
fn varied(sets: &[String], keys: &[Vary], values: &[&str]) -> Vec<String> {
    let pairs = keys.iter().zip(values);
    let varied = pairs.map(|(vary, value)| format!("{}={value}", vary.key));
    sets.iter().cloned().chain(varied).collect()
}

impl Comparison {
    /// All combinations of varied values, in the order of rows.
    fn combinations(&self) -> Vec<Vec<&str>> {
        combinations(&self.vary)
    }

    /// The runs, in the order of rows; a row has one for each combination of searched values.
    /// Targets that follow from runs alone are not set.
    ///
    /// # Errors
    /// All errors of the first machine that is impossible.
    pub fn runs(&self) -> Result<Vec<RunSpec>, ConfigErrors> {
        let keys: Vec<_> = self.vary.iter().chain(&self.best).cloned().collect();
        let run = |values: &Vec<&str>| {
            let sets = varied(&self.sets, &keys, values);
            let machine = MachineVariant::new(&values.join(", "), &self.gpu, &self.base, sets)?;
            Ok(RunSpec {
                max_cycles: self.max_cycles,
                max_launches: self.max_launches,
                mix: self.programs.as_ref().map(Programs::mix),
                sample_error: self.sample_error,
                ..RunSpec::new(&self.input, &machine)
            })
        };
        combinations(&keys).iter().map(run).collect()
    }

    /// The run that each row shows: of its runs the fastest, of equals the first. `None` where a
    /// run of the row is missing.
    fn fastest(&self, reports: &[Option<Arc<RunReport>>]) -> Vec<Option<Shown>> {
        let searched = combinations(&self.best).len();
        let fastest = |(row, reports): (usize, &[Option<Arc<RunReport>>])| {
            let reports: Vec<_> = reports.iter().cloned().collect::<Option<_>>()?;
            let speed = |nth: &usize| speedup(&reports[*nth], &reports[0]);
            let runs = (0..reports.len()).rev();
            let best = runs.max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
            Some(Shown {
                run: row * searched + best,
                report: reports[best].clone(),
            })
        };
        reports.chunks(searched).enumerate().map(fastest).collect()
    }

    /// The searched values of a row that shows `run`, the number of one of the `specs`. A key has
    /// none where it changes nothing, as the setting of a policy that the row does not have.
    fn searched(&self, specs: &[RunSpec], run: usize) -> Vec<Cell> {
        let all = combinations(&self.best);
        let first = run - run % all.len();
        let shown = &all[run - first];
        let machine = |nth: usize| &specs[first + nth].machine.spec;
        let value = |(at, vary): (usize, &Vary)| {
            let others_same = |values: &Vec<&str>| {
                let mut pairs = values.iter().zip(shown).enumerate();
                pairs.all(|(key, (value, own))| key == at || value == own)
            };
            let mut tried = (0..all.len()).filter(|nth| others_same(&all[*nth]));
            let acts = tried.any(|nth| machine(nth) != machine(run - first));
            if acts || vary.values.len() < 2 {
                Cell::from(shown[at])
            } else {
                Cell::None
            }
        };
        self.best.iter().enumerate().map(value).collect()
    }

    /// Name of the base machine, for titles.
    fn machine(&self) -> String {
        let base = resolve(&self.base, &[]);
        base.map_or_else(
            |_| self.gpu.clone(),
            |spec| machine_name(&self.gpu, &spec.name),
        )
    }

    /// Title of the chart and of the page. It states what all runs set, and where they were cut or
    /// stopped.
    fn title<'r>(&self, runs: impl Iterator<Item = &'r RunReport> + Clone) -> String {
        let keys: Vec<_> = self.vary.iter().map(|vary| vary.key.as_str()).collect();
        let (inputs, machine) = (self.inputs(), self.machine());
        let by = keys.join(" and ");
        let mut title = format!("{inputs} on {machine} by {by}");
        if !self.sets.is_empty() {
            title += &format!(", with {}", self.sets.join(", "));
        }
        if let Some(bound) = self.sample_error {
            title += &format!(", sampled with a bound of {}", percent(bound));
        }
        if let Some(launches) = self.max_launches.filter(|_| runs.clone().any(is_stopped)) {
            title += &match launches {
                1 => ", first launch".to_owned(),
                launches => format!(", first {} launches", grouped(launches)),
            };
        }
        if let Some(cycles) = self.max_cycles.filter(|_| runs.clone().any(is_cut)) {
            title += &format!(", first {} cycles", grouped(cycles));
            title += match runs.clone().map(RunReport::begun).max() {
                Some(Begun::Nothing) => ": no block had started",
                Some(Begun::Blocks) => ": no instruction had been issued",
                Some(Begun::Instructions) | None => "",
            };
        }
        title
    }

    /// The comparison, or `None` while runs are missing.
    pub fn make(&self, specs: &[RunSpec], runs: &mut Runs<'_>) -> Option<Figure> {
        let specs = self.with_targets(specs, runs)?;
        let all = runs.all(&specs)?;
        let all: Vec<_> = all.into_iter().map(Some).collect();
        Some(self.figure(&specs, &all))
    }

    /// The rows whose runs have a result, for a comparison that was interrupted. Speedups are over
    /// the first of them.
    pub fn make_of_ended(&self, specs: &[RunSpec], runs: &mut Runs<'_>) -> Option<Figure> {
        let specs = self.with_targets(specs, runs)?;
        let ended: Vec<_> = specs.iter().map(|spec| runs.get(spec)).collect();
        Some(self.figure(&specs, &ended))
    }

    /// Number of rows that a whole comparison has.
    pub fn rows(&self) -> usize {
        self.combinations().len()
    }

    /// The runs with their targets, or `None` while runs on which these depend are missing.
    fn with_targets(&self, specs: &[RunSpec], runs: &mut Runs<'_>) -> Option<Vec<RunSpec>> {
        match &self.programs {
            Some(programs) => programs.with_targets(specs, runs),
            None => Some(specs.to_vec()),
        }
    }

    fn figure(&self, specs: &[RunSpec], reports: &[Option<Arc<RunReport>>]) -> Figure {
        let shown = self.fastest(reports);
        let first = shown.iter().flatten().next();
        let over_first = |row: &Option<Shown>| Some(speedup(&row.as_ref()?.report, &first?.report));
        let speedups: Vec<_> = shown.iter().map(over_first).collect();
        let energies: Vec<_> = shown
            .iter()
            .map(|row| self.energy(specs, row.as_ref()?))
            .collect();
        let compared: Vec<Compared<'_>> = specs
            .iter()
            .zip(reports)
            .map(|(spec, report)| (spec, report.as_deref()))
            .collect();
        let judged = judged(&compared);
        let combinations = self.combinations();
        let row = |(at, values): (usize, &Vec<&str>)| {
            let Shown { run, report } = shown[at].as_ref()?;
            let values = values.iter().map(|value| Cell::from(*value));
            let names = values.chain(self.searched(specs, *run));
            let mix = self.programs.as_ref();
            let mix = mix.map_or_else(Vec::new, |programs| programs.cells(report));
            let bound = judged[*run].bound.as_deref();
            let measured = match (&report.sampling, first) {
                (Some(sampling), Some(first)) => {
                    self.estimated((report, sampling), bound, &first.report)
                }
                _ => self.measured(report, bound, speedups[at]),
            };
            let cells = names.chain(measured).chain(mix);
            let energy = energies[at].as_ref().map(|energy| {
                let over = first.zip(energies.iter().flatten().next());
                let over = over.map(|(first, energy)| (energy, &*first.report));
                energy_cells(
                    energy,
                    over.map_or(f64::NAN, |over| energy_ratio((energy, report), over)),
                )
            });
            Some(cells.chain(energy.into_iter().flatten()).collect())
        };
        let rows = combinations.iter().enumerate().filter_map(row).collect();
        let mut charts = vec![self.chart(specs, &shown, &speedups)];
        if self.energy.is_some() {
            let names = combinations.iter().map(|values| values.join(", "));
            let runs = names.zip(&energies);
            let runs: Vec<_> = runs
                .filter_map(|(name, energy)| Some((name, energy.as_ref()?)))
                .collect();
            charts.push(energy_chart("Energy by component", &runs));
        }
        let columns = self.columns();
        Figure {
            table: Table { columns, rows },
            summary: BTreeMap::new(),
            charts,
        }
    }

    /// Energy of the run that a row shows; `None` if energy is not compared.
    fn energy(&self, specs: &[RunSpec], shown: &Shown) -> Option<EnergyReport> {
        let preset = self.energy.as_ref()?;
        let machine = &specs[shown.run].machine.spec;
        let figures = &shown.report.totals.figures;
        Some(energy_of(preset, machine, figures).unwrap_or_default())
    }

    /// Name of a key in charts and files: its last word, or more of them if another key has the
    /// same one.
    fn word<'k>(&self, key: &'k str) -> &'k str {
        let keys = self.vary.iter().chain(&self.best);
        let keys: Vec<&str> = keys.map(|vary| vary.key.as_str()).collect();
        last_words(key, &keys)
    }

    /// A value, after the name of its key if it is a number.
    fn named(&self, vary: &Vary, value: &str) -> String {
        match value.parse::<f64>() {
            Ok(_) => format!("{} {value}", self.word(&vary.key)),
            Err(_) => value.to_owned(),
        }
    }

    /// Values of the keys after the first, each with its key's name.
    fn settings(&self, values: &[&str]) -> String {
        let pairs = self.vary.iter().skip(1).zip(values);
        let pairs = pairs.map(|(vary, value)| format!("{} {value}", self.word(&vary.key)));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// A chart with groups by the first key, and bars by the others.
    fn chart(&self, specs: &[RunSpec], shown: &[Option<Shown>], speedups: &[Option<f64>]) -> Chart {
        let groups = self.vary.first().map_or(&[][..], |vary| &vary.values);
        let baseline = shown.iter().position(Option::is_some).unwrap_or(0);
        let bars = speedups.len() / groups.len().max(1);
        let combinations = self.combinations();
        let reports = shown.iter().flatten().map(|shown| &*shown.report);
        let any_cut = reports.clone().any(is_cut);
        let ratio = match self.sample_error {
            Some(_) => " (estimated)",
            None if any_cut => " (ratio of IPC)",
            None => "",
        };
        let series = |bar: usize| BarSeries {
            name: match combinations[bar].get(1..) {
                None | Some([]) => self.inputs(),
                Some(others) => self.settings(others),
            },
            values: speedups.iter().skip(bar).step_by(bars).copied().collect(),
        };
        Chart::Bars(BarChart {
            title: self.title(reports),
            axis: Axis::of_speedups(
                &format!(
                    "speedup over {}{ratio}",
                    self.row_name(&combinations[baseline])
                ),
                speedups.iter().flatten().copied(),
            ),
            groups: match (bars, self.vary.first()) {
                (2.., Some(vary)) => groups.iter().map(|value| self.named(vary, value)).collect(),
                _ => self.found(specs, shown),
            },
            series: (0..bars).map(series).collect(),
            marks: interval_marks(shown, bars),
        })
    }

    /// Name of the row with these values. Numbers have the name of their key before them.
    fn row_name(&self, values: &[&str]) -> String {
        let pairs = self.vary.iter().zip(values);
        let names: Vec<_> = pairs.map(|(vary, value)| self.named(vary, value)).collect();
        names.join(", ")
    }

    /// Values of the only varied key, each with the searched values with which it is fastest.
    fn found(&self, specs: &[RunSpec], shown: &[Option<Shown>]) -> Vec<String> {
        let label = |(value, shown): (&String, &Option<Shown>)| {
            let cells = shown.as_ref().map(|shown| self.searched(specs, shown.run));
            let pairs = self.best.iter().zip(cells.into_iter().flatten());
            let found: Vec<_> = pairs
                .filter(|(_, cell)| *cell != Cell::None)
                .map(|(vary, cell)| format!("{} {}", self.word(&vary.key), cell.shown()))
                .collect();
            match found.as_slice() {
                [] => value.clone(),
                found => format!("{value} ({})", found.join(", ")),
            }
        };
        let values = self.vary.iter().take(1).flat_map(|vary| &vary.values);
        values.zip(shown).map(label).collect()
    }

    /// Names of all inputs.
    fn inputs(&self) -> String {
        let others = self.programs.iter().flat_map(|programs| &programs.others);
        let all = std::iter::once(&self.input).chain(others).map(Input::name);
        all.collect::<Vec<_>>().join(" + ")
    }

    /// A name for files, made of the input's name and the last words of the keys.
    pub fn name(&self) -> String {
        let last = |vary: &Vary| self.word(&vary.key).to_owned();
        let inputs = self.inputs().replace(" + ", "+");
        let words = std::iter::once(inputs).chain(self.vary.iter().map(last));
        let plain = |c: char| {
            if c.is_alphanumeric() || "_-+@".contains(c) {
                c
            } else {
                '-'
            }
        };
        let words: Vec<_> = words.collect();
        let name: String = words.join("-").chars().map(plain).collect();
        let parts: Vec<_> = name.split('-').filter(|part| !part.is_empty()).collect();
        parts.join("-")
    }

    /// The page of a comparison.
    pub fn page(&self, figure: Figure, used: &[UsedRun], command: &str) -> Page {
        let mut page = figure.into_page(used);
        if let Some(preset) = &self.energy {
            add_energy(&mut page, used, &|_| Some(preset.clone()));
        }
        let reports = compared(used).map(|(_, report)| &**report);
        Page {
            paper: "compare".to_owned(),
            figure: self.name(),
            title: self.title(reports),
            explanation: match self.explain {
                true => self.explained(used),
                false => Vec::new(),
            },
            notes: self.notes(used),
            further_charts: causes(used),
            command: command.to_owned(),
            ..page
        }
    }
}

/// The last words of a key, as few as tell it from the others.
fn last_words<'k>(key: &'k str, others: &[&str]) -> &'k str {
    let starts = key.rmatch_indices('.').map(|(at, _)| at + 1);
    let mut words = starts.map(|at| &key[at..]);
    let ends_so = |other: &&str, words: &str| {
        let before = other.strip_suffix(words);
        *other != key && before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let tell = words.find(|words| !others.iter().any(|other| ends_so(other, words)));
    tell.unwrap_or(key)
}

/// All combinations of the values of some keys; the first key varies slowest.
fn combinations(keys: &[Vary]) -> Vec<Vec<&str>> {
    let mut rows = vec![Vec::new()];
    for vary in keys {
        let with = |row: &Vec<_>| {
            let values = vary.values.iter().map(String::as_str);
            let extend = |value| [row.as_slice(), &[value]].concat();
            values.map(extend).collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    rows
}

/// Energy of a run relative to another of the same input: for the whole work if both did the same,
/// for each thread instruction if one was cut.
pub(crate) fn energy_ratio(
    run: (&EnergyReport, &RunReport),
    over: (&EnergyReport, &RunReport),
) -> f64 {
    let same = same_work(run.1, over.1);
    let work = |run: &RunReport| match same {
        true => 1.0,
        false => run.totals.figures.thread_instructions as f64,
    };
    let of = |(energy, report): (&EnergyReport, &RunReport)| energy.joules / work(report);
    of(run) / of(over)
}

/// The runs that are compared. Runs alone, from which targets follow, are not.
fn compared(used: &[UsedRun]) -> impl Iterator<Item = &UsedRun> + Clone {
    used.iter().filter(|(spec, _)| spec.machine.name != "alone")
}

/// Charts of the schedulers' cycles of the runs by cause, if they are few. Times are over that of
/// the first run. Sampled runs have none, because each has the cycles of its own timed launches.
fn causes(used: &[UsedRun]) -> Vec<Chart> {
    let runs = compared(used);
    if runs.clone().any(|(_, report)| report.sampling.is_some()) {
        return Vec::new();
    }
    let first = runs.clone().next();
    let pairs = runs.clone().map(|(spec, report)| (spec, Some(&**report)));
    let judged = judged(&pairs.collect::<Vec<_>>());
    let of = runs.zip(&judged).map(|((spec, report), judged)| CausesOf {
        name: &spec.machine.name,
        causes: &report.totals.figures.stalls,
        time: first.map(|(_, first)| 1.0 / speedup(report, first)),
        holds_at_no_cost: judged.at_no_cost,
    });
    causes_charts(&of.collect::<Vec<_>>())
}

/// True if a run was stopped at a limit of cycles.
fn is_cut(run: &RunReport) -> bool {
    matches!(run.outcome, Outcome::CycleLimit { .. })
}

/// True if a run was stopped after a number of launches.
fn is_stopped(run: &RunReport) -> bool {
    matches!(run.outcome, Outcome::LaunchLimit { .. })
}

/// True if two runs of the same input did the same work: both to their end, or the same launches.
fn same_work(run: &RunReport, other: &RunReport) -> bool {
    run.outcome == other.outcome && !is_cut(run)
}

/// Speed of a run relative to another of the same input: the ratio of cycles if both did the same
/// work, of IPC if one was cut, of the estimates of cycles if they are sampled.
pub fn speedup(run: &RunReport, over: &RunReport) -> f64 {
    if let (Some(run), Some(over)) = (&run.sampling, &over.sampling) {
        return over.cycles().over(&run.cycles()).value;
    }
    let (a, b) = (&run.totals.figures, &over.totals.figures);
    if same_work(run, over) {
        b.cycles as f64 / a.cycles as f64
    } else {
        a.ipc / b.ipc
    }
}
