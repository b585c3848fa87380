//! Kernels as text, and their execution.

use crate::Trouble;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{GpuSpec, InstructionOrder};
use warploom_run::{
    AddressMode, Arg, ChannelKind, Check, Device, DevicePtr, HostAction, HostError, HostProgram,
    Launch, Options, Session, Texture,
};
use warploom_stats::result::Outcome;

/// Size in bytes of the device memory that a kernel may access; it is zero at the start.
pub(crate) const MEMORY_BYTES: u64 = 1 << 28;
/// Size in bytes of the shared memory of a block.
const SHARED_BYTES: u32 = 8192;

/// Kernel with the facts of its launch.
pub(crate) struct Kernel {
    /// Statements of the kernel. `%rd0` must hold `[out]`.
    pub body: String,
    pub blocks: u32,
    pub threads: u32,
    /// Numbers of 64 bits that the parameter `table` points to.
    pub table: Vec<u64>,
    /// Numbers of 64 bits in memory: address and value.
    pub cells: Vec<(u64, u64)>,
    /// Count of the 32-bit numbers that the kernel writes to `out`.
    pub results: usize,
}

/// Results of a run.
pub(crate) struct Run {
    pub results: Vec<u32>,
}

/// Address of the memory that a kernel may use: the first allocation of the device.
pub(crate) fn memory_base() -> Result<u64, Trouble> {
    Ok(Device::new(2 * MEMORY_BYTES, 0)
        .alloc(MEMORY_BYTES)
        .map_err(HostError::from)
        .map_err(warploom_run::RunError::from)?
        .0)
}

impl Kernel {
    /// Creates a kernel of one warp.
    pub fn warp(body: String, results: usize) -> Self {
        Self {
            body,
            blocks: 1,
            threads: 32,
            table: Vec::new(),
            cells: Vec::new(),
            results,
        }
    }

    fn text(&self) -> String {
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.const .align 8 .u64 c;\n\
             .global .texref t;\n\
             .visible .entry k(.param .u64 out, .param .u64 table) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<160>; .reg .b64 %rd<160>; .reg .f32 %f<64>;\n\
             .reg .f64 %d<64>;\n.shared .align 8 .b8 s[{SHARED_BYTES}];\n\
             .local .align 8 .b8 l[16];\n{}ret;\n}}\n",
            self.body
        )
    }

    /// Runs the kernel on a machine.
    pub fn run(&self, gpu: &GpuSpec) -> Result<Run, Trouble> {
        let mut host = Host {
            kernel: self,
            out: None,
            results: Vec::new(),
        };
        // The kernels themselves decide what L2 holds.
        let mut gpu = gpu.clone();
        gpu.gpu.copies_warm_l2 = false;
        // They are the instructions of the machine, and not what an assembler leaves of them.
        gpu.sm.folds_instructions = false;
        gpu.sm.machine_instructions = false;
        gpu.sm.instruction_order = InstructionOrder::Text;
        // Distances that an assembler keeps are no latencies of results.
        gpu.sm.guard_latency_cycles = 0;
        gpu.sm.branch_cycles = 0;
        gpu.sm.memory_issue_cycles = 0;
        // A sector beside one that was read would hit.
        gpu.partition.fetch_bytes = 32;
        let session = Session::new(gpu, Options::default());
        let report = session.run(&mut host, &mut |_| ControlFlow::Continue(()))?;
        match report.outcome {
            Outcome::Finished => Ok(Run {
                results: host.results,
            }),
            outcome => Err(Trouble::Outcome(format!("{outcome:?}"))),
        }
    }
}

/// Creates the texture `t`: a row of 32-bit integers.
fn row(base: DevicePtr) -> Texture {
    Texture {
        base: base.0,
        width: 64,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 256,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Signed,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

struct Host<'a> {
    kernel: &'a Kernel,
    out: Option<DevicePtr>,
    results: Vec<u32>,
}

impl HostProgram for Host<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.out.is_some() {
            return Ok(HostAction::Done);
        }
        let memory = device.alloc(MEMORY_BYTES)?;
        for &(address, value) in &self.kernel.cells {
            device.write_slice(DevicePtr(address), &[value])?;
        }
        let out = device.alloc(4 * self.kernel.results.max(1) as u64)?;
        let table = device.alloc_slice(&self.kernel.table)?;
        let module = device.load_ptx("microbench.ptx", &self.kernel.text())?;
        let constant = device.variable(module, "c")?;
        device.write_slice(constant, &[constant.0])?;
        device.bind_texture(module, "t", row(memory))?;
        self.out = Some(out);
        let args = vec![Arg::Pointer(out), Arg::Pointer(table)];
        let (grid, block) = (
            Dim3::linear(self.kernel.blocks),
            Dim3::linear(self.kernel.threads),
        );
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        if let Some(out) = self.out {
            self.results = device.read_vec(out, self.kernel.results)?;
        }
        Ok(Vec::new())
    }
}

/// Statements with their count, so that two of them can be placed in one fetch.
#[derive(Default)]
pub(crate) struct Code {
    pub text: String,
    count: usize,
}

/// Number of instructions in one fetch (docs/model/sm.md, Fetch and decode).
pub(crate) const PER_FETCH: usize = 2;

impl Code {
    /// Appends a statement to the kernel.
    pub fn push(&mut self, statement: impl AsRef<str>) {
        let _ = writeln!(self.text, "{};", statement.as_ref());
        self.count += 1;
    }

    /// Appends statements to the kernel.
    pub fn extend<S: AsRef<str>>(&mut self, statements: impl IntoIterator<Item = S>) {
        statements.into_iter().for_each(|s| self.push(s));
    }

    pub fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    /// Pads until the next statement is the first one of a group of `group` instructions.
    pub fn align(&mut self, group: usize) {
        while !self.count.is_multiple_of(group) {
            self.push("mov.u32 %r15, 0");
        }
    }
}
