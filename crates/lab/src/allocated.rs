//! Workloads whose registers are allocated before they run (CRAT): PTX is converted to PTX, and
//! launches use the allocated number of registers.

use crate::spec::{Input, named};
use std::sync::Arc;
use warploom_base::Digest;
use warploom_config::GpuSpec;
use warploom_crat::{Kernel, Refusal};
use warploom_diag::{Source, Style};
use warploom_ptx::ast::Module;
use warploom_regalloc::{Method, Options, Place, SharedSpills, allocate_kernel};
use warploom_run::{Check, Device, HostAction, HostError, HostProgram, Substituted};
use warploom_workloads::{LaunchShape, Size, Target, architecture};

/// Architecture whose registers are the defaults: the oldest that today's `ptxas` supports, and so
/// the nearest to Fermi and GK104.
const ASSEMBLED: &str = "sm_50";

/// Settings of the allocation of a workload's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocate {
    /// Registers of a thread: the limit of the allocation, and the number that launches use.
    pub registers: u32,
    /// Shared memory of a block for spilled values, in bytes. Other spilled values are in local
    /// memory.
    pub shared_bytes: u32,
    /// A register of the kernel that must be in shared memory.
    pub in_shared: Option<String>,
    /// The rule by which values are spilled.
    pub method: Method,
}

impl Allocate {
    /// Allocation with spilled values in local memory.
    pub fn local(registers: u32) -> Self {
        Self {
            registers,
            shared_bytes: 0,
            in_shared: None,
            method: Method::Full,
        }
    }

    /// Settings of a run with this allocation.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut settings = vec![("allocate", self.registers.to_string())];
        if self.shared_bytes > 0 {
            settings.push(("spill_shared", self.shared_bytes.to_string()));
        }
        let kept = self.in_shared.clone();
        settings.extend(kept.map(|register| ("in_shared", register)));
        if self.method == Method::ChaitinBriggs {
            settings.push(("allocator", "chaitin-briggs".to_owned()));
        }
        named(settings)
    }

    /// Options of the allocator for a kernel with this block.
    fn options(&self, block: [u32; 3]) -> Options {
        let shared = self.shared_bytes > 0 || self.in_shared.is_some();
        let kept = self.in_shared.iter();
        Options {
            registers: Some(self.registers),
            method: self.method,
            shared: shared.then_some(SharedSpills {
                block,
                spare_bytes: self.shared_bytes,
                weigh_loops: false,
            }),
            kept: kept.map(|name| (name.clone(), Place::Shared)).collect(),
            ..Options::default()
        }
    }
}

/// A workload whose kernel can be allocated.
#[derive(Clone, Debug)]
pub struct Subject {
    target: Target,
    source: Arc<Source>,
    module: Module,
    /// Launches of the kernel under study, beginning with the one of most threads.
    launches: Vec<LaunchShape>,
    /// True if there are launches of other kernels.
    pub has_others: bool,
}

impl Subject {
    /// Finds the kernel of a target, or all kernels of a workload if the target names none.
    ///
    /// # Errors
    /// If the name is unknown, or if the allocator cannot read the workload's PTX.
    pub fn new(name: &str, size: Size) -> Result<Self, String> {
        let target = Target::resolve(name).map_err(|unknown| unknown.to_string())?;
        let source = Source::new(target.workload.name, target.workload.ptx);
        let (module, _warnings) =
            warploom_ptx::load(&source).map_err(|why| why.render(&source, Style::Plain))?;
        let meant = |launch: &LaunchShape| {
            let kernel = target.kernel;
            kernel.is_none_or(|kernel| kernel.entries.contains(&launch.entry))
        };
        let (mut launches, others): (Vec<_>, Vec<_>) =
            target.launches(size).into_iter().partition(meant);
        launches
            .sort_by_key(|launch| std::cmp::Reverse(launch.grid.count() * launch.block.count()));
        Ok(Self {
            target,
            source: Arc::new(source),
            module,
            launches,
            has_others: !others.is_empty(),
        })
    }

    /// The kernel with its largest launch.
    ///
    /// # Errors
    /// If the workload has no kernel that can be executed.
    pub fn kernel(&self) -> Result<Kernel, Refusal> {
        let launch = self.largest();
        let block = [launch.block.x, launch.block.y, launch.block.z];
        let kernel = Kernel::new(self.module.clone(), &self.source, launch.entry, block)?;
        Ok(kernel.with_dynamic_shared(launch.dynamic_shared_bytes))
    }

    /// The launch of most threads.
    pub fn largest(&self) -> &LaunchShape {
        self.launches.first().expect("a workload has launches")
    }

