//! From the settings of a run to its input and machine.

use super::programs::{FileDigests, ProgramRun, RunningProgram};
use crate::cuda_source::{Compiled, is_cuda};
use crate::failure::Failure;
use crate::gpu::{GpuArgs, base};
use crate::launch_args::LaunchArgs;
use crate::target;
use crate::timed_args::percentage;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use warploom_config::{Key, UnreadKeys, preset};
use warploom_lab::{Allocate, Input, MachineVariant, Mix, RunSpec, bound};
use warploom_regalloc::Method;
use warploom_stats::result::{Launches, RunReport};
use warploom_sweep::{PlannedRun, Refused, Resolved, RunBound, Settings, Simulator, setting};
use warploom_workloads::Size;

/// Number of inputs and of machines that are kept for further runs.
const KEPT: usize = 64;

/// Finds inputs and machines, and keeps the last of them for further runs.
#[derive(Default)]
pub struct Finder {
    machines: HashMap<String, MachineVariant>,
    inputs: HashMap<String, Input>,
    /// CUDA source code that was compiled for inputs.
    pub compiled: Compiled,
    digests: FileDigests,
    /// Shares of the networks' peaks that machines sustain, by the machines' digests.
    sustainable: HashMap<String, f64>,
    /// Folder for files of programs.
    temporary: PathBuf,
    running: RunningProgram,
    /// Largest resident memory of the last program in bytes, 0 after other runs.
    program_memory: u64,
}

/// A run whose settings are understood.
enum Found {
    Simulation(Box<RunSpec>),
    Program(ProgramRun),
}

impl Found {
    fn identity(&self) -> String {
        match self {
            Self::Simulation(spec) => spec.key().text().to_owned(),
            Self::Program(program) => program.identity.clone(),
        }
    }
}

impl Finder {
    /// A finder whose programs have their files in a folder. `running` tells which one runs.
    pub fn serving(temporary: &Path, running: RunningProgram) -> Self {
        Self {
            temporary: temporary.to_owned(),
            running,
            ..Self::default()
        }
    }

    fn find(&mut self, settings: &Settings) -> Result<Found, String> {
        match (setting(settings, "app"), setting(settings, "target")) {
            (Some(_), Some(_)) => Err(
                "the run has both `app` and `target`\n  = help: write each in a [[product]] of its own"
                    .to_owned(),
            ),
            (Some(_), None) if setting(settings, "max_launches").is_some() => Err(
                "a CUDA program does not stop after `max_launches`\n  = help: write the axis \
                 `launches = \"..4\"` to time its first four, and the others are executed"
                    .to_owned(),
            ),
            (Some(app), None) => {
                let machine = self.machine(&[], settings)?;
                let program = ProgramRun::find(app, settings, &machine, &mut self.digests);
                program.map(Found::Program)
            }
            (None, _) => Ok(Found::Simulation(Box::new(self.spec(settings)?))),
        }
    }

    /// The run of these settings, which name no program.
    fn spec(&mut self, settings: &Settings) -> Result<RunSpec, String> {
        let target = setting(settings, "target")
            .ok_or("the run has no `target`\n  = help: write the axis `target` under [axes]")?;
        let targets: Vec<String> = target.split(" + ").map(str::to_owned).collect();
        let mut inputs = Vec::new();
        for target in &targets {
            inputs.push(self.input(target, settings)?);
        }
        let machine = self.machine(&targets, settings)?;
        let first = inputs.remove(0);
        let kernels = setting(settings, "time_kernel").unwrap_or_default();
        let max_launches = number(settings, "max_launches")?;
        if max_launches.is_some() && !inputs.is_empty() {
            return Err(
                "`max_launches` is for one program\n  = help: `max_cycles` cuts several".to_owned(),
            );
        }
        let sample_error = sample_error(settings)?;
        let with = [
            "max_cycles",
            "max_launches",
            "time_kernel",
            "again",
            "instructions",
        ];
        let with = with
            .into_iter()
            .find(|name| setting(settings, name).is_some());
        let several = (!inputs.is_empty()).then_some("several programs at once");
        if let (Some(_), Some(other)) = (sample_error, with.or(several)) {
            return Err(format!(
                "`sample_error` cannot be had with {other}: it is for whole programs that run alone, and \
                 chooses by itself what is timed\n  = help: leave one of the two out"
            ));
        }
        Ok(RunSpec {
            sample_error,
            max_cycles: number(settings, "max_cycles")?,
            max_launches,
            window_cycles: number(settings, "window_cycles")?,
            from_analysis_start: is_on(settings, "from_analysis_start")?,
            time_kernels: kernels.split_whitespace().map(str::to_owned).collect(),
            sharing: is_on(settings, "sharing")?,
            mix: mix(inputs, settings)?,
            ..RunSpec::new(&first, &machine)
        })
    }

