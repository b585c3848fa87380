//! Measured launches on the presets that stand for the GPUs.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::ControlFlow;

use anyhow::{Context, Result, bail, ensure};
use warploom_base::Cycle;
use warploom_config::GpuSpec;
use warploom_run::{
    Check, Device, HostAction, HostError, HostProgram, Options, Session, Stopped, Timed,
};

use super::data::rows;
use super::kernels::Measured;
use super::subject::Subject;

/// Largest launches that are simulated, by what a GPU measured. Larger ones take minutes.
const MOST_INSTRUCTIONS: u64 = 10_000_000;
const MOST_CYCLES: u64 = 500_000;
/// First line of the data.
pub const COLUMNS: &str = "# gpu\tworkload\tsize\tlaunch\tcycles\twarp instructions\n";

/// A launch of a workload on a preset.
pub struct Simulated {
    pub gpu: String,
    pub workload: String,
    pub size: String,
    /// Number of the launch in its program.
    pub launch: u64,
    pub cycles: u64,
    pub warp_instructions: u64,
}

/// Reads the lines of all presets.
pub fn simulated(text: &str) -> Result<Vec<Simulated>> {
    rows(
        text,
        |[gpu, workload, size, launch, cycles, instructions]: [&str; 6]| {
            Ok(Simulated {
                gpu: gpu.to_owned(),
                workload: workload.to_owned(),
                size: size.to_owned(),
                launch: launch.parse()?,
                cycles: cycles.parse()?,
                warp_instructions: instructions.parse()?,
            })
        },
    )
}

/// Simulates the measured launches of programs on a preset and returns their lines of the data.
pub fn simulate(gpu: &GpuSpec, measured: &[&Measured], subjects: &[Subject]) -> Result<String> {
    let mut gpu = gpu.clone();
    // The profiler empties the caches before each launch.
    gpu.gpu.copies_warm_l2 = false;
    let mut text = String::new();
    for subject in subjects {
        let launches: Vec<&Measured> = measured
            .iter()
            .copied()
            .filter(|launch| launch.workload == subject.name && launch.size == subject.size)
            .filter(|launch| launch.warp_instructions <= MOST_INSTRUCTIONS)
            .filter(|launch| launch.cycles <= MOST_CYCLES)
            .collect();
        for launch in &launches {
            let name = format!(
                "{} {}, launch {}",
                subject.name, subject.size, launch.launch
            );
            writeln!(io::stderr(), "{name}")?;
            run(&gpu, subject, launch, &launches, &mut text).context(name)?;
        }
    }
    Ok(text)
}

/// Runs a program up to one of its measured launches, which alone is timed and finds the caches
/// empty, and adds a line for it.
fn run(
    gpu: &GpuSpec,
    subject: &Subject,
    launch: &Measured,
    launches: &[&Measured],
    text: &mut String,
) -> Result<()> {
    let number = launch.launch;
    let mut program = Program {
        inner: subject.program(gpu)?,
        launches,
        left: number + 1,
    };
    let options = Options {
        timed: Timed {
            launches: number..number + 1,
            ..Timed::default()
        },
        ..Options::default()
    };
    let session = Session::new(gpu.clone(), options);
    let report = session.run(&mut program, &mut |_| ControlFlow::Continue(()))?;
    let [kernel] = &report.kernels[..] else {
        bail!("{} launches instead of one", report.kernels.len());
    };
    ensure!(
        kernel.name == launch.entry,
        "the launches have another order"
    );
    let Measured {
        gpu,
        workload,
        size,
        ..
    } = launch;
    let figures = &kernel.figures;
    // Hardware counts machine instructions: each takes an issue slot.
    let slots = figures.statistics.get("sm.slots.issued");
    let issued = slots.copied().unwrap_or(figures.warp_instructions);
    let _ = writeln!(
        text,
        "{gpu}\t{workload}\t{size}\t{number}\t{}\t{}",
        figures.cycles, issued
    );
    Ok(())
}

/// A workload with the registers that a real GPU's assembler gave its kernels. It ends after the
/// last measured launch.
struct Program<'a> {
    inner: Box<dyn HostProgram>,
    launches: &'a [&'a Measured],
    left: u64,
}

impl HostProgram for Program<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.left == 0 {
            return Ok(HostAction::Done);
        }
        let mut action = self.inner.next(device)?;
        if let HostAction::Launch(launch) = &mut action {
            self.left -= 1;
            let same = |measured: &&&Measured| measured.entry == launch.kernel;
            let measured = self.launches.iter().find(same);
            launch.registers_per_thread = measured.map(|m| m.registers);
        }
        Ok(action)
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        self.inner.reached(mark, device, at)
    }

    fn stopped(&mut self, why: Stopped) {
        self.inner.stopped(why);
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}
