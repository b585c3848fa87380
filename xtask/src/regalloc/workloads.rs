//! Runs every workload at every register limit.

use super::allocation::Program;
use super::execution::{Left, execute};
use crate::assembler::Assembler;
use anyhow::{Context, Result, ensure};
use std::cell::OnceCell;
use std::io::{self, Write};
use std::path::Path;
use warploom_regalloc::{Demand, Options, SharedSpills};
use warploom_workloads::{LaunchShape, Size, Target, Times, WorkloadInfo, all};

/// Shared memory of a block on every machine since Fermi, in bytes.
const SHARED_BYTES: u32 = 48 << 10;

/// Counts of workloads, allocations and runs.
#[derive(Default)]
pub struct Counts {
    pub workloads: usize,
    pub allocations: usize,
    pub runs: usize,
}

/// A workload's module and the register demands of its kernels.
struct Subject {
    info: &'static WorkloadInfo,
    demands: Vec<(String, Demand)>,
    shapes: Vec<LaunchShape>,
    /// Memory that the workload leaves with its own registers, once it has run.
    plain: OnceCell<Left>,
}

impl Subject {
    fn new(info: &'static WorkloadInfo) -> Result<Self> {
        let program = Program::read(info.name, info.ptx)?;
        let mut demands = Vec::new();
        for kernel in program.kernels() {
            demands.push((kernel.clone(), program.demand(&kernel)?));
        }
        Ok(Self {
            info,
            demands,
            shapes: Target::resolve(info.name)?.launches(Size::Test),
            plain: OnceCell::new(),
        })
    }

    /// Every limit from the lowest minimum of its kernels to the highest MaxReg.
    fn limits(&self) -> std::ops::RangeInclusive<u32> {
        let lowest = self
            .demands
            .iter()
            .map(|(_, demand)| demand.min_registers)
            .min();
        let highest = self
            .demands
            .iter()
            .map(|(_, demand)| demand.max_registers)
            .max();
        lowest.unwrap_or(0)..=highest.unwrap_or(0)
    }

    /// The module with every kernel at `limit`, or as close to it as the kernel permits.
    fn allocate(&self, limit: u32, shared: bool, counts: &mut Counts) -> Result<String> {
        let mut text = self.info.ptx.to_owned();
        for (kernel, demand) in &self.demands {
            let limit = limit.clamp(demand.min_registers, demand.max_registers);
            let program = Program::read(self.info.name, &text)?;
            let mut options = Options {
                registers: Some(limit),
                ..Options::default()
            };
            // Launches of one kernel may differ: the largest block decides the space for spills.
            let launches = self.shapes.iter().filter(|shape| shape.entry == kernel);
            let shape = launches.max_by_key(|shape| shape.block.count());
            if let Some(shape) = shape.filter(|_| shared) {
                options.shared = Some(SharedSpills {
                    block: [most_threads_across(shape), shape.block.y, shape.block.z],
                    spare_bytes: SHARED_BYTES / 2,
                    weigh_loops: false,
                });
            }
            text = program
                .allocate(kernel, &options)?
                .0
                .source
                .text()
                .to_owned();
            counts.allocations += 1;
        }
        Ok(text)
    }

    /// Memory that the workload leaves with its own registers.
    fn plain(&self) -> Result<&Left> {
        if self.plain.get().is_none() {
            let left = self.run(self.info.ptx)?;
            return Ok(self.plain.get_or_init(|| left));
        }
        Ok(self.plain.get().expect("it has run"))
    }

    fn run(&self, text: &str) -> Result<Left> {
        let program = Target::resolve(self.info.name)?.program(Size::Test, 0);
        execute(self.info.name, program, self.info.ptx, text)
    }

    /// Runs the workload at one limit.
    fn compare(&self, limit: u32, shared: bool, counts: &mut Counts) -> Result<()> {
        let text = self.allocate(limit, shared, counts)?;
        let place = if shared { "shared" } else { "local" };
        let about = || format!("{} with {limit} registers, {place} spills", self.info.name);
        let allocated = self.run(&text).with_context(about)?;
        ensure!(*self.plain()? == allocated, "{}: memory differs", about());
        counts.runs += 1;
        Ok(())
    }
}

/// Threads of a block in x. Where data decides the number of launches it also decides the blocks,
/// which are rows of at most 256 threads.
fn most_threads_across(shape: &LaunchShape) -> u32 {
    match shape.times {
        Times::UntilDone => shape.block.x.max(256),
        Times::Fixed(_) => shape.block.x,
    }
}

/// Runs the workloads whose name contains `name` at all their limits.
pub fn every_limit(name: &str) -> Result<Counts> {
    let mut counts = Counts::default();
    for info in all().iter().filter(|info| info.name.contains(name)) {
        let subject = Subject::new(info)?;
        let limits = subject.limits();
        for limit in limits.clone() {
            subject.compare(limit, false, &mut counts)?;
            subject.compare(limit, true, &mut counts)?;
        }
        counts.workloads += 1;
        let (low, high) = limits.into_inner();
        writeln!(io::stdout(), "{}: {low} to {high} registers", info.name)?;
    }
    Ok(counts)
}

/// Assembles every kernel at every limit with `ptxas`. Returns the number of allocations.
pub fn assemble(ptxas: &Path, name: &str) -> Result<usize> {
    let assembler = Assembler::new(ptxas);
    let mut counts = Counts::default();
    for info in all().iter().filter(|info| info.name.contains(name)) {
        let subject = Subject::new(info)?;
        for limit in subject.limits() {
            for shared in [false, true] {
                let text = subject.allocate(limit, shared, &mut counts)?;
                for (kernel, _) in &subject.demands {
                    let about = || format!("{} with {limit} registers", info.name);
                    assembler.kernel(&text, kernel, None).with_context(about)?;
                }
            }
        }
    }
    Ok(counts.allocations)
}

#[cfg(test)]
mod tests {
    use super::{Counts, Subject, all};

    /// Runs a sample of what `cargo xtask regalloc workloads` runs: the lowest limit, at which most
    /// is spilled, and with every second workload the middle or the highest one.
    #[test]
    fn outputs_stay_bit_identical() {
        let mut counts = Counts::default();
        for (nth, info) in all().iter().enumerate() {
            let subject = Subject::new(info).unwrap();
            let (low, high) = subject.limits().into_inner();
            subject.compare(low, false, &mut counts).unwrap();
            match nth % 4 {
                0 => subject.compare((low + high) / 2, true, &mut counts),
                2 => subject.compare(high, false, &mut counts),
                _ => Ok(()),
            }
            .unwrap();
        }
        assert_eq!(counts.runs, all().len() + all().len().div_ceil(2));
    }
}
