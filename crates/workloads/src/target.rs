//! Resolution of the names that users type to workloads.

use warploom_base::Cycle;
use warploom_run::{Check, Device, HostAction, HostError, HostProgram, Stopped};

use crate::alias::{Alias, aliases};
use crate::all;
use crate::facts::{Facts, facts_of};
use crate::info::{KernelInfo, LaunchShape, Request, Size, Variant, WorkloadInfo};
use crate::ptxas::assembled;

/// A workload with its selected variant and kernel.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Description of the workload.
    pub workload: &'static WorkloadInfo,
    /// The selected variant: inputs and launch shape.
    pub variant: &'static Variant,
    /// The kernel whose figures are wanted. `None` means all kernels.
    pub kernel: Option<&'static KernelInfo>,
    /// The paper's statements about its shape, if a paper's name was used.
    pub facts: Option<&'static Facts>,
}

/// Error for a name that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} is called `{name}`; there are: {}", known.join(", "))]
pub struct UnknownTarget {
    /// Kind of the unknown name: a workload, a kernel of one, a variant of one, an abbreviation.
    pub what: String,
    /// The name that was not found.
    pub name: String,
    /// All names that exist.
    pub known: Vec<String>,
}

impl Target {
    /// Parses `NAME`, `NAME:KERNEL`, `NAME@VARIANT`, `NAME@VARIANT:KERNEL` or `PAPER/ABBREVIATION`.
    ///
    /// # Errors
    /// If a part of the name is unknown; the error contains all known names.
    pub fn resolve(text: &str) -> Result<Self, UnknownTarget> {
        if let Some((paper, abbreviation)) = text.split_once('/') {
            return Self::of_alias(find_alias(paper, abbreviation)?);
        }
        let (rest, kernel) = split(text, ':');
        let (name, variant) = split(rest, '@');
        Self::of_names(name, variant, kernel)
    }

    /// The target of an abbreviation.
    fn of_alias(alias: &Alias) -> Result<Self, UnknownTarget> {
        let target = Self::of_names(alias.workload, Some(alias.variant), alias.kernel)?;
        Ok(Self {
            facts: facts_of(alias.paper, alias.abbreviation),
            ..target
        })
    }

    fn of_names(
        name: &str,
        variant: Option<&str>,
        kernel: Option<&str>,
    ) -> Result<Self, UnknownTarget> {
        let workload = find("workload", name, all(), |workload| workload.name)?;
        let (kernels, variants) = (workload.kernels, workload.variants);
        let of = |part: &str| format!("{part} of {name}");
        let kernel = kernel.map(|kernel| find(&of("kernel"), kernel, kernels, |k| k.name));
        let variant = variant.map(|variant| find(&of("variant"), variant, variants, |v| v.name));
        let variant = variant.transpose()?.unwrap_or(workload.default_variant());
        Ok(Self {
            workload,
            variant,
            kernel: kernel.transpose()?,
            facts: None,
        })
    }

    /// Registers per thread that the paper prints or implies.
    pub fn registers(&self) -> Option<u32> {
        Some(self.facts?.registers?.count)
    }

    /// The request at a size. A kernel that needs others runs with them.
    fn request(&self, size: Size, seed: u64) -> Request {
        let only = self
            .kernel
            .filter(|kernel| kernel.alone)
            .map(|kernel| kernel.name);
        Request { size, seed, only }
    }

    /// The launches at a size, in order.
    pub fn launches(&self, size: Size) -> Vec<LaunchShape> {
        (self.variant.launches)(&self.request(size, 0))
    }

    /// Registers per thread of a launch of `entry` on an architecture such as `sm_50`: the number
    /// that the target's paper states for its kernel, otherwise that of [`assembled`], if it has
    /// one.
    pub fn registers_on(&self, architecture: Option<&str>, entry: &str) -> Option<u32> {
        let kernel = self.kernel.map(|kernel| kernel.entries);
        let papers = self
            .registers()
            .filter(|_| kernel.is_none_or(|kernel| kernel.contains(&entry)));
        papers.or_else(|| Some(assembled(self.workload.name, entry, architecture?)?.registers))
    }

    /// The host program at a size. Its first action generates inputs from the seed. Launches use
    /// the registers that the target's paper states, or the simulator's estimate.
    pub fn program(&self, size: Size, seed: u64) -> Box<dyn HostProgram> {
        self.program_on(size, seed, None)
    }

