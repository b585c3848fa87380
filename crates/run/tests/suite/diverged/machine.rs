//! Runs kernels on Warploom, functionally and timed.

use crate::diverged::code::{Kernel, TOTALS};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warploom_base::Dim3;
use warploom_config::{Base, GpuSpec, preset, resolve};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// Number of core cycles after which a run is abandoned.
const MAX_CYCLES: u64 = 1 << 22;
/// Words for atomics, followed by the lock and the word that it guards.
const TOTAL_WORDS: usize = 18;
const REGISTERS: u32 = 32;

/// Kind of a run.
pub enum Way {
    Functional(GpuSpec),
    Timed(GpuSpec),
}

/// A kind of run with its name.
pub struct Named {
    pub name: &'static str,
    pub way: Way,
    /// True if lanes make progress while others of their warp spin.
    pub progresses: bool,
}

/// Settings under which a kernel runs as an assembler makes it.
const ASSEMBLED: [&str; 2] = [
    "sm.folds_instructions=true",
    "sm.instruction_order=assembler",
];

/// Runs without timing, and on a machine of each kind with few SMs, both of the kernel's text and
/// of what an assembler makes of it.
pub fn ways() -> Vec<Named> {
    let named = |name, way| Named {
        name,
        way,
        progresses: name != "gtx480",
    };
    vec![
        named(
            "functional",
            Way::Functional(preset("gtx480").expect("a preset")),
        ),
        named(
            "functional, assembled",
            Way::Functional(small("gtx480", &ASSEMBLED)),
        ),
        named("gtx480", Way::Timed(small("gtx480", &[]))),
        named("qv100-volta", Way::Timed(small("qv100-volta", &[]))),
        named("assembled", Way::Timed(small("qv100-volta", &ASSEMBLED))),
        named("rtx3070-ampere", Way::Timed(small("rtx3070-ampere", &[]))),
    ]
}

fn small(gpu: &str, sets: &[&str]) -> GpuSpec {
    let few = ["gpu.sms=1", "gpu.sms_per_cluster=1"];
    let sets: Vec<String> = few
        .iter()
        .chain(sets)
        .map(|set| (*set).to_owned())
        .collect();
    resolve(&Base::Preset(gpu.to_owned()), &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

/// End of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Words of output, of atomics, of the lock and of the guarded word.
    Done(Vec<u32>),
    Deadlock(String),
    Livelock(String),
    Fault(String),
    Other(String),
}

struct Host<'a> {
    kernel: &'a Kernel,
    ptx: &'a str,
    buffers: Option<[DevicePtr; 3]>,
    words: Vec<u32>,
}

impl HostProgram for Host<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffers.is_some() {
            return Ok(HostAction::Done);
        }
        let kernel = self.kernel;
        let module = device.load_ptx("k.ptx", self.ptx)?;
        let threads = (kernel.blocks * kernel.threads) as usize;
        let output = device.alloc_slice(&vec![0u32; threads])?;
        let input = device.alloc_slice(&kernel.input)?;
        let totals = device.alloc_slice(&[0u32; TOTAL_WORDS])?;
        let buffers = [output, input, totals];
        self.buffers = Some(buffers);
        let args = buffers.map(Arg::Pointer).to_vec();
        let (grid, block) = (Dim3::linear(kernel.blocks), Dim3::linear(kernel.threads));
        let mut launch = Launch::new(module, "k", grid, block, args);
        launch.registers_per_thread = Some(REGISTERS);
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let [output, _, totals] = self.buffers.expect("the launch came before");
        let threads = (self.kernel.blocks * self.kernel.threads) as usize;
        self.words = device.read_vec(output, threads)?;
        let rest: Vec<u32> = device.read_vec(totals, TOTAL_WORDS)?;
        self.words.extend(&rest[..TOTALS]);
        self.words.extend(&rest[TOTAL_WORDS - 2..]);
        Ok(Vec::new())
    }
}

/// Runs a kernel. A panic is an end of the run, too.
pub fn run(kernel: &Kernel, ptx: &str, way: &Way) -> Seen {
    let run = AssertUnwindSafe(|| try_run(kernel, ptx, way));
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Seen::Other(format!("panic: {:?}", text.or(literal)))
    })
}

fn try_run(kernel: &Kernel, ptx: &str, way: &Way) -> Seen {
    let mut host = Host {
        kernel,
        ptx,
        buffers: None,
        words: Vec::new(),
    };
    let options = Options {
        max_cycles: Some(MAX_CYCLES),
        memory_bytes: 1 << 20,
        ..Options::default()
    };
    let outcome = match way {
        Way::Functional(spec) => {
            let session = Session::new(spec.clone(), options);
            session.run_functional(&mut host).map(|run| run.outcome)
        }
        Way::Timed(spec) => {
            let session = Session::new(spec.clone(), options);
            let report = session.run(&mut host, &mut |_| ControlFlow::Continue(()));
            report.map(|report| report.outcome)
        }
    };
    match outcome {
        Ok(Outcome::Finished) => Seen::Done(host.words),
        Ok(Outcome::Deadlock { message }) => Seen::Deadlock(message),
        Ok(Outcome::Livelock { message }) => Seen::Livelock(message),
        Ok(Outcome::Fault { message }) => Seen::Fault(message),
        Ok(other) => Seen::Other(format!("{other:?}")),
        Err(error) => Seen::Other(error.to_string()),
    }
}
