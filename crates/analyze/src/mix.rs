//! Explanation of several programs that ran at once: what bound them together, what they shared,
//! and what is counted for each of them. Causes for which schedulers do not issue are counted for
//! a scheduler, whose warps may be of several programs, so that no program has its own, except for
//! launches during which no other ran.

use crate::advice::{because, percent, plural};
use crate::analysis::{analyze, verdict_of};
use crate::pipes::units;
use crate::verdict::Bound;
use warploom_names::shortened;
use warploom_policy::utilisation::{Machine, Part, Throughput};
use warploom_stats::result::{KernelReport, ProcessReport, RunReport};

/// Share of a program's time from which it is named that its launches wait, or that units are busy.
const WORTH_NAMING: f64 = 0.01;

/// Explanation of several programs that ran at once.
#[derive(Clone, Debug, PartialEq)]
pub struct MixExplanation {
    /// Bound of the programs together: the verdict on all counters of the machine.
    pub bound: Bound,
    /// Sentences on what bound the programs together and on what they shared.
    pub shared: Vec<String>,
    /// Name of each program with sentences on it.
    pub programs: Vec<(String, Vec<String>)>,
}

/// Explains a run; `None` unless it has several programs, of which one issued an instruction.
pub fn explain_mix(machine: &Machine<'_>, run: &RunReport) -> Option<MixExplanation> {
    if run.processes.len() < 2 || run.totals.figures.warp_instructions == 0 {
        return None;
    }
    let whole = analyze(machine, run)?.whole;
    let Throughput {
        used_gb_per_s,
        peak_gb_per_s,
        ..
    } = whole.throughput.dram;
    let used = |part: Part| percent(whole.utilisation.of(part));
    let shared = vec![
        format!("The bound of all programs together is: {}.", whole.bounds()),
        format!(
            "They share DRAM, which moves {used_gb_per_s:.0} of {peak_gb_per_s:.0} GB/s ({}); the \
             network, of which the direction to L2 carries {} of what it sustains and that to the \
             SMs {}; and L2, whose banks are in use for {} of their cycles.",
            used(Part::Dram),
            used(Part::NocToL2),
            used(Part::NocToSm),
            used(Part::L2),
        ),
        schedulers(run),
    ];
    let programs = run.processes.iter().enumerate().map(|(at, process)| {
        let program = Program {
            machine,
            run,
            process,
            kernels: kernels_of(run, at),
        };
        (process.name.clone(), program.sentences())
    });
    Some(MixExplanation {
        bound: whole.bound,
        shared,
        programs: programs.collect(),
    })
}

/// Launches of a program.
fn kernels_of(run: &RunReport, process: usize) -> Vec<&KernelReport> {
    let of = |kernel: &&KernelReport| {
        let own = kernel
            .concurrent
            .map(|concurrent| concurrent.process as usize);
        own == Some(process)
    };
    run.kernels.iter().filter(of).collect()
}

/// Sentence on the cycles of the schedulers, whose causes no program has alone.
fn schedulers(run: &RunReport) -> String {
    let stalls = &run.totals.figures.stalls;
    let issued = stalls.get("issued").copied().unwrap_or(0.0);
    let waits = stalls.iter().filter(|(cause, _)| *cause != "issued");
    let most = match waits.max_by(|a, b| a.1.total_cmp(b.1)) {
        Some((cause, share)) if *share > 0.0 => format!(
            ", and wait most often, in {}, {} (`{cause}`)",
            percent(*share),
            because(cause)
        ),
        _ => String::new(),
    };
    format!(
        "Schedulers issue in {} of their cycles{most}; a scheduler may have warps of several \
         programs, so that these causes are not known for each.",
        percent(issued)
    )
}

/// A program of the run with its launches.
struct Program<'a> {
    machine: &'a Machine<'a>,
    run: &'a RunReport,
    process: &'a ProcessReport,
    kernels: Vec<&'a KernelReport>,
}

