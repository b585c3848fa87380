//! Writes `docs/regalloc.md`: the allocation of every kernel, and its processor time.

use super::allocation::Program;
use crate::assembler::{Assembler, Entry};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use warploom_regalloc::{Demand, Options, allocate_kernel};
use warploom_workloads::all;

const PAGE: &str = "docs/regalloc.md";
/// Register limits of the second table, as the papers' machines suggest.
const LIMITS: [u32; 6] = [16, 20, 24, 28, 32, 40];
/// Number of measurements of each allocation, of which the shortest counts.
const TRIES: u32 = 5;

const HEAD: &str = "# The register allocator\n\n\
    `cargo xtask regalloc table` writes this page. It allocates the registers of every \
    workload's kernels\n(`crates/regalloc`), and the independent checker checks each result. \
    `cargo xtask regalloc workloads`\nruns the kernels at every limit, and `cargo xtask regalloc \
    random` runs generated programs.\n";

const DEMANDS: &str = "\n## Register demand of kernels\n\n\
    All numbers count 32-bit registers; a 64-bit register counts as two.\n\n\
    - *Pressure*: the largest number of registers in use at any instruction.\n\
    - *MaxReg*: the smallest number that avoids all spills, in program order or scheduled for\n  \
    fewer values in use. Values of all widths share the registers.\n\
    - *Estimate*: the number that a launch uses if it does not specify one.\n\
    - *Fewest*: the smallest number with which the kernel can be allocated.\n\
    - *Slowest*: the processor time of the slowest allocation of all limits from fewest to MaxReg \
    (the\n  shortest of five measurements of each).\n\
    - *ptxas, input* and *ptxas, output*: the registers that ptxas uses for the input and for \
    the\n  output at MaxReg.\n\n\
    | kernel | instructions | pressure | MaxReg | estimate | fewest | slowest (ms) \
    | ptxas, input | ptxas, output |\n\
    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n";

const SPILLS: &str = "\n## Spills at equal limits\n\n\
    Each cell gives the bytes of stores / loads of spilled values for this allocator, then those \
    of ptxas\nfor the same limit, then the registers that ptxas needs for this allocator's output. \
    Each instruction\ncounts once, however often it executes, as in the output of `ptxas -v` \
    (CRAT, Fig. 12). A dot means\nthat the limit is below the fewest registers that the kernel \
    needs, or above MaxReg where ptxas does not\nspill either. For a limit, ptxas receives the \
    program without the statements about its blocks\n(`.maxntid` and others), to which it would \
    give precedence.\n\n";

/// Processor time of this thread, where the system reports it (as Linux does). Elsewhere the time
/// of day, which includes the time of other programs.
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

/// Writes the page. Without `ptxas`, its columns stay empty.
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
    let mut taken = Vec::new();
    let mut pairs = Vec::new();
    for workload in all() {
        let program = Program::read(workload.name, workload.ptx)?;
        let estimates = program.estimates()?;
        for kernel in program.kernels() {
            let subject = Subject::new(&program, &kernel, assembler.as_ref())?;
            let demand = subject.measure(estimates.get(&kernel).copied().unwrap_or(0))?;
            demands += &demand.row(workload.name, &subject);
            taken.push(demand);
            spills += &subject.spill_row(workload.name, &mut pairs)?;
        }
    }
    let text = page + &demands + &deviations(&taken) + &spills + &comparison(&pairs);
    std::fs::write(root.join(PAGE), text).with_context(|| format!("cannot write {PAGE}"))
}

/// A kernel's row of the first table.
struct Measured {
    instructions: u64,
    demand: Demand,
    estimate: u32,
    slowest: Duration,
    /// Report of `ptxas` on the input.
    input: Option<Entry>,
    /// Report of `ptxas` on the allocator's output at MaxReg.
    output: Option<Entry>,
}

impl Measured {
    fn row(&self, workload: &str, subject: &Subject<'_>) -> String {
        let shown = |entry: &Option<Entry>| {
            let registers = entry.as_ref().map(|entry| entry.registers.to_string());
            registers.unwrap_or_default()
        };
        format!(
            "| {workload}: {} | {} | {} | {} | {} | {} | {:.1} | {} | {} |\n",
            subject.kernel,
            self.instructions,
            self.demand.pressure,
            self.demand.max_registers,
            self.estimate,
            self.demand.min_registers,
            self.slowest.as_secs_f64() * 1e3,
            shown(&self.input),
            shown(&self.output)
        )
    }
}

