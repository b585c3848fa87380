//! Counts of a program by the lines of its source, which `analyze --lines` lists. The program is
//! executed without timing, and each access is coalesced as an SM of the machine does it.

mod issued;

use serde::Serialize;
use std::sync::Arc;
use warploom_base::Pc;
use warploom_config::GpuSpec;
use warploom_exec::{Effect, LaunchContext, MemEffect, MemKind, Observer, StepOut};
use warploom_ir::{CacheOp, MemSpace, Program};
use warploom_mem::coalesce::{
    LocalMap, SharedRule, Transactions, coalesce, coalesce_atomic, coalesce_lines, coalesce_local,
    further_lanes_of_a_word, in_parts, shared_conflict_cycles, shared_width_cycles,
};
use warploom_names::shortened;
use warploom_report::{figures, grouped, wrapped};
use warploom_slices::{Base, arrays};

/// Kind of access of loads of constants, whose transactions are lines of the constant cache.
const CONSTANT: &str = "load constant";

/// Largest width of a kernel's name in characters.
const NAME: usize = 32;

/// Counts of one access, or of all other instructions, of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineCounts {
    /// Name of the kernel.
    pub kernel: String,
    /// Place in the source, such as `saxpy.cu:12`, or in the PTX, such as `PTX line 14`.
    pub line: String,
    /// Kind of access, such as `load global`; empty for instructions that access no memory.
    pub access: &'static str,
    /// Array of the access, such as `argument 2` of the kernel, if it follows from the code.
    pub array: Option<String>,
    /// Line of the PTX of the first of these instructions, where accesses of the line to the array
    /// differ in their cost.
    pub ptx_line: Option<u32>,
    /// Instructions of the PTX that were counted together.
    pub instructions: u32,
    /// Number of warp instructions.
    pub issued: u64,
    /// Lanes in which they took effect.
    pub lanes: u64,
    /// Transactions of the load/store unit.
    pub transactions: u64,
    /// Cycles of bank conflicts in shared memory.
    pub conflict_cycles: u64,
}

impl LineCounts {
    /// Issue slots, transactions and cycles of conflicts together.
    const fn weight(&self) -> u64 {
        self.issued + self.transactions + self.conflict_cycles
    }

    /// True if both are accesses of one kind of a line to one array.
    fn is_beside(&self, other: &Self) -> bool {
        let key = |of: &Self| {
            (
                of.kernel.clone(),
                of.line.clone(),
                of.access,
                of.array.clone(),
            )
        };
        key(self) == key(other)
    }

    fn add(&mut self, count: &Count) {
        self.instructions += 1;
        self.issued += count.issued;
        self.lanes += count.lanes;
        self.transactions += count.transactions;
        self.conflict_cycles += count.conflict_cycles;
    }
}

/// Counts of an instruction.
#[derive(Clone, Copy, Default)]
struct Count {
    access: &'static str,
    issued: u64,
    lanes: u64,
    transactions: u64,
    conflict_cycles: u64,
}

/// Transactions and cycles of conflicts of an access, each as the power of two that is nearest.
type Cost = (u32, u32);

impl Count {
    /// Cost by which accesses of a line are told apart: copies of an unrolled loop have the same.
    fn cost(&self) -> Cost {
        let of = |sum: u64| {
            let mean = 1.0 + sum as f64 / self.issued.max(1) as f64;
            mean.log2().round() as u32
        };
        (of(self.transactions), of(self.conflict_cycles))
    }
}

/// Name of an array: the number of the kernel's argument, from 1 on, or the parameter's name where
/// it was not made by a compiler.
fn array_name(base: Base, program: &Program) -> String {
    let name = base.name(program);
    let at = match base {
        Base::Param(at) => program.params.iter().position(|param| param.offset == at),
        Base::Global(_) => None,
    };
    match at {
        Some(at) if name.ends_with(&format!("_param_{at}")) => format!("argument {}", at + 1),
        _ => name,
    }
}

/// The line of each instruction of a program, with its counts.
type CountedLines = Vec<(String, Count)>;

/// Observer that counts what each instruction of each kernel does on a machine.
pub struct LineCounter<'a> {
    gpu: &'a GpuSpec,
    /// Counts of each program's instructions, with the line of each. A kernel has several programs
    /// if it was assembled for several numbers of registers.
    programs: Vec<(Arc<Program>, CountedLines)>,
    /// Counts of the running launch.
    running: Vec<Count>,
    local: LocalMap,
    list: Transactions,
}

