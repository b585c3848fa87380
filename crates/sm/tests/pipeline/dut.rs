//! An SM alone: the test is its clock, its dispatcher and its network.

use std::sync::Arc;

use warploom_base::{Cycle, Dim3, KernelSlot, SmId};
use warploom_config::{GpuSpec, preset};
use warploom_diag::Source;
use warploom_exec::{
    AddressMode, BranchOrder, ChannelKind, Checks, DeviceMemory, LaunchContext, LaunchSpec,
    Texture, TextureTable,
};
use warploom_ir::Program;
use warploom_mem::Request;
use warploom_policy::CustomPolicies;
use warploom_sm::{BlockNeeds, PreparedKernel, SlotCause, Sm};

/// The block's kernel, and one beside it.
const SLOT: KernelSlot = KernelSlot(0);
const OTHER: KernelSlot = KernelSlot(1);
const REGISTERS: u32 = 16;

/// The device under test.
pub struct Dut {
    pub sm: Sm,
    spec: GpuSpec,
    memory: DeviceMemory,
    needs: BlockNeeds,
    /// The cycle that runs next.
    pub now: Cycle,
    /// Cycle of every instruction issued.
    pub issued: Vec<Cycle>,
    /// Requests with the cycle in which they left.
    pub sent: Vec<(Cycle, Request)>,
    /// Cycles in which blocks ended.
    pub ended: Vec<Cycle>,
    /// The network takes what it gets.
    gives_credits: bool,
}

/// Version 3's Fermi, whose instruction and constant caches always hit: what a test is not about
/// costs nothing.
pub fn fermi() -> GpuSpec {
    let mut spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    spec.sm.perfect_inst_const_cache = true;
    spec
}

fn program(body: &str) -> Arc<Program> {
    let text = format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n.global .texref t;\n\
         .visible .entry k(.param .u64 buf) {{\n\
         .reg .pred %p<8>; .reg .b32 %r<128>; .reg .f32 %f<32>; .reg .b64 %rd<8>;\n\
         .reg .f64 %fd<8>;\n\
         .local .align 4 .b8 l[16];\n.shared .align 4 .b8 s[1024];\n{body}\nret;\n}}\n"
    );
    let source = Source::new("dut.ptx", text);
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(ir.kernels.into_iter().next().expect("one kernel"))
}

/// A kernel of one block, prepared for an SM.
pub fn image(
    spec: &GpuSpec,
    body: &str,
    slot: KernelSlot,
    threads: u32,
    buffer: u64,
) -> PreparedKernel {
    let program = program(body);
    let launch = LaunchContext::new(Arc::clone(&program), launch(spec, threads, buffer));
    let launch = launch.unwrap_or_else(|error| panic!("{error}"));
    let shared = launch.shared_bytes();
    let needs = BlockNeeds::new(threads, REGISTERS, shared, &spec.sm);
    PreparedKernel::new(
        launch,
        program,
        slot,
        0,
        threads,
        REGISTERS,
        needs.shared_bytes,
        1,
        &spec.sm,
        spec.gpu.style,
    )
}

impl Dut {
    /// An SM with one block of `threads` threads that runs `body` from cycle 0.
    pub fn new(spec: &GpuSpec, body: &str, threads: u32) -> Self {
        let mut memory = DeviceMemory::new(1 << 24);
        let buffer = memory.alloc(0, 1 << 16).expect("room");
        memory.fill(0, buffer, 0, 1 << 16).expect("it is there");
        let image = image(spec, body, SLOT, threads, buffer);
        let needs = BlockNeeds::new(threads, REGISTERS, image.shared_bytes, &spec.sm);
        let mut sm = Sm::new(spec, SmId(0), &CustomPolicies::default());
        sm.load_kernel(Arc::new(image));
        sm.assign(0, SLOT, 0, &needs, true);
        Self {
            sm,
            spec: spec.clone(),
            memory,
            needs,
            now: 0,
            issued: Vec::new(),
            sent: Vec::new(),
            ended: Vec::new(),
            gives_credits: true,
        }
    }

    /// Makes a second kernel known that runs `body`, and starts a block of it now.
    pub fn launch_beside(&mut self, body: &str) {
        let image = image(&self.spec, body, OTHER, self.needs.threads, 0);
        self.sm.load_kernel(Arc::new(image));
        self.sm.assign(self.now, OTHER, 0, &self.needs, true);
    }

