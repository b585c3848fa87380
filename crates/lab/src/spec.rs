//! Specifications of runs: an input, a machine, and the cycle at which the run is cut.

use crate::allocated::Allocate;
use std::fmt;
use std::sync::Arc;
use warploom_base::Digest;
use warploom_config::{Base, ConfigErrors, GpuSpec, find, resolve};
use warploom_regalloc::Method;
use warploom_run::HostProgram;
use warploom_stats::result::Launches;
use warploom_workloads::{LaunchShape, Size, Target, Times, UnknownTarget, architecture};

/// Seed of every workload's inputs in figures; the default of `warploom run`.
pub const SEED: u64 = 1;

/// Function that creates an input's host program for a machine.
type Make = dyn Fn(&GpuSpec) -> Result<Box<dyn HostProgram>, String> + Send + Sync;

/// A program with its data, which can run any number of times.
#[derive(Clone)]
pub struct Input {
    name: String,
    /// Arguments of `warploom run`: the target, and options after it.
    target: String,
    options: String,
    /// Settings by which a workload is found again, beside its name; `None` for other inputs.
    settings: Option<Vec<(String, String)>>,
    /// Allocation of its kernel, if it is allocated before it runs.
    allocated: Option<Allocate>,
    pub(crate) digest: String,
    /// Approximate number of threads that it launches; long runs start first.
    weight: u64,
    /// Launches that it makes, as far as that is known.
    launches: Launches,
    make: Arc<Make>,
}

impl Input {
    /// Creates an input of any kind. `args` are the arguments of `warploom run`. Equal digests mean
    /// equal inputs.
    pub fn new(
        name: impl Into<String>,
        args: impl Into<String>,
        digest: impl Into<String>,
        make: impl Fn(&GpuSpec) -> Result<Box<dyn HostProgram>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            target: args.into(),
            options: String::new(),
            settings: None,
            allocated: None,
            digest: digest.into(),
            weight: 0,
            launches: Launches::default(),
            make: Arc::new(make),
        }
    }

    /// A workload by any of its names.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn workload(name: &str, size: Size, seed: u64) -> Result<Self, UnknownTarget> {
        let target = Target::resolve(name)?;
        let mut digest = Digest::new();
        let kernel = target.kernel.map_or("", |kernel| kernel.name);
        digest
            .str(target.workload.name)
            .str(target.variant.name)
            .str(kernel)
            .u64(target.registers().map_or(0, u64::from))
            .str(size.name())
            .u64(seed)
            .str(target.workload.ptx);
        let seed_args = match seed {
            SEED => String::new(),
            seed => format!(" --seed {seed}"),
        };
        let options = format!(" --size {size}{seed_args}");
        let make = move |gpu: &GpuSpec| Ok(target.program_on(size, seed, architecture(&gpu.name)));
        let settings = [("size", size.to_string()), ("seed", seed.to_string())];
        Ok(Self {
            weight: threads(&target, size),
            launches: launches(&target, size),
            options,
            settings: Some(named(settings)),
            ..Self::new(name, name, digest.hex(), make)
        })
    }

    /// The same input with its kernel allocated, made in another way.
    pub(crate) fn allocated_by(
        self,
        how: &Allocate,
        digest: String,
        make: impl Fn(&GpuSpec) -> Result<Box<dyn HostProgram>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings: self.settings.map(|own| [own, how.settings()].concat()),
            allocated: Some(how.clone()),
            digest,
            make: Arc::new(make),
            ..self
        }
    }

    /// Input with the number of launches that it is known to make.
    #[must_use]
    pub fn with_launches(self, number: u64) -> Self {
        let launches = Launches {
            least: number,
            is_exact: true,
        };
        Self { launches, ..self }
    }

    /// Launches that the program makes, as far as that is known.
    pub fn launches(&self) -> Launches {
        self.launches
    }

    /// Name of the input
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Host program of the input.
    ///
    /// # Errors
    /// If the input does not fit the machine, with the remedy.
    pub fn program(&self, gpu: &GpuSpec) -> Result<Box<dyn HostProgram>, String> {
        (self.make)(gpu)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allocation = allocation(std::iter::once(self));
        write!(f, "{}{}{allocation}", self.target, self.options)
    }
}