impl<'a> LineCounter<'a> {
    /// A counter for programs on this machine.
    pub fn new(gpu: &'a GpuSpec) -> Self {
        Self {
            gpu,
            programs: Vec::new(),
            running: Vec::new(),
            local: LocalMap {
                base: 0,
                padded_block_threads: 0,
                blocks_per_sm: 1,
                sms: gpu.gpu.sms,
            },
            list: Transactions::new(),
        }
    }

    /// The counts by kernel, line and access, those with most work first. Accesses of a line to
    /// different arrays are told apart, and those to one array whose cost differs.
    pub fn lines(&self) -> Vec<LineCounts> {
        let mut lines: Vec<(LineCounts, Cost)> = Vec::new();
        let mut programs: Vec<_> = self.programs.iter().collect();
        programs.sort_by_key(|(program, _)| &program.name);
        for (program, counts) in programs {
            let arrays = arrays(program);
            let counted = counts.iter().enumerate();
            for (at, (line, count)) in counted.filter(|(_, (_, count))| count.issued > 0) {
                let is_global = count.access.ends_with("global");
                let array = arrays[at].filter(|_| is_global);
                let new = LineCounts {
                    kernel: program.name.clone(),
                    line: line.clone(),
                    access: count.access,
                    array: array.map(|base| array_name(base, program)),
                    ptx_line: Some(program.facts[at].pos.line),
                    instructions: 0,
                    issued: 0,
                    lanes: 0,
                    transactions: 0,
                    conflict_cycles: 0,
                };
                let cost = count.cost();
                let same = lines
                    .iter_mut()
                    .find(|(of, own)| of.is_beside(&new) && *own == cost);
                match same {
                    Some((known, _)) => known.add(count),
                    None => {
                        let mut new = new;
                        new.add(count);
                        lines.push((new, cost));
                    }
                }
            }
        }
        let mut lines: Vec<LineCounts> = lines.into_iter().map(|(line, _)| line).collect();
        let differs: Vec<bool> = lines
            .iter()
            .map(|line| lines.iter().filter(|of| of.is_beside(line)).count() > 1)
            .collect();
        for (line, differs) in lines.iter_mut().zip(differs) {
            line.ptx_line = line.ptx_line.filter(|_| differs);
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.weight()));
        lines
    }

    fn count(&mut self, warp: u32, effect: MemEffect, out: &StepOut) {
        let sm = &self.gpu.sm;
        let (bytes, parts) = (u32::from(effect.bytes), sm.shared_warp_parts);
        let (addrs, mask, rule) = (&out.addrs, out.active, sm.coalescing);
        let skips_l1 = sm.global_skips_l1d || effect.cache_op == CacheOp::Cg;
        let (list, map) = (&mut self.list, &self.local);
        list.clear();
        let mut conflict_cycles = 0;
        match (effect.kind, effect.space) {
            (_, MemSpace::Shared) => {
                let rule = SharedRule::of(sm);
                let cycles =
                    shared_conflict_cycles(sm.shared_banks, parts, rule, bytes, addrs, mask);
                let turns = if effect.serial && sm.shared_atomic_cycles > 0 {
                    further_lanes_of_a_word(addrs, mask)
                } else {
                    0
                };
                // The cycles that 8 or 16 bytes a lane need are no conflicts.
                let least = match effect.kind {
                    MemKind::Atomic => 1,
                    _ => shared_width_cycles(sm.shared_banks, parts, rule, bytes, addrs, mask),
                };
                conflict_cycles = u64::from(cycles - least.min(cycles) + turns);
            }
            (MemKind::Texture, _) => {
                coalesce_lines(self.gpu.l1t.line_bytes, bytes, addrs, mask, list);
            }
            (_, MemSpace::Param) => {}
            (_, MemSpace::Const) => {
                coalesce_lines(self.gpu.l1c.line_bytes, bytes, addrs, mask, list);
            }
            (MemKind::Atomic, _) => in_parts(parts, mask, list, |lanes, list| {
                coalesce_atomic(rule, true, bytes, addrs, lanes, list);
            }),
            (_, MemSpace::Local | MemSpace::FrameParam) => {
                let place = (0, 0, warp * 32);
                in_parts(parts, mask, list, |lanes, list| {
                    coalesce_local(rule, skips_l1, bytes, addrs, lanes, map, place, list);
                });
            }
            _ => in_parts(parts, mask, list, |lanes, list| {
                coalesce(rule, skips_l1, bytes, addrs, lanes, list);
            }),
        }
        let count = &mut self.running[out.pc.index()];
        count.access = name(&effect);
        count.transactions += list.len() as u64;
        count.conflict_cycles += conflict_cycles;
    }
}

