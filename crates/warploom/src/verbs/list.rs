//! The verb `warploom list`.

use crate::failure::Failure;
use crate::output::{print, print_json, width};
use clap::ValueEnum;
use serde_json::{Map, Value};
use std::process::ExitCode;
use warploom_names::{WIDTH, shortened};
use warploom_report::{grouped, list, wrapped};
use warploom_stats::{METRICS, rows};
use warploom_workloads::{Character, KernelInfo, Target, characters};

const EXAMPLES: &str = "\
Examples:
  warploom list workloads
  warploom list gpus
  warploom list policies
  warploom list keys
  warploom list figures
  warploom list policies | cut -f 2      in a pipe: a line for each, with tabs between the columns
  warploom list stats --json";

/// List everything of a kind, with descriptions and sources
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    /// Kind of things to list
    what: Kind,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Presets of GPUs for --gpu
    Gpus,
    /// Energy presets for --energy
    Energy,
    /// Workloads for the verb run
    Workloads,
    /// Keys of a machine, for --set and for files
    Keys,
    /// Schedulers and other policies: the key that chooses them, source, storage, complexity
    Policies,
    /// Statistics of a result
    Stats,
    /// Figures of the papers for reproduce, with the runs of scale paper and their processor time
    Figures,
    /// Micro-benchmarks for the verb microbench
    Microbenchmarks,
}