    /// PTX entries of the kernel under study.
    pub fn entries(&self) -> Vec<&'static str> {
        let mut entries: Vec<_> = self.launches.iter().map(|launch| launch.entry).collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// Default registers of a thread, limited by the machine: the number that the target's paper
    /// prints, the number that `ptxas` reports for the oldest architecture of its table, or the
    /// estimate of a compiler's number.
    pub fn default_registers(&self, kernel: &Kernel, gpu: &GpuSpec) -> u32 {
        let known = self.target.registers_on(Some(ASSEMBLED), &kernel.name);
        let known = known.unwrap_or(kernel.default_registers);
        known.min(gpu.sm.max_registers_per_thread)
    }

    /// The workload's PTX with the kernel under study allocated.
    ///
    /// # Errors
    /// If there are too few registers, with the smallest sufficient number.
    pub fn allocate(&self, how: &Allocate) -> Result<String, Refusal> {
        let mut module = self.module.clone();
        for entry in self.entries() {
            let options = how.options(self.largest_block(entry));
            module = allocate_kernel(&module, entry, &options)?.module;
        }
        Ok(warploom_ptx::print(&module))
    }

    /// The largest block of a kernel's launches, which decides the space for spilled values.
    fn largest_block(&self, entry: &str) -> [u32; 3] {
        let of_entry = self.launches.iter().filter(|launch| launch.entry == entry);
        let largest = of_entry.max_by_key(|launch| launch.block.count());
        largest.map_or([1; 3], |launch| {
            [launch.block.x, launch.block.y, launch.block.z]
        })
    }
}

impl Input {
    /// A workload with its kernel allocated.
    ///
    /// # Errors
    /// If the name is unknown, or if there are too few registers.
    pub fn allocated(name: &str, size: Size, seed: u64, how: &Allocate) -> Result<Self, String> {
        let subject = Subject::new(name, size)?;
        let why = |refusal: Refusal| match refusal {
            Refusal::Program(why) => why.render(&subject.source, Style::Plain),
            why => why.to_string(),
        };
        let text = subject.allocate(how).map_err(why)?;
        let plain = Self::workload(name, size, seed).map_err(|unknown| unknown.to_string())?;
        let mut digest = Digest::new();
        digest
            .str(&plain.digest)
            .str(&text)
            .u64(how.registers.into());
        let (target, entries) = (subject.target, subject.entries());
        let registers = how.registers;
        let make = move |gpu: &GpuSpec| {
            let program = target.program_on(size, seed, architecture(&gpu.name));
            let texts = vec![(target.workload.ptx.to_owned(), text.clone())];
            Ok(Box::new(Allocated {
                program: Substituted::new(program, texts),
                entries: entries.clone(),
                registers,
            }) as Box<dyn HostProgram>)
        };
        Ok(plain.allocated_by(how, digest.hex(), make))
    }
}

/// A program whose kernel's launches use the registers for which it was allocated.
struct Allocated {
    program: Substituted,
    entries: Vec<&'static str>,
    registers: u32,
}