impl Observer for LineCounter<'_> {
    fn begin(&mut self, launch: &LaunchContext) {
        self.running = vec![Count::default(); launch.program().insts.len()];
        self.local.padded_block_threads = launch.warps_per_block() * 32;
    }

    fn stepped(&mut self, _: u64, warp: u32, out: &StepOut) {
        let count = &mut self.running[out.pc.index()];
        count.issued += 1;
        count.lanes += u64::from(out.active.count_ones());
        if let Effect::Memory(effect) = out.effect
            && out.active != 0
        {
            self.count(warp, effect, out);
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, launch: &LaunchContext) {
        let program = launch.program();
        let mut known = self.programs.iter();
        let at = known.position(|(known, _)| Arc::ptr_eq(known, program));
        let at = at.unwrap_or_else(|| {
            let lines = (0..program.insts.len()).map(|pc| line(program, Pc::new(pc)));
            let counts = lines.map(|line| (line, Count::default())).collect();
            self.programs.push((Arc::clone(program), counts));
            self.programs.len() - 1
        });
        for ((_, sum), count) in self.programs[at].1.iter_mut().zip(&self.running) {
            sum.issued += count.issued;
            sum.lanes += count.lanes;
            sum.transactions += count.transactions;
            sum.conflict_cycles += count.conflict_cycles;
            if !count.access.is_empty() {
                sum.access = count.access;
            }
        }
    }
}

/// Place of an instruction in the source, or in the PTX.
fn line(program: &Program, pc: Pc) -> String {
    let of_ptx = || format!("PTX line {}", program.facts[pc.index()].pos.line);
    program.written_at(pc).unwrap_or_else(of_ptx)
}

/// Name of an access. Parameters count as operands.
const fn name(effect: &MemEffect) -> &'static str {
    match (effect.kind, effect.space) {
        (_, MemSpace::Param) => "",
        (_, MemSpace::Const) => CONSTANT,
        (MemKind::Texture, _) => "texture",
        (MemKind::Load, MemSpace::Shared) => "load shared",
        (MemKind::Store, MemSpace::Shared) => "store shared",
        (MemKind::Atomic, MemSpace::Shared) => "atomic shared",
        (MemKind::Load, MemSpace::Local | MemSpace::FrameParam) => "load local",
        (MemKind::Store, MemSpace::Local | MemSpace::FrameParam) => "store local",
        (MemKind::Load, _) => "load global",
        (MemKind::Store, _) => "store global",
        (MemKind::Atomic, _) => "atomic global",
    }
}