/// Settings with their names.
pub(crate) fn named(
    settings: impl IntoIterator<Item = (&'static str, String)>,
) -> Vec<(String, String)> {
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    settings.into_iter().map(owned).collect()
}

/// Arguments of `warploom run` for the allocations of programs, in their order.
fn allocation<'a>(programs: impl Iterator<Item = &'a Input>) -> String {
    let all: Vec<_> = programs.map(|input| input.allocated.as_ref()).collect();
    if all.iter().all(Option::is_none) {
        return String::new();
    }
    let list = |of: &dyn Fn(&Allocate) -> String| {
        let each = all.iter().map(|how| how.map_or("-".to_owned(), of));
        each.collect::<Vec<_>>().join(",")
    };
    let mut text = format!(" --allocate {}", list(&|how| how.registers.to_string()));
    if all.iter().flatten().any(|how| how.shared_bytes > 0) {
        let bytes = all
            .iter()
            .map(|how| how.map_or(0, |how| how.shared_bytes).to_string());
        text += &format!(" --spill-shared {}", bytes.collect::<Vec<_>>().join(","));
    }
    for register in all
        .iter()
        .flatten()
        .filter_map(|how| how.in_shared.as_ref())
    {
        text += &format!(" --in-shared {register}");
    }
    if all
        .iter()
        .flatten()
        .any(|how| how.method == Method::ChaitinBriggs)
    {
        text += " --allocator chaitin-briggs";
    }
    text
}

/// Number of threads of all launches. Launches that repeat until done count once.
fn threads(target: &Target, size: Size) -> u64 {
    let launches = target.launches(size);
    let of = |shape: &LaunchShape| {
        let times = match shape.times {
            Times::Fixed(times) => u64::from(times),
            Times::UntilDone => 1,
        };
        shape.grid.count() * shape.block.count() * times
    };
    launches.iter().map(of).sum()
}

/// Launches that a workload makes. Those that repeat until done are made at least once.
fn launches(target: &Target, size: Size) -> Launches {
    let shapes = target.launches(size);
    let times = shapes.iter().map(|shape| match shape.times {
        Times::Fixed(times) => u64::from(times),
        Times::UntilDone => 1,
    });
    let is_fixed = |shape: &LaunchShape| matches!(shape.times, Times::Fixed(_));
    Launches {
        least: times.sum(),
        is_exact: shapes.iter().all(is_fixed),
    }
}

/// A variant of a machine: a base and its changes.
#[derive(Clone, Debug)]
pub struct MachineVariant {
    /// Name of the machine in a figure.
    pub name: String,
    /// Name of the preset or file.
    pub gpu: String,
    /// Changes in the form `KEY=VALUE`.
    pub sets: Vec<String>,
    /// Specification with the changes.
    pub spec: Arc<GpuSpec>,
    /// Specification without the changes.
    pub base: Arc<GpuSpec>,
}

impl MachineVariant {
    /// A preset with changes.
    ///
    /// # Errors
    /// All errors in the preset's name or the changes.
    pub fn preset(name: &str, gpu: &str, sets: &[&str]) -> Result<Self, ConfigErrors> {
        Self::new(name, gpu, &Base::Preset(gpu.to_owned()), owned(sets))
    }

    /// A base with changes. `gpu` is the base's name for users.
    ///
    /// # Errors
    /// All errors in the base or the changes.
    pub fn new(
        name: &str,
        gpu: &str,
        base: &Base,
        sets: Vec<String>,
    ) -> Result<Self, ConfigErrors> {
        Ok(Self {
            name: name.to_owned(),
            gpu: gpu.to_owned(),
            spec: Arc::new(resolve(base, &sets)?),
            base: Arc::new(resolve(base, &[])?),
            sets,
        })
    }

    /// Name of the machine without the changes, for titles.
    pub fn title(&self) -> String {
        machine_name(&self.gpu, &self.base.name)
    }
}

/// Name of a machine for people: its own, or that of the file `gpu` without folder and ending where
/// the file leaves it the name of a preset.
pub(crate) fn machine_name(gpu: &str, own: &str) -> String {
    let stem = std::path::Path::new(gpu).file_stem();
    match (find(own), find(gpu), stem) {
        (Some(_), None, Some(stem)) => stem.to_string_lossy().into_owned(),
        _ => own.to_owned(),
    }
}

fn owned(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|set| (*set).to_owned()).collect()
}

/// Programs that run at once with the first, and their targets.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    /// All programs except for the first.
    pub others: Vec<Input>,
    /// Thread instructions at which each program is halted, beginning with the first. If empty,
    /// they run to their ends.
    pub targets: Vec<u64>,
    /// True if programs that end restart, until their targets or the run's end.
    pub again: bool,
}