    /// Adds the machine of a run whose settings are understood, and the keys that the run sets.
    pub fn tell_keys(&mut self, settings: &Settings, unread: &mut UnreadKeys) {
        let target = setting(settings, "target").unwrap_or_default();
        let targets: Vec<String> = target.split(" + ").map(str::to_owned).collect();
        if let Ok(machine) = self.machine(&targets, settings) {
            let names = settings.iter().map(|(name, _)| name.as_str());
            unread.add(names, &machine.spec);
        }
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
        let gpu = gpu.name_quietly(targets);
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
        let key = INPUT.map(part);
        let key = format!("{target}\n{}", key.join("\n"));
        if let Some(known) = self.inputs.get(&key) {
            return Ok(known.clone());
        }
        let input = input(target, settings, &mut self.compiled)?;
        keep(&mut self.inputs, key, input.clone());
        Ok(input)
    }
}

/// Settings that describe an input, beside its target.
const INPUT: [&str; 11] = [
    "size",
    "seed",
    "allocate",
    "spill_shared",
    "in_shared",
    "allocator",
    "kernel",
    "grid",
    "block",
    "args",
    "shared",
];

/// Programs that run with the first one, if there are any.
fn mix(others: Vec<Input>, settings: &Settings) -> Result<Option<Mix>, String> {
    let again = is_on(settings, "again")?;
    let listed = setting(settings, "instructions").unwrap_or_default();
    let targets: Result<Vec<u64>, _> = listed.split_whitespace().map(str::parse).collect();
    let targets = targets.map_err(|_| {
        format!("`instructions` is `{listed}`\n  = help: write whole numbers, separated by spaces")
    })?;
    if !targets.is_empty() && targets.len() != others.len() + 1 {
        return Err(format!(
            "`instructions` has {} numbers for {} programs\n  = help: write one for each, separated by \
             spaces",
            targets.len(),
            others.len() + 1
        ));
    }
    if again && number(settings, "max_cycles")?.is_none() {
        return Err("programs that restart never end\n  = help: set `max_cycles`, too".to_owned());
    }
    let is_mix = !others.is_empty() || again || !targets.is_empty();
    Ok(is_mix.then_some(Mix {
        others,
        targets,
        again,
    }))
}

fn keep<T>(kept: &mut HashMap<String, T>, key: String, value: T) {
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, value);
}

fn input(target: &str, settings: &Settings, compiled: &mut Compiled) -> Result<Input, String> {
    let size = size(settings)?;
    let seed = number(settings, "seed")?.unwrap_or(1);
    if let Some(registers) = small(settings, "allocate")? {
        if [".ptx", ".toml", ".cu"]
            .iter()
            .any(|end| target.ends_with(end))
        {
            return Err(format!(
                "`allocate` needs a workload, and `{target}` is a file\n  = help: let `warploom crat` \
                 write allocated PTX, and name that as the target"
            ));
        }
        let how = Allocate {
            shared_bytes: small(settings, "spill_shared")?.unwrap_or(0),
            in_shared: setting(settings, "in_shared").map(str::to_owned),
            method: method(settings)?,
            ..Allocate::local(registers)
        };
        return Input::allocated(target, size, seed, &how);
    }
    if setting(settings, "spill_shared")
        .or(setting(settings, "in_shared"))
        .or(setting(settings, "allocator"))
        .is_some()
    {
        return Err("settings of the allocator need `allocate`\n  = help: set it, too".to_owned());
    }
    let of = |name: &str| setting(settings, name);
    let mut launch = LaunchArgs::of_texts(of("kernel"), of("grid"), of("block"), of("args"))?;
    launch.shared = small(settings, "shared")?;
    target::input(target, size, seed, &launch, compiled).map_err(text)
}