/// Table of the first `most` lines. It keeps to `width` characters, if it is given.
pub fn table(lines: &[LineCounts], most: usize, width: Option<u16>) -> String {
    let several = lines.iter().any(|line| line.kernel != lines[0].kernel);
    let issued: u64 = lines.iter().map(|line| line.issued).sum();
    let mean = |sum: u64, of: u64| format!("{:.1}", sum as f64 / of.max(1) as f64);
    let row = |of: &LineCounts| {
        let mut place = format!("{} {}", of.line, of.access).trim_end().to_owned();
        if let Some(array) = &of.array {
            place += &format!(" of {array}");
        }
        if let Some(line) = of.ptx_line.filter(|_| !of.line.starts_with("PTX")) {
            place += &format!(" (PTX line {line})");
        }
        if several {
            place = format!("{}: {place}", shortened(&of.kernel, NAME));
        }
        let (memory, shared) = (!of.access.is_empty(), of.access.ends_with("shared"));
        let given = |on: bool, text: String| if on { text } else { String::new() };
        vec![
            place,
            grouped(of.issued),
            format!("{:.1}%", 100.0 * of.issued as f64 / issued.max(1) as f64),
            mean(of.lanes, of.issued),
            given(memory && !shared, grouped(of.transactions)),
            given(memory && !shared, mean(of.transactions, of.issued)),
            given(shared, mean(of.conflict_cycles, of.issued)),
        ]
    };
    let rows: Vec<_> = lines.iter().take(most).map(row).collect();
    let header = [
        "line and access",
        "issued",
        "share",
        "lanes",
        "transactions",
        "each",
        "conflicts",
    ];
    let title = format!(
        "lines with most instructions, transactions and cycles of bank conflicts, {} of {}",
        rows.len(),
        lines.len(),
    );
    let mut text = format!(
        "\n{}\n{}",
        wrapped("", &title, width),
        figures(&header, &rows, width)
    );
    text += &wrapped(
        "  ",
        "(each: transactions of an access; conflicts: cycles that an access waits for them)",
        width,
    );
    if lines.iter().all(|line| line.line.starts_with("PTX")) {
        text += "  (PTX made with `nvcc -lineinfo` names the lines of the source)\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{CONSTANT, LineCounter, LineCounts, table};
    use std::ops::ControlFlow;
    use warploom_lab::{Input, SEED};
    use warploom_run::{Options, Session};
    use warploom_workloads::Size;

    /// Lines of a workload, and the counters of a timed run.
    fn counted(workload: &str, gpu: &str) -> (Vec<LineCounts>, [u64; 3]) {
        let gpu = warploom_config::preset(gpu).unwrap();
        let input = Input::workload(workload, Size::Test, SEED).unwrap();
        let session = Session::new(gpu.clone(), Options::default());
        let mut counter = LineCounter::new(&gpu);
        let mut program = input.program(&gpu).unwrap();
        session
            .run_observed(program.as_mut(), &mut counter)
            .unwrap();
        let mut program = input.program(&gpu).unwrap();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let timed = session.run(program.as_mut(), go_on).unwrap();
        let counts = &timed.totals.figures.statistics;
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        let names = [
            "sm.warp_instructions",
            "sm.memory_transactions",
            "sm.shared_conflict_cycles",
        ];
        let mut timed = names.map(of);
        timed[2] -= of("sm.shared_width_cycles");
        (counter.lines(), timed)
    }

    /// Each lane of the product of a sparse matrix loads from four arrays in a line of its loop.
    #[test]
    fn accesses_of_a_line_are_told_apart_by_their_arrays() {
        let (lines, _) = counted("spmv", "gtx480");
        let loads = lines.iter().filter(|line| line.access == "load global");
        let mut arrays: Vec<_> = loads.filter_map(|line| line.array.as_deref()).collect();
        arrays.sort_unstable();
        arrays.dedup();
        assert!(arrays.len() >= 3, "{arrays:?}");
        assert!(
            arrays.iter().all(|array| array.starts_with("argument ")),
            "{arrays:?}"
        );
    }

    /// Sums over lines are what the SMs of a timed run count: global, local, shared and texture
    /// accesses and atomics, with the coalescing of three generations.
    #[test]
    fn sums_over_lines_are_those_of_a_timed_run() {
        for workload in [
            "matrixmul",
            "histogram",
            "spmv",
            "srad",
            "montecarlo",
            "mummergpu",
        ] {
            for gpu in ["gtx480", "qv100-volta"] {
                let (lines, timed) = counted(workload, gpu);
                let sum = |of: fn(&LineCounts) -> u64| lines.iter().map(of).sum::<u64>();
                let sums = [
                    sum(|line| line.issued),
                    sum(|line| match line.access {
                        CONSTANT => 0,
                        _ => line.transactions,
                    }),
                    sum(|line| line.conflict_cycles),
                ];
                assert_eq!(sums, timed, "{workload} on {gpu}");
            }
        }
    }

    #[test]
    fn the_table_names_lines_accesses_and_means() {
        let line = |line: &str, access, issued, transactions, conflict_cycles| LineCounts {
            kernel: "k".to_owned(),
            line: line.to_owned(),
            access,
            array: None,
            ptx_line: None,
            instructions: 1,
            issued,
            lanes: 32 * issued,
            transactions,
            conflict_cycles,
        };
        let lines = [
            LineCounts {
                array: Some("argument 2".to_owned()),
                ..line("t.cu:7", "store global", 1000, 32_000, 0)
            },
            LineCounts {
                ptx_line: Some(40),
                ..line("t.cu:5", "load shared", 1000, 0, 15_000)
            },
            line("PTX line 9", "", 2000, 0, 0),
        ];
        let text = table(&lines, 2, None);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("t.cu"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let stores = [
            "t.cu:7", "store", "global", "of", "argument", "2", "1,000", "25.0%", "32.0", "32,000",
            "32.0",
        ];
        assert_eq!(rows[0], stores);
        assert_eq!(rows[1].last(), Some(&"15.0"));
        assert_eq!(rows[1][1..6], ["load", "shared", "(PTX", "line", "40)"]);
        assert!(
            text.contains("2 of 3") && !text.contains("-lineinfo"),
            "{text}"
        );
        assert!(table(&lines[2..], 2, None).contains("-lineinfo"));
    }
}