/// A run on which a figure is based.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Input of the run.
    pub input: Input,
    /// Machine of the run.
    pub machine: MachineVariant,
    /// Core cycle after which it stops, where the paper does so.
    pub max_cycles: Option<u64>,
    /// Number of launches after which it stops, if there is a limit.
    pub max_launches: Option<u64>,
    /// Number of core cycles in a window, if windows are recorded.
    pub window_cycles: Option<u64>,
    /// True if it begins with the first launch that analyses consider; earlier ones are executed
    /// without timing.
    pub from_analysis_start: bool,
    /// Parts of names of the kernels to time; if empty, all are timed.
    pub time_kernels: Vec<String>,
    /// Programs that run together with the input, if any.
    pub mix: Option<Mix>,
    /// True to execute without timing, and count the cache lines that blocks share.
    pub sharing: bool,
    /// Bound of the relative error of the cycles, if only as many launches are timed as it takes.
    pub sample_error: Option<f64>,
}

impl RunSpec {
    /// A run to its end, without windows.
    pub fn new(input: &Input, machine: &MachineVariant) -> Self {
        Self {
            input: input.clone(),
            machine: machine.clone(),
            max_cycles: None,
            max_launches: None,
            window_cycles: None,
            from_analysis_start: false,
            time_kernels: Vec::new(),
            mix: None,
            sharing: false,
            sample_error: None,
        }
    }

    /// Key of the run: equal inputs, machines and options give one key, independent of names.
    pub fn key(&self) -> RunKey {
        let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let start = if self.from_analysis_start {
            "/analysis"
        } else {
            ""
        };
        let mix = self.mix.as_ref().map_or(String::new(), |mix| {
            let others = mix.others.iter().map(|input| input.digest.as_str());
            let others: Vec<&str> = others.collect();
            let Mix { targets, again, .. } = mix;
            format!("/{}/{targets:?}/{again}", others.join("+"))
        });
        let kernels = match self.time_kernels.as_slice() {
            [] => String::new(),
            names => format!("/{}", names.join("+")),
        };
        let launches = match self.max_launches {
            None => String::new(),
            Some(launches) => format!("/{launches} launches"),
        };
        let sampled = self.sample_error.map(|bound| format!("/sampled {bound}"));
        let sampled = sampled.unwrap_or_default();
        RunKey(format!(
            "{}/{}/{}/{}{}{start}{launches}{kernels}{mix}{sampled}",
            self.input.digest,
            self.machine.spec.digest(),
            number(self.max_cycles),
            number(self.window_cycles),
            if self.sharing { "/sharing" } else { "" }
        ))
    }

    /// Settings by which the run is found again in another process, each with its name; `None` if
    /// an input is no workload, or programs of a mix have different sizes.
    pub fn settings(&self) -> Option<Vec<(String, String)>> {
        let others = || self.mix.iter().flat_map(|mix| &mix.others);
        let common = self.input.settings.clone()?;
        if others().any(|other| other.settings.as_ref() != Some(&common)) {
            return None;
        }
        let targets = others().map(|other| format!(" + {}", other.target));
        let target = self.input.target.clone() + &targets.collect::<String>();
        let flag = |on: bool| on.then(|| "true".to_owned());
        let text = |number: Option<u64>| number.map(|number| number.to_string());
        let words = |words: Vec<String>| Some(words.join(" ")).filter(|text| !text.is_empty());
        let mix = self.mix.as_ref();
        let targets = mix.map_or(Vec::new(), |mix| mix.targets.clone());
        let optional = [
            ("max_cycles", text(self.max_cycles)),
            ("max_launches", text(self.max_launches)),
            ("window_cycles", text(self.window_cycles)),
            ("from_analysis_start", flag(self.from_analysis_start)),
            ("time_kernel", words(self.time_kernels.clone())),
            ("sharing", flag(self.sharing)),
            ("sample_error", self.sample_error.map(percent)),
            ("again", flag(mix.is_some_and(|mix| mix.again))),
            (
                "instructions",
                words(targets.iter().map(u64::to_string).collect()),
            ),
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let first = [("target", target), ("gpu", self.machine.gpu.clone())];
        let sets = self.machine.sets.iter().filter_map(|set| {
            let (key, value) = set.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        });
        Some([named(first), common, named(optional), sets.collect()].concat())
    }

    /// Command that makes this run.
    pub fn command(&self) -> String {
        // Only `analyze` determines its first launch by itself.
        let verb = if self.from_analysis_start {
            "analyze"
        } else {
            "run"
        };
        let others = self.mix.iter().flat_map(|mix| &mix.others);
        let mut command = format!("warploom {verb} {}", self.input.target);
        for other in others {
            command += &format!(" {}", other.target);
        }
        let others = self.mix.iter().flat_map(|mix| &mix.others);
        command += &self.input.options;
        command += &allocation(std::iter::once(&self.input).chain(others));
        command += &format!(" --gpu {}", self.machine.gpu);
        for set in &self.machine.sets {
            command += &format!(" --set {set}");
        }
        for kernel in &self.time_kernels {
            command += &format!(" --time-kernel {kernel}");
        }
        if let Some(cycles) = self.max_cycles {
            command += &format!(" --max-cycles {cycles}");
        }
        if let Some(launches) = self.max_launches {
            command += &format!(" --max-launches {launches}");
        }
        if let Some(cycles) = self.window_cycles {
            command += &format!(" --window {cycles}");
        }
        if let Some(mix) = &self.mix {
            if !mix.targets.is_empty() {
                let targets: Vec<String> = mix.targets.iter().map(u64::to_string).collect();
                command += &format!(" --targets {}", targets.join(","));
            } else if mix.again {
                command += " --again";
            }
        }
        if self.sharing {
            command += " --functional --sharing";
        }
        if let Some(bound) = self.sample_error {
            command += &format!(" --sample-error {}", percent(bound));
        }
        command
    }

    /// Names of the target and the machine for people.
    pub fn label(&self) -> String {
        let others = self.mix.iter().flat_map(|mix| &mix.others);
        let names = others.map(|input| format!(" + {}", input.name));
        let others: String = names.collect();
        if self.sharing {
            format!("{} without timing", self.input.name)
        } else {
            format!("{}{others} on {}", self.input.name, self.machine.name)
        }
    }

    /// Launches that the program makes, as far as that is known and all of them are timed.
    pub fn launches(&self) -> Launches {
        let times_all = self.time_kernels.is_empty() && !self.from_analysis_start;
        match self.mix.is_none() && times_all {
            true => self.input.launches,
            false => Launches::default(),
        }
    }

    /// Amount of work, relative to other runs.
    pub fn weight(&self) -> u64 {
        let others = self.mix.iter().flat_map(|mix| &mix.others);
        self.input.weight + others.map(|input| input.weight).sum::<u64>()
    }
}

/// A fraction as a percentage of at most four decimals, such as `2%`.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{}%", (fraction * 1e6).round() / 1e4)
}