/// Size of a workload.
fn size(settings: &Settings) -> Result<Size, String> {
    let size = setting(settings, "size").unwrap_or("small");
    size.parse().map_err(|error| format!("{error}"))
}

/// The allocator's method of spilling.
fn method(settings: &Settings) -> Result<Method, String> {
    match setting(settings, "allocator") {
        None | Some("full") => Ok(Method::Full),
        Some("chaitin-briggs") => Ok(Method::ChaitinBriggs),
        Some(other) => Err(format!(
            "there is no allocator `{other}`\n  = help: write full or chaitin-briggs"
        )),
    }
}

/// Value of a setting that is a number of 32 bits.
fn small(settings: &Settings, name: &str) -> Result<Option<u32>, String> {
    let number = number(settings, name)?.map(u32::try_from).transpose();
    number.map_err(|_| format!("`{name}` is too large\n  = help: write a smaller number"))
}

/// Value of a setting that is true or false; false without it.
fn is_on(settings: &Settings, name: &str) -> Result<bool, String> {
    let text = setting(settings, name).unwrap_or("false");
    let on = text.parse();
    on.map_err(|_| format!("`{name}` is `{text}`\n  = help: write true or false"))
}

/// Bound of the error of a sampled run, if the run is sampled.
fn sample_error(settings: &Settings) -> Result<Option<f64>, String> {
    let bound = setting(settings, "sample_error")
        .map(percentage)
        .transpose();
    bound.map_err(|told| {
        let value = setting(settings, "sample_error").unwrap_or_default();
        format!("`sample_error` is `{value}`{HELP}{told}")
    })
}

/// Value of a setting that is a whole number.
pub fn number(settings: &Settings, name: &str) -> Result<Option<u64>, String> {
    let Some(text) = setting(settings, name) else {
        return Ok(None);
    };
    let wrong = |_| format!("`{name}` is `{text}`\n  = help: write a whole number");
    text.parse().map(Some).map_err(wrong)
}

/// Text of an error, without the mark of an error.
pub fn text(failure: Failure) -> String {
    let text = failure.text();
    text.trim().trim_start_matches("error: ").to_owned()
}

/// Checks the value of a setting by itself, as far as no file is needed for that.
///
/// # Errors
/// The reason of the refusal, with remedies.
pub fn check(keys: &[Key], name: &str, value: &str) -> Result<(), Refused> {
    if let Some(key) = keys.iter().find(|key| key.name == name) {
        return key.check(value).map_err(|refusal| Refused {
            reason: format!("`{name}`: {}", refusal.reason),
            help: vec![refusal.remedy],
        });
    }
    let settings = vec![(name.to_owned(), value.to_owned())];
    let checked = match name {
        "seed" => number(&settings, name).map(drop),
        "max_cycles" | "max_launches" => match number(&settings, name) {
            Ok(Some(0)) => Err(format!("`{name}` is 0{HELP}write 1 or more")),
            checked => checked.map(drop),
        },
        "allocate" | "spill_shared" | "shared" => small(&settings, name).map(drop),
        "again" => is_on(&settings, name).map(drop),
        "sample_error" => sample_error(&settings).map(drop),
        "allocator" => method(&settings).map(drop),
        "size" => size(&settings).map(drop),
        "target" => value.split(" + ").try_for_each(check_target),
        "gpu" if !is_file(value) => check_preset(value),
        _ => Ok(()),
    };
    checked.map_err(|text| {
        let mut parts = text.split(HELP).map(str::to_owned);
        Refused {
            reason: parts.next().unwrap_or_default(),
            help: parts.collect(),
        }
    })
}

/// Mark between a message and each of its remedies.
const HELP: &str = "\n  = help: ";

fn check_target(target: &str) -> Result<(), String> {
    if is_file(target) {
        return Ok(());
    }
    let (launch, mut compiled) = Default::default();
    let found = target::input(target, Size::Test, 1, &launch, &mut compiled);
    found.map(drop).map_err(text)
}

fn check_preset(name: &str) -> Result<(), String> {
    let errors = preset(name).err();
    let problem = errors.as_ref().and_then(|errors| errors.iter().next());
    problem.map_or(Ok(()), |problem| {
        let parts = [std::slice::from_ref(&problem.message), &problem.help].concat();
        Err(parts.join(HELP))
    })
}