impl HostProgram for Allocated {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let mut action = self.program.next(device)?;
        if let HostAction::Launch(launch) = &mut action
            && self.entries.contains(&launch.kernel.as_str())
        {
            launch.registers_per_thread = Some(self.registers);
        }
        Ok(action)
    }

    fn analysis_start(&self) -> u64 {
        self.program.analysis_start()
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.program.checks(device)
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocate, Subject};
    use crate::runner::{Results, Runner};
    use crate::spec::{Input, MachineVariant, RunSpec};
    use warploom_stats::result::{Outcome, RunReport};
    use warploom_workloads::Size;

    fn report(how: Option<Allocate>) -> RunReport {
        let input = match how {
            Some(how) => Input::allocated("hotspot", Size::Test, 1, &how).unwrap(),
            None => Input::workload("hotspot", Size::Test, 1).unwrap(),
        };
        let machine = MachineVariant::preset("any", "fermi-crat", &[]).unwrap();
        let spec = RunSpec::new(&input, &machine);
        let mut results = Results::default();
        let runner = Runner {
            store: None,
            threads: 1,
            observer: &|_| (),
            interrupted: &|| false,
        };
        runner
            .run(std::slice::from_ref(&spec), &mut results)
            .unwrap();
        assert!(results.failures().next().is_none());
        results.get(&spec.key()).unwrap().as_ref().clone()
    }

    fn local_accesses(report: &RunReport) -> u64 {
        let counts = report.totals.figures.statistics.iter();
        let local = counts.filter(|(name, _)| name.contains("local_read"));
        local.map(|(_, count)| count).sum()
    }

    /// The checks of the workload pass, its launches use the registers, and spilled values move
    /// from local to shared memory.
    #[test]
    fn an_allocated_workload_runs_right_with_its_registers() {
        let how = |registers, shared_bytes| {
            Some(Allocate {
                shared_bytes,
                ..Allocate::local(registers)
            })
        };
        let few = report(how(24, 0));
        let shared = report(how(24, 8192));
        let many = report(how(60, 0));
        for (run, registers) in [(&few, 24), (&shared, 24), (&many, 60)] {
            assert_eq!(run.outcome, Outcome::Finished);
            assert!(run.succeeded());
            assert_eq!(run.kernels[0].registers_per_thread, registers);
        }
        assert_eq!(local_accesses(&many), 0);
        assert!(local_accesses(&shared) < local_accesses(&few));
        assert!(shared.kernels[0].shared_bytes > many.kernels[0].shared_bytes);
        let instructions = |run: &RunReport| run.totals.figures.warp_instructions;
        assert!(instructions(&few) > instructions(&many));
    }

    #[test]
    fn runs_say_how_they_are_allocated_and_differ_by_it() {
        let machine = MachineVariant::preset("any", "fermi-crat", &[]).unwrap();
        let of = |registers, shared_bytes| {
            let how = Allocate {
                shared_bytes,
                ..Allocate::local(registers)
            };
            let input = Input::allocated("crat/HST", Size::Test, 1, &how).unwrap();
            RunSpec::new(&input, &machine)
        };
        let specs = [of(24, 0), of(24, 8192), of(32, 0)];
        let keys: std::collections::BTreeSet<_> = specs.iter().map(RunSpec::key).collect();
        assert_eq!(keys.len(), 3);
        assert_eq!(
            specs[1].command(),
            "warploom run crat/HST --size test --allocate 24 --spill-shared 8192 --gpu fermi-crat"
        );
    }

    /// In a mix the list names every program: one without an allocation has a dash.
    #[test]
    fn a_mix_says_how_each_program_is_allocated() {
        let machine = MachineVariant::preset("any", "fermi-crat", &[]).unwrap();
        let how = Allocate {
            shared_bytes: 512,
            ..Allocate::local(24)
        };
        let allocated = Input::allocated("crat/HST", Size::Test, 1, &how).unwrap();
        let plain = Input::workload("bfs", Size::Test, 1).unwrap();
        let spec = RunSpec {
            mix: Some(crate::spec::Mix {
                others: vec![allocated],
                ..crate::spec::Mix::default()
            }),
            ..RunSpec::new(&plain, &machine)
        };
        assert_eq!(
            spec.command(),
            "warploom run bfs crat/HST --size test --allocate -,24 --spill-shared 0,512 \
             --gpu fermi-crat"
        );
    }

    /// STE's two tiles of 32 x 4 words are dynamic shared memory (Parboil's block2D).
    #[test]
    fn dynamic_shared_memory_is_part_of_a_block() {
        let gpu = warploom_config::preset("fermi-crat").unwrap();
        let kernel = Subject::new("crat/STE", Size::Test)
            .unwrap()
            .kernel()
            .unwrap();
        assert_eq!(kernel.shared_bytes, 1024);
        assert_eq!(kernel.spare_shared(8, &gpu), 48 * 1024 / 8 - 1024);
    }

    /// The paper prints CFD's and FDTD's registers; the others are those of `ptxas.csv`, and at
    /// most 63.
    #[test]
    fn default_registers_are_the_paper_s_or_those_of_ptxas() {
        let gpu = warploom_config::preset("fermi-crat").unwrap();
        let of = |name: &str| {
            let subject = Subject::new(name, Size::Test).unwrap();
            subject.default_registers(&subject.kernel().unwrap(), &gpu)
        };
        let names = ["CFD", "FDTD", "DTC", "KMN", "SPMV"];
        let found = names.map(|name| of(&format!("crat/{name}")));
        assert_eq!(found, [32, 48, 63, 26, 29]);
    }

    #[test]
    fn too_few_registers_are_refused_with_the_fewest_that_do() {
        let subject = Subject::new("crat/HST", Size::Test).unwrap();
        assert_eq!(subject.entries(), ["calculate_temp"]);
        let how = Allocate::local(4);
        let why = Input::allocated("crat/HST", Size::Test, 1, &how).unwrap_err();
        assert!(why.contains("4 registers are too few"), "{why}");
        assert!(why.contains("registers or more"), "{why}");
    }
}
