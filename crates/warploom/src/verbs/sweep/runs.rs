//! From the settings of a run to its input and machine.

use crate::failure::Failure;
use crate::gpu::{GpuArgs, base};
use crate::launch_args::LaunchArgs;
use crate::target;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use warploom_lab::{Allocate, Input, MachineVariant, Mix, RunSpec};
use warploom_stats::result::RunReport;
use warploom_sweep::{PlannedRun, Resolved, Settings, Simulator, setting};
use warploom_workloads::Size;

/// Number of inputs and of machines that are kept for further runs.
const KEPT: usize = 64;

/// Finds inputs and machines, and keeps the last of them for further runs.
#[derive(Default)]
pub struct Finder {
    machines: HashMap<String, MachineVariant>,
    inputs: HashMap<String, Input>,
}

impl Finder {
    /// The run of these settings.
    pub fn spec(&mut self, settings: &Settings) -> Result<RunSpec, String> {
        let target = setting(settings, "target")
            .ok_or("the run has no `target`\n  = help: write the axis `target` under [axes]")?;
        let targets: Vec<String> = target.split(" + ").map(str::to_owned).collect();
        let mut inputs = Vec::new();
        for target in &targets {
            inputs.push(self.input(target, settings)?);
        }
        let machine = self.machine(&targets, settings)?;
        let first = inputs.remove(0);
        Ok(RunSpec {
            max_cycles: number(settings, "max_cycles")?,
            mix: (!inputs.is_empty()).then_some(Mix {
                others: inputs,
                ..Mix::default()
            }),
            ..RunSpec::new(&first, &machine)
        })
    }

    fn machine(
        &mut self,
        targets: &[String],
        settings: &Settings,
    ) -> Result<MachineVariant, String> {
        let sets = settings.iter().filter(|(name, _)| name.contains('.'));
        let sets: Vec<String> = sets
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let gpu = GpuArgs {
            gpu: setting(settings, "gpu").map(str::to_owned),
            sets: Vec::new(),
        };
        let gpu = gpu.name(targets);
        let key = format!("{gpu} {}", sets.join(" "));
        if let Some(known) = self.machines.get(&key) {
            return Ok(known.clone());
        }
        let base = base(&gpu).map_err(text)?;
        let machine = MachineVariant::new(&gpu, &gpu, &base, sets);
        let machine = machine.map_err(|errors| text(errors.into()))?;
        keep(&mut self.machines, key, machine.clone());
        Ok(machine)
    }

    fn input(&mut self, target: &str, settings: &Settings) -> Result<Input, String> {
        let part = |name: &str| setting(settings, name).unwrap_or_default();
        let key = [
            "size", "seed", "allocate", "kernel", "grid", "block", "args",
        ]
        .map(part);
        let key = format!("{target}\n{}", key.join("\n"));
        if let Some(known) = self.inputs.get(&key) {
            return Ok(known.clone());
        }
        let input = input(target, settings)?;
        keep(&mut self.inputs, key, input.clone());
        Ok(input)
    }
}

fn keep<T>(kept: &mut HashMap<String, T>, key: String, value: T) {
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, value);
}

fn input(target: &str, settings: &Settings) -> Result<Input, String> {
    let size = setting(settings, "size").unwrap_or("small");
    let size: Size = size.parse().map_err(|error| format!("{error}"))?;
    let seed = number(settings, "seed")?.unwrap_or(1);
    if let Some(registers) = number(settings, "allocate")? {
        let registers = u32::try_from(registers).map_err(|error| error.to_string())?;
        return Input::allocated(target, size, seed, &Allocate::local(registers));
    }
    let of = |name: &str| setting(settings, name);
    let launch = LaunchArgs::of_texts(of("kernel"), of("grid"), of("block"), of("args"))?;
    target::input(target, size, seed, &launch).map_err(text)
}

fn number(settings: &Settings, name: &str) -> Result<Option<u64>, String> {
    let Some(text) = setting(settings, name) else {
        return Ok(None);
    };
    let wrong = |_| format!("`{name}` is `{text}`\n  = help: write a whole number");
    text.parse().map(Some).map_err(wrong)
}

/// Text of an error, without the mark of an error.
fn text(failure: Failure) -> String {
    let text = failure.text();
    text.trim().trim_start_matches("error: ").to_owned()
}

/// Facts of a run for the plan.
pub fn resolve(finder: &mut Finder, settings: &Settings) -> Result<Resolved, String> {
    let spec = finder.spec(settings)?;
    let target = setting(settings, "target").unwrap_or_default();
    let size = setting(settings, "size").unwrap_or("small");
    Ok(Resolved {
        identity: spec.key().text().to_owned(),
        subject: format!("{target} {size}"),
        command: spec.command(),
        weight: spec.weight(),
    })
}

/// Settings whose files are named by absolute paths, because workers run in other folders.
pub fn rooted(settings: &Settings, folder: &Path) -> Settings {
    let is_file = |text: &str| {
        let ends = [".toml", ".ptx", ".config"];
        ends.iter().any(|end| text.ends_with(end))
    };
    let path = |text: &str| match is_file(text) {
        true => folder.join(text).to_string_lossy().into_owned(),
        false => text.to_owned(),
    };
    let rooted = |(name, value): &(String, String)| match name.as_str() {
        "target" | "gpu" => {
            let parts: Vec<String> = value.split(" + ").map(path).collect();
            (name.clone(), parts.join(" + "))
        }
        _ => (name.clone(), value.clone()),
    };
    settings.iter().map(rooted).collect()
}

impl Simulator for Finder {
    fn simulate(&mut self, run: &PlannedRun) -> Result<RunReport, String> {
        let spec = self.spec(&run.settings)?;
        if spec.key().text() != run.identity {
            return Err(
                "a file that the run reads has changed since the sweep began\n  = help: begin the \
                 sweep again with `warploom sweep SPEC.toml`"
                    .to_owned(),
            );
        }
        spec.simulate(&mut |_| ControlFlow::Continue(()))
    }
}