    /// The host program whose launches use [`Target::registers_on`] `architecture`, or the
    /// simulator's estimate.
    pub fn program_on(
        &self,
        size: Size,
        seed: u64,
        architecture: Option<&'static str>,
    ) -> Box<dyn HostProgram> {
        let program = (self.variant.program)(&self.request(size, seed));
        Box::new(WithRegisters {
            program,
            target: *self,
            architecture,
        })
    }
}

/// A program whose launches use known numbers of registers.
struct WithRegisters {
    program: Box<dyn HostProgram>,
    target: Target,
    architecture: Option<&'static str>,
}

impl HostProgram for WithRegisters {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let mut action = self.program.next(device)?;
        if let HostAction::Launch(launch) = &mut action {
            let known = self.target.registers_on(self.architecture, &launch.kernel);
            launch.registers_per_thread = launch.registers_per_thread.or(known);
        }
        Ok(action)
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        self.program.reached(mark, device, at)
    }

    fn stopped(&mut self, why: Stopped) {
        self.program.stopped(why);
    }

    fn analysis_start(&self) -> u64 {
        self.program.analysis_start()
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.program.checks(device)
    }
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(left, right)| (left, Some(right)))
}

fn find<T>(
    what: &str,
    name: &str,
    table: &'static [T],
    name_of: impl Fn(&'static T) -> &'static str,
) -> Result<&'static T, UnknownTarget> {
    table
        .iter()
        .find(|row| name_of(row) == name)
        .ok_or_else(|| UnknownTarget {
            what: what.to_owned(),
            name: name.to_owned(),
            known: table.iter().map(|row| name_of(row).to_owned()).collect(),
        })
}

fn find_alias(paper: &str, abbreviation: &str) -> Result<&'static Alias, UnknownTarget> {
    let meant = |alias: &&Alias| {
        alias.paper == paper && alias.abbreviation.eq_ignore_ascii_case(abbreviation)
    };
    aliases().find(meant).ok_or_else(|| UnknownTarget {
        what: "abbreviation of a paper".to_owned(),
        name: format!("{paper}/{abbreviation}"),
        known: aliases()
            .map(|a| format!("{}/{}", a.paper, a.abbreviation))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(
        text: &str,
    ) -> (
        &'static str,
        &'static str,
        Option<&'static str>,
        Option<u32>,
    ) {
        let target = Target::resolve(text).unwrap();
        let kernel = target.kernel.map(|kernel| kernel.name);
        (
            target.workload.name,
            target.variant.name,
            kernel,
            target.registers(),
        )
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(parts("bfs"), ("bfs", "power-law", None, None));
        assert_eq!(parts("bfs@road"), ("bfs", "road", None, None));
        assert_eq!(
            parts("bfs@road:kernel2"),
            ("bfs", "road", Some("kernel2"), None)
        );
        assert_eq!(
            parts("duet/BP_1"),
            ("backprop", "default", Some("layerforward"), None)
        );
        assert_eq!(parts("slicer/mvp"), ("spmv", "fem", None, Some(16)));
    }

    #[test]
    fn says_what_there_is() {
        let message = |text: &str| Target::resolve(text).unwrap_err().to_string();
        let names: Vec<_> = all().iter().map(|workload| workload.name).collect();
        assert_eq!(
            message("bsf"),
            format!(
                "no workload is called `bsf`; there are: {}",
                names.join(", ")
            )
        );
        assert_eq!(
            message("bfs:expand"),
            "no kernel of bfs is called `expand`; there are: kernel, kernel2"
        );
        assert_eq!(
            message("matrixmul@8"),
            "no variant of matrixmul is called `8`; there are: tile32, tile16"
        );
        let unknown = message("duet/XYZ");
        assert!(
            unknown.starts_with("no abbreviation of a paper is called `duet/XYZ`"),
            "{unknown}"
        );
    }

    #[test]
    fn a_papers_registers_reach_the_launches() {
        let registers = |text: &str| {
            let mut program = Target::resolve(text).unwrap().program(Size::Test, 0);
            match program.next(&mut Device::new(1 << 30, 0)).unwrap() {
                HostAction::Launch(launch) => launch.registers_per_thread,
                other => panic!("no launch: {other:?}"),
            }
        };
        assert_eq!(
            (registers("slicer/MVP"), registers("spmv")),
            (Some(16), None)
        );
    }

    #[test]
    fn a_kernel_that_needs_the_others_brings_them() {
        let count = |text: &str| Target::resolve(text).unwrap().launches(Size::Test).len();
        assert_eq!(
            (count("backprop"), count("backprop:adjust_weights")),
            (2, 1)
        );
        assert_eq!((count("bfs"), count("bfs:kernel2")), (2, 2));
    }
}