/// Facts of a run for the plan.
pub fn resolve(finder: &mut Finder, settings: &Settings) -> Result<Resolved, String> {
    let found = finder.find(settings)?;
    let (command, weight) = match &found {
        Found::Simulation(spec) => (spec.command(), spec.weight()),
        Found::Program(program) => (program.command.clone(), 0),
    };
    let (machine, launches) = match &found {
        Found::Simulation(spec) => (spec.machine.title(), spec.launches()),
        Found::Program(_) => (finder.machine(&[], settings)?.title(), Launches::default()),
    };
    Ok(Resolved {
        identity: found.identity(),
        subject: subject(settings),
        command,
        weight,
        machine,
        launches,
    })
}

/// Settings that decide how much of which program a run times.
const WORK: [&str; 15] = [
    "target",
    "app",
    "size",
    "max_cycles",
    "max_launches",
    "sample_error",
    "instructions",
    "again",
    "launches",
    "kernel",
    "time_kernel",
    "grid",
    "block",
    "args",
    "sharing",
];

/// Everything that decides the amount of a run's work, by which runs of similar length are found.
fn subject(settings: &Settings) -> String {
    let of = |name: &&str| {
        let default = (*name == "size").then_some("small");
        let value = setting(settings, name).or(default)?;
        Some(format!("{name}={value}"))
    };
    WORK.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// True if a target or machine is named by a file.
fn is_file(text: &str) -> bool {
    let ends = [".toml", ".ptx", ".config"];
    ends.iter().any(|end| text.ends_with(end)) || is_cuda(text)
}

/// Settings whose files are named by absolute paths, because workers run in other folders.
pub fn rooted(settings: &Settings, folder: &Path) -> Settings {
    let path = |text: &str| match is_file(text) {
        true => folder.join(text).to_string_lossy().into_owned(),
        false => text.to_owned(),
    };
    let inside = |text: &str| folder.join(text).to_string_lossy().into_owned();
    let rooted = |(name, value): &(String, String)| match name.as_str() {
        "target" | "gpu" => {
            let parts: Vec<String> = value.split(" + ").map(path).collect();
            (name.clone(), parts.join(" + "))
        }
        "folder" => (name.clone(), inside(value)),
        _ => (name.clone(), value.clone()),
    };
    let mut rooted: Settings = settings.iter().map(rooted).collect();
    if setting(settings, "app").is_some() && setting(settings, "folder").is_none() {
        rooted.push(("folder".to_owned(), folder.to_string_lossy().into_owned()));
    }
    rooted
}

impl Simulator for Finder {
    fn simulate(&mut self, run: &PlannedRun) -> Result<RunReport, String> {
        self.program_memory = 0;
        let found = self.find(&run.settings)?;
        if found.identity() != run.identity {
            return Err(
                "a file that the run reads has changed since the sweep began\n  = help: begin the \
                 sweep again with `warploom sweep SPEC.toml`"
                    .to_owned(),
            );
        }
        match found {
            Found::Simulation(spec) => spec.simulate(&mut |_| ControlFlow::Continue(())),
            Found::Program(program) => {
                let (report, memory) = program.simulate(&self.temporary, &self.running)?;
                self.program_memory = memory;
                Ok(report)
            }
        }
    }

    fn bound(&mut self, run: &PlannedRun, report: &RunReport) -> RunBound {
        let targets = setting(&run.settings, "target").unwrap_or_default();
        let targets: Vec<String> = targets.split(" + ").map(str::to_owned).collect();
        let Ok(machine) = self.machine(&targets, &run.settings) else {
            return RunBound::default();
        };
        let sustainable = self.sustainable.entry(machine.spec.digest());
        let sustainable = *sustainable.or_insert_with(|| warploom_noc::sustainable(&machine.spec));
        match bound(&machine.spec, sustainable, report) {
            Some(bound) => RunBound {
                without_policy: bound.without_policy.map(str::to_owned),
                name: Some(bound.name),
            },
            None => RunBound::default(),
        }
    }

    fn memory_of_others(&self) -> u64 {
        self.program_memory
    }
}