impl Program<'_> {
    fn sentences(&self) -> Vec<String> {
        if self.process.warp_instructions == 0 {
            let ran = "It issued no instruction: other programs held the SMs (gpu.multiprogram).";
            return vec![ran.to_owned()];
        }
        let sentences = [
            Some(self.issue()),
            Some(self.blocks()),
            self.waits(),
            Some(self.memory()),
            self.alone(),
        ];
        sentences.into_iter().flatten().collect()
    }

    /// Cycles of the program's time, summed over SMs.
    fn sm_cycles(&self) -> f64 {
        self.process.cycles.max(1) as f64 * f64::from(self.machine.spec.gpu.sms)
    }

    /// Sentence on the program's share of the issue, and on its busiest units.
    fn issue(&self) -> String {
        let (process, sm) = (self.process, &self.machine.spec.sm);
        let issued = process.warp_instructions as f64;
        let all = self.run.totals.figures.warp_instructions.max(1) as f64;
        let slots = self.sm_cycles() * f64::from(sm.schedulers);
        let pipes = units(&sm.units).map(|(pipe, count)| {
            let taken = process.pipe_cycles.get(pipe).copied().unwrap_or(0) as f64;
            (pipe, taken / (self.sm_cycles() * f64::from(count.max(1))))
        });
        let busiest = pipes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let busiest = busiest.filter(|(_, share)| *share >= WORTH_NAMING);
        let busiest = busiest.map_or_else(String::new, |(pipe, share)| {
            format!(
                "; of the function units it keeps those of the pipe `{pipe}` busiest, for {} of \
                 their cycles",
                percent(share.min(1.0))
            )
        });
        let end = match process.ended_at {
            Some(end) => format!("cycle {end}"),
            None => "the end of the run".to_owned(),
        };
        format!(
            "It runs from cycle {} to {end} and issues {} of the instructions of all programs, {} of \
             what the schedulers can in that time{busiest}.",
            process.arrived_at,
            percent(issued / all),
            percent(issued / slots),
        )
    }

    /// Sentence on the program's blocks and on the room that they take.
    fn blocks(&self) -> String {
        let (process, sm) = (self.process, &self.machine.spec.sm);
        let held = |cycles: u64, of: u32| {
            percent(cycles as f64 / (self.sm_cycles() * f64::from(of.max(1))))
        };
        let started = self
            .kernels
            .iter()
            .map(|kernel| count(kernel, "sm.blocks_started"));
        let last = self
            .kernels
            .iter()
            .max_by_key(|kernel| kernel.figures.cycles);
        let fit = last.map_or_else(String::new, |kernel| {
            format!(
                "; an SM has room for {} {} of `{}` (limit: {})",
                kernel.blocks_per_sm,
                plural(kernel.blocks_per_sm, "block"),
                shortened(&kernel.name, warploom_names::WIDTH),
                kernel.occupancy_limit
            )
        });
        format!(
            "Its blocks hold {} of the registers and {} of the shared memory of all SMs on average; \
             {} of {} started on an SM with a block of another program{fit}.",
            held(process.register_cycles, sm.registers),
            held(process.shared_byte_cycles, sm.shared_bytes),
            process.joined_blocks,
            started.sum::<u64>(),
        )
    }

    /// Sentence on launches that wait for room on the SMs, beyond the time that a launch takes.
    fn waits(&self) -> Option<String> {
        let launch = u64::from(self.machine.spec.gpu.kernel_launch_cycles);
        let to_first = |kernel: &&KernelReport| match (
            count(kernel, "sm.blocks_started"),
            kernel.concurrent,
        ) {
            (1.., Some(times)) => times.started_at - times.launched_at,
            _ => kernel.figures.cycles,
        };
        let waited = self.kernels.iter().map(to_first);
        let waited: u64 = waited.map(|cycles| cycles.saturating_sub(launch)).sum();
        let share = waited as f64 / self.process.cycles.max(1) as f64;
        (share >= WORTH_NAMING).then(|| {
            format!(
                "Its launches wait {waited} cycles for the first block to find room, {} of its time: \
                 other programs hold the SMs (gpu.multiprogram).",
                percent(share)
            )
        })
    }

    /// Sentence on the program's accesses.
    fn memory(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        let of_all = self.run.processes.iter();
        let all: u64 = of_all.map(|process| process.l2_accesses).sum();
        match self.process.l2_accesses {
            0 => "It makes no accesses to L2.".to_owned(),
            own => format!(
                "It makes {} of the accesses to L2, which hits {} of them; L1D hits {} of its \
                 accesses.",
                percent(own as f64 / all as f64),
                rate(self.process.l2.hit_rate),
                rate(self.process.l1d.hit_rate),
            ),
        }
    }

    /// Sentence on the launches during which no other program ran, for which all is counted.
    fn alone(&self) -> Option<String> {
        let alone = self.kernels.iter().copied();
        let alone: Vec<_> = alone.filter(|of| !of.figures.stalls.is_empty()).collect();
        let (bound, cycles) = verdict_of(self.machine, &alone)?;
        let launches = match self.kernels.len() {
            1 => "its launch".to_owned(),
            all => format!("{} of its {all} launches", alone.len()),
        };
        Some(format!(
            "No other program ran beside {launches} ({cycles} cycles), whose bound is: {}.",
            bound.name()
        ))
    }
}

fn count(kernel: &KernelReport, statistic: &str) -> u64 {
    let counts = &kernel.figures.statistics;
    counts.get(statistic).copied().unwrap_or(0)
}