    /// From now on the network keeps what it gets in its buffers.
    pub fn withhold_credits(&mut self) {
        self.gives_credits = false;
    }

    /// Runs one cycle of the SM.
    pub fn cycle(&mut self) {
        let now = self.now;
        let before = self.sm.counters.warp_instructions;
        self.sm.run(now, now + 1, &self.memory);
        self.now += 1;
        assert!(self.sm.fault.is_none(), "{:?}", self.sm.fault);
        let issued = self.sm.counters.warp_instructions - before;
        self.issued.extend((0..issued).map(|_| now));
        self.sm.log.commit_until(now, &mut self.memory);
        for sent in std::mem::take(&mut self.sm.link.outgoing) {
            let flits = self.sm.link.flits(sent.request.request_bytes());
            self.sm
                .link
                .add_credits(if self.gives_credits { flits } else { 0 });
            assert_eq!(sent.sent_at, now);
            self.sent.push((now, sent.request));
        }
        for block in std::mem::take(&mut self.sm.finished) {
            assert_eq!(block.at, now);
            self.sm.release(block.slot, &self.needs);
            self.ended.push(now);
        }
    }

    /// Runs up to, not including, a cycle.
    pub fn run_to(&mut self, to: Cycle) {
        while self.now < to {
            self.cycle();
        }
    }

    /// Runs until a condition holds, and says how many cycles have run by then.
    pub fn run_until(&mut self, holds: impl Fn(&Self) -> bool) -> Cycle {
        while !holds(self) {
            assert!(self.now < 10_000, "it never came to that");
            self.cycle();
        }
        self.now
    }

    /// The answers to a request, visible from this cycle on: by sectors where L2 is sectored.
    pub fn answer(&mut self, request: &Request) {
        for _ in 0..self.sm.ldst.replies_to(request) {
            self.sm.link.deliver(self.now, &request.into());
        }
    }

    /// Cycle of the issue of the instruction number `n`, in order of issue.
    pub fn issue(&mut self, n: usize) -> Cycle {
        self.run_until(|dut| dut.issued.len() > n);
        self.issued[n]
    }

    /// Runs to the block's end and finds nothing left in the SM. Returns the cycle of the end.
    pub fn finish(&mut self) -> Cycle {
        self.run_until(|dut| !dut.ended.is_empty());
        assert!(self.sm.is_idle(), "something is left");
        let schedulers = u64::from(self.spec.sm.schedulers);
        let slots: u64 = self.sm.counters.slots.iter().sum();
        assert_eq!(slots, self.now * schedulers, "one cause a slot");
        let c = &self.sm.counters;
        let sum = |parts: &[u64]| parts.iter().sum::<u64>();
        let divided = [
            (
                SlotCause::ExecutionDependence,
                sum(&c.execution_dependence_slots),
            ),
            (SlotCause::MemoryPipe, sum(&c.memory_pipe_slots)),
            (SlotCause::ExecutionPipe, sum(&c.execution_pipe_slots)),
        ];
        for (cause, parts) in divided {
            assert_eq!(c.slots[cause as usize], parts, "{cause:?}");
        }
        self.ended[0]
    }
}

/// The buffer's start as a row of 64 floats: the texture `t`.
fn row(buffer: u64) -> Texture {
    Texture {
        base: buffer,
        width: 64,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 256,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Float,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

fn launch(spec: &GpuSpec, threads: u32, buffer: u64) -> LaunchSpec {
    let mut textures = TextureTable::default();
    let handle = textures.bind(row(buffer));
    LaunchSpec {
        grid: Dim3::linear(1),
        block: Dim3::linear(threads),
        cluster: None,
        dynamic_shared_bytes: 0,
        max_shared_bytes: spec.sm.max_shared_bytes_per_block,
        barriers: spec.sm.barriers_per_block,
        params: buffer.to_le_bytes().to_vec(),
        globals: Vec::new(),
        texture_refs: vec![handle],
        textures: Arc::new(textures),
        grid_id: 0,
        workspace: 0,
        asid: 0,
        instructions_before: 0,
        checks: Checks::default(),
        branch_order: BranchOrder::HighestLaneLast,
    }
}