/// Deviation of each number of registers from that of `ptxas` for the input.
fn deviations(rows: &[Measured]) -> String {
    let theirs = |row: &Measured| row.input.as_ref().map(|entry| entry.registers as f64);
    let count = rows.iter().filter_map(theirs).count();
    if count == 0 {
        return String::new();
    }
    let mut text = format!(
        "\nThe mean absolute deviation from the registers of ptxas, over the {count} kernels, is as \
         follows. The\nmean deviation is in brackets, and then in registers:\n\n"
    );
    type Registers = fn(&Measured) -> u32;
    let ours: [(&str, Registers); 3] = [
        ("pressure", |row| row.demand.pressure),
        ("MaxReg", |row| row.demand.max_registers),
        ("the estimate", |row| row.estimate),
    ];
    let apart = |registers: Registers| {
        let off = |row: &Measured| Some(f64::from(registers(row)) - theirs(row)?);
        rows.iter().filter_map(off).sum::<f64>() / count as f64
    };
    for (name, registers) in ours {
        let off = |row: &Measured| {
            let theirs = theirs(row)?;
            Some((f64::from(registers(row)) - theirs) / theirs * 100.0)
        };
        let mean =
            |of: fn(f64) -> f64| rows.iter().filter_map(off).map(of).sum::<f64>() / count as f64;
        let _ = writeln!(
            text,
            "- {name}: {:.1}% ({:+.1}%), {:+.1}",
            mean(f64::abs),
            mean(|off| off),
            apart(registers)
        );
    }
    text + "\nA launch that does not specify registers uses the estimate, which predicts what \
            another compiler\nneeds. MaxReg does not: it is the number that avoids all spills.\n"
}

/// Bytes that spills store and load at one limit: ours and those of `ptxas`.
type Pair = [u64; 2];

/// Comparison of the spills of all kernels and limits.
fn comparison(pairs: &[Pair]) -> String {
    let some: Vec<&Pair> = pairs.iter().filter(|pair| **pair != [0, 0]).collect();
    let both: Vec<&Pair> = some
        .iter()
        .copied()
        .filter(|pair| !pair.contains(&0))
        .collect();
    if both.is_empty() {
        return String::new();
    }
    let ratio = |pairs: &[&Pair], more: u64| {
        let logs = pairs
            .iter()
            .map(|[ours, theirs]| (((ours + more) as f64) / ((theirs + more) as f64)).ln());
        (logs.sum::<f64>() / pairs.len() as f64).exp()
    };
    let total = |at: usize| pairs.iter().map(|pair| pair[at]).sum::<u64>();
    let none = |at: usize| some.iter().filter(|pair| pair[at] == 0).count();
    format!(
        "\n## Spills beside those of ptxas\n\nIn {} of {} cells at least one of the two spills. The \
         bytes that both store and load there, added up,\nare {} for this allocator and {} for \
         ptxas. This allocator spills nothing in {} of the cells and ptxas\nin {}. The geometric \
         mean of the ratio of the bytes is {:.2} over all of these cells, with {WORD} bytes\n(one \
         value) added to both numbers so that it exists where one is 0, and {:.2} over the {} \
         cells in which\nboth spill.\n",
        some.len(),
        pairs.len(),
        total(0),
        total(1),
        none(0),
        none(1),
        ratio(&some, WORD),
        ratio(&both, 0),
        both.len()
    )
}

/// Size in bytes of a 32-bit value.
const WORD: u64 = 4;

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

    /// Processor time of the slowest limit.
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

    /// Measures the kernel; `estimate` is its number of registers without the allocator.
    fn measure(&self, estimate: u32) -> Result<Measured> {
        let most = self.options(self.demand.max_registers);
        let (made, report) = self.program.allocate(self.kernel, &most)?;
        Ok(Measured {
            instructions: report.kept.count + u64::from(report.removed),
            demand: self.demand,
            estimate,
            slowest: self.slowest(),
            input: self.assemble(self.program.source.text(), None)?,
            output: self.assemble(made.source.text(), None)?,
        })
    }

    fn spill_row(&self, workload: &str, pairs: &mut Vec<Pair>) -> Result<String> {
        let mut row = format!("| {workload}: {} |", self.kernel);
        for limit in LIMITS {
            write!(row, " {} |", self.spills(limit, pairs)?)?;
        }
        Ok(row + "\n")
    }

    fn spills(&self, limit: u32, pairs: &mut Vec<Pair>) -> Result<String> {
        if limit < self.demand.min_registers {
            return Ok(".".to_owned());
        }
        let (made, report) = self.program.allocate(self.kernel, &self.options(limit))?;
        let input = self.assemble(self.program.source.text(), Some(limit))?;
        if let Some(theirs) = &input {
            let ours = report.added.store_bytes + report.added.load_bytes;
            pairs.push([ours, theirs.spill_store_bytes + theirs.spill_load_bytes]);
        }
        let idle = input
            .as_ref()
            .is_none_or(|theirs| theirs.spill_load_bytes == 0);
        if limit > self.demand.max_registers && idle {
            return Ok(".".to_owned());
        }
        let mut cell = format!("{}/{}", report.added.store_bytes, report.added.load_bytes);
        if let Some(theirs) = input {
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
