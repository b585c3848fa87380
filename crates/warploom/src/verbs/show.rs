//! The verb `warploom show`.

mod sheet;

use crate::failure::Failure;
use crate::gpu::told_spec;
use crate::output::{print, print_json, width};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;
use warploom_config::{GpuSpec, Preset, Setting, Sheet, find};
use warploom_report::wrapped;

const EXAMPLES: &str = "\
Examples:
  warploom show gpu gtx480                        its data sheet: peaks, latencies, occupancy
  warploom show gpu maxwell-duet --set noc.flit_bytes=16
  warploom show gpu gtx480 --keys                 every key with value, unit and meaning, as TOML
  warploom show gpu gtx480 --keys --set sm.warp_scheduler=two-level
                                                  with the settings of another policy
  warploom show gpu gtx480 --keys > my-gpu.toml   a start for a GPU of your own
  warploom show gpu my-gpu.toml --json";

/// Show a machine: its data sheet, or with --keys everything that can be set
///
/// A machine (`gpu`) is all that can be shown. `warploom list` describes workloads, policies, keys,
/// statistics and figures.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    /// The word `gpu`: a machine
    #[arg(value_name = "gpu", value_parser = kind)]
    what: Kind,
    /// Preset (`warploom list gpus`), TOML file or GPGPU-Sim's gpgpusim.config
    #[arg(value_name = "PRESET-or-FILE")]
    name: String,
    /// Change a key first; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Show every key of the configuration instead of the data sheet
    #[arg(long)]
    keys: bool,
    /// Print the data as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Configuration of a GPU
    Gpu,
}

/// Parses the kind of the thing. Other commands show the other kinds.
fn kind(text: &str) -> Result<Kind, String> {
    Err(match text {
        "gpu" => return Ok(Kind::Gpu),
        "figure" => {
            "`warploom list figures` lists figures, and `warploom reproduce FIGURE --dry-run` \
                     the runs of one"
        }
        "workload" => "`warploom list workloads` describes workloads",
        "policy" => "`warploom list policies` describes policies",
        "key" | "keys" => {
            "`warploom list keys` describes keys, and `warploom show gpu PRESET --keys` \
                           shows their values"
        }
        "stat" | "stats" => "`warploom list stats` describes statistics",
        _ => {
            "a machine is all that can be shown: write `warploom show gpu PRESET`; `warploom list` \
              describes workloads, policies, keys, statistics and figures"
        }
    }
    .to_owned())
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Kind::Gpu = args.what;
    let gpu = told_spec(&args.name, &args.sets)?;
    let about = find(&args.name).map(Preset::about);
    match (args.keys, args.json) {
        (true, true) => print_json(&settings(&gpu))?,
        (true, false) => print(&(gpu.to_toml() + &unused(&gpu)))?,
        (false, true) => print_json(&SheetJson {
            about,
            sheet: Sheet::new(&gpu),
            policies: policies(&gpu).into_iter().collect(),
        })?,
        (false, false) => {
            let policies = policies(&gpu);
            let sheet = Sheet::new(&gpu);
            print(&sheet::text(&sheet, about.as_deref(), &policies, width()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(serde::Serialize)]
struct SheetJson {
    /// Description of a preset; absent for a file.
    about: Option<String>,
    #[serde(flatten)]
    sheet: Sheet,
    /// Policies in force, by key.
    policies: BTreeMap<String, String>,
}

/// Policies in force: each key that chooses a policy, with its value.
fn policies(gpu: &GpuSpec) -> Vec<(String, String)> {
    let settings = gpu.settings();
    let mut keys: Vec<_> = warploom_policy::all().map(|policy| policy.key).collect();
    keys.dedup();
    keys.extend(["gpu.max_blocks_per_sm", "dram.scheduler"]);
    let value = |key: &str| match settings.get(key) {
        Some(Setting::Text(text)) => text.clone(),
        Some(Setting::Integer(number)) => number.to_string(),
        other => unreachable!("`{key}` is {other:?}"),
    };
    keys.into_iter()
        .map(|key| (key.to_owned(), value(key)))
        .collect()
}

/// Comment that names the settings of policies that are not in force, which the machine has no
/// values of.
fn unused(gpu: &GpuSpec) -> String {
    let shown = gpu.settings();
    let keys = warploom_config::keys().into_iter().map(|key| key.name);
    let keys: Vec<_> = keys.filter(|key| !shown.contains_key(key)).collect();
    let names = keys.join(", ");
    let lines = [
        wrapped(
            "",
            "Not shown: settings of policies that are not in force. With `--set KEY=POLICY`, such as \
             `--set sm.warp_scheduler=two-level`, those of the policy are shown with their values. \
             `warploom list keys` and docs/generated/keys.md describe them:",
            Some(96),
        ),
        wrapped("  ", &names, Some(96)),
    ];
    let lines = lines.concat();
    let comment: String = lines.lines().map(|line| format!("# {line}\n")).collect();
    format!("\n{comment}")
}

fn settings(gpu: &GpuSpec) -> BTreeMap<String, Value> {
    let value = |setting: Setting| match setting {
        Setting::Bool(on) => Value::from(on),
        Setting::Integer(number) => Value::from(number),
        Setting::Float(number) => Value::from(number),
        Setting::Text(text) => Value::from(text),
    };
    gpu.settings()
        .into_iter()
        .map(|(key, setting)| (key, value(setting)))
        .collect()
}