/// Key of a run, made of everything on which it depends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey(String);

impl RunKey {
    /// Text of the key.
    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, MachineVariant, RunSpec};
    use warploom_workloads::Size;

    fn run(workload: &str, size: Size, sets: &[&str]) -> RunSpec {
        let input = Input::workload(workload, size, 1).unwrap();
        RunSpec::new(
            &input,
            &MachineVariant::preset("any", "gtx480", sets).unwrap(),
        )
    }

    #[test]
    fn what_is_the_same_has_one_key_whatever_it_is_called() {
        let plain = run("vectoradd", Size::Test, &[]).key();
        let alias = run("cooperative/VectorAddition", Size::Test, &[]).key();
        assert_eq!(plain, alias);
        let default = run("vectoradd", Size::Test, &["sm.warp_scheduler=gto"]).key();
        let other = run("vectoradd", Size::Test, &["sm.warp_scheduler=lrr"]).key();
        assert_eq!(
            [&default, &other]
                .into_iter()
                .filter(|key| **key == plain)
                .count(),
            1
        );
    }

    #[test]
    fn what_differs_has_another_key() {
        let all = [
            run("vectoradd", Size::Test, &[]),
            run("vectoradd", Size::Small, &[]),
            run("slicer/MVP", Size::Test, &[]),
            run("spmv", Size::Test, &[]),
            run("vectoradd", Size::Test, &["gpu.sms=2"]),
            RunSpec {
                max_cycles: Some(100),
                ..run("vectoradd", Size::Test, &[])
            },
            RunSpec {
                max_launches: Some(100),
                ..run("vectoradd", Size::Test, &[])
            },
            RunSpec {
                window_cycles: Some(100),
                ..run("vectoradd", Size::Test, &[])
            },
            RunSpec {
                sharing: true,
                ..run("vectoradd", Size::Test, &[])
            },
            RunSpec {
                sample_error: Some(0.02),
                ..run("vectoradd", Size::Test, &[])
            },
            RunSpec {
                sample_error: Some(0.03),
                ..run("vectoradd", Size::Test, &[])
            },
        ];
        let keys: std::collections::BTreeSet<_> = all.iter().map(RunSpec::key).collect();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn a_run_says_how_to_make_it() {
        let run = RunSpec {
            max_cycles: Some(500),
            max_launches: Some(2),
            ..run("bfs", Size::Test, &["gpu.sms=2"])
        };
        assert_eq!(
            run.command(),
            "warploom run bfs --size test --gpu gtx480 --set gpu.sms=2 --max-cycles 500 \
             --max-launches 2"
        );
        let sampled = RunSpec {
            sample_error: Some(0.025),
            ..run.clone()
        };
        assert_eq!(sampled.command(), run.command() + " --sample-error 2.5%");
    }
}
