//! `warploom show`.

use crate::failure::Failure;
use crate::gpu::spec;
use crate::output::{print, print_json};
use clap::ValueEnum;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;
use warploom_config::{GpuSpec, Setting};

const EXAMPLES: &str = "\
Examples:
  warploom show gpu gtx480                   every key with value, unit and meaning, as TOML
  warploom show gpu gtx480 > my-gpu.toml     a GPU of your own to change
  warploom show gpu my-gpu.toml --set gpu.sms=30 --json";

/// Show all of one thing
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to show
    what: Kind,
    /// Preset (`warploom list gpus`), TOML file or GPGPU-Sim's gpgpusim.config
    #[arg(value_name = "PRESET-or-FILE")]
    name: String,
    /// Change one key first; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Print as JSON: every key with its value
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A GPU's configuration
    Gpu,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Kind::Gpu = args.what;
    let gpu = spec(&args.name, &args.sets)?;
    match args.json {
        true => print_json(&settings(&gpu))?,
        false => print(&gpu.to_toml())?,
    }
    Ok(ExitCode::SUCCESS)
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