/// A table whose columns have the same names in text and in JSON.
struct Columns {
    header: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Columns { header, rows } = match args.what {
        Kind::Gpus => gpus(),
        Kind::Energy => energy(),
        Kind::Workloads => workloads(),
        Kind::Keys => keys(),
        Kind::Policies => policies(),
        Kind::Stats => stats(),
        Kind::Figures => figures(),
        Kind::Microbenchmarks => microbenchmarks(),
    };
    if args.json {
        let object = |row: &Vec<String>| -> Value {
            let members = header
                .iter()
                .zip(row)
                .map(|(name, cell)| ((*name).to_owned(), cell.as_str().into()));
            Value::Object(members.collect::<Map<_, _>>())
        };
        print_json(&rows.iter().map(object).collect::<Vec<_>>())?;
    } else {
        print(&shown(header, &rows, width()))?;
        if let (Kind::Figures, Some(_)) = (args.what, width()) {
            print(&format!("\n{}", wrapped("", COSTS, width())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Cost of a figure that was neither computed nor measured.
const UNKNOWN: &str = "unknown";

/// Explanation of the costs of figures on a terminal.
const COSTS: &str = "Runs and minutes are those of --scale paper; minutes are processor time of an \
                     idle computer, together on all cores. Figures of a paper share runs, and one \
                     of no runs is computed.";

/// Columns that a terminal shows: names, sentences, and costs of figures. A pipe and `--json` give
/// all.
const BRIEF: [&str; 5] = ["key", "name", "runs", "minutes", "about"];

/// Text of a table. On a terminal of `width` columns it has the names and the sentences, in a pipe
/// everything, with tabs between the cells.
fn shown(header: &[&str], rows: &[Vec<String>], width: Option<u16>) -> String {
    let brief: Vec<usize> = (0..header.len())
        .filter(|column| width.is_none() || BRIEF.contains(&header[*column]))
        .collect();
    let names: Vec<_> = brief.iter().map(|column| header[*column]).collect();
    let row = |row: &Vec<String>| brief.iter().map(|column| row[*column].clone()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let mut text = list(&names, &rows, width);
    let hidden = header.iter().filter(|name| !names.contains(name));
    let hidden: Vec<_> = hidden.copied().collect();
    if !hidden.is_empty() {
        let told = format!("(--json, or a pipe, adds {})", hidden.join(", "));
        text += &format!("\n{}", wrapped("", &told, width));
    }
    text
}

fn gpus() -> Columns {
    let row = |preset: &warploom_config::Preset| vec![preset.name.to_owned(), preset.about()];
    Columns {
        header: &["name", "about"],
        rows: warploom_config::PRESETS.iter().map(row).collect(),
    }
}

fn energy() -> Columns {
    let row = |row: &warploom_energy::Row| {
        let preset = warploom_energy::find(row.name).expect("it is in the list");
        vec![row.name.to_owned(), row.gpus.join(", "), preset.about]
    };
    Columns {
        header: &["name", "gpus", "about"],
        rows: warploom_energy::PRESETS.iter().map(row).collect(),
    }
}

fn workloads() -> Columns {
    let row = |workload: &warploom_workloads::WorkloadInfo| {
        let names = |names: Vec<&str>| names.join(", ");
        vec![
            workload.name.to_owned(),
            workload.suite.to_string(),
            workload
                .kernels
                .iter()
                .map(kernel)
                .collect::<Vec<_>>()
                .join(", "),
            names(
                workload
                    .variants
                    .iter()
                    .map(|variant| variant.name)
                    .collect(),
            ),
            warploom_workloads::papers_of(workload.name).join("; "),
            measured(workload.name, |row| row.limited_by),
            measured(workload.name, |row| row.category),
            workload.sentence.to_owned(),
            workload.source.to_owned(),
        ]
    };
    Columns {
        header: &[
            "name",
            "suite",
            "kernels",
            "variants",
            "papers",
            "limited by",
            "category",
            "about",
            "source",
        ],
        rows: warploom_workloads::all().iter().map(row).collect(),
    }
}

/// Name of a kernel, with that of its entry, which results have, where the two differ.
fn kernel(of: &KernelInfo) -> String {
    let entries = || of.entries.iter().map(|entry| shortened(entry, WIDTH));
    match (
        entries().any(|entry| entry.contains(of.name)),
        entries().next(),
    ) {
        (false, Some(entry)) => format!("{} ({entry})", of.name),
        _ => of.name.to_owned(),
    }
}

/// Measurement of a workload on its own, followed by those of the papers' benchmarks where they
/// differ.
fn measured(workload: &str, what: fn(&Character) -> &'static str) -> String {
    let of = |row: &Character| {
        let target = Target::resolve(row.target);
        target.is_ok_and(|target| target.workload.name == workload)
    };
    let rows: Vec<_> = characters().filter(of).collect();
    let Some(plain) = rows.iter().find(|row| row.target == workload) else {
        return "not measured".to_owned();
    };
    let others = rows.iter().filter(|row| what(row) != what(plain));
    let others = others.map(|row| format!("{} ({})", what(row), row.target));
    let all: Vec<_> = [what(plain).to_owned()].into_iter().chain(others).collect();
    all.join("; ")
}

/// Table of policies. Storage is that on the papers' baseline machine.
fn policies() -> Columns {
    let gtx480 = warploom_config::preset("gtx480").expect("a test resolves every preset");
    let row = |policy: warploom_policy::PolicyInfo| {
        let facts = policy.facts;
        vec![
            policy.key.to_owned(),
            policy.name.to_owned(),
            facts.about.to_owned(),
            facts.source.to_owned(),
            facts.state.to_owned(),
            policy.storage(&gtx480),
            facts.complexity.to_owned(),
        ]
    };
    Columns {
        header: &[
            "key",
            "name",
            "about",
            "source",
            "state",
            "gtx480_bits",
            "complexity",
        ],
        rows: warploom_policy::all()
            .map(row)
            .chain(cache_policies(&gtx480))
            .collect(),
    }
}

/// Rows of the policies of caches.
fn cache_policies(gpu: &warploom_config::GpuSpec) -> impl Iterator<Item = Vec<String>> {
    let policies = warploom_mem::cache::cache_policies(gpu).into_iter();
    policies.map(|policy| {
        vec![
            policy.key.to_owned(),
            policy.name.to_owned(),
            policy.about.to_owned(),
            policy.source.to_owned(),
            policy.state.to_owned(),
            policy.storage,
            policy.complexity.to_owned(),
        ]
    })
}

fn keys() -> Columns {
    let row = |key: warploom_config::Key| {
        let accepts = match key.rule {
            warploom_config::Rule::Names(names) => {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                names.join(", ")
            }
            rule => rule.describe(),
        };
        vec![
            key.name,
            accepts,
            key.default.unwrap_or("").to_owned(),
            key.unit.to_owned(),
            key.about.to_owned(),
            key.source.to_owned(),
        ]
    };
    Columns {
        header: &["name", "accepts", "default", "unit", "about", "source"],
        rows: warploom_config::keys().into_iter().map(row).collect(),
    }
}

fn microbenchmarks() -> Columns {
    let row = |benchmark: &warploom_microbench::Benchmark| {
        vec![
            benchmark.name.to_owned(),
            benchmark.unit.to_owned(),
            benchmark.about.to_owned(),
        ]
    };
    Columns {
        header: &["name", "unit", "about"],
        rows: warploom_microbench::all().map(row).collect(),
    }
}

fn stats() -> Columns {
    let row = |stat: warploom_stats::StatRow| {
        vec![
            stat.name,
            stat.unit.to_owned(),
            stat.gpgpusim.unwrap_or("").to_owned(),
            stat.sentence.to_owned(),
        ]
    };
    let mut tables = vec![METRICS];
    tables.extend_from_slice(warploom_gpu::registry::TABLES);
    Columns {
        header: &["name", "unit", "gpgpusim", "about"],
        rows: rows(&tables).into_iter().map(row).collect(),
    }
}

fn figures() -> Columns {
    let row = |info: &warploom_lab::FigureInfo| {
        let cost = warploom_lab::cost(&info.full_name());
        let [runs, minutes] = cost
            .as_ref()
            .map_or([UNKNOWN, UNKNOWN].map(str::to_owned), cost_cells);
        vec![info.full_name(), runs, minutes, info.title.to_owned()]
    };
    let every = warploom_lab::all()
        .iter()
        .chain(warploom_lab::studies())
        .chain(warploom_lab::by_name_only());
    Columns {
        header: &["name", "runs", "minutes", "about"],
        rows: every.map(row).collect(),
    }
}

/// Runs of a figure at scale `paper`, and their time in minutes.
pub fn cost_cells(cost: &warploom_lab::Cost) -> [String; 2] {
    let minutes = match cost.minutes {
        few if few < 10.0 => format!("{few:.1}"),
        many => grouped(many.round() as u64),
    };
    [grouped(cost.runs.into()), minutes]
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_terminal_shows_names_and_sentences_and_a_pipe_everything() {
        let rows = [["gto", "greedy, then oldest: a long sentence", "2 bits"].map(str::to_owned)];
        let rows = rows.map(|row| row.to_vec());
        let header = ["name", "about", "state"];
        let narrow = shown(&header, &rows, Some(30));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 32),
            "{narrow}"
        );
        assert!(
            narrow.ends_with("(--json, or a pipe, adds\nstate)\n"),
            "{narrow}"
        );
        let all = shown(&header, &rows, None);
        assert!(all.contains("2 bits") && !all.contains("--json"), "{all}");
    }
}
