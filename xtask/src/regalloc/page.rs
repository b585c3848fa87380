//! `docs/regalloc.md`: what the allocator does to every kernel, and how long it takes.

use super::allocation::Program;
use crate::assembler::{Assembler, Entry};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use warploom_regalloc::{Demand, Options, allocate_kernel};
use warploom_workloads::all;

const PAGE: &str = "docs/regalloc.md";
/// Limits of the second table: those that the papers' machines suggest.
const LIMITS: [u32; 6] = [16, 20, 24, 28, 32, 40];
/// Times that each allocation is measured; the shortest counts.
const TRIES: u32 = 5;

const HEAD: &str = "# The register allocator\n\n\
    `cargo xtask regalloc table` writes this page: the kernels of every workload through the \
    allocator (`crates/regalloc`), each result checked by the independent checker. \
    `cargo xtask regalloc workloads` runs them all at every limit, \
    `cargo xtask regalloc random` runs generated programs.\n";

const DEMANDS: &str = "\n## What kernels want\n\n\
    Registers count 32 bits; a 64-bit register counts as two. *Pressure* is what is in use at the \
    program's worst place; *MaxReg* what spares all spills when each class of width has \
    registers of its own; *fewest* what the kernel can be allocated with. *Slowest* is the \
    processor time of the slowest of all limits from fewest to MaxReg (the shortest of five \
    measurements of each). Right of it what ptxas makes of the input and of the output at \
    MaxReg.\n\n\
    | kernel | instructions | pressure | MaxReg | fewest | slowest (ms) \
    | ptxas, input | ptxas, output |\n\
    |---|--:|--:|--:|--:|--:|--:|--:|\n";

const SPILLS: &str = "\n## Spills at equal limits\n\n\
    Bytes that stores / loads of spilled values move, each counted once where it stands in the \
    code, as `ptxas -v` counts them (seed 002, Fig. 12): ours, then ptxas' for the same limit, \
    then the registers that ptxas needs for our output. A dot: the limit is above MaxReg or below \
    what the kernel can do with.\n\n";

/// Processor time that this thread has had, where the system tells (Linux does); else the time of
/// day, which counts what other programs take too.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(
        || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
        },
        Duration::from_nanos,
    )
}

/// Writes the page; columns of `ptxas` stay empty without it.
pub fn write(root: &Path, ptxas: Option<&Path>) -> Result<()> {
    let assembler = ptxas.map(Assembler::new);
    let mut page = HEAD.to_owned();
    if let Some(assembler) = &assembler {
        writeln!(page, "\nptxas: {}.", assembler.version()?)?;
    }
    let mut demands = DEMANDS.to_owned();
    let mut spills = SPILLS.to_owned();
    let limits: Vec<String> = LIMITS.iter().map(|limit| format!(" {limit} |")).collect();
    writeln!(spills, "| kernel |{}", limits.concat())?;
    writeln!(spills, "|---|{}", "--:|".repeat(LIMITS.len()))?;
    for workload in all() {
        let program = Program::read(workload.name, workload.ptx)?;
        for kernel in program.kernels() {
            let subject = Subject::new(&program, &kernel, assembler.as_ref())?;
            demands += &subject.demand_row(workload.name)?;
            spills += &subject.spill_row(workload.name)?;
        }
    }
    let text = page + &demands + &spills;
    std::fs::write(root.join(PAGE), text).with_context(|| format!("cannot write {PAGE}"))
}

struct Subject<'a> {
    program: &'a Program,
    kernel: &'a str,
    demand: Demand,
    assembler: Option<&'a Assembler>,
}

impl<'a> Subject<'a> {
    fn new(
        program: &'a Program,
        kernel: &'a str,
        assembler: Option<&'a Assembler>,
    ) -> Result<Self> {
        Ok(Self {
            program,
            kernel,
            demand: program.demand(kernel)?,
            assembler,
        })
    }

    fn options(&self, limit: u32) -> Options {
        Options {
            registers: Some(limit),
            ..Options::default()
        }
    }

    fn assemble(&self, ptx: &str, limit: Option<u32>) -> Result<Option<Entry>> {
        let assembled = self
            .assembler
            .map(|ptxas| ptxas.kernel(ptx, self.kernel, limit));
        assembled.transpose()
    }

    /// The slowest of all limits.
    fn slowest(&self) -> Duration {
        let mut slowest = Duration::ZERO;
        for limit in self.demand.min_registers..=self.demand.max_registers {
            let options = self.options(limit);
            let times = (0..TRIES).map(|_| {
                let started = processor_time();
                let made = allocate_kernel(&self.program.module, self.kernel, &options);
                let time = processor_time() - started;
                made.map_or(Duration::ZERO, |_| time)
            });
            slowest = slowest.max(times.min().unwrap_or_default());
        }
        slowest
    }

    fn demand_row(&self, workload: &str) -> Result<String> {
        let most = self.options(self.demand.max_registers);
        let (made, report) = self.program.allocate(self.kernel, &most)?;
        let shown =
            |entry: Option<Entry>| entry.map_or(String::new(), |entry| entry.registers.to_string());
        let input = self.assemble(self.program.source.text(), None)?;
        let output = self.assemble(made.source.text(), None)?;
        Ok(format!(
            "| {workload}: {} | {} | {} | {} | {} | {:.1} | {} | {} |\n",
            self.kernel,
            report.kept.count + u64::from(report.removed),
            self.demand.pressure,
            self.demand.max_registers,
            self.demand.min_registers,
            self.slowest().as_secs_f64() * 1e3,
            shown(input),
            shown(output)
        ))
    }

    fn spill_row(&self, workload: &str) -> Result<String> {
        let mut row = format!("| {workload}: {} |", self.kernel);
        for limit in LIMITS {
            write!(row, " {} |", self.spills(limit)?)?;
        }
        Ok(row + "\n")
    }

    fn spills(&self, limit: u32) -> Result<String> {
        if !(self.demand.min_registers..=self.demand.max_registers).contains(&limit) {
            return Ok(".".to_owned());
        }
        let (made, report) = self.program.allocate(self.kernel, &self.options(limit))?;
        let mut cell = format!("{}/{}", report.added.store_bytes, report.added.load_bytes);
        if let Some(theirs) = self.assemble(self.program.source.text(), Some(limit))? {
            write!(
                cell,
                ", {}/{}",
                theirs.spill_store_bytes, theirs.spill_load_bytes
            )?;
        }
        if let Some(output) = self.assemble(made.source.text(), None)? {
            write!(cell, ", {}", output.registers)?;
        }
        Ok(cell)
    }
}
