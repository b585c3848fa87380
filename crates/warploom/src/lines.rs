//! Counts of a program by the lines of its source, which `analyze --lines` lists. The program is
//! executed without timing, and each access is coalesced as an SM of the machine does it.

use serde::Serialize;
use std::sync::Arc;
use warploom_base::Pc;
use warploom_config::GpuSpec;
use warploom_exec::{Effect, LaunchContext, MemEffect, MemKind, Observer, StepOut};
use warploom_ir::{CacheOp, MemSpace, Program};
use warploom_mem::coalesce::{
    LocalMap, SharedRule, Transactions, coalesce, coalesce_atomic, coalesce_lines, coalesce_local,
    further_lanes_of_a_word, in_parts, shared_conflict_cycles,
};
use warploom_names::shortened;
use warploom_report::{figures, grouped, wrapped};

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

    fn add(&mut self, count: &Count) {
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

    /// The counts by kernel, line and access, those with most work first.
    pub fn lines(&self) -> Vec<LineCounts> {
        let mut lines: Vec<LineCounts> = Vec::new();
        let mut programs: Vec<_> = self.programs.iter().collect();
        programs.sort_by_key(|(program, _)| &program.name);
        for (program, counts) in programs {
            let kernel = &program.name;
            for (line, count) in counts.iter().filter(|(_, count)| count.issued > 0) {
                let same = |of: &&mut LineCounts| {
                    of.kernel == *kernel && of.line == *line && of.access == count.access
                };
                match lines.iter_mut().find(same) {
                    Some(known) => known.add(count),
                    None => {
                        let mut new = LineCounts {
                            kernel: kernel.clone(),
                            line: line.clone(),
                            access: count.access,
                            issued: 0,
                            lanes: 0,
                            transactions: 0,
                            conflict_cycles: 0,
                        };
                        new.add(count);
                        lines.push(new);
                    }
                }
            }
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
                conflict_cycles = u64::from(cycles - 1 + turns);
            }
            (MemKind::Texture, _) => {
                coalesce_lines(self.gpu.l1t.line_bytes, bytes, addrs, mask, list);
            }
            (_, MemSpace::Const | MemSpace::Param) => {}
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

/// Name of an access. Parameters and constants count as operands.
const fn name(effect: &MemEffect) -> &'static str {
    match (effect.kind, effect.space) {
        (_, MemSpace::Const | MemSpace::Param) => "",
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
    use super::{LineCounter, LineCounts, table};
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
        (counter.lines(), names.map(of))
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
                    sum(|line| line.transactions),
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
            issued,
            lanes: 32 * issued,
            transactions,
            conflict_cycles,
        };
        let lines = [
            line("t.cu:7", "store global", 1000, 32_000, 0),
            line("t.cu:5", "load shared", 1000, 0, 15_000),
            line("PTX line 9", "", 2000, 0, 0),
        ];
        let text = table(&lines, 2, None);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("t.cu"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let stores = [
            "t.cu:7", "store", "global", "1,000", "25.0%", "32.0", "32,000", "32.0",
        ];
        assert_eq!(rows[0], stores);
        assert_eq!(rows[1].last(), Some(&"15.0"));
        assert!(
            text.contains("2 of 3") && !text.contains("-lineinfo"),
            "{text}"
        );
        assert!(table(&lines[2..], 2, None).contains("-lineinfo"));
    }
}
